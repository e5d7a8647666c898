//! Tables of many Tarsia files, in a folder or an object store: commits, branches, partitions, schema changes, deletes,
//! updates of columns, compaction.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
//! use tarsia_filter::col;
//! use tarsia_io::MemoryStore;
//! use tarsia_table::{CommitInfo, Table, TableSpec};
//!
//! let country: ArrayRef = Arc::new(StringArray::from(vec!["NL", "BE", "NL"]));
//! let clicks: ArrayRef = Arc::new(Int64Array::from(vec![3, 9, 12]));
//! let batch = RecordBatch::try_from_iter([("country", country), ("clicks", clicks)])?;
//! let rows = || RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
//!
//! let spec = TableSpec::new(batch.schema()).partition_by(["country"]);
//! let table = Table::create(Arc::new(MemoryStore::new()), &spec, &CommitInfo::new("ada", "made"))?;
//! let mut txn = table.begin("main", CommitInfo::new("ada", "first rows"))?;
//! txn.append(rows())?;
//! txn.commit()?;
//!
//! table.create_branch("exp", "main", &CommitInfo::new("ada", ""))?;
//! let mut txn = table.begin("exp", CommitInfo::new("ada", "without Belgium"))?;
//! assert_eq!(txn.delete_where(&col("country").eq("BE"))?, 1);
//! txn.commit()?;
//! assert_eq!(table.at("exp")?.scan().count()?, 2);
//! assert_eq!(table.at("main")?.scan().filter(col("country").eq("NL")).count()?, 2);
//! table.merge("exp", "main", &CommitInfo::new("ada", "exp is good"))?;
//! assert_eq!(table.at("main")?.scan().count()?, 2);
//! assert_eq!(table.at("main~1")?.scan().count()?, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | job |
//! |---|---|
//! | `table`, `transaction`, `snapshot`, `spec` | what users call |
//! | `protocol`, `merge`, `conflict`, `history` | commits, and what came in between |
//! | `extend` | a state and changes become the next state; manifests in tiers |
//! | `scan`, `task`, `plan`, `project`, `deletes` | which files, rows and columns |
//! | `table_file`, `overlay`, `origins` | a file's rows with their newer values, and their names |
//! | `write`, `update`, `source` | data files and update files |
//! | `clash`, `compact` | updates of the same rows and fields; small files put together |
//! | `fsck`, `copy` | checks and copies of a whole table |
//! | `gc`, `pins`, `lease`, `policies`, `rules` | what is kept and for how long, and what may be done with branches |
//! | `references`, `roots`, `mark` | which objects refs keep, and what those need |
//! | `refs`, `objects` | ref entries, and objects that are found by their digest |
//! | `steps`, `drive` | work that says what it needs, and what runs it |
//!
//! # Work without I/O
//! Whatever reads and writes metadata is written as [`Steps`]: it says what it needs from the store, and a driver
//! ([`drive`]) asks for it. So one code serves callers that wait and callers that do not, and a test can try all orders
//! in which the steps of several writers may happen.
//!
//! # What this crate does not do
//! It has no primary keys yet. It starts no thread and knows no runtime.
#![forbid(unsafe_code)]

mod clash;
mod compact;
mod conflict;
mod copy;
mod deletes;
mod drive;
mod error;
mod extend;
mod finding;
mod fsck;
mod gc;
mod history;
mod lease;
mod mark;
mod merge;
mod objects;
mod origins;
mod overlay;
mod pins;
mod place;
mod plan;
mod policies;
mod project;
mod protocol;
mod references;
mod refs;
mod roots;
mod rules;
mod scan;
mod snapshot;
mod source;
mod spec;
mod steps;
mod table;
mod table_file;
mod task;
mod transaction;
mod update;
mod write;

pub use clash::Overlap;
pub use compact::{Compact, Compacted};
pub use copy::CopyReport;
pub use drive::drive;
pub use error::{Error, ErrorKind, Result};
pub use finding::Finding;
pub use fsck::{Depth, FsckReport};
pub use gc::{Gc, GcReport, Removed};
pub use lease::PIN_DAYS_MAX;
pub use place::enclosing_table;
pub use protocol::Committed;
pub use scan::{FILE_COLUMN, Origin, POSITION_COLUMN, Scan, ScanBuilder};
pub use snapshot::Snapshot;
pub use spec::{AlterField, CommitInfo, TableSpec};
pub use steps::{Answer, Need, Step, Steps};
pub use table::{Diff, DiffEntry, LogEntry, MAIN, Table};
/// The objects of tables.
pub use tarsia_table_meta as meta;
pub use task::Task;
pub use transaction::{Entries, Matched, Transaction, Unmatched, Written};
pub use write::FileOptions;
