//! The literals section of a block: RFC 8878, section 3.1.1.3.1.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::huffman::{self, Table};

/// The bytes that sequences copy from, and blocks end with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Literals<'a> {
    kind: Kind<'a>,
    pub(crate) n_bytes: usize,
    at_byte: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    /// As they are. Other bytes of the unit follow them.
    Raw(&'a [u8]),
    /// All equal.
    One(u8),
    /// Under a Huffman code.
    Coded { streams: &'a [u8], are_four: bool },
}

impl<'a> Literals<'a> {
    /// Reads the section, and the table of its code into `table` if it has one. `has_table` is true if an earlier block
    /// of the frame had one, and becomes so.
    pub(crate) fn read(
        reader: &mut ByteReader<'a>,
        table: &mut Table,
        has_table: &mut bool,
    ) -> Result<Self> {
        let at_byte = reader.position();
        let field = "zstd.literals";
        let first = *reader.rest().first().unwrap_or(&0);
        let (kind, size_format) = (first & 3, first >> 2 & 3);
        if kind < 2 {
            let (header_bytes, shift) = match size_format {
                1 => (2, 4),
                3 => (3, 4),
                _ => (1, 3),
            };
            let n_bytes = (reader.uint(header_bytes, field)? >> shift) as usize;
            let kind = match kind {
                0 => {
                    let rest = reader.rest();
                    reader.take(n_bytes, field)?;
                    Kind::Raw(rest)
                }
                _ => Kind::One(reader.u8(field)?),
            };
            return Ok(Self {
                kind,
                n_bytes,
                at_byte,
            });
        }
        let (header_bytes, size_bits) = match size_format {
            0 | 1 => (3, 10),
            2 => (4, 14),
            _ => (5, 18),
        };
        let header = reader.uint(header_bytes, field)? >> 4;
        let sizes_mask = (1 << size_bits) - 1;
        let n_bytes = (header & sizes_mask) as usize;
        let n_stored = (header >> size_bits & sizes_mask) as usize;
        let start = reader.position();
        let mut coded = *reader;
        let stored = reader.take(n_stored, field)?;
        match kind {
            2 => {
                huffman::read_table(&mut coded, table)?;
                *has_table = true;
            }
            _ if !*has_table => {
                let allowed = "a code of their own in the first block with a code";
                return Err(Error::corrupt(field, at_byte, kind, allowed));
            }
            _ => {}
        }
        let streams = stored.get(coded.position() - start..).unwrap_or_default();
        Ok(Self {
            kind: Kind::Coded {
                streams,
                are_four: size_format != 0,
            },
            n_bytes,
            at_byte,
        })
    }

    /// The literals, and whatever follows them in the unit, if they are in it as they are.
    pub(crate) fn as_stored(&self) -> Option<&'a [u8]> {
        match self.kind {
            Kind::Raw(rest) => Some(rest),
            _ => None,
        }
    }

    /// Decodes the literals to `to`, which is as long as they are.
    pub(crate) fn decode(&self, table: &Table, to: &mut [u8]) -> Result<()> {
        let done = match self.kind {
            Kind::Raw(rest) => rest.get(..to.len()).map(|from| to.copy_from_slice(from)),
            Kind::One(byte) => {
                to.fill(byte);
                Some(())
            }
            Kind::Coded {
                streams,
                are_four: false,
            } => huffman::decode_one(streams, table, to),
            Kind::Coded { streams, .. } => {
                four(streams).and_then(|streams| huffman::decode_four(streams, table, to))
            }
        };
        done.ok_or_else(|| {
            let allowed = "streams that hold exactly the literals";
            Error::corrupt("zstd.literals", self.at_byte, self.n_bytes, allowed)
        })
    }
}

/// Section 3.1.1.3.1.6: four streams, behind the sizes of the first three.
fn four(streams: &[u8]) -> Option<[&[u8]; 4]> {
    let (sizes, rest) = streams.split_first_chunk::<6>()?;
    let [a0, a1, b0, b1, c0, c1] = *sizes;
    let size = |bytes| usize::from(u16::from_le_bytes(bytes));
    let (a, rest) = rest.split_at_checked(size([a0, a1]))?;
    let (b, rest) = rest.split_at_checked(size([b0, b1]))?;
    let (c, d) = rest.split_at_checked(size([c0, c1]))?;
    Some([a, b, c, d])
}
