//! The decoder: the planes of the groups that are needed, and from these the values, 128 at a time.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    AlignedBuf, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Bitshuffle;
use crate::layout::{self, GROUP_ROWS, GROUP_VALUES, ID, PLANES_TYPE, Planes, ROW_VALUES, VERSION};
use crate::shuffle::{Shuffler, TILE_ROWS, TILE_VALUES, Tile};

/// Single values are decoded from their own rows if these are at most one in so many rows of their groups.
const ROWS_PER_SELECTED_ROW: usize = 16;

impl Encoding for Bitshuffle {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::value_bytes(node)?;
        Ok(NodeSpec::with_children(&[PLANES_TYPE]))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [planes] = children_of(children)?;
        Ok(Box::new(UnitDecoder {
            value_bytes: layout::value_bytes(node)?,
            planes,
        }))
    }
}

struct UnitDecoder {
    value_bytes: usize,
    planes: Box<dyn Decoder>,
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
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let planes = Planes::new(unit.len as usize, self.value_bytes)?;
        match selection {
            Selection::All => self.range(&unit, planes, 0..unit.len, scratch, to),
            Selection::Range { start, len } => {
                self.range(&unit, planes, start..start + len, scratch, to)
            }
            Selection::Indices(indices) => self.indices(&unit, planes, indices, scratch, to),
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
        Selection::from(&range).check(unit.len)?;
        let planes = Planes::new(unit.len as usize, self.value_bytes)?;
        let place = planes.place_of_values(&range);
        let place = place.start as u32..place.end as u32;
        self.planes
            .reach(planes_unit(&unit, planes), front, place, scratch)
    }
}

/// The child's unit.
fn planes_unit<'a>(unit: &Unit<'a>, planes: Planes) -> Unit<'a> {
    Unit {
        bytes: unit.bytes,
        len: planes.n_bytes,
        decoded_bytes: planes.n_bytes,
    }
}

impl UnitDecoder {
    /// Decodes `values`, from the planes of their groups.
    fn range(
        &self,
        unit: &Unit<'_>,
        planes: Planes,
        values: Range<u32>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let place = planes.place_of_values(&values);
        let selection = match place.len() == planes.n_bytes as usize {
            true => Selection::All,
            false => Selection::from(&(place.start as u32..place.end as u32)),
        };
        let mut bytes = scratch.take(place.len());
        let out = Output::Fixed(&mut bytes);
        let of_child = planes_unit(unit, planes);
        let done = self.planes.decode(of_child, selection, scratch, out);
        let done = done.and_then(|_| match self.value_bytes {
            1 => unshuffle::<1>(&bytes, planes, values, to),
            2 => unshuffle::<2>(&bytes, planes, values, to),
            4 => unshuffle::<4>(&bytes, planes, values, to),
            _ => unshuffle::<8>(&bytes, planes, values, to),
        });
        scratch.give(bytes);
        done
    }

    /// Decodes the values at rising `indices`.
    fn indices(
        &self,
        unit: &Unit<'_>,
        planes: Planes,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
            return self.range(unit, planes, 0..0, scratch, to);
        };
        let n_rows = by_row(indices).count();
        let place = planes.place_of_values(&(*first..*last + 1));
        let n_rows_around = place.len() / planes.n_planes();
        if n_rows * ROWS_PER_SELECTED_ROW <= n_rows_around {
            return self.rows_of(unit, planes, indices, n_rows, scratch, to);
        }
        let width = self.value_bytes;
        let mut around = scratch.take((last - first + 1) as usize * width);
        let done = self.range(unit, planes, *first..*last + 1, scratch, &mut around);
        if done.is_ok() {
            for (to, index) in to.chunks_exact_mut(width).zip(indices) {
                let at = (index - first) as usize * width;
                let from = around.get(at..at + width).unwrap_or_default();
                to.copy_from_slice(from);
            }
        }
        scratch.give(around);
        done
    }

    /// Decodes the values at rising `indices`, which lie in `n_rows` rows, from the bytes of these rows alone. The
    /// child is called once, since some children decode a whole unit in each call.
    fn rows_of(
        &self,
        unit: &Unit<'_>,
        planes: Planes,
        indices: &[u32],
        n_rows: usize,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let n_bytes = n_rows * planes.n_planes();
        let mut bytes = scratch.take(n_bytes);
        let done = scratch.with_values(n_bytes, |places, scratch| {
            self.rows(unit, planes, indices, places, &mut bytes, scratch)
        });
        let done = done.and_then(|()| unshuffle_rows(&bytes, planes, indices, to));
        scratch.give(bytes);
        done
    }

    /// Decodes to `bytes`, for each group that holds some of `indices`, planes of the rows of these alone.
    fn rows(
        &self,
        unit: &Unit<'_>,
        planes: Planes,
        indices: &[u32],
        places: &mut [u32],
        bytes: &mut AlignedBuf,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut to = places.iter_mut();
        for of_group in by_group(indices) {
            let group = of_group.first().map_or(0, |first| group_of(*first));
            let place = planes.place_of(group);
            let n_rows = place.len() / planes.n_planes();
            for plane in 0..planes.n_planes() {
                let plane_at = place.start + plane * n_rows;
                for of_row in by_row(of_group) {
                    let row = of_row.first().map_or(0, |first| row_of(*first)) % GROUP_ROWS;
                    if let Some(to) = to.next() {
                        *to = (plane_at + row) as u32;
                    }
                }
            }
        }
        let (of_child, out) = (planes_unit(unit, planes), Output::Fixed(bytes));
        let selection = Selection::Indices(places);
        self.planes.decode(of_child, selection, scratch, out)?;
        Ok(())
    }
}

