//! The laws of all encodings, for numbers with and without exceptions.

use tarsia_codec::{DecodeCost, Registry, Tree, ValueType};
use tarsia_pseudodecimal::{PSEUDODECIMAL, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&PSEUDODECIMAL, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

pub(crate) fn wide(numbers: impl IntoIterator<Item = f64>) -> Case {
    let numbers: Vec<u8> = numbers.into_iter().flat_map(f64::to_le_bytes).collect();
    Case::fixed("numbers", 8, numbers.len() / 8, numbers)
}

pub(crate) fn narrow(numbers: impl IntoIterator<Item = f32>) -> Case {
    let numbers: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
    Case::fixed("numbers", 4, numbers.len() / 4, numbers)
}

/// Decimals with 0 to 6 digits behind the point, and as many exceptions as `percent` says.
pub(crate) fn mixed(n: usize, percent: u32) -> Vec<f64> {
    let mut rng = Rng::new(n as u64 + u64::from(percent));
    let number = |_| match rng.percent(percent) {
        true => f64::from_bits(rng.u64()),
        false => (rng.below(1 << 20) as f64 - 300_000.0) / 10f64.powi(rng.below(7) as i32),
    };
    (0..n).map(number).collect()
}

fn over_plain() -> Tree {
    tree(tarsia_plain::tree(), tarsia_plain::tree())
}

fn over_bitpack() -> Tree {
    tree(tarsia_bitpack::tree(), tarsia_bitpack::tree())
}

#[test]
fn all_numbers_obey_the_laws() {
    let doubles = cases(ValueType::Fixed(8));
    check_cases(&registry(), &over_bitpack(), &doubles);
}

#[test]
fn all_short_numbers_obey_the_laws() {
    let floats = cases(ValueType::Fixed(4));
    check_cases(&registry(), &over_plain(), &floats);
}

#[test]
fn decimals_among_exceptions_obey_the_laws() {
    for (n, percent) in [(7, 50), (1000, 2), (3000, 50), (2000, 97), (5000, 1)] {
        let numbers = mixed(n, percent);
        let narrow = narrow(numbers.iter().map(|it| *it as f32));
        check_cases(&registry(), &over_bitpack(), &[wide(numbers), narrow]);
    }
}

#[test]
fn special_numbers_obey_the_laws() {
    let numbers = [
        1.5,
        -0.0,
        0.0,
        f64::NAN,
        f64::from_bits(0x7ff0_0000_dead_beef),
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 3.0,
        f64::MAX,
        2.25,
        9.007_199_254_740_993e15,
    ];
    check_cases(&registry(), &over_plain(), &[wide(numbers)]);
    let numbers = numbers.map(|it| it as f32);
    check_cases(&registry(), &over_plain(), &[narrow(numbers)]);
}

#[test]
fn long_units_are_read_back() {
    // Positions of 4 bytes, some of them above 65,535.
    let case = wide(mixed(70_000, 2));
    let (unit, _) = units::encode(&registry(), &over_bitpack(), case.values()).unwrap();
    let unit = units::unit_of(&unit, &case.values());
    let decoded = units::decode(&registry(), &over_bitpack(), case.value_type(), unit, &[]);
    assert_eq!(
        format!("{:?}", decoded.unwrap()),
        format!("{:?}", case.values)
    );
}
