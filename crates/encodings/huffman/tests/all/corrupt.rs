//! One broken unit or table per rule, with the exact error.

use tarsia_codec::{
    Error, ErrorKind, Output, Registry, Result, Scratch, Selection, SharedBuffer, SharedKind, Tree,
    Unit, ValueType, build_decoder,
};
use tarsia_huffman::{HUFFMAN, ID, VERSION, tree};
use tarsia_testkit::units;

use crate::reference::{table, unit};

/// The codes 0, 10 and 11.
const LENGTHS: [u8; 3] = [1, 2, 2];

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&HUFFMAN);
    registry
}

fn decode(bytes: &[u8], len: u32) -> Result<()> {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: len,
    };
    let shared = [table(&LENGTHS)];
    units::decode(&registry(), &tree(), ValueType::Fixed(1), unit, &shared).map(|_| ())
}

fn bad_end(at_byte: usize, found: u32) -> Result<()> {
    let allowed = "as many bits as its stream has";
    Err(Error::corrupt("huffman.codes", at_byte, found, allowed))
}

fn spare_bits(at_byte: usize, found: u8) -> Result<()> {
    Err(Error::corrupt("huffman.spare_bits", at_byte, found, "zero"))
}

/// 2,051 values in three streams of 513 and one of 512.
fn many() -> Vec<u8> {
    (0..2051).map(|i| (i % 3) as u8).collect()
}

/// Where the codes of [`many`] start.
const CODES_AT: usize = 6;

/// Bits of a stream of 513 values of [`many`]: 171 of each code.
const STREAM_BITS: usize = 171 * 5;

#[test]
fn short_units_are_checked() {
    // 10, 0, 11: 1, 0, 0, 1, 1 from the lowest bit on.
    assert_eq!(unit(&[1, 0, 2], &LENGTHS), [0b1_1001]);
    assert_eq!(decode(&[0b1_1001], 3), Ok(()));
    assert_eq!(decode(&[], 0), Ok(()));
    assert_eq!(decode(&[0], 0), bad_end(0, 0));
    assert_eq!(
        decode(&[0], 9),
        Err(Error::truncated("huffman.codes", 2, 1))
    );
    // A byte less and a byte more than the codes of nine values take.
    assert_eq!(decode(&[0xff, 0xff, 0b11], 9), Ok(()));
    // Zeros are read behind the last byte.
    assert_eq!(decode(&[0xff, 0xff], 9), bad_end(0, 17));
    assert_eq!(decode(&[0xff, 0xff, 0b11, 0], 9), bad_end(0, 18));
    // Behind the codes of three values.
    assert_eq!(decode(&[0b11_1001], 3), spare_bits(0, 1));
    assert_eq!(decode(&[0b1001_1001], 3), spare_bits(0, 0b100));
    assert_eq!(decode(&[0xff, 0xff, 0b1011], 9), spare_bits(2, 0b10));
}

#[test]
fn sizes_of_streams_are_checked() {
    let (good, n) = (unit(&many(), &LENGTHS), 2051);
    assert_eq!(decode(&good, n), Ok(()));
    for len in 0..CODES_AT {
        let needed = len / 2 * 2 + 2;
        let truncated = Error::truncated("huffman.stream_bits", needed, len);
        assert_eq!(decode(&good[..len], n), Err(truncated));
    }
    let short = Error::truncated("huffman.codes", CODES_AT + 257, CODES_AT + 256);
    assert_eq!(decode(&good[..CODES_AT + 256], n), Err(short));
    // Of 4 bytes each, for more values.
    let wide = vec![0; 7];
    let truncated = Error::truncated("huffman.stream_bits", 8, 7);
    assert_eq!(decode(&wide, 21_845), Err(truncated));

    let sizes = |sizes: [u16; 3]| {
        let sizes = sizes.map(u16::to_le_bytes);
        [sizes.as_flattened(), &good[CODES_AT..]].concat()
    };
    let bits = STREAM_BITS as u16;
    assert_eq!(sizes([bits; 3]), good);
    let all_bits = 8 * (good.len() - CODES_AT) as u16;
    let beyond = |found: u32| {
        let allowed = "at most the bits of all codes";
        Err(Error::corrupt("huffman.stream_bits", 0, found, allowed))
    };
    assert_eq!(
        decode(&sizes([all_bits, 1, 0]), n),
        beyond(u32::from(all_bits) + 1)
    );
    assert_eq!(
        decode(&sizes([u16::MAX; 3]), n),
        beyond(3 * u32::from(u16::MAX))
    );
    // A stream that is shorter or longer than its codes.
    let found = STREAM_BITS as u32;
    assert_eq!(
        decode(&sizes([bits - 1, bits, bits]), n),
        bad_end(CODES_AT, found)
    );
    assert_eq!(
        decode(&sizes([bits + 1, bits, bits]), n),
        bad_end(CODES_AT, found)
    );
    let at = |stream: usize| CODES_AT + stream * STREAM_BITS / 8;
    assert_eq!(
        decode(&sizes([bits, bits - 1, bits]), n),
        bad_end(at(1), found)
    );
    assert_eq!(
        decode(&sizes([bits, bits, bits + 1]), n),
        bad_end(at(2), found)
    );
}

