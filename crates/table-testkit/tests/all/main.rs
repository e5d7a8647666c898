//! The tests of this crate, linked as one program.

mod commits;
mod durable;
mod faults;
