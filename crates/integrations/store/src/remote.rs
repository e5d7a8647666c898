//! The store behind a URL.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, ready};
use object_store::{GetOptions, GetResult};
use tarsia_io::{
    Get, GetRange, Got, ObjectMeta, Priority, Store, StoreError, StoreErrorKind, StoreFuture,
    Upload,
};

use crate::failure::{Again, Failure};
use crate::live::{Live, in_time, payload};
use crate::options::StoreOptions;
use crate::policy::Policy;
use crate::runtime::Transfers;
use crate::tries::{Counts, Load, add};
use crate::upload::RemoteUpload;
use crate::url::{Place, StoreUrl};

/// A bucket, a container or a server. Requests are limited, ordered and tried again as its [`Policy`] says.
///
/// It may be used from any thread and from any executor. All transfers run on a few threads that the process starts
/// with its first request. In a process that was forked they are started anew, with new connections.
pub struct RemoteStore {
    place: Place,
    options: StoreOptions,
    counts: Arc<Counts>,
    /// Made with the first request of a process.
    live: Mutex<Option<Arc<Live>>>,
}

/// Counts of a [`RemoteStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreCounts {
    /// Requests, those that were made again included. Requests for credentials are not counted.
    pub requests: u64,
    /// How many of them were made again.
    pub retries: u64,
    /// Bytes of objects that arrived.
    pub read_bytes: u64,
    /// Bytes of objects that were written.
    pub written_bytes: u64,
}

