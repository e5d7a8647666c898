//! One dictionary per column for a whole file.
//!
//! An Arrow IPC file has one dictionary per column, but each batch of a table may have its own. So the dictionaries are
//! merged before the first batch is written. If a batch's dictionary is not the beginning of the merged one, its keys
//! are replaced. Values keep their first position, and a null in a dictionary counts as a value. Values that no row has
//! are kept too, unless the keys could not number them all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Schema, SchemaRef};

/// The merged dictionaries of the columns of a table.
#[derive(Default)]
pub struct Dictionaries {
    /// By column number; only for columns that have a dictionary.
    columns: HashMap<usize, Merged>,
}

struct Merged {
    /// All values so far, in parts: the values that each batch added.
    parts: Vec<ArrayRef>,
    /// `parts` as one array; `None` after a change.
    values: Option<ArrayRef>,
    converter: RowConverter,
    /// From a value, as comparable bytes, to its index.
    places: HashMap<Box<[u8]>, usize>,
    /// By index, whether a row has the value.
    used: Vec<bool>,
    /// By index, the value's index after values without rows are dropped; `None` while all are kept.
    kept: Option<Vec<usize>>,
    /// The last batch's dictionary and the indices of its values. Consecutive batches often share a dictionary.
    last: Option<(ArrayRef, Arc<[usize]>)>,
}

impl Dictionaries {
    /// Whether a table of this schema needs any merging.
    #[must_use]
    pub fn needed(schema: &Schema) -> bool {
        schema
            .fields()
            .iter()
            .any(|field| matches!(field.data_type(), DataType::Dictionary(_, _)))
    }

    /// Adds the dictionaries of a batch. `columns` says which columns of the file its columns are.
    ///
    /// # Errors
    /// Names the column whose values cannot be compared.
    pub fn merge(&mut self, batch: &RecordBatch, columns: &[usize]) -> Result<(), String> {
        for ((field, array), &column) in batch
            .schema_ref()
            .fields()
            .iter()
            .zip(batch.columns())
            .zip(columns)
        {
            let Some(dictionary) = array.as_any_dictionary_opt() else {
                continue;
            };
            let values = dictionary.values();
            let merged = match self.columns.entry(column) {
                Entry::Occupied(merged) => merged.into_mut(),
                Entry::Vacant(place) => {
                    let converter =
                        RowConverter::new(vec![SortField::new(values.data_type().clone())])
                            .map_err(|error| format!("column `{}`: {error}", field.name()))?;
                    place.insert(Merged {
                        parts: Vec::new(),
                        values: None,
                        converter,
                        places: HashMap::new(),
                        used: Vec::new(),
                        kept: None,
                        last: None,
                    })
                }
            };
            let places = merged
                .places_of(values)
                .map_err(|what| format!("column `{}`: {what}", field.name()))?;
            if places.is_empty() {
                continue;
            }
            merged.used.resize(merged.places.len(), false);
            let keys = dictionary.normalized_keys();
            for (row, key) in keys.into_iter().enumerate() {
                if array.is_valid(row) {
                    merged.used[places[key]] = true;
                }
            }
        }
        Ok(())
    }

