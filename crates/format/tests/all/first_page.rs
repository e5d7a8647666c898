//! The memory that a column's first page leaves for its later ones: tokens of text.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use tarsia::{File, Threads, WriteOptions, Writer};
use tarsia_testkit::rng::Rng;

/// Sentences of the words numbered by `words`.
fn sentences(n: usize, words: Range<usize>, seed: u64) -> Vec<String> {
    let mut rng = Rng::new(seed);
    let sentence = |_| {
        let words = (0..rng.between(4, 20)).map(|_| {
            // Few words are frequent.
            let below = rng.below(words.len()) + 1;
            word(words.start + rng.below(below))
        });
        words.collect::<Vec<_>>().join(" ")
    };
    (0..n).map(sentence).collect()
}

/// A word of three to ten letters, always the same for a number.
fn word(number: usize) -> String {
    let mut rng = Rng::new(number as u64);
    let letters = (0..rng.between(3, 10)).map(|_| char::from(b'a' + rng.below(26) as u8));
    letters.collect()
}

/// The file of a column, written in batches of `batch_rows` to pages of 400 KB.
fn write(text: &[String], threads: Threads, batch_rows: usize) -> Vec<u8> {
    let batch = |rows: &[String]| {
        let strings: ArrayRef = Arc::new(StringArray::from_iter_values(rows));
        RecordBatch::try_from_iter([("text", strings)]).unwrap()
    };
    let options = WriteOptions::new()
        .with_page_bytes(400_000)
        .with_threads(threads);
    let mut writer = Writer::new(Vec::new(), batch(&[]).schema(), options).unwrap();
    for rows in text.chunks(batch_rows) {
        writer.write(&batch(rows)).unwrap();
    }
    writer.finish_into().unwrap().0
}

/// Pages and bytes of all tokens, after checking all rows.
fn pages_and_token_bytes(bytes: Vec<u8>, text: &[String]) -> (u64, u64) {
    let file = File::from_bytes(bytes, Default::default()).unwrap();
    let mut rows = text.iter();
    for batch in file.scan().build().unwrap() {
        let batch = batch.unwrap();
        let strings = batch.column(0).as_any().downcast_ref::<StringArray>();
        for string in strings.unwrap() {
            assert_eq!(string, rows.next().map(String::as_str));
        }
    }
    assert_eq!(rows.next(), None);
    let column = &file.inspect().unwrap().columns[0];
    let trees = format!("{:?}", column.trees);
    assert!(trees.contains("onpair"), "{trees}");
    (column.pages, column.shared_cache_bytes)
}

#[test]
fn pages_of_like_text_share_their_tokens() {
    let text = sentences(40_000, 0..3000, 1);
    let (n_pages, token_bytes) = pages_and_token_bytes(write(&text, Threads::One, 5000), &text);
    let first = &text[..7000];
    let (n_first, of_one) = pages_and_token_bytes(write(first, Threads::One, 5000), first);
    assert!(n_pages >= 6 && n_first <= 2, "{n_pages} {n_first}");
    assert!(token_bytes <= of_one, "{token_bytes} {of_one}");
}

#[test]
fn text_that_changes_gets_tokens_of_its_own() {
    let like = sentences(40_000, 0..3000, 1);
    let mut changing = like[..20_000].to_vec();
    changing.extend(sentences(20_000, 10_000..13_000, 2));
    let (_, of_like) = pages_and_token_bytes(write(&like, Threads::One, 5000), &like);
    let (_, of_changing) = pages_and_token_bytes(write(&changing, Threads::One, 5000), &changing);
    assert!(of_changing * 2 > of_like * 3, "{of_changing} {of_like}");
}

#[test]
fn a_byte_that_the_first_page_does_not_have_is_written() {
    let mut text = sentences(20_000, 0..3000, 1);
    text[15_000].push('É');
    pages_and_token_bytes(write(&text, Threads::One, 5000), &text);
}

#[test]
fn files_depend_on_neither_threads_nor_batches() {
    let text = sentences(30_000, 0..3000, 1);
    let id = |bytes: Vec<u8>| {
        let file = File::from_bytes(bytes, Default::default()).unwrap();
        let mut columns = file.inspect().unwrap().columns;
        let column = columns.remove(0);
        (column.encoded_bytes, column.shared_cache_bytes)
    };
    let expected = id(write(&text, Threads::One, 30_000));
    for (threads, batch_rows) in [(Threads::All, 30_000), (Threads::All, 777)] {
        assert_eq!(id(write(&text, threads, batch_rows)), expected);
    }
}
