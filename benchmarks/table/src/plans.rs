//! Plans of one partition.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tarsia_filter::col;
use tarsia_table::Snapshot;

use crate::made::{self, PARTITIONS};
use crate::report::median;
use crate::store::Counts;

/// Time after which a slow store answers.
pub(crate) const LATENCY: Duration = Duration::from_millis(20);
/// Plans that do not count, and plans that do, each of another partition.
const WARM_PLANS: usize = 64;
const PLANS: usize = 256;

/// Plans of one table in one format.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) format: String,
    pub(crate) files: usize,
    /// Seconds that making the table took; none if it was there already.
    pub(crate) make: Option<f64>,
    /// Seconds of opening the table and its newest state.
    pub(crate) open: f64,
    /// Seconds of the first plan after that.
    pub(crate) first: f64,
    /// Seconds of a plan when others were made before.
    pub(crate) warm: f64,
    /// Objects that opening and the first plan read.
    pub(crate) objects: u64,
    /// Bytes of these.
    pub(crate) bytes: u64,
    /// Sorted runs of manifests, of Tarsia.
    pub(crate) runs: Option<usize>,
}

/// Requests to a store that answers late.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Remote {
    pub(crate) what: String,
    pub(crate) rounds: u64,
    pub(crate) put_rounds: u64,
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) puts: u64,
    pub(crate) put_bytes: u64,
    pub(crate) seconds: f64,
}

/// Partitions in an order that jumps.
pub(crate) fn partition(i: usize) -> usize {
    i * 389 % PARTITIONS
}

fn plan(snapshot: &Snapshot, partition: usize) -> Result<usize> {
    let filter = col("p").eq(partition as i64);
    Ok(snapshot.files(Some(&filter))?.len())
}

/// Makes a table, and plans partitions of it.
pub(crate) fn tarsia(folder: &Path, n_files: usize) -> Result<Plan> {
    let begun = Instant::now();
    made::make(folder, n_files)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut plan = planned(folder, n_files, "tarsia")?;
    plan.make = Some(seconds);
    Ok(plan)
}

/// Merges the manifests of a table, and plans partitions of it.
pub(crate) fn compacted(folder: &Path, n_files: usize) -> Result<Plan> {
    let counted = made::open(folder, Duration::ZERO)?;
    let begun = Instant::now();
    counted
        .table
        .compact_metadata("main", &made::info("one run"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut plan = planned(folder, n_files, "tarsia, compacted")?;
    plan.make = Some(seconds);
    Ok(plan)
}

fn planned(folder: &Path, n_files: usize, format: &str) -> Result<Plan> {
    let begun = Instant::now();
    let counted = made::open(folder, Duration::ZERO)?;
    let snapshot = counted.table.at("main")?;
    let open = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let found = plan(&snapshot, partition(0))?;
    let first = begun.elapsed().as_secs_f64();
    let Counts {
        reads, read_bytes, ..
    } = counted.store.take();
    ensure!(
        found >= n_files / PARTITIONS,
        "{found} files in a partition"
    );
    // The last one, too: it may be in a piece of a run that hardly any other is in.
    for partition in (1..WARM_PLANS).map(partition).chain([PARTITIONS - 1]) {
        plan(&snapshot, partition)?;
    }
    // A plan of a single run reads one piece of it; by now all pieces were read.
    counted.store.take();
    let mut times = Vec::with_capacity(PLANS);
    for i in WARM_PLANS..WARM_PLANS + PLANS {
        let begun = Instant::now();
        let found = plan(&snapshot, partition(i))?;
        times.push(begun.elapsed().as_secs_f64());
        ensure!(
            found >= n_files / PARTITIONS,
            "{found} files in a partition"
        );
    }
    ensure!(counted.store.take().reads == 0, "warm plans read objects");
    let manifests = &snapshot.commit().manifests;
    let runs: BTreeSet<_> = manifests.iter().map(|it| (it.tier, it.seq_base)).collect();
    Ok(Plan {
        format: format.to_owned(),
        files: n_files,
        make: None,
        open,
        first,
        warm: median(times.into_iter()).context("no plans")?,
        objects: reads,
        bytes: read_bytes,
        runs: Some(runs.len()),
    })
}

/// Opening, a plan and an append, with a store that answers late.
pub(crate) fn remote(folder: &Path) -> Result<Vec<Remote>> {
    let mut found = Vec::new();
    let mut begun = Instant::now();
    let counted = made::open(folder, LATENCY)?;
    let mut add = |what: &str, begun: &mut Instant| {
        let counts = counted.store.take();
        let rounds = counted.store.take_rounds();
        found.push(Remote {
            what: what.to_owned(),
            rounds: rounds.all,
            put_rounds: rounds.puts,
            reads: counts.reads,
            read_bytes: counts.read_bytes,
            puts: counts.puts,
            put_bytes: counts.put_bytes,
            seconds: begun.elapsed().as_secs_f64(),
        });
        *begun = Instant::now();
    };
    let snapshot = counted.table.at("main")?;
    add("open the table and its newest state", &mut begun);
    plan(&snapshot, 7)?;
    add("the first plan of one partition", &mut begun);
    plan(&snapshot, 8)?;
    add("a plan of another partition", &mut begun);
    let mut random = made::Random::new(20);
    made::append(&counted.table, "main", 0..PARTITIONS, &mut random)?;
    add("an append with a file in each partition", &mut begun);
    made::append(&counted.table, "main", 0..1, &mut random)?;
    add("an append of one file", &mut begun);
    Ok(found)
}
