//! Reads that somebody does not want any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// Whether a read was cancelled. Clones are of the same read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels the read.
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`].
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "the scan was cancelled")),
            false => Ok(()),
        }
    }
}
