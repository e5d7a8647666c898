//! One broken unit per rule, with the exact error.

use tarsia_codec::{DecodeCost, Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn check(value_type: ValueType, len: u32, bytes: &[u8], expected: Error) {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let tree = tarsia_plain::tree();
    let got = units::decode(&registry(), &tree, value_type, unit, &[]);
    assert_eq!(got.map(|_| ()), Err(expected));
}

#[test]
fn sizes_are_exact() {
    check(
        ValueType::Fixed(4),
        2,
        &[0; 7],
        Error::truncated("plain.values", 8, 7),
    );
    let allowed = "no bytes after the last value";
    let longer = Error::corrupt("plain.values", 8, 1u8, allowed);
    check(ValueType::Fixed(4), 2, &[0; 9], longer);
    check(
        ValueType::Bits,
        9,
        &[0],
        Error::truncated("plain.values", 2, 1),
    );
    let longer = Error::corrupt("plain.values", 1, 2u8, allowed);
    check(ValueType::Bits, 8, &[0; 3], longer.clone());
    let longer = Error::corrupt("plain.values", 0, 2u8, allowed);
    check(ValueType::Fixed(0), 1 << 20, &[0; 2], longer);
}

#[test]
fn spare_bits_are_zero() {
    let spare = Error::corrupt("plain.spare_bits", 1, 2u8, "zero");
    check(ValueType::Bits, 9, &[0xff, 0b101], spare);
}

#[test]
fn values_wider_than_memory_are_refused_before_anything_is_allocated() {
    let decoder = tarsia_codec::build_decoder(
        &registry(),
        &tarsia_plain::tree(),
        ValueType::Fixed(1 << 28),
        &[],
    )
    .unwrap();
    let unit = Unit {
        bytes: &[1, 2, 3],
        len: u32::MAX,
        decoded_bytes: 0,
    };
    let got = decoder.decode(
        unit,
        tarsia_codec::Selection::Indices(&[]),
        &mut tarsia_codec::Scratch::new(),
        tarsia_codec::Output::Fixed(&mut []),
    );
    let needed_bytes = u64::from(u32::MAX) << 28;
    assert_eq!(
        got,
        Err(Error::from(ErrorKind::Truncated {
            field: "plain.values",
            needed_bytes,
            have_bytes: 3
        }))
    );
}

#[test]
fn nodes_that_plain_does_not_hold_are_refused() {
    let init = |tree: &Tree, value_type| {
        tarsia_codec::build_decoder(&registry(), tree, value_type, &[]).map(|_| ())
    };
    let strings = init(&tarsia_plain::tree(), ValueType::Bytes);
    assert!(
        matches!(
            strings.as_ref().map_err(|error| error.kind()),
            Err(ErrorKind::Unsupported { .. })
        ),
        "{strings:?}"
    );
    let with_params = Tree::leaf(tarsia_plain::ID, tarsia_plain::VERSION, &[0]);
    assert_eq!(
        init(&with_params, ValueType::Bits),
        Err(Error::corrupt(
            "plain.params_len",
            0,
            1u8,
            "0 (no parameters)"
        ))
    );
}
