//! The decoder: the fused unpacking loop first, then patches.

use alloc::boxed::Box;

use tarsia_bits::{read_value, unpack_one_of, unpack_range_of, write_value};
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Version,
};

use crate::Bitpack;
use crate::layout::{
    self, GROUP_VALUES, Group, GroupStart, ID, Mode, POSITION_BYTES, Unit, VERSION,
};

impl Encoding for Bitpack {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::parse_node(node).map(|_| NodeSpec::LEAF)
    }

    fn init(
        &self,
        node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let (value_bytes, mode) = layout::parse_node(node)?;
        Ok(Box::new(BitpackDecoder { value_bytes, mode }))
    }
}

/// The decoder of a node: the width of its values, and the mode in its parameters.
#[derive(Debug, Clone, Copy)]
struct BitpackDecoder {
    value_bytes: usize,
    mode: Mode,
}

impl Decoder for BitpackDecoder {
    fn decode(
        &self,
        unit: tarsia_codec::Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let unit = Unit::parse(unit.bytes, unit.len as usize, self.value_bytes, self.mode)?;
        match self.value_bytes {
            _ if ONE_COPY => unit.select::<ANY>(selection, scratch, to),
            1 => unit.select::<1>(selection, scratch, to),
            2 => unit.select::<2>(selection, scratch, to),
            4 => unit.select::<4>(selection, scratch, to),
            _ => unit.select::<8>(selection, scratch, to),
        }?;
        Ok(0)
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: tarsia_codec::Unit<'_>,
        front: usize,
        range: core::ops::Range<u32>,
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        /// Longer than the fields of most units; those of units with patches or many groups are longer.
        const FRONT_BYTES: usize = 64;
        Selection::from(&range).check(unit.len)?;
        let known = unit.bytes.get(..front).unwrap_or(unit.bytes);
        let n_values = unit.len as usize;
        let (parsed, reader) = match Unit::parse_front(known, n_values, self.value_bytes, self.mode)
        {
            Ok(parsed) => parsed,
            Err(error) if known.len() < unit.bytes.len() && is_truncated(&error) => {
                let more = (2 * front).max(FRONT_BYTES);
                return Ok(Reach::Front(more.min(unit.bytes.len())));
            }
            Err(error) => return Err(error),
        };
        if range.is_empty() {
            return Ok(Reach::bytes(0..0));
        }
        // Values of a group are interleaved, so it is read whole.
        let first = range.start as usize / GROUP_VALUES;
        let last = (range.end - 1) as usize / GROUP_VALUES;
        let start = parsed.group_start(first, GroupStart::default());
        let last_start = parsed.group_start(
            last,
            GroupStart {
                group: first,
                start,
            },
        );
        let end = last_start + parsed.group(last).packed_bytes();
        let packed_at = reader.position();
        Ok(Reach::bytes(packed_at + start..packed_at + end))
    }

    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: tarsia_codec::Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        let Some(range) = predicate.numbers(self.value_bytes) else {
            return Ok(false);
        };
        let start = match selection {
            Selection::All => 0,
            Selection::Range { start, .. } => start as usize,
            Selection::Indices(_) => return Ok(false),
        };
        let mut out = tarsia_codec::toolbox::BitsOut::new(out, selection.check(unit.len)?)?;
        let unit = Unit::parse(unit.bytes, unit.len as usize, self.value_bytes, self.mode)?;
        match self.value_bytes {
            1 => unit.find_within::<1>(start, range, scratch, &mut out),
            2 => unit.find_within::<2>(start, range, scratch, &mut out),
            4 => unit.find_within::<4>(start, range, scratch, &mut out),
            _ => unit.find_within::<8>(start, range, scratch, &mut out),
        }?;
        Ok(true)
    }
}

#[cfg(not(feature = "kernel"))]
fn is_truncated(error: &Error) -> bool {
    matches!(error.kind(), tarsia_codec::ErrorKind::Truncated { .. })
}

/// The const argument of code that reads the bytes of a value from the unit instead of being compiled for them.
const ANY: usize = 0;

