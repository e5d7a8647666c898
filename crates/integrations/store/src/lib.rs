//! Tarsia files on S3, Google Cloud Storage, Azure and HTTP servers.
//!
//! | item | job |
//! |---|---|
//! | [`open`], [`create`] | a URL, local files included, to a reader or a sink |
//! | [`StoreUrl`], [`StoreOptions`], [`Policy`] | where a file lies, how it is reached, how hard |
//! | [`RemoteStore`] | a bucket or server as a [`Store`](tarsia_io::Store): limits, order, retries, timeouts |
//! | [`RemoteFile`] | an object of any store as a [`ReadAt`] |
//! | [`StoreSink`], [`AbandonHandle`] | an object of any store as a [`Sink`], and giving it up from another thread |
//!
//! Clients and signatures are those of `object_store`. What is ours is in `docs/design/stores.md`, with reasons.
//!
//! # Example
//! ```no_run
//! use tarsia_io::{Access, ReadAt};
//! use tarsia_store::{StoreOptions, open};
//!
//! let file = open("s3://bucket/table.tarsia", &StoreOptions::new())?;
//! let options = file.read_options(Access::Take);
//! let parts = file.read_ranges(&[0..100, 5_000_000..5_000_100], options)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limits
//! Memory for an answer is taken before it arrives, for as many bytes as were asked for. An answer with more or fewer
//! bytes, or with other ones than asked for, is none. Every wait has an end. No error and no `Debug` text holds
//! credentials, signatures or bodies of answers.
//!
//! # What this crate does not do
//! It keeps no bytes between opens and knows nothing of what is in a file. It decodes nothing on the threads that
//! transfer. It does not find out whether a server that speaks S3's dialect keeps the promise of a conditional put.
#![deny(unsafe_code)]

mod change;
mod connect;
mod failure;
mod file;
mod http;
mod limiter;
mod list;
mod live;
mod meta;
mod options;
mod policy;
mod read;
mod remote;
mod runtime;
mod sink;
mod tries;
mod upload;
mod url;

use std::io;
use std::sync::Arc;

use tarsia_io::{FileSink, LocalFile, ReadAt, Sink};

pub use file::{FileCounts, RemoteFile, TAIL_BYTES};
pub use options::StoreOptions;
pub use policy::Policy;
pub use remote::{RemoteStore, StoreCounts};
pub use sink::{AbandonHandle, StoreSink};
pub use url::StoreUrl;

/// Opens the file of a URL; a local one by positioned reads.
///
/// # Errors
/// As [`StoreUrl`], [`RemoteStore::new`] and [`RemoteFile::open`], and what the system reports.
pub fn open(url: &str, options: &StoreOptions) -> io::Result<Arc<dyn ReadAt>> {
    let url: StoreUrl = url.parse()?;
    if let Some(path) = url.local_path() {
        return Ok(Arc::new(LocalFile::open(path)?));
    }
    let store = Arc::new(RemoteStore::new(&url, options)?);
    Ok(Arc::new(RemoteFile::open(store, url.key())?))
}

/// Starts the file of a URL. It appears with [`Sink::commit`], and replaces an older one.
///
/// # Errors
/// As [`StoreUrl`], [`RemoteStore::new`] and [`FileSink::create`].
pub fn create(url: &str, options: &StoreOptions) -> io::Result<UrlSink> {
    let url: StoreUrl = url.parse()?;
    if let Some(path) = url.local_path() {
        return Ok(UrlSink::Local(FileSink::create(path)?));
    }
    let store = Arc::new(RemoteStore::new(&url, options)?);
    let policy = *store.policy();
    let sink = StoreSink::new(store, url.key(), policy);
    Ok(UrlSink::Store(Box::new(sink)))
}

/// The sink that [`create`] makes.
#[derive(Debug)]
pub enum UrlSink {
    /// For a local file.
    Local(FileSink),
    /// For an object of a store.
    Store(Box<StoreSink>),
}

impl UrlSink {
    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Local(sink) => sink,
            Self::Store(sink) => &mut **sink,
        }
    }
}

impl Sink for UrlSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink().append(bytes)
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        self.sink().overwrite(place, bytes)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.sink().commit()
    }
}
