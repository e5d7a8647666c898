//! What every encoding promises, for both scopes of dict over plain children.

use std::sync::Arc;

use tarsia_codec::{ErrorKind, OwnedValues, Registry, Shared, Tree, ValueType, build_encoder};
use tarsia_dict::{CodeBytes, Distinct, block_tree, page_tree, shared_tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{LawCase, cases, check_cases_with, check_encoding};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_dict::DICT)
        .add_writer(&tarsia_dict::DICT)
        .add(&tarsia_bytes::BYTES)
        .add_writer(&tarsia_bytes::BYTES)
        .add(&tarsia_plain::PLAIN)
        .add_writer(&tarsia_plain::PLAIN);
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

/// Large cases say nothing about a dictionary that smaller ones do not, nor does every bit width.
fn is_needless(case: &Case) -> bool {
    case.values().decoded_bytes() > 1 << 19 || case.name.contains(" bits")
}

fn check_both_scopes(value_type: ValueType) {
    let mut all = cases(value_type);
    all.retain(|case| !is_needless(case));
    check_cases_with(&registry(), &all, |case| {
        Some(block_tree(
            code_bytes(case),
            tarsia_plain::tree(),
            plain_tree(value_type),
        ))
    });
    check_cases_with(&registry(), &all, |case| {
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

fn owned(case: &Case) -> Arc<OwnedValues> {
    let distinct = tarsia_dict::Distinct::of(case.values(), usize::MAX).expect("no cap");
    Arc::new(distinct.entries(case.values()))
}

#[test]
fn a_dictionary_that_exists_is_used() {
    let other = owned(&Case::numbers("", 4, &[9]));
    let words = owned(&Case::strings("", &["unused", "oak", "", "walnut"]));
    let shared = [other, words];
    let case = Case::strings("", &["oak", "walnut", "", "oak"]);
    let tree = shared_tree(CodeBytes::One, 1, tarsia_plain::tree());
    let registry = registry();
    let law = LawCase {
        shared: &shared,
        ..LawCase::new("existing dictionary", &registry, &tree, case.values())
    };
    check_encoding(&law);

    let prepare = |tree: &Tree, case: &Case, buffers: &[Arc<OwnedValues>]| {
        build_encoder(&registry, tree, case.values(), Shared { buffers })
    };
    let encoder = prepare(&tree, &case, &shared).unwrap();
    let mut out = vec![];
    encoder.encode(case.values(), 0..4, &mut out).unwrap();
    assert_eq!(out, [1, 3, 2, 1]);
    assert!(encoder.shared().is_empty());

    let missing = prepare(&tree, &Case::strings("", &["oak", "elm"]), &shared);
    assert!(matches!(
        missing.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
    let other_type = prepare(&tree, &Case::numbers("", 4, &[9]), &shared);
    assert!(matches!(
        other_type.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
    // A new dictionary would become buffer 0, not 1.
    assert!(prepare(&tree, &case, &[]).is_err());
    let second = prepare(&tree, &case, &shared[..1]).unwrap();
    assert_eq!(second.shared().len(), 1);
}

#[test]
fn entries_are_in_the_order_of_first_appearance() {
    let case = Case::numbers("", 2, &[7, 5, 7, 9, 5]);
    let tree = page_tree(CodeBytes::One, tarsia_plain::tree());
    let (codes, shared) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert_eq!(codes, [0, 1, 0, 2, 1]);
    match &*shared[0] {
        OwnedValues::Fixed { bytes, .. } => assert_eq!(&bytes[..], [7, 0, 5, 0, 9, 0]),
        other => panic!("{other:?}"),
    }
    // In a block the numbers start again.
    let tree = block_tree(CodeBytes::One, tarsia_plain::tree(), tarsia_plain::tree());
    let encoder = build_encoder(&registry(), &tree, case.values(), Shared::default()).unwrap();
    let mut out = vec![];
    encoder.encode(case.values(), 3..5, &mut out).unwrap();
    let header = [2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0];
    let codes_and_padding = [0, 1, 0, 0];
    assert_eq!(
        out,
        [&header[..], &codes_and_padding, &[9, 0, 5, 0]].concat()
    );
}

#[test]
fn more_values_than_codes_are_refused() {
    let numbers: Vec<u128> = (0..600).map(|i| i / 2).collect();
    let case = Case::numbers("", 4, &numbers);
    let page = page_tree(CodeBytes::One, tarsia_plain::tree());
    let got = build_encoder(&registry(), &page, case.values(), Shared::default());
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
    // A page may have more distinct values than codes have numbers, a block may not.
    let blocks = block_tree(CodeBytes::One, tarsia_plain::tree(), tarsia_plain::tree());
    let encoder = build_encoder(&registry(), &blocks, case.values(), Shared::default()).unwrap();
    let mut out = vec![];
    assert!(encoder.encode(case.values(), 88..600, &mut out).is_ok());
    out.clear();
    let got = encoder.encode(case.values(), 87..600, &mut out);
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
}

#[test]
fn values_other_than_those_prepared_are_refused() {
    let case = Case::numbers("", 4, &[1, 2, 1, 2]);
    let tree = page_tree(CodeBytes::One, tarsia_plain::tree());
    let encoder = build_encoder(&registry(), &tree, case.values(), Shared::default()).unwrap();
    let other = Case::numbers("", 4, &[1, 2, 2, 2]);
    let mut out = vec![];
    assert!(encoder.encode(other.values(), 0..2, &mut out).is_ok());
    let got = encoder.encode(other.values(), 0..3, &mut out);
    assert!(matches!(
        got.as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput { .. })
    ));
}
