//! The laws of all encodings, for both scopes of dict over plain children.

use std::ops::Range;
use std::sync::Arc;

use tarsia_codec::toolbox::Distinct;
use tarsia_codec::{
    BlockValues, DecodeCost, ErrorKind, OwnedValues, PageEncoder, Registry, Result, SharedBuffer,
    SharedBuffers, SharedKind, Tree, ValueType, Values, build_encoder,
};
use tarsia_dict::{CodeBytes, block_tree, page_tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{LawCase, cases, check_cases_with, check_encoding, existing};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_dict::DICT, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

/// The narrowest codes for all values of a case in one block.
fn code_bytes(case: &Case) -> CodeBytes {
    let distinct = Distinct::of(case.values(), usize::MAX).expect("no cap");
    CodeBytes::for_entries(distinct.n_entries())
}

fn plain_tree(value_type: ValueType) -> Tree {
    match value_type {
        ValueType::Bytes => tarsia_bytes::tree(tarsia_plain::tree()),
        _ => tarsia_plain::tree(),
    }
}

/// Large cases and all bit widths test nothing of a dictionary that a few small cases do not.
fn is_needless(case: &Case) -> bool {
    case.values().decoded_bytes() > 1 << 19 || case.name.contains(" bits")
}

fn check_both_scopes(value_type: ValueType) {
    let mut all = cases(value_type);
    all.retain(|case| !is_needless(case));
    check_both_scopes_of(&all);
}

fn check_both_scopes_of(all: &[Case]) {
    check_cases_with(&registry(), all, |case| {
        Some(block_tree(
            code_bytes(case),
            tarsia_plain::tree(),
            plain_tree(case.values().value_type()),
        ))
    });
    check_cases_with(&registry(), all, |case| {
        Some(page_tree(code_bytes(case), tarsia_plain::tree()))
    });
}

#[test]
fn narrow_values_obey_the_laws() {
    for width in [1, 2, 3] {
        check_both_scopes(ValueType::Fixed(width));
    }
}

#[test]
fn wide_values_obey_the_laws() {
    for width in [4, 8, 16, 33] {
        check_both_scopes(ValueType::Fixed(width));
    }
}

#[test]
fn byte_strings_obey_the_laws() {
    check_both_scopes(ValueType::Bytes);
}

#[test]
fn many_numbers_are_put_in_order_and_obey_the_laws() {
    // 1,500 ids, each two to three times, none near the one before.
    let ids: Vec<u128> = (0..4000)
        .map(|i: u128| i * 7919 % 1500 * 1_000_003)
        .collect();
    let case = Case::numbers("ids", 8, &ids);
    let tree = page_tree(CodeBytes::Two, tarsia_plain::tree());
    let mut shared = SharedBuffers::new();
    build_encoder(&registry(), &tree, case.values(), &mut shared).unwrap();
    let dictionary = shared.to_vec().unwrap();
    let entries = dictionary[0].1.as_values().unwrap().as_fixed().unwrap();
    let id = |i| u64::from_le_bytes(entries.get(i).try_into().unwrap());
    assert!((1..entries.len()).all(|i| id(i - 1) < id(i)));
    check_both_scopes_of(&[case]);
}

#[test]
fn wider_codes_than_needed_obey_the_laws() {
    let words = [
        "",
        "oak",
        "walnut",
        "a rather long name of a rather rare wood",
        "Grüße",
    ];
    let strings: Vec<&str> = (0..3000).map(|i| words[i * i % 23 % 5]).collect();
    let strings = Case::strings("", &strings);
    let numbers: Vec<u128> = (0..3000).map(|i| i * i % 1009).collect();
    let numbers = Case::numbers("", 8, &numbers);
    for code_bytes in [CodeBytes::Two, CodeBytes::Four] {
        for case in [&strings, &numbers] {
            let values = plain_tree(case.value_type());
            for tree in [
                block_tree(code_bytes, tarsia_plain::tree(), values),
                page_tree(code_bytes, tarsia_plain::tree()),
            ] {
                check_encoding(&LawCase::new(
                    "wide codes",
                    &registry(),
                    &tree,
                    case.values(),
                ));
            }
        }
    }
}

fn dictionary(case: &Case) -> SharedBuffer {
    let distinct = Distinct::of(case.values(), usize::MAX).expect("no cap");
    let entries = Arc::new(distinct.entries(case.values()));
    SharedBuffer::new(SharedKind::Dictionary, entries)
}

/// An encoder that creates the shared buffers it needs.
fn prepare(tree: &Tree, case: &Case) -> Result<Box<dyn PageEncoder>> {
    build_encoder(&registry(), tree, case.values(), &mut SharedBuffers::new())
}

fn encode(encoder: &dyn PageEncoder, values: Values<'_>, range: Range<usize>) -> Result<Vec<u8>> {
    let mut out = vec![];
    encoder.encode(BlockValues::new(values, range)?, &mut out)?;
    Ok(out)
}

#[test]
fn a_dictionary_that_exists_is_used() {
    let other = dictionary(&Case::numbers("", 4, &[9]));
    let words = dictionary(&Case::strings("", &["unused", "oak", "", "walnut"]));
    let shared = [other, words];
    let case = Case::strings("", &["oak", "walnut", "", "oak"]);
    let tree = page_tree(CodeBytes::One, tarsia_plain::tree()).with_shared(&[1]);
    let registry = registry();
    let law = LawCase {
        shared: &shared,
        ..LawCase::new("existing dictionary", &registry, &tree, case.values())
    };
    check_encoding(&law);

    let with = |case: &Case, mut buffers: SharedBuffers| {
        let encoder = build_encoder(&registry, &tree, case.values(), &mut buffers)?;
        Ok((encoder, buffers))
    };
    let (encoder, buffers) = with(&case, existing(&shared)).unwrap();
    let out = encode(&*encoder, case.values(), 0..4).unwrap();
    assert_eq!(out, [1, 3, 2, 1]);
    assert_eq!(buffers.to_vec().unwrap().len(), 2);

    let is_invalid = |got: Result<_>| {
        let kind = got.as_ref().map(|_| ()).map_err(|error| error.kind());
        matches!(kind, Err(ErrorKind::InvalidInput { .. }))
    };
    let missing = Case::strings("", &["oak", "elm"]);
    assert!(is_invalid(with(&missing, existing(&shared))));
    let other_type = Case::numbers("", 4, &[9]);
    assert!(is_invalid(with(&other_type, existing(&shared))));
    // Pages that exist get no further dictionaries.
    assert!(is_invalid(with(&case, existing(&[]))));
    assert!(is_invalid(with(&case, existing(&shared[..1]))));
    // A new one is buffer 1, as the tree says, so that buffer 0 is missing.
    let (_, buffers) = with(&case, SharedBuffers::new()).unwrap();
    assert!(buffers.to_vec().is_err());
}

#[test]
fn entries_are_in_the_order_of_first_appearance() {
    let case = Case::numbers("", 2, &[7, 5, 7, 9, 5]);
    let tree = page_tree(CodeBytes::One, tarsia_plain::tree());
    let (codes, shared) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert_eq!(codes, [0, 1, 0, 2, 1]);
    match &**shared[0].values() {
        OwnedValues::Fixed { bytes, .. } => assert_eq!(&bytes[..], [7, 0, 5, 0, 9, 0]),
        other => panic!("{other:?}"),
    }
    // In each block the numbering starts again.
    let tree = block_tree(CodeBytes::One, tarsia_plain::tree(), tarsia_plain::tree());
    let encoder = prepare(&tree, &case).unwrap();
    let out = encode(&*encoder, case.values(), 3..5).unwrap();
    let header = [2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0];
    let codes_and_padding = [0, 1, 0, 0];
    assert_eq!(
        out,
        [&header[..], &codes_and_padding, &[9, 0, 5, 0]].concat()
    );
}

/// Whatever encodes them: one order suits codes, the other suits entries.
#[test]
fn blocks_have_entries_in_the_order_that_takes_the_fewest_bytes() {
    let mut registry = registry();
    registry.add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default());
    let packed = tarsia_bitpack::tree;
    let tree = block_tree(CodeBytes::Two, packed(), packed());
    // Bits of a code and of an entry.
    let bits_of = |numbers: &[u128]| {
        let case = Case::numbers("", 8, numbers);
        check_encoding(&LawCase::new("orders", &registry, &tree, case.values()));
        let (unit, _) = units::encode(&registry, &tree, case.values()).unwrap();
        let field = |at: usize| u32::from_le_bytes(unit[at..at + 4].try_into().unwrap()) as usize;
        let (n_entries, codes) = (field(0), field(4));
        let bits = |bytes: usize, n: usize| bytes as f64 * 8.0 / n as f64;
        let entries = bits(unit.len() - codes, n_entries);
        (bits(codes, numbers.len()), entries)
    };
    let mut rng = Rng::new(17);
    let even: Vec<u128> = (0..20_000)
        .map(|_| rng.below(4000) as u128 * 1000)
        .collect();
    // Most values are 15 of 1,000, which neither appear nor are one beside the other.
    let skewed: Vec<u128> = (0..20_000)
        .map(|i: u128| match i < 1000 || i.is_multiple_of(20) {
            true => i * 7919 % 1000 * 1000,
            false => i % 15 * 67 * 7919 % 1000 * 1000,
        })
        .collect();
    // 1,024 numbers in order span a fourth of all.
    let (code, entry) = bits_of(&even);
    assert!(code < 12.1 && entry < 20.5, "{code} {entry}");
    // Four bits for each frequent code, and patches.
    let (code, entry) = bits_of(&skewed);
    assert!(code < 7.0 && entry < 20.5, "{code} {entry}");
}

