//! Readers and writers of other formats, without a Tarsia file in between.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::{
    ArrayRef, ListArray, RecordBatch, StringArray, TimestampSecondArray, new_null_array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use tarsia_convert::source::{Options, Source};
use tarsia_convert::target::{Plan, Target};
use tarsia_convert::text::JsonRows;
use tarsia_convert::{Error, ErrorKind, Format, quiet_foreign_panics};
use tarsia_io::FileSink;
use tarsia_testkit::arrays::{Distribution, Nulls, Profile, array, flat_types};

use crate::run::{
    Folder, assert_same_table, read_table, small_table, small_table_without, write_table,
};

/// One column of every flat type that `held` takes, in two batches with values of their own.
fn every_type(
    held: impl Fn(&DataType) -> bool,
    distribution: Distribution,
) -> (SchemaRef, Vec<RecordBatch>) {
    let types: Vec<DataType> = flat_types().into_iter().filter(held).collect();
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(i, t)| Field::new(format!("c{i}"), t.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = |rows, seed| {
        let profile = Profile::new(Nulls::Percent(30), distribution, seed);
        let arrays: Vec<ArrayRef> = types.iter().map(|t| array(t, rows, profile)).collect();
        RecordBatch::try_new(schema.clone(), arrays).unwrap()
    };
    (schema.clone(), vec![batch(90, 1), batch(33, 2)])
}

/// A file in the format that its name says.
fn create_file(path: &std::path::Path, schema: SchemaRef) -> Result<Target<FileSink>, Error> {
    let sink = FileSink::create(path).unwrap();
    Target::new(sink, Format::of(path).unwrap(), schema).map_err(|error| error.in_file(path))
}

fn create(folder: &Folder, name: &str, data_type: &DataType) -> Result<(), String> {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("fine", DataType::Int32, true),
        Field::new("the one", data_type.clone(), true),
    ]));
    let path = folder.path(name);
    let mut target = create_file(&path, schema.clone()).map_err(|error| error.to_string())?;
    let arrays = schema
        .fields()
        .iter()
        .map(|field| new_null_array(field.data_type(), 3))
        .collect();
    target
        .write(&RecordBatch::try_new(schema, arrays).unwrap())
        .unwrap();
    drop(target);
    Ok(())
}

/// The table as text files hold it.
fn without_metadata(schema: &Schema, batches: &[RecordBatch]) -> (SchemaRef, Vec<RecordBatch>) {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_metadata(Default::default()));
    let plain = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batches = batches.iter();
    let batches =
        batches.map(|batch| RecordBatch::try_new(plain.clone(), batch.columns().to_vec()).unwrap());
    (plain.clone(), batches.collect())
}

#[test]
fn arrow_files_give_every_type_back() {
    let folder = Folder::default();
    for distribution in tarsia_testkit::arrays::DISTRIBUTIONS {
        let table = every_type(|_| true, distribution);
        write_table(&folder.path("a.arrow"), &table.0, &table.1);
        assert_same_table(&read_table(&folder.path("a.arrow")), &table);
    }
}

#[test]
fn parquet_files_give_every_type_back_or_refuse_it() {
    quiet_foreign_panics();
    let folder = Folder::default();
    let mut refused = Vec::new();
    let held: Vec<DataType> = flat_types()
        .into_iter()
        .filter(|t| match create(&folder, "p.parquet", t) {
            Ok(()) => true,
            Err(line) => {
                assert!(
                    line.contains("p.parquet: column `the one`: type ") && line.contains("Parquet"),
                    "{line}"
                );
                refused.push(t.to_string());
                false
            }
        })
        .collect();
    assert_eq!(folder.names(), Vec::<String>::new());
    // Their values may be ones that Parquet cannot hold.
    let may_not_fit = |data_type: &DataType| {
        let of = match data_type {
            DataType::Dictionary(_, values) => values.as_ref(),
            data_type => data_type,
        };
        matches!(
            of,
            DataType::Date64
                | DataType::Timestamp(TimeUnit::Second, _)
                | DataType::Interval(IntervalUnit::MonthDayNano)
        )
    };
    assert!(held.contains(&DataType::Interval(IntervalUnit::MonthDayNano)));
    for distribution in tarsia_testkit::arrays::DISTRIBUTIONS {
        let table = every_type(|t| held.contains(t) && !may_not_fit(t), distribution);
        let path = folder.path("p.parquet");
        let mut target = create_file(&path, table.0.clone()).unwrap();
        for batch in &table.1 {
            target.write(batch).unwrap();
        }
        target.finish().unwrap();
        assert_same_table(&read_table(&path), &table);
    }
    println!("refused: {refused:?}");
    assert!(held.len() > 2 * refused.len(), "{refused:?}");
}

