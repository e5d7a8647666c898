//! The memory that a column's first page leaves for its later ones.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tarsia_codec::{ColumnMemory, MemoryKey};

/// The memory that a column's first page has left: a thing or two.
#[derive(Default)]
pub(super) struct FirstPage {
    found: Mutex<Vec<Found>>,
}

type Found = (MemoryKey, Arc<dyn Any + Send + Sync>);

impl FirstPage {
    /// As the page with this number sees it: the first one leaves things, all find them.
    pub(super) fn seen_by(&self, page: usize) -> SeenBy<'_> {
        SeenBy {
            first: self,
            is_first: page == 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Found>> {
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
        let found = self.first.lock();
        let found = found.iter().find(|(of, _)| *of == key);
        found.map(|(_, found)| found.clone())
    }

    fn remember(&self, key: MemoryKey, found: Arc<dyn Any + Send + Sync>) {
        if self.is_first {
            let mut all = self.first.lock();
            all.retain(|(of, _)| *of != key);
            all.reserve_exact(1);
            all.push((key, found));
        }
    }
}
