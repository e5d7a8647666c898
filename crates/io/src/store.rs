//! Object stores: objects that are read in ranges and appear whole.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use crate::coalesce::{Access, ReadOptions};
use crate::list::{List, ListPage};
use crate::object::{Get, Got, ObjectMeta};
use crate::store_error::{StoreError, StoreErrorKind, StoreOperation};

/// Work of a store. It may be polled by any executor and on any thread, [`block_on`](crate::block_on) included; to drop
/// it cancels it. Work may go on between polls, on threads that the store brings.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Objects under keys: a bucket, a container, a server, a folder.
///
/// A method answers for one object, or for one page of a list. It retries, limits and orders its requests as the store
/// thinks right, so callers do none of that. They say what is needed first ([`Get::priority`]), and drop what is no
/// longer needed.
///
/// An object is replaced as a whole: [`ObjectMeta::etag`] names its content, and a [`Get`] that names an ETag never
/// returns bytes of other content. What was written is there for all who ask after the answer. What was answered
/// survives whatever the store survives; that of a local folder survives a loss of power.
///
/// A change may be done although its caller got an error. After an error of [`Store::put`], [`Store::delete`] or
/// [`Upload::complete`] the object may be as before or as after it, and may become so later. [`Store::put_if_absent`]
/// alone tells the two apart.
///
/// Methods that not every store has answer [`StoreErrorKind::Unsupported`](crate::StoreErrorKind) by default;
/// [`Store::capabilities`] says so before anything is tried.
pub trait Store: fmt::Debug + Send + Sync {
    /// Names an object in errors: its URL, without anything secret.
    fn url(&self, key: &str) -> String;

    /// Returns what this store can do besides reading and writing whole objects. It asks nobody, so a store that
    /// understands a request and refuses it is found out by the request.
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Reads bytes of an object. The answer has all bytes asked for, or it is an error.
    fn get(&self, get: Get) -> StoreFuture<Got>;

    /// Returns what is known of an object, without its bytes.
    fn head(&self, key: &str) -> StoreFuture<ObjectMeta>;

    /// Writes an object at once, over an older one if there is one. Returns its ETag, if the store says it.
    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>>;

    /// Writes an object at once if there is none of that name. Of all calls for one name, whoever makes them, at most
    /// one creates the object while nobody deletes it.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unknown`](crate::StoreErrorKind): this call made the object, or will make it later, or will
    /// not. Read the object to find out, and count with a late change while it is absent. After any other error this
    /// call did not make the object and never will.
    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        drop(bytes);
        let what = "it cannot write an object only if there is none of that name";
        unsupported(self.url(key), what, StoreOperation::PutIfAbsent)
    }

    /// Begins to write an object in parts. It appears when the upload is completed.
    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>>;

    /// Returns a page of a list. A store may return an older state of the list than [`Store::get`] would show, if its
    /// documentation says so; the stores of this repository do not.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`](crate::StoreErrorKind) for a prefix with which no key can begin.
    fn list(&self, list: List) -> StoreFuture<ListPage> {
        let what = "it has no lists";
        unsupported(self.url(&list.prefix), what, StoreOperation::List)
    }

    /// Removes an object. An object that is not there is a success.
    fn delete(&self, key: &str) -> StoreFuture<()> {
        let what = "it cannot delete";
        unsupported(self.url(key), what, StoreOperation::Delete)
    }

    /// Returns the time by the clock that [`ObjectMeta::last_modified`] is read from, which is not this machine's. A
    /// store that says it only of objects writes an object of the name `probe`, asks for its time and deletes it; it
    /// may be left after an error. So `probe` is a name that nobody else uses at that moment.
    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        let what = "it does not say the time";
        unsupported(self.url(probe), what, StoreOperation::Now)
    }

    /// Returns the time of [`Store::now`] if it is known without a request, and so without a probe.
    fn known_time(&self) -> Option<SystemTime> {
        None
    }

    /// Returns which ranges are worth joining, and the largest request.
    fn read_options(&self, access: Access) -> ReadOptions {
        match access {
            Access::Take => ReadOptions::REMOTE_TAKE,
            Access::Scan => ReadOptions::REMOTE_SCAN,
        }
    }
}

/// A future with the error of a method that a store lacks.
fn unsupported<T>(url: String, what: &str, operation: StoreOperation) -> StoreFuture<T>
where
    T: Send + 'static,
{
    let error = StoreError::new(StoreErrorKind::Unsupported, url, what).during(operation);
    Box::pin(ready(Err(error)))
}

/// Abilities of a [`Store`] besides [`Store::get`], [`Store::head`] and [`Store::put`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// [`Store::list`].
    pub can_list: bool,
    /// [`Store::put_if_absent`]. A store that speaks the protocol may still refuse it.
    pub can_put_if_absent: bool,
    /// [`Store::delete`].
    pub can_delete: bool,
    /// [`Store::now`].
    pub can_say_time: bool,
}

impl Capabilities {
    /// All of them.
    pub const ALL: Self = Self {
        can_list: true,
        can_put_if_absent: true,
        can_delete: true,
        can_say_time: true,
    };

    /// None of them.
    pub const NONE: Self = Self {
        can_list: false,
        can_put_if_absent: false,
        can_delete: false,
        can_say_time: false,
    };
}

/// Outcome of [`Store::put_if_absent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutIfAbsent {
    /// This call made the object.
    Created {
        /// Its ETag, if the store says it.
        etag: Option<String>,
    },
    /// There was an object of that name, which this call did not make. It is as durable as one that this call made.
    Exists,
}

/// An object that is written in parts, several of them at the same time and in any order.
pub trait Upload: fmt::Debug + Send + Sync {
    /// Writes part `index`, counted from 0. All parts but the last have at least 5 MiB, which is what S3 asks for. A
    /// part that is written twice counts as it was last written.
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()>;

    /// Makes the object of the parts `0 .. n_parts`. Returns its ETag, if the store says it. After an error that says
    /// that the outcome is unknown ([`StoreErrorKind::Unknown`](crate::StoreErrorKind)) the object may be there.
    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>>;

    /// Removes what was written. The work goes on if the future is dropped.
    fn abort(&self) -> StoreFuture<()>;
}
