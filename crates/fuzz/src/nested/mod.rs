//! Blocks of nested pages: any levels over any items, as a writer makes them, changed, or made up.

mod changed;
mod decoded;
mod kernel;
mod made_up;
mod round_trip;
mod rows;
mod written;

pub use changed::{block, kernel};
pub use made_up::levels_made_up;
pub use round_trip::round_trip;
