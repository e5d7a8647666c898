//! Record batches to files. A file appears under its name only when it is complete.

mod dictionary;
mod rows_alone;
mod wide;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, make_array, new_null_array};
use arrow_data::ArrayData;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use tarsia_arrow::beyond_precision;

pub use dictionary::Dictionaries;
use wide::WideWriter;

use crate::destination::{Counted, Destination};
use crate::failure::Failure;
use crate::foreign::guarded;
use crate::source::Format;
use crate::text::{Cell, JsonRows, Style, cell, csv_text, holds, repeated_name};

/// A row group of a Parquet file is closed when its encoded columns take this much memory.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Parquet files of more columns than this are written column by column.
const NARROW_COLUMNS_MAX: usize = 256;

/// Text is written to the file in pieces of at least this size.
const TEXT_BYTES: usize = 1 << 20;

/// A file being written. Dropping it without [`Target::finish`] leaves nothing behind.
pub struct Target {
    path: PathBuf,
    schema: SchemaRef,
    writer: Writer,
}

/// The writers of the formats.
enum Writer {
    Parquet(Box<ArrowWriter<Counted>>),
    /// Parquet of many columns.
    WideParquet(Box<WideWriter<Counted>>),
    /// Parquet of no columns, but rows.
    RowsAlone {
        file: Counted,
        rows: u64,
    },
    Arrow {
        writer: Box<FileWriter<BufWriter<Counted>>>,
        dictionaries: Dictionaries,
    },
    Csv {
        file: Counted,
        buffer: Vec<u8>,
    },
    JsonLines {
        file: Counted,
        buffer: Vec<u8>,
    },
}

