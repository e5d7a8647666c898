//! Plans of erasures: changes of blocks, digests up to the root, and the end of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use tarsia_compliance as compliance;
use tarsia_compliance::{Change, LEAF_BYTES, RowSet, Salts};
use tarsia_metadata as metadata;
use tarsia_metadata::{
    ColumnMeta, ColumnRecord, ColumnSource, ErasureLevel, Footer, History, MovedBlock, NodeRecord,
    PageDescription, PageDescriptor, PastState, Section,
};
use tarsia_page_writer::Outcome;
use tarsia_zones::{BloomCollector, Collect, ZoneCollector};

use super::blocks::{NewBlocks, refused};
use super::pages::{Erasing, bound};
use super::patches::Patches;
use super::report::{ErasedBlock, ErasedColumn, ErasureReport, ErasureSummary, RowsOfErasure};
use crate::end::{EndParts, Growing};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::exec::{OpenFile, collect_rows, read_zones};
use crate::plan::{PageNumber, RowSelection};
use crate::random::random;
use crate::table::{Column, Head, Page, check_digest, check_listed};
use crate::threads::in_order;

/// Everything that an erasure writes, before it is written.
pub struct ErasurePlan {
    pub(super) changes: Vec<Change>,
    pub(super) new_len: u64,
    pub(super) report: ErasureReport,
    /// Root digest of the file that it was made for.
    pub(super) old_root: [u8; 32],
}

impl ErasurePlan {
    /// How many rows, blocks and bytes it touches.
    pub fn summary(&self) -> &ErasureSummary {
        &self.report.summary
    }

    /// Returns what the erasure will have done, all of it known before: what a certificate says.
    /// [`ErasureSummary::journal_bytes`] is 0 until the commit.
    pub fn report(&self) -> &ErasureReport {
        &self.report
    }

    /// Whether the file stays as it is, to the byte: no row was asked for that is not deleted, or erased, already.
    pub fn is_empty(&self) -> bool {
        !self.report.is_changed()
    }

    pub(crate) fn into_report(self) -> ErasureReport {
        self.report
    }

    pub(crate) fn old_root(&self) -> [u8; 32] {
        self.old_root
    }

    pub(crate) fn old_epoch(&self) -> u64 {
        self.report.old_epoch
    }
}

impl std::fmt::Debug for ErasurePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErasurePlan")
            .field("summary", self.summary())
            .finish_non_exhaustive()
    }
}

/// The request for an erasure.
pub(super) struct Asked<'a> {
    pub(super) rows: &'a RowSet,
    pub(super) level: ErasureLevel,
    /// Key of the salts; random unless given.
    pub(super) salt_key: Option<[u8; 32]>,
}

/// Where a record lies, and its bytes.
struct Record {
    place: u64,
    bytes: Vec<u8>,
}

/// A plan as it grows.
struct Draft<'a> {
    file: &'a OpenFile,
    head: &'a Head,
    patches: Patches,
    moved: BTreeMap<(u32, u32, u32), Range<u64>>,
    /// End of the appended bytes that are kept: blocks that moved before.
    kept: u64,
    /// Where the next block that moves may lie.
    free: u64,
    /// By the number of the column.
    blocks: BTreeMap<u32, Vec<ErasedBlock>>,
    summary: ErasureSummary,
    salt: [u8; 32],
    /// Rows that the columns lose, and all that they do not hold after that.
    erased_now: RowSet,
    erased_after: RowSet,
}

