//! The decoder: copies the token of each code with one load and one store of 16 bytes. Whole blocks are copied code by
//! code, as if each were a string, by the loop for dictionaries of short strings; where the strings end is looked up
//! after that.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_bits::PaddedStrings;
use tarsia_codec::toolbox::{NumbersUnit, children_of, ends_from_lengths};
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, OwnedValues, Result,
    Scratch, Selection, SharedBuffer, Unit, Version,
};

use crate::Onpair;
use crate::layout::{self, CODE_BYTES, ID, TOKEN_BYTES_MAX, TOKENS_MAX, UnitParts, VERSION};

/// The most codes in scratch memory at a time: 512 KiB. Blocks of mini-block pages have fewer, mostly less than 32 KiB.
/// A child may take as long for a part of its codes as for all of them.
const CODES_AT_ONCE: u32 = 1 << 18;

/// Two selected values with at most this many codes between them are decoded together: unpacking these takes less time
/// than asking the child again (0.1 ns a code against 150 ns a question, of bit-packed ones).
const GAP_CODES: u32 = 1024;

/// Kernels look up few single values, and must be small.
const ONE_BY_ONE: bool = cfg!(feature = "kernel");

/// The tokens of a dictionary, each padded to 16 bytes.
pub(crate) struct Tokens {
    pub(crate) entries: Vec<[u8; TOKEN_BYTES_MAX]>,
    pub(crate) lengths: Vec<u8>,
}

impl Encoding for Onpair {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)
    }

    fn init(
        &self,
        _node: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [counts, codes] = children_of(children)?;
        let [dictionary] = shared else {
            return Err(Error::invalid("onpair has one shared buffer"));
        };
        Ok(Box::new(UnitDecoder {
            counts,
            codes,
            tokens: Tokens::of(dictionary.values())?,
            dictionary: dictionary.clone(),
        }))
    }
}

impl Tokens {
    fn of(dictionary: &OwnedValues) -> Result<Self> {
        let strings = dictionary.as_values()?.as_bytes()?;
        let n = strings.len();
        if n > TOKENS_MAX {
            return Err(Error::corrupt("onpair.tokens", 0, n, "at most 65,536"));
        }
        let mut tokens = Self {
            entries: Vec::with_capacity(n),
            lengths: Vec::with_capacity(n),
        };
        for i in 0..n {
            let token = strings.get(i);
            let mut padded = [0; TOKEN_BYTES_MAX];
            let Some(to) = padded.get_mut(..token.len()) else {
                let (at, found) = (i, token.len());
                return Err(Error::corrupt(
                    "onpair.tokens",
                    at,
                    found,
                    "at most 16 bytes",
                ));
            };
            to.copy_from_slice(token);
            tokens.entries.push(padded);
            tokens.lengths.push(token.len() as u8);
        }
        Ok(tokens)
    }

    fn as_strings(&self) -> PaddedStrings<'_> {
        PaddedStrings {
            width: TOKEN_BYTES_MAX,
            entries: self.entries.as_flattened(),
            lengths: &self.lengths,
        }
    }
}

