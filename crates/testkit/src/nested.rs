//! Nested Arrow arrays, and comparison by logical value.
//!
//! What Arrow leaves undefined is filled on purpose: null lists have items, children of null structs have values, offsets
//! begin behind items that nobody names, views overlap and come in no order. A format must not depend on any of it.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    NullArray, OffsetSizeTrait, RecordBatch, StructArray, UnionArray, make_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, UnionFields, UnionMode};

use crate::arrays::{
    Access, Distribution, Nulls, Profile, array, build, describe, fixed_width, flat_types,
    null_buffer,
};
use crate::rng::Rng;

/// How many items lists have. Holds at every level that has lists; fixed-size lists have the length of their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// 0 to 4 items.
    Short,
    /// No items.
    Empty,
    /// No items but in the last three rows, which have 50 to 300.
    EmptyPrefixThenLong,
    /// 3,000 to 6,000 items in one row that is not null, none in the others.
    OneGiant,
    /// So many items in each row.
    Constant(usize),
    /// Mostly 0 or 1 items, in a few rows up to 200.
    Skewed,
}

/// All kinds of lengths that tests go through.
pub const LENGTHS: [Lengths; 6] = [
    Lengths::Short,
    Lengths::Empty,
    Lengths::EmptyPrefixThenLong,
    Lengths::OneGiant,
    Lengths::Constant(2),
    Lengths::Skewed,
];

/// How a nested array is filled. Equal profiles give equal arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedProfile {
    /// Which rows are null, at each nullable level. [`Nulls::All`] holds at the top; levels below have some nulls, so that
    /// there are values under the null rows.
    pub nulls: Nulls,
    /// Which values the leaves have.
    pub distribution: Distribution,
    /// How many items lists have. Null lists have some, whatever is said here.
    pub lengths: Lengths,
    /// Seed of all choices.
    pub seed: u64,
}

impl NestedProfile {
    /// A profile from its parts.
    pub const fn new(
        nulls: Nulls,
        distribution: Distribution,
        lengths: Lengths,
        seed: u64,
    ) -> Self {
        Self {
            nulls,
            distribution,
            lengths,
            seed,
        }
    }
}

/// A dozen profiles in which every kind of nulls, values and lengths occurs.
pub fn nested_profiles(seed: u64) -> Vec<NestedProfile> {
    use Distribution as D;
    let profile = |nulls, distribution, lengths| NestedProfile {
        nulls,
        distribution,
        lengths,
        seed,
    };
    vec![
        profile(Nulls::None, D::Random, Lengths::Short),
        profile(Nulls::None, D::Constant, Lengths::Constant(2)),
        profile(Nulls::EmptyBitmap, D::Sorted, Lengths::Skewed),
        profile(Nulls::Percent(30), D::Random, Lengths::Short),
        profile(Nulls::Percent(30), D::Extremes, Lengths::OneGiant),
        profile(Nulls::Percent(30), D::LowCardinality, Lengths::Constant(3)),
        profile(Nulls::Percent(30), D::Random, Lengths::Empty),
        profile(Nulls::Percent(1), D::Skewed, Lengths::Skewed),
        profile(Nulls::Percent(95), D::Random, Lengths::Short),
        profile(Nulls::Runs, D::Sorted, Lengths::EmptyPrefixThenLong),
        profile(Nulls::All, D::Random, Lengths::Short),
        profile(Nulls::None, D::Random, Lengths::Empty),
    ]
}

fn nullable(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, true))
}

fn required(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, false))
}

fn structure(fields: impl IntoIterator<Item = FieldRef>) -> DataType {
    DataType::Struct(fields.into_iter().collect())
}

fn list(item: DataType) -> DataType {
    DataType::List(nullable("item", item))
}

fn vector(item: DataType, size: i32) -> DataType {
    DataType::FixedSizeList(nullable("item", item), size)
}

fn map(key: DataType, value: DataType, is_sorted: bool) -> DataType {
    let entries = structure([required("key", key), nullable("value", value)]);
    DataType::Map(required("entries", entries), is_sorted)
}

