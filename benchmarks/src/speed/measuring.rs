//! All tables, one after the other; nothing that fails there stops the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::child::{Launcher, Outcome, Peer};
use super::cold::{self, Evictions};
use super::protocol::{Answer, Goal, Request};
use super::random::Random;
use super::random_access::{self, Shape};
use super::{
    Arguments, Failure, FormatName, Measure, Speed, Table, Threads, features, generate, ipc, lance,
    limits,
};
use crate::machine::{self, Environment};
use crate::over_tables;
use crate::sizes::tables;

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// Answers are waited for so long.
const LIMIT: Duration = Duration::from_secs(600);

/// Limit for tables of very many columns, for which some formats are not made.
const LIMIT_WIDE: Duration = Duration::from_secs(120);

/// A format that has spent so many seconds on the repetitions of a measure is not asked to repeat it again.
const BUDGET_SECONDS: f64 = 15.0;

/// Writing a file that took so many seconds counts as a repetition of writing.
const SLOW_WRITE_SECONDS: f64 = 5.0;

/// Tables of more columns are not read row by row.
const TAKE_COLUMNS_MAX: usize = 10_000;

const WIDTHS: [usize; 3] = [1_000, 10_000, 100_000];

/// Batches of a table, made one by one.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Makes a table.
pub(crate) type Make = Box<dyn Fn() -> Result<(SchemaRef, Batches)>>;

/// Where a table comes from.
enum Source {
    Parquet(PathBuf),
    Mixed(usize),
    Wide(usize),
    /// Columns and rows of lists, structs, strings and numbers.
    Features(usize, usize),
    RandomAccess(Shape),
    /// By another command, which wants scans alone.
    Made(Make),
}

impl Source {
    fn is_wide(&self) -> bool {
        matches!(self, Self::Wide(_) | Self::Features(..))
    }

    /// Whether all of it is read on one thread, too. It is not where some formats would take minutes.
    fn is_scanned(&self) -> bool {
        !matches!(self, Self::Wide(_))
    }

    fn goal(&self) -> Goal {
        match self {
            Self::RandomAccess(_) => Goal::RandomRows,
            Self::Made(_) => Goal::Scans,
            _ => Goal::Everything,
        }
    }

    /// Columns of lists and structs.
    fn nested_columns(&self) -> Result<usize> {
        Ok(match self {
            Self::Parquet(path) => tables::open(path)?.nested.len(),
            Self::Mixed(_) | Self::Wide(_) | Self::Made(_) => 0,
            Self::Features(n_columns, _) => *n_columns,
            Self::RandomAccess(shape) => {
                let schema = shape.schema();
                let fields = schema.fields().iter();
                fields.filter(|f| f.data_type().is_nested()).count()
            }
        })
    }

    /// Makes the file that all processes read.
    fn make(&self, path: &Path) -> Result<()> {
        let (schema, batches): (SchemaRef, Batches) = match self {
            Self::Parquet(source) => {
                let file = std::fs::File::open(source)?;
                let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
                let schema = builder.schema().clone();
                let reader = builder.with_batch_size(BATCH_ROWS).build()?;
                (schema, Box::new(reader.map(|batch| Ok(batch?))))
            }
            Self::Mixed(n_rows) => {
                let mut batches = generate::mixed(*n_rows).peekable();
                let schema = match batches.peek() {
                    Some(Ok(batch)) => batch.schema(),
                    _ => bail!("no rows"),
                };
                (schema, Box::new(batches))
            }
            Self::Wide(n_columns) => {
                let batch = generate::wide(*n_columns)?;
                (batch.schema(), Box::new(std::iter::once(Ok(batch))))
            }
            Self::Features(n_columns, n_rows) => {
                let batch = features::batch(*n_columns, *n_rows)?;
                (batch.schema(), Box::new(std::iter::once(Ok(batch))))
            }
            Self::RandomAccess(shape) => (shape.schema(), Box::new(shape.batches(shape.rows()))),
            Self::Made(make) => make()?,
        };
        ipc::write(path, &schema, batches)?;
        Ok(())
    }
}

/// Folders of a run.
struct Folders {
    /// Where files are written and read.
    scratch: tempfile::TempDir,
    /// Where they lie to be read from the disk; `None` where there is no disk.
    cold: Option<tempfile::TempDir>,
}

