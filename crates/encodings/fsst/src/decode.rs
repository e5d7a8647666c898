//! The decoder: lengths first, so that the strings of all values are decoded in one go, wherever they end.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::{NumbersUnit, children_of, ends_from_lengths};
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Fsst;
use crate::layout::{self, ID, UnitParts, VERSION};
use crate::symbols::{self, Symbols};

impl Encoding for Fsst {
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
        let [lengths, counts] = children_of(children)?;
        let [table] = shared else {
            return Err(Error::invalid("fsst has one shared buffer"));
        };
        Ok(Box::new(UnitDecoder {
            lengths,
            counts,
            symbols: Symbols::of(table.values())?,
            table: table.clone(),
        }))
    }
}

pub(crate) struct UnitDecoder {
    pub(crate) lengths: Box<dyn Decoder>,
    pub(crate) counts: Box<dyn Decoder>,
    pub(crate) symbols: Symbols,
    table: SharedBuffer,
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
        // The ends first hold the lengths.
        NumbersUnit::new(&*self.lengths, parts.lengths).decode(selection, ends, scratch)?;
        let is_whole =
            n_selected == unit.len as usize && !matches!(selection, Selection::Indices(_));
        let (total, fits) = ends_from_lengths(ends, base);
        let all_bytes = u64::from(unit.decoded_bytes);
        if is_whole && total != all_bytes || total > all_bytes.saturating_mul(selection.repeats()) {
            return Err(UnitParts::bad_lengths(total));
        }
        let to = usize::try_from(total)
            .ok()
            .and_then(|it| data.get_mut(..it));
        let n_bytes = to.map(|to| to.len());
        let Some(n_bytes) = n_bytes.filter(|_| fits) else {
            let what = match fits {
                true => "the output is too short for the selection",
                false => "the ends of the byte strings exceed 32 bits",
            };
            return Err(Error::invalid(what));
        };
        match selection {
            Selection::All => self.decode_range(&parts, 0..unit.len, n_bytes, data, scratch)?,
            Selection::Range { start, len } => {
                self.decode_range(&parts, start..start + len, n_bytes, data, scratch)?;
            }
            Selection::Indices(indices) => {
                let mut strings = Strings { ends, base, data };
                self.decode_indices(&parts, indices, &mut strings, scratch)?;
            }
        }
        Ok(n_bytes)
    }

    /// Compares codes, where their symbols do not differ from a string that is looked for.
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
        // Who asks which symbols are used wants them decoded.
        if self.table.used().is_some() {
            return Ok(false);
        }
        let found = Needle::with(predicate, scratch, |needle, scratch| {
            let mut out = BitsOut::new(out, n_selected)?;
            let parts = UnitParts::parse(&unit)?;
            self.find(
                &parts,
                start..start + n_selected as u32,
                needle,
                scratch,
                &mut out,
            )
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
        // Lengths and counts are at the front, behind their sizes in bytes.
        if front < layout::HEADER_BYTES.min(unit.bytes.len()) {
            return Ok(Reach::Front(layout::HEADER_BYTES));
        }
        let parts = UnitParts::parse(&unit)?;
        let at = parts.codes_at;
        if front < at {
            return Ok(Reach::Front(at));
        }
        let codes = self.codes_of(&parts, range.clone(), scratch)?;
        let lengths = NumbersUnit::new(&*self.lengths, parts.lengths);
        let decoded_bytes = lengths.sum(range, scratch)?;
        Ok(Reach::Bytes {
            place: at + codes.start..at + codes.end,
            decoded_bytes: decoded_bytes.min(unit.decoded_bytes.into()),
        })
    }
}

/// The strings of selected values, whose ends are known.
struct Strings<'a> {
    ends: &'a [u32],
    base: u32,
    data: &'a mut [u8],
}

impl Strings<'_> {
    /// The memory of string `i`, and the strings behind it.
    fn from(&mut self, i: usize) -> &mut [u8] {
        let before = i.checked_sub(1).and_then(|i| self.ends.get(i));
        let start = before.map_or(0, |end| end.wrapping_sub(self.base));
        self.data.get_mut(start as usize..).unwrap_or_default()
    }

    /// Its length.
    fn length(&self, i: usize) -> usize {
        let before = i.checked_sub(1).and_then(|i| self.ends.get(i));
        let start = before.copied().unwrap_or(self.base);
        let end = self.ends.get(i).copied().unwrap_or(start);
        end.wrapping_sub(start) as usize
    }
}

impl UnitDecoder {
    /// Decodes consecutive strings, of `n_bytes` together, to the front of `data`.
    fn decode_range(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        n_bytes: usize,
        data: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let codes = self.codes_of(parts, values, scratch)?;
        let found = self.decode_codes(parts, codes.clone(), data)?;
        match found == n_bytes {
            true => Ok(()),
            false => Err(symbols::bad_lengths(parts.codes_at + codes.start, found)),
        }
    }

    /// Decodes the strings at `indices`, each to its place.
    fn decode_indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        strings: &mut Strings<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let n_needed = indices.last().map_or(0, |last| last + 1);
        let (mut i, mut codes_before) = (0, 0);
        let of_counts = NumbersUnit::new(&*self.counts, parts.counts);
        of_counts.for_parts(0..n_needed, scratch, &mut |counts, _| {
            let (total, fits) = ends_from_lengths(counts.numbers, 0);
            let end = codes_before + total;
            if !fits || end > parts.codes.len() as u64 {
                return Err(parts.bad_counts(end));
            }
            while let Some(index) = indices.get(i)
                && let Some(codes) = counts.ends_of(*index)
            {
                let place = |end: u32| codes_before as usize + end as usize;
                let codes = place(codes.start)..place(codes.end);
                let found = self.decode_codes(parts, codes.clone(), strings.from(i))?;
                if found != strings.length(i) {
                    return Err(symbols::bad_lengths(parts.codes_at + codes.start, found));
                }
                i += 1;
            }
            codes_before = end;
            Ok(())
        })
    }

    /// Decodes some codes to the front of `data`. Returns how many bytes they stand for.
    fn decode_codes(
        &self,
        parts: &UnitParts<'_>,
        range: Range<usize>,
        data: &mut [u8],
    ) -> Result<usize> {
        let codes_at = parts.codes_at + range.start;
        let codes = parts.codes.get(range).unwrap_or_default();
        if let Some(used) = self.table.used() {
            symbols::note_used(codes, used);
        }
        self.symbols.decode(codes, codes_at, data)
    }

    /// The place of some values' codes among all codes.
    fn codes_of(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<Range<usize>> {
        let counts = NumbersUnit::new(&*self.counts, parts.counts);
        let reaches_end = values.end == parts.counts.len;
        let codes = counts.parts_of(values, scratch)?;
        let n = parts.codes.len() as u64;
        if codes.end > n || reaches_end && codes.end != n {
            return Err(parts.bad_counts(codes.end));
        }
        Ok(codes.start as usize..codes.end as usize)
    }
}
