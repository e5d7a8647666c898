//! The encoder: proposes by exact size, and writes units as they are planned.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_bits::{Word, pack, packed_bytes};
use tarsia_codec::{
    Asked, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare,
    Proposal, Proposals, Result, Sample, Statistics, ValueType, Values, limits,
};

use crate::Bitpack;
use crate::layout::{Form, GROUP_VALUES, HEADER_BYTES, Mode, encoded_bytes_max, parse_node};
use crate::plan::{Planner, bits_error};

impl EncodingWriter for Bitpack {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if !matches!(fixed.width(), 1 | 2 | 4 | 8) || fixed.is_empty() {
            return Ok(());
        }
        let mode = match proposals.must_fit() {
            true => Mode::Uniform,
            false => Mode::Free,
        };
        // The smallest unit is a header without packed bits.
        if proposals.bytes_to_beat() <= HEADER_BYTES as u64 * values.n_units() {
            return Ok(());
        }
        if !may_beat(fixed, mode, proposals.bytes_to_beat())? {
            return Ok(());
        }
        proposals.push(Proposal {
            params: mode.params().to_vec(),
            ..Proposal::leaf(self, estimate(fixed, values.unit_values(), mode)?)
        });
        Ok(())
    }

    /// Groups of values have widths and bases of their own.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let (value_bytes, mode) = parse_node(node)?;
        Ok(Box::new(BitpackPage { value_bytes, mode }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        encoded_bytes_max(n_values, decoded_bytes.checked_div(n_values).unwrap_or(0))
    }

    fn erase_fit(&self, node: &Node<'_>) -> EraseFit {
        match Mode::parse(node.params) {
            Ok(Mode::Uniform) => EraseFit::Always,
            _ => EraseFit::MayGrow,
        }
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [4, 8, 1, 2].map(ValueType::Fixed).into_iter();
        let modes = [Mode::Free, Mode::Uniform];
        widths
            .flat_map(|width| modes.map(|mode| Sample::any(width, mode.params())))
            .collect()
    }
}

struct BitpackPage {
    value_bytes: usize,
    mode: Mode,
}

impl PageEncoder for BitpackPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        if values.width() != self.value_bytes {
            return Err(Error::invalid("values are not as wide as the node says"));
        }
        encode_unit(values.bytes(), self.value_bytes, self.mode, out)
    }
}

/// Groups that are tried before all values are looked at.
const TRIED_GROUPS: usize = 8;

/// Fewer values are all looked at: trying some of them first would save little.
const TRIED_VALUES_MIN: usize = 4 * TRIED_GROUPS * GROUP_VALUES;

/// Whether some groups, spread evenly, leave a chance that all values take fewer than `bytes_to_beat`. Looking at all
/// values takes about as long as packing them, which is lost on random ones. The groups may be a quarter too large:
/// they are a sample.
fn may_beat(values: FixedSlice<'_>, mode: Mode, bytes_to_beat: u64) -> Result<bool> {
    let n = values.len();
    if n < TRIED_VALUES_MIN {
        return Ok(true);
    }
    let mut bytes = 0;
    for group in 0..TRIED_GROUPS {
        let start = group * (n - GROUP_VALUES) / (TRIED_GROUPS - 1);
        bytes += estimate(
            values.slice(start..start + GROUP_VALUES),
            GROUP_VALUES,
            mode,
        )?;
    }
    let tried_values = (TRIED_GROUPS * GROUP_VALUES) as u128;
    let of_all = u128::from(bytes) * n as u128 / tried_values;
    Ok(of_all * 4 < u128::from(bytes_to_beat) * 5)
}

/// The exact number of bytes that `values` take in blocks of `block_values`, without the headers of blocks. Only the
/// statistics of encoding are computed.
///
/// ```
/// use tarsia_bitpack::{Mode, estimate};
/// let bytes: Vec<u8> = (0..3000u16).flat_map(|i| (i % 4).to_le_bytes()).collect();
/// let values = tarsia_codec::FixedSlice::new(&bytes, 2, 3000).unwrap();
/// // Three blocks: a header of 3 bytes and 2 bits per value, each.
/// assert_eq!(estimate(values, 1024, Mode::Free), Ok(3 * 3 + 3000 / 4));
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for values that are not of 1, 2, 4 or 8 bytes, or
/// blocks without values.
pub fn estimate(values: FixedSlice<'_>, block_values: usize, mode: Mode) -> Result<u64> {
    match values.width() {
        1 => estimate_of::<u8>(values, block_values, mode),
        2 => estimate_of::<u16>(values, block_values, mode),
        4 => estimate_of::<u32>(values, block_values, mode),
        8 => estimate_of::<u64>(values, block_values, mode),
        _ => Err(Error::invalid("bitpack holds values of 1, 2, 4 or 8 bytes")),
    }
}

