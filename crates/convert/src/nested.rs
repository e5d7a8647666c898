//! Arrays of other leaf types: values are converted one by one, at any depth, and never changed.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, GenericListArray,
    GenericListViewArray, MapArray, OffsetSizeTrait, PrimitiveArray, StructArray, UnionArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, FieldRef};

use crate::Error;

/// A value that the other type cannot hold, or an array that cannot be converted as a whole.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Index of the value in the array that was to be converted; of a nested array, of the row with the value.
    pub(crate) index: Option<usize>,
    pub(crate) what: String,
}

impl Misfit {
    pub(crate) fn at(index: usize, what: String) -> Misfit {
        Misfit {
            index: Some(index),
            what,
        }
    }

    /// Places the value in an array around, where `outer` says which of its rows has the value.
    fn in_row(self, outer: impl FnOnce(usize) -> Option<usize>) -> Misfit {
        Misfit {
            index: self.index.and_then(outer),
            ..self
        }
    }
}

impl From<String> for Misfit {
    fn from(what: String) -> Misfit {
        Misfit { index: None, what }
    }
}

/// Converts a flat array to a type. The values that count are those that are valid here; others may be anything.
pub(crate) type Leaf<'a> =
    &'a dyn Fn(&ArrayRef, &DataType, Option<&NullBuffer>) -> Result<ArrayRef, Misfit>;

/// Converts each value that counts; others become zero.
pub(crate) fn each<F, T>(
    array: &PrimitiveArray<F>,
    valid: Option<&NullBuffer>,
    convert: impl Fn(F::Native) -> Result<T::Native, String>,
) -> Result<PrimitiveArray<T>, Misfit>
where
    F: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
{
    let mut values = Vec::with_capacity(array.len());
    for (i, value) in array.values().iter().enumerate() {
        values.push(match valid.is_none_or(|valid| valid.is_valid(i)) {
            true => convert(*value).map_err(|what| Misfit::at(i, what))?,
            false => T::Native::default(),
        });
    }
    Ok(PrimitiveArray::new(values.into(), array.nulls().cloned()))
}

/// The array with the leaves of another type of the same shape. Parts whose types are equal stay as they are.
pub(crate) fn converted(
    array: &ArrayRef,
    to: &DataType,
    leaf: Leaf<'_>,
) -> Result<ArrayRef, Misfit> {
    below(array, to, None, leaf)
}

/// Looks where only those values count that are valid `above`.
fn below(
    array: &ArrayRef,
    to: &DataType,
    above: Option<&NullBuffer>,
    leaf: Leaf<'_>,
) -> Result<ArrayRef, Misfit> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let text = |error: arrow_schema::ArrowError| error.to_string();
    let valid = NullBuffer::union(above, array.nulls());
    let valid = valid.as_ref();
    Ok(match (array.data_type(), to) {
        (DataType::Struct(from), DataType::Struct(fields)) if from.len() == fields.len() => {
            let structs = array.as_struct();
            let children = fields.iter().zip(structs.columns());
            let children =
                children.map(|(field, child)| below(child, field.data_type(), valid, leaf));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            let nulls = structs.nulls().cloned();
            let made =
                StructArray::try_new_with_length(fields.clone(), children, nulls, structs.len());
            Arc::new(made.map_err(text)?)
        }
        (DataType::List(_), DataType::List(item)) => list::<i32>(array, item, valid, leaf)?,
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            list::<i64>(array, item, valid, leaf)?
        }
        (DataType::ListView(_), DataType::ListView(item)) => view::<i32>(array, item, valid, leaf)?,
        (DataType::LargeListView(_), DataType::LargeListView(item)) => {
            view::<i64>(array, item, valid, leaf)?
        }
        (DataType::FixedSizeList(_, n), DataType::FixedSizeList(item, m)) if n == m => {
            let lists = array.as_fixed_size_list();
            let size = usize::try_from(*n).unwrap_or(0);
            let counted = valid.map(|valid| valid.expand(size));
            let items = below(lists.values(), item.data_type(), counted.as_ref(), leaf)
                .map_err(|misfit| misfit.in_row(|index| index.checked_div(size)))?;
            let nulls = lists.nulls().cloned();
            let made = FixedSizeListArray::try_new_with_length(
                Arc::clone(item),
                *n,
                items,
                nulls,
                lists.len(),
            );
            Arc::new(made.map_err(text)?)
        }
        (DataType::Map(..), DataType::Map(entry, sorted)) => {
            let maps = array.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let offsets = maps.offsets();
            let counted = items_of_rows(offsets, entries.len(), valid);
            let entries = below(&entries, entry.data_type(), Some(&counted), leaf)
                .map_err(|misfit| misfit.in_row(|index| row_of(offsets, index)))?;
            let made = MapArray::try_new(
                Arc::clone(entry),
                offsets.clone(),
                entries.as_struct().clone(),
                maps.nulls().cloned(),
                *sorted,
            );
            Arc::new(made.map_err(text)?)
        }
        (DataType::Dictionary(..), DataType::Dictionary(_, values)) => {
            let dictionary = array.as_any_dictionary();
            let keys = match dictionary.values().is_empty() {
                true => Vec::new(),
                false => dictionary.normalized_keys(),
            };
            let is_valid = |row: usize| valid.is_none_or(|valid| valid.is_valid(row));
            let mut used = BooleanBufferBuilder::new(dictionary.values().len());
            used.append_n(dictionary.values().len(), false);
            let counted = keys.iter().enumerate().filter(|(row, _)| is_valid(*row));
            counted.for_each(|(_, key)| used.set_bit(*key, true));
            let used = NullBuffer::new(used.finish());
            let values = below(dictionary.values(), values, Some(&used), leaf);
            let row_of_key = |index| keys.iter().position(|key| *key == index);
            dictionary.with_values(values.map_err(|misfit| misfit.in_row(row_of_key))?)
        }
        _ => leaf(array, to, valid)?,
    })
}

