//! Sliding windows: values that a row shares with the row before are copied, and only new ones are stored.
//!
//! Source: Bullion (CIDR 2025), section 2.2 with Figures 3 and 4. Lists of what a user did last, sorted by user and
//! time, hold the list of the row before but for a few new values. The paper stores a list as a range of the list
//! before with new values at its head and its tail. Here any row is some steps, of new values and a copy of earlier
//! ones, so a list may copy several ranges, and from any earlier row of the block. All numbers and the new values go
//! through encodings of their own.
//!
//! # Parameters
//! | byte | field | rule |
//! |---|---|---|
//! | 0 | `reference` | what distances are stored as differences to: 0 `n_copied`, 1 `n_new` + `n_before`, 2 `n_new` + `distance_before` |
//!
//! # Layout (`n` values, little-endian)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_steps` | 1 ..= n; 0 if n is 0 |
//! | 4 | 4 | `n_new` | 1 ..= n; 0 if n is 0 |
//! | 8 | 3 × 4 | `lens` | bytes of the units of children 0 to 2 |
//! | 20 | `lens[0]` | `new` | child 0: for each step the number of new values, 4 bytes each; they add up to `n_new` |
//! | | `lens[1]` | `steps` | child 1: for each step the number of all values, at least 1; they add up to `n` |
//! | | `lens[2]` | `distances` | child 2: for each step the difference between distance and reference, zigzag |
//! | | the rest | `values` | child 3: `n_new` values of the node's type |
//!
//! A step writes `new[i]` of the new values, and then `n_copied = steps[i] - new[i]` values that lie `distance` values
//! before them. `n_copied <= distance`, so source and copy do not overlap, and the source does not start before the
//! unit. `n_before` is `steps[i - 1]`, 0 for the first step; `distance_before` is the distance of the last step that
//! copied, 0 before there is one. A step that copies nothing stores 0.
//!
//! # Limits
//! Values of any fixed width from 1 byte on. Decoding takes scratch memory for the steps and the new values of a unit,
//! no more than a small multiple of what it decodes to. A few values are found by following copies back, without
//! decoding the others. After an erasure the remaining values may take more bytes than before: copies of erased values
//! become new ones.
//!
//! # What this crate does not do
//! It knows nothing of rows when it decodes. It copies from no other block and no other column.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;
#[cfg(feature = "encode")]
mod steps;

pub use layout::{ID, Reference, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static WINDOW: Window = Window;

/// The type of [`WINDOW`].
#[derive(Debug, Clone, Copy)]
pub struct Window;
