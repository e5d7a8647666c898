//! The table `lineitem` of TPC-H: 16 columns of integers, decimals, dates and strings.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::{LineItemArrow, RecordBatchIterator};

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// Scale factor of the table that is measured: six million rows.
pub(super) const SCALE_FACTOR: f64 = 1.0;

/// The table with `strings`, which is `Utf8` or `Utf8View`, as the type of its strings.
pub(crate) fn table(
    scale_factor: f64,
    strings: &DataType,
) -> (SchemaRef, impl Iterator<Item = Result<RecordBatch>> + use<>) {
    let generator = LineItemGenerator::new(scale_factor, 1, 1);
    let rows = LineItemArrow::new(generator).with_batch_size(BATCH_ROWS);
    let fields = rows.schema().fields().iter().map(|field| {
        let data_type = match field.data_type() {
            DataType::Utf8View => strings.clone(),
            other => other.clone(),
        };
        Field::new(field.name(), data_type, field.is_nullable())
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batches = rows.map({
        let schema = schema.clone();
        move |batch| {
            let columns = batch.columns().iter().zip(schema.fields());
            let columns = columns.map(|(column, field)| cast(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Ok(RecordBatch::try_new(schema.clone(), columns)?)
        }
    });
    (schema, batches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_the_type_that_is_asked_for() {
        for strings in [DataType::Utf8, DataType::Utf8View] {
            let (schema, batches) = table(0.01, &strings);
            let types = |wanted: &DataType| {
                let fields = schema.fields().iter();
                fields.filter(|field| field.data_type() == wanted).count()
            };
            assert_eq!(schema.fields().len(), 16);
            assert_eq!(types(&strings), 5);
            assert_eq!(types(&DataType::Decimal128(15, 2)), 4);
            assert_eq!(types(&DataType::Date32), 3);
            let batches: Vec<_> = batches.collect::<Result<_>>().unwrap();
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 60_175);
            assert!(batches.iter().all(|batch| batch.schema() == schema));
        }
    }
}
