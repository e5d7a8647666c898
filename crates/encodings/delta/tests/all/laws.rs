//! The laws of all encodings, for delta over plain and over packed differences.

use tarsia_codec::{Output, Registry, Scratch, Selection, Tree, ValueType, build_decoder};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = Default::default();
    registry
        .add_writer(&tarsia_delta::DELTA, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

fn check(differences: Tree) {
    let tree = tarsia_delta::tree(differences);
    for width in [1, 2, 4, 8] {
        check_cases(&registry(), &tree, &cases(ValueType::Fixed(width)));
    }
}

#[test]
fn delta_obeys_the_laws_over_plain() {
    check(tarsia_plain::tree());
}

#[test]
fn delta_obeys_the_laws_over_bitpack() {
    check(tarsia_bitpack::tree());
}

#[test]
fn a_steady_rise_takes_a_base_per_group() {
    let rising: Vec<u128> = (0..5000).map(|i| (1 << 40) + i * 1000).collect();
    let case = Case::numbers("rising", 8, &rising);
    let tree = tarsia_delta::tree(tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    // Five bases, and a header and a base of two bytes for all differences.
    assert_eq!(encoded.len(), 5 * 8 + 3 + 2);
}

#[test]
fn single_values_come_from_their_group_alone() {
    let numbers: Vec<u128> = (0..4000).map(|i| i * i).collect();
    let case = Case::numbers("squares", 4, &numbers);
    let tree = tarsia_delta::tree(tarsia_plain::tree());
    let (mut encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    // Bytes of other groups do not matter: the differences of group 2 are behind four bases and 2 × 1,023 differences.
    let from = 4 * 4 + 2 * 1023 * 4;
    encoded[4 * 4..from].fill(0xff);
    encoded[from + 1023 * 4..].fill(0xff);
    let none = Default::default();
    let decoder = build_decoder(&registry(), &tree, ValueType::Fixed(4), none).unwrap();
    let mut to = [0; 12];
    let values = case.values();
    let unit = units::unit_of(&encoded, &values);
    let indices = Selection::Indices(&[2048, 2500, 3071]);
    let out = Output::Fixed(&mut to);
    decoder
        .decode(unit, indices, &mut Scratch::new(), out)
        .unwrap();
    let expect = [2048u32, 2500, 3071].map(|i| (i * i).to_le_bytes());
    assert_eq!(to, *expect.as_flattened());
}
