//! Objects of a folder that are written in parts.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::folder::Folder;
use crate::file_system::FileSystem;
use crate::read::ReadAt;
use crate::store::{StoreFuture, Upload};
use crate::store_error::{StoreError, StoreErrorKind, StoreOperation};
use crate::temporary::Temporary;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Parts in a temporary file, in the order in which they came.
pub(super) struct LocalUpload<F: FileSystem>(Arc<State<F>>);

struct State<F: FileSystem> {
    folder: Arc<Folder<F>>,
    key: String,
    parts: Mutex<Parts<F>>,
}

struct Parts<F: FileSystem> {
    /// `None` once the upload is completed or given up.
    file: Option<Temporary<F>>,
    end: u64,
    places: BTreeMap<u32, Place>,
}

/// Place of a part in the temporary file.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    n_bytes: u64,
}

impl<F: FileSystem + Clone + 'static> LocalUpload<F> {
    pub(super) fn begin(folder: Arc<Folder<F>>, key: &str) -> Result<Self, StoreError> {
        let file = folder.begin(key)?;
        Ok(Self(Arc::new(State {
            folder,
            key: key.to_owned(),
            parts: Mutex::new(Parts {
                file: Some(file),
                end: 0,
                places: BTreeMap::new(),
            }),
        })))
    }

    fn later<T: Send + 'static>(
        &self,
        step: impl FnOnce(&State<F>) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<T> {
        let state = Arc::clone(&self.0);
        let step = move || step(&state).map_err(|error| error.during(StoreOperation::Upload));
        Box::pin(async move { step() })
    }
}

impl<F: FileSystem + Clone> State<F> {
    fn parts(&self) -> MutexGuard<'_, Parts<F>> {
        // A part is known once it is written.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, kind: StoreErrorKind, what: &str) -> StoreError {
        StoreError::new(kind, self.folder.url(&self.key), what)
    }

    fn over(&self) -> StoreError {
        self.error(StoreErrorKind::Invalid, "the upload is over")
    }

    fn put_part(&self, index: u32, bytes: &[u8]) -> Result<(), StoreError> {
        let mut parts = self.parts();
        let start = parts.end;
        let file = parts.file.as_ref().ok_or_else(|| self.over())?;
        let written = file.write_at(start, bytes);
        written.map_err(|error| self.folder.failure(&self.key, &error))?;
        let n_bytes = bytes.len() as u64;
        parts.end += n_bytes;
        parts.places.insert(index, Place { start, n_bytes });
        Ok(())
    }

    fn complete(&self, n_parts: u32) -> Result<Option<String>, StoreError> {
        let mut parts = self.parts();
        if parts.places.keys().copied().ne(0..n_parts) {
            let what = format!("{} of {n_parts} parts were written", parts.places.len());
            return Err(self.error(StoreErrorKind::Invalid, &what));
        }
        let file = parts.file.take().ok_or_else(|| self.over())?;
        let mut end = 0;
        let is_in_order = parts.places.values().all(|place| {
            let is_next = place.start == end;
            end += place.n_bytes;
            is_next
        });
        let whole = match is_in_order && end == parts.end {
            true => file,
            false => self.in_order(&file, parts.places.values().copied())?,
        };
        self.folder.put_file(&self.key, whole)
    }

    /// Copies the parts to a new file, in their order.
    fn in_order(
        &self,
        file: &Temporary<F>,
        places: impl Iterator<Item = Place>,
    ) -> Result<Temporary<F>, StoreError> {
        let whole = self.folder.begin(&self.key)?;
        let copied = self.folder.files.open(file.path()).and_then(|parts| {
            let mut end = 0;
            for place in places {
                copy(&parts.reader, place, &whole, end)?;
                end += place.n_bytes;
            }
            Ok(())
        });
        copied.map_err(|error| self.folder.failure(&self.key, &error))?;
        Ok(whole)
    }
}

/// Copies a part to `to` of another file.
fn copy<F: FileSystem>(
    parts: &impl ReadAt,
    place: Place,
    whole: &Temporary<F>,
    to: u64,
) -> io::Result<()> {
    let mut buffer = vec![0; (COPY_BYTES as u64).min(place.n_bytes) as usize];
    let mut done = 0;
    while done < place.n_bytes {
        let n_bytes = (place.n_bytes - done).min(buffer.len() as u64);
        let Some(piece) = buffer.get_mut(..n_bytes as usize) else {
            break;
        };
        parts.read_at(place.start + done, piece)?;
        whole.write_at(to + done, piece)?;
        done += n_bytes;
    }
    Ok(())
}

impl<F: FileSystem> fmt::Debug for LocalUpload<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalUpload({})", self.0.folder.url(&self.0.key))
    }
}

impl<F: FileSystem + Clone + 'static> Upload for LocalUpload<F> {
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()> {
        self.later(move |state| state.put_part(index, &bytes))
    }

    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>> {
        self.later(move |state| state.complete(n_parts))
    }

    /// Removes the file of the parts, now.
    fn abort(&self) -> StoreFuture<()> {
        let mut parts = self.0.parts();
        parts.file = None;
        drop(parts);
        Box::pin(std::future::ready(Ok(())))
    }
}
