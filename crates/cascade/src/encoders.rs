//! The encoders that searches ask, and what they weigh proposals by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

use tarsia_codec::{
    Error, Node, Proposals, RegisteredWriter, Registry, Result, Tree, TreeWriter, Tried, ValueType,
};

use crate::Weights;

/// Values of the unit by which fallbacks are compared.
const FALLBACK_VALUES: u64 = 1024;

/// The parts that all searches of a policy share.
#[derive(Debug, Clone)]
pub(crate) struct Encoders {
    pub(crate) registry: Arc<Registry>,
    pub(crate) weights: Weights,
    fallbacks: Fallbacks,
}

/// Fallbacks that were found, by the values' type and the depth that is left.
type Fallbacks = Arc<Mutex<HashMap<(ValueType, u32), Tree>>>;

/// The fallbacks of a registry, which are the same for all writers: to find them takes longer than to write a column of
/// few values.
fn fallbacks_of(registry: &Arc<Registry>) -> Fallbacks {
    static KNOWN: Mutex<Vec<(Weak<Registry>, Fallbacks)>> = Mutex::new(Vec::new());
    let Some(mut known) = free(&KNOWN) else {
        return Fallbacks::default();
    };
    known.retain(|(registry, _)| registry.strong_count() > 0);
    let same =
        |(known, _): &&(Weak<Registry>, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(registry));
    if let Some((_, fallbacks)) = known.iter().find(same) {
        return fallbacks.clone();
    }
    let fallbacks = Fallbacks::default();
    known.push((Arc::downgrade(registry), fallbacks.clone()));
    fallbacks
}

/// The value that a lock guards; `None` if another thread has it. Nobody waits for it: in a forked process that thread
/// may not exist, and fallbacks are found again. Whoever had it may have panicked: its value is right at any time.
fn free<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(left)) => Some(left.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Encoders {
    pub(crate) fn new(registry: Arc<Registry>, weights: Weights) -> Self {
        Self {
            fallbacks: fallbacks_of(&registry),
            registry,
            weights,
        }
    }

    /// Returns the encoders under other weights.
    pub(crate) fn under(&self, weights: Weights) -> Self {
        Self {
            weights,
            ..self.clone()
        }
    }

    /// The encoders that a search tries by itself.
    pub(crate) fn searched(&self) -> impl Iterator<Item = &RegisteredWriter> {
        let all = self.registry.writers().iter();
        all.filter(|known| self.is_searched(known))
    }

    /// Whether a search tries an encoder by itself.
    pub(crate) fn is_searched(&self, known: &RegisteredWriter) -> bool {
        self.is_allowed(known) && known.tried.by_search(self.weights.for_size)
    }

    /// Whether the weights allow an encoder that nobody names.
    pub(crate) fn is_allowed(&self, known: &RegisteredWriter) -> bool {
        !(self.weights.erasable && known.writer.keeps_values())
            && (!self.weights.any_values || known.holds_any)
    }

    /// An empty list for the proposals of an encoding.
    pub(crate) fn proposals<'v>(
        &self,
        known: &RegisteredWriter,
        bytes_to_beat: u64,
    ) -> Proposals<'v> {
        Proposals::new(bytes_to_beat, known.version_max)
            .that_fit(self.weights.must_fit)
            .for_size(self.weights.for_size)
            .for_speed(self.weights.for_speed)
            .with_shared_bytes_max(self.weights.shared_bytes_max)
    }

    /// The smallest tree that holds any values of a type, of those without a search: what blocks fall back on.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) where no encoding of the registry holds all
    /// values of the type.
    pub(crate) fn fallback(&self, value_type: ValueType) -> Result<Tree> {
        self.fallback_of_depth(value_type, self.weights.depth_max)
    }

    fn fallback_of_depth(&self, value_type: ValueType, depth_left: u32) -> Result<Tree> {
        let key = (value_type, depth_left);
        let known = free(&self.fallbacks).and_then(|known| known.get(&key).cloned());
        if let Some(tree) = known {
            return Ok(tree);
        }
        let tree = self.find_fallback(value_type, depth_left)?;
        if let Some(mut known) = free(&self.fallbacks) {
            known.insert(key, tree.clone());
        }
        Ok(tree)
    }

    fn find_fallback(&self, value_type: ValueType, depth_left: u32) -> Result<Tree> {
        let decoded_bytes = match value_type {
            ValueType::Bits => FALLBACK_VALUES.div_ceil(8),
            ValueType::Fixed(width) => FALLBACK_VALUES * u64::from(width),
            ValueType::Bytes => FALLBACK_VALUES * 16,
        };
        let mut best: Option<(u64, Tree)> = None;
        // Of encodings that decode fast, whatever the weights.
        let all = self.registry.writers().iter();
        let fast = all.filter(|known| known.tried == Tried::Always);
        for known in fast.filter(|_| depth_left > 0) {
            for sample in known.writer.samples() {
                let node = Node {
                    value_type,
                    version: known.version_max,
                    params: &sample.params,
                };
                // Samples are of some widths; what the node says of others counts.
                let (true, Ok(spec)) = (sample.holds_any, known.writer.check(&node)) else {
                    continue;
                };
                if !spec.shared.is_empty() || spec.children.contains(&value_type) {
                    continue;
                }
                let children = spec.children.iter();
                let children = children
                    .map(|child| self.fallback_of_depth(*child, depth_left - 1))
                    .collect::<Result<Vec<_>>>();
                let Ok(children) = children else {
                    continue;
                };
                let tree = Tree::node(
                    known.writer.id(),
                    known.version_max,
                    &sample.params,
                    children,
                );
                let writer = TreeWriter::new(&self.registry, &tree, value_type)?;
                let bytes = writer.encoded_bytes_max(FALLBACK_VALUES, decoded_bytes);
                if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
                    best = Some((bytes, tree));
                }
            }
        }
        let none = || {
            let what = "a registry without an encoding that holds any values of a column's type";
            Error::unsupported(what)
        };
        best.map(|(_, tree)| tree).ok_or_else(none)
    }
}
