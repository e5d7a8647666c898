//! About how many bytes rows of a nested array bring to a leaf column.

use core::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use tarsia_codec::ValueType;

use crate::fit::strings_within;
use crate::path::{LeafPath, StepKind};

/// Bytes of the items and levels below some rows of an array: nothing is looked at but the first and last offset at
/// each level, so that garbage under nulls counts, and lists that are not one behind the other count by their average.
pub(super) fn bytes(array: &dyn Array, rows: Range<usize>, path: &LeafPath) -> usize {
    let mut node = array.slice(0, array.len());
    let mut range = rows;
    let mut levels_bytes = 0usize;
    // How many items stand for one of `range`, where that is only known on average.
    let mut share = 1.0;
    for step in &path.steps {
        let count = (range.len() as f64 * share) as usize;
        let next = match (step.kind, node.data_type()) {
            (_, DataType::Dictionary(..) | DataType::RunEndEncoded(..)) => None,
            (StepKind::Field(index), _) => node.as_struct_opt().and_then(|parent| {
                let child = parent.columns().get(index)?;
                Some((child.clone(), range.clone()))
            }),
            (StepKind::FixedItems, _) => node.as_fixed_size_list_opt().map(|parent| {
                let length = parent.value_length() as usize;
                (
                    parent.values().clone(),
                    range.start * length..range.end * length,
                )
            }),
            (StepKind::Items, DataType::List(_)) => node.as_list_opt::<i32>().map(|list| {
                let offsets = list.value_offsets();
                let range = offsets[range.start] as usize..offsets[range.end] as usize;
                (list.values().clone(), range)
            }),
            (StepKind::Items, DataType::LargeList(_)) => node.as_list_opt::<i64>().map(|list| {
                let offsets = list.value_offsets();
                let range = offsets[range.start] as usize..offsets[range.end] as usize;
                (list.values().clone(), range)
            }),
            (StepKind::Items, DataType::Map(..)) => node.as_map_opt().map(|map| {
                let offsets = map.value_offsets();
                let range = offsets[range.start] as usize..offsets[range.end] as usize;
                let entries: arrow_array::ArrayRef = std::sync::Arc::new(map.entries().clone());
                (entries, range)
            }),
            (StepKind::Items, DataType::ListView(_)) => {
                node.as_list_view_opt::<i32>().map(|list| {
                    let sizes = list.value_sizes().get(range.clone()).unwrap_or_default();
                    let items: usize = sizes.iter().map(|size| *size as usize).sum();
                    share *= items as f64 / list.values().len().max(1) as f64;
                    (list.values().clone(), 0..list.values().len())
                })
            }
            (StepKind::Items, _) => node.as_list_view_opt::<i64>().map(|list| {
                let sizes = list.value_sizes().get(range.clone()).unwrap_or_default();
                let items: usize = sizes.iter().map(|size| *size as usize).sum();
                share *= items as f64 / list.values().len().max(1) as f64;
                (list.values().clone(), 0..list.values().len())
            }),
            (StepKind::Chosen(type_id), _) => node.as_union_opt().map(|parent| {
                let child = parent.child(type_id).clone();
                let all = 0..child.len();
                share *= range.len() as f64 / parent.len().max(1) as f64;
                (child, all)
            }),
            (StepKind::TypeIds | StepKind::Keys, _) => None,
        };
        levels_bytes += count * 5 + 1;
        match next {
            Some((child, items)) => (node, range) = (child, items),
            // By logical value: about as much as the whole array's memory, for each of its rows alike.
            None => {
                let average = node.get_array_memory_size() / node.len().max(1) + 1;
                return levels_bytes + count * average;
            }
        }
    }
    let n = range.len();
    let items = match path.value_type() {
        Some(ValueType::Fixed(width)) => n * (width as usize + 1),
        Some(ValueType::Bytes) => strings_within(node.as_ref(), range, usize::MAX).bytes + n * 5,
        _ => n,
    };
    levels_bytes + (items as f64 * share) as usize
}
