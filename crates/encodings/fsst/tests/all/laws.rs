//! The laws of all encodings, for fsst over plain and packed lengths.

use std::sync::Arc;

use tarsia_codec::{
    BlockValues, DecodeCost, ErrorKind, OwnedValues, Registry, Result, SharedBuffer, SharedBuffers,
    SharedKind, Tree, UsedEntries, ValueType, Values, build_encoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{LawCase, cases, check_cases, check_encoding, existing};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_fsst::FSST, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn plain() -> Tree {
    tarsia_fsst::tree(tarsia_plain::tree(), tarsia_plain::tree())
}

fn packed() -> Tree {
    tarsia_fsst::tree(tarsia_bitpack::tree(), tarsia_bitpack::tree())
}

/// Sentences of frequent and rare words.
fn sentences(n: usize) -> Vec<String> {
    let words = [
        "oak",
        "elm",
        "walnut",
        "Grüße",
        "the",
        "of",
        "http://example.org/",
        "0123456789abcdefghij",
    ];
    let mut rng = Rng::new(7);
    let sentence = |_| {
        let words = (0..rng.below(12)).map(|_| match rng.below(9) {
            i @ 0..8 => words[i].to_string(),
            _ => format!("{:x}", rng.u64()),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    (0..n).map(sentence).collect()
}

#[test]
fn strings_obey_the_laws() {
    let mut all = cases(ValueType::Bytes);
    // Larger ones test nothing else, and take long.
    all.retain(|case| case.values().decoded_bytes() <= 1 << 19);
    check_cases(&registry(), &plain(), &all);
    check_cases(&registry(), &packed(), &all);
}

#[test]
fn sentences_obey_the_laws() {
    let case = Case::strings("sentences", &sentences(1500));
    check_cases(&registry(), &packed(), &[case]);
}

#[test]
fn sentences_get_smaller() {
    let case = Case::strings("", &sentences(20_000));
    let (encoded, shared) = units::encode(&registry(), &packed(), case.values()).unwrap();
    let symbols = shared[0].values().as_values().unwrap().decoded_bytes();
    let (before, after) = (
        case.values().decoded_bytes(),
        encoded.len() as u64 + symbols,
    );
    assert!(after * 2 < before, "{before} -> {after}");
}

/// Symbols that are found in a sample, but used nowhere, are not stored.
#[test]
fn every_symbol_is_used() {
    let case = Case::strings("", &sentences(3000));
    let values = case.values();
    let (encoded, shared) = units::encode(&registry(), &packed(), values).unwrap();
    let n = shared[0].values().len();
    let used = Arc::new(UsedEntries::none_of(n));
    let recording = [shared[0].clone().recording(used.clone())];
    let unit = units::unit_of(&encoded, &values);
    units::decode(&registry(), &packed(), ValueType::Bytes, unit, &recording).unwrap();
    assert!(n > 20, "{n} symbols");
    assert!((0..n).all(|i| used.contains(i)));
}

fn symbols(symbols: &[&str]) -> SharedBuffer {
    let values = OwnedValues::copy_of(Case::strings("", symbols).values());
    SharedBuffer::new(SharedKind::TokenDictionary, Arc::new(values))
}

fn encode(case: &Case, shared: &[SharedBuffer]) -> Result<Vec<u8>> {
    let values = case.values();
    let encoder = build_encoder(&registry(), &plain(), values, &mut existing(shared))?;
    let mut out = vec![];
    encoder.encode(BlockValues::all(values)?, &mut out)?;
    Ok(out)
}

#[test]
fn symbols_that_exist_are_used() {
    // Of equal symbols the first is used, wiped ones are not.
    let shared = [symbols(&["", "a", "b", "abc", "ab", "", "a"])];
    let case = Case::strings("", &["abca", "", "abb", "ad"]);
    let (registry, tree) = (registry(), plain());
    check_encoding(&LawCase {
        shared: &shared,
        ..LawCase::new("existing symbols", &registry, &tree, case.values())
    });
    let header = [16, 0, 0, 0, 16, 0, 0, 0];
    let lengths = [4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0];
    let counts = [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    let codes = [3, 1, 4, 2, 1, 255, b'd'];
    let expected = [&header[..], &lengths, &counts, &codes].concat();
    assert_eq!(encode(&case, &shared), Ok(expected));

    let is_invalid = |got: Result<_>| {
        let kind = got.as_ref().map(|_| ()).map_err(|error| error.kind());
        matches!(kind, Err(ErrorKind::InvalidInput { .. }))
    };
    assert!(is_invalid(encode(&case, &[])));
    let long = symbols(&["a", "b", "c", "012345678"]);
    assert!(is_invalid(encode(&case, &[long])));
    assert!(is_invalid(encode(&case, &[symbols(&["a"; 256])])));
    assert!(encode(&case, &[symbols(&["a"; 255])]).is_ok());
}

/// Without symbols every byte has an escape.
#[test]
fn no_symbols_are_enough() {
    let shared = [symbols(&[])];
    let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte; 3]).collect();
    let case = Case::strings("", &bytes);
    let (registry, tree) = (registry(), plain());
    check_encoding(&LawCase {
        shared: &shared,
        ..LawCase::new("no symbols", &registry, &tree, case.values())
    });
    let unit = encode(&case, &shared).unwrap();
    assert_eq!(unit.len(), 8 + 256 * (4 + 4 + 6));
}

fn strings_of(values: Values<'_>) -> Vec<Vec<u8>> {
    let strings = values.as_bytes().unwrap();
    let all = (0..strings.len()).map(|i| strings.get(i).to_vec());
    all.collect()
}

/// A parent that derives its child's values per block passes values at other positions of the page.
#[test]
fn values_at_other_positions_are_encoded_as_they_are() {
    let case = Case::strings("", &["oak tree", "elm", "", "walnut tree"]);
    let values = case.values();
    let (tree, mut buffers) = (plain(), SharedBuffers::new());
    let encoder = build_encoder(&registry(), &tree, values, &mut buffers).unwrap();
    let shared = buffers.to_decode().unwrap();
    let other = Case::strings("", &["walnut", "", "elm", "oak", "elm tree", "rat"]);
    for range in [0..4, 1..3, 3..6, 5..6, 0..6] {
        let block = BlockValues::new(other.values(), range.clone()).unwrap();
        let mut out = vec![];
        encoder.encode(block, &mut out).unwrap();
        let unit = units::unit_of(&out, &block.values());
        let got = units::decode(&registry(), &tree, ValueType::Bytes, unit, &shared).unwrap();
        let got = Case {
            name: String::new(),
            values: got,
        };
        assert_eq!(
            strings_of(got.values()),
            strings_of(block.values()),
            "{range:?}"
        );
    }
}
