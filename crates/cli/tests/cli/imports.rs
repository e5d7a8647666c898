//! Statements of files of other formats that a table does not have: carried, refused or noted, never lost without a
//! word.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Fields, Schema};

use crate::run::{Folder, assert_same_table, read_table, write_table};

/// A column of the categories lo, mid, hi and one that no row has.
fn ordered() -> RecordBatch {
    let levels = StringArray::from(vec!["lo", "mid", "hi", "never"]);
    let keys = Int8Array::from(vec![Some(2), Some(0), None, Some(2)]);
    let column: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(levels)));
    let field = Field::new("c", column.data_type().clone(), true).with_dict_is_ordered(true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

#[test]
fn ordered_categories_go_through_a_file() {
    let folder = Folder::default();
    let batch = ordered();
    folder.write("x.arrow", stream(&batch));
    folder.run(&["import", "x.arrow", "t.tarsia"]).ok();
    folder.run(&["verify", "t.tarsia"]).ok();
    folder.run(&["export", "t.tarsia", "back.arrow"]).ok();
    let (schema, batches) = read_table(&folder.path("back.arrow"));
    assert_eq!(schema.field(0).dict_is_ordered(), Some(true));
    assert_same_table(
        &(schema, batches.clone()),
        &(batch.schema(), vec![batch.clone()]),
    );
    let values = batches[0].column(0).as_any_dictionary().values();
    let values: Vec<_> = values
        .as_string::<i32>()
        .iter()
        .map(Option::unwrap)
        .collect();
    assert_eq!(values, ["lo", "mid", "hi", "never"]);
    let keys = batches[0].column(0).as_dictionary::<Int8Type>().keys();
    assert_eq!(keys.value(0), 2);
    // A part of the rows, and a file that was compacted.
    folder.run(&["compact", "t.tarsia", "c.tarsia"]).ok();
    folder
        .run(&["export", "c.tarsia", "part.arrow", "--rows", "0..1"])
        .ok();
    let (_, batches) = read_table(&folder.path("part.arrow"));
    assert_eq!(batches[0].column(0).as_any_dictionary().values().len(), 4);
    let done = folder.run(&["export", "t.tarsia", "t.parquet"]);
    assert!(
        done.stderr
            .starts_with("note: t.parquet: column `c`: Parquet keeps no order"),
        "{done:?}"
    );
    assert_eq!((done.code, done.stderr.lines().count()), (0, 1));
}

#[test]
fn categories_of_columns_that_can_be_erased_are_left_out_with_a_note() {
    let folder = Folder::default();
    folder.write("x.arrow", stream(&ordered()));
    for level in ["2", "c=2"] {
        let done = folder.run(&["import", "x.arrow", "t.tarsia", "--erasure", level]);
        let what =
            "note: x.arrow: column `c`: what its dictionary says besides the rows is left out";
        assert!(done.code == 0 && done.stderr.starts_with(what), "{done:?}");
        let bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
        assert!(!bytes.windows(11).any(|bytes| bytes == b"dictionary:"));
        let done = folder.run(&["export", "t.tarsia", "back.arrow"]);
        assert!(
            done.code == 0 && done.stderr.contains("order of the dictionary is not known"),
            "{done:?}"
        );
        std::fs::remove_file(folder.path("t.tarsia")).unwrap();
    }
    folder
        .run(&["import", "x.arrow", "t.tarsia", "--erasure", "1"])
        .ok();
}

#[test]
fn codes_stay_text() {
    let folder = Folder::default();
    for text in [
        "zip,n\n00501,1\n02134,2\n",
        "phone,n\n+4915112345,1\n+4915198765,2\n",
        "t\n-0\n",
    ] {
        folder.write("x.csv", text);
        folder.run(&["import", "x.csv", "t.tarsia"]).ok();
        folder.run(&["export", "t.tarsia", "back.csv"]).ok();
        assert_eq!(folder.read("back.csv"), text);
    }
    folder
        .run(&["import", "x.csv", "t.tarsia", "--types", "t=int64"])
        .ok();
}

#[test]
fn offsets_with_seconds_name_the_instant() {
    let folder = Folder::default();
    let micros = vec![
        0,
        44_582_400_000_000,
        -2_208_988_800_000_000,
        -3_786_825_600_000_000,
    ];
    for zone in ["Africa/Monrovia", "Europe/Paris", "America/New_York"] {
        let times = TimestampMicrosecondArray::from(micros.clone()).with_timezone(zone);
        let batch = RecordBatch::try_from_iter([("t", Arc::new(times) as ArrayRef)]).unwrap();
        folder.import(&batch.schema(), &[batch]);
        folder.run(&["export", "t.tarsia", "back.csv"]).ok();
        let (schema, batches) = read_table(&folder.path("back.csv"));
        assert!(
            matches!(schema.field(0).data_type(), DataType::Timestamp(_, Some(_))),
            "{zone}"
        );
        let read = batches[0].column(0);
        let read = read.as_primitive::<arrow_array::types::TimestampMicrosecondType>();
        assert_eq!(read.values(), micros.as_slice(), "{zone}");
        let lines = folder.run(&["scan", "t.tarsia", "--json"]).ok();
        folder.run(&["export", "t.tarsia", "back.jsonl"]).ok();
        assert_eq!(folder.read("back.jsonl"), lines);
        std::fs::remove_file(folder.path("t.tarsia")).unwrap();
    }
}

#[test]
fn a_structure_with_a_name_twice_is_no_json_object() {
    let folder = Folder::default();
    let number = |n: i64| Arc::new(Int64Array::from(vec![n])) as ArrayRef;
    let field = || Arc::new(Field::new("k", DataType::Int64, true));
    let fields: Fields = vec![field(), field()].into();
    let pair: ArrayRef = Arc::new(StructArray::new(fields, vec![number(1), number(2)], None));
    let outer = Arc::new(Field::new("in", pair.data_type().clone(), true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(outer, Arc::clone(&pair))]));
    for (column, path) in [(pair, "s.k"), (nested, "s.in.k")] {
        let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
        folder.import(&batch.schema(), &[batch]);
        let line = folder.run(&["export", "t.tarsia", "back.jsonl"]).fails(1);
        let what = format!("column `{path}`: a JSON object holds a name only once");
        assert!(line.contains(&what), "{line}");
        for args in [
            &["head", "t.tarsia", "--json"][..],
            &["scan", "t.tarsia", "--json"],
        ] {
            let line = folder.run(args).fails(2);
            assert!(line.contains(&format!("column `{path}`")), "{line}");
        }
        folder.run(&["export", "t.tarsia", "back.arrow"]).ok();
        std::fs::remove_file(folder.path("t.tarsia")).unwrap();
    }
}

