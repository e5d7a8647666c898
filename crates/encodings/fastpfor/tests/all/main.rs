//! The tests of this crate, linked as one program.

mod corrupt;
mod golden;
mod laws;
mod propose;
mod reference;
