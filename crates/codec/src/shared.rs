//! Shared buffers: values that decoding any unit of a page (or of several pages) needs.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, OwnedValues, Result, SharedKind, SharedSpec, limits};

/// A decoded shared buffer, as [`Encoding::init`](crate::Encoding::init) gets it. A clone refers to the same memory.
#[derive(Debug, Clone)]
pub struct SharedBuffer {
    kind: SharedKind,
    values: Arc<OwnedValues>,
    used: Option<Arc<UsedEntries>>,
    #[cfg(all(feature = "std", not(feature = "kernel")))]
    views: Arc<std::sync::OnceLock<Vec<u128>>>,
}

impl SharedBuffer {
    /// A buffer of these values.
    pub fn new(kind: SharedKind, values: Arc<OwnedValues>) -> Self {
        Self {
            kind,
            values,
            used: None,
            #[cfg(all(feature = "std", not(feature = "kernel")))]
            views: Arc::default(),
        }
    }

    /// Makes decoders record in `used` which entries of the buffer they refer to.
    #[must_use]
    pub fn recording(self, used: Arc<UsedEntries>) -> Self {
        Self {
            used: Some(used),
            ..self
        }
    }

    /// Its role for the nodes that refer to it.
    pub fn kind(&self) -> SharedKind {
        self.kind
    }

    /// True if the buffer has this kind and type.
    pub fn is(&self, spec: SharedSpec) -> bool {
        let values = self.values.as_values();
        self.kind == spec.kind && values.is_ok_and(|it| it.value_type() == spec.value_type)
    }

    /// True if [`SharedBuffer::views`] keeps what it makes, which needs the feature `std`.
    pub const KEEPS_VIEWS: bool = cfg!(all(feature = "std", not(feature = "kernel")));

    /// An Arrow view of each value, with the buffer number 0 and offsets in the data of the values. Made on first use
    /// and kept. `None` for values that are not byte strings, and without the feature `std`.
    pub fn views(&self) -> Option<&[u128]> {
        #[cfg(all(feature = "std", not(feature = "kernel")))]
        if let OwnedValues::Bytes { offsets, data } = &*self.values {
            return Some(self.views.get_or_init(|| {
                let mut views = alloc::vec![0; offsets.len().saturating_sub(1)];
                crate::toolbox::write_views(offsets, data, 0, 0, &mut views);
                views
            }));
        }
        None
    }

    /// Its values.
    pub fn values(&self) -> &Arc<OwnedValues> {
        &self.values
    }

    /// Where a decoder must record the index of every entry that a decoded value refers to; `None` if nobody asks for
    /// that. Every decoder of a kind with entries ([`SharedKind::has_entries`](crate::SharedKind::has_entries)) must do
    /// so, because an erasure wipes all other entries. A law in the test kit checks it.
    #[inline]
    pub fn used(&self) -> Option<&UsedEntries> {
        match cfg!(feature = "kernel") {
            // Kernels erase nothing.
            true => None,
            false => self.used.as_deref(),
        }
    }
}

/// The set of entries of a shared buffer to which decoded values refer.
#[derive(Debug)]
pub struct UsedEntries {
    words: Vec<AtomicU64>,
    len: usize,
}

