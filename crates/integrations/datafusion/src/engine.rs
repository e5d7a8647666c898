//! Parts of the engine that a scan uses, in the process that planned it.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::execution::memory_pool::MemoryPool;

use crate::cache::MetadataCache;

/// Parts of the engine that a scan uses.
#[derive(Clone)]
pub(crate) struct Engine {
    /// Metadata of files between queries.
    pub(crate) cache: MetadataCache,
    /// The memory of all that run.
    pub(crate) memory: Arc<dyn MemoryPool>,
}

impl Engine {
    /// The parts of a session.
    pub(crate) fn of(session: &dyn Session) -> Self {
        Self {
            cache: MetadataCache::of(session),
            memory: Arc::clone(&session.runtime_env().memory_pool),
        }
    }
}