#[test]
fn parquet_files_give_nested_types_back_that_allow_no_nulls() {
    let folder = Folder::default();
    let field = |name: &str, of, nullable| Arc::new(Field::new(name, of, nullable));
    let pair = vec![
        field("id", DataType::Int64, false),
        field("name", DataType::Utf8, true),
    ];
    let pair = DataType::Struct(pair.into());
    let vectors = DataType::FixedSizeList(field("item", DataType::Float32, false), 3);
    let both = vec![
        field("p", pair.clone(), false),
        field("v", vectors.clone(), false),
    ];
    for data_type in [
        pair.clone(),
        vectors,
        DataType::Struct(both.into()),
        DataType::List(field("item", pair, false)),
    ] {
        let profile = tarsia_testkit::nested::nested_profiles(5).swap_remove(1);
        let array = tarsia_testkit::nested::nested_array(&data_type, 300, &profile);
        let schema = Arc::new(Schema::new(vec![field("c", data_type, true)]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let table = (schema, vec![batch]);
        let path = folder.path("p.parquet");
        write_table(&path, &table.0, &table.1);
        assert_same_table(&read_table(&path), &table);
    }
}

#[test]
fn a_decimal_beyond_its_precision_is_refused_by_parquet() {
    let folder = Folder::default();
    let array = arrow_array::Decimal128Array::from(vec![i128::MAX])
        .with_precision_and_scale(15, 2)
        .unwrap();
    let batch = RecordBatch::try_from_iter([("d", Arc::new(array) as ArrayRef)]).unwrap();
    let path = folder.path("p.parquet");
    let mut target = create_file(&path, batch.schema()).unwrap();
    let line = target.write(&batch).unwrap_err().to_string();
    assert!(line.contains("column `d`: "), "{line}");
}

#[test]
fn metadata_survives_parquet_and_arrow() {
    let folder = Folder::default();
    let table = small_table();
    for name in ["t.parquet", "t.arrow", "t.feather"] {
        write_table(&folder.path(name), &table.0, &table.1);
        assert_same_table(&read_table(&folder.path(name)), &table);
    }
}

#[test]
fn field_ids_come_only_where_no_arrow_schema_says_otherwise() {
    let folder = Folder::default();
    let message = "message m { REQUIRED INT32 a = 7; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    let mut file = Vec::new();
    let writer =
        parquet::file::writer::SerializedFileWriter::new(&mut file, schema, Default::default())
            .unwrap();
    writer.close().unwrap();
    folder.write("ids.parquet", &file);
    let (schema, _) = read_table(&folder.path("ids.parquet"));
    assert_eq!(
        schema
            .field(0)
            .metadata()
            .get("PARQUET:field_id")
            .map(String::as_str),
        Some("7")
    );
    // Written by us, with an Arrow schema that has none.
    let (schema, batches) = small_table();
    write_table(&folder.path("none.parquet"), &schema, &batches);
    let (read, _) = read_table(&folder.path("none.parquet"));
    assert!(
        read.fields()
            .iter()
            .all(|field| !field.metadata().contains_key("PARQUET:field_id"))
    );
}

#[test]
fn ipc_streams_with_changing_dictionaries_are_read() {
    let folder = Folder::default();
    let table = every_type(
        |t| matches!(t, DataType::Dictionary(_, _) | DataType::Int8),
        Distribution::LowCardinality,
    );
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &table.0).unwrap();
    for batch in &table.1 {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    folder.write("s.arrow", &bytes);
    assert_same_table(&read_table(&folder.path("s.arrow")), &table);
}

#[test]
fn csv_text_and_back() {
    let folder = Folder::default();
    let (schema, batches) = small_table_without(&["raw"]);
    write_table(&folder.path("t.csv"), &schema, &batches);
    let expected = "id,x,name,flag,price,day,at\n\
        1,0.1,\"a,b\",true,0.01,1970-01-01,1970-01-01T00:00:00Z\n\
        2,,\"\",false,-2.50,2024-02-29,1970-01-01T00:00:01.500Z\n\
        9223372036854775807,NaN,,,,,\n\
        -9223372036854775808,Infinity,\"\u{1b}[31mred\n\"\"q\"\"\",true,999.99,1969-12-31,1969-12-31T23:59:59.999999Z\n\
        5,-0.0,é,false,0.00,1970-01-02,1970-01-01T00:00:00.000001Z\n";
    assert_eq!(folder.read("t.csv"), expected);
    // Decimals come back as floats; all else as it was.
    let (schema, batches) = small_table_without(&["raw", "price"]);
    write_table(&folder.path("t.csv"), &schema, &batches);
    let expected = without_metadata(&schema, &batches);
    assert_same_table(&read_table(&folder.path("t.csv")), &expected);
}

#[test]
fn json_lines_text_and_back() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    write_table(&folder.path("t.jsonl"), &schema, &batches);
    let text = folder.read("t.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "{\"id\":1,\"x\":0.1,\"name\":\"a,b\",\"flag\":true,\"price\":\"0.01\",\"day\":\"1970-01-01\",\"at\":\"1970-01-01T00:00:00Z\",\"raw\":\"AP8=\"}"
    );
    assert_eq!(
        lines[2],
        "{\"id\":9223372036854775807,\"x\":\"NaN\",\"name\":null,\"flag\":null,\"price\":null,\"day\":null,\"at\":null,\"raw\":\"\"}"
    );
    assert_eq!(lines.len(), 5);
    for line in lines {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let (schema, batches) = small_table_without(&["price", "day", "at", "raw"]);
    write_table(&folder.path("t.ndjson"), &schema, &batches);
    let expected = without_metadata(&schema, &batches);
    assert_same_table(&read_table(&folder.path("t.ndjson")), &expected);
}

#[test]
fn every_flat_type_has_json_text_and_csv_refuses_bytes_only() {
    let folder = Folder::default();
    for t in flat_types() {
        create(&folder, "t.jsonl", &t).unwrap_or_else(|line| panic!("{line}"));
        let bytes = |t: &DataType| {
            matches!(
                t,
                DataType::Binary
                    | DataType::LargeBinary
                    | DataType::BinaryView
                    | DataType::FixedSizeBinary(_)
            )
        };
        let is_binary = match &t {
            DataType::Dictionary(_, values) => bytes(values),
            t => bytes(t),
        };
        match create(&folder, "t.csv", &t) {
            Ok(()) => assert!(!is_binary, "{t}"),
            Err(line) => {
                assert!(is_binary, "{line}");
                assert!(line.contains("column `the one`"), "{line}");
            }
        }
    }
    assert_eq!(
        folder.names(),
        Vec::<String>::new(),
        "nothing is left of a target that was not finished"
    );
}

#[test]
fn every_value_of_every_flat_type_has_json_text() {
    for distribution in tarsia_testkit::arrays::DISTRIBUTIONS {
        let (schema, batches) = every_type(|_| true, distribution);
        for batch in &batches {
            let rows = JsonRows::new(batch).unwrap();
            for row in 0..batch.num_rows() {
                let mut text = Vec::new();
                rows.write(row, &mut text).unwrap();
                let row: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_slice(&text).unwrap();
                assert_eq!(row.len(), schema.fields().len());
            }
        }
    }
}

/// A number among texts would lose its unit.
#[test]
fn files_of_json_lines_refuse_times_that_have_no_text() {
    let folder = Folder::default();
    let check = |times: TimestampSecondArray, expect: &str| {
        let batch = RecordBatch::try_from_iter([("c", Arc::new(times) as ArrayRef)]).unwrap();
        let plan = Plan::new(Format::JsonLines, batch.schema()).unwrap();
        let sink = FileSink::create(folder.path("t.jsonl")).unwrap();
        let error = plan.write_to(sink).unwrap().write(&batch).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    };
    let far = TimestampSecondArray::from(vec![0, 300_000_000_000_000]);
    check(far, "column `c`, row 1: value 300000000000000 of type");
    let zoned = TimestampSecondArray::from(vec![0]).with_timezone("Foo/Bar");
    check(zoned, "column `c`, row 0: value 0 of type");
}

#[test]
fn nested_columns_are_refused_by_csv_and_written_by_json_lines() {
    let folder = Folder::default();
    let list = DataType::new_list(DataType::Int32, true);
    let line = create(&folder, "t.csv", &list).unwrap_err();
    assert!(
        line.contains("column `the one`: type List(Int32) cannot be written as CSV"),
        "{line}"
    );
    let values = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
    ]);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(values) as ArrayRef)]).unwrap();
    write_table(&folder.path("t.jsonl"), &batch.schema(), &[batch]);
    assert_eq!(folder.read("t.jsonl"), "{\"l\":[1,null]}\n{\"l\":null}\n");
}

