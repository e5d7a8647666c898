//! Parquet files of many columns, written column by column: a writer of a column takes 80 kB with hardly a value in it,
//! since it has buffers and a codec of its own.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

type Result<T> = std::result::Result<T, ParquetError>;

/// A Parquet file whose row groups are collected as Arrow arrays before they are written.
pub(super) struct WideWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    schema: SchemaRef,
    props: WriterPropertiesPtr,
    /// The rows of the next row group.
    batches: Vec<RecordBatch>,
    bytes: usize,
    row_group_bytes: usize,
}

impl<W: Write + Send> WideWriter<W> {
    /// A writer that takes over from one that has no rows yet. A row group is written when its arrays take so many
    /// bytes.
    pub(super) fn new(
        writer: ArrowWriter<W>,
        schema: SchemaRef,
        row_group_bytes: usize,
    ) -> Result<Self> {
        let (writer, _) = writer.into_serialized_writer()?;
        let props = writer.properties().clone();
        Ok(Self {
            writer,
            schema,
            props,
            batches: Vec::new(),
            bytes: 0,
            row_group_bytes,
        })
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch.clone());
        match self.bytes >= self.row_group_bytes {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes the rows so far as a row group.
    fn flush(&mut self) -> Result<()> {
        if self.batches.is_empty() {
            return Ok(());
        }
        let batches = std::mem::take(&mut self.batches);
        self.bytes = 0;
        let stored = self.writer.schema_descr().root_schema();
        let types = stored.get_fields().to_vec();
        let mut row_group = self.writer.next_row_group()?;
        for (i, (field, of_field)) in self.schema.fields().iter().zip(types).enumerate() {
            let mut columns = writers_of(field, of_field, &self.props)?;
            for batch in &batches {
                let leaves = compute_leaves(field, batch.column(i))?;
                for (column, leaf) in columns.iter_mut().zip(leaves) {
                    column.write(&leaf)?;
                }
            }
            for column in columns {
                column.close()?.append_to_row_group(&mut row_group)?;
            }
        }
        row_group.close()?;
        Ok(())
    }

    /// Completes the file and returns what it was written to.
    pub(super) fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.writer.into_inner()
    }
}

/// Writers of the columns of one field, which is stored as `stored`. They are those of a file of this field alone.
fn writers_of(
    field: &FieldRef,
    stored: TypePtr,
    props: &WriterPropertiesPtr,
) -> Result<Vec<ArrowColumnWriter>> {
    let root = Type::group_type_builder("arrow_schema").with_fields(vec![stored]);
    let nowhere = SerializedFileWriter::new(io::sink(), Arc::new(root.build()?), props.clone())?;
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    ArrowRowGroupWriterFactory::new(&nowhere, schema).create_column_writers(0)
}
