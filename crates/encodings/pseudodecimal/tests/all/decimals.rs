//! Which decimal stands for a number: the one with the smallest exponent, whatever stands beside it.

use tarsia_pseudodecimal::tree;
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use super::laws::{narrow, registry, wide};

/// The digits and the exponent of the last of some numbers; `None` if it is an exception.
fn last(case: &Case, width: usize) -> Option<(i64, u8)> {
    let tree = tree(tarsia_plain::tree(), tarsia_plain::tree());
    let (unit, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    let word = |at: usize| u32::from_le_bytes(unit[at..at + 4].try_into().unwrap()) as usize;
    let n_exceptions = word(0);
    let positions = unit[4..4 + 2 * n_exceptions].as_chunks().0.iter();
    let mut positions = positions.map(|it| u16::from_le_bytes(*it) as usize);
    if positions.any(|it| it == case.len() - 1) {
        return None;
    }
    let exponents_at = 8 + n_exceptions * (2 + width);
    let exponents = &unit[exponents_at..exponents_at + word(exponents_at - 4)];
    let digits = &unit[unit.len() - width..];
    let digits = match width {
        4 => i32::from_le_bytes(digits.try_into().unwrap()).into(),
        _ => i64::from_le_bytes(digits.try_into().unwrap()),
    };
    Some((digits, *exponents.last().unwrap()))
}

/// The first exponent under which the nearest integer gives a number back, if one does.
fn expected(number: f64, digits_end: f64, gives: impl Fn(f64) -> bool) -> Option<(i64, u8)> {
    let powers = (0..=22).map(|exponent| (exponent, 10f64.powi(exponent)));
    let mut decimals = powers
        .take_while(|(_, power)| (number * power).abs() < digits_end)
        // Integers have no negative zero.
        .map(|(exponent, power)| (exponent, power, (number * power).round_ties_even() as i64));
    let found = decimals.find(|(_, power, digits)| gives(*digits as f64 / power));
    found.map(|(exponent, _, digits)| (digits, exponent as u8))
}

/// Decimals, numbers next to them, and numbers of any bits.
fn numbers(n: usize) -> Vec<f64> {
    let mut rng = Rng::new(5);
    let mut all = vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1e22, 1e-22, 1e-23];
    for _ in 0..n {
        let digits = (rng.u64() as i64 >> rng.below(62)) as f64;
        let decimal = digits / 10f64.powi(rng.below(23) as i32);
        let beside = f64::from_bits(decimal.to_bits() ^ 1 << rng.below(3));
        all.extend([decimal, beside, f64::from_bits(rng.u64())]);
    }
    all
}

#[test]
fn the_smallest_exponent_is_found_whatever_stands_before() {
    for (i, number) in numbers(300).into_iter().enumerate() {
        let of_bits = |quotient: f64| quotient.to_bits() == number.to_bits();
        let decimal = expected(number, (1u64 << 51) as f64, of_bits);
        let short = number as f32;
        let of_short = |quotient: f64| (quotient as f32).to_bits() == short.to_bits();
        let short_decimal = expected(short.into(), i32::MAX.into(), of_short);
        // The exponent of the number before is where the encoder begins.
        for before in [i % 23, (i * 7 + 3) % 23, 0] {
            let before = 10f64.powi(-(before as i32));
            let found = last(&wide([before, number]), 8);
            assert_eq!(found, decimal, "{number:e} behind {before:e}");
            let found = last(&narrow([before as f32, short]), 4);
            assert_eq!(found, short_decimal, "{short:e} behind {before:e}");
        }
    }
}

#[test]
fn written_decimals_of_15_digits_are_no_exceptions() {
    let mut rng = Rng::new(9);
    for _ in 0..2000 {
        let digits = 1 + (rng.u64() % 10u64.pow(1 + rng.below(15) as u32)) as i64;
        let digits = if rng.flip() { digits } else { -digits };
        let decimals = rng.below(23) as i32;
        // As a file of text has it: no arithmetic of ours.
        let number: f64 = format!("{digits}e-{decimals}").parse().unwrap();
        let (found, exponent) = last(&wide([number]), 8).expect("a decimal");
        let exponent = i32::from(exponent);
        assert_eq!(digits, found * 10i64.pow((decimals - exponent) as u32));
        assert!(exponent == 0 || found % 10 != 0, "{digits}e-{decimals}");
    }
}
