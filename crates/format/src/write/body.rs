//! The body of a file: pages of all columns, in the order in which they come.

use tarsia_io::Sink;
use tarsia_metadata::{PageDescriptor, page_align};

use crate::error::{Error, ErrorKind, Result};
use crate::write::metas::Metas;
use crate::write::output::Output;
use crate::write::page::SealedPage;

/// The file up to where its pages end so far.
pub(super) struct Body<S: ?Sized> {
    pub(super) metas: Metas,
    pub(super) output: Output<S>,
}

/// A page that is in the sink already; its side data waits for the metadata region.
pub(super) struct WrittenPage {
    /// Its description is the index among all of the file; it becomes that among the column's.
    pub(super) descriptor: PageDescriptor,
    /// Numbers of its shared pages.
    pub(super) shared: Vec<u32>,
    /// Block table and block digests; empty for one block.
    pub(super) side: Vec<u8>,
    /// Its part of the column's zone map; empty if the column has none.
    pub(super) zones: Vec<u8>,
    /// Its bloom filters; empty if the column has none.
    pub(super) blooms: Vec<u8>,
}

impl<S: Sink + ?Sized> Body<S> {
    /// Appends a page of the rows from `first_row` on. `shared` are the numbers of its shared pages.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::LimitExceeded`] for a page of 4 GiB or more.
    pub(super) fn append_page(
        &mut self,
        sealed: SealedPage,
        first_row: u64,
        shared: Vec<u32>,
    ) -> Result<WrittenPage> {
        let page = sealed.page;
        self.output.pad_to(page_align(page.bytes.len() as u64))?;
        let too_large = || Error::new(ErrorKind::LimitExceeded, "a page is larger than 4 GiB");
        let length = |len: usize| u32::try_from(len).map_err(|_| too_large());
        let descriptor = PageDescriptor {
            first_row,
            place: self.output.position(),
            // Known when the metadata region is written.
            side_place: 0,
            epoch: 1,
            length: length(page.bytes.len())?,
            rows: length(page.rows as usize)?,
            n_blocks: length(page.starts.len())?,
            side_length: length(sealed.side.len())?,
            null_count: length(page.null_count as usize)?,
            description: self.metas.index_of(&page.meta)?,
            digest: sealed.digest,
        };
        self.output.append(&page.bytes)?;
        Ok(WrittenPage {
            descriptor,
            shared,
            side: sealed.side,
            zones: Vec::new(),
            blooms: Vec::new(),
        })
    }
}
