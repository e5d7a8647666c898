//! `INSERT INTO` a table: one transaction.

use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use async_trait::async_trait;
use datafusion::arrow::compute::cast;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, exec_err};
use datafusion::datasource::sink::DataSink;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures_util::StreamExt;
use tarsia_table::{CommitInfo, Table};
use tokio::sync::mpsc;

use crate::failure::failed;
use crate::files::step;

/// Batches that wait to be written.
const BATCHES_WAITING: usize = 4;

/// Adds rows to a branch in one commit, or none.
pub(crate) struct TableSink {
    pub(crate) table: Table,
    pub(crate) name: String,
    pub(crate) branch: String,
    pub(crate) info: CommitInfo,
    /// The table's columns.
    pub(crate) columns: SchemaRef,
    /// These with nulls, which are refused here by the name of their column.
    pub(crate) schema: SchemaRef,
}

impl fmt::Debug for TableSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableSink({}, {})", self.name, self.branch)
    }
}

impl DisplayAs for TableSink {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::TreeRender => {
                writeln!(f, "table={}", self.name)?;
                write!(f, "branch={}", self.branch)
            }
            _ => write!(
                f,
                "TarsiaTable(table={}, branch={})",
                self.name, self.branch
            ),
        }
    }
}

/// Messages to the writer.
enum Sent {
    Batch(RecordBatch),
    /// All batches came.
    End,
}

#[async_trait]
impl DataSink for TableSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(
        &self,
        mut data: SendableRecordBatchStream,
        _: &Arc<TaskContext>,
    ) -> Result<u64> {
        let (sender, sent) = mpsc::channel(BATCHES_WAITING);
        let work = Work {
            table: self.table.clone(),
            name: self.name.clone(),
            branch: self.branch.clone(),
            info: self.info.clone(),
            schema: Arc::clone(&self.columns),
            sent,
        };
        let written = SpawnedTask::spawn(step(move || work.run()));
        while let Some(batch) = data.next().await {
            let batch = as_table(&batch?, &self.columns)?;
            if sender.send(Sent::Batch(batch)).await.is_err() {
                break;
            }
        }
        // A writer that has failed says why below. Until it is done the sender lives: one that is gone is a query that
        // was given up.
        let _ = sender.send(Sent::End).await;
        let written = written.join_unwind().await;
        written.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
    }
}

/// The batch with the types of the table's columns.
fn as_table(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if !field.is_nullable() && column.logical_null_count() > 0 {
            return exec_err!("column `{}` takes no nulls", field.name());
        }
        match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => Ok(cast(column, field.data_type())?),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// The transaction, on a thread that may block.
struct Work {
    table: Table,
    name: String,
    branch: String,
    info: CommitInfo,
    schema: SchemaRef,
    sent: mpsc::Receiver<Sent>,
}

impl Work {
    fn run(mut self) -> Result<u64> {
        let failed = |error| failed(&self.name, error);
        let txn = self.table.begin(&self.branch, self.info);
        let mut txn = txn.map_err(failed)?;
        let reader = Reader {
            schema: self.schema,
            sent: &mut self.sent,
        };
        let n_rows = txn.append(reader).map_err(failed)?;
        if self.sent.is_closed() {
            return exec_err!("{}: {GIVEN_UP}", self.name);
        }
        if !txn.is_empty() {
            txn.commit().map_err(failed)?;
        }
        Ok(n_rows)
    }
}

const GIVEN_UP: &str = "the query was given up, and nothing is committed";

struct Reader<'a> {
    schema: SchemaRef,
    sent: &'a mut mpsc::Receiver<Sent>,
}

impl Iterator for Reader<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.sent.blocking_recv() {
            Some(Sent::Batch(batch)) => Some(Ok(batch)),
            Some(Sent::End) => None,
            None => Some(Err(ArrowError::ExternalError(GIVEN_UP.into()))),
        }
    }
}

impl RecordBatchReader for Reader<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
