//! Files written, erased from, and written anew.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;
use serde::Serialize;
use tarsia::io::{CountingReader, IoStats, LocalFile, OnBusy};
use tarsia::{Eraser, ErasureLevel, ErasureSummary, OpenOptions, RowSet, Writer};
use tempfile::TempDir;

use super::Arguments;
use super::lance::{Deleted, Lance};
use super::tables::{Spread, Table};
use crate::machine::{self, Environment};
use crate::peers::parquet::speed::Parquet;
use crate::peers::speed::Format;
use crate::peers::tarsia::write_options;
use crate::peers::without_panic;
use crate::speed::measuring::Make;
use crate::speed::{Goal, touch};

/// Parts of the rows that are erased, in percent.
const PERCENTS: [f64; 5] = [0.1, 0.5, 2.0, 5.0, 20.0];

/// The row that is erased alone is this part of the table from its start.
const ONE_ROW_AT: f64 = 0.5;

/// Seconds after which a measurement is not repeated.
const BUDGET_SECONDS: f64 = 2.0;
const BUDGET_SECONDS_LARGE: f64 = 10.0;

/// Scans are quick, and repeated so many times more than what they are compared with.
const SCANS_OF_A_REPETITION: usize = 3;

/// A scan that is quicker is repeated within a repetition.
const REPETITION: Duration = Duration::from_millis(20);

/// Parquet's options are tried on so many rows of a table.
const TUNING_ROWS: usize = 1 << 17;

/// Everything a run found.
#[derive(Serialize)]
pub(super) struct Erasure {
    pub(super) environment: Environment,
    /// Load of the machine before the first table and after the last.
    pub(super) load: [Option<f64>; 2],
    /// Repetitions of what is quick.
    pub(super) repetitions: usize,
    /// Where the files lay, on this machine alone.
    #[serde(skip)]
    scratch: PathBuf,
    /// Why Lance was not measured, if it was not.
    pub(super) no_lance: Option<String>,
    pub(super) tables: Vec<Measured>,
    pub(super) failed: Vec<Failure>,
}

/// A table that could not be measured.
#[derive(Serialize)]
pub(super) struct Failure {
    pub(super) table: String,
    pub(super) why: String,
}

/// One table.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) table: String,
    pub(super) rows: u64,
    pub(super) columns: usize,
    /// The file that rows can be hidden from, which is the default.
    pub(super) hide: Idle,
    /// The file that rows can be erased from.
    pub(super) erase: Idle,
    pub(super) verified: Verified,
    /// Bytes of the same table as Parquet.
    pub(super) parquet_bytes: u64,
    pub(super) parquet_settings: Option<String>,
    /// The dataset of the same table.
    pub(super) lance_bytes: Option<u64>,
    pub(super) cases: Vec<Case>,
    pub(super) one_row: OneRow,
}

/// A file before anything is erased.
#[derive(Serialize)]
pub(super) struct Idle {
    pub(super) file_bytes: u64,
    /// Median, with the sync of the file, without making the table.
    pub(super) write_seconds: f64,
    pub(super) scan_seconds: f64,
}

/// The file of level 2, verified on all threads; medians.
#[derive(Serialize)]
pub(super) struct Verified {
    pub(super) threads: usize,
    /// Every byte against its digest.
    pub(super) digests_seconds: f64,
    /// Also what the bytes decode to, and what the file says of itself.
    pub(super) seconds: f64,
    /// Bytes of the decoded table in Arrow's arrays.
    pub(super) decoded_bytes: u64,
}

/// Some rows, gone.
#[derive(Serialize)]
pub(super) struct Case {
    pub(super) percent: f64,
    pub(super) spread: Spread,
    pub(super) rows: u64,
    pub(super) tarsia: Erased,
    pub(super) parquet: Rewritten,
    /// `None` where it was not measured, or the rows are in too many runs.
    pub(super) lance: Option<Deleted>,
}

