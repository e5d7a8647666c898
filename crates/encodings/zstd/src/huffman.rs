//! Huffman codes of literals: RFC 8878, section 4.2.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::bits::BackBits;
use crate::fse::{self, Counts, Entry, Symbol};

/// Bits of the longest code.
const CODE_BITS_MAX: u32 = 11;

/// The largest weight: that of a code of one bit, where the longest has 11.
const WEIGHT_MAX: usize = CODE_BITS_MAX as usize;

/// Entries of a table: one for each number of as many bits as the longest code may have.
pub(crate) const ENTRIES: usize = 1 << CODE_BITS_MAX;

/// For each 11 bits of a stream the symbol whose code they start with (the higher byte), and the code's bits.
pub(crate) type Table = [u16; ENTRIES];

/// The largest accuracy of the table of weights, and its states.
const WEIGHTS_LOG_MAX: u32 = 6;
const WEIGHTS_STATES: usize = 1 << WEIGHTS_LOG_MAX;

/// The most weights that are stored. That of one more symbol follows from the others.
const WEIGHTS_MAX: usize = 255;

/// Section 4.2.1: reads the weights of all symbols but the last, and makes their table.
pub(crate) fn read_table(reader: &mut ByteReader<'_>, table: &mut Table) -> Result<()> {
    let at_byte = reader.position();
    let mut weights = [0; WEIGHTS_MAX + 1];
    let header = usize::from(reader.u8("zstd.weights")?);
    let n = match header.checked_sub(127) {
        None | Some(0) => {
            let (mut inside, start) = (*reader, reader.position());
            let stored = reader.take(header, "zstd.weights")?;
            // The symbols of this table are weights.
            let counts = Counts::read(&mut inside, WEIGHT_MAX + 1, WEIGHTS_LOG_MAX)?;
            let stream = stored.get(inside.position() - start..).unwrap_or_default();
            unpack(&counts, stream, &mut weights)
        }
        Some(n) => {
            let stored = reader.take(n.div_ceil(2), "zstd.weights")?;
            let halves = stored.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            for (to, half) in weights.iter_mut().zip(halves).take(n) {
                *to = half;
            }
            Some(n)
        }
    };
    let built = n.and_then(|n| build(&mut weights, n, table));
    built.ok_or_else(|| {
        let allowed = "weights of a complete code of at most 11 bits";
        Error::corrupt("zstd.weights", at_byte, header, allowed)
    })
}

/// Section 4.2.1.2: weights under finite state entropy, of two states in turn. Returns their number; `None` if they do
/// not end with the stream.
fn unpack(counts: &Counts, stream: &[u8], weights: &mut [u8]) -> Option<usize> {
    let mut table = [0; WEIGHTS_STATES];
    let symbol = |i: usize| Symbol {
        base: i as u32,
        bits: 0,
    };
    fse::build(counts, &mut table, symbol);
    let mut bits = BackBits::open(stream)?;
    let (mut first, mut second) = (bits.read(counts.log)?, bits.read(counts.log)?);
    let mut is_last = false;
    for (i, to) in weights.iter_mut().take(WEIGHTS_MAX).enumerate() {
        let now = Entry(*table.get(first as usize)?);
        *to = now.base() as u8;
        if is_last {
            return Some(i + 1);
        }
        match bits.read(now.next_bits()) {
            Some(added) => (first, second) = (second, now.next() as u64 + added),
            // The other state has a symbol, too.
            None => (first, is_last) = (second, true),
        }
    }
    None
}

/// Section 4.2.1.3: the table of `n` weights and that of the symbol behind them, which makes the code complete. `None`
/// if there is none.
fn build(weights: &mut [u8; WEIGHTS_MAX + 1], n: usize, table: &mut Table) -> Option<()> {
    let parts = |weight: u8| (1u32 << weight) >> 1;
    let mut sum = 0;
    for weight in weights.get(..n)? {
        if usize::from(*weight) > WEIGHT_MAX {
            return None;
        }
        sum += parts(*weight);
    }
    let log = sum.checked_ilog2()? + 1;
    let left = (1 << log) - sum;
    if log > CODE_BITS_MAX || !left.is_power_of_two() {
        return None;
    }
    *weights.get_mut(n)? = left.ilog2() as u8 + 1;
    let weights = weights.get(..=n)?;
    // Longest codes first, then in the order of symbols.
    let mut places = [0; WEIGHT_MAX + 2];
    for weight in weights {
        *places.get_mut(usize::from(*weight) + 1)? += parts(*weight) << (CODE_BITS_MAX - log);
    }
    // A code with one of the longest codes alone is not complete.
    if *places.get(2)? == 0 {
        return None;
    }
    let mut end = 0;
    for place in &mut places {
        end += *place;
        *place = end;
    }
    for (symbol, weight) in weights.iter().enumerate() {
        let n_entries = (parts(*weight) << (CODE_BITS_MAX - log)) as usize;
        let place = places.get_mut(usize::from(*weight))?;
        let start = *place as usize;
        *place += n_entries as u32;
        let code_bits = (log + 1).wrapping_sub(u32::from(*weight));
        let entry = (symbol as u16) << 8 | code_bits as u16 & 0xff;
        table.get_mut(start..start + n_entries)?.fill(entry);
    }
    Some(())
}

