//! Nested arrays become the levels and items of their leaf columns.
//!
//! A run of slots is a list of ranges: what is under a null parent, what no list refers to and what a union did not
//! choose is in none of them, so that garbage there is never looked at.

use core::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, GenericListArray, GenericListViewArray, Int8Array, NullArray};
use arrow_array::{OffsetSizeTrait, UInt64Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;
use tarsia_codec::{BitSlice, Error, Result, limits};

use tarsia_page_writer::CollectedLevels;

use crate::path::{LeafPath, StepKind};
use crate::reorder::reorder;

pub(super) type Ranges = Vec<Range<usize>>;

/// Appends the levels of all rows of `array` to `levels` and returns the items below them.
pub(super) fn shred(
    array: &dyn Array,
    path: &LeafPath,
    levels: &mut CollectedLevels,
) -> Result<ArrayRef> {
    let mut node = array.slice(0, array.len());
    let mut ranges = whole(array.len());
    let mut level = 0;
    for step in &path.steps {
        (node, ranges) = match step.kind {
            StepKind::Keys => resolve_until(node, ranges, |node| {
                matches!(node, DataType::Dictionary(..))
            })?,
            _ => resolve(node, ranges)?,
        };
        match step.kind {
            StepKind::Keys => {
                let nulls = node.nulls();
                ranges = push_validity(levels, level, nulls, ranges, step.nullable)?;
                level += 1;
            }
            StepKind::Field(index) => {
                let parent = node.as_struct_opt().ok_or_else(other_type)?;
                let (nulls, child) = (parent.nulls(), parent.columns().get(index));
                ranges = push_validity(levels, level, nulls, ranges, step.nullable)?;
                node = child.ok_or_else(other_type)?.clone();
                level += 1;
            }
            StepKind::Items => {
                let valid = push_validity(levels, level, node.nulls(), ranges, step.nullable)?;
                (node, ranges) = items(node.as_ref(), valid, levels, level + 1)?;
                level += 2;
            }
            StepKind::FixedItems => {
                let parent = node.as_fixed_size_list_opt().ok_or_else(other_type)?;
                let length = parent.value_length() as usize;
                let valid = push_validity(levels, level, parent.nulls(), ranges, step.nullable)?;
                levels.push_constant(level + 1, n_slots(&valid));
                let scale = |range: Range<usize>| range.start * length..range.end * length;
                ranges = valid.into_iter().map(scale).collect();
                node = parent.values().clone();
                level += 2;
            }
            StepKind::Chosen(type_id) => {
                let parent = node.as_union_opt().ok_or_else(other_type)?;
                let ids = parent.type_ids();
                let n = n_slots(&ranges);
                let mut bits = vec![0u8; n.div_ceil(8)];
                let mut chosen = Ranges::new();
                for (i, slot) in ranges.into_iter().flatten().enumerate() {
                    if ids.get(slot) == Some(&type_id) {
                        bits[i / 8] |= 1 << (i % 8);
                        let at = match parent.offsets() {
                            Some(offsets) => offsets.get(slot).map_or(0, |at| *at as usize),
                            None => slot,
                        };
                        push_range(&mut chosen, at..at + 1);
                    }
                }
                levels.push_validity(level, n, Some(BitSlice::new(&bits, 0, n)?))?;
                node = parent.child(type_id).clone();
                ranges = chosen;
                level += 1;
            }
            StepKind::TypeIds => {
                let parent = node.as_union_opt().ok_or_else(other_type)?;
                node = std::sync::Arc::new(Int8Array::new(parent.type_ids().clone(), None));
            }
        }
    }
    let (node, ranges) = resolve(node, ranges)?;
    let items = gather(&node, &ranges)?;
    if !path.nullable() && items.data_type() != &DataType::Null && items.logical_null_count() > 0 {
        return Err(null_items());
    }
    Ok(items)
}

/// All slots of an array.
pub(super) fn whole(n_slots: usize) -> Ranges {
    std::iter::once(0..n_slots).collect()
}

fn other_type() -> Error {
    Error::invalid("the array is not of the column's type")
}

fn null_items() -> Error {
    Error::invalid("nulls in a field that allows none")
}

fn n_slots(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(Range::len).sum()
}

fn push_range(ranges: &mut Ranges, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ if range.is_empty() => {}
        _ => ranges.push(range),
    }
}