#[test]
fn json_lines_refuse_a_name_that_is_there_twice() {
    let folder = Folder::default();
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("a", DataType::Int32, true),
    ]));
    let made = create_file(&folder.path("t.jsonl"), schema);
    let line = made.err().unwrap().to_string();
    assert!(
        line.ends_with("t.jsonl: column `a`: a JSON object holds a name only once"),
        "{line}"
    );
}

#[test]
fn a_finished_target_replaces_the_file_and_an_unfinished_one_does_not() {
    let folder = Folder::default();
    folder.write("t.csv", "old");
    let batch =
        RecordBatch::try_from_iter([("a", Arc::new(StringArray::from(vec!["new"])) as ArrayRef)])
            .unwrap();
    let path = folder.path("t.csv");
    let mut target = create_file(&path, batch.schema()).unwrap();
    target.write(&batch).unwrap();
    assert_eq!(
        (folder.read("t.csv").as_str(), folder.names().len()),
        ("old", 2)
    );
    drop(target);
    assert_eq!(folder.names(), ["t.csv"]);
    assert_eq!(write_table(&path, &batch.schema(), &[batch]), 6);
    assert_eq!(
        (folder.read("t.csv").as_str(), folder.names().len()),
        ("a\nnew\n", 1)
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let usual = std::fs::File::create(folder.path("usual"))
            .unwrap()
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode(),
            usual
        );
    }
}

