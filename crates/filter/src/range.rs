//! Values between two bounds. Numbers are compared with both at once, on their bytes; all else as `arrow-ord` does.

use arrow_array::{Array, ArrayRef, Datum, Scalar};
use arrow_buffer::{BooleanBuffer, MutableBuffer};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use tarsia_bits::{Word, float_key, within, within_floats, within_wide};

/// The bounds of a range.
#[derive(Debug, Default)]
pub(crate) struct Range {
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
}

/// An end of a range.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) value: Scalar<ArrayRef>,
    /// True if it belongs to the range.
    pub(crate) is_inclusive: bool,
}

impl Range {
    /// The bits of the values of an array within it, whatever is null.
    ///
    /// # Errors
    /// The bounds have another type.
    pub(crate) fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        match numbers(self, array)? {
            Some(bits) => Ok(bits),
            None => self.compared(array),
        }
    }

    /// As [`Range::holds`], by `arrow-ord`.
    fn compared(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        let mut all = None;
        let bounds = [(&self.low, true), (&self.high, false)];
        for (bound, is_low) in bounds {
            let Some(Bound {
                value,
                is_inclusive,
            }) = bound
            else {
                continue;
            };
            let within = match (is_low, is_inclusive) {
                (true, true) => cmp::gt_eq(array, value),
                (true, false) => cmp::gt(array, value),
                (false, true) => cmp::lt_eq(array, value),
                (false, false) => cmp::lt(array, value),
            };
            let (within, _) = within?.into_parts();
            all = Some(match all {
                Some(all) => &all & &within,
                None => within,
            });
        }
        Ok(all.unwrap_or_else(|| BooleanBuffer::new_set(array.len())))
    }
}

/// How the bytes of a type are in order.
#[derive(Clone, Copy)]
enum Order {
    Signed,
    Unsigned,
    /// The `totalOrder` of IEEE 754.
    Float,
}

/// A type whose values are numbers of at most 16 bytes.
#[derive(Clone, Copy)]
struct Number {
    order: Order,
    bytes: usize,
}

impl Number {
    fn of(data_type: &DataType) -> Option<Self> {
        let bytes = data_type.primitive_width()?;
        let order = match data_type {
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
                Order::Unsigned
            }
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Order::Float,
            // Intervals of days have parts, and 32 bytes are left to Arrow.
            DataType::Interval(_) | DataType::Decimal256(..) => return None,
            _ => Order::Signed,
        };
        Some(Self { order, bytes })
    }

    /// The numbers that the type has, or the keys of floating-point values.
    fn all(self) -> (i128, i128) {
        let bits = 8 * self.bytes as u32;
        match self.order {
            Order::Unsigned => (0, (1 << bits) - 1),
            Order::Signed | Order::Float => (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits)),
        }
    }

    /// The number of the first value in `bytes`, or its key.
    fn read(self, bytes: &[u8]) -> Option<i128> {
        let bytes = bytes.get(..self.bytes)?;
        let mut wide = [0; 16];
        wide.get_mut(..self.bytes)?.copy_from_slice(bytes);
        let value = i128::from_le_bytes(wide);
        let unused = 128 - 8 * self.bytes as u32;
        let signed = value << unused >> unused;
        Some(match self.order {
            Order::Unsigned => value,
            Order::Signed => signed,
            Order::Float => match self.bytes {
                2 => i128::from(float_key(value as u16) as i16),
                4 => i128::from(float_key(value as u32) as i32),
                _ => i128::from(float_key(value as u64) as i64),
            },
        })
    }
}

/// The bits of the numbers within a range; `None` for types that are no such numbers.
///
/// # Errors
/// The bounds have another type.
fn numbers(range: &Range, array: &ArrayRef) -> Result<Option<BooleanBuffer>, ArrowError> {
    let Some(number) = Number::of(array.data_type()) else {
        return Ok(None);
    };
    let (least, most) = number.all();
    let low = match &range.low {
        None => Some(least),
        Some(bound) => number_of(bound, number, array.data_type())?
            .checked_add(i128::from(!bound.is_inclusive)),
    };
    let high = match &range.high {
        None => Some(most),
        Some(bound) => number_of(bound, number, array.data_type())?
            .checked_sub(i128::from(!bound.is_inclusive)),
    };
    let n = array.len();
    let (Some(low), Some(high)) = (low, high) else {
        return Ok(Some(BooleanBuffer::new_unset(n)));
    };
    if low > high || low > most || high < least {
        return Ok(Some(BooleanBuffer::new_unset(n)));
    }
    let data = array.to_data();
    let start = data.offset() * number.bytes;
    let buffer = data.buffers().first().map_or(&[][..], |it| it.as_slice());
    let values = buffer.get(start..start + n * number.bytes);
    let values = values.ok_or_else(|| wrong("an array without its values"))?;
    let mut bits = MutableBuffer::from_len_zeroed(n.div_ceil(8));
    fn words<T: Word>(
        order: Order,
        values: &[u8],
        bounds: [i128; 2],
        bits: &mut [u8],
    ) -> Result<(), tarsia_bits::Error> {
        let [low, high] = bounds.map(|bound| T::from_u64(bound as u64));
        match order {
            Order::Float => within_floats(values, low, high, bits),
            Order::Signed | Order::Unsigned => within(values, low, high, bits),
        }
    }
    let (order, bounds) = (number.order, [low, high]);
    let set = match number.bytes {
        1 => words::<u8>(order, values, bounds, &mut bits),
        2 => words::<u16>(order, values, bounds, &mut bits),
        4 => words::<u32>(order, values, bounds, &mut bits),
        8 => words::<u64>(order, values, bounds, &mut bits),
        _ => within_wide(values, low, high, &mut bits),
    };
    set.map_err(|error| wrong(&error.to_string()))?;
    Ok(Some(BooleanBuffer::new(bits.into(), 0, n)))
}

