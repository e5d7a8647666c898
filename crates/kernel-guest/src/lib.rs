//! The inside of a kernel: a Wasm module that decodes pages and imports nothing.
//!
//! `docs/spec/kernel.md` is the interface, byte by byte. A kernel is a crate of a few lines: it names its encodings and
//! calls [`export_kernel!`], which defines the exports, the allocator and the panic handler on wasm32 and nothing
//! elsewhere.
//!
//! | module | holds |
//! |---|---|
//! | [`abi`] | tags, codes and the wire forms of requests and batches: what a host links too |
//! | [`Guest`] | the state of an instance: prepared pages, readers, batches. Safe code, tested natively |
//! | `nested` | the rows of nested pages: levels and items. With the feature of that name |
//! | [`memory`] | addresses in the module's own memory to slices |
//! | [`entry`] | what the exports call: addresses of the host, and the one state of a module |
//! | `allocator` | the module's allocator, on wasm32 |
//!
//! The last three are the only ones with `unsafe` code.
//!
//! # What this crate does not do
//! It knows no encoding, computes no checksum and selects no block: the host does that with the page's block table.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod abi;
#[cfg(any(target_arch = "wasm32", test))]
#[allow(unsafe_code, reason = "an allocator")]
pub mod allocator;
mod batch;
#[allow(
    unsafe_code,
    reason = "addresses of the host are taken on trust here and nowhere else"
)]
pub mod entry;
mod export;
mod fault;
mod guest;
#[allow(
    unsafe_code,
    reason = "addresses of the module's own memory become slices here and nowhere else"
)]
pub mod memory;
#[cfg(feature = "nested")]
mod nested;
mod reader;
mod request;

pub use batch::Batch;
pub use fault::Failure;
pub use guest::Guest;
