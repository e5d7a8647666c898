//! Files written to a store.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tarsia_io::{
    Sink, Store, StoreError, StoreErrorKind, StoreFuture, Upload, block_on, check_overwrite,
};

use crate::policy::{PARTS_MAX, Policy};

/// Writes an object of a [`Store`]. It appears when it is complete; dropped without a commit, nothing is left.
///
/// A file that fits into one part is written by one request. Others are uploaded in parts, a few at the same time; the
/// first part is kept in memory until the commit, so that the header can be overwritten. So memory is limited:
/// [`Policy::part_bytes`] times ([`Policy::parts_in_flight_max`] + 2). A server that cannot take parts
/// (`https://`) takes files of one part.
///
/// An older object is replaced by the commit. If the answer to the commit is lost, the error says that the outcome is
/// unknown ([`StoreErrorKind::Unknown`]).
pub struct StoreSink {
    store: Arc<dyn Store>,
    key: String,
    policy: Policy,
    /// Part 0 once it is full; until then it is `filling`.
    first: Option<Vec<u8>>,
    filling: Vec<u8>,
    /// The place of the first byte of `filling`.
    filling_start: u64,
    /// The number of the part that is filled.
    index: u32,
    upload: AbandonHandle,
    in_flight: FuturesUnordered<StoreFuture<()>>,
    state: State,
    etag: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Failed,
    Committed,
}

impl StoreSink {
    /// Starts an object. Nothing is sent yet.
    pub fn new(store: Arc<dyn Store>, key: &str, policy: Policy) -> Self {
        Self {
            store,
            key: key.to_owned(),
            policy,
            first: None,
            filling: Vec::new(),
            filling_start: 0,
            index: 0,
            upload: AbandonHandle::default(),
            in_flight: FuturesUnordered::new(),
            state: State::Open,
            etag: None,
        }
    }

    /// Returns the ETag of the object, after the commit and if the store says it.
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// Returns what gives the file up from another thread.
    pub fn abandon_handle(&self) -> AbandonHandle {
        self.upload.clone()
    }

    /// Runs a step; after one that failed, every further one is refused.
    fn step<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> io::Result<T> {
        match self.state {
            State::Open => {}
            State::Failed => return Err(io::Error::other("an earlier write to this file failed")),
            State::Committed => return Err(io::Error::other("the file was committed before")),
        }
        let done = step(self);
        if done.is_err() {
            self.state = State::Failed;
        }
        Ok(done?)
    }

    fn end(&self) -> u64 {
        self.filling_start + self.filling.len() as u64
    }

