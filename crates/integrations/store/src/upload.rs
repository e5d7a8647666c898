//! Objects written in parts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use tarsia_io::{Priority, StoreError, StoreErrorKind, StoreFuture, Upload};

use crate::connect::ObjectOfParts;
use crate::failure::Failure;
use crate::live::{Live, in_time, payload};
use crate::tries::add;

/// Longest time that somebody who gives up a file waits for its parts to be removed.
const ABORT_TIME_MAX: Duration = Duration::from_secs(5);

/// An upload that has begun.
pub(crate) struct RemoteUpload(Arc<State>);

struct State {
    live: Arc<Live>,
    store: Arc<dyn MultipartStore>,
    path: Path,
    url: String,
    id: String,
    priority: Priority,
    /// Names that the store gave the parts.
    parts: Mutex<BTreeMap<u32, PartId>>,
}

impl RemoteUpload {
    pub(crate) async fn begin(live: Arc<Live>, key: Arc<str>) -> Result<Self, StoreError> {
        let url = live.url(&key);
        let parts = live.client.parts(&key);
        let parts =
            parts.map_err(|what| StoreError::new(StoreErrorKind::Invalid, url.as_str(), what))?;
        let Some(ObjectOfParts { store, path }) = parts else {
            let what = "a server cannot be written to in parts";
            return Err(StoreError::new(StoreErrorKind::Unsupported, url, what));
        };
        let priority = Priority::next();
        let time = live.tries.policy.answer_timeout;
        // A lost answer leaves an upload without parts, which costs nothing.
        let request = || -> BoxFuture<'static, _> {
            let (store, path, url) = (Arc::clone(&store), path.clone(), url.clone());
            Box::pin(async move {
                let begun = in_time(time, &url, store.create_multipart(&path)).await?;
                begun.map_err(|error| Failure::of(&url, &error))
            })
        };
        let id = live.run(live.tries.load(0, priority), request).await.0?;
        Ok(Self(Arc::new(State {
            live,
            store,
            path,
            url,
            id,
            priority,
            parts: Mutex::default(),
        })))
    }
}

impl fmt::Debug for RemoteUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUpload({})", self.0.url)
    }
}

impl Upload for RemoteUpload {
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()> {
        let work = put_part(Arc::clone(&self.0), index, bytes);
        self.0.live.transfers.spawn(work)
    }

    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>> {
        let known = self.0.parts.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        let parts: Vec<PartId> = (0..n_parts)
            .map_while(|index| known.get(&index).cloned())
            .collect();
        if parts.len() != n_parts as usize || known.len() != parts.len() {
            let what = format!("{} of {n_parts} parts were written", parts.len());
            let error = StoreError::new(StoreErrorKind::Invalid, self.0.url.as_str(), what);
            return Box::pin(ready(Err(error)));
        }
        let work = complete(Arc::clone(&self.0), parts);
        self.0.live.transfers.spawn(work)
    }

    fn abort(&self) -> StoreFuture<()> {
        let work = abort(Arc::clone(&self.0));
        self.0.live.transfers.spawn_detached(work)
    }
}

async fn put_part(state: Arc<State>, index: u32, bytes: Arc<Vec<u8>>) -> Result<(), StoreError> {
    let n_bytes = bytes.len() as u64;
    let priority = state.priority.at(u64::from(index));
    let load = state.live.tries.load(n_bytes, priority);
    let request = || -> BoxFuture<'static, _> {
        let (state, bytes) = (Arc::clone(&state), Arc::clone(&bytes));
        Box::pin(async move {
            let State { store, url, .. } = &*state;
            let policy = &state.live.tries.policy;
            let time = policy.answer_timeout + policy.transfer_time(n_bytes);
            let work = store.put_part(&state.path, &state.id, index as usize, payload(bytes));
            let part = in_time(time, url, work).await?;
            part.map_err(|error| Failure::of(url, &error))
        })
    };
    let part = state.live.run(load, request).await.0?;
    add(&state.live.tries.counts.written_bytes, n_bytes);
    let mut parts = state.parts.lock().unwrap_or_else(PoisonError::into_inner);
    parts.insert(index, part);
    Ok(())
}

/// Makes the object. If an answer was lost and the upload is gone afterwards, it was probably completed, but an object
/// that others wrote meanwhile looks the same: the outcome is unknown.
async fn complete(state: Arc<State>, parts: Vec<PartId>) -> Result<Option<String>, StoreError> {
    let request = || -> BoxFuture<'static, _> {
        let (state, parts) = (Arc::clone(&state), parts.clone());
        Box::pin(async move {
            let State { store, url, .. } = &*state;
            let time = state.live.tries.policy.complete_timeout;
            let work = store.complete_multipart(&state.path, &state.id, parts);
            let done = in_time(time, url, work).await?;
            done.map_err(|error| Failure::of(url, &error))
        })
    };
    let load = state.live.tries.load(0, state.priority);
    let (done, n_retries) = state.live.run(load, request).await;
    match done {
        Ok(done) => Ok(done.e_tag),
        Err(error) => match error.kind() {
            StoreErrorKind::NotFound if n_retries > 0 => Err(unknown(&state.url)),
            StoreErrorKind::Transient => Err(unknown(&state.url)),
            _ => Err(error),
        },
    }
}

fn unknown(url: &str) -> StoreError {
    let what = "no answer to the request that completes it: it may be there or not";
    StoreError::new(StoreErrorKind::Unknown, url, what)
}

async fn abort(state: Arc<State>) -> Result<(), StoreError> {
    let time = state.live.tries.policy.answer_timeout;
    let request = || -> BoxFuture<'static, _> {
        let state = Arc::clone(&state);
        Box::pin(async move {
            let State { store, url, .. } = &*state;
            let work = store.abort_multipart(&state.path, &state.id);
            let done = in_time(time, url, work).await?;
            done.map_err(|error| Failure::of(url, &error))
        })
    };
    let load = state.live.tries.load(0, Priority::next());
    let tries = state.live.run(load, request);
    let done = in_time(ABORT_TIME_MAX, &state.url, tries).await;
    match done.map_err(|failure| failure.error)?.0 {
        // The first of two answers was lost.
        Err(error) if error.kind() == StoreErrorKind::NotFound => Ok(()),
        done => done,
    }
}
