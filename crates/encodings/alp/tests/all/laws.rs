//! The laws of all encodings, for numbers with and without exceptions.

use tarsia_alp::{ALP, tree};
use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, Statistics, Tree,
    ValueType,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&ALP, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

fn check(child: &Tree) {
    for sample in ALP.samples() {
        let version = tarsia_alp::VERSION;
        let tree = Tree::node(tarsia_alp::ID, version, &sample.params, vec![child.clone()]);
        check_cases(&registry(), &tree, &cases(sample.value_type));
    }
}

#[test]
fn all_numbers_obey_the_laws_over_plain() {
    check(&tarsia_plain::tree());
}

#[test]
fn all_numbers_obey_the_laws_over_bitpack() {
    check(&tarsia_bitpack::tree());
}

fn wide(numbers: impl Iterator<Item = f64>) -> Case {
    let numbers: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
    Case::fixed("numbers", 8, numbers.len() / 8, numbers)
}

fn narrow(numbers: impl Iterator<Item = f32>) -> Case {
    let numbers: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    Case::fixed("numbers", 4, numbers.len() / 4, numbers)
}

/// Returns the proposal for the values: the parameters, and bytes without the child.
fn proposed(case: &Case) -> Option<(Vec<u8>, u64)> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Float));
    let mut proposals = Proposals::new(u64::MAX, tarsia_alp::VERSION);
    ALP.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next();
    first.map(|it| (it.params, it.bytes))
}

#[test]
fn decimals_are_found_and_take_the_bits_of_their_digits() {
    for decimals in [0, 1, 2, 5] {
        let mut rng = Rng::new(decimals);
        let mut digits = || f64::from(rng.below(1 << 16) as u32 as i32 - 30_000);
        let unit = 10f64.powi(decimals as i32);
        let numbers: Vec<f64> = (0..5000).map(|_| digits() / unit).collect();
        for case in [
            wide(numbers.iter().copied()),
            narrow(numbers.iter().map(|it| *it as f32)),
        ] {
            let (params, bytes) = proposed(&case).expect("decimals");
            // No number is rounded wrongly.
            assert_eq!((bytes, &*params), (4, &[decimals as u8][..]));
            let version = tarsia_alp::VERSION;
            let child = vec![tarsia_bitpack::tree()];
            let tree = Tree::node(tarsia_alp::ID, version, &params, child);
            let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
            assert!(
                encoded.len() < 5000 * 2 + 200,
                "{decimals}: {}",
                encoded.len()
            );
        }
    }
}

#[test]
fn numbers_with_random_digits_are_not_proposed_for() {
    let mut rng = Rng::new(3);
    let mut random = || rng.u64() as f64 / u64::MAX as f64;
    let numbers: Vec<f64> = (0..4000).map(|_| random()).collect();
    assert_eq!(proposed(&wide(numbers.iter().copied())), None);
    assert_eq!(proposed(&narrow(numbers.iter().map(|it| *it as f32))), None);
    // Integers are not numbers of this kind.
    let integers = Case::numbers("integers", 8, &[1, 2, 3]);
    let statistics = Statistics::new(integers.values(), Facts::of(LogicalType::Signed));
    let mut proposals = Proposals::new(u64::MAX, tarsia_alp::VERSION);
    ALP.propose(&statistics, &mut proposals).unwrap();
    assert!(proposals.into_vec().is_empty());
}

#[test]
fn special_numbers_are_exceptions_bit_for_bit() {
    let numbers = [
        1.5,
        -0.0,
        f64::NAN,
        f64::from_bits(0x7ff0_0000_dead_beef),
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 3.0,
        f64::MAX,
        2.25,
        9.007_199_254_740_993e15,
    ];
    let case = wide(numbers.into_iter());
    let tree = tree(2, tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert_eq!(encoded[..4], 7u32.to_le_bytes());
    check_cases(&registry(), &tree, &[case]);
    assert_eq!(ValueType::Fixed(8), wide([1.0].into_iter()).value_type());
}
