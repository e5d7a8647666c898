//! The laws of all encodings, and what is proposed.

use tarsia_codec::{
    BlockValues, DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry,
    SharedBuffers, Statistics, Tree, build_encoder,
};
use tarsia_dict::CodeBytes;
use tarsia_frequency::{FREQUENCY, ID, VERSION, tree};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&FREQUENCY, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_dict::DICT, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn all_values_obey_the_laws() {
    for sample in FREQUENCY.samples() {
        let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
        let tree = Tree::node(ID, VERSION, &sample.params, children);
        check_cases(&registry(), &tree, &cases(sample.value_type));
    }
}

/// Numbers of which `percent` are `top`.
fn mostly(top: u64, percent: usize, n: usize) -> Case {
    let mut rng = Rng::new(percent as u64);
    let numbers: Vec<u128> = (0..n)
        .map(|_| match rng.below(100) < percent {
            true => top.into(),
            false => (rng.u64() >> 8).into(),
        })
        .collect();
    Case::numbers("mostly one value", 8, &numbers)
}

#[test]
fn a_frequent_value_obeys_the_laws() {
    let top = 0x1122_3344_5566u64;
    let tree = tree(tarsia_plain::tree(), tarsia_bitpack::tree());
    let percents = [0, 1, 50, 99, 100].map(|percent| mostly(top, percent, 3000));
    check_cases(&registry(), &tree, &percents);
}

/// The number of exceptions of what is proposed.
fn proposed(case: &Case) -> Option<usize> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Float));
    let mut proposals = Proposals::new(case.values().decoded_bytes(), VERSION);
    FREQUENCY.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next()?;
    Some(first.children[1].values().unwrap().len())
}

#[test]
fn the_most_frequent_value_is_proposed() {
    for (percent, n) in [(40, 5000), (80, 50_000), (99, 50_000)] {
        let case = mostly(12, percent, n);
        let n_exceptions = proposed(&case).unwrap();
        let tree = tree(tarsia_plain::tree(), tarsia_bitpack::tree());
        let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
        assert_eq!(encoded[..4], (n_exceptions as u32).to_le_bytes());
        assert_eq!(encoded[8..16], 12u64.to_le_bytes());
        let share = n_exceptions * 100 / n;
        assert!((99 - percent..=101 - percent).contains(&share), "{share}");
    }
    // Whatever there is to beat.
    let case = mostly(12, 80, 50_000);
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Float));
    for (to_beat, n_expected) in [(u64::MAX, 1), (0, 0), (9, 0)] {
        let mut proposals = Proposals::new(to_beat, VERSION);
        FREQUENCY.propose(&statistics, &mut proposals).unwrap();
        assert_eq!(proposals.into_vec().len(), n_expected, "{to_beat}");
    }
    for case in [mostly(3, 10, 5000), mostly(3, 100, 5000), mostly(3, 90, 9)] {
        assert_eq!(proposed(&case), None);
    }
}

#[test]
fn a_column_of_zeros_and_random_numbers_takes_little_more_than_the_numbers() {
    let case = mostly(0, 80, 10_000);
    let tree = tree(tarsia_plain::tree(), tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    let n_exceptions = proposed(&case).unwrap();
    assert!(encoded.len() < n_exceptions * 7 + 10_000 / 8 + 300);
}

/// Survivors of a block may have another frequent value than its page. A dictionary of the page's exceptions lacks the
/// page's own, which stays the frequent one then.
#[test]
fn a_block_keeps_the_frequent_value_of_its_page_if_its_dictionary_needs_that() {
    let registry = registry();
    let codes = tarsia_dict::page_tree(CodeBytes::One, tarsia_plain::tree());
    let tree = tree(tarsia_plain::tree(), codes);
    let of_page = [vec![0; 600], vec![7; 200], vec![3; 10]].concat();
    let of_page = Case::numbers("page", 4, &of_page);
    let mut shared = SharedBuffers::new();
    build_encoder(&registry, &tree, of_page.values(), &mut shared).unwrap();
    let left = Case::numbers("left", 4, &[7, 7, 0, 7, 3, 7, 0]);
    let mut closed = SharedBuffers::closed(&shared.to_vec().unwrap());
    let encoder = build_encoder(&registry, &tree, left.values(), &mut closed).unwrap();
    let mut encoded = vec![];
    let block = BlockValues::all(left.values()).unwrap();
    encoder.encode(block, &mut encoded).unwrap();
    assert_eq!(encoded[8..12], [0; 4]);
    let unit = units::unit_of(&encoded, &left.values());
    let shared = shared.to_decode().unwrap();
    let decoded = units::decode(&registry, &tree, left.values().value_type(), unit, &shared);
    let CaseValues::Fixed { bytes, .. } = decoded.unwrap() else {
        panic!("values of fixed width");
    };
    assert_eq!(bytes, left.values().as_fixed().unwrap().bytes());
    // Where no value needs the dictionary, the most frequent one is taken.
    let left = Case::numbers("left", 4, &[7, 7, 3]);
    let encoder = build_encoder(&registry, &tree, left.values(), &mut closed).unwrap();
    encoded.clear();
    let block = BlockValues::all(left.values()).unwrap();
    encoder.encode(block, &mut encoded).unwrap();
    assert_eq!(encoded[8..12], [7, 0, 0, 0]);
}
