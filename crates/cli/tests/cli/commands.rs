//! Output of the commands.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, NullArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields};
use serde_json::{Value, json};

use crate::run::{Folder, small_table, write_table};

fn small() -> Folder {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    folder
}

/// The value of a line `name  value`.
#[track_caller]
fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text
        .lines()
        .find(|line| line.split("  ").next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name} in {text}"))[name.len()..].trim()
}

#[test]
fn encodings_are_those_of_the_table() {
    let folder = Folder::default();
    let text = folder.run(&["encodings"]).ok();
    let document = folder.run(&["encodings", "--json"]).json();
    let listed = document.as_array().unwrap();
    assert_eq!(listed.len(), tarsia::registry().encodings().len());
    for encoding in listed {
        assert!(text.contains(encoding["id"].as_str().unwrap()), "{text}");
        assert_eq!(encoding["written"], true);
        // What a search writes by itself is decoded by each kernel, what it writes mostly for lists by those of nested
        // columns.
        let kernels = match (encoding["tried"].as_str(), encoding["id"].as_str()) {
            (Some("always"), Some("tarsia.window" | "tarsia.quantized")) => {
                serde_json::json!(["nested", "heavy", "full"])
            }
            (Some("always"), _) => serde_json::json!(["core", "nested", "heavy", "full"]),
            (Some("for size"), _) => serde_json::json!(["heavy", "full"]),
            _ => serde_json::json!(["full"]),
        };
        assert_eq!(encoding["kernels"], kernels);
    }
}

#[test]
fn import_and_export_say_what_they_did() {
    let folder = Folder::default();
    folder.write("a.csv", "n,t\n".to_owned() + &"1,hello\n".repeat(1_000));
    for preset in ["fast", "balanced", "compact"] {
        let text = folder
            .run(&["import", "a.csv", "a.tarsia", "--preset", preset])
            .ok();
        let bytes = std::fs::metadata(folder.path("a.tarsia")).unwrap().len();
        assert_eq!((fact(&text, "rows"), fact(&text, "columns")), ("1000", "2"));
        assert_eq!(
            (fact(&text, "bytes in"), fact(&text, "bytes out")),
            ("8004", bytes.to_string().as_str())
        );
        assert_eq!(
            fact(&text, "ratio"),
            format!("{:.2}", 8_004.0 / bytes as f64)
        );
        assert!(fact(&text, "seconds").parse::<f64>().unwrap() < 60.0);
    }
    let text = folder
        .run(&[
            "export",
            "a.tarsia",
            "b.csv",
            "--rows",
            "10..20",
            "--columns",
            "t",
        ])
        .ok();
    assert_eq!(
        (
            fact(&text, "rows"),
            fact(&text, "columns"),
            fact(&text, "bytes out")
        ),
        ("10", "1", "62")
    );
    assert_eq!(
        folder.read("b.csv"),
        "t\n".to_owned() + &"hello\n".repeat(10)
    );
}

#[test]
fn schema_as_table_and_json() {
    let folder = small();
    let text = folder.run(&["schema", "t.tarsia"]).ok();
    assert!(text.contains("| price  | Decimal128(10, 2)"), "{text}");
    assert!(
        text.contains("unit=none") && text.contains("| made by"),
        "{text}"
    );
    let document = folder.run(&["schema", "t.tarsia", "--json"]).json();
    assert_eq!(document["rows"], 5);
    assert_eq!(document["metadata"], json!({"made by": "a test"}));
    assert_eq!(
        document["fields"][0],
        json!({"name": "id", "type": "Int64", "nullable": true, "metadata": {"unit": "none"}})
    );
    let names: Vec<&str> = document["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["id", "x", "name", "flag", "price", "day", "at", "raw"]
    );
}

