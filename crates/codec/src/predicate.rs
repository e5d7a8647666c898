//! Conditions on values.

use core::cmp::Ordering;

use crate::{NumberRange, Order, ValueType, Values};

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
}

impl Predicate<'_> {
    /// The range, if it is one in which values of `width` bytes are numbers.
    pub fn numbers(&self, width: usize) -> Option<&NumberRange> {
        match self {
            Self::Within(range) => NumberRange::all(range.order, width).map(|_| range),
            _ => None,
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
            Self::In(_) => None,
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
    }
}
