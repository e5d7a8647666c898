//! Decimals with more digits than the precision of their type. Arrow's arrays may hold such numbers, but other formats
//! cut them to other numbers.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, make_array};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;
use tarsia_codec::{BitSlice, Values};

use crate::types::logical_type;

/// A decimal that its type cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeyondPrecision {
    /// Which of the values it is. Of a nested array it is one of those inside.
    pub index: usize,
    /// The number, and its type, in words.
    pub what: String,
}

/// Calls a function for the native type of decimals, with precision and scale; returns `None` for other types.
macro_rules! by_decimal_type {
    ($data_type:expr, $function:ident($($argument:expr),*)) => {
        match $data_type {
            DataType::Decimal32(p, s) => $function::<Decimal32Type>($($argument,)* *p, *s),
            DataType::Decimal64(p, s) => $function::<Decimal64Type>($($argument,)* *p, *s),
            DataType::Decimal128(p, s) => $function::<Decimal128Type>($($argument,)* *p, *s),
            DataType::Decimal256(p, s) => $function::<Decimal256Type>($($argument,)* *p, *s),
            _ => None,
        }
    };
}

/// Whether values of this type, dictionaries and runs resolved, are decimals.
pub fn is_decimal(data_type: &DataType) -> bool {
    logical_type(data_type).is_decimal()
}

/// The first valid value of a leaf column that its type cannot hold. `None` also for values that are no decimals.
pub fn leaf_beyond_precision(
    data_type: &DataType,
    values: Values<'_>,
    validity: Option<BitSlice<'_>>,
) -> Option<BeyondPrecision> {
    let Values::Fixed(values) = values else {
        return None;
    };
    let is_valid = |index| validity.is_none_or(|validity| validity.get(index));
    by_decimal_type!(
        logical_type(data_type),
        first_of_bytes(values.bytes(), &is_valid)
    )
}

/// The first valid value of an array, at any depth, that its type cannot hold.
pub fn beyond_precision(array: &dyn Array) -> Option<BeyondPrecision> {
    below(array, None)
}

/// Looks at slots that are not null above either.
fn below(array: &dyn Array, above: Option<&NullBuffer>) -> Option<BeyondPrecision> {
    let nulls = NullBuffer::union(above, array.nulls());
    match array.data_type() {
        DataType::Dictionary(..) => below(array.as_any_dictionary().values().as_ref(), None),
        DataType::Struct(_) => {
            let mut columns = array.as_struct().columns().iter();
            columns.find_map(|column| below(column.as_ref(), nulls.as_ref()))
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            let nulls = nulls.map(|nulls| nulls.expand(size));
            below(array.as_fixed_size_list().values().as_ref(), nulls.as_ref())
        }
        flat if flat.is_decimal() => {
            let is_valid = |index| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index));
            by_decimal_type!(flat, first_of_array(array, &is_valid))
        }
        flat if !flat.is_nested() => None,
        _ => {
            let data = array.to_data();
            let mut children = data.child_data().iter();
            children.find_map(|child| below(make_array(child.clone()).as_ref(), None))
        }
    }
}

fn first_of_array<T: DecimalType + ArrowPrimitiveType>(
    array: &dyn Array,
    is_valid: &dyn Fn(usize) -> bool,
    precision: u8,
    scale: i8,
) -> Option<BeyondPrecision> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let values = array.values().iter().copied();
    first::<T>(values, is_valid, precision, scale)
}

fn first_of_bytes<T: DecimalType + LittleEndian>(
    bytes: &[u8],
    is_valid: &dyn Fn(usize) -> bool,
    precision: u8,
    scale: i8,
) -> Option<BeyondPrecision> {
    let values = bytes.chunks_exact(size_of::<T::Native>());
    first::<T>(values.map(T::read), is_valid, precision, scale)
}