#[test]
fn head_shows_the_first_rows() {
    let folder = small();
    let rows = folder
        .run(&["head", "t.tarsia", "-n", "2", "--json"])
        .json();
    assert_eq!(
        rows,
        json!([
            {"id": 1, "x": 0.1, "name": "a,b", "flag": true, "price": "0.01", "day": "1970-01-01",
             "at": "1970-01-01T00:00:00Z", "raw": "AP8="},
            {"id": 2, "x": null, "name": "", "flag": false, "price": "-2.50", "day": "2024-02-29",
             "at": "1970-01-01T00:00:01.500Z", "raw": null},
        ])
    );
    assert_eq!(
        folder
            .run(&["head", "t.tarsia", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        5
    );
    assert_eq!(
        folder
            .run(&["head", "t.tarsia", "-n", "0", "--json"])
            .json(),
        json!([])
    );
    assert_eq!(
        folder
            .run(&[
                "head",
                "t.tarsia",
                "-n",
                "2",
                "--columns",
                "flag,id",
                "--json"
            ])
            .json(),
        json!([{"flag": true, "id": 1}, {"flag": false, "id": 2}])
    );
    let table = folder
        .run(&["head", "t.tarsia", "-n", "1", "--columns", "flag,id"])
        .ok();
    assert!(table.starts_with("| flag | id |"), "{table}");
    let table = folder.run(&["head", "t.tarsia"]).ok();
    // Header, rule and five rows: no value breaks its line.
    assert_eq!(table.lines().count(), 7, "{table}");
    assert!(table.contains("\\u{1b}[31mred\\n\"q\""), "{table}");
}

#[test]
fn take_keeps_order_and_repeats() {
    let folder = small();
    let rows = folder
        .run(&[
            "take",
            "t.tarsia",
            "--rows",
            "4,1,1,0",
            "--columns",
            "name,id",
            "--json",
        ])
        .json();
    let row = |name: &str, id: i64| json!({"name": name, "id": id});
    assert_eq!(
        rows,
        json!([row("é", 5), row("", 2), row("", 2), row("a,b", 1)])
    );
    let text = folder
        .run(&[
            "take",
            "t.tarsia",
            "--rows",
            "4,1,1,0",
            "--columns",
            "name,id",
            "--json",
        ])
        .ok();
    assert!(
        text.find("\"name\"").unwrap() < text.find("\"id\"").unwrap(),
        "columns in the order asked for: {text}"
    );
    let table = folder
        .run(&["take", "t.tarsia", "--rows", "2", "--columns", "id"])
        .ok();
    assert_eq!(table.lines().last().unwrap(), "| 9223372036854775807 |");
}

#[test]
fn scan_decodes_counts_and_prints() {
    let folder = small();
    let text = folder
        .run(&["scan", "t.tarsia", "--columns", "id", "--rows", "1..4"])
        .ok();
    assert_eq!(fact(&text, "rows"), "3");
    let bytes: u64 = fact(&text, "bytes").parse().unwrap();
    assert!(
        (24..=25).contains(&bytes),
        "three integers, perhaps with validity: {text}"
    );
    assert!(
        fact(&text, "seconds").parse::<f64>().is_ok() && fact(&text, "GB/s").parse::<f64>().is_ok(),
        "{text}"
    );
    assert_eq!(folder.run(&["scan", "t.tarsia", "--count"]).ok(), "5\n");
    assert_eq!(
        folder
            .run(&["scan", "t.tarsia", "--count", "--rows", "3.."])
            .ok(),
        "2\n"
    );
    assert_eq!(
        folder
            .run(&["scan", "t.tarsia", "--count", "--rows", "3..3"])
            .ok(),
        "0\n"
    );
    let lines = folder
        .run(&[
            "scan",
            "t.tarsia",
            "--columns",
            "x,id",
            "--rows",
            "2..5",
            "--json",
        ])
        .ok();
    assert_eq!(
        lines,
        "{\"x\":\"NaN\",\"id\":9223372036854775807}\n{\"x\":\"Infinity\",\"id\":-9223372036854775808}\n{\"x\":-0.0,\"id\":5}\n"
    );
}

/// A file of some hundred bytes may have more rows than can ever be decoded.
#[test]
fn rows_are_counted_without_decoding_them() {
    const ROWS: usize = 1 << 40;
    let folder = Folder::default();
    let nulls: ArrayRef = Arc::new(NullArray::new(ROWS));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", nulls, true)]).unwrap();
    folder.import(&batch.schema(), &[batch]);
    assert!(std::fs::metadata(folder.path("t.tarsia")).unwrap().len() < 1_000);
    for (rows, count) in [
        ("..", ROWS),
        ("5..", ROWS - 5),
        ("7..1099511627776", ROWS - 7),
        ("..0", 0),
    ] {
        let counted = [
            "scan",
            "t.tarsia",
            "--count",
            "--columns",
            "n",
            "--rows",
            rows,
        ];
        assert_eq!(folder.run(&counted).ok(), format!("{count}\n"));
    }
    // What needs no row, or few, does not decode the others.
    folder.run(&["verify", "t.tarsia"]).ok();
    folder.run(&["inspect", "t.tarsia"]).ok();
    folder.run(&["schema", "t.tarsia"]).ok();
    let last = (ROWS - 1).to_string();
    let rows = folder.run(&["take", "t.tarsia", "--rows", &last, "--json"]);
    assert_eq!(rows.json(), json!([{"n": null}]));
    let rows = folder.run(&["head", "t.tarsia", "-n", "2", "--json"]);
    assert_eq!(rows.json(), json!([{"n": null}, {"n": null}]));
}

#[test]
fn files_decode_themselves_unless_they_were_told_not_to() {
    let folder = Folder::default();
    folder.write("a.csv", "a,b\n1,x\n2,\n3,long enough to be no view\n");
    folder.run(&["import", "a.csv", "embed.tarsia"]).ok();
    folder
        .run(&["import", "a.csv", "omit.tarsia", "--kernels", "omit"])
        .ok();
    let size = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
    assert!(size("omit.tarsia") + 10_000 < size("embed.tarsia"));
    let native = folder.run(&["scan", "embed.tarsia", "--json"]).ok();
    let forced = &["scan", "embed.tarsia", "--json", "--force-kernels"];
    assert_eq!(folder.run(forced).ok(), native);
    assert_eq!(folder.run(&["scan", "omit.tarsia", "--json"]).ok(), native);
    let error = folder
        .run(&["scan", "omit.tarsia", "--force-kernels"])
        .fails(1);
    assert!(error.contains("carries no kernel"), "{error}");
}

#[test]
fn scan_over_many_batches_keeps_the_order() {
    let folder = Folder::default();
    let numbers = Int64Array::from_iter_values(0..300_000);
    let floats =
        Float64Array::from_iter((0..300_000).map(|i| (i % 7 != 0).then_some(f64::from(i) / 8.0)));
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(numbers) as ArrayRef),
        ("f", Arc::new(floats) as ArrayRef),
    ])
    .unwrap();
    folder.import(&batch.schema(), &[batch]);
    let text = folder.run(&["scan", "t.tarsia"]).ok();
    assert_eq!(fact(&text, "rows"), "300000");
    assert!(
        fact(&text, "bytes").parse::<u64>().unwrap() >= 300_000 * 16,
        "{text}"
    );
    let lines = folder
        .run(&["scan", "t.tarsia", "--json", "--rows", "100000..200000"])
        .ok();
    for (i, line) in (100_000..200_000_i64).zip(lines.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["n"], i);
        assert_eq!(row["f"].as_f64(), (i % 7 != 0).then_some(i as f64 / 8.0));
    }
    assert_eq!(lines.lines().count(), 100_000);
}

