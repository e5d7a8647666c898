//! The decoder: fills what is selected with the bit that is not stored, then changes the bits at the stored places.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_bits::fill_bits;
use tarsia_codec::toolbox::decode_bits;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Roaring;
use crate::layout::{self, Body, Container, Containers, ID, POSITION_BYTES, RUN_BYTES, VERSION};

/// Stored places that are written while one value is looked up.
const SEARCH_PLACES: usize = 32;

/// Stored places that are written in the time in which a container is filled before its places are written.
const FILL_PLACES: usize = 256;

impl Encoding for Roaring {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::LEAF)
    }

    fn init(
        &self,
        _node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(UnitDecoder))
    }
}

struct UnitDecoder;

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let (to, mut at) = out.into_bits(n_selected)?;
        let mut containers = Containers::of(&unit)?;
        // The first value of the container, and the indices that are left.
        let mut first = 0;
        let mut left = match selection {
            Selection::Indices(indices) => indices,
            Selection::All | Selection::Range { .. } => &[],
        };
        while let Some(container) = containers.next()? {
            let end = first + container.len;
            let range = match selection {
                Selection::All => first..end,
                Selection::Range { start, len } => {
                    start.clamp(first, end)..(start + len).clamp(first, end)
                }
                Selection::Indices(_) => {
                    let n_inside = left.partition_point(|index| *index < end);
                    let (inside, after) = left.split_at(n_inside);
                    if container.is_searched(n_inside) {
                        container.pick(inside, first, to, at);
                    } else {
                        container.gather(inside, first, scratch, to, at)?;
                    }
                    left = after;
                    at += n_inside;
                    first = end;
                    continue;
                }
            };
            if !range.is_empty() {
                container.write(range.start - first..range.end - first, to, at)?;
                at += range.len();
            }
            first = end;
        }
        Ok(0)
    }
}

fn position(bytes: &[u8; POSITION_BYTES]) -> u32 {
    u16::from_le_bytes(*bytes).into()
}

/// The places of a run, of which the last is stored.
fn run(bytes: &[u8; RUN_BYTES]) -> Range<u32> {
    let [a, b, c, d] = *bytes;
    position(&[a, b])..position(&[c, d]) + 1
}

