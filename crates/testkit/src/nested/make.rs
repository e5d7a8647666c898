//! Arrays of nested types, made from a profile.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    NullArray, OffsetSizeTrait, StructArray, UnionArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, UnionFields, UnionMode};

use super::types::{Lengths, NestedProfile, is_uninhabited};
use crate::arrays::{Distribution, Nulls, Profile, array, build, fixed_width, null_buffer};
use crate::rng::Rng;

/// An array of `rows` rows, of a nested or a flat type. No part of it is a slice.
///
/// # Panics
/// For rows of a type that has none ([`is_uninhabited`]), for more rows than 16-bit run ends can count, and for
/// required fields of types that have only nulls.
pub fn nested_array(data_type: &DataType, rows: usize, profile: &NestedProfile) -> ArrayRef {
    let mut maker = Maker::new(profile, false);
    maker.array(data_type, rows, &Presence::Any)
}

/// An array of `rows` rows that is a slice of a longer one, at an offset that is no multiple of 8, as are many of the
/// arrays inside.
///
/// # Panics
/// As [`nested_array`], which counts 19 rows more here.
pub fn sliced_nested(data_type: &DataType, rows: usize, profile: &NestedProfile) -> ArrayRef {
    let (before, after) = match is_uninhabited(data_type) {
        true => (0, 0),
        false => (13, 6),
    };
    let mut maker = Maker::new(profile, true);
    maker
        .array(data_type, before + rows + after, &Presence::Any)
        .slice(before, rows)
}

/// Which rows of an array may be null.
enum Presence {
    /// Slots that the profile makes null.
    Any,
    /// Only rows that are null in the parent.
    Under(NullBuffer),
    /// No row.
    All,
}

impl Presence {
    fn of(field: &Field, parent: Option<&NullBuffer>) -> Self {
        match (field.is_nullable(), parent) {
            (true, _) => Self::Any,
            (false, Some(nulls)) => Self::Under(nulls.clone()),
            (false, None) => Self::All,
        }
    }
}

struct Maker {
    profile: NestedProfile,
    rng: Rng,
    slices: bool,
    is_top: bool,
}

impl Maker {
    fn new(profile: &NestedProfile, slices: bool) -> Self {
        Self {
            profile: *profile,
            rng: Rng::new(profile.seed),
            slices,
            is_top: true,
        }
    }

    fn nulls(&mut self, rows: usize, presence: &Presence) -> Option<NullBuffer> {
        let is_top = std::mem::take(&mut self.is_top);
        match presence {
            Presence::Any => {
                let nulls = match self.profile.nulls {
                    Nulls::All if !is_top => Nulls::Percent(30),
                    nulls => nulls,
                };
                null_buffer(rows, nulls, &mut self.rng)
            }
            Presence::Under(parent) => {
                let valid = (0..rows).map(|row| parent.is_valid(row) || self.rng.flip());
                Some(NullBuffer::from(valid.collect::<Vec<bool>>()))
            }
            Presence::All => None,
        }
    }

    /// An array inside another one.
    fn child(&mut self, data_type: &DataType, rows: usize, presence: &Presence) -> ArrayRef {
        if !self.slices || is_uninhabited(data_type) || self.rng.flip() {
            return self.array(data_type, rows, presence);
        }
        let (before, after) = (self.rng.between(1, 13), self.rng.below(7));
        let wider = match presence {
            Presence::Any => Presence::Any,
            Presence::All => Presence::All,
            Presence::Under(parent) => {
                let around = |len| std::iter::repeat_n(true, len);
                let valid = around(before).chain(parent.iter()).chain(around(after));
                Presence::Under(NullBuffer::from(valid.collect::<Vec<bool>>()))
            }
        };
        self.array(data_type, before + rows + after, &wider)
            .slice(before, rows)
    }

    fn array(&mut self, data_type: &DataType, rows: usize, presence: &Presence) -> ArrayRef {
        assert!(
            rows == 0 || !is_uninhabited(data_type),
            "{data_type} has no rows"
        );
        match data_type {
            DataType::Struct(fields) => self.structure(fields, rows, presence),
            DataType::List(item) => self.list::<i32>(item, rows, presence),
            DataType::LargeList(item) => self.list::<i64>(item, rows, presence),
            DataType::ListView(item) => self.list_view::<i32>(item, rows, presence),
            DataType::LargeListView(item) => self.list_view::<i64>(item, rows, presence),
            DataType::Map(entries, is_sorted) => self.map(entries, *is_sorted, rows, presence),
            DataType::FixedSizeList(item, size) => self.vectors(item, *size, rows, presence),
            DataType::Union(fields, mode) => self.union(fields, *mode, rows, presence),
            DataType::RunEndEncoded(ends, values) => {
                self.runs(data_type, ends, values, rows, presence)
            }
            DataType::Dictionary(key, value) => {
                self.dictionary(data_type, key, value, rows, presence)
            }
            flat => self.flat(flat, rows, presence),
        }
    }

