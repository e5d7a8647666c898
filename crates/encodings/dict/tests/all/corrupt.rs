//! One broken unit or tree per field, with the exact error.

use std::sync::Arc;

use tarsia_codec::toolbox::Distinct;
use tarsia_codec::{
    Error, ErrorKind, Registry, SharedBuffer, SharedKind, Tree, Unit, ValueType, build_decoder,
};
use tarsia_dict::{CodeBytes, block_tree, page_tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_dict::DICT)
        .add(&tarsia_bytes::BYTES)
        .add(&tarsia_plain::PLAIN);
    registry
}

fn block() -> Tree {
    block_tree(CodeBytes::One, tarsia_plain::tree(), tarsia_plain::tree())
}

fn string_block() -> Tree {
    let values = tarsia_bytes::tree(tarsia_plain::tree());
    block_tree(CodeBytes::One, tarsia_plain::tree(), values)
}

/// Four values of two bytes, two entries.
fn good() -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0];
    bytes.extend([0, 1, 1, 0]);
    bytes.extend([10, 11, 20, 21]);
    bytes
}

/// Three strings "ab", "c", "ab", two entries.
fn good_strings() -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0];
    bytes.extend([0, 1, 0, 0]);
    bytes.extend([8, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend(b"abc");
    bytes
}

fn decode(
    tree: &Tree,
    value_type: ValueType,
    bytes: &[u8],
    len: u32,
    sum: u32,
) -> Result<(), Error> {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: sum,
    };
    units::decode(&registry(), tree, value_type, unit, &[]).map(|_| ())
}

fn check(change: impl FnOnce(&mut Vec<u8>), expected: Error) {
    let mut bytes = good();
    change(&mut bytes);
    let got = decode(&block(), ValueType::Fixed(2), &bytes, 4, 8);
    assert_eq!(got, Err(expected));
}

#[test]
fn every_field_of_a_block_is_checked() {
    assert_eq!(decode(&block(), ValueType::Fixed(2), &good(), 4, 8), Ok(()));
    check(
        |bytes| bytes.truncate(3),
        Error::truncated("dict.n_entries", 4, 3),
    );
    check(
        |bytes| bytes.truncate(7),
        Error::truncated("dict.codes_len", 8, 7),
    );
    check(
        |bytes| bytes.truncate(11),
        Error::truncated("dict.entries_bytes", 12, 11),
    );
    check(
        |bytes| bytes.truncate(15),
        Error::truncated("dict.codes", 16, 15),
    );
    check(
        |bytes| bytes.truncate(19),
        Error::truncated("plain.values", 4, 3),
    );
    let too_many = Error::corrupt("dict.n_entries", 0, 5u8, "0 ..= number of values");
    check(|bytes| bytes[0] = 5, too_many);
    let allowed = "n_entries x width, below 2^32";
    let other_size = Error::corrupt("dict.entries_bytes", 8, 6u8, allowed);
    check(|bytes| bytes[8] = 6, other_size);
    let codes = "below the number of entries; place is the value's index";
    check(
        |bytes| bytes[14] = 2,
        Error::corrupt("dict.code", 2, 2u8, codes),
    );
    check(
        |bytes| bytes[13] = 255,
        Error::corrupt("dict.code", 1, 255u8, codes),
    );
    let no_entries = Error::corrupt("dict.code", 0, 0u8, codes);
    check(
        |bytes| {
            bytes[0] = 0;
            bytes[8] = 0;
            bytes.truncate(16);
        },
        no_entries,
    );
    let huge = Error::from(ErrorKind::Truncated {
        field: "dict.codes",
        needed_bytes: u64::from(u32::MAX) + 12,
        have_bytes: 20,
    });
    check(|bytes| bytes[4..8].fill(255), huge);
}

#[test]
fn padding_is_zero() {
    let mut bytes = good_strings();
    let decode = |bytes: &[u8]| decode(&string_block(), ValueType::Bytes, bytes, 3, 5);
    assert_eq!(decode(&bytes), Ok(()));
    bytes[15] = 7;
    let padding = Error::corrupt("dict.padding", 15, 7u8, "zero (padding or reserved)");
    assert_eq!(decode(&bytes), Err(padding));
    assert_eq!(
        decode(&bytes[..15]),
        Err(Error::truncated("dict.padding", 16, 15))
    );
}

#[test]
fn strings_add_up() {
    let decode = |bytes: &[u8], sum| decode(&string_block(), ValueType::Bytes, bytes, 3, sum);
    let allowed = "strings that add up to the unit's decoded bytes";
    let sum = |found: u8| Err(Error::corrupt("dict.codes", 0, found, allowed));
    assert_eq!(decode(&good_strings(), 6), sum(5));
    assert_eq!(decode(&good_strings(), 4), sum(5));
    let entries = Error::corrupt(
        "dict.entries_bytes",
        8,
        3u8,
        "at most the unit's decoded bytes",
    );
    assert_eq!(decode(&good_strings(), 2), Err(entries));
    let mut shorter = good_strings();
    shorter[8] = 2;
    let data = Error::corrupt("bytes.data", 12, 3u8, "the unit's decoded bytes");
    assert_eq!(decode(&shorter, 5), Err(data));
}

fn dictionary(case: &Case) -> SharedBuffer {
    let distinct = Distinct::of(case.values(), usize::MAX).expect("no cap");
    let entries = Arc::new(distinct.entries(case.values()));
    SharedBuffer::new(SharedKind::Dictionary, entries)
}

