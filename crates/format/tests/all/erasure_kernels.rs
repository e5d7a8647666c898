//! Rows erased from files that a kernel decodes, where the program lacks their encodings.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tarsia::choose::{Chooser, Objective, Weights};
use tarsia::codec::Version;
use tarsia::{
    ColumnOptions, EmbedKernels, ErasureLevel, ErrorKind, File, Kernels, OpenOptions, PageChooser,
    Registry, RowSet, Tree, WriteOptions,
};
use tarsia_testkit::rng::Rng;

use crate::common::{one_column, read_all, same_rows};
use crate::erasure::{canaries, contains_at_any_bit, each_type, live, open, write, written};
use crate::erasure_dictionaries::{dictionary_of_tokens, texts_with_a_secret};

const V: Version = Version::new(1, 0);

/// A program that knows the encodings of the fallback trees, and these.
fn knows(more: &[&str]) -> OpenOptions {
    let mut registry = Registry::clone(tarsia::registry());
    let ids: Vec<&str> = registry.encodings().iter().map(|it| it.id()).collect();
    let fallbacks = ["tarsia.plain", "tarsia.bytes", "tarsia.bitmap"];
    for id in ids {
        if !fallbacks.contains(&id) && !more.contains(&id) {
            registry.remove(id);
        }
    }
    OpenOptions::new().with_registry(Arc::new(registry))
}

fn forced() -> OpenOptions {
    OpenOptions::new().with_kernels(Kernels::Forced)
}

fn options() -> WriteOptions {
    WriteOptions::new()
        .with_erasure(ErasureLevel::Erase)
        .with_embed_kernels(EmbedKernels::Embed)
}

/// Chooses trees by chance, such as hold no values in their parameters.
fn by_chance(seed: u64) -> PageChooser {
    let registry = Arc::new(tarsia_encodings::registry());
    let weights = Weights {
        erasable: true,
        ..Objective::Balanced.weights()
    };
    let chooser = Chooser::new(registry, Objective::Balanced).with_weights(weights);
    PageChooser::new(Arc::new(chooser.with_chance(seed)))
}

fn as_seen_by(bytes: &[u8], options: OpenOptions) -> File {
    File::from_bytes(bytes.to_vec(), options).unwrap()
}

/// The file as an erasure by such a program leaves it.
fn erased_by(bytes: &[u8], options: OpenOptions, rows: &RowSet) -> tarsia::Result<Vec<u8>> {
    let file = as_seen_by(bytes, options);
    let plan = file.plan_erasure_with_salt_key(rows, ErasureLevel::Erase, [3; 32])?;
    Ok(written(&file, plan))
}

/// Erases rows in rounds, by programs that know all encodings and decode them themselves or by the kernel, and by one
/// that knows few.
fn any_column_is_erased(array: ArrayRef, seed: u64, what: &str) {
    let batch = one_column(array);
    let rows = batch.num_rows() as u64;
    let mut rng = Rng::new(seed);
    let options = options().with_page_bytes([2000, 30_000, 8 << 20][seed as usize % 3]);
    let options = match seed % 2 {
        0 => options.with_chooser(by_chance(seed)),
        _ => options,
    };
    let written = write(&batch, options);
    let (mut bytes, mut by_few) = (written.clone(), written);
    let mut deleted = RowSet::new();
    for percent in [3, 40, 100] {
        let what = format!("{what}, seed {seed}, {percent} % of the rows");
        let failed = |error: tarsia::Error| -> Vec<u8> { panic!("{what}: {error}") };
        let rows: RowSet = (0..rows).filter(|_| rng.percent(percent)).collect();
        deleted = deleted.union(&rows);
        let by_kernel = erased_by(&bytes, forced(), &rows).unwrap_or_else(failed);
        bytes = erased_by(&bytes, OpenOptions::new(), &rows).unwrap_or_else(failed);
        assert!(bytes == by_kernel, "{what}: a kernel leaves another file");
        by_few = erased_by(&by_few, knows(&[]), &rows).unwrap_or_else(failed);
        let expected = live(&batch, &deleted);
        for options in [OpenOptions::new(), forced(), knows(&[])] {
            let file = as_seen_by(&by_few, options);
            let read = read_all(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
            same_rows(&read, &expected, &what);
        }
        open(by_few.clone()).verify().unwrap();
    }
}

#[test]
fn kernels_decode_what_is_erased() {
    each_type([9, 16], any_column_is_erased);
}

#[test]
fn no_byte_is_left_where_a_kernel_decodes() {
    let n_rows = 600;
    let rows = [7, 8, 250, 251, 599];
    let set: RowSet = rows.iter().copied().collect();
    let mut n_found = 0;
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let (columns, patterns) = canaries(&mut rng, &rows, n_rows);
        for (name, array) in columns {
            let batch = one_column(array);
            let options = match seed % 3 {
                0 => options(),
                _ => options().with_chooser(by_chance(seed)),
            };
            let bytes = write(&batch, options.with_page_bytes(9000));
            n_found += usize::from(contains_at_any_bit(&bytes, &patterns));
            let trees = open(bytes.clone()).inspect().unwrap().columns[0]
                .trees
                .clone();
            let known = match seed % 2 {
                0 => knows(&[]),
                _ => knows(&["tarsia.dict", "tarsia.bitpack"]),
            };
            let bytes = erased_by(&bytes, known, &set).unwrap();
            let is_found = contains_at_any_bit(&bytes, &patterns);
            assert!(!is_found, "{name}, seed {seed}: {trees:?}");
            let file = open(bytes);
            file.verify().unwrap();
            same_rows(&read_all(&file).unwrap(), &live(&batch, &set), &name);
        }
    }
    // Else the search proves nothing.
    assert!(n_found > 30, "{n_found} of 72 files held their values");
}

