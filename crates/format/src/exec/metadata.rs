//! Checks the metadata of a file as a whole.

use tarsia_compliance as compliance;

use super::open_file::OpenFile;
use crate::error::{Error, ErrorKind, Result};

impl OpenFile {
    /// Compares footer, postscript, header, sections and metadata region with the root digest. Returns the bytes of the
    /// region and its digest tree.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] that says where they were changed.
    pub(crate) fn check_metadata(&self) -> Result<u64> {
        let corrupt = |what: String| Error::new(ErrorKind::Corrupt, what);
        let region = self.catalog.meta_range();
        let region_bytes = self.source.read(region.clone())?;
        let tree = compliance::DigestTree::build(&region_bytes);
        let stored = self.source.read(self.catalog.tree_range())?;
        compliance::verify_region(&region_bytes, &stored)
            .map_err(|error| corrupt(format!("metadata at byte {}: {error}", region.start)))?;
        let root = self.catalog.root_digest_under(self.head()?, &tree.top)?;
        if root != self.catalog.root_digest() {
            let what = "root digest: header, metadata, footer or postscript were changed";
            return Err(corrupt(what.to_owned()));
        }
        for section in self.catalog.sections() {
            let bytes = self.source.read(section.range.clone())?;
            if compliance::section_digest(section.id, &bytes) != section.digest {
                return Err(corrupt(format!(
                    "section at byte {}: digest",
                    section.range.start
                )));
            }
        }
        Ok(region_bytes.len() as u64 + stored.len() as u64)
    }
}
