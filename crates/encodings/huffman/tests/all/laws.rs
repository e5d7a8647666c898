//! The laws of all encodings, and units that are what the page says bit by bit.

use tarsia_codec::{
    BlockValues, DecodeCost, EncodingWriter, ErrorKind, Node, Output, Registry, Result, Scratch,
    Selection, SharedBuffer, SharedBuffers, ValueType, build_decoder, build_encoder,
};
use tarsia_huffman::{HUFFMAN, VERSION, tree};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::laws::{LawCase, cases, check_cases, check_encoding, existing};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use crate::reference::{self, steep, table};

const BYTE: ValueType = ValueType::Fixed(1);

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&HUFFMAN, DecodeCost::default());
    registry
}

fn case(name: &str, values: &[u8]) -> Case {
    Case::fixed(name, 1, values.len(), values.to_vec())
}

/// Values of which each is `1 / odds` less frequent than the one before.
fn skewed(n: usize, odds: usize) -> Vec<u8> {
    let mut rng = Rng::new((n + odds) as u64);
    let value = |_| (0..255).take_while(|_| rng.below(odds) > 0).count() as u8;
    (0..n).map(value).collect()
}

/// Cases that the encoding is made for, in sizes around those at which streams and their sizes change.
fn skewed_cases() -> Vec<Case> {
    let sizes = [5, 1023, 1024, 1025, 1030, 5000, 21_844, 21_845, 30_000];
    let all = sizes.map(|n| [2, 9, 60].map(|odds| case("skewed", &skewed(n, odds))));
    let mut all: Vec<Case> = all.into_iter().flatten().collect();
    // Streams whose codes differ in length: one ends long before the others.
    let mut sorted = skewed(16_384, 20);
    sorted.sort_unstable();
    all.push(case("sorted", &sorted));
    sorted.reverse();
    all.push(case("falling", &sorted));
    all
}

#[test]
fn numbers_obey_the_laws() {
    check_cases(&registry(), &tree(), &cases(BYTE));
    check_cases(&registry(), &tree(), &skewed_cases());
}

/// Values that occur in the table, however rarely: all codes, and those of 12 bits alone.
fn steep_cases() -> Vec<Case> {
    let values: Vec<u8> = (0..=10).chain([254, 255]).collect();
    let mut rng = Rng::new(12);
    let mut all = Vec::new();
    for n in [3, 1023, 1024, 4000, 21_845] {
        let mixed: Vec<u8> = (0..n).map(|_| *rng.pick(&values)).collect();
        all.push(case("all codes", &mixed));
        let longest: Vec<u8> = (0..n).map(|i| 254 + (i % 2) as u8).collect();
        all.push(case("longest codes", &longest));
        all.push(case("shortest codes", &vec![0; n]));
    }
    all
}

#[test]
fn tables_that_exist_obey_the_laws() {
    let (registry, tree, shared) = (registry(), tree(), [table(&steep())]);
    for case in steep_cases() {
        check_encoding(&LawCase {
            shared: &shared,
            ..LawCase::new(&case.name, &registry, &tree, case.values())
        });
    }
}

fn bytes_of(case: &Case) -> &[u8] {
    match &case.values {
        CaseValues::Fixed { bytes, .. } => bytes,
        other => panic!("{other:?}"),
    }
}

fn encode_under(shared: &[SharedBuffer], case: &Case) -> Result<Vec<u8>> {
    let (values, mut buffers) = (case.values(), existing(shared));
    let encoder = build_encoder(&registry(), &tree(), values, &mut buffers)?;
    let mut out = vec![];
    encoder.encode(BlockValues::all(values)?, &mut out)?;
    Ok(out)
}

#[test]
fn units_are_what_the_page_says_bit_by_bit() {
    let mut all = cases(BYTE);
    all.retain(|case| case.len() < 30_000);
    for case in all.into_iter().chain(skewed_cases()) {
        let (encoded, shared) = units::encode(&registry(), &tree(), case.values()).unwrap();
        let lengths = shared[0].values().as_values().unwrap();
        let lengths = lengths.as_fixed().unwrap();
        assert!(lengths.bytes().last() != Some(&0), "{}", case.name);
        let expected = reference::unit(bytes_of(&case), lengths.bytes());
        assert!(encoded == expected, "{}", case.name);
    }
    for case in steep_cases() {
        let encoded = encode_under(&[table(&steep())], &case).unwrap();
        let expected = reference::unit(bytes_of(&case), &steep());
        assert!(encoded == expected, "{}", case.name);
    }
}

