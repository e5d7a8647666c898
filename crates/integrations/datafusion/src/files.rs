//! Files that the tasks of a plan share while they read them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::error::{DataFusionError, Result};
use object_store::ObjectMeta;
use object_store::path::Path;
use tarsia::File;
use tokio::sync::OnceCell;

use crate::store::Objects;

/// Files that are open. A file is closed when the last task that reads it ends.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    known: Mutex<HashMap<Path, Listed>>,
}

#[derive(Debug)]
struct Listed {
    meta: ObjectMeta,
    file: Weak<OnceCell<File>>,
}

/// An open file. It stays open while this lives.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    /// Keeps it known.
    _cell: Arc<OnceCell<File>>,
    pub(crate) file: File,
}

impl OpenFiles {
    /// Opens a file as it was listed, or returns it if it is open.
    ///
    /// # Errors
    /// As [`Objects::open`].
    pub(crate) async fn open(&self, objects: Objects, listed: &ObjectMeta) -> Result<SharedFile> {
        let cell = self.cell(listed);
        let opened = cell.get_or_try_init(|| open(objects, listed.clone())).await;
        let file = opened?.clone();
        Ok(SharedFile { _cell: cell, file })
    }

    fn cell(&self, listed: &ObjectMeta) -> Arc<OnceCell<File>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.get(&listed.location)
            && entry.meta == *listed
            && let Some(cell) = entry.file.upgrade()
        {
            return cell;
        }
        // What was closed is forgotten.
        known.retain(|_, entry| entry.file.strong_count() > 0);
        let cell = Arc::new(OnceCell::new());
        let entry = Listed {
            meta: listed.clone(),
            file: Arc::downgrade(&cell),
        };
        known.insert(listed.location.clone(), entry);
        cell
    }
}

/// Opens a file, strings as views, on a thread that may block.
///
/// # Errors
/// As [`Objects::open`].
pub(crate) async fn open(objects: Objects, listed: ObjectMeta) -> Result<File> {
    step(move || objects.open(&listed)).await
}

/// Runs a step that reads or decodes on a thread that may block. A panic in it goes on here.
pub(crate) async fn step<T, F>(work: F) -> Result<T>
where
    F: FnOnce() -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    match tarsia_tokio::run(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(stopped) => Err(DataFusionError::ExecutionJoin(Box::new(stopped))),
        },
    }
}
