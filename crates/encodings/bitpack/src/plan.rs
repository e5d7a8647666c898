//! Finds the form of a unit that takes the fewest bytes, by its exact size.

use alloc::vec::Vec;

use tarsia_bits::{Extent, Word, counts_above, extent, packed_bytes};
use tarsia_codec::{Error, Result};

use crate::layout::{
    Form, GROUP_VALUES, HEADER_BYTES, Mode, N_PATCHES_BYTES, PATCHED_VALUES_MAX, POSITION_BYTES,
    n_groups,
};

pub(crate) fn bits_error(_: tarsia_bits::Error) -> Error {
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

fn above_of<T: Word>(values: &[u8], base: T, max_width: u32) -> Result<Above> {
    counts_above(values, base, max_width).map_err(bits_error)
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
pub(crate) struct Plan<T> {
    pub(crate) form: Form,
    pub(crate) base: T,
    pub(crate) n_patches: u32,
    pub(crate) total_bytes: u64,
}

/// Finds the cheapest form. Its memory is reused for all units.
#[derive(Debug)]
pub(crate) struct Planner<T> {
    extents: Vec<Extent<T>>,
    /// Statistics of each group relative to the base of the unit.
    shapes: Vec<Shape>,
    above: Vec<Above>,
    /// Statistics of each group relative to its own base.
    pub(crate) own_bases: Vec<T>,
    own_shapes: Vec<Shape>,
    own_above: Vec<Above>,
    /// The chosen widths: one per group, or one for all.
    pub(crate) widths: Vec<u8>,
}

impl<T: Word> Planner<T> {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn plan(&mut self, values: &[u8], mode: Mode) -> Result<Plan<T>> {
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
        self.extents
            .reserve_exact(n_groups(values.len() / T::BYTES));
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
                ..=PATCHED_VALUES_MAX => Some(above_of(values, base, shape.max_width)?),
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
        let one_width = fit(&shape, above.as_ref(), best.patch_bytes).width;
        form.width = one_width as u8;
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
            && are_few_low(&shape, above, one_width)
            && let Some(top) = window_top(values, base, &shape)
            && let Some(plan) = plan_from_top(values, top, &shape, of_others)?
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
        if patched {
            self.above.reserve_exact(self.extents.len());
            self.own_above.reserve_exact(self.extents.len());
        }
        for (group, extent) in values.chunks(GROUP_VALUES * T::BYTES).zip(&self.extents) {
            let n_values = (group.len() / T::BYTES) as u64;
            let max = if signed {
                extent.signed.1
            } else {
                extent.unsigned.1
            };
            let max_width = bits_of(max.wrapping_sub(base));
            self.shapes.push(Shape {
                n_values,
                max_width,
            });
            let (own_base, own_span) = extent.base_and_span();
            let own_width = bits_of(own_span);
            self.own_bases.push(own_base);
            self.own_shapes.push(Shape {
                n_values,
                max_width: own_width,
            });
            if patched {
                let above = above_of(group, base, max_width)?;
                self.above.push(above);
                self.own_above.push(if own_base == base {
                    above
                } else {
                    above_of(group, own_base, own_width)?
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

/// Whether few values lie in the lower quarter of what `width` holds, so that a base above them may pay. Of values
/// spread evenly, a quarter and more do.
fn are_few_low(shape: &Shape, above: &Above, width: u32) -> bool {
    let high = (width as usize).checked_sub(2).map(|w| above[w]);
    high.is_some_and(|high| (shape.n_values - u64::from(high)) * 6 <= shape.n_values)
}

/// Values of a unit that a window is sought among. Prime, so that they have no rhythm in common with the values.
const WINDOW_SAMPLE: usize = 127;

/// The largest value of the range `2^width` long, of any width, that makes a unit smallest if all values outside of it
/// are patched. The range is sought among a sample. `base` is the smallest value.
fn window_top<T: Word>(values: &[u8], base: T, shape: &Shape) -> Option<T> {
    let difference = |value: &[u8]| {
        let value = T::read_le(value).unwrap_or(base);
        value.wrapping_sub(base).to_u64()
    };
    let n_values = values.len() / T::BYTES;
    let mut sample = [0; WINDOW_SAMPLE];
    let n_sample = n_values.min(WINDOW_SAMPLE);
    let sample = &mut sample[..n_sample];
    for (i, to) in sample.iter_mut().enumerate() {
        let at = i * n_values / n_sample * T::BYTES;
        *to = difference(&values[at..at + T::BYTES]);
    }
    sample.sort_unstable();
    // The largest difference that the best window may hold, and the bytes of a unit with it.
    let mut best: Option<(u64, u64)> = None;
    for width in 0..shape.max_width {
        let reach = (1u64 << width) - 1;
        let (mut n_inside, mut start, mut first) = (0, 0, 0);
        for (last, value) in sample.iter().enumerate() {
            while value - sample[first] > reach {
                first += 1;
            }
            if last + 1 - first > n_inside {
                (n_inside, start) = (last + 1 - first, sample[first]);
            }
        }
        let n_patches = (n_sample - n_inside) as u64 * shape.n_values / n_sample as u64;
        let bytes = packed_bytes(shape.n_values, width) + n_patches * bytes_of_patch::<T>(width);
        if best.is_none_or(|(_, of_best)| bytes < of_best) {
            best = Some((start.saturating_add(reach), bytes));
        }
    }
    let (limit, _) = best?;
    let differences = values.chunks_exact(T::BYTES).map(difference);
    let largest = differences.filter(|it| *it <= limit).max()?;
    Some(base.wrapping_add(T::from_u64(largest)))
}

/// Bytes of a patch of a value that lies anywhere outside of `2^width` values.
fn bytes_of_patch<T: Word>(width: u32) -> u64 {
    u64::from((T::BITS - width).div_ceil(8)) + POSITION_BYTES as u64
}

/// The cheapest plan of one width whose base is not the smallest value: with it, `top` just fits the width. Values
/// below the base and above `top` are patched, such as a rare zero among large numbers. Differences wrap, so those of
/// smaller values have all bits. `None` if no such plan takes less than `bytes_to_beat`.
fn plan_from_top<T: Word>(
    values: &[u8],
    top: T,
    shape: &Shape,
    bytes_to_beat: u64,
) -> Result<Option<Plan<T>>> {
    // `top - value` is the complement of the value minus that of `top`.
    let complement = |value: T| T::from_u64(!value.to_u64());
    let mut flipped = [0; GROUP_VALUES];
    let mut below = [0; 65];
    for part in values.chunks(flipped.len()) {
        let flipped = &mut flipped[..part.len()];
        for (to, byte) in flipped.iter_mut().zip(part) {
            *to = !*byte;
        }
        let counts = above_of(flipped, complement(top), T::BITS)?;
        for (sum, count) in below.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    let mut best: Option<Plan<T>> = None;
    for width in (0..shape.max_width).rev() {
        let n_patches = below[width as usize];
        let base = top.wrapping_sub(T::from_u64((1u64 << width).wrapping_sub(1)));
        let form = form_of(base);
        let patch_bytes = (T::BITS - width).div_ceil(8);
        let of_patches = u64::from(n_patches) * bytes_of_patch::<T>(width);
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
