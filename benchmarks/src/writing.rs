//! Writing whole tables beside Parquet, and the part of it that the search for trees of encodings takes.

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
    use arrow_array::RecordBatch;
    use serde::Serialize;
    use tarsia::choose::{Choice, Choose, Chooser, Objective};
    use tarsia::codec::Statistics;
    use tarsia::{EmbedKernels, PageChooser, Preset, WriteOptions, Writer};

    use super::Arguments;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::peers::parquet::speed::Parquet;
    use crate::peers::speed::Format;
    use crate::peers::tarsia::speed::Tarsia;
    use crate::report::{geometric_mean, median, table};
    use crate::sizes::tables;
    use crate::speed::{Goal, Threads, arrow_bytes};

    /// The part of writing that the search may take.
    const SHARE_MAX: f64 = 1.0 / 3.0;

    /// Medians, in seconds.
    #[derive(Serialize)]
    struct Row {
        table: String,
        arrow_bytes: usize,
        is_nested: bool,
        balanced: f64,
        fast: f64,
        all_threads: f64,
        parquet: f64,
        parquet_all_threads: f64,
        /// On one thread, without a kernel, with the search and with the trees that it found.
        with_search: f64,
        with_trees: f64,
        bytes: u64,
        parquet_bytes: u64,
    }

    impl Row {
        fn share(&self) -> f64 {
            1.0 - self.with_trees / self.with_search
        }

        fn speed(&self) -> f64 {
            self.parquet / self.balanced
        }

        fn speed_fast(&self) -> f64 {
            self.parquet / self.fast
        }

        fn speed_all_threads(&self) -> f64 {
            self.parquet_all_threads / self.all_threads
        }

        fn size(&self) -> f64 {
            self.bytes as f64 / self.parquet_bytes as f64
        }

        fn is_small(&self) -> bool {
            self.arrow_bytes < 1_000_000
        }
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    /// Every table, written in turns by each writer.
    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let rows = arguments.each(|path, reps| {
            let row = measure(path, reps)?;
            eprintln!(
                "{}: {:.2}, search {:.3}",
                row.table,
                row.speed(),
                row.share()
            );
            Ok(row)
        })?;
        let report = Report {
            environment: Environment::here(),
            rows,
        };
        arguments.publish("writing", "Writing", &report, &markdown(&report))
    }

    fn measure(path: &Path, reps: usize) -> Result<Row> {
        let batches = over_tables::batches(path)?;
        let schema = batches.first().context("an empty table")?.schema();
        let folder = over_tables::folder_in_memory()?;
        let to = folder.path().join("t");
        let mut parquet = Parquet::new();
        parquet.tune(&to, &batches, Goal::Everything)?;
        let balanced = Tarsia::with_preset(Preset::Balanced);
        let fast = Tarsia::with_preset(Preset::Fast);
        let writers: [(&dyn Format, Threads); 5] = [
            (&balanced, Threads::One),
            (&fast, Threads::One),
            (&balanced, Threads::All),
            (&parquet, Threads::One),
            (&parquet, Threads::All),
        ];
        let mut search = Searched::new(&to, &batches)?;
        let mut seconds = [const { Vec::new() }; 5];
        let mut bytes = [0; 5];
        for _ in 0..reps {
            for (i, (format, threads)) in writers.iter().enumerate() {
                let started = Instant::now();
                format.write(&to, &batches, *threads)?;
                seconds[i].push(started.elapsed().as_secs_f64());
                bytes[i] = std::fs::metadata(&to)?.len();
                std::fs::remove_file(&to)?;
            }
            search.measure()?;
        }
        let median = |seconds: &[f64]| median(seconds.iter().copied()).unwrap_or(f64::NAN);
        Ok(Row {
            table: tables::name(path),
            arrow_bytes: arrow_bytes::of(&batches),
            is_nested: schema.fields().iter().any(|it| it.data_type().is_nested()),
            balanced: median(&seconds[0]),
            fast: median(&seconds[1]),
            all_threads: median(&seconds[2]),
            parquet: median(&seconds[3]),
            parquet_all_threads: median(&seconds[4]),
            with_search: median(&search.seconds[0]),
            with_trees: median(&search.seconds[1]),
            bytes: bytes[0],
            parquet_bytes: bytes[3],
        })
    }

    /// A table written with the search, and with the trees that it found. What the search finds out and encoding needs
    /// anyway (the distinct values of a dictionary) is in both.
    struct Searched<'a> {
        path: &'a Path,
        batches: &'a [RecordBatch],
        choices: VecDeque<Choice>,
        file: Vec<u8>,
        seconds: [Vec<f64>; 2],
    }

    impl<'a> Searched<'a> {
        fn new(path: &'a Path, batches: &'a [RecordBatch]) -> Result<Self> {
            let recording = Arc::new(Recording {
                chooser: Chooser::new(tarsia::registry().clone(), Objective::Balanced),
                choices: Mutex::default(),
            });
            let mut this = Self {
                path,
                batches,
                choices: VecDeque::new(),
                file: Vec::new(),
                seconds: Default::default(),
            };
            this.file = this.write(Some(PageChooser::new(recording.clone())))?.1;
            let choices = recording.choices.lock();
            this.choices = choices.unwrap_or_else(PoisonError::into_inner).clone();
            Ok(this)
        }

        fn write(&self, chooser: Option<PageChooser>) -> Result<(f64, Vec<u8>)> {
            let schema = self.batches.first().context("an empty table")?.schema();
            let mut options = WriteOptions::new()
                .with_embed_kernels(EmbedKernels::Omit)
                .with_threads(tarsia::Threads::One)
                .with_deterministic(true);
            if let Some(chooser) = chooser {
                options = options.with_chooser(chooser);
            }
            let started = Instant::now();
            let mut writer = Writer::create(self.path, schema, options)?;
            for batch in self.batches {
                writer.write(batch)?;
            }
            writer.finish()?;
            let seconds = started.elapsed().as_secs_f64();
            let bytes = std::fs::read(self.path)?;
            std::fs::remove_file(self.path)?;
            Ok((seconds, bytes))
        }

        fn measure(&mut self) -> Result<()> {
            let searched = self.write(None)?.0;
            self.seconds[0].push(searched);
            let replay = Replay {
                choices: Mutex::new(self.choices.clone()),
            };
            let (replayed, bytes) = self.write(Some(PageChooser::new(Arc::new(replay))))?;
            ensure!(
                bytes == self.file,
                "the trees that were found make another file"
            );
            self.seconds[1].push(replayed);
            Ok(())
        }
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

    /// Returns what is asked and what was found, as geometric means.
    fn asked(report: &Report) -> Vec<[String; 3]> {
        let mean = |speed: fn(&Row) -> f64, of: fn(&Row) -> bool| {
            let rows = report.rows.iter().filter(|row| of(row));
            geometric_mean(rows.map(speed)).unwrap_or(f64::NAN)
        };
        let line = |what: &str, asked: f64, found: f64| {
            [
                what.to_owned(),
                format!("{asked:.2}"),
                format!("{found:.2}"),
            ]
        };
        let least = report.rows.iter().map(Row::speed).fold(f64::NAN, f64::min);
        vec![
            line("balanced, one thread", 0.85, mean(Row::speed, |_| true)),
            line("the slowest table of these", 0.4, least),
            line("tables below 1 MB", 0.6, mean(Row::speed, Row::is_small)),
            line("nested tables", 0.7, mean(Row::speed, |row| row.is_nested)),
            line(
                "balanced, all threads",
                1.0,
                mean(Row::speed_all_threads, |_| true),
            ),
            line("fast, one thread", 1.2, mean(Row::speed_fast, |_| true)),
        ]
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let shares = || report.rows.iter().map(Row::share);
        let sum = |of: fn(&Row) -> f64| report.rows.iter().map(of).sum::<f64>();
        let _ = writeln!(
            out,
            "Whole tables, written to memory in turns by Tarsia (without kernels) and by Parquet (zstd 3, with or without\n\
             dictionaries, whichever reads faster). Medians; a speed above 1 is faster than Parquet on as many threads. Each\n\
             table is also written with the trees that the search found (both files are equal: asserted): the share of the\n\
             search is what that saves. Measured by `cargo run --release -- writing` in `benchmarks/`, which rewrites this\n\
             section.\n\n{}.\n",
            report.environment.line()
        );
        let head = ["geometric mean of the speed", "asked", "found"];
        let mut cells = vec![head.map(str::to_owned)];
        cells.extend(asked(report));
        out.push_str(&table(&cells));
        let _ = writeln!(
            out,
            "\nBytes of Parquet's, geometric mean: {:.3}. Share of the search: median {:.3}, of all tables together {:.3},\n\
             largest {:.3} (at most {SHARE_MAX:.3} is asked for in the median).\n",
            geometric_mean(report.rows.iter().map(Row::size)).unwrap_or(f64::NAN),
            median(shares()).unwrap_or(f64::NAN),
            1.0 - sum(|row| row.with_trees) / sum(|row| row.with_search),
            shares().fold(f64::NEG_INFINITY, f64::max),
        );
        let header = [
            "table",
            "Arrow MB",
            "ms",
            "Parquet ms",
            "speed",
            "speed, all threads",
            "speed, fast",
            "bytes / Parquet",
            "search",
        ];
        let mut cells = vec![header.map(str::to_owned)];
        cells.extend(report.rows.iter().map(|row| {
            [
                row.table.clone(),
                format!("{:.1}", row.arrow_bytes as f64 / 1e6),
                format!("{:.2}", row.balanced * 1e3),
                format!("{:.2}", row.parquet * 1e3),
                format!("{:.2}", row.speed()),
                format!("{:.2}", row.speed_all_threads()),
                format!("{:.2}", row.speed_fast()),
                format!("{:.2}", row.size()),
                format!("{:.2}", row.share()),
            ]
        }));
        out.push_str(&table(&cells));
        out
    }
}
