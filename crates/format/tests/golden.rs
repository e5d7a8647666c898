//! Files of this format version, frozen byte for byte. Version 0 may still change: then the files are made anew
//! (`TARSIA_BLESS=1 cargo test -p tarsia --test golden`) and the change is named in CHANGELOG.md, under Format.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, NullArray,
    RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{Field, Schema};
use common::{assert_rows, deterministic, open, read_all, write};
use tarsia::WriteOptions;
#[cfg(feature = "kernels")]
use {
    common::open_with,
    tarsia::{Kernels, OpenOptions},
};

/// Values by formula alone, so that the table is the same in twenty years.
fn table() -> RecordBatch {
    let n = 3000i64;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "constant",
            Arc::new(Int32Array::from_iter_values((0..n).map(|_| 7))),
        ),
        (
            "packed",
            Arc::new(Int64Array::from_iter_values(
                (0..n).map(|i| i * i % 1000 - 300),
            )),
        ),
        (
            "patched",
            Arc::new(Int64Array::from_iter_values(
                (0..n).map(|i| if i % 700 == 5 { i << 40 } else { i % 16 }),
            )),
        ),
        (
            "few nulls",
            Arc::new(Int32Array::from_iter(
                (0..n).map(|i| (i % 97 != 0).then_some(i as i32)),
            )),
        ),
        (
            "many nulls",
            Arc::new(Float64Array::from_iter(
                (0..n).map(|i| (i % 3 == 0).then_some(i as f64 / 7.0)),
            )),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter((0..n).map(|i| Some(i % 7 < 3)))),
        ),
        (
            "dictionary",
            Arc::new(StringArray::from_iter_values((0..n).map(|i| {
                ["oak", "elm", "ash", "a much longer name of a tree"][(i * i % 4) as usize]
            }))),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter(
                (0..n).map(|i| (i % 11 != 0).then(|| format!("row {} é", i * 37))),
            )),
        ),
        (
            "when",
            Arc::new(
                TimestampMillisecondArray::from_iter_values(
                    (0..n).map(|i| 1_700_000_000_000 + i * 61_000),
                )
                .with_timezone("UTC"),
            ),
        ),
        (
            "price",
            Arc::new(
                Decimal128Array::from_iter_values((0..n).map(|i| i as i128 * 10_i128.pow(20)))
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
        ),
        ("nothing", Arc::new(NullArray::new(n as usize))),
    ];
    let metadata = |name: &str| [("note".to_owned(), format!("about {name}"))].into();
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| {
            Field::new(*name, array.data_type().clone(), true).with_metadata(metadata(name))
        })
        .collect();
    let schema =
        Schema::new(fields).with_metadata([("made by".to_owned(), "tests".to_owned())].into());
    RecordBatch::try_new(
        Arc::new(schema),
        columns.into_iter().map(|(_, array)| array).collect(),
    )
    .unwrap()
}

fn check(name: &str, options: WriteOptions) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/golden/v0")
        .join(name);
    let table = table();
    let written = write(table.schema(), std::slice::from_ref(&table), options);
    if std::env::var_os("TARSIA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &written).unwrap();
    }
    let frozen = std::fs::read(&path).unwrap();
    assert!(
        written == frozen,
        "{name}: this build writes other bytes than the golden file holds"
    );
    let file = open(&frozen).unwrap();
    assert_eq!(file.schema().unwrap(), table.schema());
    assert_rows(&read_all(&file).unwrap(), &table);
    file.verify().unwrap();
}

#[test]
fn one_page_each() {
    check("one_page.tarsia", deterministic());
}

#[test]
fn several_pages() {
    check(
        "several_pages.tarsia",
        WriteOptions {
            page_bytes: 9000,
            ..deterministic()
        },
    );
}

/// A file that carries the kernel of its day: it goes on decoding the file, whatever this build writes. Written anew only where
/// there is none.
#[cfg(feature = "kernels")]
#[test]
fn with_kernel() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/golden/v0/with_kernel.tarsia");
    let table = table();
    if std::env::var_os("TARSIA_BLESS").is_some() && !path.exists() {
        let options = WriteOptions {
            kernels: tarsia::EmbedKernels::Embed,
            ..deterministic()
        };
        let written = write(table.schema(), std::slice::from_ref(&table), options);
        std::fs::write(&path, &written).unwrap();
    }
    let frozen = std::fs::read(&path).unwrap();
    let kernel = std::fs::read_to_string(path.with_extension("kernel-blake3")).unwrap();
    let digest = u8_of_hex(kernel.trim());
    let options = OpenOptions {
        kernels: Kernels::Forced,
        trusted_kernels: vec![digest],
        ..OpenOptions::default()
    };
    let file = open_with(&frozen, options).unwrap();
    assert_rows(&read_all(&file).unwrap(), &table);
    assert_eq!(file.decoder_counts().native, 0);
    file.verify().unwrap();
}

#[cfg(feature = "kernels")]
fn u8_of_hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}
