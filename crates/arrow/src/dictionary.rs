//! Logical values become dictionary arrays: entries in order of first appearance, a new array where the key type is
//! full.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, UInt32Array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;
use hashbrown::HashTable;
use tarsia_codec::{Error, ErrorKind, Result};

use crate::reorder::reorder;
use crate::row_bytes::{RowBytes, written};

/// One or more dictionary arrays that hold `values` in order, null where `nulls` say so.
pub(crate) fn encode(
    key: &DataType,
    values: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<Vec<ArrayRef>> {
    match key {
        DataType::Int8 => encode_as::<Int8Type>(values, nulls, i8::MAX as u64 + 1),
        DataType::Int16 => encode_as::<Int16Type>(values, nulls, i16::MAX as u64 + 1),
        DataType::Int32 => encode_as::<Int32Type>(values, nulls, i32::MAX as u64 + 1),
        DataType::Int64 => encode_as::<Int64Type>(values, nulls, u64::from(u32::MAX)),
        DataType::UInt8 => encode_as::<UInt8Type>(values, nulls, u8::MAX as u64 + 1),
        DataType::UInt16 => encode_as::<UInt16Type>(values, nulls, u16::MAX as u64 + 1),
        DataType::UInt32 => encode_as::<UInt32Type>(values, nulls, u64::from(u32::MAX)),
        DataType::UInt64 => encode_as::<UInt64Type>(values, nulls, u64::from(u32::MAX)),
        other => Err(Error::from(ErrorKind::Unsupported {
            what: format!("dictionary keys of type {other}"),
        })),
    }
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
        let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls)
            .map_err(|_| Error::invalid("validity and keys differ in length"))?;
        let array = DictionaryArray::<K>::try_new(keys, dictionary)
            .map_err(|_| Error::invalid("a dictionary key is out of range"))?;
        parts.push(Arc::new(array) as ArrayRef);
        start = row;
        if start >= values.len() {
            return Ok(parts);
        }
    }
}
