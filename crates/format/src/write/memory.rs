//! The memory that a column's first page leaves for its later ones, and for the same column of later files.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::DataType;
use tarsia_codec::{ColumnMemory, MemoryKey};

use crate::write::preset::Preset;

/// The first page uses what that of an earlier file left if it has at most so many times its bytes, and at least one in
/// so many: a dictionary for much is too large for little.
const SIZE_RATIO_MAX: u64 = 2;

/// Findings of writers about the columns of the files that they wrote, for writers of files alike: see
/// [`WriteOptions::with_memory`](crate::WriteOptions::with_memory). Clones share it.
///
/// For each column it holds the encodings of the last file's first page, and the tokens and symbols of its text, with
/// tables to encode by them: some KiB where files are small, and up to 16 MiB for a column of which a page has 65,536
/// tokens.
#[derive(Clone, Default)]
pub struct WriterMemory(Arc<Mutex<HashMap<ColumnKey, Arc<Left>>>>);

/// A column that is the same in several files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnKey {
    /// The names from the top-level field down, joined by dots.
    pub(super) leaf: String,
    pub(super) data_type: DataType,
    pub(super) preset: Preset,
}

impl WriterMemory {
    /// A memory of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all columns.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The number of leaf columns that it knows.
    pub fn columns(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn recall(&self, key: &ColumnKey) -> Option<Arc<Left>> {
        self.lock().get(key).cloned()
    }

    pub(super) fn keep(&self, key: ColumnKey, left: Left) {
        self.lock().insert(key, Arc::new(left));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ColumnKey, Arc<Left>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for WriterMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterMemory")
            .field("columns", &self.columns())
            .finish()
    }
}

/// Findings that a column's first page left in an earlier file.
pub(super) struct Left {
    /// Bytes of the values of the page.
    page_bytes: u64,
    found: Vec<Found>,
}

/// The memory that a column's first page has left: a thing or two.
#[derive(Default)]
pub(super) struct FirstPage {
    earlier: Option<Arc<Left>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of the first page's values, from when it is encoded on.
    page_bytes: Option<u64>,
    found: Vec<Found>,
}

type Found = (MemoryKey, Arc<dyn Any + Send + Sync>);

impl FirstPage {
    /// A first page that finds what that of an earlier file left.
    pub(super) fn after(earlier: Option<Arc<Left>>) -> Self {
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// As the page with this number, of values of so many bytes, sees it: the first one leaves things, all find them.
    pub(super) fn seen_by(&self, page: usize, page_bytes: u64) -> SeenBy<'_> {
        let is_first = page == 0;
        let mut is_of_other_file = false;
        if is_first {
            let mut state = self.lock();
            state.page_bytes = Some(page_bytes);
            let earlier = self.earlier.as_ref().filter(|earlier| {
                let (a, b) = (page_bytes, earlier.page_bytes);
                a.max(b) <= a.min(b).saturating_mul(SIZE_RATIO_MAX)
            });
            if let Some(earlier) = earlier {
                state.found.clone_from(&earlier.found);
                is_of_other_file = true;
            }
        }
        SeenBy {
            first: self,
            is_first,
            is_of_other_file,
        }
    }

    /// Returns what the first page has left for later files; `None` if there was none.
    pub(super) fn left(&self) -> Option<Left> {
        let state = self.lock();
        state.page_bytes.map(|page_bytes| Left {
            page_bytes,
            found: state.found.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`FirstPage`] for one page.
pub(super) struct SeenBy<'a> {
    first: &'a FirstPage,
    is_first: bool,
    is_of_other_file: bool,
}

impl ColumnMemory for SeenBy<'_> {
    fn recall(&self, key: MemoryKey) -> Option<Arc<dyn Any + Send + Sync>> {
        let state = self.first.lock();
        let found = state.found.iter().find(|(of, _)| *of == key);
        found.map(|(_, found)| found.clone())
    }

    fn is_of_other_file(&self) -> bool {
        self.is_of_other_file
    }

    fn remember(&self, key: MemoryKey, found: Arc<dyn Any + Send + Sync>) {
        if self.is_first {
            let all = &mut self.first.lock().found;
            all.retain(|(of, _)| *of != key);
            all.reserve_exact(1);
            all.push((key, found));
        }
    }
}