/// Tarsia's file, changed in place.
#[derive(Serialize)]
pub(super) struct Erased {
    pub(super) repetitions: usize,
    /// Median of opening, plan and commit.
    pub(super) seconds: f64,
    /// Seconds before the commit, in which the file is not changed yet.
    pub(super) plan_seconds: f64,
    pub(super) blocks: u64,
    pub(super) blocks_moved: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    pub(super) journal_bytes: u64,
    pub(super) bytes_zeroed: u64,
    /// Bytes of the file that have another value than before, or were not there.
    pub(super) bytes_that_differ: u64,
    /// Bytes of all writing system calls: also slots, padding, and the zeros over the journal.
    pub(super) bytes_of_calls: Option<u64>,
    pub(super) file_bytes_before: u64,
    pub(super) file_bytes_after: u64,
    /// Medians, in turns.
    pub(super) scan_seconds_before: f64,
    pub(super) scan_seconds_after: f64,
}

impl Erased {
    /// Bytes of the file that are others, or were written again as they were.
    pub(super) fn bytes_changed(&self) -> u64 {
        self.bytes_written + self.bytes_zeroed
    }

    /// With those of the journal.
    pub(super) fn bytes_with_journal(&self) -> u64 {
        self.bytes_changed() + self.journal_bytes
    }
}

/// Parquet's file, written anew.
#[derive(Serialize)]
pub(super) struct Rewritten {
    pub(super) repetitions: usize,
    pub(super) seconds: f64,
    pub(super) file_bytes: u64,
}

/// Reads by position, of a file without a map.
#[derive(Serialize)]
pub(super) struct Reads {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

impl From<IoStats> for Reads {
    fn from(stats: IoStats) -> Self {
        Self {
            requests: stats.requests,
            bytes: stats.bytes,
        }
    }
}

/// A single row.
#[derive(Serialize)]
pub(super) struct OneRow {
    pub(super) opening: Reads,
    /// All that the plan reads, metadata too.
    pub(super) planning: Reads,
    /// Blocks among it.
    pub(super) block_bytes: u64,
    pub(super) erased: Erased,
}

/// Measures the tables, one after the other.
pub(super) fn measure(arguments: &Arguments, tables: Vec<Table>) -> Result<Erasure> {
    let scratch = match &arguments.scratch {
        Some(folder) => folder.clone(),
        None => {
            let command = std::env::current_exe()?;
            command.parent().context("no folder")?.to_owned()
        }
    };
    let mut erasure = Erasure {
        environment: Environment::here(),
        load: [machine::load(), None],
        repetitions: arguments.reps.max(1),
        scratch,
        no_lance: None,
        tables: Vec::new(),
        failed: Vec::new(),
    };
    let lance = match arguments.no_lance {
        true => Err("`--no-lance`".to_owned()),
        false => Lance::fetched().map_err(|error| format!("{error:#}")),
    };
    let lance = lance.map_err(|why| erasure.no_lance = Some(why)).ok();
    let budget = match arguments.large {
        false => BUDGET_SECONDS,
        true => BUDGET_SECONDS_LARGE,
    };
    for table in tables {
        eprintln!("{}", table.name);
        let bench = Bench {
            folder: tempfile::tempdir_in(&erasure.scratch)?,
            repetitions: erasure.repetitions,
            budget,
            lance: lance.as_ref(),
        };
        match without_panic(|| bench.table(&table)) {
            Ok(measured) => erasure.tables.push(measured),
            Err(error) => erasure.failed.push(Failure {
                table: table.name,
                why: format!("{error:#}"),
            }),
        }
    }
    erasure.load[1] = machine::load();
    Ok(erasure)
}

/// Times of one thing that is done.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn median(&self) -> f64 {
        crate::report::median(self.0.iter().copied()).unwrap_or(f64::NAN)
    }
}

struct Bench<'a> {
    folder: TempDir,
    lance: Option<&'a Lance>,
    repetitions: usize,
    budget: f64,
}

