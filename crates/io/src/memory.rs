//! Files in memory.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::ReadAt;
use crate::read::inside;

/// A file whose bytes are in memory. Clones share the bytes.
#[derive(Clone)]
pub struct MemoryFile {
    bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
}

impl MemoryFile {
    /// A file of these bytes, without a copy: a `Vec<u8>`, an `Arc<[u8]>`, a `&'static [u8]`, …
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self {
            bytes: Arc::new(bytes),
        }
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }
}

impl ReadAt for MemoryFile {
    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        buf.copy_from_slice(inside(self.bytes(), place, buf.len() as u64)?);
        Ok(())
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryFile({} bytes)", self.bytes().len())
    }
}
