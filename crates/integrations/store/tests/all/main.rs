//! The tests of this crate, linked as one program.

mod allocator;
mod faults;
mod memory;
mod moto;
mod objects;
mod reading;
mod tables;
mod writing;
