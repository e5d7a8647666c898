//! The laws of all encodings, and what is proposed.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, Statistics, ValueType,
};
use tarsia_split::{SPLIT, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&SPLIT, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn all_values_obey_the_laws() {
    for sample in SPLIT.samples() {
        let children = vec![tarsia_plain::tree(); sample.params.len()];
        let tree = tree(&sample.params, children);
        check_cases(&registry(), &tree, &cases(sample.value_type));
    }
}

#[test]
fn parts_may_have_different_trees() {
    let tree = tree(&[2, 2], vec![tarsia_plain::tree(), tarsia_bitpack::tree()]);
    check_cases(&registry(), &tree, &cases(ValueType::Fixed(4)));
}

/// The widths that are proposed.
fn proposed(case: &Case, logical_type: LogicalType, is_named: bool) -> Option<Vec<u8>> {
    let statistics = Statistics::new(case.values(), Facts::of(logical_type));
    let mut proposals = Proposals::new(case.values().decoded_bytes(), VERSION).of_named(is_named);
    SPLIT.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next();
    first.map(|it| it.params)
}

#[test]
fn wide_numbers_are_halved_and_others_split_where_a_user_says_so() {
    let of = |width| Case::numbers("", width, &[7; 100]);
    let decimal = LogicalType::Decimal { scale: 2 };
    assert_eq!(proposed(&of(16), decimal, false), Some(vec![8, 8]));
    assert_eq!(proposed(&of(16), LogicalType::Binary, false), None);
    assert_eq!(
        proposed(&of(16), LogicalType::Binary, true),
        Some(vec![8, 8])
    );
    assert_eq!(proposed(&of(8), LogicalType::Float, false), None);
    assert_eq!(proposed(&of(8), LogicalType::Float, true), Some(vec![1; 8]));
    assert_eq!(proposed(&of(1), LogicalType::Signed, true), None);
    assert_eq!(proposed(&Case::numbers("", 16, &[]), decimal, false), None);
}

#[test]
fn decimals_of_20_digits_take_8_bytes_and_a_few_bits() {
    let mut rng = Rng::new(5);
    let numbers: Vec<u128> = (0..4096)
        .map(|_| u128::from(rng.u64()) * 10 + u128::from(rng.u64() % 10))
        .collect();
    let case = Case::numbers("20 digits", 16, &numbers);
    let tree = tree(&[8, 8], vec![tarsia_plain::tree(), tarsia_bitpack::tree()]);
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(
        encoded.len() < 4096 * (8 * 8 + 4) / 8 + 200,
        "{}",
        encoded.len()
    );
}
