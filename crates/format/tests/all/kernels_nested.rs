//! Nested files that decode themselves: every page through the embedded kernel, none natively, and the same rows.

use std::sync::Arc;

use crate::common::{deterministic, open, open_with, read_all, same, same_rows, write};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{
    ElementPath, EmbedKernels, ErrorKind, File, Kernels, OpenOptions, Threads, WriteOptions,
};
use tarsia_arrow::leaf_paths;
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{nested_tables, read_parquet};

fn embedded() -> WriteOptions {
    deterministic().with_embed_kernels(EmbedKernels::Embed)
}

fn forced(bytes: &[u8]) -> File {
    let options = OpenOptions::new()
        .with_kernels(Kernels::Forced)
        .with_threads(Threads::One);
    open_with(bytes, options).unwrap()
}

/// One column, whatever is in it nullable.
fn batch_of(array: ArrayRef) -> RecordBatch {
    let field = Field::new("c", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}
fn assert_no_native(file: &File, what: &str) {
    let counts = file.decoder_counts();
    assert_eq!(counts.native, 0, "{what}: {counts:?}");
}

/// Scans, ranges and takes by the kernel alone give what went in.
fn check(bytes: &[u8], batch: &RecordBatch, what: &str) {
    let file = forced(bytes);
    same_rows(&read_all(&file).unwrap(), batch, what);
    let rows = batch.num_rows();
    let mut rng = Rng::new(rows as u64);
    let (a, b) = (rng.below(rows + 1), rng.below(rows + 1));
    let (start, end) = (a.min(b), a.max(b));
    let scan = file.scan().rows(start as u64..end as u64).batch_rows(37);
    let parts: Vec<_> = scan.build().unwrap().map(Result::unwrap).collect();
    same_rows(&parts, &batch.slice(start, end - start), what);
    for n in [1, 2, 40] {
        let picked: Vec<u64> = (0..n).map(|_| rng.below(rows) as u64).collect();
        let taken = file.take(&picked).read().unwrap();
        for (at, row) in picked.iter().enumerate() {
            same(&taken.slice(at, 1), &batch.slice(*row as usize, 1), what);
        }
    }
    file.verify().unwrap();
    assert_no_native(&file, what);
}

/// Blocks of few rows, pages of a few blocks, both layouts.
fn options(i: usize) -> WriteOptions {
    embedded()
        .with_page_bytes([1 << 20, 16 << 10, 2 << 10][i % 3])
        .with_full_zip_bytes_min([128, 0, u32::MAX][i / 3 % 3])
}

#[test]
fn every_nested_type_comes_back_by_the_kernel_alone() {
    let mut by_kernel = 0;
    let stored =
        |data_type: &DataType| leaf_paths(data_type, true).is_ok() && !is_uninhabited(data_type);
    for (number, data_type) in nested_types().into_iter().filter(stored).enumerate() {
        for (i, profile) in nested_profiles(number as u64).into_iter().enumerate() {
            let batch = batch_of(nested_array(&data_type, 301, &profile));
            let bytes = write(
                batch.schema(),
                std::slice::from_ref(&batch),
                options(number + i),
            );
            check(&bytes, &batch, &format!("{data_type}, profile {i}"));
            by_kernel += forced_decoders(&bytes);
        }
    }
    assert!(by_kernel > 100, "{by_kernel}");
}

fn forced_decoders(bytes: &[u8]) -> u64 {
    let file = forced(bytes);
    read_all(&file).unwrap();
    file.decoder_counts().kernel
}

#[test]
fn real_nested_tables_come_back_by_the_kernel_alone() {
    for (name, path) in nested_tables() {
        let (schema, batches) = read_parquet(&path);
        let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        // Comparing takes longer than decoding.
        let whole = whole.slice(0, whole.num_rows().min(20_000));
        let bytes = write(schema, std::slice::from_ref(&whole), embedded());
        let file = forced(&bytes);
        same_rows(&read_all(&file).unwrap(), &whole, name);
        let taken = file.take(&[3, 0, 3]).read().unwrap();
        same(&taken.slice(0, 1), &whole.slice(3, 1), name);
        assert_no_native(&file, name);
        assert!(file.decoder_counts().kernel > 0, "{name}");
        // The same file, read by this build's own decoders, runs no kernel.
        let native = open(&bytes).unwrap();
        same(&native.take(&[0]).read().unwrap(), &whole.slice(0, 1), name);
        assert_eq!(native.decoder_counts().kernel, 0, "{name}");
    }
}

#[test]
fn elements_are_those_that_are_decoded_natively() {
    let list = |item: DataType| DataType::List(Arc::new(Field::new("item", item, true)));
    let vector = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int16, true)), 7);
    for data_type in [
        list(DataType::Int64),
        list(DataType::Utf8),
        list(list(DataType::Utf8)),
        list(vector.clone()),
        vector,
    ] {
        for (i, profile) in nested_profiles(5).into_iter().enumerate() {
            let batch = batch_of(nested_array(&data_type, 400, &profile));
            let bytes = write(batch.schema(), std::slice::from_ref(&batch), options(i));
            let (file, native) = (forced(&bytes), open(&bytes).unwrap());
            let rows: Vec<u64> = (0..400).step_by(3).collect();
            for path in ["c[0]", "c[2]", "c[1..3]"] {
                let path: ElementPath = path.parse().unwrap();
                let got = file.take(&rows).element(&path).read().unwrap();
                let want = native.take(&rows).element(&path).read().unwrap();
                same(&got, &want, &format!("{data_type}, profile {i}"));
            }
            assert_no_native(&file, "elements");
        }
    }
}

