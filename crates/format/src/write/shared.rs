//! The pages of a column's shared buffers (dictionaries and the like). Equal ones are stored once per column.

use std::collections::HashMap;

use tarsia_compliance as compliance;
use tarsia_io::Sink;
use tarsia_metadata::ColumnMeta;
use tarsia_metadata::limits::SHARED_PAGES_MAX;

use crate::error::{Error, ErrorKind, Result};
use crate::write::body::{Body, WrittenPage};
use crate::write::page::{PageId, SharedPage, seal};

/// The shared pages of a column that are in the file.
#[derive(Default)]
pub(super) struct SharedPages {
    pub(super) pages: Vec<WrittenPage>,
    /// See [`ColumnMeta::shared_lists`].
    pub(super) lists: Vec<u16>,
    /// Numbers of pages by what they hold.
    numbers: HashMap<Content, u16>,
}

/// What a shared page holds.
#[derive(PartialEq, Eq, Hash)]
struct Content {
    /// Of its blocks alone; the page's own digest depends on its number.
    blocks_digest: [u8; 32],
    meta: u16,
    rows: u64,
    /// Its own shared pages.
    list: Option<u16>,
}

impl SharedPages {
    /// Appends pages of the leaf column `leaf`, each unless the column has one like it. Returns where their list
    /// starts, `None` if there are none.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::LimitExceeded`] for more than a column may have.
    pub(super) fn append(
        &mut self,
        leaf: u32,
        pages: Vec<SharedPage>,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<Option<u16>> {
        let mut numbers = Vec::with_capacity(pages.len());
        for SharedPage { page, shared } in pages {
            let list = self.append(leaf, shared, body)?;
            let content = Content {
                blocks_digest: compliance::section_digest(0, &page.bytes),
                meta: body.metas.index_of(&page.meta)?,
                rows: page.rows,
                list,
            };
            if let Some(known) = self.numbers.get(&content) {
                numbers.push(*known);
                continue;
            }
            let number = self.next_number()?;
            let id = PageId {
                leaf,
                number: compliance::SHARED_PAGE_FIRST + u32::from(number),
            };
            let written = body.append_page(seal(page, id)?, 0, list)?;
            self.pages.push(written);
            self.numbers.insert(content, number);
            numbers.push(number);
        }
        Ok(ColumnMeta::push_list(&mut self.lists, &numbers)?)
    }

    fn next_number(&self) -> Result<u16> {
        let n = self.pages.len();
        let number = u16::try_from(n).ok().filter(|_| n < SHARED_PAGES_MAX);
        number.ok_or_else(|| {
            let what = format!("more than {SHARED_PAGES_MAX} shared pages in a column");
            Error::new(ErrorKind::LimitExceeded, what)
        })
    }
}
