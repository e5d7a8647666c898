//! The operations. Names are the keys of `counts.json`: one that is renamed is a new one.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use tarsia::{ColumnOptions, File, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_io::{MemoryFile, MemorySink};

use crate::{Result, data};

/// Something to count.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Makes data and files; not counted.
    pub(crate) prepare: fn() -> Result<Body>,
}

/// An operation that is counted; returns how many rows, or bytes of a file, it made.
pub(crate) type Body = Box<dyn FnMut() -> Result<u64>>;

/// Rows of the columns that are scanned: four batches.
const SCAN_ROWS: usize = 4 * 65_536;

/// All of them, in the order of the table.
pub(crate) const OPERATIONS: [Operation; 17] = [
    Operation {
        name: "open_1_column",
        prepare: open_1_column,
    },
    Operation {
        name: "open_1000_columns_read_10",
        prepare: open_1000_columns_read_10,
    },
    Operation {
        name: "scan_i64_bitpacked",
        prepare: || scan(data::i64s(SCAN_ROWS), "bitpack"),
    },
    Operation {
        name: "scan_i32_nulls",
        prepare: || scan(data::i32s_with_nulls(SCAN_ROWS), "bitpack"),
    },
    Operation {
        name: "scan_f64_plain",
        prepare: || scan(data::f64s(SCAN_ROWS), "plain"),
    },
    Operation {
        name: "scan_strings_dictionary",
        prepare: || scan(data::few_strings(SCAN_ROWS), "dict"),
    },
    Operation {
        name: "scan_strings_plain",
        prepare: || scan(data::strings(SCAN_ROWS / 4), "bytes"),
    },
    Operation {
        name: "scan_strings_tokens",
        prepare: || scan(data::sentences(SCAN_ROWS / 4), "onpair"),
    },
    Operation {
        name: "scan_booleans",
        prepare: || scan(data::booleans(4 * SCAN_ROWS), "bitmap"),
    },
    Operation {
        name: "scan_constant",
        prepare: || scan(data::constants(SCAN_ROWS), "constant"),
    },
    Operation {
        name: "take_1_row_of_4_columns",
        prepare: || take(1),
    },
    Operation {
        name: "take_256_rows_of_4_columns",
        prepare: || take(256),
    },
    Operation {
        name: "write_integers",
        prepare: write_integers,
    },
    Operation {
        name: "write_strings",
        prepare: || write_one(data::strings(1 << 16)),
    },
    Operation {
        name: "write_sentences",
        prepare: || write_one(data::sentences(1 << 14)),
    },
    Operation {
        name: "write_strings_low_cardinality",
        prepare: || write_one(data::few_strings(1 << 17)),
    },
    Operation {
        name: "verify",
        prepare: verify,
    },
];

/// 64 times: one alone is so short that the seeds of the standard library's hash maps would show.
fn open_1_column() -> Result<Body> {
    let bytes = write(&data::batch(&[("i64s", data::i64s(1000))])?)?;
    Ok(Box::new(move || {
        let mut fields = 0;
        for _ in 0..64 {
            let file = open(&bytes)?;
            fields += black_box(file.schema()?).fields().len() as u64;
        }
        Ok(fields)
    }))
}

/// 16 times, for the same reason; ten columns far from each other. Files stay open: closing one frees its columns in
/// the order of their hashes, which is another in every process, and what malloc does from then on depends on it (by
/// 0.3 %).
fn open_1000_columns_read_10() -> Result<Body> {
    let bytes = write(&data::wide(1000)?)?;
    let names: Vec<String> = (0..10).map(|i| format!("column_{}", 97 * i + 3)).collect();
    let mut files = Vec::with_capacity(2 * 16);
    Ok(Box::new(move || {
        let mut rows = 0;
        for _ in 0..16 {
            let file = open(&bytes)?;
            rows += drain(&file, Some(&names))?;
            files.push(file);
        }
        Ok(rows)
    }))
}

