//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_sequence::{ID, SEQUENCE, VERSION, tree};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&SEQUENCE);
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
        assert_eq!(decode(&tree(), ValueType::Fixed(2), bytes, 3), expected);
    };
    let good = [0, 7, 0, 1, 0];
    check(&good, Ok(()));
    check(&[], Err(Error::truncated("sequence.form", 1, 0)));
    check(&[2], Err(Error::corrupt("sequence.form", 0, 2u8, "0 or 1")));
    check(&good[..2], Err(Error::truncated("sequence.first", 3, 2)));
    check(&good[..4], Err(Error::truncated("sequence.step", 5, 4)));
    let after = "no bytes after the last field";
    let long = Err(Error::corrupt("sequence.step", 5, 1u64, after));
    check(&[0, 7, 0, 1, 0, 0], long);
    check(&[1, 0, 0, 1, 1, 2, 2], Ok(()));
    let short = Err(Error::truncated("sequence.values", 7, 6));
    check(&[1, 0, 0, 1, 1, 2], short);
    let long = Err(Error::corrupt("sequence.values", 7, 1u64, after));
    check(&[1, 0, 0, 1, 1, 2, 2, 3], long);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with_params = Tree::leaf(ID, VERSION, &[3]);
    let params = Error::corrupt("sequence.params_len", 0, 1u8, "0 (no parameters)");
    let refused = decode(&with_params, ValueType::Fixed(4), &[1], 0);
    assert_eq!(refused, Err(params));
    for value_type in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(16)] {
        let refused = decode(&tree(), value_type, &[1], 0);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
