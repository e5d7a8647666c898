//! Options of readers, and what they share with those of writers.

use std::sync::Arc;

use tarsia_codec::Registry;

use crate::threads::Threads;

/// The result of a take for a row that was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeletedRows {
    /// An error ([`ErrorKind::RowDeleted`](crate::ErrorKind::RowDeleted)).
    #[default]
    Refuse,
    /// A row of nulls; then all columns of the batch allow nulls.
    Null,
}

/// Which kernels a reader runs. A kernel is the Wasm module a file may carry to decode its own pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernels {
    /// None: pages that this build cannot decode are refused.
    Never,
    /// Where this build cannot decode a page itself, and the kernel's digest is one that it ships or that
    /// [`OpenOptions::with_trusted_kernels`] names.
    #[default]
    Trusted,
    /// For every page, trusted kernels alone; for tests and measurements.
    Forced,
}

/// How a local file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Memory-mapped: no copy, no request. A shared lock on the file is held as long as arrays borrow it; programs that
    /// change the file in place respect it ([`tarsia_io::ExclusiveFile`]). Where the file system has no locks, the file
    /// is read by position instead.
    #[default]
    Map,
    /// Positional reads, without a lock. A file that changes meanwhile is noticed
    /// ([`ErrorKind::FileChanged`](crate::ErrorKind::FileChanged)).
    Read,
}

/// When the CRC-32C of a block is compared with its bytes. Reading a whole block for it is most of what a single row
/// costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksums {
    /// Before a block is used for the first time since the file was opened, if it stays in memory: of a memory-mapped
    /// file, or of bytes in memory. What the system drops from a map and reads again later is not checked a second
    /// time. Blocks that are read into memory of their own ([`Access::Read`], readers of other stores) are checked at
    /// every read.
    #[default]
    Once,
    /// At every read.
    Always,
    /// Never.
    Never,
}

/// Options of a [`crate::File`].
///
/// ```
/// use tarsia::{Access, OpenOptions};
///
/// let options = OpenOptions::new().with_access(Access::Read).with_views(true);
/// assert!(options.views());
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    registry: Arc<Registry>,
    access: Access,
    checksums: Checksums,
    threads: Threads,
    views: bool,
    pool_bytes: usize,
    kernels: Kernels,
    trusted_kernels: Vec<[u8; 32]>,
}

impl OpenOptions {
    /// The defaults, which each setter names.
    pub fn new() -> Self {
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

    /// The encodings that this reader decodes itself. Default: those of this build ([`crate::registry`]).
    #[must_use]
    pub fn with_registry(self, registry: Arc<Registry>) -> Self {
        Self { registry, ..self }
    }

    /// The encodings that this reader decodes itself.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// How a local file is read. Default: memory-mapped.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// How a local file is read.
    pub fn access(&self) -> Access {
        self.access
    }

    /// When the checksums of blocks are compared. [`crate::File::verify`] compares all of them, always. Default:
    /// [`Checksums::Once`].
    #[must_use]
    pub fn with_checksums(self, checksums: Checksums) -> Self {
        Self { checksums, ..self }
    }

    /// When the checksums of blocks are compared.
    pub fn checksums(&self) -> Checksums {
        self.checksums
    }

    /// Threads that decode. Default [`Threads::All`].
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Threads that decode.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Whether columns of strings and byte strings come as views ([`Utf8View`](arrow_schema::DataType::Utf8View),
    /// [`BinaryView`](arrow_schema::DataType::BinaryView)), whatever type they were written with, at any depth; not
    /// those of dictionaries and extension types. The file's schema then says so too. Default `false`.
    ///
    /// Byte strings that come as views and that the file holds as they are (images, not text) are zero-copy where the
    /// file is memory-mapped (but for a few KiB that lie alone, and rows picked out of a block): arrays borrow the map
    /// and keep it alive, and what must hold while it lives ([`Access::Map`]) must hold while they do. Columns that
    /// were written as `BinaryView` are zero-copy without this option.
    #[must_use]
    pub fn with_views(self, views: bool) -> Self {
        Self { views, ..self }
    }

    /// Whether strings come as views.
    pub fn views(&self) -> bool {
        self.views
    }

    /// Bytes of output memory that are kept for the next batch. When the file is closed and its arrays are dropped, up
    /// to 64 MiB of it, for all files of the process together, are kept for files that are opened later; 0 keeps none.
    /// Default 256 MiB.
    #[must_use]
    pub fn with_pool_bytes(self, pool_bytes: usize) -> Self {
        Self { pool_bytes, ..self }
    }

    /// Bytes of output memory that are kept for the next batch.
    pub fn pool_bytes(&self) -> usize {
        self.pool_bytes
    }

    /// Which kernels may run. Default: [`Kernels::Trusted`].
    #[must_use]
    pub fn with_kernels(self, kernels: Kernels) -> Self {
        Self { kernels, ..self }
    }

    /// Which kernels may run.
    pub fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Digests (BLAKE3 over the module) of kernels to trust beside those of this build. Default: none.
    #[must_use]
    pub fn with_trusted_kernels(self, digests: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self {
            trusted_kernels: digests.into_iter().collect(),
            ..self
        }
    }

    /// Digests of kernels to trust beside those of this build.
    pub fn trusted_kernels(&self) -> &[[u8; 32]] {
        &self.trusted_kernels
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