fn list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    valid: Option<&NullBuffer>,
    leaf: Leaf<'_>,
) -> Result<ArrayRef, Misfit> {
    let lists: &GenericListArray<O> = array.as_list();
    let offsets = lists.offsets();
    let counted = items_of_rows(offsets, lists.values().len(), valid);
    let items = below(lists.values(), item.data_type(), Some(&counted), leaf)
        .map_err(|misfit| misfit.in_row(|index| row_of(offsets, index)))?;
    let nulls = lists.nulls().cloned();
    let made = GenericListArray::try_new(Arc::clone(item), offsets.clone(), items, nulls);
    Ok(Arc::new(made.map_err(|error| error.to_string())?))
}

fn view<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    valid: Option<&NullBuffer>,
    leaf: Leaf<'_>,
) -> Result<ArrayRef, Misfit> {
    let lists: &GenericListViewArray<O> = array.as_list_view();
    let range = |row: usize| {
        let start = lists.value_offsets()[row].as_usize();
        start..start + lists.value_sizes()[row].as_usize()
    };
    let is_valid = |row: &usize| valid.is_none_or(|valid| valid.is_valid(*row));
    let mut counted = vec![false; lists.values().len()];
    for row in (0..lists.len()).filter(is_valid) {
        counted[range(row)].fill(true);
    }
    let counted = NullBuffer::from(counted);
    let row_of =
        |index: usize| (0..lists.len()).find(|row| is_valid(row) && range(*row).contains(&index));
    let items = below(lists.values(), item.data_type(), Some(&counted), leaf)
        .map_err(|misfit| misfit.in_row(row_of))?;
    let made = GenericListViewArray::try_new(
        Arc::clone(item),
        lists.offsets().clone(),
        lists.sizes().clone(),
        items,
        lists.nulls().cloned(),
    );
    Ok(Arc::new(made.map_err(|error| error.to_string())?))
}

/// The items that belong to valid rows.
fn items_of_rows<O: OffsetSizeTrait>(
    offsets: &[O],
    n_items: usize,
    valid: Option<&NullBuffer>,
) -> NullBuffer {
    let mut counted = BooleanBufferBuilder::new(n_items);
    let first = offsets.first().map_or(0, |first| first.as_usize());
    counted.append_n(first.min(n_items), false);
    for (row, pair) in offsets.windows(2).enumerate() {
        let n = pair[1].as_usize() - pair[0].as_usize();
        counted.append_n(n, valid.is_none_or(|valid| valid.is_valid(row)));
    }
    counted.append_n(n_items.saturating_sub(counted.len()), false);
    NullBuffer::new(counted.finish())
}

/// The row that has an item.
fn row_of<O: OffsetSizeTrait>(offsets: &[O], item: usize) -> Option<usize> {
    let after = offsets.partition_point(|offset| offset.as_usize() <= item);
    after.checked_sub(1)
}

/// Whether values of a type are dictionaries, or have some inside.
pub(crate) fn has_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        DataType::Union(fields, _) => fields
            .iter()
            .any(|(_, field)| has_dictionary(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_dictionary(item.data_type()),
        _ => false,
    }
}