    fn flat(&mut self, data_type: &DataType, rows: usize, presence: &Presence) -> ArrayRef {
        if *data_type == DataType::Null {
            assert!(
                rows == 0 || matches!(presence, Presence::Any),
                "a required field of type Null"
            );
            self.is_top = false;
            return Arc::new(NullArray::new(rows));
        }
        let nulls = self.nulls(rows, presence);
        let profile = Profile::new(Nulls::None, self.profile.distribution, self.rng.u64());
        let values = array(data_type, rows, profile).to_data();
        // Nulls are added to values of all rows, so that there are values under nulls, also in arrays of views.
        let data = values.into_builder().nulls(nulls).build();
        make_array(data.unwrap_or_else(|error| panic!("{data_type} x{rows}: {error}")))
    }

    fn structure(&mut self, fields: &Fields, rows: usize, presence: &Presence) -> ArrayRef {
        let nulls = self.nulls(rows, presence);
        let children: Vec<ArrayRef> = fields
            .iter()
            .map(|field| {
                let presence = Presence::of(field, nulls.as_ref());
                self.child(field.data_type(), rows, &presence)
            })
            .collect();
        let made = StructArray::try_new_with_length(fields.clone(), children, nulls, rows);
        Arc::new(made.unwrap_or_else(|error| panic!("struct x{rows}: {error}")))
    }

    /// Items of each row, null rows included.
    fn lengths(&mut self, item: &DataType, rows: usize, nulls: Option<&NullBuffer>) -> Vec<usize> {
        if is_uninhabited(item) {
            return vec![0; rows];
        }
        let is_valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        let valid: Vec<usize> = (0..rows).filter(is_valid).collect();
        let giant = valid.get(self.rng.below(valid.len())).copied();
        (0..rows)
            .map(|row| match self.profile.lengths {
                Lengths::Empty | Lengths::EmptyPrefixThenLong | Lengths::OneGiant
                    if !is_valid(&row) =>
                {
                    self.rng.below(4)
                }
                Lengths::Empty => 0,
                Lengths::Short => self.rng.below(5),
                Lengths::EmptyPrefixThenLong if row + 3 >= rows => self.rng.between(50, 300),
                Lengths::EmptyPrefixThenLong => 0,
                Lengths::OneGiant if Some(row) == giant => self.rng.between(3000, 6000),
                Lengths::OneGiant => 0,
                Lengths::Constant(len) => len,
                Lengths::Skewed if self.rng.percent(2) => self.rng.below(200),
                Lengths::Skewed => self.rng.below(2),
            })
            .collect()
    }

    /// A few items that belong to no row; none if the type has none.
    fn unnamed(&mut self, item: &DataType) -> usize {
        match is_uninhabited(item) {
            true => 0,
            false => self.rng.below(6),
        }
    }

    /// Where the items of each row begin, and where the last ones end; then the number of items. There are items before
    /// and behind.
    fn offsets(&mut self, item: &DataType, lengths: &[usize]) -> (Vec<usize>, usize) {
        let mut end = self.unnamed(item);
        let mut offsets = vec![end];
        for len in lengths {
            end += len;
            offsets.push(end);
        }
        (offsets, end + self.unnamed(item))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        let nulls = self.nulls(rows, presence);
        let lengths = self.lengths(item.data_type(), rows, nulls.as_ref());
        let (offsets, n_items) = self.offsets(item.data_type(), &lengths);
        let items = self.child(item.data_type(), n_items, &Presence::of(item, None));
        let offsets = OffsetBuffer::new(native::<O>(&offsets));
        let made = GenericListArray::try_new(item.clone(), offsets, items, nulls);
        Arc::new(made.unwrap_or_else(|error| panic!("list x{rows}: {error}")))
    }

