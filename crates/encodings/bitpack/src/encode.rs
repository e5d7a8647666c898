//! The encoder: finds the smallest form by its exact size, then writes it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_bits::{Extent, Word, extent, pack, packed_bytes, width_histogram};
use tarsia_codec::{
    Block, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values, limits,
};

use crate::Bitpack;
use crate::layout::{
    Form, GROUP_VALUES, HEADER_BYTES, Mode, N_PATCHES_BYTES, PATCHED_VALUES_MAX, POSITION_BYTES,
    encoded_bytes_max, n_groups, parse_node,
};

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
    fn encode(&self, block: Block<'_>, out: &mut Vec<u8>) -> Result<()> {
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

fn bits_error(_: tarsia_bits::Error) -> Error {
    Error::invalid("values are not whole")
}

fn bits_of<T: Word>(value: T) -> u32 {
    64 - value.to_u64().leading_zeros()
}

fn bytes_of<T: Word>(value: T) -> u8 {
    bits_of(value).div_ceil(8) as u8
}

/// Statistics of a run of values relative to some base.
#[derive(Debug, Clone, Copy)]
struct Shape {
    n_values: u64,
    /// Bits of the largest difference.
    max_width: u32,
}

/// `above[w]` is the number of differences that need more than `w` bits.
type Above = [u32; 65];

fn above_of<T: Word>(values: &[u8], base: T) -> Result<Above> {
    let mut counts = width_histogram(values, base).map_err(bits_error)?;
    let mut wider = 0;
    for count in counts.iter_mut().rev() {
        wider += core::mem::replace(count, wider);
    }
    Ok(counts)
}

/// A width of a group, and its cost.
#[derive(Debug, Clone, Copy)]
struct Fit {
    width: u32,
    n_patches: u32,
    /// Bytes of packed values and patches.
    bytes: u64,
}

/// The cheapest width if the high part of a patch takes `patch_bytes`; the widest of equally cheap ones.
fn fit(shape: &Shape, above: Option<&Above>, patch_bytes: u32) -> Fit {
    let mut best = Fit {
        width: shape.max_width,
        n_patches: 0,
        bytes: packed_bytes(shape.n_values, shape.max_width),
    };
    let (Some(above), 1..) = (above, patch_bytes) else {
        return best;
    };
    let bytes_of_patch = u64::from(patch_bytes) + POSITION_BYTES as u64;
    let narrowest = shape.max_width.saturating_sub(8 * patch_bytes);
    for (width, n_patches) in (narrowest..shape.max_width)
        .rev()
        .map(|w| (w, above[w as usize]))
    {
        let of_patches = u64::from(n_patches) * bytes_of_patch;
        if of_patches >= best.bytes {
            // Narrower widths need more patches.
            break;
        }
        let bytes = packed_bytes(shape.n_values, width) + of_patches;
        if bytes < best.bytes {
            best = Fit {
                width,
                n_patches,
                bytes,
            };
        }
    }
    best
}

/// A choice of `patch_bytes` for all groups, and its cost.
#[derive(Debug, Clone, Copy)]
struct Choice {
    patch_bytes: u32,
    n_patches: u32,
    /// Bytes of packed values and patches, the number of patches included.
    bytes: u64,
}

/// The cheapest `patch_bytes`, with the cheapest width of each group for it. `above` is empty if patches are not
/// allowed.
fn choose(shapes: &[Shape], above: &[Above]) -> Choice {
    let evaluate = |patch_bytes: u32| {
        let mut choice = Choice {
            patch_bytes,
            n_patches: 0,
            bytes: match patch_bytes {
                0 => 0,
                _ => N_PATCHES_BYTES as u64,
            },
        };
        for (i, shape) in shapes.iter().enumerate() {
            let fit = fit(shape, above.get(i), patch_bytes);
            choice.n_patches += fit.n_patches;
            choice.bytes += fit.bytes;
        }
        choice
    };
    let mut best = evaluate(0);
    if !above.is_empty() {
        let widest = shapes
            .iter()
            .map(|shape| shape.max_width)
            .max()
            .unwrap_or(0);
        for patch_bytes in 1..=widest.div_ceil(8) {
            let choice = evaluate(patch_bytes);
            // A choice that turns out to need no patches still counts the bytes of their number, so it is never smaller
            // than `best`.
            if choice.bytes < best.bytes {
                best = choice;
            }
        }
    }
    best
}

/// The form of a unit. The planner keeps the widths and bases of groups that have their own.
#[derive(Debug, Clone, Copy)]
struct Plan<T> {
    form: Form,
    base: T,
    n_patches: u32,
    total_bytes: u64,
}

/// Finds the cheapest form. Its memory is reused for all units.
#[derive(Debug)]
struct Planner<T> {
    extents: Vec<Extent<T>>,
    /// Statistics of each group relative to the base of the unit.
    shapes: Vec<Shape>,
    above: Vec<Above>,
    /// Statistics of each group relative to its own base.
    own_bases: Vec<T>,
    own_shapes: Vec<Shape>,
    own_above: Vec<Above>,
    /// The chosen widths: one per group, or one for all.
    widths: Vec<u8>,
}

impl<T: Word> Planner<T> {
    fn new() -> Self {
        Self {
            extents: Vec::new(),
            shapes: Vec::new(),
            above: Vec::new(),
            own_bases: Vec::new(),
            own_shapes: Vec::new(),
            own_above: Vec::new(),
            widths: Vec::new(),
        }
    }

    fn plan(&mut self, values: &[u8], mode: Mode) -> Result<Plan<T>> {
        self.widths.clear();
        self.own_bases.clear();
        let Some(of_all) = self.measure(values)? else {
            return Ok(Plan {
                form: Form::default(),
                base: T::from_u64(0),
                n_patches: 0,
                total_bytes: 0,
            });
        };
        match mode {
            Mode::Uniform => self.plan_uniform(values, &of_all),
            Mode::Free => self.plan_free(values, &of_all),
        }
    }

    /// Computes the extents of the groups and of all values.
    fn measure(&mut self, values: &[u8]) -> Result<Option<Extent<T>>> {
        self.extents.clear();
        let mut of_all: Option<Extent<T>> = None;
        for group in values.chunks(GROUP_VALUES * T::BYTES) {
            if let Some(found) = extent::<T>(group).map_err(bits_error)? {
                self.extents.push(found);
                of_all = Some(of_all.map_or(found, |all| all.union(&found)));
            }
        }
        Ok(of_all)
    }

    /// See [`Mode::Uniform`] for why both orders are tried and the base is stored in full.
    fn plan_uniform(&mut self, values: &[u8], of_all: &Extent<T>) -> Result<Plan<T>> {
        let n_values = values.len() / T::BYTES;
        let mut best: Option<Plan<T>> = None;
        let (unsigned, signed) = (of_all.unsigned, of_all.signed);
        for (base, max) in [unsigned, signed] {
            if best.is_some() && of_all.is_one_sided() {
                break;
            }
            let shape = Shape {
                n_values: n_values as u64,
                max_width: bits_of(max.wrapping_sub(base)),
            };
            let above = match n_values {
                ..=PATCHED_VALUES_MAX => Some(above_of(values, base)?),
                _ => None,
            };
            let choice = choose(&[shape], above.as_slice());
            let width = fit(&shape, above.as_ref(), choice.patch_bytes).width as u8;
            let total_bytes = (HEADER_BYTES + T::BYTES) as u64 + choice.bytes;
            if best.is_none_or(|best| total_bytes < best.total_bytes) {
                best = Some(Plan {
                    form: Form {
                        patch_bytes: choice.patch_bytes as u8,
                        width,
                        base_bytes: T::BYTES as u8,
                        ..Form::default()
                    },
                    base,
                    n_patches: choice.n_patches,
                    total_bytes,
                });
            }
        }
        best.ok_or(Error::invalid("no values to plan for"))
    }

    fn plan_free(&mut self, values: &[u8], of_all: &Extent<T>) -> Result<Plan<T>> {
        let n_values = values.len() / T::BYTES;
        let n_groups = n_groups(n_values) as u64;
        let (base, span) = of_all.base_and_span();
        self.measure_groups(values, base, base != of_all.unsigned.0)?;

        let mut form = form_of(base);
        let fixed_bytes = HEADER_BYTES as u64 + u64::from(form.base_bytes);

        // One width for all groups.
        let shape = Shape {
            n_values: n_values as u64,
            max_width: bits_of(span),
        };
        let mut above = [0; 65];
        for group in &self.above {
            for (sum, count) in above.iter_mut().zip(group) {
                *sum += count;
            }
        }
        let above = (n_values <= PATCHED_VALUES_MAX).then_some(above);
        let mut best = choose(&[shape], above.as_slice());
        form.width = fit(&shape, above.as_ref(), best.patch_bytes).width as u8;
        let mut best_bytes = best.bytes;
        if n_groups > 1 {
            // A width per group, one base.
            let choice = choose(&self.shapes, &self.above);
            if choice.bytes + n_groups < best_bytes {
                (best, best_bytes) = (choice, choice.bytes + n_groups);
                take_widths(&self.shapes, &self.above, choice, &mut self.widths);
                form.has_group_widths = true;
                form.width = 0;
            }
            // A base per group, and a width per group unless all are equal.
            let delta = |own: &T| bytes_of(own.wrapping_sub(base));
            let delta_bytes = self.own_bases.iter().map(delta).max().unwrap_or(0);
            let choice = choose(&self.own_shapes, &self.own_above);
            let of_deltas = choice.bytes + n_groups * u64::from(delta_bytes);
            if delta_bytes > 0 && of_deltas < best_bytes {
                let mut widths = Vec::new();
                take_widths(&self.own_shapes, &self.own_above, choice, &mut widths);
                let equal = widths.windows(2).all(|pair| pair[0] == pair[1]);
                let bytes = of_deltas + if equal { 0 } else { n_groups };
                if bytes < best_bytes {
                    (best, best_bytes) = (choice, bytes);
                    form.has_group_widths = !equal;
                    form.delta_bytes = delta_bytes;
                    form.width = match widths.first() {
                        Some(width) if equal => *width,
                        _ => 0,
                    };
                    self.widths = widths;
                }
            }
        }
        let of_others = fixed_bytes + best_bytes;
        if let Some(above) = &above
            && are_few_low(&shape, above)
            && let Some(plan) = plan_from_top(values, base.wrapping_add(span), &shape, of_others)?
        {
            self.widths.clear();
            self.own_bases.clear();
            return Ok(plan);
        }
        form.patch_bytes = best.patch_bytes as u8;
        if !form.has_group_widths {
            self.widths.clear();
        }
        if form.delta_bytes == 0 {
            self.own_bases.clear();
        }
        Ok(Plan {
            form,
            base,
            n_patches: best.n_patches,
            total_bytes: fixed_bytes + best_bytes,
        })
    }

    /// Computes the statistics of the groups relative to `base` and to their own bases.
    fn measure_groups(&mut self, values: &[u8], base: T, signed: bool) -> Result<()> {
        let patched = values.len() / T::BYTES <= PATCHED_VALUES_MAX;
        self.shapes.clear();
        self.above.clear();
        self.own_shapes.clear();
        self.own_above.clear();
        for (group, extent) in values.chunks(GROUP_VALUES * T::BYTES).zip(&self.extents) {
            let n_values = (group.len() / T::BYTES) as u64;
            let max = if signed {
                extent.signed.1
            } else {
                extent.unsigned.1
            };
            self.shapes.push(Shape {
                n_values,
                max_width: bits_of(max.wrapping_sub(base)),
            });
            let (own_base, own_span) = extent.base_and_span();
            self.own_bases.push(own_base);
            self.own_shapes.push(Shape {
                n_values,
                max_width: bits_of(own_span),
            });
            if patched {
                let above = above_of(group, base)?;
                self.above.push(above);
                self.own_above.push(if own_base == base {
                    above
                } else {
                    above_of(group, own_base)?
                });
            }
        }
        Ok(())
    }
}

/// The form of a base, in as few bytes as it needs.
fn form_of<T: Word>(base: T) -> Form {
    let complement = T::from_u64(!base.to_u64());
    Form {
        base_complemented: bytes_of(complement) < bytes_of(base),
        base_bytes: bytes_of(base).min(bytes_of(complement)),
        ..Form::default()
    }
}

/// Whether few values lie in the lower quarter of all widths, so that a base above them may pay. Of values spread
/// evenly, a quarter and more do.
fn are_few_low(shape: &Shape, above: &Above) -> bool {
    let high = (shape.max_width as usize).checked_sub(2).map(|w| above[w]);
    high.is_some_and(|high| (shape.n_values - u64::from(high)) * 6 <= shape.n_values)
}

/// The cheapest plan of one width whose base is not the smallest value: with it, the largest value `max` just fits the
/// width, and smaller values than the base are patched, such as a rare zero among large numbers. Differences wrap, so
/// those of smaller values have all bits. `None` if no such plan takes less than `bytes_to_beat`.
fn plan_from_top<T: Word>(
    values: &[u8],
    max: T,
    shape: &Shape,
    bytes_to_beat: u64,
) -> Result<Option<Plan<T>>> {
    // `max - value` is the complement of the value minus that of `max`.
    let complement = |value: T| T::from_u64(!value.to_u64());
    let mut flipped = [0; GROUP_VALUES];
    let mut below = [0; 65];
    for part in values.chunks(flipped.len()) {
        let flipped = &mut flipped[..part.len()];
        for (to, byte) in flipped.iter_mut().zip(part) {
            *to = !*byte;
        }
        let counts = above_of(flipped, complement(max))?;
        for (sum, count) in below.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    let mut best: Option<Plan<T>> = None;
    for width in (0..shape.max_width).rev() {
        let n_patches = below[width as usize];
        let base = max.wrapping_sub(T::from_u64((1u64 << width).wrapping_sub(1)));
        let form = form_of(base);
        let patch_bytes = (T::BITS - width).div_ceil(8);
        let of_patches = u64::from(n_patches) * (u64::from(patch_bytes) + POSITION_BYTES as u64);
        let to_beat = best.as_ref().map_or(bytes_to_beat, |best| best.total_bytes);
        if of_patches >= to_beat {
            // Narrower widths need more patches.
            break;
        }
        let total_bytes = (HEADER_BYTES + N_PATCHES_BYTES) as u64
            + u64::from(form.base_bytes)
            + packed_bytes(shape.n_values, width)
            + of_patches;
        if n_patches > 0 && total_bytes < to_beat {
            best = Some(Plan {
                form: Form {
                    width: width as u8,
                    patch_bytes: patch_bytes as u8,
                    ..form
                },
                base,
                n_patches,
                total_bytes,
            });
        }
    }
    Ok(best)
}

fn take_widths(shapes: &[Shape], above: &[Above], choice: Choice, widths: &mut Vec<u8>) {
    widths.clear();
    for (i, shape) in shapes.iter().enumerate() {
        widths.push(fit(shape, above.get(i), choice.patch_bytes).width as u8);
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
