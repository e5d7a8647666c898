//! The decoder: a running sum per group, starting at the group's base.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_bits::Word;
use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Delta;
use crate::layout::{self, GROUP_VALUES, ID, UnitParts, VERSION};

impl Encoding for Delta {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::value_bytes(node)?;
        Ok(NodeSpec::with_children(&[node.value_type]))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [differences] = children_of(children)?;
        Ok(Box::new(DeltaDecoder {
            value_bytes: layout::value_bytes(node)?,
            differences,
        }))
    }
}

struct DeltaDecoder {
    value_bytes: usize,
    differences: Box<dyn Decoder>,
}

impl Decoder for DeltaDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let parts = UnitParts::parse(&unit, self.value_bytes)?;
        match selection {
            Selection::All => self.range(&parts, 0..unit.len, scratch, to),
            Selection::Range { start, len } => self.range(&parts, start..start + len, scratch, to),
            Selection::Indices(indices) => self.indices(&parts, indices, scratch, to),
        }?;
        Ok(0)
    }
}

impl DeltaDecoder {
    /// Decodes the values `start..end`. Only the groups that hold some of them are decoded, the last one only up to
    /// `end`.
    fn range(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let Range { start, end } = values;
        let all = parts.differences.len;
        if start >= end {
            // With no differences to decode, the child still checks its bytes.
            let none = match all {
                0 => Selection::All,
                _ => Selection::Range { start: 0, len: 0 },
            };
            let out = Output::Fixed(&mut []);
            let done = self
                .differences
                .decode(parts.differences, none, scratch, out);
            return done.map(|_| ());
        }
        let first_group = start as usize / GROUP_VALUES;
        // Each group before this one has a base and one difference fewer than values.
        let from = (first_group * GROUP_VALUES - first_group) as u32;
        let until = end - 1 - (end - 1) / GROUP_VALUES as u32;
        let len = until - from;
        let wanted = match len == all {
            true => Selection::All,
            false => Selection::Range { start: from, len },
        };
        let mut differences = scratch.take(len as usize * self.value_bytes);
        let buf = Output::Fixed(&mut differences);
        let done = self
            .differences
            .decode(parts.differences, wanted, scratch, buf);
        let summed = done.and_then(|_| self.sum_groups(parts, start..end, &differences, to));
        scratch.give(differences);
        summed
    }

    /// Writes the running sums of the groups. `differences` starts at the first value of the first group.
    fn sum_groups(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        mut differences: &[u8],
        mut to: &mut [u8],
    ) -> Result<()> {
        let width = self.value_bytes;
        let (start, end) = (values.start as usize, values.end as usize);
        for group in start / GROUP_VALUES..layout::n_groups(end) {
            let group_start = group * GROUP_VALUES;
            let n = (end - group_start).min(GROUP_VALUES);
            let n_skipped = start.saturating_sub(group_start);
            let base = parts.bases.get(group * width..(group + 1) * width);
            let of_group = differences.split_at_checked((n - 1) * width);
            let filled = core::mem::take(&mut to).split_at_mut_checked((n - n_skipped) * width);
            let (Some(base), Some((now, later)), Some((filled, left))) = (base, of_group, filled)
            else {
                return Err(misfit());
            };
            match width {
                1 => running_sum::<u8>(base, now, n_skipped, filled),
                2 => running_sum::<u16>(base, now, n_skipped, filled),
                4 => running_sum::<u32>(base, now, n_skipped, filled),
                _ => running_sum::<u64>(base, now, n_skipped, filled),
            }
            (differences, to) = (later, left);
        }
        Ok(())
    }

    /// Decodes the values at rising `indices`: each group once, up to its last selected value.
    fn indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        scratch: &mut Scratch,
        mut to: &mut [u8],
    ) -> Result<()> {
        let width = self.value_bytes;
        let mut buf = scratch.take(GROUP_VALUES * width);
        let mut done = Ok(());
        let is_same = |a: &u32, b: &u32| *a as usize / GROUP_VALUES == *b as usize / GROUP_VALUES;
        for of_group in indices.chunk_by(is_same) {
            let last = of_group.last().copied().unwrap_or_default();
            let start = last - last % GROUP_VALUES as u32;
            let n = (last - start + 1) as usize * width;
            let values = buf.get_mut(..n).unwrap_or_default();
            done = self.range(parts, start..last + 1, scratch, values);
            for index in of_group {
                let at = (index - start) as usize * width;
                let value = buf.get(at..at + width);
                let place = core::mem::take(&mut to).split_at_mut_checked(width);
                let (Some(value), Some((place, left))) = (value, place) else {
                    done = Err(misfit());
                    break;
                };
                place.copy_from_slice(value);
                to = left;
            }
            if done.is_err() {
                break;
            }
        }
        scratch.give(buf);
        done
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}

/// Writes the running sums of `base` and `differences`, without the first `n_skipped`. There is one more sum than there
/// are differences.
fn running_sum<T: Word>(base: &[u8], differences: &[u8], n_skipped: usize, to: &mut [u8]) {
    let number = |bytes: &[u8]| T::read_le(bytes).unwrap_or(T::from_u64(0));
    let mut sum = number(base);
    let mut differences = differences.chunks_exact(T::BYTES);
    for difference in differences.by_ref().take(n_skipped) {
        sum = sum.wrapping_add(number(difference));
    }
    let mut to = to.chunks_exact_mut(T::BYTES);
    if let Some(first) = to.next() {
        sum.write_le(first);
    }
    for (to, difference) in to.zip(differences) {
        sum = sum.wrapping_add(number(difference));
        sum.write_le(to);
    }
}
