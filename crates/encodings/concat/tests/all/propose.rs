//! Proposals, and when they are made.

use tarsia_codec::{
    EncodingWriter, Facts, LogicalType, Proposals, SharedKind, Statistics, ValueType, Values,
};
use tarsia_concat::{CONCAT, VERSION};
use tarsia_testkit::cases::Case;

fn proposed(values: Values<'_>, facts: Facts<'_>) -> Vec<Vec<ValueType>> {
    let statistics = Statistics::new(values, facts);
    let mut proposals = Proposals::new(u64::MAX, VERSION);
    CONCAT.propose(&statistics, &mut proposals).unwrap();
    let children = |it: &tarsia_codec::Proposal<'_>| {
        let types = it
            .children
            .iter()
            .map(|it| it.values().unwrap().value_type());
        types.collect()
    };
    proposals.into_vec().iter().map(children).collect()
}

#[test]
fn strings_are_lengths_and_bytes() {
    let words = Case::strings("", &vec!["oak"; 1000]);
    let facts = Facts::of(LogicalType::Text);
    let both = vec![vec![ValueType::Fixed(4), ValueType::Fixed(1)]];
    assert_eq!(proposed(words.values(), facts), both);
}

#[test]
fn few_bytes_tokens_and_numbers_are_not() {
    let none: Vec<Vec<ValueType>> = vec![];
    let few = Case::strings("", &["oak"; 100]);
    assert_eq!(proposed(few.values(), Facts::of(LogicalType::Text)), none);
    let words = Case::strings("", &vec!["oak"; 1000]);
    let tokens = Facts {
        shared: Some(SharedKind::TokenDictionary),
        ..Facts::of(LogicalType::Text)
    };
    assert_eq!(proposed(words.values(), tokens), none);
    let numbers = Case::numbers("", 4, &[7; 1000]);
    assert_eq!(
        proposed(numbers.values(), Facts::of(LogicalType::Signed)),
        none
    );
}
