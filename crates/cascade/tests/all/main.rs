//! The tests of this crate, linked as one program.

mod choices;
mod erasure;
mod erasure_nested;
mod filler;
