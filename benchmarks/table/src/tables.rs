//! Tables of real rows: what updates and new columns are measured on.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, RecordBatchIterator, UInt64Array};
use arrow_ipc::reader::FileReader;
use arrow_select::take::take;
use tarsia_io::{LocalStore, Store};
use tarsia_table::{Table, TableSpec};

use crate::made;
use crate::report::median;

/// A table on which updates are measured, and the folder with its rows and new values.
pub(crate) struct Data {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// Batches of a file of Arrow.
fn open(path: &Path) -> Result<FileReader<File>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(FileReader::try_new(file, None)?)
}

/// Batches that a file of Arrow has.
pub(crate) fn n_batches(path: &Path) -> Result<usize> {
    Ok(open(path)?.num_batches())
}

/// Rows of a file of Arrow, as one batch.
pub(crate) fn read(path: &Path) -> Result<RecordBatch> {
    let reader = open(path)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    Ok(arrow_select::concat::concat_batches(&schema, &batches)?)
}

/// One batch, as a reader.
pub(crate) fn reader(batch: &RecordBatch) -> impl arrow_array::RecordBatchReader + use<> {
    RecordBatchIterator::new([Ok(batch.clone())], batch.schema())
}

/// Makes a table of the rows of a folder: of one file, or of one for each batch.
pub(crate) fn make(folder: &Path, data: &Path, is_split: bool) -> Result<Table> {
    let rows = open(&data.join("rows.arrow"))?;
    let store: Arc<dyn Store> = Arc::new(LocalStore::create(folder)?);
    let table = Table::create(store, &TableSpec::new(rows.schema()), &made::info("made"))?;
    let mut txn = table.begin("main", made::info("rows"))?;
    if is_split {
        for batch in rows {
            txn.append(reader(&batch?))?;
        }
    } else {
        txn.append(rows)?;
    }
    txn.commit()?;
    Ok(table)
}

/// Median seconds of a number of scans of some columns, or of all.
pub(crate) fn scan(table: &Table, columns: Option<&[&str]>, n_scans: usize) -> Result<f64> {
    let mut times = Vec::with_capacity(n_scans);
    for _ in 0..n_scans {
        let begun = Instant::now();
        let mut scan = table.at("main")?.scan();
        if let Some(columns) = columns {
            scan = scan.columns(columns);
        }
        let mut n_rows = 0;
        for batch in scan.build()? {
            n_rows += batch?.num_rows();
        }
        ensure!(n_rows > 0, "a scan without rows");
        times.push(begun.elapsed().as_secs_f64());
    }
    median(times.into_iter()).context("no scans")
}

/// Refuses a table whose rows do not have these values, which are found by the number of each row.
pub(crate) fn check(table: &Table, new: &RecordBatch) -> Result<()> {
    let name = new.schema().field(1).name().clone();
    let scan = table
        .at("main")?
        .scan()
        .columns(&["id", name.as_str()])
        .build()?;
    let schema = scan.schema();
    let rows = scan.collect::<Result<Vec<_>, _>>()?;
    let rows = arrow_select::concat::concat_batches(&schema, &rows)?;
    let ids = rows.column(0).as_primitive::<Int64Type>();
    ensure!(
        ids.values().is_sorted(),
        "the rows are not in the order in which they were written"
    );
    let wanted = new.column(0).as_primitive::<Int64Type>().values();
    let places = wanted
        .iter()
        .map(|id| ids.values().binary_search(id).map(|it| it as u64));
    let Ok(places) = places.collect::<Result<Vec<u64>, _>>() else {
        bail!("a row is missing")
    };
    let found = take(rows.column(1), &UInt64Array::from(places), None)?;
    ensure!(&found == new.column(1), "a row has another value");
    Ok(())
}
