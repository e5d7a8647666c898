//! The Python package `tarsia`: its compiled module `tarsia._tarsia`.
//!
//! The package itself is Python code in `python/tarsia`; `docs/python.md` is its manual. This module has what that code
//! is made of: open files of one process, running scans, tables, writers, erasures. Values go in and out by Arrow's C
//! data interface alone, so no Python library is needed.
//!
//! | module | job |
//! |---|---|
//! | `process` | what belongs to one process: threads, open files, work that signals interrupt |
//! | `error` | errors of Rust as exceptions of `tarsia._errors`; panics as well |
//! | `place`, `file_object` | what a file is read from and written to: paths, URLs, bytes, Python's file objects |
//! | `options`, `write_options` | keyword arguments as options of readers and of writers |
//! | `rows` | row numbers and ranges of them, of any Python type that has them |
//! | `filter` | conditions, as the package describes them |
//! | `table` | schemas, batches and tables with Arrow's C interfaces |
//! | `handle`, `scan` | an open file, a running scan |
//! | `report` | what inspect, verify and audit say, as dictionaries |
//! | `write`, `erase` | new files; erased rows |
//!
//! # Rules
//! Python's lock is released whenever something is read, computed or waited for. The main thread hands such work to
//! another one and looks for signals meanwhile. A forked process uses nothing of its parent but what it can copy: it
//! opens files anew and makes threads of its own.
//!
//! # What this crate does not do
//! It knows no other Python library, but for `to_pyarrow`, `to_pandas` and `to_polars`, which import theirs. Its Rust
//! code is no library for Rust: that is the crate `tarsia`.
#![forbid(unsafe_code)]

mod erase;
mod error;
mod file_object;
mod filter;
mod handle;
mod options;
mod pickle;
mod place;
mod process;
mod report;
mod rows;
mod scan;
mod table;
mod write;
mod write_options;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule]
mod _tarsia {
    #[pymodule_export]
    use crate::erase::{erase, recover};
    #[pymodule_export]
    use crate::filter::condition_text;
    #[pymodule_export]
    use crate::handle::{Handle, open};
    #[pymodule_export]
    use crate::scan::Batches;
    #[pymodule_export]
    use crate::table::{
        Batch, Schema, Table, batch_of_ipc, format_of, interleave, schema_of_ipc, stream_of,
        table_of_ipc,
    };
    #[pymodule_export]
    use crate::write::{Writer, write};
    #[pymodule_export]
    use crate::write_options::WriterMemory;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ROW_NUMBER", tarsia::ROW_NUMBER)
    }
}
