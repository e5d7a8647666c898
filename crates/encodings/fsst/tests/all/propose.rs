//! For which values a page with symbols is proposed, and how large it says it is.

use std::any::Any;

use std::sync::{Arc, Mutex};

use tarsia_codec::{
    ColumnMemory, EncodingWriter, Facts, LogicalType, MemoryKey, Proposal, Proposals, SharedKind,
    Statistics, Values, Version,
};
use tarsia_fsst::FSST;
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;

fn propose<'v>(statistics: &Statistics<'v>, bytes_to_beat: u64) -> Vec<Proposal<'v>> {
    let mut proposals = Proposals::new(bytes_to_beat, Version::new(1, 0));
    FSST.propose(statistics, &mut proposals).unwrap();
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
fn text_is_proposed_with_the_bytes_of_its_codes() {
    for n in [200, 20_000] {
        let case = sentences(n);
        let values = case.values();
        let bytes = values.decoded_bytes();
        let found = propose(&statistics(values), bytes);
        let [proposal] = &found[..] else {
            panic!("{found:?}");
        };
        let [lengths, counts] = [0, 1].map(|i| proposal.children[i].values().unwrap());
        assert_eq!((lengths.len(), counts.len()), (n, n));
        assert!(proposal.bytes * 2 < bytes, "{} of {bytes}", proposal.bytes);
        let symbols = proposal.shared[0].values().unwrap();
        let symbols = symbols.as_bytes().unwrap();
        assert!((1..symbols.len()).all(|i| symbols.get(i - 1) < symbols.get(i)));
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
        let found = propose(&statistics(random.values()), 1 << 18);
        assert!(found.is_empty(), "{found:?}");
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

/// The findings that a column's first page leaves.
#[derive(Default)]
struct Memory(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl ColumnMemory for Memory {
    fn recall(&self, _key: MemoryKey) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.lock().unwrap().clone()
    }

    fn remember(&self, _key: MemoryKey, found: Arc<dyn Any + Send + Sync>) {
        *self.0.lock().unwrap() = Some(found);
    }
}

fn symbols(memory: &Memory, case: &Case) -> Vec<Vec<u8>> {
    let facts = Facts {
        memory: Some(memory),
        ..Facts::of(LogicalType::Text)
    };
    let found = propose(&Statistics::new(case.values(), facts), u64::MAX);
    let symbols = found[0].shared[0].values().unwrap();
    let symbols = symbols.as_bytes().unwrap();
    (0..symbols.len())
        .map(|i| symbols.get(i).to_vec())
        .collect()
}

#[test]
fn pages_share_the_first_ones_symbols_where_these_suit() {
    let memory = Memory::default();
    let all = sentences(4000);
    let strings = all.values().as_bytes().unwrap();
    let half = |odd: usize| {
        let places = (0..strings.len()).skip(odd).step_by(2);
        let strings: Vec<_> = places.map(|i| strings.get(i)).collect();
        Case::strings("", &strings)
    };
    let (even, odd) = (half(0), half(1));
    let first = symbols(&memory, &even);
    assert_eq!(symbols(&memory, &odd), first);
    assert_ne!(symbols(&Memory::default(), &odd), first);
    let others: Vec<_> = (0..3000)
        .map(|i| format!("HTTP://EXAMPLE/{:X}", i * i))
        .collect();
    let others = Case::strings("", &others);
    let own = symbols(&memory, &others);
    assert_ne!(own, first);
    assert_eq!(own, symbols(&Memory::default(), &others));
}

#[test]
fn the_same_strings_have_the_same_symbols() {
    let case = sentences(5000);
    let found = symbols(&Memory::default(), &case);
    assert_eq!(found, symbols(&Memory::default(), &case));
}
