//! A table that numbers keys by first appearance: indexed by the key where keys are close together, else hashed.

use alloc::vec;
use alloc::vec::Vec;

use super::keys::Key;
use crate::Values;

/// Numbers with a span of at most this, and of at most the number of values, are looked up in a table with a slot per
/// number instead of a hash table.
const DIRECT_SLOTS_MAX: usize = 1 << 16;

const HASHED_SLOTS_MIN: usize = 64;

/// A table from keys to indices.
pub(super) struct Numbers<K> {
    /// The keys by index.
    keys: Vec<K>,
    /// Open addressing, at most half full; the number of slots is a power of two. A slot holds part of the hash in its
    /// high bits and the index + 1 in its low bits, or 0 if it is empty.
    hashed: Vec<u64>,
    /// For each integer from `base` on the index + 1 of its key, or 0.
    direct: Vec<u32>,
    /// `None` if keys are hashed.
    base: Option<K>,
    n: u32,
}

impl<'a, K: Key<'a>> Numbers<K> {
    pub(super) fn hashing() -> Self {
        Self {
            keys: Vec::new(),
            hashed: vec![0; HASHED_SLOTS_MIN],
            direct: Vec::new(),
            base: None,
            n: 0,
        }
    }

    /// An empty table for the keys of `values`.
    pub(super) fn new(values: Values<'a>) -> Self {
        let span_max = values.len().clamp(1 << 8, DIRECT_SLOTS_MAX);
        let direct = K::base_and_span(values).filter(|(_, span)| *span <= span_max);
        match direct {
            None => Self::hashing(),
            Some((base, span)) => Self {
                keys: Vec::new(),
                hashed: Vec::new(),
                direct: vec![0; span],
                base: Some(base),
                n: 0,
            },
        }
    }

    /// The index of `key`. That of a key which was added is the number of keys before.
    #[inline]
    pub(super) fn insert(&mut self, key: K) -> u32 {
        if let Some(base) = self.base
            && let Some(slot) = self.direct.get_mut(key.slot(base))
        {
            if *slot == 0 {
                self.n += 1;
                *slot = self.n;
            }
            return *slot - 1;
        }
        let hash = key.hash();
        match self.look_up(key, hash) {
            Ok(number) => number,
            Err(empty) => self.push(key, hash, empty),
        }
    }

    /// Whether keys are looked up without a hash.
    pub(super) fn are_direct(&self) -> bool {
        self.base.is_some()
    }

    /// Numbers all keys of `values`, whose table this is, without a hash. Returns where each is first; `None` if there
    /// are more than `cap`.
    pub(super) fn number_direct<C>(
        mut self,
        values: Values<'a>,
        cap: usize,
        codes: &mut [C],
        cut: impl Fn(u32) -> C,
    ) -> Option<Vec<u32>> {
        let base = self.base?;
        let mut first_rows: Vec<u32> = Vec::new();
        for ((row, key), to) in K::all(values).enumerate().zip(codes) {
            let slot = self.direct.get_mut(key.slot(base))?;
            if *slot == 0 {
                if first_rows.len() == cap {
                    return None;
                }
                first_rows.push(row as u32);
                *slot = first_rows.len() as u32;
            }
            *to = cut(*slot - 1);
        }
        Some(first_rows)
    }

    /// Number of keys.
    pub(super) fn len(&self) -> u32 {
        self.n
    }

    /// The index of `key`, or the slot where it belongs.
    #[inline]
    fn look_up(&self, key: K, hash: u32) -> Result<u32, usize> {
        let mask = self.hashed.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            // Terminates: half of the slots are empty.
            let slot = self.hashed.get(at).copied().unwrap_or_default();
            if slot == 0 {
                return Err(at);
            }
            let number = slot as u32 - 1;
            if (slot >> 32) as u32 == hash && self.keys.get(number as usize) == Some(&key) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn push(&mut self, key: K, hash: u32, empty: usize) -> u32 {
        let number = self.n;
        self.n += 1;
        self.keys.push(key);
        if let Some(slot) = self.hashed.get_mut(empty) {
            *slot = u64::from(hash) << 32 | u64::from(self.n);
        }
        if self.keys.len() * 2 > self.hashed.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.hashed.len() * 4 - 1;
        let mut grown = vec![0; mask + 1];
        for slot in self.hashed.iter().filter(|slot| **slot > 0) {
            let mut at = (slot >> 32) as usize & mask;
            while grown.get(at).is_some_and(|taken| *taken > 0) {
                at = (at + 1) & mask;
            }
            if let Some(to) = grown.get_mut(at) {
                *to = *slot;
            }
        }
        self.hashed = grown;
    }

    /// The index of `key`.
    #[inline]
    pub(super) fn find(&self, key: K) -> Option<u32> {
        if let Some(base) = self.base {
            return self.direct.get(key.slot(base))?.checked_sub(1);
        }
        self.look_up(key, key.hash()).ok()
    }
}
