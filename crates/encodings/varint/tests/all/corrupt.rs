//! One broken unit per rule, with the exact error.

use tarsia_codec::{
    Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType, build_decoder,
};
use tarsia_varint::{ID, VARINT, VERSION, tree};

fn select(
    tree: &Tree,
    value_type: ValueType,
    bytes: &[u8],
    len: u32,
    selection: Selection<'_>,
) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::new();
    registry.add(&VARINT);
    let decoder = build_decoder(&registry, tree, value_type, &[])?;
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let width = value_type.fixed_bytes().unwrap_or(0);
    let mut out = vec![0; width * selection.check(len)?];
    let to = Output::Fixed(&mut out);
    decoder.decode(unit, selection, &mut Scratch::new(), to)?;
    Ok(out)
}

/// The result of decoding all values of `width` bytes of a unit.
fn decode(width: u32, bytes: &[u8], len: u32) -> Result<(), Error> {
    let value_type = ValueType::Fixed(width);
    select(&tree(), value_type, bytes, len, Selection::All).map(|_| ())
}

/// A unit of these ends and values.
fn unit_of(ends: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    bytes.extend_from_slice(values);
    bytes
}

/// A unit of one value with these bytes behind `n_before` values of one byte and before `n_after` of them.
fn around(n_before: usize, value: &[u8], n_after: usize) -> (Vec<u8>, u32) {
    let values = [&vec![1; n_before], value, &vec![1; n_after]].concat();
    let n = n_before + 1 + n_after;
    (unit_of(&[values.len() as u32], &values), n as u32)
}

const ENDS: &str = "ends that do not fall, none beyond the values";
const LAST: &str = "the end of the group's last value";

#[test]
fn the_last_end_is_that_of_the_unit() {
    let good = unit_of(&[3], &[0x80, 1, 5]);
    assert_eq!(decode(2, &good, 2), Ok(()));
    let truncated = Error::truncated("varint.ends", 4, 3);
    assert_eq!(decode(2, &good[..3], 2), Err(truncated));
    let truncated = Error::truncated("varint.values", 7, 6);
    assert_eq!(decode(2, &good[..6], 2), Err(truncated));
    let longer = [&good[..], &[0]].concat();
    let after = Error::corrupt("varint.values", 7, 1u8, "no bytes after the last value");
    assert_eq!(decode(2, &longer, 2), Err(after));
    let after = Error::corrupt("varint.values", 0, 7u8, "no bytes after the last value");
    assert_eq!(decode(2, &good, 0), Err(after));
    assert_eq!(decode(2, &[], 0), Ok(()));
}

#[test]
fn ends_do_not_fall() {
    let values = [1; 600];
    assert_eq!(decode(4, &unit_of(&[256, 512, 600], &values), 600), Ok(()));
    let falls = unit_of(&[256, 255, 600], &values);
    let refused = Err(Error::corrupt("varint.ends", 4, 255u8, ENDS));
    assert_eq!(decode(4, &falls, 600), refused);
    let beyond = unit_of(&[256, 601, 600], &values);
    let refused = Err(Error::corrupt("varint.ends", 4, 601u16, ENDS));
    assert_eq!(decode(4, &beyond, 600), refused);
    // A value of another group is decoded all the same.
    let single = |index| {
        let selection = Selection::Indices(&[index]);
        select(&tree(), ValueType::Fixed(4), &beyond, 600, selection)
    };
    assert_eq!(single(255), Ok(vec![1, 0, 0, 0]));
    assert_eq!(single(256).map(|_| ()), refused);
}

