//! The orders in which values are compared.

use core::cmp::Ordering;

use crate::ValueType;

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As unsigned little-endian numbers; bits as 0 and 1.
    Unsigned,
    /// As little-endian numbers in two's complement.
    Signed,
    /// As IEEE 754 numbers in `totalOrder`.
    Float,
    /// Byte by byte; a prefix comes before a longer string.
    Bytes,
}

impl Order {
    /// Compares two values of this type; `None` if the order does not apply to the type.
    pub fn compare(self, value_type: ValueType, a: &[u8], b: &[u8]) -> Option<Ordering> {
        let has_length = |bytes: &[u8]| match value_type {
            ValueType::Bits => bytes.len() == 1,
            ValueType::Fixed(width) => bytes.len() == width as usize,
            ValueType::Bytes => true,
        };
        if !has_length(a) || !has_length(b) {
            return None;
        }
        let is_number = value_type != ValueType::Bytes;
        let negative = |bytes: &[u8]| bytes.last().is_some_and(|last| last >> 7 == 1);
        // From the most significant byte on.
        let unsigned = || a.iter().rev().cmp(b.iter().rev());
        match self {
            Self::Bytes => (value_type != ValueType::Bits).then(|| a.cmp(b)),
            Self::Unsigned => is_number.then(unsigned),
            Self::Signed => is_number.then(|| (negative(b).cmp(&negative(a))).then_with(unsigned)),
            Self::Float => matches!(value_type, ValueType::Fixed(2 | 4 | 8)).then(|| {
                match (negative(a), negative(b)) {
                    (false, false) => unsigned(),
                    (true, true) => unsigned().reverse(),
                    (a, b) => b.cmp(&a),
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_numbers() {
        let order = |order: Order, a: &[u8], b: &[u8]| {
            order.compare(ValueType::Fixed(a.len() as u32), a, b)
        };
        let numbers = [i16::MIN, -256, -1, 0, 1, 255, 256, i16::MAX];
        for a in numbers {
            for b in numbers {
                let (a_bytes, b_bytes) = (a.to_le_bytes(), b.to_le_bytes());
                let signed = order(Order::Signed, &a_bytes, &b_bytes);
                assert_eq!(signed, Some(a.cmp(&b)));
                let unsigned = order(Order::Unsigned, &a_bytes, &b_bytes);
                assert_eq!(unsigned, Some((a as u16).cmp(&(b as u16))));
            }
        }
        let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 7.0, f64::NAN];
        for a in floats {
            for b in floats {
                let found = order(Order::Float, &a.to_le_bytes(), &b.to_le_bytes());
                assert_eq!(found, Some(a.total_cmp(&b)));
            }
        }
        let strings = Order::Bytes.compare(ValueType::Bytes, b"ab", b"abc");
        assert_eq!(strings, Some(Ordering::Less));
        assert_eq!(order(Order::Unsigned, &[1], &[1, 0]), None);
        assert_eq!(Order::Signed.compare(ValueType::Bytes, b"a", b"b"), None);
        assert_eq!(order(Order::Float, &[1], &[1]), None);
    }
}
