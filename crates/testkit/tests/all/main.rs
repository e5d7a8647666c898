//! The tests of this crate, linked as one program.

mod arrays;
mod laws;
mod nested;
mod nested_comparison;
mod tables;
