//! Values of every type that can be imported, as the commands print and export them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia_testkit::arrays::{Distribution, Nulls, Profile, array, flat_types};
use tarsia_testkit::nested::{Lengths, NestedProfile, nested_array, nested_types};

use crate::run::{Folder, read_table, write_table};

const ROWS: usize = 12;

/// A column of each type with some nulls, by their types. Of the nested types those that a Tarsia file does not hold
/// are left out.
fn every_column() -> Vec<(DataType, ArrayRef)> {
    let flat = Profile::new(Nulls::Percent(30), Distribution::Random, 5);
    let nested = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Short, 5);
    let flat = flat_types().into_iter().map(|it| {
        let values = array(&it, ROWS, flat);
        (it, values)
    });
    let nested = nested_types().into_iter().filter(is_stored).map(|it| {
        let values = nested_array(&it, ROWS, &nested);
        (it, values)
    });
    flat.chain(nested).collect()
}

/// Dictionaries of dictionaries are not.
fn is_stored(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => !matches!(value.as_ref(), DataType::Dictionary(..)),
        _ => true,
    }
}

#[test]
fn every_type_that_is_imported_has_a_text() {
    let folder = Folder::default();
    let (types, columns): (Vec<DataType>, Vec<ArrayRef>) = every_column().into_iter().unzip();
    let kinds = |is: fn(&DataType) -> bool| types.iter().any(is);
    assert!(kinds(|it| matches!(it, DataType::Union(..))));
    assert!(kinds(|it| matches!(it, DataType::RunEndEncoded(..))));
    assert!(kinds(|it| matches!(it, DataType::ListView(_))));
    assert!(kinds(|it| matches!(it, DataType::LargeListView(_))));
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(i, it)| Field::new(format!("c{i}"), it.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    folder.import(&schema, &[batch]);
    let rows = folder
        .run(&["head", "t.tarsia", "-n", "12", "--json"])
        .json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), ROWS);
    for row in rows {
        assert_eq!(row.as_object().unwrap().len(), types.len());
    }
    let numbers: Vec<String> = (0..ROWS).map(|row| row.to_string()).collect();
    let taken = ["take", "t.tarsia", "--rows", &numbers.join(","), "--json"];
    assert_eq!(folder.run(&taken).json().as_array().unwrap(), rows);
    let lines = folder.run(&["scan", "t.tarsia", "--json"]).ok();
    let mut n_exported = 0;
    for i in 0..types.len() {
        let columns = ["--columns", &format!("c{i}")];
        let export = ["export", "t.tarsia", "t.jsonl", columns[0], columns[1]];
        let export = folder.run(&export);
        if export.code != 0 {
            // Random numbers are no dates.
            let line = export.fails(1);
            assert!(line.contains("has no calendar text"), "{line}");
            continue;
        }
        let scan = ["scan", "t.tarsia", "--json", columns[0], columns[1]];
        assert_eq!(folder.read("t.jsonl"), folder.run(&scan).ok());
        n_exported += 1;
    }
    assert!(
        n_exported * 2 > types.len(),
        "{n_exported} of {}",
        types.len()
    );
    for (line, row) in lines.lines().zip(rows) {
        assert_eq!(
            &serde_json::from_str::<serde_json::Value>(line).unwrap(),
            row
        );
    }
    let table = folder.run(&["head", "t.tarsia", "-n", "12"]).ok();
    assert_eq!(table.lines().count(), 2 + ROWS);
}

#[test]
fn runs_are_exported_by_value_and_nested_types_refused_in_csv() {
    let folder = Folder::default();
    let columns = every_column();
    let of = |wanted: &DataType| {
        let found = columns.iter().find(|(it, _)| it == wanted);
        found.map(|(_, values)| values.clone()).unwrap()
    };
    let run_ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
    let texts = Arc::new(Field::new("values", DataType::Utf8, true));
    let runs = of(&DataType::RunEndEncoded(run_ends, texts));
    let plain = arrow_cast::cast(&runs, &DataType::Utf8).unwrap();
    for (name, column) in [("runs", &runs), ("plain", &plain)] {
        let batch = RecordBatch::try_from_iter([("c", column.clone())]).unwrap();
        write_table(&folder.path("source.arrow"), &batch.schema(), &[batch]);
        folder.run(&["import", "source.arrow", "t.tarsia"]).ok();
        folder
            .run(&["export", "t.tarsia", &format!("{name}.csv")])
            .ok();
    }
    assert_eq!(folder.read("runs.csv"), folder.read("plain.csv"));
    assert_eq!(read_table(&folder.path("runs.csv")).1[0].num_rows(), ROWS);
    let is_refused = |it: &&(DataType, ArrayRef)| {
        matches!(
            it.0,
            DataType::Union(..) | DataType::ListView(_) | DataType::Map(..)
        )
    };
    for (data_type, column) in columns.iter().filter(is_refused) {
        let field = Field::new("c", data_type.clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![column.clone()]).unwrap();
        folder.import(&schema, &[batch]);
        let line = folder.run(&["export", "t.tarsia", "out.csv"]).fails(1);
        assert!(line.contains("out.csv: column `c`: type "), "{line}");
        assert!(line.contains(" cannot be written as CSV"), "{line}");
    }
}
