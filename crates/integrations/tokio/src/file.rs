//! An open file whose steps are futures.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tarsia::io::ReadAt;
use tarsia::{File, OpenOptions, Result, ScanBuilder, TakeBuilder};

use crate::run;
use crate::stream::{BatchStream, stream};

/// Batches that a scan is ahead of whoever reads its stream: one to work on, and one that is there when it is done.
const BATCHES_AHEAD: usize = 2;

/// An open file. Cloning shares it. What its methods read and decode, they do on other threads than the runtime's.
///
/// Dropping a stream cancels its scan. Dropping another future leaves its step to run to its end, and drops the result.
///
/// # Panics
/// All methods that are asynchronous, and [`AsyncFile::scan`], panic outside of a tokio runtime.
#[derive(Clone, Debug)]
pub struct AsyncFile {
    file: File,
}

impl AsyncFile {
    /// Opens a local file as [`File::open_with`] does.
    ///
    /// # Errors
    /// As [`File::open`]; [`ErrorKind::Io`](tarsia::ErrorKind::Io) where the runtime shuts down.
    pub async fn open(path: impl Into<PathBuf>, options: OpenOptions) -> Result<Self> {
        let path = path.into();
        Ok(step(move || File::open_with(path, options)).await?.into())
    }

    /// Opens what a function opens, which may block: `AsyncFile::open_with("s3://bucket/a.tarsia", options, ||
    /// tarsia_store::open("s3://bucket/a.tarsia", &StoreOptions::new()))`. Errors call it by the name, which holds
    /// nothing secret.
    ///
    /// # Errors
    /// Those of the function, and as [`AsyncFile::open`].
    pub async fn open_with(
        name: impl Into<String>,
        options: OpenOptions,
        open: impl FnOnce() -> io::Result<Arc<dyn ReadAt>> + Send + 'static,
    ) -> Result<Self> {
        let name = name.into();
        let opened = step(move || File::open_named(open()?, name, options));
        Ok(opened.await?.into())
    }

    /// The file, for what needs no waiting (numbers of rows and columns), and for [`run`].
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads the whole schema.
    ///
    /// # Errors
    /// As [`File::schema`].
    pub async fn schema(&self) -> Result<SchemaRef> {
        let file = self.file.clone();
        step(move || file.schema()).await
    }

    /// Takes rows, in the order asked for; `describe` adds columns or an element.
    ///
    /// # Errors
    /// As [`TakeBuilder::read`].
    pub async fn take<F>(&self, rows: impl Into<Vec<u64>>, describe: F) -> Result<RecordBatch>
    where
        F: for<'r> FnOnce(TakeBuilder<'r>) -> TakeBuilder<'r> + Send + 'static,
    {
        let (file, rows) = (self.file.clone(), rows.into());
        step(move || describe(file.take(&rows)).read()).await
    }

    /// Starts a scan and returns its batches, in row order; `describe` adds columns and rows. The scan is two batches
    /// ahead; [`stream`] takes another number.
    ///
    /// Errors that [`ScanBuilder::build`] has are those of the stream.
    pub fn scan(&self, describe: impl FnOnce(ScanBuilder) -> ScanBuilder) -> BatchStream {
        stream(describe(self.file.scan()), BATCHES_AHEAD)
    }
}

impl From<File> for AsyncFile {
    fn from(file: File) -> Self {
        Self { file }
    }
}

/// Runs a step on a blocking thread. A panic in it goes on here.
async fn step<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match run(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(stopped) => Err(io::Error::other(stopped).into()),
        },
    }
}