fn first<T: DecimalType>(
    values: impl Iterator<Item = T::Native>,
    is_valid: &dyn Fn(usize) -> bool,
    precision: u8,
    scale: i8,
) -> Option<BeyondPrecision> {
    let mut values = values.enumerate();
    let is_beyond =
        |index, value| !T::is_valid_decimal_precision(value, precision) && is_valid(index);
    let (index, value) = values.find(|(index, value)| is_beyond(*index, *value))?;
    let number = T::format_decimal(value, u8::MAX, scale);
    let data_type = T::TYPE_CONSTRUCTOR(precision, scale);
    let what = format!("{number} has more than the {precision} digits of {data_type}");
    Some(BeyondPrecision { index, what })
}

/// Numbers as pages store them.
trait LittleEndian: DecimalType {
    /// Reads exactly as many bytes as the number has; returns zero for others.
    fn read(bytes: &[u8]) -> Self::Native;
}

macro_rules! little_endian {
    ($($decimal:ty, $native:ty;)*) => {
        $(impl LittleEndian for $decimal {
            fn read(bytes: &[u8]) -> $native {
                bytes.try_into().map_or(<$native>::default(), <$native>::from_le_bytes)
            }
        })*
    };
}

little_endian! {
    Decimal32Type, i32;
    Decimal64Type, i64;
    Decimal128Type, i128;
    Decimal256Type, i256;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Decimal128Array, DictionaryArray, FixedSizeListArray, Int8Array, ListArray,
        StructArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    use tarsia_codec::FixedSlice;

    use super::*;

    fn decimals(values: Vec<Option<i128>>) -> Decimal128Array {
        let array = Decimal128Array::from(values);
        array.with_precision_and_scale(4, 2).unwrap()
    }

    #[test]
    fn numbers_of_too_many_digits_are_found_at_any_depth() {
        let good = decimals(vec![Some(9999), None, Some(-9999), Some(0)]);
        let bad = decimals(vec![Some(9999), None, Some(-10_000), Some(0)]);
        let what = "-100.00 has more than the 4 digits of Decimal128(4, 2)";
        let item =
            |array: &Decimal128Array| Arc::new(Field::new("item", array.data_type().clone(), true));
        let wrapped = |array: &Decimal128Array| -> Vec<ArrayRef> {
            let (field, array_ref) = (item(array), Arc::new(array.clone()) as ArrayRef);
            let keys = Int8Array::from(vec![0, 2]);
            vec![
                array_ref.clone(),
                Arc::new(StructArray::new(
                    vec![field.clone()].into(),
                    vec![array_ref.clone()],
                    None,
                )),
                Arc::new(FixedSizeListArray::new(
                    field.clone(),
                    2,
                    array_ref.clone(),
                    None,
                )),
                Arc::new(ListArray::new(
                    field,
                    OffsetBuffer::from_lengths([1, 3]),
                    array_ref.clone(),
                    None,
                )),
                Arc::new(DictionaryArray::new(keys, array_ref)),
            ]
        };
        for array in wrapped(&good) {
            assert_eq!(beyond_precision(&array), None, "{}", array.data_type());
        }
        for array in wrapped(&bad) {
            let found = beyond_precision(&array).map(|found| (found.index, found.what));
            assert_eq!(found, Some((2, what.to_owned())), "{}", array.data_type());
        }
    }

    #[test]
    fn what_is_null_may_be_anything() {
        let bad = decimals(vec![Some(1), Some(10_000)]);
        let field = Field::new("c", bad.data_type().clone(), true);
        let nulls = NullBuffer::from(vec![true, false]);
        let structure =
            StructArray::new(vec![field].into(), vec![Arc::new(bad.clone())], Some(nulls));
        assert_eq!(beyond_precision(&structure), None);
        let bytes: Vec<u8> = bad.values().iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = Values::Fixed(FixedSlice::new(&bytes, 16, 2).unwrap());
        let found = |validity: u8| {
            let bits = [validity];
            let validity = BitSlice::new(&bits, 0, 2).unwrap();
            leaf_beyond_precision(bad.data_type(), values, Some(validity)).map(|it| it.index)
        };
        assert_eq!((found(0b01), found(0b11)), (None, Some(1)));
        let other = leaf_beyond_precision(&DataType::FixedSizeBinary(16), values, None);
        assert_eq!(other, None);
    }
}