#[test]
fn inspect_shows_file_layout_and_columns() {
    let folder = small();
    let text = folder.run(&["inspect", "t.tarsia"]).ok();
    assert_eq!(fact(&text, "rows"), "5");
    for word in ["| region", "| column", "Decimal128(10, 2)"] {
        assert!(text.contains(word), "{text}");
    }
    let document = folder.run(&["inspect", "t.tarsia", "--json"]).json();
    let bytes = std::fs::metadata(folder.path("t.tarsia")).unwrap().len();
    assert_eq!(document["file"]["bytes"], bytes);
    assert_eq!(document["file"]["root_digest"].as_str().unwrap().len(), 64);
    let regions: u64 = document["layout"]
        .as_array()
        .unwrap()
        .iter()
        .map(|region| region["bytes"].as_u64().unwrap())
        .sum();
    assert!(0 < regions && regions <= bytes, "{document}");
    assert_eq!(document["columns"].as_array().unwrap().len(), 8);
    let x = &document["columns"][1];
    assert_eq!(
        (&x["name"], &x["type"], &x["rows"], &x["nulls"]),
        (&json!("x"), &json!("Float64"), &json!(5), &json!(1))
    );
    assert_eq!(x["pages"], 1);
    assert!(x["blocks"].as_u64().unwrap() >= 1);
    assert!(!x["trees"][0]["tree"].as_str().unwrap().is_empty());
    assert_eq!(
        x["bytes"].as_u64().unwrap(),
        x["encoded_bytes"].as_u64().unwrap() + x["metadata_bytes"].as_u64().unwrap()
    );
    assert!(x["ratio"].as_f64().unwrap() > 0.0);
    let one = folder
        .run(&["inspect", "t.tarsia", "--column", "x", "--json"])
        .json();
    assert_eq!(one["columns"], json!([x]));
    assert!(one.get("layout").is_none());
    let text = folder.run(&["inspect", "t.tarsia", "--column", "x"]).ok();
    assert!(text.contains("| x ") && !text.contains("| price"), "{text}");
}

