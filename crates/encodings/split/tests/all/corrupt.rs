//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_split::{ID, SPLIT, VERSION, tree};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&SPLIT).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

#[test]
fn every_field_is_checked() {
    let check = |bytes: &[u8], expected| {
        let tree = tree(&[2, 1, 1], vec![tarsia_plain::tree(); 3]);
        assert_eq!(decode(&tree, ValueType::Fixed(4), bytes, 1), expected);
    };
    let good = [2, 0, 0, 0, 1, 0, 0, 0, 10, 11, 20, 30];
    check(&good, Ok(()));
    check(&good[..3], Err(Error::truncated("split.part_len", 4, 3)));
    check(&good[..7], Err(Error::truncated("split.part_len", 8, 7)));
    check(&good[..9], Err(Error::truncated("split.part", 10, 9)));
    check(&good[..10], Err(Error::truncated("split.part", 11, 10)));
    check(&good[..11], Err(Error::truncated("plain.values", 1, 0)));
    let mut long = good;
    long[0] = 5;
    check(&long, Err(Error::truncated("split.part", 13, 12)));
    long[0] = 3;
    let after = "no bytes after the last value";
    check(&long, Err(Error::corrupt("plain.values", 2, 1u8, after)));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |widths: &[u8], value_type| {
        let children = vec![tarsia_plain::tree(); widths.len()];
        let bytes = vec![0; widths.len().saturating_sub(1) * 4];
        decode(
            &Tree::node(ID, VERSION, widths, children),
            value_type,
            &bytes,
            0,
        )
    };
    let four = ValueType::Fixed(4);
    assert_eq!(of(&[1, 3], four), Ok(()));
    assert_eq!(of(&[2; 16], ValueType::Fixed(32)), Ok(()));
    let n_parts = |found: u64| Err(Error::corrupt("split.n_parts", 0, found, "2 to 16"));
    assert_eq!(of(&[], four), n_parts(0));
    assert_eq!(of(&[4], four), n_parts(1));
    assert_eq!(of(&[1; 17], ValueType::Fixed(17)), n_parts(17));
    let none = Err(Error::corrupt("split.width", 1, 0u8, "at least 1"));
    assert_eq!(of(&[4, 0], four), none);
    let allowed = "widths whose sum is the bytes of a value";
    let sum = |n_parts, found: u32| Err(Error::corrupt("split.width", n_parts, found, allowed));
    assert_eq!(of(&[2, 1], four), sum(2, 3));
    assert_eq!(of(&[255, 1, 4], four), sum(3, 260));
    for value_type in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(1),
        ValueType::Fixed(33),
    ] {
        let refused = of(&[1, 1], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
    // One child too few.
    let tree = Tree::node(ID, VERSION, &[2, 2], vec![tarsia_plain::tree()]);
    assert!(decode(&tree, four, &[0; 4], 0).is_err());
}