pub(crate) struct UnitDecoder {
    counts: Box<dyn Decoder>,
    pub(crate) codes: Box<dyn Decoder>,
    pub(crate) tokens: Tokens,
    dictionary: SharedBuffer,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let parts = UnitParts::parse(&unit)?;
        let BytesOutput { ends, base, data } = out.into_bytes(n_selected)?;
        let mut to = Strings {
            ends,
            base,
            data,
            written: 0,
        };
        let room = to.data.len();
        let done = match selection {
            Selection::All => self.decode_range(&parts, 0, &mut to, scratch),
            Selection::Range { start, .. } => self.decode_range(&parts, start, &mut to, scratch),
            Selection::Indices(indices) => self.decode_indices(&parts, indices, &mut to, scratch),
        };
        let written = to.written;
        let is_whole = matches!(selection, Selection::All);
        let all_bytes = unit.decoded_bytes as usize;
        match done {
            Ok(()) if is_whole && written != all_bytes => Err(bad_sum(written)),
            Ok(())
                if u32::try_from(written)
                    .ok()
                    .and_then(|it| base.checked_add(it))
                    .is_none() =>
            {
                Err(Error::invalid(
                    "the ends of the byte strings exceed 32 bits",
                ))
            }
            Ok(()) => Ok(written),
            // Of a whole unit the size was known before. Of a part only the caller knows how much room it needs.
            Err(Failure::Room) if is_whole && room >= all_bytes => Err(bad_sum(all_bytes + 1)),
            Err(Failure::Room) => Err(Error::invalid("the output is too short for the selection")),
            Err(Failure::Error(error)) => Err(error),
        }
    }

    /// Compares tokens, until they differ from a string that is looked for.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        use tarsia_codec::toolbox::{BitsOut, Needle};

        let n_selected = selection.check(unit.len)?;
        let start = match selection {
            Selection::All => 0,
            Selection::Range { start, .. } => start,
            Selection::Indices(_) => return Ok(false),
        };
        let parts = UnitParts::parse(&unit)?;
        // Who asks which tokens are used wants them decoded.
        if self.dictionary.used().is_some() || parts.codes.len > CODES_AT_ONCE {
            return Ok(false);
        }
        let found = Needle::with(predicate, scratch, |needle, scratch| {
            let mut out = BitsOut::new(out, n_selected)?;
            let values = start..start + n_selected as u32;
            self.find(&parts, values, needle, scratch, &mut out)
        })?;
        Ok(found.is_some())
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        // The counts are at the front, behind their size in bytes.
        if front < layout::HEADER_BYTES.min(unit.bytes.len()) {
            return Ok(Reach::Front(layout::HEADER_BYTES));
        }
        let parts = UnitParts::parse(&unit)?;
        let codes_at = unit.bytes.len() - parts.codes.bytes.len();
        if front < codes_at {
            return Ok(Reach::Front(codes_at));
        }
        let codes = self.counts_of(&parts).parts_of(range, scratch)?;
        if codes.end > u64::from(parts.codes.len) {
            return Err(UnitParts::bad_counts(codes.end));
        }
        let decoded_bytes = (codes.end - codes.start) * TOKEN_BYTES_MAX as u64;
        let codes = codes.start as u32..codes.end as u32;
        let in_front = front - codes_at;
        let place = match self.codes.reach(parts.codes, in_front, codes, scratch)? {
            Reach::Front(more) => return Ok(Reach::Front(codes_at + more)),
            Reach::Bytes { place, .. } => codes_at + place.start..codes_at + place.end,
            Reach::All => codes_at..unit.bytes.len(),
        };
        Ok(Reach::Bytes {
            place,
            decoded_bytes: decoded_bytes.min(unit.decoded_bytes.into()),
        })
    }
}

#[cold]
fn bad_sum(found: usize) -> Error {
    let allowed = "tokens that add up to the unit's decoded bytes";
    Error::corrupt("onpair.codes", 0, found, allowed)
}

/// An error of the contract, or strings that did not fit the output.
enum Failure {
    Error(Error),
    Room,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A function that is called with some codes.
type WithCodes<'a> = dyn FnMut(&[u16], &mut Scratch) -> Result<(), Failure> + 'a;

/// The output.
struct Strings<'a> {
    ends: &'a mut [u32],
    base: u32,
    data: &'a mut [u8],
    written: usize,
}

impl Strings<'_> {
    /// Sets the end of value `i` to what is written so far. It wraps only where `decode` returns an error.
    fn end(&mut self, i: usize) {
        if let Some(end) = self.ends.get_mut(i) {
            *end = self.base.wrapping_add(self.written as u32);
        }
    }
}

impl UnitDecoder {
    /// The counts of a unit's values.
    pub(crate) fn counts_of<'a>(&'a self, parts: &UnitParts<'a>) -> NumbersUnit<'a> {
        NumbersUnit::new(&*self.counts, parts.counts)
    }

    /// Decodes consecutive values from `start` on.
    fn decode_range(
        &self,
        parts: &UnitParts<'_>,
        start: u32,
        to: &mut Strings<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        let n = to.ends.len();
        let counts = self.counts_of(parts);
        let from = match start {
            0 => 0,
            n_before => counts.sum(0..n_before, scratch)?,
        };
        // The ends first hold the counts.
        let selection = match n == parts.counts.len as usize {
            true => Selection::All,
            false => Selection::Range {
                start,
                len: n as u32,
            },
        };
        counts.decode(selection, to.ends, scratch)?;
        let end = from + to.ends.iter().map(|count| u64::from(*count)).sum::<u64>();
        let n_codes = u64::from(parts.codes.len);
        let reaches_end = u64::from(start) + n as u64 == u64::from(parts.counts.len);
        if end > n_codes || reaches_end && end != n_codes {
            return Err(UnitParts::bad_counts(end).into());
        }
        // The value that the next code belongs to, and how many codes are left of it.
        let mut i = 0;
        let mut left = to.ends.first().map_or(0, |count| *count as usize);
        let codes = from as u32..end as u32;
        self.for_codes(parts, codes, scratch, &mut |codes, scratch| {
            let before = to.base.wrapping_add(to.written as u32);
            scratch.with_values(codes.len(), |code_ends, _| {
                self.append(codes, code_ends, to)?;
                // Values that end among these codes.
                let mut next = 0;
                while let Some(end) = to.ends.get_mut(i)
                    && next + left <= codes.len()
                {
                    next += left;
                    let last = next.checked_sub(1).and_then(|last| code_ends.get(last));
                    *end = last.copied().unwrap_or(before);
                    i += 1;
                    left = to.ends.get(i).map_or(0, |count| *count as usize);
                }
                left -= codes.len() - next;
                Ok(())
            })
        })?;
        // The last value with codes, and those without codes behind it.
        for i in i..n {
            to.end(i);
        }
        Ok(())
    }

