//! The decoded leaf columns of a field become one nested array.
//!
//! Lists come back as they are stored: what is below them is dense. Arrow wants a slot below a null struct or
//! fixed-size list too, and for every row of a sparse union in each child: there the columns below are *spread*, so
//! that the slots of a mask have the stored ones in order and the others filler.

use std::sync::Arc;

use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    NullArray, OffsetSizeTrait, StructArray, UnionArray,
};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, Field, FieldRef, UnionFields, UnionMode};
use tarsia_codec::toolbox::VIEW_BYTES;
use tarsia_codec::{AlignedBuf, BitSlice, Result, ValueType};

use tarsia_structure::layout::items_bytes;
use tarsia_structure::memory::{words, words_mut};
use tarsia_structure::{Budget, LevelForm, RawLevel, RawParts, slots};

use crate::buffers::ColumnBuffers;
use crate::dictionary;
use crate::flat::{array_of_borrowed, array_of_views};
use crate::path::leaf_paths;
use crate::plain::plain_array;
use crate::pool::Pool;
use crate::runs::{Build, RunsError, corrupt, misfit, runs};
use crate::types::{logical_type, value_type};

/// One decoded leaf column.
#[derive(Debug)]
pub struct LeafParts {
    /// The levels above its items, outermost first.
    pub levels: Vec<RawLevel>,
    /// Its items.
    pub items: RawParts,
    /// For byte strings that were not copied: where they lie.
    pub borrowed: Option<BorrowedItems>,
}

/// Byte strings of a leaf column that are borrowed instead of copied.
#[derive(Debug)]
pub enum BorrowedItems {
    /// The items are views, as [`BorrowedStrings`](crate::BorrowedStrings) collects them, of these buffers.
    Views(Vec<Buffer>),
    /// The items have only [ends](tarsia_structure::RawColumn::ends); the strings lie back to back in this buffer.
    Run(Buffer),
}

/// Builds the array of a nested field from its leaf columns, in order. `None` where the keys of a dictionary or the
/// ends of runs are too narrow for so many rows: the caller decodes fewer. Slots that are not stored, below nulls,
/// count against the budget.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`](tarsia_codec::ErrorKind::LimitExceeded) for more than the budget;
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) where columns under one parent say different things of it,
/// for nulls where the field allows none, type ids that the union does not have, text that is not UTF-8;
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for columns that are not the field's.
pub fn assemble(
    field: &Field,
    mut leaves: Vec<LeafParts>,
    rows: usize,
    pool: &Pool,
    budget: &Budget,
) -> Result<Option<ArrayRef>> {
    let node = Node {
        data_type: field.data_type(),
        nullable: field.is_nullable(),
        level: 0,
        n_slots: rows,
        mask: None,
    };
    match (Assembler { pool, budget }).build(node, &mut leaves) {
        Ok(array) => Ok(Some(array)),
        Err(RunsError::TooManyRows) => Ok(None),
        Err(RunsError::Error(error)) => Err(error),
    }
}

/// One node of the schema, and the slots it is built for.
struct Node<'a> {
    data_type: &'a DataType,
    nullable: bool,
    /// Its first level in the leaves.
    level: usize,
    /// Slots of the array.
    n_slots: usize,
    /// Which of them are stored; all where there is no mask.
    mask: Option<BooleanBuffer>,
}

/// A type id and an offset.
const UNION_SLOT_BYTES: u64 = 5;

struct Assembler<'p> {
    pool: &'p Pool,
    budget: &'p Budget,
}

