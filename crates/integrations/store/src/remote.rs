//! The store behind a URL.

use std::fmt;
use std::future::ready;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tarsia_io::{
    Capabilities, Get, Got, List, ListPage, ObjectMeta, Priority, PutIfAbsent, Store, StoreError,
    StoreFuture, StoreOperation, Upload,
};

use crate::live::Live;
use crate::options::StoreOptions;
use crate::policy::Policy;
use crate::read::{head, is_unplaced, read, read_end};
use crate::runtime::Transfers;
use crate::tries::Counts;
use crate::upload::RemoteUpload;
use crate::url::{Place, StoreUrl};
use crate::{change, list};

/// A bucket, a container or a server. Requests are limited, ordered and tried again as its [`Policy`] says.
///
/// It may be used from any thread and from any executor. All transfers run on a few threads that the process starts
/// with its first request. In a process that was forked they are started anew, with new connections.
///
/// Buckets and containers can do all that a [`Store`] can; servers (`https://`) read and write single objects. Creates
/// ([`Store::put_if_absent`]) are tried again only while they were certainly not made.
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
    /// [`StoreErrorKind::Invalid`](tarsia_io::StoreErrorKind), and
    /// [`StoreErrorKind::Unsupported`](tarsia_io::StoreErrorKind) for a local file and for a kind of store that this
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

    /// Runs work on the threads that transfer; it begins now.
    fn spawn<T, W>(
        &self,
        operation: StoreOperation,
        work: impl FnOnce(Arc<Live>) -> W,
    ) -> StoreFuture<T>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        match self.live() {
            Ok(live) => {
                let transfers = Arc::clone(&live.transfers);
                let work = work(live);
                transfers.spawn(async move { work.await.map_err(|error| error.during(operation)) })
            }
            Err(error) => Box::pin(ready(Err(error.during(operation)))),
        }
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
        self.spawn(StoreOperation::Get, |live| {
            // Its place in the queue is the one of now.
            let is_unplaced = is_unplaced(&live, &get);
            let load = (!is_unplaced).then(|| live.tries.load(get.range.bytes_max(), get.priority));
            async move {
                match load {
                    Some(load) => read(live, get, load).await,
                    None => read_end(live, get).await,
                }
            }
        })
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        let key: Arc<str> = key.into();
        self.spawn(StoreOperation::Head, |live| {
            head(live, key, Priority::next())
        })
    }

    fn capabilities(&self) -> Capabilities {
        match self.place {
            Place::Http { .. } | Place::Local { .. } => Capabilities::NONE,
            Place::S3 { .. } | Place::Google { .. } | Place::Azure { .. } => Capabilities::ALL,
        }
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        let key: Arc<str> = key.into();
        self.spawn(StoreOperation::Put, |live| change::put(live, key, bytes))
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        let key: Arc<str> = key.into();
        self.spawn(StoreOperation::PutIfAbsent, |live| {
            change::put_if_absent(live, key, bytes)
        })
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        let key: Arc<str> = key.into();
        self.spawn(StoreOperation::Upload, |live| async {
            Ok(Box::new(RemoteUpload::begin(live, key).await?) as Box<dyn Upload>)
        })
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        self.spawn(StoreOperation::List, |live| list::page(live, list))
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        let key: Arc<str> = key.into();
        self.spawn(StoreOperation::Delete, |live| change::delete(live, key))
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        let key: Arc<str> = probe.into();
        self.spawn(StoreOperation::Now, |live| change::now(live, key))
    }
}