/// Plans an erasure.
pub(super) fn plan(file: &OpenFile, asked: &Asked<'_>) -> Result<ErasurePlan> {
    let catalog = &file.catalog;
    catalog.check_modifiable()?;
    if let Some(row) = asked.rows.last().filter(|row| *row >= file.rows()) {
        let what = format!("row {row} of {}", file.rows());
        return Err(Error::new(ErrorKind::OutOfRange, what));
    }
    let columns = file.all_columns()?;
    let least = match asked.level {
        ErasureLevel::Immutable => return Err(refused("rows are erased at level 1 or 2")),
        level => level,
    };
    if !columns.iter().any(|column| column.level >= least) {
        return Err(refused(format!(
            "no column is at erasure level {least}: the file was not written for it"
        )));
    }
    let changes = catalog.changes();
    let rows = RowsOfErasure::new(asked.rows, asked.level, changes);
    if rows.newly_deleted.is_empty() && rows.erased_now.is_empty() {
        return nothing_to_do(file, asked.level, rows, &columns);
    }
    let key = match asked.salt_key {
        Some(key) => key,
        None => random()?,
    };
    let salts = Salts::new(key);
    let mut draft = Draft::new(file, &rows, salts.of_root())?;
    if !rows.erased_now.is_empty() {
        let erasing = Erasing {
            file,
            absent: &changes.erased,
            erase: &rows.erased_now,
            salts: &salts,
        };
        let records = records(file)?;
        for column in &columns {
            if column.level == ErasureLevel::Erase {
                let new = erasing.column(column)?;
                if !new.is_empty() {
                    let none = || Error::new(ErrorKind::Corrupt, "a column without a record");
                    let record = records.get(&column.leaf).ok_or_else(none)?;
                    draft
                        .column(column, record, new)
                        .map_err(|error| error.in_column(column.name()))?;
                }
            }
        }
    }
    draft.finish(asked.level, rows, &columns)
}

/// The plan that leaves the file as it is.
fn nothing_to_do(
    file: &OpenFile,
    level: ErasureLevel,
    rows: RowsOfErasure,
    columns: &[Arc<Column>],
) -> Result<ErasurePlan> {
    let catalog = &file.catalog;
    let head = file.head()?;
    let root = catalog.root_digest();
    let new_len = catalog.committed_bytes();
    let report = ErasureReport {
        level,
        deleted_digest: rows.deleted_after.digest(),
        erased_digest: rows.erased_after.digest(),
        old_root: catalog.changes().history.is_some().then_some(root),
        new_root: root,
        old_epoch: head.epoch,
        new_epoch: head.epoch,
        file_id: head.header.file_id,
        columns: ErasedColumn::all(file, columns, &rows, BTreeMap::new())?,
        dropped_sections: Vec::new(),
        summary: ErasureSummary {
            rows: rows.asked.len(),
            file_bytes_before: new_len,
            file_bytes_after: new_len,
            ..ErasureSummary::default()
        },
        rows,
    };
    Ok(ErasurePlan {
        changes: Vec::new(),
        new_len,
        report,
        old_root: root,
    })
}

/// The records of all columns, by the number of the column.
fn records(file: &OpenFile) -> Result<BTreeMap<u32, Record>> {
    let range = file.catalog.records_range();
    let start = range.start;
    let bytes = file.source.read(range)?;
    let mut records = metadata::Records::new(&bytes, file.catalog.n_nodes());
    let mut found = BTreeMap::new();
    loop {
        let at = records.position();
        let Some(record) = records.next() else {
            return Ok(found);
        };
        let record = record?;
        if let Some(leaf) = record.leaf {
            let bytes = bytes.get(at..records.position()).unwrap_or_default();
            found.insert(
                leaf,
                Record {
                    place: start + at as u64,
                    bytes: bytes.to_vec(),
                },
            );
        }
    }
}

impl<'a> Draft<'a> {
    fn new(file: &'a OpenFile, rows: &RowsOfErasure, salt: [u8; 32]) -> Result<Self> {
        let moved = &file.catalog.changes().moved;
        let end = moved.iter().map(|block| block.range.end).max();
        let late = file.catalog.late_range();
        let file_bytes = file.catalog.committed_bytes();
        let kept = end.unwrap_or(late.start).next_multiple_of(8);
        Ok(Self {
            file,
            head: file.head()?,
            patches: Patches::default(),
            moved: moved
                .iter()
                .map(|block| ((block.leaf, block.page, block.block), block.range.clone()))
                .collect(),
            kept,
            free: kept,
            blocks: BTreeMap::new(),
            summary: ErasureSummary {
                rows: rows.asked.len(),
                rows_deleted: rows.newly_deleted.len(),
                rows_erased: rows.erased_now.len(),
                file_bytes_before: file_bytes,
                ..ErasureSummary::default()
            },
            salt,
            erased_now: rows.erased_now.clone(),
            erased_after: rows.erased_after.clone(),
        })
    }

