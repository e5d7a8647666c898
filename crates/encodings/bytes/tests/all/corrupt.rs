//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&tarsia_bytes::BYTES).add(&tarsia_plain::PLAIN);
    registry
}

/// A unit over plain lengths.
fn bytes_of(lengths_len: u32, lengths: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = lengths_len.to_le_bytes().to_vec();
    for length in lengths {
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    bytes.extend_from_slice(data);
    bytes
}

fn check(bytes: &[u8], len: u32, decoded_bytes: u32, expected: Error) {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes,
    };
    let tree = tarsia_bytes::tree(tarsia_plain::tree());
    let got = units::decode(&registry(), &tree, ValueType::Bytes, unit, &[]);
    assert_eq!(got.map(|_| ()), Err(expected));
}

#[test]
fn every_field_is_checked() {
    let good = bytes_of(8, &[1, 2], b"abc");
    let unit = Unit {
        bytes: &good,
        len: 2,
        decoded_bytes: 3,
    };
    let tree = tarsia_bytes::tree(tarsia_plain::tree());
    assert!(units::decode(&registry(), &tree, ValueType::Bytes, unit, &[]).is_ok());

    check(
        &good[..3],
        2,
        3,
        Error::truncated("bytes.lengths_len", 4, 3),
    );
    check(&good[..11], 2, 3, Error::truncated("bytes.lengths", 12, 11));
    check(&good[..14], 2, 3, Error::truncated("bytes.data", 15, 14));
    let long = Error::corrupt("bytes.data", 12, 3u8, "the unit's decoded bytes");
    check(&good, 2, 2, long);
    check(&good, 3, 3, Error::truncated("plain.values", 12, 8));
    let sum = "a sum equal to the bytes of data";
    let too_many = bytes_of(8, &[2, 2], b"abc");
    check(
        &too_many,
        2,
        3,
        Error::corrupt("bytes.lengths", 4, 4u8, sum),
    );
    let too_few = bytes_of(8, &[1, 1], b"abc");
    check(&too_few, 2, 3, Error::corrupt("bytes.lengths", 4, 2u8, sum));
    // Three in 32 bits.
    let wrapping = bytes_of(8, &[u32::MAX, 4], b"abc");
    let found = u64::from(u32::MAX) + 4;
    check(
        &wrapping,
        2,
        3,
        Error::corrupt("bytes.lengths", 4, found, sum),
    );
    let huge = bytes_of(u32::MAX, &[1, 2], b"abc");
    let needed = Error::from(ErrorKind::Truncated {
        field: "bytes.lengths",
        needed_bytes: u64::from(u32::MAX) + 4,
        have_bytes: 15,
    });
    check(&huge, 2, 3, needed);
}

#[test]
fn ranges_and_single_values_never_leave_the_data() {
    let bytes = bytes_of(12, &[1, 9, 1], b"abc");
    let unit = Unit {
        bytes: &bytes,
        len: 3,
        decoded_bytes: 3,
    };
    let tree = tarsia_bytes::tree(tarsia_plain::tree());
    let decoder = tarsia_codec::build_decoder(&registry(), &tree, ValueType::Bytes, &[]).unwrap();
    let get = |selection: Selection<'_>| {
        let out = Output::Bytes {
            ends: &mut [0],
            base: 0,
            data: &mut [0; 40],
        };
        decoder.decode(unit, selection, &mut Scratch::new(), out)
    };
    assert_eq!(get(Selection::Range { start: 0, len: 1 }), Ok(1));
    assert_eq!(get(Selection::Indices(&[0])), Ok(1));
    let beyond = |found: u8| {
        Err(Error::corrupt(
            "bytes.lengths",
            4,
            found,
            "a sum equal to the bytes of data",
        ))
    };
    assert_eq!(get(Selection::Range { start: 1, len: 1 }), beyond(10));
    assert_eq!(get(Selection::Indices(&[1])), beyond(10));
    assert_eq!(get(Selection::Range { start: 2, len: 1 }), beyond(11));
    assert_eq!(get(Selection::Indices(&[2])), beyond(11));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let init = |tree: &Tree, value_type| {
        tarsia_codec::build_decoder(&registry(), tree, value_type, &[]).map(|_| ())
    };
    let children = vec![tarsia_plain::tree()];
    let tree = Tree::node(tarsia_bytes::ID, tarsia_bytes::VERSION, &[3], children);
    let params = Error::corrupt("bytes.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(init(&tree, ValueType::Bytes), Err(params));
    let fixed = init(
        &tarsia_bytes::tree(tarsia_plain::tree()),
        ValueType::Fixed(4),
    );
    assert!(
        matches!(
            fixed.as_ref().map_err(|error| error.kind()),
            Err(ErrorKind::Unsupported { .. })
        ),
        "{fixed:?}"
    );
    let childless = Tree::leaf(tarsia_bytes::ID, tarsia_bytes::VERSION, &[]);
    let none = Error::corrupt(
        "tree.n_children",
        0,
        0u8,
        "the number of children the encoding has",
    );
    assert_eq!(init(&childless, ValueType::Bytes), Err(none));
}
