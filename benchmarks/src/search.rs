//! What part of writing the search for trees of encodings takes.

use std::path::PathBuf;

#[cfg(not(feature = "tarsia"))]
use anyhow::Result;

/// Every table, written in turns with the search and with the trees that it found. What the search finds out and
/// encoding needs anyway (the distinct values of a dictionary) is in both.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; else TARSIA_DATA, else shared/data beside the repository.
    folder: Option<PathBuf>,
    /// Tables whose name contains this; the docs are not rewritten then.
    #[arg(long)]
    table: Option<String>,
    /// Repetitions, of which the median counts.
    #[arg(long, default_value_t = 9)]
    reps: usize,
    /// Leave docs/benchmarks.md and the results as they are.
    #[arg(long)]
    no_docs: bool,
}

#[cfg(not(feature = "tarsia"))]
pub(crate) fn run(_: &Arguments) -> Result<()> {
    anyhow::bail!("built without Tarsia")
}

#[cfg(feature = "tarsia")]
pub(crate) use measuring::run;

#[cfg(feature = "tarsia")]
mod measuring {
    use std::collections::VecDeque;
    use std::fmt::Write as _;
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Instant;

    use anyhow::{Context, Result, ensure};
    use arrow_array::RecordBatch;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use serde::Serialize;
    use tarsia::choose::{Choice, Choose, Chooser, Objective};
    use tarsia::codec::Statistics;
    use tarsia::{EmbedKernels, PageChooser, Threads, WriteOptions, Writer};

    use super::Arguments;
    use crate::machine::{self, Environment};
    use crate::report::{median, refresh_docs, table};
    use crate::sizes::tables;

    /// The part of writing that the search may take.
    const SHARE_MAX: f64 = 1.0 / 3.0;

    #[derive(Serialize)]
    struct Row {
        table: String,
        /// On one thread, to memory, without a kernel.
        search_seconds: f64,
        replay_seconds: f64,
    }

    impl Row {
        fn share(&self) -> f64 {
            1.0 - self.replay_seconds / self.search_seconds
        }
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let repository = machine::repository()?;
        let folder = machine::data_folder(arguments.folder.as_ref())?;
        let mut rows = Vec::new();
        for path in tables::parquet_files(&folder)? {
            let name = tables::name(&path);
            let skipped = arguments.table.as_ref().is_some_and(|t| !name.contains(t));
            if skipped {
                continue;
            }
            let row = measure(&path, arguments.reps.max(1)).with_context(|| name)?;
            eprintln!("{}: {:.3}", row.table, row.share());
            rows.push(row);
        }
        let report = Report {
            environment: Environment::here(),
            rows,
        };
        let section = markdown(&report);
        println!("{section}");
        if arguments.table.is_none() && !arguments.no_docs {
            let json = serde_json::to_string_pretty(&report)?;
            let results = repository.join("benchmarks/results/search.json");
            std::fs::write(results, json + "\n")?;
            let docs = repository.join("docs/benchmarks.md");
            refresh_docs(&docs, "search", "Search", &section)?;
        }
        Ok(())
    }

    /// Searches, and notes what is found, in order.
    struct Recording {
        chooser: Chooser,
        choices: Mutex<VecDeque<Choice>>,
    }

    impl Choose for Recording {
        fn choose(&self, values: &Statistics<'_>) -> tarsia::codec::Result<Choice> {
            let choice = self.chooser.choose(values)?;
            let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
            choices.push_back(choice.clone());
            Ok(choice)
        }
    }

    /// Says in the same order what was found before.
    struct Replay {
        choices: Mutex<VecDeque<Choice>>,
    }

    impl Choose for Replay {
        fn choose(&self, _: &Statistics<'_>) -> tarsia::codec::Result<Choice> {
            let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
            let next = choices.pop_front();
            next.ok_or_else(|| tarsia::codec::Error::invalid("more choices than were recorded"))
        }
    }

    fn measure(path: &Path, reps: usize) -> Result<Row> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?
            .with_batch_size(65_536)
            .build()?;
        let batches = reader.collect::<Result<Vec<RecordBatch>, _>>()?;
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory)?,
            false => tempfile::tempdir()?,
        };
        let write = |chooser: Option<PageChooser>| -> Result<(f64, Vec<u8>)> {
            let to = folder.path().join("t.tarsia");
            let schema = batches.first().context("an empty table")?.schema();
            let options = match chooser {
                Some(chooser) => WriteOptions::new().with_chooser(chooser),
                None => WriteOptions::new(),
            };
            let options = options
                .with_embed_kernels(EmbedKernels::Omit)
                .with_threads(Threads::One)
                .with_deterministic(true);
            let started = Instant::now();
            let mut writer = Writer::create(&to, schema, options)?;
            for batch in &batches {
                writer.write(batch)?;
            }
            writer.finish()?;
            let seconds = started.elapsed().as_secs_f64();
            let bytes = std::fs::read(&to)?;
            std::fs::remove_file(&to)?;
            Ok((seconds, bytes))
        };
        let recording = Arc::new(Recording {
            chooser: Chooser::new(tarsia::registry().clone(), Objective::Balanced),
            choices: Mutex::default(),
        });
        let (_, by_search) = write(Some(PageChooser::new(recording.clone())))?;
        let choices = recording
            .choices
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..reps {
            seconds[0].push(write(None)?.0);
            let replay = Replay {
                choices: Mutex::new(choices.clone()),
            };
            let (replayed, bytes) = write(Some(PageChooser::new(Arc::new(replay))))?;
            ensure!(
                bytes == by_search,
                "the trees that were found make another file"
            );
            seconds[1].push(replayed);
        }
        let [search_seconds, replay_seconds] =
            seconds.map(|seconds| median(seconds.into_iter()).unwrap_or(f64::NAN));
        Ok(Row {
            table: tables::name(path),
            search_seconds,
            replay_seconds,
        })
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let shares = || report.rows.iter().map(Row::share);
        let sum = |of: fn(&Row) -> f64| report.rows.iter().map(of).sum::<f64>();
        let _ = writeln!(
            out,
            "Each table is written on one thread, to memory, in turns: with the search, and with the trees that the \
             search found\n(both files are equal: asserted). The share is what the second saves. Medians of the times. \
             Measured by\n`cargo run --release -- search` in `benchmarks/`, which rewrites this section.\n\n{}.\n",
            report.environment.line()
        );
        let _ = writeln!(
            out,
            "Share of the search: median {:.3}, of all tables together {:.3}, largest {:.3} (at most {SHARE_MAX:.3} is \
             asked for).\n",
            median(shares()).unwrap_or(f64::NAN),
            1.0 - sum(|row| row.replay_seconds) / sum(|row| row.search_seconds),
            shares().fold(f64::NEG_INFINITY, f64::max),
        );
        let header = ["table", "with search ms", "with trees ms", "share"];
        let mut cells = vec![header.map(str::to_owned)];
        cells.extend(report.rows.iter().map(|row| {
            [
                row.table.clone(),
                format!("{:.3}", row.search_seconds * 1e3),
                format!("{:.3}", row.replay_seconds * 1e3),
                format!("{:.3}", row.share()),
            ]
        }));
        out.push_str(&table(&cells));
        out
    }
}
