//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;
use tarsia_zigzag::{ID, VERSION, ZIGZAG, tree};

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&ZIGZAG).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

#[test]
fn the_unit_is_the_childs() {
    let tree = tree(tarsia_plain::tree());
    let of = |bytes: &[u8]| decode(&tree, ValueType::Fixed(4), bytes, 2);
    assert_eq!(of(&[0xff; 8]), Ok(()));
    let truncated = Error::truncated("plain.values", 8, 7);
    assert_eq!(of(&[0; 7]), Err(truncated));
    let after = Error::corrupt("plain.values", 8, 1u8, "no bytes after the last value");
    assert_eq!(of(&[0; 9]), Err(after));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with_params = Tree::node(ID, VERSION, &[3], vec![tarsia_plain::tree()]);
    let params = Error::corrupt("zigzag.params_len", 0, 1u8, "0 (no parameters)");
    let refused = decode(&with_params, ValueType::Fixed(4), &[], 0);
    assert_eq!(refused, Err(params));
    for value_type in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(3),
        ValueType::Fixed(16),
    ] {
        let refused = decode(&tree(tarsia_plain::tree()), value_type, &[], 0);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
