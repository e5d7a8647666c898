//! Arrays of integers as 64 bits each, and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};

use crate::error::invalid;

/// A type of ids or of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
}

impl Integers {
    /// # Errors
    /// Types that ids do not have.
    pub(super) fn of_ids(data_type: &DataType) -> Result<Self, ArrowError> {
        match data_type {
            DataType::Int32 => Ok(Self::Int32),
            DataType::Int64 => Ok(Self::Int64),
            DataType::UInt32 => Ok(Self::UInt32),
            DataType::UInt64 => Ok(Self::UInt64),
            other => Err(invalid(format!(
                "{other} is no type of ids: only Int32, Int64, UInt32 and UInt64 are"
            ))),
        }
    }

    /// # Errors
    /// Types that numbers do not have.
    pub(super) fn of_numbers(data_type: &DataType) -> Result<Self, ArrowError> {
        match data_type {
            DataType::UInt8 => Ok(Self::UInt8),
            DataType::UInt16 => Ok(Self::UInt16),
            DataType::UInt32 => Ok(Self::UInt32),
            other => Err(invalid(format!(
                "{other} is no type of numbers: only UInt8, UInt16 and UInt32 are"
            ))),
        }
    }

    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt8 => DataType::UInt8,
            Self::UInt16 => DataType::UInt16,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
        }
    }

    /// How many ids numbers of this type can be given to, 2³² at most.
    pub(super) fn n_numbers(self) -> u64 {
        match self {
            Self::UInt8 => 1 << 8,
            Self::UInt16 => 1 << 16,
            _ => 1 << 32,
        }
    }

    /// The integers of an array of this type, also those under nulls; narrower ones are widened.
    pub(super) fn of_array(self, array: &dyn Array) -> Vec<u64> {
        match self {
            Self::Int32 => widened::<Int32Type>(array),
            Self::Int64 => widened::<Int64Type>(array),
            Self::UInt8 => widened::<UInt8Type>(array),
            Self::UInt16 => widened::<UInt16Type>(array),
            Self::UInt32 => widened::<UInt32Type>(array),
            Self::UInt64 => widened::<UInt64Type>(array),
        }
    }

    /// The array whose integers [`of_array`](Self::of_array) gives.
    ///
    /// # Panics
    /// Never if `nulls` are as many.
    pub(super) fn array(self, integers: &[u64], nulls: Option<NullBuffer>) -> ArrayRef {
        match self {
            Self::Int32 => narrowed::<Int32Type>(integers, nulls),
            Self::Int64 => narrowed::<Int64Type>(integers, nulls),
            Self::UInt8 => narrowed::<UInt8Type>(integers, nulls),
            Self::UInt16 => narrowed::<UInt16Type>(integers, nulls),
            Self::UInt32 => narrowed::<UInt32Type>(integers, nulls),
            Self::UInt64 => narrowed::<UInt64Type>(integers, nulls),
        }
    }

    /// An integer as people write it.
    pub(super) fn shown(self, integer: u64) -> String {
        match self {
            Self::Int32 | Self::Int64 => (integer as i64).to_string(),
            _ => integer.to_string(),
        }
    }
}

/// An integer that [`u64`] holds: two's complement, the sign extended.
trait Integer {
    fn widen(self) -> u64;
    fn narrow(bits: u64) -> Self;
}

macro_rules! integer {
    ($($integer:ty),*) => {$(
        impl Integer for $integer {
            #[inline]
            fn widen(self) -> u64 {
                self as u64
            }

            #[inline]
            fn narrow(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}

integer!(i32, i64, u8, u16, u32, u64);

fn widened<T: ArrowPrimitiveType<Native: Integer>>(array: &dyn Array) -> Vec<u64> {
    let values = array.as_primitive::<T>().values().iter();
    values.map(|value| value.widen()).collect()
}

fn narrowed<T: ArrowPrimitiveType<Native: Integer>>(
    integers: &[u64],
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let integers = integers.iter();
    let values = integers.map(|bits| T::Native::narrow(*bits)).collect();
    Arc::new(PrimitiveArray::<T>::new(values, nulls))
}
