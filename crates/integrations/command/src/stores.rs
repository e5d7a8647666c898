//! Files of URLs.

use std::io;
use std::sync::Arc;

use tarsia_cli::failure::Failure;
use tarsia_cli::place::{NewFile, Places};
use tarsia_io::{ReadAt, Store, StoreError, SubStore};
use tarsia_store::{RemoteFile, RemoteStore, StoreOptions, StoreSink, StoreUrl};

/// Opens URLs as `tarsia-store` does. Servers, regions and credentials are those of the environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stores;

impl Places for Stores {
    fn open(&self, url: &str) -> Result<Arc<dyn ReadAt>, Failure> {
        let (store, url) = store_of(url)?;
        Ok(Arc::new(
            RemoteFile::open(store, url.key()).map_err(failed)?,
        ))
    }

    fn create(&self, url: &str) -> Result<NewFile, Failure> {
        let (store, url) = store_of(url)?;
        let policy = *store.policy();
        let sink = StoreSink::new(store, url.key(), policy);
        let handle = sink.abandon_handle();
        Ok(NewFile {
            sink: Box::new(sink),
            abandon: Arc::new(move || handle.abandon()),
        })
    }

    fn store(&self, url: &str) -> Result<Arc<dyn Store>, Failure> {
        let (store, url) = store_of(url)?;
        Ok(Arc::new(SubStore::new(store, url.key())))
    }
}

fn store_of(url: &str) -> Result<(Arc<RemoteStore>, StoreUrl), Failure> {
    let parsed = url.parse::<StoreUrl>();
    let url = parsed.map_err(|error: StoreError| Failure::Usage(error.to_string()))?;
    let store = RemoteStore::new(&url, &StoreOptions::new()).map_err(failed)?;
    Ok((Arc::new(store), url))
}

/// Errors of stores name the object.
fn failed(error: impl Into<io::Error>) -> Failure {
    Failure::Bad(error.into().to_string())
}
