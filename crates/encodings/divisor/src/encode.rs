//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, OwnedValues,
    PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Divisor;
use crate::layout::Params;

impl EncodingWriter for Divisor {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        // What has one byte has few bits to save.
        if !values.facts().logical_type.is_integer() || !matches!(fixed.width(), 2 | 4 | 8) {
            return Ok(());
        }
        let found = find(&fixed, values.sample());
        let found = match values.facts().erasable {
            true => found.and_then(coarse),
            false => found,
        };
        let Some(params) = found else {
            return Ok(());
        };
        let quotients = Rc::new(divided(&fixed, params)?);
        proposals.push(Proposal {
            params: params.to_bytes(fixed.width()),
            children: vec![Part::owned(quotients, values.facts().logical_type)],
            ..Proposal::leaf(self, 0)
        });
        Ok(())
    }

    /// A divisor of all values is one of the sample.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let params = Params::parse(node)?;
        let quotients = divided(&values.as_fixed()?, params)?;
        let child = page.child(0, quotients.as_values()?)?;
        Ok(Box::new(DivisorPage {
            params,
            quotients,
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
        child(0, node.value_type, n_values, decoded_bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("what all numbers of the page were multiples of")
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |width, divisor, remainder, fit| {
            let params = Params { divisor, remainder }.to_bytes(width as usize);
            Sample::fitting(ValueType::Fixed(width), &params, fit)
        };
        vec![
            of(8, 1_000_000_000, 500, |it| fitted(it, 9, 500)),
            of(4, 60, 59, |it| fitted(it, 2, 59)),
            of(2, 256, 0, |it| fitted(it, 8, 0)),
            // All numbers are multiples of an odd one, modulo a power of two.
            Sample::any(ValueType::Fixed(1), &[7, 3]),
        ]
    }
}

/// The values with the lowest `bits` bits replaced by those of the remainder: all that a node asks of them.
fn fitted(values: Values<'_>, bits: u32, remainder: u64) -> OwnedValues {
    let Values::Fixed(fixed) = values else {
        return OwnedValues::copy_of(values);
    };
    let low = (1u64 << bits) - 1;
    let mut bytes = AlignedBuf::copy_of(fixed.bytes());
    let masks = low.to_le_bytes().into_iter().zip(remainder.to_le_bytes());
    for value in bytes.chunks_exact_mut(fixed.width().max(1)) {
        for (byte, (low, remainder)) in value.iter_mut().zip(masks.clone()) {
            *byte = *byte & !low | remainder & low;
        }
    }
    OwnedValues::Fixed {
        bytes,
        width: fixed.width(),
        len: fixed.len(),
    }
}

/// Exact division by a number: its odd part by multiplication with the inverse modulo a power of two, the rest by a
/// shift. Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), section
/// 9.
#[derive(Clone, Copy)]
struct Exact {
    shift: u32,
    inverse: u64,
    /// The largest quotient of a multiple of the odd part.
    quotient_max: u64,
}

impl Exact {
    fn by(divisor: u64) -> Self {
        let shift = divisor.trailing_zeros();
        let odd = divisor >> shift;
        // Newton's method: each step doubles the number of correct bits, of which there are three at the start.
        let step =
            |inverse: u64, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        Self {
            shift,
            inverse: (0..5).fold(odd, step),
            quotient_max: u64::MAX / odd,
        }
    }

    /// True if the number is a multiple of the divisor.
    #[inline]
    fn divides(self, number: u64) -> bool {
        let is_even_enough = number & ((1 << self.shift) - 1) == 0;
        is_even_enough && number.wrapping_mul(self.inverse) <= self.quotient_max
    }
}

/// The largest divisor that all values share after a remainder is taken off. `None` if there is none above 1, and if
/// all values are equal.
fn find(values: &FixedSlice<'_>, sample: Vec<core::ops::Range<usize>>) -> Option<Params> {
    let first = number(values.bytes().get(..values.width())?);
    let of_sample = sample.into_iter().try_fold(0, |divisor, run| {
        common_divisor(&values.slice(run), first, divisor)
    });
    let divisor = common_divisor(values, first, of_sample?)?;
    (divisor > 1).then(|| Params {
        divisor,
        remainder: first.rem_euclid(divisor as i64) as u64,
    })
}

/// Where rows may be erased: the largest divisor that tells of no single value. An exact one may be the difference of
/// the two values of a page, and its remainder a value. Powers of two and of ten, and seconds of a minute, an hour and
/// a day times powers of ten say of which kind the numbers of the page are. `None` if none of those divides all values.
fn coarse(exact: Params) -> Option<Params> {
    let common = greatest_common_divisor(exact.divisor, exact.remainder);
    let of_two = 1u64 << common.trailing_zeros().min(62);
    let decimal = |unit: u64| {
        let multiples = core::iter::successors(Some(unit), |it| it.checked_mul(10));
        multiples.take_while(|it| common.is_multiple_of(*it)).last()
    };
    let units = [1, 60, 3600, 86_400].into_iter().filter_map(decimal);
    let divisor = units.chain([of_two]).max().filter(|divisor| *divisor > 1)?;
    Some(Params {
        divisor,
        remainder: 0,
    })
}

/// The greatest common divisor of `divisor` and the differences of all values from `first`. `None` once it is 1.
fn common_divisor(values: &FixedSlice<'_>, first: i64, divisor: u64) -> Option<u64> {
    macro_rules! of {
        ($number:ty) => {{
            let numbers = values.bytes().as_chunks().0.iter();
            of_numbers(
                numbers.map(|it| i64::from(<$number>::from_le_bytes(*it))),
                first,
                divisor,
            )
        }};
    }
    match values.width() {
        2 => of!(i16),
        4 => of!(i32),
        _ => of!(i64),
    }
}

fn of_numbers(numbers: impl Iterator<Item = i64>, first: i64, mut divisor: u64) -> Option<u64> {
    let mut exact = Exact::by(divisor.max(1));
    for number in numbers {
        let difference = number.abs_diff(first);
        // Of 0, all numbers are no multiples but 0; 1 is not gone on with.
        if difference == 0 || divisor > 1 && exact.divides(difference) {
            continue;
        }
        divisor = greatest_common_divisor(divisor, difference);
        if divisor == 1 || divisor > i64::MAX as u64 {
            return None;
        }
        exact = Exact::by(divisor);
    }
    Some(divisor)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A value of 2, 4 or 8 bytes, in two's complement.
fn number(bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    wide.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    let shift = 64 - 8 * bytes.len().min(8) as u32;
    (u64::from_le_bytes(wide) << shift) as i64 >> shift
}

/// The quotients of values.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for a value that the node does not restore.
fn divided(values: &FixedSlice<'_>, params: Params) -> Result<OwnedValues> {
    let exact = Exact::by(params.divisor);
    let mut bytes = AlignedBuf::zeroed(values.bytes().len());
    macro_rules! divide {
        ($signed:ty) => {{
            let low = ((1u64 << exact.shift) - 1) as $signed;
            let mut odd = 0;
            let to = bytes.as_chunks_mut().0.iter_mut();
            for (to, value) in to.zip(values.bytes().as_chunks().0) {
                let rest =
                    <$signed>::from_le_bytes(*value).wrapping_sub(params.remainder as $signed);
                odd |= rest & low;
                let shifted = rest >> exact.shift;
                *to = shifted.wrapping_mul(exact.inverse as $signed).to_le_bytes();
            }
            odd == 0
        }};
    }
    let are_held = match values.width() {
        1 => divide!(i8),
        2 => divide!(i16),
        4 => divide!(i32),
        _ => divide!(i64),
    };
    match are_held {
        true => Ok(OwnedValues::Fixed {
            bytes,
            width: values.width(),
            len: values.len(),
        }),
        false => Err(Error::invalid(
            "a value has another remainder than the node",
        )),
    }
}

struct DivisorPage {
    params: Params,
    /// Quotients of all values of the page.
    quotients: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for DivisorPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let of_block = divided(&block.values().as_fixed()?, self.params)?;
        let of_block = block.derived(self.quotients.as_values()?, of_block.as_values()?)?;
        self.child.encode(of_block, out)
    }
}
