//! One broken unit per rule, with the exact error.

use tarsia_bitshuffle::{BITSHUFFLE, ID, VERSION, tree};
use tarsia_codec::{
    Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType, build_decoder,
    limits,
};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&BITSHUFFLE).add(&tarsia_plain::PLAIN);
    registry
}

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry(), tree, value_type, unit, &[]).map(|_| ())
}

/// The result of decoding some values of 2 bytes of a unit.
fn select(bytes: &[u8], len: u32, selection: Selection<'_>) -> Result<usize, Error> {
    let tree = tree(tarsia_plain::tree());
    let decoder = build_decoder(&registry(), &tree, ValueType::Fixed(2), &[]).unwrap();
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let mut out = vec![0; 2 * selection.check(len).unwrap()];
    let out = Output::Fixed(&mut out);
    decoder.decode(unit, selection, &mut Scratch::new(), out)
}

#[test]
fn the_unit_is_the_childs() {
    let tree = tree(tarsia_plain::tree());
    // 16 planes of 2 bytes.
    let of = |bytes: &[u8]| decode(&tree, ValueType::Fixed(2), bytes, 16);
    assert_eq!(of(&[0xff; 32]), Ok(()));
    assert_eq!(of(&[0; 31]), Err(Error::truncated("plain.values", 32, 31)));
    let after = Error::corrupt("plain.values", 32, 1u8, "no bytes after the last value");
    assert_eq!(of(&[0; 33]), Err(after.clone()));
    assert_eq!(
        select(&[0; 33], 16, Selection::Range { start: 3, len: 0 }),
        Err(after)
    );
    let none = decode(&tree, ValueType::Fixed(2), &[0], 0);
    let after = Error::corrupt("plain.values", 0, 1u8, "no bytes after the last value");
    assert_eq!(none, Err(after));
}

#[test]
fn spare_bits_are_zero() {
    let tree = tree(tarsia_plain::tree());
    // A group of 1,024 values, and one of 11: 16 planes of 2 bytes, 3 bits of the last byte used.
    let (n, start) = (1024 + 11, 2048);
    let mut bytes = vec![0xff; start + 32];
    let of = |bytes: &[u8]| decode(&tree, ValueType::Fixed(2), bytes, n);
    let spare = |at, found: u8| Err(Error::corrupt("bitshuffle.spare", at, found, "zero"));
    assert_eq!(of(&bytes), spare(start + 1, 0b1_1111));
    for plane in 0..16 {
        bytes[start + 2 * plane + 1] = 0b111;
    }
    assert_eq!(of(&bytes), Ok(()));
    bytes[start + 2 * 9 + 1] = 0b1000_0111;
    let refused = spare(start + 2 * 9 + 1, 0b1_0000);
    assert_eq!(of(&bytes), refused);
    // Ranges and single values notice it where they decode the last row.
    let refused = refused.map(|()| 0);
    let range = |start, len| Selection::Range { start, len };
    assert_eq!(select(&bytes, n, range(1023, 1)), Ok(0));
    assert_eq!(select(&bytes, n, range(1023, 2)), refused);
    // Far from each other, which are decoded alone, and close.
    assert_eq!(select(&bytes, n, Selection::Indices(&[0, 1024])), Ok(0));
    assert_eq!(select(&bytes, n, Selection::Indices(&[0, 1033])), refused);
    assert_eq!(
        select(&bytes, n, Selection::Indices(&[1032, 1033])),
        refused
    );
}

#[test]
fn planes_beyond_the_limit_of_a_unit_are_refused() {
    let decoder = |width| {
        let tree = tree(tarsia_plain::tree());
        build_decoder(&registry(), &tree, ValueType::Fixed(width), &[]).unwrap()
    };
    let none = |width, len| {
        let unit = Unit {
            bytes: &[],
            len,
            decoded_bytes: 0,
        };
        let out = Output::Fixed(&mut []);
        let selection = Selection::Range { start: 0, len: 0 };
        decoder(width).decode(unit, selection, &mut Scratch::new(), out)
    };
    let max = limits::UNIT_VALUES_MAX;
    let found = u64::from(max) + 8 * 8;
    let refused = Error::limit("UNIT_VALUES_MAX", found, max.into());
    assert_eq!(none(8, max / 8 + 1), Err(refused));
    let truncated = Error::truncated("plain.values", max as usize, 0);
    assert_eq!(none(8, max / 8), Err(truncated));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with_params = Tree::node(ID, VERSION, &[3], vec![tarsia_plain::tree()]);
    let params = Error::corrupt("bitshuffle.params_len", 0, 1u8, "0 (no parameters)");
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
