//! Lists around any leaf, for tests of everything that takes nested arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, FieldRef};

/// A field of items with a name and metadata of its own, which have to stay.
fn field_of(items: &ArrayRef) -> FieldRef {
    let field = Field::new("element", items.data_type().clone(), true);
    let metadata = [("unit".to_owned(), "metre".to_owned())];
    Arc::new(field.with_metadata(metadata.into()))
}

/// Lists of `lens` items; `nulls` has the indices of null ones, which may hide items.
pub(super) fn lists<O: OffsetSizeTrait>(
    items: &ArrayRef,
    lens: &[usize],
    nulls: &[usize],
) -> ArrayRef {
    let offsets = OffsetBuffer::<O>::from_lengths(lens.iter().copied());
    let nulls = nulls_at(lens.len(), nulls);
    let lists = GenericListArray::try_new(field_of(items), offsets, items.clone(), nulls);
    Arc::new(lists.expect("the items suffice"))
}

/// Lists of `size` items, `n` of them.
pub(super) fn fixed(items: &ArrayRef, size: i32, n: usize, nulls: &[usize]) -> ArrayRef {
    let (field, nulls) = (field_of(items), nulls_at(n, nulls));
    let lists = FixedSizeListArray::try_new_with_length(field, size, items.clone(), nulls, n);
    Arc::new(lists.expect("as many items as the lists have"))
}

/// `None` if no row is null.
pub(super) fn nulls_at(n: usize, nulls: &[usize]) -> Option<NullBuffer> {
    let is_valid = (0..n).map(|i| !nulls.contains(&i));
    (!nulls.is_empty()).then(|| is_valid.collect::<Vec<bool>>().into())
}

/// Arrays of all kinds of nesting around leaves of `leaf`, which makes an array of as many items, some of them null.
pub(super) fn shapes(leaf: impl Fn(usize) -> ArrayRef) -> Vec<ArrayRef> {
    let lens = [3, 0, 5, 2, 0, 1, 4, 5];
    let lists_of_20 = lists::<i32>(&leaf(20), &lens, &[1, 3, 7]);
    let fixed_of_24 = fixed(&leaf(24), 3, 8, &[0, 5]);
    let mut arrays = vec![
        leaf(0),
        leaf(20),
        lists::<i32>(&leaf(0), &[], &[]),
        lists::<i32>(&leaf(0), &[0, 0, 0], &[1]),
        lists::<i32>(&leaf(20), &lens, &[]),
        lists_of_20.clone(),
        lists::<i64>(&leaf(20), &lens, &[1, 3, 7]),
        // More items than the lists have.
        lists::<i64>(&leaf(30), &lens, &[]),
        fixed(&leaf(24), 3, 8, &[]),
        fixed_of_24.clone(),
        fixed(&leaf(0), 0, 4, &[2]),
        fixed(&leaf(0), 3, 0, &[]),
        lists::<i64>(&lists_of_20, &[2, 0, 4, 2], &[0, 1]),
        lists::<i32>(&fixed_of_24, &[1, 3, 0, 4], &[1]),
        fixed(&lists_of_20, 2, 4, &[1]),
        fixed(&fixed_of_24, 4, 2, &[]),
        lists::<i32>(&fixed(&lists_of_20, 4, 2, &[0]), &[1, 0, 1], &[]),
    ];
    let all_null = |array: &ArrayRef| new_null_array(array.data_type(), 5);
    arrays.extend(arrays.iter().map(all_null).collect::<Vec<_>>());
    let slices = arrays.iter().flat_map(|array| {
        let n = array.len();
        let slices = [
            (0, n),
            (0, n / 2),
            (n / 3, n / 2),
            (n / 2, n - n / 2),
            (n, 0),
        ];
        slices.map(|(start, len)| array.slice(start, len))
    });
    slices.collect()
}

/// The array inside all lists that begin at item 0.
pub(super) fn leaf_of(array: &ArrayRef) -> ArrayRef {
    use arrow_array::cast::AsArray;
    if let Some(list) = array.as_list_opt::<i32>() {
        leaf_of(list.values())
    } else if let Some(list) = array.as_list_opt::<i64>() {
        leaf_of(list.values())
    } else if let Some(list) = array.as_fixed_size_list_opt() {
        leaf_of(list.values())
    } else {
        array.clone()
    }
}
