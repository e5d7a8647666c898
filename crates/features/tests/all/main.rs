//! The tests of this crate, linked as one program.

mod batches;
mod dual;
mod fields;
mod halves;
mod ids;
mod lists;
mod stored;
