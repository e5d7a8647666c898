//! Parts of plans with their bytes, one by one or a page at a time.

use tarsia_structure::{Block, PageDecoder};

use super::checks::Checks;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::{BlockPart, Plan};
use crate::table::Page;

/// Fetched blocks of one page.
pub(crate) struct PageRun<'a, B> {
    pub(crate) page: &'a Page,
    pub(crate) plan: &'a Plan,
    pub(crate) parts: &'a [BlockPart],
    /// The bytes of each part.
    pub(crate) blocks: &'a [B],
    pub(crate) checks: Checks,
}

/// One part with its bytes.
pub(crate) struct FetchedPart<'a> {
    pub(crate) page: &'a Page,
    pub(crate) plan: &'a Plan,
    pub(crate) part: &'a BlockPart,
    pub(crate) bytes: &'a [u8],
}

impl<B: AsRef<[u8]>> PageRun<'_, B> {
    /// Its parts in order.
    pub(crate) fn each(&self) -> impl Iterator<Item = FetchedPart<'_>> {
        let parts = self.parts.iter().zip(self.blocks);
        parts.map(|(part, bytes)| FetchedPart {
            page: self.page,
            plan: self.plan,
            part,
            bytes: bytes.as_ref(),
        })
    }
}

impl FetchedPart<'_> {
    /// Calls `use_block` with the parsed block, which is checked first where `checks` are given.
    pub(crate) fn with_block(
        &self,
        decoder: Option<&PageDecoder>,
        checks: Option<Checks>,
        use_block: impl FnOnce(&PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        let with_block = || {
            let Some(decoder) = decoder else {
                let what = "a block that a kernel decodes";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            };
            let part = self.part;
            let block = match (&part.lone_rows, decoder.full_zip()) {
                (Some(rows), Some(form)) => {
                    if let Some(checks) = checks {
                        checks.lone_rows(self.page, self.plan, rows, self.bytes, form)?;
                    }
                    Block::of_rows(self.bytes, form, self.plan.entries(rows), part.rows)
                }
                _ => {
                    if let Some(checks) = checks {
                        checks.block(self.page, part.block, self.bytes)?;
                    }
                    Block::parse_present(self.bytes, &decoder.expect(part.logical_rows), part.rows)
                }
            };
            use_block(decoder, &block.map_err(while_reading)?).map_err(while_reading)
        };
        with_block().map_err(|error| error.in_block(self.part.block.into()))
    }
}
