//! The decoders of both scopes.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, OwnedValues, Result,
    Scratch, Selection, SharedBuffer, Unit, ValueType, Version,
};

use crate::Dict;
#[cfg(not(feature = "kernel"))]
use crate::filter;
use crate::gather::{
    Codes, Misfit, Padded, Strings, equal_length, gather_codes, gather_equal, gather_strings,
};
use crate::layout::{self, BlockParts, CodeBytes, ID, Params, Scope, VERSION};

/// If there are at least this many entries per selected value, only the selected entries are decoded instead of all.
const ENTRIES_PER_LOOKUP: usize = 8;

/// To test a string of the dictionary takes less time than to copy one, by about this factor.
#[cfg(not(feature = "kernel"))]
const TESTS_PER_STRING: usize = 4;

impl Encoding for Dict {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        Ok(Params::parse(node)?.spec(node.value_type))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let Params { scope, code_bytes } = Params::parse(node)?;
        let value_type = node.value_type;
        match (scope, shared) {
            (Scope::Block, _) => {
                let [codes, values] = children_of(children)?;
                Ok(Box::new(BlockDecoder {
                    code_bytes,
                    value_type,
                    codes,
                    values,
                }))
            }
            (Scope::Page, [dictionary]) => {
                let [codes] = children_of(children)?;
                Ok(Box::new(PageDecoder {
                    value_type,
                    strings: StringWay::of(dictionary.values()),
                    entries: EntryCodes(PageDictionary {
                        code_bytes,
                        codes,
                        dictionary: dictionary.clone(),
                    }),
                }))
            }
            (Scope::Page, _) => Err(Error::invalid("dict has one shared buffer in scope 1")),
        }
    }
}

/// Scope 0.
struct BlockDecoder {
    code_bytes: CodeBytes,
    value_type: ValueType,
    codes: Box<dyn Decoder>,
    values: Box<dyn Decoder>,
}

/// Scope 1.
struct PageDecoder {
    value_type: ValueType,
    strings: StringWay,
    entries: EntryCodes,
}

/// The dictionary of scope 1, and the codes that refer to its entries.
struct PageDictionary {
    code_bytes: CodeBytes,
    codes: Box<dyn Decoder>,
    dictionary: SharedBuffer,
}

impl PageDictionary {
    /// Decodes the codes of the selected values and calls `gather` with them.
    fn with_codes(
        &self,
        unit: &Unit<'_>,
        selection: Selection<'_>,
        n_selected: usize,
        scratch: &mut Scratch,
        gather: impl FnOnce(Codes<'_>) -> Result<usize, Failure>,
    ) -> Result<usize, Failure> {
        let codes = Undecoded {
            decoder: &*self.codes,
            unit: layout::codes_unit(unit.bytes, unit.len, self.code_bytes),
            code_bytes: self.code_bytes,
            selection,
            n_selected,
        };
        codes.with(scratch, |codes, _| {
            let done = gather(codes);
            if let Some(used) = self.dictionary.used() {
                let numbers = (0..codes.len()).filter_map(|i| codes.number(i));
                numbers.for_each(|number| used.insert(number as usize));
            }
            done
        })
    }
}

/// Decodes to the codes themselves instead of the entries.
struct EntryCodes(PageDictionary);

#[cfg(not(feature = "kernel"))]
impl Decoder for EntryCodes {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(size_of::<u32>(), n_selected)?;
        let n_entries = self.0.dictionary.values().len();
        let entries = &self.0;
        let done = entries.with_codes(&unit, selection, n_selected, scratch, |codes| {
            codes.check(n_entries)?;
            codes.widen(to);
            Ok(0)
        });
        finish(done, &unit, selection, None)
    }
}

/// Decodes to views of the entries.
#[cfg(not(feature = "kernel"))]
impl Decoder for PageDictionary {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(size_of::<u128>(), n_selected)?;
        let views = self.dictionary.views().ok_or_else(no_views)?;
        let views = bytemuck::cast_slice(views);
        let done = self.with_codes(&unit, selection, n_selected, scratch, |codes| {
            gather_fixed(views, size_of::<u128>(), codes, to)
        });
        finish(done, &unit, selection, None)
    }
}

