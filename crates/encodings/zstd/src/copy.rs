//! Executes sequences: RFC 8878, sections 3.1.1.4 and 3.1.1.5. Most copies are short, so whole chunks of 16 bytes are
//! copied while there is room behind the end: a call to copy a few bytes takes longer than the copy.

/// Bytes that are copied at once.
const CHUNK: usize = 16;

/// Room behind the end of a copy up to which chunks may be written: also that behind literals.
pub(crate) const SLACK: usize = 2 * CHUNK;

/// Longer copies are left to `memcpy`.
const LONG: usize = 256;

/// The literals of a block.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The literals, and any bytes behind them.
    bytes: &'a [u8],
    /// How many there are.
    len: usize,
    /// Copies of literals that end before here have room behind them.
    roomy_end: usize,
}

impl<'a> Source<'a> {
    /// The first `len` of `bytes`.
    pub(crate) fn new(bytes: &'a [u8], len: usize) -> Self {
        let roomy = bytes.len().checked_sub(SLACK);
        Self {
            bytes,
            len,
            roomy_end: roomy.map_or(0, |end| end.min(len) + 1),
        }
    }

    /// Writes those from `from` on at `places.out`, and returns the end of the bytes that were written.
    pub(crate) fn finish(&self, out: &mut [u8], places: Places) -> Option<usize> {
        let n = self.len.checked_sub(places.literals as usize)?;
        self.exact(n, out, places).map(|places| places.out as usize)
    }

    fn exact(&self, n: usize, out: &mut [u8], places: Places) -> Option<Places> {
        let (from, to) = (places.literals as usize, places.out as usize);
        let all = self.bytes.get(..self.len)?;
        let copied = all.get(from..from + n)?;
        out.get_mut(to..to + n)?.copy_from_slice(copied);
        Some(Places {
            literals: (from + n) as u32,
            out: (to + n) as u32,
        })
    }
}

/// How many literals were copied, and how many bytes were written.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) literals: u32,
    pub(crate) out: u32,
}

/// Literals, then a copy of bytes that were written before.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sequence {
    pub(crate) n_literals: u32,
    pub(crate) n_copied: u32,
    /// An offset more 3, or which of the last ones.
    pub(crate) offset: u32,
}

impl Sequence {
    /// Section 3.1.1.5: the last offsets with this sequence's first. 0, which no copy has, for none.
    #[inline(always)]
    fn offset(self, [first, second, third]: [u32; 3]) -> [u32; 3] {
        if self.offset > 3 {
            return [self.offset - 3, first, second];
        }
        // Without literals the first would be the copy before, only longer.
        match self.offset + u32::from(self.n_literals == 0) {
            1 => [first, second, third],
            2 => [second, first, third],
            3 => [third, first, second],
            _ => [first.saturating_sub(1), first, second],
        }
    }
}

/// Writes the bytes of sequences. Returns the places behind them; `None` if they do not fit.
pub(crate) fn sequences(
    sequences: &[Sequence],
    repeats: &mut [u32; 3],
    literals: &Source<'_>,
    out: &mut [u8],
    mut places: Places,
) -> Option<Places> {
    let mut last = *repeats;
    for sequence in sequences {
        last = sequence.offset(last);
        places = execute(*sequence, last[0], literals, out, places)?;
    }
    *repeats = last;
    Some(places)
}

/// Writes literals, then a copy of bytes that lie `offset` before. Returns the places behind them; `None` if they do
/// not fit or lie before the first byte. May write some bytes behind their end.
#[inline(always)]
fn execute(
    sequence: Sequence,
    offset: u32,
    literals: &Source<'_>,
    out: &mut [u8],
    places: Places,
) -> Option<Places> {
    let (n_literals, n_copied) = (sequence.n_literals as usize, sequence.n_copied as usize);
    let (at, from) = (places.out as usize, places.literals as usize);
    let copy_at = at + n_literals;
    let end = copy_at + n_copied;
    let literals_end = from + n_literals;
    if end + SLACK > out.len() || literals_end >= literals.roomy_end {
        return exact(sequence, offset, literals, out, places);
    }
    let after = Places {
        literals: literals_end as u32,
        out: end as u32,
    };
    chunk(out, at, literals.bytes, from)?;
    if n_literals > CHUNK {
        more_literals(literals.bytes, from, n_literals, out, at)?;
    }
    let offset = offset as usize;
    let from = copy_at.checked_sub(offset)?;
    if offset < CHUNK {
        return near(out, copy_at, offset, end).map(|()| after);
    }
    chunk_within(out, from, copy_at)?;
    chunk_within(out, from + CHUNK, copy_at + CHUNK)?;
    if n_copied > 2 * CHUNK {
        far(out, from, copy_at, end)?;
    }
    Some(after)
}

