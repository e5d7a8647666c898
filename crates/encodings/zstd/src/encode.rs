//! The encoder: the C library's, which runs in the calling thread and depends on the bytes and the level alone.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values, limits,
};
use zstd::zstd_safe::{CCtx, CParameter};

use crate::Zstd;
use crate::layout::{self, BLOCK_BYTES_MAX};

/// The level of compression, of 9, 12, 15, 17 and 19 in units of 1 MiB: text is 1 to 6 % smaller than at 9. At 17 it is
/// 5 to 12 % smaller still, but takes five to ten times as long; numbers are as small, or larger.
const LEVEL: i32 = 12;

/// The level of a first look, and the most bytes of each of its two pieces.
const FIRST_LEVEL: i32 = 1;
const FIRST_BYTES: usize = 64 << 10;

/// Frames may be smaller than those of the first look, by one byte in so many.
const LESS_BY_ONE_IN: u64 = 3;

/// Fewer bytes of values, or a better tree of fewer bytes, leave nothing to win that is worth a slow decoder.
const BYTES_MIN: u64 = 2 << 10;

/// The payload that blocks aim at: text, which gets three to five times as small, then fills a window of about 1 MiB.
const PAYLOAD_BYTES: usize = 256 << 10;

/// The most bytes of each of two pieces of a page that a proposal compresses.
const PIECE_BYTES: usize = 128 << 10;

impl EncodingWriter for Zstd {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let to_beat = proposals.bytes_to_beat().min(fixed.bytes().len() as u64);
        // Children of dictionaries and lists come here, too, with few values.
        if to_beat < BYTES_MIN || proposals.must_fit() {
            return Ok(());
        }
        let unit_bytes = values.unit_values().saturating_mul(fixed.width());
        let first = values.cached(|| {
            let pieces = pieces(fixed.bytes().len(), unit_bytes, FIRST_BYTES);
            FirstTrial(trial_bytes(&fixed, pieces, FIRST_LEVEL))
        });
        let bytes = first.0.clone()?;
        if bytes - bytes / LESS_BY_ONE_IN >= to_beat {
            return Ok(());
        }
        let trial = values.cached(|| {
            let pieces = pieces(fixed.bytes().len(), unit_bytes, PIECE_BYTES);
            Trial(trial_bytes(&fixed, pieces, LEVEL))
        });
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
        match layout::value_bytes(node) {
            Ok(value_bytes) => frame_bytes_max(n_values.saturating_mul(value_bytes as u64)),
            Err(_) => u64::MAX,
        }
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // What was a copy of erased bytes may have to be stored.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        // Not any values: no unit decodes to more than 2^24 bytes.
        let sample = |width| Sample {
            holds_any: false,
            ..Sample::any(ValueType::Fixed(width), &[])
        };
        [1, 2, 4, 8, 3, 16].map(sample).into()
    }
}

/// The bytes that all units of a page are expected to take.
struct Trial(Result<u64>);

/// The trial of a first look.
struct FirstTrial(Result<u64>);

/// As many as pieces of the page suggest, which may be all of it.
fn trial_bytes(
    values: &FixedSlice<'_>,
    pieces: impl Iterator<Item = Range<usize>>,
    level: i32,
) -> Result<u64> {
    let bytes = values.bytes();
    let (mut n_tried, mut n_compressed) = (0u64, 0u64);
    let mut frame = Vec::new();
    for piece in pieces {
        let piece = bytes.get(piece).unwrap_or_default();
        frame.clear();
        compress(piece, level, &mut frame)?;
        n_tried += piece.len() as u64;
        n_compressed += frame.len() as u64;
    }
    let scaled = u128::from(n_compressed) * bytes.len() as u128;
    let scaled = scaled.div_ceil(u128::from(n_tried.max(1)));
    Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// The pieces of `n_bytes` that a proposal compresses, none longer than a unit: all, or two of at most `piece_bytes`
/// with as much before, between and behind them.
fn pieces(
    n_bytes: usize,
    unit_bytes: usize,
    piece_bytes: usize,
) -> impl Iterator<Item = Range<usize>> {
    let (piece, n_pieces) = match n_bytes <= unit_bytes.min(2 * piece_bytes) {
        true => (n_bytes, 1),
        false => (unit_bytes.min(piece_bytes).min(n_bytes / 2), 2),
    };
    let gap = (n_bytes - piece * n_pieces) / (n_pieces + 1);
    (0..n_pieces).map(move |i| {
        let start = gap + i * (piece + gap);
        start..start + piece
    })
}

/// The bound that the library promises (`ZSTD_COMPRESSBOUND`): a block that does not get smaller is stored as it is,
/// with 3 bytes before it, and headers take up to 18.
fn frame_bytes_max(n_bytes: u64) -> u64 {
    let block = BLOCK_BYTES_MAX as u64;
    let of_small = block.saturating_sub(n_bytes) >> 11;
    n_bytes.saturating_add((n_bytes >> 8) + of_small)
}

/// Appends the frame of `bytes`.
fn compress(bytes: &[u8], level: i32, out: &mut Vec<u8>) -> Result<()> {
    // The window holds all bytes: the header needs no window, and any bytes may be copied.
    let window_log = bytes.len().next_power_of_two().ilog2().clamp(10, 31);
    let parameters = [
        CParameter::CompressionLevel(level),
        CParameter::WindowLog(window_log),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
    ];
    let failed = |_| Error::invalid("zstd has no memory for these values");
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(parameter).map_err(failed)?;
    }
    let start = out.len();
    let max = usize::try_from(frame_bytes_max(bytes.len() as u64)).unwrap_or(usize::MAX);
    out.resize(start.saturating_add(max), 0);
    let to = out.get_mut(start..).unwrap_or_default();
    let written = context.compress2(to, bytes).map_err(failed)?;
    out.truncate(start + written);
    Ok(())
}

struct UnitEncoder {
    /// Bytes of a value.
    value_bytes: usize,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        limits::check_codec_bytes(values.len() as u64, self.value_bytes)?;
        compress(values.bytes(), LEVEL, out)
    }
}
