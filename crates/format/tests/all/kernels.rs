//! Files that decode themselves: every page through the embedded kernel, none natively, and bit-equal.

use std::sync::Arc;

use crate::common::{assert_rows, deterministic, one_column, open, open_with, read_all, write};
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{EmbedKernels, ErrorKind, File, Kernels, OpenOptions, Threads, WriteOptions};
use tarsia_arrow::reorder;
use tarsia_testkit::arrays::{array, assert_bit_equal, flat_types, profiles};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{flat_tables, read_parquet};

fn embedded() -> WriteOptions {
    deterministic().with_embed_kernels(EmbedKernels::Embed)
}

fn with(kernels: Kernels) -> OpenOptions {
    OpenOptions::new().with_kernels(kernels)
}

fn forced(bytes: &[u8]) -> File {
    open_with(bytes, with(Kernels::Forced)).unwrap()
}

/// Nothing was decoded by this build's own decoders, and something was decoded (if there is anything to decode).
fn assert_by_kernel(file: &File, anything: bool) {
    let counts = file.decoder_counts();
    assert_eq!(counts.native, 0, "{counts:?}");
    assert_eq!(counts.kernel > 0, anything, "{counts:?}");
}

fn check_takes(file: &File, whole: &RecordBatch, seed: u64) {
    let n_rows = whole.num_rows();
    if n_rows == 0 {
        return;
    }
    let mut rng = Rng::new(seed);
    let run = rng.below(n_rows) as u64..n_rows as u64;
    for rows in [
        vec![rng.below(n_rows) as u64],
        run.take(5000).collect(),
        (0..200).map(|_| rng.below(n_rows) as u64).collect(),
    ] {
        let taken = file.take(&rows).read().unwrap();
        let places = UInt64Array::from(rows);
        for (got, want) in taken.columns().iter().zip(whole.columns()) {
            assert_bit_equal(got.as_ref(), reorder(want, &places).unwrap().as_ref());
        }
    }
}

#[test]
fn every_flat_type_comes_back_by_the_kernel_alone() {
    for data_type in flat_types() {
        for (number, profile) in profiles(7).into_iter().enumerate() {
            // Enough for several blocks of most types, not of a length that blocks like.
            let whole = one_column(array(&data_type, 5003, profile));
            let bytes = write(whole.schema(), std::slice::from_ref(&whole), embedded());
            let file = forced(&bytes);
            assert_rows(&read_all(&file).unwrap(), &whole);
            check_takes(&file, &whole, number as u64);
            let mut scan = file.scan().rows(1234..4321).build().unwrap();
            let part: Vec<_> = scan.by_ref().collect::<Result<_, _>>().unwrap();
            assert_rows(&part, &whole.slice(1234, 4321 - 1234));
            file.verify().unwrap();
            assert_by_kernel(&file, data_type != DataType::Null);
        }
    }
}

#[test]
fn real_tables_come_back_by_the_kernel_alone() {
    for (name, path) in flat_tables() {
        let (schema, batches) = read_parquet(&path);
        let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        let bytes = write(schema.clone(), &batches, embedded());
        let file = forced(&bytes);
        assert_rows(&read_all(&file).unwrap(), &whole);
        check_takes(&file, &whole, 11);
        assert_by_kernel(&file, true);
        // The same file, read by this build's own decoders, runs no kernel.
        let native = open(&bytes).unwrap();
        assert_eq!(native.take(&[0]).read().unwrap().num_rows(), 1, "{name}");
        assert_eq!(native.decoder_counts().kernel, 0, "{name}");
    }
}

fn numbers(rows: i64) -> RecordBatch {
    one_column(Arc::new(arrow_array::Int64Array::from_iter_values(
        (0..rows).map(|row| row * 7 % 1000),
    )))
}

#[test]
fn a_kernel_costs_its_compressed_bytes_and_can_be_left_out() {
    let table = numbers(10_000);
    let write_with = |kernels| {
        let options = embedded().with_embed_kernels(kernels);
        write(table.schema(), std::slice::from_ref(&table), options)
    };
    let (embedded, omitted) = (
        write_with(EmbedKernels::Embed),
        write_with(EmbedKernels::Omit),
    );
    let cost = embedded.len() - omitted.len();
    let stored = tarsia_kernels::CORE.compressed.len();
    assert!(
        (stored..stored + stored / 64 + 512).contains(&cost),
        "{cost} bytes for a kernel of {stored}"
    );
    let region = |bytes: &[u8]| {
        let layout = open(bytes).unwrap().inspect().unwrap().layout;
        let kernels = layout.iter().find(|region| region.name == "kernels");
        kernels.unwrap().bytes
    };
    assert!(region(&embedded) >= stored as u64);
    assert_eq!(region(&omitted), 0);
    // Both read natively; without a kernel nothing else can.
    for bytes in [&embedded, &omitted] {
        let file = open_with(bytes, with(Kernels::Never)).unwrap();
        assert_rows(&read_all(&file).unwrap(), &table);
    }
    let error = read_all(&forced(&omitted)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("no kernel"), "{error}");
}