/// The ways to copy the strings of a page dictionary, fastest first.
enum StringWay {
    /// For entries that all have this many bytes.
    Equal(usize),
    Padded(Padded),
    Any,
}

impl StringWay {
    fn of(dictionary: &OwnedValues) -> Self {
        let OwnedValues::Bytes { offsets, data } = dictionary else {
            return Self::Any;
        };
        // `tarsia-bits` has fast loops for these widths.
        if let Some(len @ (1 | 2 | 4 | 8 | 16)) = equal_length(offsets) {
            return Self::Equal(len);
        }
        let padded = |width| Padded::new(width, offsets, data);
        if let Some(padded) = padded(16).or_else(|| padded(32)) {
            return Self::Padded(padded);
        }
        equal_length(offsets).map_or(Self::Any, Self::Equal)
    }
}

impl Decoder for BlockDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let out = Target::new(out, self.value_type, n_selected)?;
        let parts = BlockParts::parse(&unit, self.code_bytes, self.value_type)?;
        let codes = Undecoded {
            decoder: &*self.codes,
            unit: parts.codes,
            code_bytes: self.code_bytes,
            selection,
            n_selected,
        };
        let room = out.room();
        let done = codes.with(scratch, |codes, scratch| {
            self.gather(&parts.values, codes, scratch, out)
        });
        finish(done, &unit, selection, room)
    }

    /// Tests the entries, unless they are more than the values.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        if !predicate.suits(self.value_type) {
            return Ok(false);
        }
        let n_selected = selection.check(unit.len)?;
        let parts = BlockParts::parse(&unit, self.code_bytes, self.value_type)?;
        if parts.values.len as usize > n_selected {
            return Ok(false);
        }
        let mut out = tarsia_codec::toolbox::BitsOut::new(out, n_selected)?;
        let coded = filter::Coded {
            n_entries: parts.values.len as usize,
            codes: &*self.codes,
            unit: parts.codes,
            code_bytes: self.code_bytes,
        };
        let entries = tarsia_codec::toolbox::Holds {
            values: &*self.values,
            value_type: self.value_type,
            predicate: *predicate,
        };
        let test = |bits: &mut tarsia_codec::toolbox::BitsOut<'_>, scratch: &mut Scratch| {
            let to = bits.as_output();
            entries.decode(parts.values, Selection::All, scratch, to)?;
            Ok(())
        };
        coded.find(selection, scratch, test, &mut out)?;
        Ok(true)
    }
}

impl Decoder for PageDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let out = Target::new(out, self.value_type, n_selected)?;
        let room = out.room();
        let entries = &self.entries.0;
        let done = entries.with_codes(&unit, selection, n_selected, scratch, |codes| {
            self.gather(codes, out)
        });
        finish(done, &unit, selection, room)
    }

    /// Tests the entries, unless they are many more than the values.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        if !predicate.suits(self.value_type) {
            return Ok(false);
        }
        let n_selected = selection.check(unit.len)?;
        let entries = &self.entries.0;
        let dictionary = entries.dictionary.values();
        let n_most = match self.value_type {
            ValueType::Bytes => n_selected.saturating_mul(TESTS_PER_STRING),
            _ => n_selected,
        };
        // Who asks which entries are used wants them decoded.
        if dictionary.len() > n_most || entries.dictionary.used().is_some() {
            return Ok(false);
        }
        let mut out = tarsia_codec::toolbox::BitsOut::new(out, n_selected)?;
        let coded = filter::Coded {
            n_entries: dictionary.len(),
            codes: &*entries.codes,
            unit: layout::codes_unit(unit.bytes, unit.len, entries.code_bytes),
            code_bytes: entries.code_bytes,
        };
        let values = dictionary.as_values()?;
        let test = |bits: &mut tarsia_codec::toolbox::BitsOut<'_>, scratch: &mut Scratch| {
            tarsia_codec::toolbox::test_values(predicate, values, scratch, bits)
        };
        coded.find(selection, scratch, test, &mut out)?;
        Ok(true)
    }

    #[cfg(not(feature = "kernel"))]
    fn entries(&self) -> Option<tarsia_codec::EntriesOfBuffer<'_>> {
        let has_views = self.value_type == ValueType::Bytes && SharedBuffer::KEEPS_VIEWS;
        let entries = &self.entries.0;
        Some(tarsia_codec::EntriesOfBuffer {
            codes: &self.entries,
            views: has_views.then_some(entries as &dyn Decoder),
            entries: &entries.dictionary,
        })
    }
}

