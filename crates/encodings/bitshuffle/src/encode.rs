//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BlockChild, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Bitshuffle;
use crate::layout::{GROUP_VALUES, PLANES_TYPE, Planes, planes_bytes};
use crate::shuffle::{Shuffler, TILE_ROWS, TILE_VALUES, Tile};

impl EncodingWriter for Bitshuffle {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let width = fixed.width();
        if !proposals.is_named() || !matches!(width, 1 | 2 | 4 | 8) || fixed.is_empty() {
            return Ok(());
        }
        // Those of blocks, unless a block ends inside of a group.
        let Ok(planes) = planes(&fixed) else {
            return Ok(());
        };
        let unit_bytes = values.unit_values().saturating_mul(width);
        let child = Part::owned(Rc::new(planes), LogicalType::Unsigned);
        proposals.push(Proposal {
            children: vec![child.in_longer_units_of(unit_bytes)],
            ..Proposal::leaf(self, 0)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let fixed = values.as_fixed()?;
        // Bits of other values share a byte in a block that starts or ends inside of a group of the page.
        let none = || OwnedValues::copy_of(values.slice(0..0));
        let child = page.block_child(0, || planes(&fixed).unwrap_or_else(|_| none()))?;
        Ok(Box::new(UnitEncoder { child }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let width = node.value_type.fixed_bytes().unwrap_or(0);
        let bytes = planes_bytes(n_values, width);
        child(0, PLANES_TYPE, bytes, bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Bits move to other bytes: planes of the remaining values have bytes that no plane had before.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        // Not any values: no unit holds planes of more than 2^31 bytes.
        let sample = |width| Sample {
            holds_any: false,
            ..Sample::any(ValueType::Fixed(width), &[])
        };
        [8, 4, 2, 1].map(sample).into()
    }
}

/// The planes of values, one group after the other.
fn planes(values: &FixedSlice<'_>) -> Result<OwnedValues> {
    let planes = Planes::new(values.len(), values.width())?;
    let len = planes.n_bytes as usize;
    let mut bytes = AlignedBuf::zeroed(len);
    match values.width() {
        1 => shuffle::<1>(values, planes, &mut bytes),
        2 => shuffle::<2>(values, planes, &mut bytes),
        4 => shuffle::<4>(values, planes, &mut bytes),
        _ => shuffle::<8>(values, planes, &mut bytes),
    }
    Ok(OwnedValues::Fixed {
        bytes,
        width: 1,
        len,
    })
}

fn shuffle<const S: usize>(values: &FixedSlice<'_>, planes: Planes, to: &mut [u8]) {
    let mut shuffler = Shuffler::<S>::new();
    for group in 0..planes.n_values.div_ceil(GROUP_VALUES) {
        let of_group = values.slice(planes.values_of(group));
        let place = planes.place_of(group);
        let n_rows = place.len() / planes.n_planes();
        let to = to.get_mut(place).unwrap_or_default();
        for (i, of_tile) in of_group.bytes().chunks(TILE_VALUES * S).enumerate() {
            let mut tile: Tile<S> = [[[0; 8]; S]; TILE_ROWS];
            let bytes = tile.as_flattened_mut().as_flattened_mut();
            bytes[..of_tile.len()].copy_from_slice(of_tile);
            let rows = i * TILE_ROWS..n_rows.min((i + 1) * TILE_ROWS);
            let planes = shuffler.planes_of(&tile);
            for (to, plane) in to.chunks_exact_mut(n_rows).zip(planes) {
                let to = to.get_mut(rows.clone()).unwrap_or_default();
                let bytes = plane.map(u64::to_le_bytes);
                to.copy_from_slice(&bytes.as_flattened()[..to.len()]);
            }
        }
    }
}

struct UnitEncoder {
    child: BlockChild,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let planes = planes(&block.values().as_fixed()?)?;
        self.child.encode(planes.as_values()?, out)
    }
}