/// A row of more than 64 KiB, of which natively only a part is read.
#[test]
fn elements_of_long_rows_come_out_of_whole_blocks() {
    let values: Vec<Vec<u8>> = (0..40u8).map(|i| vec![i; 5000 + i as usize]).collect();
    let mut builder =
        arrow_array::builder::ListBuilder::new(arrow_array::builder::BinaryBuilder::new());
    for _ in 0..3 {
        for value in &values {
            builder.values().append_value(value);
        }
        builder.append(true);
    }
    let batch = batch_of(Arc::new(builder.finish()));
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), embedded());
    let (file, native) = (forced(&bytes), open(&bytes).unwrap());
    for path in ["c[0]", "c[39]", "c[7..9]", "c[40]"] {
        let path: ElementPath = path.parse().unwrap();
        let got = file.take(&[2, 0]).element(&path).read().unwrap();
        let want = native.take(&[2, 0]).element(&path).read().unwrap();
        same(&got, &want, "frames");
    }
    assert_no_native(&file, "frames");
}

#[test]
fn files_carry_the_smallest_kernel_that_reads_them() {
    let kernel_bytes = |batch: &RecordBatch| {
        let bytes = write(batch.schema(), std::slice::from_ref(batch), embedded());
        let layout = open(&bytes).unwrap().inspect().unwrap().layout;
        let kernels = layout.iter().find(|region| region.name == "kernels");
        kernels.unwrap().bytes as usize
    };
    let number: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1, 2, 3]));
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let lists = nested_array(&list, 3, &nested_profiles(1).swap_remove(0));
    let (flat, nested) = (
        kernel_bytes(&batch_of(number)),
        kernel_bytes(&batch_of(lists)),
    );
    let around = |stored: usize| stored..stored + 256;
    assert!(
        around(tarsia_kernels::CORE.compressed.len()).contains(&flat),
        "{flat}"
    );
    assert!(
        around(tarsia_kernels::NESTED.compressed.len()).contains(&nested),
        "{nested}"
    );
}

#[test]
fn a_damaged_nested_block_is_found_by_the_host() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let batch = batch_of(nested_array(
        &list,
        1000,
        &nested_profiles(1).swap_remove(0),
    ));
    let mut bytes = write(batch.schema(), std::slice::from_ref(&batch), embedded());
    let layout = open(&bytes).unwrap().inspect().unwrap().layout;
    let pages = layout.iter().find(|region| region.name == "pages").unwrap();
    bytes[pages.place as usize + 100] ^= 1;
    let error = read_all(&forced(&bytes)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checksum"), "{error}");
}