    /// The batch with the merged dictionaries.
    ///
    /// # Errors
    /// Names the column whose merged dictionary has more values than its keys can count.
    pub(super) fn apply(
        &mut self,
        batch: &RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, String> {
        if self.columns.is_empty() {
            return Ok(batch.clone());
        }
        let mut arrays = batch.columns().to_vec();
        for (i, array) in arrays.iter_mut().enumerate() {
            let (Some(dictionary), Some(merged)) =
                (array.as_any_dictionary_opt(), self.columns.get_mut(&i))
            else {
                continue;
            };
            let name = schema.field(i).name();
            let places = merged
                .places_of(dictionary.values())
                .map_err(|what| format!("column `{name}`: {what}"))?;
            let values = merged
                .values(array.data_type())
                .map_err(|what| format!("column `{name}`: {what}"))?;
            let places: Vec<usize> = match &merged.kept {
                Some(kept) => places.iter().map(|&place| kept[place]).collect(),
                None => places.to_vec(),
            };
            *array = move_keys(array, &places, &values)
                .map_err(|what| format!("column `{name}`: {what}"))?;
        }
        RecordBatch::try_new(batch.schema(), arrays).map_err(|error| error.to_string())
    }
}

impl Merged {
    /// The index of each value of a dictionary in the merged one. Values that are not there yet are added.
    fn places_of(&mut self, values: &ArrayRef) -> Result<Arc<[usize]>, String> {
        if let Some((last, places)) = &self.last
            && (Arc::ptr_eq(last, values) || last.to_data().ptr_eq(&values.to_data()))
        {
            return Ok(Arc::clone(places));
        }
        let rows = self
            .converter
            .convert_columns(&[Arc::clone(values)])
            .map_err(|error| error.to_string())?;
        let mut places = Vec::with_capacity(values.len());
        let mut new = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let next = self.places.len();
            let place = *self.places.entry(row.as_ref().into()).or_insert_with(|| {
                new.push(i as u64);
                next
            });
            places.push(place);
        }
        if !new.is_empty() || self.parts.is_empty() {
            let indices = PrimitiveArray::<UInt64Type>::from(new);
            let part = arrow_select::take::take(values.as_ref(), &indices, None)
                .map_err(|error| error.to_string())?;
            self.parts.push(part);
            self.values = None;
        }
        let places: Arc<[usize]> = places.into();
        self.last = Some((Arc::clone(values), Arc::clone(&places)));
        Ok(places)
    }

    /// The merged dictionary of a column of this type. The first call decides whether values without rows are kept.
    fn values(&mut self, data_type: &DataType) -> Result<ArrayRef, String> {
        if let Some(values) = &self.values {
            return Ok(Arc::clone(values));
        }
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        let mut values = arrow_select::concat::concat(&parts).map_err(|error| error.to_string())?;
        let capacity = key_capacity(data_type);
        if values.len() > capacity {
            let n_used = self.used.iter().filter(|used| **used).count();
            if n_used > capacity {
                return Err(format!(
                    "its {n_used} distinct values are more than the keys of {data_type} can count"
                ));
            }
            // The index of a value that no row has is never used, so any index will do.
            let mut next = 0;
            let kept = self.used.iter().map(|&used| {
                let place = next;
                next += usize::from(used);
                place
            });
            self.kept = Some(kept.collect());
            let indices: PrimitiveArray<UInt64Type> = (0..)
                .zip(&self.used)
                .filter(|(_, used)| **used)
                .map(|(i, _)| Some(i))
                .collect();
            values = arrow_select::take::take(&values, &indices, None)
                .map_err(|error| error.to_string())?;
        }
        self.values = Some(Arc::clone(&values));
        Ok(values)
    }
}

/// How many values the keys of a dictionary type can number.
fn key_capacity(data_type: &DataType) -> usize {
    let DataType::Dictionary(key_type, _) = data_type else {
        return usize::MAX;
    };
    match key_type.as_ref() {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        DataType::Int32 => 1 << 31,
        _ => usize::MAX,
    }
}

fn move_keys(array: &ArrayRef, places: &[usize], values: &ArrayRef) -> Result<ArrayRef, String> {
    let DataType::Dictionary(key_type, _) = array.data_type() else {
        return Ok(Arc::clone(array));
    };
    match key_type.as_ref() {
        DataType::Int8 => move_keys_of::<Int8Type>(array, places, values),
        DataType::Int16 => move_keys_of::<Int16Type>(array, places, values),
        DataType::Int32 => move_keys_of::<Int32Type>(array, places, values),
        DataType::Int64 => move_keys_of::<Int64Type>(array, places, values),
        DataType::UInt8 => move_keys_of::<UInt8Type>(array, places, values),
        DataType::UInt16 => move_keys_of::<UInt16Type>(array, places, values),
        DataType::UInt32 => move_keys_of::<UInt32Type>(array, places, values),
        DataType::UInt64 => move_keys_of::<UInt64Type>(array, places, values),
        other => Err(format!("type {other} is no dictionary key")),
    }
}

