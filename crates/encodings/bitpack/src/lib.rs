//! Frame of reference and bit-packing with patches, fused: each value minus a base, in as few bits as most of the
//! values need. Values that need more bits are patched.
//!
//! Source: PFOR, "Super-Scalar RAM-CPU Cache Compression" (ICDE 2006), sections 3 and 4, and the fused loops of "The
//! FastLanes Compression Layout" (VLDB 2023), section 3. We differ in: patches are a list beside the packed values
//! (position and high part), not a chain through them, so that lookups are cheap; and values are interleaved in their
//! original order (see the crate `tarsia-bits`).
//!
//! It holds values of 1, 2, 4 and 8 bytes. All arithmetic wraps, so signed and unsigned integers, dates and even floats
//! are treated as bit patterns.
//!
//! # Layout (little-endian; `n` values of `S` bytes, `G = ceil(n / 1024)` groups, the last may be shorter)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 1 | `form` | bit 0: a width per group; bit 1: `base` is complemented; bits 2 and 3 zero; bits 4 .. 8: `patch_bytes`, 0 (no patches) ..= `S` |
//! | 1 | 1 | `width` | bits kept per value, 0 ..= 8·`S`; zero where each group has its own |
//! | 2 | 1 | `sizes` | bits 0 .. 4: `base_bytes`, 0 ..= `S`; bits 4 .. 8: `delta_bytes`, 0 (one base for all) ..= `S` |
//! | 3 | `base_bytes` | `base` | zero-extended; then complemented if `form` says so |
//! | | `G` | `group_widths` | if `form` bit 0: one byte each, 0 ..= 8·`S` |
//! | | `G * delta_bytes` | `group_deltas` | base of group `g` is `base + delta[g]` |
//! | | 2 | `n_patches - 1` | if `patch_bytes > 0`; only units of at most 65,536 values have patches |
//! | | `2 * n_patches` | `positions` | strictly rising, below `n` |
//! | | `n_patches * patch_bytes` | `patch_highs` | the bits of the difference above the group's width |
//! | | to the end | `packed` | groups back to back, packed as `tarsia-bits` says, `ceil(m * width / 8)` bytes for `m` values |
//!
//! Value `i` of group `g` is `base[g] + packed[i] + (patch_high[i] << width[g])`, modulo 2^(8·`S`). A unit of no values
//! has no bytes. Nothing is padded: loads of unaligned bytes are as fast as those of 8-aligned ones, and padding would
//! enlarge small units.
//!
//! # Parameters of the node
//! Empty or `[0]`: the encoder chooses per unit whether groups have their own widths and bases. `[1]`: one width and
//! one base per unit, the base always `S` bytes; then the values that remain after an erasure always fit the old place.
//! The proof is at [`Mode::Uniform`].
//!
//! # Limits
//! A unit takes at most `3 + S + n * S` bytes; decoding allocates only one group of scratch memory.
//!
//! # What this crate does not do
//! It holds no nulls and no running differences, and does not choose itself.
//!
//! # Alone
//! ```
//! # #[cfg(feature = "encode")] {
//! use tarsia_bitpack::{BITPACK, tree};
//! use tarsia_standalone::{Encoded, Selection, encode_slice, registry};
//!
//! let registry = registry(&[&BITPACK]);
//! let values: Vec<u32> = (0..5000).map(|i| 1_000_000 + i % 7).collect();
//! let bytes = encode_slice(&registry, &tree(), &values).unwrap();
//!
//! let mut encoded = Encoded::open(&registry, &bytes).unwrap();
//! // Header, base, and 3 bits per value.
//! assert_eq!(encoded.unit_bytes(), 3 + 3 + 5000 * 3 / 8);
//! assert_eq!(encoded.to_vec::<u32>(Selection::All).unwrap(), values);
//! assert_eq!(encoded.value::<u32>(4321), Ok(1_000_000 + 4321 % 7));
//! # }
//! ```
//! Arrow arrays: `examples/standalone.rs`.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod layout;

mod decode;
#[cfg(feature = "encode")]
mod encode;
#[cfg(not(feature = "kernel"))]
mod filter;
#[cfg(feature = "encode")]
mod plan;

#[cfg(feature = "encode")]
pub use encode::estimate;
pub use layout::{
    GROUP_VALUES, HEADER_BYTES, ID, Mode, PATCHED_VALUES_MAX, VERSION, encoded_bytes_max, tree,
    tree_of,
};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static BITPACK: Bitpack = Bitpack;

/// The type of [`BITPACK`].
#[derive(Debug, Clone, Copy)]
pub struct Bitpack;
