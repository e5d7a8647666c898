//! Decoding: the fused kernel first, then patches.

use tarsia_bits::{Word, unpack_one, unpack_range};
use tarsia_codec::{Decoder, Error, Output, Result, Scratch, Selection};

use crate::layout::{GROUP_VALUES, Group, Mode, POSITION_BYTES, Unit};

/// A node: the type of its values and what its parameters promise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitpackDecoder {
    pub(crate) value_bytes: usize,
    pub(crate) mode: Mode,
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
            1 => unit.select::<u8>(selection, scratch, to),
            2 => unit.select::<u16>(selection, scratch, to),
            4 => unit.select::<u32>(selection, scratch, to),
            _ => unit.select::<u64>(selection, scratch, to),
        }?;
        Ok(0)
    }
}

/// Unpacking a whole group (about 60 ns, and 1.2 ns per value copied) beats looking values up one by one (4.6 ns each)
/// above this many of [`GROUP_VALUES`] (benches/codec.rs, `indices_u32`).
const LOOKUPS_PER_GROUP_MAX: usize = 24;

/// Kernels refuse only lengths that do not fit, and those were checked while parsing.
fn kernel_error(_: tarsia_bits::Error) -> Error {
    Error::invalid("packed values do not fit the unit")
}

impl Unit<'_> {
    fn select<T: Word>(
        &self,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        match selection {
            Selection::All => self.decode_range::<T>(0, to),
            Selection::Range { start, .. } => self.decode_range::<T>(start as usize, to),
            Selection::Indices(indices) => self.decode_indices::<T>(indices, scratch, to),
        }
    }

    /// Values from `start` on, as many as `to` holds, which exist.
    pub(crate) fn decode_range<T: Word>(&self, start: usize, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        if self.is_uniform() {
            let width = self.form.width.into();
            unpack_range::<T>(
                self.packed,
                self.n_values,
                width,
                T::from_u64(self.base),
                start,
                to,
            )
            .map_err(kernel_error)?;
        } else {
            self.unpack_groups::<T>(start, to)?;
        }
        self.patch_range::<T>(start, to)
    }

    fn unpack_groups<T: Word>(&self, start: usize, mut to: &mut [u8]) -> Result<()> {
        let first = start / GROUP_VALUES;
        let mut at = self.group_start(first, (0, 0));
        let mut in_group = start % GROUP_VALUES;
        for index in first.. {
            if to.is_empty() {
                break;
            }
            let group = self.group(index);
            let wanted = (group.n_values.saturating_sub(in_group)).min(to.len() / T::BYTES);
            if wanted == 0 {
                return Err(Error::invalid("a range reaches beyond its unit"));
            }
            let (now, later) = core::mem::take(&mut to).split_at_mut(wanted * T::BYTES);
            let packed = self.group_packed(at, &group);
            unpack_range::<T>(
                packed,
                group.n_values,
                group.width,
                T::from_u64(group.base),
                in_group,
                now,
            )
            .map_err(kernel_error)?;
            at += packed.len();
            in_group = 0;
            to = later;
        }
        Ok(())
    }

    /// Number of the first patch at `value` or behind it.
    fn first_patch(&self, value: usize) -> usize {
        if value == 0 {
            return 0;
        }
        let before = |at: &[u8; POSITION_BYTES]| usize::from(u16::from_le_bytes(*at)) < value;
        self.positions.partition_point(before)
    }

    /// Applies the patches of the values from `start` on to `to`, which holds them unpacked.
    fn patch_range<T: Word>(&self, start: usize, to: &mut [u8]) -> Result<()> {
        if self.positions.is_empty() {
            return Ok(());
        }
        let end = start + to.len() / T::BYTES;
        let mut last = None;
        for patch in self.first_patch(start)..self.positions.len() {
            let position = self.position(patch);
            if last.is_some_and(|last| last >= position) || position >= self.n_values {
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
            last = Some(position);
            let shifted = self.patch_shifted(patch, position)?;
            let at = position.saturating_sub(start) * T::BYTES;
            if let Some(value) = to.get_mut(at..at + T::BYTES)
                && let Some(unpacked) = T::read_le(value)
            {
                unpacked.wrapping_add(T::from_u64(shifted)).write_le(value);
            }
        }
        Ok(())
    }

    /// What patch `patch` adds to the value at `position`.
    fn patch_shifted(&self, patch: usize, position: usize) -> Result<u64> {
        let patch_bytes = usize::from(self.form.patch_bytes);
        let at = patch * patch_bytes;
        let mut high = [0; 8];
        let bytes = self.patch_highs.get(at..at + patch_bytes);
        for (to, from) in high.iter_mut().zip(bytes.unwrap_or_default()) {
            *to = *from;
        }
        let high = u64::from_le_bytes(high);
        let width = self.width(position / GROUP_VALUES);
        let bits = self.value_bytes as u32 * 8;
        // Bits that the shift would push out of the value are spare, and so zero; at full width all are.
        let fits = match width {
            0 => true,
            width if width < bits => high >> (bits - width) == 0,
            _ => false,
        };
        if !fits {
            return Err(Error::corrupt(
                "bitpack.patch_highs",
                self.patch_highs_at + at,
                high,
                "no bits beyond those of a value",
            ));
        }
        Ok(high << width)
    }

    /// Values at rising `indices`, which exist.
    fn decode_indices<T: Word>(
        &self,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let (mut indices, mut to) = (indices, to);
        // Where the group before started, so that widths are added up once.
        let mut known = (0, 0);
        while let Some(first) = indices.first() {
            let index = *first as usize / GROUP_VALUES;
            let here = indices.partition_point(|i| *i as usize / GROUP_VALUES <= index);
            let (now, later) = indices.split_at(here);
            let (to_now, to_later) = core::mem::take(&mut to).split_at_mut(here * T::BYTES);
            let group = self.group(index);
            known = (index, self.group_start(index, known));
            let packed = self.group_packed(known.1, &group);
            let start = index * GROUP_VALUES;
            if now.len() * GROUP_VALUES > group.n_values * LOOKUPS_PER_GROUP_MAX {
                self.gather_group::<T>(&group, packed, start, now, scratch, to_now)?;
            } else {
                self.lookup::<T>(&group, packed, start, now, to_now)?;
            }
            (indices, to) = (later, to_later);
        }
        Ok(())
    }

    /// Many values of a group: unpacks all of it and picks.
    fn gather_group<T: Word>(
        &self,
        group: &Group,
        packed: &[u8],
        start: usize,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let mut all = scratch.take(group.n_values * T::BYTES);
        let done = unpack_range::<T>(
            packed,
            group.n_values,
            group.width,
            T::from_u64(group.base),
            0,
            &mut all,
        )
        .map_err(kernel_error)
        .and_then(|()| self.patch_range::<T>(start, &mut all));
        for (index, to) in indices.iter().zip(to.chunks_exact_mut(T::BYTES)) {
            let from = (*index as usize - start) * T::BYTES;
            if let Some(value) = all.get(from..from + T::BYTES) {
                to.copy_from_slice(value);
            }
        }
        scratch.give(all);
        done
    }

    /// Few values of a group: one lookup each.
    fn lookup<T: Word>(
        &self,
        group: &Group,
        packed: &[u8],
        start: usize,
        indices: &[u32],
        to: &mut [u8],
    ) -> Result<()> {
        let first = indices.first().copied().unwrap_or_default();
        let mut patch = self.first_patch(first as usize);
        for (index, to) in indices.iter().zip(to.chunks_exact_mut(T::BYTES)) {
            let index = *index as usize;
            let (width, base) = (group.width, T::from_u64(group.base));
            let mut value = unpack_one::<T>(packed, group.n_values, width, base, index - start)
                .map_err(kernel_error)?;
            while patch < self.positions.len() && self.position(patch) < index {
                patch += 1;
            }
            if patch < self.positions.len() && self.position(patch) == index {
                let shifted = self.patch_shifted(patch, index)?;
                value = value.wrapping_add(T::from_u64(shifted));
            }
            value.write_le(to);
        }
        Ok(())
    }

    /// The value at `index`.
    pub(crate) fn decode_one<T: Word>(&self, index: usize) -> Result<T> {
        if index >= self.n_values {
            return Err(Error::invalid("an index reaches beyond its unit"));
        }
        let number = index / GROUP_VALUES;
        let group = self.group(number);
        let packed = self.group_packed(self.group_start(number, (0, 0)), &group);
        let mut value = [0; 8];
        let index = u32::try_from(index).map_err(|_| Error::invalid("an index beyond 32 bits"))?;
        let start = number * GROUP_VALUES;
        self.lookup::<T>(&group, packed, start, &[index], &mut value[..T::BYTES])?;
        Ok(T::from_u64(u64::from_le_bytes(value)))
    }
}