#[test]
fn verify_counts_what_it_checked() {
    let folder = small();
    let text = folder.run(&["verify", "t.tarsia"]).ok();
    assert!(text.starts_with("ok: 8 columns, "), "{text}");
    let document = folder.run(&["verify", "t.tarsia", "--json"]).json();
    assert_eq!(
        (&document["ok"], &document["columns"], &document["pages"]),
        (&json!(true), &json!(8), &json!(8))
    );
    assert_eq!(document["file"], "t.tarsia");
    let document = folder
        .run(&["verify", "t.tarsia", "--json", "--column", "x"])
        .json();
    assert_eq!(
        (&document["columns"], &document["pages"]),
        (&json!(1), &json!(1)),
        "{document}"
    );
    let page = ["verify", "t.tarsia", "--column", "x", "--page", "0"];
    let document = folder.run(&[&page[..], &["--json"]].concat()).json();
    assert_eq!(
        (&document["ok"], &document["pages"]),
        (&json!(true), &json!(1)),
        "{document}"
    );
    assert!(folder.run(&page).ok().starts_with("ok: 1 pages, "));
    let digests = ["verify", "t.tarsia", "--digests"];
    let text = folder.run(&digests).ok();
    assert!(
        text.starts_with("digests ok: 8 columns, 8 pages, "),
        "{text}"
    );
    for (args, decoded) in [(&digests[..], false), (&digests[..2], true)] {
        let document = folder.run(&[args, &["--json"]].concat()).json();
        assert_eq!(document["decoded"], decoded);
    }
    for other in [&["--column", "x"][..], &["--page", "0"]] {
        assert_eq!(folder.run(&[&digests[..], other].concat()).code, 2);
    }
}

#[test]
fn tables_without_rows() {
    let folder = Folder::default();
    folder.write("a.csv", "n,t\n");
    folder.run(&["import", "a.csv", "a.tarsia"]).ok();
    folder.run(&["verify", "a.tarsia"]).ok();
    assert_eq!(folder.run(&["scan", "a.tarsia", "--count"]).ok(), "0\n");
    assert_eq!(folder.run(&["scan", "a.tarsia", "--json"]).ok(), "");
    assert_eq!(
        folder.run(&["head", "a.tarsia", "--json"]).json(),
        json!([])
    );
    folder.run(&["inspect", "a.tarsia", "--json"]).json();
    folder.run(&["inspect", "a.tarsia"]).ok();
    for name in ["b.csv", "b.parquet", "b.arrow"] {
        folder.run(&["export", "a.tarsia", name]).ok();
    }
    // It notes that the file says no columns.
    folder.run(&["export", "a.tarsia", "b.jsonl"]).code_is(0);
    assert_eq!(
        (
            folder.read("b.csv").as_str(),
            folder.read("b.jsonl").as_str()
        ),
        ("n,t\n", "")
    );
}

