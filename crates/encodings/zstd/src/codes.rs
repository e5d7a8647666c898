//! The codes of sequences and their tables: RFC 8878, sections 3.1.1.3.2.1 and 3.1.1.3.2.2.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::fse::{self, Counts, Symbol};

/// States of the largest table.
pub(crate) const STATES: usize = 512;

/// Section 3.1.1.3.2.1.1: what the codes of literals' lengths stand for: the lowest number, and how many bits are added
/// to it.
#[rustfmt::skip]
static LITERALS: [(u32, u8); 36] = [
    (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0), (13, 0),
    (14, 0), (15, 0), (16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6),
    (128, 7), (256, 8), (512, 9), (1024, 10), (2048, 11), (4096, 12), (8192, 13), (16384, 14), (32768, 15),
    (65536, 16),
];

/// Codes of matches' lengths.
#[rustfmt::skip]
static MATCHES: [(u32, u8); 53] = [
    (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0), (13, 0), (14, 0), (15, 0),
    (16, 0), (17, 0), (18, 0), (19, 0), (20, 0), (21, 0), (22, 0), (23, 0), (24, 0), (25, 0), (26, 0), (27, 0),
    (28, 0), (29, 0), (30, 0), (31, 0), (32, 0), (33, 0), (34, 0), (35, 1), (37, 1), (39, 1), (41, 1), (43, 2),
    (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5), (131, 7), (259, 8), (515, 9), (1027, 10), (2051, 11),
    (4099, 12), (8195, 13), (16387, 14), (32771, 15), (65539, 16),
];

/// The largest code of an offset: there is none behind 2^31 bytes.
const OFFSET_CODES: usize = 32;

/// Section 3.1.1.3.2.2: the probabilities of tables that are not stored.
static LITERALS_DEFAULT: [i8; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
static OFFSETS_DEFAULT: [i8; 29] = [
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];
static MATCHES_DEFAULT: [i8; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

/// The source of a table. Later blocks of a frame may use it again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    None,
    Default,
    Stored,
}

/// Facts about a table beside its entries.
#[derive(Clone, Copy)]
pub(crate) struct TableKind {
    /// It has 2^log entries.
    pub(crate) log: u32,
    pub(crate) content: Content,
}

impl TableKind {
    /// The kind of a table that was not read yet.
    pub(crate) const NONE: Self = Self {
        log: 0,
        content: Content::None,
    };
}

/// One of the three kinds of codes.
pub(crate) struct Codes {
    field: &'static str,
    n_symbols: usize,
    log_max: u32,
    default: &'static [i8],
    default_log: u32,
    symbol: fn(usize) -> Symbol,
}

/// Codes of literals' lengths, offsets and matches' lengths, in the order of their bits and tables.
pub(crate) static CODES: [Codes; 3] = [
    Codes {
        field: "zstd.literals_lengths",
        n_symbols: LITERALS.len(),
        log_max: 9,
        default: &LITERALS_DEFAULT,
        default_log: 6,
        symbol: |i| listed(&LITERALS, i),
    },
    Codes {
        field: "zstd.offsets",
        n_symbols: OFFSET_CODES,
        log_max: 8,
        default: &OFFSETS_DEFAULT,
        default_log: 5,
        symbol: |i| Symbol {
            base: 1 << (i % OFFSET_CODES),
            bits: (i % OFFSET_CODES) as u8,
        },
    },
    Codes {
        field: "zstd.matches_lengths",
        n_symbols: MATCHES.len(),
        log_max: 9,
        default: &MATCHES_DEFAULT,
        default_log: 6,
        symbol: |i| listed(&MATCHES, i),
    },
];

impl Codes {
    /// Section 3.1.1.3.2.1: the table of the next block, as the lowest two bits of `mode` say. `before` and the
    /// result are what is in `entries`.
    pub(crate) fn read(
        &self,
        mode: u8,
        entries: &mut [u64; STATES],
        before: TableKind,
        reader: &mut ByteReader<'_>,
    ) -> Result<TableKind> {
        let at_byte = reader.position();
        let (counts, content) = match mode % 4 {
            0 if before.content == Content::Default => return Ok(before),
            0 => {
                let counts = Counts::of(self.default, self.default_log);
                (counts, Content::Default)
            }
            1 => {
                let symbol = usize::from(reader.u8(self.field)?);
                if symbol >= self.n_symbols {
                    let allowed = "the codes that there are";
                    return Err(Error::corrupt(self.field, at_byte, symbol, allowed));
                }
                fse::build_one(entries, (self.symbol)(symbol));
                return Ok(TableKind {
                    log: 0,
                    content: Content::Stored,
                });
            }
            2 => {
                let counts = Counts::read(reader, self.n_symbols, self.log_max)?;
                (counts, Content::Stored)
            }
            _ if before.content == Content::None => {
                let allowed = "no table of an earlier block in the first with sequences";
                return Err(Error::corrupt(self.field, at_byte, mode % 4, allowed));
            }
            _ => return Ok(before),
        };
        fse::build(&counts, entries, self.symbol);
        Ok(TableKind {
            log: counts.log,
            content,
        })
    }
}

fn listed(all: &[(u32, u8)], i: usize) -> Symbol {
    let (base, bits) = all.get(i).copied().unwrap_or_default();
    Symbol { base, bits }
}
