//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::FastPfor;
use crate::group::{Group, Groups};
use crate::layout::{self, GROUP_VALUES, ID, Scheme, UnitParts, VERSION};

impl Encoding for FastPfor {
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
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [] = children_of(children)?;
        let (value_bytes, scheme) = (layout::value_bytes(node)?, Scheme::of(node)?);
        Ok(Box::new(UnitDecoder {
            value_bytes,
            scheme,
        }))
    }
}

struct UnitDecoder {
    value_bytes: usize,
    scheme: Scheme,
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
        let mut parts = UnitParts::new(unit.bytes, unit.len as usize, self.value_bytes);
        parts.parse(self.scheme)?;
        match selection {
            Selection::All => range(&mut parts, 0, to),
            Selection::Range { start, .. } => range(&mut parts, start as usize, to),
            Selection::Indices(of_values) => indices(&mut parts, of_values, to),
        }?;
        Ok(0)
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: core::ops::Range<u32>,
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::{ErrorKind, Reach};

        Selection::from(&range).check(unit.len)?;
        let known = unit.bytes.get(..front).unwrap_or(unit.bytes);
        let mut parts = UnitParts::new(known, unit.len as usize, self.value_bytes);
        let parsed = parts.parse_front(self.scheme);
        let reader = match parsed.as_ref().map_err(Error::kind) {
            // Twice the bytes at least: the highs of each width may be cut off in turn.
            Err(ErrorKind::Truncated { needed_bytes, .. }) if known.len() < unit.bytes.len() => {
                let needed = usize::try_from(*needed_bytes).unwrap_or(usize::MAX);
                let more = needed.max(2 * known.len());
                return Ok(Reach::Front(more.min(unit.bytes.len())));
            }
            _ => parsed?,
        };
        if range.is_empty() {
            return Ok(Reach::bytes(0..0));
        }
        let mut groups = Groups::new(&mut parts);
        groups.pass_to(range.start as usize / GROUP_VALUES);
        let start = groups.place().start;
        groups.pass_to((range.end - 1) as usize / GROUP_VALUES);
        let end = groups.place().end;
        let packed_at = reader.position();
        let in_unit = |at: usize| packed_at.saturating_add(at);
        Ok(Reach::bytes(in_unit(start)..in_unit(end)))
    }
}

/// Bytes of a group of the widest values.
const GROUP_BYTES_MAX: usize = GROUP_VALUES * 8;

/// Decodes the values from `start` on, as many as fit `to`. The caller has checked that they exist.
fn range(parts: &mut UnitParts<'_>, start: usize, mut to: &mut [u8]) -> Result<()> {
    let value_bytes = parts.value_bytes;
    let mut groups = Groups::new(parts);
    groups.pass_to(start / GROUP_VALUES);
    let mut skipped = start % GROUP_VALUES * value_bytes;
    while !to.is_empty() {
        let group = groups.take()?;
        let n_bytes = group.n_values * value_bytes;
        let wanted = to.len().min(n_bytes.saturating_sub(skipped));
        let split = core::mem::take(&mut to).split_at_mut_checked(wanted);
        let Some((now, later)) = split.filter(|_| wanted > 0) else {
            return Err(misfit());
        };
        if wanted == n_bytes {
            group.decode(now)?;
        } else {
            let mut all = [0; GROUP_BYTES_MAX];
            let values = decode_all(&group, n_bytes, &mut all)?;
            let values = values.get(skipped..skipped + wanted);
            now.copy_from_slice(values.unwrap_or_default());
        }
        (skipped, to) = (0, later);
    }
    Ok(())
}

/// Decodes the values at rising `indices`. The caller has checked that they exist.
fn indices(parts: &mut UnitParts<'_>, indices: &[u32], mut to: &mut [u8]) -> Result<()> {
    let value_bytes = parts.value_bytes;
    let group_of = |index: &u32| *index as usize / GROUP_VALUES;
    let mut groups = Groups::new(parts);
    for of_group in indices.chunk_by(|a, b| group_of(a) == group_of(b)) {
        groups.pass_to(of_group.first().map_or(0, group_of));
        let group = groups.take()?;
        let places = of_group.iter().map(|index| *index as usize % GROUP_VALUES);
        let n_bytes = of_group.len() * value_bytes;
        let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(n_bytes) else {
            return Err(misfit());
        };
        to = later;
        #[cfg(not(feature = "kernel"))]
        if of_group.len() <= LOOKUPS_MAX {
            for (place, to) in places.zip(now.chunks_exact_mut(value_bytes.max(1))) {
                tarsia_bits::write_value(group.value(place)?, to);
            }
            continue;
        }
        let mut all = [0; GROUP_BYTES_MAX];
        let all = decode_all(&group, group.n_values * value_bytes, &mut all)?;
        match value_bytes {
            1 => pick::<1>(all, places, now),
            2 => pick::<2>(all, places, now),
            4 => pick::<4>(all, places, now),
            _ => pick::<8>(all, places, now),
        }
    }
    Ok(())
}

/// Looking up so many values of a group takes less time than decoding it.
#[cfg(not(feature = "kernel"))]
const LOOKUPS_MAX: usize = 2;

/// Copies the values at `places`, one behind the other.
fn pick<const S: usize>(all: &[u8], places: impl Iterator<Item = usize>, to: &mut [u8]) {
    let all = all.as_chunks::<S>().0;
    for (to, place) in to.as_chunks_mut::<S>().0.iter_mut().zip(places) {
        *to = all.get(place).copied().unwrap_or([0; S]);
    }
}

/// Decodes a group, which has `n_bytes`, to the front of `all`, and returns that.
fn decode_all<'b>(
    group: &Group<'_>,
    n_bytes: usize,
    all: &'b mut [u8; GROUP_BYTES_MAX],
) -> Result<&'b [u8]> {
    let to = all.get_mut(..n_bytes).ok_or_else(misfit)?;
    group.decode(to)?;
    Ok(to)
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}
