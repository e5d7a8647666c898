//! The decoder: the numbers of bins first, then the offsets. Only the place of an offset depends on the values before
//! it, by one addition, so that the loads of several values overlap.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Bins;
use crate::layout::{self, ID, UnitParts, VERSION};
use crate::offsets::Offsets;
use crate::table::Table;

/// The most numbers of bins in scratch memory at a time: 1 MiB. Only blocks of one huge row have more.
const NUMBERS_AT_ONCE: u32 = 1 << 20;

impl Encoding for Bins {
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
        node: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [numbers] = children_of(children)?;
        let [table] = shared else {
            return Err(Error::invalid("bins has one shared buffer"));
        };
        let bins = PageBins {
            numbers,
            table: Table::of(table.values(), node)?,
        };
        Ok(match layout::value_bytes(node)? {
            1 => Box::new(UnitDecoder::<1>(bins)),
            2 => Box::new(UnitDecoder::<2>(bins)),
            4 => Box::new(UnitDecoder::<4>(bins)),
            _ => Box::new(UnitDecoder::<8>(bins)),
        })
    }
}

/// For values of `S` bytes.
struct UnitDecoder<const S: usize>(PageBins);

impl<const S: usize> Decoder for UnitDecoder<S> {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let (to, _) = out.into_fixed(S, n_selected)?.as_chunks_mut::<S>();
        let parts = UnitParts::parse(&unit)?;
        let offsets = Offsets::new(parts.offsets, parts.offsets_at());
        match selection {
            Selection::All => self.range(&parts, &offsets, 0..unit.len, scratch, to),
            Selection::Range { start, len } => {
                self.range(&parts, &offsets, start..start + len, scratch, to)
            }
            Selection::Indices(indices) => self.indices(&parts, &offsets, indices, scratch, to),
        }?;
        Ok(0)
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
        // The numbers of bins are at the front, behind their size in bytes.
        if front < layout::HEADER_BYTES.min(unit.bytes.len()) {
            return Ok(Reach::Front(layout::HEADER_BYTES));
        }
        let parts = UnitParts::parse(&unit)?;
        let at = parts.offsets_at();
        if front < at {
            return Ok(Reach::Front(at));
        }
        let (mut start, mut end) = (0, 0);
        let with = &mut |numbers: Numbers<'_>| {
            let (before, wanted) = numbers.split_at(range.start);
            start += self.0.table.widths(before);
            end += self.0.table.widths(wanted);
            Ok(())
        };
        self.0.for_numbers(&parts, range.end, scratch, with)?;
        end += start;
        Offsets::new(parts.offsets, at).check_end(end, false)?;
        let place = |bit: u64| at + bit as usize;
        Ok(Reach::bytes(place(start / 8)..place(end.div_ceil(8))))
    }
}

impl<const S: usize> UnitDecoder<S> {
    /// Decodes consecutive values.
    fn range(
        &self,
        parts: &UnitParts<'_>,
        offsets: &Offsets<'_>,
        values: Range<u32>,
        scratch: &mut Scratch,
        to: &mut [[u8; S]],
    ) -> Result<()> {
        let mut to = to;
        let mut bit = 0;
        let with = &mut |numbers: Numbers<'_>| {
            let (skipped, wanted) = numbers.split_at(values.start);
            bit += self.0.table.widths(skipped);
            let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(wanted.len())
            else {
                return Err(misfit());
            };
            to = later;
            bit = offsets.decode(&self.0.table, wanted, bit, now);
            Ok(())
        };
        self.0.for_numbers(parts, values.end, scratch, with)?;
        offsets.check_end(bit, values.end == parts.numbers.len)
    }

    /// Decodes the values at rising indices.
    fn indices(
        &self,
        parts: &UnitParts<'_>,
        offsets: &Offsets<'_>,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [[u8; S]],
    ) -> Result<()> {
        let n_needed = indices.last().map_or(0, |last| last + 1);
        let mut wanted = indices.iter().zip(to).peekable();
        let mut bit = 0;
        let with = &mut |mut numbers: Numbers<'_>| {
            let end = numbers.start + numbers.numbers.len() as u32;
            while let Some((index, to)) = wanted.next_if(|(index, _)| **index < end) {
                let (skipped, from) = numbers.split_at(*index);
                bit += self.0.table.widths(skipped);
                let one = from.get(..1).unwrap_or_default();
                offsets.decode(&self.0.table, one, bit, core::slice::from_mut(to));
                numbers = Numbers {
                    start: *index,
                    numbers: from,
                };
            }
            bit += self.0.table.widths(numbers.numbers);
            Ok(())
        };
        self.0.for_numbers(parts, n_needed, scratch, with)?;
        offsets.check_end(bit, n_needed == parts.numbers.len)
    }
}

/// The numbers of the bins of consecutive values.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    start: u32,
    numbers: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// The numbers of the values before `index`, and the others.
    fn split_at(&self, index: u32) -> (&'a [u8], &'a [u8]) {
        let n = index.saturating_sub(self.start) as usize;
        let parts = self.numbers.split_at_checked(n);
        parts.unwrap_or((self.numbers, &[]))
    }
}

/// The bins of a page, and the decoder of their numbers.
struct PageBins {
    numbers: Box<dyn Decoder>,
    table: Table,
}

impl PageBins {
    /// Decodes the numbers of the bins of the first `n` values into scratch memory, [`NUMBERS_AT_ONCE`] at a time, and
    /// calls `with` with them.
    fn for_numbers(
        &self,
        parts: &UnitParts<'_>,
        n: u32,
        scratch: &mut Scratch,
        with: &mut dyn FnMut(Numbers<'_>) -> Result<()>,
    ) -> Result<()> {
        let unit = parts.numbers;
        let mut start = 0;
        loop {
            let len = (n - start).min(NUMBERS_AT_ONCE);
            let selection = match len == unit.len {
                true => Selection::All,
                false => Selection::Range { start, len },
            };
            let mut numbers = scratch.take(len as usize);
            let out = Output::Fixed(&mut numbers);
            let done = self.numbers.decode(unit, selection, scratch, out);
            let done = done.and_then(|_| {
                self.table.check(&numbers)?;
                let numbers = &numbers;
                with(Numbers { start, numbers })
            });
            scratch.give(numbers);
            done?;
            start += len;
            // A child without values may still have bytes that are wrong.
            if start >= n {
                return Ok(());
            }
        }
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}
