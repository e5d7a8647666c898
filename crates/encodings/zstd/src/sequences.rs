//! The sequences section of a block: RFC 8878, section 3.1.1.3.2.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::bits::{BackBits, WORD_BITS, long_word, low_bits, top_word, word};
use crate::codes::{CODES, STATES, TableKind};
use crate::copy::{self, Places, Sequence, Source};
use crate::fse::Entry;

/// Entries of the tables of literals' lengths, offsets and matches' lengths. Together, so that one register finds all.
pub(crate) type Tables = [[u64; STATES]; 3];

/// The state that the blocks of a frame hand on.
pub(crate) struct History<'m> {
    tables: &'m mut Tables,
    kinds: [TableKind; 3],
    /// Offsets of the last copies, the latest first.
    repeats: [u32; 3],
}

/// Section 3.1.1.3.2.1: the number of sequences.
pub(crate) fn read_count(reader: &mut ByteReader<'_>) -> Result<usize> {
    let field = "zstd.n_sequences";
    Ok(match usize::from(reader.u8(field)?) {
        first @ 0..128 => first,
        first @ 128..255 => (first - 128) << 8 | usize::from(reader.u8(field)?),
        _ => usize::from(reader.u16(field)?) + 0x7f00,
    })
}

/// Bits of the stream that are left, and the states of the three tables.
#[derive(Clone, Copy)]
struct Cursor {
    left: usize,
    literals: usize,
    offsets: usize,
    matches: usize,
}

/// Sequences that are decoded before the first of them is executed: what a loop for both keeps does not fit the
/// registers.
const BATCH: usize = 64;

impl<'m> History<'m> {
    /// Returns the state at a frame's start, with tables in this memory.
    pub(crate) fn new(tables: &'m mut Tables) -> Self {
        Self {
            tables,
            kinds: [TableKind::NONE; 3],
            repeats: [1, 4, 8],
        }
    }

    /// Section 3.1.1.3.2.1: reads the tables of a block.
    fn read_tables(&mut self, reader: &mut ByteReader<'_>) -> Result<()> {
        let at_byte = reader.position();
        let modes = reader.u8("zstd.modes")?;
        if modes % 4 != 0 {
            let allowed = "zero (reserved) in the lowest two bits";
            return Err(Error::corrupt("zstd.modes", at_byte, modes, allowed));
        }
        let tables = self.tables.iter_mut().zip(&mut self.kinds).zip(&CODES);
        for (((entries, kind), codes), shift) in tables.zip([6, 4, 2]) {
            *kind = codes.read(modes >> shift, entries, *kind, reader)?;
        }
        Ok(())
    }

    /// Reads tables, and executes the `n` sequences, 1 or more, of the block that ends at `end`.
    pub(crate) fn execute(
        &mut self,
        reader: &mut ByteReader<'_>,
        end: usize,
        n: usize,
        literals: &Source<'_>,
        out: &mut [u8],
        at: usize,
    ) -> Result<Places> {
        self.read_tables(reader)?;
        let at_byte = reader.position();
        let n_bytes = end.saturating_sub(at_byte);
        let stream = reader.take(n_bytes, "zstd.sequences")?;
        let places = Places {
            literals: 0,
            out: at as u32,
        };
        let done = self.run(stream, n, literals, out, places);
        done.ok_or_else(|| {
            let allowed = "sequences that fit their stream, the literals and the values";
            Error::corrupt("zstd.sequences", at_byte, n_bytes, allowed)
        })
    }

    fn run(
        &mut self,
        stream: &[u8],
        n: usize,
        literals: &Source<'_>,
        out: &mut [u8],
        mut places: Places,
    ) -> Option<Places> {
        let mut bits = BackBits::open(stream)?;
        let mut cursor = Cursor {
            literals: bits.read(self.kinds[0].log)? as usize,
            offsets: bits.read(self.kinds[1].log)? as usize,
            matches: bits.read(self.kinds[2].log)? as usize,
            left: bits.left,
        };
        let mut batch = [Sequence::default(); BATCH];
        let mut n_left = n - 1;
        while n_left > 0 {
            let batch = batch.get_mut(..n_left.min(BATCH))?;
            cursor = decode(self.tables, stream, cursor, batch)?;
            places = copy::sequences(batch, &mut self.repeats, literals, out, places)?;
            n_left -= batch.len();
        }
        let last = [last(self.tables, stream, cursor)?];
        copy::sequences(&last, &mut self.repeats, literals, out, places)
    }
}

#[inline(always)]
fn entry(table: &[u64; STATES], state: usize) -> Option<Entry> {
    table.get(state).map(|it| Entry(*it))
}

/// Decodes sequences and goes to the states of the next one. How many bits a sequence and the step to the next states
/// take is known from the states, so they are taken at once. Those of the next states come last in the stream and so
/// lowest in the word, which is loaded without waiting for how many they are.
fn decode(
    tables: &Tables,
    stream: &[u8],
    mut cursor: Cursor,
    batch: &mut [Sequence],
) -> Option<Cursor> {
    for to in batch {
        let literals = entry(&tables[0], cursor.literals)?;
        let offset = entry(&tables[1], cursor.offsets)?;
        let matches = entry(&tables[2], cursor.matches)?;
        let n_all = literals.all_bits() + offset.all_bits() + matches.all_bits();
        let top = top_word(stream, cursor.left);
        cursor.left = cursor.left.checked_sub(n_all as usize)?;
        let matches_at = offset.next_bits();
        let literals_at = matches_at + matches.next_bits();
        let numbers_at = literals_at + literals.next_bits();
        // Nothing is taken of all bits if there are none to take.
        let mut low = top.wrapping_shr(64u32.wrapping_sub(n_all));
        let mut numbers = low >> numbers_at;
        if n_all > WORD_BITS {
            low = word(stream, cursor.left);
            numbers = long_word(stream, cursor.left + numbers_at as usize);
        }
        let next =
            |entry: Entry, at: u32| entry.next() + low_bits(low >> at, entry.next_bits()) as usize;
        cursor.offsets = next(offset, 0);
        cursor.matches = next(matches, matches_at);
        cursor.literals = next(literals, literals_at);
        *to = Sequence::of(literals, offset, matches, numbers);
    }
    Some(cursor)
}

/// Decodes the last sequence, which no states follow: it takes all bits that are left.
fn last(tables: &Tables, stream: &[u8], cursor: Cursor) -> Option<Sequence> {
    let literals = entry(&tables[0], cursor.literals)?;
    let offset = entry(&tables[1], cursor.offsets)?;
    let matches = entry(&tables[2], cursor.matches)?;
    let n_all = literals.number_bits() + offset.number_bits() + matches.number_bits();
    let word = long_word(stream, 0);
    (cursor.left == n_all as usize).then(|| Sequence::of(literals, offset, matches, word))
}

impl Sequence {
    /// The sequence of these entries. The numbers that are added to their bases are in the lowest bits of `word`.
    #[inline(always)]
    fn of(literals: Entry, offset: Entry, matches: Entry, mut word: u64) -> Self {
        let mut number = |entry: Entry| {
            let added = low_bits(word, entry.number_bits()) as u32;
            word >>= entry.number_bits();
            entry.base() + added
        };
        Self {
            n_literals: number(literals),
            n_copied: number(matches),
            offset: number(offset),
        }
    }
}
