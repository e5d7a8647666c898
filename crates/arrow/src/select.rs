//! Rows of an array whose bit is set, and the values of dictionary arrays.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use tarsia_codec::{BitSlice, Error, Result};

use crate::kernels::{counted_nulls, selected_strings, selected_views, taken_strings, taken_views};
use crate::pool::Pool;

/// The rows whose bit is set, of which there are `n_set`, in memory of the pool; of views, with the buffers of all.
/// `None` for all types but numbers of at most 16 bytes, byte strings with 32-bit offsets, views, and dictionary arrays
/// with keys of type UInt32: Arrow's kernel serves the others. It lists the rows first, and calls a function to copy a
/// string, so that it takes twice as long.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for bits of another number of rows.
pub fn select(
    array: &dyn Array,
    bits: &BooleanBuffer,
    n_set: usize,
    pool: &Pool,
) -> Result<Option<ArrayRef>> {
    let misfit = || Error::invalid("bits of another number of rows");
    if bits.len() != array.len()
        || BitSlice::new(bits.values(), bits.offset(), bits.len())?.count_ones() != n_set
    {
        return Err(misfit());
    }
    let nulls = || -> Result<Option<NullBuffer>> {
        let Some(nulls) = array.nulls() else {
            return Ok(None);
        };
        let bytes = n_set.div_ceil(8);
        let mut found = pool.take(bytes);
        let valid = nulls.inner();
        tarsia_bits::compact_bits(
            bits.values(),
            bits.offset(),
            bits.len(),
            valid.values(),
            valid.offset(),
            &mut found,
        )
        .map_err(|_| misfit())?;
        let found = BooleanBuffer::new(pool.into_buffer(found, bytes), 0, n_set);
        Ok(Some(counted_nulls(found)))
    };
    if let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>() {
        let Some(keys) = select(dictionary.keys(), bits, n_set, pool)? else {
            return Ok(None);
        };
        let keys = keys.as_primitive::<UInt32Type>().clone();
        let selected = DictionaryArray::try_new(keys, dictionary.values().clone());
        return Ok(Some(Arc::new(selected.map_err(|_| misfit())?)));
    }
    Ok(match array.data_type() {
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            Some(Arc::new(selected_strings(
                strings,
                bits,
                n_set,
                nulls()?,
                pool,
            )?))
        }
        DataType::Binary => {
            let strings = array.as_binary::<i32>();
            Some(Arc::new(selected_strings(
                strings,
                bits,
                n_set,
                nulls()?,
                pool,
            )?))
        }
        DataType::Utf8View => {
            let views = array.as_string_view();
            let selected = selected_views(views, bits, n_set, nulls()?, pool);
            Some(Arc::new(selected?))
        }
        DataType::BinaryView => {
            let views = array.as_binary_view();
            let selected = selected_views(views, bits, n_set, nulls()?, pool);
            Some(Arc::new(selected?))
        }
        other => match other.primitive_width() {
            Some(width @ (1 | 2 | 4 | 8 | 16)) => {
                let data = array.to_data();
                let start = data.offset() * width;
                let values = data.buffers().first().map_or(&[][..], |it| it.as_slice());
                let values = values.get(start..start + array.len() * width);
                let bytes = n_set * width;
                let mut found = pool.take(bytes);
                tarsia_bits::compact(
                    bits.values(),
                    bits.offset(),
                    bits.len(),
                    width,
                    values.ok_or_else(misfit)?,
                    &mut found,
                )
                .map_err(|_| misfit())?;
                let selected = ArrayData::builder(other.clone())
                    .len(n_set)
                    .add_buffer(pool.into_buffer(found, bytes))
                    .nulls(nulls()?)
                    .build();
                Some(make_array(selected.map_err(|_| misfit())?))
            }
            _ => None,
        },
    })
}