#[test]
fn files_without_a_header_and_files_of_many_columns_of_one_name() {
    let folder = Folder::default();
    let line = format!("{}0\n", "0,".repeat(399));
    folder.write("x.csv", line.repeat(10));
    let error = folder.run(&["import", "x.csv", "t.tarsia"]).fails(1);
    assert!(
        error.contains("column `0`: more than 255 columns have this name"),
        "{error}"
    );
    folder
        .run(&["import", "x.csv", "t.tarsia", "--no-header"])
        .ok();
    assert_eq!(folder.run(&["scan", "t.tarsia", "--count"]).ok(), "10\n");
    let schema = folder.run(&["schema", "t.tarsia", "--json"]).json();
    assert_eq!(schema["fields"][399]["name"], "column_399");
    folder.write("x.jsonl", "{\"a\":1}\n");
    let error = folder
        .run(&["import", "x.jsonl", "t.tarsia", "--no-header"])
        .fails(2);
    assert_eq!(error, "error: x.jsonl: --no-header is for CSV\n");
    // Beside others, so that the buckets of their hashes are divided.
    let names = (0..1500).map(|i| match i % 3 {
        0 => format!("column {i}"),
        _ => "x".to_owned(),
    });
    let columns = (0..).zip(names);
    let columns = columns.map(|(i, name)| (name, Arc::new(Int64Array::from(vec![i])) as ArrayRef));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    write_table(
        &folder.path("x.arrow"),
        &batch.schema(),
        std::slice::from_ref(&batch),
    );
    folder.run(&["import", "x.arrow", "o.tarsia"]).ok();
    folder.run(&["verify", "o.tarsia"]).ok();
    folder.run(&["export", "o.tarsia", "back.arrow"]).ok();
    let back = read_table(&folder.path("back.arrow"));
    assert_same_table(&back, &(batch.schema(), vec![batch]));
    let one = folder.run(&["scan", "o.tarsia", "--columns", "column 9", "--json"]);
    assert_eq!(one.ok(), "{\"column 9\":9}\n");
    let line = folder.run(&["scan", "o.tarsia", "--columns", "x"]).fails(2);
    assert!(line.contains("are named x"), "{line}");
}

