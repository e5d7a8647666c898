//! Ranges of numbers that are found in encoded values, for each encoding: beside decoding all values.

use anyhow::Result;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Repetitions of every measurement, of which the median counts.
    #[arg(long, default_value_t = 15, value_name = "N")]
    reps: usize,
    /// Leave docs/benchmarks.md and the results as they are.
    #[arg(long)]
    no_docs: bool,
}

#[cfg(not(feature = "tarsia"))]
pub(crate) fn run(_: &Arguments) -> Result<()> {
    anyhow::bail!("built without Tarsia")
}

/// Measures, prints, stores.
#[cfg(feature = "tarsia")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let report = measuring::measure(arguments.reps.max(1))?;
    let section = measuring::markdown(&report);
    println!("{section}");
    if arguments.no_docs {
        return Ok(());
    }
    crate::report::publish("ranges", "Ranges in encoded values", &report, &section)
}

#[cfg(feature = "tarsia")]
mod measuring {
    use std::fmt::Write as _;
    use std::sync::Arc;
    use std::time::Instant;

    use anyhow::{Context, Result, ensure};
    use arrow_array::{
        ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, UInt8Array,
    };
    use serde::Serialize;
    use tarsia::choose::Outline;
    use tarsia::filter::{Expr, col};
    use tarsia::{
        Access, ColumnOptions, EmbedKernels, File, OpenOptions, Threads, WriteOptions, Writer,
    };

    use crate::machine::Environment;
    use crate::report::{median, table};

    const ROWS: i64 = 1 << 20;

    /// Values that an encoding is made for, by their row.
    enum Made {
        Integers(fn(i64) -> i64),
        Bytes(fn(i64) -> i64),
        Decimals(fn(i64) -> i64),
        Floats(fn(i64) -> f64),
    }

    /// Encodings of numbers, the outline under which they are asked for, and values that they are made for.
    const CASES: &[(&str, &str, Made)] = &[
        (
            "alp",
            "alp",
            Made::Floats(|row| (noise(row) % 100_000) as f64 / 100.0),
        ),
        (
            "alprd",
            "alprd",
            Made::Floats(|row| 1.0 + noise(row) as f64 / 1e19),
        ),
        (
            "bins",
            "bins",
            Made::Integers(|row| (noise(row) % 64).pow(3)),
        ),
        (
            "bitpack",
            "bitpack",
            Made::Integers(|row| noise(row) % 4_000),
        ),
        (
            "bitshuffle",
            "bitshuffle(zstd)",
            Made::Integers(|row| (row / 900) * 256 + noise(row) % 4),
        ),
        ("constant", "constant", Made::Integers(|_| 7)),
        (
            "delta",
            "delta",
            Made::Integers(|row| 50 * row + noise(row) % 50),
        ),
        (
            "dict",
            "dict",
            Made::Integers(|row| (noise(row) % 300) * 1_000_003),
        ),
        (
            "divisor",
            "divisor",
            Made::Integers(|row| 86_400 * (noise(row) % 4_000)),
        ),
        (
            "fastpfor",
            "fastpfor",
            Made::Integers(|row| noise(row) % 500),
        ),
        (
            "frequency",
            "frequency",
            Made::Integers(|row| (noise(row) % 10 / 9) * (noise(row + 7) % 4_000)),
        ),
        (
            "gorilla",
            "gorilla",
            Made::Floats(|row| (noise(row / 6) % 1_000) as f64),
        ),
        (
            "huffman",
            "huffman",
            Made::Bytes(|row| (noise(row) % 16) * (noise(row + 3) % 8)),
        ),
        ("lz4", "lz4", Made::Integers(|row| noise(row % 1_000))),
        ("narrow", "narrow", Made::Decimals(|row| noise(row) % 4_000)),
        ("plain", "plain", Made::Integers(noise)),
        (
            "pseudodecimal",
            "pseudodecimal",
            Made::Floats(|row| (noise(row) % 10_000) as f64 / 1_000.0),
        ),
        (
            "quantized",
            "quantized",
            Made::Floats(|row| (noise(row) % 256) as f64),
        ),
        (
            "runend",
            "runend",
            Made::Integers(|row| noise(row / 64) % 4_000),
        ),
        ("sequence", "sequence", Made::Integers(|row| 3 * row)),
        ("split", "split", Made::Decimals(|row| noise(row))),
        ("varint", "varint", Made::Integers(|row| noise(row) % 4_000)),
        (
            "zigzag",
            "zigzag",
            Made::Integers(|row| noise(row) % 4_000 - 2_000),
        ),
        ("zstd", "zstd", Made::Integers(|row| noise(row % 1_000))),
    ];

