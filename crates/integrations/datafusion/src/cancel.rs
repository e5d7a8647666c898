//! Cancelling a task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tarsia::ScanCancel;

/// Cancels what a task reads, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    is_dropped: AtomicBool,
    scan: Mutex<Option<ScanCancel>>,
}

impl Cancel {
    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::SeqCst)
    }

    /// This scan is the one to cancel from now on. Whoever of the two comes second, this or [`Cancel::cancel`], sees
    /// what the first has set.
    pub(crate) fn begins(&self, scan: ScanCancel) {
        let mut known = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_dropped() {
            scan.cancel();
        }
        *known = Some(scan);
    }

    pub(crate) fn cancel(&self) {
        self.is_dropped.store(true, Ordering::SeqCst);
        let known = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scan) = &*known {
            scan.cancel();
        }
    }
}
