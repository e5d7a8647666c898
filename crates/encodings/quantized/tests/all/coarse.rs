//! Scales of pages whose rows may be erased: they tell of the largest value only in which part of an octave it was.

use tarsia_codec::{EncodingWriter, Facts, LogicalType, Proposals, Rounding, Statistics};
use tarsia_quantized::{QUANTIZED, VERSION};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;

use crate::laws::{doubles, floats};

fn rounding(name: &str) -> &'static dyn Rounding {
    let mut all = QUANTIZED.roundings().iter();
    *all.find(|it| it.name() == name).unwrap()
}

/// Rounds the bytes of a case; returns the largest difference.
fn rounded(name: &str, case: &Case, erasable: bool) -> (Vec<u8>, f64) {
    let fixed = case.values().as_fixed().unwrap();
    let mut bytes = fixed.bytes().to_vec();
    let error = rounding(name).round(&mut bytes, fixed.width(), None, erasable);
    (bytes, error.unwrap().absolute)
}

fn of_bytes(bytes: &[u8], width: usize) -> Case {
    match width {
        4 => floats(
            &bytes
                .as_chunks()
                .0
                .iter()
                .map(|it| f32::from_le_bytes(*it))
                .collect::<Vec<_>>(),
        ),
        8 => doubles(
            &bytes
                .as_chunks()
                .0
                .iter()
                .map(|it| f64::from_le_bytes(*it))
                .collect::<Vec<_>>(),
        ),
        _ => {
            let halves = bytes.as_chunks().0.iter();
            let halves: Vec<u128> = halves
                .map(|it| u16::from_le_bytes(*it))
                .map(u128::from)
                .collect();
            Case::numbers("", 2, &halves)
        }
    }
}

/// The scales of pages that are proposed.
fn scales(case: &Case, erasable: bool) -> Vec<f64> {
    let facts = Facts {
        erasable,
        ..Facts::of(LogicalType::Float)
    };
    let values = Statistics::new(case.values(), facts);
    let mut proposals = Proposals::new(u64::MAX, VERSION);
    QUANTIZED.propose(&values, &mut proposals).unwrap();
    let params = proposals.into_vec().into_iter().map(|it| it.params);
    params
        .filter_map(|params| match params.get(2..)? {
            scale @ [_, _, _, _] => Some(f32::from_le_bytes(scale.try_into().ok()?).into()),
            scale => Some(f64::from_le_bytes(scale.try_into().ok()?)),
        })
        .collect()
}

const NAMES: [(&str, f64); 2] = [("int8", 127.0), ("int4", 7.0)];

#[test]
fn the_scale_is_a_step_and_the_error_little_larger() {
    let mut rng = Rng::new(11);
    for (name, largest) in NAMES {
        for (width, exponents) in [(2, -20..16), (4, -115..128), (8, -1010..1024)] {
            for exponent in exponents.step_by(7) {
                let n = 40 + rng.below(60);
                let numbers: Vec<f64> = (0..n)
                    .map(|_| (rng.u64() as f64 / u64::MAX as f64 - 0.5) * 2.0 * 2f64.powi(exponent))
                    .collect();
                let case = match width {
                    2 => {
                        let halves = numbers.iter().map(|it| half::f16::from_f64(*it).to_bits());
                        Case::numbers("", 2, &halves.map(u128::from).collect::<Vec<_>>())
                    }
                    4 => floats(&numbers.iter().map(|it| *it as f32).collect::<Vec<_>>()),
                    _ => doubles(&numbers),
                };
                let most = numbers.iter().fold(0f64, |most, it| most.max(it.abs()));
                let (bytes, error) = rounded(name, &case, true);
                let stated = most / largest * 1.25 / 2.0;
                // Values of 2 bytes were rounded once more before, and where they are subnormal, so are products.
                let more = if width == 2 {
                    2f64.powi(-25) + most / 1e3
                } else {
                    most / 1e7
                };
                assert!(
                    error <= stated + more,
                    "{name} {width} 2^{exponent}: {error:e} {stated:e}"
                );
                // Rounded again, nothing changes.
                let again = of_bytes(&bytes, width);
                assert_eq!(rounded(name, &again, true), (bytes, 0.0));
                let found = scales(&again, true);
                let fitting = |scale: &f64| {
                    (most / largest..most / largest * 1.27).contains(&(scale * 1.001))
                };
                if width > 2 {
                    assert!(
                        found.iter().any(fitting),
                        "{name} {width} 2^{exponent}: {found:?}"
                    );
                }
                for scale in found {
                    assert_eq!(
                        scale.to_bits() << 14,
                        0,
                        "{scale:e} has more than two bits of fraction"
                    );
                }
            }
        }
        let largest = floats(&[f32::MAX, 1e38, -2.5e38]);
        let (bytes, _) = rounded(name, &largest, true);
        let bytes = of_bytes(&bytes, 4);
        assert!(!scales(&bytes, true).is_empty());
        let largest = doubles(&[f64::MAX, 1e308, -1.2e308]);
        let (bytes, _) = rounded(name, &largest, true);
        assert!(!scales(&of_bytes(&bytes, 8), true).is_empty());
    }
}

/// Two pages that differ in their largest value, which is then erased: the others say the same of it.
#[test]
fn survivors_are_rounded_alike_whatever_the_largest_was() {
    let mut rng = Rng::new(12);
    let others: Vec<f32> = (0..200).map(|_| rng.below(49_000) as f32 / 7.0).collect();
    for (name, largest) in NAMES {
        let with = |most: f32, erasable| {
            let case = floats(&[&others[..], &[most]].concat());
            let (bytes, _) = rounded(name, &case, erasable);
            bytes[..others.len() * 4].to_vec()
        };
        // Just above a step, and just up to the next.
        let (low, high) = (1025.0 * largest as f32, 1279.0 * largest as f32);
        assert_eq!(with(low, true), with(high, true), "{name}");
        assert_ne!(with(low, false), with(high, false), "{name}");
    }
}

/// An exact scale that somebody else gave the values is the largest of them divided by 127.
#[test]
fn exact_scales_are_not_proposed_where_rows_may_be_erased() {
    let numbers: Vec<f32> = (0..300).map(|i| (i * 7 % 255 - 127) as f32 * 0.3).collect();
    let case = floats(&numbers);
    assert_eq!(scales(&case, false), [f64::from(0.3f32)]);
    assert!(scales(&case, true).is_empty());
}