/// Measures all tables; `save` is called after each.
pub(super) fn measure(
    folder: &Path,
    arguments: &Arguments,
    save: &dyn Fn(&Speed) -> Result<()>,
) -> Result<Speed> {
    let mut left_out = Vec::new();
    let mut environment = Environment::here();
    let mut formats = FormatName::BUILT_IN.to_vec();
    let lance_python = lance_python(arguments, &mut left_out)?;
    if lance_python.is_some() {
        formats.push(FormatName::Lance);
        environment.versions.extend(lance::versions());
    }
    let launcher = Launcher {
        lance_python,
        preset: arguments.preset.clone(),
    };
    let folders = folders(arguments, &mut left_out)?;
    let mut sources = Vec::new();
    for path in tables::parquet_files(folder)? {
        let name = tables::name(&path);
        sources.push((name, Source::Parquet(path)));
    }
    let mixed = "generated_mixed".to_owned();
    sources.push((mixed, Source::Mixed(generate::MIXED_ROWS)));
    if arguments.no_large {
        left_out.push("the table of 1 GiB (`--no-large`)".to_owned());
    } else {
        let large = "generated_large".to_owned();
        sources.push((large, Source::Mixed(generate::LARGE_ROWS)));
    }
    for shape in Shape::ALL.into_iter().chain(Shape::STRUCTS) {
        let name = format!("{}{}", random_access::PREFIX, shape.name());
        sources.push((name, Source::RandomAccess(shape)));
    }
    for n_columns in WIDTHS {
        let name = format!("generated_wide_{n_columns}");
        sources.push((name, Source::Wide(n_columns)));
    }
    if let Some(text) = &arguments.table {
        sources.retain(|(name, _)| name.contains(text));
        if sources.is_empty() {
            bail!("no table is named like {text}");
        }
    }
    let mut failed = Vec::new();
    sources.retain(|(name, source)| {
        let Source::Parquet(path) = source else {
            return true;
        };
        match tables::open(path) {
            Ok(_) => return true,
            Err(error) => failed.push(Failure {
                table: name.clone(),
                format: None,
                why: format!("{error:#}"),
                late: false,
            }),
        }
        false
    });

    let mut speed = Speed {
        left_out,
        failed,
        ..nothing(environment, arguments.reps, formats)
    };
    measure_sources(&mut speed, &launcher, &folders, sources, save)?;
    Ok(speed)
}

/// Scans tables that another command makes, by all formats but Lance.
pub(crate) fn scans(
    tables: Vec<(String, Make)>,
    reps: usize,
    scratch: Option<&PathBuf>,
) -> Result<Speed> {
    let launcher = Launcher {
        lance_python: None,
        preset: None,
    };
    let folders = Folders {
        scratch: scratch_folder(scratch)?,
        cold: None,
    };
    let formats = FormatName::BUILT_IN.to_vec();
    let mut speed = nothing(Environment::here(), reps, formats);
    let sources = tables.into_iter();
    let sources = sources.map(|(name, make)| (name, Source::Made(make)));
    measure_sources(&mut speed, &launcher, &folders, sources.collect(), &|_| {
        Ok(())
    })?;
    Ok(speed)
}

/// Tables of features, of so many columns and rows each, as all formats write, open and scan them.
pub(crate) fn wide(
    sizes: &[(usize, usize)],
    reps: usize,
    scratch: Option<&PathBuf>,
) -> Result<Speed> {
    let mut environment = Environment::here();
    let mut formats = FormatName::BUILT_IN.to_vec();
    formats.push(FormatName::Lance);
    environment.versions.extend(lance::versions());
    let launcher = Launcher {
        lance_python: Some(lance::python()?),
        preset: None,
    };
    let folders = Folders {
        scratch: scratch_folder(scratch)?,
        cold: None,
    };
    let mut speed = nothing(environment, reps, formats);
    let source = |&(columns, rows): &(usize, usize)| {
        let name = format!("features_{columns}_{rows}");
        (name, Source::Features(columns, rows))
    };
    let sources = sizes.iter().map(source).collect();
    measure_sources(&mut speed, &launcher, &folders, sources, &|_| Ok(()))?;
    Ok(speed)
}

