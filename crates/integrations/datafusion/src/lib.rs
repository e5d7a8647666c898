//! Tarsia files as tables of DataFusion.
//!
//! [`register`] tells a session of the format: `CREATE EXTERNAL TABLE … STORED AS TARSIA LOCATION`, `COPY … TO
//! 'x.tarsia'`, and, where the session takes URLs for tables, `FROM 'x.tarsia'`.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! use datafusion::prelude::SessionContext;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().display();
//! let ctx = SessionContext::new();
//! tarsia_datafusion::register(&ctx)?;
//! let write = format!("COPY (VALUES (1, 'NL'), (2, 'BE')) TO '{folder}/users.tarsia'");
//! ctx.sql(&write).await?.collect().await?;
//! let table = format!("CREATE EXTERNAL TABLE users STORED AS TARSIA LOCATION '{folder}/'");
//! ctx.sql(&table).await?.collect().await?;
//! let batches = ctx.sql("SELECT column1 FROM users WHERE column2 = 'BE'").await?.collect().await?;
//! assert_eq!(batches[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! | item | job |
//! |---|---|
//! | [`TarsiaFormat`], [`TarsiaFormatFactory`] | schemas, statistics and plans of tables, files that are written |
//! | [`TarsiaSource`] | a scan: columns, expressions, conditions |
//! | [`ScanParts`], [`TablePlace`] | what another process needs to run a part of a scan |
//! | [`TarsiaOptions`] | options of tables and of `COPY` |
//! | [`TarsiaTable`], [`enable_tables`] | states of tables of `tarsia-table`, and their places in statements |
//!
//! How it works, with reasons: `docs/design/engines.md`.
//!
//! # What this crate does not do
//! It declares no order of rows. Batches that wait for the engine are counted in its memory pool; what is being decoded
//! is not.
#![forbid(unsafe_code)]

mod cache;
mod cancel;
mod columns;
mod engine;
mod failure;
mod files;
mod filter;
mod format;
mod memory;
mod metrics;
mod opener;
mod options;
mod place;
mod reader;
mod schema;
mod sink;
mod source;
mod statistics;
mod store;
mod stream;
mod table;
mod task;
mod tasks;
mod wish;

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::context::SessionContext;

pub use format::{EXTENSION, TarsiaFormat, TarsiaFormatFactory};
pub use options::TarsiaOptions;
pub use source::{ScanParts, TarsiaSource};
pub use table::{TarsiaTable, enable_tables};
pub use tasks::TablePlace;

/// Tells a session of the format.
///
/// # Errors
/// A session that knows another format of this name.
pub fn register(ctx: &SessionContext) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    state.register_file_format(Arc::new(TarsiaFormatFactory), false)?;
    let factory = Arc::new(place::Folders);
    let name = EXTENSION.to_ascii_uppercase();
    state.table_factories_mut().insert(name, factory);
    Ok(())
}