    /// The new blocks of a column, and all that says something of them, up to the column's record.
    fn column(&mut self, column: &Column, record: &Record, new: Vec<NewBlocks>) -> Result<()> {
        let descriptors = |pages: &[Page]| -> Vec<PageDescriptor> {
            pages.iter().map(|page| page.descriptor).collect()
        };
        let mut meta = ColumnMeta {
            pages: descriptors(&column.pages),
            shared_pages: descriptors(&column.shared_pages),
            // These are not patched.
            descriptions: Vec::new(),
        };
        let mut erased = Vec::new();
        for page in new {
            let number = page.page;
            let descriptor = match number {
                PageNumber::Data(number) => meta.pages.get_mut(number),
                PageNumber::Shared(number) => meta.shared_pages.get_mut(number),
            };
            let none = || Error::new(ErrorKind::Corrupt, "a page that the column lacks");
            self.page(column, page, descriptor.ok_or_else(none)?, &mut erased)?;
        }
        let digests = |pages: &[PageDescriptor]| -> Vec<[u8; 32]> {
            pages.iter().map(|page| page.digest).collect()
        };
        let digest = compliance::column_digest(
            column.leaf,
            &digests(&meta.pages),
            &digests(&meta.shared_pages),
        );
        let stored = NodeRecord::parse(&record.bytes)?.column;
        let none = || Error::new(ErrorKind::Corrupt, "a record without a column");
        let stored = stored.ok_or_else(none)?;
        let (patched, description);
        let changed = match stored.source {
            ColumnSource::Meta { place, length, .. } => {
                let old = self.file.source.read(place..place + u64::from(length))?;
                let patched = meta.patched(&old)?;
                let record = ColumnRecord::of_meta(place, &patched, digest)?;
                self.patches.write(place, patched);
                record
            }
            ColumnSource::Inside { bytes } => {
                patched = meta.patched(bytes)?;
                ColumnRecord::of_meta_inside(&patched, digest)?
            }
            ColumnSource::Page { meta: of_page, .. } if meta.pages.len() == 1 => {
                description = PageDescription::of_meta(of_page.to_owned());
                ColumnRecord::of_page(&meta.pages[0], &description)?
            }
            ColumnSource::Page { .. } | ColumnSource::Empty => {
                let what = "other pages than the column's record has";
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
        };
        self.zones(column)?;
        self.blooms(column)?;
        let changed = changed
            .with_level(stored.level)
            .with_zones(stored.zones)
            .with_blooms(stored.blooms);
        let bytes = NodeRecord::with_column(&record.bytes, &changed)?;
        self.patches.write(record.place, bytes);
        self.blocks.insert(column.leaf, erased);
        Ok(())
    }

    /// The zones of a column that lose rows, as those make them that are left.
    fn zones(&mut self, column: &Column) -> Result<()> {
        let Some(zones) = &column.zones else {
            return Ok(());
        };
        let form = zones.form;
        read_zones(self.file, [column])?;
        let none = || Error::new(ErrorKind::Corrupt, "zones that were not read");
        let mut map = zones.map().ok_or_else(none)?.clone();
        for (page, of_page) in column.pages.iter().zip(&mut map.pages) {
            let Some(of_page) = of_page else {
                continue;
            };
            let ranges = of_page.ranges(page.rows().start).enumerate();
            let touched =
                self.again(column, ranges.map(|(number, rows)| (rows, number)), |_| {
                    ZoneCollector::new(form)
                })?;
            for (number, found) in touched {
                if let Some(zone) = of_page.zones.get_mut(number) {
                    *zone = found.zone(zone.rows);
                }
            }
        }
        let is_erasable = column.level == ErasureLevel::Erase;
        let bytes = map.to_bytes(form, is_erasable).map_err(while_reading)?;
        if bytes.len() as u64 != zones.range.end - zones.range.start {
            let what = "zones: another length than its entries have";
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        self.patches.write_all(zones.range.start, bytes);
        Ok(())
    }

    /// The bloom filters of a column of which runs lose rows, as those make them that are left.
    fn blooms(&mut self, column: &Column) -> Result<()> {
        let Some(blooms) = &column.blooms else {
            return Ok(());
        };
        let runs = blooms.runs(&column.pages);
        let again = self.again(column, runs.map(|run| (run.rows.clone(), run)), |run| {
            BloomCollector::new(run.n_rows())
        })?;
        for (run, filter) in again {
            self.patches.write_all(run.place.start, filter.to_bytes());
        }
        Ok(())
    }

    /// Collects the rows that are left of those runs of rows of a column that lose some. `empty` makes the collector of
    /// a run without rows.
    fn again<R: Sync + Send, C: Collect + Send>(
        &self,
        column: &Column,
        runs: impl Iterator<Item = (Range<u64>, R)>,
        empty: impl Fn(&R) -> C + Sync,
    ) -> Result<Vec<(R, C)>> {
        let touched = runs.filter(|(rows, _)| self.erased_now.count(rows.clone()) > 0);
        let touched: Vec<_> = touched.collect();
        let found = in_order(&self.file.session.threads, &touched, |(rows, run)| {
            let left = RowSelection::from(rows.clone()).without(&self.erased_after);
            collect_rows(self.file, column, &left, &|| empty(run))
        })?;
        let runs = touched.into_iter().map(|(_, run)| run);
        Ok(runs.zip(found).collect())
    }

    /// The new blocks of a page and their digests.
    fn page(
        &mut self,
        column: &Column,
        new: NewBlocks,
        descriptor: &mut PageDescriptor,
        erased: &mut Vec<ErasedBlock>,
    ) -> Result<()> {
        let number = bound(new.page);
        let mut digests = match descriptor.digests_range() {
            None => None,
            Some(range) => {
                let bytes = self.file.source.read(range.clone())?;
                let digests = bytes.as_chunks::<16>().0.to_vec();
                check_listed(column.leaf, number, &digests, &descriptor.digest)?;
                Some((range.start, digests))
            }
        };
        for block in new.blocks {
            let key = (column.leaf, number, block.block);
            let old_place = block.old_place;
            let length = old_place.end - old_place.start;
            // Else a changed block would get a good digest.
            let listed = digests.as_ref().map(|(_, digests)| digests.as_slice());
            check_digest(&block.before, block.block, listed, &descriptor.digest)
                .map_err(|error| error.in_block(block.block.into()))?;
            self.summary.blocks += 1;
            self.summary.bytes_read += length;
            let is_moved = block.outcome.must_move();
            let place = match block.outcome {
                Outcome::InPlace { bytes } => {
                    self.patches.write(old_place.start, bytes);
                    old_place
                }
                Outcome::MustMove { bytes } => {
                    self.summary.blocks_moved += 1;
                    self.patches.zero(old_place);
                    let place = self.free;
                    self.free = place + bytes.len() as u64;
                    self.moved.insert(key, place..self.free);
                    self.patches.write(place, bytes);
                    place..self.free
                }
            };
            match &mut digests {
                None => descriptor.digest = block.after,
                Some((_, digests)) => {
                    if let Some(digest) = digests.get_mut(block.block as usize) {
                        *digest = compliance::stored_block_digest(&block.after);
                    }
                }
            }
            descriptor.null_count = descriptor.null_count.saturating_sub(block.nulls_gone);
            erased.push(ErasedBlock {
                page: number & !compliance::SHARED_PAGE_FIRST,
                shared: number >= compliance::SHARED_PAGE_FIRST,
                block: block.block,
                place,
                before: block.before,
                after: block.after,
                moved: is_moved,
            });
            if let Some((start, digests)) = &digests
                && let Some(digest) = digests.get(block.block as usize)
            {
                let at = start + 16 * u64::from(block.block);
                self.patches.write(at, digest.to_vec());
            }
        }
        if let Some((_, digests)) = &digests {
            descriptor.digest = compliance::page_digest(column.leaf, number, digests);
        }
        // The epoch of a page in a column record is not stored.
        if descriptor.epoch > 0 {
            descriptor.epoch = self.new_epoch();
        }
        Ok(())
    }

    /// The file's epoch after the erasure: one more says that a journal is there.
    fn new_epoch(&self) -> u64 {
        self.head.epoch + 2
    }

    /// The digest tree's changes, and its top.
    fn tree(&mut self) -> Result<[u8; 32]> {
        let catalog = &self.file.catalog;
        let region = catalog.meta_range();
        let region_bytes = region.end - region.start;
        let leaf_bytes = LEAF_BYTES as u64;
        let mut touched = BTreeSet::new();
        for range in self.patches.ranges() {
            let start = range.start.max(region.start);
            let end = range.end.min(region.end);
            if start < end {
                let first = (start - region.start) / leaf_bytes;
                let last = (end - 1 - region.start) / leaf_bytes;
                touched.extend(first..=last);
            }
        }
        if region_bytes <= leaf_bytes {
            // Nothing is stored of a region of one leaf.
            touched.insert(0);
        }
        let tree = catalog.tree_range();
        let read_stored = |range: Range<u64>| -> Result<Vec<u8>> {
            let place = tree.start + range.start..tree.start + range.end;
            Ok(self.file.source.read(place)?.to_vec())
        };
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for leaf in touched {
            let start = region.start + leaf * leaf_bytes;
            let range = start..(start + leaf_bytes).min(region.end);
            // A region of less than 2^32 leaves.
            let number = leaf as u32;
            let before = self.file.source.read(range.clone())?;
            old.push((number, compliance::leaf_digest(number, &before)));
            let after = self.patches.read(&self.file.source, range)?;
            new.push((number, compliance::leaf_digest(number, &after)));
        }
        // With the digests of the leaves as they are, nothing changes: else somebody changed them.
        let known = compliance::update_tree(region_bytes, &old, read_stored)?;
        let mut unchanged = known.changes.iter();
        let unchanged = unchanged.try_fold(true, |same, (at, bytes)| -> Result<bool> {
            let end = at + bytes.len() as u64;
            Ok(same && read_stored(*at..end)? == *bytes)
        })?;
        let root = catalog.root_digest_under(self.head, &known.top)?;
        if !unchanged || root != catalog.root_digest() {
            let what = "root digest: header, metadata, footer or postscript were changed";
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        let update = compliance::update_tree(region_bytes, &new, read_stored)?;
        for (at, bytes) in update.changes {
            self.patches.write(tree.start + at, bytes);
        }
        Ok(update.top)
    }

    /// The new salt, and the states so far. The one before this erasure is among them if it had a salt: else its root
    /// digest would tell about values that are gone.
    fn history(&self) -> History {
        let catalog = &self.file.catalog;
        let states = catalog.changes().history.as_ref().map(|old| {
            let now = PastState {
                epoch: self.head.epoch,
                root: catalog.root_digest(),
            };
            old.states.iter().copied().chain([now]).collect()
        });
        History {
            salt: self.salt,
            states: states.unwrap_or_default(),
        }
    }

    /// Splits the sections into those that stay, and the id and the bytes of those that may hold values and that this
    /// build does not know. Zeroes what is not kept, as far as it lies before what is written anew.
    fn drop_sections(&mut self, sections: Vec<Section>) -> (Vec<Section>, Vec<(u32, u64)>) {
        let mut kept = Vec::new();
        let mut dropped = Vec::new();
        for section in sections {
            let is_known = metadata::SECTIONS_KNOWN.contains(&section.id);
            let is_ours = is_known && section.id != metadata::SECTION_KERNEL;
            let is_dropped = !is_known && section.flags.holds_values;
            if !is_ours && !is_dropped {
                kept.push(section);
                continue;
            }
            if is_dropped {
                dropped.push((section.id, section.range.end - section.range.start));
            }
            // Behind the blocks that had moved everything is written anew. Before them lie sections that are dropped,
            // and the first history.
            let end = section.range.end.min(self.kept);
            if section.range.start < end {
                let zeros = vec![0; (end - section.range.start) as usize];
                self.patches.write_all(section.range.start, zeros);
            }
        }
        (kept, dropped)
    }

    /// Assembles the end of the file: sections, footer, postscript.
    fn finish(
        mut self,
        level: ErasureLevel,
        rows: RowsOfErasure,
        columns: &[Arc<Column>],
    ) -> Result<ErasurePlan> {
        let catalog = &self.file.catalog;
        let footer_bytes = catalog.footer_bytes();
        let old_postscript = catalog.postscript();
        let mut footer = Footer::parse(footer_bytes, old_postscript, &metadata::SECTIONS_KNOWN)?;
        let late_start = catalog.late_range().start;
        let (kept, dropped) = self.drop_sections(std::mem::take(&mut footer.sections));
        let old_root = catalog.changes().history.is_some();
        let old_root = old_root.then(|| catalog.root_digest());
        let top = self.tree()?;
        let new_epoch = self.new_epoch();
        let mut tail = Growing::at(self.free);
        let mut sections: Vec<Section> = Vec::new();
        for section in kept {
            match section.range.start < late_start {
                true => sections.push(section),
                false => {
                    // An unknown section that holds no values moves with the end of the file.
                    let bytes = self.file.source.read(section.range.clone())?;
                    let range = tail.push_padded(&bytes);
                    sections.push(Section { range, ..section });
                }
            }
        }
        let late = late_start..u64::MAX;
        let moved: Vec<MovedBlock> = self
            .moved
            .iter()
            .map(|((leaf, page, block), range)| MovedBlock {
                leaf: *leaf,
                page: *page,
                block: *block,
                range: range.clone(),
            })
            .collect();
        let mut parts = vec![(metadata::SECTION_DELETED, rows.deleted_after.to_bytes())];
        if !rows.erased_after.is_empty() {
            parts.push((metadata::SECTION_ERASED, rows.erased_after.to_bytes()));
        }
        if !moved.is_empty() {
            let bytes = metadata::moved_to_bytes(&moved, late)?;
            parts.push((metadata::SECTION_MOVED, bytes));
        }
        parts.push((metadata::SECTION_HISTORY, self.history().to_bytes()?));
        for (id, bytes) in parts {
            sections.push(tail.push_section(id, &bytes));
        }
        footer.sections = sections;
        let end = EndParts {
            header: &self.head.bytes,
            top: &top,
            footer: &footer,
            place: tail.end(),
            rows: old_postscript.rows,
            buckets: (old_postscript.buckets_log2, old_postscript.bucket_place),
        };
        let end = end.assemble()?;
        tail.push(&end.bytes);
        self.patches.write_all(self.free, tail.into_bytes());
        let (written, zeroed) = self.patches.counts();
        self.summary.bytes_written = written;
        self.summary.bytes_zeroed = zeroed;
        self.summary.file_bytes_after = end.file_bytes;
        let report = ErasureReport {
            level,
            deleted_digest: rows.deleted_after.digest(),
            erased_digest: rows.erased_after.digest(),
            old_root,
            new_root: end.root_digest,
            old_epoch: self.head.epoch,
            new_epoch,
            file_id: self.head.header.file_id,
            columns: ErasedColumn::all(self.file, columns, &rows, self.blocks)?,
            dropped_sections: dropped,
            summary: self.summary,
            rows,
        };
        Ok(ErasurePlan {
            changes: self.patches.into_changes(),
            new_len: end.file_bytes,
            report,
            old_root: catalog.root_digest(),
        })
    }
}