#[cfg(not(feature = "kernel"))]
#[cold]
fn no_views() -> Error {
    Error::invalid("views of entries that are not strings")
}

/// An output whose type and size were checked.
enum Target<'a> {
    Fixed {
        to: &'a mut [u8],
        width: usize,
    },
    Bytes {
        ends: &'a mut [u32],
        base: u32,
        data: &'a mut [u8],
    },
}

impl<'a> Target<'a> {
    fn new(out: Output<'a>, value_type: ValueType, n_selected: usize) -> Result<Self> {
        match value_type.fixed_bytes() {
            Some(width) => Ok(Self::Fixed {
                to: out.into_fixed(width, n_selected)?,
                width,
            }),
            None => {
                let BytesOutput { ends, base, data } = out.into_bytes(n_selected)?;
                Ok(Self::Bytes { ends, base, data })
            }
        }
    }
}

impl Target<'_> {
    /// Bytes available for strings; `None` for fixed-width values.
    fn room(&self) -> Option<usize> {
        match self {
            Self::Fixed { .. } => None,
            Self::Bytes { data, .. } => Some(data.len()),
        }
    }
}

/// The codes of the selected values, not decoded yet.
struct Undecoded<'a> {
    decoder: &'a dyn Decoder,
    unit: Unit<'a>,
    code_bytes: CodeBytes,
    selection: Selection<'a>,
    n_selected: usize,
}

impl Undecoded<'_> {
    /// Decodes the codes into scratch memory and calls `with` with them.
    fn with(
        &self,
        scratch: &mut Scratch,
        with: impl FnOnce(Codes<'_>, &mut Scratch) -> Result<usize, Failure>,
    ) -> Result<usize, Failure> {
        let n_bytes = self
            .n_selected
            .saturating_mul(self.code_bytes.bytes().into());
        let mut buf = scratch.take(n_bytes);
        let out = Output::Fixed(&mut buf);
        let done = self
            .decoder
            .decode(self.unit, self.selection, scratch, out)
            .and_then(|_| Codes::new(&buf, self.code_bytes))
            .map_err(Failure::from)
            .and_then(|codes| with(codes, scratch));
        scratch.give(buf);
        done
    }
}

