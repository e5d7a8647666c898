//! The hot loops: entries by codes. Entries of fixed width are gathered by `tarsia-bits`, byte strings here. The caller
//! has checked that every code is below the number of entries; the loop is safe whether or not it has.

use tarsia_codec::{Error, Result};

/// Strings up to this length are copied with one load and one store.
pub(crate) const SHORT_BYTES: usize = 16;

/// A code as it lies in memory: little-endian.
pub(crate) trait Code: bytemuck::Pod + Ord + tarsia_bits::Word {
    /// The number.
    fn number(self) -> u32;
}

impl Code for u8 {
    #[inline]
    fn number(self) -> u32 {
        self.into()
    }
}

impl Code for u16 {
    #[inline]
    fn number(self) -> u32 {
        Self::from_le(self).into()
    }
}

impl Code for u32 {
    #[inline]
    fn number(self) -> u32 {
        Self::from_le(self)
    }
}

/// Refuses codes that are not below `n_entries` and names the first.
pub(crate) fn check_codes<C: Code>(codes: &[C], n_entries: usize) -> Result<()> {
    // The maximum of a whole slice is a vector loop, which a search for the first bad code is not.
    let max = codes.iter().map(|code| code.number()).max();
    if max.is_none_or(|max| (max as usize) < n_entries) {
        return Ok(());
    }
    let bad = codes
        .iter()
        .position(|code| code.number() as usize >= n_entries);
    let at = bad.unwrap_or_default();
    let found = codes.get(at).map_or(0, |code| code.number());
    Err(Error::corrupt(
        "dict.code",
        at,
        found,
        "below the number of entries; place is the value's index",
    ))
}

/// Entries that are byte strings: `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strings<'a> {
    offsets: &'a [u32],
    data: &'a [u8],
    /// Where `tail` starts in `data`.
    tail_at: usize,
    /// The last bytes of `data` with zeros behind them, so that the last entries too are copied `SHORT_BYTES` at a time.
    tail: [u8; 2 * SHORT_BYTES],
}

impl<'a> Strings<'a> {
    pub(crate) fn new(offsets: &'a [u32], data: &'a [u8]) -> Self {
        let tail_at = data.len().saturating_sub(SHORT_BYTES);
        let mut tail = [0; 2 * SHORT_BYTES];
        for (to, from) in tail.iter_mut().zip(data.get(tail_at..).unwrap_or_default()) {
            *to = *from;
        }
        Self {
            offsets,
            data,
            tail_at,
            tail,
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// `SHORT_BYTES` from `start` on.
    #[inline]
    fn short(&self, start: usize) -> Option<&[u8; SHORT_BYTES]> {
        match self.data.get(start..)?.first_chunk() {
            Some(short) => Some(short),
            None => self.tail.get(start - self.tail_at..)?.first_chunk(),
        }
    }
}

/// Why strings could not be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// They need more than the output has.
    Output,
    /// The entries' offsets are bad.
    Entries,
}

/// Copies one string per code and returns the bytes written. Ends wrap where they exceed 32 bits.
pub(crate) fn gather_strings<C: Code>(
    entries: &Strings<'_>,
    codes: &[C],
    ends: &mut [u32],
    base: u32,
    data: &mut [u8],
) -> Result<usize, Misfit> {
    let mut at = 0usize;
    for (code, end) in codes.iter().zip(ends) {
        let i = code.number() as usize;
        let bounds = entries.offsets.get(i..).and_then(<[u32]>::first_chunk);
        let [start, stop] = bounds.ok_or(Misfit::Entries)?.map(|offset| offset as usize);
        let len = stop.wrapping_sub(start);
        // Bytes behind the value are undefined until the next one covers them.
        if len <= SHORT_BYTES
            && let Some(from) = entries.short(start)
            && let Some(to) = data.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
        {
            *to = *from;
        } else {
            let from = entries.data.get(start..stop).ok_or(Misfit::Entries)?;
            let to = data.get_mut(at..).and_then(|to| to.get_mut(..len));
            to.ok_or(Misfit::Output)?.copy_from_slice(from);
        }
        at += len;
        *end = base.wrapping_add(at as u32);
    }
    Ok(at)
}
