//! Bytes that nested rows may take.

use core::sync::atomic::{AtomicU64, Ordering};

use tarsia_codec::{Error, Result};

/// How many bytes nested rows may still take when they are decoded together: levels, items, and the slots that Arrow
/// wants below nulls. A few stored bytes can stand for many slots, so slots are counted before memory is allocated.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
}

impl Budget {
    /// A budget of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self {
            left: AtomicU64::new(bytes),
        }
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes `bytes` off what is left.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::LimitExceeded`] for more than that.
    pub fn spend(&self, bytes: u64) -> Result<()> {
        let spend = |left: u64| left.checked_sub(bytes);
        let spent = (self.left).fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        match spent {
            Ok(_) => Ok(()),
            Err(left) => Err(Error::limit("bytes of nested rows", bytes, left)),
        }
    }
}