fn run_end_encoded(ends: DataType, values: DataType) -> DataType {
    DataType::RunEndEncoded(required("run_ends", ends), nullable("values", values))
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

/// Arms have type ids that are neither contiguous nor rising, where `ids` says so.
fn union<const N: usize>(mode: UnionMode, ids: [i8; N], arms: [FieldRef; N]) -> DataType {
    let fields =
        UnionFields::try_new(ids, arms).unwrap_or_else(|error| panic!("union {ids:?}: {error}"));
    DataType::Union(fields, mode)
}

/// Nested types by hand: every kind of nesting with few, one and no children, and each kind within others.
///
/// All can be filled with any number of rows, up to 32,767 where runs have 16-bit ends. The union without arms is there
/// only where it needs no row (see [`is_uninhabited`]).
pub fn nested_types() -> Vec<DataType> {
    use DataType::*;
    use UnionMode::{Dense, Sparse};

    let point = || structure([required("x", Float32), nullable("y", Float32)]);
    let person = || {
        structure([
            required("id", Int64),
            nullable("name", Utf8),
            nullable("ß.数", Boolean),
        ])
    };
    let marked = {
        let metadata = HashMap::from([("unit".to_owned(), "m".to_owned())]);
        Arc::new(Field::new("marked", Int16, true).with_metadata(metadata))
    };
    let no_arms = |mode| Union(UnionFields::empty(), mode);
    let two_arms = |mode| {
        union(
            mode,
            [0, 1],
            [nullable("number", Int32), nullable("text", Utf8)],
        )
    };
    vec![
        // Structs.
        structure([]),
        structure([nullable("only", Int32)]),
        structure([required("only", Utf8)]),
        person(),
        structure([marked, nullable("nothing", Null)]),
        structure([
            nullable("bits", Boolean),
            nullable("view", BinaryView),
            nullable("code", dictionary(Int8, Utf8)),
        ]),
        structure([
            nullable("inner", structure([required("deep", structure([]))])),
            required("other", point()),
        ]),
        // Required at every level but the second.
        structure([nullable(
            "a",
            structure([required("b", structure([required("c", Int32)]))]),
        )]),
        structure([
            required("items", list(Int32)),
            required("code", dictionary(Int16, Utf8)),
            required("vector", vector(Int8, 3)),
        ]),
        structure([required("runs", run_end_encoded(Int32, Int32))]),
        // Lists.
        list(Int32),
        List(required("element", Int64)),
        list(Utf8),
        list(Boolean),
        list(Utf8View),
        list(Null),
        list(FixedSizeBinary(3)),
        list(dictionary(Int8, Utf8)),
        list(structure([])),
        list(person()),
        List(required("item", point())),
        LargeList(nullable("item", Float64)),
        LargeList(required("item", LargeUtf8)),
        list(list(Int16)),
        list(LargeList(required("item", list(Binary)))),
        list(list(list(list(Int8)))),
        list(no_arms(Sparse)),
        list(no_arms(Dense)),
        list(two_arms(Dense)),
        // List views.
        ListView(nullable("item", Int32)),
        ListView(required("item", Utf8)),
        LargeListView(nullable("item", Boolean)),
        LargeListView(nullable("item", person())),
        ListView(nullable("item", ListView(nullable("item", Float32)))),
        list(ListView(nullable("item", list(Utf8)))),
        // Maps.
        map(Utf8, Int32, false),
        map(Utf8, Utf8, true),
        map(Int32, person(), true),
        map(dictionary(Int32, Utf8), list(Float32), false),
        list(map(Int64, map(Utf8, Boolean, false), true)),
        // Fixed-size lists.
        vector(Int32, 0),
        FixedSizeList(required("item", Utf8), 0),
        vector(Int32, 1),
        FixedSizeList(required("item", Float32), 3),
        vector(Boolean, 3),
        vector(Utf8, 3),
        FixedSizeList(required("item", Float16), 768),
        vector(Float32, 768),
        FixedSizeList(required("item", person()), 3),
        vector(list(Int32), 3),
        vector(FixedSizeList(required("item", vector(Int8, 2)), 3), 2),
        list(FixedSizeList(required("item", Float32), 3)),
        vector(structure([nullable("v", vector(Utf8View, 1))]), 3),
        // Unions.
        union(Sparse, [0], [nullable("only", Int32)]),
        union(Dense, [5], [nullable("only", Utf8)]),
        two_arms(Sparse),
        two_arms(Dense),
        union(
            Sparse,
            [3, 127, 7],
            [
                nullable("a", Float64),
                nullable("b", person()),
                required("c", Boolean),
            ],
        ),
        union(
            Dense,
            [9, 2, 100],
            [
                nullable("a", list(Int32)),
                nullable("b", Null),
                required("c", LargeBinary),
            ],
        ),
        union(
            Dense,
            [1, 0],
            [
                nullable("none", no_arms(Dense)),
                nullable("nested", two_arms(Sparse)),
            ],
        ),
        structure([nullable("choice", two_arms(Sparse)), nullable("x", Int8)]),
        vector(two_arms(Dense), 3),
        // Runs.
        run_end_encoded(Int16, Int32),
        run_end_encoded(Int32, Utf8),
        run_end_encoded(Int64, Float64),
        run_end_encoded(Int32, person()),
        run_end_encoded(Int32, list(Int32)),
        RunEndEncoded(required("run_ends", Int64), required("values", Boolean)),
        list(run_end_encoded(Int32, Utf8)),
        run_end_encoded(Int32, dictionary(Int16, Utf8)),
        // Dictionaries.
        dictionary(Int32, person()),
        dictionary(UInt8, list(Utf8)),
        dictionary(Int16, dictionary(Int8, Utf8)),
        list(dictionary(Int32, structure([nullable("x", list(Int64))]))),
        dictionary(Int32, vector(Float32, 3)),
        // Four levels of different kinds.
        list(structure([nullable(
            "m",
            map(
                Utf8,
                vector(structure([required("x", list(Float64))]), 2),
                false,
            ),
        )])),
        structure([nullable(
            "u",
            union(
                Dense,
                [4, 1],
                [
                    nullable("l", LargeListView(nullable("item", dictionary(Int8, Utf8)))),
                    nullable(
                        "r",
                        run_end_encoded(Int32, structure([nullable("z", Utf8)])),
                    ),
                ],
            ),
        )]),
    ]
}

/// A nested type of at most `depth` levels above its leaves. The leaves are of any flat type, mostly of common ones. Depth
/// 0 gives a flat type.
///
/// No type is [uninhabited](is_uninhabited), and a required field is of a type that has values other than null.
pub fn random_type(rng: &mut Rng, depth: u32) -> DataType {
    random_type_within(rng, depth, false)
}

/// `is_item` where the type has more rows than the array: there, no type is picked whose rows are large or few.
fn random_type_within(rng: &mut Rng, depth: u32, is_item: bool) -> DataType {
    use DataType::*;
    if depth == 0 || rng.percent(10) {
        return random_leaf(rng);
    }
    let below = depth - 1;
    match rng.below(14) {
        0..3 => {
            let n_fields = *rng.pick(&[0, 1, 1, 2, 3, 4]);
            structure((0..n_fields).map(|at| random_field(rng, &format!("f{at}"), below, is_item)))
        }
        3 | 4 => List(random_field(rng, "item", below, true)),
        5 => LargeList(random_field(rng, "element", below, true)),
        6 => ListView(random_field(rng, "item", below, true)),
        7 => LargeListView(random_field(rng, "item", below, true)),
        8 => {
            let key = rng
                .pick(&[Utf8, Int32, LargeUtf8, Int64, Binary, Date32])
                .clone();
            let fields = [
                required("key", key),
                random_field(rng, "value", below, true),
            ];
            Map(required("entries", structure(fields)), rng.flip())
        }
        9 if !is_item && rng.percent(20) => {
            let item = rng.pick(&[Float16, Float32, Int8]).clone();
            FixedSizeList(Arc::new(Field::new("item", item, rng.flip())), 768)
        }
        9 | 10 => {
            let size = *rng.pick(&[0, 1, 2, 3, 5]);
            FixedSizeList(random_field(rng, "item", below, true), size)
        }
        11 => {
            let mode = *rng.pick(&[UnionMode::Sparse, UnionMode::Dense]);
            let n_arms = rng.between(1, 3);
            let mut ids: Vec<i8> = vec![];
            while ids.len() < n_arms {
                let id = match rng.flip() {
                    true => ids.len() as i8,
                    false => rng.below(128) as i8,
                };
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            let arms: Vec<FieldRef> = (0..n_arms)
                .map(|at| random_field(rng, &format!("arm{at}"), below, is_item))
                .collect();
            let fields = UnionFields::try_new(ids, arms)
                .unwrap_or_else(|error| panic!("random union: {error}"));
            Union(fields, mode)
        }
        12 => {
            // 16-bit ends would limit how often the type may repeat.
            let ends = match is_item {
                true => rng.pick(&[Int32, Int64]).clone(),
                false => rng.pick(&[Int16, Int32, Int64]).clone(),
            };
            let values = random_field(rng, "values", below, is_item);
            RunEndEncoded(required("run_ends", ends), values)
        }
        _ => {
            let key = rng.pick(&[Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64]);
            dictionary(key.clone(), random_type_within(rng, below, is_item))
        }
    }
}

fn random_field(rng: &mut Rng, name: &str, depth: u32, is_item: bool) -> FieldRef {
    let data_type = random_type_within(rng, depth, is_item);
    let is_nullable = rng.percent(70) || !has_values(&data_type);
    let mut field = Field::new(name, data_type, is_nullable);
    if rng.percent(5) {
        field.set_metadata(HashMap::from([("key".to_owned(), "value".to_owned())]));
    }
    Arc::new(field)
}

fn random_leaf(rng: &mut Rng) -> DataType {
    use DataType::*;
    if rng.percent(70) {
        return rng
            .pick(&[Int32, Int64, Float32, Float64, Utf8, Boolean, Binary])
            .clone();
    }
    let is_small = |data_type: &DataType| fixed_width(data_type).is_none_or(|width| width <= 32);
    let types: Vec<DataType> = flat_types().into_iter().filter(is_small).collect();
    rng.pick(&types).clone()
}

/// Whether no array of the type can have a row: the union without arms, and what needs a value of such a type for each row.
pub fn is_uninhabited(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(fields, UnionMode::Dense) => fields
            .iter()
            .all(|(_, field)| is_uninhabited(field.data_type())),
        DataType::Union(fields, UnionMode::Sparse) => {
            fields.is_empty()
                || fields
                    .iter()
                    .any(|(_, field)| is_uninhabited(field.data_type()))
        }
        DataType::Struct(fields) => fields.iter().any(|field| is_uninhabited(field.data_type())),
        DataType::FixedSizeList(item, size) => *size > 0 && is_uninhabited(item.data_type()),
        DataType::RunEndEncoded(_, values) => is_uninhabited(values.data_type()),
        // Rows could all be null; no array is made of that.
        DataType::Dictionary(_, value) => is_uninhabited(value),
        _ => false,
    }
}

/// Whether an array of the type can be without nulls.
fn has_values(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => false,
        // Arrow asks all arms of a union, not only those that rows choose.
        DataType::Union(fields, _) => fields
            .iter()
            .all(|(_, field)| has_values(field.data_type())),
        DataType::RunEndEncoded(_, values) => has_values(values.data_type()),
        DataType::Dictionary(_, value) => has_values(value),
        _ => true,
    }
}

