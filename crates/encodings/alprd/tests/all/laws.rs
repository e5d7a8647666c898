//! The laws of all encodings, for numbers of all kinds.

use tarsia_alprd::{ALPRD, ID, VERSION, tree};
use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, Statistics, Tree,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&ALPRD, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn all_numbers_obey_the_laws() {
    for children in [
        vec![tarsia_plain::tree(), tarsia_plain::tree()],
        vec![tarsia_bitpack::tree(), tarsia_bitpack::tree()],
    ] {
        for sample in ALPRD.samples() {
            let tree = Tree::node(ID, VERSION, &sample.params, children.clone());
            check_cases(&registry(), &tree, &cases(sample.value_type));
        }
    }
}

/// The bits of right parts that are proposed.
fn proposed(case: &Case, logical_type: LogicalType) -> Option<u8> {
    let statistics = Statistics::new(case.values(), Facts::of(logical_type));
    let mut proposals = Proposals::new(case.values().decoded_bytes(), VERSION);
    ALPRD.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next();
    first.and_then(|it| it.params.first().copied())
}

#[test]
fn the_bits_that_repeat_are_cut_off() {
    // Between 1 and 2 all signs and exponents are equal: 12 of 64 bits.
    let mut rng = Rng::new(7);
    let mut number = || f64::from_bits(1f64.to_bits() | rng.u64() >> 12);
    let numbers: Vec<u128> = (0..4096).map(|_| number().to_bits().into()).collect();
    let case = Case::numbers("one to two", 8, &numbers);
    assert_eq!(proposed(&case, LogicalType::Float), Some(52));
    let tree = tree(52, tarsia_bitpack::tree(), tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(encoded.len() < 4096 * 52 / 8 + 200, "{}", encoded.len());
    assert_eq!(proposed(&case, LogicalType::Signed), None);
}

#[test]
fn random_bits_are_left_alone() {
    let mut rng = Rng::new(7);
    let numbers: Vec<u128> = (0..4096).map(|_| rng.u64().into()).collect();
    let case = Case::numbers("random", 8, &numbers);
    assert_eq!(proposed(&case, LogicalType::Float), None);
    let none = Case::numbers("none", 8, &[]);
    assert_eq!(proposed(&none, LogicalType::Float), None);
}
