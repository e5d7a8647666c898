//! The memory of a column: findings that encodings keep of one page for the next.

use alloc::sync::Arc;
use core::any::{Any, TypeId};

use crate::node::SharedKind;

/// Findings of encodings about the first page of a column, such as the tokens of its text, kept for the pages after it.
///
/// Only the first page is remembered, so that the bytes of a page depend on neither threads nor batches. The first page
/// finds what it has left itself: a dictionary's entries are looked at by the search, and once more when they are
/// written. Before that it may find what the same column of an earlier file has left.
pub trait ColumnMemory: Sync {
    /// Returns what the first page left under this key, or, for the first page itself, has left so far.
    fn recall(&self, key: MemoryKey) -> Option<Arc<dyn Any + Send + Sync>>;

    /// Whether what is recalled may be of another file, which a writer wrote before. Then this file does not hold its
    /// shared buffers yet.
    fn is_of_other_file(&self) -> bool {
        false
    }

    /// Keeps what was found out, if the page is the first. Of several under one key the last is kept.
    fn remember(&self, key: MemoryKey, found: Arc<dyn Any + Send + Sync>);
}

/// Names one thing in a [`ColumnMemory`]: its type, and the values that it was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryKey {
    type_id: TypeId,
    /// The kind of shared buffer; `None` for the column's own values.
    shared: Option<SharedKind>,
}

impl MemoryKey {
    /// The key of a `T` that was found in values of the column, or in those of a shared buffer.
    pub fn of<T: Any>(shared: Option<SharedKind>) -> Self {
        Self {
            type_id: TypeId::of::<T>(),
            shared,
        }
    }
}
