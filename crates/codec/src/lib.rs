//! The contract between encodings and the rest of Tarsia.
//!
//! Reading has three steps, as in F3 (SIGMOD 2025), Listing 1. They are cheap enough for blocks of a few KiB:
//!
//! 1. **check** ([`Encoding::check`]): parses the parameters of one node of a tree and returns which children and
//!    shared buffers the node needs. Readers and writers call it for every node first.
//! 2. **init** ([`Encoding::init`]): once per page. Takes the children's decoders and the decoded shared buffers (a
//!    dictionary, a symbol table) and returns a [`Decoder`].
//! 3. **decode** ([`Decoder::decode`]): once per block or selection. Writes into memory of the caller ([`Output`]).
//!    Allocates nothing once the buffers in its [`Scratch`] are large enough.
//!
//! # Words
//! | level | unit of | this crate's type |
//! |---|---|---|
//! | page  | `init`: one tree, one set of shared buffers | [`Tree`], [`Node`] |
//! | block | `decode`: a run of whole rows, at most [`limits::BLOCK_VALUES_MAX`] values unless it is one row | [`Unit`] |
//! | value | selection | [`Selection`] |
//!
//! Encodings form *trees* (`bytes(lengths: bitpack)`, `dict(codes: bitpack)`): a node names the type of each child and
//! of each shared buffer ([`NodeSpec`]) and uses them only through this contract, so any encoding can be a child of any
//! other. The parent knows where in its unit a child's bytes lie; the child gets exactly its own bytes and its number
//! of values.
//!
//! Writing mirrors reading. A search asks every encoding what it proposes for the values of a page
//! ([`EncodingWriter::propose`]). Statistics of the values are computed once and shared by all encodings
//! ([`Statistics`]). [`EncodingWriter::prepare`] then gets all values of the page and returns a [`PageEncoder`], which
//! encodes the page block by block. An encoder is a deterministic function of values, tree and shared buffers. An
//! erasure relies on that: it decodes a block, drops rows, and encodes the remaining rows again.
//!
//! This crate has two parts. The items at its root are the contract. [`toolbox`] has what encodings are written with:
//! cursors over bytes, exceptions, selections, distinct values; an encoding may do without any of it.
//!
//! # Features
//! `std` (on by default). `kernel`: for the Wasm decoders inside files; leaves out all code that only native readers
//! and writers need.
//!
//! # What this crate does not do
//! It contains no encoding, chooses none, and knows no file, no Arrow, no threads and no clock. It is `no_std` with
//! `alloc`, and Wasm kernels link it unchanged.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod buffer;
mod decode;
mod encode;
mod error;
pub mod limits;
mod memory;
mod node;
mod order;
mod predicate;
mod propose;
mod range;
mod registry;
mod rounding;
mod shared;
mod statistics;
pub mod toolbox;
mod tree;
mod values;
mod version;

pub use buffer::{AlignedBuf, OUTPUT_ALIGN, Scratch};
pub use decode::{
    Aggregates, BytesOutput, Children, Decoder, Encoding, EntriesOfBuffer, Output, Reach,
    Selection, StoredStrings, Unit, ViewOutput,
};
pub use encode::{
    Asked, BlockChild, BlockValues, EncodingWriter, EraseFit, PageEncoder, Prepare, Sample,
    TreeWriter,
};
pub use error::{Error, ErrorKind, Result};
pub use memory::{ColumnMemory, MemoryKey};
pub use node::{Node, NodeSpec, SharedKind, SharedSpec};
pub use order::Order;
pub use predicate::{Comparison, OwnedPredicate, Predicate};
pub use propose::{Facts, LogicalType, Part, Proposal, Proposals, RowStarts, TimeUnit};
pub use range::NumberRange;
pub use registry::{DecodeCost, RegisteredWriter, Registry, Tried, build_decoder, build_encoder};
pub use rounding::{Rounding, RoundingError};
pub use shared::{SharedBuffer, SharedBuffers, UsedEntries};
pub use statistics::{FloatFacts, NumberExtent, SortOrder, Statistics};
pub use tree::{Tree, TreeNode};
pub use values::{BitSlice, BytesSlice, FixedSlice, OwnedValues, ValueType, Values};
pub use version::Version;
