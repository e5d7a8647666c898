//! One broken unit for each rule, with the exact error.

use tarsia_codec::{DecodeCost, Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_codec::{Output, Scratch, Selection, build_decoder};
use tarsia_lz4::{ID, LZ4, UNIT_BYTES_MAX, VERSION, tree};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

/// The values of a unit.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::new();
    registry.add(&LZ4);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    match units::decode(&registry, tree, value_type, unit, &[])? {
        CaseValues::Fixed { bytes, .. } => Ok(bytes),
        other => panic!("{other:?}"),
    }
}

fn check(bytes: &[u8], len: u32, expected: Result<&str, Error>) {
    let found = decode(&tree(), ValueType::Fixed(1), bytes, len);
    assert_eq!(
        found,
        expected.map(|it| it.as_bytes().to_vec()),
        "{bytes:x?}"
    );
}

/// Three literals, a copy of four bytes, and two literals.
const GOOD: &[u8] = b"\x30abc\x03\x00\x20yz";

#[test]
fn sequences_are_checked() {
    let bad = |n: usize| {
        let allowed = "whole sequences that fit the values, and copies of bytes before them";
        Err(Error::corrupt("lz4.block", 0, n, allowed))
    };
    let other_size = |n: usize| {
        let allowed = "a block of as many bytes as the values have";
        Err(Error::corrupt("lz4.block", 0, n, allowed))
    };
    check(GOOD, 9, Ok("abcabcayz"));
    check(b"\0", 0, Ok(""));
    check(b"", 0, Err(Error::truncated("lz4.block", 1, 0)));
    // Fewer and more bytes than the values have, missing literals, a missing token, half an offset, one that is 0, one
    // before the first byte, and lengths that end with the block.
    check(GOOD, 10, other_size(9));
    check(GOOD, 8, bad(9));
    check(GOOD, 6, bad(9));
    check(b"\x30abc", 9, other_size(4));
    check(b"\x30ab", 3, bad(3));
    check(b"\x30abc\x03\x00", 7, bad(6));
    check(b"\x30abc\x03", 7, bad(5));
    check(b"\x30abc\x00\x00\x20yz", 9, bad(9));
    check(b"\x30abc\x04\x00\x20yz", 9, bad(9));
    check(b"\xf0\xff\xff", 9, bad(3));
    check(b"\x3fabc\x03\x00\xff", 300, bad(7));
    // Bytes behind the last literals.
    check(&[GOOD, &[0]].concat(), 9, bad(10));
    // The fast paths of long blocks.
    let long = |offset: u8| [&b"\x1ea"[..], &[offset, 0], &[0x10, b'b'], &[0; 40]].concat();
    assert!(decode(&tree(), ValueType::Fixed(1), &long(1), 500).is_err());
    check(&long(2), 500, bad(46));
}

#[test]
fn units_have_limits() {
    // No byte stands for more than 255.
    check(&[0; 3], 1000, Err(Error::truncated("lz4.block", 4, 3)));
    let mut registry = Registry::new();
    registry.add_writer(&LZ4, DecodeCost::default());
    let decoder = build_decoder(&registry, &tree(), ValueType::Fixed(4), &[]).unwrap();
    let mut scratch = Scratch::new();
    let mut decode = |bytes: &[u8], len: u32| {
        let unit = Unit {
            bytes,
            len,
            decoded_bytes: 0,
        };
        // The output has the wrong size, too, which is noticed later.
        decoder.decode(unit, Selection::All, &mut scratch, Output::Fixed(&mut []))
    };
    let limit = Error::limit("CODEC_DECODED_BYTES_MAX", (1 << 24) + 4, 1 << 24);
    assert_eq!(decode(&[], (1 << 22) + 1), Err(limit));
    let (long, max) = (vec![0; UNIT_BYTES_MAX + 1], UNIT_BYTES_MAX as u64);
    let limit = |n: u64| Error::limit("tarsia_lz4::UNIT_BYTES_MAX", n, max);
    assert_eq!(decode(&long, 1), Err(limit(max + 1)));
    // The encoder refuses it, too.
    let n = UNIT_BYTES_MAX;
    let random = Case::fixed("", 1, n, Rng::new(1).bytes(n));
    let refused = units::encode(&registry, &tree(), random.values()).map(|_| ());
    let kind = refused.as_ref().map_err(Error::kind);
    let is_limit = matches!(kind, Err(ErrorKind::LimitExceeded { found, .. }) if *found > max);
    assert!(is_limit, "{refused:?}");
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with = Tree::leaf(ID, VERSION, &[3]);
    let params = Error::corrupt("lz4.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(decode(&with, ValueType::Fixed(4), &[], 0), Err(params));
    for other in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(0)] {
        let found = decode(&tree(), other, &[], 0);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