impl Assembler<'_> {
    fn build(&self, node: Node<'_>, leaves: &mut [LeafParts]) -> Build {
        match node.data_type {
            DataType::Struct(fields) if !fields.is_empty() => {
                let (nulls, mask) = self.validity(&node, leaves)?;
                let mut children = Vec::with_capacity(fields.len());
                let mut rest = leaves;
                for field in fields {
                    let child = Node {
                        data_type: field.data_type(),
                        nullable: field.is_nullable(),
                        level: node.level + 1,
                        n_slots: node.n_slots,
                        mask: mask.clone(),
                    };
                    let (now, later) = split(rest, field)?;
                    children.push(self.build(child, now)?);
                    rest = later;
                }
                let array = StructArray::try_new_with_length(
                    fields.clone(),
                    children,
                    nulls,
                    node.n_slots,
                )?;
                Ok(Arc::new(array))
            }
            DataType::List(item) => self.list::<i32>(node, item, leaves),
            DataType::LargeList(item) => self.list::<i64>(node, item, leaves),
            DataType::ListView(item) => self.list_view::<i32>(node, item, leaves),
            DataType::LargeListView(item) => self.list_view::<i64>(node, item, leaves),
            DataType::Map(entries, ordered) => {
                let (nulls, ends, items) = self.list_parts(node, entries, leaves)?;
                let entries_array = items.as_any().downcast_ref::<StructArray>();
                let entries_array = entries_array.ok_or_else(misfit)?.clone();
                let array = MapArray::try_new(
                    entries.clone(),
                    offsets::<i32>(ends),
                    entries_array,
                    nulls,
                    *ordered,
                )?;
                Ok(Arc::new(array))
            }
            DataType::FixedSizeList(item, length) => self.fixed_list(node, item, *length, leaves),
            DataType::Union(fields, mode) => self.union(node, fields, *mode, leaves),
            DataType::RunEndEncoded(ends, values) => {
                let child = Node {
                    data_type: values.data_type(),
                    nullable: node.nullable || values.is_nullable(),
                    ..node
                };
                let logical = self.build(child, leaves)?;
                match ends.data_type() {
                    DataType::Int16 => runs::<Int16Type>(node.data_type, &logical),
                    DataType::Int32 => runs::<Int32Type>(node.data_type, &logical),
                    _ => runs::<Int64Type>(node.data_type, &logical),
                }
            }
            DataType::Dictionary(key, values) => {
                let (mut nulls, mut mask, mut level) = (None, node.mask.clone(), node.level);
                if let DataType::Union(..) = values.as_ref() {
                    (nulls, mask) = self.validity(&node, leaves)?;
                    level += 1;
                }
                let child = Node {
                    data_type: values,
                    nullable: node.nullable,
                    level,
                    n_slots: node.n_slots,
                    mask,
                };
                let logical = self.build(child, leaves)?;
                // A union's logical nulls are those of what it chose, not its own.
                if !matches!(values.as_ref(), DataType::Union(..)) {
                    nulls = logical.logical_nulls();
                }
                let mut parts = dictionary::encode(key, &logical, nulls)?;
                match (parts.pop(), parts.is_empty()) {
                    (Some(array), true) => Ok(array),
                    _ => Err(RunsError::TooManyRows),
                }
            }
            flat => self.leaf(flat, node, leaves),
        }
    }

    /// Pays for a bit per slot.
    fn spend_bits(&self, n_slots: usize) -> Result<()> {
        self.budget.spend(n_slots.div_ceil(8) as u64)
    }

    /// The validity of the node's slots, and which of the slots below are stored.
    fn validity(
        &self,
        node: &Node<'_>,
        leaves: &mut [LeafParts],
    ) -> Build<(Option<NullBuffer>, Option<BooleanBuffer>)> {
        let (first, others) = leaves.split_first_mut().ok_or_else(misfit)?;
        let level = first.levels.get_mut(node.level).ok_or_else(misfit)?;
        for other in others {
            if !other
                .levels
                .get(node.level)
                .is_some_and(|other| other.agrees(level))
            {
                return Err(corrupt("validity of a parent").into());
            }
        }
        let stored = node
            .mask
            .as_ref()
            .map_or(node.n_slots, BooleanBuffer::count_set_bits);
        if level.form != LevelForm::Validity || level.n_slots != stored {
            return Err(corrupt("slots of a parent").into());
        }
        let nulls = level.null_count > 0;
        if nulls && !node.nullable {
            return Err(corrupt("nulls in a field that allows none").into());
        }
        if !nulls {
            return Ok((None, node.mask.clone()));
        }
        let n_stored = level.n_slots;
        let bits = level.take_validity().ok_or_else(misfit)?;
        let bits = match &node.mask {
            None => BooleanBuffer::new(
                self.pool.into_buffer(bits, n_stored.div_ceil(8)),
                0,
                n_stored,
            ),
            Some(mask) => {
                self.spend_bits(node.n_slots)?;
                spread_mask(mask, &bits)?
            }
        };
        Ok((Some(NullBuffer::new(bits.clone())), Some(bits)))
    }

    /// Nulls, ends and items of a list of any kind.
    fn list_parts(
        &self,
        node: Node<'_>,
        item: &FieldRef,
        leaves: &mut [LeafParts],
    ) -> Build<(Option<NullBuffer>, ScalarBuffer<u32>, ArrayRef)> {
        let (nulls, mask) = self.validity(&node, leaves)?;
        let (first, others) = leaves.split_first_mut().ok_or_else(misfit)?;
        let level = first.levels.get_mut(node.level + 1).ok_or_else(misfit)?;
        for other in others {
            let other = other.levels.get(node.level + 1);
            if !other.is_some_and(|other| other.agrees(level)) {
                return Err(corrupt("lengths of a list").into());
            }
        }
        let stored = mask
            .as_ref()
            .map_or(node.n_slots, BooleanBuffer::count_set_bits);
        if level.form != LevelForm::Lengths || level.n_slots != stored {
            return Err(corrupt("slots of a list").into());
        }
        let (n_stored, n_items) = (level.n_slots, level.ends().last().copied().unwrap_or(0));
        let ends_bytes = (node.n_slots + 1) * 4;
        let ends = match &mask {
            // A level without slots never got an end.
            _ if n_stored == 0 => self
                .pool
                .into_buffer(AlignedBuf::zeroed(ends_bytes), ends_bytes),
            None => self.pool.into_buffer(level.take_ends(), ends_bytes),
            Some(mask) => {
                self.budget.spend(ends_bytes as u64)?;
                let mut all = self.pool.take(ends_bytes);
                let to: &mut [u32] = words_mut(&mut all);
                if let Some((first, ends)) = to.split_first_mut() {
                    *first = 0;
                    let dense = level.ends().get(1..).unwrap_or_default();
                    let ends = ends.get_mut(..node.n_slots).unwrap_or_default();
                    slots::spread_ends(ends, 0, bit_slice(mask)?, dense);
                }
                self.pool.into_buffer(all, ends_bytes)
            }
        };
        let child = Node {
            data_type: item.data_type(),
            nullable: item.is_nullable(),
            level: node.level + 2,
            n_slots: n_items as usize,
            mask: None,
        };
        let items = self.build(child, leaves)?;
        Ok((nulls, ScalarBuffer::from(ends), items))
    }

    fn list<O: OffsetSizeTrait>(
        &self,
        node: Node<'_>,
        item: &FieldRef,
        leaves: &mut [LeafParts],
    ) -> Build {
        let (nulls, ends, items) = self.list_parts(node, item, leaves)?;
        let array = GenericListArray::<O>::try_new(item.clone(), offsets::<O>(ends), items, nulls)?;
        Ok(Arc::new(array))
    }

    fn list_view<O: OffsetSizeTrait>(
        &self,
        node: Node<'_>,
        item: &FieldRef,
        leaves: &mut [LeafParts],
    ) -> Build {
        let (nulls, ends, items) = self.list_parts(node, item, leaves)?;
        let starts = ends.iter().take(ends.len() - 1);
        let starts: ScalarBuffer<O> = starts.map(|start| O::usize_as(*start as usize)).collect();
        let sizes = ends
            .windows(2)
            .map(|pair| O::usize_as((pair[1] - pair[0]) as usize));
        let array = GenericListViewArray::<O>::try_new(
            item.clone(),
            starts,
            sizes.collect(),
            items,
            nulls,
        )?;
        Ok(Arc::new(array))
    }

    fn fixed_list(
        &self,
        node: Node<'_>,
        item: &FieldRef,
        length: i32,
        leaves: &mut [LeafParts],
    ) -> Build {
        let (nulls, mask) = self.validity(&node, leaves)?;
        let size = usize::try_from(length).map_err(|_| misfit())?;
        let n_items = node.n_slots.checked_mul(size).ok_or_else(misfit)?;
        if mask.is_some() {
            self.spend_bits(n_items)?;
        }
        let mask = mask.map(|mask| {
            let mut repeated = BooleanBufferBuilder::new(n_items);
            for bit in &mask {
                repeated.append_n(size, bit);
            }
            repeated.finish()
        });
        let child = Node {
            data_type: item.data_type(),
            nullable: item.is_nullable(),
            level: node.level + 2,
            n_slots: n_items,
            mask,
        };
        let items = self.build(child, leaves)?;
        let array = FixedSizeListArray::try_new_with_length(
            item.clone(),
            length,
            items,
            nulls,
            node.n_slots,
        )?;
        Ok(Arc::new(array))
    }

    fn union(
        &self,
        node: Node<'_>,
        fields: &UnionFields,
        mode: UnionMode,
        leaves: &mut [LeafParts],
    ) -> Build {
        let (own, mut rest) = leaves.split_first_mut().ok_or_else(misfit)?;
        let stored_ids = stored_type_ids(own, &node, fields)?;
        // Filler slots choose the first child.
        let filler = fields.iter().next().map_or(0, |(type_id, _)| type_id);
        if fields.is_empty() && node.n_slots > 0 {
            return Err(corrupt("a union without children that has rows").into());
        }
        if node.mask.is_some() {
            self.budget.spend(UNION_SLOT_BYTES * node.n_slots as u64)?;
        }
        let mut ids = vec![filler; node.n_slots];
        match &node.mask {
            None => {
                for (to, id) in ids.iter_mut().zip(stored_ids) {
                    *to = *id as i8;
                }
            }
            Some(mask) => {
                for (slot, id) in mask.set_indices().zip(stored_ids) {
                    ids[slot] = *id as i8;
                }
            }
        }
        let mut offsets = vec![
            0i32;
            if mode == UnionMode::Dense {
                ids.len()
            } else {
                0
            }
        ];
        let mut children = Vec::with_capacity(fields.len());
        for (type_id, field) in fields.iter() {
            let (now, later) = split(rest, field)?;
            rest = later;
            let n_chosen = self.chosen(type_id, stored_ids, node.level, now)?;
            let is_filler = type_id == filler && node.mask.is_some();
            let mask = match mode {
                UnionMode::Sparse => {
                    self.spend_bits(ids.len())?;
                    let stored =
                        |slot: usize| node.mask.as_ref().is_none_or(|mask| mask.value(slot));
                    let chosen = |slot: usize| ids[slot] == type_id && stored(slot);
                    let mask = BooleanBuffer::collect_bool(ids.len(), chosen);
                    (mask.count_set_bits() < mask.len()).then_some(mask)
                }
                // One more value, for slots that nobody looks at.
                UnionMode::Dense if is_filler => {
                    Some(BooleanBuffer::collect_bool(n_chosen + 1, |slot| {
                        slot < n_chosen
                    }))
                }
                UnionMode::Dense => None,
            };
            if mode == UnionMode::Dense {
                let mut next = 0;
                for (slot, (id, offset)) in ids.iter().zip(&mut offsets).enumerate() {
                    if *id == type_id {
                        let stored = node.mask.as_ref().is_none_or(|mask| mask.value(slot));
                        *offset = if stored { next } else { n_chosen as i32 };
                        next += i32::from(stored);
                    }
                }
            }
            let child = Node {
                data_type: field.data_type(),
                nullable: field.is_nullable(),
                level: node.level + 1,
                n_slots: match (mode, is_filler) {
                    (UnionMode::Sparse, _) => ids.len(),
                    (UnionMode::Dense, true) => n_chosen + 1,
                    (UnionMode::Dense, false) => n_chosen,
                },
                mask,
            };
            children.push(self.build(child, now)?);
        }
        let offsets = (mode == UnionMode::Dense).then(|| ScalarBuffer::from(offsets));
        let array = UnionArray::try_new(fields.clone(), ids.into(), offsets, children)?;
        Ok(Arc::new(array))
    }

    /// How many slots chose the child, as its columns and the type ids say.
    fn chosen(&self, type_id: i8, ids: &[u8], level: usize, leaves: &[LeafParts]) -> Build<usize> {
        for leaf in leaves {
            let level = leaf.levels.get(level).ok_or_else(misfit)?;
            let agrees = level.n_slots == ids.len()
                && match level.validity() {
                    None => ids.iter().all(|id| *id as i8 == type_id),
                    Some(bits) => {
                        let mut slots = ids.iter().enumerate();
                        slots.all(|(slot, id)| bits.get(slot) == (*id as i8 == type_id))
                    }
                };
            if !agrees {
                return Err(corrupt("what a union chose").into());
            }
        }
        Ok(ids.iter().filter(|id| **id as i8 == type_id).count())
    }

    fn leaf(&self, data_type: &DataType, node: Node<'_>, leaves: &mut [LeafParts]) -> Build {
        let [leaf] = leaves else {
            return Err(misfit().into());
        };
        let n_stored = node
            .mask
            .as_ref()
            .map_or(node.n_slots, BooleanBuffer::count_set_bits);
        let items = std::mem::replace(&mut leaf.items, RawParts::empty());
        if items.rows != n_stored {
            return Err(corrupt("items of a column").into());
        }
        if items.null_count > 0 && !node.nullable {
            return Err(corrupt("nulls in a field that allows none").into());
        }
        if data_type == &DataType::Null {
            return Ok(Arc::new(NullArray::new(node.n_slots)));
        }
        let value_type = match &leaf.borrowed {
            Some(BorrowedItems::Views(_)) => Some(ValueType::Fixed(VIEW_BYTES as u32)),
            _ => value_type(logical_type(data_type)).ok().flatten(),
        };
        let items = match &node.mask {
            None => items,
            Some(mask) => self.spread(items, mask, value_type.ok_or_else(misfit)?)?,
        };
        Ok(match (leaf.borrowed.take(), data_type) {
            (None, _) => {
                let buffers = ColumnBuffers::of_raw(items, self.pool);
                plain_array(data_type, buffers, Some(self.pool))?
            }
            (Some(BorrowedItems::Views(data)), DataType::BinaryView) => {
                array_of_views(data_type, items, data, self.pool)?
            }
            (Some(BorrowedItems::Run(data)), DataType::Binary | DataType::LargeBinary) => {
                array_of_borrowed(data_type, items, data, self.pool)?
            }
            _ => return Err(misfit().into()),
        })
    }

    /// Items moved to the slots of a mask; the others hold zeros or empty strings, and are null where any item is.
    fn spread(
        &self,
        dense: RawParts,
        mask: &BooleanBuffer,
        value_type: ValueType,
    ) -> Build<RawParts> {
        let n_slots = mask.len();
        let bits = bit_slice(mask)?;
        if dense.validity.is_some() {
            self.spend_bits(n_slots)?;
        }
        self.budget.spend(items_bytes(value_type, n_slots as u64))?;
        let mut null_count = 0;
        let validity = match &dense.validity {
            None => None,
            Some(validity) => {
                let mut all = self.pool.take(n_slots.div_ceil(8));
                slots::spread_bits(&mut all, 0, bits, validity)?;
                null_count = n_slots - BitSlice::new(&all, 0, n_slots)?.count_ones();
                Some(all)
            }
        };
        let mut offsets = AlignedBuf::default();
        let (values, values_len) = match value_type {
            ValueType::Bits => {
                let mut all = self.pool.take(n_slots.div_ceil(8));
                slots::spread_bits(&mut all, 0, bits, &dense.values)?;
                (all, n_slots.div_ceil(8))
            }
            ValueType::Fixed(width) => {
                let width = width as usize;
                let bytes = n_slots.checked_mul(width).ok_or_else(misfit)?;
                let mut all = self.pool.take(bytes);
                let values = dense.values.get(..dense.values_len).unwrap_or_default();
                slots::spread_fixed(&mut all, width, bits, values)?;
                (all, bytes)
            }
            ValueType::Bytes => {
                offsets = self.pool.take((n_slots + 1) * 4);
                let to: &mut [u32] = words_mut(&mut offsets);
                if let Some((first, ends)) = to.split_first_mut() {
                    *first = 0;
                    let stored = words(&dense.offsets)
                        .get(1..=dense.rows)
                        .unwrap_or_default();
                    let ends = ends.get_mut(..n_slots).unwrap_or_default();
                    slots::spread_ends(ends, 0, bits, stored);
                }
                (dense.values, dense.values_len)
            }
        };
        Ok(RawParts {
            rows: n_slots,
            validity,
            null_count,
            values,
            offsets,
            values_len,
        })
    }
}

