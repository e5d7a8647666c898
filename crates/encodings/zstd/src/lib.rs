//! The bytes of all values as one Zstandard frame, made small with much time, for values that are stored long and read
//! rarely.
//!
//! Source: Collet and Kucherawy, "Zstandard Compression and the 'application/zstd' Media Type", RFC 8878; Bullion (CIDR
//! 2025), Table 2, "Chunked". Text and other bytes come here as numbers of 1 byte, below an encoding that splits byte
//! strings into lengths and bytes.
//!
//! # Layout (`n` values of `w` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `frame` | one frame, RFC 8878, section 3.1.1, whose content is the `n w` bytes of the values |
//!
//! The node has no parameters and no children. `w` is 1 or more. The frame has no checksum, since blocks have one, and
//! no dictionary. The size of its content, where it is stored, is `n w`. A window may be stored, but the reader has all
//! that was decoded so far, so only the size of blocks depends on it. Nothing follows the frame.
//!
//! # Parts
//! The encoder is the C library `zstd`, which is not there for wasm. The decoder is written in this crate, in safe
//! Rust, for what such a frame may have, and is the same natively and in kernels. It decodes straight to the output,
//! where copies find all bytes before them.
//!
//! # Limits
//! The values of a unit have at most 2^24 bytes ([`tarsia_codec::limits::CODEC_DECODED_BYTES_MAX`]).
//! `encoded_bytes_max` is `b + b / 256` for `b` bytes of values, and up to 64 more below 128 KiB. Decoding takes
//! scratch memory of 16 KiB for tables, and for the literals of a block, 128 KiB at most. A range, or single values,
//! decode the whole unit to scratch memory. After an erasure the remaining values may take more bytes: what was a copy
//! of erased bytes has to be stored.
//!
//! # What this crate does not do
//! It reads no dictionaries, no checksums, no frames that are skipped, and no older formats.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod bits;
mod codes;
mod copy;
mod decode;
#[cfg(all(feature = "encode", not(target_family = "wasm")))]
mod encode;
mod frame;
mod fse;
mod huffman;
mod layout;
mod literals;
mod sequences;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ZSTD: Zstd = Zstd;

/// The type of [`ZSTD`].
#[derive(Debug, Clone, Copy)]
pub struct Zstd;
