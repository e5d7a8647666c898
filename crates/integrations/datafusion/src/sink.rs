//! Files that the engine writes (`COPY … TO`, `INSERT INTO`).

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::file_format::write::demux::DemuxedStreamReceiver;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use object_store::ObjectStore;
use object_store::path::Path;
use tarsia::{WriteOptions, Writer};
use tokio::sync::{mpsc, oneshot};

use crate::files::step;
use crate::options::TarsiaOptions;
use crate::store::{Objects, error_of};

/// Writes batches to Tarsia files. A file appears when it is complete, and all appear only if the whole input came.
pub(crate) struct TarsiaSink {
    config: FileSinkConfig,
    options: WriteOptions,
}

impl TarsiaSink {
    pub(crate) fn new(config: FileSinkConfig, options: &TarsiaOptions) -> Self {
        Self {
            config,
            options: options.of_writer(),
        }
    }
}

impl fmt::Debug for TarsiaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TarsiaSink").finish_non_exhaustive()
    }
}

impl DisplayAs for TarsiaSink {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::TreeRender => {
                writeln!(f, "format: tarsia")?;
                write!(f, "file={}", self.config.original_url)
            }
            _ => write!(f, "TarsiaSink(file={})", self.config.original_url),
        }
    }
}

/// One file: its rows come by a channel, and it is completed when that is allowed.
struct NewFile {
    objects: Objects,
    location: Path,
    schema: SchemaRef,
    options: WriteOptions,
    batches: mpsc::Receiver<RecordBatch>,
    may_commit: oneshot::Receiver<()>,
}

impl NewFile {
    /// Writes the file. Returns its rows.
    fn write(mut self) -> Result<u64> {
        let name = self.objects.name(&self.location);
        let failed = |error: tarsia::Error| error_of(error).context(format!("writing {name}"));
        let sink = self.objects.create(&self.location);
        let sink = sink.map_err(|error| failed(error.into()))?;
        let writer = Writer::new(BoxedSink(sink), Arc::clone(&self.schema), self.options);
        let mut writer = writer.map_err(failed)?;
        while let Some(batch) = self.batches.blocking_recv() {
            // Batches may say more of nulls than the table does.
            let batch = batch.with_schema(Arc::clone(&self.schema))?;
            writer.write(&batch).map_err(failed)?;
        }
        // The channel ends where the input fails, too.
        if self.may_commit.blocking_recv().is_err() {
            return Ok(0);
        }
        Ok(writer.finish_into().map_err(failed)?.1.rows)
    }
}

/// A sink of any kind.
struct BoxedSink(Box<dyn tarsia_io::Sink>);

impl tarsia_io::Sink for BoxedSink {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.append(bytes)
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> std::io::Result<bool> {
        self.0.overwrite(place, bytes)
    }

    fn commit(&mut self) -> std::io::Result<()> {
        self.0.commit()
    }
}

#[async_trait]
impl FileSink for TarsiaSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        _: &Arc<TaskContext>,
        demux_task: SpawnedTask<Result<()>>,
        mut file_stream_rx: DemuxedStreamReceiver,
        object_store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let objects = Objects::new(object_store);
        let schema = get_writer_schema(&self.config);
        let mut files = Vec::new();
        while let Some((location, batches)) = file_stream_rx.recv().await {
            let (allow, may_commit) = oneshot::channel();
            let file = NewFile {
                objects: objects.clone(),
                location,
                schema: Arc::clone(&schema),
                options: self.options.clone(),
                batches,
                may_commit,
            };
            let written = SpawnedTask::spawn(step(move || file.write()));
            files.push((allow, written));
        }
        let input = demux_task.join_unwind().await;
        let input = input.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
        let mut n_rows = 0;
        let mut failure = input.err();
        let (allowed, written): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        match &failure {
            None => allowed.into_iter().for_each(|allow| {
                // A file that failed has nobody who waits.
                let _ = allow.send(());
            }),
            Some(_) => drop(allowed),
        }
        for file in written {
            let file = file.join_unwind().await;
            let file = file.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
            match file {
                Ok(rows) => n_rows += rows,
                // It says more than that its channel was closed.
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(n_rows), Err)
    }
}

#[async_trait]
impl DataSink for TarsiaSink {
    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, data, context).await
    }
}
