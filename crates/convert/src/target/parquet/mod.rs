//! Record batches to Parquet.

mod rows_alone;
mod stored;
mod wide;

use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, make_array, new_null_array,
};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use tarsia_arrow::beyond_precision;

use super::of_writer::text;
use crate::Error;
use crate::guarded::guarded;
use crate::nested::converted;
use stored::{parquet_schema, stored_schema, stored_type};
use wide::WideWriter;

/// A row group is closed when its encoded columns take this much memory.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Files of more columns than this are written column by column.
const NARROW_COLUMNS_MAX: usize = 256;

/// A Parquet file being written.
pub(super) struct Writer<W: Write + Send> {
    /// The schema whose arrays are written.
    stored: SchemaRef,
    kind: Kind<W>,
    rows: u64,
}

enum Kind<W: Write + Send> {
    Narrow(Box<ArrowWriter<W>>),
    Wide(Box<WideWriter<W>>),
    /// A table of no columns, but rows.
    RowsAlone(W, SchemaRef),
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn new(file: W, schema: &SchemaRef) -> Result<Self, Error> {
        let stored = Arc::new(stored_schema(schema));
        let kind = if schema.fields().is_empty() {
            Kind::RowsAlone(file, Arc::clone(schema))
        } else {
            let options = ArrowWriterOptions::new()
                .with_properties(properties(schema, true))
                .with_parquet_schema(parquet_schema(&stored, schema).map_err(text)?)
                .with_skip_arrow_metadata(true);
            let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&stored), options);
            let writer = writer.map_err(text)?;
            match schema.fields().len() > NARROW_COLUMNS_MAX {
                false => Kind::Narrow(Box::new(writer)),
                true => {
                    let wide = WideWriter::new(writer, Arc::clone(&stored), ROW_GROUP_BYTES);
                    Kind::Wide(Box::new(wide.map_err(text)?))
                }
            }
        };
        Ok(Writer {
            stored,
            kind,
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let first_row = self.rows;
        self.rows += batch.num_rows() as u64;
        if let Kind::RowsAlone(..) = self.kind {
            return Ok(());
        }
        check_precisions(batch)?;
        let batch = self.stored(batch, first_row)?;
        match &mut self.kind {
            Kind::Narrow(writer) => {
                writer.write(&batch).map_err(text)?;
                if writer.memory_size() >= ROW_GROUP_BYTES {
                    writer.flush().map_err(text)?;
                }
            }
            Kind::Wide(writer) => writer.write(&batch).map_err(text)?,
            Kind::RowsAlone(..) => {}
        }
        Ok(())
    }

    /// A batch of the stored types.
    fn stored(&self, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch, Error> {
        let fields = self.stored.fields().iter().zip(batch.columns());
        let columns = fields.map(|(field, array)| -> Result<ArrayRef, Error> {
            converted(array, field.data_type(), &stored::leaf).map_err(|misfit| {
                let what = format!("{}, which Parquet cannot hold", misfit.what);
                let error = Error::new(what).in_column(field.name());
                match misfit.index {
                    Some(row) => error.in_row(first_row + row as u64),
                    None => error,
                }
            })
        });
        let columns = columns.collect::<Result<Vec<_>, Error>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.stored), columns, &options).map_err(text)
    }

    /// Writes the end of the file.
    pub(super) fn finish(self) -> Result<W, Error> {
        match self.kind {
            Kind::Narrow(writer) => writer.into_inner().map_err(text),
            Kind::Wide(writer) => writer.finish().map_err(text),
            Kind::RowsAlone(mut file, schema) => {
                let properties = properties(&schema, false);
                rows_alone::write(&mut file, schema, properties, self.rows).map_err(text)?;
                Ok(file)
            }
        }
    }
}

/// Whether a type, as it is stored, is the same after it was written to a Parquet file and read again. This is tried
/// with one value, since there is no list of types, and some are refused only at their first value, a few with a panic.
pub(super) fn holds(data_type: &DataType) -> bool {
    let data_type = &stored_type(data_type);
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("c", data_type.clone(), true)]));
    let probe = || -> Result<bool, Error> {
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

/// The options of the `parquet` crate, and the metadata: with the Arrow schema, unless that is added later.
fn properties(schema: &Schema, with_arrow_schema: bool) -> WriterProperties {
    // Arrow readers find the metadata in the Arrow schema as well, other readers only here.
    let mut metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    metadata.sort_by(|a, b| a.key.cmp(&b.key));
    if with_arrow_schema {
        let value = encode_arrow_schema(schema);
        metadata.push(KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), value));
    }
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
        .build()
}

/// The writer stores only as many bytes of a decimal as its precision needs, so a larger number would be cut to another
/// one.
fn check_precisions(batch: &RecordBatch) -> Result<(), Error> {
    let mut columns = batch.schema_ref().fields().iter().zip(batch.columns());
    columns.try_for_each(|(field, array)| match beyond_precision(array) {
        None => Ok(()),
        Some(found) => Err(Error::new(found.what).in_column(field.name())),
    })
}