/// True in Wasm kernels, which must be small: one copy of the code below serves the four widths.
const ONE_COPY: bool = cfg!(feature = "kernel");

/// Unpacking a whole group (about 60 ns, and 1.2 ns per value copied) is faster than single lookups (4.6 ns each) above
/// this many of [`GROUP_VALUES`] (benches/codec.rs, `indices_u32`).
const LOOKUPS_PER_GROUP_MAX: usize = 24;

/// The loops refuse only lengths that do not match, which parsing has checked.
fn bits_error(_: tarsia_bits::Error) -> Error {
    Error::invalid("packed values do not fit the unit")
}

/// `B` is the bytes of a value, or [`ANY`].
impl Unit<'_> {
    #[inline(always)]
    fn bytes<const B: usize>(&self) -> usize {
        match B {
            // Never zero. `max` tells the compiler, so that divisions need no panic.
            ANY => self.value_bytes.max(1),
            bytes => bytes,
        }
    }

    fn select<const B: usize>(
        &self,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let start = match selection {
            Selection::All => 0,
            Selection::Range { start, .. } => start as usize,
            Selection::Indices(indices) => {
                return self.decode_indices::<B>(indices, scratch, to);
            }
        };
        self.decode_range::<B>(start, to)
    }

    /// Decodes the values from `start` on, as many as fit `to`. The caller has checked that they exist.
    #[inline(never)]
    fn decode_range<const B: usize>(&self, start: usize, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        if self.is_uniform() {
            let (width, base) = (self.form.width.into(), self.base);
            self.unpack::<B>(self.packed, self.n_values, width, base, start, to)?;
        } else {
            self.unpack_groups::<B>(start, to)?;
        }
        self.patch_range::<B>(start, to)
    }

    /// The unpacking loop of `tarsia-bits` for values of this width.
    #[inline(always)]
    fn unpack<const B: usize>(
        &self,
        packed: &[u8],
        n_values: usize,
        width: u32,
        base: u64,
        start: usize,
        to: &mut [u8],
    ) -> Result<()> {
        unpack_range_of(self.bytes::<B>(), packed, n_values, width, base, start, to)
            .map_err(bits_error)
    }

    fn unpack_groups<const B: usize>(&self, start: usize, mut to: &mut [u8]) -> Result<()> {
        let first = start / GROUP_VALUES;
        let mut at = self.group_start(first, GroupStart::default());
        let mut in_group = start % GROUP_VALUES;
        for index in first.. {
            if to.is_empty() {
                break;
            }
            let group = self.group(index);
            let values = group.n_values.saturating_sub(in_group);
            let wanted = values.min(to.len() / self.bytes::<B>()) * self.bytes::<B>();
            let parts = core::mem::take(&mut to).split_at_mut_checked(wanted);
            let Some((now, later)) = parts.filter(|_| wanted > 0) else {
                return Err(Error::invalid("a range reaches beyond its unit"));
            };
            let packed = self.group_packed(at, &group);
            let (width, base) = (group.width, group.base);
            self.unpack::<B>(packed, group.n_values, width, base, in_group, now)?;
            at += packed.len();
            in_group = 0;
            to = later;
        }
        Ok(())
    }

    /// Index of the first patch at or after `value`.
    pub(crate) fn first_patch(&self, value: usize) -> usize {
        if value == 0 {
            return 0;
        }
        let before = |at: &[u8; POSITION_BYTES]| usize::from(u16::from_le_bytes(*at)) < value;
        self.positions.partition_point(before)
    }

    /// Applies patches to `to`, which holds the unpacked values from `start` on.
    pub(crate) fn patch_range<const B: usize>(&self, start: usize, to: &mut [u8]) -> Result<()> {
        if self.positions.is_empty() {
            return Ok(());
        }
        let end = start + to.len() / self.bytes::<B>();
        let mut patch = self.first_patch(start);
        let mut next = start;
        while patch < self.positions.len() {
            let position = self.position(patch);
            if position < next || position >= self.n_values {
                return Err(Error::corrupt(
                    "bitpack.positions",
                    self.positions_at + patch * POSITION_BYTES,
                    position as u64,
                    "strictly rising and below the number of values",
                ));
            }
            if position >= end {
                break;
            }
            let index = position / GROUP_VALUES;
            let first = next.max(index * GROUP_VALUES);
            let beyond = end.min((index + 1) * GROUP_VALUES);
            let places = (first - start) * self.bytes::<B>()..(beyond - start) * self.bytes::<B>();
            let to = to.get_mut(places).unwrap_or_default();
            let n_patched = match self.bytes::<B>() {
                1 => self.patch_group::<1>(patch, first, index, to),
                2 => self.patch_group::<2>(patch, first, index, to),
                4 => self.patch_group::<4>(patch, first, index, to),
                _ => self.patch_group::<8>(patch, first, index, to),
            };
            if n_patched == 0 {
                self.patch_shifted(patch, position)?;
                return Err(Error::invalid("a patch without its value"));
            }
            patch += n_patched;
            next = self.position(patch - 1) + 1;
        }
        Ok(())
    }

    /// Applies the patches from `patch` on to `to`, the values from `first` on of group `index`. Returns the number
    /// applied: it stops at the first patch that does not follow the one before, is outside of `to`, or has too many
    /// bits.
    #[inline(never)]
    fn patch_group<const B: usize>(
        &self,
        patch: usize,
        first: usize,
        index: usize,
        to: &mut [u8],
    ) -> usize {
        let high_bytes = usize::from(self.form.patch_bytes).max(1);
        let positions = self.positions.get(patch..).unwrap_or_default();
        let highs = self.patch_highs.get(patch * high_bytes..);
        let highs = highs.unwrap_or_default().chunks_exact(high_bytes);
        let width = self.width(index);
        let Some(spare) = spare_bits(width, B as u32 * 8) else {
            return 0;
        };
        let to = to.as_chunks_mut::<B>().0;
        let mut next = 0;
        let mut n_patched = 0;
        for (position, high) in positions.iter().zip(highs) {
            let at = usize::from(u16::from_le_bytes(*position)).wrapping_sub(first);
            let high = high_part(high);
            let Some(value) = to.get_mut(at).filter(|_| at >= next && high & spare == 0) else {
                break;
            };
            let unpacked = read_value(value).unwrap_or_default();
            write_value(unpacked.wrapping_add(high.wrapping_shl(width)), value);
            next = at + 1;
            n_patched += 1;
        }
        n_patched
    }

    /// The number that patch `patch` adds to the value at `position`.
    #[inline]
    fn patch_shifted(&self, patch: usize, position: usize) -> Result<u64> {
        let patch_bytes = usize::from(self.form.patch_bytes);
        let at = patch * patch_bytes;
        let high = high_part(
            self.patch_highs
                .get(at..at + patch_bytes)
                .unwrap_or_default(),
        );
        let width = self.width(position / GROUP_VALUES);
        if spare_bits(width, self.value_bytes as u32 * 8).is_none_or(|spare| high & spare != 0) {
            return Err(Error::corrupt(
                "bitpack.patch_highs",
                self.patch_highs_at + at,
                high,
                "no bits beyond those of a value",
            ));
        }
        Ok(high << width)
    }

    /// Decodes the values at rising `indices`. The caller has checked that they exist.
    fn decode_indices<const B: usize>(
        &self,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let (mut indices, mut to) = (indices, to);
        // A group and where it starts, so that the widths of earlier groups are summed once.
        let mut known = GroupStart::default();
        while let Some(first) = indices.first() {
            let index = *first as usize / GROUP_VALUES;
            let here = indices.partition_point(|i| *i as usize / GROUP_VALUES <= index);
            let (now, later) = indices.split_at_checked(here).unwrap_or_default();
            let n_bytes = here * self.bytes::<B>();
            let Some((to_now, to_later)) = core::mem::take(&mut to).split_at_mut_checked(n_bytes)
            else {
                return Err(Error::invalid("the output is too short for the selection"));
            };
            let group = self.group(index);
            known = GroupStart {
                group: index,
                start: self.group_start(index, known),
            };
            let packed = self.group_packed(known.start, &group);
            let start = index * GROUP_VALUES;
            if now.len() * GROUP_VALUES > group.n_values * LOOKUPS_PER_GROUP_MAX {
                self.gather_group::<B>(&group, packed, start, now, scratch, to_now)?;
            } else {
                self.lookup::<B>(&group, packed, start, now, to_now)?;
            }
            (indices, to) = (later, to_later);
        }
        Ok(())
    }

    /// Decodes many values of a group: unpacks all of it and copies those selected.
    fn gather_group<const B: usize>(
        &self,
        group: &Group,
        packed: &[u8],
        start: usize,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let bytes = self.bytes::<B>();
        let mut all = scratch.take(group.n_values * bytes);
        let (width, base) = (group.width, group.base);
        let done = self
            .unpack::<B>(packed, group.n_values, width, base, 0, &mut all)
            .and_then(|()| self.patch_range::<B>(start, &mut all));
        match B {
            1 => pick::<1>(&all, start, indices, to),
            2 => pick::<2>(&all, start, indices, to),
            4 => pick::<4>(&all, start, indices, to),
            8 => pick::<8>(&all, start, indices, to),
            _ => pick_any(&all, bytes, start, indices, to),
        }
        scratch.give(all);
        done
    }

    /// Decodes few values of a group: one lookup each.
    fn lookup<const B: usize>(
        &self,
        group: &Group,
        packed: &[u8],
        start: usize,
        indices: &[u32],
        to: &mut [u8],
    ) -> Result<()> {
        let bytes = self.bytes::<B>();
        let first = indices.first().copied().unwrap_or_default();
        let mut patch = self.first_patch(first as usize);
        for (index, to) in indices.iter().zip(to.chunks_exact_mut(bytes)) {
            let index = *index as usize;
            let (width, base) = (group.width, group.base);
            let mut value =
                unpack_one_of(bytes, packed, group.n_values, width, base, index - start)
                    .map_err(bits_error)?;
            while patch < self.positions.len() && self.position(patch) < index {
                patch += 1;
            }
            if patch < self.positions.len() && self.position(patch) == index {
                value = value.wrapping_add(self.patch_shifted(patch, index)?);
            }
            write_value(value, to);
        }
        Ok(())
    }
}

