//! The tests of this crate, linked as one program.

mod change;
mod local_store;
mod readers;
mod sinks;
mod stores;
