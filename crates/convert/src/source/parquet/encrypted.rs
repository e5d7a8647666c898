//! Encrypted columns under a footer that is not. The `parquet` crate, without its decryption, passes over what the
//! footer says of them, and takes their pages for damaged ones.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Length and mark at the end of a file.
const TAIL_BYTES: u64 = 8;

/// Structures inside each other; the format has fewer.
const DEPTH_MAX: usize = 32;

/// The path of the metadata of a column's encryption: row groups, their columns, this field.
const CRYPTO_METADATA: [i16; 3] = [4, 1, 8];

/// The ordinal of the first column that is encrypted.
pub(super) fn first_column(file: &mut File, bytes: u64) -> Option<usize> {
    let tail_start = bytes.checked_sub(TAIL_BYTES)?;
    file.seek(SeekFrom::Start(tail_start)).ok()?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact(&mut tail).ok()?;
    let length = u64::from(u32::from_le_bytes(*tail.first_chunk()?));
    file.seek(SeekFrom::Start(tail_start.checked_sub(length)?))
        .ok()?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer).ok()?;
    let mut scan = Scan {
        bytes: &footer,
        path: Vec::new(),
        column: 0,
        found: None,
    };
    // What cannot be read to its end is for the reader to refuse.
    let _ = scan.structure();
    scan.found
}

/// Goes through a structure of Thrift's compact protocol.
struct Scan<'a> {
    bytes: &'a [u8],
    /// The fields around.
    path: Vec<i16>,
    /// The ordinal of the column that is gone through.
    column: usize,
    found: Option<usize>,
}

impl Scan<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn skip(&mut self, n: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn structure(&mut self) -> Option<()> {
        if self.path.len() > DEPTH_MAX {
            return None;
        }
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(());
            }
            id = match header >> 4 {
                0 => {
                    let n = self.varint()?;
                    i16::try_from((n >> 1).cast_signed() ^ -(n & 1).cast_signed()).ok()?
                }
                delta => id.checked_add(delta.into())?,
            };
            self.path.push(id);
            if self.path == CRYPTO_METADATA && self.found.is_none() {
                self.found = Some(self.column);
            }
            // The values of Booleans are in their headers.
            match header & 0xf {
                1 | 2 => {}
                kind => self.value(kind)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let n = self.varint()?;
                self.skip(n)
            }
            9 | 10 => {
                let header = self.byte()?;
                let n = match header >> 4 {
                    15 => self.varint()?,
                    n => n.into(),
                };
                for i in 0..n {
                    if self.path == CRYPTO_METADATA[..2] {
                        self.column = usize::try_from(i).ok()?;
                    }
                    self.value(header & 0xf)?;
                }
                Some(())
            }
            11 => {
                let n = self.varint()?;
                let kinds = if n == 0 { 0 } else { self.byte()? };
                for _ in 0..n {
                    self.value(kinds >> 4)?;
                    self.value(kinds & 0xf)?;
                }
                Some(())
            }
            12 => self.structure(),
            _ => None,
        }
    }
}
