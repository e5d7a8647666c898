//! All numbers of the small formats, against a slow definition and against the crate `half`.

use tarsia_quantized::{Format, round_f32, round_f64, tree};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::units;

use crate::laws::registry;

/// The meaning of the bits of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    Finite(f64),
    Infinite,
    /// With these highest bits of the payload, as many as the format has.
    NotANumber(u64),
}

/// Bits of the exponent and of the fraction.
pub(crate) fn parts(format: Format) -> (u32, u32) {
    match format {
        Format::F32 => (8, 23),
        Format::F16 => (5, 10),
        Format::Bf16 => (8, 7),
        Format::E4m3 => (4, 3),
        Format::E5m2 => (5, 2),
        other => panic!("{other:?} has no exponent"),
    }
}

/// Computed from exponent and fraction, in the words of the standards.
pub(crate) fn meaning(format: Format, code: u32) -> Meaning {
    let (exponent_bits, fraction_bits) = parts(format);
    let sign = match code >> (exponent_bits + fraction_bits) {
        0 => 1.0,
        _ => -1.0,
    };
    let fraction = code & ((1 << fraction_bits) - 1);
    let exponent = code >> fraction_bits & ((1 << exponent_bits) - 1);
    let highest = (1 << exponent_bits) - 1;
    let bias = (1 << (exponent_bits - 1)) - 1;
    if format == Format::E4m3 {
        if exponent == highest && fraction == 7 {
            return Meaning::NotANumber(4);
        }
    } else if exponent == highest {
        return match fraction {
            0 => Meaning::Infinite,
            _ => Meaning::NotANumber(fraction.into()),
        };
    }
    let part = f64::from(fraction) / 2f64.powi(fraction_bits as i32);
    let magnitude = match exponent {
        0 => part * 2f64.powi(1 - bias),
        _ => (1.0 + part) * 2f64.powi(exponent as i32 - bias),
    };
    Meaning::Finite(sign * magnitude)
}

/// The bits of a value of `width` bytes that a number stands for.
fn expected(format: Format, code: u32, width: usize) -> u64 {
    let (exponent_bits, fraction_bits) = parts(format);
    let sign = u64::from(code >> (exponent_bits + fraction_bits));
    let (to_exponent_bits, to_fraction_bits) = match width {
        2 => (5, 10),
        4 => (8, 23),
        _ => (11, 52),
    };
    let special = ((1 << to_exponent_bits) - 1) << to_fraction_bits;
    let magnitude = match meaning(format, code) {
        Meaning::Infinite => special,
        Meaning::NotANumber(payload) => special | payload << (to_fraction_bits - fraction_bits),
        Meaning::Finite(number) => match width {
            2 => half::f16::from_f64(number.abs()).to_bits().into(),
            4 => (number.abs() as f32).to_bits().into(),
            _ => number.abs().to_bits(),
        },
    };
    sign << (8 * width - 1) | magnitude
}

/// All numbers of a format, each many times, so that all loops see them, alone and beside others.
fn all_codes(format: Format) -> Vec<u32> {
    let n = 1u32 << (8 * format.number_bytes());
    let alone = (0..n).flat_map(|code| {
        let ordinary = 0x3c;
        [ordinary, ordinary, code]
    });
    (0..n).chain(alone).collect()
}

fn decode(format: Format, codes: &[u32], width: usize) -> Vec<u64> {
    let number_bytes = format.number_bytes();
    let bytes = codes.iter().flat_map(|code| {
        let bytes = code.to_le_bytes();
        bytes.into_iter().take(number_bytes)
    });
    let bytes: Vec<u8> = bytes.collect();
    let unit = tarsia_codec::Unit {
        bytes: &bytes,
        len: codes.len() as u32,
        decoded_bytes: (codes.len() * width) as u32,
    };
    let value_type = tarsia_codec::ValueType::Fixed(width as u32);
    let tree = tree(format, tarsia_plain::tree());
    let values = units::decode(&registry(), &tree, value_type, unit, &[]).unwrap();
    let CaseValues::Fixed { bytes: decoded, .. } = values else {
        panic!("numbers");
    };
    // What was decoded is encoded as the same bytes.
    let case = Case::fixed("", width, codes.len(), decoded.clone());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(encoded == bytes, "{format:?} in {width} bytes");
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    decoded.chunks_exact(width).map(number).collect()
}

