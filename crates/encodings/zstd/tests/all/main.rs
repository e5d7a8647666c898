//! The tests of this crate, linked as one program.

mod against_c;
mod corrupt;
mod golden;
mod laws;
mod mutated;
mod propose;
mod shapes;