/// Appends the validity of the slots and returns the valid ones.
fn push_validity(
    levels: &mut CollectedLevels,
    level: usize,
    nulls: Option<&NullBuffer>,
    ranges: Ranges,
    nullable: bool,
) -> Result<Ranges> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
        levels.push_validity(level, n_slots(&ranges), None)?;
        return Ok(ranges);
    };
    let mut valid = Ranges::new();
    let mut n_valid = 0;
    let n = n_slots(&ranges);
    for range in ranges {
        let part = nulls.slice(range.start, range.len());
        for (start, end) in part.valid_slices() {
            n_valid += end - start;
            push_range(&mut valid, range.start + start..range.start + end);
        }
        let bits = part.inner();
        let bits = BitSlice::new(bits.values(), bits.offset(), bits.len())?;
        levels.push_validity(level, range.len(), Some(bits))?;
    }
    if n_valid < n && !nullable {
        return Err(null_items());
    }
    Ok(valid)
}

/// Appends the lengths of valid lists and returns their items.
fn items(
    node: &dyn Array,
    valid: Ranges,
    levels: &mut CollectedLevels,
    level: usize,
) -> Result<(ArrayRef, Ranges)> {
    match node.data_type() {
        DataType::List(_) => list_items::<i32>(node.as_list(), valid, levels, level),
        DataType::LargeList(_) => list_items::<i64>(node.as_list(), valid, levels, level),
        DataType::ListView(_) => view_items::<i32>(node.as_list_view(), valid, levels, level),
        DataType::LargeListView(_) => view_items::<i64>(node.as_list_view(), valid, levels, level),
        DataType::Map(..) => {
            let map = node.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            let ranges = offset_items(map.value_offsets(), valid, levels, level)?;
            Ok((entries, ranges))
        }
        _ => Err(other_type()),
    }
}

fn list_items<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    valid: Ranges,
    levels: &mut CollectedLevels,
    level: usize,
) -> Result<(ArrayRef, Ranges)> {
    let ranges = offset_items(list.value_offsets(), valid, levels, level)?;
    Ok((list.values().clone(), ranges))
}

fn offset_items<O: OffsetSizeTrait>(
    offsets: &[O],
    valid: Ranges,
    levels: &mut CollectedLevels,
    level: usize,
) -> Result<Ranges> {
    let mut ranges = Ranges::new();
    for range in valid {
        let ends = offsets.get(range.start..range.end + 1).unwrap_or_default();
        if let (Some(first), Some(last)) = (ends.first(), ends.last()) {
            // Offsets rise, so if all together fit each does.
            let (first, last) = (first.as_usize(), last.as_usize());
            if u32::try_from(last - first).is_err() {
                check_lengths(ends)?;
            }
            push_range(&mut ranges, first..last);
        }
        let pairs = ends.windows(2);
        levels.push_lengths(
            level,
            pairs.map(|pair| (pair[1] - pair[0]).as_usize() as u32),
        )?;
    }
    Ok(ranges)
}

fn check_lengths<O: OffsetSizeTrait>(ends: &[O]) -> Result<()> {
    let too_long = |pair: &[O]| (pair[1] - pair[0]).as_usize() > limits::ARROW_OFFSET_MAX as usize;
    match ends.windows(2).any(too_long) {
        true => Err(Error::invalid("a list of 2^31 items or more")),
        false => Ok(()),
    }
}

fn view_items<O: OffsetSizeTrait>(
    list: &GenericListViewArray<O>,
    valid: Ranges,
    levels: &mut CollectedLevels,
    level: usize,
) -> Result<(ArrayRef, Ranges)> {
    let (offsets, sizes) = (list.value_offsets(), list.value_sizes());
    let mut ranges = Ranges::new();
    for range in valid {
        let sizes = sizes.get(range.clone()).unwrap_or_default();
        let offsets = offsets.get(range).unwrap_or_default();
        for (offset, size) in offsets.iter().zip(sizes) {
            let (start, size) = (offset.as_usize(), size.as_usize());
            if size > limits::ARROW_OFFSET_MAX as usize {
                return Err(Error::invalid("a list of 2^31 items or more"));
            }
            push_range(&mut ranges, start..start + size);
        }
        levels.push_lengths(level, sizes.iter().map(|size| size.as_usize() as u32))?;
    }
    Ok((list.values().clone(), ranges))
}

/// Dictionaries and run-end arrays by logical value, one inside the other too.
pub(super) fn resolve(node: ArrayRef, ranges: Ranges) -> Result<(ArrayRef, Ranges)> {
    resolve_until(node, ranges, |_| false)
}

