//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_narrow::{Extension, ID, NARROW, VERSION, tree};
use tarsia_testkit::units;

const CHILD_BYTES: &str = "1, 2, 4, 8, or 16 for values of 32 bytes";

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&NARROW).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

#[test]
fn the_unit_is_the_childs() {
    let tree = tree(4, Extension::Sign, tarsia_plain::tree());
    let wide = ValueType::Fixed(16);
    assert_eq!(decode(&tree, wide, &[0; 8], 2), Ok(()));
    let truncated = Error::truncated("plain.values", 8, 7);
    assert_eq!(decode(&tree, wide, &[0; 7], 2), Err(truncated));
    let after = Error::corrupt("plain.values", 8, 1u8, "no bytes after the last value");
    assert_eq!(decode(&tree, wide, &[0; 9], 2), Err(after));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |params: &[u8], value_type| {
        let tree = Tree::node(ID, VERSION, params, vec![tarsia_plain::tree()]);
        decode(&tree, value_type, &[], 0)
    };
    let wide = ValueType::Fixed(32);
    for (params, error) in [
        (&[][..], Error::truncated("narrow.child_bytes", 1, 0)),
        (&[4], Error::truncated("narrow.sign", 2, 1)),
        (
            &[3, 0],
            Error::corrupt("narrow.child_bytes", 0, 3u8, CHILD_BYTES),
        ),
        (&[4, 2], Error::corrupt("narrow.sign", 1, 2u8, "0 or 1")),
    ] {
        assert_eq!(of(params, wide), Err(error));
    }
    let same = Error::corrupt("narrow.child_bytes", 0, 16u8, CHILD_BYTES);
    assert_eq!(of(&[16, 1], ValueType::Fixed(16)), Err(same));
    assert_eq!(of(&[16, 1], wide), Ok(()));
    assert!(of(&[4, 1, 0], wide).is_err());
    for value_type in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(8),
        ValueType::Fixed(24),
    ] {
        let refused = of(&[4, 1], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
