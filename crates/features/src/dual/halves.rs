//! The bits of floats to halves and back. The rules are in the docs of [`dual`](crate::dual).
//!
//! Floats are handled as their bits: some processors change signalling NaN that pass through their float registers.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

/// A type of floats that have halves.
pub(super) trait Float: ArrowPrimitiveType {
    type Bits: ArrowNativeType;
    type Half: ArrowPrimitiveType;

    fn high(bits: Self::Bits) -> HalfOf<Self>;
    fn low(bits: Self::Bits) -> HalfOf<Self>;
    fn join(high: HalfOf<Self>, low: HalfOf<Self>) -> Self::Bits;
    fn widen(high: HalfOf<Self>) -> Self::Bits;
}

type HalfOf<F> = <<F as Float>::Half as ArrowPrimitiveType>::Native;

/// `$inf` is the upper half of positive infinity.
macro_rules! float {
    ($float:ty, $bits:ty, $half_type:ty, $half:ty, $inf:literal) => {
        impl Float for $float {
            type Bits = $bits;
            type Half = $half_type;

            #[inline]
            fn high(bits: $bits) -> $half {
                const SIGN: $half = 1 << (<$half>::BITS - 1);
                let (upper, low) = ((bits >> <$half>::BITS) as $half, Self::low(bits));
                let magnitude = upper & !SIGN;
                let up = if magnitude == $inf + 1 {
                    0
                } else {
                    magnitude + <$half>::from(magnitude <= $inf)
                };
                let swapped = magnitude ^ <$half>::from(low != 0 && magnitude | 1 == $inf + 1);
                (upper & SIGN) | if low & SIGN != 0 { up } else { swapped }
            }

            #[inline]
            fn low(bits: $bits) -> $half {
                bits as $half
            }

            #[inline]
            fn join(high: $half, low: $half) -> $bits {
                const SIGN: $half = 1 << (<$half>::BITS - 1);
                let magnitude = high & !SIGN;
                let down = if magnitude == 0 {
                    $inf + 1
                } else {
                    magnitude - <$half>::from(magnitude <= $inf + 1)
                };
                let swapped = magnitude ^ <$half>::from(low != 0 && magnitude | 1 == $inf + 1);
                let upper = (high & SIGN) | if low & SIGN != 0 { down } else { swapped };
                Self::widen(upper) | <$bits>::from(low)
            }

            #[inline]
            fn widen(high: $half) -> $bits {
                <$bits>::from(high) << <$half>::BITS
            }
        }
    };
}

float!(Float32Type, u32, UInt16Type, u16, 0x7F80);
float!(Float64Type, u64, UInt32Type, u32, 0x7FF0_0000);

/// Both halves of an array.
pub(super) struct Halves {
    pub(super) high: ArrayRef,
    pub(super) low: ArrayRef,
}

/// Also of the values under nulls, which keep their bits.
pub(super) fn split<F: Float>(floats: &PrimitiveArray<F>) -> Result<Halves, ArrowError> {
    let bits: ScalarBuffer<F::Bits> = floats.values().inner().clone().into();
    let high = bits.iter().map(|bits| F::high(*bits)).collect();
    let low = bits.iter().map(|bits| F::low(*bits)).collect();
    Ok(Halves {
        high: half::<F>(high, floats.nulls())?,
        low: half::<F>(low, floats.nulls())?,
    })
}

fn half<F: Float>(
    values: Vec<HalfOf<F>>,
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let half = PrimitiveArray::<F::Half>::try_new(values.into(), nulls.cloned())?;
    Ok(Arc::new(half))
}

pub(super) fn join<F: Float>(
    high: &PrimitiveArray<F::Half>,
    low: &PrimitiveArray<F::Half>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let pairs = high.values().iter().zip(low.values());
    floats::<F>(
        pairs.map(|(high, low)| F::join(*high, *low)).collect(),
        nulls,
    )
}

/// The rounded floats that `high` is.
pub(super) fn widen<F: Float>(
    high: &PrimitiveArray<F::Half>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let high = high.values().iter();
    floats::<F>(high.map(|high| F::widen(*high)).collect(), nulls)
}

fn floats<F: Float>(bits: Vec<F::Bits>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let values = Buffer::from_vec(bits).into();
    Ok(Arc::new(PrimitiveArray::<F>::try_new(values, nulls)?))
}
