//! Makes the checksums and digests of a changed file right again, so that parsers and decoders get to see the
//! mutations.

use std::ops::Range;

use tarsia_compliance as compliance;
use tarsia_metadata::{
    BlockTable, ColumnMeta, ColumnRecord, ColumnSource, Footer, Header, PageDescriptor, Postscript,
    Records, Section, crc32c, limits,
};
use tarsia_structure::block;

/// The table of a section in the footer has not more bytes than this.
const SECTION_TABLE_BYTES: usize = 96;

/// Where the checksums of a well-formed file are, and what they cover.
#[derive(Debug)]
pub struct Seals {
    /// Block places, innermost first in the order of resealing.
    pages: Vec<SealedPage>,
    /// CRC fields over fixed ranges: place of the field, ranges it covers (the second may be empty).
    fixed: Vec<(usize, [Range<usize>; 2])>,
    /// Column digests: place of the field, column, and its pages' indices in `pages`.
    columns: Vec<SealedColumn>,
    sections: Vec<SealedSection>,
    footer: Range<usize>,
    postscript: usize,
    region: Range<usize>,
    tree: Range<usize>,
}

#[derive(Debug)]
struct SealedPage {
    column: u32,
    number: u32,
    blocks: Vec<Range<usize>>,
    /// Where the block digests are; `None` for one block.
    digests: Option<usize>,
    /// Where the page's digest is, if it has a field of its own.
    digest: Option<usize>,
}

#[derive(Debug)]
struct SealedColumn {
    column: u32,
    field: usize,
    pages: Range<usize>,
    shared_pages: Range<usize>,
}

/// A section, by the places of what the footer says of it.
#[derive(Debug)]
struct SealedSection {
    id: u32,
    start: usize,
    length_at: usize,
    digest_at: usize,
}

impl SealedSection {
    fn of(section: &Section, bytes: &[u8], footer: &Range<usize>) -> Self {
        let found = |within: &Range<usize>, what: &[u8]| {
            let mut windows = bytes[within.clone()].windows(what.len());
            let at = windows.position(|window| window == what);
            within.start + at.expect("a section of the footer")
        };
        let digest_at = found(footer, &section.digest);
        // The numbers of a section stand beside its digest.
        let beside = digest_at - SECTION_TABLE_BYTES..digest_at + SECTION_TABLE_BYTES;
        let length = section.range.end - section.range.start;
        Self {
            id: section.id,
            start: section.range.start as usize,
            length_at: found(&beside, &length.to_le_bytes()),
            digest_at,
        }
    }
}

impl Seals {
    /// Finds the checksums of a file that was not changed yet.
    ///
    /// # Panics
    /// Where the file is damaged: this is for tests.
    pub fn of(bytes: &[u8]) -> Self {
        let end = bytes.len() as u64;
        let header = Header::parse(bytes).expect("header");
        header.current_slot().expect("slots");
        let postscript = bytes.len() - limits::POSTSCRIPT_BYTES;
        let footer = Postscript::footer_range(&bytes[postscript..], end).expect("postscript");
        let footer = footer.start as usize..footer.end as usize;
        let tail = Postscript::parse(&bytes[postscript..], end, &bytes[footer.clone()])
            .expect("postscript");
        let parsed = Footer::parse(&bytes[footer.clone()], &tail, &[]).expect("footer");
        let mut seals = Self {
            pages: Vec::new(),
            fixed: Vec::new(),
            columns: Vec::new(),
            sections: Vec::new(),
            region: parsed.meta_place as usize..parsed.tree_place as usize,
            tree: parsed.tree_place as usize..footer.start,
            footer,
            postscript,
        };
        let sections = parsed.sections.iter();
        let sections = sections.map(|section| SealedSection::of(section, bytes, &seals.footer));
        seals.sections = sections.collect();
        // The header's fixed part and slot A.
        seals.fixed.push((60, [0..60, 0..0]));
        seals.fixed.push((124, [64..124, 0..0]));
        seals.find_columns(bytes, &parsed, &tail);
        seals.find_records(bytes, &parsed, &tail);
        seals.find_buckets(bytes, &parsed, &tail);
        seals
    }

