//! Small floating-point numbers: from their bits to those of larger ones, and back. All is defined by whole numbers and
//! by exact arithmetic, so that it is the same on every machine, also for NaNs.

/// How the bits of a number are laid out: a sign at the top, then the exponent, then the fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Small {
    pub(crate) exponent_bits: u32,
    pub(crate) fraction_bits: u32,
    /// True if the largest exponent is that of infinities and NaNs, as in IEEE 754. Else it is one like all others,
    /// but the largest fraction with it is NaN.
    pub(crate) has_infinity: bool,
}

/// Bits of the fractions of binary32 and binary64.
const F32_FRACTION_BITS: u32 = 23;
const F32_BIAS: u32 = 127;
#[cfg(feature = "encode")]
const F64_FRACTION_BITS: u32 = 52;
#[cfg(feature = "encode")]
const F64_BIAS: u32 = 1023;

const F32_INFINITY: u32 = f32::INFINITY.to_bits();
const F64_INFINITY: u64 = f64::INFINITY.to_bits();

/// All bits of the fraction of a binary32 number, and the NaN without a payload.
const F32_FRACTION: u32 = (1 << F32_FRACTION_BITS) - 1;
const F32_NAN: u32 = F32_INFINITY | 1 << (F32_FRACTION_BITS - 1);

/// The number in a format that is nearest to one with these bits, of two the even one. What is larger than the largest
/// number becomes that. An infinity becomes one, or the largest number where there is none; a NaN keeps its sign and
/// the upper bits of its payload.
macro_rules! code_of {
    ($name:ident, $bits:ty, $float:ty, $fraction_bits:expr, $bias:expr) => {
        #[inline(always)]
        pub(crate) fn $name(self, bits: $bits) -> u32 {
            const INFINITY: $bits = <$float>::INFINITY.to_bits();
            let shift = $fraction_bits - self.fraction_bits;
            let abs = bits & (<$bits>::MAX >> 1);
            // Exponents of the format are smaller by so much.
            let lift = ($bias - self.bias()) as $bits;
            let rounding = ((1 << shift) >> 1) - 1 + (abs >> shift & 1);
            let normal = ((abs + rounding) >> shift).wrapping_sub(lift << self.fraction_bits);
            // The last place of this number is that of the format's subnormal numbers, so that the sum is rounded to
            // one of them.
            let unit = (lift + 1 + shift as $bits) << $fraction_bits;
            let sum = <$float>::from_bits(abs) + <$float>::from_bits(unit);
            let subnormal = sum.to_bits().wrapping_sub(unit);
            let is_subnormal = abs < (lift + 1) << $fraction_bits;
            let finite = if is_subnormal { subnormal } else { normal };
            let finite = finite.min(self.largest().into()) as u32;
            let code = if abs > INFINITY {
                self.nan_of((abs >> shift) as u32)
            } else if abs == INFINITY && self.has_infinity {
                self.infinity()
            } else {
                finite
            };
            let sign = (bits >> (<$bits>::BITS - 1)) as u32;
            sign << (self.exponent_bits + self.fraction_bits) | code
        }
    };
}

impl Small {
    pub(crate) const F32: Self = Self::ieee(8, 23);
    pub(crate) const F16: Self = Self::ieee(5, 10);
    pub(crate) const BF16: Self = Self::ieee(8, 7);
    pub(crate) const E4M3: Self = Self {
        has_infinity: false,
        ..Self::ieee(4, 3)
    };
    pub(crate) const E5M2: Self = Self::ieee(5, 2);

    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        Self {
            exponent_bits,
            fraction_bits,
            has_infinity: true,
        }
    }

    #[inline(always)]
    const fn bias(self) -> u32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    #[inline(always)]
    const fn fraction(self) -> u32 {
        (1 << self.fraction_bits) - 1
    }

    /// The largest exponent without a fraction.
    #[inline(always)]
    const fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The largest finite number.
    #[inline(always)]
    const fn largest(self) -> u32 {
        match self.has_infinity {
            true => self.infinity() - 1,
            false => self.infinity() + self.fraction() - 1,
        }
    }

    /// The NaN with these lowest bits in its payload, if it has one.
    #[inline(always)]
    const fn nan_of(self, payload: u32) -> u32 {
        match self.has_infinity {
            true => self.infinity() | payload & self.fraction(),
            false => self.infinity() | self.fraction(),
        }
    }

    /// The NaN that all NaNs are rounded to.
    #[cfg(feature = "encode")]
    pub(crate) const fn nan(self) -> u32 {
        self.nan_of(1 << (self.fraction_bits - 1))
    }

    code_of!(of_f32, u32, f32, F32_FRACTION_BITS, F32_BIAS);
    #[cfg(feature = "encode")]
    code_of!(of_f64, u64, f64, F64_FRACTION_BITS, F64_BIAS);

    /// The bits of a number as binary32, which holds all numbers of all formats.
    #[inline(always)]
    pub(crate) fn to_f32(self, code: u32) -> u32 {
        let shift = F32_FRACTION_BITS - self.fraction_bits;
        let lift = F32_BIAS - self.bias();
        if lift == 0 {
            return code << shift;
        }
        let sign = code >> (self.exponent_bits + self.fraction_bits) << 31;
        let abs = code & (self.infinity() | self.fraction());
        let fraction = abs << shift;
        let normal = fraction + (lift << F32_FRACTION_BITS);
        // A subnormal number has no bit above its fraction. One is put there, and the number that it stands for is
        // subtracted.
        let one = (lift + 1) << F32_FRACTION_BITS;
        let subnormal = f32::from_bits(fraction + one) - f32::from_bits(one);
        let special = match self.has_infinity {
            true => F32_INFINITY | fraction & F32_FRACTION,
            false => F32_NAN,
        };
        let finite = select(abs <= self.fraction(), subnormal.to_bits(), normal);
        sign | select(abs > self.largest(), special, finite)
    }
}

/// `if condition { yes } else { no }`, without a branch: loops over it are vectorised.
#[inline(always)]
pub(crate) fn select(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = u32::from(condition).wrapping_neg();
    yes & mask | no & !mask
}

/// The bits of a binary32 number as binary64. A conversion of the processor may change the payload of a NaN.
#[inline(always)]
pub(crate) fn f64_of_f32(bits: u32) -> u64 {
    let is_nan = bits & !(1 << 31) > F32_INFINITY;
    let number = f64::from(f32::from_bits(bits)).to_bits();
    let sign = u64::from(bits >> 31) << 63;
    let nan = sign | F64_INFINITY | u64::from(bits & F32_FRACTION) << 29;
    if is_nan { nan } else { number }
}
