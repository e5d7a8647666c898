//! One broken unit per field, with the exact error.

use tarsia_alprd::{ALPRD, ID, VERSION, tree};
use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&ALPRD).add(&tarsia_plain::PLAIN);
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
        let tree = tree(16, tarsia_plain::tree(), tarsia_plain::tree());
        assert_eq!(decode(&tree, ValueType::Fixed(4), bytes, 1), expected);
    };
    let good = [2, 0, 0, 0, 7, 8, 1, 2, 3, 4];
    check(&good, Ok(()));
    check(&good[..3], Err(Error::truncated("alprd.left_len", 4, 3)));
    check(&good[..5], Err(Error::truncated("alprd.left", 6, 5)));
    check(&good[..9], Err(Error::truncated("plain.values", 4, 3)));
    let mut short = good;
    short[0] = 1;
    let after = "no bytes after the last value";
    check(&short, Err(Error::corrupt("plain.values", 4, 1u8, after)));
    let mut long = good;
    long[0] = 6;
    check(&long, Err(Error::truncated("plain.values", 4, 0)));
    long[0] = 7;
    check(&long, Err(Error::truncated("alprd.left", 11, 10)));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |params: &[u8], value_type| {
        let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
        let tree = Tree::node(ID, VERSION, params, children);
        decode(&tree, value_type, &[0; 4], 0)
    };
    let allowed = "less than the bits of a value, by at most 16";
    let corrupt = |found: u8| Err(Error::corrupt("alprd.right_bits", 0, found, allowed));
    for (width, right_bits) in [(4, 15), (4, 32), (8, 47), (8, 64), (8, 255)] {
        assert_eq!(
            of(&[right_bits], ValueType::Fixed(width)),
            corrupt(right_bits)
        );
    }
    for (width, right_bits) in [(4, 16), (4, 31), (8, 48), (8, 63)] {
        assert_eq!(of(&[right_bits], ValueType::Fixed(width)), Ok(()));
    }
    let truncated = Error::truncated("alprd.right_bits", 1, 0);
    assert_eq!(of(&[], ValueType::Fixed(4)), Err(truncated));
    assert!(of(&[20, 0], ValueType::Fixed(4)).is_err());
    for value_type in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(2)] {
        let refused = of(&[16], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