#[test]
fn all_numbers_are_what_the_standards_say() {
    for format in [Format::F16, Format::Bf16, Format::E4m3, Format::E5m2] {
        let codes = all_codes(format);
        for width in [2, 4, 8] {
            if width <= format.number_bytes() {
                continue;
            }
            let decoded = decode(format, &codes, width);
            for (code, found) in codes.iter().zip(decoded) {
                let wanted = expected(format, *code, width);
                assert_eq!(found, wanted, "{format:?} {code:#x} in {width} bytes");
            }
        }
    }
}

#[test]
fn numbers_of_4_bytes_are_widened_bit_for_bit() {
    let mut codes = vec![0, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0001, 0x7f7f_ffff];
    codes.extend([
        0x7f80_0000,
        0x7f80_0001,
        0x7fbf_ffff,
        0x7fc0_0000,
        0x7fff_ffff,
    ]);
    let negative: Vec<u32> = codes.iter().map(|code| code | 1 << 31).collect();
    codes.extend(negative);
    // Also where no NaN is near.
    codes.extend((0..1000).map(|i| i * 2_000_003));
    for (code, found) in codes.iter().zip(decode(Format::F32, &codes, 8)) {
        assert_eq!(found, expected(Format::F32, *code, 8), "{code:#x}");
    }
}

#[test]
fn numbers_are_those_of_the_crate_half() {
    const QUIET: u64 = 1 << 22;
    let codes: Vec<u32> = (0..1 << 16).collect();
    let ours = decode(Format::F16, &codes, 4).into_iter();
    for (code, ours) in (0..=u16::MAX).zip(ours) {
        let half = half::f16::from_bits(code);
        // `half` and processors set the highest bit of the payload.
        let ours = if half.is_nan() { ours | QUIET } else { ours };
        assert_eq!(ours, u64::from(half.to_f32().to_bits()), "{code:#x}");
    }
    let ours = decode(Format::Bf16, &codes, 4).into_iter();
    for (code, ours) in (0..=u16::MAX).zip(ours) {
        let half = half::bf16::from_bits(code);
        let ours = if half.is_nan() { ours | QUIET } else { ours };
        assert_eq!(ours, u64::from(half.to_f32().to_bits()), "{code:#x}");
    }
}

#[test]
fn rounding_is_that_of_the_crate_half() {
    let mut rng = tarsia_testkit::rng::Rng::new(16);
    let numbers: Vec<f32> = (0..200_000)
        .map(|_| f32::from_bits(rng.u64() as u32))
        .filter(|it| it.is_finite())
        .collect();
    // `half` rounds what is larger to infinity.
    let is_small = |it: &f32| it.abs() < 65_520.0;
    let small: Vec<f32> = numbers.iter().copied().filter(is_small).collect();
    let mut halves = small.clone();
    round_f32(&mut halves, Format::F16, None).unwrap();
    for (before, after) in small.iter().zip(&halves) {
        let half = half::f16::from_f32(*before).to_f32();
        assert_eq!(after.to_bits(), half.to_bits(), "{before}");
    }
    let mut upper = numbers.clone();
    round_f32(&mut upper, Format::Bf16, None).unwrap();
    for (before, after) in numbers.iter().zip(&upper) {
        let half = half::bf16::from_f32(*before).to_f32();
        let is_over = half.is_infinite() && after.abs() == half::bf16::MAX.to_f32();
        assert!(after.to_bits() == half.to_bits() || is_over, "{before}");
    }
    let mut singles: Vec<f64> = (0..10_000).map(|_| f64::from_bits(rng.u64())).collect();
    singles.retain(|it| it.abs() < f32::MAX.into());
    singles.push(1e-40);
    let before = singles.clone();
    round_f64(&mut singles, Format::F32, None).unwrap();
    for (before, after) in before.iter().zip(&singles) {
        assert_eq!(after.to_bits(), f64::from(*before as f32).to_bits());
    }
}