#[test]
fn names_with_commas_and_quotes_can_be_asked_for() {
    let folder = Folder::default();
    folder.write("a.csv", "\"a,b\",\"say \"\"hi\"\"\",c\n1,2,3\n");
    folder.run(&["import", "a.csv", "a.tarsia"]).ok();
    let rows = folder
        .run(&[
            "take",
            "a.tarsia",
            "--rows",
            "0",
            "--columns",
            "\"say \"\"hi\"\"\",\"a,b\"",
            "--json",
        ])
        .json();
    assert_eq!(rows, json!([{"say \"hi\"": 2, "a,b": 1}]));
}

#[test]
fn keys_and_values_of_maps_can_be_asked_for() {
    let folder = Folder::default();
    let mut tags = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for (key, value) in [("a", 1), ("b", 2)] {
        tags.keys().append_value(key);
        tags.values().append_value(value);
    }
    tags.append(true).unwrap();
    tags.append(false).unwrap();
    let tags: ArrayRef = Arc::new(tags.finish());
    let batch = RecordBatch::try_from_iter_with_nullable([("tags", tags, true)]).unwrap();
    folder.import(&batch.schema(), &[batch]);
    let keys = json!([{"tags": [{"keys": "a"}, {"keys": "b"}]}, {"tags": null}]);
    let inspected = folder.run(&["inspect", "t.tarsia", "--json"]).json();
    let leaf = inspected["columns"][0]["name"].as_str().unwrap();
    for name in ["tags.keys", "tags.entries.keys", leaf] {
        let head = ["head", "t.tarsia", "--columns", name, "--json"];
        assert_eq!(folder.run(&head).json(), keys, "{name}");
    }
    folder
        .run(&["export", "t.tarsia", "k.jsonl", "--columns", "tags.values"])
        .ok();
    let values = "{\"tags\":[{\"values\":1},{\"values\":2}]}\n{\"tags\":null}\n";
    assert_eq!(folder.read("k.jsonl"), values);
    for (path, want) in [
        ("tags[1].values", json!(2)),
        ("tags.keys", json!(["a", "b"])),
        ("tags[1]", json!({"keys": "b", "values": 2})),
        ("tags[1..9]", json!([{"keys": "b", "values": 2}])),
    ] {
        let take = [
            "take",
            "t.tarsia",
            "--rows",
            "0,1",
            "--element",
            path,
            "--json",
        ];
        let rows = folder.run(&take).json();
        assert_eq!(rows, json!([{path: want}, {path: null}]), "{path}");
    }
}

#[test]
fn a_file_is_written_like_another() {
    let folder = Folder::default();
    folder.write("a.csv", "n,m\n1,5\n2,5\n3,5\n9,5\n");
    let encode = ["--encode", "n=delta(plain)"];
    folder
        .run(&[&["import", "a.csv", "a.tarsia"], &encode[..]].concat())
        .ok();
    let trees = |file: &str| -> Vec<Value> {
        let found = folder.run(&["inspect", file, "--json"]).json();
        let columns = found["columns"].as_array().unwrap().iter();
        columns.map(|column| column["trees"].clone()).collect()
    };
    assert!(trees("a.tarsia")[0].to_string().contains("delta(plain)"));
    let like = ["import", "a.csv", "b.tarsia", "--like", "a.tarsia"];
    folder.run(&like).ok();
    assert_eq!(trees("b.tarsia"), trees("a.tarsia"));
    // What is said of a column counts before the other file, which may be the one that is replaced.
    let other = ["--encode", "n=plain"];
    let like = ["import", "a.csv", "b.tarsia", "--like", "b.tarsia"];
    folder.run(&[&like, &other[..]].concat()).ok();
    assert!(trees("b.tarsia")[0].to_string().contains("\"plain\""));
    assert_eq!(trees("b.tarsia")[1], trees("a.tarsia")[1]);
    for wrong in ["missing.tarsia", "a.csv"] {
        let line = folder
            .run(&["import", "a.csv", "c.tarsia", "--like", wrong])
            .fails(1);
        assert!(line.starts_with(&format!("error: {wrong}: ")), "{line}");
    }
    assert!(!folder.names().contains(&"c.tarsia".to_owned()));
}