/// An array of `rows` rows, of a nested or a flat type. No part of it is a slice.
///
/// # Panics
/// For rows of a type that has none ([`is_uninhabited`]), for more rows than 16-bit run ends can count, and for required
/// fields of types that have only nulls.
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
    /// Those that the profile makes null.
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

    /// An array inside of another.
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
        // Put over values of all rows, so that there are values under nulls, of views too.
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

    /// A few items that no row names; none where there can be none.
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
            // With their copies still as many as the narrowest key can name.
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
                // What stands under a null need not be a key.
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

/// Checks that two arrays mean the same, as [`logical_difference`] says.
///
/// # Panics
/// At the first difference.
pub fn assert_logically_equal(got: &dyn Array, expected: &dyn Array) {
    if let Err(difference) = logical_difference(got, expected) {
        panic!("{difference}");
    }
}

/// The first difference between two arrays by logical value, in words that name path and row.
///
/// Types must be equal, with names, nullability and metadata of all fields. Rows must be null in both or in neither, at
/// every level, but what stands under a null does not count. Values are compared bit for bit (so `-0.0` is not `0.0`, and
/// a NaN equals only itself), lists and views by their items, unions by the type id and the value it chooses. Runs and
/// dictionaries count as what their rows mean: a key of a null entry equals a null key. A union whose value is null is not
/// equal to a null: it has a type id.
///
/// # Errors
/// The difference.
pub fn logical_difference(got: &dyn Array, expected: &dyn Array) -> Result<(), String> {
    difference_at("", got, expected)
}

