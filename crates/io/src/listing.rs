//! Lists as iterators.

use std::collections::VecDeque;

use crate::block_on::block_on;
use crate::list::{List, Listed};
use crate::store::Store;
use crate::store_error::{StoreError, StoreErrorKind};

/// The objects of a list, page after page, for callers that wait.
///
/// ```
/// use std::sync::Arc;
/// use tarsia_io::{List, Listing, MemoryStore, Store, block_on};
///
/// let store = MemoryStore::new();
/// for key in ["b", "a/2", "a/1"] {
///     block_on(store.put(key, Arc::new(vec![1])))?;
/// }
/// let keys: Result<Vec<String>, _> = Listing::new(&store, List::new("a/"))
///     .map(|listed| listed.map(|it| it.key))
///     .collect();
/// assert_eq!(keys?, ["a/1", "a/2"]);
/// # Ok::<(), tarsia_io::StoreError>(())
/// ```
#[derive(Debug)]
pub struct Listing<'a> {
    store: &'a dyn Store,
    next: Option<List>,
    page: VecDeque<Listed>,
}

impl<'a> Listing<'a> {
    /// The objects of `list`; folders, if it asks for them, are left out.
    pub fn new(store: &'a dyn Store, list: List) -> Self {
        Self {
            store,
            next: Some(list),
            page: VecDeque::new(),
        }
    }

    fn next_page(&mut self, list: List) -> Result<(), StoreError> {
        let page = block_on(self.store.list(list.clone()))?;
        if page.next.as_ref() == Some(&list) {
            let url = self.store.url(&list.prefix);
            let what = "the store returned the same page of a list twice";
            return Err(StoreError::new(StoreErrorKind::Other, url, what));
        }
        self.page = page.objects.into();
        self.next = page.next;
        Ok(())
    }
}

impl Iterator for Listing<'_> {
    type Item = Result<Listed, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(listed) = self.page.pop_front() {
                return Some(Ok(listed));
            }
            let list = self.next.take()?;
            if let Err(error) = self.next_page(list) {
                return Some(Err(error));
            }
        }
    }
}
