//! The footer of a file as it is stored, and its metadata.
//!
//! Keys and values of a footer are strings by the format, and the `parquet` crate refuses a footer where they are no
//! UTF-8. pyarrow writes what it is given. Such texts are replaced before the footer is parsed
//! ([`binary_metadata`](crate::source::binary_metadata)).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::thrift::{Text, walk};
use crate::source::binary_metadata::{key_text, value_text};

/// Length and mark at the end of a file.
pub(super) const TAIL_BYTES: u64 = 8;

/// The mark at both ends of a file.
pub(super) const MARK: [u8; 4] = *b"PAR1";

/// The paths of keys and values in a footer.
const KEY: [i16; 2] = [5, 1];
const VALUE: [i16; 2] = [5, 2];

/// The bytes of a footer, and where they begin in the file.
pub(super) struct Footer {
    pub(super) bytes: Vec<u8>,
    pub(super) start: u64,
}

impl Footer {
    /// Reads the footer of a file that ends before byte `end`. `None` if there is none: no mark, or a length beyond the
    /// file's.
    pub(super) fn read(mut file: &File, end: u64) -> Option<Footer> {
        let tail_start = end.checked_sub(TAIL_BYTES)?;
        file.seek(SeekFrom::Start(tail_start)).ok()?;
        let mut tail = [0; TAIL_BYTES as usize];
        file.read_exact(&mut tail).ok()?;
        let (length, mark) = tail.split_first_chunk::<4>()?;
        if *mark != MARK {
            return None;
        }
        let length = u64::from(u32::from_le_bytes(*length));
        let start = tail_start.checked_sub(length)?;
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == length).then_some(Footer { bytes, start })
    }

    /// # Errors
    /// The bytes are no footer.
    pub(super) fn metadata(&self) -> Result<ParquetMetaData, ParquetError> {
        match readable(&self.bytes) {
            Some(bytes) => ParquetMetaDataReader::decode_metadata(&bytes),
            None => ParquetMetaDataReader::decode_metadata(&self.bytes),
        }
    }
}

/// A key and its value.
#[derive(Default)]
struct Pair {
    /// Its place in the list.
    element: usize,
    key: Option<Text>,
    value: Option<Text>,
}

/// The footer with texts for the keys and values that are no UTF-8. `None` if there are none, or the bytes are no
/// footer, which the reader refuses.
fn readable(footer: &[u8]) -> Option<Vec<u8>> {
    let is_text = |text: &Option<Text>| {
        let bytes = text
            .as_ref()
            .and_then(|text| footer.get(text.content.clone()));
        bytes.is_none_or(|bytes| str::from_utf8(bytes).is_ok())
    };
    let mut binary = Vec::new();
    let mut pair = Pair::default();
    let mut keep = |pair: Pair| {
        if !is_text(&pair.key) || !is_text(&pair.value) {
            binary.push(pair);
        }
    };
    walk(footer, &mut |field| {
        if field.path != KEY && field.path != VALUE {
            return;
        }
        if field.element != pair.element {
            keep(std::mem::take(&mut pair));
            pair.element = field.element;
        }
        match field.path == KEY {
            true => pair.key = field.text.clone(),
            false => pair.value = field.text.clone(),
        }
    })?;
    keep(pair);
    if binary.is_empty() {
        return None;
    }
    let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
    for pair in binary {
        // Without a key it is no pair.
        let key = pair.key?;
        let mut key_is = key_text(footer.get(key.content)?).into_owned();
        if let Some(value) = pair.value {
            let bytes = footer.get(value.content)?;
            if str::from_utf8(bytes).is_err() {
                let (key, text) = value_text(&key_is, bytes);
                key_is = key;
                replaced.push((value.whole, text));
            }
        }
        replaced.push((key.whole, key_is));
    }
    replaced.sort_by_key(|(place, _)| place.start);
    let mut made = Vec::new();
    let mut done = 0;
    for (place, text) in replaced {
        made.extend_from_slice(footer.get(done..place.start)?);
        let mut n = text.len();
        while n >= 0x80 {
            made.push(n as u8 | 0x80);
            n >>= 7;
        }
        made.push(n as u8);
        made.extend_from_slice(text.as_bytes());
        done = place.end;
    }
    made.extend_from_slice(footer.get(done..)?);
    Some(made)
}