/// An error of the contract, or strings that did not fit.
enum Failure {
    Error(Error),
    Misfit(Misfit),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

/// Checks that all strings together have the size that the unit says, and turns a misfit into an error of the bytes or
/// of the caller.
fn finish(
    done: Result<usize, Failure>,
    unit: &Unit<'_>,
    selection: Selection<'_>,
    room: Option<usize>,
) -> Result<usize> {
    let all_bytes = u64::from(unit.decoded_bytes);
    let is_whole = room.is_some() && matches!(selection, Selection::All);
    let bad_sum = |found: u64| {
        let allowed = "strings that add up to the unit's decoded bytes";
        Err(Error::corrupt("dict.codes", 0, found, allowed))
    };
    match done {
        Ok(written) if is_whole && written as u64 != all_bytes => bad_sum(written as u64),
        Err(Failure::Misfit(Misfit::Output))
            if is_whole && room.is_some_and(|room| room as u64 >= all_bytes) =>
        {
            bad_sum(all_bytes + 1)
        }
        Ok(written) => Ok(written),
        Err(Failure::Error(error)) => Err(error),
        Err(Failure::Misfit(Misfit::Entries)) => Err(Error::corrupt(
            "dict.values",
            0,
            unit.decoded_bytes,
            "entries with rising ends",
        )),
        Err(Failure::Misfit(Misfit::Output)) => {
            Err(Error::invalid("the output is too short for the selection"))
        }
    }
}

/// Checks the codes and copies an entry of `width` bytes per code.
fn gather_fixed(
    entries: &[u8],
    width: usize,
    codes: Codes<'_>,
    to: &mut [u8],
) -> Result<usize, Failure> {
    match gather_codes(entries, width, codes, to) {
        Ok(()) => Ok(0),
        Err(_) => {
            codes.check(entries.len().checked_div(width).unwrap_or_default())?;
            Err(Error::invalid("the output is not sized for these fixed-width values").into())
        }
    }
}

/// Checks the codes, calls `gather` to copy the strings, and checks that the last end fits 32 bits.
fn gather_checked(
    n_entries: usize,
    codes: Codes<'_>,
    base: u32,
    gather: impl FnOnce() -> Result<usize, Misfit>,
) -> Result<usize, Failure> {
    codes.check(n_entries)?;
    let written = gather()?;
    match u32::try_from(written)
        .ok()
        .and_then(|written| base.checked_add(written))
    {
        Some(_) => Ok(written),
        None => Err(Error::invalid("the ends of the byte strings exceed 32 bits").into()),
    }
}

impl PageDecoder {
    fn gather(&self, codes: Codes<'_>, out: Target<'_>) -> Result<usize, Failure> {
        match (&**self.entries.0.dictionary.values(), out) {
            (OwnedValues::Fixed { bytes, .. }, Target::Fixed { to, width }) => {
                gather_fixed(bytes, width, codes, to)
            }
            (
                OwnedValues::Bytes {
                    offsets,
                    data: from,
                },
                Target::Bytes { ends, base, data },
            ) => {
                let n_entries = offsets.len().saturating_sub(1);
                gather_checked(n_entries, codes, base, || match &self.strings {
                    StringWay::Equal(len) => {
                        // All offsets are multiples of the length, the first is 0.
                        let from = from.get(..n_entries * len).ok_or(Misfit::Entries)?;
                        gather_equal(from, *len, codes, ends, base, data)
                    }
                    StringWay::Padded(padded) => padded.gather(codes, ends, base, data),
                    StringWay::Any => {
                        gather_strings(&Strings::new(offsets, from), codes, ends, base, data)
                    }
                })
            }
            _ => Err(Error::invalid("the dictionary is of another type").into()),
        }
    }
}

impl BlockDecoder {
    fn gather(
        &self,
        values: &Unit<'_>,
        codes: Codes<'_>,
        scratch: &mut Scratch,
        out: Target<'_>,
    ) -> Result<usize, Failure> {
        let n_entries = values.len as usize;
        if codes.len() < n_entries.div_ceil(ENTRIES_PER_LOOKUP) {
            codes.check(n_entries)?;
            return self.gather_few(values, codes, scratch, out);
        }
        self.gather_from(values, Selection::All, n_entries, codes, scratch, out)
    }

    /// Decodes only the entries that occur in `codes`: sorts the codes, decodes those entries, and gathers from them by
    /// their position in the sorted list.
    fn gather_few(
        &self,
        values: &Unit<'_>,
        codes: Codes<'_>,
        scratch: &mut Scratch,
        out: Target<'_>,
    ) -> Result<usize, Failure> {
        scratch.with_values(codes.len(), |sorted: &mut [u32], scratch| {
            for (i, to) in sorted.iter_mut().enumerate() {
                *to = codes.number(i).unwrap_or_default();
            }
            sort(sorted);
            let n_distinct = dedup(sorted);
            let sorted = sorted.get(..n_distinct).unwrap_or_default();
            scratch.with_values(codes.len(), |places: &mut [u32], scratch| {
                for (i, to) in places.iter_mut().enumerate() {
                    let code = codes.number(i).unwrap_or_default();
                    let place = sorted.binary_search(&code).unwrap_or_default();
                    // Little-endian, as codes are.
                    *to = (place as u32).to_le();
                }
                let selection = Selection::Indices(sorted);
                self.gather_from(
                    values,
                    selection,
                    n_distinct,
                    Codes::Four(places),
                    scratch,
                    out,
                )
            })
        })
    }

