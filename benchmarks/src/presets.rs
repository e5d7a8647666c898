//! Size, scan and writing under each preset, beside Vortex and Parquet.

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
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result};
    use serde::Serialize;
    use tarsia::Preset;

    use super::Arguments;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::peers::speed::Format;
    use crate::peers::{parquet, tarsia as ours, vortex};
    use crate::report::{geometric_mean, median, table};
    use crate::sizes::tables;
    use crate::speed::{Goal, Threads, touch};

    /// A scan that is quicker is repeated within a repetition.
    const REPETITION: Duration = Duration::from_millis(20);

    const PRESETS: [(&str, Preset); 3] = [
        ("fast", Preset::Fast),
        ("balanced", Preset::Balanced),
        ("compact", Preset::Compact),
    ];
    const VORTEX: &str = "vortex";
    const VORTEX_COMPACT: &str = "vortex compact";
    const PARQUET: &str = "parquet";
    const PARQUET_9: &str = "parquet zstd-9";

    const PEERS: [&str; 4] = [VORTEX, VORTEX_COMPACT, PARQUET, PARQUET_9];

    /// One format, or Tarsia under one preset, over one table.
    #[derive(Serialize)]
    struct Measured {
        file_bytes: u64,
        /// Medians, on one thread.
        write_seconds: f64,
        scan_seconds: f64,
    }

    #[derive(Serialize)]
    struct Row {
        table: String,
        formats: BTreeMap<&'static str, Measured>,
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    /// Flat tables alone: Vortex stores other lists.
    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let rows = arguments.each(|path, reps| {
            if !tables::open(path)?.nested.is_empty() {
                return Ok(None);
            }
            let row = measure(path, reps)?;
            eprintln!("{}", row.table);
            Ok(Some(row))
        })?;
        let report = Report {
            environment: Environment::here(),
            rows: rows.into_iter().flatten().collect(),
        };
        arguments.publish("presets", "Presets", &report, &markdown(&report))
    }

    fn measure(path: &Path, reps: usize) -> Result<Row> {
        let batches = over_tables::batches(path)?;
        let schema = batches.first().context("an empty table")?.schema();
        let folder = over_tables::folder_in_memory()?;
        let mut formats: Vec<(&'static str, Box<dyn Format>)> = Vec::new();
        for (name, preset) in PRESETS {
            formats.push((name, Box::new(ours::speed::Tarsia::with_preset(preset))));
        }
        formats.push((VORTEX, Box::new(vortex::speed::Vortex::new())));
        formats.push((VORTEX_COMPACT, Box::new(vortex::speed::Vortex::compact())));
        for (name, mut parquet) in [
            (PARQUET, parquet::speed::Parquet::new()),
            (PARQUET_9, parquet::speed::Parquet::with_level(9)),
        ] {
            parquet.tune(&folder.path().join("tuned"), &batches, Goal::Everything)?;
            formats.push((name, Box::new(parquet)));
        }

        let mut write_seconds = vec![Vec::new(); formats.len()];
        let mut scan_seconds = vec![Vec::new(); formats.len()];
        let mut file_bytes = vec![0; formats.len()];
        for _ in 0..reps {
            for (i, (name, format)) in formats.iter().enumerate() {
                let to = folder.path().join(name);
                let started = Instant::now();
                format.write(&to, &batches, Threads::One).context(*name)?;
                write_seconds[i].push(started.elapsed().as_secs_f64());
                file_bytes[i] = std::fs::metadata(&to)?.len();
                let open = format.open(&to, &schema, Threads::One)?;
                let started = Instant::now();
                let mut n_scans = 0;
                while n_scans == 0 || started.elapsed() < REPETITION {
                    open.scan(None, &|batch| {
                        std::hint::black_box(touch::batch(&batch));
                    })
                    .context(*name)?;
                    n_scans += 1;
                }
                scan_seconds[i].push(started.elapsed().as_secs_f64() / f64::from(n_scans));
            }
        }
        let median = |seconds: &Vec<f64>| median(seconds.iter().copied()).unwrap_or(f64::NAN);
        let formats = formats.iter().enumerate().map(|(i, (name, _))| {
            let measured = Measured {
                file_bytes: file_bytes[i],
                write_seconds: median(&write_seconds[i]),
                scan_seconds: median(&scan_seconds[i]),
            };
            (*name, measured)
        });
        Ok(Row {
            table: tables::name(path),
            formats: formats.collect(),
        })
    }

    /// Geometric mean over tables of one format's number divided by another's.
    fn ratio(report: &Report, name: &str, of: &str, number: fn(&Measured) -> f64) -> f64 {
        let ratios = report.rows.iter().filter_map(|row| {
            let (a, b) = (row.formats.get(name)?, row.formats.get(of)?);
            Some(number(a) / number(b))
        });
        geometric_mean(ratios).unwrap_or(f64::NAN)
    }

    fn bytes(measured: &Measured) -> f64 {
        measured.file_bytes as f64
    }

    fn scans_per_second(measured: &Measured) -> f64 {
        1.0 / measured.scan_seconds
    }

    fn writes_per_second(measured: &Measured) -> f64 {
        1.0 / measured.write_seconds
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "Flat tables under each preset, beside Vortex (default and compact) and Parquet (zstd 3 and 9, tuned): bytes of \
             the\nfile (of Tarsia without a kernel), and speed of scans of all columns and of writing, on one thread, in \
             one process, in\nturns. Geometric means over {} tables: a size below 1 is smaller, a speed above 1 is \
             faster. In one process the\nallocator keeps the memory that a peer frees, so its scans are faster than in \
             *Speed*, where each format has a process\nof its own. Measured by `cargo run --release -- presets` in \
             `benchmarks/`, which rewrites this section.\n\n{}.\n",
            report.rows.len(),
            report.environment.line()
        );
        let header = ["preset", "beside", "size", "scan", "write"];
        let mut cells = vec![header.map(str::to_owned)];
        for (name, _) in PRESETS {
            cells.extend(PEERS.map(|peer| {
                let of = |number| format!("{:.2}", ratio(report, name, peer, number));
                let (size, scan, write) = (of(bytes), of(scans_per_second), of(writes_per_second));
                [name.to_owned(), peer.to_owned(), size, scan, write]
            }));
        }
        out.push_str(&table(&cells));
        out.push_str("\nBytes, and milliseconds of a scan:\n\n");
        let names = PRESETS.map(|(name, _)| name).into_iter().chain(PEERS);
        let mut header = vec!["table".to_owned()];
        header.extend(names.clone().map(|name| format!("{name} bytes")));
        header.extend(names.clone().map(|name| format!("{name} ms")));
        let mut cells = vec![header];
        for row in &report.rows {
            let mut line = vec![row.table.clone()];
            let measured = || names.clone().filter_map(|name| row.formats.get(name));
            line.extend(measured().map(|it| it.file_bytes.to_string()));
            line.extend(measured().map(|it| format!("{:.3}", it.scan_seconds * 1e3)));
            cells.push(line);
        }
        out.push_str(&table(&cells));
        out
    }
}