impl Bench<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether it is to be done once more.
    fn more(&self, times: &Times) -> bool {
        self.more_of(self.repetitions, times)
    }

    fn more_of(&self, repetitions: usize, times: &Times) -> bool {
        let spent: f64 = times.0.iter().sum();
        times.0.len() < repetitions && (times.0.is_empty() || spent < self.budget)
    }

    fn table(&self, table: &Table) -> Result<Measured> {
        let (columns, mut parquet) = ((table.make)()?.0.fields().len(), Parquet::new());
        let parquet_settings = self.tune(&mut parquet, &table.make)?;

        let levels = [
            (self.path("hide"), ErasureLevel::Hide),
            (self.path("erase"), ErasureLevel::Erase),
        ];
        let mut writes = [Times::default(), Times::default()];
        while writes.iter().any(|times| self.more(times)) {
            for ((path, level), times) in levels.iter().zip(&mut writes) {
                times.0.push(write(path, &table.make, *level)?);
            }
        }
        let [(hide, _), (erase, _)] = &levels;
        let scans = self.scans([hide, erase])?;
        let rows = rows_of(erase)?.0;
        let [hide, erase] = [0, 1].map(|i| -> Result<Idle> {
            Ok(Idle {
                file_bytes: std::fs::metadata(&levels[i].0)?.len(),
                write_seconds: writes[i].median(),
                scan_seconds: scans[i],
            })
        });
        std::fs::remove_file(&levels[0].0)?;
        let verified = self.verified(&levels[1].0)?;

        let original = self.path("parquet");
        let (schema, batches) = (table.make)()?;
        parquet.write_each(&original, &schema, batches)?;
        let parquet_rows = parquet.rows(&original)?;
        ensure!(
            parquet_rows == rows,
            "Parquet has {parquet_rows} of {rows} rows"
        );

        let (mut cases, mut erased) = (Vec::new(), Vec::new());
        let mut last_count = None;
        for percent in PERCENTS {
            let count = ((rows as f64 * percent / 100.0).round() as u64).max(1);
            if last_count.replace(count) == Some(count) {
                // The same rows of a small table.
                continue;
            }
            for spread in Spread::ALL {
                eprintln!("  {percent} %, {}", spread.label());
                let erase = spread.rows(count, rows);
                let case = self.case(&parquet, rows, &erase, (percent, spread));
                let what = || format!("{percent} % of the rows, {}", spread.label());
                cases.push(case.with_context(what)?);
                erased.push(erase);
            }
        }
        let mut lance_bytes = None;
        if let Some(lance) = self.lance {
            eprintln!("  Lance");
            let folder = self.folder.path();
            let found = lance
                .measure(&original, folder, &erased, self.repetitions, self.budget)
                .context("Lance")?;
            lance_bytes = Some(found.file_bytes);
            for (case, deleted) in cases.iter_mut().zip(found.cases) {
                case.lance = deleted;
            }
        }
        Ok(Measured {
            table: table.name.clone(),
            rows,
            columns,
            hide: hide?,
            erase: erase?,
            verified,
            parquet_bytes: std::fs::metadata(&original)?.len(),
            parquet_settings,
            lance_bytes,
            cases,
            one_row: self.one_row(rows).context("one row")?,
        })
    }

    /// On the first rows of the table.
    fn tune(&self, parquet: &mut Parquet, make: &Make) -> Result<Option<String>> {
        let mut some = Vec::new();
        let mut rows = 0;
        for batch in make()?.1 {
            let batch = batch?;
            rows += batch.num_rows();
            some.push(batch);
            if rows >= TUNING_ROWS {
                break;
            }
        }
        parquet.tune(&self.path("tuned"), &some, Goal::Scans)
    }

    /// Medians of the seconds of two files' scans, in turns.
    fn scans(&self, paths: [&Path; 2]) -> Result<[f64; 2]> {
        let repetitions = self.repetitions * SCANS_OF_A_REPETITION;
        let mut times = [Times::default(), Times::default()];
        while times.iter().any(|times| self.more_of(repetitions, times)) {
            for (path, times) in paths.iter().zip(&mut times) {
                times.0.push(scan(path)?);
            }
        }
        Ok(times.map(|times| times.median()))
    }

    /// Opening counts: verifying needs a file whose checksums nobody has compared yet.
    fn verified(&self, path: &Path) -> Result<Verified> {
        let mut decoded_bytes = 0;
        for batch in tarsia::File::open(path)?.scan().build()? {
            decoded_bytes += batch?.get_array_memory_size() as u64;
        }
        let kinds = [
            tarsia::File::verify_digests as fn(&tarsia::File) -> _,
            tarsia::File::verify,
        ];
        let repetitions = self.repetitions * SCANS_OF_A_REPETITION;
        let mut times = kinds.map(|_| Times::default());
        while times.iter().any(|times| self.more_of(repetitions, times)) {
            for (verify, times) in kinds.iter().zip(&mut times) {
                let started = Instant::now();
                let mut n_times = 0;
                while n_times == 0 || started.elapsed() < REPETITION {
                    verify(&tarsia::File::open(path)?)?;
                    n_times += 1;
                }
                let each = started.elapsed().as_secs_f64() / f64::from(n_times);
                times.0.push(each);
            }
        }
        let [digests, all] = times.map(|times| times.median());
        Ok(Verified {
            threads: rayon::current_num_threads(),
            digests_seconds: digests,
            seconds: all,
            decoded_bytes,
        })
    }

    /// The rows are erased from a fresh copy, and Parquet's file is written anew, in turns.
    fn case(
        &self,
        parquet: &Parquet,
        rows: u64,
        erase: &RowSet,
        (percent, spread): (f64, Spread),
    ) -> Result<Case> {
        let mut tarsia = Erasing::default();
        let mut rewrites = Times::default();
        let rewritten = self.path("rewritten");
        while self.more(&tarsia.seconds) || self.more(&rewrites) {
            if self.more(&tarsia.seconds) {
                self.erase(erase, rows, &mut tarsia)?;
            }
            if self.more(&rewrites) {
                let started = Instant::now();
                parquet.rewrite(&self.path("parquet"), &rewritten, &|range| {
                    kept(erase, range)
                })?;
                rewrites.0.push(started.elapsed().as_secs_f64());
            }
        }
        let left = parquet.rows(&rewritten)?;
        ensure!(left == rows - erase.len(), "Parquet has {left} rows");
        let file_bytes = std::fs::metadata(&rewritten)?.len();
        std::fs::remove_file(&rewritten)?;
        Ok(Case {
            percent,
            spread,
            rows: erase.len(),
            tarsia: tarsia.finish()?,
            parquet: Rewritten {
                repetitions: rewrites.0.len(),
                seconds: rewrites.median(),
                file_bytes,
            },
            lance: None,
        })
    }

    /// Once more. What the file is then is looked at after the first time.
    fn erase(&self, erase: &RowSet, rows: u64, erasing: &mut Erasing) -> Result<()> {
        let (original, copy) = (self.path("erase"), self.path("copy"));
        std::fs::copy(&original, &copy)?;
        // Else the erasure would wait for what the copy has written.
        File::open(&copy)?.sync_all()?;

        let calls_before = bytes_of_write_calls();
        let started = Instant::now();
        let eraser = Eraser::open(&copy, OnBusy::Refuse, one_thread())?;
        let plan = eraser.plan(erase, ErasureLevel::Erase)?;
        let planned = started.elapsed();
        let report = eraser.commit(plan)?;
        let seconds = started.elapsed().as_secs_f64();
        let calls_after = bytes_of_write_calls();
        erasing.seconds.0.push(seconds);
        erasing.plan_seconds.0.push(planned.as_secs_f64());
        erasing.bytes_of_calls = calls_before
            .zip(calls_after)
            .map(|(before, after)| after - before);

        let (_, live) = rows_of(&copy)?;
        let expected = rows - erase.len();
        ensure!(live == expected, "{live} rows are left, not {expected}");
        let erased = report.summary.rows_erased;
        ensure!(
            erased == erase.len(),
            "{erased} of {} rows erased",
            erase.len()
        );
        if erasing.scans.is_none() {
            erasing.bytes_that_differ = bytes_that_differ(&original, &copy)?;
            let file = tarsia::File::open_with(&copy, one_thread())?;
            file.verify()?;
            let mut n_scanned = 0;
            for batch in file.scan().build()? {
                n_scanned += batch?.num_rows() as u64;
            }
            ensure!(
                n_scanned == expected,
                "a scan gives {n_scanned} rows, not {expected}"
            );
            drop(file);
            erasing.scans = Some(self.scans([&original, &copy])?);
        }
        erasing.summary = Some(report.summary);
        std::fs::remove_file(&copy)?;
        Ok(())
    }

    /// Counts what opening a file and planning to erase a row from it reads, and then the erasure.
    fn one_row(&self, rows: u64) -> Result<OneRow> {
        let row = ((rows as f64 * ONE_ROW_AT) as u64).min(rows - 1);
        let row: RowSet = [row].into_iter().collect();
        let reader = Arc::new(CountingReader::new(LocalFile::open(self.path("erase"))?));
        let file = tarsia::File::open_reader(reader.clone(), one_thread())?;
        let opening = reader.reset();
        let plan = file.plan_erasure(&row, ErasureLevel::Erase)?;
        let block_bytes = plan.summary().bytes_read;
        let planning = reader.stats();
        let mut erasing = Erasing::default();
        while self.more(&erasing.seconds) {
            self.erase(&row, rows, &mut erasing)?;
        }
        Ok(OneRow {
            opening: opening.into(),
            planning: planning.into(),
            block_bytes,
            erased: erasing.finish()?,
        })
    }
}