/// The first difference between the rows of `got` and those rows of `expected` that `rows` names, as [`logical_difference`] says.
///
/// # Errors
/// The difference.
///
/// # Panics
/// Where `expected` has no such row.
pub fn picked_logical_difference(
    got: &ArrayRef,
    expected: &ArrayRef,
    rows: impl IntoIterator<Item = usize>,
) -> Result<(), String> {
    same_type("", got, expected)?;
    let pairs = rows.into_iter().enumerate();
    let pairs = pairs.map(|(row, expected)| Pair {
        row,
        got: row,
        expected,
    });
    let pairs: Vec<Pair> = pairs.collect();
    if got.len() != pairs.len() {
        return Err(format!("{} rows instead of {}", got.len(), pairs.len()));
    }
    compare(&mut String::new(), got, expected, pairs)
}

/// The first difference between two batches: in their schemas (metadata included), their numbers of rows, or their columns
/// as [`logical_difference`] compares them.
///
/// # Errors
/// The difference.
pub fn batch_logical_difference(got: &RecordBatch, expected: &RecordBatch) -> Result<(), String> {
    if got.schema_ref() != expected.schema_ref() {
        let (got, expected) = (got.schema_ref(), expected.schema_ref());
        return Err(format!("schema {got:?} instead of {expected:?}"));
    }
    if got.num_rows() != expected.num_rows() {
        let (got, expected) = (got.num_rows(), expected.num_rows());
        return Err(format!("{got} rows instead of {expected}"));
    }
    let columns = got.columns().iter().zip(expected.columns());
    for ((got, expected), field) in columns.zip(expected.schema_ref().fields()) {
        difference_at(field.name(), got, expected)?;
    }
    Ok(())
}

