//! Parts that the tests of the facade share.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use tarsia::{EmbedKernels, File, OpenOptions, WriteOptions, Writer};
use tarsia_io::{MemoryFile, MemorySink};
use tarsia_testkit::arrays::assert_bit_equal;
use tarsia_testkit::nested::batch_logical_difference;

/// The bytes of a file that holds `batches`.
pub(crate) fn write(schema: SchemaRef, batches: &[RecordBatch], options: WriteOptions) -> Vec<u8> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut writer = Writer::new(sink, schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    let summary = writer.finish().unwrap();
    let bytes = handle.take().unwrap();
    assert_eq!(summary.file_bytes, bytes.len() as u64);
    bytes
}

/// Options under which the same input gives the same bytes, without a kernel: it would be most of a small file.
pub(crate) fn deterministic() -> WriteOptions {
    WriteOptions::new()
        .with_deterministic(true)
        .with_embed_kernels(EmbedKernels::Omit)
}

pub(crate) fn open(bytes: &[u8]) -> tarsia::Result<File> {
    open_with(bytes, OpenOptions::default())
}

pub(crate) fn open_with(bytes: &[u8], options: OpenOptions) -> tarsia::Result<File> {
    File::open_reader(Arc::new(MemoryFile::new(bytes.to_vec())), options)
}

/// All batches of a scan.
pub(crate) fn read_all(file: &File) -> tarsia::Result<Vec<RecordBatch>> {
    file.scan().build()?.read_all()
}

/// The batches hold exactly the rows of `want`. They are compared one by one: laid end to end, the dictionaries of
/// several batches may have more entries than their key type can number.
pub(crate) fn assert_rows(batches: &[RecordBatch], want: &RecordBatch) {
    let mut at = 0;
    for batch in batches {
        assert_eq!(batch.schema(), want.schema());
        let rows = batch.num_rows();
        assert!(at + rows <= want.num_rows(), "more rows than went in");
        for (got, want) in batch.columns().iter().zip(want.columns()) {
            assert_bit_equal(got.as_ref(), want.slice(at, rows).as_ref());
        }
        at += rows;
    }
    assert_eq!(at, want.num_rows());
}

/// The rows are the same by logical value.
pub(crate) fn same(got: &RecordBatch, want: &RecordBatch, what: &str) {
    if let Err(difference) = batch_logical_difference(got, want) {
        panic!("{what}: {difference}");
    }
}

/// The batches hold exactly the rows of `want`, by logical value.
pub(crate) fn same_rows(batches: &[RecordBatch], want: &RecordBatch, what: &str) {
    let mut at = 0;
    for batch in batches {
        let rows = batch.num_rows();
        assert!(
            at + rows <= want.num_rows(),
            "{what}: more rows than went in"
        );
        same(batch, &want.slice(at, rows), what);
        at += rows;
    }
    assert_eq!(at, want.num_rows(), "{what}");
}

/// A table of one column named `x`.
pub(crate) fn one_column(array: ArrayRef) -> RecordBatch {
    let field = Field::new("x", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}
