//! Updates of a column, ten times: what they write, and what scans cost after them.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tarsia_io::LocalStore;
use tarsia_table::{Compact, Table, Unmatched};

use crate::found::Format;
use crate::made;
use crate::peers::Peers;
use crate::report::median;
use crate::tables::{self, Data};

/// Updates of each table.
pub(crate) const UPDATES: usize = 10;
/// Scans whose median counts.
pub(crate) const SCANS: usize = 3;

/// Updates of one table in one format.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Update {
    pub(crate) format: String,
    pub(crate) table: String,
    /// `all` or `some`: the rows that get new values.
    pub(crate) which: String,
    /// Updates that were made.
    pub(crate) updates: usize,
    /// Seconds of an update, the middle one.
    pub(crate) seconds: f64,
    /// Bytes that an update writes, in the mean.
    pub(crate) bytes: f64,
    /// Seconds of a scan of all columns: before the updates, after each, after a compaction.
    pub(crate) scan: f64,
    pub(crate) scans: Vec<f64>,
    pub(crate) compacted: Option<f64>,
}

/// Updates a column of a table ten times.
pub(crate) fn tarsia(scratch: &Path, data: &Data, which: &str) -> Result<Update> {
    let folder = scratch.join(format!("tarsia-{}-{which}", data.name));
    tables::make(&folder, &data.folder, false)?;
    let counted = made::open(&folder, std::time::Duration::ZERO)?;
    let table = &counted.table;
    tables::scan(table, None, 1)?;
    let scan = tables::scan(table, None, SCANS)?;
    let (mut times, mut n_bytes, mut scans) = (Vec::new(), 0, Vec::new());
    for i in 0..UPDATES {
        let new = tables::read(&data.folder.join(format!("{i}-{which}.arrow")))?;
        let before = made::bytes_below(&folder)?;
        let begun = Instant::now();
        let mut txn = table.begin("main", made::info("update"))?;
        let matched = txn.update_by(&["id"], tables::reader(&new), Unmatched::Fail)?;
        txn.commit()?;
        times.push(begun.elapsed().as_secs_f64());
        ensure!(
            matched.rows == new.num_rows() as u64,
            "{} rows",
            matched.rows
        );
        n_bytes += made::bytes_below(&folder)? - before;
        scans.push(tables::scan(table, None, SCANS)?);
        if i == 0 || i + 1 == UPDATES {
            tables::check(table, &new)?;
        }
    }
    table.compact(&Compact::new(), &made::info("compacted"))?;
    let reopened = Table::open(std::sync::Arc::new(LocalStore::open(&folder)?))?;
    tables::scan(&reopened, None, 1)?;
    let compacted = tables::scan(&reopened, None, SCANS)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(Update {
        format: Format::Tarsia.name().to_owned(),
        table: data.name.clone(),
        which: which.to_owned(),
        updates: UPDATES,
        seconds: median(times.into_iter()).context("no updates")?,
        bytes: n_bytes as f64 / UPDATES as f64,
        scan,
        scans,
        compacted: Some(compacted),
    })
}

/// Does so with a peer.
pub(crate) fn of_peer(
    peers: &Peers,
    peer: Format,
    scratch: &Path,
    data: &Data,
    which: &str,
) -> Result<Update> {
    let folder = scratch.join(format!("{peer}-{}-{which}", data.name));
    let found = peers.update(peer, &folder, &data.folder, which);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let found = found?;
    let updates = found.seconds.len();
    Ok(Update {
        format: peer.name().to_owned(),
        table: data.name.clone(),
        which: which.to_owned(),
        updates,
        seconds: median(found.seconds.iter().copied()).context("no update in the time")?,
        bytes: found.bytes.iter().sum::<f64>() / updates as f64,
        scan: found.scan,
        scans: found.scans,
        compacted: found.compacted,
    })
}