/// Repetitions of an erasure.
#[derive(Default)]
struct Erasing {
    seconds: Times,
    plan_seconds: Times,
    bytes_of_calls: Option<u64>,
    bytes_that_differ: u64,
    summary: Option<ErasureSummary>,
    /// Before and after.
    scans: Option<[f64; 2]>,
}

impl Erasing {
    fn finish(self) -> Result<Erased> {
        let summary = self.summary.context("nothing was erased")?;
        let [scan_seconds_before, scan_seconds_after] = self.scans.context("no scans")?;
        Ok(Erased {
            repetitions: self.seconds.0.len(),
            seconds: self.seconds.median(),
            plan_seconds: self.plan_seconds.median(),
            blocks: summary.blocks,
            blocks_moved: summary.blocks_moved,
            bytes_read: summary.bytes_read,
            bytes_written: summary.bytes_written,
            journal_bytes: summary.journal_bytes,
            bytes_zeroed: summary.bytes_zeroed,
            bytes_that_differ: self.bytes_that_differ,
            bytes_of_calls: self.bytes_of_calls,
            file_bytes_before: summary.file_bytes_before,
            file_bytes_after: summary.file_bytes_after,
            scan_seconds_before,
            scan_seconds_after,
        })
    }
}

fn one_thread() -> OpenOptions {
    OpenOptions::new().with_threads(tarsia::Threads::One)
}