/// The high part of a patch: up to 8 bytes.
#[inline(always)]
fn high_part(bytes: &[u8]) -> u64 {
    match bytes {
        [byte] => (*byte).into(),
        // Combined in a register: a load of bytes that were just stored one by one would wait for the stores.
        bytes => {
            let mut high = 0;
            for (i, byte) in bytes.iter().take(8).enumerate() {
                high |= u64::from(*byte) << (8 * i);
            }
            high
        }
    }
}

/// The bits of a high part that a shift by `width` would move out of a value of `bits` bits. They must be zero. `None`
/// at full width, where there is no high part.
fn spare_bits(width: u32, bits: u32) -> Option<u64> {
    match width {
        0 => Some(0),
        width if width < bits => Some(u64::MAX << (bits - width)),
        _ => None,
    }
}

/// Copies the values at `indices` minus `start`. Not inlined, so that its loop has all registers.
#[inline(never)]
fn pick<const B: usize>(values: &[u8], start: usize, indices: &[u32], to: &mut [u8]) {
    let values = values.as_chunks::<B>().0;
    for (index, to) in indices.iter().zip(to.as_chunks_mut::<B>().0) {
        if let Some(value) = values.get((*index as usize).wrapping_sub(start)) {
            *to = *value;
        }
    }
}

/// [`pick`] for a width known only at run time. A copy of such a length would be a call; this is a branch to one of
/// four moves.
#[inline(always)]
fn pick_any(values: &[u8], bytes: usize, start: usize, indices: &[u32], to: &mut [u8]) {
    for (index, to) in indices.iter().zip(to.chunks_exact_mut(bytes)) {
        let from = (*index as usize).wrapping_sub(start).wrapping_mul(bytes);
        let value = values.get(from..).and_then(|rest| rest.get(..bytes));
        if let Some(value) = value.and_then(read_value) {
            write_value(value, to);
        }
    }
}
