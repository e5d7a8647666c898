//! Ids as dense numbers.

mod map;
mod types;

pub use map::IdMap;
