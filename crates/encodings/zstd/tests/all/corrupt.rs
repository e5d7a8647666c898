//! One broken unit for each rule, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Selection, Tree, Unit, ValueType};
use tarsia_codec::{Output, Scratch, build_decoder};
use tarsia_testkit::cases::CaseValues;
use tarsia_testkit::units;
use tarsia_zstd::{ID, VERSION, ZSTD, tree};

/// The values of a unit.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::new();
    registry.add(&ZSTD);
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

fn corrupt(
    field: &'static str,
    at: usize,
    found: u64,
    allowed: &'static str,
) -> Result<&'static str, Error> {
    Err(Error::corrupt(field, at, found, allowed))
}

fn truncated(field: &'static str, needed: usize, have: usize) -> Result<&'static str, Error> {
    Err(Error::truncated(field, needed, have))
}

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where the first block starts, and what is in it.
const BLOCK_AT: usize = 6;
const BODY_AT: usize = BLOCK_AT + 3;

/// A frame with a window of 1 KiB and blocks of these kinds, sizes and bytes.
fn frame(blocks: &[(u32, usize, &[u8])]) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &[0, 0]].concat();
    for (i, (kind, size, body)) in blocks.iter().enumerate() {
        let is_last = u32::from(i + 1 == blocks.len());
        let header = is_last | kind << 1 | (*size as u32) << 3;
        bytes.extend_from_slice(&header.to_le_bytes()[..3]);
        bytes.extend_from_slice(body);
    }
    bytes
}

/// A frame of one compressed block of these sections.
fn compressed(sections: &[&[u8]]) -> Vec<u8> {
    let body = sections.concat();
    frame(&[(2, body.len(), &body)])
}

/// Raw literals.
const ABC: &[u8] = &[3 << 3, b'a', b'b', b'c'];

/// A sequence of three literals and four bytes copied, where each table has one code. The offset is in two bits of the
/// stream: 1 more than these.
const ONE: &[u8] = &[1, 0b01_01_01_00, 3, 2, 1];

#[test]
fn headers_are_checked() {
    let good = [&MAGIC[..], &[0x20, 3, 0x19, 0, 0], b"abc"].concat();
    check(&good, 3, Ok("abc"));
    check(&good[..3], 3, truncated("zstd.magic", 4, 3));
    let mut other = good.clone();
    other[3] = 0xfc;
    check(
        &other,
        3,
        corrupt("zstd.magic", 0, 0xfc2f_b528, "the magic number of a frame"),
    );
    check(&good[..4], 3, truncated("zstd.descriptor", 5, 4));
    // A checksum, a dictionary, and the bit that is reserved.
    for bit in [0, 1, 2, 3] {
        let mut other = good.clone();
        other[4] |= 1 << bit;
        let allowed = "no dictionary, no checksum and no reserved bit";
        check(
            &other,
            3,
            corrupt("zstd.descriptor", 4, 0x20 | 1 << bit, allowed),
        );
    }
    check(
        &[&MAGIC[..], &[0]].concat(),
        0,
        truncated("zstd.window", 6, 5),
    );
    check(&good[..5], 3, truncated("zstd.content_size", 6, 5));
    let sized = |size: &[u8], flag: u8| [&MAGIC[..], &[flag << 6 | 0x20], size].concat();
    let wrong = |found| corrupt("zstd.content_size", 5, found, "the bytes of all values");
    check(&sized(&[4], 0), 3, wrong(4));
    check(&sized(&[1, 1], 1), 3, wrong(0x101 + 256));
    check(&sized(&[4, 0, 1, 0], 2), 3, wrong(0x1_0004));
    check(&sized(&[3, 0, 0, 0, 0, 0, 0, 1], 3), 3, wrong(3 | 1 << 56));
    check(&sized(&[0xff; 8], 3), 3, wrong(u64::MAX));
    check(&frame(&[(0, 3, b"abc")]), 3, Ok("abc"));
    check(&frame(&[(0, 0, b"")]), 0, Ok(""));
}