    fn find_columns(&mut self, bytes: &[u8], footer: &Footer, tail: &Postscript) {
        let range = footer.records_range(tail);
        let records = &bytes[range.start as usize..range.end as usize];
        let bounds = footer.bounds(tail);
        let mut walk = Records::new(records, footer.n_nodes);
        let mut at = range.start as usize;
        while let Some(record) = walk.next() {
            let record = record.expect("record");
            // Nodes above columns have no column record, and the parts before a column record differ.
            if let (Some(leaf), Some(column), Some(column_at)) =
                (record.leaf, &record.column, record.column_at())
            {
                self.find_pages(bytes, leaf, column, at + column_at, &bounds);
            }
            at = range.start as usize + walk.position();
        }
    }

    fn find_pages(
        &mut self,
        bytes: &[u8],
        column: u32,
        record: &ColumnRecord<'_>,
        record_place: usize,
        bounds: &tarsia_metadata::FileBounds,
    ) {
        const DIGEST_AT: usize = limits::COLUMN_RECORD_BYTES - compliance::DIGEST_BYTES;
        const CRC_AT: usize = DIGEST_AT - 4;
        let read = |range: Range<u64>| -> Result<&[u8], tarsia_metadata::Error> {
            Ok(&bytes[range.start as usize..range.end as usize])
        };
        let meta = ColumnMeta::load(record, bounds, read).expect("column");
        let flatbuffer = match record.source {
            ColumnSource::Meta { place, length, .. } => {
                let range = place as usize..place as usize + length as usize;
                self.fixed
                    .push((record_place + CRC_AT, [range.clone(), 0..0]));
                Some(range)
            }
            // The record's checksum covers it.
            ColumnSource::Inside { bytes } => {
                let start = record_place + limits::COLUMN_RECORD_BYTES;
                Some(start..start + bytes.len())
            }
            ColumnSource::Page { .. } | ColumnSource::Empty => None,
        };
        if let Some(zones) = record.zones {
            let start = zones.place as usize;
            let end = start + zones.length as usize;
            self.fixed
                .push((start + 4, [start..start + 4, start + 8..end]));
        }
        if let Some(blooms) = record.blooms {
            self.find_blooms(blooms.place as usize, meta.pages.iter().map(|it| it.rows));
        }
        let first = self.pages.len();
        for (number, page) in (0..).zip(&meta.pages) {
            self.find_page(bytes, column, number, page, &flatbuffer);
        }
        let middle = self.pages.len();
        for (number, page) in (compliance::SHARED_PAGE_FIRST..).zip(&meta.shared_pages) {
            self.find_page(bytes, column, number, page, &flatbuffer);
        }
        if !meta.pages.is_empty() {
            self.columns.push(SealedColumn {
                column,
                field: record_place + DIGEST_AT,
                pages: first..middle,
                shared_pages: middle..self.pages.len(),
            });
        }
    }

    /// The shards of the bloom filters of pages of so many rows: each begins with a checksum of its blocks.
    fn find_blooms(&mut self, place: usize, rows: impl Iterator<Item = u32>) {
        let mut start = place;
        for rows in rows {
            let runs = (0..rows).step_by(65_536).map(|at| (rows - at).min(65_536));
            for rows in runs {
                let mut n_blocks = (rows as usize * 10).div_ceil(256);
                while n_blocks > 0 {
                    let n_now = n_blocks.min(128);
                    let end = start + 8 + 32 * n_now;
                    self.fixed.push((start, [start + 8..end, 0..0]));
                    (start, n_blocks) = (end, n_blocks - n_now);
                }
            }
        }
    }

    fn find_page(
        &mut self,
        bytes: &[u8],
        column: u32,
        number: u32,
        page: &PageDescriptor,
        flatbuffer: &Option<Range<usize>>,
    ) {
        let table = page.table_range().unwrap_or(0..0);
        let table = table.start as usize..table.end as usize;
        let blocks = BlockTable::parse(&bytes[table.clone()], page).expect("block table");
        if !table.is_empty() {
            let covered = [table.start..table.start + 8, table.start + 16..table.end];
            self.fixed.push((table.start + 8, covered));
        }
        // Inside the FlatBuffer the page's digest stands where its bytes stand.
        let digest = flatbuffer.as_ref().map(|range| {
            let found = bytes[range.clone()]
                .windows(compliance::DIGEST_BYTES)
                .position(|window| window == page.digest);
            range.start + found.expect("a page's digest in its list")
        });
        let place = page.place as usize;
        self.pages.push(SealedPage {
            column,
            number,
            blocks: (0..page.n_blocks)
                .map(|block| blocks.block_range(block).expect("block"))
                .map(|range| place + range.start as usize..place + range.end as usize)
                .collect(),
            digests: page.digests_range().map(|range| range.start as usize),
            digest,
        });
    }

