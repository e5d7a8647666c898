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
    const PARQUET: &str = "parquet";

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
        let mut parquet = parquet::speed::Parquet::new();
        parquet.tune(&folder.path().join("tuned"), &batches, Goal::Everything)?;
        formats.push((PARQUET, Box::new(parquet)));

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
            "Flat tables under each preset, beside Vortex (default) and Parquet (zstd 3, tuned): bytes of the file (of \
             Tarsia\nwithout a kernel), and speed of scans of all columns and of writing, on one thread, in one process, \
             in turns.\nGeometric means over {} tables: a size below 1 is smaller, a speed above 1 is faster. In one \
             process the allocator\nkeeps the memory that a peer frees, so its scans are faster than in *Speed*, where \
             each format has a process of its own.\nMeasured by `cargo run --release -- presets` in `benchmarks/`, which \
             rewrites this section.\n\n{}.\n",
            report.rows.len(),
            report.environment.line()
        );
        let header = [
            "preset",
            "size / Vortex",
            "size / Parquet",
            "scan / Vortex",
            "scan / Parquet",
            "write / Vortex",
            "write / Parquet",
        ];
        let mut cells = vec![header.map(str::to_owned)];
        cells.extend(PRESETS.map(|(name, _)| {
            let of = |peer, number| format!("{:.2}", ratio(report, name, peer, number));
            [
                name.to_owned(),
                of(VORTEX, bytes),
                of(PARQUET, bytes),
                of(VORTEX, scans_per_second),
                of(PARQUET, scans_per_second),
                of(VORTEX, writes_per_second),
                of(PARQUET, writes_per_second),
            ]
        }));
        out.push_str(&table(&cells));
        out.push_str("\nBytes, and milliseconds of a scan:\n\n");
        let names = ["fast", "balanced", "compact", VORTEX, PARQUET];
        let mut header = vec!["table".to_owned()];
        header.extend(names.map(|name| format!("{name} bytes")));
        header.extend(names.map(|name| format!("{name} ms")));
        let mut cells = vec![header];
        for row in &report.rows {
            let mut line = vec![row.table.clone()];
            let measured = || names.iter().filter_map(|name| row.formats.get(name));
            line.extend(measured().map(|it| it.file_bytes.to_string()));
            line.extend(measured().map(|it| format!("{:.3}", it.scan_seconds * 1e3)));
            cells.push(line);
        }
        out.push_str(&table(&cells));
        out
    }
}
