//! Answers on the standard output.

use std::io::{BufWriter, Stdout, Write, stdout};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::error::DataFusionError;

use crate::args::Format;
use crate::failure::Failure;

/// The answer of one statement. Tables are written at its end, since their columns are as wide as their widest value.
pub(crate) struct Output {
    schema: SchemaRef,
    form: Form,
}

enum Form {
    Table(Vec<RecordBatch>),
    Json(Box<json::writer::LineDelimitedWriter<BufWriter<Stdout>>>),
    Csv(Box<csv::Writer<BufWriter<Stdout>>>, bool),
}

impl Output {
    pub(crate) fn new(format: Format, schema: SchemaRef) -> Self {
        let to = BufWriter::new(stdout());
        let form = match format {
            Format::Table => Form::Table(Vec::new()),
            Format::Json => {
                let writer = json::writer::WriterBuilder::new().with_explicit_nulls(true);
                Form::Json(Box::new(writer.build(to)))
            }
            Format::Csv => {
                let writer = csv::WriterBuilder::new().with_header(true);
                Form::Csv(Box::new(writer.build(to)), false)
            }
        };
        Self { schema, form }
    }

    pub(crate) fn write(&mut self, batch: RecordBatch) -> Result<(), Failure> {
        let written = match &mut self.form {
            Form::Table(batches) => {
                batches.push(batch);
                Ok(())
            }
            Form::Json(writer) => writer.write(&batch),
            Form::Csv(writer, has_head) => {
                *has_head = true;
                writer.write(&batch)
            }
        };
        written.map_err(failed)
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.form {
            Form::Table(batches) => {
                let table = pretty_format_batches_with_schema(self.schema, &batches);
                let table = table.map_err(failed)?;
                let mut to = stdout().lock();
                writeln!(to, "{table}").map_err(|error| Failure::of_output(&error))
            }
            Form::Json(mut writer) => {
                writer.finish().map_err(failed)?;
                flush(writer.into_inner())
            }
            Form::Csv(mut writer, has_head) => {
                if !has_head {
                    let none = RecordBatch::new_empty(Arc::clone(&self.schema));
                    writer.write(&none).map_err(failed)?;
                }
                flush(writer.into_inner())
            }
        }
    }
}

fn flush(mut to: BufWriter<Stdout>) -> Result<(), Failure> {
    to.flush().map_err(|error| Failure::of_output(&error))
}

fn failed(error: ArrowError) -> Failure {
    let output = match &error {
        ArrowError::IoError(_, error) => Some(error),
        ArrowError::ExternalError(error) => error.downcast_ref::<std::io::Error>(),
        _ => None,
    };
    match output {
        Some(error) => Failure::of_output(error),
        None => DataFusionError::from(error).into(),
    }
}
