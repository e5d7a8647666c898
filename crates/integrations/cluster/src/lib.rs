//! Tarsia files and tables in a cluster of Ballista.
//!
//! A client plans statements and sends them to a scheduler, which cuts them into tasks; executors run the tasks, each a
//! part of the rows of some files, and hand rows on to each other. All three need the codecs of this crate, which know
//! Tarsia's files, tables and scans beside what Ballista knows.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let ctx = tarsia_cluster::connect("scheduler.example:50050")?;
//! tarsia_datafusion::register(&ctx)?;
//! let ctx = ctx.enable_url_table();
//! let batches = ctx.sql("SELECT count(*) FROM '/data/clicks.tarsia'").await?.collect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | job |
//! |---|---|
//! | `message` | what is sent beside Ballista's own messages |
//! | `logical` | tables of statements, from clients to the scheduler |
//! | `physical` | scans, from the scheduler to executors |
//! | `listing` | tables of files, whose format Ballista does not know |
//! | `planner` | which part of a statement runs where |
//! | `roles` | the client, the scheduler and the executor |
//!
//! # Rules
//! Nothing that decides rows travels in fields that Ballista drops (`PartitionedFile::extensions`, entity tags). Of a
//! file, its size and its time of modification travel: a file that was changed since the statement was planned is an
//! error. Which rows are deleted is read from the file by each task. Of a table, the digest of the commit travels.
//! Whatever writes to Tarsia's files or tables (`COPY`, `INSERT`) does so on the client, in one transaction: a task
//! that runs twice writes nothing twice.
//!
//! # What this crate does not do
//! It moves no files: each executor reads them under the same name, from a shared folder or a store.
#![forbid(unsafe_code)]

mod listing;
mod logical;
mod message;
mod physical;
mod planner;
mod roles;

pub use logical::LogicalCodec;
pub use physical::PhysicalCodec;
pub use roles::{Executor, Scheduler, connect};