/// Users with an id and a name, and the number 7.
fn users() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..500));
    let names = StringArray::from_iter_values((0..500).map(|i| format!("user {i}")));
    let fields: Fields = vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
    ]
    .into();
    let user = StructArray::new(fields, vec![ids, Arc::new(names)], None);
    let sevens = Int64Array::from(vec![7; 500]);
    let columns: [(&str, ArrayRef); 2] = [("user=", Arc::new(user)), ("n", Arc::new(sevens))];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_struct_is_packed_where_that_is_wanted() {
    let folder = Folder::default();
    let batch = users();
    write_table(
        &folder.path("a.parquet"),
        &batch.schema(),
        std::slice::from_ref(&batch),
    );
    folder.run(&["import", "a.parquet", "a.tarsia"]).ok();
    let packed = [
        "import",
        "a.parquet",
        "b.tarsia",
        "--layout",
        "user==packed",
    ];
    folder.run(&packed).ok();
    let columns = |file: &str| -> Vec<String> {
        let found = folder.run(&["inspect", file, "--json"]).json();
        let columns = found["columns"].as_array().unwrap();
        columns
            .iter()
            .map(|c| format!("{} {}", c["name"], c["type"]))
            .collect()
    };
    assert_eq!(columns("a.tarsia").len(), 3);
    assert_eq!(
        columns("b.tarsia"),
        [r#""user=" "packed LargeBinary""#, r#""n" "Int64""#]
    );
    folder.run(&["verify", "b.tarsia"]).ok();
    folder
        .run(&["import", "a.parquet", "c.tarsia", "--like", "b.tarsia"])
        .ok();
    assert_eq!(columns("c.tarsia"), columns("b.tarsia"));
    for file in ["a", "b", "c"] {
        let (from, to) = (format!("{file}.tarsia"), format!("{file}.jsonl"));
        let done = folder.run(&["head", &from, "-n", "500", "--json"]).ok();
        folder.write(&to, done);
    }
    assert_eq!(folder.read("a.jsonl"), folder.read("b.jsonl"));
    assert_eq!(folder.read("a.jsonl"), folder.read("c.jsonl"));
    let name = [
        "take",
        "b.tarsia",
        "--rows",
        "3,1",
        "--element",
        "user=.name",
        "--json",
    ];
    assert_eq!(
        folder.run(&name).json(),
        json!([{"user=.name": "user 3"}, {"user=.name": "user 1"}])
    );
    // The layout is kept in the table's metadata.
    folder.run(&["export", "b.tarsia", "c.arrow"]).ok();
    folder.run(&["import", "c.arrow", "c.tarsia"]).ok();
    assert_eq!(columns("c.tarsia"), columns("b.tarsia"));
    for (layout, code, what) in [
        ("n=packed", 1, "cannot be packed"),
        ("m=packed", 2, "no column `m`"),
        ("user==zipped", 2, "no layout `zipped`"),
        ("user", 2, "a column, `=` and a layout"),
    ] {
        let done = folder.run(&["import", "a.parquet", "d.tarsia", "--layout", layout]);
        assert_eq!(done.code, code, "{done:?}");
        assert!(done.stderr.contains(what), "{done:?}");
    }
    assert!(!folder.path("d.tarsia").exists());
}
