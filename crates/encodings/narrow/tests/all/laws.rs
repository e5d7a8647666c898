//! The laws of all encodings, for values that the child holds.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposals, Registry, SharedBuffers, Statistics,
    Tree, TreeWriter,
};
use tarsia_narrow::{Extension, NARROW, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::trees::fitted;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&NARROW, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

#[test]
fn wide_integers_obey_the_laws() {
    for child in [tarsia_plain::tree(), tarsia_bitpack::tree()] {
        for sample in NARROW.samples() {
            // Numbers of 16 bytes are not packed.
            if sample.params[0] == 16 && child != tarsia_plain::tree() {
                continue;
            }
            let children = vec![child.clone()];
            let version = tarsia_narrow::VERSION;
            let tree = Tree::node(tarsia_narrow::ID, version, &sample.params, children);
            let all = cases(sample.value_type);
            let held: Vec<Case> = all.iter().map(|case| fitted(case, sample.fit)).collect();
            check_cases(&registry(), &tree, &held);
        }
    }
}

#[test]
fn amounts_take_the_bytes_of_their_bits() {
    let cents: Vec<u128> = (0..1000).map(|i| (i * 7919 % 65_536) as u128).collect();
    let case = Case::numbers("cents", 16, &cents);
    let tree = tree(4, Extension::Sign, tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(encoded.len() < 2020, "{}", encoded.len());
}

#[test]
fn a_value_that_is_too_wide_is_refused() {
    for (extension, value) in [
        (Extension::Sign, 0x8000),
        (Extension::Sign, 1 << 100),
        (Extension::Zero, 0x1_0000),
        (Extension::Zero, u128::MAX),
    ] {
        let case = Case::numbers("", 16, &[5, value]);
        let tree = tree(2, extension, tarsia_plain::tree());
        let writer = TreeWriter::new(&registry(), &tree, case.value_type()).unwrap();
        let refused = writer.prepare(case.values(), &mut SharedBuffers::new(), None);
        assert!(refused.is_err(), "{extension:?} {value}");
    }
}

#[test]
fn numbers_of_more_than_eight_bytes_take_half_of_32() {
    let mut values = Vec::new();
    for i in 0..300i128 {
        let number = (i - 150) << 90;
        values.extend(number.to_le_bytes());
        values.extend((number >> 127).to_le_bytes());
    }
    let case = Case::fixed("", 32, 300, values);
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Decimal { scale: 4 }));
    let mut proposals = Proposals::new(u64::MAX, tarsia_narrow::VERSION);
    NARROW.propose(&statistics, &mut proposals).unwrap();
    let proposals = proposals.into_vec();
    assert_eq!(proposals[0].params, [16, 1]);
    let tree = tree(16, Extension::Sign, tarsia_plain::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert_eq!(encoded.len(), 300 * 16);
}