/// The whole of a column that is written with this encoding; the file is open, and was scanned before.
fn scan(values: ArrayRef, encoding: &str) -> Result<Body> {
    let outline = encoding.parse()?;
    let own = ColumnOptions::new().with_outline(outline);
    let options = options().with_column("values", own);
    let file = open(&write_with(&data::batch(&[("values", values)])?, options)?)?;
    expect_encoding(&file, "values", encoding)?;
    Ok(Box::new(move || drain(&file, None)))
}

/// 256 rows of four columns, `at_once` at a time; the file is open, and its columns were used before.
fn take(at_once: usize) -> Result<Body> {
    let file = open(&write(&four_columns(1 << 16)?)?)?;
    let rows = data::row_numbers(256, 1 << 16);
    Ok(Box::new(move || {
        let mut n = 0;
        for some in rows.chunks(at_once) {
            n += black_box(file.take(some).read()?).num_rows() as u64;
        }
        Ok(n)
    }))
}

fn write_integers() -> Result<Body> {
    let rows = 1 << 17;
    let batch = data::batch(&[
        ("i64s", data::i64s(rows)),
        ("i32s", data::i32s_with_nulls(rows)),
    ])?;
    Ok(Box::new(move || Ok(write(&batch)?.len() as u64)))
}

fn write_one(values: ArrayRef) -> Result<Body> {
    let batch = data::batch(&[("values", values)])?;
    Ok(Box::new(move || Ok(write(&batch)?.len() as u64)))
}

/// Digests, checksums and decoding of four columns.
fn verify() -> Result<Body> {
    let file = open(&write(&four_columns(1 << 15)?)?)?;
    Ok(Box::new(move || {
        black_box(file.verify()?);
        Ok(file.num_rows())
    }))
}

fn four_columns(rows: usize) -> Result<RecordBatch> {
    data::batch(&[
        ("i64s", data::i64s(rows)),
        ("i32s", data::i32s_with_nulls(rows)),
        ("few", data::few_strings(rows)),
        ("strings", data::strings(rows)),
    ])
}

/// A file in memory: the bytes of mapped files are borrowed in the same way, and no system call has to succeed.
fn open(bytes: &Arc<[u8]>) -> Result<File> {
    let options = OpenOptions::new().with_threads(Threads::One);
    let reader = MemoryFile::new(bytes.clone());
    Ok(File::open_reader(Arc::new(reader), options)?)
}

fn options() -> WriteOptions {
    WriteOptions::new()
        .with_threads(Threads::One)
        .with_deterministic(true)
}

fn write(batch: &RecordBatch) -> Result<Arc<[u8]>> {
    write_with(batch, options())
}

/// Batches of 65,536 rows, as most writers get them.
fn write_with(batch: &RecordBatch, options: WriteOptions) -> Result<Arc<[u8]>> {
    let sink = MemorySink::new();
    let committed = sink.handle();
    let mut writer = Writer::new(sink, batch.schema(), options)?;
    let n_rows = batch.num_rows();
    for start in (0..n_rows).step_by(65_536) {
        writer.write(&batch.slice(start, (n_rows - start).min(65_536)))?;
    }
    writer.finish()?;
    Ok(committed.take().ok_or("nothing was committed")?.into())
}

fn drain(file: &File, columns: Option<&[String]>) -> Result<u64> {
    let mut scan = file.scan();
    if let Some(columns) = columns {
        scan = scan.columns(columns);
    }
    let mut rows = 0;
    for batch in scan.build()? {
        rows += black_box(batch?).num_rows() as u64;
    }
    Ok(rows)
}

/// An operation has to count what its name says, whatever the writer may learn to choose.
fn expect_encoding(file: &File, column: &str, encoding: &str) -> Result<()> {
    let inspection = file.inspect_columns(column)?.remove(0);
    for (tree, _) in &inspection.trees {
        if !tree.contains(encoding) {
            return Err(format!(
                "the writer chose {tree}, not {encoding}: change the values in benchmarks/guard/src/data.rs, \
                 or what is expected in operations.rs"
            )
            .into());
        }
    }
    Ok(())
}