fn group_of(index: u32) -> usize {
    index as usize / GROUP_VALUES
}

fn row_of(index: u32) -> usize {
    index as usize / ROW_VALUES
}

/// The parts of rising `indices` that lie in one group.
fn by_group(indices: &[u32]) -> impl Iterator<Item = &[u32]> {
    indices.chunk_by(|a, b| group_of(*a) == group_of(*b))
}

/// The parts of rising `indices` that lie in one row.
fn by_row(indices: &[u32]) -> impl Iterator<Item = &[u32]> {
    indices.chunk_by(|a, b| row_of(*a) == row_of(*b))
}

/// Writes `values`, whose groups have the planes `bytes`.
fn unshuffle<const S: usize>(
    mut bytes: &[u8],
    planes: Planes,
    values: Range<u32>,
    mut to: &mut [u8],
) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let mut shuffler = Shuffler::<S>::new();
    let (start, end) = (values.start as usize, values.end as usize);
    for group in start / GROUP_VALUES..end.div_ceil(GROUP_VALUES) {
        let of_group = planes.values_of(group);
        let n_bytes = planes.place_of(group).len();
        let from = start.max(of_group.start) - of_group.start;
        let until = end.min(of_group.end) - of_group.start;
        let parts = bytes.split_at_checked(n_bytes);
        let filled = core::mem::take(&mut to).split_at_mut_checked((until - from) * S);
        let (Some((of_group, later)), Some((filled, left))) = (parts, filled) else {
            return Err(misfit());
        };
        (bytes, to) = (later, left);
        let n_rows = n_bytes / planes.n_planes();
        if planes.values_of(group).end == planes.n_values {
            check_spare(of_group, n_rows, planes)?;
        }
        unshuffle_group(&mut shuffler, of_group, n_rows, from, filled);
    }
    Ok(())
}

/// Writes the values from `from` on of a group, whose planes have `n_rows` bytes each.
fn unshuffle_group<const S: usize>(
    shuffler: &mut Shuffler<S>,
    planes: &[u8],
    n_rows: usize,
    from: usize,
    mut to: &mut [u8],
) {
    let (mut first_row, mut skipped) = (from / ROW_VALUES, from % ROW_VALUES);
    while !to.is_empty() {
        let n = (TILE_VALUES - skipped).min(to.len() / S);
        let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(n * S) else {
            return;
        };
        let words = now.as_chunks_mut().0.as_chunks_mut().0;
        match words.first_chunk_mut() {
            Some(tile) => shuffler.values_of(planes, n_rows, first_row, tile),
            None => {
                let mut tile: Tile<S> = [[[0; 8]; S]; TILE_ROWS];
                shuffler.values_of(planes, n_rows, first_row, &mut tile);
                let values = tile.as_flattened().as_flattened();
                let values = values.get(skipped * S..(skipped + n) * S);
                now.copy_from_slice(values.unwrap_or_default());
            }
        }
        (first_row, skipped, to) = (first_row + TILE_ROWS, 0, later);
    }
}

/// Writes the values at rising `indices` from planes of their rows alone.
fn unshuffle_rows(mut bytes: &[u8], planes: Planes, indices: &[u32], to: &mut [u8]) -> Result<()> {
    let mut to = to.chunks_exact_mut(planes.value_bytes);
    for of_group in by_group(indices) {
        let n_rows = by_row(of_group).count();
        let Some((now, later)) = bytes.split_at_checked(n_rows * planes.n_planes()) else {
            return Err(misfit());
        };
        bytes = later;
        let last = of_group.last().map_or(0, |last| row_of(*last));
        if (last + 1) * ROW_VALUES >= planes.n_values {
            check_spare(now, n_rows, planes)?;
        }
        for (row, of_row) in by_row(of_group).enumerate() {
            for (index, to) in of_row.iter().zip(&mut to) {
                let value = value_of(now, n_rows, row, index % ROW_VALUES as u32);
                for (to, from) in to.iter_mut().zip(value.to_le_bytes()) {
                    *to = from;
                }
            }
        }
    }
    Ok(())
}

/// The value that has bit `place` of byte `row` of each plane. `planes` have `n_rows` bytes each.
fn value_of(planes: &[u8], n_rows: usize, row: usize, place: u32) -> u64 {
    let mut value = 0;
    for (i, plane) in planes.chunks_exact(n_rows).enumerate() {
        let byte = plane.get(row).copied().unwrap_or_default();
        value |= u64::from(byte >> place & 1) << (i % 64);
    }
    value
}

/// Refuses spare bits that are set in the last row of a unit. `bytes` are planes of the last group, of `n_rows` bytes
/// each, the last of which is of that row.
fn check_spare(bytes: &[u8], n_rows: usize, planes: Planes) -> Result<()> {
    let n_used = planes.n_values % ROW_VALUES;
    if n_used == 0 {
        return Ok(());
    }
    for (i, plane) in bytes.chunks_exact(n_rows.max(1)).enumerate() {
        let spare = plane.last().map_or(0, |last| last >> n_used);
        if spare != 0 {
            let group = planes.place_of((planes.n_values - 1) / GROUP_VALUES);
            let at = group.start + (i + 1) * (group.len() / planes.n_planes()) - 1;
            return Err(Error::corrupt("bitshuffle.spare", at, spare, "zero"));
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}