/// Seconds in the writer, without making the batches.
fn write(path: &Path, make: &Make, level: ErasureLevel) -> Result<f64> {
    let (schema, batches) = make()?;
    let options = write_options(tarsia::Threads::One).with_erasure(level);
    let mut spent = Duration::ZERO;
    let mut started = Instant::now();
    let mut writer = Writer::create(path, schema, options)?;
    spent += started.elapsed();
    for batch in batches {
        let batch: RecordBatch = batch?;
        started = Instant::now();
        writer.write(&batch)?;
        spent += started.elapsed();
    }
    started = Instant::now();
    writer.finish()?;
    spent += started.elapsed();
    Ok(spent.as_secs_f64())
}

/// Seconds of a scan of all columns of the file, which is open. The first scan of a file checks its checksums, and does
/// not count.
fn scan(path: &Path) -> Result<f64> {
    let file = tarsia::File::open_with(path, one_thread())?;
    let scan = || -> Result<()> {
        for batch in file.scan().build()? {
            black_box(touch::batch(&batch?));
        }
        Ok(())
    };
    scan()?;
    let started = Instant::now();
    let mut n_scans = 0;
    while n_scans == 0 || started.elapsed() < REPETITION {
        scan()?;
        n_scans += 1;
    }
    Ok(started.elapsed().as_secs_f64() / f64::from(n_scans))
}

