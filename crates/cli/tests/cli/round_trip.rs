//! From other formats through a Tarsia file and back.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tarsia_testkit::arrays::{
    DISTRIBUTIONS, Distribution, NULLS, Nulls, Profile, array, flat_types,
};
use tarsia_testkit::tables::{flat_tables, nested_tables, read_parquet};

use crate::run::{
    Folder, assert_same_table, read_table, small_table, small_table_without, write_table,
};

/// A column of every flat type, in batches of these many rows.
fn every_type(
    rows: &[usize],
    nulls: Nulls,
    distribution: Distribution,
) -> (SchemaRef, Vec<RecordBatch>) {
    let types = flat_types();
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(i, t)| Field::new(format!("c{i}"), t.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batches = rows.iter().zip(1..).map(|(&rows, seed)| {
        let profile = Profile::new(nulls, distribution, seed);
        let arrays: Vec<ArrayRef> = types.iter().map(|t| array(t, rows, profile)).collect();
        RecordBatch::try_new(schema.clone(), arrays).unwrap()
    });
    (schema.clone(), batches.collect())
}

#[test]
fn arrow_to_tarsia_to_arrow_for_every_type() {
    let folder = Folder::default();
    for (i, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
        let table = every_type(&[100, 27], NULLS[i % NULLS.len()], distribution);
        folder.import(&table.0, &table.1);
        folder.run(&["verify", "t.tarsia"]).ok();
        folder.run(&["export", "t.tarsia", "back.arrow"]).ok();
        assert_same_table(&read_table(&folder.path("back.arrow")), &table);
        let lines = folder.run(&["scan", "t.tarsia", "--json"]).ok();
        let export = folder.run(&["export", "t.tarsia", "back.jsonl"]);
        match export.code {
            0 => assert_eq!(folder.read("back.jsonl"), lines),
            // Random numbers are no dates.
            _ => assert!(export.fails(1).contains("has no calendar text")),
        }
    }
}

#[test]
fn every_format_in_and_out() {
    let folder = Folder::default();
    let full = small_table();
    for source in ["s.parquet", "s.arrow", "s.feather"] {
        write_table(&folder.path(source), &full.0, &full.1);
        folder.run(&["import", source, "t.tarsia"]).ok();
        folder.run(&["verify", "t.tarsia"]).ok();
        for target in ["b.parquet", "b.arrow", "b.feather"] {
            folder.run(&["export", "t.tarsia", target]).ok();
            assert_same_table(&read_table(&folder.path(target)), &full);
        }
    }
    // What text holds comes back as the same text.
    let plain = small_table_without(&["raw"]);
    for (source, target) in [
        ("s.csv", "b.csv"),
        ("s.jsonl", "b.jsonl"),
        ("s.ndjson", "b.ndjson"),
    ] {
        write_table(&folder.path(source), &plain.0, &plain.1);
        folder.run(&["import", source, "t.tarsia"]).ok();
        folder.run(&["export", "t.tarsia", target]).ok();
        let decimals_are_floats = folder
            .read(source)
            .replace("-2.50", "-2.5")
            .replace(",0.00,", ",0.0,");
        match source {
            "s.csv" => assert_eq!(folder.read(target), decimals_are_floats),
            _ => assert_eq!(folder.read(target), folder.read(source)),
        }
    }
}

/// Conversations, as models are trained on them: lists of structs with lists and structs inside.
#[test]
fn nested_json_lines_come_back_and_fields_inside_are_columns() {
    let folder = Folder::default();
    let mut lines = String::new();
    for i in 0..500 {
        let turns = (0..i % 4).map(|turn| {
            let role = ["user", "assistant"][turn % 2];
            let tools = match turn {
                2 => r#"[{"name":"search","args":["a","b"]}]"#,
                1 => "[]",
                _ => "null",
            };
            format!(r#"{{"role":"{role}","content":"turn {turn} of {i}","tools":{tools}}}"#)
        });
        let turns: Vec<String> = turns.collect();
        let meta = match i % 5 {
            0 => "null".to_owned(),
            _ => format!(r#"{{"source":{{"page":{i}}},"scores":[0.5,{i}.25]}}"#),
        };
        let turns = turns.join(",");
        lines.push_str(&format!(
            r#"{{"id":{i},"messages":[{turns}],"meta":{meta}}}"#
        ));
        lines.push('\n');
    }
    folder.write("chats.jsonl", &lines);
    folder.run(&["import", "chats.jsonl", "t.tarsia"]).ok();
    folder.run(&["verify", "t.tarsia"]).ok();
    folder.run(&["export", "t.tarsia", "back.jsonl"]).ok();
    assert_eq!(folder.read("back.jsonl"), lines);
    let forced = ["scan", "t.tarsia", "--json", "--force-kernels"];
    assert_eq!(folder.run(&forced).ok(), lines);
    let part = [
        "scan",
        "t.tarsia",
        "--columns",
        "meta.source.page,messages.role",
        "--rows",
        "6..8",
        "--json",
    ];
    assert_eq!(
        folder.run(&part).ok(),
        "{\"meta\":{\"source\":{\"page\":6}},\"messages\":[{\"role\":\"user\"},{\"role\":\"assistant\"}]}\n\
         {\"meta\":{\"source\":{\"page\":7}},\"messages\":[{\"role\":\"user\"},{\"role\":\"assistant\"},{\"role\":\"user\"}]}\n"
    );
    let part = [
        "export",
        "t.tarsia",
        "part.parquet",
        "--columns",
        "messages.content",
    ];
    folder.run(&part).ok();
    let (schema, _) = read_table(&folder.path("part.parquet"));
    assert_eq!(schema.fields().len(), 1);
    let line = folder
        .run(&["scan", "t.tarsia", "--columns", "messages.nobody"])
        .fails(2);
    assert!(
        line.contains("no column is named `messages.nobody`"),
        "{line}"
    );
}

#[test]
fn parts_of_a_table() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    folder
        .run(&[
            "export",
            "t.tarsia",
            "b.parquet",
            "--columns",
            "name,id",
            "--rows",
            "1..4",
        ])
        .ok();
    let (read, rows) = read_table(&folder.path("b.parquet"));
    let expected = batches[0].project(&[2, 0]).unwrap().slice(1, 3);
    assert_same_table(&(read, rows), &(expected.schema(), vec![expected]));
}

#[test]
fn dictionaries_of_many_batches_are_one_in_an_arrow_file() {
    let folder = Folder::default();
    let key = |t| DataType::Dictionary(Box::new(t), Box::new(DataType::Utf8));
    let types = [key(DataType::Int32), key(DataType::UInt16)];
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(i, t)| Field::new(format!("d{i}"), t.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batches: Vec<RecordBatch> = (0..4)
        .map(|seed| {
            let profile = Profile::new(Nulls::Percent(30), Distribution::LowCardinality, seed);
            RecordBatch::try_new(
                schema.clone(),
                types.iter().map(|t| array(t, 50_000, profile)).collect(),
            )
            .unwrap()
        })
        .collect();
    folder.import(&schema, &batches);
    folder.run(&["export", "t.tarsia", "b.arrow"]).ok();
    assert_same_table(
        &read_table(&folder.path("b.arrow")),
        &(schema.clone(), batches.clone()),
    );
    folder.run(&["export", "t.tarsia", "b.parquet"]).ok();
    // Values that no row has lie in the metadata of the Parquet file, which has no other place for them.
    let (read, rows) = read_table(&folder.path("b.parquet"));
    let keys = read.metadata().keys();
    assert!(
        keys.clone().all(|key| key.starts_with("dictionary:d")),
        "{read}"
    );
    let read = Arc::new(Schema::new(read.fields().clone()));
    let rows = rows.iter();
    let rows = rows.map(|batch| RecordBatch::try_new(read.clone(), batch.columns().to_vec()));
    let rows = rows.map(Result::unwrap).collect();
    assert_same_table(&(read, rows), &(schema, batches));
}

#[test]
fn real_tables_survive_import_and_export() {
    let folder = Folder::default();
    for (name, path) in flat_tables().into_iter().chain(nested_tables()) {
        let source = path.to_str().unwrap();
        let expected = read_parquet(&path);
        folder.run(&["import", source, "t.tarsia"]).ok();
        folder.run(&["verify", "t.tarsia"]).ok();
        folder.run(&["inspect", "t.tarsia"]).ok();
        folder.run(&["export", "t.tarsia", "back.parquet"]).ok();
        let rows: usize = expected.1.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(
            folder.run(&["scan", "t.tarsia", "--count"]).ok(),
            format!("{rows}\n"),
            "{name}"
        );
        assert_same_table(&read_parquet(&folder.path("back.parquet")), &expected);
    }
}