fn difference_at(path: &str, got: &dyn Array, expected: &dyn Array) -> Result<(), String> {
    same_type(path, got, expected)?;
    if got.len() != expected.len() {
        let (got, expected) = (got.len(), expected.len());
        let place = place(path);
        return Err(format!("{place}{got} rows instead of {expected}"));
    }
    let pairs = (0..got.len()).map(|row| Pair {
        row,
        got: row,
        expected: row,
    });
    let (got, expected) = (got.slice(0, got.len()), expected.slice(0, expected.len()));
    compare(&mut path.to_owned(), &got, &expected, pairs.collect())
}

fn place(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}: "),
    }
}

fn same_type(path: &str, got: &dyn Array, expected: &dyn Array) -> Result<(), String> {
    if got.data_type() != expected.data_type() {
        let (got, expected) = (got.data_type(), expected.data_type());
        // The short form leaves out what fields are called in some types, and their metadata.
        let place = place(path);
        return Err(match got.to_string() == expected.to_string() {
            true => format!("{place}type {got:?} instead of {expected:?}"),
            false => format!("{place}type {got} instead of {expected}"),
        });
    }
    Ok(())
}

/// Two elements to be compared.
struct Pair {
    /// The row at the top that they are part of.
    row: usize,
    /// Index in the array at hand.
    got: usize,
    /// As well.
    expected: usize,
}