#[test]
fn blocks_are_checked() {
    let good = frame(&[(0, 3, b"abc"), (1, 4, b"x")]);
    check(&good, 7, Ok("abcxxxx"));
    let n = good.len();
    check(&good[..8], 7, truncated("zstd.block", 9, 8));
    check(&good[..11], 7, truncated("zstd.block", 12, 11));
    check(&good[..n - 1], 7, truncated("zstd.block", n, n - 1));
    let after = "no bytes after the last field";
    check(
        &[&good[..], &[0]].concat(),
        7,
        corrupt("zstd.frame", n, 1, after),
    );
    let few = "blocks of as many bytes as the values have";
    check(&good, 8, corrupt("zstd.frame", 0, 7, few));
    let left = "at most the bytes of the values that are left";
    check(&good, 6, corrupt("zstd.block", 12, 4, left));
    check(&good, 2, corrupt("zstd.block", 6, 3, left));
    let kinds = "raw, one byte or compressed";
    check(
        &frame(&[(3, 0, b"")]),
        0,
        corrupt("zstd.block", 6, 3, kinds),
    );
    // The window has 1 KiB.
    let most = "at most the bytes of a block";
    check(
        &frame(&[(1, 1025, b"x")]),
        1025,
        corrupt("zstd.block", 6, 1025, most),
    );
    let whole = [&MAGIC[..], &[0xa0], &((1u32 << 17) + 1).to_le_bytes()].concat();
    let long = [&whole[..], &[0x0b, 0, 0x10, b'x']].concat();
    let found = (1 << 17) + 1;
    check(&long, found, corrupt("zstd.block", 9, found.into(), most));
}

#[test]
fn literals_are_checked() {
    let none = &[0][..];
    check(&compressed(&[ABC, none]), 3, Ok("abc"));
    // One byte, with sizes of 5, 12 and 20 bits.
    check(&compressed(&[&[1 | 3 << 3, b'x'], none]), 3, Ok("xxx"));
    check(
        &compressed(&[&[1 | 1 << 2 | 3 << 4, 0, b'x'], none]),
        3,
        Ok("xxx"),
    );
    check(
        &compressed(&[&[1 | 3 << 2 | 3 << 4, 0, 0, b'x'], none]),
        3,
        Ok("xxx"),
    );
    let field = "zstd.literals";
    check(&compressed(&[]), 3, truncated(field, 10, 9));
    check(&compressed(&[&[3 << 3, b'a']]), 3, truncated(field, 13, 11));
    check(&compressed(&[&[1 | 3 << 3]]), 3, truncated(field, 11, 10));
    let left = "at most the bytes of the values that are left, and of a block";
    check(
        &compressed(&[ABC, none]),
        2,
        corrupt(field, BODY_AT, 3, left),
    );
    let own = "a code of their own in the first block with a code";
    check(
        &compressed(&[&[3, 0, 0], none]),
        0,
        corrupt(field, BODY_AT, 3, own),
    );
    // Two symbols of one bit: 0 and 1, whose weights are 1, 1. In the stream they are 1, 0, 1, behind the mark.
    let coded = |n: u8, weights: &[u8], stream: &[u8]| {
        let n_stored = (weights.len() + stream.len()) as u32;
        let header = 2 | u32::from(n) << 4 | n_stored << 14;
        compressed(&[&header.to_le_bytes()[..3], weights, stream, none])
    };
    let weights = &[128, 0x10][..];
    check(&coded(3, weights, &[0b1101]), 3, Ok("\x01\0\x01"));
    let exact = "streams that hold exactly the literals";
    let inexact = |n: u8| corrupt(field, BODY_AT, n.into(), exact);
    check(&coded(2, weights, &[0b1101]), 2, inexact(2));
    check(&coded(4, weights, &[0b1101]), 4, inexact(4));
    check(&coded(3, weights, &[0]), 3, inexact(3));
    check(&coded(3, weights, &[]), 3, inexact(3));
    let mut long = coded(3, weights, &[0b1101]);
    long.truncate(BODY_AT + 5);
    check(&long, 3, truncated(field, BODY_AT + 6, BODY_AT + 5));
    // Four streams, of which the first three have sizes.
    let four = |n: u8, sizes: [u8; 6], streams: &[u8]| {
        let n_stored = (weights.len() + 6 + streams.len()) as u32;
        let header = 2 | 1 << 2 | u32::from(n) << 4 | n_stored << 14;
        compressed(&[&header.to_le_bytes()[..3], weights, &sizes, streams, none])
    };
    let each = [1, 0, 1, 0, 1, 0];
    let streams = [0b101, 0b110, 0b111, 0b11];
    check(&four(7, each, &streams), 7, Ok("\0\x01\x01\0\x01\x01\x01"));
    check(&four(7, [2, 0, 1, 0, 1, 0], &streams), 7, inexact(7));
    check(&four(7, [1, 0, 9, 0, 1, 0], &streams), 7, inexact(7));
    check(&four(5, each, &streams), 5, inexact(5));
}

