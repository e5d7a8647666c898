//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::{position_bytes, write_exceptions};
use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Alp;
use crate::layout::{DECIMALS_MAX, INTEGER_MAX, MAGIC, Scale, parse_scale};

/// Bytes of the number of exceptions.
const HEADER_BYTES: usize = 4;

/// More decimals make nothing of a number of 4 bytes, which has 7 to 9 digits.
const NARROW_DECIMALS_MAX: u8 = 12;

/// Values by which the scale is guessed.
const GUESSED_VALUES: usize = 32;

/// Values between two looks at how many bits a scale needs so far.
const CHECKED_VALUES: usize = 32;

impl EncodingWriter for Alp {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if values.facts().logical_type != LogicalType::Float || !matches!(fixed.width(), 4 | 8) {
            return Ok(());
        }
        let Some(scale) = best_scale(&fixed, values.sample()) else {
            return Ok(());
        };
        let page = values.cached(|| Encoded::of(&fixed, scale));
        let n_units = values.n_units();
        let exception_bytes = (fixed.width() + position_bytes(values.unit_values() as u32)) as u64;
        let bytes = n_units * HEADER_BYTES as u64 + page.positions.len() as u64 * exception_bytes;
        if bytes >= proposals.bytes_to_beat() {
            return Ok(());
        }
        proposals.push(Proposal {
            params: vec![scale.decimals],
            children: vec![Part::owned(page.integers.clone(), LogicalType::Signed)],
            ..Proposal::leaf(self, bytes)
        });
        Ok(())
    }

    /// Decimals of a sample have no more digits.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let scale = parse_scale(node)?;
        let fixed = values.as_fixed()?;
        let known = page
            .statistics()
            .map(|it| it.cached(|| Encoded::of(&fixed, scale)));
        let encoded = known.filter(|known| known.scale == scale);
        let encoded = encoded.unwrap_or_else(|| Rc::new(Encoded::of(&fixed, scale)));
        let child = page.child(0, encoded.integers.as_values()?)?;
        Ok(Box::new(AlpPage {
            scale,
            values: AlignedBuf::copy_of(fixed.bytes()),
            integers: OwnedValues::copy_of(encoded.integers.as_values()?),
            positions: encoded.positions.clone(),
            child,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let exceptions = decoded_bytes.saturating_add(n_values.saturating_mul(4));
        child(0, node.value_type, n_values, decoded_bytes)
            .saturating_add(exceptions)
            .saturating_add(HEADER_BYTES as u64)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // The integers at exceptions are the smallest of the block's others, so those of the survivors are no wider.
        // But without others they are 0, which a child such as a dictionary may not hold.
        EraseFit::MayGrow
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("how many decimals the numbers of the page have at most")
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |width, decimals| Sample::any(ValueType::Fixed(width), &[decimals]);
        vec![of(8, 2), of(4, 3), of(8, 0), of(4, 22)]
    }
}

/// Numbers as integers.
struct Encoded {
    scale: Scale,
    /// As many as there are numbers.
    integers: Rc<OwnedValues>,
    /// Positions of the numbers that no integer stands for.
    positions: Vec<u32>,
}

impl Encoded {
    fn of(values: &FixedSlice<'_>, scale: Scale) -> Self {
        let mut bytes = AlignedBuf::zeroed(values.bytes().len());
        let positions = match values.width() {
            4 => encode_all(values.bytes(), &mut bytes, |it| narrow_integer(it, scale)),
            _ => encode_all(values.bytes(), &mut bytes, |it| wide_integer(it, scale)),
        };
        fill(&mut bytes, values.width(), &positions);
        Self {
            scale,
            integers: Rc::new(OwnedValues::Fixed {
                bytes,
                width: values.width(),
                len: values.len(),
            }),
            positions,
        }
    }
}

/// Writes the integer of each number of `W` bytes. Returns the positions of those that no integer stands for.
fn encode_all<const W: usize>(
    values: &[u8],
    integers: &mut [u8],
    encode: impl Fn([u8; W]) -> Option<[u8; W]>,
) -> Vec<u32> {
    let mut positions = Vec::new();
    let (values, _) = values.as_chunks::<W>();
    let (integers, _) = integers.as_chunks_mut::<W>();
    for (i, (to, value)) in integers.iter_mut().zip(values).enumerate() {
        match encode(*value) {
            Some(integer) => *to = integer,
            None => positions.push(i as u32),
        }
    }
    positions
}

/// The integer that stands for a number of 8 bytes, if one does.
#[inline]
fn wide_integer(bytes: [u8; 8], scale: Scale) -> Option<[u8; 8]> {
    let value = f64::from_le_bytes(bytes);
    let scaled = value * scale.divisor;
    // False for NaN too.
    let is_in_range = scaled.abs() < (INTEGER_MAX - 1) as f64;
    // Rounds to a whole number.
    let integer = ((scaled + MAGIC) - MAGIC) as i64 as u64;
    let is_exact = scale.wide(integer).to_bits() == value.to_bits();
    (is_in_range && is_exact).then(|| integer.to_le_bytes())
}

/// The integer that stands for a number of 4 bytes, if one does.
#[inline]
fn narrow_integer(bytes: [u8; 4], scale: Scale) -> Option<[u8; 4]> {
    let value = f32::from_le_bytes(bytes);
    let scaled = f64::from(value) * scale.divisor;
    let is_in_range = scaled.abs() < f64::from(i32::MAX);
    let integer = ((scaled + MAGIC) - MAGIC) as i32 as u32;
    let is_exact = scale.narrow(integer).to_bits() == value.to_bits();
    (is_in_range && is_exact).then(|| integer.to_le_bytes())
}

/// Gives the integers at `positions` the smallest of the others, so that they need no bits of their own and say nothing
/// of another row that the child's base does not say.
fn fill(integers: &mut [u8], width: usize, positions: &[u32]) {
    if positions.is_empty() {
        return;
    }
    let number = |bytes: &[u8]| match bytes.len() {
        4 => bytes
            .first_chunk()
            .map_or(0, |it| i64::from(i32::from_le_bytes(*it))),
        _ => bytes.first_chunk().map_or(0, |it| i64::from_le_bytes(*it)),
    };
    let mut next = positions.iter().peekable();
    let mut least = i64::MAX;
    for (i, bytes) in integers.chunks_exact(width).enumerate() {
        match next.next_if(|position| **position as usize == i) {
            Some(_) => {}
            None => least = least.min(number(bytes)),
        }
    }
    let least = if least == i64::MAX { 0 } else { least }.to_le_bytes();
    for position in positions {
        let at = *position as usize * width;
        if let (Some(to), Some(least)) = (integers.get_mut(at..at + width), least.get(..width)) {
            to.copy_from_slice(least);
        }
    }
}

/// The number of decimals under which a sample takes the fewest bits; `None` if it takes about as many as before.
/// Source: section 3.1 of the paper, where the search is made once per row group, too.
fn best_scale(values: &FixedSlice<'_>, sample: Vec<Range<usize>>) -> Option<Scale> {
    let width = values.width();
    let mut all = Vec::new();
    for run in sample {
        all.extend_from_slice(values.slice(run).bytes());
    }
    let decimals_max = match width {
        4 => NARROW_DECIMALS_MAX,
        _ => DECIMALS_MAX,
    };
    let scales: Vec<Scale> = (0..=decimals_max).filter_map(Scale::of).collect();
    // A few of the values show which scale is likely the best. All others are left as soon as they need more bits.
    let few = all.get(..GUESSED_VALUES * width).unwrap_or(&all);
    let guess = |scale: &&Scale| bits_under(few, width, **scale, u64::MAX);
    let guess = *scales.iter().min_by_key(guess)?;
    let mut best = (
        bits_under(&all, width, guess, u64::MAX)?,
        guess.decimals,
        guess,
    );
    for scale in scales {
        if let Some(bits) = bits_under(&all, width, scale, best.0)
            && (bits, scale.decimals) < (best.0, best.1)
        {
            best = (bits, scale.decimals, scale);
        }
    }
    let (bits, _, scale) = best;
    // Less than an eighth saved before the child's own overhead is not worth the second encoding.
    (bits < all.len() as u64 * 7).then_some(scale)
}

/// The bits of numbers under a scale: those of the range of the integers for each, and exceptions. `None` if they are
/// more than `most_bits`.
fn bits_under(values: &[u8], width: usize, scale: Scale, most_bits: u64) -> Option<u64> {
    let n = (values.len() / width) as u64;
    let (mut least, mut most, mut n_exceptions) = (i64::MAX, i64::MIN, 0);
    let mut bits = 0;
    for values in values.chunks(CHECKED_VALUES * width) {
        let mut add = |integer: Option<i64>| match integer {
            Some(integer) => {
                least = least.min(integer);
                most = most.max(integer);
            }
            None => n_exceptions += 1,
        };
        match width {
            4 => values.as_chunks().0.iter().for_each(|it| {
                let integer = narrow_integer(*it, scale);
                add(integer.map(|it| i64::from(i32::from_le_bytes(it))));
            }),
            _ => values
                .as_chunks()
                .0
                .iter()
                .for_each(|it| add(wide_integer(*it, scale).map(i64::from_le_bytes))),
        }
        let range_bits = match least > most {
            true => 0,
            false => 64 - most.abs_diff(least).leading_zeros(),
        };
        bits = n * u64::from(range_bits) + n_exceptions * (width as u64 * 8 + 16);
        if bits > most_bits {
            return None;
        }
    }
    Some(bits)
}

struct AlpPage {
    scale: Scale,
    /// The numbers of the page.
    values: AlignedBuf,
    integers: OwnedValues,
    positions: Vec<u32>,
    child: Box<dyn PageEncoder>,
}

impl AlpPage {
    /// True if the page has these values in this range.
    fn has(&self, range: &Range<usize>, values: &FixedSlice<'_>) -> bool {
        let width = values.width();
        let of_page = self.values.get(range.start * width..range.end * width);
        of_page == Some(values.bytes())
    }
}

impl PageEncoder for AlpPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let range = block.range();
        if self.has(&range, &values) {
            let from = self
                .positions
                .partition_point(|it| (*it as usize) < range.start);
            let to = self
                .positions
                .partition_point(|it| (*it as usize) < range.end);
            // With exceptions, the integers in their places depend on the block.
            if from == to {
                write_exceptions(&values, core::iter::empty(), out)?;
                return self
                    .child
                    .encode(block.of(self.integers.as_values()?)?, out);
            }
        }
        let encoded = Encoded::of(&values, self.scale);
        write_exceptions(&values, encoded.positions.iter().copied(), out)?;
        self.child
            .encode(BlockValues::all(encoded.integers.as_values()?)?, out)
    }
}
