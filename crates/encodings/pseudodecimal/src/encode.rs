//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::{append_sized, position_bytes, write_exceptions};
use tarsia_codec::{
    AlignedBuf, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node, OwnedValues,
    PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Pseudodecimal;
use crate::decimals::{Decimal, Number, decimals};
use crate::layout::EXPONENT_BYTES;

/// Bytes of the number of exceptions, and of the length of the exponents.
const FIELD_BYTES: usize = 4 + 4;

impl EncodingWriter for Pseudodecimal {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let is_float = values.facts().logical_type == LogicalType::Float;
        if !is_float || !matches!(fixed.width(), 4 | 8) || !saves(&fixed, values.sample()) {
            return Ok(());
        }
        let page = values.cached(|| Encoded::of(&fixed));
        let exception_bytes = fixed.width() + position_bytes(values.unit_values() as u32);
        let exceptions_bytes = page.positions.len() as u64 * exception_bytes as u64;
        let bytes = values.n_units() * FIELD_BYTES as u64 + exceptions_bytes;
        if bytes >= proposals.bytes_to_beat() {
            return Ok(());
        }
        proposals.push(Proposal {
            children: vec![
                Part::owned(page.digits.clone(), LogicalType::Signed),
                Part::owned(page.exponents.clone(), LogicalType::Unsigned),
            ],
            ..Proposal::leaf(self, bytes)
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
        let encoded = match page.statistics() {
            Some(known) => known.cached(|| Encoded::of(&fixed)),
            None => Rc::new(Encoded::of(&fixed)),
        };
        let (digits, exponents) = (encoded.digits.as_values()?, encoded.exponents.as_values()?);
        Ok(Box::new(PseudodecimalPage {
            values: AlignedBuf::copy_of(fixed.bytes()),
            positions: encoded.positions.clone(),
            digits: OwnedValues::copy_of(digits),
            exponents: OwnedValues::copy_of(exponents),
            digits_child: page.child(0, digits)?,
            exponents_child: page.child(1, exponents)?,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let exponents_bytes = n_values.saturating_mul(EXPONENT_BYTES as u64);
        let exponents = ValueType::Fixed(EXPONENT_BYTES as u32);
        child(0, node.value_type, n_values, decoded_bytes)
            .saturating_add(child(1, exponents, n_values, exponents_bytes))
            .saturating_add(decoded_bytes.saturating_add(n_values.saturating_mul(4)))
            .saturating_add(FIELD_BYTES as u64)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // What stands for a number depends on that number alone, and exceptions are not among the children's values. So
        // the children get a subsequence of what they had.
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [8, 4].map(ValueType::Fixed);
        types.map(|it| Sample::any(it, &[])).into()
    }
}

/// Numbers as decimals and exceptions.
struct Encoded {
    /// Digits of the numbers that are no exceptions, of their width.
    digits: Rc<OwnedValues>,
    /// As many.
    exponents: Rc<OwnedValues>,
    /// Positions of the exceptions.
    positions: Vec<u32>,
}

impl Encoded {
    fn of(values: &FixedSlice<'_>) -> Self {
        match values.width() {
            4 => Self::of_numbers::<4, f32>(values),
            _ => Self::of_numbers::<8, f64>(values),
        }
    }

    fn of_numbers<const W: usize, N: Number<W>>(values: &FixedSlice<'_>) -> Self {
        let mut digits = AlignedBuf::zeroed(values.bytes().len());
        let mut exponents = AlignedBuf::zeroed(values.len());
        let mut positions = Vec::new();
        let digits_places = digits.as_chunks_mut().0.iter_mut();
        let mut places = digits_places.zip(exponents.iter_mut());
        for (i, decimal) in decimals::<W, N>(values.bytes()).enumerate() {
            match decimal {
                Some(decimal) => {
                    if let Some((digits, exponent)) = places.next() {
                        *digits = N::bytes_of(decimal.digits);
                        *exponent = decimal.exponent;
                    }
                }
                None => positions.push(i as u32),
            }
        }
        let len = values.len() - positions.len();
        let owned = |mut bytes: AlignedBuf, width: usize| {
            bytes.reset_len(len * width);
            Rc::new(OwnedValues::Fixed { bytes, width, len })
        };
        Self {
            digits: owned(digits, W),
            exponents: owned(exponents, EXPONENT_BYTES),
            positions,
        }
    }
}

/// True if digits, exponents and exceptions of a sample take less than 7 bits for each byte that it has. Otherwise too
/// little is saved to be worth the second encoding.
fn saves(values: &FixedSlice<'_>, sample: Vec<Range<usize>>) -> bool {
    let mut all = Vec::new();
    for run in sample {
        all.extend_from_slice(values.slice(run).bytes());
    }
    let bits = match values.width() {
        4 => bits_of(decimals::<4, f32>(&all), 4),
        _ => bits_of(decimals::<8, f64>(&all), 8),
    };
    bits < all.len() as u64 * 7
}

/// The bits of numbers of `width` bytes: those of each integer with its sign, those of the range of the exponents, and
/// exceptions.
fn bits_of(decimals: impl Iterator<Item = Option<Decimal>>, width: usize) -> u64 {
    let (mut bits, mut n_decimals, mut least, mut most) = (0, 0, u8::MAX, 0);
    for decimal in decimals {
        match decimal {
            Some(Decimal { digits, exponent }) => {
                bits += u64::from(u64::BITS + 1 - digits.unsigned_abs().leading_zeros());
                n_decimals += 1;
                least = least.min(exponent);
                most = most.max(exponent);
            }
            None => bits += width as u64 * 8 + 16,
        }
    }
    let exponent_bits = u8::BITS - most.saturating_sub(least).leading_zeros();
    bits + n_decimals * u64::from(exponent_bits)
}

struct PseudodecimalPage {
    /// The numbers of the page.
    values: AlignedBuf,
    positions: Vec<u32>,
    digits: OwnedValues,
    exponents: OwnedValues,
    digits_child: Box<dyn PageEncoder>,
    exponents_child: Box<dyn PageEncoder>,
}

impl PageEncoder for PseudodecimalPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let (range, width) = (block.range(), values.width());
        let of_page = self.values.get(range.start * width..range.end * width);
        // A range of the page's values is faster for children. A parent that derives values per block passes others.
        if of_page == Some(values.bytes()) {
            let n_before = |end: usize| self.positions.partition_point(|it| (*it as usize) < end);
            let among = n_before(range.start)..n_before(range.end);
            let decimals = range.start - among.start..range.end - among.end;
            let digits = BlockValues::new(self.digits.as_values()?, decimals.clone())?;
            let exponents = BlockValues::new(self.exponents.as_values()?, decimals)?;
            let positions = self.positions.get(among).unwrap_or_default().iter();
            let positions = positions.map(|it| *it - range.start as u32);
            write_exceptions(&values, positions, out)?;
            return self.append(digits, exponents, out);
        }
        let encoded = Encoded::of(&values);
        write_exceptions(&values, encoded.positions.iter().copied(), out)?;
        let digits = BlockValues::all(encoded.digits.as_values()?)?;
        self.append(
            digits,
            BlockValues::all(encoded.exponents.as_values()?)?,
            out,
        )
    }
}

impl PseudodecimalPage {
    fn append(
        &self,
        digits: BlockValues<'_>,
        exponents: BlockValues<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        append_sized(out, "the exponents of a unit take 4 GiB", |out| {
            self.exponents_child.encode(exponents, out)
        })?;
        self.digits_child.encode(digits, out)
    }
}