#[test]
fn weights_make_a_complete_code() {
    let coded = |weights: &[u8]| {
        let n_stored = weights.len() as u32 + 1;
        let header = 2 | 3 << 4 | n_stored << 14;
        compressed(&[&header.to_le_bytes()[..3], weights, &[0b1101], &[0]])
    };
    let at = BODY_AT + 3;
    let bad = |header: u8| {
        let allowed = "weights of a complete code of at most 11 bits";
        corrupt("zstd.weights", at, header.into(), allowed)
    };
    check(&coded(&[128, 0x10]), 3, Ok("\x01\0\x01"));
    // No weight, none but 0, a rest that is no power of two, a longest code without a twin, and one that is too long.
    check(&coded(&[128, 0x00]), 3, bad(128));
    check(&coded(&[130, 0x21, 0x20]), 3, bad(130));
    check(&coded(&[128, 0x20]), 3, bad(128));
    check(&coded(&[129, 0xc1]), 3, bad(129));
    check(&coded(&[129, 0xbb]), 3, bad(129));
    // Weights that are coded: a table of too large an accuracy, also where it is behind them, and no stream.
    let log = "at most the largest accuracy of the table";
    check(
        &coded(&[2, 0x02, 0]),
        3,
        corrupt("zstd.accuracy_log", at + 1, 7, log),
    );
    check(
        &coded(&[0]),
        3,
        corrupt("zstd.accuracy_log", at + 1, 18, log),
    );
    // Accuracy 5: weight 0 has no part, weight 1 has all.
    let table = [0b0001_0000, 0b1111_1100];
    check(&coded(&[2, table[0], table[1]]), 3, bad(2));
    // Weights that are missing: those as they are, and coded ones.
    for (header, needed) in [(200, 37), (90, 90)] {
        let end = at + 1 + needed;
        let short = coded(&[header]);
        check(&short, 3, truncated("zstd.weights", end, short.len()));
    }
}

#[test]
fn sequences_are_checked() {
    let with = |literals: &[u8], sequences: &[u8], stream: &[u8]| {
        compressed(&[literals, sequences, stream])
    };
    check(&with(ABC, ONE, &[0b1_10]), 7, Ok("abcabca"));
    check(&with(ABC, ONE, &[0b1_00]), 7, Ok("abccccc"));
    // The last literals follow the sequences.
    let four = &[4 << 3, b'a', b'b', b'c', b'd'];
    check(&with(four, ONE, &[0b1_01]), 8, Ok("abcbcbcd"));
    let at = BODY_AT + 4;
    let field = "zstd.sequences";
    let bad = |n: usize| {
        let allowed = "sequences that fit their stream, the literals and the values";
        corrupt(field, at + 5, n as u64, allowed)
    };
    // An offset before the first byte, too few literals, no room, no mark, bits that are left, and too few.
    check(&with(ABC, ONE, &[0b1_11]), 7, bad(1));
    check(&with(&[2 << 3, b'a', b'b', 0][..3], ONE, &[0b1_00]), 6, {
        let allowed = "sequences that fit their stream, the literals and the values";
        corrupt(field, at + 4, 1, allowed)
    });
    check(&with(ABC, ONE, &[0b1_10]), 6, bad(1));
    check(&with(ABC, ONE, &[0]), 7, bad(1));
    check(&with(ABC, ONE, &[]), 7, bad(0));
    check(&with(ABC, ONE, &[0b1_010]), 7, bad(1));
    check(&with(ABC, ONE, &[0b1_0]), 7, bad(1));
    check(&with(four, ONE, &[0b1_01]), 7, {
        let allowed = "at most the bytes of the values that are left, and of a block";
        corrupt("zstd.literals", BODY_AT, 4, allowed)
    });
    // Three sequences: the offset before, the one before less 1, which is none.
    let again = &[2, 0b01_01_01_00, 0, 0, 0];
    let none = "sequences that fit their stream, the literals and the values";
    check(&with(ABC, again, &[1]), 9, corrupt(field, at + 5, 1, none));
    check(
        &compressed(&[ABC]),
        7,
        truncated("zstd.n_sequences", at + 1, at),
    );
    check(
        &compressed(&[ABC, &[255, 0]]),
        7,
        truncated("zstd.n_sequences", at + 3, at + 2),
    );
    check(
        &compressed(&[ABC, &[128]]),
        7,
        truncated("zstd.n_sequences", at + 2, at + 1),
    );
    check(
        &compressed(&[ABC, &[1]]),
        7,
        truncated("zstd.modes", at + 2, at + 1),
    );
    let reserved = "zero (reserved) in the lowest two bits";
    check(
        &compressed(&[ABC, &[1, 1]]),
        7,
        corrupt("zstd.modes", at + 1, 1, reserved),
    );
    let sections = "as many bytes as the sections of the block have";
    let long = with(ABC, &[0], &[9]);
    check(&long, 3, corrupt("zstd.block", BODY_AT, 6, sections));
}

