//! The contract between encodings and everything else in Tarsia.
//!
//! Three steps, after F3 (SIGMOD 2025), Listing 1, made cheap for blocks of a few KiB:
//!
//! 1. **check** ([`Encoding::check`]): what this decoder can do for a unit described by its metadata.
//!    An option nobody knows is never an error; the reader falls back to plain decoding.
//! 2. **init** ([`Encoding::init`]): once per page. Parses parameters, takes the prepared children and the
//!    decoded shared buffers (a dictionary, later a symbol table), returns a [`Decoder`].
//! 3. **decode** ([`Decoder::decode`]): once per block or selection. Writes into memory the caller owns
//!    ([`Output`]), allocates nothing once its [`Scratch`] is warm.
//!
//! # Words
//! | level | unit of | this crate's type |
//! |---|---|---|
//! | page  | `init`: one tree, one set of shared buffers | [`Tree`], [`Node`] |
//! | block | `decode`: a run of whole rows, at most [`limits::BLOCK_VALUES_MAX`] values unless it is one row | [`Unit`] |
//! | value | selection | [`Selection`] |
//!
//! Encodings form *trees* (`bytes(lengths: bitpack)`, `dict(codes: bitpack)`): a node asks for the type of
//! each child ([`Encoding::child_types`]) and reaches it only through this contract, so anybody's encoding can
//! stand under anybody's. Where in a unit a child's bytes lie is the parent's business; a child gets exactly
//! its own bytes and its number of values.
//!
//! Writing mirrors reading: [`EncodingWriter::prepare`] sees all values of a page and returns a
//! [`PageEncoder`], which encodes block after block from it. An encoder is a deterministic function of
//! (values, tree, shared buffers): erasing decodes a block, drops rows, and encodes the survivors again.
//!
//! # What this crate does not do
//! No encoding, no choice between encodings, no file, no Arrow, no threads, no clock. `no_std` + `alloc`, and it
//! links into a Wasm kernel as it is.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod buffer;
mod contract;
mod error;
pub mod limits;
mod read;
mod registry;
mod tree;
mod values;

pub use buffer::{AlignedBuf, OUTPUT_ALIGN, Scratch};
#[cfg(not(target_arch = "wasm32"))]
pub use contract::StoredStrings;
pub use contract::{
    ChildTypes, Children, Decoder, EncodeChildren, Encoding, EncodingWriter, EraseFit, Features,
    Node, NodeWriter, Output, PageEncoder, Reach, Selection, Shared, Unit, decode_by_gather,
    decode_range_by_gather,
};
pub use error::{Error, ErrorKind, Result};
pub use read::{Reader, check_zero};
pub use registry::{Registry, build_decoder, build_encoder};
pub use tree::{Tree, TreeNode, Version};
pub use values::{BitSlice, BytesSlice, FixedSlice, OwnedValues, ValueType, Values};