    /// Decodes the selected entries, `n_entries`, into scratch memory and gathers from them.
    fn gather_from(
        &self,
        values: &Unit<'_>,
        selection: Selection<'_>,
        n_entries: usize,
        codes: Codes<'_>,
        scratch: &mut Scratch,
        out: Target<'_>,
    ) -> Result<usize, Failure> {
        match out {
            Target::Fixed { to, width } => {
                // Bounded: there are at most a few times as many entries as selected values, which the caller's output
                // holds.
                let entries_bytes = n_entries.saturating_mul(width);
                scratch.with_values(entries_bytes, |entries: &mut [u8], scratch| {
                    self.values
                        .decode(*values, selection, scratch, Output::Fixed(entries))?;
                    gather_fixed(entries, width, codes, to)
                })
            }
            Target::Bytes { ends, base, data } => {
                let is_whole = matches!(selection, Selection::All);
                // Distinct entries take at most as many bytes as the values that refer to them.
                let room = match usize::try_from(values.decoded_bytes).unwrap_or(usize::MAX) {
                    all if is_whole => all,
                    all => all.min(data.len()),
                };
                let n_offsets = n_entries.saturating_add(1);
                scratch.with_values(n_offsets, |offsets: &mut [u32], scratch| {
                    scratch.with_values(room, |entries: &mut [u8], scratch| {
                        let (first, entry_ends) = offsets
                            .split_first_mut()
                            .ok_or_else(|| Error::invalid("no room for offsets"))?;
                        *first = 0;
                        let to = Output::Bytes {
                            ends: entry_ends,
                            base: 0,
                            data: &mut *entries,
                        };
                        let used = self.values.decode(*values, selection, scratch, to)?;
                        if is_whole && used != room {
                            let allowed = "what the entries decode to";
                            return Err(
                                Error::corrupt("dict.entries_bytes", 8, room, allowed).into()
                            );
                        }
                        let entries = entries.get(..used).ok_or(Misfit::Entries)?;
                        let strings = Strings::new(offsets, entries);
                        gather_checked(strings.len(), codes, base, || {
                            gather_strings(&strings, codes, ends, base, data)
                        })
                    })
                })
            }
        }
    }
}

/// Sorts numbers. Kernels use their own sort, because the standard library's is larger than all other code of this
/// crate.
fn sort(numbers: &mut [u32]) {
    match cfg!(feature = "kernel") {
        true => heap_sort(numbers),
        false => numbers.sort_unstable(),
    }
}

/// Sorts in place. Source: Williams, "Algorithm 232: Heapsort", CACM 1964.
fn heap_sort(numbers: &mut [u32]) {
    let n = numbers.len();
    // First builds a heap: each number with children sinks, starting with the last. Then moves the largest to the end
    // repeatedly.
    for step in (0..n + n / 2).rev() {
        let (at, len) = match step.checked_sub(n) {
            Some(at) => (at, n),
            None => {
                swap(numbers, 0, step);
                (0, step)
            }
        };
        sink(numbers.get_mut(..len).unwrap_or_default(), at);
    }
}

/// Moves the number at `at` below larger ones.
fn sink(heap: &mut [u32], mut at: usize) {
    loop {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let child = match heap.get(right) > heap.get(left) {
            true => right,
            false => left,
        };
        // `None`, beyond the end, is less than any number.
        if heap.get(child) <= heap.get(at) {
            return;
        }
        swap(heap, child, at);
        at = child;
    }
}

fn swap(numbers: &mut [u32], i: usize, j: usize) {
    if let Ok([a, b]) = numbers.get_disjoint_mut([i, j]) {
        core::mem::swap(a, b);
    }
}

/// Moves the distinct numbers of a sorted slice to its front. Returns their number.
fn dedup(sorted: &mut [u32]) -> usize {
    let mut n = 0;
    let mut last = None;
    for i in 0..sorted.len() {
        let number = sorted.get(i).copied();
        if number != last
            && let (Some(number), Some(to)) = (number, sorted.get_mut(n))
        {
            *to = number;
            n += 1;
        }
        last = number;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn heap_sort_sorts() {
        for n in 0..70u32 {
            for factor in [0, 1, 7, 31, u32::MAX] {
                let mut numbers: Vec<u32> =
                    (0..n).map(|i| (i * i).wrapping_mul(factor) % 40).collect();
                let mut expect = numbers.clone();
                heap_sort(&mut numbers);
                expect.sort_unstable();
                assert_eq!(numbers, expect);
                let n_distinct = dedup(&mut numbers);
                expect.dedup();
                assert_eq!(numbers[..n_distinct], expect);
            }
        }
    }
}