fn resolve_until(
    mut node: ArrayRef,
    mut ranges: Ranges,
    is_end: impl Fn(&DataType) -> bool,
) -> Result<(ArrayRef, Ranges)> {
    while !is_end(node.data_type()) {
        let pick = match node.data_type() {
            DataType::Dictionary(key, _) => match key.as_ref() {
                DataType::Int8 => by_key::<Int8Type>,
                DataType::Int16 => by_key::<Int16Type>,
                DataType::Int32 => by_key::<Int32Type>,
                DataType::Int64 => by_key::<Int64Type>,
                DataType::UInt8 => by_key::<UInt8Type>,
                DataType::UInt16 => by_key::<UInt16Type>,
                DataType::UInt32 => by_key::<UInt32Type>,
                DataType::UInt64 => by_key::<UInt64Type>,
                _ => return Err(other_type()),
            },
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => by_run::<Int16Type>,
                DataType::Int32 => by_run::<Int32Type>,
                DataType::Int64 => by_run::<Int64Type>,
                _ => return Err(other_type()),
            },
            _ => return Ok((node, ranges)),
        };
        (node, ranges) = pick(node.as_ref(), &ranges)?;
    }
    Ok((node, ranges))
}

fn by_key<K: ArrowDictionaryKeyType>(
    node: &dyn Array,
    ranges: &[Range<usize>],
) -> Result<(ArrayRef, Ranges)> {
    use arrow_buffer::ArrowNativeType;
    let dictionary = node.as_dictionary_opt::<K>().ok_or_else(other_type)?;
    let keys = dictionary.keys();
    let rows = ranges.iter().cloned().flatten();
    let places = rows.map(|row| keys.is_valid(row).then(|| keys.value(row).as_usize()));
    pick(dictionary.values(), places)
}

fn by_run<R: RunEndIndexType>(
    node: &dyn Array,
    ranges: &[Range<usize>],
) -> Result<(ArrayRef, Ranges)> {
    let runs = node.as_run_opt::<R>().ok_or_else(other_type)?;
    let mut physical = 0;
    let ends = runs.run_ends();
    let (offset, values) = (ends.offset(), ends.values());
    let end_of = |run: usize| {
        use arrow_buffer::ArrowNativeType;
        values.get(run).map_or(usize::MAX, |end| end.as_usize())
    };
    let mut last = 0;
    let places = ranges.iter().cloned().flatten().map(|row| {
        let row = row + offset;
        if row < last {
            physical = 0;
        }
        last = row;
        while end_of(physical) <= row {
            // Long gaps are skipped by halving.
            physical = match end_of(physical + 64) <= row {
                true => values.partition_point(|end| {
                    use arrow_buffer::ArrowNativeType;
                    end.as_usize() <= row
                }),
                false => physical + 1,
            };
        }
        Some(physical)
    });
    pick(runs.values(), places)
}

/// The values at places, null where there is none.
fn pick(
    values: &ArrayRef,
    places: impl Iterator<Item = Option<usize>>,
) -> Result<(ArrayRef, Ranges)> {
    // Places that follow each other are one range; nulls are beyond all values.
    let places: UInt64Array = places
        .map(|place| place.map(|place| place as u64))
        .collect();
    // Runs of values that allow no null could not be null where a key is.
    let values = match values.data_type() {
        DataType::RunEndEncoded(..) => resolve(values.clone(), whole(values.len()))?.0,
        _ => values.clone(),
    };
    let picked = reorder(values.as_ref(), &places)
        .map_err(|_| Error::invalid("a dictionary key is out of range"))?;
    let ranges = whole(picked.len());
    Ok((picked, ranges))
}

/// The slots of ranges as one array.
fn gather(node: &ArrayRef, ranges: &[Range<usize>]) -> Result<ArrayRef> {
    match ranges {
        [] => Ok(node.slice(0, 0)),
        [range] => Ok(node.slice(range.start, range.len())),
        ranges if node.data_type() == &DataType::Null => {
            Ok(std::sync::Arc::new(NullArray::new(n_slots(ranges))))
        }
        ranges => {
            let data = node.to_data();
            let mut gathered = MutableArrayData::new(vec![&data], false, n_slots(ranges));
            for range in ranges {
                gathered
                    .try_extend(0, range.start, range.end)
                    .map_err(|_| Error::invalid("more items than an array can hold"))?;
            }
            Ok(make_array(gathered.freeze()))
        }
    }
}
