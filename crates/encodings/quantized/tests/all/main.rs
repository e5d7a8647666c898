//! The tests of this crate, linked as one program.

mod coarse;
mod corrupt;
mod formats;
mod golden;
mod laws;
mod proposals;
mod rounding;