/// Calls a function with each dictionary at or below a field, by its path.
pub(crate) fn dictionary_fields(field: &FieldRef, visit: &mut dyn FnMut(&str, &FieldRef)) {
    fn below(field: &FieldRef, path: &str, visit: &mut dyn FnMut(&str, &FieldRef)) {
        let mut inside =
            |field: &FieldRef| below(field, &format!("{path}.{}", field.name()), visit);
        match field.data_type() {
            DataType::Dictionary(..) => visit(path, field),
            DataType::Struct(fields) => fields.iter().for_each(inside),
            DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| inside(field)),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => inside(item),
            _ => {}
        }
    }
    below(field, field.name(), visit);
}

/// A function that is called with a dictionary and its path, and returns another one of the same type or the same.
pub(crate) type OfDictionary<'a> = &'a mut dyn FnMut(&str, &ArrayRef) -> Result<ArrayRef, Error>;

/// The array with other dictionaries, at any depth. The path is that of the array: names joined by dots.
pub(crate) fn with_dictionaries(
    array: &ArrayRef,
    path: &str,
    replace: OfDictionary<'_>,
) -> Result<ArrayRef, Error> {
    if !has_dictionary(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    let text = |error: arrow_schema::ArrowError| Error::new(error.to_string()).in_column(path);
    let mut inside = |array: &ArrayRef, field: &FieldRef| {
        with_dictionaries(array, &format!("{path}.{}", field.name()), replace)
    };
    let is_same = |a: &ArrayRef, b: &ArrayRef| Arc::ptr_eq(a, b);
    let nulls = || array.nulls().cloned();
    let made: ArrayRef = match array.data_type() {
        DataType::Dictionary(..) => return replace(path, array),
        DataType::Struct(fields) => {
            let old = array.as_struct().columns();
            let new = old
                .iter()
                .zip(fields)
                .map(|(child, field)| inside(child, field));
            let new = new.collect::<Result<Vec<_>, _>>()?;
            if old.iter().zip(&new).all(|(a, b)| is_same(a, b)) {
                return Ok(Arc::clone(array));
            }
            let made = StructArray::try_new_with_length(fields.clone(), new, nulls(), array.len());
            Arc::new(made.map_err(text)?)
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let old = fields.iter().map(|(id, _)| Arc::clone(union.child(id)));
            let old: Vec<ArrayRef> = old.collect();
            let new = old.iter().zip(fields.iter());
            let new = new.map(|(child, (_, field))| inside(child, field));
            let new = new.collect::<Result<Vec<_>, _>>()?;
            if old.iter().zip(&new).all(|(a, b)| is_same(a, b)) {
                return Ok(Arc::clone(array));
            }
            let (ids, offsets) = (union.type_ids().clone(), union.offsets().cloned());
            Arc::new(UnionArray::try_new(fields.clone(), ids, offsets, new).map_err(text)?)
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => {
            let made = any_lists(array, &mut inside);
            return made.map_err(|error| error.in_column(path));
        }
        DataType::FixedSizeList(item, n) => {
            let lists = array.as_fixed_size_list();
            let items = inside(lists.values(), item)?;
            if is_same(lists.values(), &items) {
                return Ok(Arc::clone(array));
            }
            let item = Arc::clone(item);
            let made =
                FixedSizeListArray::try_new_with_length(item, *n, items, nulls(), array.len());
            Arc::new(made.map_err(text)?)
        }
        DataType::Map(entry, sorted) => {
            let maps = array.as_map();
            let old: ArrayRef = Arc::new(maps.entries().clone());
            let entries = inside(&old, entry)?;
            if is_same(&old, &entries) {
                return Ok(Arc::clone(array));
            }
            let (offsets, entries) = (maps.offsets().clone(), entries.as_struct().clone());
            let made = MapArray::try_new(Arc::clone(entry), offsets, entries, nulls(), *sorted);
            Arc::new(made.map_err(text)?)
        }
        _ => return Ok(Arc::clone(array)),
    };
    Ok(made)
}

/// A function that replaces the items of an array, whose field it gets.
type Inside<'a> = &'a mut dyn FnMut(&ArrayRef, &FieldRef) -> Result<ArrayRef, Error>;

/// Replaces the items of lists of any length; of other arrays nothing.
fn any_lists(array: &ArrayRef, inside: Inside<'_>) -> Result<ArrayRef, Error> {
    match array.data_type() {
        DataType::List(item) => lists::<i32>(array, item, inside),
        DataType::LargeList(item) => lists::<i64>(array, item, inside),
        DataType::ListView(item) => list_views::<i32>(array, item, inside),
        DataType::LargeListView(item) => list_views::<i64>(array, item, inside),
        _ => Ok(Arc::clone(array)),
    }
}

fn lists<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    inside: Inside<'_>,
) -> Result<ArrayRef, Error> {
    let lists = array.as_list::<O>();
    let items = inside(lists.values(), item)?;
    if Arc::ptr_eq(lists.values(), &items) {
        return Ok(Arc::clone(array));
    }
    let (offsets, nulls) = (lists.offsets().clone(), array.nulls().cloned());
    let made = GenericListArray::try_new(Arc::clone(item), offsets, items, nulls);
    Ok(Arc::new(
        made.map_err(|error| Error::new(error.to_string()))?,
    ))
}

fn list_views<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    inside: Inside<'_>,
) -> Result<ArrayRef, Error> {
    let lists = array.as_list_view::<O>();
    let items = inside(lists.values(), item)?;
    if Arc::ptr_eq(lists.values(), &items) {
        return Ok(Arc::clone(array));
    }
    let (offsets, sizes) = (lists.offsets().clone(), lists.sizes().clone());
    let nulls = array.nulls().cloned();
    let made = GenericListViewArray::try_new(Arc::clone(item), offsets, sizes, items, nulls);
    Ok(Arc::new(
        made.map_err(|error| Error::new(error.to_string()))?,
    ))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{DictionaryArray, Int8Array, Int32Array, ListArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    /// Int32 to Int8, where it fits.
    fn narrow(
        array: &ArrayRef,
        to: &DataType,
        valid: Option<&NullBuffer>,
    ) -> Result<ArrayRef, Misfit> {
        assert_eq!((array.data_type(), to), (&DataType::Int32, &DataType::Int8));
        let array = array.as_primitive::<Int32Type>();
        let mut values = Vec::new();
        for (i, value) in array.values().iter().enumerate() {
            match i8::try_from(*value) {
                Ok(value) => values.push(value),
                Err(_) if valid.is_some_and(|valid| valid.is_null(i)) => values.push(0),
                Err(_) => return Err(Misfit::at(i, format!("{value} is too large"))),
            }
        }
        Ok(Arc::new(Int8Array::new(
            values.into(),
            array.nulls().cloned(),
        )))
    }

    fn item(of: DataType) -> FieldRef {
        Arc::new(Field::new("item", of, true))
    }

    #[test]
    fn values_that_belong_to_no_row_do_not_count() {
        let values = Int32Array::from(vec![300, 1, 2, 300, 3, 300]);
        let offsets = OffsetBuffer::new(vec![1, 3, 4, 5].into());
        let nulls = Some(NullBuffer::from(vec![true, false, true]));
        let lists = ListArray::new(item(DataType::Int32), offsets, Arc::new(values), nulls);
        let lists: ArrayRef = Arc::new(lists);
        let to = DataType::List(item(DataType::Int8));
        let got = converted(&lists, &to, &narrow).unwrap();
        let expected = ListArray::from_iter_primitive::<Int8Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            None,
            Some(vec![Some(3)]),
        ]);
        assert_eq!(
            got.as_list::<i32>().value(0).as_ref(),
            expected.value(0).as_ref()
        );
        assert_eq!(
            got.as_list::<i32>().value(2).as_ref(),
            expected.value(2).as_ref()
        );
        assert!(got.is_null(1) && got.data_type() == &to);
    }

    #[test]
    fn the_row_of_a_value_is_that_of_the_outermost_array() {
        let inner = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1)]),
            Some(vec![Some(2), Some(3)]),
            Some(vec![Some(4), Some(500)]),
        ]);
        let offsets = OffsetBuffer::new(vec![0, 1, 1, 3].into());
        let outer = ListArray::new(
            item(inner.data_type().clone()),
            offsets,
            Arc::new(inner),
            None,
        );
        let outer: ArrayRef = Arc::new(outer);
        let to = DataType::List(item(DataType::List(item(DataType::Int8))));
        let misfit = converted(&outer, &to, &narrow).unwrap_err();
        assert_eq!(
            (misfit.index, misfit.what.as_str()),
            (Some(2), "500 is too large")
        );
    }

    #[test]
    fn entries_of_dictionaries_count_where_rows_have_them() {
        let keys = Int8Array::from(vec![Some(0), None, Some(2)]);
        let dictionary = |values: Vec<i32>| -> ArrayRef {
            Arc::new(DictionaryArray::new(
                keys.clone(),
                Arc::new(Int32Array::from(values)),
            ))
        };
        let to = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int8));
        assert!(converted(&dictionary(vec![1, 300, 2]), &to, &narrow).is_ok());
        let misfit = converted(&dictionary(vec![1, 2, 300]), &to, &narrow).unwrap_err();
        assert_eq!(misfit.index, Some(2));
    }
}
