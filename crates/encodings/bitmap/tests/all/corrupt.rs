//! One broken unit per rule, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

fn check(tree: &Tree, value_type: ValueType, len: u32, bytes: &[u8], expected: Error) {
    let mut registry = Registry::new();
    registry.add(&tarsia_bitmap::BITMAP);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let got = units::decode(&registry, tree, value_type, unit, &[]);
    assert_eq!(got.map(|_| ()), Err(expected));
}

#[test]
fn sizes_are_exact_and_spare_bits_zero() {
    let tree = tarsia_bitmap::tree();
    let short = Error::truncated("bitmap.bits", 2, 1);
    check(&tree, ValueType::Bits, 9, &[0], short);
    let long = Error::corrupt("bitmap.bits", 2, 1u8, "no bytes after the last value");
    check(&tree, ValueType::Bits, 9, &[0; 3], long);
    let spare = Error::corrupt("bitmap.spare_bits", 1, 0x7fu8, "zero");
    check(&tree, ValueType::Bits, 9, &[0; 2].map(|_| 0xff), spare);
    let long = Error::corrupt("bitmap.bits", 0, 1u8, "no bytes after the last value");
    check(&tree, ValueType::Bits, 0, &[0], long);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let tree = Tree::leaf(tarsia_bitmap::ID, tarsia_bitmap::VERSION, &[1, 2]);
    let params = Error::corrupt("bitmap.params_len", 0, 2u8, "0 (no parameters)");
    check(&tree, ValueType::Bits, 0, &[], params);
    let what = "values other than bits in tarsia.bitmap".to_owned();
    let tree = tarsia_bitmap::tree();
    check(
        &tree,
        ValueType::Fixed(1),
        0,
        &[],
        Error::from(ErrorKind::Unsupported { what }),
    );
}