#[test]
fn groups_end_with_their_last_values() {
    let values = [1; 600];
    // The first group has a value more, then one fewer, than it should.
    for (end, is_short) in [(257_u32, false), (255, true)] {
        let bytes = unit_of(&[end, 512, 600], &values);
        let refused = Err(Error::corrupt("varint.ends", 0, end, LAST));
        assert_eq!(decode(4, &bytes, 600), refused);
        let value_type = ValueType::Fixed(4);
        let of = |selection| select(&tree(), value_type, &bytes, 600, selection).map(|_| ());
        let range = |start, len| of(Selection::Range { start, len });
        assert_eq!(range(3, 252), Ok(()));
        assert_eq!(range(3, 253), refused);
        // Single values notice only what is missing.
        let expected = if is_short { refused } else { Ok(()) };
        assert_eq!(of(Selection::Indices(&[7, 255])), expected);
    }
    // A value that the group's end cuts.
    let bytes = unit_of(&[3], &[1, 2, 0x83]);
    let refused = Err(Error::corrupt("varint.ends", 0, 3u8, LAST));
    assert_eq!(decode(4, &bytes, 3), refused);
    // Counting to a value behind the last one.
    let range = Selection::Range { start: 5, len: 1 };
    let refused = refused.map(|()| vec![]);
    assert_eq!(
        select(&tree(), ValueType::Fixed(4), &bytes, 6, range),
        refused
    );
    let none = Selection::Indices(&[5]);
    assert_eq!(
        select(&tree(), ValueType::Fixed(4), &bytes, 6, none),
        refused
    );
}

/// Checks that a value is refused at byte `at` of it, wherever it stands in a group.
fn check_value(width: u32, value: &[u8], at: usize, allowed: &'static str) {
    for n_before in [0, 1, 2, 7, 8, 9, 30] {
        for n_after in [0, 1, 7, 8, 20] {
            let (bytes, n) = around(n_before, value, n_after);
            let refused = Error::corrupt("varint.values", 4 + n_before + at, value[at], allowed);
            assert_eq!(
                decode(width, &bytes, n),
                Err(refused.clone()),
                "{value:x?} of {width} bytes behind {n_before}, before {n_after}"
            );
            let selection = Selection::Indices(&[n_before as u32]);
            let single = select(&tree(), ValueType::Fixed(width), &bytes, n, selection);
            assert_eq!(single, Err(refused));
        }
    }
}

#[test]
fn values_take_the_fewest_bytes() {
    let allowed = "no value with a last byte of zero after others";
    check_value(2, &[0x80, 0], 1, allowed);
    check_value(2, &[0xff, 0x80, 0], 2, allowed);
    check_value(4, &[0x85, 0], 1, allowed);
    check_value(4, &[0x80, 0x80, 0x80, 0x80, 0], 4, allowed);
    check_value(8, &[0x81, 0], 1, allowed);
    let of = |n: usize| [vec![0x81; n], vec![0]].concat();
    for n in [6, 7, 8, 9] {
        check_value(8, &of(n), n, allowed);
    }
}

#[test]
fn values_have_no_bits_beyond_their_width() {
    let allowed = "no bits beyond the width of the values";
    let of = |n: usize, last: u8| [vec![0xff; n], vec![last]].concat();
    for (width, n, last) in [(2, 2, 3), (4, 4, 0xf), (8, 9, 1)] {
        let (bytes, n_values) = around(3, &of(n, last), 9);
        let all = Selection::All;
        let decoded = select(&tree(), ValueType::Fixed(width), &bytes, n_values, all).unwrap();
        let width_bytes = width as usize;
        let value = &decoded[3 * width_bytes..4 * width_bytes];
        assert_eq!(value, vec![0xff; width_bytes]);
        check_value(width, &of(n, last + 1), n, allowed);
        check_value(width, &of(n, 0x7f), n, allowed);
        // More bytes than a value has.
        check_value(width, &of(n + 1, 1), n, allowed);
        check_value(width, &of(20, 1), n, allowed);
    }
}

#[test]
fn parameters_and_other_types_are_refused() {
    let init = |tree: &Tree, value_type| {
        let mut registry = Registry::new();
        registry.add(&VARINT);
        build_decoder(&registry, tree, value_type, &[]).map(|_| ())
    };
    let with_params = Tree::leaf(ID, VERSION, &[3]);
    let params = Error::corrupt("varint.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(init(&with_params, ValueType::Fixed(4)), Err(params));
    for value_type in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(1),
        ValueType::Fixed(3),
        ValueType::Fixed(16),
    ] {
        let refused = init(&tree(), value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
