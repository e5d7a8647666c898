//! Parts that the commands `tarsia-sql` and `tarsia-cluster` share: statements, and their answers on the standard
//! output.
//!
//! | module | job |
//! |---|---|
//! | `args` | the command line |
//! | `session` | a session that knows formats, stores and functions, and what runs statements in it |
//! | `stores` | stores of URLs, with credentials of the environment |
//! | `functions` | `tarsia_metadata` and `tarsia_columns` |
//! | `output` | answers as tables, JSON lines and CSV |
//! | `repl` | statements that a person types |
//! | `failure` | why it stops, and with which exit code |
#![forbid(unsafe_code)]

mod args;
mod failure;
mod functions;
mod output;
mod repl;
mod session;
mod stores;

pub use args::{Args, Format};
pub use failure::Failure;
pub use repl::run as repl;
pub use session::{Session, caches};
pub use stores::Stores;
