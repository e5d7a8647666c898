//! The tests of this crate, linked as one program.

mod change;
mod readers;
mod sinks;
mod stores;