/// Copies without writing a byte behind the end.
#[cold]
#[inline(never)]
fn exact(
    sequence: Sequence,
    offset: u32,
    literals: &Source<'_>,
    out: &mut [u8],
    places: Places,
) -> Option<Places> {
    let places = literals.exact(sequence.n_literals as usize, out, places)?;
    let at = places.out as usize;
    let from = at.checked_sub(offset as usize)?;
    let end = at + sequence.n_copied as usize;
    out.get(..end)?;
    repeat(out, from, at, end)?;
    let out = end as u32;
    Some(Places { out, ..places })
}

/// Copies what starts at `from` to `at` until `end`, each time as much as there is by then. `None` for nothing to copy
/// of.
fn repeat(out: &mut [u8], from: usize, at: usize, end: usize) -> Option<()> {
    let mut at = at;
    while at < end {
        let n = (end - at).min(at - from);
        if n == 0 {
            return None;
        }
        out.copy_within(from..from + n, at);
        at += n;
    }
    Some(())
}

#[inline(always)]
fn chunk(to: &mut [u8], at: usize, from: &[u8], from_at: usize) -> Option<()> {
    let from: [u8; CHUNK] = *from.get(from_at..from_at + CHUNK)?.first_chunk()?;
    *to.get_mut(at..at + CHUNK)?.first_chunk_mut()? = from;
    Some(())
}

#[inline(always)]
fn chunk_within(out: &mut [u8], from: usize, at: usize) -> Option<()> {
    let copied: [u8; CHUNK] = *out.get(from..from + CHUNK)?.first_chunk()?;
    *out.get_mut(at..at + CHUNK)?.first_chunk_mut()? = copied;
    Some(())
}

/// The `n` literals from `from` on, behind the first chunk.
#[inline(always)]
fn more_literals(literals: &[u8], from: usize, n: usize, out: &mut [u8], at: usize) -> Option<()> {
    if n > LONG {
        let literals = literals.get(from..from + n)?;
        out.get_mut(at..at + n)?.copy_from_slice(literals);
        return Some(());
    }
    for i in (CHUNK..n).step_by(CHUNK) {
        chunk(out, at + i, literals, from + i)?;
    }
    Some(())
}

/// A copy behind its first chunk, of bytes that lie at least a chunk before.
#[inline(always)]
fn far(out: &mut [u8], from: usize, at: usize, end: usize) -> Option<()> {
    if end - at > LONG {
        return repeat(out, from, at, end);
    }
    for i in (2 * CHUNK..end - at).step_by(CHUNK) {
        chunk_within(out, from + i, at + i)?;
    }
    Some(())
}

/// A copy of bytes that lie less than a chunk before, which repeats them.
#[inline(always)]
fn near(out: &mut [u8], at: usize, offset: usize, end: usize) -> Option<()> {
    let mut at = at;
    let mut from = at.checked_sub(offset)?;
    if offset >= WORD {
        while at < end {
            let copied = *word(out, from)?;
            *word(out, at)? = copied;
            (at, from) = (at + WORD, from + WORD);
        }
        return Some(());
    }
    // As many whole repetitions as fit a word.
    let first = u64::from_le_bytes(*word(out, from)?) & !(u64::MAX << (offset * 8));
    let repeated = first.wrapping_mul(REPEATED[offset]).to_le_bytes();
    let step = WORD - WORD.checked_rem(offset)?;
    while at < end {
        *word(out, at)? = repeated;
        at += step;
    }
    Some(())
}

const WORD: usize = 8;

#[inline(always)]
fn word(out: &mut [u8], at: usize) -> Option<&mut [u8; WORD]> {
    out.get_mut(at..at + WORD)?.first_chunk_mut()
}

/// A one in every so many bytes.
static REPEATED: [u64; WORD] = {
    let mut repeated = [0; WORD];
    let mut every = 1;
    while every < WORD {
        let mut at = 0;
        while at < WORD {
            repeated[every] |= 1 << (at * 8);
            at += every;
        }
        every += 1;
    }
    repeated
};