impl RemoteStore {
    /// The store of a URL. Nothing is read yet, but options and credentials that can never do are refused.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`], [`StoreErrorKind::Unsupported`] for a local file and for a kind of store that this
    /// program was built without.
    pub fn new(url: &StoreUrl, options: &StoreOptions) -> Result<Self, StoreError> {
        let store = Self {
            place: url.place.clone(),
            options: options.clone(),
            counts: Arc::default(),
            live: Mutex::new(None),
        };
        store.live()?;
        Ok(store)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> StoreCounts {
        let Counts {
            requests,
            retries,
            read_bytes,
            written_bytes,
        } = &*self.counts;
        StoreCounts {
            requests: requests.load(Ordering::Relaxed),
            retries: retries.load(Ordering::Relaxed),
            read_bytes: read_bytes.load(Ordering::Relaxed),
            written_bytes: written_bytes.load(Ordering::Relaxed),
        }
    }

    /// Returns the limits, retries and timeouts.
    pub fn policy(&self) -> &Policy {
        &self.options.policy
    }

    fn live(&self) -> Result<Arc<Live>, StoreError> {
        let transfers = Transfers::of_process()?;
        let mut known = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = &*known
            && live.transfers.process() == transfers.process()
        {
            return Ok(Arc::clone(live));
        }
        let live = Arc::new(Live::new(
            self.place.clone(),
            &self.options,
            transfers,
            Arc::clone(&self.counts),
        )?);
        if let Some(of_parent) = known.replace(Arc::clone(&live)) {
            // Its connections are the parent's.
            std::mem::forget(of_parent);
        }
        Ok(live)
    }
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStore")
            .field("url", &StoreUrl::show(&self.place, ""))
            .field("options", &self.options)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Store for RemoteStore {
    fn url(&self, key: &str) -> String {
        StoreUrl::show(&self.place, key)
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        match self.live() {
            Ok(live) if is_unplaced(&live, &get) => {
                live.transfers.spawn(read_end(Arc::clone(&live), get))
            }
            Ok(live) => {
                let load = live.tries.load(get.range.bytes_max(), get.priority);
                live.transfers.spawn(read(Arc::clone(&live), get, load))
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        match self.live() {
            Ok(live) => {
                let work = head(Arc::clone(&live), key.into(), Priority::next());
                live.transfers.spawn(work)
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        match self.live() {
            Ok(live) => live
                .transfers
                .spawn(put(Arc::clone(&live), key.into(), bytes)),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        match self.live() {
            Ok(live) => {
                let begun = RemoteUpload::begin(Arc::clone(&live), key.into());
                live.transfers
                    .spawn(async { Ok(Box::new(begun.await?) as Box<dyn Upload>) })
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}

/// Whether a request has no place before the object's size is known.
fn is_unplaced(live: &Live, get: &Get) -> bool {
    matches!(get.range, GetRange::Suffix(_)) && !live.client.has_suffixes()
}

/// Reads the end of an object from a store that has to be asked for its size first.
async fn read_end(live: Arc<Live>, mut get: Get) -> Result<Got, StoreError> {
    let meta = head(Arc::clone(&live), Arc::clone(&get.key), get.priority).await?;
    if meta.size == 0 {
        return Ok(Got {
            bytes: Vec::new(),
            start: 0,
            meta,
        });
    }
    let start = meta.size.saturating_sub(get.range.bytes_max());
    get.range = GetRange::Bytes(start..meta.size);
    get.if_match = get.if_match.or(meta.strong_etag().map(str::to_owned));
    let load = live.tries.load(get.range.bytes_max(), get.priority);
    read(live, get, load).await
}

/// Reads with retries.
async fn read(live: Arc<Live>, get: Get, load: Load) -> Result<Got, StoreError> {
    let request = || -> BoxFuture<'static, _> {
        let (live, get) = (Arc::clone(&live), get.clone());
        Box::pin(async move { read_once(&live, &get).await })
    };
    live.run(load, request).await.0
}

async fn read_once(live: &Live, get: &Get) -> Result<Got, Failure> {
    let url = live.url(&get.key);
    let options = GetOptions {
        range: match &get.range {
            GetRange::Bytes(range) => Some(object_store::GetRange::Bounded(range.clone())),
            GetRange::Suffix(n_bytes) => Some(object_store::GetRange::Suffix(*n_bytes)),
            GetRange::Whole { .. } => None,
        },
        if_match: get.if_match.clone(),
        ..GetOptions::default()
    };
    let answer = answer_to(live, &get.key, &url, options).await?;
    let meta = meta_of(&answer);
    let range = wanted(&get.range, &answer, &url)?;
    let bytes = body(live, answer, &url, range.end - range.start).await?;
    add(&live.tries.counts.read_bytes, bytes.len() as u64);
    Ok(Got {
        bytes,
        start: range.start,
        meta,
    })
}

/// The range that an answer brings, if it is the one that was asked for.
fn wanted(asked: &GetRange, answer: &GetResult, url: &str) -> Result<Range<u64>, Failure> {
    let size = answer.meta.size;
    let range = match asked {
        GetRange::Bytes(range) if range.end > size => {
            return Err(Failure {
                error: StoreError::changed(url, "length"),
                again: Again::No,
            });
        }
        GetRange::Bytes(range) => range.clone(),
        GetRange::Suffix(n_bytes) => size.saturating_sub(*n_bytes)..size,
        GetRange::Whole { bytes_max } if size > *bytes_max => {
            let what = format!("{size} bytes, and no more than {bytes_max} are read as a whole");
            return Err(Failure::new(StoreErrorKind::NoRanges, url, what));
        }
        GetRange::Whole { .. } => 0..size,
    };
    match answer.range == range {
        true => Ok(range),
        false => Err(Failure::transient(
            url,
            "the store sent another range than asked for",
        )),
    }
}

/// The head of an answer.
async fn answer_to(
    live: &Live,
    key: &str,
    url: &str,
    options: GetOptions,
) -> Result<GetResult, Failure> {
    let object = live.client.object(key);
    let object = object.map_err(|what| Failure::new(StoreErrorKind::Invalid, url, what))?;
    let answer = object.store.get_opts(&object.path, options);
    let answer = in_time(live.tries.policy.answer_timeout, url, answer).await?;
    answer.map_err(|error| Failure::of(url, &error))
}

/// The body of an answer, which has so many bytes or is none.
async fn body(live: &Live, answer: GetResult, url: &str, n_bytes: u64) -> Result<Vec<u8>, Failure> {
    let policy = &live.tries.policy;
    let no_memory = || {
        let what = format!("no memory for {n_bytes} bytes");
        Failure::new(StoreErrorKind::Other, url, what)
    };
    let mut bytes = Vec::new();
    let len = usize::try_from(n_bytes).map_err(|_| no_memory())?;
    bytes.try_reserve_exact(len).map_err(|_| no_memory())?;
    let end = Instant::now() + policy.transfer_time(n_bytes);
    let mut pieces = answer.into_stream();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let piece = in_time(left.min(policy.stall_timeout), url, pieces.next()).await?;
        let Some(piece) = piece else { break };
        let piece = piece.map_err(|error| Failure::of(url, &error))?;
        if piece.len() > len - bytes.len() {
            return Err(Failure::transient(url, "the store sent too many bytes"));
        }
        bytes.extend_from_slice(&piece);
    }
    if bytes.len() < len {
        let what = format!("the store sent {} of {len} bytes", bytes.len());
        return Err(Failure::transient(url, what));
    }
    Ok(bytes)
}

fn meta_of(answer: &GetResult) -> ObjectMeta {
    let seconds = u64::try_from(answer.meta.last_modified.timestamp()).unwrap_or_default();
    let last_modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    ObjectMeta {
        size: answer.meta.size,
        etag: answer.meta.e_tag.clone(),
        // object_store says the beginning of 1970 if the server says nothing.
        last_modified: last_modified.filter(|_| seconds > 0),
    }
}

async fn head(
    live: Arc<Live>,
    key: Arc<str>,
    priority: Priority,
) -> Result<ObjectMeta, StoreError> {
    let load = live.tries.load(0, priority);
    let request = || -> BoxFuture<'static, _> {
        let (live, key) = (Arc::clone(&live), Arc::clone(&key));
        Box::pin(async move {
            let options = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            let url = live.url(&key);
            Ok(meta_of(&answer_to(&live, &key, &url, options).await?))
        })
    };
    live.run(load, request).await.0
}

async fn put(
    live: Arc<Live>,
    key: Arc<str>,
    bytes: Arc<Vec<u8>>,
) -> Result<Option<String>, StoreError> {
    // The same bytes written twice are there once, so it may be tried again.
    let load = live.tries.load(bytes.len() as u64, Priority::next());
    let request = || -> BoxFuture<'static, _> {
        let (live, key, bytes) = (Arc::clone(&live), Arc::clone(&key), Arc::clone(&bytes));
        Box::pin(async move {
            let url = live.url(&key);
            let object = live.client.object(&key);
            let object =
                object.map_err(|what| Failure::new(StoreErrorKind::Invalid, &url, what))?;
            let n_bytes = bytes.len() as u64;
            let policy = &live.tries.policy;
            let time = policy.answer_timeout + policy.transfer_time(n_bytes);
            let (store, path) = (&object.store, &object.path);
            let work = store.put_opts(path, payload(bytes), Default::default());
            let done = in_time(time, &url, work).await?;
            let done = done.map_err(|error| Failure::of(&url, &error))?;
            add(&live.tries.counts.written_bytes, n_bytes);
            Ok(done.e_tag)
        })
    };
    live.run(load, request).await.0
}
