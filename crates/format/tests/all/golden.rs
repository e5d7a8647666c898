//! Files of this format version, frozen byte for byte. Version 0 may still change: then the files are made anew
//! (`TARSIA_BLESS=1 cargo test -p tarsia golden`) and the change is named in CHANGELOG.md, under Format.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{assert_rows, deterministic, open, read_all, same_rows, write};
use arrow_array::builder::{
    BinaryBuilder, FixedSizeListBuilder, Float32Builder, Int32Builder, Int64Builder, ListBuilder,
    MapBuilder, StringBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Float64Array,
    Int32Array, Int64Array, NullArray, RecordBatch, RunArray, StringArray, StructArray,
    TimestampMillisecondArray, UnionArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields};
use tarsia::{LAYOUT_KEY, WriteOptions};
#[cfg(feature = "kernels")]
use {
    crate::common::open_with,
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

/// Makes a table of nested columns: every kind of level, both layouts, a packed struct.
fn nested_table() -> RecordBatch {
    let n = 400usize;
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let mut ids = ListBuilder::new(Int64Builder::new());
    let mut tags = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 48);
    let mut small = FixedSizeListBuilder::new(Int32Builder::new(), 3);
    let mut clips = ListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 40));
    let mut frames = ListBuilder::new(BinaryBuilder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..n {
        for k in 0..i * i % 9 {
            ids.values()
                .append_option((k % 5 != 4).then_some((i * 1000 + k) as i64));
        }
        ids.append(i % 13 != 6);
        for k in 0..i % 4 {
            for word in 0..(i + k) % 3 {
                tags.values()
                    .values()
                    .append_value(format!("tag {}", (i + word) % 17));
            }
            tags.values().append(k != 2);
        }
        tags.append(i % 7 != 3);
        for k in 0..48 {
            vectors.values().append_value((i * 48 + k) as f32 / 8.0);
        }
        vectors.append(i % 10 != 9);
        for k in 0..3 {
            small
                .values()
                .append_option((i % 6 != k).then_some((i + k) as i32));
        }
        small.append(i % 17 != 16);
        for k in 0..2 {
            for x in 0..40 {
                clips.values().values().append_value((i + k * x) as f32);
            }
            clips.values().append(true);
        }
        clips.append(true);
        for k in 0..i % 3 {
            frames
                .values()
                .append_value(vec![(i + k) as u8; 10 + i * 7 % 200]);
        }
        frames.append(i % 19 != 18);
        for k in 0..i % 3 {
            map.keys().append_value(format!("key {k}"));
            map.values().append_option((i % 4 != 0).then_some(i as i32));
        }
        map.append(i % 23 != 22).unwrap();
    }
    let rows = 0..n as i32;
    let number: ArrayRef = Arc::new(Int32Array::from_iter(
        rows.clone().map(|i| (i % 5 != 2).then_some(i * 3)),
    ));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(
        rows.clone().map(|i| format!("name {}", i % 29)),
    ));
    let fields = Fields::from(vec![
        Field::new("number", DataType::Int32, true),
        Field::new("text", DataType::Utf8, true),
    ]);
    let nulls = |one_in: i32| NullBuffer::from_iter(rows.clone().map(|i| i % one_in != 1));
    let of = |one_in| {
        let children = vec![number.clone(), text.clone()];
        StructArray::new(fields.clone(), children, Some(nulls(one_in)))
    };
    let union_fields = UnionFields::try_new(
        [3, 5],
        [
            Field::new("n", DataType::Int32, true),
            Field::new("t", DataType::Utf8, true),
        ],
    )
    .unwrap();
    let ids_of_union: Vec<i8> = rows.clone().map(|i| [3, 5][(i % 3 / 2) as usize]).collect();
    let union = UnionArray::try_new(
        union_fields,
        ids_of_union.into(),
        None,
        vec![number.clone(), text.clone()],
    )
    .unwrap();
    let runs = RunArray::try_new(
        &Int32Array::from_iter_values((1..=n as i32 / 8).map(|run| run * 8)),
        &StringArray::from_iter((0..n / 8).map(|i| (i % 4 != 1).then(|| format!("run {i}")))),
    )
    .unwrap();
    let words: DictionaryArray<Int32Type> = (rows.clone())
        .map(|i| (i % 6 != 0).then(|| ["oak", "elm", "ash"][(i * i % 3) as usize]))
        .collect();
    let lists_of_words = arrow_array::ListArray::new(
        item(words.data_type().clone()),
        OffsetBuffer::from_lengths(rows.clone().map(|i| usize::from(i % 2 == 0) * 2)),
        Arc::new(words),
        None,
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("ids", Arc::new(ids.finish())),
        ("tags", Arc::new(tags.finish())),
        ("vectors", Arc::new(vectors.finish())),
        ("small vectors", Arc::new(small.finish())),
        ("clips", Arc::new(clips.finish())),
        ("frames", Arc::new(frames.finish())),
        ("map", Arc::new(map.finish())),
        ("struct", Arc::new(of(9))),
        ("packed struct", Arc::new(of(11))),
        ("union", Arc::new(union)),
        ("runs", Arc::new(runs)),
        ("lists of words", Arc::new(lists_of_words)),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| {
            let field = Field::new(*name, array.data_type().clone(), true);
            match name.starts_with("packed") {
                true => field.with_metadata([(LAYOUT_KEY.to_owned(), "packed".to_owned())].into()),
                false => field,
            }
        })
        .collect();
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.into_iter().map(|(_, array)| array).collect(),
    )
    .unwrap()
}