/// A run before its first table.
fn nothing(environment: Environment, reps: usize, formats: Vec<FormatName>) -> Speed {
    Speed {
        environment,
        load: [machine::load(), None],
        repetitions: reps.max(1),
        limits: limits::measure(),
        formats,
        tables: Vec::new(),
        evictions: Evictions::default(),
        left_out: Vec::new(),
        failed: Vec::new(),
    }
}

fn measure_sources(
    speed: &mut Speed,
    launcher: &Launcher,
    folders: &Folders,
    sources: Vec<(String, Source)>,
    save: &dyn Fn(&Speed) -> Result<()>,
) -> Result<()> {
    for (name, source) in sources {
        let begin = std::time::Instant::now();
        eprintln!("{name}");
        if let Err(error) = measure_table(speed, launcher, folders, &name, &source) {
            eprintln!("{name}: {error:#}");
            speed.failed.push(Failure {
                table: name.clone(),
                format: None,
                why: format!("{error:#}"),
                late: false,
            });
        }
        eprintln!("  {:.0} s", begin.elapsed().as_secs_f64());
        // The next table's files are to find the memory free.
        for folder in std::iter::once(&folders.scratch).chain(&folders.cold) {
            clear(folder.path())?;
        }
        speed.load[1] = machine::load();
        save(speed)?;
    }
    Ok(())
}

fn lance_python(arguments: &Arguments, left_out: &mut Vec<String>) -> Result<Option<PathBuf>> {
    if arguments.no_lance {
        left_out.push("Lance (`--no-lance`)".to_owned());
        return Ok(None);
    }
    match lance::python() {
        Ok(python) => Ok(Some(python)),
        Err(error) if arguments.lance => bail!("Lance cannot be had: {error:#}"),
        Err(error) => {
            eprintln!("Lance is left out: {error:#}");
            left_out.push(format!("Lance, since it cannot be had here: {error:#}"));
            Ok(None)
        }
    }
}

fn folders(arguments: &Arguments, left_out: &mut Vec<String>) -> Result<Folders> {
    let scratch = scratch_folder(arguments.scratch.as_ref())?;
    let exe = std::env::current_exe()?;
    let cold = match &arguments.cold {
        Some(folder) => folder.as_path(),
        None => exe.parent().context("the command lies nowhere")?,
    };
    let cold = if cold::is_on_disk(cold) {
        Some(tempfile::tempdir_in(cold)?)
    } else {
        left_out.push("cold takes, since their folder is not on a disk (`--cold`)".to_owned());
        None
    };
    Ok(Folders { scratch, cold })
}

/// Memory, so that no format waits for a disk; what a disk adds is in the cold takes.
fn scratch_folder(named: Option<&PathBuf>) -> Result<tempfile::TempDir> {
    match named {
        Some(folder) => Ok(tempfile::tempdir_in(folder)?),
        None => over_tables::folder_in_memory(),
    }
}

fn clear(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => std::fs::remove_dir_all(path)?,
            false => std::fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// A table while it is measured.
struct Measuring<'r> {
    folders: &'r Folders,
    table: Table,
    goal: Goal,
    is_scanned: bool,
    columns: Vec<String>,
    fixed_width: Vec<String>,
    /// Whether there are byte strings.
    binary: bool,
    limit: Duration,
    /// Measures that have failed, which are not tried again.
    given_up: BTreeSet<(FormatName, Measure)>,
    failed: Vec<Failure>,
    evictions: &'r mut Evictions,
}

