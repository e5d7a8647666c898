//! One broken unit per rule, with the exact error.

use tarsia_codec::{Error, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

fn check(tree: &Tree, value_type: ValueType, unit: Unit<'_>, expected: Error) {
    let mut registry = Registry::new();
    registry.add(&tarsia_constant::CONSTANT);
    let got = units::decode(&registry, tree, value_type, unit, &[]);
    assert_eq!(got.map(|_| ()), Err(expected));
}

fn unit(bytes: &[u8], len: u32, decoded_bytes: u32) -> Unit<'_> {
    Unit {
        bytes,
        len,
        decoded_bytes,
    }
}

#[test]
fn the_value_fills_the_unit() {
    let tree = tarsia_constant::tree();
    let short = Error::truncated("constant.value", 4, 3);
    check(&tree, ValueType::Fixed(4), unit(&[0; 3], 9, 36), short);
    let long = Error::corrupt("constant.value", 4, 2u8, "no bytes after the last value");
    check(
        &tree,
        ValueType::Fixed(4),
        unit(&[0; 6], 9, 36),
        long.clone(),
    );
    let short = Error::truncated("constant.value", 1, 0);
    check(&tree, ValueType::Bits, unit(&[], 9, 2), short);
    let long = Error::corrupt("constant.value", 0, 4u8, "no bytes after the last value");
    check(&tree, ValueType::Fixed(4), unit(&[0; 4], 0, 0), long);
}

#[test]
fn a_bit_is_zero_or_one() {
    let tree = tarsia_constant::tree();
    let two = Error::corrupt("constant.value", 0, 2u8, "0 or 1");
    check(&tree, ValueType::Bits, unit(&[2], 9, 2), two);
}

#[test]
fn lengths_of_byte_strings_add_up() {
    let tree = tarsia_constant::tree();
    let allowed = "decoded bytes / number of values";
    for (bytes, len, decoded_bytes) in [(&b"abc"[..], 4, 11), (b"ab", 4, 12), (b"", 4, 12)] {
        let expected = Error::corrupt("constant.value", 0, bytes.len(), allowed);
        check(
            &tree,
            ValueType::Bytes,
            unit(bytes, len, decoded_bytes),
            expected,
        );
    }
    // The product exceeds 32 bits and must not be cut to them.
    let expected = Error::corrupt("constant.value", 0, 2u8, allowed);
    let mut registry = Registry::new();
    registry.add(&tarsia_constant::CONSTANT);
    let decoder = tarsia_codec::build_decoder(&registry, &tree, ValueType::Bytes, &[]).unwrap();
    let got = decoder.decode(
        unit(b"ab", 1 << 31, 0),
        tarsia_codec::Selection::Indices(&[]),
        &mut tarsia_codec::Scratch::new(),
        tarsia_codec::Output::Bytes {
            ends: &mut [],
            base: 0,
            data: &mut [],
        },
    );
    assert_eq!(got, Err(expected));
    let none = "no decoded bytes where there are no values";
    let expected = Error::corrupt("constant.value", 0, 3u8, none);
    check(&tree, ValueType::Bytes, unit(b"", 0, 3), expected);
}

#[test]
fn parameters_are_refused() {
    let tree = Tree::leaf(tarsia_constant::ID, tarsia_constant::VERSION, &[0]);
    let params = Error::corrupt("constant.params_len", 0, 1u8, "0 (no parameters)");
    check(&tree, ValueType::Bits, unit(&[], 0, 0), params);
}
