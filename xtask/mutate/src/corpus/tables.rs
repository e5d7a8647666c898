//! The tables that the corpus is made of: small, and together of all types, encodings and layouts.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use tarsia_testkit::arrays::{
    DISTRIBUTIONS, Distribution, NULLS, Nulls, Profile, array, flat_types,
};
use tarsia_testkit::nested::{LENGTHS, NestedProfile, is_uninhabited, nested_array, nested_types};

/// A table, and how the command imports it.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) batch: RecordBatch,
    /// Options of `tarsia import`, one list for each Tarsia file of this table.
    pub(super) imports: &'static [&'static [&'static str]],
}

const OMIT: &[&str] = &["--kernels", "omit"];
const FAST: &[&str] = &["--kernels", "omit", "--preset", "fast"];
const BLOOMS: &[&str] = &["--kernels", "omit", "--bloom", "c0"];
const COMPACT: &[&str] = &["--kernels", "omit", "--preset", "compact"];
/// Most of such a file is the kernel, so only a few have one.
const EMBED: &[&str] = &["--kernels", "embed"];
const LONG: &[&str] = &[
    "--kernels",
    "omit",
    "--layout",
    "c0=full-zip",
    "--layout",
    "c1=full-zip",
    "--layout",
    "c2=full-zip",
    "--layout",
    "c3=packed",
];
const ROWS: &[&str] = &[
    "--kernels",
    "omit",
    "--layout",
    "c0=full-zip",
    "--layout",
    "c1=full-zip",
    "--layout",
    "c2=full-zip",
];

/// A column: its type, nulls and values.
struct Column(DataType, Nulls, Distribution);

fn flat(columns: &[Column], rows: usize) -> RecordBatch {
    let made = columns.iter().enumerate().map(|(i, column)| {
        let profile = Profile::new(column.1, column.2, i as u64);
        (field(i, &column.0), array(&column.0, rows, profile))
    });
    batch(made)
}

fn nested(types: &[DataType], rows: usize, seed: u64) -> RecordBatch {
    let made = types.iter().enumerate().map(|(i, data_type)| {
        let profile = NestedProfile::new(
            Nulls::Percent(20),
            DISTRIBUTIONS[i % DISTRIBUTIONS.len()],
            LENGTHS[0],
            seed + i as u64,
        );
        (field(i, data_type), nested_array(data_type, rows, &profile))
    });
    batch(made)
}

/// One pair of metadata: more would be written in any order, and a run would not repeat.
fn field(i: usize, data_type: &DataType) -> Field {
    let metadata = [("unit".to_owned(), i.to_string())];
    Field::new(format!("c{i}"), data_type.clone(), true).with_metadata(metadata.into())
}

fn batch(made: impl Iterator<Item = (Field, arrow_array::ArrayRef)>) -> RecordBatch {
    let (fields, columns): (Vec<_>, Vec<_>) = made.unzip();
    let metadata = [("owner".to_owned(), "mutate".to_owned())];
    let schema = Schema::new_with_metadata(fields, metadata.into());
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of one length")
}

fn all_flat() -> Vec<Column> {
    let columns = flat_types().into_iter().enumerate().map(|(i, data_type)| {
        let nulls = match data_type {
            DataType::Null => Nulls::All,
            _ => NULLS[i % NULLS.len()],
        };
        Column(data_type, nulls, DISTRIBUTIONS[i % DISTRIBUTIONS.len()])
    });
    columns.collect()
}

/// Types of rows that are stored one by one.
fn long_rows() -> [DataType; 4] {
    let item = |data_type| Arc::new(Field::new("item", data_type, false));
    let parts = [
        ("x", DataType::Int32),
        ("y", DataType::Float64),
        ("z", DataType::Int8),
    ];
    let parts = parts.map(|(name, data_type)| Field::new(name, data_type, true));
    [
        DataType::FixedSizeList(item(DataType::Float32), 40),
        DataType::FixedSizeList(item(DataType::Boolean), 300),
        DataType::List(item(DataType::Int16)),
        DataType::Struct(parts.into_iter().collect()),
    ]
}

