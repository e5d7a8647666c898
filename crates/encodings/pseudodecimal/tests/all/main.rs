//! The tests of this crate, linked as one program.

mod corrupt;
mod decimals;
mod golden;
mod laws;
mod propose;
