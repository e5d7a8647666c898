//! The tests of this crate, linked as one program.

mod common;
mod guest;
#[cfg(feature = "nested")]
mod nested;
mod shared;