/// Symbols that are decoded from bits that are loaded at once: five codes of 11 bits.
const RUN: usize = 5;

/// One stream: section 4.2.2. `None` if it does not hold exactly the symbols of `to`.
pub(crate) fn decode_one(stream: &[u8], table: &Table, to: &mut [u8]) -> Option<()> {
    let mut stream = Stream::open(stream)?;
    let (runs, rest) = to.as_chunks_mut::<RUN>();
    let mut n_runs = 0;
    for to in &mut *runs {
        if !stream.refill() {
            break;
        }
        for to in to {
            *to = stream.next(table);
        }
        n_runs += 1;
    }
    let left = runs.get_mut(n_runs..)?.as_flattened_mut();
    stream.finish(table, left, rest)
}

/// Four streams of the same number of symbols (the last may have fewer), a symbol of each in turn: while one waits for
/// an entry, the processor works on the others. `None` as for [`decode_one`].
pub(crate) fn decode_four(streams: [&[u8]; 4], table: &Table, to: &mut [u8]) -> Option<()> {
    let n_each = to.len().div_ceil(4);
    let (to_a, rest) = to.split_at_mut_checked(n_each)?;
    let (to_b, rest) = rest.split_at_mut_checked(n_each)?;
    let (to_c, to_d) = rest.split_at_mut_checked(n_each)?;
    let [a, b, c, d] = streams;
    let (mut a, mut b) = (Stream::open(a)?, Stream::open(b)?);
    let (mut c, mut d) = (Stream::open(c)?, Stream::open(d)?);
    let (runs_a, rest_a) = to_a.as_chunks_mut::<RUN>();
    let (runs_b, rest_b) = to_b.as_chunks_mut::<RUN>();
    let (runs_c, rest_c) = to_c.as_chunks_mut::<RUN>();
    let (runs_d, rest_d) = to_d.as_chunks_mut::<RUN>();
    let mut n_runs = 0;
    let all = runs_a
        .iter_mut()
        .zip(&mut *runs_b)
        .zip(&mut *runs_c)
        .zip(&mut *runs_d);
    for (((to_a, to_b), to_c), to_d) in all {
        if !(a.refill() && b.refill() && c.refill() && d.refill()) {
            break;
        }
        for i in 0..RUN {
            to_a[i] = a.next(table);
            to_b[i] = b.next(table);
            to_c[i] = c.next(table);
            to_d[i] = d.next(table);
        }
        n_runs += 1;
    }
    a.finish(table, runs_a.get_mut(n_runs..)?.as_flattened_mut(), rest_a)?;
    b.finish(table, runs_b.get_mut(n_runs..)?.as_flattened_mut(), rest_b)?;
    c.finish(table, runs_c.get_mut(n_runs..)?.as_flattened_mut(), rest_c)?;
    d.finish(table, runs_d.get_mut(n_runs..)?.as_flattened_mut(), rest_d)
}

/// A stream while whole words of it are left.
struct Stream<'a> {
    bytes: &'a [u8],
    /// Where the word that was loaded last starts.
    at: usize,
    /// The bits of that word that were not read, moved to the top. As many zeros as were read are below the lowest bit
    /// that is set.
    word: u64,
}

impl<'a> Stream<'a> {
    #[inline(always)]
    fn open(bytes: &'a [u8]) -> Option<Self> {
        let bits = BackBits::open(bytes)?;
        // A word at the last byte, all of whose bits were read but those below the mark.
        let at = bytes.len() - 1;
        let n_read = (at * 8 + 64 - bits.left) as u32;
        let word = 1u64.checked_shl(n_read).unwrap_or(0);
        Some(Self { bytes, at, word })
    }

    /// Loads the next word: 56 bits or more that were not read. False near the start of the stream.
    #[inline(always)]
    fn refill(&mut self) -> bool {
        let n_read = self.word.trailing_zeros();
        let at = self.at.wrapping_sub(n_read as usize / 8);
        let loaded = self
            .bytes
            .get(at..at.wrapping_add(8))
            .and_then(<[u8]>::first_chunk);
        if let Some(loaded) = loaded {
            self.at = at;
            self.word = (u64::from_le_bytes(*loaded) | 1) << (n_read % 8);
        }
        loaded.is_some()
    }

    #[inline(always)]
    fn next(&mut self, table: &Table) -> u8 {
        let entry = table[(self.word >> (64 - CODE_BITS_MAX)) as usize];
        self.word <<= entry % 64;
        (entry >> 8) as u8
    }

    /// Decodes the last symbols, those of `to` and of `rest`, which take all bits that are left.
    #[inline(never)]
    fn finish(self, table: &Table, to: &mut [u8], rest: &mut [u8]) -> Option<()> {
        let n_read = self.word.trailing_zeros() as usize;
        let mut bits = BackBits {
            bytes: self.bytes,
            left: self.at * 8 + 64 - n_read,
        };
        for to in to.iter_mut().chain(rest) {
            let entry = table[bits.peek(CODE_BITS_MAX) as usize % ENTRIES];
            bits.left = bits.left.checked_sub(usize::from(entry & 0xff))?;
            *to = (entry >> 8) as u8;
        }
        (bits.left == 0).then_some(())
    }
}