#[test]
fn codes_into_a_shared_dictionary_are_checked() {
    let shared = [dictionary(&Case::strings("", &["ab", "c"]))];
    let tree = page_tree(CodeBytes::Two, tarsia_plain::tree());
    let decode = |bytes: &[u8], len, sum| {
        let unit = Unit {
            bytes,
            len,
            decoded_bytes: sum,
        };
        units::decode(&registry(), &tree, ValueType::Bytes, unit, &shared).map(|_| ())
    };
    assert_eq!(decode(&[0, 0, 1, 0], 2, 3), Ok(()));
    let allowed = "below the number of entries; place is the value's index";
    let bad = Error::corrupt("dict.code", 1, 257u16, allowed);
    assert_eq!(decode(&[0, 0, 1, 1], 2, 3), Err(bad));
    assert_eq!(
        decode(&[0, 0, 1], 2, 3),
        Err(Error::truncated("plain.values", 4, 3))
    );
    let allowed = "strings that add up to the unit's decoded bytes";
    let sum = Error::corrupt("dict.codes", 0, 3u8, allowed);
    assert_eq!(decode(&[0, 0, 1, 0], 2, 4), Err(sum));
}

fn init_with(
    params: &[u8],
    value_type: ValueType,
    buffers: &[SharedBuffer],
    numbers: &[u8],
) -> Result<(), Error> {
    let n_children = if params.first() == Some(&0) { 2 } else { 1 };
    let children = vec![tarsia_plain::tree(); n_children];
    let tree = Tree::node(tarsia_dict::ID, tarsia_dict::VERSION, params, children);
    let tree = tree.with_shared(numbers);
    build_decoder(&registry(), &tree, value_type, buffers).map(|_| ())
}

/// With as many shared buffers as the scope needs, starting with the page's first.
fn init(params: &[u8], value_type: ValueType, buffers: &[SharedBuffer]) -> Result<(), Error> {
    let numbers: &[u8] = if params.first() == Some(&0) {
        &[]
    } else {
        &[0]
    };
    init_with(params, value_type, buffers, numbers)
}

#[test]
fn parameters_are_checked() {
    let numbers = [dictionary(&Case::numbers("", 4, &[9]))];
    let u32s = ValueType::Fixed(4);
    let tree = page_tree(CodeBytes::Four, tarsia_plain::tree());
    assert_eq!(
        (&tree.params[..], &tree.shared[..]),
        (&[1, 4][..], &[0][..])
    );
    assert_eq!(init(&[0, 1], u32s, &[]), Ok(()));
    assert_eq!(init(&[1, 4], u32s, &numbers), Ok(()));
    assert_eq!(
        init(&[], u32s, &[]),
        Err(Error::truncated("dict.scope", 1, 0))
    );
    assert_eq!(
        init(&[1], u32s, &[]),
        Err(Error::truncated("dict.code_bytes", 2, 1))
    );
    let scope = Error::corrupt("dict.scope", 0, 2u8, "0 (block) or 1 (page)");
    assert_eq!(init(&[2, 1], u32s, &numbers), Err(scope));
    let width = Error::corrupt("dict.code_bytes", 1, 3u8, "1, 2 or 4");
    assert_eq!(init(&[1, 3], u32s, &numbers), Err(width));
    let more = Error::corrupt("dict.params", 2, 1u8, "no bytes after the last field");
    assert_eq!(init(&[1, 1, 0], u32s, &numbers), Err(more));
    for value_type in [ValueType::Bits, ValueType::Fixed(0)] {
        let got = init(&[1, 1], value_type, &numbers);
        assert!(
            matches!(
                got.as_ref().map_err(|error| error.kind()),
                Err(ErrorKind::Unsupported { .. })
            ),
            "{got:?}"
        );
    }
}

#[test]
fn the_dictionary_is_the_one_that_the_node_names() {
    let u32s = ValueType::Fixed(4);
    let numbers = dictionary(&Case::numbers("", 4, &[9]));
    let words = dictionary(&Case::strings("", &["oak"]));
    let both = [words, numbers.clone()];
    assert_eq!(init_with(&[1, 1], u32s, &both, &[1]), Ok(()));
    let allowed = "a shared buffer of the page, of the kind and type that the node needs";
    let other = |number: u8| Err(Error::corrupt("tree.shared", 0, number, allowed));
    // A shared buffer of another type, and a missing one.
    assert_eq!(init_with(&[1, 1], u32s, &both, &[0]), other(0));
    assert_eq!(init_with(&[1, 1], u32s, &both, &[2]), other(2));
    for kind in SharedKind::ALL {
        let buffer = [SharedBuffer::new(kind, numbers.values().clone())];
        let got = init_with(&[1, 1], u32s, &buffer, &[0]);
        assert_eq!(got.is_ok(), kind == SharedKind::Dictionary, "{kind:?}");
    }
    let allowed = "the number of shared buffers the encoding has";
    let count = |found: u8| Err(Error::corrupt("tree.n_shared", 0, found, allowed));
    assert_eq!(init_with(&[1, 1], u32s, &both, &[]), count(0));
    assert_eq!(init_with(&[1, 1], u32s, &both, &[1, 1]), count(2));
    assert_eq!(init_with(&[0, 1], u32s, &both, &[1]), count(1));
}
