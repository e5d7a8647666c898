//! The memory that a column's first page leaves for its later ones.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tarsia_codec::{ColumnMemory, MemoryKey};

/// The memory that a column's first page has left.
#[derive(Default)]
pub(super) struct FirstPage {
    found: Mutex<HashMap<MemoryKey, Arc<dyn Any + Send + Sync>>>,
}

impl FirstPage {
    /// As the page with this number sees it: the first one leaves things, all find them.
    pub(super) fn seen_by(&self, page: usize) -> SeenBy<'_> {
        SeenBy {
            first: self,
            is_first: page == 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MemoryKey, Arc<dyn Any + Send + Sync>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`FirstPage`] for one page.
pub(super) struct SeenBy<'a> {
    first: &'a FirstPage,
    is_first: bool,
}

impl ColumnMemory for SeenBy<'_> {
    fn recall(&self, key: MemoryKey) -> Option<Arc<dyn Any + Send + Sync>> {
        self.first.lock().get(&key).cloned()
    }

    fn remember(&self, key: MemoryKey, found: Arc<dyn Any + Send + Sync>) {
        if self.is_first {
            self.first.lock().insert(key, found);
        }
    }
}
