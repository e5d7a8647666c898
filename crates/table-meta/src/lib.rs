//! The objects that describe a table of many files. Bytes without I/O: what reads and writes them is `tarsia-table`.
//!
//! A table is a folder, or a prefix of an object store:
//!
//! | key | object | type |
//! |---|---|---|
//! | `TABLE` | makes the folder a table; never changes | [`TableRoot`] |
//! | `refs/heads/<branch>/…` | ref entry `n` of a branch: the newest one says which commit the branch is at | [`RefEntry`] |
//! | `refs/tags/<tag>` | a name for a commit that never moves | [`Tag`] |
//! | `refs/pins/<id>` | keeps a commit from garbage collection for some time | [`Pin`] |
//! | `refs/policy/…` | entry `n` of the policy: what may be done with branches, how long states are kept | [`Policy`] |
//! | `meta/c/…` | a state of the table, and what was changed to get there | [`Commit`] |
//! | `meta/m/…` | entries of many files, sorted by partition | [`ManifestFile`] |
//! | `meta/s/…` | the fields and their ids | [`SchemaObject`] |
//! | `data/…` | Tarsia files: rows, updates of rows, sets of deleted rows | [`Entry`] describes one |
//!
//! Objects below `meta` are named by the BLAKE3 of their bytes, files by their id, and [`names`] has all keys.
//! `docs/spec/table` has the bytes.
//!
//! ```
//! use tarsia_table_meta::{ObjectId, RefEntry, RefOp, TxnId, names};
//!
//! let entry = RefEntry {
//!     n: 7,
//!     commit: ObjectId::of(b"a commit"),
//!     before: None,
//!     schemas: Vec::new(),
//!     op: RefOp::Commit,
//!     txn: TxnId([1; 16]),
//!     source: None,
//!     author: "ada".to_owned(),
//!     time: 1_780_000_000_000,
//!     tool: "an example".to_owned(),
//! };
//! let bytes = entry.to_bytes("Main")?;
//! assert_eq!(RefEntry::parse(&bytes, "Main", 7)?, entry);
//! assert_eq!(names::ref_key("Main", 7)?, "refs/heads/%4dain/fffffffffffff/ff8");
//! # Ok::<(), tarsia_table_meta::Error>(())
//! ```
//!
//! # Limits
//! [`limits`] has all of them. Writers refuse what readers refuse. Every byte that is read is hostile: lengths are
//! compared with limits before memory is taken.
//!
//! # What this crate does not do
//! It reads and writes no store, knows no clock and no random numbers, and does not know how commits follow each other.
#![deny(unsafe_code)]

mod calendar;
mod columns;
mod commit;
mod entry;
mod error;
mod flat;
mod flat_schema;
mod generated;
mod ids;
pub mod key;
pub mod limits;
mod manifest;
pub mod names;
mod partition;
mod pin;
mod policy;
mod refs;
mod schema;
mod schema_object;
mod sealed;
mod verifier;

pub use columns::ManifestCounts;
pub use commit::{Change, Commit, Operation};
pub use entry::{
    Entry, EntryKind, EntryOp, ManifestRow, Partition, PartitionField, PartitionSpec, Target,
    Transform,
};
pub use error::{Error, Result};
pub use ids::{FieldId, FileId, ObjectId, TableId, TxnId};
pub use manifest::{
    ManifestFile, PartitionRun, SPARSE_KEY, entries_from_bytes, entries_to_bytes, write_manifest,
};
pub use partition::Partitioning;
pub use pin::Pin;
pub use policy::{Policy, Rule};
pub use refs::{RefEntry, RefOp, TableRoot, Tag};
pub use schema::{
    Alter, TABLE_KEY_PREFIX, TableField, TableSchema, default_array, default_bytes, is_wider,
};
pub use schema_object::{DEFAULT_KEY, FORMER_KEY, ID_KEY, SchemaObject};