impl UsedEntries {
    /// An empty set, for a buffer of `len` entries.
    pub fn none_of(len: usize) -> Self {
        let words = (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { words, len }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds entry `i`. Ignored beyond the last entry.
    pub fn insert(&self, i: usize) {
        if let Some(word) = self.words.get(i / 64) {
            word.fetch_or(1 << (i % 64), Ordering::Relaxed);
        }
    }

    /// True if entry `i` is in the set.
    pub fn contains(&self, i: usize) -> bool {
        let word = self.words.get(i / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (i % 64) & 1 == 1)
    }
}

/// The shared buffers of a page that is being written, in the order of their numbers in the page's trees.
#[derive(Debug, Clone, Default)]
pub struct SharedBuffers {
    slots: Vec<Option<(SharedSpec, Arc<OwnedValues>)>>,
    is_closed: bool,
    is_erasable: bool,
}

impl SharedBuffers {
    /// No buffers. Encoders add those that their nodes need.
    pub fn new() -> Self {
        Self::default()
    }

    /// No buffers, for values of which [`Facts::erasable`](crate::Facts::erasable) is known.
    pub fn for_values(erasable: bool) -> Self {
        Self {
            is_erasable: erasable,
            ..Self::default()
        }
    }

    /// The buffers of an existing page. Encoders use them and cannot add others.
    pub fn closed(buffers: &[(SharedSpec, Arc<OwnedValues>)]) -> Self {
        Self {
            slots: buffers.iter().cloned().map(Some).collect(),
            is_closed: true,
            is_erasable: false,
        }
    }

    /// Whether rows of the values may be erased, so that entries must be in the order of their values.
    pub fn is_erasable(&self) -> bool {
        self.is_erasable
    }

    /// Forbids further additions: they return an error.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Buffer `index`; `None` if it does not exist yet.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it is not what `spec` says.
    pub fn get(&self, index: u8, spec: SharedSpec) -> Result<Option<Arc<OwnedValues>>> {
        match self.slots.get(usize::from(index)) {
            Some(Some((found, values))) if *found == spec => Ok(Some(values.clone())),
            Some(Some(_)) => Err(Error::invalid(
                "two nodes of a page refer to one shared buffer as different things",
            )),
            _ => Ok(None),
        }
    }

    /// Adds buffer `index`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is one already, if the values are not of
    /// the type that `spec` says, or if the buffers are closed.
    pub fn insert(
        &mut self,
        index: u8,
        spec: SharedSpec,
        values: OwnedValues,
    ) -> Result<Arc<OwnedValues>> {
        if self.is_closed {
            return Err(Error::invalid("the page lacks a shared buffer of the tree"));
        }
        if values.as_values()?.value_type() != spec.value_type {
            return Err(Error::invalid("a shared buffer of another type"));
        }
        let index = usize::from(index);
        if index >= limits::SHARED_BUFFERS_MAX {
            let max = limits::SHARED_BUFFERS_MAX as u64;
            return Err(Error::limit("SHARED_BUFFERS_MAX", index as u64 + 1, max));
        }
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        match self.slots.get_mut(index) {
            Some(slot @ None) => {
                let values = Arc::new(values);
                *slot = Some((spec, values.clone()));
                Ok(values)
            }
            _ => Err(Error::invalid("a shared buffer that is there already")),
        }
    }

    /// All buffers with their kinds and types, in the order of their numbers.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a number has no buffer.
    pub fn to_vec(&self) -> Result<Vec<(SharedSpec, Arc<OwnedValues>)>> {
        let missing = || Error::invalid("a page's shared buffers are not numbered from 0 on");
        let slots = self.slots.iter();
        slots.map(|slot| slot.clone().ok_or_else(missing)).collect()
    }

    /// All buffers, as decoders get them.
    ///
    /// # Errors
    /// As [`SharedBuffers::to_vec`].
    pub fn to_decode(&self) -> Result<Vec<SharedBuffer>> {
        let buffers = self.to_vec()?.into_iter();
        Ok(buffers
            .map(|(spec, values)| SharedBuffer::new(spec.kind, values))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlignedBuf, ErrorKind, ValueType};

    fn values(width: usize) -> OwnedValues {
        OwnedValues::Fixed {
            bytes: AlignedBuf::zeroed(3 * width),
            width,
            len: 3,
        }
    }

    const DICTIONARY: SharedSpec = SharedSpec {
        kind: SharedKind::Dictionary,
        value_type: ValueType::Fixed(4),
    };

    fn is_invalid<T: core::fmt::Debug>(result: Result<T>) -> bool {
        matches!(
            result.as_ref().map_err(|error| error.kind()),
            Err(ErrorKind::InvalidInput { .. })
        )
    }

    #[test]
    fn buffers_keep_kind_type_and_number() {
        let mut buffers = SharedBuffers::new();
        assert!(buffers.get(1, DICTIONARY).unwrap().is_none());
        let made = buffers.insert(1, DICTIONARY, values(4)).unwrap();
        assert!(is_invalid(buffers.to_vec()), "number 0 is missing");
        let got = buffers.get(1, DICTIONARY).unwrap().unwrap();
        assert!(Arc::ptr_eq(&made, &got));
        let table = SharedSpec {
            kind: SharedKind::SymbolTable,
            ..DICTIONARY
        };
        assert!(is_invalid(buffers.get(1, table)));
        assert!(is_invalid(buffers.insert(1, DICTIONARY, values(4))));
        assert!(is_invalid(buffers.insert(0, DICTIONARY, values(8))));
        assert!(buffers.insert(0, table, values(4)).is_ok());
        let listed = buffers.to_vec().unwrap();
        assert_eq!((listed[0].0, listed[1].0), (table, DICTIONARY));
        let mut closed = SharedBuffers::closed(&listed);
        assert!(is_invalid(closed.insert(2, table, values(4))));
        assert!(closed.get(1, DICTIONARY).unwrap().is_some());
        assert!(
            buffers
                .insert(limits::SHARED_BUFFERS_MAX as u8, DICTIONARY, values(4))
                .is_err()
        );
    }

    #[test]
    fn used_entries_are_noted() {
        let used = UsedEntries::none_of(70);
        for i in [0, 63, 64, 69, 200] {
            used.insert(i);
        }
        let found: Vec<usize> = (0..70).filter(|i| used.contains(*i)).collect();
        assert_eq!(found, [0, 63, 64, 69]);
        assert_eq!((used.len(), used.is_empty()), (70, false));
    }
}
