//! Pages that this build does not decode by itself, but a kernel of the file does.

use std::collections::{BTreeMap, BTreeSet};

use tarsia_codec::SharedKind;
use tarsia_page_writer::{Survivors, is_readable};
use tarsia_structure::Layout;

use super::pages::{Erasing, OpenPage};
use crate::decode::Decoder;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::table::{Column, Page};

/// A data page of which blocks are written anew.
pub(super) struct TouchedPage {
    /// Its number.
    pub(super) page: usize,
    /// Whether these are, besides the blocks that hold some of the rows, all blocks that this build cannot read. It
    /// cannot say which entries of dictionaries such a block refers to; a block written anew refers to none.
    pub(super) with_unreadable: bool,
}

/// An error of reading: where something does not fit, the file's bytes are to blame.
pub(super) struct WhileReading(pub(super) Error);

impl From<tarsia_codec::Error> for WhileReading {
    fn from(error: tarsia_codec::Error) -> Self {
        Self(while_reading(error))
    }
}

impl Erasing<'_> {
    /// The data pages of a column of which blocks are written anew: those that hold some of the rows, and those that
    /// share a dictionary with them and may have blocks whose references this build cannot read.
    pub(super) fn touched_pages(&self, column: &Column) -> Result<Vec<TouchedPage>> {
        let mut touched = BTreeMap::new();
        let mut unclear = Vec::new();
        for number in 0..column.pages.len() {
            let page = column.page(number)?;
            if self.erase.count(page.rows()) > 0 {
                touched.insert(number, false);
            }
            if !page.shared().is_empty() && !self.reads_all_trees(page)? {
                unclear.push(number);
            }
        }
        // Each round adds a page, or is the last.
        let mut before = usize::MAX;
        while !unclear.is_empty() && unclear.len() != before {
            before = unclear.len();
            let mut referred = BTreeSet::new();
            for number in touched.keys() {
                referred.extend(dictionaries_of(column.page(*number)?)?);
            }
            let mut left = Vec::new();
            for number in unclear {
                let dictionaries = dictionaries_of(column.page(number)?)?;
                if dictionaries.iter().any(|it| referred.contains(it)) {
                    touched.insert(number, true);
                } else {
                    left.push(number);
                }
            }
            unclear = left;
        }
        let touched = touched.into_iter();
        let touched = touched.map(|(page, with_unreadable)| TouchedPage {
            page,
            with_unreadable,
        });
        Ok(touched.collect())
    }

    /// Whether this build decodes all that a block is encoded with.
    pub(super) fn is_readable(&self, open: &OpenPage<'_>, block: &[u8], rows: u32) -> Result<bool> {
        if open.reads_all_trees {
            return Ok(true);
        }
        is_readable(&self.context(open), block, rows).map_err(while_reading)
    }
}

/// The shared pages of a page that are wiped entry by entry.
fn dictionaries_of(page: &Page) -> Result<Vec<u32>> {
    let shared = page.shared().iter().zip(&page.description.meta()?.shared);
    let dictionaries = shared.filter(|(_, spec)| spec.kind.has_entries());
    Ok(dictionaries.map(|(number, _)| *number).collect())
}

impl OpenPage<'_> {
    /// Returns the kernel that decodes its blocks, if this build does not. The rows of full-zip pages are stored as
    /// they are.
    pub(super) fn kernel(&self) -> Option<&Decoder> {
        let decoder = self.foreign?;
        (self.meta.layout != Layout::FullZip).then_some(decoder)
    }

    /// Whether it has a shared buffer that is wiped entry by entry.
    pub(super) fn has_dictionaries(&self) -> bool {
        let mut kinds = self.meta.shared.iter().map(|spec| spec.kind);
        kinds.any(SharedKind::has_entries)
    }
}

/// The present rows of a block, which is right, as a kernel decodes them.
#[cfg(feature = "kernels")]
pub(super) fn survivors_by_kernel(
    decoder: &Decoder,
    open: &OpenPage<'_>,
    block: &[u8],
) -> Result<Survivors, WhileReading> {
    let kernel = decoder.kernel().ok_or_else(|| WhileReading(no_kernel()))?;
    let decoded = kernel.decode_block(block, open.column.path.forms());
    let decoded = decoded.map_err(WhileReading)?;
    let survivors = Survivors::of_decoded(open.meta, decoded.rows, &decoded.levels, decoded.items);
    Ok(survivors?)
}

/// Never called: without kernels this build decodes all pages by itself, or none.
#[cfg(not(feature = "kernels"))]
pub(super) fn survivors_by_kernel(
    _: &Decoder,
    _: &OpenPage<'_>,
    _: &[u8],
) -> Result<Survivors, WhileReading> {
    Err(WhileReading(no_kernel()))
}

fn no_kernel() -> Error {
    Error::new(ErrorKind::Unsupported, "no kernel for these pages")
}

/// The error for a block of which this build cannot say which entries of a dictionary it refers to.
pub(super) fn unclear_references() -> Error {
    let what = "a block that may refer to erased dictionary entries has encodings that this build does not read; \
                delete the rows at level 1 and compact the file instead";
    Error::new(ErrorKind::Unsupported, what)
}
