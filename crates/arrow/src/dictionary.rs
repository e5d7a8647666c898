//! Logical values become dictionary arrays: entries in order of first appearance, a new array where the key type is
//! full.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt32Array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use hashbrown::HashTable;
use tarsia_codec::{Error, ErrorKind, OwnedValues, Result};
use tarsia_structure::RawParts;

use crate::buffers::ColumnBuffers;
use crate::kernels::checked_dictionary;
use crate::plain::plain_array;
use crate::pool::Pool;
use crate::reorder::reorder;
use crate::row_bytes::{RowBytes, written};

/// Calls a function for the type of keys.
macro_rules! by_key_type {
    ($key:expr, $function:ident($($argument:expr),*)) => {
        match $key {
            DataType::Int8 => $function::<Int8Type>($($argument),*),
            DataType::Int16 => $function::<Int16Type>($($argument),*),
            DataType::Int32 => $function::<Int32Type>($($argument),*),
            DataType::Int64 => $function::<Int64Type>($($argument),*),
            DataType::UInt8 => $function::<UInt8Type>($($argument),*),
            DataType::UInt16 => $function::<UInt16Type>($($argument),*),
            DataType::UInt32 => $function::<UInt32Type>($($argument),*),
            DataType::UInt64 => $function::<UInt64Type>($($argument),*),
            other => Err(Error::from(ErrorKind::Unsupported {
                what: format!("dictionary keys of type {other}"),
            })),
        }
    };
}

/// The most entries that keys of a type number: 0 for types that are none of keys.
pub fn dictionary_entries_max(key: &DataType) -> u64 {
    match key {
        DataType::Int8 => i8::MAX as u64 + 1,
        DataType::Int16 => i16::MAX as u64 + 1,
        DataType::Int32 => i32::MAX as u64 + 1,
        DataType::UInt8 => u8::MAX as u64 + 1,
        DataType::UInt16 => u16::MAX as u64 + 1,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => u64::from(u32::MAX),
        _ => 0,
    }
}

/// The dictionary array whose keys are `codes`, values of 4 bytes. They number the values of `entries`, one behind the
/// other, which become its dictionary: at most [`dictionary_entries_max`].
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for codes that number no entry, for entries that are not of the type, and for other
/// types; [`ErrorKind::Corrupt`] for text that is not UTF-8.
pub fn array_of_entries(
    data_type: &DataType,
    codes: RawParts,
    entries: &[Arc<OwnedValues>],
    pool: &Pool,
) -> Result<ArrayRef> {
    let DataType::Dictionary(key, value) = data_type else {
        return Err(Error::invalid("entries of values that are no dictionary"));
    };
    let values = plain_array(value, buffers_of(entries)?, None)?;
    let ColumnBuffers {
        rows,
        nulls,
        values: codes,
        ..
    } = ColumnBuffers::of_raw(codes, pool);
    if codes.len() != rows * size_of::<u32>() {
        return Err(Error::invalid("codes of entries that are not of 4 bytes"));
    }
    let codes = ScalarBuffer::<u32>::new(codes, 0, rows);
    by_key_type!(key.as_ref(), keyed(codes, nulls, values))
}

/// All values, one behind the other.
fn buffers_of(entries: &[Arc<OwnedValues>]) -> Result<ColumnBuffers> {
    let n_rows = entries.iter().map(|it| it.len()).sum();
    let (mut offsets, mut bytes) = (vec![], vec![]);
    for entries in entries {
        match &**entries {
            OwnedValues::Fixed { bytes: fixed, .. } => bytes.extend_from_slice(fixed),
            OwnedValues::Bytes { offsets: own, data } => {
                let before = bytes.len() as u32;
                let first = own.first().copied().unwrap_or_default();
                let ends = own.iter().skip(usize::from(!offsets.is_empty()));
                offsets.extend(ends.map(|end| end.wrapping_sub(first).wrapping_add(before)));
                let last = own.last().copied().unwrap_or_default();
                let data = data.get(first as usize..last as usize);
                bytes.extend_from_slice(data.unwrap_or_default());
            }
            OwnedValues::Bits { .. } => {
                return Err(Error::invalid("entries that are bits"));
            }
        }
    }
    if u32::try_from(bytes.len()).is_err() {
        return Err(Error::invalid("entries of 4 GiB and more"));
    }
    Ok(ColumnBuffers {
        rows: n_rows,
        nulls: None,
        offsets: Buffer::from(offsets),
        values: Buffer::from(bytes),
    })
}

fn keyed<K: ArrowDictionaryKeyType>(
    codes: ScalarBuffer<u32>,
    nulls: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let keys = match size_of::<K::Native>() {
        4 => {
            let rows = codes.len();
            ScalarBuffer::new(codes.into_inner(), 0, rows)
        }
        _ => codes
            .iter()
            .map(|code| K::Native::usize_as(*code as usize))
            .collect(),
    };
    dictionary_of::<K>(keys, nulls, values)
}

fn dictionary_of<K: ArrowDictionaryKeyType>(
    keys: ScalarBuffer<K::Native>,
    nulls: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let keys = PrimitiveArray::<K>::try_new(keys, nulls)
        .map_err(|_| Error::invalid("validity and keys differ in length"))?;
    Ok(Arc::new(checked_dictionary(keys, values)?))
}

/// One or more dictionary arrays that hold `values` in order, null where `nulls` say so.
pub(crate) fn encode(
    key: &DataType,
    values: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<Vec<ArrayRef>> {
    let entries_max = dictionary_entries_max(key);
    by_key_type!(key, encode_as(values, nulls, entries_max))
}

fn encode_as<K: ArrowDictionaryKeyType>(
    values: &ArrayRef,
    nulls: Option<NullBuffer>,
    entries_max: u64,
) -> Result<Vec<ArrayRef>> {
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let bytes_of_rows;
    let bytes = match RowBytes::of(values.as_ref()) {
        Ok(bytes) => bytes,
        Err(_) => {
            bytes_of_rows = written(values.as_ref())?;
            RowBytes::Offsets(&bytes_of_rows.0, &bytes_of_rows.1)
        }
    };
    let hasher = foldhash::fast::FixedState::default();
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let mut table = HashTable::<(u32, K::Native)>::new();
        let mut entries: Vec<u32> = Vec::new();
        let mut keys: Vec<K::Native> = Vec::with_capacity(values.len() - start);
        let mut row = start;
        while row < values.len() {
            if is_null(row) {
                keys.push(K::Native::default());
                row += 1;
                continue;
            }
            let value = bytes.get(row);
            let hash = hasher.hash_one(value);
            let found = table.find(hash, |(entry, _)| bytes.get(*entry as usize) == value);
            let key = match found {
                Some((_, key)) => *key,
                None => {
                    if entries.len() as u64 == entries_max {
                        break;
                    }
                    let key = K::Native::from_usize(entries.len())
                        .ok_or_else(|| Error::invalid("a dictionary key overflows"))?;
                    // A batch has at most 2^31 rows.
                    entries.push(row as u32);
                    table.insert_unique(hash, (row as u32, key), |(entry, _)| {
                        hasher.hash_one(bytes.get(*entry as usize))
                    });
                    key
                }
            };
            keys.push(key);
            row += 1;
        }
        let dictionary = reorder(values, &UInt32Array::from(entries))
            .map_err(|_| Error::invalid("dictionary entries out of range"))?;
        let nulls = nulls.as_ref().map(|nulls| nulls.slice(start, row - start));
        parts.push(dictionary_of::<K>(keys.into(), nulls, dictionary)?);
        start = row;
        if start >= values.len() {
            return Ok(parts);
        }
    }
}
