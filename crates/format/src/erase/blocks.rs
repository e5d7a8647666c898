//! The blocks of a column without the rows that are erased, and its dictionaries without the entries that only they
//! had.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tarsia_codec::{OwnedValues, SharedBuffer, UsedEntries, ValueType, Values};
use tarsia_compliance::{RowSet, block_digest};
use tarsia_page_writer::{
    BlockErasure, Filler, Outcome, are_equal, decode_survivors, encode_block, erase_block,
    erase_block_with, filler_of, mark_used, wipe_unused,
};
use tarsia_structure::{BlockHeader, Layout};

use super::foreign::{TouchedPage, survivors_by_kernel, unclear_references};
use super::pages::{Erasing, OpenPage, bound};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::exec::prepare_shared;
use crate::plan::PageNumber;
use crate::table::Column;
use crate::threads::in_order;

/// A block that is written anew.
pub(super) struct NewBlock {
    /// Its number in its page.
    pub(super) block: u32,
    /// Where it lies now.
    pub(super) old_place: Range<u64>,
    pub(super) outcome: Outcome,
    /// Digests of the block as it is and as it will be.
    pub(super) before: [u8; 32],
    pub(super) after: [u8; 32],
    /// Null items that it loses.
    pub(super) nulls_gone: u32,
}

/// The new blocks of a page.
pub(super) struct NewBlocks {
    pub(super) page: PageNumber,
    /// In order.
    pub(super) blocks: Vec<NewBlock>,
}

impl NewBlocks {
    /// Its number as digests have it.
    pub(super) fn bound(&self) -> u32 {
        bound(self.page)
    }
}

/// Entries of a shared buffer that may have lost the last value that refers to them.
type Candidates = BTreeMap<usize, Vec<usize>>;

/// The entries of a shared page before and after all of them are wiped to which nothing refers.
struct Wiped {
    before: Arc<OwnedValues>,
    used: Arc<UsedEntries>,
    after: OwnedValues,
}

impl Wiped {
    fn values(&self) -> Result<(Values<'_>, Values<'_>)> {
        let before = self.before.as_values().map_err(while_reading)?;
        Ok((before, self.after.as_values().map_err(while_reading)?))
    }
}

impl OpenPage<'_> {
    /// Whether null items of its blocks hold something.
    pub(super) fn has_filler(&self) -> bool {
        let meta = self.meta;
        !meta.compact && !meta.layers.is_empty() && meta.layout == Layout::MiniBlock
    }

    /// Whether that may be a value of another block. Filler of bits and byte strings was always `false` and empty.
    fn may_have_foreign_filler(&self) -> bool {
        self.has_filler() && matches!(self.meta.value_type, Some(ValueType::Fixed(_)))
    }

    /// Sets of entries without any, one for each of its shared buffers.
    fn none_used(&self) -> Vec<Arc<UsedEntries>> {
        let none_of = |values: &Arc<OwnedValues>| Arc::new(UsedEntries::none_of(values.len()));
        self.shared.iter().map(none_of).collect()
    }

    /// Notes the entries of each of its shared buffers that a block refers to no more.
    fn add_candidates(&self, unreferred: Vec<Vec<usize>>, candidates: &mut Candidates) {
        let shared = self.page.shared().iter();
        for (shared, entries) in shared.zip(unreferred) {
            if !entries.is_empty() {
                let known = candidates.entry(*shared as usize).or_default();
                known.extend(entries);
            }
        }
    }
}

