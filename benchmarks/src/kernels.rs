//! Cost of decoding by the kernel in the file instead of natively.

#[cfg(not(feature = "tarsia"))]
use anyhow::Result;

use crate::over_tables::Arguments;

#[cfg(not(feature = "tarsia"))]
pub(crate) fn run(_: &Arguments) -> Result<()> {
    anyhow::bail!("built without Tarsia")
}

#[cfg(feature = "tarsia")]
pub(crate) use measuring::{run, slowdown_of};

#[cfg(feature = "tarsia")]
mod measuring {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result, ensure};
    use arrow_array::RecordBatch;
    use serde::Serialize;
    use tarsia::{
        Checksums, EmbedKernels, File, Kernels, OpenOptions, Threads, WriteOptions, Writer,
    };

    use super::Arguments;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::report::{geometric_mean, median, table};
    use crate::sizes::tables;
    use crate::speed::touch;

    /// A scan that is quicker is repeated within a repetition.
    const REPETITION: Duration = Duration::from_millis(30);

    #[derive(Serialize)]
    struct Row {
        table: String,
        /// Has columns of lists or structs.
        nested: bool,
        rows: u64,
        file_bytes: u64,
        kernel_bytes: u64,
        /// Seconds of a scan on one thread.
        native_seconds: f64,
        kernel_seconds: f64,
    }

    impl Row {
        fn slowdown(&self) -> f64 {
            self.kernel_seconds / self.native_seconds
        }
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let rows = arguments.each(|path, reps| {
            let nested = !tables::open(path)?.nested.is_empty();
            let row = measure(path, nested, reps)?;
            eprintln!("{}: {:.3}", row.table, row.slowdown());
            Ok(row)
        })?;
        let report = Report {
            environment: Environment::here(),
            rows,
        };
        arguments.publish("kernels", "Kernels", &report, &markdown(&report))
    }

    fn measure(path: &Path, nested: bool, reps: usize) -> Result<Row> {
        let batches = over_tables::batches(path)?;
        let folder = over_tables::folder_in_memory()?;
        let path_of_table = path;
        let path = folder.path().join("t.tarsia");
        let (native_seconds, kernel_seconds) =
            slowdown_of(&path, &batches, WriteOptions::new(), reps)?;
        let file = File::open(&path)?;
        let layout = file.inspect()?.layout;
        let kernels = layout.iter().find(|region| region.name == "kernels");
        Ok(Row {
            table: tables::name(path_of_table),
            nested,
            rows: file.num_rows(),
            file_bytes: file.metadata()?.file_bytes,
            kernel_bytes: kernels.map_or(0, |region| region.bytes),
            native_seconds,
            kernel_seconds,
        })
    }

    /// Writes a table to `path` with a kernel. Returns the seconds of a scan, decoded natively and by that kernel.
    pub(crate) fn slowdown_of(
        path: &Path,
        batches: &[RecordBatch],
        options: WriteOptions,
        reps: usize,
    ) -> Result<(f64, f64)> {
        let schema = batches.first().context("an empty table")?.schema();
        let options = options.with_embed_kernels(EmbedKernels::Embed);
        let mut writer = Writer::create(path, schema, options)?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        let open = |kernels| {
            File::open_with(
                path,
                OpenOptions::new()
                    .with_threads(Threads::One)
                    .with_kernels(kernels)
                    .with_checksums(Checksums::Always),
            )
        };
        let (native, kernel) = (open(Kernels::Never)?, open(Kernels::Forced)?);
        // The first scan of each compiles and compares.
        let mut by_kernel = kernel.scan().build()?;
        for batch in native.scan().build()? {
            ensure!(
                by_kernel.next().transpose()? == Some(batch?),
                "the kernel decodes other values"
            );
        }
        ensure!(by_kernel.next().is_none(), "the kernel decodes more rows");
        ensure!(
            kernel.decoder_counts().native == 0,
            "a page was decoded natively"
        );
        ensure!(
            native.decoder_counts().kernel == 0,
            "a page was decoded by a kernel"
        );
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..reps {
            for (file, seconds) in [&native, &kernel].into_iter().zip(&mut seconds) {
                seconds.push(scan_seconds(file)?);
            }
        }
        let [native, kernel] =
            seconds.map(|seconds| median(seconds.into_iter()).unwrap_or(f64::NAN));
        Ok((native, kernel))
    }

    /// Mean time of scans until a repetition is over.
    fn scan_seconds(file: &File) -> Result<f64> {
        let started = Instant::now();
        let mut n_scans = 0;
        while n_scans == 0 || started.elapsed() < REPETITION {
            for batch in file.scan().build()? {
                std::hint::black_box(touch::batch(&batch?));
            }
            n_scans += 1;
        }
        Ok(started.elapsed().as_secs_f64() / f64::from(n_scans))
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "Scans of all columns on one thread, decoded natively and by the kernel inside the file (nothing natively: \
             asserted, and every batch equal), warm, checksums compared each time as in the first scan of a file, in \
             turns; medians. Measured by `cargo run --release -- kernels` in `benchmarks/`, which rewrites this \
             section.\n\n{}.\n",
            report.environment.line()
        );
        for (what, nested) in [
            ("Flat tables", false),
            ("Tables with columns of lists and structs", true),
        ] {
            let rows = || report.rows.iter().filter(|row| row.nested == nested);
            let slowdowns = || rows().map(Row::slowdown);
            let _ = writeln!(
                out,
                "{what}: slowdown in the median {:.3}, geometric mean {:.3}, worst {:.3}.\n",
                median(slowdowns()).unwrap_or(f64::NAN),
                geometric_mean(slowdowns()).unwrap_or(f64::NAN),
                slowdowns().fold(0.0, f64::max),
            );
            let header = [
                "table",
                "rows",
                "native ms",
                "kernel ms",
                "slowdown",
                "file bytes",
                "of them kernel",
            ];
            let mut cells = vec![header.map(str::to_owned)];
            cells.extend(rows().map(|row| {
                [
                    row.table.clone(),
                    row.rows.to_string(),
                    format!("{:.3}", row.native_seconds * 1e3),
                    format!("{:.3}", row.kernel_seconds * 1e3),
                    format!("{:.3}", row.slowdown()),
                    row.file_bytes.to_string(),
                    row.kernel_bytes.to_string(),
                ]
            }));
            out.push_str(&table(&cells));
            out.push('\n');
        }
        out
    }
}