fn leaf(id: &str) -> Tree {
    Tree::leaf(id, V, &[])
}

/// A dictionary of the page, codes of 2 bytes.
fn dictionary() -> Tree {
    Tree::node("tarsia.dict", V, &[1, 2], vec![leaf("tarsia.bitpack")]).with_shared(&[0])
}

/// Rows of a page of [`numbers`], and of each of its two blocks or more.
const PAGE_ROWS: i64 = 8192;
const BLOCK_ROWS: i64 = 4096;

/// A number that nothing else holds.
const CANARY: i64 = 0x6b1d_93f2_0c57_e8a5;

/// Pages whose values are the same, and so their dictionaries. The canary is in the first block of each.
fn numbers(n_pages: i64) -> RecordBatch {
    let number = |i: i64| match i % PAGE_ROWS {
        5 => CANARY,
        i => (i % BLOCK_ROWS) << 40 | 77,
    };
    let numbers = (0..n_pages * PAGE_ROWS).map(number);
    one_column(Arc::new(Int64Array::from_iter_values(numbers)))
}

/// Blocks that nobody can look into may refer to an entry, so they are written anew.
#[test]
fn dictionaries_of_pages_that_a_kernel_decodes_are_wiped() {
    let n_pages = 4;
    let batch = numbers(n_pages);
    let options = options()
        // A value and a bit for each row.
        .with_page_bytes(65 * PAGE_ROWS as u64 / 8)
        .with_column("x", ColumnOptions::new().with_tree(dictionary()));
    let bytes = write(&batch, options);
    let inspected = open(bytes.clone()).inspect_columns("x").unwrap();
    assert_eq!(inspected[0].pages, n_pages as u64);
    assert_eq!(inspected[0].trees[0].0, "dict(bitpack)");
    let shared_bytes = inspected[0].shared_cache_bytes;
    assert!(
        shared_bytes < 50_000,
        "{shared_bytes} bytes: not one dictionary"
    );
    let is_found = |bytes: &[u8]| contains_at_any_bit(bytes, &[CANARY.to_le_bytes().to_vec()]);
    assert!(is_found(&bytes));
    let rows_of = |pages: std::ops::Range<i64>| -> RowSet {
        pages.map(|page| (page * PAGE_ROWS + 5) as u64).collect()
    };
    let n_written = |options: &OpenOptions, rows: &RowSet| -> u64 {
        let file = as_seen_by(&bytes, options.clone());
        let plan = file.plan_erasure(rows, ErasureLevel::Erase).unwrap();
        plan.summary().blocks
    };
    let all = rows_of(0..n_pages);
    let few = n_written(&OpenOptions::new(), &all);
    assert!(few < 2 * n_pages as u64, "{few} blocks");
    for known in [knows(&[]), knows(&["tarsia.dict"])] {
        for rows in [&all, &rows_of(2..3)] {
            let n_blocks = n_written(&known, rows);
            assert!(n_blocks >= 2 * n_pages as u64, "{n_blocks} blocks");
        }
        // First in some pages, then in the others.
        let mut erased = bytes.clone();
        for pages in [0..1, 1..n_pages] {
            erased = erased_by(&erased, known.clone(), &rows_of(pages.clone())).unwrap();
            let deleted = rows_of(0..pages.end);
            for options in [OpenOptions::new(), known.clone()] {
                let file = as_seen_by(&erased, options);
                same_rows(
                    &read_all(&file).unwrap(),
                    &live(&batch, &deleted),
                    "numbers",
                );
                file.verify().unwrap();
            }
        }
        assert!(!is_found(&erased));
        // What was written anew is known from then on.
        let again = as_seen_by(&erased, known);
        let plan = again.plan_erasure(&[9].into_iter().collect(), ErasureLevel::Erase);
        assert_eq!(plan.unwrap().summary().blocks, 1);
    }
}

/// The strings of a dictionary are made of tokens, which are another shared page.
#[test]
fn tokens_that_a_kernel_decodes_are_wiped() {
    let (column, rows, patterns) = texts_with_a_secret();
    let batch = one_column(column);
    let options = options()
        .with_column("x", dictionary_of_tokens())
        .with_page_bytes(4 << 20);
    let bytes = write(&batch, options);
    assert!(contains_at_any_bit(&bytes, &patterns));
    for known in [
        knows(&[]),
        knows(&["tarsia.dict"]),
        knows(&["tarsia.dict", "tarsia.bitpack"]),
    ] {
        let erased = erased_by(&bytes, known, &rows).unwrap();
        assert!(!contains_at_any_bit(&erased, &patterns));
        let file = open(erased);
        file.verify().unwrap();
        same_rows(&read_all(&file).unwrap(), &live(&batch, &rows), "texts");
    }
}

/// A program without kernels, or one that does not trust them, says why it does not erase.
#[test]
fn what_nothing_decodes_is_refused() {
    let numbers = Int64Array::from_iter_values((0..5000).map(|i| i * i % 1009));
    let batch = one_column(Arc::new(numbers));
    let column = ColumnOptions::new().with_tree(dictionary());
    let options = options().with_column("x", column);
    let rows: RowSet = [17].into_iter().collect();
    let without = write(
        &batch,
        options.clone().with_embed_kernels(EmbedKernels::Omit),
    );
    let with = write(&batch, options);
    for (bytes, options) in [
        (&without, knows(&[])),
        (&with, knows(&[]).with_kernels(Kernels::Never)),
    ] {
        let error = erased_by(bytes, options, &rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    erased_by(&with, knows(&[]), &rows).unwrap();
}
