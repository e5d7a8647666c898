//! Codes to values: the loop of the decoder.

use alloc::boxed::Box;
use alloc::vec;

use tarsia_codec::{Error, Result};

use crate::codes::{LENGTH_MAX, Lengths, SEQUENCES};
use crate::layout::N_STREAMS;

/// The most values of an entry.
const ENTRY_VALUES_MAX: usize = 3;

/// Entries that are looked up between two checks: their codes have at most 48 bits, of the 57 or more that are loaded.
const LOOKUPS: usize = 4;

/// Where the values of so many entries are written to: at most 12. An entry is stored as 4 bytes, from byte 15 on at
/// most.
type Window = [u8; 16 + 3];

/// For each sequence of 12 bits, first bit lowest, the values of the codes that it starts with, up to three of those
/// that lie in it whole.
pub(crate) struct Table {
    entries: Box<[Entry; SEQUENCES]>,
    lengths: Lengths,
}

/// Up to three values. The last byte has the bits of their codes in its lower six bits, and the number of values above.
/// So the sum of the last bytes of four entries has the bits of all their codes below bit 6, and the number of their
/// values from bit 6 on.
type Entry = [u8; ENTRY_VALUES_MAX + 1];

impl Table {
    pub(crate) fn of(lengths: Lengths) -> Result<Self> {
        let entries = vec![Entry::default(); SEQUENCES].into_boxed_slice();
        let mut table = Self {
            entries: (entries.try_into()).map_err(|_| Error::invalid("a table of another size"))?,
            lengths,
        };
        for code in table.lengths.codes() {
            let starting = table.entries.iter_mut().skip(code.bits.into());
            for entry in starting.step_by(1 << code.length) {
                *entry = [code.value, 0, 0, 0];
            }
        }
        // The first value stays, which is all that others need of an entry.
        for i in 0..SEQUENCES {
            table.entries[i] = table.entry(i);
        }
        Ok(table)
    }

    /// The entry of a sequence of bits, from the first values of others.
    fn entry(&self, sequence: usize) -> Entry {
        let mut entry = Entry::default();
        let (mut n_bits, mut n_values, mut rest) = (0, 0, sequence);
        for to in entry.iter_mut().take(ENTRY_VALUES_MAX) {
            let [value, ..] = self.entries[rest % SEQUENCES];
            let length = self.lengths.get(value);
            if n_bits + length > LENGTH_MAX {
                break;
            }
            *to = value;
            n_bits += length;
            n_values += 1;
            rest >>= length;
        }
        entry[ENTRY_VALUES_MAX] = n_bits | n_values << 6;
        entry
    }

    /// The entry of the next bits.
    #[inline(always)]
    fn look_up(&self, bits: u64) -> &Entry {
        &self.entries[bits as usize % SEQUENCES]
    }

    /// Fills all `streams`, and returns them. Behind the last code all bits are zero.
    pub(crate) fn decode<'a>(
        &self,
        codes: &[u8],
        streams: [Stream<'a>; N_STREAMS],
    ) -> [Stream<'a>; N_STREAMS] {
        // A copy stays in registers. What is passed lies in the caller's memory.
        let mut streams = streams;
        // While an entry of one stream is on its way, the processor works on the others. One stream does all of a round
        // before the next does: code that takes turns is compiled to gathers where there are any, and took three times
        // as long there. Streams that end early leave the others going.
        loop {
            let mut is_going = false;
            for stream in &mut streams {
                is_going |= stream.round(self, codes).is_some();
            }
            if !is_going {
                break;
            }
        }
        for stream in &mut streams {
            stream.finish(self, codes);
        }
        streams
    }
}

/// The values of a stream, from its first one on.
pub(crate) struct Stream<'a> {
    /// Where the next code starts, in bits from the start of all codes.
    pub(crate) next_bit: u64,
    /// Output that is filled with values.
    pub(crate) to: &'a mut [u8],
    n_done: usize,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(start_bit: u64, to: &'a mut [u8]) -> Self {
        Self {
            next_bit: start_bit,
            to,
            n_done: 0,
        }
    }

    /// Looks up some entries, if there are bits and room for any.
    #[inline(always)]
    fn round(&mut self, table: &Table, codes: &[u8]) -> Option<()> {
        let loaded = codes.get((self.next_bit / 8) as usize..)?.first_chunk()?;
        let window: &mut Window = self.to.get_mut(self.n_done..)?.first_chunk_mut()?;
        let mut bits = u64::from_le_bytes(*loaded) >> (self.next_bit % 8);
        let mut sum = 0;
        for _ in 0..LOOKUPS {
            let entry = table.look_up(bits);
            // At most 9 before the last entry.
            let place = (sum >> 6) as usize % 16;
            if let Some(to) = window.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
                *to = *entry;
            }
            let last = u64::from(entry[ENTRY_VALUES_MAX]);
            bits >>= last % 64;
            sum += last;
        }
        self.next_bit += sum % 64;
        self.n_done += (sum >> 6) as usize;
        Some(())
    }

    /// Decodes the last values, one by one.
    fn finish(&mut self, table: &Table, codes: &[u8]) {
        for to in self.to.get_mut(self.n_done..).unwrap_or_default() {
            let bits = word_at(codes, (self.next_bit / 8) as usize) >> (self.next_bit % 8);
            [*to, ..] = *table.look_up(bits);
            self.next_bit += u64::from(table.lengths.get(*to));
        }
        self.n_done = self.to.len();
    }
}

/// The 8 bytes from `at` on as a number. Zeros follow the last one.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(rest) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}
