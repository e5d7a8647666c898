//! Trees that chance picks of all that encodings propose, which no search would find: what was written so comes back,
//! natively and by the kernels in the file.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{deterministic, one_column, open_with, same, same_rows, write};
use arrow_array::{Int32Array, ListArray, RecordBatch, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use tarsia::choose::{Chooser, Objective};
use tarsia::{EmbedKernels, Kernels, OpenOptions, PageChooser, WriteOptions};
use tarsia_arrow::{leaf_paths, reorder};
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{flat_tables, nested_tables, read_parquet};

/// Rows of a real table that are written.
const ROWS: usize = 3000;

fn by_chance(seed: u64, embed_kernels: EmbedKernels) -> WriteOptions {
    let registry = Arc::new(tarsia_encodings::registry());
    let chooser = Chooser::new(registry, Objective::Balanced).with_chance(seed);
    deterministic()
        .with_embed_kernels(embed_kernels)
        .with_page_bytes([2000, 30_000, 8 << 20][seed as usize % 3])
        .with_chooser(PageChooser::new(Arc::new(chooser)))
}

/// Writes and reads the rows; `trees` gets the texts of all trees.
fn check(
    batch: &RecordBatch,
    seed: u64,
    kernels: Kernels,
    trees: &mut HashSet<String>,
    what: &str,
) {
    let embed_kernels = match kernels {
        Kernels::Forced => EmbedKernels::Embed,
        _ => EmbedKernels::Omit,
    };
    let options = by_chance(seed, embed_kernels);
    let what = format!("seed {seed}: {what}");
    let bytes = write(batch.schema(), std::slice::from_ref(batch), options);
    let file = open_with(&bytes, OpenOptions::new().with_kernels(kernels));
    let file = file.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = file.inspect().unwrap().columns.into_iter();
    trees.extend(found.flat_map(|column| column.trees).map(|(tree, _)| tree));
    let read = crate::common::read_all(&file);
    same_rows(
        &read.unwrap_or_else(|error| panic!("{what}: {error}")),
        batch,
        &what,
    );
    if batch.num_rows() > 0 {
        let mut rng = Rng::new(seed);
        let rows: Vec<u64> = (0..50)
            .map(|_| rng.below(batch.num_rows()) as u64)
            .collect();
        let taken = file.take(&rows).read();
        let taken = taken.unwrap_or_else(|error| panic!("{what}: {error}"));
        let places = UInt64Array::from(rows);
        let want = batch.columns().iter();
        let want = want.map(|column| reorder(column, &places).unwrap());
        let want = RecordBatch::try_new(batch.schema(), want.collect()).unwrap();
        same(&taken, &want, &what);
    }
    file.verify()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// With this and the seeds behind it every encoding is in a tree.
const SEED: u64 = 1000;

#[test]
fn every_type_comes_back() {
    let mut trees = HashSet::new();
    for data_type in flat_types() {
        for (i, profile) in profiles(11).into_iter().enumerate() {
            let rows = [700, 2100, 5003][i % 3];
            let batch = one_column(array(&data_type, rows, profile));
            let what = format!("{data_type} {profile:?}");
            check(&batch, SEED + i as u64, Kernels::Never, &mut trees, &what);
        }
    }
    let is_stored = |it: &DataType| !is_uninhabited(it) && leaf_paths(it, true).is_ok();
    for data_type in nested_types().into_iter().filter(is_stored) {
        for (i, profile) in nested_profiles(3).into_iter().enumerate().step_by(5) {
            let batch = one_column(nested_array(&data_type, 400, &profile));
            let what = format!("{data_type} {profile:?}");
            check(&batch, SEED + i as u64, Kernels::Never, &mut trees, &what);
        }
    }
    // More than a search finds, and every encoding is somewhere.
    assert!(trees.len() > 200, "{} trees", trees.len());
    for known in tarsia_encodings::registry().writers() {
        let name = known.writer.id().trim_start_matches("tarsia.");
        assert!(trees.iter().any(|tree| tree.contains(name)), "no {name}");
    }
}

#[test]
fn real_tables_come_back() {
    let mut trees = HashSet::new();
    for (i, (name, path)) in flat_tables().into_iter().chain(nested_tables()).enumerate() {
        let (schema, batches) = read_parquet(&path);
        let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        let whole = whole.slice(0, whole.num_rows().min(ROWS));
        for seed in 0..3 {
            let seed = (3 * i) as u64 + seed;
            check(&whole, seed, Kernels::Never, &mut trees, name);
        }
    }
}

#[cfg(feature = "kernels")]
#[test]
fn kernels_decode_them() {
    let mut trees = HashSet::new();
    for data_type in flat_types() {
        for (i, profile) in profiles(13).into_iter().enumerate().step_by(4) {
            let batch = one_column(array(&data_type, 2100, profile));
            let what = format!("{data_type} {profile:?}");
            check(&batch, i as u64, Kernels::Forced, &mut trees, &what);
        }
    }
}

/// All runs of list lengths are ten rows long, so all run ends of a page are multiples of ten. Those of a block, which
/// begins anywhere, are not: a tree that asks for multiples holds the page and not the block.
#[test]
fn levels_of_a_block_fall_back_where_the_tree_of_the_page_does_not_hold_them() {
    let mut rng = Rng::new(1);
    let lengths = (0..2000).flat_map(|_| std::iter::repeat_n(rng.below(40), 10));
    let lengths: Vec<usize> = lengths.collect();
    let n_items = lengths.iter().sum::<usize>();
    let items = Int32Array::from_iter_values((0..n_items).map(|_| rng.below(1 << 20) as i32));
    let field = Arc::new(Field::new_list_field(DataType::Int32, false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let lists = ListArray::new(field, offsets, Arc::new(items), None);
    let batch = one_column(Arc::new(lists));
    let mut trees = HashSet::new();
    for seed in 0..some_or_all(40, 200) {
        check(&batch, seed, Kernels::Never, &mut trees, "runs of ten");
    }
}

/// A tree that does not hold the values of a page is left out, and the page has the fallback.
#[test]
fn a_page_that_its_tree_does_not_hold_falls_back() {
    // Multiples of ten.
    let params = [10, 0, 0, 0, 0, 0, 0, 0];
    let version = tarsia_codec::Version::new(1, 0);
    let plain = tarsia_codec::Tree::leaf("tarsia.plain", version, &[]);
    let tens = tarsia_codec::Tree::node("tarsia.divisor", version, &params, vec![plain]);
    let own = tarsia::ColumnOptions::new().with_tree(tens);
    let options = || deterministic().with_column("x", own.clone());
    let tree_of = |numbers: &[i32]| {
        let batch = one_column(Arc::new(Int32Array::from(numbers.to_vec())));
        let bytes = write(batch.schema(), std::slice::from_ref(&batch), options());
        let file = open_with(&bytes, OpenOptions::new()).unwrap();
        same_rows(&crate::common::read_all(&file).unwrap(), &batch, "numbers");
        file.inspect().unwrap().columns[0].trees[0].0.clone()
    };
    assert_eq!(tree_of(&[10, 40, 20]), "divisor(plain)");
    assert_ne!(tree_of(&[10, 40, 21]), "divisor(plain)");
}