    fn append_steps(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let part_bytes = self.policy.part_bytes_at(self.index);
            let space = part_bytes.saturating_sub(self.filling.len());
            if space == 0 {
                // Only now: what is exactly one part needs no upload.
                self.part_is_full()?;
                continue;
            }
            let (now, later) = bytes.split_at(space.min(bytes.len()));
            self.reserve(now.len(), part_bytes)?;
            self.filling.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Makes space in the part that is filled; never more than a part.
    fn reserve(&mut self, n_bytes: usize, part_bytes: usize) -> Result<(), StoreError> {
        let needed = self.filling.len() + n_bytes;
        if needed <= self.filling.capacity() {
            return Ok(());
        }
        let capacity = needed.max(self.filling.capacity() * 2).min(part_bytes);
        let more = capacity.saturating_sub(self.filling.len());
        let reserved = self.filling.try_reserve_exact(more);
        reserved.map_err(|_| self.error(StoreErrorKind::Other, "no memory for a part"))
    }

    /// Sends the part that is filled, or keeps it if it is the first.
    fn part_is_full(&mut self) -> Result<(), StoreError> {
        if self.index + 1 >= PARTS_MAX {
            let what = format!("a file of more than {PARTS_MAX} parts: make parts larger");
            return Err(self.error(StoreErrorKind::Unsupported, &what));
        }
        self.begin()?;
        let part = std::mem::take(&mut self.filling);
        self.filling_start += part.len() as u64;
        match self.index {
            0 => self.first = Some(part),
            index => self.send(index, part, self.policy.parts_in_flight_max)?,
        }
        self.index += 1;
        Ok(())
    }

    /// Begins the upload, unless it has begun.
    fn begin(&self) -> Result<(), StoreError> {
        let mut upload = self.upload.lock();
        match *upload {
            Progress::NotBegun => {
                // Under the lock: who gives the file up waits until it is known what to remove.
                let begun = block_on(self.store.upload(&self.key))?;
                *upload = Progress::Begun(begun.into());
                Ok(())
            }
            Progress::Begun(_) => Ok(()),
            Progress::Over => Err(self.given_up()),
        }
    }

    fn begun(&self) -> Result<Arc<dyn Upload>, StoreError> {
        match &*self.upload.lock() {
            Progress::Begun(upload) => Ok(Arc::clone(upload)),
            Progress::NotBegun | Progress::Over => Err(self.given_up()),
        }
    }

    fn given_up(&self) -> StoreError {
        self.error(StoreErrorKind::Other, "the file was given up")
    }

    /// Sends a part, once fewer than `in_flight_max` are on their way.
    fn send(&mut self, index: u32, part: Vec<u8>, in_flight_max: usize) -> Result<(), StoreError> {
        while self.in_flight.len() >= in_flight_max.max(1) {
            self.await_one()?;
        }
        let upload = self.begun()?;
        self.in_flight.push(upload.put_part(index, Arc::new(part)));
        // Errors of earlier parts show as soon as they are known, and stores that work when polled begin.
        while let Some(Some(done)) = self.in_flight.next().now_or_never() {
            done?;
        }
        Ok(())
    }

    fn await_one(&mut self) -> Result<(), StoreError> {
        block_on(self.in_flight.next()).unwrap_or(Ok(()))
    }

    fn commit_steps(&mut self) -> Result<(), StoreError> {
        let last = std::mem::take(&mut self.filling);
        self.filling_start += last.len() as u64;
        let Some(first) = self.first.take() else {
            if matches!(*self.upload.lock(), Progress::Over) {
                return Err(self.given_up());
            }
            self.etag = block_on(self.store.put(&self.key, Arc::new(last)))?;
            return Ok(());
        };
        let most = self.policy.parts_in_flight_max;
        self.send(self.index, last, most)?;
        self.send(0, first, most)?;
        while !self.in_flight.is_empty() {
            self.await_one()?;
        }
        self.etag = block_on(self.begun()?.complete(self.index + 1))?;
        *self.upload.lock() = Progress::Over;
        Ok(())
    }

    fn error(&self, kind: StoreErrorKind, what: &str) -> StoreError {
        StoreError::new(kind, self.store.url(&self.key), what)
    }
}

impl Sink for StoreSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step(|sink| sink.append_steps(bytes))
    }

    /// Overwrites bytes of the first part, or of the one that is filled; `false` for all others, which are on their
    /// way.
    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        check_overwrite(place, bytes.len() as u64, self.end())?;
        self.step(|sink| {
            let Self {
                first,
                filling,
                filling_start,
                ..
            } = sink;
            for (start, part) in [(0, first.as_mut()), (*filling_start, Some(filling))] {
                let (Some(part), Some(start)) = (part, place.checked_sub(start)) else {
                    continue;
                };
                let old = usize::try_from(start).ok();
                let old =
                    old.and_then(|start| part.get_mut(start..start.checked_add(bytes.len())?));
                if let Some(old) = old {
                    old.copy_from_slice(bytes);
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn commit(&mut self) -> io::Result<()> {
        self.step(Self::commit_steps)?;
        self.state = State::Committed;
        Ok(())
    }
}

impl Drop for StoreSink {
    fn drop(&mut self) {
        self.in_flight.clear();
        self.upload.abandon();
    }
}

/// Gives the file of a [`StoreSink`] up, from any thread: for a program that ends while another thread writes.
#[derive(Clone, Default)]
pub struct AbandonHandle(Arc<Mutex<Progress>>);

/// The state of an upload.
#[derive(Default)]
enum Progress {
    #[default]
    NotBegun,
    Begun(Arc<dyn Upload>),
    /// Completed or given up.
    Over,
}

impl AbandonHandle {
    /// Removes the parts that were uploaded, and has all further writes fail. A file that is complete stays. It waits
    /// for an upload that is beginning, and up to 5 s for the store.
    pub fn abandon(&self) {
        let progress = std::mem::replace(&mut *self.lock(), Progress::Over);
        // Parts that nobody completes cost money until the bucket's rules remove them. If that fails, too, nobody is
        // left to tell.
        if let Progress::Begun(upload) = progress {
            let _ = block_on(upload.abort());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        // The only writes under the lock are whole ones.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AbandonHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbandonHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for StoreSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSink")
            .field("url", &self.store.url(&self.key))
            .field("end", &self.end())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