#[test]
fn the_largest_units_are_as_large_as_the_bound() {
    for n in [0, 1, 2, 1023, 1024, 1025, 21_844, 21_845, 60_000] {
        let encoded = encode_under(&[table(&steep())], &case("", &vec![255; n])).unwrap();
        let node = Node {
            value_type: BYTE,
            version: VERSION,
            params: &[],
        };
        let child = |_, _, _, _| panic!("there are no children");
        let bound = HUFFMAN.encoded_bytes_max(&node, n as u64, n as u64, &child);
        assert_eq!(encoded.len() as u64, bound, "{n}");
    }
}

#[test]
fn values_without_a_code_and_bad_tables_are_refused() {
    let is_invalid = |got: Result<Vec<u8>>| {
        let kind = got.as_ref().map_err(|error| error.kind());
        matches!(kind, Err(ErrorKind::InvalidInput { .. }))
    };
    let under = |lengths: &[u8], values: &[u8]| encode_under(&[table(lengths)], &case("", values));
    assert_eq!(under(&[1, 0, 1], &[2, 0]), Ok(vec![0b01]));
    for bad in [1, 3, 255] {
        for n in [1, 3, 4, 1030] {
            for at in [0, n / 2, n - 1] {
                let mut values = vec![2; n];
                values[at] = bad;
                assert!(
                    is_invalid(under(&[1, 0, 1], &values)),
                    "{bad} at {at} of {n}"
                );
            }
        }
    }
    assert!(is_invalid(under(&[1, 2], &[0])));
    assert!(is_invalid(under(&[13, 1, 1], &[2])));
    assert!(is_invalid(under(&[8; 257], &[2])));
    // A page that exists and has no table.
    assert!(is_invalid(encode_under(&[], &case("", &[2]))));
}

/// A parent that derives its child's values per block passes values at other positions of the page.
#[test]
fn values_at_other_positions_are_encoded_as_they_are() {
    let page = case("", b"walnut tree");
    let mut buffers = SharedBuffers::new();
    let encoder = build_encoder(&registry(), &tree(), page.values(), &mut buffers).unwrap();
    let shared = buffers.to_decode().unwrap();
    let other = case("", b"a new tale");
    let mut out = vec![];
    encoder
        .encode(BlockValues::all(other.values()).unwrap(), &mut out)
        .unwrap();
    let unit = units::unit_of(&out, &page.values().slice(0..other.len()));
    let got = units::decode(&registry(), &tree(), BYTE, unit, &shared).unwrap();
    assert_eq!(format!("{got:?}"), format!("{:?}", other.values));
}

/// Values in other streams, and those behind the last wanted one, are not looked at.
#[test]
fn single_values_come_from_the_front_of_their_streams() {
    let values = skewed(4096, 9);
    let case = case("", &values);
    let (mut encoded, shared) = units::encode(&registry(), &tree(), case.values()).unwrap();
    let bits = |i: usize| {
        let size = encoded[2 * i..].first_chunk().unwrap();
        usize::from(u16::from_le_bytes(*size))
    };
    // Streams 0 and 3, and the second half of streams 1 and 2.
    let (start, half, end) = (bits(0), bits(0) + bits(1), bits(0) + bits(1) + bits(2));
    for bit in (0..start)
        .chain(start + bits(1) * 3 / 4..half)
        .chain(half + bits(2) * 3 / 4..end)
        .chain(end..8 * (encoded.len() - 6))
    {
        encoded[6 + bit / 8] ^= 1 << (bit % 8);
    }
    let decoder = build_decoder(&registry(), &tree(), BYTE, &shared).unwrap();
    let values_of = case.values();
    let decode = |selection, to: &mut [u8]| {
        let unit = units::unit_of(&encoded, &values_of);
        decoder.decode(unit, selection, &mut Scratch::new(), Output::Fixed(to))
    };
    let mut to = [0; 5];
    let indices = [1024, 1400, 1400, 2050, 2500];
    decode(Selection::Indices(&indices), &mut to).unwrap();
    assert_eq!(to, indices.map(|i| values[i as usize]));
    decode(
        Selection::Range {
            start: 2400,
            len: 5,
        },
        &mut to,
    )
    .unwrap();
    assert_eq!(to, values[2400..2405]);
    assert!(decode(Selection::All, &mut vec![0; 4096]).is_err());
}
