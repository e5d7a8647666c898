//! Comparison of arrays by logical value.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use crate::arrays::{Access, describe};

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
/// every level, but what stands under a null does not count. Values are compared bit for bit (so `-0.0` is not `0.0`,
/// and a NaN equals only itself), lists and views by their items, unions by the type id and the value it chooses. Runs
/// and dictionaries count as what their rows mean: a key of a null entry equals a null key. A union whose value is null
/// is not equal to a null: it has a type id.
///
/// # Errors
/// The difference.
pub fn logical_difference(got: &dyn Array, expected: &dyn Array) -> Result<(), String> {
    difference_at("", got, expected)
}

/// The first difference between the rows of `got` and those rows of `expected` that `rows` names, as
/// [`logical_difference`] says.
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

/// The first difference between two batches: in their schemas (metadata included), their numbers of rows, or their
/// columns as [`logical_difference`] compares them.
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
        // The short form leaves out the names of fields in some types, and their metadata.
        let place = place(path);
        return Err(match got.to_string() == expected.to_string() {
            true => format!("{place}type {got:?} instead of {expected:?}"),
            false => format!("{place}type {got} instead of {expected}"),
        });
    }
    Ok(())
}

/// Two elements that are compared.
struct Pair {
    /// The top-level row that they are part of.
    row: usize,
    /// Index in the array `got`.
    got: usize,
    /// Index in the array `expected`.
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
        differ(path, data_type, pair, text)
    };
    let (got, got_at) = resolve(got, pairs.iter().map(|pair| pair.got).collect());
    let (expected, expected_at) =
        resolve(expected, pairs.iter().map(|pair| pair.expected).collect());
    let present = present(path, data_type, pairs, got_at, expected_at)?;
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

/// The pairs of which both are values, and none is null.
fn present(
    path: &str,
    data_type: &DataType,
    pairs: Vec<Pair>,
    got: Vec<usize>,
    expected: Vec<usize>,
) -> Result<Vec<Pair>, String> {
    let mut present = Vec::with_capacity(pairs.len());
    for (pair, (got, expected)) in pairs.iter().zip(got.into_iter().zip(expected)) {
        let differ = |text| differ(path, data_type, pair, text);
        match (got, expected) {
            (NULL, NULL) => {}
            (NULL, _) => return differ(format_args!("null instead of a value")),
            (_, NULL) => return differ(format_args!("a value instead of null")),
            (got, expected) => present.push(Pair {
                row: pair.row,
                got,
                expected,
            }),
        }
    }
    Ok(present)
}

fn differ<T>(
    path: &str,
    data_type: &DataType,
    pair: &Pair,
    text: std::fmt::Arguments<'_>,
) -> Result<T, String> {
    let place = match path {
        "" => data_type.to_string(),
        path => format!("{path} ({data_type})"),
    };
    Err(format!("{place}, row {}: {text}", pair.row))
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
