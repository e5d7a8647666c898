//! Loops that copy entries by codes. Entries of fixed width are gathered by `tarsia-bits`, byte strings here. The
//! caller has checked that every code is below the number of entries; without that check the loops are still safe.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, Error, Result};

use crate::layout::CodeBytes;

/// Strings up to this length are copied with a fixed number of loads and stores: two each, or one each.
pub(crate) const SHORT_BYTES: usize = 32;

/// A code in memory: little-endian.
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

/// The codes of the selected values. Only the loops below are compiled per width of codes, not their callers, to keep
/// kernels small.
#[derive(Clone, Copy)]
pub(crate) enum Codes<'a> {
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

/// Runs `$body` with the slice of codes of any width.
macro_rules! by_width {
    ($codes:expr, |$slice:ident| $body:expr) => {
        match $codes {
            Codes::One($slice) => $body,
            Codes::Two($slice) => $body,
            Codes::Four($slice) => $body,
        }
    };
}

impl<'a> Codes<'a> {
    /// Codes of this width in `bytes`, which hold a whole number of them.
    pub(crate) fn new(bytes: &'a AlignedBuf, code_bytes: CodeBytes) -> Result<Self> {
        Ok(match code_bytes {
            CodeBytes::One => Self::One(bytes),
            CodeBytes::Two => Self::Two(bytes.as_values()?),
            CodeBytes::Four => Self::Four(bytes.as_values()?),
        })
    }

    pub(crate) fn len(self) -> usize {
        by_width!(self, |codes| codes.len())
    }

    /// Code `i`; `None` beyond the end. Loops over many values are faster if compiled per width.
    pub(crate) fn number(self, i: usize) -> Option<u32> {
        by_width!(self, |codes| codes.get(i).map(|code| code.number()))
    }

    /// Writes the codes as values of 4 bytes.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn widen(self, to: &mut [u8]) {
        let to = to.as_chunks_mut().0.iter_mut();
        by_width!(self, |codes| to
            .zip(codes)
            .for_each(|(to, code)| *to = code.number().to_le_bytes()));
    }

    /// Checks that all codes are below `n_entries`; the error names the first that is not.
    pub(crate) fn check(self, n_entries: usize) -> Result<()> {
        let max = by_width!(self, |codes| max_code(codes));
        if max.is_none_or(|max| max < n_entries as u64) {
            return Ok(());
        }
        Err(self.bad(n_entries))
    }

    #[cold]
    #[inline(never)]
    fn bad(self, n_entries: usize) -> Error {
        let is_bad = |at: &usize| {
            self.number(*at)
                .is_some_and(|code| code as usize >= n_entries)
        };
        let at = (0..self.len()).find(is_bad).unwrap_or_default();
        Error::corrupt(
            "dict.code",
            at,
            self.number(at).unwrap_or_default(),
            "below the number of entries; place is the value's index",
        )
    }
}

/// The largest code, if there is one.
#[inline(always)]
fn max_code<C: Code>(codes: &[C]) -> Option<u64> {
    /// Below this number of codes, a call into `tarsia-bits` takes longer than a simple loop.
    const CALL_CODES_MIN: usize = 64;
    match codes.len() {
        CALL_CODES_MIN.. => Some(tarsia_bits::largest::<C>(bytemuck::cast_slice(codes)).to_u64()),
        _ => codes.iter().map(|code| code.number().into()).max(),
    }
}

/// Copies entries of `width` bytes by codes, with the loop of `tarsia-bits` for this width of codes.
pub(crate) fn gather_codes(
    entries: &[u8],
    width: usize,
    codes: Codes<'_>,
    to: &mut [u8],
) -> Result<(), tarsia_bits::Error> {
    #[inline(always)]
    fn gather<C: Code>(
        entries: &[u8],
        width: usize,
        codes: &[C],
        to: &mut [u8],
    ) -> Result<(), tarsia_bits::Error> {
        tarsia_bits::gather::<C>(entries, width, bytemuck::cast_slice(codes), to)
    }
    by_width!(codes, |codes| gather(entries, width, codes, to))
}