fn move_keys_of<K: ArrowDictionaryKeyType>(
    array: &ArrayRef,
    places: &[usize],
    values: &ArrayRef,
) -> Result<ArrayRef, String> {
    use arrow_buffer::ArrowNativeType;
    let dictionary = array.as_dictionary::<K>();
    let keys = dictionary
        .keys()
        .iter()
        .map(|key| match key {
            None => Ok(None),
            Some(key) => {
                let place = places
                    .get(key.as_usize())
                    .ok_or("a key outside of its dictionary")?;
                K::Native::from_usize(*place)
                    .map(Some)
                    .ok_or("a key that does not fit its type")
            }
        })
        .collect::<Result<PrimitiveArray<K>, &str>>()?;
    let moved = DictionaryArray::<K>::try_new(keys, Arc::clone(values))
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(moved))
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;
    use arrow_schema::Field;

    use super::*;

    fn batch(array: DictionaryArray<Int8Type>) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("d", array.data_type().clone(), true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(array)]).unwrap()
    }

    fn texts(batch: &RecordBatch) -> Vec<Option<String>> {
        let dictionary = batch.column(0).as_dictionary::<Int8Type>();
        let values = dictionary.downcast_dict::<StringArray>().unwrap();
        values
            .into_iter()
            .map(|value| value.map(str::to_owned))
            .collect()
    }

    #[test]
    fn batches_with_dictionaries_of_their_own_share_one() {
        let first = batch(vec![Some("a"), Some("b"), None].into_iter().collect());
        let second = batch(vec![Some("c"), Some("b"), Some("c")].into_iter().collect());
        let mut dictionaries = Dictionaries::default();
        dictionaries.merge(&first, &[0]).unwrap();
        dictionaries.merge(&second, &[0]).unwrap();
        let moved: Vec<RecordBatch> = [&first, &second]
            .map(|batch| dictionaries.apply(batch, &batch.schema()).unwrap())
            .into();
        assert_eq!(texts(&moved[0]), texts(&first));
        assert_eq!(texts(&moved[1]), texts(&second));
        let values = |batch: &RecordBatch| batch.column(0).as_any_dictionary().values().clone();
        assert_eq!(
            values(&moved[0]).as_ref(),
            &StringArray::from(vec!["a", "b", "c"]) as &dyn Array
        );
        assert!(
            values(&moved[0])
                .to_data()
                .ptr_eq(&values(&moved[1]).to_data())
        );
    }

    #[test]
    fn more_values_than_keys_is_an_error_with_the_column() {
        let of = |from: usize| {
            batch(
                (from..from + 100)
                    .map(|i| Some(format!("v{i}")))
                    .collect::<Vec<_>>()
                    .iter()
                    .map(Option::as_deref)
                    .collect(),
            )
        };
        let (first, second) = (of(0), of(100));
        let mut dictionaries = Dictionaries::default();
        dictionaries.merge(&first, &[0]).unwrap();
        dictionaries.merge(&second, &[0]).unwrap();
        assert_eq!(
            dictionaries.apply(&first, &first.schema()).unwrap_err(),
            "column `d`: its 200 distinct values are more than the keys of Dictionary(Int8, Utf8) can count"
        );
    }

    #[test]
    fn values_without_rows_go_when_there_are_too_many() {
        let of = |prefix: &str| {
            let values = StringArray::from_iter_values((0..100).map(|i| format!("{prefix}{i}")));
            let keys = PrimitiveArray::<Int8Type>::from(vec![Some(99), None, Some(7)]);
            batch(DictionaryArray::new(keys, Arc::new(values)))
        };
        let (first, second) = (of("a"), of("b"));
        let mut dictionaries = Dictionaries::default();
        dictionaries.merge(&first, &[0]).unwrap();
        dictionaries.merge(&second, &[0]).unwrap();
        for batch in [&first, &second] {
            let moved = dictionaries.apply(batch, &batch.schema()).unwrap();
            assert_eq!(texts(&moved), texts(batch));
            assert_eq!(moved.column(0).as_any_dictionary().values().len(), 4);
        }
    }
}
