//! Dictionary columns come back with the dictionaries of their pages, where pages have one.

use std::sync::Arc;

use crate::common::{deterministic, open, write};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray, UInt64Array,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{Field, Schema};
use tarsia_testkit::rng::Rng;

const ROWS: usize = 60_000;

/// Rows of `n_words` words; from the middle on half of them are others, so that pages have different dictionaries.
fn rows_of<K: ArrowDictionaryKeyType>(
    words: &ArrayRef,
    nulls: fn(usize) -> bool,
) -> DictionaryArray<K> {
    let mut rng = Rng::new(9);
    let n = words.len() / 3 * 2;
    let keys = (0..ROWS).map(|row| {
        let first = if row < ROWS / 2 { 0 } else { words.len() / 3 };
        let key = first + rng.below(n);
        (!nulls(row)).then(|| K::Native::usize_as(key))
    });
    let keys: PrimitiveArray<K> = keys.collect();
    DictionaryArray::new(keys, words.clone())
}

fn check<K: ArrowDictionaryKeyType>(words: &ArrayRef, nulls: fn(usize) -> bool) {
    let array = rows_of::<K>(words, nulls);
    let field = Field::new("x", array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(array.clone())]).unwrap();
    let options = deterministic().with_page_bytes(100_000);
    let file = open(&write(schema, &[batch], options)).unwrap();
    let values = |array: &dyn Array| arrow_cast::cast(array, words.data_type()).unwrap();
    for batch_rows in [ROWS, 7001, 100] {
        let mut from = 0;
        for part in file.scan().batch_rows(batch_rows).build().unwrap() {
            let part = part.unwrap();
            let got = part.column(0).as_dictionary::<K>();
            got.to_data().validate_full().unwrap();
            let want = array.slice(from, got.len());
            assert_eq!(&values(got), &values(&want));
            assert_eq!(got.null_count(), want.null_count());
            // A batch may see several pages, each with a dictionary.
            assert!(got.values().len() <= got.len().max(words.len() * 8));
            from += got.len();
        }
        assert_eq!(from, ROWS);
    }
    let rows: Vec<u64> = (0..ROWS as u64).step_by(13).chain([5, 5, 39_999]).collect();
    let got = file.take(&rows).read().unwrap();
    let want = arrow_select::take::take(&array, &UInt64Array::from(rows), None).unwrap();
    assert_eq!(&values(got.column(0)), &values(&want));
}

fn check_all(words: &ArrayRef) {
    for nulls in [|_: usize| false, |row| row % 7 == 3, |row| row < 20_000] {
        check::<Int32Type>(words, nulls);
    }
    check::<Int8Type>(words, |row| row % 5 == 0);
    check::<Int16Type>(words, |_| false);
    check::<Int64Type>(words, |row| row % 2 == 0);
    check::<UInt8Type>(words, |_| false);
    check::<UInt16Type>(words, |_| false);
    check::<UInt32Type>(words, |row| row > 50_000);
    check::<UInt64Type>(words, |_| false);
}

#[test]
fn words() {
    let words = (0..96).map(|i| format!("the {i}{}", "th word, or longer".repeat(i % 3)));
    let words: Vec<String> = words.collect();
    check_all(&(Arc::new(StringArray::from_iter_values(&words)) as ArrayRef));
    check_all(&(Arc::new(StringViewArray::from_iter_values(&words)) as ArrayRef));
}

#[test]
fn numbers() {
    let mut rng = Rng::new(3);
    let numbers = Int64Array::from_iter_values((0..96).map(|_| rng.u64() as i64));
    check_all(&(Arc::new(numbers) as ArrayRef));
}

/// As many entries as there are rows: the dictionary is made of the values.
#[test]
fn distinct_values() {
    let words: Vec<String> = (0..ROWS).map(|i| format!("{:x}", i * 7919)).collect();
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(&words));
    check::<Int32Type>(&words, |_| false);
    check::<UInt64Type>(&words, |row| row % 3 == 0);
}

#[test]
fn one_dictionary_is_not_expanded() {
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "bb", "a much longer word"]));
    let array = rows_of::<Int32Type>(&words, |_| false);
    let field = Field::new("x", array.data_type().clone(), false);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap();
    let file = open(&write(schema, &[batch], deterministic())).unwrap();
    for part in file.scan().build().unwrap() {
        let part = part.unwrap();
        let got = part.column(0).as_dictionary::<Int32Type>();
        assert_eq!(got.values().len(), 3);
    }
}
