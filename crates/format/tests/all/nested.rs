//! Every nested type in and out by logical value: scans, ranges, takes, all batch and page sizes.

use std::sync::Arc;

use crate::common::{deterministic, open_with, same, same_rows, write};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use tarsia::{ErrorKind, File, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_arrow::leaf_paths;
use tarsia_testkit::nested::{
    is_uninhabited, nested_array, nested_profiles, nested_types, random_type, sliced_nested,
};
use tarsia_testkit::rng::Rng;

fn batch_of(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| Field::new(format!("c{i}"), column.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}
/// Scans, ranges and takes of a file give what went in.
fn check(bytes: &[u8], batch: &RecordBatch, what: &str) {
    let options = OpenOptions::new().with_threads(Threads::One);
    let file: File = open_with(bytes, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let rows = batch.num_rows();
    assert_eq!(file.num_rows(), rows as u64, "{what}");
    assert_eq!(file.num_columns() as usize, batch.num_columns(), "{what}");
    // One field, found by its name.
    let name = format!("c{}", batch.num_columns() - 1);
    let scan = file.scan().columns(&[&name]).build();
    let scan = scan.unwrap_or_else(|error| panic!("{what}: {error}"));
    let parts: Vec<_> = scan
        .map(|part| part.unwrap_or_else(|error| panic!("{what}: {error}")))
        .collect();
    let last = batch.project(&[batch.num_columns() - 1]).unwrap();
    same_rows(&parts, &last, what);
    assert_eq!(file.schema().unwrap(), batch.schema(), "{what}");
    let parts: Vec<_> = file
        .scan()
        .build()
        .unwrap()
        .map(|part| part.unwrap_or_else(|error| panic!("{what}: {error}")))
        .collect();
    assert_eq!(parts.iter().map(RecordBatch::num_rows).sum::<usize>(), rows);
    same_rows(&parts, batch, what);
    file.verify()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    file.inspect()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    if rows == 0 {
        return;
    }
    let mut rng = Rng::new(rows as u64);
    for _ in 0..2 {
        let (a, b) = (rng.below(rows + 1), rng.below(rows + 1));
        let (start, end) = (a.min(b), a.max(b));
        let scan = file
            .scan()
            .rows(start as u64..end as u64)
            .batch_rows(1 + rng.below(300));
        let parts: Vec<_> = scan
            .build()
            .unwrap()
            .map(|part| part.unwrap_or_else(|error| panic!("{what}: {error}")))
            .collect();
        assert_eq!(
            parts.iter().map(RecordBatch::num_rows).sum::<usize>(),
            end - start
        );
        same_rows(&parts, &batch.slice(start, end - start), what);
    }
    for n in [1, 3, 60] {
        let mut picked: Vec<u64> = (0..n).map(|_| rng.below(rows) as u64).collect();
        if n == 60 {
            picked.sort_unstable();
        }
        let back = file
            .take(&picked)
            .read()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(back.num_rows(), n);
        for (i, row) in picked.iter().enumerate() {
            let want = batch.slice(*row as usize, 1);
            same(&back.slice(i, 1), &want, &format!("{what}, row {row}"));
        }
    }
}

fn options(i: usize) -> WriteOptions {
    deterministic()
        .with_page_bytes([64, 3000, 20_000, 8 << 20][i % 4])
        .with_threads(Threads::One)
}

#[test]
fn every_nested_type_and_profile() {
    for data_type in nested_types() {
        if leaf_paths(&data_type, true).is_err() {
            // A dictionary of dictionaries, refused by name.
            let schema = Schema::new(vec![Field::new("c0", data_type.clone(), true)]);
            let sink = tarsia_io::MemorySink::new();
            let refused = Writer::new(sink, Arc::new(schema), deterministic()).err();
            let refused = refused.unwrap_or_else(|| panic!("{data_type} was not refused"));
            assert_eq!(refused.kind(), ErrorKind::Unsupported);
            assert!(refused.to_string().contains("Dictionary"), "{refused}");
            continue;
        }
        for (i, profile) in nested_profiles(7).into_iter().enumerate() {
            let rows = match is_uninhabited(&data_type) {
                true => 0,
                false => [300, 0, 1, 1100, 40][i % 5],
            };
            let what = format!("{data_type} {profile:?} {rows}");
            let array = match i % 2 {
                0 => nested_array(&data_type, rows, &profile),
                _ => sliced_nested(&data_type, rows, &profile),
            };
            let batch = batch_of(vec![array]);
            let bytes = write(batch.schema(), std::slice::from_ref(&batch), options(i));
            check(&bytes, &batch, &what);
        }
    }
}

#[test]
fn random_types_in_tables_of_several_columns_and_batches() {
    for seed in 0..150u64 {
        let mut rng = Rng::new(seed);
        let profiles = nested_profiles(seed);
        let n_columns = 1 + rng.below(4);
        let types: Vec<_> = (0..n_columns)
            .map(|_| random_type(&mut rng, 1 + (seed % 4) as u32))
            .filter(|data_type| !is_uninhabited(data_type))
            // Dictionaries of dictionaries, of runs and of nulls are not stored.
            .filter(|data_type| leaf_paths(data_type, true).is_ok())
            .collect();
        if types.is_empty() {
            continue;
        }
        let rows = rng.below(700);
        let profile = profiles[rng.below(profiles.len())];
        let columns = types
            .iter()
            .map(|data_type| nested_array(data_type, rows, &profile));
        let batch = batch_of(columns.collect());
        let step = 1 + rng.below(rows + 1);
        let batches: Vec<_> = (0..rows)
            .step_by(step)
            .map(|start| batch.slice(start, step.min(rows - start)))
            .collect();
        let what = format!("seed {seed}: {types:?}");
        let bytes = write(batch.schema(), &batches, options(seed as usize));
        check(&bytes, &batch, &what);
        // How rows arrive leaves no trace.
        let at_once = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options(seed as usize),
        );
        assert!(bytes == at_once, "{what}: other bytes");
    }
}
