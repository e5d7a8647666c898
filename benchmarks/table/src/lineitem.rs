//! The table `lineitem` of TPC-H, as a file of Arrow.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::{LineItemArrow, RecordBatchIterator};

const BATCH_ROWS: usize = 65_536;

/// Writes the table. Its strings are `utf8`, which all formats have.
pub(crate) fn write(path: &Path, scale_factor: f64) -> Result<()> {
    let generator = LineItemGenerator::new(scale_factor, 1, 1);
    let rows = LineItemArrow::new(generator).with_batch_size(BATCH_ROWS);
    let fields = rows.schema().fields().iter().map(|field| {
        let data_type = match field.data_type() {
            DataType::Utf8View => DataType::Utf8,
            other => other.clone(),
        };
        Field::new(field.name(), data_type, true)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = FileWriter::try_new(BufWriter::new(File::create(path)?), &schema)?;
    for batch in rows {
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    writer.finish()?;
    Ok(())
}