    fn list_view<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        let nulls = self.nulls(rows, presence);
        let lengths = self.lengths(item.data_type(), rows, nulls.as_ref());
        let mut order: Vec<usize> = (0..rows).collect();
        for at in (1..rows).rev() {
            order.swap(at, self.rng.below(at + 1));
        }
        let mut offsets = vec![0; rows];
        let mut end = self.unnamed(item.data_type());
        for row in order {
            let len = lengths[row];
            if len <= end && self.rng.percent(20) {
                offsets[row] = self.rng.below(end - len + 1);
                continue;
            }
            if self.rng.percent(30) {
                end += self.unnamed(item.data_type());
            }
            offsets[row] = end;
            end += len;
        }
        let n_items = end + self.unnamed(item.data_type());
        let items = self.child(item.data_type(), n_items, &Presence::of(item, None));
        let made = GenericListViewArray::<O>::try_new(
            item.clone(),
            native(&offsets),
            native(&lengths),
            items,
            nulls,
        );
        Arc::new(made.unwrap_or_else(|error| panic!("list view x{rows}: {error}")))
    }

    fn map(
        &mut self,
        entries: &FieldRef,
        is_sorted: bool,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        let DataType::Struct(fields) = entries.data_type() else {
            panic!("a map's entries are {}", entries.data_type());
        };
        let nulls = self.nulls(rows, presence);
        let lengths = self.lengths(entries.data_type(), rows, nulls.as_ref());
        let (offsets, n_entries) = self.offsets(entries.data_type(), &lengths);
        let mut columns = vec![];
        for (at, field) in fields.iter().enumerate() {
            let distribution = self.profile.distribution;
            if at == 0 && is_sorted {
                self.profile.distribution = Distribution::Sorted;
            }
            let presence = Presence::of(field, None);
            columns.push(self.child(field.data_type(), n_entries, &presence));
            self.profile.distribution = distribution;
        }
        let made = StructArray::try_new(fields.clone(), columns, None).and_then(|values| {
            let offsets = OffsetBuffer::new(native::<i32>(&offsets));
            MapArray::try_new(entries.clone(), offsets, values, nulls, is_sorted)
        });
        Arc::new(made.unwrap_or_else(|error| panic!("map x{rows}: {error}")))
    }

    fn vectors(
        &mut self,
        item: &FieldRef,
        size: i32,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        let len = usize::try_from(size).unwrap_or_else(|_| panic!("vectors of {size} items"));
        let nulls = self.nulls(rows, presence);
        let item_nulls = nulls.as_ref().map(|nulls| nulls.expand(len));
        let item_presence = Presence::of(item, item_nulls.as_ref());
        let items = self.child(item.data_type(), rows * len, &item_presence);
        let made = FixedSizeListArray::try_new_with_length(item.clone(), size, items, nulls, rows);
        Arc::new(made.unwrap_or_else(|error| panic!("vectors x{rows}: {error}")))
    }

    /// Unions and runs have no bitmap of their own: where nulls are restricted at all, there are none.
    fn arm_presence(field: &Field, presence: &Presence) -> Presence {
        match presence {
            Presence::Any => Presence::of(field, None),
            Presence::Under(_) | Presence::All => Presence::All,
        }
    }

    fn union(
        &mut self,
        fields: &UnionFields,
        mode: UnionMode,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        self.is_top = false;
        let arms: Vec<(i8, &FieldRef)> = fields.iter().collect();
        let usable: Vec<usize> = (0..arms.len())
            .filter(|arm| !is_uninhabited(arms[*arm].1.data_type()))
            .collect();
        let chosen: Vec<usize> = (0..rows)
            .map(|row| match self.profile.distribution {
                Distribution::Constant => usable[0],
                Distribution::Sorted => usable[row * usable.len() / rows],
                Distribution::Skewed if self.rng.percent(90) => usable[0],
                _ => *self.rng.pick(&usable),
            })
            .collect();
        let type_ids: ScalarBuffer<i8> = chosen.iter().map(|arm| arms[*arm].0).collect();
        let mut lens = vec![rows; arms.len()];
        let mut offsets = None;
        if mode == UnionMode::Dense {
            lens.fill(0);
            // They rise per arm, as the format demands; some name the same value again.
            let of_rows = chosen.iter().map(|arm| {
                let len = &mut lens[*arm];
                if *len == 0 || !self.rng.percent(10) {
                    let gap = match self.rng.percent(20) {
                        true => self.rng.below(4),
                        false => 0,
                    };
                    *len += gap + 1;
                }
                i32::try_from(*len - 1).expect("less than 2^31 values")
            });
            offsets = Some(of_rows.collect::<ScalarBuffer<i32>>());
            for (len, (_, field)) in lens.iter_mut().zip(&arms) {
                *len += self.unnamed(field.data_type());
            }
        }
        let children = arms
            .iter()
            .zip(lens)
            .map(|((_, field), len)| {
                let presence = Self::arm_presence(field, presence);
                self.child(field.data_type(), len, &presence)
            })
            .collect();
        let made = UnionArray::try_new(fields.clone(), type_ids, offsets, children);
        Arc::new(made.unwrap_or_else(|error| panic!("union x{rows}: {error}")))
    }

    fn runs(
        &mut self,
        data_type: &DataType,
        ends_field: &Field,
        values_field: &Field,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        self.is_top = false;
        let longest = match self.profile.distribution {
            Distribution::Constant => rows / 3 + 1,
            Distribution::Skewed => match self.rng.flip() {
                true => 1,
                false => 50,
            },
            _ => 6,
        };
        let mut ends: Vec<usize> = vec![];
        let mut end = 0;
        while end < rows {
            end = rows.min(end + self.rng.between(1, longest));
            ends.push(end);
        }
        let presence = Self::arm_presence(values_field, presence);
        let values = self.child(values_field.data_type(), ends.len(), &presence);
        let too_long = |_| panic!("{rows} rows of {data_type}");
        let ends_buffer = match ends_field.data_type() {
            DataType::Int16 => ends
                .iter()
                .map(|end| i16::try_from(*end).unwrap_or_else(too_long))
                .collect::<Buffer>(),
            DataType::Int32 => native::<i32>(&ends).into_inner(),
            _ => native::<i64>(&ends).into_inner(),
        };
        let ends = ArrayData::builder(ends_field.data_type().clone())
            .len(ends.len())
            .add_buffer(ends_buffer)
            .build()
            .unwrap_or_else(|error| panic!("run ends: {error}"));
        build(data_type, rows, None, vec![], vec![ends, values.to_data()])
    }

    /// Entries that no key names, equal ones, and, where nulls are allowed, null ones.
    fn dictionary(
        &mut self,
        data_type: &DataType,
        key: &DataType,
        value: &DataType,
        rows: usize,
        presence: &Presence,
    ) -> ArrayRef {
        let nulls = self.nulls(rows, presence);
        let n_used = match self.profile.distribution {
            Distribution::Constant => 1,
            Distribution::LowCardinality => 12,
            Distribution::Sorted | Distribution::Skewed => 60,
            // With their copies these are still no more than the narrowest keys can number.
            Distribution::Random | Distribution::Extremes => (rows / 2).clamp(1, 100),
        };
        let n_copies = match self.profile.distribution {
            // The keys of a sorted map must stay sorted.
            Distribution::Sorted => 0,
            _ => (n_used / 4).min(10),
        };
        let entry_presence = match presence {
            Presence::Any => Presence::Any,
            Presence::Under(_) | Presence::All => Presence::All,
        };
        let n_distinct = n_used - n_copies;
        let distinct = self.child(value, n_distinct + 5, &entry_presence).to_data();
        let mut entries = MutableArrayData::new(vec![&distinct], false, n_used + 5);
        // The copies come first and are used; what is behind `n_used` is not.
        let copied = entries
            .try_extend(0, 0, n_copies)
            .and_then(|()| entries.try_extend(0, 0, n_distinct + 5));
        copied.unwrap_or_else(|error| panic!("{data_type}: {error}"));
        let width = fixed_width(key).unwrap_or_else(|| panic!("{key} is not a key type"));
        let mut keys = Vec::with_capacity(rows * width);
        for row in 0..rows {
            let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let code = match self.profile.distribution {
                // The key under a null need not be valid.
                _ if !is_valid => self.rng.u64() & 0x7f,
                Distribution::Sorted => (row * n_used / rows) as u64,
                Distribution::Skewed if self.rng.percent(80) => 0,
                _ => self.rng.below(n_used) as u64,
            };
            keys.extend_from_slice(&code.to_le_bytes()[..width]);
        }
        let entries = entries.freeze();
        build(data_type, rows, nulls, vec![keys.into()], vec![entries])
    }
}

fn native<O: OffsetSizeTrait>(numbers: &[usize]) -> ScalarBuffer<O> {
    let narrow = |number: &usize| O::from_usize(*number).expect("less than 2^31 items");
    numbers.iter().map(narrow).collect()
}
