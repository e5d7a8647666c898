//! The bits of the halves.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt16Type, UInt32Type};
use arrow_array::{Float32Array, Float64Array, StructArray};
use tarsia_features::dual;

/// Set to check all 2³² patterns, which takes a minute.
const ALL_VAR: &str = "TARSIA_ALL_PATTERNS";

/// A prime, so that all bits change.
const STRIDE: usize = 1021;

fn split_32(bits: &[u32]) -> StructArray {
    let floats = bits.iter().map(|bits| f32::from_bits(*bits));
    dual::split(&Float32Array::from_iter_values(floats)).expect("floats")
}

fn split_64(bits: &[u64]) -> StructArray {
    let floats = bits.iter().map(|bits| f64::from_bits(*bits));
    dual::split(&Float64Array::from_iter_values(floats)).expect("floats")
}

/// Checks that the halves give the bits again, and what `high` alone says.
fn check_32(bits: &[u32]) {
    let halves = split_32(bits);
    let joined = dual::join(&halves).expect("halves");
    let joined = joined.as_primitive::<Float32Type>().values().iter();
    let wide = dual::widen_high(halves.column(0)).expect("a half");
    let wide = wide.as_primitive::<Float32Type>().values().iter();
    for ((bits, joined), wide) in bits.iter().zip(joined).zip(wide) {
        assert_eq!(joined.to_bits(), *bits, "{bits:#010x}");
        assert!(is_high_of_32(wide.to_bits(), *bits), "{bits:#010x}: {wide}");
    }
}

/// Whether `wide`, whose lower half is 0, is what `high` alone has to say of `bits`; written without the rules.
fn is_high_of_32(wide: u32, bits: u32) -> bool {
    let (value, rounded) = (f32::from_bits(bits), f32::from_bits(wide));
    let same_sign = value.is_sign_negative() == rounded.is_sign_negative();
    if value.is_nan() {
        let is_exception = bits & 0x7FFF_0000 == 0x7F81_0000 && bits & 0xFFFF != 0;
        let expect_infinite = bits & 0x8000 == 0;
        return same_sign
            && match is_exception {
                false => rounded.is_nan(),
                true if expect_infinite => rounded.is_infinite(),
                true => rounded == 0.0,
            };
    }
    if value.is_infinite() {
        return value == rounded;
    }
    // The neighbours of a bfloat16; that of the largest one is 2¹²⁸, which infinity stands for.
    let exact = |bits: u32| match f32::from_bits(bits) {
        value if value.is_infinite() => 2f64.powi(128).copysign(value.into()),
        value => f64::from(value),
    };
    let distance = |other: u32| (exact(other) - f64::from(value)).abs();
    let is_zero = wide & 0x7FFF_0000 == 0;
    let is_last = rounded.is_infinite();
    same_sign
        && wide & 0xFFFF == 0
        && (is_zero || distance(wide) <= distance(wide - 0x1_0000))
        && (is_last || distance(wide) < distance(wide + 0x1_0000))
}

#[test]
fn patterns_come_back_and_high_is_nearest() {
    let step = match std::env::var_os(ALL_VAR) {
        Some(_) => 1,
        None => STRIDE,
    };
    let mut bits = Vec::new();
    for pattern in (0..=u32::MAX).step_by(step) {
        bits.push(pattern);
        if bits.len() == 1 << 16 {
            check_32(&bits);
            bits.clear();
        }
    }
    check_32(&bits);
}

/// Numbers near 0, near the half and near the end of `n` bits.
fn ends(n: u32) -> Vec<u64> {
    let (half, end) = (1u64 << (n - 1), 1u64 << n);
    let around_half = half.saturating_sub(3)..half + 3;
    let mut ends: Vec<u64> = (0..4).chain(around_half).chain(end - 4..end).collect();
    ends.retain(|bits| *bits < end);
    ends
}

