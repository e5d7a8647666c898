//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use lz4_flex::block::{compress_into, get_maximum_output_size};
use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Error, Node, PageEncoder, Prepare, Proposal, Proposals,
    Result, Sample, Statistics, ValueType, Values, limits,
};

use crate::Lz4;
use crate::layout;

/// Fewer bytes of values, or a better tree of fewer bytes, leave nothing to win.
const BYTES_MIN: u64 = 2 << 10;

/// The payload that blocks aim at. Copies reach back 64 KiB, which about half of a block's bytes have before them: text
/// is 2 to 4 % larger than in one block of any size.
const PAYLOAD_BYTES: usize = 64 << 10;

/// The most bytes that a proposal compresses at once: about those of a block.
const PIECE_BYTES: usize = 2 * PAYLOAD_BYTES;

impl EncodingWriter for Lz4 {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let to_beat = proposals.bytes_to_beat().min(fixed.bytes().len() as u64);
        if !proposals.is_named() || proposals.must_fit() || to_beat < BYTES_MIN {
            return Ok(());
        }
        let unit_bytes = values.unit_values().saturating_mul(fixed.width());
        let trial = values.cached(|| Trial(trial_bytes(fixed.bytes(), unit_bytes)));
        let bytes = trial.0.clone()?;
        if bytes < to_beat {
            proposals.push(Proposal {
                is_uniform: false,
                block_bytes: PAYLOAD_BYTES,
                ..Proposal::leaf(self, bytes)
            });
        }
        Ok(())
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let value_bytes = layout::value_bytes(node)?;
        Ok(Box::new(UnitEncoder { value_bytes }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let Ok(value_bytes) = layout::value_bytes(node) else {
            return u64::MAX;
        };
        // A sequence takes no more than its bytes, and a byte for each 255 of its literals. The last one has no copy.
        let n_bytes = n_values.saturating_mul(value_bytes as u64);
        n_bytes.saturating_add(n_bytes / 255 + 2)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // What was a copy of erased bytes may have to be stored.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        // Not any values: a unit has a limit.
        let sample = |width| Sample {
            holds_any: false,
            ..Sample::any(ValueType::Fixed(width), &[])
        };
        [1, 2, 4, 8, 3, 16].map(sample).into()
    }
}

/// The bytes that all units of a page are expected to take.
struct Trial(Result<u64>);

fn trial_bytes(bytes: &[u8], unit_bytes: usize) -> Result<u64> {
    let (mut block, mut n_bytes) = (Vec::new(), 0);
    for piece in bytes.chunks(unit_bytes.clamp(1, PIECE_BYTES)) {
        block.clear();
        compress(piece, &mut block)?;
        n_bytes += block.len() as u64;
    }
    Ok(n_bytes)
}

/// Appends the block of `bytes`.
fn compress(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.resize(start + get_maximum_output_size(bytes.len()), 0);
    let to = out.get_mut(start..).unwrap_or_default();
    let written = compress_into(bytes, to);
    let written =
        written.map_err(|_| Error::invalid("a block exceeds the bound of its library"))?;
    out.truncate(start + written);
    layout::check_unit(written)
}

struct UnitEncoder {
    /// Bytes of a value.
    value_bytes: usize,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        limits::check_codec_bytes(values.len() as u64, self.value_bytes)?;
        compress(values.bytes(), out)
    }
}
