//! The decimal that stands for a number: the one with the smallest exponent.

use crate::layout::{EXPONENT_MAX, power};

/// Added to a number and taken from the sum, which rounds it to a whole number: 2^52 + 2^51.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Powers of ten, by which zeros are counted.
const TENS: [u64; 8] = [
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// The number `digits / 10^exponent`, rounded to the nearest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal {
    pub(crate) digits: i64,
    pub(crate) exponent: u8,
}

/// Numbers of `W` bytes.
pub(crate) trait Number<const W: usize>: Copy {
    /// Digits are between -`DIGITS_END` and this.
    const DIGITS_END: f64;
    /// Below this number of digits at most one integer gives a number back under an exponent, and [`digits_of`] finds
    /// it.
    const CERTAIN: f64;

    fn of(bytes: [u8; W]) -> Self;
    fn wide(self) -> f64;
    /// Digits in two's complement.
    fn bytes_of(digits: i64) -> [u8; W];
    /// True if the decoder makes the same bits of a quotient.
    fn equals(self, quotient: f64) -> bool;
}

impl Number<8> for f64 {
    const DIGITS_END: f64 = (1u64 << 51) as f64;
    // Up to here, a number and its product are each rounded by less than an eighth of a digit.
    const CERTAIN: f64 = (1u64 << 50) as f64;

    fn of(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn wide(self) -> f64 {
        self
    }

    fn bytes_of(digits: i64) -> [u8; 8] {
        digits.to_le_bytes()
    }

    fn equals(self, quotient: f64) -> bool {
        self.to_bits() == quotient.to_bits()
    }
}

impl Number<4> for f32 {
    const DIGITS_END: f64 = i32::MAX as f64;
    // Up to 2^21 in truth, which numbers exceed so often that trying costs more than it saves.
    const CERTAIN: f64 = 0.0;

    fn of(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn wide(self) -> f64 {
        self.into()
    }

    fn bytes_of(digits: i64) -> [u8; 4] {
        (digits as i32).to_le_bytes()
    }

    fn equals(self, quotient: f64) -> bool {
        self.to_bits() == (quotient as f32).to_bits()
    }
}

/// The decimal of each number; `None` for one that has none.
pub(crate) fn decimals<const W: usize, N: Number<W>>(
    values: &[u8],
) -> impl Iterator<Item = Option<Decimal>> {
    let values = values.as_chunks().0.iter();
    values.scan(0, |near, bytes| Some(shortest(N::of(*bytes), near)))
}

/// The decimal of a number. It does not depend on `near`, an exponent that is tried first: that saves time where it is
/// not below the number's own, and not far above it. So it becomes another where it was of no use.
#[inline]
fn shortest<const W: usize, N: Number<W>>(value: N, near: &mut u8) -> Option<Decimal> {
    let first = match (value.wide() * power(*near)).abs() < N::CERTAIN {
        true => match digits_of(value, *near) {
            Some(digits) => return Some(without_zeros(digits, *near)),
            // A decimal with a smaller exponent would have had zeros here.
            None => *near + 1,
        },
        false => 0,
    };
    let found = search(value, first)?;
    *near = found.exponent;
    Some(found)
}

/// The decimal with the smallest exponent from `first` on.
fn search<const W: usize, N: Number<W>>(value: N, first: u8) -> Option<Decimal> {
    for exponent in first..=EXPONENT_MAX {
        if let Some(digits) = digits_of(value, exponent) {
            return Some(Decimal { digits, exponent });
        }
        // False for NaN too.
        let is_in_range = (value.wide() * power(exponent)).abs() < N::DIGITS_END;
        if !is_in_range {
            return None;
        }
    }
    None
}

/// The integer that gives a number back under an exponent, if its nearest does and is in range. There is none under an
/// exponent above [`EXPONENT_MAX`].
#[inline]
fn digits_of<const W: usize, N: Number<W>>(value: N, exponent: u8) -> Option<i64> {
    let power = power(exponent);
    let scaled = value.wide() * power;
    let digits = (scaled + MAGIC) - MAGIC;
    let is_one = scaled.abs() < N::DIGITS_END && value.equals(digits / power);
    is_one.then_some(digits as i64)
}

/// Returns the decimal with the smallest exponent. Both quotients are one rational number, so both are rounded alike.
#[inline]
fn without_zeros(mut digits: i64, mut exponent: u8) -> Decimal {
    loop {
        let all = digits.unsigned_abs();
        if !all.is_multiple_of(10) {
            return Decimal { digits, exponent };
        }
        // How many zeros there are is hard to predict, so they are counted without branches.
        let n_zeros = TENS.iter().filter(|ten| all.is_multiple_of(**ten)).count() as u8;
        let n_cut = n_zeros.min(exponent);
        // Exact.
        digits = (digits as f64 / power(n_cut)) as i64;
        exponent -= n_cut;
        if usize::from(n_cut) < TENS.len() {
            return Decimal { digits, exponent };
        }
    }
}