/// The bits of the values that equal one, whatever is null.
///
/// # Errors
/// The value has another type.
pub(crate) fn equal(
    array: &ArrayRef,
    value: &Scalar<ArrayRef>,
) -> Result<BooleanBuffer, ArrowError> {
    if Number::of(array.data_type()).is_none() {
        return Ok(cmp::eq(array, value)?.into_parts().0);
    }
    let bound = || {
        Some(Bound {
            value: value.clone(),
            is_inclusive: true,
        })
    };
    let (low, high) = (bound(), bound());
    Range { low, high }.holds(array)
}

/// The number of a bound.
fn number_of(bound: &Bound, number: Number, data_type: &DataType) -> Result<i128, ArrowError> {
    let (value, _) = bound.value.get();
    if value.data_type() != data_type {
        return Err(ArrowError::SchemaError(format!(
            "a column of type {data_type} where the bound has the type {}",
            value.data_type()
        )));
    }
    let data = value.to_data();
    let buffer = data.buffers().first().map_or(&[][..], |it| it.as_slice());
    let bytes = buffer.get(data.offset() * number.bytes..);
    let found = bytes.and_then(|bytes| number.read(bytes));
    found.ok_or_else(|| wrong("a bound without its value"))
}

fn wrong(what: &str) -> ArrowError {
    ArrowError::ComputeError(what.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, make_array};
    use arrow_buffer::Buffer;
    use arrow_data::ArrayData;
    use arrow_schema::{IntervalUnit, TimeUnit};
    use proptest::prelude::*;

    use super::*;

    fn types() -> Vec<DataType> {
        use DataType::*;
        vec![
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
            Date32,
            Date64,
            Time32(TimeUnit::Second),
            Time64(TimeUnit::Nanosecond),
            Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Duration(TimeUnit::Millisecond),
            Interval(IntervalUnit::YearMonth),
            Interval(IntervalUnit::DayTime),
            Interval(IntervalUnit::MonthDayNano),
            Decimal32(9, 2),
            Decimal64(18, 2),
            Decimal128(38, 2),
            Decimal256(76, 2),
        ]
    }

    /// An array whose values have these bytes.
    fn array(data_type: &DataType, bytes: &[u8]) -> ArrayRef {
        let width = data_type.primitive_width().unwrap();
        let n = bytes.len() / width;
        let data = ArrayData::builder(data_type.clone())
            .len(n)
            .add_buffer(Buffer::from_slice_ref(&bytes[..n * width]));
        make_array(data.align_buffers(true).build().unwrap())
    }

    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![Just(0), Just(0xff), Just(0x7f), Just(0x80), any::<u8>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn numbers_are_compared_as_arrow_compares_them(
            data_type in prop::sample::select(types()),
            bytes in prop::collection::vec(byte(), 64..3000),
            picked in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            inclusive in any::<(bool, bool)>(),
            has in any::<(bool, bool)>(),
            cut in 0..3_usize,
        ) {
            let whole = array(&data_type, &bytes);
            let array = whole.slice(cut.min(whole.len() - 1), whole.len() - cut.min(whole.len() - 1));
            let one = |at: &prop::sample::Index| Scalar::new(whole.slice(at.index(whole.len()), 1));
            let bound = |at, is_inclusive| Bound { value: one(at), is_inclusive };
            let range = Range {
                low: has.0.then(|| bound(&picked.0, inclusive.0)),
                high: has.1.then(|| bound(&picked.1, inclusive.1)),
            };
            prop_assert_eq!(range.holds(&array).unwrap(), range.compared(&array).unwrap());
            let value = one(&picked.0);
            let expected = cmp::eq(&array, &value).unwrap().into_parts().0;
            prop_assert_eq!(equal(&array, &value).unwrap(), expected);
        }
    }

    #[test]
    fn bounds_beyond_the_type_hold_nothing() {
        let values: ArrayRef = Arc::new(arrow_array::Int8Array::from(vec![i8::MIN, 0, i8::MAX]));
        let bound = |value: i8| {
            Some(Bound {
                value: Scalar::new(Arc::new(arrow_array::Int8Array::from(vec![value])) as ArrayRef),
                is_inclusive: false,
            })
        };
        let above = Range {
            low: bound(i8::MAX),
            high: None,
        };
        let below = Range {
            low: None,
            high: bound(i8::MIN),
        };
        let between = Range {
            low: bound(-1),
            high: bound(1),
        };
        let held = |range: Range| range.holds(&values).unwrap().iter().collect::<Vec<_>>();
        assert_eq!(held(above), [false; 3]);
        assert_eq!(held(below), [false; 3]);
        assert_eq!(held(between), [false, true, false]);
    }

    #[test]
    fn bounds_of_another_type_are_refused() {
        let values: ArrayRef = Arc::new(arrow_array::Int8Array::from(vec![1]));
        let other: ArrayRef = Arc::new(arrow_array::Int16Array::from(vec![1]));
        assert!(equal(&values, &Scalar::new(other)).is_err());
    }
}
