//! Each encoding on the column where it gains most: ratio, decoding natively and by a kernel.

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
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use arrow_array::RecordBatch;
    use serde::Serialize;
    use tarsia::choose::Outline;
    use tarsia::{ColumnOptions, EmbedKernels, File, Threads, WriteOptions, Writer};

    use super::Arguments;
    use crate::kernels::slowdown_of;
    use crate::machine::Environment;
    use crate::over_tables;
    use crate::report::table;
    use crate::sizes::tables;

    /// Smaller columns say little of an encoding.
    const COLUMN_BYTES_MIN: u64 = 64 << 10;

    /// Most columns of a wide table that are tried.
    const COLUMNS_MAX: usize = 120;

    /// Facts about each encoding elsewhere: the scheme of Bullion's Table 2 (CIDR 2025) that it is, and the speed that
    /// its paper or its crate is known for, in decoded gigabytes per second on one core.
    const KNOWN: &[(&str, &str, &str)] = &[
        ("plain", "Trivial", "memory"),
        ("bitshuffle", "BitShuffle", "2–3 (bitshuffle + LZ4)"),
        ("runend", "RLE", "10–36 (mean run 2–64)"),
        ("dict", "Dictionary", "20–30 (gather of u64)"),
        ("bitpack", "FixedBitWidth", "30–45 (FastLanes)"),
        ("huffman", "Huffman", "1–1.5 (huff0, symbols)"),
        ("bitmap", "Nullable, with validity", "memory"),
        ("roaring", "SparseBool, Roaring Bitmaps", "4–20 (croaring)"),
        ("varint", "Varint", "1–4 (Stream VByte)"),
        ("zigzag", "ZigZag", "memory"),
        ("delta", "Delta", "12–16"),
        ("constant", "Constant", "memory"),
        ("frequency", "MainlyConstant", ""),
        ("zstd", "Chunked", "0.85 text, 1.5 CSV (zstd 1.5)"),
        ("fsst", "FSST", "3–6.6"),
        ("gorilla", "Gorilla/Chimp", "0.5–1 (Chimp)"),
        ("alp", "ALP", "17–22"),
        ("bins", "", "2–2.7 (pco)"),
        ("lz4", "", "2.5 (lz4_flex)"),
    ];

    /// Outlines under which an encoding is tried beside the one that is its name alone.
    const INSIDE: &[(&str, &str)] = &[
        ("huffman", "bins(huffman)"),
        ("huffman", "concat(*, huffman)"),
        ("zstd", "concat(*, zstd)"),
        ("lz4", "concat(*, lz4)"),
        ("bitshuffle", "bitshuffle(zstd)"),
    ];

    /// A column of a table, as a table of its own.
    struct ColumnOfTable {
        name: String,
        batches: Vec<RecordBatch>,
        arrow_bytes: u64,
    }

    /// An encoding on the column where it gains most.
    #[derive(Clone, Serialize)]
    struct Row {
        encoding: String,
        column: String,
        arrow_bytes: u64,
        bytes: u64,
        /// Bytes that a search stores that does without the encoding.
        bytes_without: u64,
        tree: String,
        outline: String,
        /// Whether the encoding is the root of the tree, or stands where the outline says.
        is_asked_for: bool,
        /// Seconds of scans on one thread.
        native_seconds: f64,
        kernel_seconds: f64,
    }

    impl Row {
        /// Columns that have it where it was asked for count before others.
        fn rank(&self) -> (bool, f64) {
            (self.is_asked_for, self.gain())
        }

        fn gain(&self) -> f64 {
            self.bytes_without as f64 / self.bytes as f64
        }
    }

    #[derive(Serialize)]
    struct Report {
        environment: Environment,
        rows: Vec<Row>,
    }

    pub(crate) fn run(arguments: &Arguments) -> Result<()> {
        let registry = tarsia::registry();
        let ids: Vec<&str> = registry.writers().iter().map(|it| it.writer.id()).collect();
        let mut best: BTreeMap<&str, (Row, Vec<RecordBatch>)> = BTreeMap::new();
        let folder = over_tables::folder_in_memory()?;
        let path = folder.path().join("column.tarsia");
        arguments.each(|table, _| {
            for column in columns_of(table)? {
                let searched = stored(&path, &column, &WriteOptions::new())?;
                for id in &ids {
                    if let Some(row) = gain_on(&path, &column, id, &searched)?
                        && best
                            .get(id)
                            .is_none_or(|(known, _)| row.rank() > known.rank())
                    {
                        best.insert(id, (row, column.batches.clone()));
                    }
                }
            }
            eprintln!("{}", tables::name(table));
            Ok(())
        })?;
        let mut rows = Vec::new();
        for (mut row, batches) in best.into_values() {
            let options = named(&batches, &row.outline)?;
            (row.native_seconds, row.kernel_seconds) =
                slowdown_of(&path, &batches, options, arguments.reps())?;
            rows.push(row);
        }
        let report = Report {
            environment: Environment::here(),
            rows,
        };
        arguments.publish("encodings", "Encodings", &report, &markdown(&report))
    }

    fn columns_of(path: &Path) -> Result<Vec<ColumnOfTable>> {
        let batches = over_tables::batches(path)?;
        let n_columns = batches.first().map_or(0, RecordBatch::num_columns);
        let mut columns = Vec::new();
        for i in 0..n_columns.min(COLUMNS_MAX) {
            let of_batch = |batch: &RecordBatch| Ok(batch.project(&[i])?);
            let batches = batches.iter().map(of_batch).collect::<Result<Vec<_>>>()?;
            let bytes = |batch: &RecordBatch| {
                let data = batch.column(0).to_data();
                data.get_slice_memory_size().unwrap_or_default() as u64
            };
            let arrow_bytes = batches.iter().map(bytes).sum();
            if arrow_bytes >= COLUMN_BYTES_MIN {
                let schema = batches.first().context("no batch")?.schema();
                columns.push(ColumnOfTable {
                    name: format!("{}.{}", tables::name(path), schema.field(0).name()),
                    batches,
                    arrow_bytes,
                });
            }
        }
        Ok(columns)
    }

    /// Bytes of the pages, and the trees of most blocks, of all leaf columns.
    struct Stored {
        bytes: u64,
        trees: Vec<String>,
    }

    impl Stored {
        /// Whether each tree begins with an encoding.
        fn is_root(&self, name: &str) -> bool {
            let first = |tree: &String| tree.split('(').next() == Some(name);
            self.trees.iter().all(first)
        }

        fn has(&self, id: &str) -> bool {
            let short = id.strip_prefix("tarsia.").unwrap_or(id);
            let mut words = self.trees.iter().flat_map(|tree| {
                tree.split(|c: char| !c.is_alphanumeric() && c != '.')
                    .map(|word| word.strip_prefix("tarsia.").unwrap_or(word))
            });
            words.any(|word| word == short)
        }
    }

    fn stored(path: &Path, column: &ColumnOfTable, options: &WriteOptions) -> Result<Stored> {
        let options = options
            .clone()
            .with_embed_kernels(EmbedKernels::Omit)
            .with_threads(Threads::One)
            .with_deterministic(true);
        let schema = column.batches.first().context("no batch")?.schema();
        let mut writer = Writer::create(path, schema, options)?;
        for batch in &column.batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        let leaves = File::open(path)?.inspect()?.columns;
        let first =
            |leaf: &tarsia::ColumnInspection| leaf.trees.first().map(|(tree, _)| tree.clone());
        Ok(Stored {
            bytes: leaves.iter().map(|leaf| leaf.encoded_bytes).sum(),
            trees: leaves.iter().filter_map(first).collect(),
        })
    }

    fn named(batches: &[RecordBatch], outline: &str) -> Result<WriteOptions> {
        let schema = batches.first().context("no batch")?.schema();
        let outline: Outline = outline.parse()?;
        let column = ColumnOptions::new().with_outline(outline);
        Ok(WriteOptions::new().with_column(schema.field(0).name(), column))
    }

    /// Measures what the encoding makes of a column, if it is in the tree of most blocks.
    fn gain_on(
        path: &Path,
        column: &ColumnOfTable,
        id: &str,
        searched: &Stored,
    ) -> Result<Option<Row>> {
        let short = id.strip_prefix("tarsia.").unwrap_or(id);
        let inside = INSIDE.iter().filter(|(name, _)| *name == short);
        let outlines = std::iter::once(short).chain(inside.map(|(_, outline)| *outline));
        let mut least: Option<(Stored, &str)> = None;
        for outline in outlines {
            let found = stored(path, column, &named(&column.batches, outline)?)?;
            if found.has(id)
                && least
                    .as_ref()
                    .is_none_or(|(least, _)| found.bytes < least.bytes)
            {
                least = Some((found, outline));
            }
        }
        let Some((found, outline)) = least else {
            return Ok(None);
        };
        let bytes_without = match searched.has(id) {
            false => searched.bytes,
            true => {
                let mut registry = tarsia::registry().as_ref().clone();
                registry.remove_writer(id);
                let options = WriteOptions::new().with_registry(Arc::new(registry));
                match stored(path, column, &options) {
                    Ok(without) => without.bytes,
                    // Without it there is no fallback for the type.
                    Err(_) => return Ok(None),
                }
            }
        };
        Ok(Some(Row {
            encoding: short.to_owned(),
            column: column.name.clone(),
            arrow_bytes: column.arrow_bytes,
            bytes: found.bytes.max(1),
            bytes_without,
            tree: found.trees.join(", "),
            is_asked_for: outline != short || found.is_root(short),
            outline: outline.to_owned(),
            native_seconds: f64::NAN,
            kernel_seconds: f64::NAN,
        }))
    }

    fn markdown(report: &Report) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "Each encoding on the column of the tables where it gains most: the column alone, stored under a tree that \
             has the\nencoding, beside the tree that the search (preset `balanced`) finds without it. Bytes are those of \
             pages; *gain* is bytes\nwithout by bytes with it. Scans on one thread, warm, decoded natively and by the \
             kernel in the file, in gigabytes of Arrow\nmemory per second. *Table 2* is the scheme in Bullion's Table 2 \
             (CIDR 2025), *known for* the speed of its paper or crate\nas far as it is known. Columns of less than 64 \
             KiB, and of wide tables those after the first {COLUMNS_MAX}, are left out.\nMeasured by `cargo run \
             --release -- encodings` in `benchmarks/`, which rewrites this section.\n\n{}.\n",
            report.environment.line()
        );
        let header = [
            "encoding",
            "Table 2",
            "column",
            "tree",
            "Arrow bytes",
            "ratio",
            "gain",
            "native GB/s",
            "kernel GB/s",
            "slowdown",
            "known for GB/s",
        ];
        let mut cells = vec![header.map(str::to_owned)];
        cells.extend(report.rows.iter().map(|row| {
            let known = KNOWN.iter().find(|(name, ..)| *name == row.encoding);
            let (scheme, speed) = known.map_or(("", ""), |(_, scheme, speed)| (scheme, speed));
            let rate = |seconds: f64| format!("{:.2}", row.arrow_bytes as f64 / seconds / 1e9);
            [
                row.encoding.clone(),
                scheme.to_owned(),
                row.column.clone(),
                row.tree.clone(),
                row.arrow_bytes.to_string(),
                format!("{:.1}", row.arrow_bytes as f64 / row.bytes as f64),
                format!("{:.2}", row.gain()),
                rate(row.native_seconds),
                rate(row.kernel_seconds),
                format!("{:.2}", row.kernel_seconds / row.native_seconds),
                speed.to_owned(),
            ]
        }));
        out.push_str(&table(&cells));
        out
    }
}
