//! Strings as they are stored, and the loops that put them together.

use tarsia_codec::{Error, Result};

use crate::layout::GROUP;

/// The bytes at the start of a string that are put together without a loop.
const WINDOW: usize = 64;

/// Bytes of scratch memory in front of the suffixes, and behind them, so that a window may start and end there.
pub(crate) const MARGIN: usize = WINDOW;

/// Words of a window. As words it stays in registers while strings are put together, as bytes it does not.
const WORDS: usize = WINDOW / 8;

/// From byte `WINDOW - n` on the mask of the first `n` bytes of a window.
const MASKS: [u8; 2 * WINDOW] = {
    let mut masks = [0; 2 * WINDOW];
    let (ones, _) = masks.split_at_mut(WINDOW);
    ones.copy_from_slice(&[0xff; WINDOW]);
    masks
};

/// The stored parts of strings: of all from the start of a group on, or of the first ones of some groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coded<'a> {
    /// Bytes that each shares with the one before, 0 for the first of a group.
    pub(crate) prefixes: &'a [u32],
    /// The end of the suffix before each, which is 0 for the first.
    pub(crate) suffix_starts: &'a [u32],
    /// The end of each one's suffix.
    pub(crate) suffix_ends: &'a [u32],
    /// The suffixes, one behind the other, between two margins.
    pub(crate) suffixes: &'a [u8],
}

impl Coded<'_> {
    fn suffix_bytes(&self, i: usize) -> u32 {
        let of = |places: &[u32]| places.get(i).copied().unwrap_or_default();
        of(self.suffix_ends).wrapping_sub(of(self.suffix_starts))
    }

    fn prefix(&self, i: usize) -> u32 {
        self.prefixes.get(i).copied().unwrap_or_default()
    }

    /// The bytes of string `i`, after a check: without overflow.
    pub(crate) fn length(&self, i: usize) -> u32 {
        self.prefix(i).wrapping_add(self.suffix_bytes(i))
    }

    fn suffix(&self, i: usize) -> &[u8] {
        let at = |places: &[u32]| places.get(i).map_or(0, |place| MARGIN + *place as usize);
        let range = at(self.suffix_starts)..at(self.suffix_ends);
        self.suffixes.get(range).unwrap_or_default()
    }

    /// Checks that no prefix is longer than the string before. `number_of(i)` is the number of string `i` in the unit.
    /// Then no string is longer than all suffixes together, and no length overflows.
    pub(crate) fn check(&self, number_of: impl Fn(usize) -> u32) -> Result<()> {
        self.check_prefixes(0, number_of)?;
        self.check_ends()
    }

    /// [`Coded::check`] for consecutive strings, `first` being the number of the first in the unit.
    pub(crate) fn check_consecutive(&self, first: u32) -> Result<()> {
        let number_of = |i: usize| first + i as u32;
        if cfg!(feature = "kernel") {
            return self.check(number_of);
        }
        let (prefixes, rest) = self.prefixes.as_chunks::<GROUP>();
        let starts = self.suffix_starts.as_chunks::<GROUP>().0;
        let ends = self.suffix_ends.as_chunks::<GROUP>().0;
        let mut is_bad = false;
        // No early exit, so that the loops vectorise.
        for ((prefixes, starts), ends) in prefixes.iter().zip(starts).zip(ends) {
            let mut lengths = [0u32; GROUP];
            for (i, length) in lengths.iter_mut().enumerate() {
                *length = prefixes[i].wrapping_add(ends[i].wrapping_sub(starts[i]));
            }
            is_bad |= prefixes[0] != 0;
            for (prefix, before) in prefixes[1..].iter().zip(&lengths) {
                is_bad |= prefix > before;
            }
        }
        let n_seen = self.prefixes.len() - rest.len();
        // The first error is in a whole group, if there is one.
        self.check_prefixes(if is_bad { 0 } else { n_seen }, number_of)?;
        self.check_ends()
    }

    /// Checks the prefixes from string `from` on, the first of a group.
    fn check_prefixes(&self, from: usize, number_of: impl Fn(usize) -> u32) -> Result<()> {
        let mut before = 0;
        for (i, prefix) in self.prefixes.iter().enumerate().skip(from) {
            let number = number_of(i) as usize;
            if number.is_multiple_of(GROUP) {
                before = 0;
            }
            if *prefix > before {
                let allowed =
                    "at most the bytes of the string before, 0 for the first of each group";
                return Err(Error::corrupt("front.prefixes", number, *prefix, allowed));
            }
            before = self.length(i);
        }
        Ok(())
    }

    /// Checks what the decoder of suffixes has returned.
    fn check_ends(&self) -> Result<()> {
        let end = self.suffix_ends.last().map_or(0, |end| *end as usize);
        let is_inside = end.saturating_add(2 * MARGIN) <= self.suffixes.len();
        // No early exit, so that the loop vectorises.
        let of_suffixes = self.suffix_starts.iter().zip(self.suffix_ends);
        let rise = of_suffixes.fold(true, |rise, (start, end)| rise & (start <= end));
        match rise && is_inside {
            true => Ok(()),
            false => Err(Error::invalid("a decoder returned bad ends")),
        }
    }

    /// Puts the strings from `head` on, a string of the first group, together at the front of `data`, which holds them.
    /// `ends[i]` is `base` plus the end of string `head + i` there. The strings were checked.
    ///
    /// A string starts with bytes of the one before. Loading these from the output soon after they were stored there
    /// took as long as all the rest: processors wait until such stores are done. So the first bytes stay in registers.
    pub(crate) fn put_all(&self, head: usize, ends: &[u32], base: u32, data: &mut [u8]) {
        // The string before starts and ends here in the output, and the next suffix starts here.
        let (mut before, mut start, mut suffix_at) = (0, 0, MARGIN);
        let mut window = [0; WORDS];
        let mut done = 0;
        if head > 0
            && let Some(end) = ends.first()
        {
            self.put_one(head, None, data, 0);
            start = end.wrapping_sub(base) as usize;
            suffix_at += self.suffix_ends.get(head).map_or(0, |end| *end as usize);
            window = window_of(data.get(..start).unwrap_or_default());
            done = 1;
        }
        let from = head + done;
        let prefixes = self.prefixes.get(from..).unwrap_or_default();
        let suffix_ends = self.suffix_ends.get(from..).unwrap_or_default();
        let ends = ends.get(done..).unwrap_or_default();
        for ((prefix, suffix_end), end) in prefixes.iter().zip(suffix_ends).zip(ends) {
            let (prefix, end) = (*prefix as usize, end.wrapping_sub(base) as usize);
            // So many bytes of the window stay. The suffix is loaded as if it started behind them.
            let n_kept = prefix.min(WINDOW);
            let suffix = words(self.suffixes.get(suffix_at - n_kept..));
            let mask = words(MASKS.get(WINDOW - n_kept..));
            for ((word, suffix), mask) in window.iter_mut().zip(suffix).zip(mask) {
                let (suffix, mask) = (u64::from_ne_bytes(*suffix), u64::from_ne_bytes(*mask));
                *word = *word & mask | suffix & !mask;
            }
            // Bytes behind a string are undefined until the next one covers them.
            let to = data.get_mut(start..).unwrap_or_default();
            match to.as_chunks_mut::<8>().0.first_chunk_mut::<WORDS>() {
                Some(to) => {
                    for (to, word) in to.iter_mut().zip(window) {
                        *to = word.to_ne_bytes();
                    }
                }
                None => put_window(window, to),
            }
            if end - start > WINDOW {
                let rest = Rest {
                    from: before + WINDOW,
                    to: start,
                    prefix,
                    suffix_at,
                    length: end - start,
                };
                put_rest(rest, self.suffixes, data);
            }
            (before, start) = (start, end);
            suffix_at = MARGIN + *suffix_end as usize;
        }
    }

    /// Puts string `i` together at `at` of `data`, which holds it, from the suffixes of it and of strings before it in
    /// the group, or of `known`, one of these (or itself) that is in front of it in `data`. The strings were checked.
    pub(crate) fn put_one(&self, i: usize, known: Option<Known>, data: &mut [u8], at: usize) {
        let (before, to) = data.split_at_mut_checked(at).unwrap_or_default();
        let (mut i, mut n_open) = (i, self.length(i) as usize);
        while n_open > 0 {
            if let Some(known) = known
                && known.i == i
            {
                let from = before.get(known.at..known.at + n_open);
                copy(from.unwrap_or_default(), to.get_mut(..n_open));
                return;
            }
            let n_prefix = self.prefix(i) as usize;
            if let Some(n_of_suffix) = n_open.checked_sub(n_prefix) {
                let from = self.suffix(i).get(..n_of_suffix).unwrap_or_default();
                copy(from, to.get_mut(n_prefix..n_open));
                n_open = n_prefix;
            }
            let Some(before) = i.checked_sub(1) else {
                return;
            };
            i = before;
        }
    }
}

