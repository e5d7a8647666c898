//! Part of writing that the search for trees of encodings takes.

#[cfg(not(feature = "tarsia"))]
use anyhow::Result;

use crate::over_tables::Arguments;

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
    use serde::Serialize;
    use tarsia::choose::{Choice, Choose, Chooser, Objective};
    use tarsia::codec::Statistics;
    use tarsia::{EmbedKernels, PageChooser, Threads, WriteOptions, Writer};

    use super::Arguments;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::report::{median, table};
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

    /// Every table, written in turns with the search and with the trees that it found. What the search finds out and
    /// encoding needs anyway (the distinct values of a dictionary) is in both.
    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let rows = arguments.each(|path, reps| {
            let row = measure(path, reps)?;
            eprintln!("{}: {:.3}", row.table, row.share());
            Ok(row)
        })?;
        let report = Report {
            environment: Environment::here(),
            rows,
        };
        arguments.publish("search", "Search", &report, &markdown(&report))
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
        let batches = over_tables::batches(path)?;
        let folder = over_tables::folder_in_memory()?;
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