/// The values of a dictionary array's rows, an array of the dictionary's type, in memory of the pool. `None` for all
/// dictionaries but those of byte strings with 32-bit offsets and of views: Arrow's `take` serves the others.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`](tarsia_codec::ErrorKind::LimitExceeded) for more than `bytes_max` bytes of strings, or
/// 2 GiB: an entry may be long, and many rows may have it. Views share the bytes of the entries, so they are not
/// limited.
pub fn values_of(
    dictionary: &DictionaryArray<UInt32Type>,
    bytes_max: u64,
    pool: &Pool,
) -> Result<Option<ArrayRef>> {
    /// Numbers no entry: dictionaries have fewer.
    const NONE: u32 = u32::MAX;
    let (keys, values) = (dictionary.keys(), dictionary.values());
    let is_of_strings = matches!(
        values.data_type(),
        DataType::Utf8 | DataType::Binary | DataType::Utf8View | DataType::BinaryView
    );
    // An entry that is null has no bytes, and its rows are nulls that the keys do not tell of.
    if !is_of_strings || values.null_count() > 0 {
        return Ok(None);
    }
    let nulls = keys.nulls().cloned();
    let mut codes = Cow::Borrowed(keys.values().as_ref());
    if let Some(nulls) = &nulls {
        // What stands under a null may be the number of an entry.
        let codes = codes.to_mut();
        for row in (!nulls.inner()).set_indices() {
            if let Some(code) = codes.get_mut(row) {
                *code = NONE;
            }
        }
    }
    Ok(Some(match values.data_type() {
        DataType::Utf8 => {
            let strings = values.as_string::<i32>();
            Arc::new(taken_strings(strings, &codes, nulls, bytes_max, pool)?)
        }
        DataType::Utf8View => {
            let views = values.as_string_view();
            Arc::new(taken_views(views, &codes, nulls, pool)?)
        }
        DataType::BinaryView => {
            let views = values.as_binary_view();
            Arc::new(taken_views(views, &codes, nulls, pool)?)
        }
        _ => {
            let strings = values.as_binary::<i32>();
            Arc::new(taken_strings(strings, &codes, nulls, bytes_max, pool)?)
        }
    }))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, Int16Array, Int64Array,
        LargeStringArray, StringArray, StringViewArray, UInt32Array,
    };

    use super::*;

    #[test]
    fn rows_are_those_that_arrow_selects() {
        let pool = Pool::new(1 << 20);
        let n = 999;
        let null = |i: usize| (i % 5 != 2).then_some(i);
        let text = |i: usize| "äbc".repeat(i * i % 23);
        let arrays: Vec<ArrayRef> = vec![
            Arc::new((0..n).map(|i| i as i64).collect::<Int64Array>()),
            Arc::new(
                (0..n)
                    .map(|i| null(i).map(|i| i as i16))
                    .collect::<Int16Array>(),
            ),
            Arc::new(
                (0..n)
                    .map(|i| null(i).map(|i| i as i128))
                    .collect::<Decimal128Array>(),
            ),
            Arc::new((0..n).map(|i| Some(text(i))).collect::<StringArray>()),
            Arc::new((0..n).map(|i| null(i).map(text)).collect::<StringArray>()),
            Arc::new((0..n).map(|i| null(i).map(text)).collect::<BinaryArray>()),
            Arc::new(
                (0..n)
                    .map(|i| null(i).map(text))
                    .collect::<StringViewArray>(),
            ),
            Arc::new((0..n).map(|i| Some(text(i))).collect::<BinaryViewArray>()),
            Arc::new(dictionary(n)),
        ];
        for array in arrays {
            for (start, len) in [(0, n), (3, 700), (64, 64), (5, 0)] {
                let array = array.slice(start, len);
                for modulus in [1, 2, 7, 300, 5000] {
                    let bits =
                        BooleanBuffer::collect_bool(len + 9, |i| (i * 13 + 7) % modulus == 0);
                    let bits = bits.slice(9, len);
                    let predicate = BooleanArray::new(bits.clone(), None);
                    let expected = arrow_select::filter::filter(&array, &predicate).unwrap();
                    let found = select(&array, &bits, bits.count_set_bits(), &pool);
                    let found = found.unwrap().unwrap();
                    assert_eq!(&found, &expected, "{start} {len} {modulus}");
                    found.to_data().validate_full().unwrap();
                }
            }
        }
    }

    /// Text of ten values and nulls, one of which has the number of an entry.
    fn dictionary(n: usize) -> DictionaryArray<UInt32Type> {
        let entries = StringArray::from_iter_values((0..10).map(|i| "xyß".repeat(i * 3)));
        let keys = (0..n).map(|i| (i * 7 % 10) as u32).collect();
        let nulls = (0..n).map(|i| i % 5 != 2).collect::<Vec<_>>();
        let keys = UInt32Array::new(keys, Some(nulls.into()));
        DictionaryArray::new(keys, Arc::new(entries))
    }

    #[test]
    fn values_of_dictionaries_are_those_that_arrow_takes() {
        let pool = Pool::new(1 << 20);
        let all = dictionary(500);
        let without_nulls = UInt32Array::new(all.keys().values().clone(), None);
        for dictionary in [
            all.clone(),
            all.slice(3, 77),
            all.slice(9, 0),
            DictionaryArray::new(without_nulls, all.values().clone()),
            DictionaryArray::new(
                UInt32Array::from(vec![None, None]),
                Arc::new(StringArray::from(Vec::<&str>::new())),
            ),
            DictionaryArray::new(
                UInt32Array::from(vec![1, 0, 1]),
                Arc::new(BinaryArray::from(vec![&b"a"[..], b"\xff"])),
            ),
            DictionaryArray::new(
                UInt32Array::from(vec![Some(1), None, Some(0), Some(1)]),
                Arc::new(StringViewArray::from(vec!["short", "longer than a view"])),
            ),
            DictionaryArray::new(
                UInt32Array::from(vec![1, 0, 1]),
                Arc::new(BinaryViewArray::from(vec![&b"a"[..], b"\xff"])),
            ),
        ] {
            let (values, keys) = (dictionary.values(), dictionary.keys());
            let expected = arrow_select::take::take(values, keys, None).unwrap();
            let found = values_of(&dictionary, 1 << 20, &pool).unwrap().unwrap();
            assert_eq!(&found, &expected);
            found.to_data().validate_full().unwrap();
        }
        let of_dictionary = values_of(&all, 1 << 20, &pool).unwrap().unwrap();
        let bytes = of_dictionary.as_string::<i32>().value_data().len() as u64;
        let fits = |bytes_max| values_of(&dictionary(500), bytes_max, &pool).is_ok();
        assert!(fits(bytes) && !fits(bytes - 1));
        for values in [
            Arc::new(StringArray::from(vec![None, Some("a")])) as ArrayRef,
            Arc::new(Int64Array::from(vec![1, 2])),
        ] {
            let dictionary = DictionaryArray::new(UInt32Array::from(vec![1, 0]), values);
            assert!(values_of(&dictionary, 1 << 20, &pool).unwrap().is_none());
        }
    }

    #[test]
    fn bits_of_other_rows_are_refused() {
        let pool = Pool::new(0);
        let array = Int64Array::from(vec![1, 2, 3]);
        assert!(select(&array, &BooleanBuffer::new_set(2), 2, &pool).is_err());
        assert!(select(&array, &BooleanBuffer::new_set(3), 2, &pool).is_err());
        let wide = LargeStringArray::from(vec!["a"]);
        let bits = BooleanBuffer::new_set(1);
        assert!(select(&wide, &bits, 1, &pool).unwrap().is_none());
    }
}