impl Target {
    /// A file at `path` of what is read from `input`, for batches of this schema. `dictionaries` are those of all
    /// batches to come, merged; only [`Format::Arrow`] needs them.
    ///
    /// # Errors
    /// [`Failure::Bad`] that names the column whose type the format cannot hold; those of [`Destination::open`].
    pub fn create(
        path: &Path,
        input: &Path,
        format: Format,
        schema: SchemaRef,
        dictionaries: Dictionaries,
    ) -> Result<Target, Failure> {
        check(format, &schema).map_err(|what| Failure::bad(path, what))?;
        let bad = |error: &dyn std::fmt::Display| Failure::bad(path, error);
        let file = Counted::new(Destination::open(path, input)?);
        let writer = match format {
            Format::Parquet if schema.fields().is_empty() => Writer::RowsAlone { file, rows: 0 },
            Format::Parquet => {
                let properties = parquet_properties(&schema);
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
                let writer = writer.map_err(|error| bad(&error))?;
                match schema.fields().len() > NARROW_COLUMNS_MAX {
                    false => Writer::Parquet(Box::new(writer)),
                    true => {
                        let wide = WideWriter::new(writer, schema.clone(), ROW_GROUP_BYTES);
                        Writer::WideParquet(Box::new(wide.map_err(|error| bad(&error))?))
                    }
                }
            }
            Format::Arrow => {
                let writer =
                    FileWriter::try_new(BufWriter::with_capacity(TEXT_BYTES, file), &schema);
                Writer::Arrow {
                    writer: Box::new(writer.map_err(|error| bad(&error))?),
                    dictionaries,
                }
            }
            Format::Csv => {
                let mut buffer = Vec::new();
                for (i, field) in schema.fields().iter().enumerate() {
                    if i > 0 {
                        buffer.push(b',');
                    }
                    csv_text(&mut buffer, field.name());
                }
                buffer.push(b'\n');
                Writer::Csv { file, buffer }
            }
            Format::JsonLines => Writer::JsonLines {
                file,
                buffer: Vec::new(),
            },
        };
        Ok(Target {
            path: path.to_owned(),
            schema,
            writer,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Failure::Bad`] when the file cannot be written, or with the column of a value that the format cannot hold.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let written = match &mut self.writer {
            Writer::Parquet(writer) => write_parquet(writer, batch),
            Writer::WideParquet(writer) => check_precisions(batch)
                .and_then(|()| writer.write(batch).map_err(|error| error.to_string())),
            Writer::RowsAlone { rows, .. } => {
                *rows += batch.num_rows() as u64;
                Ok(())
            }
            Writer::Arrow {
                writer,
                dictionaries,
            } => dictionaries
                .apply(batch, &self.schema)
                .and_then(|batch| writer.write(&batch).map_err(|error| error.to_string())),
            Writer::Csv { file, buffer } => write_csv(file, buffer, batch),
            Writer::JsonLines { file, buffer } => write_json_lines(file, buffer, batch),
        };
        written.map_err(|what| Failure::bad(&self.path, what))
    }

    /// Completes the file, moves it to its name and returns its length.
    ///
    /// # Errors
    /// [`Failure::Bad`] when the file cannot be written or renamed.
    pub fn finish(self) -> Result<u64, Failure> {
        complete(self.writer, self.schema).map_err(|what| Failure::bad(&self.path, what))
    }
}

fn complete(writer: Writer, schema: SchemaRef) -> Result<u64, String> {
    let file = match writer {
        Writer::Parquet(writer) => writer.into_inner().map_err(|error| error.to_string())?,
        Writer::WideParquet(writer) => writer.finish().map_err(|error| error.to_string())?,
        Writer::RowsAlone { mut file, rows } => {
            let properties = parquet_properties(&schema);
            rows_alone::write(&mut file, schema, properties, rows)
                .map_err(|error| error.to_string())?;
            file
        }
        Writer::Arrow { mut writer, .. } => {
            writer.finish().map_err(|error| error.to_string())?;
            let buffered = writer.into_inner().map_err(|error| error.to_string())?;
            buffered.into_inner().map_err(|error| error.to_string())?
        }
        Writer::Csv { mut file, buffer } | Writer::JsonLines { mut file, buffer } => {
            file.write_all(&buffer).map_err(|error| error.to_string())?;
            file
        }
    };
    file.commit().map_err(|error| error.to_string())
}

/// Refuses a schema that the format cannot hold, with the name of the column.
fn check(format: Format, schema: &Schema) -> Result<(), String> {
    let refuse = |field: &Field, what: &str| {
        Err(format!(
            "column `{}`: type {} cannot be written as {what}",
            field.name(),
            field.data_type()
        ))
    };
    match format {
        Format::Arrow => Ok(()),
        // A line without a field is an empty line, which readers skip.
        Format::Csv if schema.fields().is_empty() => {
            Err("CSV cannot hold a table without columns".to_owned())
        }
        Format::Csv => match schema
            .fields()
            .iter()
            .find(|field| !holds(Style::Csv, field.data_type()))
        {
            Some(field) => refuse(field, "CSV"),
            None => Ok(()),
        },
        Format::JsonLines => match repeated_name(schema) {
            Some(name) => Err(format!(
                "column `{name}`: a JSON object holds a name only once"
            )),
            None => Ok(()),
        },
        Format::Parquet => {
            // Each type is tried once: wide tables have few types.
            let mut held: Vec<&DataType> = Vec::new();
            for field in schema.fields() {
                if held.contains(&field.data_type()) {
                    continue;
                }
                if !parquet_holds(field.data_type()) {
                    return refuse(field, "Parquet");
                }
                held.push(field.data_type());
            }
            Ok(())
        }
    }
}

/// Whether a type is the same after it was written to a Parquet file and read again. This is tried with one value,
/// since there is no list of types, and some are refused only at their first value, a few with a panic.
fn parquet_holds(data_type: &DataType) -> bool {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("c", data_type.clone(), true)]));
    let probe = || -> Result<bool, String> {
        let text = |error: ParquetError| error.to_string();
        let batch = RecordBatch::try_new(schema.clone(), vec![one_value(data_type)?])
            .map_err(|error| error.to_string())?;
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), None).map_err(text)?;
        writer.write(&batch).map_err(text)?;
        writer.close().map_err(text)?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file)).map_err(text)?;
        let same_type = builder.schema().field(0).data_type() == data_type;
        let read = builder.build().map_err(text)?.next();
        Ok(same_type && matches!(read, Some(Ok(read)) if read.columns() == batch.columns()))
    };
    guarded(probe).unwrap_or(false)
}

/// One value whose bytes are all zero, such as 0 or an empty text. Null for types that have no such value of their own.
fn one_value(data_type: &DataType) -> Result<ArrayRef, String> {
    let null = new_null_array(data_type, 1);
    let data = match data_type {
        DataType::Dictionary(key_type, value_type) => {
            let mut data = ArrayData::builder(data_type.clone()).len(1);
            for buffer in one_value(key_type)?.to_data().buffers() {
                data = data.add_buffer(buffer.clone());
            }
            data.add_child_data(one_value(value_type)?.to_data())
        }
        DataType::Null => return Ok(null),
        // The children must not be null either.
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| one_value(field.data_type()));
            let data = ArrayData::builder(data_type.clone()).len(1);
            children
                .collect::<Result<Vec<_>, _>>()?
                .iter()
                .fold(data, |data, child| data.add_child_data(child.to_data()))
        }
        DataType::FixedSizeList(item, length) => {
            let items = UInt64Array::from(vec![0; usize::try_from(*length).unwrap_or(0)]);
            let items = arrow_select::take::take(&one_value(item.data_type())?, &items, None);
            let items = items.map_err(|error| error.to_string())?;
            let data = ArrayData::builder(data_type.clone()).len(1);
            data.add_child_data(items.to_data())
        }
        _ => null.to_data().into_builder().nulls(None),
    };
    data.build()
        .map(make_array)
        .map_err(|error| error.to_string())
}

fn parquet_properties(schema: &Schema) -> WriterProperties {
    // Arrow readers find the metadata in the Arrow schema as well, other readers only here.
    let mut metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    metadata.sort_by(|a, b| a.key.cmp(&b.key));
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
        .build()
}

fn write_parquet(writer: &mut ArrowWriter<Counted>, batch: &RecordBatch) -> Result<(), String> {
    check_precisions(batch)?;
    writer.write(batch).map_err(|error| error.to_string())?;
    if writer.memory_size() >= ROW_GROUP_BYTES {
        writer.flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The writer stores only as many bytes of a decimal as its precision needs, so a larger number would be cut to another
/// one.
fn check_precisions(batch: &RecordBatch) -> Result<(), String> {
    let mut columns = batch.schema_ref().fields().iter().zip(batch.columns());
    columns.try_for_each(|(field, array)| match beyond_precision(array) {
        None => Ok(()),
        Some(found) => Err(format!("column `{}`: {}", field.name(), found.what)),
    })
}

fn write_csv(file: &mut Counted, buffer: &mut Vec<u8>, batch: &RecordBatch) -> Result<(), String> {
    let mut columns: Vec<(&str, Cell<'_>)> = Vec::with_capacity(batch.num_columns());
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let cell = cell(Style::Csv, array.as_ref())
            .map_err(|what| format!("column `{}`: {what}", field.name()))?;
        columns.push((field.name(), cell));
    }
    for row in 0..batch.num_rows() {
        for (i, (name, cell)) in columns.iter().enumerate() {
            if i > 0 {
                buffer.push(b',');
            }
            cell(row, buffer).map_err(|what| format!("column `{name}`: {what}"))?;
        }
        buffer.push(b'\n');
        hand_over(file, buffer)?;
    }
    Ok(())
}

fn write_json_lines(
    file: &mut Counted,
    buffer: &mut Vec<u8>,
    batch: &RecordBatch,
) -> Result<(), String> {
    let rows = JsonRows::new(batch)?;
    for row in 0..batch.num_rows() {
        rows.write(row, buffer)?;
        buffer.push(b'\n');
        hand_over(file, buffer)?;
    }
    Ok(())
}

fn hand_over(file: &mut Counted, buffer: &mut Vec<u8>) -> Result<(), String> {
    if buffer.len() >= TEXT_BYTES {
        file.write_all(buffer).map_err(|error| error.to_string())?;
        buffer.clear();
    }
    Ok(())
}