impl Erasing<'_> {
    /// All blocks of a column that are written anew.
    pub(super) fn column(&self, column: &Column) -> Result<Vec<NewBlocks>> {
        let mut changed = Vec::new();
        let mut candidates = Candidates::new();
        for touched in self.touched_pages(column)? {
            let number = touched.page;
            let new = self.data_page(column, &touched, &mut candidates);
            changed.push(new.map_err(|error| column.at(error, number))?);
        }
        // A shared page is decoded with those of lower numbers, so that these come later.
        while let Some((number, entries)) = candidates.pop_last() {
            let wiped = self.shared_page(column, number, entries, &changed, &mut candidates);
            let named = |error: Error| {
                let error = error.prefixed(&format!("shared page {number}"));
                error.in_column(column.name())
            };
            changed.extend(wiped.map_err(named)?);
        }
        changed.retain(|page| !page.blocks.is_empty());
        Ok(changed)
    }

    /// The blocks of a data page that are written anew.
    fn data_page(
        &self,
        column: &Column,
        touched_page: &TouchedPage,
        candidates: &mut Candidates,
    ) -> Result<NewBlocks> {
        let number = PageNumber::Data(touched_page.page);
        let open = self.open(column, number)?;
        let rows = open.page.rows();
        let mut touched = Vec::new();
        for run in self.erase.ranges(rows.clone()) {
            // Inside a page, whose rows are counted in 32 bits.
            let first = open.blocks.block_of_row((run.start - rows.start) as u32)?;
            let last = open
                .blocks
                .block_of_row((run.end - 1 - rows.start) as u32)?;
            let next = touched.last().map_or(0, |last: &u32| last + 1);
            touched.extend(first.max(next)..=last);
        }
        if touched_page.with_unreadable {
            for block in 0..open.page.descriptor.n_blocks {
                let (bytes, rows) = self.block(&open, block)?;
                if !self.is_readable(&open, &bytes, rows)? {
                    touched.push(block);
                }
            }
            touched.sort_unstable();
            touched.dedup();
        }
        let touched = self.with_foreign_filler(&open, touched)?;
        let make = |&block: &u32| {
            let made = self.data_block(&open, block);
            made.map_err(|error| error.in_block(block.into()))
        };
        let made: Vec<(NewBlock, Vec<Vec<usize>>)> =
            in_order(&self.file.session.threads, &touched, make)?;
        let mut blocks = Vec::with_capacity(made.len());
        for (block, unreferred) in made {
            open.add_candidates(unreferred, candidates);
            blocks.push(block);
        }
        Ok(NewBlocks {
            page: number,
            blocks,
        })
    }

    /// The touched blocks, and those around them whose null items may hold a value of a touched one. Blocks that this
    /// version writes have filler of their own; earlier ones took it from the same 1,024 items, across blocks.
    fn with_foreign_filler(&self, open: &OpenPage<'_>, touched: Vec<u32>) -> Result<Vec<u32>> {
        if !open.may_have_foreign_filler() {
            return Ok(touched);
        }
        let mut all: BTreeSet<u32> = touched.iter().copied().collect();
        // Filler passes through blocks without a valid item, and ends where one is.
        let mut look = |block: u32| -> Result<bool> {
            if touched.binary_search(&block).is_ok() {
                return Ok(false);
            }
            let filler = self.filler(open, block);
            let filler = filler.map_err(|error| error.in_block(block.into()))?;
            if !filler.is_own {
                all.insert(block);
            }
            Ok(!filler.has_valid)
        };
        for &block in &touched {
            let mut after = block.saturating_add(1)..open.page.descriptor.n_blocks;
            while let Some(block) = after.next()
                && look(block)?
            {}
            let mut before = (0..block).rev();
            while let Some(block) = before.next()
                && look(block)?
            {}
        }
        Ok(all.into_iter().collect())
    }

    /// Decodes the filler under the null items of a block.
    pub(super) fn filler(&self, open: &OpenPage<'_>, block: u32) -> Result<Filler> {
        let (bytes, rows) = self.block(open, block)?;
        let context = self.context(open);
        let survivors = match open.kernel() {
            Some(kernel) => survivors_by_kernel(kernel, open, &bytes).map_err(|error| error.0)?,
            None => decode_survivors(&context, &bytes, rows).map_err(while_reading)?,
        };
        filler_of(&context, &survivors).map_err(while_reading)
    }

    /// A block without the rows, and of each shared buffer the entries that it refers to no more.
    fn data_block(&self, open: &OpenPage<'_>, block: u32) -> Result<(NewBlock, Vec<Vec<usize>>)> {
        let held = open.blocks.rows_of(block)?;
        let first_row = open.page.descriptor.first_row;
        let start = first_row + u64::from(held.start);
        let of_block = start..first_row + u64::from(held.end);
        let in_block = |rows: &RowSet| -> Vec<u32> {
            let runs = rows.ranges(of_block.clone());
            runs.flatten().map(|row| (row - start) as u32).collect()
        };
        let (absent, erase) = (in_block(self.absent), in_block(self.erase));
        let place = open.page.place_of(open.blocks, block)?;
        let bytes = self.file.source.read(place.clone())?;
        let rows = held.end - held.start;
        let erasure = BlockErasure {
            place: &bytes,
            rows,
            absent: &absent,
            erase: &erase,
            salt: Some(self.salts.of(open.column.leaf, bound(open.number), block)),
        };
        let context = self.context(open);
        let outcome = match open.kernel() {
            Some(kernel) => erase_block_with(&context, &erasure, || {
                survivors_by_kernel(kernel, open, &bytes)
            })
            .map_err(|failed| failed.0)?,
            None => erase_block(&context, &erasure).map_err(while_reading)?,
        };
        let unreferred = self.unreferred(open, &bytes, outcome.bytes(), rows)?;
        let new = self.new_block(open, block, place, &bytes, outcome)?;
        Ok((new, unreferred))
    }

    fn new_block(
        &self,
        open: &OpenPage<'_>,
        block: u32,
        old_place: Range<u64>,
        old: &[u8],
        outcome: Outcome,
    ) -> Result<NewBlock> {
        let header = |bytes| BlockHeader::parse(bytes).map_err(while_reading);
        let nulls = header(old)?.null_count;
        let left = header(outcome.bytes())?.null_count;
        let (leaf, page) = (open.column.leaf, bound(open.number));
        Ok(NewBlock {
            block,
            old_place,
            before: block_digest(leaf, page, block, old),
            after: block_digest(leaf, page, block, outcome.bytes()),
            nulls_gone: nulls.saturating_sub(left),
            outcome,
        })
    }

    /// Notes which entries of each shared buffer of a page a block refers to.
    fn mark_used(
        &self,
        open: &OpenPage<'_>,
        block: &[u8],
        rows: u32,
        used: &[Arc<UsedEntries>],
    ) -> Result<()> {
        if !self.is_readable(open, block, rows)? {
            return Err(unclear_references());
        }
        mark_used(&self.context(open), block, rows, used).map_err(while_reading)
    }

    /// Finds, for each shared buffer, the entries that the old block refers to, or may refer to, and the new one does
    /// not.
    fn unreferred(
        &self,
        open: &OpenPage<'_>,
        old: &[u8],
        new: &[u8],
        rows: u32,
    ) -> Result<Vec<Vec<usize>>> {
        if open.shared.is_empty() {
            return Ok(Vec::new());
        }
        let (of_old, of_new) = (open.none_used(), open.none_used());
        match self.is_readable(open, old, rows)? {
            true => self.mark_used(open, old, rows, &of_old)?,
            false => of_old.iter().for_each(|used| {
                (0..used.len()).for_each(|entry| used.insert(entry));
            }),
        }
        self.mark_used(open, new, rows, &of_new)?;
        let buffers = of_old.iter().zip(&of_new);
        let buffers = buffers.map(|(old, new)| {
            let entries = 0..old.len();
            let gone = |i: &usize| old.contains(*i) && !new.contains(*i);
            entries.filter(gone).collect()
        });
        Ok(buffers.collect())
    }

    /// All of the `n_entries` entries of a shared page that any block of any page refers to; `None` if all of
    /// `candidates` are among them, for which not all blocks are looked at.
    fn used_unless_all_are(
        &self,
        column: &Column,
        shared: usize,
        n_entries: usize,
        mut candidates: Vec<usize>,
        changed: &[NewBlocks],
    ) -> Result<Option<Arc<UsedEntries>>> {
        candidates.sort_unstable();
        candidates.dedup();
        let new: HashMap<(u32, u32), &NewBlock> = changed
            .iter()
            .flat_map(|page| {
                let bound = page.bound();
                page.blocks
                    .iter()
                    .map(move |block| ((bound, block.block), block))
            })
            .collect();
        let of_shared = Arc::new(UsedEntries::none_of(n_entries));
        let data = (0..column.pages.len()).map(PageNumber::Data);
        let shared_pages = (shared + 1..column.shared_pages.len()).map(PageNumber::Shared);
        for number in data.chain(shared_pages) {
            let page = number.of(column)?;
            let list = page.shared();
            if !list.iter().any(|it| *it as usize == shared) {
                continue;
            }
            let open = self.open(column, number)?;
            let mut used = open.none_used();
            for (used, it) in used.iter_mut().zip(list) {
                if *it as usize == shared {
                    *used = of_shared.clone();
                }
            }
            for block in 0..page.descriptor.n_blocks {
                match new.get(&(bound(number), block)) {
                    Some(new) => {
                        let held = open.blocks.rows_of(block)?;
                        let rows = held.end - held.start;
                        self.mark_used(&open, new.outcome.bytes(), rows, &used)?;
                    }
                    None => {
                        let (bytes, rows) = self.block(&open, block)?;
                        self.mark_used(&open, &bytes, rows, &used)?;
                    }
                }
                candidates.retain(|entry| !of_shared.contains(*entry));
                if candidates.is_empty() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(of_shared))
    }

    /// A shared page with all entries wiped to which nothing refers. `None` if all of `candidates` are referred to, or
    /// the buffer is needed whole.
    fn wiped(
        &self,
        column: &Column,
        shared: usize,
        candidates: &[usize],
        changed: &[NewBlocks],
    ) -> Result<Option<Wiped>> {
        let kind = self.kind_of(column, shared)?;
        let Some(kind) = kind.filter(|kind| kind.has_entries()) else {
            return Ok(None);
        };
        let before = prepare_shared(self.file, column, shared)?;
        let candidates = candidates.to_vec();
        let used = self.used_unless_all_are(column, shared, before.len(), candidates, changed)?;
        let Some(used) = used else {
            return Ok(None);
        };
        let buffer = SharedBuffer::new(kind, before.clone());
        let after = wipe_unused(&buffer, &used).map_err(while_reading)?;
        Ok(Some(Wiped {
            before,
            used,
            after,
        }))
    }

    /// The blocks of a shared page of which entries are wiped, if nothing refers to some of `entries` any more. What a
    /// wiped entry holds depends on the entries before it, so these may be other blocks, too.
    fn shared_page(
        &self,
        column: &Column,
        shared: usize,
        entries: Vec<usize>,
        changed: &[NewBlocks],
        candidates: &mut Candidates,
    ) -> Result<Option<NewBlocks>> {
        let Some(wiped) = self.wiped(column, shared, &entries, changed)? else {
            return Ok(None);
        };
        let (values, left) = wiped.values()?;
        let number = PageNumber::Shared(shared);
        debug_assert!(changed.iter().all(|page| page.bound() != bound(number)));
        let open = self.open(column, number)?;
        let gone: HashSet<u32> = entries
            .iter()
            .filter(|entry| !wiped.used.contains(**entry))
            // A dictionary has fewer than 2^32 entries.
            .map(|entry| Ok(open.blocks.block_of_row(*entry as u32)?))
            .collect::<Result<_>>()?;
        let context = self.context(&open);
        let mut blocks = Vec::new();
        for block in 0..open.page.descriptor.n_blocks {
            let held = open.blocks.rows_of(block)?;
            let of_block = held.start as usize..held.end as usize;
            let entries = left.slice(of_block.clone());
            let is_same = !gone.contains(&block) && are_equal(entries, values.slice(of_block));
            if is_same && (open.reads_all_trees || !open.has_dictionaries()) {
                continue;
            }
            let (bytes, rows) = self.block(&open, block)?;
            if is_same && self.is_readable(&open, &bytes, rows)? {
                continue;
            }
            let place = open.page.place_of(open.blocks, block)?;
            let salt = self.salts.of(column.leaf, bound(number), block);
            let outcome =
                encode_block(&context, None, None, entries, rows, Some(salt), bytes.len())
                    .map_err(while_reading)?;
            let unreferred = self.unreferred(&open, &bytes, outcome.bytes(), rows)?;
            open.add_candidates(unreferred, candidates);
            blocks.push(self.new_block(&open, block, place, &bytes, outcome)?);
        }
        Ok(Some(NewBlocks {
            page: number,
            blocks,
        }))
    }

    /// The entries of a shared page, and whether it is as an erasure would leave it that takes no row: all entries are
    /// wiped to which nothing refers. `None` where it is needed as a whole.
    pub(super) fn are_others_wiped(
        &self,
        column: &Column,
        shared: usize,
    ) -> Result<Option<(u64, bool)>> {
        let kind = self.kind_of(column, shared)?;
        if !kind.is_none_or(|kind| kind.has_entries()) {
            return Ok(None);
        }
        let n_entries = prepare_shared(self.file, column, shared)?.len();
        let all: Vec<usize> = (0..n_entries).collect();
        let are_wiped = match self.wiped(column, shared, &all, &[])? {
            None => true,
            Some(wiped) => {
                let (before, after) = wiped.values()?;
                are_equal(before, after)
            }
        };
        Ok(Some((n_entries as u64, are_wiped)))
    }

    /// The kind that the pages of a column say a shared page has; `None` where no page names it.
    fn kind_of(&self, column: &Column, shared: usize) -> Result<Option<tarsia_codec::SharedKind>> {
        for page in column.pages.iter().chain(&column.shared_pages) {
            let mut list = page.shared().iter();
            if let Some(at) = list.position(|number| *number as usize == shared) {
                let meta = page.description.meta()?;
                return Ok(meta.shared.get(at).map(|spec| spec.kind));
            }
        }
        Ok(None)
    }
}

/// The error for what this build cannot erase.
pub(super) fn refused(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}
