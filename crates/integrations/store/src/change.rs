//! Objects that are written at once and removed.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use object_store::{Error as ObjectError, ObjectStoreExt, PutMode, PutOptions};
use tarsia_io::{Priority, PutIfAbsent, StoreError, StoreErrorKind};

use crate::connect::Object;
use crate::failure::Failure;
use crate::live::{Live, in_time, payload};
use crate::read::head;
use crate::tries::add;

/// Writes an object. The same bytes written twice are there once, so it may be tried again.
pub(crate) async fn put(
    live: Arc<Live>,
    key: Arc<str>,
    bytes: Arc<Vec<u8>>,
) -> Result<Option<String>, StoreError> {
    let load = live.tries.load(bytes.len() as u64, Priority::next());
    let request = || -> BoxFuture<'static, _> {
        let (live, key, bytes) = (Arc::clone(&live), Arc::clone(&key), Arc::clone(&bytes));
        Box::pin(async move {
            let url = live.url(&key);
            let done = send(&live, &key, bytes, PutMode::Overwrite).await?;
            done.map_err(|error| Failure::of(&url, &error))
        })
    };
    live.run(load, request).await.0
}

/// Writes an object if there is none. It is tried again only while it was certainly not made: a second try after a lost
/// answer would find what the first one made.
pub(crate) async fn put_if_absent(
    live: Arc<Live>,
    key: Arc<str>,
    bytes: Arc<Vec<u8>>,
) -> Result<PutIfAbsent, StoreError> {
    if !live.client.is_bucket() {
        let what = "a server cannot write an object only if there is none of that name";
        return Err(unsupported(&live, &key, what));
    }
    let load = live.tries.load(bytes.len() as u64, Priority::next());
    let request = || -> BoxFuture<'static, _> {
        let (live, key, bytes) = (Arc::clone(&live), Arc::clone(&key), Arc::clone(&bytes));
        Box::pin(async move {
            let url = live.url(&key);
            let done = match send(&live, &key, bytes, PutMode::Create).await {
                Ok(Ok(etag)) => Ok(PutIfAbsent::Created { etag }),
                Ok(Err(ObjectError::AlreadyExists { .. })) => Ok(PutIfAbsent::Exists),
                Ok(Err(error)) => Err(Failure::of(&url, &error)),
                Err(failure) => Err(failure),
            };
            done.map_err(|failure| failure.of_create(&url))
        })
    };
    live.run(load, request).await.0
}

/// Makes one try to write an object.
async fn send(
    live: &Live,
    key: &str,
    bytes: Arc<Vec<u8>>,
    mode: PutMode,
) -> Result<Result<Option<String>, ObjectError>, Failure> {
    let url = live.url(key);
    let Object { store, path } = object(live, key, &url)?;
    let n_bytes = bytes.len() as u64;
    let policy = &live.tries.policy;
    let time = policy.answer_timeout + policy.transfer_time(n_bytes);
    let options = PutOptions {
        mode,
        ..PutOptions::default()
    };
    let done = in_time(time, &url, store.put_opts(&path, payload(bytes), options)).await?;
    if done.is_ok() {
        add(&live.tries.counts.written_bytes, n_bytes);
    }
    Ok(done.map(|done| done.e_tag))
}

/// Removes an object; one that is not there is a success.
pub(crate) async fn delete(live: Arc<Live>, key: Arc<str>) -> Result<(), StoreError> {
    if !live.client.is_bucket() {
        return Err(unsupported(
            &live,
            &key,
            "objects of a server cannot be deleted",
        ));
    }
    let load = live.tries.load(0, Priority::next());
    let request = || -> BoxFuture<'static, _> {
        let (live, key) = (Arc::clone(&live), Arc::clone(&key));
        Box::pin(async move {
            let url = live.url(&key);
            let Object { store, path } = object(&live, &key, &url)?;
            let time = live.tries.policy.answer_timeout;
            let done = in_time(time, &url, store.delete(&path)).await?;
            done.map_err(|error| Failure::of(&url, &error))
        })
    };
    match live.run(load, request).await.0 {
        Err(error) if error.kind() == StoreErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns the time of an object that was written just now.
pub(crate) async fn now(live: Arc<Live>, probe: Arc<str>) -> Result<SystemTime, StoreError> {
    if !live.client.is_bucket() {
        return Err(unsupported(&live, &probe, "a server does not say its time"));
    }
    let bytes = Arc::new(b"now".to_vec());
    put(Arc::clone(&live), Arc::clone(&probe), bytes).await?;
    let meta = head(Arc::clone(&live), Arc::clone(&probe), Priority::next()).await?;
    // What is left says the time of a probe, and no more.
    let _ = delete(Arc::clone(&live), Arc::clone(&probe)).await;
    meta.last_modified.ok_or_else(|| {
        let what = "the store says no time of its objects";
        unsupported(&live, &probe, what)
    })
}

fn unsupported(live: &Live, key: &str, what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, live.url(key), what)
}

fn object(live: &Live, key: &str, url: &str) -> Result<Object, Failure> {
    let object = live.client.object(key);
    object.map_err(|what| Failure::new(StoreErrorKind::Invalid, url, what))
}