#[test]
fn tables_are_checked() {
    let at = BODY_AT + 4;
    let with = |sequences: &[u8]| compressed(&[ABC, sequences]);
    let earlier = "no table of an earlier block in the first with sequences";
    for (modes, field) in [
        (0b11_00_00_00, "zstd.literals_lengths"),
        (0b00_11_00_00, "zstd.offsets"),
        (0b00_00_11_00, "zstd.matches_lengths"),
    ] {
        check(&with(&[1, modes]), 7, corrupt(field, at + 2, 3, earlier));
    }
    for (modes, field, n) in [
        (0b01_00_00_00, "zstd.literals_lengths", 36),
        (0b00_01_00_00, "zstd.offsets", 32),
        (0b00_00_01_00, "zstd.matches_lengths", 53),
    ] {
        check(
            &with(&[1, modes, n]),
            7,
            corrupt(field, at + 2, n.into(), "the codes that there are"),
        );
        check(&with(&[1, modes]), 7, truncated(field, at + 3, at + 2));
    }
    let log = "at most the largest accuracy of the table";
    for (modes, found) in [(0b10_00_00_00, 10), (0b00_10_00_00, 9), (0b00_00_10_00, 10)] {
        let stored = (found - 5) as u8;
        check(
            &with(&[1, modes, stored, 0]),
            7,
            corrupt("zstd.accuracy_log", at + 2, found, log),
        );
    }
    // Codes without a part, up to more than there are.
    let symbols = "at most the symbols of the table";
    let many = [&[1, 0b00_10_00_00, 0x10, 0xfe][..], &[0xff; 6]].concat();
    check(&with(&many), 7, corrupt("zstd.table", at + 5, 34, symbols));
    // A table that goes on behind the unit.
    check(
        &with(&[1, 0b00_10_00_00, 0]),
        7,
        truncated("zstd.table", at + 17, at + 3),
    );
}

/// Memory for a whole unit is only taken for bytes that may hold it.
#[test]
fn a_few_bytes_are_no_reason_for_memory() {
    let mut registry = Registry::new();
    registry.add(&ZSTD);
    let decoder = build_decoder(&registry, &tree(), ValueType::Fixed(1), &[]).unwrap();
    let select = |bytes: &[u8], len: u32| {
        let unit = Unit {
            bytes,
            len,
            decoded_bytes: 0,
        };
        let one = Selection::Indices(&[5]);
        decoder.decode(unit, one, &mut Scratch::new(), Output::Fixed(&mut [0]))
    };
    let good = frame(&[(1, 1000, b"x")]);
    assert_eq!(select(&good, 1000), Ok(0));
    let needed = BLOCK_AT + (1 << 24) / (128 << 10) * 3;
    let short = Error::truncated("zstd.block", needed, good.len());
    assert_eq!(select(&good, 1 << 24), Err(short));
    let sized = [&MAGIC[..], &[0x20, 3, 0x19, 0, 0], b"abc"].concat();
    let size = Error::corrupt("zstd.content_size", 5, 3u8, "the bytes of all values");
    assert_eq!(select(&sized, 1 << 24), Err(size));
}

#[test]
fn units_have_at_most_two_gibibytes() {
    let mut registry = Registry::new();
    registry.add(&ZSTD);
    let decoder = build_decoder(&registry, &tree(), ValueType::Fixed(4), &[]).unwrap();
    let unit = Unit {
        bytes: &[],
        len: (1 << 22) + 1,
        decoded_bytes: 0,
    };
    let found = decoder.decode(
        unit,
        Selection::All,
        &mut Scratch::new(),
        Output::Fixed(&mut []),
    );
    let limit = Error::limit("CODEC_DECODED_BYTES_MAX", (1 << 24) + 4, 1 << 24);
    assert_eq!(found, Err(limit));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with = Tree::leaf(ID, VERSION, &[3]);
    let params = Error::corrupt("zstd.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(decode(&with, ValueType::Fixed(4), &[], 0), Err(params));
    for other in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(0)] {
        let found = decode(&tree(), other, &[], 0);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