#[test]
fn large_parquet_rows_come_in_small_batches() {
    let folder = Folder::default();
    let texts: Vec<String> = (10..74)
        .map(|i: u32| i.to_string().repeat(1_000_000))
        .collect();
    let batch = RecordBatch::try_from_iter([("t", Arc::new(StringArray::from(texts)) as ArrayRef)])
        .unwrap();
    // Without compression and dictionary, so that the file says how large its rows are.
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_dictionary_enabled(false)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder.write("t.parquet", &file);
    let (_, batches) = read_table(&folder.path("t.parquet"));
    assert!(
        batches.iter().all(|batch| batch.num_rows() <= 17),
        "{}",
        batches[0].num_rows()
    );
}

/// Rows of before and after the change would be mixed, and a torn file be called damaged.
#[test]
fn a_source_that_is_changed_in_place_meanwhile_is_an_error() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    for name in ["t.parquet", "t.arrow", "t.csv", "t.jsonl"] {
        let path = folder.path(name);
        let read = |change: &dyn Fn(&File)| {
            let schema_of_text = SchemaRef::new(schema.project(&[0]).unwrap());
            let columns = batches.iter().map(|batch| batch.project(&[0]).unwrap());
            write_table(&path, &schema_of_text, &columns.collect::<Vec<_>>());
            let mut source = Source::open(&path, &Options::default()).unwrap();
            let first = source.next_batch();
            assert!(first.unwrap().is_some_and(|batch| batch.num_rows() > 0));
            change(&File::options().append(true).open(&path).unwrap());
            let read = source.by_ref().collect::<Result<Vec<_>, _>>();
            assert!(source.next().is_none());
            read
        };
        let later = SystemTime::now() + Duration::from_secs(5);
        for change in [
            (&|file: &File| file.set_modified(later).unwrap()) as &dyn Fn(&File),
            &|file| file.set_len(file.metadata().unwrap().len() - 1).unwrap(),
        ] {
            let error = read(change).unwrap_err().to_string();
            let expected = format!("{}: the file was changed while it was open", path.display());
            assert!(error.starts_with(&expected), "{error}");
        }
        // One that was replaced is read to its end.
        let other = folder.path("other");
        std::fs::write(&other, "nothing").unwrap();
        read(&|_| std::fs::rename(&other, &path).unwrap()).unwrap();
    }
}

#[test]
fn damaged_sources_are_errors_and_never_panics() {
    quiet_foreign_panics();
    let folder = Folder::default();
    let (schema, batches) = small_table();
    for name in ["t.parquet", "t.arrow"] {
        write_table(&folder.path(name), &schema, &batches);
        let bytes = std::fs::read(folder.path(name)).unwrap();
        let read = |bytes: &[u8]| {
            folder.write(name, bytes);
            Source::open(&folder.path(name), &Options::default())?.try_for_each(|b| b.map(drop))
        };
        assert!(read(&bytes).is_ok());
        for n in (0..bytes.len()).step_by(bytes.len() / 50) {
            let error = read(&bytes[..n]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data);
            assert!(error.to_string().contains(name));
        }
        // A changed byte may lie in a value, or where nobody reads; it must not end the process.
        for n in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            let mut changed = bytes.clone();
            changed[n] ^= 0xff;
            let _ = read(&changed);
        }
    }
}
