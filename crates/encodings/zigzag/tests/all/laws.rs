//! The laws of all encodings, for zigzag over plain and over packed values.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, Statistics, Tree,
    ValueType,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::units;
use tarsia_zigzag::{VERSION, ZIGZAG, tree};

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&ZIGZAG, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn numbers_obey_the_laws() {
    for child in [tarsia_plain::tree(), tarsia_bitpack::tree()] {
        for width in [1, 2, 4, 8] {
            let tree = tree(child.clone());
            check_cases(&registry(), &tree, &cases(ValueType::Fixed(width)));
        }
    }
}

fn proposed_child(case: &Case) -> Option<Vec<u8>> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Signed));
    let mut proposals = Proposals::new(u64::MAX, VERSION);
    ZIGZAG.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next()?;
    let values = first.children[0].values().unwrap();
    Some(values.as_fixed().unwrap().bytes().to_vec())
}

#[test]
fn the_child_gets_small_unsigned_numbers() {
    let of = |numbers: &[i128]| {
        let numbers: Vec<u128> = numbers.iter().map(|it| *it as u128).collect();
        proposed_child(&Case::numbers("", 1, &numbers))
    };
    let extremes = [0, -1, 1, -2, 2, 127, -128];
    assert_eq!(of(&extremes), Some(vec![0, 1, 2, 3, 4, 254, 255]));
    assert_eq!(of(&[]), None);
    assert_eq!(proposed_child(&Case::numbers("", 16, &[1, 2])), None);
    assert_eq!(proposed_child(&Case::strings("", &["a"])), None);
}

/// Bytes of values around zero, of which one in 500 is far away, under a tree.
fn bytes_under(tree: &Tree, far: i64) -> usize {
    let number = |i: i64| match i % 500 {
        77 => far * i,
        327 => -far * i,
        _ => (i * 7919 % 15) - 7,
    };
    let numbers: Vec<u128> = (0..8192).map(|i| number(i) as i128 as u128).collect();
    let case = Case::numbers("", 8, &numbers);
    let encoded = units::encode(&registry(), tree, case.values());
    encoded.unwrap().0.len()
}

#[test]
fn numbers_near_zero_take_the_bits_of_their_distance() {
    let (packed, signed) = (tarsia_bitpack::tree(), tree(tarsia_bitpack::tree()));
    // Packing has a base, the smallest number, and needs no help.
    let (alone, under) = (bytes_under(&packed, 0), bytes_under(&signed, 0));
    assert!(under <= alone && alone < 8192 / 2 + 100, "{under} {alone}");
    // Also where a few numbers are far away on both sides, which packing patches.
    let (alone, under) = (bytes_under(&packed, 1 << 30), bytes_under(&signed, 1 << 30));
    assert!(alone.max(under) < 8192 / 2 + 400, "{under} {alone}");
}
