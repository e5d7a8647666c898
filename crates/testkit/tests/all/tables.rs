//! The lists of real tables say what the files are.
#![cfg(feature = "parquet")]

use tarsia_testkit::arrays::batch_bit_equal;
use tarsia_testkit::nested::batch_logical_difference;
use tarsia_testkit::tables::{
    FLAT_TABLES, NESTED_TABLES, data_dir, flat_tables, nested_tables, read_parquet, table,
};

#[test]
fn flat_tables_are_flat_and_nested_ones_are_not() {
    for (name, path) in flat_tables() {
        let (schema, batches) = read_parquet(&path);
        assert!(
            schema
                .fields()
                .iter()
                .all(|field| !field.data_type().is_nested()),
            "{name}"
        );
        assert!(
            batches.iter().map(|batch| batch.num_rows()).sum::<usize>() > 0,
            "{name}"
        );
        if let Some(first) = batches.first() {
            batch_bit_equal(first, &first.slice(0, first.num_rows()));
        }
    }
    for (name, path) in nested_tables() {
        let (schema, batches) = read_parquet(&path);
        assert!(
            schema
                .fields()
                .iter()
                .any(|field| field.data_type().is_nested()),
            "{name}"
        );
        assert!(
            batches.iter().map(|batch| batch.num_rows()).sum::<usize>() > 0,
            "{name}"
        );
        if let Some(first) = batches.first() {
            let same = first.slice(0, first.num_rows());
            assert_eq!(batch_logical_difference(first, &same), Ok(()), "{name}");
            let (shorter, shifted) = (first.num_rows() - 1, first.slice(1, first.num_rows() - 1));
            let difference = batch_logical_difference(&first.slice(0, shorter), &shifted);
            assert!(difference.is_err(), "{name}");
        }
    }
}

#[test]
fn the_lists_name_every_table() {
    let Some(folder) = data_dir() else {
        return;
    };
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".parquet").map(str::to_owned)
        })
        .collect();
    found.sort();
    let mut listed = [&FLAT_TABLES[..], &NESTED_TABLES[..]].concat();
    listed.sort_unstable();
    assert_eq!(found, listed);
    assert!(std::panic::catch_unwind(|| table("no_such_table")).is_err());
}