    /// Appends the tokens of `codes`, and sets `code_ends` to where each ends.
    fn append(
        &self,
        codes: &[u16],
        code_ends: &mut [u32],
        to: &mut Strings<'_>,
    ) -> Result<(), Failure> {
        let base = to.base.wrapping_add(to.written as u32);
        let data = to.data.get_mut(to.written..).unwrap_or_default();
        let tokens = self.tokens.as_strings();
        let bytes = bytemuck::cast_slice(codes);
        let (n_done, n_bytes) =
            tarsia_bits::gather_padded::<u16>(tokens, bytes, base, code_ends, data)
                .map_err(|error| bad_codes(&error))?;
        to.written += n_bytes;
        // The last ones, where not all of a padded token fits.
        let rest = codes.iter().zip(code_ends).skip(n_done);
        for (code, end) in rest {
            to.written = self.copy_tokens(core::slice::from_ref(code), to.data, to.written)?;
            *end = to.base.wrapping_add(to.written as u32);
        }
        Ok(())
    }

    /// Decodes the values at `indices`.
    fn decode_indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        to: &mut Strings<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        let n_needed = indices.last().map_or(0, |last| last + 1);
        let (mut n_written, mut codes_before) = (0, 0u64);
        let counts = self.counts_of(parts);
        counts.try_for_parts(0..n_needed, scratch, &mut |counts, scratch| {
            let first = codes_before as u32;
            let (n_codes, fits) = ends_from_lengths(counts.numbers, first);
            codes_before += n_codes;
            if !fits || codes_before > parts.codes.len.into() {
                return Err(Failure::Error(UnitParts::bad_counts(codes_before)));
            }
            let ends = CodeEnds {
                start: counts.start as usize,
                first,
                ends: counts.numbers,
            };
            while let Some(rest) = indices.get(n_written..)
                && let Some(group) = ends.group(rest)
            {
                self.decode_group(parts, &ends, group, n_written, to, scratch)?;
                n_written += group.len();
            }
            Ok(())
        })
    }

    /// Decodes the values at `group`, which are near to each other, as values `n_written..` of the output.
    fn decode_group(
        &self,
        parts: &UnitParts<'_>,
        ends: &CodeEnds<'_>,
        group: &[u32],
        n_written: usize,
        to: &mut Strings<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        let all = ends.span(group);
        let is_one = ONE_BY_ONE || group.len() == 1;
        self.for_codes(parts, all.clone(), scratch, &mut |codes, _| {
            if is_one {
                to.written = self.copy_tokens(codes, to.data, to.written)?;
                return Ok(());
            }
            for (i, index) in group.iter().enumerate() {
                let of_value = ends.codes_of(*index);
                let range =
                    (of_value.start - all.start) as usize..(of_value.end - all.start) as usize;
                let codes = codes.get(range).unwrap_or_default();
                to.written = self.copy_tokens(codes, to.data, to.written)?;
                to.end(n_written + i);
            }
            Ok(())
        })?;
        if is_one || all.is_empty() {
            for i in 0..group.len() {
                to.end(n_written + i);
            }
        }
        Ok(())
    }

    /// Decodes the codes of `range` and calls `with` with them: all at once if they are at most [`CODES_AT_ONCE`].
    fn for_codes(
        &self,
        parts: &UnitParts<'_>,
        range: Range<u32>,
        scratch: &mut Scratch,
        with: &mut WithCodes<'_>,
    ) -> Result<(), Failure> {
        let mut next = range.start;
        while next < range.end {
            let len = (range.end - next).min(CODES_AT_ONCE);
            let mut buf = scratch.take(len as usize * CODE_BYTES);
            let selection = match len == parts.codes.len {
                true => Selection::All,
                false => Selection::Range { start: next, len },
            };
            let done = self
                .codes
                .decode(parts.codes, selection, scratch, Output::Fixed(&mut buf))
                .map_err(Failure::from)
                .and_then(|_| {
                    let codes = buf.as_values()?;
                    self.note_used(codes);
                    with(codes, scratch)
                });
            scratch.give(buf);
            done?;
            next += len;
        }
        // A child without values may still have bytes that are wrong.
        if parts.codes.len == 0 {
            let none = Output::Fixed(&mut []);
            self.codes
                .decode(parts.codes, Selection::All, scratch, none)?;
        }
        Ok(())
    }

    fn note_used(&self, codes: &[u16]) {
        if let Some(used) = self.dictionary.used() {
            for code in codes {
                used.insert(u16::from_le(*code).into());
            }
        }
    }

    /// Appends the tokens of `codes` to `data[..at]`. Returns the new end.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    fn copy_tokens(&self, codes: &[u16], data: &mut [u8], mut at: usize) -> Result<usize, Failure> {
        for code in codes {
            let index = usize::from(u16::from_le(*code));
            let token = self.tokens.entries.get(index);
            let (Some(bytes), Some(len)) = (token, self.tokens.lengths.get(index)) else {
                return Err(bad_code(u16::from_le(*code).into()).into());
            };
            let len = usize::from(*len);
            // Bytes behind a token are undefined until the next one covers them.
            match data
                .get_mut(at..)
                .and_then(<[u8]>::first_chunk_mut::<TOKEN_BYTES_MAX>)
            {
                Some(to) => *to = *bytes,
                None => copy_last(bytes, len, data, at)?,
            }
            at += len;
        }
        Ok(at)
    }
}

