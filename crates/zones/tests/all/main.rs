//! The tests of this crate, linked as one program.

mod blooms;
mod laws;