fn measure_table(
    speed: &mut Speed,
    launcher: &Launcher,
    folders: &Folders,
    name: &str,
    source: &Source,
) -> Result<()> {
    let mut measuring = Measuring {
        folders,
        table: Table {
            table: name.to_owned(),
            rows: 0,
            columns: 0,
            fixed_width_columns: 0,
            arrow_bytes: 0,
            nested_columns: source.nested_columns()?,
            wide: source.is_wide(),
            file_bytes: BTreeMap::new(),
            kernel_bytes: BTreeMap::new(),
            settings: BTreeMap::new(),
            seconds: BTreeMap::new(),
            peak_bytes_of_write: BTreeMap::new(),
            peak_bytes_of_scan: BTreeMap::new(),
            lance_overhead_seconds: None,
        },
        goal: source.goal(),
        is_scanned: source.is_scanned(),
        columns: Vec::new(),
        fixed_width: Vec::new(),
        binary: false,
        limit: if source.is_wide() { LIMIT_WIDE } else { LIMIT },
        given_up: BTreeSet::new(),
        failed: Vec::new(),
        evictions: &mut speed.evictions,
    };
    let table = measuring.file("arrow");
    source.make(&table).context("making the table")?;
    let mut peers = Vec::new();
    for &format in &speed.formats {
        peers.extend(measuring.prepare(launcher, format, &table));
    }
    measuring.repetitions(&mut peers, speed.repetitions);
    if !source.is_wide() {
        for peer in &mut peers {
            if peer.format == FormatName::Lance {
                measuring.overhead(peer);
            }
        }
    }
    drop(peers);
    if source.is_scanned() && source.goal() != Goal::Scans {
        for &format in &speed.formats {
            // What has no file has failed already.
            if measuring.table.file_bytes.contains_key(&format) {
                measuring.peaks(launcher, format, &table);
            }
        }
    }
    let Measuring { table, failed, .. } = measuring;
    speed.tables.push(table);
    speed.failed.extend(failed);
    Ok(())
}

