//! The pages of a file whose rows are erased.

use std::sync::Arc;

use tarsia_codec::OwnedValues;
use tarsia_compliance::{RowSet, SHARED_PAGE_FIRST, Salts};
use tarsia_io::ReadBytes;
use tarsia_page_writer::BlockContext;
use tarsia_structure::Meta;

use crate::decode::Decoder;
use crate::error::Result;
use crate::exec::{OpenFile, blocks_of, foreign_decoder, prepare_shared};
use crate::plan::PageNumber;
use crate::table::{Blocks, Column, Page};

/// A page's number as digests have it.
pub(super) fn bound(page: PageNumber) -> u32 {
    // A column has fewer than 2^31 pages, and fewer than 2^31 shared ones.
    match page {
        PageNumber::Data(number) => number as u32,
        PageNumber::Shared(number) => SHARED_PAGE_FIRST + number as u32,
    }
}

/// The rows that are erased, and the tools for it.
pub(super) struct Erasing<'a> {
    pub(super) file: &'a OpenFile,
    /// Rows that the columns do not hold any more.
    pub(super) absent: &'a RowSet,
    /// Rows that they are to lose; none of those that are absent.
    pub(super) erase: &'a RowSet,
    pub(super) salts: &'a Salts,
}

/// A page as it is read and written for an erasure.
pub(super) struct OpenPage<'a> {
    pub(super) column: &'a Column,
    pub(super) number: PageNumber,
    pub(super) page: &'a Page,
    pub(super) blocks: &'a Blocks,
    pub(super) meta: &'a Meta,
    pub(super) shared: Vec<Arc<OwnedValues>>,
    /// Decoder of a data page that this build does not decode by itself.
    pub(super) foreign: Option<&'a Arc<Decoder>>,
    /// Whether this build decodes all trees of the page.
    pub(super) reads_all_trees: bool,
}

impl Erasing<'_> {
    pub(super) fn open<'a>(
        &'a self,
        column: &'a Column,
        number: PageNumber,
    ) -> Result<OpenPage<'a>> {
        let page = number.of(column)?;
        let shared = page.shared().iter();
        let shared = shared.map(|shared| prepare_shared(self.file, column, *shared as usize));
        let shared = shared.collect::<Result<_>>()?;
        let foreign = match number {
            PageNumber::Data(_) => foreign_decoder(self.file, column, page)?,
            PageNumber::Shared(_) => None,
        };
        Ok(OpenPage {
            column,
            number,
            page,
            blocks: blocks_of(self.file, column, number)?,
            meta: page.description.meta()?,
            shared,
            foreign,
            reads_all_trees: self.reads_all_trees(page)?,
        })
    }

    /// Whether this build decodes all trees of a page.
    pub(super) fn reads_all_trees(&self, page: &Page) -> Result<bool> {
        let registry = &self.file.session.registry;
        let mut trees = page.description.meta()?.all_trees();
        Ok(trees.all(|tree| registry.reads(tree)))
    }

    /// The bytes of a block's place, and its rows.
    pub(super) fn block(&self, open: &OpenPage<'_>, block: u32) -> Result<(ReadBytes<'_>, u32)> {
        let held = open.blocks.rows_of(block)?;
        let place = open.page.place_of(open.blocks, block)?;
        Ok((self.file.source.read(place)?, held.end - held.start))
    }

    pub(super) fn context<'a>(&'a self, open: &'a OpenPage<'_>) -> BlockContext<'a> {
        BlockContext {
            registry: &self.file.session.registry,
            meta: open.meta,
            shared: &open.shared,
            checksum: tarsia_metadata::crc32c_of,
        }
    }
}