/// A string that was put together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Its place among the strings.
    pub(crate) i: usize,
    /// Where it starts in the output.
    pub(crate) at: usize,
}

fn copy(from: &[u8], to: Option<&mut [u8]>) {
    if let Some(to) = to
        && to.len() == from.len()
    {
        to.copy_from_slice(from);
    }
}

/// The words at the front of `bytes`.
#[inline(always)]
fn words(bytes: Option<&[u8]>) -> &[[u8; 8]; WORDS] {
    let (words, _) = bytes.unwrap_or_default().as_chunks();
    words.first_chunk().unwrap_or(&[[0; 8]; WORDS])
}

/// The window of a string.
fn window_of(string: &[u8]) -> [u64; WORDS] {
    let mut bytes = [[0; 8]; WORDS];
    for (to, byte) in bytes.as_flattened_mut().iter_mut().zip(string) {
        *to = *byte;
    }
    bytes.map(u64::from_ne_bytes)
}

/// Writes as much of a window as fits.
#[cold]
#[inline(never)]
fn put_window(window: [u64; WORDS], to: &mut [u8]) {
    let bytes = window.map(u64::to_ne_bytes);
    for (to, byte) in to.iter_mut().zip(bytes.as_flattened()) {
        *to = *byte;
    }
}

/// A string longer than a window.
struct Rest {
    /// Where the window of the string before ends in the output.
    from: usize,
    to: usize,
    prefix: usize,
    suffix_at: usize,
    length: usize,
}

/// Puts the bytes behind a window.
#[inline(never)]
fn put_rest(rest: Rest, suffixes: &[u8], data: &mut [u8]) {
    let n_prefix = rest.prefix.max(WINDOW);
    let (before, to) = data.split_at_mut_checked(rest.to).unwrap_or_default();
    let from = before.get(rest.from..rest.from + n_prefix - WINDOW);
    copy(from.unwrap_or_default(), to.get_mut(WINDOW..n_prefix));
    let suffix_at = rest.suffix_at + n_prefix - rest.prefix;
    let suffix = suffixes.get(suffix_at..suffix_at + rest.length - n_prefix);
    copy(
        suffix.unwrap_or_default(),
        to.get_mut(n_prefix..rest.length),
    );
}
