//! The laws of all encodings, for values that have the remainder of their node.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, SharedBuffers, Statistics,
    Tree, TreeWriter,
};
use tarsia_divisor::{DIVISOR, ID, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::trees::fitted;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&DIVISOR, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn multiples_obey_the_laws() {
    for child in [tarsia_plain::tree(), tarsia_bitpack::tree()] {
        for sample in DIVISOR.samples() {
            let tree = Tree::node(ID, VERSION, &sample.params, vec![child.clone()]);
            let all = cases(sample.value_type);
            let held: Vec<Case> = all.iter().map(|case| fitted(case, sample.fit)).collect();
            check_cases(&registry(), &tree, &held);
        }
    }
}

/// The parameters of the node that is proposed.
fn proposed(numbers: &[i64]) -> Option<Vec<u8>> {
    proposed_for(numbers, false)
}

/// Returns the parameters that are proposed where rows may be erased, or not.
fn proposed_for(numbers: &[i64], erasable: bool) -> Option<Vec<u8>> {
    let numbers: Vec<u128> = numbers.iter().map(|it| *it as u128).collect();
    let case = Case::numbers("", 8, &numbers);
    let statistics = Statistics::new(
        case.values(),
        Facts {
            erasable,
            ..Facts::of(LogicalType::Signed)
        },
    );
    let mut proposals = Proposals::new(u64::MAX, VERSION);
    DIVISOR.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next();
    first.map(|it| it.params)
}

#[test]
fn seconds_in_nanoseconds_take_the_bits_of_seconds() {
    // From before 1970 to after it, each half a second late.
    let of = |i: i64| (i * 7919 % 65_536 - 30_000) * 1_000_000_000 + 500_000_000;
    let numbers: Vec<i64> = (0..4096).map(of).collect();
    let params = [1_000_000_000u64, 500_000_000].map(u64::to_le_bytes);
    assert_eq!(proposed(&numbers), Some(params.concat()));
    let numbers: Vec<u128> = numbers.iter().map(|it| *it as u128).collect();
    let case = Case::numbers("", 8, &numbers);
    let tree = tree(8, 1_000_000_000, 500_000_000, tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(encoded.len() < 4096 * 2 + 200, "{}", encoded.len());
}

/// The difference of two values and a remainder are values of rows, which an erasure would not reach.
#[test]
fn divisors_tell_of_no_single_value_where_rows_may_be_erased() {
    let params = |divisor: u64| Some([divisor, 0].map(u64::to_le_bytes).concat());
    for (numbers, exact, coarse) in [
        ([7_919, 1_000_003], true, None),
        ([0x1234_5678_9abc, 0], true, Some(4)),
        ([7_000, 21_000], true, Some(1_000)),
        ([86_400_000, 3 * 86_400_000], true, Some(86_400_000)),
        ([7_200 * 7, 7_200 * 11], true, Some(3_600)),
        ([5 << 40, 7 << 40], true, Some(1 << 40)),
        ([1_000_500, 3_000_500], true, Some(100)),
        ([8, 9], false, None),
    ] {
        let numbers = numbers.repeat(100);
        assert_eq!(proposed(&numbers).is_some(), exact, "{numbers:?}");
        let found = proposed_for(&numbers, true);
        assert_eq!(found, coarse.and_then(params), "{:?}", &numbers[..2]);
    }
}

#[test]
fn numbers_without_a_common_divisor_are_left_alone() {
    let mut numbers: Vec<i64> = (0..4096).map(|i| i * 1000).collect();
    assert!(proposed(&numbers).is_some());
    numbers[2100] += 1;
    assert_eq!(proposed(&numbers), None);
    assert_eq!(proposed(&[5; 4096]), None);
    assert_eq!(proposed(&[i64::MIN, i64::MAX]), None);
    assert_eq!(proposed(&[i64::MIN, 0]), None);
    assert_eq!(proposed(&[]), None);
}

#[test]
fn a_value_with_another_remainder_is_refused() {
    let case = Case::numbers("", 4, &[59, 60]);
    let tree = tree(4, 60, 59, tarsia_plain::tree());
    let writer = TreeWriter::new(&registry(), &tree, case.value_type()).unwrap();
    let refused = writer.prepare(case.values(), &mut SharedBuffers::new(), None);
    assert!(refused.is_err());
}
