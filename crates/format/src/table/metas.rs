//! The page descriptions of a file, each parsed when it is first needed.

use std::sync::{Arc, OnceLock};

use tarsia_metadata::MetaBlob;
use tarsia_structure::Meta;

use crate::error::{Error, ErrorKind, Result, while_reading};

/// Page descriptions by their index.
pub(crate) struct Metas {
    blobs: Vec<MetaBlob>,
    parsed: Vec<OnceLock<Arc<Meta>>>,
}

impl Metas {
    pub(crate) fn new(blobs: Vec<MetaBlob>) -> Self {
        let parsed = blobs.iter().map(|_| OnceLock::new()).collect();
        Self { blobs, parsed }
    }

    pub(crate) fn len(&self) -> usize {
        self.blobs.len()
    }

    /// The parsed description of an index.
    pub(crate) fn get(&self, index: u16) -> Result<&Arc<Meta>> {
        let at = usize::from(index);
        let (Some(cell), Some(blob)) = (self.parsed.get(at), self.blobs.get(at)) else {
            return Err(self.none(index));
        };
        if let Some(meta) = cell.get() {
            return Ok(meta);
        }
        let meta = Arc::new(Meta::parse(&blob.bytes).map_err(while_reading)?);
        Ok(cell.get_or_init(|| meta))
    }

    /// Its bytes, which a kernel parses by itself.
    #[cfg(feature = "kernels")]
    pub(crate) fn bytes(&self, index: u16) -> Result<&[u8]> {
        match self.blobs.get(usize::from(index)) {
            Some(blob) => Ok(&blob.bytes),
            None => Err(self.none(index)),
        }
    }

    /// The kernel for a page description, by its number among the file's kernels.
    pub(crate) fn kernel(&self, index: u16) -> Option<u16> {
        self.blobs.get(usize::from(index))?.kernel
    }

    /// How many page descriptions name a kernel.
    pub(crate) fn naming(&self, kernel: usize) -> usize {
        let kernels = self.blobs.iter().map(|blob| blob.kernel.map(usize::from));
        kernels.filter(|named| *named == Some(kernel)).count()
    }

    #[cold]
    fn none(&self, index: u16) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("page description {index} of {}", self.blobs.len()),
        )
    }
}
