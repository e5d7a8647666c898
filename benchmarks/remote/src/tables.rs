//! The tables, each an Arrow IPC file that all workers read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use self::random::Random;

#[path = "../../src/speed/features.rs"]
mod features;
#[path = "../../src/speed/generate.rs"]
#[expect(dead_code, reason = "the words alone are needed")]
mod generate;
#[path = "../../src/types/lineitem.rs"]
mod lineitem;
#[path = "../../src/speed/random.rs"]
pub(crate) mod random;

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

const EMBEDDINGS: usize = 100_000;
const EMBEDDING_ITEMS: usize = 384;

const FEATURES: usize = 20_000;
const FEATURES_ROWS: usize = 100;

/// A table to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// `lineitem` of TPC-H, 600,000 rows: about 14 MB in each format.
    Lineitem01,
    /// `lineitem` with six million rows.
    Lineitem1,
    /// Vectors of 384 floats that cannot be made smaller: 154 MB.
    Embeddings,
    /// 20,000 columns of 100 rows, mostly lists.
    Features,
}

impl Table {
    pub(crate) const ALL: [Self; 4] = [
        Self::Lineitem01,
        Self::Lineitem1,
        Self::Embeddings,
        Self::Features,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lineitem01 => "lineitem_0_1",
            Self::Lineitem1 => "lineitem_1",
            Self::Embeddings => "embeddings",
            Self::Features => "features",
        }
    }

    /// True if ten of its columns are read, and no rows are taken.
    pub(crate) fn is_wide(self) -> bool {
        self == Self::Features
    }

    /// Makes the table in `folder`.
    pub(crate) fn make(self, folder: &Path, data: &Path) -> Result<Made> {
        let path = folder.join(format!("{}.arrow", self.name()));
        match self {
            Self::Lineitem01 => {
                let source = data.join("tpch_lineitem_sf0_1.parquet");
                let file = File::open(&source).with_context(|| source.display().to_string())?;
                let reader = ParquetRecordBatchReaderBuilder::try_new(file)?
                    .with_batch_size(BATCH_ROWS)
                    .build()?;
                let schema = arrow_array::RecordBatchReader::schema(&reader);
                write(path, &schema, reader.map(|batch| Ok(batch?)))
            }
            Self::Lineitem1 => {
                let (schema, batches) = lineitem::table(lineitem::SCALE_FACTOR, &DataType::Utf8);
                write(path, &schema, batches)
            }
            Self::Embeddings => {
                let batch = embeddings()?;
                let starts = (0..EMBEDDINGS).step_by(BATCH_ROWS);
                let cut = |start| batch.slice(start, BATCH_ROWS.min(EMBEDDINGS - start));
                write(path, batch.schema_ref(), starts.map(|start| Ok(cut(start))))
            }
            Self::Features => {
                let batch = features::batch(FEATURES, FEATURES_ROWS)?;
                write(path, batch.schema_ref(), [Ok(batch.clone())].into_iter())
            }
        }
    }
}

/// A table that was made.
pub(crate) struct Made {
    /// The Arrow IPC file.
    pub(crate) path: PathBuf,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<String>,
}

fn write(
    path: PathBuf,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<Made> {
    let mut writer = FileWriter::try_new_buffered(File::create(&path)?, schema)?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    let names = schema.fields().iter().map(|field| field.name().clone());
    Ok(Made {
        path,
        rows,
        columns: names.collect(),
    })
}

/// The batches of a table.
pub(crate) fn read(path: &str) -> Result<FileReader<std::io::BufReader<File>>> {
    let file = File::open(path).with_context(|| path.to_owned())?;
    Ok(FileReader::try_new_buffered(file, None)?)
}

fn embeddings() -> Result<RecordBatch> {
    let mut random = Random::new(384);
    let values = (0..EMBEDDINGS * EMBEDDING_ITEMS).map(|_| (random.unit() - 0.5) as f32);
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let values = Arc::new(Float32Array::from_iter_values(values));
    let vectors = FixedSizeListArray::try_new(item, EMBEDDING_ITEMS as i32, values, None)?;
    let columns: [(&str, ArrayRef); 2] = [
        (
            "id",
            Arc::new(Int64Array::from_iter_values(0..EMBEDDINGS as i64)),
        ),
        ("vector", Arc::new(vectors)),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}
