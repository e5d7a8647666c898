//! Types of Parquet that Arrow does not have, and types of Arrow that Parquet does not have.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, IntervalMonthDayNano, IntervalMonthDayNanoType, UInt16Type,
};
use arrow_array::{
    Array, ArrayRef, Date64Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float16Array, Int16Array, IntervalMonthDayNanoArray, ListArray, RecordBatch, StringArray,
    StructArray, Time32SecondArray, TimestampSecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use half::f16;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use tarsia_convert::source::{Options, Source};

use crate::run::{Folder, read_table, refused, write_table};

/// A column of a file that no Arrow writer has made.
enum Column<'a> {
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Bytes(&'a [&'a [u8]]),
    Fixed(&'a [&'a [u8]]),
}

/// A file of a row group for each list of columns. Every value is there, and lists have one item.
fn file(schema: Type, groups: &[&[Column<'_>]]) -> Vec<u8> {
    let mut file = Vec::new();
    let schema = Arc::new(schema);
    let mut writer = SerializedFileWriter::new(&mut file, schema, Default::default()).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for column in *columns {
            let mut to = group.next_column().unwrap().unwrap();
            macro_rules! write {
                ($kind:ty, $values:expr) => {{
                    let values = $values;
                    let typed = to.typed::<$kind>();
                    let levels = (vec![9_i16; values.len()], vec![0_i16; values.len()]);
                    let levels = (
                        vec![typed.get_descriptor().max_def_level(); levels.0.len()],
                        levels.1,
                    );
                    typed
                        .write_batch(&values, Some(&levels.0), Some(&levels.1))
                        .unwrap();
                }};
            }
            match column {
                Column::Int32(values) => write!(Int32Type, values.to_vec()),
                Column::Int64(values) => write!(Int64Type, values.to_vec()),
                Column::Bytes(values) => write!(
                    ByteArrayType,
                    values
                        .iter()
                        .map(|v| ByteArray::from(v.to_vec()))
                        .collect::<Vec<_>>()
                ),
                Column::Fixed(values) => write!(
                    FixedLenByteArrayType,
                    values
                        .iter()
                        .map(|v| FixedLenByteArray::from(ByteArray::from(v.to_vec())))
                        .collect::<Vec<_>>()
                ),
            }
            to.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    file
}

fn message(text: &str) -> Type {
    parse_message_type(&format!("message m {{ {text} }}")).unwrap()
}

const LIST: &str = "REQUIRED GROUP l (LIST) { REPEATED GROUP list { REQUIRED ";

/// Returns what Parquet's schema says of each leaf.
fn annotations(folder: &Folder, name: &str) -> Vec<(Option<LogicalType>, ConvertedType)> {
    let file = std::fs::File::open(folder.path(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let of = |column: &parquet::schema::types::ColumnDescriptor| {
        (column.logical_type_ref().cloned(), column.converted_type())
    };
    schema.columns().iter().map(|column| of(column)).collect()
}

/// Reads a file as readers do that know nothing of Arrow schemas.
fn as_others(folder: &Folder, name: &str) -> Vec<ArrayRef> {
    let file = std::fs::File::open(folder.path(name)).unwrap();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    batch.columns().to_vec()
}

fn round_trip(folder: &Folder, batch: &RecordBatch) {
    write_table(
        &folder.path("t.parquet"),
        &batch.schema(),
        std::slice::from_ref(batch),
    );
    let (schema, batches) = read_table(&folder.path("t.parquet"));
    assert_eq!(schema.fields(), batch.schema().fields());
    let table = (schema, batches);
    crate::run::assert_same_table(&table, &(table.0.clone(), vec![batch.clone()]));
}

fn interval(months: u32, days: u32, millis: u32) -> Vec<u8> {
    [months, days, millis].map(u32::to_le_bytes).concat()
}

#[test]
fn intervals_keep_months_and_have_no_sign() {
    let folder = Folder::default();
    let schema = || {
        message(&format!(
            "REQUIRED FIXED_LEN_BYTE_ARRAY(12) i (INTERVAL); {LIST} FIXED_LEN_BYTE_ARRAY(12) element (INTERVAL); }} }}"
        ))
    };
    let values = [
        interval(12, 0, 0),
        interval(1, 2, 3),
        interval(0, 0, u32::MAX),
    ];
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let columns = [Column::Fixed(&values), Column::Fixed(&values)];
    folder.write("x.parquet", file(schema(), &[&columns]));
    let (schema_read, batches) = read_table(&folder.path("x.parquet"));
    let expected = [
        IntervalMonthDayNano::new(12, 0, 0),
        IntervalMonthDayNano::new(1, 2, 3_000_000),
        IntervalMonthDayNano::new(0, 0, 4_294_967_295_000_000),
    ];
    let got = batches[0]
        .column(0)
        .as_primitive::<IntervalMonthDayNanoType>();
    assert_eq!(got.values(), &expected);
    let inside = batches[0].column(1).as_list::<i32>().values().clone();
    assert_eq!(
        inside.as_primitive::<IntervalMonthDayNanoType>().values(),
        &expected
    );
    write_table(&folder.path("back.parquet"), &schema_read, &batches);
    let interval_type = (None, ConvertedType::INTERVAL);
    assert_eq!(
        annotations(&folder, "back.parquet"),
        [interval_type.clone(), interval_type]
    );
    let (_, again) = read_table(&folder.path("back.parquet"));
    assert_eq!(again[0].columns(), batches[0].columns());

    let large = [interval(1, 0, 0), interval(0, 1 << 31, 0)];
    let large: Vec<&[u8]> = large.iter().map(Vec::as_slice).collect();
    let fine = [&values[..2], &large[..]];
    for (columns, column) in [
        ([Column::Fixed(&large), Column::Fixed(fine[0])], "i"),
        ([Column::Fixed(fine[0]), Column::Fixed(&large)], "l"),
    ] {
        let first = [Column::Fixed(&values), Column::Fixed(&values)];
        folder.write("x.parquet", file(schema(), &[&first, &columns]));
        let error = refused(&folder, "x.parquet");
        assert_eq!(
            (error.column(), error.row()),
            (Some(column), Some(4)),
            "{error}"
        );
    }
}

#[test]
fn intervals_that_parquet_cannot_hold_name_column_and_row() {
    let folder = Folder::default();
    for (months, days, nanos) in [(-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1_000_000)] {
        let values = vec![
            Some(IntervalMonthDayNano::new(1, 1, 1_000_000)),
            None,
            Some(IntervalMonthDayNano::new(months, days, nanos)),
        ];
        let array: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(values));
        let batch = RecordBatch::try_from_iter([("i", array)]).unwrap();
        let mut target = tarsia_convert::target::Target::new(
            Vec::new(),
            tarsia_convert::Format::Parquet,
            batch.schema(),
        )
        .unwrap();
        target.write(&batch.slice(0, 2)).unwrap();
        let error = target.write(&batch.slice(2, 1)).unwrap_err();
        assert_eq!(
            (error.column(), error.row()),
            (Some("i"), Some(2)),
            "{error}"
        );
    }
    let values = vec![Some(IntervalMonthDayNano::new(14, 3, 5_000_000)), None];
    let array: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(values));
    round_trip(
        &folder,
        &RecordBatch::try_from_iter([("i", array)]).unwrap(),
    );
}

#[test]
fn whole_numbers_beyond_their_annotation_name_column_and_row() {
    let folder = Folder::default();
    for (annotation, fine, wrong, data_type) in [
        ("INT_8", [127, -128], 300, DataType::Int8),
        ("INTEGER(8,true)", [0, -1], -129, DataType::Int8),
        ("INT_16", [32_767, -32_768], 32_768, DataType::Int16),
        ("UINT_8", [255, 0], -1, DataType::UInt8),
        ("UINT_16", [65_535, 0], 70_000, DataType::UInt16),
        ("INTEGER(16,false)", [1, 2], i32::MIN, DataType::UInt16),
    ] {
        let schema = || {
            message(&format!(
                "REQUIRED INT32 a ({annotation}); {LIST} INT32 element ({annotation}); }} }}"
            ))
        };
        let good = [Column::Int32(&fine), Column::Int32(&fine)];
        folder.write("x.parquet", file(schema(), &[&good]));
        let (read, batches) = read_table(&folder.path("x.parquet"));
        assert_eq!(read.field(0).data_type(), &data_type);
        assert_eq!(
            batches[0].column(1).as_list::<i32>().value_type(),
            data_type
        );
        let plain = arrow_cast::cast(batches[0].column(0), &DataType::Int32).unwrap();
        assert_eq!(
            plain
                .as_primitive::<arrow_array::types::Int32Type>()
                .values(),
            &fine
        );
        let wrong = [fine[0], wrong];
        for (columns, column) in [
            ([Column::Int32(&wrong), Column::Int32(&fine)], "a"),
            ([Column::Int32(&fine), Column::Int32(&wrong)], "l"),
        ] {
            folder.write("x.parquet", file(schema(), &[&good, &columns]));
            let error = refused(&folder, "x.parquet");
            assert_eq!(
                (error.column(), error.row()),
                (Some(column), Some(3)),
                "{error}"
            );
            let what = format!("{} is no {data_type}", wrong[1]);
            assert!(error.what().contains(&what), "{error}");
        }
    }
}

#[test]
fn logical_types_come_back() {
    let folder = Folder::default();
    let flat = "REQUIRED FIXED_LEN_BYTE_ARRAY(16) u (UUID); REQUIRED BYTE_ARRAY j (JSON); REQUIRED BYTE_ARRAY b (BSON); \
        REQUIRED BYTE_ARRAY e (ENUM); REQUIRED INT32 t (TIME(MILLIS,true)); REQUIRED INT64 n (TIME(NANOS,false)); \
        REQUIRED INT64 m (TIME_MICROS);";
    let inside = format!("{LIST} FIXED_LEN_BYTE_ARRAY(16) element (UUID); }} }}");
    let uuid: &[&[u8]] = &[b"0123456789abcdef"];
    let columns = [
        Column::Fixed(uuid),
        Column::Bytes(&[b"{\"a\":1}"]),
        Column::Bytes(&[&[5, 0, 0, 0, 0]]),
        Column::Bytes(&[b"RED"]),
        Column::Int32(&[1_000]),
        Column::Int64(&[1]),
        Column::Int64(&[2]),
        Column::Fixed(uuid),
    ];
    folder.write(
        "x.parquet",
        file(message(&format!("{flat} {inside}")), &[&columns]),
    );
    let (schema, batches) = read_table(&folder.path("x.parquet"));
    let extension = |field: &Field| field.extension_type_name().map(str::to_owned);
    assert_eq!(extension(schema.field(0)).as_deref(), Some("arrow.uuid"));
    assert_eq!(extension(schema.field(1)).as_deref(), Some("arrow.json"));
    for name in ["back.parquet", "again.parquet"] {
        let source = match name {
            "back.parquet" => (schema.clone(), batches.clone()),
            _ => read_table(&folder.path("back.parquet")),
        };
        write_table(&folder.path(name), &source.0, &source.1);
        let (was, now) = (
            annotations(&folder, "x.parquet"),
            annotations(&folder, name),
        );
        for (i, (was, now)) in was.iter().zip(&now).enumerate() {
            // The older annotation of a time means UTC.
            let was = match was {
                (None, ConvertedType::TIME_MICROS) => &now.clone(),
                was => was,
            };
            assert_eq!(was.0, now.0, "column {i} of {name}");
        }
        let last = now[6].0.clone();
        assert!(matches!(last, Some(LogicalType::Time(time)) if time.is_adjusted_to_u_t_c));
    }
}

#[test]
fn variants_and_geometries_come_back() {
    use parquet::basic::{GeographyType, GeometryType, Repetition, Type as Physical, VariantType};
    let folder = Folder::default();
    let bytes = |name: &str, logical| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
            .unwrap()
    };
    let variant = LogicalType::Variant(VariantType {
        specification_version: Some(1),
    });
    let group = Type::group_type_builder("v")
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(variant.clone()))
        .with_fields(vec![bytes("metadata", None), bytes("value", None)])
        .build()
        .unwrap();
    let geometry = LogicalType::Geometry(GeometryType {
        crs: Some("EPSG:3857".into()),
    });
    let geography = LogicalType::Geography(GeographyType {
        crs: None,
        algorithm: Some(parquet::basic::EdgeInterpolationAlgorithm::KARNEY),
    });
    let fields = vec![
        Arc::new(group),
        bytes("g", Some(geometry.clone())),
        bytes("h", Some(geography.clone())),
    ];
    let schema = Type::group_type_builder("m")
        .with_fields(fields)
        .build()
        .unwrap();
    let bytes: &[&[u8]] = &[b"\x01\x00", b"x"];
    let columns = [0; 4].map(|_| Column::Bytes(bytes));
    folder.write("x.parquet", file(schema, &[&columns]));
    let (schema, batches) = read_table(&folder.path("x.parquet"));
    assert_eq!(
        schema.field(0).extension_type_name(),
        Some("arrow.parquet.variant")
    );
    write_table(&folder.path("back.parquet"), &schema, &batches);
    let back = annotations(&folder, "back.parquet");
    assert_eq!(
        (&back[2].0, &back[3].0),
        (&Some(geometry), &Some(geography))
    );
    let reader = std::fs::File::open(folder.path("back.parquet")).unwrap();
    let reader = SerializedFileReader::new(reader).unwrap();
    let root = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema()
        .clone();
    let info = root.get_fields()[0].get_basic_info();
    assert_eq!(info.logical_type_ref(), Some(&variant));
}

/// A batch of one column at several depths: flat, in lists, in structs.
fn at_depths(array: &ArrayRef) -> RecordBatch {
    let item = Arc::new(Field::new("item", array.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(vec![1; array.len()]);
    let list: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::clone(array), None));
    let field = Arc::new(Field::new("x", list.data_type().clone(), true));
    let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&list))]));
    let columns = [("a", Arc::clone(array)), ("l", list), ("s", structs)];
    let columns = columns.map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn seconds_and_dates_in_milliseconds_are_times_for_every_reader() {
    let folder = Folder::default();
    let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let seconds = TimestampSecondArray::from(vec![Some(1_700_000_000), None, Some(-1)]);
    let days = Date64Array::from(vec![Some(86_400_000), None, Some(-86_400_000)]);
    let times = Time32SecondArray::from(vec![Some(86_399), None, Some(0)]);
    let arrays: [(ArrayRef, DataType); 4] = [
        (Arc::new(seconds.clone()), millis),
        (Arc::new(seconds.with_timezone("Europe/Paris")), utc),
        (Arc::new(days), DataType::Date32),
        (Arc::new(times), DataType::Time32(TimeUnit::Millisecond)),
    ];
    for (array, data_type) in arrays {
        let batch = at_depths(&array);
        round_trip(&folder, &batch);
        let others = as_others(&folder, "t.parquet");
        let expected = arrow_cast::cast(&array, &data_type).unwrap();
        assert_eq!(&others[0], &expected);
        assert_eq!(others[1].as_list::<i32>().values(), &expected);
        assert_eq!(
            others[2].as_struct().column(0).as_list::<i32>().values(),
            &expected
        );
        // Dictionaries of them are values.
        let keys = Int16Array::from(vec![Some(0), None, Some(2)]);
        let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, array));
        let batch = RecordBatch::try_from_iter([("d", dictionary)]).unwrap();
        write_table(&folder.path("t.parquet"), &batch.schema(), &[batch]);
        assert_eq!(&as_others(&folder, "t.parquet")[0], &expected);
    }
}