impl Measuring<'_> {
    /// In the folder of files that are in memory.
    fn file(&self, ending: &str) -> PathBuf {
        let folder = self.folders.scratch.path();
        folder.join(format!("{}.{ending}", self.table.table))
    }

    /// The copy on the disk.
    fn cold_file(&self, format: FormatName) -> Option<PathBuf> {
        let name = format!("{}.{}", self.table.table, format.name());
        Some(self.folders.cold.as_ref()?.path().join(name))
    }

    fn fail(&mut self, format: FormatName, why: String, late: bool) {
        eprintln!("{}, {}: {why}", self.table.table, format.name());
        self.failed.push(Failure {
            table: self.table.table.clone(),
            format: Some(format),
            why,
            late,
        });
    }

    /// The answer, unless something went wrong, which is noted.
    fn answer(&mut self, format: FormatName, what: &str, outcome: Outcome) -> Option<Answer> {
        match outcome {
            Outcome::Answer(answer) => return Some(answer),
            Outcome::Failed(why) => self.fail(format, format!("{what}: {why}"), false),
            Outcome::Late(limit) => {
                let why = format!("{what}: not in {} s", limit.as_secs());
                self.fail(format, why, true);
            }
        }
        None
    }

    fn add_seconds(&mut self, measure: Measure, format: FormatName, seconds: f64) {
        let times = self.table.seconds.entry(measure).or_default();
        times.entry(format).or_default().push(seconds);
    }

    /// A peer with the table in memory and in a file that gives it back. `None` if there is no such peer.
    fn prepare(&mut self, launcher: &Launcher, format: FormatName, table: &Path) -> Option<Peer> {
        let goal = self.goal;
        let mut peer = match launcher.start(format) {
            Ok(peer) => peer,
            Err(error) => {
                self.fail(format, format!("{error:#}"), false);
                return None;
            }
        };
        let request = Request::Load {
            table: table.to_owned(),
        };
        let outcome = peer.ask_each(&request, LIMIT);
        let Answer::Loaded {
            rows,
            columns,
            fixed_width,
            binary,
            arrow_bytes,
        } = self.answer(format, "reading the table", outcome)?
        else {
            self.misunderstood(format);
            return None;
        };
        // Python counts the bytes of Arrow arrays in another way.
        if self.columns.is_empty() && format != FormatName::Lance {
            (self.table.rows, self.table.columns) = (rows, columns.len());
            self.table.fixed_width_columns = fixed_width.len();
            self.table.arrow_bytes = arrow_bytes;
            (self.columns, self.fixed_width) = (columns, fixed_width);
            self.binary = binary;
        }

        let file = self.file(format.name());
        let (threads, measure) = match self.table.wide {
            true => (Threads::One, Measure::WriteOne),
            false => (Threads::All, Measure::WriteAll),
        };
        let request = Request::Store {
            file: file.clone(),
            threads,
            goal,
        };
        let outcome = peer.ask(&request, self.limit);
        let Answer::Stored {
            seconds,
            file_bytes,
            kernel_bytes,
            settings,
        } = self.answer(format, "write", outcome)?
        else {
            self.misunderstood(format);
            return None;
        };
        if seconds > SLOW_WRITE_SECONDS {
            self.add_seconds(measure, format, seconds);
        }
        self.table.kernel_bytes.insert(format, kernel_bytes);
        let check = Request::Check {
            file: file.clone(),
            goal,
        };
        let outcome = match self.is_scanned {
            true => peer.ask_each(&check, self.limit),
            false => peer.ask(&check, self.limit),
        };
        let Answer::Checked {
            settings: settings_of_reading,
        } = self.answer(format, "reading back", outcome)?
        else {
            self.misunderstood(format);
            return None;
        };
        self.table.file_bytes.insert(format, file_bytes);
        if let Some(settings) = settings.or(settings_of_reading) {
            self.table.settings.insert(format, settings);
        }
        if let Some(cold) = self.cold_file(format)
            && !self.table.wide
            && let Err(error) = cold::copy(&file, &cold)
        {
            self.fail(format, format!("copying to the disk: {error:#}"), false);
        }
        Some(peer)
    }

    fn misunderstood(&mut self, format: FormatName) {
        self.fail(format, "an answer to another question".to_owned(), false);
    }

    fn repetitions(&mut self, peers: &mut Vec<Peer>, repetitions: usize) {
        let measures = || {
            let ordinary = Measure::ORDINARY.iter().chain(&Measure::MORE_TAKES);
            let views = Measure::VIEWS.iter().filter(|_| self.binary);
            match (self.goal, self.table.wide) {
                (Goal::Scans, _) => Measure::SCANS.to_vec(),
                (_, true) if self.is_scanned => Measure::FEATURES.to_vec(),
                (_, true) => Measure::WIDE.to_vec(),
                (_, false) => ordinary.chain(views).copied().collect(),
            }
        };
        let measures = measures();
        for repetition in 0..repetitions {
            for &measure in &measures {
                // Nobody is always the first.
                let first = repetition % peers.len().max(1);
                peers.rotate_left(first);
                for peer in &mut *peers {
                    self.repetition(peer, measure, repetition);
                }
            }
            peers.retain(Peer::is_alive);
        }
    }

    fn repetition(&mut self, peer: &mut Peer, measure: Measure, repetition: usize) {
        let format = peer.format;
        let done = self
            .table
            .seconds
            .get(&measure)
            .and_then(|m| m.get(&format));
        let spent: f64 = done.map_or(0.0, |seconds| seconds.iter().sum());
        if self.given_up.contains(&(format, measure)) || spent > BUDGET_SECONDS || !peer.is_alive()
        {
            return;
        }
        // The same for all formats.
        let mut random = Random::new(((repetition as u64) << 8) | measure as u64);
        let Some(request) = self.request(measure, &mut random, format) else {
            return;
        };
        if let Request::OpenAndTake { file, .. } = &request
            && let Err(error) = cold::evict(file, self.evictions)
        {
            self.given_up.insert((format, measure));
            self.fail(format, format!("{}: {error:#}", measure.label()), false);
            return;
        }
        let outcome = peer.ask(&request, self.limit);
        match self.answer(format, measure.label(), outcome) {
            Some(Answer::Seconds(seconds)) => self.add_seconds(measure, format, seconds),
            Some(_) => {
                self.given_up.insert((format, measure));
                self.misunderstood(format);
            }
            None => {
                self.given_up.insert((format, measure));
            }
        }
    }

    /// `None` where the table is too small for it to say anything new, or has nothing of the kind.
    fn request(
        &self,
        measure: Measure,
        random: &mut Random,
        format: FormatName,
    ) -> Option<Request> {
        let columns = &self.columns;
        let rows = self.table.rows;
        let some_columns = |random: &mut Random, count| -> Vec<String> {
            let indices = random.rows(count, columns.len()).into_iter();
            indices
                .filter_map(|i| columns.get(usize::try_from(i).ok()?).cloned())
                .collect()
        };
        let take = |random: &mut Random, n_lists: usize, count: usize, columns| {
            (rows > count).then(|| Request::Take {
                lists: (0..=n_lists).map(|_| random.rows(count, rows)).collect(),
                columns,
            })
        };
        let fixed_width = || (!self.fixed_width.is_empty()).then(|| self.fixed_width.clone());
        let cold_take = |random: &mut Random, count: usize| {
            Some(Request::OpenAndTake {
                file: self.cold_file(format).filter(|_| rows > count)?,
                rows: random.rows(count, rows),
            })
        };
        Some(match measure {
            Measure::WriteOne => Request::Write {
                threads: Threads::One,
            },
            Measure::WriteAll => Request::Write {
                threads: Threads::All,
            },
            Measure::Open => Request::Open {
                column: some_columns(random, 1).pop()?,
            },
            Measure::ScanOne => Request::Scan {
                threads: Threads::One,
                columns: None,
            },
            Measure::ScanAll => Request::Scan {
                threads: Threads::All,
                columns: None,
            },
            // pylance gives the types that were written.
            Measure::ScanOneAsViews | Measure::ScanAllAsViews if format == FormatName::Lance => {
                return None;
            }
            Measure::ScanOneAsViews => Request::ScanAsViews {
                threads: Threads::One,
            },
            Measure::ScanAllAsViews => Request::ScanAsViews {
                threads: Threads::All,
            },
            Measure::ScanTwoColumns if columns.len() <= 2 => return None,
            Measure::ScanTwoColumns => Request::Scan {
                threads: Threads::All,
                columns: Some(some_columns(random, 2)),
            },
            Measure::OpenAndScanTen => Request::OpenAndScan {
                columns: some_columns(random, 10),
            },
            Measure::TakeOneRow if columns.len() > TAKE_COLUMNS_MAX => return None,
            Measure::TakeOneRow => take(random, 32, 1, None)?,
            Measure::TakeSixteenRows => take(random, 16, 16, None)?,
            Measure::TakeManyRows => take(random, 8, 256, None)?,
            Measure::TakeOneRowFixedWidth => take(random, 32, 1, Some(fixed_width()?))?,
            Measure::TakeSixteenRowsFixedWidth => take(random, 16, 16, Some(fixed_width()?))?,
            Measure::TakeManyRowsFixedWidth => take(random, 8, 256, Some(fixed_width()?))?,
            Measure::ColdTakeOneRow => cold_take(random, 1)?,
            Measure::ColdTakeSixteenRows => cold_take(random, 16)?,
            Measure::ColdTakeManyRows => cold_take(random, 256)?,
        })
    }

    fn overhead(&mut self, peer: &mut Peer) {
        let request = Request::Overhead {
            file: self.file("overhead"),
        };
        let outcome = peer.ask(&request, LIMIT);
        match self.answer(peer.format, "overhead", outcome) {
            Some(Answer::Overhead(overhead)) => self.table.lance_overhead_seconds = Some(overhead),
            Some(_) => self.misunderstood(peer.format),
            None => {}
        }
    }

    /// A process for each measurement, so that none finds memory that another has left.
    fn peaks(&mut self, launcher: &Launcher, format: FormatName, table: &Path) {
        let settings = self.table.settings.get(&format).cloned();
        let load = Request::Load {
            table: table.to_owned(),
        };
        let write = Request::PeakOfWrite {
            file: self.file("peak"),
            settings: settings.clone(),
        };
        let scan = Request::PeakOfScan {
            table: table.to_owned(),
            file: self.file(format.name()),
            settings,
        };
        if let Some(bytes) = self.peak(launcher, format, &[load, write]) {
            self.table.peak_bytes_of_write.insert(format, bytes);
        }
        if let Some(bytes) = self.peak(launcher, format, &[scan]) {
            self.table.peak_bytes_of_scan.insert(format, bytes);
        }
    }

    /// The answer to the last request.
    fn peak(
        &mut self,
        launcher: &Launcher,
        format: FormatName,
        requests: &[Request],
    ) -> Option<u64> {
        let mut peer = match launcher.fresh(format) {
            Ok(peer) => peer,
            Err(error) => {
                self.fail(format, format!("{error:#}"), false);
                return None;
            }
        };
        let mut bytes = None;
        for request in requests {
            let outcome = peer.ask(request, self.limit);
            bytes = match self.answer(format, "peak memory", outcome)? {
                Answer::Bytes(bytes) => Some(bytes),
                Answer::Loaded { .. } => None,
                _ => {
                    self.misunderstood(format);
                    None
                }
            };
        }
        bytes
    }
}
