//! For which values a node is proposed, and that it takes the bytes that are stated.

use tarsia_codec::{EncodingWriter, Facts, LogicalType, Proposals, Statistics};
use tarsia_pseudodecimal::{PSEUDODECIMAL, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use super::laws::{mixed, narrow, registry, wide};

/// Returns the proposal for the values: bytes without the children's, and the bytes of the children's values.
fn proposed(case: &Case, logical_type: LogicalType, bytes_to_beat: u64) -> Option<(u64, u64)> {
    let statistics = Statistics::new(case.values(), Facts::of(logical_type));
    let mut proposals = Proposals::new(bytes_to_beat, VERSION);
    PSEUDODECIMAL.propose(&statistics, &mut proposals).unwrap();
    let found = proposals.into_vec();
    assert!(found.len() < 2);
    found.first().map(|it| {
        let children = it.children.iter();
        let bytes = children.map(|child| child.values().unwrap().decoded_bytes());
        (it.bytes, bytes.sum())
    })
}

fn of_floats(case: &Case) -> Option<(u64, u64)> {
    proposed(case, LogicalType::Float, u64::MAX)
}

#[test]
fn stated_bytes_are_those_of_the_unit() {
    for (n, percent) in [(900, 0), (900, 5), (20_000, 0), (20_000, 5), (65_536, 1)] {
        let numbers = mixed(n, percent);
        let short = narrow(numbers.iter().map(|it| *it as f32));
        for case in [wide(numbers), short] {
            let (bytes, children_bytes) = of_floats(&case).expect("decimals");
            assert_eq!(percent == 0, bytes == 8, "exceptions in {n} values");
            let tree = tree(tarsia_plain::tree(), tarsia_plain::tree());
            let (unit, _) = units::encode(&registry(), &tree, case.values()).unwrap();
            assert_eq!(unit.len() as u64, bytes + children_bytes);
            // What takes as much as the best so far is of no use.
            assert_eq!(proposed(&case, LogicalType::Float, bytes), None);
        }
    }
}

#[test]
fn decimals_of_mixed_lengths_take_the_bits_of_their_digits() {
    let case = wide(mixed(10_000, 0));
    let tree = tree(tarsia_bitpack::tree(), tarsia_bitpack::tree());
    let (unit, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    // 20 bits of digits and 3 of exponents.
    assert!(unit.len() < 10_000 * 23 / 8 + 300, "{}", unit.len());
}

#[test]
fn other_numbers_are_not_proposed_for() {
    let mut rng = Rng::new(3);
    let numbers: Vec<f64> = (0..4000).map(|_| rng.u64() as f64 / 1.8e19).collect();
    assert_eq!(
        of_floats(&narrow(numbers.iter().map(|it| *it as f32))),
        None
    );
    assert_eq!(of_floats(&wide(numbers)), None);
    assert_eq!(of_floats(&wide([])), None);
    // Values of other types, and floating-point numbers of another width.
    let integers = Case::numbers("integers", 8, &[0; 100]);
    assert!(of_floats(&integers).is_some());
    assert_eq!(proposed(&integers, LogicalType::Signed, u64::MAX), None);
    assert_eq!(of_floats(&Case::numbers("halves", 2, &[0; 100])), None);
    assert_eq!(of_floats(&Case::strings("strings", &["1.5"])), None);
}