#[test]
fn codes_fill_their_streams() {
    let (good, n) = (unit(&many(), &LENGTHS), 2051);
    // The second value of stream 2 is 1. As two codes of 0 it is a value too many; the last one has two bits.
    let mut bad = good.clone();
    let bit = 2 * STREAM_BITS;
    bad[CODES_AT + (bit + 1) / 8] ^= 1 << ((bit + 1) % 8);
    let found = STREAM_BITS as u32 - 2;
    assert_eq!(decode(&bad, n), bad_end(CODES_AT + bit / 8, found));
    // The last stream ends in the last byte.
    let last_bits = 3 * STREAM_BITS + (512 / 3 * 5 + 3);
    let (start, end) = (CODES_AT + 3 * STREAM_BITS / 8, good.len());
    assert_eq!(end, CODES_AT + last_bits.div_ceil(8));
    let found = (last_bits - 3 * STREAM_BITS) as u32;
    assert!(decode(&good[..end - 1], n).is_err());
    assert_eq!(
        decode(&[&good[..], &[0]].concat(), n),
        bad_end(start, found)
    );
    let n_used = last_bits % 8;
    assert!(n_used > 0);
    for bit in n_used..8 {
        let mut bad = good.clone();
        bad[end - 1] |= 1 << bit;
        assert_eq!(decode(&bad, n), spare_bits(end - 1, 1 << (bit - n_used)));
    }
}

#[test]
fn ranges_and_single_values_check_what_they_decode() {
    let good = unit(&many(), &LENGTHS);
    let shared = [table(&LENGTHS)];
    let decoder = build_decoder(&registry(), &tree(), ValueType::Fixed(1), &shared).unwrap();
    let get = |bytes: &[u8], selection: Selection<'_>| {
        let unit = Unit {
            bytes,
            len: 2051,
            decoded_bytes: 2051,
        };
        let mut to = vec![0; selection.check(2051).unwrap()];
        let out = Output::Fixed(&mut to);
        decoder
            .decode(unit, selection, &mut Scratch::new(), out)
            .map(|_| to)
    };
    let range = |start, len| Selection::Range { start, len };
    // Stream 1 is a bit too long: whoever decodes it to its end notices.
    let mut bad = good.clone();
    let bits = (STREAM_BITS as u16 + 1).to_le_bytes();
    bad[2..4].copy_from_slice(&bits);
    let start = CODES_AT + STREAM_BITS / 8;
    let refused = bad_end(start, STREAM_BITS as u32).map(|()| vec![]);
    assert_eq!(get(&bad, range(1000, 26)), refused);
    assert_eq!(get(&bad, Selection::Indices(&[513, 1025])), refused);
    assert_eq!(get(&bad, range(1000, 25)), Ok(many()[1000..1025].to_vec()));
    assert_eq!(get(&bad, Selection::Indices(&[0, 1024])), Ok(vec![0, 1]));
    assert_eq!(get(&bad, range(0, 0)), Ok(vec![]));
    // Codes behind the end of their stream.
    bad[2..4].copy_from_slice(&3u16.to_le_bytes());
    assert_eq!(get(&bad, Selection::Indices(&[514])), Ok(vec![1]));
    let beyond = bad_end(start, 5).map(|()| vec![]);
    assert_eq!(get(&bad, Selection::Indices(&[515])), beyond);
    assert_eq!(get(&bad, range(513, 3)), beyond);
    // The last byte, which only the last value needs.
    let end = good.len();
    let mut bad = good.clone();
    bad[end - 1] |= 0x80;
    assert_eq!(get(&bad, range(1539, 511)), Ok(many()[1539..2050].to_vec()));
    assert!(get(&bad, range(1539, 512)).is_err());
    assert!(get(&bad, Selection::Indices(&[2050, 2050])).is_err());
}

