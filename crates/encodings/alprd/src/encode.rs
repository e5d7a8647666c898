//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::append_sized;
use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Alprd;
use crate::layout::{LEFT_AT, LEFT_BYTES, parse_right_bits};

/// Bits that a left part without a code takes: itself and its position.
const EXCEPTION_BITS: u64 = 32;

/// Numbers of the sample by which the bits of right parts are chosen.
const SAMPLE_MAX: usize = 1024;

impl EncodingWriter for Alprd {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if values.facts().logical_type != LogicalType::Float || !matches!(fixed.width(), 4 | 8) {
            return Ok(());
        }
        let Some(cut) = best_cut(&fixed, values.sample()) else {
            return Ok(());
        };
        let n_values = fixed.len() as f64;
        if cut.bits_per_value * n_values / 8.0 >= proposals.bytes_to_beat() as f64 {
            return Ok(());
        }
        let halves = Halves::of(&fixed, cut.right_bits);
        let part = |values| Part::owned(Rc::new(values), LogicalType::Unsigned);
        proposals.push(Proposal {
            params: vec![cut.right_bits as u8],
            children: vec![part(halves.left), part(halves.right)],
            ..Proposal::leaf(self, values.n_units() * LEFT_AT as u64)
        });
        Ok(())
    }

    /// A cut that suits a sample suits all values.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let right_bits = parse_right_bits(node)?;
        let fixed = values.as_fixed()?;
        let halves = Halves::of(&fixed, right_bits);
        Ok(Box::new(AlprdPage {
            right_bits,
            values: AlignedBuf::copy_of(fixed.bytes()),
            left: page.child(0, halves.left.as_values()?)?,
            right: page.child(1, halves.right.as_values()?)?,
            halves,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let left_bytes = n_values.saturating_mul(LEFT_BYTES as u64);
        let left = child(0, ValueType::Fixed(LEFT_BYTES as u32), n_values, left_bytes);
        child(1, node.value_type, n_values, decoded_bytes)
            .saturating_add(left)
            .saturating_add(LEFT_AT as u64)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("how many of the first bits of the page's numbers repeat")
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |width, right_bits| Sample::any(ValueType::Fixed(width), &[right_bits]);
        vec![of(8, 52), of(4, 23), of(8, 48), of(4, 31)]
    }
}

/// Numbers cut in two.
struct Halves {
    left: OwnedValues,
    right: OwnedValues,
}

impl Halves {
    fn of(values: &FixedSlice<'_>, right_bits: u32) -> Self {
        let (len, width) = (values.len(), values.width());
        let mut left = AlignedBuf::zeroed(len * LEFT_BYTES);
        let mut right = AlignedBuf::zeroed(len * width);
        let mask = (1u64 << right_bits) - 1;
        let lefts = left.as_chunks_mut().0.iter_mut();
        if width == 4 {
            let rights = right.as_chunks_mut().0.iter_mut();
            for ((left, right), value) in lefts.zip(rights).zip(values.bytes().as_chunks().0) {
                let bits = u32::from_le_bytes(*value);
                *left = ((bits >> right_bits) as u16).to_le_bytes();
                *right = (bits & mask as u32).to_le_bytes();
            }
        } else {
            let rights = right.as_chunks_mut().0.iter_mut();
            for ((left, right), value) in lefts.zip(rights).zip(values.bytes().as_chunks().0) {
                let bits = u64::from_le_bytes(*value);
                *left = ((bits >> right_bits) as u16).to_le_bytes();
                *right = (bits & mask).to_le_bytes();
            }
        }
        Self {
            left: OwnedValues::Fixed {
                bytes: left,
                width: LEFT_BYTES,
                len,
            },
            right: OwnedValues::Fixed {
                bytes: right,
                width,
                len,
            },
        }
    }
}

/// Where numbers are cut in two.
struct Cut {
    right_bits: u32,
    bits_per_value: f64,
}

/// The cut under which a sample takes the fewest bits. Source: section 3.4 of the paper.
fn best_cut(values: &FixedSlice<'_>, sample: Vec<Range<usize>>) -> Option<Cut> {
    let width = values.width();
    let sample = sample.into_iter().flatten().step_by(step(values.len()));
    let mut numbers: Vec<u64> = sample
        .map(|i| {
            let mut bytes = [0; 8];
            let value = values.get(i).iter();
            bytes
                .iter_mut()
                .zip(value)
                .for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(bytes)
        })
        .collect();
    numbers.sort_unstable();
    let all = 8 * width as u32;
    // Bits that are zero in all numbers, such as rounded ones, cost nothing: a divisor takes them away.
    let n_zero = numbers
        .iter()
        .fold(0, |all, number| all | number)
        .trailing_zeros();
    // Of equally good cuts the one with the fewest left parts.
    let cuts = (all - 16..all).rev().map(|right_bits| Cut {
        right_bits,
        bits_per_value: f64::from(right_bits.saturating_sub(n_zero))
            + left_bits(&numbers, right_bits),
    });
    let best = cuts.min_by(|a, b| a.bits_per_value.total_cmp(&b.bits_per_value))?;
    (!numbers.is_empty()).then_some(best)
}

/// Every so manieth number of a sample is looked at.
fn step(n_values: usize) -> usize {
    n_values.div_ceil(SAMPLE_MAX).max(1)
}

/// The bits that left parts take on average, under a dictionary of the frequent ones and with the others as exceptions.
/// What a sample has once says nothing of how often it comes again, so it is an exception.
fn left_bits(sorted: &[u64], right_bits: u32) -> f64 {
    let equal = sorted.chunk_by(|a, b| a >> right_bits == b >> right_bits);
    let counts = equal.map(|equal| equal.len() as u64);
    let mut counts: Vec<u64> = counts.filter(|count| *count > 1).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let n = sorted.len().max(1) as u64;
    let mut n_left = n;
    let mut counts = counts.into_iter();
    let mut least = u64::MAX;
    for bits in 0..=16u32 {
        let n_more = if bits == 0 { 1 } else { 1usize << (bits - 1) };
        n_left -= counts.by_ref().take(n_more).sum::<u64>();
        least = least.min(n * u64::from(bits) + n_left * EXCEPTION_BITS);
    }
    least as f64 / n as f64
}

struct AlprdPage {
    right_bits: u32,
    /// The numbers of the page.
    values: AlignedBuf,
    halves: Halves,
    left: Box<dyn PageEncoder>,
    right: Box<dyn PageEncoder>,
}

impl PageEncoder for AlprdPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let (range, width) = (block.range(), values.width());
        let of_page = self.values.get(range.start * width..range.end * width);
        // A range of the page's values is faster for children. A parent that derives values per block passes others.
        if of_page == Some(values.bytes()) {
            let left = block.of(self.halves.left.as_values()?)?;
            return self.append(left, block.of(self.halves.right.as_values()?)?, out);
        }
        let halves = Halves::of(&values, self.right_bits);
        let left = BlockValues::all(halves.left.as_values()?)?;
        self.append(left, BlockValues::all(halves.right.as_values()?)?, out)
    }
}

impl AlprdPage {
    fn append(
        &self,
        left: BlockValues<'_>,
        right: BlockValues<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        append_sized(out, "left parts of 4 GiB and more", |out| {
            self.left.encode(left, out)
        })?;
        self.right.encode(right, out)
    }
}
