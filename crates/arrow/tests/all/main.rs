//! The tests of this crate, linked as one program.

mod arrays;
mod pages;
mod shared;
mod spec;
