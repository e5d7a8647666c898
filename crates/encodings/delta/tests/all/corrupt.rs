//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&tarsia_delta::DELTA).add(&tarsia_plain::PLAIN);
    registry
}

fn check(bytes: &[u8], len: u32, expected: Error) {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: len * 4,
    };
    let tree = tarsia_delta::tree(tarsia_plain::tree());
    let got = units::decode(&registry(), &tree, ValueType::Fixed(4), unit, &[]);
    assert_eq!(got.map(|_| ()), Err(expected));
}

#[test]
fn every_field_is_checked() {
    check(&[], 1, Error::truncated("delta.bases", 4, 0));
    check(&[7; 3], 3, Error::truncated("delta.bases", 4, 3));
    check(&[7; 4], 1025, Error::truncated("delta.bases", 8, 4));
    // Differences are the child's to check: two of three values are none.
    check(&[7; 11], 3, Error::truncated("plain.values", 8, 7));
    let after = "no bytes after the last value";
    check(&[7; 13], 3, Error::corrupt("plain.values", 8, 1u8, after));
    check(&[7], 0, Error::corrupt("plain.values", 0, 1u8, after));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let init = |tree: &Tree, value_type| {
        tarsia_codec::build_decoder(&registry(), tree, value_type, &[]).map(|_| ())
    };
    let plain = || vec![tarsia_plain::tree()];
    let tree = Tree::node(tarsia_delta::ID, tarsia_delta::VERSION, &[3], plain());
    let params = Error::corrupt("delta.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(init(&tree, ValueType::Fixed(4)), Err(params));
    for value_type in [ValueType::Fixed(3), ValueType::Bits, ValueType::Bytes] {
        let refused = init(&tarsia_delta::tree(tarsia_plain::tree()), value_type);
        assert!(
            matches!(
                refused.as_ref().map_err(|error| error.kind()),
                Err(ErrorKind::Unsupported { .. })
            ),
            "{refused:?}"
        );
    }
    let childless = Tree::leaf(tarsia_delta::ID, tarsia_delta::VERSION, &[]);
    assert!(init(&childless, ValueType::Fixed(4)).is_err());
}
