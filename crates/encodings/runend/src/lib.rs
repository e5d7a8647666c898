//! Runs: for each run of equal values the value and where the run ends, each encoded by a child. For sorted and
//! clustered columns.
//!
//! Source: run-length encoding as in "Integrating Compression and Execution in Column-Oriented Database Systems"
//! (SIGMOD 2006), section 4; Bullion (CIDR 2025), Table 2. We differ in: ends instead of lengths, so that a single
//! value is found by binary search, and an erasure widens no number.
//!
//! # Layout (little-endian; `n` values in `R` runs)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_runs` | `R`: 1 ..= `n`, 0 if `n` is |
//! | 4 | 4 | `ends_len` | bytes of `ends` |
//! | 8 | 4 | `values_bytes` | only of byte strings: their decoded bytes, one per run |
//! | | `ends_len` | `ends` | the child's unit of `R - 1` numbers: for each run but the last the number of values up to its end; they rise, above 0 and below `n` |
//! | | the rest | `values` | the child's unit of `R` values, one per run |
//!
//! The parameter is the width of the ends in bytes, 2 or 4.
//!
//! # Limits
//! `encoded_bytes_max` is the header and the bounds of both children for a run per value. Decoding takes scratch memory
//! for at most 65,536 runs at a time. After an erasure there are no more runs, but the ends are other numbers.
//!
//! # What this crate does not do
//! It holds no run lengths, and packs nothing: the children do.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod expand;
mod layout;

pub use layout::{EndBytes, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static RUNEND: Runend = Runend;

/// The type of [`RUNEND`].
#[derive(Debug, Clone, Copy)]
pub struct Runend;