/// Entries that are byte strings: `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strings<'a> {
    offsets: &'a [u32],
    data: &'a [u8],
    /// Where `tail` starts in `data`.
    tail_at: usize,
    /// The last bytes of `data` followed by zeros, so that the last entries can also be copied `SHORT_BYTES` at a time.
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

    /// Entry `code`.
    fn get(&self, code: u32) -> Option<&'a [u8]> {
        let bounds = self.offsets.get(code as usize..)?.first_chunk();
        let [start, stop] = bounds?.map(|offset| offset as usize);
        self.data.get(start..stop)
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
    /// They take more bytes than the output has.
    Output,
    /// The entries' offsets are bad.
    Entries,
}

/// Copies one string per code. Returns the bytes written. Ends that exceed 32 bits wrap.
pub(crate) fn gather_strings(
    entries: &Strings<'_>,
    codes: Codes<'_>,
    ends: &mut [u32],
    base: u32,
    data: &mut [u8],
) -> Result<usize, Misfit> {
    let (mut n_done, mut at) = (0, 0);
    loop {
        let (n_short, now_at) = by_width!(codes, |codes| {
            let codes = codes.get(n_done..).unwrap_or_default();
            let ends = ends.get_mut(n_done..).unwrap_or_default();
            short_strings(entries, codes, ends, base, data, at)
        });
        (n_done, at) = (n_done + n_short, now_at);
        // A string that is long or near the end of the output, and the long strings after it.
        loop {
            let (Some(code), Some(end)) = (codes.number(n_done), ends.get_mut(n_done)) else {
                return Ok(at);
            };
            let from = entries.get(code).ok_or(Misfit::Entries)?;
            let to = data.get_mut(at..).and_then(|to| to.get_mut(..from.len()));
            copy_long(from, to.ok_or(Misfit::Output)?);
            at += from.len();
            *end = base.wrapping_add(at as u32);
            n_done += 1;
            if from.len() <= SHORT_BYTES {
                break;
            }
        }
    }
}

/// Copies strings up to the first that is long or for which the output is too short. Returns their number and the place
/// of the next one. This function makes no calls, because in Wasm its variables would then not stay in registers.
#[inline(never)]
fn short_strings<C: Code>(
    entries: &Strings<'_>,
    codes: &[C],
    ends: &mut [u32],
    base: u32,
    data: &mut [u8],
    mut at: usize,
) -> (usize, usize) {
    let mut n_done = 0;
    for (code, end) in codes.iter().zip(ends) {
        let i = code.number() as usize;
        let Some([start, stop]) = entries.offsets.get(i..).and_then(<[u32]>::first_chunk) else {
            break;
        };
        let len = stop.wrapping_sub(*start) as usize;
        // Bytes behind the value are undefined until the next value covers them.
        let Some(to) = data.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else {
            break;
        };
        match entries.short(*start as usize) {
            Some(from) if len <= SHORT_BYTES => *to = *from,
            _ => break,
        }
        at += len;
        *end = base.wrapping_add(at as u32);
        n_done += 1;
    }
    (n_done, at)
}

