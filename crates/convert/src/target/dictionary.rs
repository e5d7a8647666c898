//! One dictionary per column for a whole file.
//!
//! An Arrow IPC file has one dictionary per column, but each batch of a table may have its own. So the dictionaries are
//! merged before the first batch is written. If a batch's dictionary is not the beginning of the merged one, its keys
//! are replaced. Values keep their first position, and a null in a dictionary counts as a value. Values that no row has
//! are kept too, unless the keys could not number them all.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
};
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::Error;
use crate::merged::Merged;
use crate::nested::{has_dictionary, with_dictionaries};

/// The merged dictionaries of a table, by the number of their column and their path in it: columns may share a name.
#[derive(Default)]
pub(super) struct Dictionaries(HashMap<(usize, String), OfFile>);

/// The dictionary of a column for the whole file.
struct OfFile {
    merged: Merged,
    /// The values as they are written; `None` before the first batch is.
    values: Option<ArrayRef>,
    /// By index, the value's index after values without rows are dropped; `None` while all are kept.
    kept: Option<Vec<usize>>,
}

/// The columns of a table whose dictionaries are to be merged.
pub(super) fn columns_with_dictionaries(schema: &Schema) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    let with = fields.filter(|(_, field)| has_dictionary(field.data_type()));
    with.map(|(i, _)| i).collect()
}

impl Dictionaries {
    /// Begins a dictionary with these values, which all are kept where the keys can number them.
    pub(super) fn begin(
        &mut self,
        column: usize,
        path: &str,
        values: &ArrayRef,
    ) -> Result<(), Error> {
        let in_column = |what: String| Error::new(what).in_column(path);
        let mut merged = Merged::new(values).map_err(in_column)?;
        merged.places_of(values).map_err(in_column)?;
        let of_file = OfFile {
            merged,
            values: None,
            kept: None,
        };
        self.0.insert((column, path.to_owned()), of_file);
        Ok(())
    }

    /// Whether any of them has a value.
    pub(super) fn have_values(&self) -> bool {
        self.0.values().any(|of_file| of_file.merged.len() > 0)
    }

    /// Adds the dictionaries of an array, which is of this column of the file.
    ///
    /// # Errors
    /// Names the column whose values cannot be compared.
    pub(super) fn merge(
        &mut self,
        column: usize,
        name: &str,
        array: &ArrayRef,
    ) -> Result<(), Error> {
        let mut merge = |path: &str, array: &ArrayRef| -> Result<ArrayRef, Error> {
            let in_column = |what: String| Error::new(what).in_column(path);
            let key = (column, path.to_owned());
            if !self.0.contains_key(&key) {
                let values = array.as_any_dictionary().values().slice(0, 0);
                self.begin(column, path, &values)?;
            }
            if let Some(of_file) = self.0.get_mut(&key) {
                of_file.merged.see(array).map_err(in_column)?;
            }
            Ok(Arc::clone(array))
        };
        with_dictionaries(array, name, &mut merge).map(drop)
    }

    /// The batch with the merged dictionaries.
    ///
    /// # Errors
    /// Names the column whose merged dictionary has more values than its keys can count.
    pub(super) fn apply(
        &mut self,
        batch: &RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, Error> {
        let columns = schema.fields().iter().zip(batch.columns()).enumerate();
        let columns = columns.map(|(i, (field, array))| {
            let mut replace = |path: &str, array: &ArrayRef| -> Result<ArrayRef, Error> {
                let in_column = |what: String| Error::new(what).in_column(path);
                match self.0.get_mut(&(i, path.to_owned())) {
                    Some(of_file) => of_file.moved(array).map_err(in_column),
                    None => Ok(Arc::clone(array)),
                }
            };
            with_dictionaries(array, field.name(), &mut replace)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
            .map_err(|error| Error::new(error.to_string()))
    }
}

impl OfFile {
    /// A dictionary array with the keys and values of the file's dictionary.
    fn moved(&mut self, array: &ArrayRef) -> Result<ArrayRef, String> {
        let places = self.merged.places_of(array.as_any_dictionary().values())?;
        let values = self.values(array.data_type())?;
        let places: Vec<usize> = match &self.kept {
            Some(kept) => places.iter().map(|&place| kept[place]).collect(),
            None => places.to_vec(),
        };
        move_keys(array, &places, &values)
    }

    /// The values for a column of this type. The first call decides whether values without rows are kept.
    fn values(&mut self, data_type: &DataType) -> Result<ArrayRef, String> {
        let used = self.merged.used();
        if let Some(values) = &self.values
            && (self.kept.is_some() || values.len() == used.len())
        {
            return Ok(Arc::clone(values));
        }
        let mut values = self.merged.values()?;
        let capacity = key_capacity(data_type);
        if values.len() > capacity {
            let n_used = used.iter().filter(|used| **used).count();
            if n_used > capacity {
                return Err(format!(
                    "its {n_used} distinct values are more than the keys of {data_type} can count"
                ));
            }
            // The index of a value that no row has is never used, so any index will do.
            let mut next = 0;
            let kept = used.iter().map(|&used| {
                let place = next;
                next += usize::from(used);
                place
            });
            self.kept = Some(kept.collect());
            let indices: PrimitiveArray<UInt64Type> = (0..)
                .zip(used)
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
        dictionaries.merge(0, "d", first.column(0)).unwrap();
        dictionaries.merge(0, "d", second.column(0)).unwrap();
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
        dictionaries.merge(0, "d", first.column(0)).unwrap();
        dictionaries.merge(0, "d", second.column(0)).unwrap();
        assert_eq!(
            dictionaries
                .apply(&first, &first.schema())
                .unwrap_err()
                .to_string(),
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
        dictionaries.merge(0, "d", first.column(0)).unwrap();
        dictionaries.merge(0, "d", second.column(0)).unwrap();
        for batch in [&first, &second] {
            let moved = dictionaries.apply(batch, &batch.schema()).unwrap();
            assert_eq!(texts(&moved), texts(batch));
            assert_eq!(moved.column(0).as_any_dictionary().values().len(), 4);
        }
    }
}