fn estimate_of<T: Word>(values: FixedSlice<'_>, block_values: usize, mode: Mode) -> Result<u64> {
    if block_values == 0 {
        return Err(Error::invalid("blocks hold at least one value"));
    }
    let mut planner = Planner::<T>::new();
    let mut total = 0;
    for block in values.bytes().chunks(block_values.saturating_mul(T::BYTES)) {
        total += planner.plan(block, mode)?.total_bytes;
    }
    Ok(total)
}

/// Appends the unit of `values`, little-endian numbers of `value_bytes` bytes.
pub(crate) fn encode_unit(
    values: &[u8],
    value_bytes: usize,
    mode: Mode,
    out: &mut Vec<u8>,
) -> Result<()> {
    if (values.len() / value_bytes.max(1)) as u64 > limits::UNIT_VALUES_MAX.into() {
        return Err(Error::invalid("more values than a unit may have"));
    }
    match value_bytes {
        1 => encode_unit_of::<u8>(values, mode, out),
        2 => encode_unit_of::<u16>(values, mode, out),
        4 => encode_unit_of::<u32>(values, mode, out),
        8 => encode_unit_of::<u64>(values, mode, out),
        _ => Err(Error::invalid("bitpack holds values of 1, 2, 4 or 8 bytes")),
    }
}

fn encode_unit_of<T: Word>(values: &[u8], mode: Mode, out: &mut Vec<u8>) -> Result<()> {
    let mut planner = Planner::<T>::new();
    let plan = planner.plan(values, mode)?;
    if values.is_empty() {
        return Ok(());
    }
    let start = out.len();
    let total_bytes = usize::try_from(plan.total_bytes)
        .map_err(|_| Error::invalid("a unit longer than memory"))?;
    out.reserve(total_bytes);
    let Form {
        base_bytes,
        delta_bytes,
        patch_bytes,
        ..
    } = plan.form;
    out.extend_from_slice(&plan.form.to_bytes());
    let mut base = plan.base.to_u64();
    if plan.form.base_complemented {
        base = !base;
    }
    push_uint(base, base_bytes, out);
    out.extend_from_slice(&planner.widths);
    for own in &planner.own_bases {
        push_uint(own.wrapping_sub(plan.base).to_u64(), delta_bytes, out);
    }
    let group_of = |index: usize| {
        let width = planner.widths.get(index).copied();
        let base = planner.own_bases.get(index).copied();
        (
            width.unwrap_or(plan.form.width).into(),
            base.unwrap_or(plan.base),
        )
    };
    if patch_bytes > 0 {
        push_patches::<T>(values, patch_bytes, plan.n_patches, group_of, out)?;
    }
    for (index, group) in values.chunks(GROUP_VALUES * T::BYTES).enumerate() {
        let (width, base) = group_of(index);
        let at = out.len();
        let n_values = (group.len() / T::BYTES) as u64;
        out.resize(at + packed_bytes(n_values, width) as usize, 0);
        pack(group, base, width, &mut out[at..]).map_err(bits_error)?;
    }
    debug_assert_eq!(out.len() - start, total_bytes, "the plan is exact");
    Ok(())
}

fn push_uint(value: u64, len: u8, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes().iter().take(len.into()));
}

/// Appends number, positions and high parts of the patches.
fn push_patches<T: Word>(
    values: &[u8],
    patch_bytes: u8,
    n_patches: u32,
    group_of: impl Fn(usize) -> (u32, T),
    out: &mut Vec<u8>,
) -> Result<()> {
    let n = u16::try_from(n_patches.saturating_sub(1))
        .map_err(|_| Error::invalid("more patches than values of a patched unit"))?;
    out.extend_from_slice(&n.to_le_bytes());
    let mut highs = Vec::with_capacity(n_patches as usize * usize::from(patch_bytes));
    for (index, group) in values.chunks(GROUP_VALUES * T::BYTES).enumerate() {
        let (width, base) = group_of(index);
        if width == T::BITS {
            continue;
        }
        for (i, value) in group.chunks_exact(T::BYTES).enumerate() {
            let value = T::read_le(value).unwrap_or(base);
            let high = value.wrapping_sub(base).to_u64() >> width;
            if high > 0 {
                let position = (index * GROUP_VALUES + i) as u16;
                out.extend_from_slice(&position.to_le_bytes());
                push_uint(high, patch_bytes, &mut highs);
            }
        }
    }
    debug_assert_eq!(highs.len(), n_patches as usize * usize::from(patch_bytes));
    out.extend_from_slice(&highs);
    Ok(())
}
