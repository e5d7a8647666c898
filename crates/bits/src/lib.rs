//! The inner loops of the encodings: bit-packing fused with a frame of reference, statistics for encoders, gathering
//! from dictionaries, prefix sums, bitmaps, comparison with bounds. The crate knows no encoding and no file.
//!
//! # Linear interleaved bit-packing (little-endian; values of `T` bits, `w` bits kept of each)
//! `n` values are cut into groups: as many groups of 1,024 values as possible, then of 256, then of 64. Fewer than 64
//! values remain. With `L = G / T` lanes in a group of `G`:
//!
//! | values | place of value `i` | bytes |
//! |---|---|---|
//! | a group of `G` | lane `i mod L`, row `i div L`; row `r` is bits `r*w .. r*w + w` of its lane | `G*w/8` |
//! | fewer than 64 | bits `i*w .. i*w + w`, least significant bit first, spare bits zero | `ceil(r*w/8)` |
//!
//! A lane is a stream of `w` words of `T` bits; word `j` of lane `l` is word `j*L + l` of the group. Consecutive values
//! are in consecutive lanes: one row fills one or a few vector registers, all lanes shift by the same amount, and rows
//! are stored in the order of the values. Groups are whole bytes, so `n` values take exactly `ceil(n*w/8)` bytes
//! ([`packed_bytes`]) and each group starts at byte `first*w/8`.
//!
//! The layout differs from FastLanes (VLDB 2023), section 3, only in the order of values. FastLanes transposes them for
//! delta decoding, so its unpacked values are out of order.
//!
//! # Dispatch
//! Each loop is one portable function that is compiled three times: for the target's baseline, for AVX2 and for
//! AVX-512. The [`Level`] is detected once per process. Results do not depend on it.
//!
//! # Errors
//! No function panics. Lengths that do not match, and codes beyond their dictionary, return an [`Error`].
//!
//! # What this crate does not do
//! It has no headers and no patches, chooses no widths, and allocates no memory.
#![cfg_attr(not(feature = "std"), no_std)]

mod bitmap;
mod equal;
mod gather;
mod group;
mod lanes;
mod loops;
mod pack;
mod padded;
mod prefix;
mod stats;
mod strings;
mod within;
mod word;

pub use bitmap::{
    compact, compact_bits, copy_bits, count_ones, count_runs, expand, expand_over, fill_bits,
};
pub use equal::equal_bytes;
pub use gather::{gather, gather_padded, largest};
pub use loops::{Level, level, limit_level};
pub use pack::{
    GROUP_VALUES, HORIZONTAL_VALUES_MAX, pack, packed_bytes, spare_bits, unpack, unpack_bytes,
    unpack_one, unpack_one_of, unpack_range, unpack_range_of,
};
pub use padded::PaddedStrings;
pub use prefix::{equal_ends, prefix_sum};
pub use stats::{Extent, WidthHistogram, counts_above, extent, width_histogram};
pub use strings::{STRING_SLACK_BYTES, compact_strings, selected_bytes, take_strings, taken_bytes};
pub use within::{float_key, within, within_floats, within_wide};
pub use word::{Word, read_value, write_value};

use core::fmt;

/// Why a function refused its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Two lengths do not match, or an index lies beyond the end. The text names them.
    Length(&'static str),
    /// The width is larger than the number of bits of the type.
    Width {
        /// The requested width in bits.
        width: u32,
        /// Bits of the type.
        bits: u32,
    },
    /// A code is not the index of an entry.
    Code {
        /// The largest code.
        largest: u64,
        /// Number of entries.
        n_entries: usize,
    },
    /// The sum of the lengths does not fit in 32 bits.
    Overflow {
        /// The sum.
        sum: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(what) => write!(f, "lengths do not fit: {what}"),
            Self::Width { width, bits } => {
                write!(f, "a width of {width} for values of {bits} bits")
            }
            Self::Code { largest, n_entries } => {
                write!(f, "code {largest} in a dictionary of {n_entries} entries")
            }
            Self::Overflow { sum } => write!(f, "a sum of {sum} does not fit in 32 bits"),
        }
    }
}

impl core::error::Error for Error {}