#[test]
fn times_that_parquet_cannot_hold_name_column_and_row() {
    let arrays: [ArrayRef; 3] = [
        Arc::new(TimestampSecondArray::from(vec![0, i64::MAX])),
        Arc::new(Date64Array::from(vec![0, 1])),
        Arc::new(Time32SecondArray::from(vec![0, i32::MAX])),
    ];
    for array in arrays {
        let batch = at_depths(&array);
        for (i, name) in ["a", "l", "s"].into_iter().enumerate() {
            let batch = batch.project(&[i]).unwrap();
            let format = tarsia_convert::Format::Parquet;
            let target = tarsia_convert::target::Target::new(Vec::new(), format, batch.schema());
            let error = target.unwrap().write(&batch).unwrap_err();
            assert_eq!(
                (error.column(), error.row()),
                (Some(name), Some(1)),
                "{error}"
            );
        }
    }
}

#[test]
fn dictionaries_of_bytes_of_fixed_size_are_values_for_every_reader() {
    let folder = Folder::default();
    let fixed = FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter()).unwrap();
    let decimals = Decimal128Array::from(vec![10_i128.pow(25), -1]);
    let decimals = decimals.with_precision_and_scale(30, 2).unwrap();
    let halves = Float16Array::from(vec![f16::from_f32(0.5), f16::NAN]);
    let values: [ArrayRef; 3] = [Arc::new(fixed), Arc::new(decimals), Arc::new(halves)];
    for values in values {
        let keys = Int16Array::from(vec![Some(0), Some(1), None, Some(0)]);
        let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::clone(&values)));
        let batch = at_depths(&dictionary);
        write_table(&folder.path("t.parquet"), &batch.schema(), &[batch]);
        let expected = arrow_cast::cast(&dictionary, values.data_type()).unwrap();
        assert_eq!(
            &as_others(&folder, "t.parquet")[0].to_data(),
            &expected.to_data()
        );
        let (schema, batches) = read_table(&folder.path("t.parquet"));
        assert_eq!(schema.field(0).data_type(), dictionary.data_type());
        let back = arrow_cast::cast(batches[0].column(0), values.data_type()).unwrap();
        assert_eq!(&back.to_data(), &expected.to_data());
        let inside = batches[0].column(1).as_list::<i32>().values();
        assert_eq!(inside.data_type(), dictionary.data_type());
    }
}

