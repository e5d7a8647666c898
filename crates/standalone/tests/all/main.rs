//! The tests of this crate, linked as one program.

#[cfg(feature = "arrow")]
mod arrays;
mod slices;
mod trees;