    /// A number of 63 bits without order (splitmix64).
    fn noise(row: i64) -> i64 {
        let mut z = (row as u64)
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 1) as i64
    }

    impl Made {
        fn array(&self) -> Result<ArrayRef> {
            Ok(match self {
                Self::Integers(value) => Arc::new((0..ROWS).map(value).collect::<Int64Array>()),
                Self::Bytes(value) => {
                    let values = (0..ROWS).map(|row| value(row) as u8);
                    Arc::new(values.collect::<UInt8Array>())
                }
                Self::Decimals(value) => {
                    let values = (0..ROWS).map(|row| i128::from(value(row)));
                    let values = values.collect::<Decimal128Array>();
                    Arc::new(values.with_precision_and_scale(20, 0)?)
                }
                Self::Floats(value) => Arc::new((0..ROWS).map(value).collect::<Float64Array>()),
            })
        }

        /// The value that about half of the rows are below.
        fn below_half(&self) -> Expr {
            match self {
                Self::Integers(value) | Self::Bytes(value) | Self::Decimals(value) => {
                    let mut all: Vec<i64> = (0..ROWS).map(value).collect();
                    all.sort_unstable();
                    col("a").lt(all[all.len() / 2])
                }
                Self::Floats(value) => {
                    let mut all: Vec<f64> = (0..ROWS).map(value).collect();
                    all.sort_unstable_by(f64::total_cmp);
                    col("a").lt(all[all.len() / 2])
                }
            }
        }
    }

    /// An encoding.
    #[derive(Serialize)]
    struct Row {
        encoding: &'static str,
        tree: String,
        /// Nanoseconds per value of decoding all.
        scan_ns: f64,
        /// Nanoseconds per value of finding those below the median.
        range_ns: f64,
    }

    #[derive(Serialize)]
    pub(super) struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    pub(super) fn measure(reps: usize) -> Result<Report> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("column.tarsia");
        let mut rows = Vec::new();
        for (encoding, outline, made) in CASES {
            let array = made.array()?;
            let batch = RecordBatch::try_from_iter([("a", array)])?;
            let column = ColumnOptions::new()
                .with_outline(outline.parse::<Outline>()?)
                .with_zones(false);
            let options = WriteOptions::new()
                .with_embed_kernels(EmbedKernels::Omit)
                .with_column("a", column);
            let mut writer = Writer::create(&path, batch.schema(), options)?;
            writer.write(&batch)?;
            writer.finish()?;
            let options = OpenOptions::new()
                .with_threads(Threads::One)
                .with_access(Access::Map);
            let file = File::open_with(&path, options)?;
            let trees = &file.inspect()?.columns[0].trees;
            let (tree, _) = trees.first().context("a column without blocks")?;
            ensure!(
                tree.contains(encoding),
                "{encoding} is not in the tree {tree}"
            );
            let below = made.below_half();
            let filter = below.bind(&batch.schema())?;
            let expected = filter.matches(&batch)?.count_set_bits() as u64;
            let scan = || -> Result<()> {
                for batch in file.scan().build()? {
                    std::hint::black_box(batch?);
                }
                Ok(())
            };
            let range = || -> Result<()> {
                let found = file.scan().filter(below.clone()).count()?;
                ensure!(
                    found == expected,
                    "{encoding}: {found} rows, not {expected}"
                );
                Ok(())
            };
            scan()?;
            range()?;
            let (mut scans, mut ranges) = (Vec::new(), Vec::new());
            for _ in 0..reps {
                scans.push(nanos(scan)?);
                ranges.push(nanos(range)?);
            }
            rows.push(Row {
                encoding,
                tree: tree.clone(),
                scan_ns: median(scans.into_iter()).unwrap_or(f64::NAN),
                range_ns: median(ranges.into_iter()).unwrap_or(f64::NAN),
            });
            eprintln!("{encoding}");
        }
        Ok(Report {
            environment: Environment::here(),
            rows,
        })
    }

    /// Nanoseconds per value.
    fn nanos(work: impl Fn() -> Result<()>) -> Result<f64> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_nanos() as f64 / ROWS as f64)
    }

    pub(super) fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "How long it takes to count the values below the median, against a scan that decodes all: a million values \
             that the\nencoding is made for, on one thread, warm, without zones. In nanoseconds per value. Measured by \
             `cargo run --release --\nranges` in `benchmarks/`, which rewrites this section.\n\n{}.\n",
            report.environment.line()
        );
        let header = ["encoding", "tree", "scan", "range", "range / scan"];
        let mut cells = vec![header.map(str::to_owned)];
        cells.extend(report.rows.iter().map(|row| {
            [
                row.encoding.to_owned(),
                row.tree.clone(),
                format!("{:.3}", row.scan_ns),
                format!("{:.3}", row.range_ns),
                format!("{:.2}", row.range_ns / row.scan_ns),
            ]
        }));
        out.push_str(&table(&cells));
        out
    }
}
