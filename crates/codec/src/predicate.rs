//! Conditions on values.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::{BytesSlice, FixedSlice, NumberRange, Order, Result, ValueType, Values};

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `value == operand`
    Equal,
    /// `value < operand`
    Less,
    /// `value <= operand`
    LessOrEqual,
    /// `value > operand`
    Greater,
    /// `value >= operand`
    GreaterOrEqual,
}

/// A condition that [`Decoder::filter`](crate::Decoder::filter) evaluates for each value. Later versions may add forms;
/// a decoder returns `false` for those it does not know.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Predicate<'a> {
    /// `value <comparison> operand`
    Compare {
        /// The comparison.
        comparison: Comparison,
        /// How values are compared.
        order: Order,
        /// A value of the unit's type as bytes; a bit is one byte, 0 or 1.
        operand: &'a [u8],
    },
    /// The value's number lies in the range.
    Within(NumberRange),
    /// The value equals one of these, byte by byte.
    In(Values<'a>),
    /// The value, a byte string, begins with these bytes.
    StartsWith(&'a [u8]),
}

/// A [`Predicate`] that owns its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedPredicate {
    /// [`Predicate::Within`].
    Within(NumberRange),
    /// [`Predicate::In`] of values of fixed width.
    InFixed {
        /// Bytes of a value.
        width: usize,
        /// The values, back to back.
        bytes: Vec<u8>,
    },
    /// [`Predicate::In`] of byte strings.
    InBytes {
        /// One more than there are strings; they do not fall, and the first is 0.
        offsets: Vec<u32>,
        /// The strings, back to back.
        data: Vec<u8>,
    },
    /// [`Predicate::StartsWith`].
    StartsWith(Vec<u8>),
}

impl OwnedPredicate {
    /// The predicate that values equal one of these byte strings; `None` if the strings are too long to be numbered.
    pub fn in_strings<'s>(strings: impl IntoIterator<Item = &'s [u8]>) -> Option<Self> {
        let (mut offsets, mut data) = (alloc::vec![0], Vec::new());
        for string in strings {
            data.extend_from_slice(string);
            offsets.push(u32::try_from(data.len()).ok()?);
        }
        Some(Self::InBytes { offsets, data })
    }

    /// The predicate.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the values are not as their fields say.
    pub fn as_predicate(&self) -> Result<Predicate<'_>> {
        Ok(match self {
            Self::Within(range) => Predicate::Within(*range),
            Self::InFixed { width, bytes } => {
                let len = bytes.len().checked_div(*width).unwrap_or_default();
                Predicate::In(Values::Fixed(FixedSlice::new(bytes, *width, len)?))
            }
            Self::InBytes { offsets, data } => {
                Predicate::In(Values::Bytes(BytesSlice::new(offsets, data)?))
            }
            Self::StartsWith(prefix) => Predicate::StartsWith(prefix),
        })
    }
}

impl Predicate<'_> {
    /// The range, if it is one in which values of `width` bytes are numbers.
    pub fn numbers(&self, width: usize) -> Option<&NumberRange> {
        match self {
            Self::Within(range) => NumberRange::all(range.order, width).map(|_| range),
            _ => None,
        }
    }

    /// Whether values of this type can be tested.
    pub fn suits(&self, value_type: ValueType) -> bool {
        match self {
            Self::Compare { order, operand, .. } => {
                order.compare(value_type, operand, operand).is_some()
            }
            Self::Within(range) => {
                let width = value_type.fixed_bytes();
                width.is_some_and(|width| NumberRange::all(range.order, width).is_some())
            }
            Self::In(values) => values.value_type() == value_type,
            Self::StartsWith(_) => value_type == ValueType::Bytes,
        }
    }

    /// True if the predicate holds for a value of this type (a bit is one byte, 0 or 1). `None` for an unknown form of
    /// predicate, or values that cannot be compared in this order.
    pub fn holds(&self, value_type: ValueType, value: &[u8]) -> Option<bool> {
        match self {
            Self::Compare {
                comparison,
                order,
                operand,
            } => Some(comparison.admits(order.compare(value_type, value, operand)?)),
            Self::Within(range) => range.holds(value_type, value),
            Self::In(values) if values.value_type() == value_type => match values {
                Values::Bits(bits) => {
                    Some((0..bits.len()).any(|i| [u8::from(bits.get(i))] == value))
                }
                Values::Fixed(fixed) => Some((0..fixed.len()).any(|i| fixed.get(i) == value)),
                Values::Bytes(strings) => Some((0..strings.len()).any(|i| strings.get(i) == value)),
            },
            Self::StartsWith(prefix) if value_type == ValueType::Bytes => {
                Some(value.starts_with(prefix))
            }
            Self::In(_) | Self::StartsWith(_) => None,
        }
    }
}

impl Comparison {
    fn admits(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_hold_or_not() {
        let holds = |comparison, operand: u32| {
            let predicate = Predicate::Compare {
                comparison,
                order: Order::Unsigned,
                operand: &operand.to_le_bytes(),
            };
            predicate.holds(ValueType::Fixed(4), &7u32.to_le_bytes())
        };
        for (comparison, expect) in [
            (Comparison::Equal, [false, true, false]),
            (Comparison::Less, [false, false, true]),
            (Comparison::LessOrEqual, [false, true, true]),
            (Comparison::Greater, [true, false, false]),
            (Comparison::GreaterOrEqual, [true, true, false]),
        ] {
            let found = [6, 7, 8].map(|operand| holds(comparison, operand));
            assert_eq!(found, expect.map(Some), "{comparison:?}");
        }
        let list = crate::BytesSlice::new(&[0, 1, 3], b"abb").unwrap();
        let among = Predicate::In(Values::Bytes(list));
        assert_eq!(among.holds(ValueType::Bytes, b"bb"), Some(true));
        assert_eq!(among.holds(ValueType::Bytes, b"b"), Some(false));
        assert_eq!(among.holds(ValueType::Fixed(1), b"b"), None);
        let begins = Predicate::StartsWith(b"ab");
        assert_eq!(begins.holds(ValueType::Bytes, b"abc"), Some(true));
        assert_eq!(begins.holds(ValueType::Bytes, b"a"), Some(false));
        assert_eq!(begins.holds(ValueType::Fixed(3), b"abc"), None);
        let suits = [ValueType::Bytes, ValueType::Fixed(3)].map(|it| begins.suits(it));
        assert_eq!(suits, [true, false]);
    }

    #[test]
    fn predicates_own_their_values() {
        let strings = OwnedPredicate::in_strings([&b"oak"[..], b""]).unwrap();
        let predicate = strings.as_predicate().unwrap();
        for (value, holds) in [(&b"oak"[..], true), (b"", true), (b"oa", false)] {
            assert_eq!(predicate.holds(ValueType::Bytes, value), Some(holds));
        }
        let numbers = |width| OwnedPredicate::InFixed {
            width,
            bytes: alloc::vec![1, 2, 3, 4],
        };
        let pairs = numbers(2);
        let predicate = pairs.as_predicate().unwrap();
        assert_eq!(predicate.holds(ValueType::Fixed(2), &[3, 4]), Some(true));
        assert_eq!(predicate.holds(ValueType::Fixed(2), &[2, 3]), Some(false));
        assert!(numbers(3).as_predicate().is_err());
    }
}
