//! The tables: Parquet files, read column by column.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Rows per batch handed to each format's writer: a multiple of everybody's block size.
const BATCH_ROWS: usize = 65_536;

/// An opened table; nothing of it is in memory but the schema.
pub(crate) struct Table {
    pub(crate) name: String,
    path: PathBuf,
    schema: SchemaRef,
    /// Indices of the flat columns.
    pub(crate) flat: Vec<usize>,
    /// Names of the nested columns.
    pub(crate) nested: Vec<String>,
}

/// All Parquet files of a folder, by name.
pub(crate) fn parquet_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "parquet") {
            files.push(path);
        }
    }
    ensure!(
        !files.is_empty(),
        "no Parquet files in {}",
        folder.display()
    );
    files.sort();
    Ok(files)
}

/// File name without its ending.
pub(crate) fn name(path: &Path) -> String {
    path.file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

/// Reads the schema.
pub(crate) fn open(path: &Path) -> Result<Table> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let schema = builder.schema().clone();
    let mut flat = Vec::new();
    let mut nested = Vec::new();
    for (idx, field) in schema.fields().iter().enumerate() {
        // A dictionary array is an encoding of the writer's, not a type of the table.
        let is_dictionary = matches!(field.data_type(), DataType::Dictionary(..));
        ensure!(
            !is_dictionary,
            "column {} is a dictionary array",
            field.name()
        );
        if field.data_type().is_nested() {
            nested.push(field.name().clone());
        } else {
            flat.push(idx);
        }
    }
    Ok(Table {
        name: name(path),
        path: path.to_owned(),
        schema,
        flat,
        nested,
    })
}

impl Table {
    pub(crate) fn column_name(&self, idx: usize) -> &str {
        self.schema.field(idx).name()
    }

    /// Batches of this column alone.
    pub(crate) fn read_column(&self, idx: usize) -> Result<Vec<RecordBatch>> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&self.path)?)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), [idx]);
        let batches = builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()?
            .collect::<Result<Vec<_>, _>>()?;
        ensure!(!batches.is_empty(), "no rows");
        Ok(batches)
    }
}

/// The column as one array.
pub(crate) fn one_array(batches: &[RecordBatch]) -> Result<ArrayRef> {
    let arrays: Vec<_> = batches.iter().map(|b| b.column(0).as_ref()).collect();
    Ok(concat(&arrays)?)
}