/// Where the codes of consecutive values end.
struct CodeEnds<'a> {
    /// The first of these values.
    start: usize,
    /// The first code of that value.
    first: u32,
    ends: &'a [u32],
}

impl CodeEnds<'_> {
    /// The codes of value `index`; none for a value that is not among these.
    fn codes_of(&self, index: u32) -> Range<u32> {
        let i = (index as usize).wrapping_sub(self.start);
        let before = i.checked_sub(1).and_then(|i| self.ends.get(i));
        let start = before.copied().unwrap_or(self.first);
        start..self.ends.get(i).copied().unwrap_or(start)
    }

    /// The codes from the first of `indices` to the last.
    fn span(&self, indices: &[u32]) -> Range<u32> {
        match (indices.first(), indices.last()) {
            (Some(first), Some(last)) => self.codes_of(*first).start..self.codes_of(*last).end,
            _ => 0..0,
        }
    }

    /// Returns those of the first `indices` whose codes are worth decoding together: at most [`CODES_AT_ONCE`], or one
    /// value. `None` if the first is not among these values.
    fn group<'i>(&self, indices: &'i [u32]) -> Option<&'i [u32]> {
        let end = self.start + self.ends.len();
        let first = indices.first().filter(|index| (**index as usize) < end)?;
        let all = self.codes_of(*first);
        let mut last_end = all.end;
        if ONE_BY_ONE {
            return indices.get(..1);
        }
        let mut n = 1;
        while let Some(index) = indices.get(n).filter(|index| (**index as usize) < end) {
            let codes = self.codes_of(*index);
            let gap = codes.start.saturating_sub(last_end);
            if gap > GAP_CODES || codes.end - all.start > CODES_AT_ONCE {
                break;
            }
            last_end = codes.end;
            n += 1;
        }
        indices.get(..n)
    }
}

/// Copies a token to where fewer than 16 bytes are left.
#[cold]
#[inline(never)]
fn copy_last(token: &[u8], len: usize, data: &mut [u8], at: usize) -> Result<(), Failure> {
    let to = data.get_mut(at..).and_then(|data| data.get_mut(..len));
    match (to, token.get(..len)) {
        (Some(to), Some(token)) => {
            to.copy_from_slice(token);
            Ok(())
        }
        _ => Err(Failure::Room),
    }
}

#[cold]
pub(crate) fn bad_code(code: u64) -> Error {
    let allowed = "below the number of tokens";
    Error::corrupt("onpair.codes", 0, code, allowed)
}

#[cold]
fn bad_codes(error: &tarsia_bits::Error) -> Error {
    match error {
        tarsia_bits::Error::Code { largest, .. } => bad_code(*largest),
        _ => Error::invalid("codes and ends of other lengths"),
    }
}
