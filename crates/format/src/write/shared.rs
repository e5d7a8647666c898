//! The pages of a column's shared buffers (dictionaries and the like). Equal ones are stored once per column.

use std::collections::HashMap;
use std::sync::Arc;

use tarsia_codec::UsedEntries;
use tarsia_compliance as compliance;
use tarsia_io::Sink;
use tarsia_metadata::limits::PAGES_MAX;

use crate::error::{Error, ErrorKind, Result};
use crate::write::body::{Body, WrittenPage};
use crate::write::page::{PageContext, PageId, SharedPage, UsedOf, seal};

/// The shared pages of a column that are in the file.
#[derive(Default)]
pub(super) struct SharedPages {
    pub(super) pages: Vec<WrittenPage>,
    /// Numbers of pages by what they hold.
    numbers: HashMap<Content, Vec<Known>>,
}

/// A page that is in the file.
struct Known {
    number: u32,
    /// The entries that it still has, where others are wiped.
    used: Option<Arc<UsedEntries>>,
}

impl Known {
    /// Whether it has all entries that a page needs.
    fn has(&self, needed: Option<&UsedEntries>) -> bool {
        match (&self.used, needed) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(used), Some(needed)) => {
                (0..needed.len()).all(|i| used.contains(i) || !needed.contains(i))
            }
        }
    }
}

/// Content of a shared page.
#[derive(PartialEq, Eq, Hash)]
struct Content {
    /// Digest of its blocks alone, since the page's own digest depends on its number; of all entries, where some are
    /// wiped.
    blocks_digest: [u8; 32],
    description: u32,
    rows: u64,
    /// Its own shared pages.
    list: Vec<u32>,
}

impl SharedPages {
    /// Appends pages, each unless the column has one like it. Returns their numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::LimitExceeded`] for more than a column may have.
    pub(super) fn append(
        &mut self,
        context: &PageContext<'_>,
        pages: Vec<SharedPage>,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<Vec<u32>> {
        let mut numbers = Vec::with_capacity(pages.len());
        for SharedPage {
            page,
            entries,
            shared,
        } in pages
        {
            let (all, used) = match entries {
                Some(UsedOf { all, used }) => (Some(all), Some(used)),
                None => (None, None),
            };
            let find = |pages: &Self, content: &Content| {
                let mut known = pages.numbers.get(content)?.iter();
                let found = known.find(|known| known.has(used.as_deref()));
                found.map(|known| known.number)
            };
            // Pages that differ in what is wiped have other blocks, and other shared pages.
            let wiped = all.map(|all| Content {
                blocks_digest: all,
                description: 0,
                rows: page.rows,
                list: Vec::new(),
            });
            if let Some(known) = wiped.as_ref().and_then(|content| find(self, content)) {
                numbers.push(known);
                continue;
            }
            let list = self.append(context, shared, body)?;
            let content = match wiped {
                Some(content) => content,
                None => Content {
                    blocks_digest: compliance::section_digest(0, &page.bytes),
                    description: body.metas.index_of(&page.meta)?,
                    rows: page.rows,
                    list: list.clone(),
                },
            };
            if let Some(known) = find(self, &content) {
                numbers.push(known);
                continue;
            }
            let number = self.next_number()?;
            let context = PageContext {
                id: PageId {
                    leaf: context.id.leaf,
                    number: compliance::SHARED_PAGE_FIRST + number,
                },
                ..*context
            };
            let written = body.append_page(seal(page, &context)?, 0, list)?;
            self.pages.push(written);
            let known = self.numbers.entry(content).or_default();
            known.push(Known { number, used });
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn next_number(&self) -> Result<u32> {
        let n = self.pages.len();
        let number = u32::try_from(n).ok().filter(|_| n < PAGES_MAX);
        number.ok_or_else(|| {
            let what = format!("more than {PAGES_MAX} shared pages in a column");
            Error::new(ErrorKind::LimitExceeded, what)
        })
    }
}