#[test]
fn few_bytes_are_no_reason_to_take_much_memory() {
    let shared = [table(&LENGTHS)];
    let decoder = build_decoder(&registry(), &tree(), ValueType::Fixed(1), &shared).unwrap();
    let unit = Unit {
        bytes: &[0; 100],
        len: 1 << 31,
        decoded_bytes: 0,
    };
    let (mut to, mut scratch) = ([0], Scratch::new());
    let last = Selection::Indices(&[(1 << 31) - 1]);
    let got = decoder.decode(unit, last, &mut scratch, Output::Fixed(&mut to));
    let truncated = Error::truncated("huffman.codes", 12 + (1 << 28), 100);
    assert_eq!(got, Err(truncated));
    assert_eq!(scratch.take(0).capacity(), 0);
}

fn init(tree: &Tree, value_type: ValueType, shared: SharedBuffer) -> Result<()> {
    build_decoder(&registry(), tree, value_type, &[shared]).map(|_| ())
}

#[test]
fn tables_are_complete_codes() {
    let with = |lengths: &[u8]| init(&tree(), ValueType::Fixed(1), table(lengths));
    assert_eq!(with(&[1, 1]), Ok(()));
    assert_eq!(with(&[0, 0, 1, 0, 2, 2, 0, 0]), Ok(()));
    assert_eq!(with(&[8; 256]), Ok(()));
    let at_most = |i: usize, found: u8| {
        Err(Error::corrupt(
            "huffman.lengths",
            i,
            found,
            "at most 12 bits",
        ))
    };
    assert_eq!(with(&[1, 2, 13]), at_most(2, 13));
    assert_eq!(with(&[255, 1, 1]), at_most(0, 255));
    let many = Error::corrupt("huffman.lengths", 0, 257u32, "at most 256");
    assert_eq!(with(&[0; 257]), Err(many));
    let incomplete = |found: u32| {
        let allowed = "codes that all 4,096 sequences of 12 bits start with, each with one";
        Err(Error::corrupt("huffman.lengths", 0, found, allowed))
    };
    // None, one, too few and too many.
    assert_eq!(with(&[]), incomplete(0));
    assert_eq!(with(&[0; 256]), incomplete(0));
    assert_eq!(with(&[1]), incomplete(2048));
    assert_eq!(with(&[1, 2, 12]), incomplete(3073));
    assert_eq!(with(&[1, 1, 12]), incomplete(4097));
    assert_eq!(with(&[1; 256]), incomplete(256 * 2048));
    for kind in SharedKind::ALL {
        let buffer = SharedBuffer::new(kind, table(&LENGTHS).values().clone());
        let is_right = kind == SharedKind::SymbolTable;
        let got = init(&tree(), ValueType::Fixed(1), buffer);
        assert_eq!(got.is_ok(), is_right, "{kind:?}");
    }
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with_params = Tree::leaf(ID, VERSION, &[3]).with_shared(&[0]);
    let params = Error::corrupt("huffman.params_len", 0, 1u8, "0 (no parameters)");
    let got = init(&with_params, ValueType::Fixed(1), table(&LENGTHS));
    assert_eq!(got, Err(params));
    let others = [ValueType::Bits, ValueType::Bytes];
    for other in others
        .into_iter()
        .chain([0, 2, 4, 16].map(ValueType::Fixed))
    {
        let got = init(&tree(), other, table(&LENGTHS));
        let kind = got.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {got:?}");
    }
}
