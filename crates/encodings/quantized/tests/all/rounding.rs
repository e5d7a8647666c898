//! Rounding to the formats: to the nearest, within the bounds that the docs state, once and for all.

use core::num::NonZero;

use tarsia_codec::{RoundingError, Tree};
use tarsia_quantized::{
    Format, RoundError, page_tree, round_f16, round_f32, round_f64, tree, vector_tree,
    wide_page_tree,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use crate::formats::{Meaning, meaning, parts};
use crate::laws::{doubles, floats, registry};

const FLOATS: [Format; 4] = [Format::F16, Format::Bf16, Format::E4m3, Format::E5m2];

/// The finite numbers of a format that are not negative, in order; the place of each is its bits.
fn ladder(format: Format) -> Vec<f64> {
    let (exponent_bits, fraction_bits) = parts(format);
    let codes = 0..1 << (exponent_bits + fraction_bits);
    let numbers = codes.map_while(|code| match meaning(format, code) {
        Meaning::Finite(number) => Some(number),
        _ => None,
    });
    numbers.collect()
}

/// Compares with all numbers. Differences of neighbours and what is between them are exact.
fn nearest(ladder: &[f64], number: f64) -> f64 {
    let above = ladder.partition_point(|it| *it < number.abs());
    let (low, high) = (above.saturating_sub(1), above.min(ladder.len() - 1));
    let (to_low, to_high) = (number.abs() - ladder[low], ladder[high] - number.abs());
    let chosen = match to_low.abs().total_cmp(&to_high.abs()) {
        core::cmp::Ordering::Less => low,
        core::cmp::Ordering::Greater => high,
        core::cmp::Ordering::Equal if low % 2 == 0 => low,
        core::cmp::Ordering::Equal => high,
    };
    ladder[chosen].copysign(number)
}

/// Numbers, their midpoints, what is just beside these, and any others.
fn interesting(ladder: &[f64], rng: &mut Rng) -> Vec<f64> {
    let mut all = Vec::new();
    for _ in 0..3000 {
        let i = rng.below(ladder.len() - 1);
        let middle = ladder[i] + (ladder[i + 1] - ladder[i]) / 2.0;
        all.extend([ladder[i], middle, middle.next_up(), middle.next_down()]);
        let between = rng.u64() as f64 / u64::MAX as f64;
        all.push(ladder[i] + (ladder[i + 1] - ladder[i]) * between);
    }
    let largest = ladder[ladder.len() - 1];
    all.extend([largest.next_up(), largest * 1.01, largest * 2.0]);
    let signed: Vec<f64> = all.iter().map(|it| -it).collect();
    all.extend(signed);
    all
}

fn differences(
    before: impl Iterator<Item = f64>,
    after: impl Iterator<Item = f64>,
) -> RoundingError {
    let mut bound = RoundingError::default();
    for (before, after) in before.zip(after).filter(|(before, _)| *before != 0.0) {
        let difference = (before - after).abs();
        bound = bound.and(RoundingError {
            absolute: difference,
            relative: difference / before.abs(),
        });
    }
    bound
}

#[test]
fn floats_are_rounded_to_the_nearest_number() {
    for format in FLOATS {
        let ladder = ladder(format);
        let mut rng = Rng::new(ladder.len() as u64);
        let before = interesting(&ladder, &mut rng);
        let mut after = before.clone();
        let bound = round_f64(&mut after, format, None).unwrap();
        for (before, after) in before.iter().zip(&after) {
            let wanted = nearest(&ladder, *before);
            assert_eq!(after.to_bits(), wanted.to_bits(), "{format:?} {before:e}");
        }
        assert_eq!(
            bound,
            differences(before.iter().copied(), after.iter().copied())
        );
        let before = before.iter().map(|it| *it as f32);
        let before: Vec<f32> = before.filter(|it| it.is_finite()).collect();
        let mut after = before.clone();
        let bound = round_f32(&mut after, format, None).unwrap();
        for (before, after) in before.iter().zip(&after) {
            let wanted = nearest(&ladder, (*before).into()) as f32;
            assert_eq!(after.to_bits(), wanted.to_bits(), "{format:?} {before:e}");
        }
        let wide = |it: &f32| f64::from(*it);
        let found = differences(before.iter().map(wide), after.iter().map(wide));
        assert_eq!(bound, found);
    }
}

#[test]
fn halves_are_rounded_to_the_nearest_number() {
    for format in [Format::E4m3, Format::E5m2] {
        let ladder = ladder(format);
        let is_finite = |it: &u16| half::f16::from_bits(*it).is_finite();
        let before: Vec<u16> = (0..=u16::MAX).filter(is_finite).collect();
        let mut after = before.clone();
        round_f16(&mut after, format, None).unwrap();
        for (before, after) in before.iter().zip(&after) {
            let number = half::f16::from_bits(*before).to_f64();
            let wanted = half::f16::from_f64(nearest(&ladder, number));
            assert_eq!(*after, wanted.to_bits(), "{format:?} {number:e}");
        }
    }
}

/// The bounds that the docs of `round_f32` and `round_f64` state.
#[test]
fn differences_stay_below_the_stated_bounds() {
    for (format, precision, smallest_normal) in [
        (Format::F32, 24, -126),
        (Format::F16, 11, -14),
        (Format::Bf16, 8, -126),
        (Format::E4m3, 4, -6),
        (Format::E5m2, 3, -14),
    ] {
        let smallest_normal = 2f64.powi(smallest_normal);
        let largest = match format {
            Format::F32 => f64::from(f32::MAX),
            _ => *ladder(format).last().unwrap(),
        };
        let mut rng = Rng::new(precision as u64);
        let mut normal = Vec::new();
        let mut subnormal = Vec::new();
        while normal.len() < 20_000 {
            let exponent = largest.log2() - 40.0 * rng.u64() as f64 / u64::MAX as f64;
            let number = exponent.exp2().min(largest);
            match number < smallest_normal {
                true => subnormal.push(number),
                false => normal.push(number),
            }
            subnormal.push(smallest_normal * (rng.u64() as f64 / u64::MAX as f64));
        }
        let bound = round_f64(&mut normal, format, None).unwrap();
        let stated = 2f64.powi(-precision);
        assert!(bound.relative <= stated, "{format:?} {:e}", bound.relative);
        assert!(bound.relative > stated / 2.0, "{format:?}");
        let bound = round_f64(&mut subnormal, format, None).unwrap();
        let stated = smallest_normal * 2f64.powi(-precision);
        assert!(bound.absolute <= stated, "{format:?} {:e}", bound.absolute);
        assert!(bound.absolute > stated / 2.0, "{format:?}");
    }
}

/// Encoded under the tree, the values come back bit for bit.
fn check_held(tree: &Tree, case: &Case) {
    let (encoded, _) = units::encode(&registry(), tree, case.values()).unwrap();
    let unit = units::unit_of(&encoded, &case.values());
    let decoded = units::decode(&registry(), tree, case.value_type(), unit, &[]).unwrap();
    let decoded = format!("{decoded:?}");
    assert!(decoded == format!("{:?}", case.values), "{tree:?}");
}

#[test]
fn special_numbers_become_what_the_format_has() {
    let special = [
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
        1e38,
        -0.0,
    ];
    let check = |format, wanted: [f32; 6]| {
        let mut numbers = special.to_vec();
        numbers.push(f32::from_bits(0xff80_0001));
        let bound = round_f32(&mut numbers, format, None).unwrap();
        let bits = |it: &f32| it.to_bits();
        let wanted: Vec<u32> = wanted.iter().chain(&[f32::NAN]).map(bits).collect();
        let found: Vec<u32> = numbers.iter().map(bits).collect();
        assert_eq!(found, wanted, "{format:?}");
        check_held(&tree(format, tarsia_plain::tree()), &floats(&numbers));
        bound
    };
    let (up, down, nan) = (f32::INFINITY, f32::NEG_INFINITY, f32::NAN);
    let bound = check(Format::E4m3, [448.0, -448.0, nan, nan, 448.0, -0.0]);
    // Only the finite number that was too large counts.
    assert_eq!(bound.absolute, f64::from(1e38f32) - 448.0);
    check(Format::E5m2, [up, down, nan, nan, 57344.0, -0.0]);
    check(Format::F16, [up, down, nan, nan, 65504.0, -0.0]);
    let near = half::bf16::from_f32(1e38).to_f32();
    check(Format::Bf16, [up, down, nan, nan, near, -0.0]);
    let mut wide = [f64::INFINITY, -f64::NAN, -1e300, -0.0];
    round_f64(&mut wide, Format::F32, None).unwrap();
    let wanted = [f64::INFINITY, f64::NAN, -f64::from(f32::MAX), -0.0];
    assert_eq!(wide.map(f64::to_bits), wanted.map(f64::to_bits));
}

#[test]
fn rounded_floats_are_held_and_stay() {
    let mut rng = Rng::new(9);
    let bits: Vec<u64> = (0..3000).map(|_| rng.u64()).collect();
    for format in [FLOATS.as_slice(), &[Format::F32]].concat() {
        let tree = tree(format, tarsia_plain::tree());
        if format != Format::F32 {
            let mut once: Vec<f32> = bits.iter().map(|it| f32::from_bits(*it as u32)).collect();
            round_f32(&mut once, format, None).unwrap();
            let case = floats(&once);
            check_held(&tree, &case);
            assert_eq!(
                round_f32(&mut once, format, None),
                Ok(RoundingError::default())
            );
            assert_eq!(
                floats(&once).values().as_fixed().unwrap().bytes(),
                bytes(&case)
            );
        }
        let mut once: Vec<f64> = bits.iter().map(|it| f64::from_bits(*it)).collect();
        once.extend(bits.iter().map(|it| f64::from(f32::from_bits(*it as u32))));
        round_f64(&mut once, format, None).unwrap();
        let case = doubles(&once);
        check_held(&tree, &case);
        assert_eq!(
            round_f64(&mut once, format, None),
            Ok(RoundingError::default())
        );
        assert_eq!(
            doubles(&once).values().as_fixed().unwrap().bytes(),
            bytes(&case)
        );
    }
}

fn bytes(case: &Case) -> &[u8] {
    case.values().as_fixed().unwrap().bytes()
}

fn largest_of(format: Format) -> f64 {
    match format {
        Format::Int8 => 127.0,
        _ => 7.0,
    }
}

/// Finite numbers whose largest magnitude is about 2^`exponent`.
fn vector(rng: &mut Rng, n: usize, exponent: i32) -> Vec<f64> {
    let scale = 2f64.powi(exponent);
    let number = |rng: &mut Rng| (rng.u64() as f64 / u64::MAX as f64 - 0.5) * scale;
    (0..n).map(|_| number(rng)).collect()
}

#[test]
fn integers_of_a_page_are_held_and_stay() {
    let mut rng = Rng::new(5);
    for format in [Format::Int8, Format::Int4] {
        let largest = largest_of(format);
        for exponent in (-150..129).step_by(3) {
            let numbers = vector(&mut rng, 200, exponent);
            let mut numbers: Vec<f32> = numbers.iter().map(|it| *it as f32).collect();
            if exponent > 127 {
                numbers.push(f32::MAX);
            }
            let most = numbers.iter().fold(0f32, |most, it| most.max(it.abs()));
            let scale = (f64::from(most) / largest).max(2f64.powi(-126));
            let bound = round_f32(&mut numbers, format, None).unwrap();
            let stated = scale / 2.0 + largest * scale * 2f64.powi(-24);
            assert!(bound.absolute <= stated, "2^{exponent}: {bound:?}");
            let case = floats(&numbers);
            let found = numbers.iter().fold(0f32, |most, it| most.max(it.abs()));
            if scale > 2f64.powi(-126) {
                let scale = found / largest as f32;
                check_held(&page_tree(format, scale, tarsia_plain::tree()), &case);
            }
            assert_eq!(
                round_f32(&mut numbers, format, None),
                Ok(RoundingError::default())
            );
            assert_eq!(bytes(&floats(&numbers)), bytes(&case));
        }
        for exponent in (-1080..1025).step_by(31) {
            let mut numbers = vector(&mut rng, 200, exponent.min(1023));
            let most = numbers.iter().fold(0f64, |most, it| most.max(it.abs()));
            let scale = (most / largest).max(f64::MIN_POSITIVE);
            let bound = round_f64(&mut numbers, format, None).unwrap();
            let stated = scale / 2.0 + largest * scale * 2f64.powi(-53);
            assert!(bound.absolute <= stated, "2^{exponent}: {bound:?}");
            let case = doubles(&numbers);
            let found = numbers.iter().fold(0f64, |most, it| most.max(it.abs()));
            if scale > f64::MIN_POSITIVE {
                let tree = wide_page_tree(format, found / largest, tarsia_plain::tree());
                check_held(&tree, &case);
            }
            assert_eq!(
                round_f64(&mut numbers, format, None),
                Ok(RoundingError::default())
            );
            assert_eq!(bytes(&doubles(&numbers)), bytes(&case));
        }
    }
}

#[test]
fn integers_of_vectors_are_held_and_stay() {
    const DIM: usize = 24;
    let mut rng = Rng::new(6);
    let dim = NonZero::new(DIM as u32).unwrap();
    for format in [Format::Int8, Format::Int4] {
        let plain = tarsia_plain::tree;
        let tree = vector_tree(format, dim, plain(), plain());
        let mut all = Vec::new();
        for exponent in -150..128 {
            all.extend(vector(&mut rng, DIM, exponent));
        }
        all.extend([0.0; DIM]);
        let mut narrow: Vec<f32> = all.iter().map(|it| *it as f32).collect();
        round_f32(&mut narrow, format, Some(DIM)).unwrap();
        let case = floats(&narrow);
        check_held(&tree, &case);
        assert_eq!(
            round_f32(&mut narrow, format, Some(DIM)),
            Ok(RoundingError::default())
        );
        assert_eq!(bytes(&floats(&narrow)), bytes(&case));
        // With scales of 4 bytes, also those of values of 8 bytes.
        for exponent in [-1000, -130, 128] {
            all.extend(vector(&mut rng, DIM, exponent));
        }
        round_f64(&mut all, format, Some(DIM)).unwrap();
        let case = doubles(&all);
        check_held(&tree, &case);
        assert_eq!(
            round_f64(&mut all, format, Some(DIM)),
            Ok(RoundingError::default())
        );
        assert_eq!(bytes(&doubles(&all)), bytes(&case));
        let is_finite = |it: &u16| half::f16::from_bits(*it).is_finite();
        let halves = (0..=u16::MAX)
            .filter(is_finite)
            .map(|it| it.wrapping_mul(1021));
        let mut halves: Vec<u16> = halves.filter(is_finite).collect();
        halves.truncate(halves.len() / DIM * DIM);
        round_f16(&mut halves, format, Some(DIM)).unwrap();
        let case = Case::numbers(
            "",
            2,
            &halves.iter().map(|it| (*it).into()).collect::<Vec<_>>(),
        );
        check_held(&tree, &case);
        let before = halves.clone();
        assert_eq!(
            round_f16(&mut halves, format, Some(DIM)),
            Ok(RoundingError::default())
        );
        assert_eq!(halves, before);
    }
}

#[test]
fn zeros_have_the_scale_one() {
    let mut zeros = [0.0f32, -0.0, 0.0];
    assert_eq!(
        round_f32(&mut zeros, Format::Int8, None),
        Ok(RoundingError::default())
    );
    assert_eq!(zeros.map(f32::to_bits), [0; 3], "no negative zero");
    let plain = tarsia_plain::tree;
    let tree = vector_tree(Format::Int4, NonZero::new(3).unwrap(), plain(), plain());
    let (encoded, _) = units::encode(&registry(), &tree, floats(&zeros).values()).unwrap();
    let wanted = [&4u32.to_le_bytes()[..], &1f32.to_le_bytes(), &[0; 3]].concat();
    assert_eq!(encoded, wanted);
}

#[test]
fn what_cannot_be_rounded_is_named_and_unchanged() {
    let check = |numbers: &[f32], format, dim, error: RoundError| {
        let mut rounded = numbers.to_vec();
        assert_eq!(round_f32(&mut rounded, format, dim), Err(error));
        let bits = |numbers: &[f32]| numbers.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&rounded), bits(numbers));
        assert!(!error.to_string().is_empty());
    };
    let special = [1.0, 0.3, f32::NAN, f32::INFINITY];
    let not_finite = RoundError::NotFinite { index: 2 };
    check(&special, Format::Int8, None, not_finite);
    check(&special, Format::Int4, Some(2), not_finite);
    check(
        &[1.0, f32::NEG_INFINITY],
        Format::Int8,
        None,
        RoundError::NotFinite { index: 1 },
    );
    check(&[1.0; 5], Format::Int8, Some(2), RoundError::PartOfVector);
    check(&[1.0; 4], Format::Int8, Some(0), RoundError::Dim);
    check(&[1.0; 4], Format::E4m3, Some(2), RoundError::Dim);
    check(&[1.0; 4], Format::F32, None, RoundError::TooWide);
    let too_wide = Err(RoundError::TooWide);
    assert_eq!(round_f16(&mut [0], Format::Bf16, None), too_wide);
    // The scale of a page has 8 bytes, that of a vector 4.
    let mut large = [1.0, -1e300];
    assert!(round_f64(&mut large, Format::Int8, None).is_ok());
    let too_large = Err(RoundError::TooLarge { index: 1 });
    assert_eq!(round_f64(&mut large, Format::Int8, Some(2)), too_large);
    assert_eq!(
        round_f32(&mut [], Format::Int8, Some(3)),
        Ok(RoundingError::default())
    );
}
