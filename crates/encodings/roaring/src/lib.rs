//! Sparse and clustered bits, such as rare flags and validity with few nulls: for every 65,536 of them the positions of
//! the rarer bit, the runs of a bit, or a bitmap, whichever is smallest.
//!
//! Source: Lemire et al., "Roaring Bitmaps: Implementation of an Optimized Software Library" (2018), section 2. We
//! differ in: containers are not keyed but one after the other, since the number of values is known; positions and
//! runs may be those of unset bits; a run is stored with its last place and not with its length, so that a place is
//! found by binary search alone; the smallest form is chosen for each container, not only where runs were asked for.
//!
//! # Layout (little-endian; `n` values, `C = ceil(n / 65536)` containers)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 3 `C` | `heads` | for each container one byte `kind` and two bytes `count` |
//! | 3 `C` | the rest | `bodies` | one after the other |
//!
//! | kind | body | bytes |
//! |---|---|---|
//! | 0, 1 | `positions` of set (0) or unset (1) bits, 2 bytes each | 2 `count` |
//! | 2, 3 | `runs` of set (2) or unset (3) bits: first and last place, 2 bytes each | 4 `count` |
//! | 4 | `bits`, as in `tarsia.bitmap`; `count` is 0 | ceil(values of the container / 8) |
//!
//! Places count from the container's first value, rise, and are below its number of values. The node has bits, no
//! parameters and no children.
//!
//! # Limits
//! `encoded_bytes_max` is 3 bytes for each container more than a bitmap takes. Decoding takes scratch memory of at most
//! 8 KiB, and that only for many single values: all bits between the first and the last of a container are written
//! there. Few cost a binary search each. A range reads the places inside of it. After an erasure the remaining values
//! always fit the old place: a container with fewer values is no larger in any form, and a unit of several containers
//! is one row.
//!
//! # What this crate does not do
//! It makes no unions and intersections, and is not the portable format of Roaring libraries.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{CONTAINER_VALUES, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ROARING: Roaring = Roaring;

/// The type of [`ROARING`].
#[derive(Debug, Clone, Copy)]
pub struct Roaring;
