//! Options of readers, and what they share with those of writers.

use std::sync::Arc;

use tarsia_codec::Registry;

/// How many threads encode or decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Those of the global rayon pool.
    #[default]
    All,
    /// The caller's alone.
    One,
}

/// Which kernels a reader runs. A kernel is the Wasm module a file may carry to decode its own pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// None: pages that this build cannot decode are refused.
    Never,
    /// Where this build cannot decode a page itself, and the kernel's digest is one that it ships or that
    /// [`OpenOptions::trusted_kernels`] names.
    #[default]
    Trusted,
    /// For every page, trusted kernels alone; for tests and measurements.
    Forced,
}

/// How a local file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped into memory: no copy, no request. Another process that cuts the file meanwhile crashes this one, as with any mapping.
    #[default]
    Map,
    /// Positional reads.
    Read,
}

/// When the CRC-32C of a block is compared with its bytes. Reading a whole block for it is most of what a single row costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// Before a block is used for the first time since the file was opened, where it stays in memory: of a map, or of bytes in memory. What
    /// the system drops from a map and reads again later is not looked at a second time. Blocks that are read into memory of their own
    /// ([`Access::Read`], readers of other stores) are checked at every read.
    #[default]
    Once,
    /// At every read.
    Always,
    /// Never.
    Never,
}

/// Options of a [`crate::File`].
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The encodings that this reader decodes itself. Default: those of this build ([`crate::registry`]).
    pub registry: Arc<Registry>,
    /// How a local file is read.
    pub access: Access,
    /// When blocks are checked. [`crate::File::verify`] checks all of them, always.
    pub checksums: Checksums,
    /// Threads that decode a scan.
    pub threads: Threads,
    /// Columns of strings and byte strings come as views ([`Utf8View`](arrow_schema::DataType::Utf8View),
    /// [`BinaryView`](arrow_schema::DataType::BinaryView)), whatever type they were written with, at any depth; not those of dictionaries
    /// and extension types. The file's schema then says so too.
    ///
    /// Byte strings that come as views and that the file holds as they are (images, not text) are *lent* where the file is mapped, not
    /// copied (but for a few KiB that lie alone, and rows picked out of a block): arrays refer to the map and keep it alive, and what must hold
    /// while it lives ([`Access::Map`]) must hold while they do. Default `false`; columns that were written as `BinaryView` are lent all
    /// the same.
    pub views: bool,
    /// Output memory kept for the next batch. When the file is closed and its arrays are gone, up to 64 MiB of it, for all files of the process
    /// together, are kept for those that are opened later; 0 keeps none. Default 256 MiB.
    pub pool_bytes: usize,
    /// Which kernels may run.
    pub kernels: Kernels,
    /// Digests (BLAKE3 over the module) of kernels to trust beside those of this build.
    pub trusted_kernels: Vec<[u8; 32]>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            registry: crate::registry().clone(),
            access: Access::default(),
            checksums: Checksums::default(),
            threads: Threads::default(),
            views: false,
            pool_bytes: 256 << 20,
            kernels: Kernels::default(),
            trusted_kernels: Vec::new(),
        }
    }
}
