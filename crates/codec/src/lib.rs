//! The contract between encodings and everything else in Tarsia.
//!
//! Three steps, after F3 (SIGMOD 2025), Listing 1, made cheap for blocks of a few KiB:
//!
//! 1. **check** ([`Encoding::check`]): parses the parameters of one node of a tree and says which children and shared
//!    buffers it needs. Readers and writers call it for every node before anything else.
//! 2. **init** ([`Encoding::init`]): once per page. Takes the prepared children and the decoded shared buffers (a
//!    dictionary, a symbol table), returns a [`Decoder`].
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
//! Encodings form *trees* (`bytes(lengths: bitpack)`, `dict(codes: bitpack)`): a node says what each child and each
//! shared buffer has to be ([`NodeSpec`]) and reaches them only through this contract, so anybody's encoding can stand
//! under anybody's. Where in a unit a child's bytes lie is the parent's business; a child gets exactly its own bytes
//! and its number of values.
//!
//! Writing mirrors reading. A search asks all encodings what they propose for the values of a page
//! ([`EncodingWriter::propose`]), with facts that are found once for all of them ([`Statistics`]).
//! [`EncodingWriter::prepare`] then sees all values of the page and returns a [`PageEncoder`], which encodes block
//! after block from it. An encoder is a deterministic function of (values, tree, shared buffers): erasing decodes a
//! block, drops rows, and encodes the survivors again.
//!
//! # Features
//! `std` (on by default). `kernel`: for Wasm modules that travel inside files; leaves out what only readers and writers
//! outside of them need.
//!
//! # What this crate does not do
//! No encoding, no choice between encodings, no file, no Arrow, no threads, no clock. `no_std` + `alloc`, and it
//! links into a Wasm kernel as it is.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod buffer;
mod decode;
mod encode;
mod error;
pub mod limits;
mod node;
mod propose;
mod read;
mod registry;
mod shared;
mod statistics;
mod tree;
mod values;

pub use buffer::{AlignedBuf, OUTPUT_ALIGN, Scratch};
pub use decode::{
    Aggregates, Children, Comparison, Decoder, Encoding, Order, Output, Predicate, Reach,
    Selection, StoredStrings, Unit, ViewOutput, children_of, decode_bits, decode_by_gather,
};
pub use encode::{
    Block, BlockChild, EncodingWriter, EraseFit, PageEncoder, Prepare, Sample, TreeWriter,
    build_encoder,
};
pub use error::{Error, ErrorKind, Result};
pub use node::{Node, NodeSpec, SharedKind, SharedSpec};
pub use propose::{Facts, LogicalType, Part, Proposal, Proposals, RowStarts, TimeUnit};
pub use read::{Reader, check_zero};
pub use registry::{DecodeCost, RegisteredWriter, Registry, build_decoder};
pub use shared::{SharedBuffer, SharedBuffers, UsedEntries};
pub use statistics::{
    Distinct, FloatFacts, NumberExtent, SortOrder, Statistics, are_codes_of, find_codes,
    is_constant, lengths_of, narrow_numbers,
};
pub use tree::{Tree, TreeNode, Version};
pub use values::{BitSlice, BytesSlice, FixedSlice, OwnedValues, ValueType, Values};
