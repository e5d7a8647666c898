//! Reading and writing the bytes of files: one trait for sources, one for destinations.
//!
//! | reading ([`ReadAt`]) | for |
//! |---|---|
//! | [`MemoryFile`] | bytes that are in memory |
//! | [`LocalFile`] | positioned reads (`pread`), many threads at once |
//! | [`MappedFile`] | a memory map: reads copy nothing. Nobody changes the file meanwhile |
//! | [`SeekFile`] | anything that reads and seeks, one read at a time |
//! | [`ExclusiveFile`] | a file that is changed in place, which nobody maps meanwhile |
//! | [`CountingReader`] | counts requests and bytes of another reader |
//! | [`PatchedReader`] | a file as it will be after changes that are not made yet |
//!
//! | writing ([`Sink`]) | for |
//! |---|---|
//! | any [`Write`](std::io::Write) | bytes that go elsewhere, and `Vec<u8>` |
//! | [`MemorySink`] | bytes that stay in memory, with a header that is written last |
//! | [`FileSink`] | a file that appears under its name only when it is complete and on disk |
//!
//! [`ChangeAt`] is for files that are changed in place, as [`ExclusiveFile`] is.
//!
//! [`read_ranges`] fetches many ranges with few requests; [`coalesce`] is its plan.
//!
//! [`Store`] is for objects in a bucket, on a server or in a folder, which are read in ranges and written whole, with
//! futures that need no runtime; [`block_on`] waits for one. [`LocalStore`] is a
//! folder, whose objects survive a loss of power, [`MemoryStore`] is in memory; those of buckets and servers are in
//! `tarsia-store`. [`Listing`] walks through a list, [`check_key`] says which keys every store can have.
//! [`redact`] takes secrets out of URLs in texts, [`local_path`] is for URLs of local files.
//!
//! # Example
//! ```
//! use tarsia_io::{MemoryFile, ReadOptions, read_ranges};
//!
//! let file = MemoryFile::new(b"intarsia".to_vec());
//! let parts = read_ranges(&file, &[2..5, 0..2], ReadOptions::LOCAL)?;
//! assert_eq!(&*parts[0], b"tar");
//! assert_eq!(&*parts[1], b"in");
//! assert!(read_ranges(&file, &[7..9], ReadOptions::LOCAL).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limits
//! A read is compared with the length of the file before memory is allocated for it.
//!
//! # What this crate does not do
//! It knows nothing of pages, blocks or footers, caches nothing, starts no thread, and has no asynchronous runtime.
//! `unsafe` is the one call that makes a memory map, in `mapped.rs`.
#![deny(unsafe_code)]

mod block_on;
mod change;
mod coalesce;
mod conflict;
mod counting;
#[cfg(any(unix, windows))]
mod exclusive;
mod file_sink;
mod file_system;
mod keys;
mod list;
mod listing;
mod local;
mod local_store;
#[cfg(any(unix, windows))]
mod mapped;
mod memory;
mod memory_store;
mod object;
mod patched;
mod read;
mod seek;
mod sink;
mod store;
mod store_error;
mod sub_store;
mod temporary;
mod url;

pub use block_on::block_on;
pub use change::ChangeAt;
pub use coalesce::{Access, CoalescedRead, ReadOptions, coalesce, lie_alone};
pub use conflict::Conflict;
pub use counting::{CountingReader, IoStats};
#[cfg(any(unix, windows))]
pub use exclusive::{ExclusiveFile, OnBusy};
pub use file_sink::FileSink;
pub use file_system::{Entry, FileKind, FileState, FileSystem, Opened, SystemFiles};
pub use keys::{KEY_BYTES_MAX, KEY_PART_BYTES_MAX, check_key};
pub use list::{LIST_PAGE_MAX, List, ListName, ListPage, Listed};
pub use listing::Listing;
pub use local::LocalFile;
pub use local_store::LocalStore;
#[cfg(any(unix, windows))]
pub use mapped::MappedFile;
pub use memory::MemoryFile;
pub use memory_store::MemoryStore;
pub use object::{Get, GetRange, Got, ObjectMeta, Priority};
pub use patched::{Patch, PatchedReader};
pub use read::{ReadAt, ReadBytes, check_inside, read_once, read_range, read_ranges};
pub use seek::SeekFile;
pub use sink::{MemorySink, MemorySinkHandle, Sink, check_overwrite};
pub use store::{Capabilities, PutIfAbsent, Store, StoreFuture, Upload};
pub use store_error::{StoreError, StoreErrorKind, StoreOperation};
pub use sub_store::SubStore;
pub use url::{local_path, redact};
