//! The caller's options for reading a file, once it is open.

use std::sync::Arc;

use tarsia_arrow::Pool;
use tarsia_codec::Registry;
use tarsia_structure::Meta;

use crate::options::{Checksums, Kernels, OpenOptions};
use crate::threads::Threads;

/// How a file is read: encodings, memory, threads, checks, and which kernels may run.
pub(crate) struct Session {
    pub(crate) registry: Arc<Registry>,
    /// Output memory.
    pub(crate) pool: Pool,
    pub(crate) threads: Threads,
    pub(crate) checksums: Checksums,
    pub(crate) kernels: Kernels,
    #[cfg_attr(
        not(feature = "kernels"),
        expect(dead_code, reason = "this build runs no kernels")
    )]
    pub(crate) trusted_kernels: Vec<[u8; 32]>,
}

impl Session {
    pub(crate) fn new(options: &OpenOptions) -> Self {
        Self {
            registry: options.registry().clone(),
            pool: Pool::new(options.pool_bytes()),
            threads: options.threads().clone(),
            checksums: options.checksums(),
            kernels: options.kernels(),
            trusted_kernels: options.trusted_kernels().to_vec(),
        }
    }

    /// Whether this build's own decoders decode pages with this description. They are preferred where they read every
    /// tree of it, and tried where nothing else can.
    pub(crate) fn decodes_natively(&self, meta: &Meta, names_kernel: bool) -> bool {
        match self.kernels {
            Kernels::Never => true,
            Kernels::Trusted => {
                !names_kernel || meta.all_trees().all(|tree| self.registry.reads(tree))
            }
            Kernels::Forced => false,
        }
    }
}