impl Container<'_> {
    /// Writes the values of a range to `to` from bit `at` on. Checks the stored places that it needs.
    fn write(&self, range: Range<u32>, to: &mut [u8], at: usize) -> Result<()> {
        match self.body {
            Body::Positions { of, all } => {
                let held = self.positions_in(all, &range)?;
                fill_bits(to, at, range.len(), !of);
                for it in held {
                    let place = at + (position(it) - range.start) as usize;
                    // The bit was filled with the opposite.
                    if let Some(byte) = to.get_mut(place / 8) {
                        *byte ^= 1 << (place % 8);
                    }
                }
                Ok(())
            }
            Body::Runs { of, all } => {
                let held = self.runs_in(all, &range)?;
                fill_bits(to, at, range.len(), !of);
                for it in held {
                    let run = run(it);
                    let start = run.start.max(range.start);
                    let end = run.end.min(range.end);
                    let n = end.saturating_sub(start) as usize;
                    fill_bits(to, at + (start - range.start) as usize, n, of);
                }
                Ok(())
            }
            Body::Bitmap(bits) => {
                let of_range = Selection::from(&range);
                let out = Output::Bits {
                    bytes: to,
                    offset: at,
                };
                decode_bits(bits, of_range, out).map(|_| ())
            }
        }
    }

    /// The positions in a range, which rise and are in it.
    fn positions_in<'p>(
        &self,
        all: &'p [[u8; POSITION_BYTES]],
        range: &Range<u32>,
    ) -> Result<&'p [[u8; POSITION_BYTES]]> {
        let from = match range.start {
            0 => 0,
            start => all.partition_point(|it| position(it) < start),
        };
        let later = all.get(from..).unwrap_or_default();
        let until = match range.end == self.len {
            true => later.len(),
            false => later.partition_point(|it| position(it) < range.end),
        };
        let held = later.get(..until).unwrap_or_default();
        // No early exit, so that the loop vectorises.
        let rise = held
            .array_windows()
            .fold(true, |rise, [a, b]| rise & (position(a) < position(b)));
        let is_first_inside = held.first().is_none_or(|it| position(it) >= range.start);
        let is_last_inside = held.last().is_none_or(|it| position(it) < range.end);
        match rise && is_first_inside && is_last_inside {
            true => Ok(held),
            false => Err(self.bad_positions(all)),
        }
    }

    /// The runs that have places in a range. They rise, and the first and the last reach into it.
    fn runs_in<'r>(
        &self,
        all: &'r [[u8; RUN_BYTES]],
        range: &Range<u32>,
    ) -> Result<&'r [[u8; RUN_BYTES]]> {
        let from = match range.start {
            0 => 0,
            start => all.partition_point(|it| run(it).end <= start),
        };
        let later = all.get(from..).unwrap_or_default();
        let until = match range.end == self.len {
            true => later.len(),
            false => later.partition_point(|it| run(it).start < range.end),
        };
        let held = later.get(..until).unwrap_or_default();
        let mut end = 0;
        let mut rise = true;
        for it in held {
            let run = run(it);
            rise &= (end <= run.start) & (run.start < run.end);
            end = run.end;
        }
        let is_first_inside = held.first().is_none_or(|it| run(it).end > range.start);
        let is_last_inside =
            end <= self.len && held.last().is_none_or(|it| run(it).start < range.end);
        match rise && is_first_inside && is_last_inside {
            true => Ok(held),
            false => Err(self.bad_runs(all)),
        }
    }

    /// The error for the first position that does not rise or is not below the number of values.
    #[cold]
    #[inline(never)]
    fn bad_positions(&self, all: &[[u8; POSITION_BYTES]]) -> Error {
        let (field, allowed) = (
            "roaring.positions",
            "rising numbers below the number of values",
        );
        let mut least = 0;
        for (i, it) in all.iter().enumerate() {
            let found = position(it);
            if found < least || found >= self.len {
                return Error::corrupt(field, self.at + i * POSITION_BYTES, found, allowed);
            }
            least = found + 1;
        }
        Error::corrupt(field, self.at, all.len(), allowed)
    }

    /// The error for the first run that does not rise or is not below the number of values.
    #[cold]
    #[inline(never)]
    fn bad_runs(&self, all: &[[u8; RUN_BYTES]]) -> Error {
        let (field, allowed) = ("roaring.runs", "rising numbers below the number of values");
        let mut least = 0;
        for (i, it) in all.iter().enumerate() {
            let run = run(it);
            let at = self.at + i * RUN_BYTES;
            if run.start < least || run.start >= self.len {
                return Error::corrupt(field, at, run.start, allowed);
            }
            let last = run.end - 1;
            if last < run.start || last >= self.len {
                return Error::corrupt(field, at + POSITION_BYTES, last, allowed);
            }
            least = run.end;
        }
        Error::corrupt(field, self.at, all.len(), allowed)
    }

    /// True if single values are looked up faster than all between them are written.
    fn is_searched(&self, n_indices: usize) -> bool {
        let n_stored = match self.body {
            Body::Positions { all, .. } => all.len(),
            Body::Runs { all, .. } => all.len(),
            Body::Bitmap(_) => return true,
        };
        n_indices.saturating_mul(SEARCH_PLACES) < n_stored + FILL_PLACES
    }

    /// Writes the values at `indices`, as [`Container::pick`] does, but writes all values between them to scratch
    /// memory first.
    fn gather(
        &self,
        indices: &[u32],
        first: u32,
        scratch: &mut Scratch,
        to: &mut [u8],
        at: usize,
    ) -> Result<()> {
        let (Some(low), Some(high)) = (indices.first(), indices.last()) else {
            return Ok(());
        };
        let (start, end) = (low.wrapping_sub(first), high.wrapping_sub(first) + 1);
        let mut buf = scratch.take((end.saturating_sub(start) as usize).div_ceil(8));
        let done = self.write(start..end, &mut buf, 0);
        for (index, at) in indices.iter().zip(at..) {
            let place = index.wrapping_sub(*low) as usize;
            let byte = buf.get(place / 8).copied().unwrap_or_default();
            put_bit(to, at, byte >> (place % 8) & 1 == 1);
        }
        scratch.give(buf);
        done
    }

    /// Writes the values at `indices`, which are of this container, whose first value is `first`, from bit `at` on. Of
    /// the stored places only those on the ways of the searches are read.
    fn pick(&self, indices: &[u32], first: u32, to: &mut [u8], at: usize) {
        // The index in the container.
        let places = indices.iter().map(|index| index.wrapping_sub(first));
        let places = places.zip(at..);
        match self.body {
            Body::Positions { of, all } => {
                let mut left = all;
                for (place, at) in places {
                    let n_before = left.partition_point(|it| position(it) < place);
                    left = left.get(n_before..).unwrap_or_default();
                    let is_stored = left.first().is_some_and(|it| position(it) == place);
                    put_bit(to, at, is_stored == of);
                }
            }
            Body::Runs { of, all } => {
                let mut left = all;
                for (place, at) in places {
                    let n_before = left.partition_point(|it| run(it).end <= place);
                    left = left.get(n_before..).unwrap_or_default();
                    let is_stored = left.first().is_some_and(|it| run(it).start <= place);
                    put_bit(to, at, is_stored == of);
                }
            }
            Body::Bitmap(bits) => {
                for (place, at) in places {
                    put_bit(to, at, bits.get(place as usize));
                }
            }
        }
    }
}

/// Sets or clears bit `at`.
#[inline]
fn put_bit(to: &mut [u8], at: usize, bit: bool) {
    if let Some(byte) = to.get_mut(at / 8) {
        *byte = *byte & !(1 << (at % 8)) | u8::from(bit) << (at % 8);
    }
}
