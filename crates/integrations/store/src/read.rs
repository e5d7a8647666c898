//! Objects that are read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use object_store::{GetOptions, GetResult};
use tarsia_io::{Get, GetRange, Got, ObjectMeta, Priority, StoreError, StoreErrorKind};

use crate::failure::Failure;
use crate::live::{Live, in_time};
use crate::meta::meta_of;
use crate::tries::{Load, add};

/// Whether a request has no place before the object's size is known.
pub(crate) fn is_unplaced(live: &Live, get: &Get) -> bool {
    matches!(get.range, GetRange::Suffix(_)) && !live.client.has_suffixes()
}

/// Reads the end of an object from a store that has to be asked for its size first.
pub(crate) async fn read_end(live: Arc<Live>, mut get: Get) -> Result<Got, StoreError> {
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
pub(crate) async fn read(live: Arc<Live>, get: Get, load: Load) -> Result<Got, StoreError> {
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
    let meta = meta_of(&answer.meta);
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
    let range = asked.inside(size, url).map_err(Failure::fixed)?;
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

/// Asks for the state of an object.
pub(crate) async fn head(
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
            let answer = answer_to(&live, &key, &url, options).await?;
            Ok(meta_of(&answer.meta))
        })
    };
    live.run(load, request).await.0
}