/// A file of a batch whose Arrow schema is another one.
fn with_stale_schema(batch: &RecordBatch, stale: &Schema) -> Vec<u8> {
    let stale = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(stale));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![stale]))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut file, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn parquets_schema_counts_where_the_arrow_schema_is_stale() {
    let folder = Folder::default();
    let numbers: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let decimals = Decimal128Array::from(vec![123, 456])
        .with_precision_and_scale(10, 2)
        .unwrap();
    let field = Arc::new(Field::new("z", DataType::Utf8, true));
    let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&texts))]));
    let columns = [
        ("x", numbers),
        ("z", Arc::clone(&texts)),
        ("d", Arc::new(decimals) as ArrayRef),
        ("s", structs),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let batch = batch.unwrap();
    let field = |name: &str, of| Field::new(name, of, true);
    let inner = |name: &str| DataType::Struct(vec![field(name, DataType::LargeUtf8)].into());
    let list = DataType::new_list(DataType::Int8, true);
    for stale in [
        // Renamed, moved, dropped and added columns, other types, other scales, other shapes.
        vec![field("x", DataType::Int64), field("y", DataType::LargeUtf8)],
        vec![field("z", DataType::LargeUtf8), field("x", DataType::Int64)],
        vec![],
        vec![
            field("d", DataType::Decimal128(10, 3)),
            field("s", inner("y")),
        ],
        vec![
            field("d", DataType::Decimal256(40, 2)),
            field("s", DataType::Utf8),
        ],
        vec![
            field("x", DataType::Utf8),
            field("z", list.clone()),
            field("d", list),
        ],
        vec![
            field("x", DataType::Interval(IntervalUnit::DayTime)),
            field("z", DataType::Int8),
        ],
    ] {
        folder.write(
            "x.parquet",
            with_stale_schema(&batch, &Schema::new(stale.clone())),
        );
        let (schema, batches) = read_table(&folder.path("x.parquet"));
        let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["x", "z", "d", "s"], "{stale:?}");
        for (i, array) in batches[0].columns().iter().enumerate() {
            let expected = batch.column(i);
            match array.data_type().is_nested() {
                true => assert_eq!(array.as_struct().len(), 2),
                false => {
                    let same = arrow_cast::cast(array, expected.data_type()).unwrap();
                    assert_eq!(&same, expected, "{stale:?}");
                }
            }
        }
        let source = Source::open(&folder.path("x.parquet"), &Options::default()).unwrap();
        assert!(!source.notes().is_empty(), "{stale:?}");
    }
    // What is no Arrow schema at all.
    let broken = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), "%%%".to_owned());
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![broken]))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder.write("x.parquet", file);
    let source = Source::open(&folder.path("x.parquet"), &Options::default()).unwrap();
    assert!(
        source.notes()[0]
            .what()
            .starts_with("the Arrow schema is not used")
    );
}