#[test]
fn keys_that_come_late_are_imported_on_request() {
    let folder = Folder::default();
    let mut lines = "{\"a\":1}\n".repeat(10_500);
    lines.push_str("{\"a\":2,\"late\":[\"x\"]}\n");
    folder.write("x.jsonl", lines);
    let line = folder.run(&["import", "x.jsonl", "t.tarsia"]).fails(1);
    assert!(
        line.contains("column `late`: not in the first 10000 rows; --infer-rows"),
        "{line}"
    );
    for rows in ["all", "10501"] {
        folder
            .run(&["import", "x.jsonl", "t.tarsia", "--infer-rows", rows])
            .ok();
        let row = folder
            .run(&["take", "t.tarsia", "--rows", "10500", "--json"])
            .json();
        assert_eq!(row, serde_json::json!([{"a": 2, "late": ["x"]}]));
    }
    folder
        .run(&["import", "x.jsonl", "t.tarsia", "--infer-rows", "0"])
        .code_is(2);
}

#[test]
fn metadata_of_footers_come_back() {
    let folder = Folder::default();
    let batch = ordered();
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.write_metadata("note", "kept");
    writer.finish().unwrap();
    drop(writer);
    folder.write("x.arrow", bytes);
    folder.run(&["import", "x.arrow", "t.tarsia"]).ok();
    folder.run(&["export", "t.tarsia", "back.arrow"]).ok();
    assert_eq!(
        read_table(&folder.path("back.arrow")).0.metadata()["note"],
        "kept"
    );
}

#[test]
fn large_values_of_one_or_two_bytes_are_written() {
    let folder = Folder::default();
    let n = 17 << 20;
    let two: Vec<u8> = (0..n).map(|i| (i % 2) as u8).collect();
    let values = vec![Some(&b"s"[..]), None, Some(&two), Some(b"t")];
    let plain: ArrayRef = Arc::new(BinaryArray::from(values));
    let blank = vec![0; n];
    let entries: ArrayRef = Arc::new(BinaryArray::from(vec![&blank[..], b"x"]));
    let keys = Int8Array::from(vec![Some(1), Some(0), None, Some(1)]);
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, entries));
    let batch = RecordBatch::try_from_iter([("p", plain), ("d", dictionary)]).unwrap();
    folder.import(&batch.schema(), std::slice::from_ref(&batch));
    folder.run(&["verify", "t.tarsia"]).ok();
    folder.run(&["export", "t.tarsia", "back.arrow"]).ok();
    let expected = (batch.schema(), vec![batch.clone()]);
    assert_same_table(&read_table(&folder.path("back.arrow")), &expected);
}

/// Batch systems limit the size of files.
#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_is_an_error_and_leaves_nothing() {
    let folder = Folder::default();
    let mixed = |i: u64| {
        let i = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (i ^ i >> 31)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .cast_signed()
    };
    let noise = Int64Array::from_iter_values((0..400_000).map(mixed));
    let batch = RecordBatch::try_from_iter([("r", Arc::new(noise) as ArrayRef)]).unwrap();
    folder.import(&batch.schema(), std::slice::from_ref(&batch));
    write_table(&folder.path("x.arrow"), &batch.schema(), &[batch]);
    let before = folder.names();
    for args in [
        ["import", "x.arrow", "o.tarsia"],
        ["export", "t.tarsia", "o.csv"],
        ["export", "t.tarsia", "o.parquet"],
        ["export", "t.tarsia", "o.arrow"],
        ["compact", "t.tarsia", "o.tarsia"],
    ] {
        let mut shell = std::process::Command::new("sh");
        shell.args([
            "-c",
            "ulimit -f 1024; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_tarsia"),
        ]);
        let done = shell
            .args(args)
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{args:?}: {error}");
        assert!(
            error.contains("too large") && error.lines().count() == 1,
            "{args:?}: {error}"
        );
        assert_eq!(folder.names(), before, "{args:?}");
    }
}