    fn find_records(&mut self, bytes: &[u8], footer: &Footer, tail: &Postscript) {
        let range = footer.records_range(tail);
        let start = range.start as usize;
        let mut records = Records::new(&bytes[start..range.end as usize], footer.n_nodes);
        let mut at = 0;
        while let Some(record) = records.next() {
            record.expect("record");
            let end = records.position();
            self.fixed
                .push((start + at + 4, [start + at + 8..start + end, 0..0]));
            at = end;
        }
    }

    fn find_buckets(&mut self, bytes: &[u8], footer: &Footer, tail: &Postscript) {
        let buckets = footer.buckets(tail).expect("buckets");
        for index in 0..buckets.count() {
            let range = buckets.bucket_range(index);
            let start = range.start as usize;
            let n_entries =
                u32::from_le_bytes(bytes[start..start + 4].try_into().expect("4 bytes"));
            let entries = start + 16..start + 16 + n_entries as usize * 16;
            self.fixed.push((start + 4, [start..start + 4, entries]));
        }
    }

    /// The places of all blocks, column by column.
    pub fn blocks(&self) -> impl Iterator<Item = &Range<usize>> {
        self.pages.iter().flat_map(|page| &page.blocks)
    }

    /// Recomputes every checksum and digest of a file of the same length, some of whose bytes were changed.
    pub fn reseal(&self, bytes: &mut [u8]) {
        for range in self.pages.iter().flat_map(|page| &page.blocks) {
            // A header with impossible sizes has no checksum that can be made right.
            let _ = block::reseal(&mut bytes[range.clone()], |covered| crc32c(&[covered]));
        }
        self.reseal_around_blocks(bytes);
    }

    /// As [`Seals::reseal`], except for the checksums inside blocks: of a block, of its rows or of its chunks. A reader
    /// finds a changed block by these alone.
    pub fn reseal_around_blocks(&self, bytes: &mut [u8]) {
        let put = |bytes: &mut [u8], at: usize, value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        let mut page_digests = Vec::with_capacity(self.pages.len());
        for page in &self.pages {
            let mut digests = Vec::with_capacity(page.blocks.len());
            let mut last = [0; compliance::DIGEST_BYTES];
            for (block, range) in (0..).zip(&page.blocks) {
                last = compliance::block_digest(
                    page.column,
                    page.number,
                    block,
                    &bytes[range.clone()],
                );
                digests.push(compliance::stored_block_digest(&last));
            }
            let digest = match page.digests {
                Some(at) => {
                    put(bytes, at, digests.as_flattened());
                    compliance::page_digest(page.column, page.number, &digests)
                }
                None => last,
            };
            if let Some(at) = page.digest {
                put(bytes, at, &digest);
            }
            page_digests.push(digest);
        }
        for column in &self.columns {
            let digest = compliance::column_digest(
                column.column,
                &page_digests[column.pages.clone()],
                &page_digests[column.shared_pages.clone()],
            );
            put(bytes, column.field, &digest);
        }
        for (at, covered) in &self.fixed {
            let crc = crc32c(&covered.clone().map(|range| &bytes[range]));
            put(bytes, *at, &crc.to_le_bytes());
        }
        for section in &self.sections {
            let length = bytes[section.length_at..].first_chunk().expect("8 bytes");
            let length = u64::from_le_bytes(*length) as usize;
            // Another length may lead out of the file.
            let covered = bytes.get(section.start..section.start.saturating_add(length));
            let digest = compliance::section_digest(section.id, covered.unwrap_or_default());
            put(bytes, section.digest_at, &digest);
        }
        let tree = compliance::DigestTree::build(&bytes[self.region.clone()]);
        put(bytes, self.tree.start, &tree.stored);
        let mut postscript = bytes[self.postscript..].to_vec();
        postscript[24..60].fill(0);
        let root =
            compliance::root_digest(bytes, &tree.top, &bytes[self.footer.clone()], &postscript);
        put(bytes, self.postscript + 24, &root);
        let crc = crc32c(&[
            &bytes[self.footer.clone()],
            &bytes[self.postscript..self.postscript + 56],
        ]);
        put(bytes, self.postscript + 56, &crc.to_le_bytes());
    }
}
