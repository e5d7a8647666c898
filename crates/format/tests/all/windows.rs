//! Lists that slide from row to row, as sequences of what users did last do.

use std::sync::Arc;

use crate::common::{deterministic, open, read_all, same_rows, write};
use arrow_array::builder::{Float32Builder, Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_select::take::take;
use tarsia::File;
use tarsia_testkit::rng::Rng;

/// How lists change from row to row.
#[derive(Clone, Copy, Debug)]
enum Slide {
    Head,
    Tail,
    /// New values anywhere, so that a list copies several ranges.
    Anywhere,
}

/// Lists of up to `len` ids and of their scores, and sessions: the same ids as lists of lists. Some rows are null or
/// empty, some users start anew.
fn table(slide: Slide, rows: usize, len: usize, seed: u64) -> RecordBatch {
    let mut rng = Rng::new(seed);
    let mut ids = ListBuilder::new(Int64Builder::new());
    let mut scores = ListBuilder::new(Float32Builder::new());
    let mut sessions = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    let mut list: Vec<u64> = Vec::new();
    for row in 0..rows {
        if row % 50 == 0 {
            list = (0..len).map(|_| rng.u64()).collect();
        }
        for _ in 0..rng.below(4) {
            let at = match slide {
                Slide::Head => 0,
                Slide::Tail => list.len(),
                Slide::Anywhere => rng.below(list.len() + 1),
            };
            list.insert(at, rng.u64());
            list.remove(if at > 0 { 0 } else { list.len() - 1 });
        }
        match rng.below(20) {
            0 => {
                ids.append(false);
                scores.append(true);
                sessions.append(false);
            }
            1 => {
                ids.append(true);
                scores.append(false);
                sessions.append(true);
            }
            _ => {
                for id in &list {
                    match id % 97 {
                        0 => ids.values().append_null(),
                        _ => ids.values().append_value((id >> 1) as i64),
                    }
                    scores.values().append_value((id % 1000) as f32 / 10.0);
                }
                for session in list.chunk_by(|_, next| next % 6 != 0) {
                    for id in session {
                        sessions.values().values().append_value((id >> 1) as i64);
                    }
                    sessions.values().append(true);
                }
                ids.append(true);
                scores.append(true);
                sessions.append(true);
            }
        }
    }
    RecordBatch::try_from_iter([
        ("ids", Arc::new(ids.finish()) as ArrayRef),
        ("scores", Arc::new(scores.finish())),
        ("sessions", Arc::new(sessions.finish())),
    ])
    .unwrap()
}

fn written(batch: &RecordBatch) -> File {
    let bytes = write(batch.schema(), std::slice::from_ref(batch), deterministic());
    open(&bytes).unwrap()
}

#[test]
fn lists_that_slide_are_stored_once_and_come_back() {
    for slide in [Slide::Head, Slide::Tail, Slide::Anywhere] {
        let batch = table(slide, 1500, 120, 3);
        let file = written(&batch);
        for column in file.inspect().unwrap().columns {
            let (tree, name) = (&column.trees[0].0, &column.name);
            assert!(tree.starts_with("window("), "{slide:?}: {name}: {tree}");
            let least = match slide {
                Slide::Anywhere => 9,
                Slide::Head | Slide::Tail => 14,
            };
            let (bytes, decoded) = (column.encoded_bytes, column.decoded_bytes);
            assert!(
                bytes * least < decoded,
                "{slide:?}: {name}: {bytes} of {decoded}"
            );
        }
        same_rows(&read_all(&file).unwrap(), &batch, "sliding lists");
        file.verify().unwrap();
    }
}

#[test]
fn single_rows_and_elements_follow_copies_back() {
    let batch = table(Slide::Head, 900, 100, 5);
    let file = written(&batch);
    let mut rng = Rng::new(8);
    for n in [1, 3, 200] {
        let rows: Vec<u64> = (0..n).map(|_| rng.below(900) as u64).collect();
        let places = UInt64Array::from(rows.clone());
        let want = batch
            .columns()
            .iter()
            .map(|it| take(it, &places, None).unwrap());
        let want = RecordBatch::try_new(batch.schema(), want.collect()).unwrap();
        assert_eq!(file.take(&rows).read().unwrap(), want);
    }
    for start in [0, 1, 449, 898] {
        let part: Vec<_> = file
            .scan()
            .rows(start..start + 2)
            .build()
            .unwrap()
            .collect();
        let part: Vec<_> = part.into_iter().map(Result::unwrap).collect();
        let want = batch.slice(start as usize, 2);
        let part = arrow_select::concat::concat_batches(&batch.schema(), &part).unwrap();
        assert_eq!(part, want);
    }
}

#[cfg(feature = "kernels")]
#[test]
fn kernels_decode_them() {
    use crate::common::open_with;
    use tarsia::{EmbedKernels, Kernels, OpenOptions};
    let batch = table(Slide::Anywhere, 700, 80, 6);
    let options = deterministic().with_embed_kernels(EmbedKernels::Embed);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    let file = open_with(&bytes, OpenOptions::new().with_kernels(Kernels::Forced)).unwrap();
    same_rows(&read_all(&file).unwrap(), &batch, "sliding lists");
    assert_eq!(file.take(&[699, 0, 350]).read().unwrap().num_rows(), 3);
}