/// The type ids of a union's stored slots, one byte each: all are those of its fields.
fn stored_type_ids<'a>(
    own: &'a LeafParts,
    node: &Node<'_>,
    fields: &UnionFields,
) -> Build<&'a [u8]> {
    let ids = own.items.values.get(..own.items.values_len);
    let ids = ids.unwrap_or_default();
    let n_stored = node
        .mask
        .as_ref()
        .map_or(node.n_slots, BooleanBuffer::count_set_bits);
    if ids.len() != n_stored || own.items.null_count > 0 {
        return Err(corrupt("type ids of a union").into());
    }
    let mut known = [false; 256];
    for (type_id, _) in fields.iter() {
        known[usize::from(type_id as u8)] = true;
    }
    match ids.iter().all(|id| known[usize::from(*id)]) {
        true => Ok(ids),
        false => Err(corrupt("type id of a union").into()),
    }
}

/// The columns of a field, and those behind them.
fn split<'a>(
    leaves: &'a mut [LeafParts],
    field: &Field,
) -> Build<(&'a mut [LeafParts], &'a mut [LeafParts])> {
    let paths = leaf_paths(field.data_type(), true).map_err(|_| misfit())?;
    match leaves.len() >= paths.len() {
        true => Ok(leaves.split_at_mut(paths.len())),
        false => Err(misfit().into()),
    }
}

fn bit_slice(bits: &BooleanBuffer) -> Result<BitSlice<'_>> {
    BitSlice::new(bits.values(), bits.offset(), bits.len())
}

/// The bits of `mask`, of which the set ones become the next of `bits`.
fn spread_mask(mask: &BooleanBuffer, bits: &[u8]) -> Result<BooleanBuffer> {
    let mut spread = vec![0u8; mask.len().div_ceil(8)];
    slots::spread_bits(&mut spread, 0, bit_slice(mask)?, bits)?;
    Ok(BooleanBuffer::new(Buffer::from_vec(spread), 0, mask.len()))
}

/// Ends that rise from 0, below 2^31, as Arrow's offsets.
fn offsets<O: OffsetSizeTrait>(ends: ScalarBuffer<u32>) -> OffsetBuffer<O> {
    match O::IS_LARGE {
        true => {
            let wide: ScalarBuffer<O> = ends.iter().map(|end| O::usize_as(*end as usize)).collect();
            OffsetBuffer::new(wide)
        }
        false => {
            let n = ends.len();
            OffsetBuffer::new(ScalarBuffer::new(ends.into_inner(), 0, n))
        }
    }
}
