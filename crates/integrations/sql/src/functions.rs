//! Tables of what a Tarsia file says of itself.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringViewArray, UInt64Array};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use tarsia::{ColumnInspection, File};

/// Makes both functions known.
pub(crate) fn register(ctx: &SessionContext) {
    let functions = [
        (
            "tarsia_metadata",
            metadata as fn(&File) -> Result<RecordBatch>,
        ),
        ("tarsia_columns", columns),
    ];
    for (name, table) in functions {
        ctx.register_udtf(name, Arc::new(OfFile { name, table }));
    }
}

/// A function of the name of a local file.
#[derive(Debug)]
struct OfFile {
    name: &'static str,
    table: fn(&File) -> Result<RecordBatch>,
}

impl TableFunctionImpl for OfFile {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let [Expr::Literal(path, _)] = args.exprs() else {
            return plan_err!("{}('FILE') takes the name of a file", self.name);
        };
        let Some(Some(path)) = path.try_as_str() else {
            return plan_err!("{}('FILE') takes the name of a file", self.name);
        };
        let file = File::open(path).map_err(failed)?;
        let batch = (self.table)(&file)?;
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        Ok(Arc::new(table))
    }
}

fn failed(error: tarsia::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Names and values: rows, sizes, identity, the metadata of the schema.
fn metadata(file: &File) -> Result<RecordBatch> {
    let of_file = file.metadata().map_err(failed)?;
    let schema = file.schema().map_err(failed)?;
    let mut pairs = vec![
        ("rows".to_owned(), of_file.rows.to_string()),
        ("live_rows".to_owned(), file.live_rows().to_string()),
        ("deleted_rows".to_owned(), of_file.deleted_rows.to_string()),
        ("erased_rows".to_owned(), of_file.erased_rows.to_string()),
        ("columns".to_owned(), of_file.columns.to_string()),
        ("file_bytes".to_owned(), of_file.file_bytes.to_string()),
        (
            "version".to_owned(),
            format!("{}.{}", of_file.version.0, of_file.version.1),
        ),
        ("file_id".to_owned(), hex(&of_file.file_id)),
        ("root_digest".to_owned(), hex(&of_file.root_digest)),
        ("epoch".to_owned(), of_file.epoch.to_string()),
        ("created_by".to_owned(), of_file.created_by.clone()),
        ("kernels".to_owned(), of_file.kernels.to_string()),
    ];
    let mut of_schema: Vec<_> = schema.metadata().iter().collect();
    of_schema.sort();
    let of_schema = of_schema
        .into_iter()
        .map(|(key, value)| (format!("metadata:{key}"), value.clone()));
    pairs.extend(of_schema);
    let (names, values): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
    let text =
        |texts: Vec<String>| -> ArrayRef { Arc::new(StringViewArray::from_iter_values(texts)) };
    Ok(RecordBatch::try_from_iter([
        ("name", text(names)),
        ("value", text(values)),
    ])?)
}

/// A row for each column, of nested fields for each of theirs.
fn columns(file: &File) -> Result<RecordBatch> {
    let columns = file.inspect().map_err(failed)?.columns;
    let text = |of: fn(&ColumnInspection) -> String| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(columns.iter().map(of)))
    };
    let number = |of: fn(&ColumnInspection) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(columns.iter().map(of)))
    };
    let nullable = columns.iter().map(|column| Some(column.nullable));
    Ok(RecordBatch::try_from_iter([
        ("name", text(|it| it.name.clone())),
        ("type", text(|it| it.data_type.clone())),
        (
            "nullable",
            Arc::new(nullable.collect::<BooleanArray>()) as ArrayRef,
        ),
        ("rows", number(|it| it.rows)),
        ("items", number(|it| it.items)),
        ("nulls", number(|it| it.nulls)),
        ("pages", number(|it| it.pages)),
        ("blocks", number(|it| it.blocks)),
        ("encodings", text(encodings)),
        ("encoded_bytes", number(|it| it.encoded_bytes)),
        ("metadata_bytes", number(|it| it.metadata_bytes)),
        ("zone_bytes", number(|it| it.zone_bytes)),
        ("decoded_bytes", number(|it| it.decoded_bytes)),
    ])?)
}

/// Trees of encodings, most used first, and how many blocks each encodes.
fn encodings(column: &ColumnInspection) -> String {
    let trees = column.trees.iter();
    let trees = trees.map(|(tree, blocks)| format!("{tree} x{blocks}"));
    trees.collect::<Vec<_>>().join(", ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
