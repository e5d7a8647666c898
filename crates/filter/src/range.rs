//! Values between two bounds. Numbers are compared with both at once, on their bytes; all else as `arrow-ord` does.

use arrow_array::{Array, ArrayRef, Datum, Scalar};
use arrow_buffer::{BooleanBuffer, MutableBuffer};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use tarsia_codec::{NumberRange, Order};

/// The bounds of a range.
#[derive(Debug, Default)]
pub(crate) struct Range {
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
}

/// An end of a range.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) value: Scalar<ArrayRef>,
    /// True if it belongs to the range.
    pub(crate) is_inclusive: bool,
}

impl Range {
    /// The range of one value.
    pub(crate) fn of(value: &Scalar<ArrayRef>) -> Self {
        let bound = || Bound {
            value: value.clone(),
            is_inclusive: true,
        };
        Self {
            low: Some(bound()),
            high: Some(bound()),
        }
    }

    /// The bits of the values of an array within it, whatever is null.
    ///
    /// # Errors
    /// The bounds have another type.
    pub(crate) fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        match self.numbers(array.data_type())? {
            Some(numbers) => test_numbers(array, &numbers),
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

/// The order of a type's bytes, if its values are numbers of at most 16 bytes.
pub(crate) fn order_of(data_type: &DataType) -> Option<Order> {
    let bytes = data_type.primitive_width()?;
    let order = match data_type {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Order::Unsigned,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Order::Float,
        // Intervals of days have parts, and 32 bytes are left to Arrow.
        DataType::Interval(_) | DataType::Decimal256(..) => return None,
        _ => Order::Signed,
    };
    NumberRange::all(order, bytes).map(|_| order)
}

impl Range {
    /// The numbers of the values of a type that lie in it; `None` for types that are no such numbers.
    ///
    /// # Errors
    /// The bounds have another type.
    pub(crate) fn numbers(&self, data_type: &DataType) -> Result<Option<NumberRange>, ArrowError> {
        let Some(order) = order_of(data_type) else {
            return Ok(None);
        };
        // No number of 16 bytes is below the smallest or above the largest.
        let mut numbers = NumberRange {
            order,
            low: i128::MIN,
            high: i128::MAX,
        };
        let none = NumberRange {
            order,
            low: 1,
            high: 0,
        };
        if let Some(low) = &self.low {
            let number = number_of(&low.value, order, data_type)?;
            match number.checked_add(i128::from(!low.is_inclusive)) {
                Some(number) => numbers.low = number,
                None => return Ok(Some(none)),
            }
        }
        if let Some(high) = &self.high {
            let number = number_of(&high.value, order, data_type)?;
            match number.checked_sub(i128::from(!high.is_inclusive)) {
                Some(number) => numbers.high = number,
                None => return Ok(Some(none)),
            }
        }
        Ok(Some(numbers))
    }
}

/// The bits of the values of an array whose numbers lie in a range, whatever is null. The range must be of the order of
/// their type, or of numbers without a sign for keys of dictionaries.
pub(crate) fn test_numbers(
    array: &dyn Array,
    numbers: &NumberRange,
) -> Result<BooleanBuffer, ArrowError> {
    let width = array.data_type().primitive_width().unwrap_or_default();
    let n = array.len();
    let data = array.to_data();
    let start = data.offset() * width;
    let buffer = data.buffers().first().map_or(&[][..], |it| it.as_slice());
    let values = buffer.get(start..start + n * width);
    let values = values.ok_or_else(|| wrong("an array without its values"))?;
    let mut bits = MutableBuffer::from_len_zeroed(n.div_ceil(8));
    numbers
        .test(width, values, &mut bits)
        .map_err(|error| wrong(&error.to_string()))?;
    Ok(BooleanBuffer::new(bits.into(), 0, n))
}

/// The bits of the values that equal one, whatever is null.
///
/// # Errors
/// The value has another type.
pub(crate) fn equal(
    array: &ArrayRef,
    value: &Scalar<ArrayRef>,
) -> Result<BooleanBuffer, ArrowError> {
    if order_of(array.data_type()).is_none() {
        return Ok(cmp::eq(array, value)?.into_parts().0);
    }
    Range::of(value).holds(array)
}

/// The number of a bound.
fn number_of(
    bound: &Scalar<ArrayRef>,
    order: Order,
    data_type: &DataType,
) -> Result<i128, ArrowError> {
    let (value, _) = bound.get();
    if value.data_type() != data_type {
        return Err(ArrowError::SchemaError(format!(
            "a column of type {data_type} where the bound has the type {}",
            value.data_type()
        )));
    }
    let data = value.to_data();
    let width = data_type.primitive_width().unwrap_or_default();
    let buffer = data.buffers().first().map_or(&[][..], |it| it.as_slice());
    let start = data.offset() * width;
    let bytes = buffer.get(start..start + width);
    let found = bytes.and_then(|bytes| NumberRange::number(order, bytes));
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