#[test]
fn a_file_without_pages_carries_no_kernel() {
    for schema in [
        Schema::empty(),
        Schema::new(vec![Field::new("n", DataType::Null, true)]),
    ] {
        let bytes = write(Arc::new(schema), &[], embedded());
        let file = forced(&bytes);
        let layout = file.inspect().unwrap().layout;
        let kernels = layout.iter().find(|region| region.name == "kernels");
        assert_eq!(kernels.unwrap().bytes, 0);
        assert!(read_all(&file).unwrap().is_empty());
    }
}

#[test]
fn threads_share_a_kernel() {
    let table = numbers(300_000);
    let bytes = write(table.schema(), std::slice::from_ref(&table), embedded());
    for threads in [Threads::One, Threads::All] {
        let options = with(Kernels::Forced).with_threads(threads);
        let file = open_with(&bytes, options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_rows(&read_all(&file).unwrap(), &table));
            }
        });
        assert_by_kernel(&file, true);
    }
}

#[test]
fn damaged_blocks_are_found_by_the_host_and_damaged_kernels_are_not_run() {
    let table = numbers(10_000);
    let bytes = write(table.schema(), std::slice::from_ref(&table), embedded());
    let layout = open(&bytes).unwrap().inspect().unwrap().layout;
    let place = |name| {
        let region = layout.iter().find(|region| region.name == name);
        let region = region.unwrap();
        region.place as usize..(region.place + region.bytes) as usize
    };
    let mut damaged = bytes.clone();
    damaged[place("pages").start + 100] ^= 1;
    let error = read_all(&forced(&damaged)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checksum"), "{error}");

    // Header, digest and frame of the kernel's section: every byte counts.
    let kernel = place("kernels");
    let step = kernel.len() / 50;
    let places = kernel.clone().take(48).chain(kernel.clone().step_by(step));
    for at in places.filter(|at| *at < kernel.end - 8) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let file = forced(&damaged);
        let error = read_all(&file).unwrap_err();
        let refused = [ErrorKind::Corrupt, ErrorKind::Unsupported].contains(&error.kind());
        assert!(refused, "byte {at}: {error}");
        assert_by_kernel(&file, false);
        assert!(file.verify().is_err(), "byte {at}");
        // Nobody who decodes natively minds.
        assert_rows(&read_all(&open(&damaged).unwrap()).unwrap(), &table);
    }
}

/// Batches stay in the memory of the instances that made them, of which there are not that many: what lies in an
/// instance must not change while it is held, whether held rows came from there or were copied.
#[test]
fn batches_that_are_kept_stay_as_they_are() {
    let n_rows = 200 * 8192;
    let table = numbers(n_rows);
    let bytes = write(table.schema(), std::slice::from_ref(&table), embedded());
    let file = forced(&bytes);
    let scan = || file.scan().batch_rows(8192).build().unwrap();
    let kept: Vec<RecordBatch> = scan().collect::<Result<_, _>>().unwrap();
    assert!(kept.len() >= 200);
    // All instances that are free are used again meanwhile.
    for batch in scan() {
        assert_eq!(batch.unwrap().num_rows(), 8192);
    }
    let every_second: Vec<RecordBatch> = kept.iter().step_by(2).cloned().collect();
    assert_rows(&kept, &table);
    drop(kept);
    for batch in scan() {
        batch.unwrap();
    }
    for (number, batch) in every_second.iter().enumerate() {
        let start = number * 2 * 8192;
        assert_rows(std::slice::from_ref(batch), &table.slice(start, 8192));
    }
    assert_by_kernel(&file, true);
}

/// Rows of several pages in one batch, as one run of a kernel's memory.
#[test]
fn a_batch_of_several_pages_is_one_array() {
    let table = numbers(100_000);
    let options = embedded().with_page_bytes(64 << 10);
    let bytes = write(table.schema(), std::slice::from_ref(&table), options);
    let file = forced(&bytes);
    let scan = file.scan().batch_rows(100_000).build().unwrap();
    let batches: Vec<RecordBatch> = scan.collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.len(), 1);
    assert_rows(&batches, &table);
    assert_by_kernel(&file, true);
}
