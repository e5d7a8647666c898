//! Many small files of one table, written one after the other, beside Parquet.

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
    use std::fmt::Write as _;
    use std::path::Path;
    use std::time::Instant;

    use anyhow::Result;
    use arrow_array::RecordBatch;
    use arrow_select::concat::concat_batches;
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::WriterProperties;
    use serde::Serialize;
    use tarsia::{WriteOptions, Writer, WriterMemory};

    use super::Arguments;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::peers::tarsia::write_options;
    use crate::report::{geometric_mean, median, table};
    use crate::sizes::tables;

    /// Rows of a file.
    const ROWS: usize = 2_000;

    /// Tables of fewer files show little of files that follow each other.
    const FILES_MIN: usize = 5;

    /// Files of a table at most.
    const FILES_MAX: usize = 40;

    /// Files of one table by one writer.
    #[derive(Serialize)]
    struct Measured {
        /// Seconds for a file: the median over files and repetitions.
        seconds: f64,
        /// Sum over all files.
        bytes: usize,
    }

    #[derive(Serialize)]
    struct Row {
        table: String,
        columns: usize,
        files: usize,
        alone: Measured,
        with_memory: Measured,
        parquet: Measured,
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let rows = arguments.each(|path, reps| {
            let row = measure(path, reps)?;
            if let Some(row) = &row {
                eprintln!("{}", row.table);
            }
            Ok(row)
        })?;
        let report = Report {
            environment: Environment::here(),
            rows: rows.into_iter().flatten().collect(),
        };
        arguments.publish("files", "Small files", &report, &markdown(&report))
    }

    fn measure(path: &Path, reps: usize) -> Result<Option<Row>> {
        let batches = over_tables::batches(path)?;
        let Some(first) = batches.first() else {
            return Ok(None);
        };
        let all = concat_batches(&first.schema(), &batches)?;
        let files = (all.num_rows() / ROWS).min(FILES_MAX);
        if files < FILES_MIN {
            return Ok(None);
        }
        let parts: Vec<_> = (0..files).map(|i| all.slice(i * ROWS, ROWS)).collect();
        let mut seconds = [const { Vec::new() }; 3];
        let mut bytes = [0; 3];
        for _ in 0..reps {
            let memory = WriterMemory::new();
            bytes = [0; 3];
            for part in &parts {
                let mut timed = |i: usize, write: &dyn Fn(&RecordBatch) -> Result<usize>| {
                    let started = Instant::now();
                    bytes[i] += write(part)?;
                    seconds[i].push(started.elapsed().as_secs_f64());
                    anyhow::Ok(())
                };
                timed(0, &|part| ours(part, options()))?;
                timed(1, &|part| ours(part, options().with_memory(&memory)))?;
                timed(2, &parquet)?;
            }
        }
        let measured = |i: usize| Measured {
            seconds: median(seconds[i].iter().copied()).unwrap_or(f64::NAN),
            bytes: bytes[i],
        };
        Ok(Some(Row {
            table: tables::name(path),
            columns: all.num_columns(),
            files,
            alone: measured(0),
            with_memory: measured(1),
            parquet: measured(2),
        }))
    }

    fn options() -> WriteOptions {
        write_options(::tarsia::Threads::One)
    }

    fn ours(part: &RecordBatch, options: WriteOptions) -> Result<usize> {
        let mut writer = Writer::new(Vec::new(), part.schema(), options)?;
        writer.write(part)?;
        Ok(writer.finish_into()?.0.len())
    }

    fn parquet(part: &RecordBatch) -> Result<usize> {
        let level = ZstdLevel::try_new(3)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level));
        let mut out = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut out, part.schema(), Some(properties.build()))?;
        writer.write(part)?;
        writer.close()?;
        Ok(out.len())
    }

    /// Geometric mean over tables.
    fn mean(report: &Report, ratio: impl Fn(&Row) -> f64) -> String {
        let ratios = report.rows.iter().map(ratio);
        format!("{:.2}", geometric_mean(ratios).unwrap_or(f64::NAN))
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "Files of {ROWS} rows each, written into memory one after the other, of each table with rows for {FILES_MIN}, on \
             one thread: each\nalone, with one `WriterMemory`, and by Parquet (zstd 3), in turns. Time of a file, median, and \
             bytes of all files (of\nTarsia without kernels). A speed above 1 is faster than Parquet. Measured by `cargo run \
             --release -- files` in\n`benchmarks/`, which rewrites this section.\n\n{}.\n",
            report.environment.line()
        );
        let head = [
            "table",
            "columns",
            "files",
            "alone ms",
            "memory ms",
            "Parquet ms",
            "speed alone",
            "speed with memory",
            "bytes / alone",
            "bytes / Parquet",
        ];
        let mut cells = vec![head.map(str::to_owned).to_vec()];
        let ms = |it: &Measured| format!("{:.2}", it.seconds * 1e3);
        let speed = |row: &Row, of: &Measured| row.parquet.seconds / of.seconds;
        let size = |row: &Row, of: &Measured| row.with_memory.bytes as f64 / of.bytes as f64;
        for row in &report.rows {
            cells.push(vec![
                row.table.clone(),
                row.columns.to_string(),
                row.files.to_string(),
                ms(&row.alone),
                ms(&row.with_memory),
                ms(&row.parquet),
                format!("{:.2}", speed(row, &row.alone)),
                format!("{:.2}", speed(row, &row.with_memory)),
                format!("{:.2}", size(row, &row.alone)),
                format!("{:.2}", size(row, &row.parquet)),
            ]);
        }
        let empty = String::new();
        cells.push(vec![
            "geometric mean".to_owned(),
            empty.clone(),
            empty.clone(),
            empty.clone(),
            empty.clone(),
            empty,
            mean(report, |row| speed(row, &row.alone)),
            mean(report, |row| speed(row, &row.with_memory)),
            mean(report, |row| size(row, &row.alone)),
            mean(report, |row| size(row, &row.parquet)),
        ]);
        out.push_str(&table(&cells));
        out
    }
}
