//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_divisor::{DIVISOR, ID, VERSION, tree};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&DIVISOR).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

#[test]
fn the_unit_is_the_childs() {
    let tree = tree(4, 60, 59, tarsia_plain::tree());
    assert_eq!(decode(&tree, ValueType::Fixed(4), &[0xff; 8], 2), Ok(()));
    let truncated = Error::truncated("plain.values", 8, 7);
    let short = decode(&tree, ValueType::Fixed(4), &[0; 7], 2);
    assert_eq!(short, Err(truncated));
    let after = Error::corrupt("plain.values", 8, 1u8, "no bytes after the last value");
    let long = decode(&tree, ValueType::Fixed(4), &[0; 9], 2);
    assert_eq!(long, Err(after));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |params: &[u8], value_type| {
        let tree = Tree::node(ID, VERSION, params, vec![tarsia_plain::tree()]);
        decode(&tree, value_type, &[], 0)
    };
    let divisor = |found: u64| Error::corrupt("divisor.divisor", 0, found, "at least 2");
    let remainder = "less than the divisor";
    for (params, error) in [
        (&[][..], Error::truncated("divisor.divisor", 2, 0)),
        (&[9, 0, 1], Error::truncated("divisor.remainder", 4, 3)),
        (&[0, 0, 0, 0], divisor(0)),
        (&[1, 0, 0, 0], divisor(1)),
        (
            &[9, 0, 9, 0],
            Error::corrupt("divisor.remainder", 2, 9u64, remainder),
        ),
    ] {
        assert_eq!(of(params, ValueType::Fixed(2)), Err(error));
    }
    assert!(of(&[9, 0, 1, 0, 0], ValueType::Fixed(2)).is_err());
    for value_type in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(16),
        ValueType::Fixed(3),
    ] {
        let refused = of(&[9, 0, 1, 0], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