/// Stands for a null among indices.
const NULL: usize = usize::MAX;

/// Compares a level at once: one call per node of the type, however many rows there are.
fn compare(
    path: &mut String,
    got: &ArrayRef,
    expected: &ArrayRef,
    pairs: Vec<Pair>,
) -> Result<(), String> {
    let data_type = expected.data_type();
    let differ = |path: &str, pair: &Pair, text: std::fmt::Arguments<'_>| {
        let place = match path {
            "" => data_type.to_string(),
            path => format!("{path} ({data_type})"),
        };
        Err(format!("{place}, row {}: {text}", pair.row))
    };
    let (got, got_at) = resolve(got, pairs.iter().map(|pair| pair.got).collect());
    let (expected, expected_at) =
        resolve(expected, pairs.iter().map(|pair| pair.expected).collect());
    let mut present = Vec::with_capacity(pairs.len());
    for (pair, (got, expected)) in pairs.iter().zip(got_at.into_iter().zip(expected_at)) {
        match (got, expected) {
            (NULL, NULL) => {}
            (NULL, _) => return differ(path, pair, format_args!("null instead of a value")),
            (_, NULL) => return differ(path, pair, format_args!("a value instead of null")),
            (got, expected) => present.push(Pair {
                row: pair.row,
                got,
                expected,
            }),
        }
    }
    drop(pairs);
    if present.is_empty() {
        return Ok(());
    }
    match expected.data_type() {
        DataType::Struct(fields) => {
            let columns = got.as_struct().columns().iter();
            for ((got, expected), field) in columns.zip(expected.as_struct().columns()).zip(fields)
            {
                let pairs = present.iter().map(|pair| Pair { ..*pair }).collect();
                within(path, &format!(".{}", field.name()), |path| {
                    compare(path, got, expected, pairs)
                })?;
            }
            Ok(())
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Map(..)
        | DataType::FixedSizeList(..) => {
            let (got, expected) = (Lists::new(&got), Lists::new(&expected));
            let mut items = vec![];
            for pair in &present {
                let (got_start, got_len) = got.range(pair.got);
                let (start, len) = expected.range(pair.expected);
                if got_len != len {
                    return differ(path, pair, format_args!("{got_len} items instead of {len}"));
                }
                items.extend((0..len).map(|at| Pair {
                    row: pair.row,
                    got: got_start + at,
                    expected: start + at,
                }));
            }
            within(path, "[]", |path| {
                compare(path, &got.items, &expected.items, items)
            })
        }
        DataType::Union(fields, _) => {
            let (got, expected) = (got.as_union(), expected.as_union());
            let mut of_arms: HashMap<i8, Vec<Pair>> = HashMap::new();
            for pair in &present {
                let (got_id, id) = (got.type_id(pair.got), expected.type_id(pair.expected));
                if got_id != id {
                    return differ(path, pair, format_args!("type id {got_id} instead of {id}"));
                }
                of_arms.entry(id).or_default().push(Pair {
                    row: pair.row,
                    got: got.value_offset(pair.got),
                    expected: expected.value_offset(pair.expected),
                });
            }
            for (id, field) in fields.iter() {
                if let Some(pairs) = of_arms.remove(&id) {
                    within(path, &format!("<{}>", field.name()), |path| {
                        compare(path, got.child(id), expected.child(id), pairs)
                    })?;
                }
            }
            Ok(())
        }
        _ => {
            let (got, expected) = (Access::new(&got), Access::new(&expected));
            for pair in &present {
                let (got, expected) = (got.get(pair.got), expected.get(pair.expected));
                if got != expected {
                    let (got, expected) = (describe(&got), describe(&expected));
                    return differ(path, pair, format_args!("{got} instead of {expected}"));
                }
            }
            Ok(())
        }
    }
}

