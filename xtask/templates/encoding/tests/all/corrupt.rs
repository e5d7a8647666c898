//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry
        .add(&{{crate}}::{{STATIC}})
        .add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

#[test]
fn every_field_is_checked() {
    let tree = {{crate}}::tree(tarsia_plain::tree());
    let truncated = Err(Error::truncated("plain.values", 8, 7));
    assert_eq!(decode(&tree, ValueType::Fixed(4), &[0; 7], 2), truncated);
    // FILL IN: the fields of the layout.
    panic!("fill in: one broken unit for each rule of the layout, with the exact error");
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree()];
    let tree = Tree::node({{crate}}::ID, {{crate}}::VERSION, &[3], children);
    let params = Error::corrupt("{{name}}.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(decode(&tree, ValueType::Fixed(4), &[], 0), Err(params));
    let tree = {{crate}}::tree(tarsia_plain::tree());
    let strings = decode(&tree, ValueType::Bytes, &[], 0);
    let kind = strings.as_ref().map_err(Error::kind);
    assert!(matches!(kind, Err(ErrorKind::Unsupported { .. })), "{strings:?}");
}
