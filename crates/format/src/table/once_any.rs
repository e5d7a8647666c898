//! Values that a layer above keeps with what is parsed here.

use std::any::Any;
use std::sync::OnceLock;

/// A value of any type that a layer above keeps here. It is set once and never changed.
#[derive(Default)]
pub(crate) struct OnceAny(OnceLock<Box<dyn Any + Send + Sync>>);

impl OnceAny {
    /// The value, if it is a `T`.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get()?.downcast_ref()
    }

    /// Sets the value, unless another thread did so before.
    pub(crate) fn set<T: Any + Send + Sync>(&self, value: T) {
        let _ = self.0.set(Box::new(value));
    }

    /// Whether the value is set.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }
}
