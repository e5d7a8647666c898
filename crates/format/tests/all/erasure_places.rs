//! Whether what an erasure leaves of a block fits the place that the block had.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use tarsia::{ErasureLevel, RowSet, WriteOptions};
use tarsia_testkit::rng::Rng;

use crate::common::one_column;
use crate::erasure::{live, open, options, scan, write, written};

/// Outcome of rounds of erasures.
#[derive(Debug)]
struct Outcome {
    blocks_moved: u64,
    /// Bytes of the file before and after.
    bytes: [usize; 2],
}

/// Erases set after set of rows, and checks the file after each.
fn after_rounds(batch: &RecordBatch, options: WriteOptions, rounds: &[RowSet]) -> Outcome {
    let bytes = write(batch, options);
    let before = bytes.len();
    let mut file = open(bytes);
    let (mut deleted, mut blocks_moved, mut after) = (RowSet::new(), 0, before);
    for rows in rounds {
        deleted = deleted.union(rows);
        let plan = file.plan_erasure(rows, ErasureLevel::Erase).unwrap();
        blocks_moved += plan.summary().blocks_moved;
        let bytes = written(&file, plan);
        after = bytes.len();
        file = open(bytes);
        file.verify().unwrap();
        assert_eq!(scan(&file), live(batch, &deleted));
        // It shows what is left of blocks, whatever that is.
        file.inspect().unwrap();
    }
    Outcome {
        blocks_moved,
        bytes: [before, after],
    }
}

fn one_page() -> WriteOptions {
    options().with_page_bytes(16 << 20)
}

/// Each of `n_rows` rows with a chance of one in `one_in`.
fn scattered(n_rows: u64, one_in: usize, seed: u64) -> RowSet {
    let mut rng = Rng::new(seed);
    (0..n_rows).filter(|_| rng.below(one_in) == 0).collect()
}

/// Where all run ends are multiples of ten, those behind erased rows are other numbers. What is left of such a block is
/// not stored as plain values.
#[test]
fn runs_stay_runs() {
    let mut rng = Rng::new(4);
    let mut states = Vec::with_capacity(65_536);
    while states.len() < 65_536 {
        let state = rng.below(20) as i64;
        let end = states.len() + 10 * (1 + rng.below(9));
        states.resize(end.min(65_536), state * 1_000_003);
    }
    let batch = one_column(Arc::new(Int64Array::from(states)));
    let run: RowSet = (20_011..21_322).collect();
    for rounds in [
        vec![run.clone()],
        vec![scattered(65_536, 50, 1)],
        vec![scattered(65_536, 50, 2), run],
    ] {
        let Outcome { bytes, .. } = after_rounds(&batch, one_page(), &rounds);
        assert!(bytes[0] < 40_000, "{bytes:?}: no runs");
        // What a block is, and what a file says of its erasures, for each round.
        let most = bytes[0] + rounds.len() * 12_000;
        assert!(bytes[1] < most, "{bytes:?}, {rounds:?}");
    }
}

/// Strings of one length need no lengths, and wiped ones do not change that.
#[test]
fn dictionaries_of_strings_of_one_length_keep_their_places() {
    let mut rng = Rng::new(6);
    let hashes: Vec<String> = (0..1000).map(|_| format!("{:016x}", rng.u64())).collect();
    let hashes = (0..30_000).map(|i| &hashes[i * i % 1000]);
    let batch = one_column(Arc::new(StringArray::from_iter_values(hashes)));
    // All rows of some hashes, then scattered ones, then the first.
    let of_some: RowSet = (0..30_000).filter(|i| i * i % 1000 % 7 == 4).collect();
    let rounds = [of_some, scattered(30_000, 5, 3), (0..900).collect()];
    let outcome = after_rounds(&batch, one_page(), &rounds);
    assert_eq!(outcome.blocks_moved, 0, "{outcome:?}");
}

/// The filler of null strings is the empty string, which a dictionary keeps whatever the others are: blocks that are
/// not touched say how many bytes their strings have.
#[test]
fn the_filler_of_null_strings_stays_empty() {
    let mut rng = Rng::new(5);
    let words: Vec<Option<String>> = (0..60_000)
        .map(|i| match (rng.below(20), i) {
            (0, _) => None,
            (1, ..5000) => Some("of another length".to_owned()),
            _ => Some(format!("{:03}", rng.below(300))),
        })
        .collect();
    let batch = one_column(Arc::new(StringArray::from(words.clone())));
    let of = |is: &dyn Fn(&str) -> bool| -> RowSet {
        let found = words.iter().zip(0..);
        let found = found.filter(|(word, _)| word.as_deref().is_some_and(is));
        found.map(|(_, row)| row).collect()
    };
    // Words of several lengths are left, then those of one, whose blocks behind the first are not touched.
    let rounds = [
        of(&|word| word == "017"),
        of(&|word| word.len() > 3),
        of(&|word| word < "100"),
    ];
    after_rounds(&batch, one_page(), &rounds);
}

/// Lists of what each of some users did last: a list is the one before, with one to three new values at its head.
fn clicks(n_users: u64, n_rows: u64) -> RecordBatch {
    const LENGTH: usize = 120;
    let mut rng = Rng::new(77);
    let mut values = Vec::new();
    for _ in 0..n_users {
        let mut list: Vec<i64> = (0..LENGTH).map(|_| rng.u64() as i64 % 90_000).collect();
        for _ in 0..n_rows {
            for _ in 0..=rng.below(3) {
                list.insert(0, rng.u64() as i64 % 90_000);
            }
            list.truncate(LENGTH);
            values.extend_from_slice(&list);
        }
    }
    let n_lists = values.len() / LENGTH;
    let lengths = std::iter::repeat_n(LENGTH, n_lists);
    let field = Arc::new(Field::new_list_field(DataType::Int64, true));
    let values: ArrayRef = Arc::new(Int64Array::from(values));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None);
    one_column(Arc::new(lists))
}

/// A list whose source is erased copies from the one before that: encoders are told where rows begin, as the writer of
/// the page told them.
#[test]
fn windows_slide_over_erased_lists() {
    let batch = clicks(40, 60);
    let tree = &open(write(&batch, one_page())).inspect().unwrap().columns[0].trees[0].0;
    assert!(tree.starts_with("window("), "{tree}");
    for (one_in, seed) in [(200, 1), (50, 2)] {
        let rounds = [
            scattered(2400, one_in, seed),
            scattered(2400, one_in, seed + 1),
        ];
        let outcome = after_rounds(&batch, one_page(), &rounds);
        assert_eq!(outcome.blocks_moved, 0, "one in {one_in}: {outcome:?}");
    }
}

/// A nested block of which no row is left has no levels.
#[test]
fn blocks_without_rows_are_shown() {
    let lengths = (0..5000).map(|i| i % 4);
    let values = (0..7500).map(|i| i64::from(i) * i64::from(i) % 65_537);
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let field = Arc::new(Field::new_list_field(DataType::Int64, true));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None);
    let rounds = [(0..4000).collect(), (0..5000).collect::<RowSet>()];
    after_rounds(&one_column(Arc::new(lists)), options(), &rounds);
}
