//! The laws of all encodings, and what is proposed.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, Statistics, ValueType,
};
use tarsia_sequence::{SEQUENCE, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&SEQUENCE, DecodeCost::default());
    registry
}

/// `n` numbers from `first` on, modulo the numbers of their width.
fn sequence(width: usize, first: u64, step: u64, n: u64) -> Case {
    let number = |i: u64| first.wrapping_add(step.wrapping_mul(i)).into();
    let numbers: Vec<u128> = (0..n).map(number).collect();
    Case::numbers("sequence", width, &numbers)
}

#[test]
fn numbers_obey_the_laws() {
    for width in [1, 2, 4, 8] {
        check_cases(&registry(), &tree(), &cases(ValueType::Fixed(width)));
    }
}

#[test]
fn sequences_obey_the_laws_and_take_a_few_bytes() {
    let sequences = [
        (0, 1),
        (u64::MAX - 5, 3),
        (7, 0),
        (1000, u64::MAX),
        (5, 1 << 40),
    ];
    for width in [1, 2, 4, 8] {
        let cases = sequences.map(|(first, step)| sequence(width, first, step, 3000));
        check_cases(&registry(), &tree(), &cases);
        for case in &cases {
            let (encoded, _) = units::encode(&registry(), &tree(), case.values()).unwrap();
            assert_eq!(encoded.len(), 1 + 2 * width);
        }
    }
}

fn is_proposed(case: &Case, must_fit: bool) -> bool {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Signed));
    let to_beat = case.values().decoded_bytes();
    let mut proposals = Proposals::new(to_beat, VERSION).that_fit(must_fit);
    SEQUENCE.propose(&statistics, &mut proposals).unwrap();
    !proposals.into_vec().is_empty()
}

#[test]
fn sequences_alone_are_proposed() {
    let good = sequence(4, 10, 7, 500);
    assert!(is_proposed(&good, false));
    assert!(!is_proposed(&good, true));
    assert!(!is_proposed(&sequence(4, 10, 7, 2), false));
    assert!(!is_proposed(&sequence(4, 10, 0, 500), false));
    assert!(!is_proposed(&sequence(16, 10, 7, 500), false));
    for at in [0, 1, 250, 499] {
        let mut numbers: Vec<u128> = (0..500).collect();
        numbers[at] += 1;
        assert!(!is_proposed(&Case::numbers("", 8, &numbers), false), "{at}");
    }
}
