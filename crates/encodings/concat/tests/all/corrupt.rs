//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType};
use tarsia_testkit::units;

use crate::{plain, registry};

/// A unit over plain lengths and bytes.
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
    let got = units::decode(&registry(), &plain(), ValueType::Bytes, unit, &[]);
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
    assert!(units::decode(&registry(), &plain(), ValueType::Bytes, unit, &[]).is_ok());

    let header = Error::truncated("concat.lengths_len", 4, 3);
    check(&good[..3], 2, 3, header);
    let lengths = Error::truncated("concat.lengths", 12, 11);
    check(&good[..11], 2, 3, lengths);
    // The children check their own bytes.
    check(&good[..14], 2, 3, Error::truncated("plain.values", 3, 2));
    check(&good, 3, 3, Error::truncated("plain.values", 12, 8));
    let sum = "a sum equal to the unit's decoded bytes";
    check(&good, 2, 2, Error::corrupt("concat.lengths", 4, 3u8, sum));
    let too_few = bytes_of(8, &[1, 1], b"abc");
    check(
        &too_few,
        2,
        3,
        Error::corrupt("concat.lengths", 4, 2u8, sum),
    );
    // Three in 32 bits.
    let wrapping = bytes_of(8, &[u32::MAX, 4], b"abc");
    let found = u64::from(u32::MAX) + 4;
    check(
        &wrapping,
        2,
        3,
        Error::corrupt("concat.lengths", 4, found, sum),
    );
}

#[test]
fn parts_of_a_unit_are_checked_as_far_as_they_reach() {
    let registry = registry();
    let decoder = tarsia_codec::build_decoder(&registry, &plain(), ValueType::Bytes, &[]).unwrap();
    let bytes = bytes_of(8, &[5, 1], b"abc");
    let unit = Unit {
        bytes: &bytes,
        len: 2,
        decoded_bytes: 3,
    };
    let decode = |selection| {
        let (mut ends, mut data) = ([0; 1], [0; 8]);
        let out = Output::Bytes {
            ends: &mut ends,
            base: 0,
            data: &mut data,
        };
        decoder.decode(unit, selection, &mut Scratch::new(), out)
    };
    let sum = "a sum equal to the unit's decoded bytes";
    let error = Err(Error::corrupt("concat.lengths", 4, 5u8, sum));
    assert_eq!(decode(Selection::Range { start: 0, len: 1 }), error);
    assert_eq!(decode(Selection::Indices(&[0])), error);
    let beyond = Err(Error::corrupt("concat.lengths", 4, 6u8, sum));
    assert_eq!(decode(Selection::Range { start: 1, len: 1 }), beyond);
    assert_eq!(decode(Selection::Indices(&[1])), beyond);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
    let tree = Tree::node(tarsia_concat::ID, tarsia_concat::VERSION, &[3], children);
    let decode = |tree: &Tree, value_type| {
        let unit = Unit {
            bytes: &[],
            len: 0,
            decoded_bytes: 0,
        };
        let registry: Registry = registry();
        units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
    };
    let params = Error::corrupt("concat.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(decode(&tree, ValueType::Bytes), Err(params));
    let numbers = decode(&plain(), ValueType::Fixed(4));
    let kind = numbers.as_ref().map_err(Error::kind);
    assert!(
        matches!(kind, Err(ErrorKind::Unsupported { .. })),
        "{numbers:?}"
    );
}