#[test]
fn more_values_than_codes_are_refused() {
    let numbers: Vec<u128> = (0..600).map(|i| i / 2).collect();
    let case = Case::numbers("", 4, &numbers);
    let page = page_tree(CodeBytes::One, tarsia_plain::tree());
    let got = prepare(&page, &case);
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
    // A page may have more distinct values than codes can refer to; a block may not.
    let blocks = block_tree(CodeBytes::One, tarsia_plain::tree(), tarsia_plain::tree());
    let encoder = prepare(&blocks, &case).unwrap();
    assert!(encode(&*encoder, case.values(), 88..600).is_ok());
    let got = encode(&*encoder, case.values(), 87..600);
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
}

/// A parent that derives its child's values per block passes values at other positions of the page.
#[test]
fn values_that_were_not_prepared_are_refused() {
    let case = Case::numbers("", 4, &[1, 2, 1, 2]);
    let tree = page_tree(CodeBytes::One, tarsia_plain::tree());
    let encoder = prepare(&tree, &case).unwrap();
    let other = Case::numbers("", 4, &[1, 2, 2, 2, 1, 1, 3]);
    let encode = |range| encode(&*encoder, other.values(), range);
    assert_eq!(encode(0..2), Ok(vec![0, 1]));
    assert_eq!(encode(0..3), Ok(vec![0, 1, 1]));
    assert_eq!(encode(2..6), Ok(vec![1, 1, 0, 0]));
    let got = encode(5..7);
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
}
