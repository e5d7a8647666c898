//! Ranges of numbers, and which values lie in one.

use crate::{Error, Order, Result, ValueType};

/// Numbers from `low` to `high`, both included; none if `low` exceeds `high`. Floating-point values are ordered by
/// their [keys](tarsia_bits::float_key), which are signed numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    /// How the values' bytes are numbers: [`Order::Unsigned`], [`Order::Signed`] or [`Order::Float`].
    pub order: Order,
    /// The smallest number.
    pub low: i128,
    /// The largest number.
    pub high: i128,
}

impl NumberRange {
    /// The range of all numbers that values of `width` bytes have in this order. `None` if they are no numbers in it,
    /// or not all are numbers of 128 bits with a sign.
    pub fn all(order: Order, width: usize) -> Option<Self> {
        let bits = 8 * width as u32;
        let (low, high) = match (order, width) {
            (Order::Unsigned, 1 | 2 | 4 | 8) => (0, (1 << bits) - 1),
            (Order::Signed, 1 | 2 | 4 | 8 | 16) | (Order::Float, 2 | 4 | 8) => {
                (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits))
            }
            _ => return None,
        };
        Some(Self { order, low, high })
    }

    /// Whether no number lies in it.
    pub fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// Whether a number lies in it.
    pub fn contains(&self, number: i128) -> bool {
        self.low <= number && number <= self.high
    }

    /// The numbers that lie in both ranges, which have the same order.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            order: self.order,
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    /// The number of a value in this order: of its key, if that is [`Order::Float`]. `None` if values of so many bytes
    /// are no numbers in it.
    pub fn number(order: Order, value: &[u8]) -> Option<i128> {
        Self::all(order, value.len())?;
        let mut wide = [0; 16];
        wide.get_mut(..value.len())?.copy_from_slice(value);
        let unsigned = i128::from_le_bytes(wide);
        let unused = 128 - 8 * value.len() as u32;
        let signed = |bits: i128| bits << unused >> unused;
        Some(match order {
            Order::Unsigned => unsigned,
            Order::Float => signed(match value.len() {
                2 => tarsia_bits::float_key(unsigned as u16).into(),
                4 => tarsia_bits::float_key(unsigned as u32).into(),
                _ => tarsia_bits::float_key(unsigned as u64).into(),
            }),
            _ => signed(unsigned),
        })
    }

    /// Tests values of `width` bytes, back to back: sets bit `i` of `bits` if value `i` lies in the range, and clears
    /// it else. Clears the spare bits of the last byte.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that are no numbers in the range's order,
    /// and for another number of bits.
    pub fn test(&self, width: usize, values: &[u8], bits: &mut [u8]) -> Result<()> {
        let all = Self::all(self.order, width).ok_or_else(no_numbers)?;
        let within = self.and(&all);
        if within.is_empty() {
            bits.fill(0);
            return Ok(());
        }
        let (low, high) = (within.low, within.high);
        let tested = match (self.order, width) {
            (Order::Float, 2) => tarsia_bits::within_floats(values, low as u16, high as u16, bits),
            (Order::Float, 4) => tarsia_bits::within_floats(values, low as u32, high as u32, bits),
            (Order::Float, _) => tarsia_bits::within_floats(values, low as u64, high as u64, bits),
            (_, 1) => tarsia_bits::within(values, low as u8, high as u8, bits),
            (_, 2) => tarsia_bits::within(values, low as u16, high as u16, bits),
            (_, 4) => tarsia_bits::within(values, low as u32, high as u32, bits),
            (_, 8) => tarsia_bits::within(values, low as u64, high as u64, bits),
            _ => tarsia_bits::within_wide(values, low, high, bits),
        };
        tested.map_err(|_| Error::invalid("bits for another number of values"))
    }

    /// Whether it lies in the range; `None` if values of this type are no numbers in its order.
    pub(crate) fn holds(&self, value_type: ValueType, value: &[u8]) -> Option<bool> {
        match value_type {
            ValueType::Fixed(width) if width as usize == value.len() => {
                Some(self.contains(Self::number(self.order, value)?))
            }
            _ => None,
        }
    }
}

fn no_numbers() -> Error {
    Error::invalid("values that are no numbers in this order")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn numbers_are_those_of_the_bytes() {
        let number = NumberRange::number;
        assert_eq!(number(Order::Signed, &[0xfe]), Some(-2));
        assert_eq!(number(Order::Unsigned, &[0xfe]), Some(254));
        assert_eq!(number(Order::Signed, &(-7i128).to_le_bytes()), Some(-7));
        assert_eq!(number(Order::Unsigned, &[0; 16]), None);
        assert_eq!(number(Order::Float, &[0]), None);
        assert_eq!(number(Order::Signed, &[0; 3]), None);
        assert_eq!(number(Order::Bytes, &[0; 2]), None);
        let key = |value: f64| number(Order::Float, &value.to_le_bytes()).unwrap();
        assert!(key(-2.5) < key(-0.0) && key(-0.0) < key(0.0) && key(0.0) < key(f64::NAN));
    }

    #[test]
    fn values_are_tested_as_their_numbers_lie() {
        for (order, width) in [
            (Order::Unsigned, 1),
            (Order::Signed, 1),
            (Order::Signed, 2),
            (Order::Float, 2),
            (Order::Unsigned, 4),
            (Order::Float, 4),
            (Order::Signed, 8),
            (Order::Unsigned, 8),
            (Order::Float, 8),
            (Order::Signed, 16),
        ] {
            let values: Vec<u8> = (0..21 * width).map(|i| (i * i * 37 % 251) as u8).collect();
            let all = NumberRange::all(order, width).unwrap();
            let numbers: Vec<i128> = values
                .chunks(width)
                .map(|value| NumberRange::number(order, value).unwrap())
                .collect();
            let (a, b) = (numbers[3], numbers[8]);
            for (low, high) in [
                (a.min(b), a.max(b)),
                (a.max(b), a.min(b) - 1),
                (i128::MIN, a),
                (b, i128::MAX),
                (all.low, all.high),
                (all.high.saturating_add(1), i128::MAX),
            ] {
                let range = NumberRange { order, low, high };
                let mut bits = [0xff; 3];
                range.test(width, &values, &mut bits).unwrap();
                for i in 0..24 {
                    let found = bits[i / 8] >> (i % 8) & 1 == 1;
                    let lies = numbers.get(i).is_some_and(|it| range.contains(*it));
                    assert_eq!(found, lies, "{range:?} of {width} bytes, value {i}");
                }
            }
        }
        let range = NumberRange::all(Order::Signed, 4).unwrap();
        assert!(range.test(4, &[0; 12], &mut [0; 2]).is_err());
        assert!(range.test(3, &[0; 12], &mut [0; 1]).is_err());
    }
}
