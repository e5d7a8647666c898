//! The decoder: group after group, or a few values of a group, to which it counts from the group's first one.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::Varint;
use crate::layout::{self, GROUP_VALUES, ID, UnitParts, VERSION};
use crate::read::{decode, decode_one, skip};

impl Encoding for Varint {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::value_bytes(node)?;
        Ok(NodeSpec::LEAF)
    }

    fn init(
        &self,
        node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(UnitDecoder {
            value_bytes: layout::value_bytes(node)?,
        }))
    }
}

struct UnitDecoder {
    value_bytes: usize,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let parts = UnitParts::parse(&unit)?;
        match self.value_bytes {
            2 => select::<2>(&parts, unit.len, selection, to),
            4 => select::<4>(&parts, unit.len, selection, to),
            _ => select::<8>(&parts, unit.len, selection, to),
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
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        // The ends of all groups are at the front.
        let ends_bytes = layout::ends_bytes(unit.len);
        if front < ends_bytes && ends_bytes <= unit.bytes.len() {
            return Ok(Reach::Front(ends_bytes));
        }
        let parts = UnitParts::parse(&unit)?;
        if range.is_empty() {
            return Ok(Reach::bytes(0..0));
        }
        let first = parts.group(range.start as usize / GROUP_VALUES)?;
        let last = parts.group((range.end as usize - 1) / GROUP_VALUES)?;
        let end = last.at + last.bytes.len();
        Ok(Reach::bytes(first.at..end.max(first.at)))
    }
}

fn select<const S: usize>(
    parts: &UnitParts<'_>,
    n_values: u32,
    selection: Selection<'_>,
    to: &mut [u8],
) -> Result<()> {
    let to = to.as_chunks_mut().0;
    let n_values = n_values as usize;
    match selection {
        Selection::All => range::<S>(parts, n_values, 0..n_values, to),
        Selection::Range { start, len } => {
            let start = start as usize;
            range(parts, n_values, start..start + len as usize, to)
        }
        Selection::Indices(indices) => single_values(parts, indices, to),
    }
}

/// Decodes the values of `wanted`. A group that is decoded to its end must end with its last value.
fn range<const S: usize>(
    parts: &UnitParts<'_>,
    n_values: usize,
    wanted: Range<usize>,
    mut to: &mut [[u8; S]],
) -> Result<()> {
    let mut next = wanted.start;
    while next < wanted.end {
        let number = next / GROUP_VALUES;
        let group_end = ((number + 1) * GROUP_VALUES).min(n_values);
        let until = group_end.min(wanted.end);
        let group = parts.group(number)?;
        let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(until - next) else {
            return Ok(());
        };
        let at = skip(&group, 0, next % GROUP_VALUES)?;
        let at = decode(&group, at, now)?;
        if until == group_end && at != group.bytes.len() {
            return Err(group.bad_end());
        }
        (next, to) = (until, later);
    }
    Ok(())
}

/// Decodes the values at rising `indices`.
fn single_values<const S: usize>(
    parts: &UnitParts<'_>,
    indices: &[u32],
    to: &mut [[u8; S]],
) -> Result<()> {
    let group_of = |index: u32| index as usize / GROUP_VALUES;
    let mut to = to.iter_mut();
    for of_group in indices.chunk_by(|a, b| group_of(*a) == group_of(*b)) {
        let number = of_group.first().map_or(0, |first| group_of(*first));
        let group = parts.group(number)?;
        let (mut at, mut next) = (0, number * GROUP_VALUES);
        let mut value = [0; S];
        for (index, to) in of_group.iter().zip(&mut to) {
            // An index that is repeated has the value of the one before.
            if let Some(n_skipped) = (*index as usize).checked_sub(next) {
                at = skip(&group, at, n_skipped)?;
                (value, at) = decode_one(&group, at)?;
                next += n_skipped + 1;
            }
            *to = value;
        }
    }
    Ok(())
}
