//! For which values a page with tokens is proposed, and how large it says it is.

use tarsia_codec::{
    EncodingWriter, Facts, LogicalType, Proposal, Proposals, SharedKind, Statistics, Values,
    Version,
};
use tarsia_onpair::ONPAIR;
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;

fn propose<'v>(statistics: &Statistics<'v>, bytes_to_beat: u64) -> Vec<Proposal<'v>> {
    let mut proposals = Proposals::new(bytes_to_beat, Version::new(1, 0));
    ONPAIR.propose(statistics, &mut proposals).unwrap();
    proposals.into_vec()
}

fn statistics(values: Values<'_>) -> Statistics<'_> {
    Statistics::new(values, Facts::of(LogicalType::Text))
}

fn sentences(n: usize) -> Case {
    let words = [
        "oak",
        "walnut",
        "elm and birch",
        "the wood of a",
        "tree",
        "grows",
    ];
    let mut rng = Rng::new(1);
    let mut sentence = |i: usize| {
        let words: Vec<_> = (0..8).map(|_| words[rng.below(words.len())]).collect();
        format!("{} {i}", words.join(" "))
    };
    let all: Vec<_> = (0..n).map(&mut sentence).collect();
    Case::strings("", &all)
}

#[test]
fn text_is_proposed_with_its_codes() {
    for n in [200, 20_000] {
        let case = sentences(n);
        let values = case.values();
        let bytes = values.decoded_bytes();
        let found = propose(&statistics(values), bytes);
        let [proposal] = &found[..] else {
            panic!("{found:?}");
        };
        let counts = proposal.children[0].values().unwrap();
        let codes = proposal.children[1].values().unwrap();
        let tokens = proposal.shared[0].values().unwrap();
        assert_eq!(counts.len(), n);
        assert!(codes.len() as u64 * 4 < bytes, "{} codes", codes.len());
        let tokens = tokens.as_bytes().unwrap();
        assert!((1..tokens.len()).all(|i| tokens.get(i - 1) < tokens.get(i)));
    }
}

#[test]
fn nothing_is_proposed_that_cannot_win() {
    let few = sentences(10);
    assert!(propose(&statistics(few.values()), u64::MAX).is_empty());
    let case = sentences(20_000);
    let bytes = case.values().decoded_bytes();
    assert!(propose(&statistics(case.values()), bytes / 100).is_empty());
    let mut rng = Rng::new(2);
    for n_bytes in [4, 400] {
        let random: Vec<_> = (0..(1 << 18) / n_bytes)
            .map(|_| rng.bytes(n_bytes))
            .collect();
        let random = Case::strings("", &random);
        assert!(propose(&statistics(random.values()), u64::MAX).is_empty());
    }
    let numbers = Case::numbers("", 8, &[7; 4096]);
    assert!(propose(&statistics(numbers.values()), u64::MAX).is_empty());
    let facts = Facts {
        shared: Some(SharedKind::TokenDictionary),
        ..Facts::of(LogicalType::Binary)
    };
    let tokens = Statistics::new(case.values(), facts);
    assert!(propose(&tokens, u64::MAX).is_empty());
}
