//! Tables in files of a folder of their own.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tarsia_convert::source::{Options, Source};
use tarsia_convert::target::Plan;
use tarsia_convert::{Error, Format};
use tarsia_io::FileSink;

pub(crate) use tarsia_testkit::batches::{assert_same_table, small_table, small_table_without};
pub(crate) use tarsia_testkit::folder::Folder;

/// The error of a file that is read to its end, with the file's name alone in front.
#[track_caller]
pub(crate) fn refused(folder: &Folder, name: &str) -> Error {
    let read =
        || Source::open(&folder.path(name), &Options::default())?.collect::<Result<Vec<_>, _>>();
    read().unwrap_err()
}

/// Writes a table in the format that the name says.
#[track_caller]
pub(crate) fn write_table(path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) -> u64 {
    let mut plan = Plan::new(Format::of(path).unwrap(), schema.clone()).unwrap();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    for batch in batches {
        plan.merge(batch, &columns).unwrap();
    }
    let mut target = plan.write_to(FileSink::create(path).unwrap()).unwrap();
    for batch in batches {
        target.write(batch).unwrap();
    }
    target.finish().unwrap().1
}

/// Reads a table in the format that the name says.
#[track_caller]
pub(crate) fn read_table(path: &Path) -> (SchemaRef, Vec<RecordBatch>) {
    let source = Source::open(path, &Options::default()).unwrap();
    let schema = source.schema();
    (schema, source.map(Result::unwrap).collect())
}