#[test]
fn edges_of_32_bits_come_back() {
    for upper in 0..=u16::MAX {
        let ends = ends(16);
        let lows = ends.iter().map(|low| *low as u32);
        check_32(
            &lows
                .map(|low| u32::from(upper) << 16 | low)
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn edges_of_64_bits_come_back() {
    for exponent in 0..1u64 << 12 {
        let mut bits = Vec::new();
        for high in ends(20) {
            for low in ends(32) {
                bits.push(exponent << 52 | high << 32 | low);
            }
        }
        let halves = split_64(&bits);
        let joined = dual::join(&halves).expect("halves");
        let joined = joined.as_primitive::<Float64Type>().values().iter();
        let wide = dual::widen_high(&halves).expect("halves");
        let wide = wide.as_primitive::<Float64Type>().values().iter();
        for ((bits, joined), wide) in bits.iter().zip(joined).zip(wide) {
            assert_eq!(joined.to_bits(), *bits, "{bits:#018x}");
            let value = f64::from_bits(*bits);
            let is_exception = bits >> 32 & 0x7FFF_FFFF == 0x7FF0_0001 && *bits as u32 != 0;
            assert_eq!(
                wide.is_nan(),
                value.is_nan() && !is_exception,
                "{bits:#018x}"
            );
            assert_eq!(wide.is_sign_negative(), value.is_sign_negative());
            if !value.is_nan() {
                // Half of the distance between two values of `high`, also across powers of two and up to infinity.
                assert!(wide.to_bits().abs_diff(*bits) <= 1 << 31, "{bits:#018x}");
            }
        }
    }
}

/// One case for each row of the table in the docs of the module, with each sign.
#[test]
fn halves_of_32_bits_are_as_stated() {
    let cases: [(u32, u16); 20] = [
        (0x0000_0000, 0x0000),
        (0x3F80_0000, 0x3F80),
        (0x7F80_0000, 0x7F80),
        (0x7F81_0000, 0x7F81),
        (0x7FFF_0000, 0x7FFF),
        (0x0000_7FFF, 0x0000),
        (0x3F80_7FFF, 0x3F80),
        (0x7F7F_7FFF, 0x7F7F),
        (0x7F80_0001, 0x7F81),
        (0x7F80_7FFF, 0x7F81),
        (0x7F81_0001, 0x7F80),
        (0x7FC0_0001, 0x7FC0),
        (0x0000_8000, 0x0001),
        (0x3F80_8000, 0x3F81),
        (0x3F81_8000, 0x3F82),
        (0x7F7F_FFFF, 0x7F80),
        (0x7F80_8000, 0x7F81),
        (0x7F81_8000, 0x0000),
        (0x7F82_8000, 0x7F82),
        (0x7FFF_FFFF, 0x7FFF),
    ];
    let signed = |sign: u32| cases.map(|(bits, _)| bits | sign << 16);
    for sign in [0u16, 0x8000] {
        let halves = split_32(&signed(sign.into()));
        let high = halves.column(0).as_primitive::<UInt16Type>().values();
        let low = halves.column(1).as_primitive::<UInt16Type>().values();
        for ((high, low), (bits, expect)) in high.iter().zip(low).zip(cases) {
            assert_eq!(*high, expect | sign, "{bits:#010x}, sign {sign:#06x}");
            assert_eq!(*low, bits as u16, "{bits:#010x}");
        }
    }
}

#[test]
fn halves_of_64_bits_are_as_stated() {
    let cases: [(u64, u32); 8] = [
        (0x3FF0_0000_7FFF_FFFF, 0x3FF0_0000),
        (0x3FF0_0000_8000_0000, 0x3FF0_0001),
        (0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000),
        (0xFFF0_0000_0000_0000, 0xFFF0_0000),
        // R's NA.
        (0x7FF0_0000_0000_07A2, 0x7FF0_0001),
        (0x7FF0_0001_0000_0001, 0x7FF0_0000),
        (0xFFF0_0001_8000_0000, 0x8000_0000),
        (0x7FFF_FFFF_FFFF_FFFF, 0x7FFF_FFFF),
    ];
    let halves = split_64(&cases.map(|(bits, _)| bits));
    let high = halves.column(0).as_primitive::<UInt32Type>().values();
    let low = halves.column(1).as_primitive::<UInt32Type>().values();
    for ((high, low), (bits, expect)) in high.iter().zip(low).zip(cases) {
        assert_eq!(*high, expect, "{bits:#018x}");
        assert_eq!(*low, bits as u32, "{bits:#018x}");
    }
}
