//! Erasures and the dictionaries of a column: entries that nothing refers to any more are wiped.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, StringArray};
use tarsia::choose::{Choice, Choose, Chooser, Objective};
use tarsia::codec::{Statistics, ValueType};
use tarsia::{ColumnOptions, ErasureLevel, PageChooser, RowSet};
use tarsia_testkit::rng::Rng;

use crate::common::one_column;
use crate::erasure::{contains_at_any_bit, erased, open, options, write, written};

/// Strings of a dictionary may be made of tokens, which must go with the last string that has them.
#[test]
fn tokens_of_wiped_strings_go_too() {
    let (column, rows, patterns) = texts_with_a_secret();
    let options = options()
        .with_column("x", dictionary_of_tokens())
        .with_page_bytes(4 << 20);
    let bytes = write(&one_column(column), options);
    assert!(contains_at_any_bit(&bytes, &patterns));
    let file = open(bytes);
    let trees = file.inspect().unwrap().columns[0].trees.clone();
    assert!(
        trees.iter().all(|(tree, _)| tree.starts_with("dict")),
        "{trees:?}"
    );
    let bytes = erased(&file, &rows, ErasureLevel::Erase);
    assert!(!contains_at_any_bit(&bytes, &patterns));
    open(bytes).verify().unwrap();
}

/// A dictionary whose strings are made of tokens, which are another shared page.
pub(crate) fn dictionary_of_tokens() -> ColumnOptions {
    struct Tokens;
    impl Choose for Tokens {
        fn choose(&self, values: &Statistics<'_>) -> tarsia::codec::Result<Choice> {
            let registry = tarsia::registry().clone();
            let chooser = Chooser::new(registry, Objective::Balanced);
            let facts = values.facts();
            let outline = match (facts.shared_depth, values.values().value_type()) {
                (0, ValueType::Bytes) => "dict(bitpack)",
                (1, ValueType::Bytes) => "onpair",
                (_, ValueType::Bytes) => "bytes",
                _ => return chooser.choose(values),
            };
            chooser
                .with_outline(outline.parse().unwrap())
                .choose(values)
        }
    }
    ColumnOptions::new().with_chooser(PageChooser::new(Arc::new(Tokens)))
}

/// Some texts, each on many rows; the rows of one that has an own word, and that word.
pub(crate) fn texts_with_a_secret() -> (ArrayRef, RowSet, Vec<Vec<u8>>) {
    let words = [
        "oak", "elm", "birch", "maple", "alder", "willow", "aspen", "larch",
    ];
    // Whatever piece of it a token is, the pattern is in it.
    let secret = "ZqZqZqZq";
    let n_texts = 500;
    let mut rng = Rng::new(5);
    let texts: Vec<String> = (0..n_texts)
        .map(|text| {
            let words = (0..12).map(|_| words[rng.below(words.len())]);
            let words: Vec<&str> = words.collect();
            match text {
                77 => format!("{text} {}", secret.repeat(800)),
                _ => format!("{text} {}", words.join(" ")),
            }
        })
        .collect();
    let of_row: Vec<usize> = (0..20_000).map(|_| rng.below(n_texts)).collect();
    let column = StringArray::from_iter_values(of_row.iter().map(|text| &texts[*text]));
    let rows = (0u64..).zip(&of_row).filter(|(_, text)| **text == 77);
    let rows: RowSet = rows.map(|(row, _)| row).collect();
    (Arc::new(column), rows, vec![b"ZqZqZq".to_vec()])
}

/// A wiped entry of a dictionary repeats the one before it, which may be wiped later: then it must not stay there.
#[test]
fn wiped_entries_repeat_only_what_is_left() {
    let mut rng = Rng::new(41);
    let n_entries = 8000;
    let mut entry = -5_000_000i64;
    let entries: Vec<i64> = (0..n_entries)
        .map(|_| {
            entry += 1 + rng.below(1 << 50) as i64;
            entry
        })
        .collect();
    let keys: Vec<i32> = (0..60_000).map(|_| rng.below(n_entries) as i32).collect();
    let values = Arc::new(Int64Array::from(entries.clone()));
    let array = DictionaryArray::new(Int32Array::from(keys.clone()), values);
    let batch = one_column(Arc::new(array));
    let own = ColumnOptions::new().with_outline("dict(bitpack)".parse().unwrap());
    let options = options().with_page_bytes(4 << 20).with_column("x", own);
    let mut bytes = write(&batch, options);
    let trees = open(bytes.clone()).inspect().unwrap().columns[0]
        .trees
        .clone();
    assert!(
        trees.iter().all(|(tree, _)| tree.starts_with("dict")),
        "{trees:?}"
    );
    let held = |bytes: &[u8]| -> BTreeSet<i64> {
        let file = open(bytes.to_vec());
        let batches = file.scan().build().unwrap();
        let entries = batches.flat_map(|batch| {
            let batch = batch.unwrap();
            let array = batch.column(0).as_dictionary::<Int32Type>();
            let values = array.values().as_primitive::<Int64Type>();
            values.values().to_vec()
        });
        entries.collect()
    };
    assert!(held(&bytes).len() > n_entries * 99 / 100, "one dictionary");

    let mut gone = BTreeSet::new();
    // The entry behind, the entry itself, the one before; a run, and what is around it; the first ones.
    let mut rounds: Vec<Vec<usize>> = vec![
        vec![501],
        vec![500],
        vec![499],
        vec![1000, 1001, 1002, 1003],
        vec![999],
        vec![1004, 998],
        vec![0, 2],
        vec![1, n_entries - 1],
    ];
    // Entries where blocks may start, and then one by one those before them, whose blocks may be others.
    let starts: Vec<usize> = (1024..n_entries).step_by(1024).collect();
    rounds.push(starts.clone());
    rounds.extend(starts.iter().map(|start| vec![start - 1]));
    let mut moved = 0;
    for of_round in rounds {
        let rows = (0u64..).zip(&keys);
        let rows = rows.filter(|(_, key)| of_round.contains(&(**key as usize)));
        let rows: RowSet = rows.map(|(row, _)| row).collect();
        let file = open(bytes);
        let plan = file.plan_erasure(&rows, ErasureLevel::Erase).unwrap();
        moved += plan.summary().blocks_moved;
        bytes = written(&file, plan);
        gone.extend(of_round.iter().map(|entry| entries[*entry]));
        let left = held(&bytes);
        assert!(left.is_disjoint(&gone), "round {of_round:?}");
        let mut left: Vec<i64> = left.into_iter().collect();
        left.retain(|entry| !entries.contains(entry));
        assert!(left.is_empty() || left == [0], "{left:?}");
        open(bytes.clone()).verify().unwrap();
    }
    assert_eq!(moved, 0, "blocks of entries in order fit their places");
}
