//! A new column of a wide table of many files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, UInt64Array};
use arrow_select::take::take;
use serde::{Deserialize, Serialize};

use crate::found::Format;
use crate::made;
use crate::peers::{Added, Peers};
use crate::report::median;
use crate::tables::{self, Data};

/// Times whose median counts.
const REPETITIONS: usize = 9;
/// The new column, and one with its values that the table had from the beginning.
const NEW: &str = "score";
const PLAIN: &str = "plain";

/// A new column of a table of many columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewColumn {
    pub(crate) format: String,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) files: usize,
    /// Bytes of the values alone.
    pub(crate) value_bytes: usize,
    /// Seconds of making the table.
    pub(crate) make: f64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    /// Seconds of opening the table and reading ten columns.
    pub(crate) ten: f64,
    /// Seconds of reading a column that the table had from the beginning, and the new one with the same values.
    pub(crate) plain: f64,
    pub(crate) new: f64,
}

/// Data files of a table, and when each was written.
fn data_files(folder: &Path) -> Result<BTreeMap<PathBuf, (u64, SystemTime)>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            files.extend(data_files(&entry.path())?);
        } else {
            files.insert(entry.path(), (meta.len(), meta.modified()?));
        }
    }
    Ok(files)
}

fn repeated(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for i in 0..=REPETITIONS {
        let begun = Instant::now();
        work()?;
        // The first one does not count.
        if i > 0 {
            times.push(begun.elapsed().as_secs_f64());
        }
    }
    median(times.into_iter()).context("no repetitions")
}

/// Adds a column to a table of one file for each batch, and reads it.
pub(crate) fn tarsia(scratch: &Path, data: &Data, n_columns: usize) -> Result<NewColumn> {
    let folder = scratch.join(format!("tarsia-{}", data.name));
    let begun = Instant::now();
    let table = tables::make(&folder, &data.folder, true)?;
    let make = begun.elapsed().as_secs_f64();
    let n_files = table.at("main")?.files(None)?.len();
    let ten = spread_names(&table.at("main")?.arrow_schema());
    let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
    let ten = repeated(|| {
        let table = made::open(&folder, Duration::ZERO)?.table;
        tables::scan(&table, Some(&ten), 1)?;
        Ok(())
    })?;
    let new = tables::read(&data.folder.join("new.arrow"))?;
    let (before, old_files) = (
        made::bytes_below(&folder)?,
        data_files(&folder.join("data"))?,
    );
    let table = made::open(&folder, Duration::ZERO)?.table;
    let begun = Instant::now();
    let mut txn = table.begin("main", made::info("a new column"))?;
    let values = new.column(1).clone();
    // Numbers of rows are their places among the new values.
    let n_rows = txn.add_column(new.schema().field(1).clone(), &["id"], |batch| {
        let places = batch.column(0).as_primitive::<Int64Type>();
        let places = UInt64Array::from_iter_values(places.values().iter().map(|id| *id as u64));
        take(&values, &places, None)
    })?;
    txn.commit()?;
    let seconds = begun.elapsed().as_secs_f64();
    let n_bytes = made::bytes_below(&folder)? - before;
    ensure!(n_rows == new.num_rows() as u64, "{n_rows} rows");
    let now = data_files(&folder.join("data"))?;
    for (path, old) in &old_files {
        ensure!(now.get(path) == Some(old), "{} was touched", path.display());
    }
    tables::check(&table, &new)?;
    let plain = repeated(|| tables::scan(&table, Some(&[PLAIN]), 1).map(drop))?;
    let of_new = repeated(|| tables::scan(&table, Some(&[NEW]), 1).map(drop))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(NewColumn {
        format: Format::Tarsia.name().to_owned(),
        columns: n_columns,
        rows: new.num_rows(),
        files: n_files,
        value_bytes: new.column(1).to_data().get_slice_memory_size()?,
        make,
        seconds,
        bytes: n_bytes,
        ten,
        plain,
        new: of_new,
    })
}

/// Ten columns that narrow tables and wide ones have: all of them begin with the same columns.
fn spread_names(schema: &arrow_schema::Schema) -> Vec<String> {
    let fields = schema.fields().iter();
    let names = fields.map(|field| field.name().clone());
    names.filter(|name| name != PLAIN).take(10).collect()
}

/// Does so with a peer.
pub(crate) fn of_peer(
    peers: &Peers,
    peer: Format,
    scratch: &Path,
    data: &Data,
    n_columns: usize,
) -> Result<NewColumn> {
    let folder = scratch.join(format!("{peer}-{}", data.name));
    let added = peers.add(peer, &folder, &data.folder);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let new = tables::read(&data.folder.join("new.arrow"))?;
    let Added {
        seconds,
        bytes,
        make,
        ten,
        plain,
        new: of_new,
    } = added?;
    Ok(NewColumn {
        format: peer.name().to_owned(),
        columns: n_columns,
        rows: new.num_rows(),
        files: tables::n_batches(&data.folder.join("rows.arrow"))?,
        value_bytes: new.column(1).to_data().get_slice_memory_size()?,
        make,
        seconds,
        bytes,
        ten,
        plain,
        new: of_new,
    })
}