/// Calls with a longer path.
fn within(
    path: &mut String,
    part: &str,
    call: impl FnOnce(&mut String) -> Result<(), String>,
) -> Result<(), String> {
    let len = path.len();
    let _ = path.write_str(part);
    let result = call(path);
    path.truncate(len);
    result
}

/// Follows dictionaries and runs to the array that has the values; indices of nulls become [`NULL`].
fn resolve(array: &ArrayRef, mut at: Vec<usize>) -> (ArrayRef, Vec<usize>) {
    let mut array = array.clone();
    loop {
        if let Some(nulls) = array.nulls() {
            for index in at.iter_mut().filter(|index| **index != NULL) {
                if nulls.is_null(*index) {
                    *index = NULL;
                }
            }
        }
        let present = at.iter_mut().filter(|index| **index != NULL);
        array = match array.data_type() {
            DataType::Null => {
                at.fill(NULL);
                return (array, at);
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                // Without entries all rows are null.
                if !dictionary.values().is_empty() {
                    let keys = dictionary.normalized_keys();
                    present.for_each(|index| *index = keys[*index]);
                }
                dictionary.values().clone()
            }
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => {
                    let runs = array.as_run::<Int16Type>();
                    present.for_each(|index| *index = runs.get_physical_index(*index));
                    runs.values().clone()
                }
                DataType::Int32 => {
                    let runs = array.as_run::<Int32Type>();
                    present.for_each(|index| *index = runs.get_physical_index(*index));
                    runs.values().clone()
                }
                _ => {
                    let runs = array.as_run::<Int64Type>();
                    present.for_each(|index| *index = runs.get_physical_index(*index));
                    runs.values().clone()
                }
            },
            _ => return (array, at),
        };
    }
}

/// The items of lists of any kind.
struct Lists<'a> {
    array: &'a ArrayRef,
    items: ArrayRef,
}

impl<'a> Lists<'a> {
    fn new(array: &'a ArrayRef) -> Self {
        let items: ArrayRef = match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().values().clone(),
            DataType::LargeList(_) => array.as_list::<i64>().values().clone(),
            DataType::ListView(_) => array.as_list_view::<i32>().values().clone(),
            DataType::LargeListView(_) => array.as_list_view::<i64>().values().clone(),
            DataType::Map(..) => Arc::new(array.as_map().entries().clone()),
            _ => array.as_fixed_size_list().values().clone(),
        };
        Self { array, items }
    }

    /// The first item of a row and how many there are.
    fn range(&self, row: usize) -> (usize, usize) {
        fn between<O: OffsetSizeTrait>(offsets: &[O], row: usize) -> (usize, usize) {
            let (start, end) = (offsets[row].as_usize(), offsets[row + 1].as_usize());
            (start, end - start)
        }
        match self.array.data_type() {
            DataType::List(_) => between(self.array.as_list::<i32>().value_offsets(), row),
            DataType::LargeList(_) => between(self.array.as_list::<i64>().value_offsets(), row),
            DataType::Map(..) => between(self.array.as_map().value_offsets(), row),
            DataType::ListView(_) => {
                let views = self.array.as_list_view::<i32>();
                (
                    views.value_offset(row).as_usize(),
                    views.value_size(row).as_usize(),
                )
            }
            DataType::LargeListView(_) => {
                let views = self.array.as_list_view::<i64>();
                (
                    views.value_offset(row).as_usize(),
                    views.value_size(row).as_usize(),
                )
            }
            _ => {
                let len = self.array.as_fixed_size_list().value_length() as usize;
                (row * len, len)
            }
        }
    }
}