/// Copies a string, mostly one longer than [`SHORT_BYTES`]; `from` and `to` are equally long. A copy of any length is a
/// call, which costs more than a few loads and stores, in Wasm several times as much.
#[inline(always)]
fn copy_long(from: &[u8], to: &mut [u8]) {
    match from.len() {
        16..32 => ends_of::<16>(from, to),
        32..=64 => ends_of::<32>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes, which together are all bytes.
#[inline(always)]
fn ends_of<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// The loop of `tarsia-bits` for this width of codes.
#[inline(always)]
fn gather_padded<C: Code>(
    strings: tarsia_bits::PaddedStrings<'_>,
    codes: &[C],
    base: u32,
    ends: &mut [u32],
    data: &mut [u8],
) -> Result<(usize, usize), tarsia_bits::Error> {
    tarsia_bits::gather_padded::<C>(strings, bytemuck::cast_slice(codes), base, ends, data)
}

/// Short entries, each padded to the same width so that one load reads it. Created once per page dictionary. In the
/// loop over them only the place of the next string depends on an entry's length.
#[derive(Debug)]
pub(crate) struct Padded {
    /// 16 or 32 bytes.
    width: usize,
    entries: Vec<u8>,
    lengths: Vec<u8>,
}

impl Padded {
    /// Entries padded to `width` bytes; `None` if one is longer, or if all padded entries together exceed
    /// `CACHE_BYTES`.
    pub(crate) fn new(width: usize, offsets: &[u32], data: &[u8]) -> Option<Self> {
        const CACHE_BYTES: usize = 128 << 10;
        let n_entries = offsets.len().saturating_sub(1);
        let n_bytes = n_entries.checked_mul(width)?;
        if n_bytes > CACHE_BYTES {
            return None;
        }
        let mut padded = Self {
            width,
            entries: vec![0; n_bytes],
            lengths: vec![0; n_entries],
        };
        let places = padded.entries.chunks_exact_mut(width);
        let bounds = offsets.iter().zip(offsets.get(1..).unwrap_or_default());
        for ((to, length), (start, end)) in places.zip(&mut padded.lengths).zip(bounds) {
            let entry = data.get(*start as usize..*end as usize)?;
            *length = u8::try_from(entry.len()).ok()?;
            to.get_mut(..entry.len())?.copy_from_slice(entry);
        }
        Some(padded)
    }

    /// As [`gather_strings`].
    pub(crate) fn gather(
        &self,
        codes: Codes<'_>,
        ends: &mut [u32],
        base: u32,
        data: &mut [u8],
    ) -> Result<usize, Misfit> {
        let strings = tarsia_bits::PaddedStrings {
            width: self.width,
            entries: &self.entries,
            lengths: &self.lengths,
        };
        let done = by_width!(codes, |codes| gather_padded(
            strings, codes, base, ends, data
        ));
        let (n_done, at) = done.map_err(|_| Misfit::Entries)?;
        self.gather_last(codes, n_done, ends, base, data, at)
    }

    /// Copies the strings from `first` on, without their padding, which may not fit the output.
    fn gather_last(
        &self,
        codes: Codes<'_>,
        first: usize,
        ends: &mut [u32],
        base: u32,
        data: &mut [u8],
        mut at: usize,
    ) -> Result<usize, Misfit> {
        let ends = ends.get_mut(first..).unwrap_or_default();
        for (i, end) in (first..codes.len()).zip(ends) {
            let place = codes.number(i).unwrap_or_default() as usize;
            let len = self.lengths.get(place).copied();
            let len = usize::from(len.ok_or(Misfit::Entries)?);
            let from = self
                .entries
                .get(place * self.width..)
                .and_then(|rest| rest.get(..len));
            let from = from.ok_or(Misfit::Entries)?;
            let to = data.get_mut(at..).and_then(|rest| rest.get_mut(..len));
            to.ok_or(Misfit::Output)?.copy_from_slice(from);
            at += len;
            *end = base.wrapping_add(at as u32);
        }
        Ok(at)
    }
}

/// The length of the strings if all have the same length of at least one byte.
pub(crate) fn equal_length(offsets: &[u32]) -> Option<usize> {
    let bounds = offsets.iter().zip(offsets.get(1..)?);
    let mut lengths = bounds.map(|(start, end)| end.wrapping_sub(*start));
    let first = lengths.next().filter(|len| *len > 0)?;
    lengths.all(|len| len == first).then_some(first as usize)
}

/// Copies one string of `len` bytes per code: the bytes are gathered as fixed-width values, and the ends follow from
/// `len`.
pub(crate) fn gather_equal(
    entries: &[u8],
    len: usize,
    codes: Codes<'_>,
    ends: &mut [u32],
    base: u32,
    data: &mut [u8],
) -> Result<usize, Misfit> {
    let written = codes.len().checked_mul(len).ok_or(Misfit::Output)?;
    let data = data.get_mut(..written).ok_or(Misfit::Output)?;
    gather_codes(entries, len, codes, data).map_err(|_| Misfit::Entries)?;
    tarsia_bits::equal_ends(ends, len as u32, base);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_gather_strings_agrees() {
        let entries: [&[u8]; 5] = [b"oak", b"", b"sixteen bytes !!", b"e", b"seventeen bytes !"];
        let mut offsets = vec![0];
        let mut data = Vec::new();
        for entry in entries {
            data.extend_from_slice(entry);
            offsets.push(data.len() as u32);
        }
        let codes: Vec<u8> = (0..200u32).map(|i| (i * i % 5) as u8).collect();
        let total: usize = codes
            .iter()
            .map(|code| entries[usize::from(*code)].len())
            .sum();
        let mut ends = vec![0; codes.len()];
        let mut out = vec![0; total];
        let strings = Strings::new(&offsets, &data);
        assert_eq!(
            gather_strings(&strings, Codes::One(&codes), &mut ends, 7, &mut out),
            Ok(total)
        );
        assert!(Padded::new(16, &offsets, &data).is_none());
        let padded = Padded::new(32, &offsets, &data).unwrap();
        let (mut ends_too, mut out_too) = (vec![0; codes.len()], vec![0; total]);
        assert_eq!(
            padded.gather(Codes::One(&codes), &mut ends_too, 7, &mut out_too),
            Ok(total)
        );
        assert_eq!((ends_too, out_too), (ends, out));
        let mut short = vec![0; total - 1];
        let mut ends = vec![0; codes.len()];
        assert_eq!(
            padded.gather(Codes::One(&codes), &mut ends, 7, &mut short),
            Err(Misfit::Output)
        );
        assert_eq!(
            padded.gather(Codes::One(&[5]), &mut [0], 0, &mut [0; 40]),
            Err(Misfit::Entries)
        );
    }

    #[test]
    fn strings_of_equal_length_are_values_of_fixed_width() {
        let offsets = [0, 3, 6, 9];
        assert_eq!(equal_length(&offsets), Some(3));
        assert_eq!(equal_length(&[0, 3, 6, 8]), None);
        assert_eq!(equal_length(&[0, 0, 0]), None);
        assert_eq!(equal_length(&[0]), None);
        let (mut ends, mut out) = ([0; 3], [0; 10]);
        let written = gather_equal(
            b"oakelmash",
            3,
            Codes::Two(&[2, 0, 2]),
            &mut ends,
            5,
            &mut out,
        );
        assert_eq!(written, Ok(9));
        assert_eq!((ends, &out[..9]), ([8, 11, 14], &b"ashoakash"[..]));
        let padded = Padded::new(16, &offsets, b"oakelmash").unwrap();
        let (mut ends_too, mut out_too) = ([0; 3], [0; 10]);
        let written = padded.gather(Codes::Two(&[2, 0, 2]), &mut ends_too, 5, &mut out_too);
        assert_eq!(written, Ok(9));
        assert_eq!((ends_too, out_too), (ends, out));
        let bad = padded.gather(Codes::Two(&[3]), &mut [0], 5, &mut out_too);
        assert_eq!(bad, Err(Misfit::Entries));
        let bad = gather_equal(b"oakelmash", 3, Codes::Two(&[3]), &mut [0], 5, &mut out);
        assert_eq!(bad, Err(Misfit::Entries));
        let short = gather_equal(
            b"oakelmash",
            3,
            Codes::Two(&[0, 0]),
            &mut [0; 2],
            5,
            &mut [0; 5],
        );
        assert_eq!(short, Err(Misfit::Output));
    }

    #[test]
    fn strings_of_every_length_are_copied_whole() {
        let all: Vec<u8> = (0..255).collect();
        let (mut offsets, mut data) = (vec![0], Vec::new());
        for len in 0..100 {
            data.extend_from_slice(&all[len..2 * len]);
            offsets.push(data.len() as u32);
        }
        // Each in its turn, then backwards.
        let codes: Vec<u8> = (0..100).chain((0..100).rev()).collect();
        let expect: Vec<u8> = codes
            .iter()
            .flat_map(|len| &all[usize::from(*len)..2 * usize::from(*len)])
            .copied()
            .collect();
        let (mut ends, mut out) = (vec![0; codes.len()], vec![0; expect.len()]);
        let strings = Strings::new(&offsets, &data);
        let written = gather_strings(&strings, Codes::One(&codes), &mut ends, 0, &mut out);
        assert_eq!(written, Ok(expect.len()));
        assert!(out == expect);
        out.pop();
        let written = gather_strings(
            &strings,
            Codes::One(&codes[..100]),
            &mut ends,
            0,
            &mut out[..4949],
        );
        assert_eq!(written, Err(Misfit::Output));
    }
}