#[test]
fn narrow_types_of_arrow_schemas_come_back() {
    let folder = Folder::default();
    let keys = Int16Array::from(vec![Some(0), None, Some(1)]);
    let narrow = arrow_array::Int8Array::from(vec![-128, 127]);
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(narrow)));
    round_trip(
        &folder,
        &RecordBatch::try_from_iter([("d", dictionary)]).unwrap(),
    );
    let numbers: [ArrayRef; 3] = [
        Arc::new(arrow_array::PrimitiveArray::<Int8Type>::from(vec![
            Some(-1),
            None,
        ])),
        Arc::new(arrow_array::PrimitiveArray::<Int16Type>::from(vec![
            Some(-1),
            None,
        ])),
        Arc::new(arrow_array::PrimitiveArray::<UInt16Type>::from(vec![
            Some(65_535),
            None,
        ])),
    ];
    numbers
        .iter()
        .for_each(|array| round_trip(&folder, &at_depths(array)));
}

#[test]
fn texts_of_more_bytes_than_a_batch_holds_come_in_several() {
    let folder = Folder::default();
    let text = "x".repeat(1 << 20);
    let keys = arrow_array::Int32Array::from(vec![0; 2_100]);
    let values = Arc::new(StringArray::from(vec![text.as_str()]));
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let batch = RecordBatch::try_from_iter([("s", dictionary)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_page_size_limit(1 << 24)
        .set_max_row_group_row_count(Some(2_100))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    assert!(file.len() < 2 << 20, "{}", file.len());
    folder.write("x.parquet", file);
    let mut source = Source::open(&folder.path("x.parquet"), &Options::default()).unwrap();
    let mut rows = 0;
    while let Some(batch) = source.next_batch().unwrap() {
        let texts = batch.column(0).as_string::<i32>();
        assert_eq!(texts.value(batch.num_rows() - 1), text);
        rows += batch.num_rows();
    }
    assert_eq!(rows, 2_100);
}

/// Lists in two levels whose items are lists or maps, as Avro's writer makes them: "Backward-compatibility rules" of
/// the Parquet format.
#[test]
fn lists_of_lists_in_two_levels() {
    let folder = Folder::default();
    let of = |schema: &str, columns: &[Column<'_>], data_type: &str, row: &str| {
        folder.write("x.parquet", file(message(schema), &[columns]));
        let (schema, batches) = read_table(&folder.path("x.parquet"));
        assert_eq!(schema.field(0).data_type().to_string(), data_type);
        let row_of = arrow_cast::display::array_value_to_string(batches[0].column(0), 1);
        assert_eq!(row_of.unwrap(), row);
    };
    of(
        "OPTIONAL GROUP l (LIST) { REPEATED GROUP array (LIST) { REPEATED INT32 array; } }",
        &[Column::Int32(&[1, 2])],
        "List(non-null List(non-null Int32, field: 'array'), field: 'array')",
        "[[2]]",
    );
    of(
        "REQUIRED GROUP l (LIST) { REPEATED GROUP a (LIST) { REPEATED GROUP b (LIST) { REPEATED INT32 c (INT_8); } } }",
        &[Column::Int32(&[1, -2])],
        "List(non-null List(non-null List(non-null Int8, field: 'c'), field: 'b'), field: 'a')",
        "[[[-2]]]",
    );
    of(
        "REQUIRED GROUP l (LIST) { REPEATED GROUP m (MAP) { REPEATED GROUP key_value { REQUIRED INT32 key; \
         REQUIRED INT64 value; } } }",
        &[Column::Int32(&[1, 2]), Column::Int64(&[3, 4])],
        "List(non-null Map(\"key_value\": non-null Struct(\"key\": non-null Int32, \"value\": non-null Int64), \
         unsorted), field: 'm')",
        "[{2: 4}]",
    );
}