/// Byte strings row by row, in a flat column and below a structure.
fn strings_table() -> RecordBatch {
    let n = 300usize;
    let blobs: ArrayRef = Arc::new(BinaryArray::from_iter((0..n).map(|i| {
        let blob = vec![i as u8; (i * 31) % 70];
        (i % 8 != 5).then_some(blob)
    })));
    let text = StringArray::from_iter_values((0..n).map(|i| format!("é{}", i % 29)));
    let fields = Fields::from(vec![
        Field::new("bytes", DataType::Binary, true),
        Field::new("path", DataType::Utf8, true),
    ]);
    let nulls = NullBuffer::from_iter((0..n).map(|i| i % 6 != 1));
    let columns: Vec<ArrayRef> = vec![blobs.clone(), Arc::new(text)];
    let records = StructArray::new(fields, columns.clone(), Some(nulls));
    let columns = [columns, vec![Arc::new(records)]].concat();
    let fields: Vec<Field> = (columns.iter().zip(["blobs", "text", "records"]))
        .map(|(array, name)| {
            Field::new(name, array.data_type().clone(), true)
                .with_metadata([(LAYOUT_KEY.to_owned(), "full-zip".to_owned())].into())
        })
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn check_strings(name: &str, options: WriteOptions) {
    let file = check_bytes(name, &strings_table(), options);
    same_rows(&read_all(&file).unwrap(), &strings_table(), "strings");
}

fn check(name: &str, options: WriteOptions) {
    let file = check_bytes(name, &table(), options);
    assert_rows(&read_all(&file).unwrap(), &table());
}

fn check_nested(name: &str, options: WriteOptions) {
    let file = check_bytes(name, &nested_table(), options);
    same_rows(&read_all(&file).unwrap(), &nested_table(), "nested");
}

/// The frozen file, if this build writes it.
fn check_bytes(name: &str, table: &RecordBatch, options: WriteOptions) -> tarsia::File {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/golden/v0")
        .join(name);
    let written = write(table.schema(), std::slice::from_ref(table), options);
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
    file.verify().unwrap();
    file
}

#[test]
fn one_page_each() {
    check("one_page.tarsia", deterministic());
}

#[test]
fn several_pages() {
    check(
        "several_pages.tarsia",
        deterministic().with_page_bytes(9000),
    );
}

/// Vectors and clips in full-zip pages, the rest in mini-blocks.
#[test]
fn nested() {
    check_nested("nested.tarsia", deterministic());
}

#[test]
fn nested_pages() {
    check_nested(
        "nested_pages.tarsia",
        deterministic()
            .with_page_bytes(5000)
            .with_full_zip_bytes_min(8),
    );
}

#[test]
fn strings_row_by_row() {
    check_strings("strings.tarsia", deterministic());
    check_strings(
        "strings_pages.tarsia",
        deterministic().with_page_bytes(2000),
    );
}

/// Files that carry the kernel of their day: it goes on decoding them, whatever this build writes. Written anew only
/// where there are none.
#[cfg(feature = "kernels")]
#[test]
fn with_kernel() {
    let file = by_kernel("with_kernel", &table(), &tarsia_kernels::CORE);
    assert_rows(&read_all(&file).unwrap(), &table());
    assert_eq!(file.decoder_counts().native, 0);
}

#[cfg(feature = "kernels")]
#[test]
fn nested_with_kernel() {
    let table = nested_table();
    let file = by_kernel("nested_with_kernel", &table, &tarsia_kernels::NESTED);
    same_rows(&read_all(&file).unwrap(), &table, "nested");
    assert_eq!(file.decoder_counts().native, 0);
}

#[cfg(feature = "kernels")]
#[test]
fn strings_row_by_row_with_kernel() {
    let table = strings_table();
    let file = by_kernel("strings_with_kernel", &table, &tarsia_kernels::NESTED);
    same_rows(&read_all(&file).unwrap(), &table, "strings");
    assert_eq!(file.decoder_counts().native, 0);
}

/// The frozen file of a table with a kernel, which decodes it.
#[cfg(feature = "kernels")]
fn by_kernel(name: &str, table: &RecordBatch, kernel: &tarsia_kernels::Kernel) -> tarsia::File {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/golden/v0")
        .join(name);
    let (path, digest) = (
        path.with_extension("tarsia"),
        path.with_extension("kernel-blake3"),
    );
    if std::env::var_os("TARSIA_BLESS").is_some() && !path.exists() {
        let options = deterministic().with_embed_kernels(tarsia::EmbedKernels::Embed);
        let written = write(table.schema(), std::slice::from_ref(table), options);
        std::fs::write(&path, &written).unwrap();
        let hex: String = kernel
            .digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        std::fs::write(&digest, hex + "\n").unwrap();
    }
    let frozen = std::fs::read(&path).unwrap();
    let kernel = std::fs::read_to_string(digest).unwrap();
    let options = OpenOptions::new()
        .with_kernels(Kernels::Forced)
        .with_trusted_kernels(vec![u8_of_hex(kernel.trim())]);
    let file = open_with(&frozen, options).unwrap();
    file.verify().unwrap();
    file
}

#[cfg(feature = "kernels")]
fn u8_of_hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}
