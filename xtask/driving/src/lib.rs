//! Parts that programs share that run the `tarsia` command on files of their own: `cargo xtask mutate` and `cargo xtask
//! attack`.
//!
//! # What this crate does not do
//! It makes no files and judges nothing.

pub mod command;
pub mod scratch;