/// Nested types that have rows; vectors of 768 would be most of a file.
fn all_nested() -> Vec<DataType> {
    let is_long = |data_type: &DataType| matches!(data_type, DataType::FixedSizeList(_, length) if *length > 100);
    let mut types = nested_types();
    types.retain(|data_type| !is_uninhabited(data_type) && !is_long(data_type));
    types
}

/// All tables.
pub(super) fn tables() -> Vec<Table> {
    use DataType::{
        Binary, Boolean, Date32, Decimal128, Float64, Int32, Int64, LargeUtf8, UInt16, Utf8,
        Utf8View,
    };
    use Distribution::{Constant, Extremes, LowCardinality, Random, Skewed, Sorted};
    let dictionary = |key, value| DataType::Dictionary(Box::new(key), Box::new(value));
    let numbers = [
        Column(Int64, Nulls::Runs, Random),
        Column(UInt16, Nulls::None, Sorted),
        Column(Decimal128(15, 2), Nulls::Percent(30), Skewed),
        Column(Float64, Nulls::Percent(95), LowCardinality),
        Column(Int32, Nulls::None, Constant),
        Column(Boolean, Nulls::Percent(10), Random),
    ];
    let texts = [
        Column(Utf8, Nulls::Percent(30), LowCardinality),
        Column(Utf8View, Nulls::None, Skewed),
        Column(Binary, Nulls::Percent(1), Sorted),
        Column(LargeUtf8, Nulls::None, Sorted),
    ];
    let dictionaries = [
        Column(
            dictionary(DataType::Int8, Utf8),
            Nulls::Percent(5),
            LowCardinality,
        ),
        Column(dictionary(DataType::UInt32, Int32), Nulls::None, Random),
        Column(Int64, Nulls::None, LowCardinality),
        Column(DataType::FixedSizeBinary(16), Nulls::Runs, LowCardinality),
    ];
    let simple = [
        Column(Int64, Nulls::None, Skewed),
        Column(Utf8, Nulls::Percent(10), LowCardinality),
        Column(Float64, Nulls::Percent(10), Skewed),
        Column(Date32, Nulls::None, Sorted),
        Column(Boolean, Nulls::Percent(10), Random),
    ];
    let rows = [
        Column(Binary, Nulls::Percent(10), Random),
        Column(Utf8View, Nulls::None, Random),
        Column(DataType::LargeBinary, Nulls::Runs, Extremes),
    ];
    let extreme = [Column(Utf8, Nulls::None, Extremes)];
    let types = all_nested();
    let [some, others] = [0, 2].map(|from| {
        types
            .iter()
            .skip(from)
            .step_by(4)
            .cloned()
            .collect::<Vec<_>>()
    });
    let table = |name, batch, imports| Table {
        name,
        batch,
        imports,
    };
    vec![
        table("flat", flat(&all_flat(), 20), &[OMIT, COMPACT]),
        table(
            "numbers",
            flat(&numbers, 900),
            &[FAST, OMIT, COMPACT, EMBED],
        ),
        table(
            "texts",
            flat(&texts, 300),
            &[FAST, OMIT, COMPACT, EMBED, BLOOMS],
        ),
        table("dictionaries", flat(&dictionaries, 400), &[OMIT, COMPACT]),
        table("simple", flat(&simple, 40), &[OMIT]),
        table("extreme", flat(&extreme, 30), &[OMIT]),
        table("nested", nested(&some, 20, 1), &[OMIT, COMPACT]),
        table("nested-2", nested(&others, 20, 2), &[OMIT]),
        table("nested-3", nested(&some[..6], 60, 3), &[OMIT, EMBED]),
        table("long", nested(&long_rows(), 12, 4), &[LONG]),
        table("rows", flat(&rows, 60), &[ROWS]),
        table("empty", flat(&simple, 0), &[OMIT]),
        table("one", flat(&dictionaries, 1), &[OMIT]),
    ]
}
