//! Files that are written one after the other with one memory.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::{ErasureLevel, File, Preset, WriteOptions, Writer, WriterMemory};
use tarsia_testkit::rng::Rng;

use crate::common::deterministic;

/// A phrase that is a token or two of the files that have it, and of no other.
const PHRASE: &str = "Zanzibar";

/// Sentences of a few hundred words, some with [`PHRASE`].
fn sentences(n: usize, seed: u64, with_phrase: bool) -> Vec<String> {
    let mut words = Rng::new(1);
    let words: Vec<String> = (0..300)
        .map(|_| {
            let letters =
                (0..words.between(3, 9)).map(|_| char::from(b'a' + words.below(26) as u8));
            letters.collect()
        })
        .collect();
    let mut rng = Rng::new(seed);
    let sentence = |i: usize| {
        let mut words: Vec<&str> = (0..rng.between(8, 20))
            .map(|_| {
                let below = rng.below(words.len()) + 1;
                words[rng.below(below)].as_str()
            })
            .collect();
        if with_phrase && i.is_multiple_of(3) {
            words.push(PHRASE);
        }
        words.join(" ")
    };
    (0..n).map(sentence).collect()
}

fn batch(text: &[String]) -> RecordBatch {
    let numbers = Int64Array::from_iter_values((0..text.len() as i64).map(|i| i * i % 1_009));
    let columns: [(&str, ArrayRef); 2] = [
        ("text", Arc::new(StringArray::from_iter_values(text))),
        ("number", Arc::new(numbers)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The file of a batch, which is read back and compared.
fn write(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    let bytes = writer.finish_into().unwrap().0;
    let file = File::from_bytes(bytes.clone(), Default::default()).unwrap();
    let mut at = 0;
    for part in file.scan().build().unwrap() {
        let part = part.unwrap();
        assert_eq!(part, batch.slice(at, part.num_rows()));
        at += part.num_rows();
    }
    assert_eq!(at, batch.num_rows());
    file.verify().unwrap();
    bytes
}

fn has_phrase(bytes: &[u8]) -> bool {
    let has = |piece: &[u8]| bytes.windows(piece.len()).any(|part| part == piece);
    // Tokens may be pieces of it.
    has(PHRASE.as_bytes()) || has(b"Zanz") && has(b"ibar")
}

/// The file of text without the phrase, behind one of text with it.
fn second(text: &[String], options: &WriteOptions) -> Vec<u8> {
    let memory = WriterMemory::new();
    let options = options.clone().with_memory(&memory);
    let first = write(&batch(&sentences(2_000, 2, true)), options.clone());
    assert!(has_phrase(&first));
    write(&batch(text), options)
}

#[test]
fn text_is_stored_as_tokens_of_the_file_before() {
    let text = sentences(2_000, 3, false);
    let options = deterministic();
    let alone = write(&batch(&text), options.clone());
    assert!(!has_phrase(&alone));
    let second = second(&text, &options);
    assert!(has_phrase(&second));
    // Tokens that were not made for it are little worse.
    assert!(second.len() * 100 < alone.len() * 106, "{}", second.len());
}

#[test]
fn the_same_files_in_the_same_order_have_the_same_bytes() {
    let texts: Vec<_> = (0..4).map(|i| sentences(1_500, 10 + i, i == 1)).collect();
    let all = || {
        let memory = WriterMemory::new();
        let options = deterministic().with_memory(&memory);
        let write = |text: &Vec<String>| write(&batch(text), options.clone());
        let files: Vec<_> = texts.iter().map(write).collect();
        assert_eq!(memory.columns(), 2);
        files
    };
    let files = all();
    assert_eq!(files, all());
    // The first is the file that it is without a memory.
    assert_eq!(files[0], write(&batch(&texts[0]), deterministic()));
}

#[test]
fn files_that_are_not_alike_are_as_without_a_memory() {
    let check = |text: Vec<String>, options: WriteOptions| {
        let alone = write(&batch(&text), options.clone());
        assert!(second(&text, &options) == alone);
    };
    // More than twice the bytes, and less than half of them.
    check(sentences(4_500, 3, false), deterministic());
    check(sentences(900, 3, false), deterministic());
    // Other text.
    let digits = |i: u64| format!("{:x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i);
    check((0..14_000).map(digits).collect(), deterministic());
    // Columns whose values can be erased.
    let erased = deterministic().with_erasure(ErasureLevel::Erase);
    check(sentences(2_000, 3, false), erased.with_salt_key([7; 32]));
}

#[test]
fn columns_of_another_type_or_preset_begin_anew() {
    let memory = WriterMemory::new();
    let text = sentences(2_000, 3, true);
    write(&batch(&text), deterministic().with_memory(&memory));
    assert_eq!(memory.columns(), 2);
    let fast = deterministic().with_preset(Preset::Fast);
    write(&batch(&text), fast.with_memory(&memory));
    assert_eq!(memory.columns(), 4);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2_000));
    let other = RecordBatch::try_from_iter([("text", numbers)]).unwrap();
    let alone = write(&other, deterministic());
    assert!(write(&other, deterministic().with_memory(&memory)) == alone);
    assert_eq!(memory.columns(), 5);
    memory.clear();
    assert_eq!(memory.columns(), 0);
}

#[test]
fn bytes_that_the_file_before_has_not_are_written() {
    let mut text = sentences(2_000, 3, false);
    text[1_234].push_str(" Öl \u{1f600}");
    let second = second(&text, &deterministic());
    // The other tokens are still those of the first file.
    assert!(has_phrase(&second));
}

#[test]
fn a_file_without_rows_leaves_nothing() {
    let memory = WriterMemory::new();
    let text = sentences(2_000, 3, true);
    let options = deterministic().with_memory(&memory);
    write(&batch(&text).slice(0, 0), options.clone());
    assert_eq!(memory.columns(), 0);
    let first = write(&batch(&text), options.clone());
    write(&batch(&text).slice(0, 0), options.clone());
    assert_eq!(memory.columns(), 2);
    // Of a writer that is given up, nothing is kept.
    drop(Writer::new(Vec::new(), batch(&text).schema(), options).unwrap());
    assert!(first == write(&batch(&text), deterministic()));
}

/// Numbers that hardly get smaller cost the same under any tree that holds them, also those that another tree halves.
#[test]
fn numbers_after_random_ones_get_a_tree_of_their_own() {
    let column = |number: &dyn Fn(u64) -> f64| {
        let mut rng = Rng::new(7);
        let numbers = (0..4_000).map(|_| number(rng.u64()));
        let column: ArrayRef = Arc::new(arrow_array::Float64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("x", column)]).unwrap()
    };
    let random = column(&|bits| bits as f64 / u64::MAX as f64);
    let prices = column(&|bits| (bits % 10_000) as f64 / 100.0);
    let memory = WriterMemory::new();
    write(&random, deterministic().with_memory(&memory));
    let second = write(&prices, deterministic().with_memory(&memory));
    assert!(second == write(&prices, deterministic()));
}