/// Rows of a file, and those that are not deleted.
fn rows_of(path: &Path) -> Result<(u64, u64)> {
    let file = tarsia::File::open(path)?;
    Ok((file.num_rows(), file.live_rows()))
}

/// Which rows of a range stay; nothing if all do.
fn kept(erased: &RowSet, range: std::ops::Range<u64>) -> Option<BooleanArray> {
    if erased.count(range.clone()) == 0 {
        return None;
    }
    let mut kept = BooleanBufferBuilder::new((range.end - range.start) as usize);
    let mut row = range.start;
    for gap in erased.ranges(range.clone()) {
        kept.append_n((gap.start - row) as usize, true);
        kept.append_n((gap.end - gap.start) as usize, false);
        row = gap.end;
    }
    kept.append_n((range.end - row) as usize, true);
    Some(BooleanArray::new(kept.finish(), None))
}

/// Places at which two files have other bytes, and the bytes that the longer one has more.
fn bytes_that_differ(before: &Path, after: &Path) -> Result<u64> {
    let open = |path| -> Result<(BufReader<File>, u64)> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok((BufReader::with_capacity(1 << 20, file), bytes))
    };
    let ((mut before, n_before), (mut after, n_after)) = (open(before)?, open(after)?);
    let mut differ = n_before.abs_diff(n_after);
    loop {
        let (a, b) = (before.fill_buf()?, after.fill_buf()?);
        let n = a.len().min(b.len());
        if n == 0 {
            return Ok(differ);
        }
        differ += a.iter().zip(b).filter(|(a, b)| a != b).count() as u64;
        before.consume(n);
        after.consume(n);
    }
}

/// Bytes that this process has handed to writing system calls so far.
fn bytes_of_write_calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("wchar:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_stay() {
        let erased: RowSet = [3, 4, 7, 12].into_iter().collect();
        let stay =
            |range| kept(&erased, range).map(|kept| kept.iter().flatten().collect::<Vec<_>>());
        assert_eq!(stay(0..3), None);
        assert_eq!(stay(5..7), None);
        assert_eq!(stay(3..5), Some(vec![false, false]));
        assert_eq!(
            stay(2..8),
            Some(vec![true, false, false, true, true, false])
        );
    }

    #[test]
    fn a_table_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench {
            folder,
            repetitions: 1,
            budget: 0.0,
            lance: None,
        };
        let make = || {
            let (schema, batches) =
                crate::types::lineitem::table(0.001, &arrow_schema::DataType::Utf8);
            Ok((
                schema,
                Box::new(batches) as crate::speed::measuring::Batches,
            ))
        };
        let table = Table {
            name: "lineitem".to_owned(),
            make: Box::new(make),
        };
        let measured = bench.table(&table).unwrap();
        assert_eq!((measured.rows, measured.columns), (6_005, 16));
        assert_eq!(measured.cases.len(), 10);
        assert_eq!(measured.cases[9].rows, 1_201);
        assert!(measured.cases.iter().all(|case| case.tarsia.blocks >= 16));
        assert!(measured.one_row.planning.bytes >= measured.one_row.block_bytes);
    }
}
