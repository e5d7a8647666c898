//! A file taken apart by the crates below the facade: every block of every page with all that it decodes to, and the
//! bytes that belong to nothing.
//!
//! What readers never show is here, too: filler under null items, entries of dictionaries that nothing refers to, the
//! places that moved blocks left.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tarsia::RowSet;
use tarsia_codec::{AlignedBuf, OwnedValues, Values};
use tarsia_compliance::SHARED_PAGE_FIRST;
use tarsia_metadata as metadata;
use tarsia_metadata::{
    BlockTable, ColumnMeta, ColumnRecord, ErasureLevel, Footer, Header, MovedBlock, NodeRecord,
    PageDescriptor, PageMeta, Postscript, Records, RegionPlace, limits,
};
use tarsia_page_writer::{BlockContext, Survivors, decode_survivors};
use tarsia_structure::{BlockHeader, Meta};

/// A file and its parts.
pub(crate) struct Walked<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) footer: Footer,
    pub(crate) postscript: Postscript,
    pub(crate) columns: Vec<WalkedColumn>,
    pub(crate) deleted: RowSet,
    pub(crate) erased: RowSet,
    pub(crate) moved: Vec<MovedBlock>,
    /// `rounded.` pairs and others of the schema.
    pub(crate) schema_metadata: BTreeMap<String, String>,
}

/// A leaf column.
pub(crate) struct WalkedColumn {
    pub(crate) leaf: u32,
    pub(crate) name: String,
    pub(crate) record_place: u64,
    pub(crate) level: ErasureLevel,
    /// Where its zone map lies.
    pub(crate) zones: Option<RegionPlace>,
    /// Where its bloom filters lie.
    pub(crate) blooms: Option<RegionPlace>,
    pub(crate) meta: ColumnMeta,
    pub(crate) pages: Vec<WalkedPage>,
    pub(crate) shared_pages: Vec<WalkedPage>,
}

/// A page, of data or shared.
pub(crate) struct WalkedPage {
    pub(crate) descriptor: PageDescriptor,
    pub(crate) meta: Meta,
    /// Indices of its shared pages.
    pub(crate) shared: Vec<u32>,
    pub(crate) blocks: Vec<WalkedBlock>,
}

/// A block and all that it decodes to.
pub(crate) struct WalkedBlock {
    /// Where it lies.
    pub(crate) place: Range<u64>,
    /// Where it lay when the file was written.
    pub(crate) first_place: Range<u64>,
    /// Its rows, counted from the first row of its page.
    pub(crate) rows: Range<u32>,
    pub(crate) header: BlockHeader,
    /// Levels, validity and raw values, filler among them.
    pub(crate) decoded: Survivors,
}

impl WalkedColumn {
    pub(crate) fn is_erasable(&self) -> bool {
        self.level == ErasureLevel::Erase
    }

    /// Whether a file with this metadata says that erasures leave nothing of the column.
    pub(crate) fn is_strict(&self, schema_metadata: &BTreeMap<String, String>) -> bool {
        self.is_erasable() && schema_metadata.contains_key(&format!("strict.{}", self.name))
    }

    /// Data pages and shared pages with their numbers, as digests have them.
    pub(crate) fn all_pages(&self) -> impl Iterator<Item = (u32, &WalkedPage)> {
        let data = (0..).zip(&self.pages);
        data.chain((SHARED_PAGE_FIRST..).zip(&self.shared_pages))
    }
}

/// A text of a failure.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn slice(bytes: &[u8], range: Range<u64>) -> Result<&[u8], String> {
    let whole = range.start as usize..range.end as usize;
    let none = || format!("bytes {}..{} are not in the file", range.start, range.end);
    bytes.get(whole).ok_or_else(none)
}

impl<'a> Walked<'a> {
    /// Takes a file apart whose state is clean.
    ///
    /// # Errors
    /// What the parsers and decoders refuse, with its place.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let header = Header::parse(bytes).map_err(text)?;
        let committed = header.committed(bytes.len() as u64).map_err(text)?.bytes;
        let tail = slice(
            bytes,
            committed - limits::POSTSCRIPT_BYTES as u64..committed,
        )?;
        let footer_range = Postscript::footer_range(tail, committed).map_err(text)?;
        let footer_bytes = slice(bytes, footer_range)?;
        let postscript = Postscript::parse(tail, committed, footer_bytes).map_err(text)?;
        // Sections of later versions are known by their ids alone.
        let parsed = Footer::parse(footer_bytes, &postscript, &metadata::SECTIONS_KNOWN);
        let footer = parsed.map_err(text)?;
        let mut walked = Self {
            bytes,
            footer,
            postscript,
            columns: Vec::new(),
            deleted: RowSet::new(),
            erased: RowSet::new(),
            moved: Vec::new(),
            schema_metadata: BTreeMap::new(),
        };
        walked.read_changes()?;
        walked.read_columns()?;
        Ok(walked)
    }

    /// The bytes of the only section with this id.
    fn section(&self, id: u32) -> Result<Option<&'a [u8]>, String> {
        match self.footer.sections_of(id).next() {
            Some(section) => Ok(Some(slice(self.bytes, section.range.clone())?)),
            None => Ok(None),
        }
    }

    fn read_changes(&mut self) -> Result<(), String> {
        let rows = self.postscript.rows;
        let set = |bytes: Option<&[u8]>| -> Result<RowSet, String> {
            match bytes {
                Some(bytes) => RowSet::parse(bytes, rows).map_err(text),
                None => Ok(RowSet::new()),
            }
        };
        self.deleted = set(self.section(metadata::SECTION_DELETED)?)?;
        self.erased = set(self.section(metadata::SECTION_ERASED)?)?;
        if let Some(bytes) = self.section(metadata::SECTION_MOVED)? {
            let late = self.footer.late_range(&self.postscript);
            self.moved = metadata::moved_blocks(bytes, late).map_err(text)?;
        }
        Ok(())
    }

    fn read_columns(&mut self) -> Result<(), String> {
        let range = self.footer.records_range(&self.postscript);
        let records = slice(self.bytes, range.clone())?;
        let mut walk = Records::new(records, self.footer.n_nodes);
        let mut place = range.start;
        let mut columns = Vec::new();
        while let Some(record) = walk.next() {
            let record = record.map_err(text)?;
            if record.ordinal == 0 {
                self.schema_metadata = record.metadata_map().into_iter().collect();
            }
            if let (Some(leaf), Some(column)) = (record.leaf, record.column) {
                let name = record.display_path();
                let walked = self.column(leaf, &record, column, place);
                columns.push(walked.map_err(|error| format!("column `{name}`: {error}"))?);
            }
            place = range.start + walk.position() as u64;
        }
        self.columns = columns;
        Ok(())
    }

    fn column(
        &self,
        leaf: u32,
        node: &NodeRecord<'_>,
        record: ColumnRecord<'_>,
        record_place: u64,
    ) -> Result<WalkedColumn, String> {
        let bounds = self.footer.bounds(&self.postscript);
        let read = |range: Range<u64>| -> Result<&[u8], metadata::Error> {
            // The bounds are those of the file.
            Ok(slice(self.bytes, range).unwrap_or_default())
        };
        let meta = ColumnMeta::load(&record, &bounds, read).map_err(text)?;
        let mut column = WalkedColumn {
            leaf,
            name: node.display_path(),
            record_place,
            level: record.level,
            zones: record.zones,
            blooms: record.blooms,
            pages: Vec::new(),
            shared_pages: Vec::new(),
            meta,
        };
        // A shared page is decoded with those of lower numbers.
        let mut entries: Vec<Arc<OwnedValues>> = Vec::new();
        for number in 0..column.meta.shared_pages.len() {
            let descriptor = column.meta.shared_pages[number];
            let at = |error| format!("shared page {number}: {error}");
            let id = (leaf, SHARED_PAGE_FIRST + number as u32);
            let page = self.page(&column, id, descriptor, &entries).map_err(at)?;
            entries.push(Arc::new(joined(&page)?));
            column.shared_pages.push(page);
        }
        for (number, descriptor) in (0..).zip(column.meta.pages.clone()) {
            let at = |error| format!("page {number}: {error}");
            let page = self.page(&column, (leaf, number), descriptor, &entries);
            column.pages.push(page.map_err(at)?);
        }
        Ok(column)
    }

    fn page(
        &self,
        column: &WalkedColumn,
        (leaf, number): (u32, u32),
        descriptor: PageDescriptor,
        entries: &[Arc<OwnedValues>],
    ) -> Result<WalkedPage, String> {
        let description = column.meta.description_of(&descriptor).map_err(text)?;
        let blob = match &description.meta {
            PageMeta::Own(blob) => blob,
            PageMeta::Common(index) => {
                let found = self.footer.metas.get(usize::from(*index));
                found.ok_or("a page without a description")?
            }
        };
        let meta = Meta::parse(&blob.bytes).map_err(text)?;
        let shared = description.shared.clone();
        let buffers = shared.iter().map(|index| entries.get(*index as usize));
        let buffers: Option<Vec<_>> = buffers.map(|entries| entries.cloned()).collect();
        let buffers = buffers.ok_or("a shared page that is not there")?;
        let table = descriptor.table_range().unwrap_or(0..0);
        let table = BlockTable::parse(slice(self.bytes, table)?, &descriptor).map_err(text)?;
        let context = BlockContext {
            registry: tarsia::registry(),
            meta: &meta,
            shared: &buffers,
            checksum: |bytes| metadata::crc32c(&[bytes]),
        };
        let is_shared = number >= SHARED_PAGE_FIRST;
        let mut blocks = Vec::new();
        for block in 0..descriptor.n_blocks {
            let range = table.block_range(block).map_err(text)?;
            let first_place = descriptor.place + range.start..descriptor.place + range.end;
            let key = (leaf, number, block);
            let mut moved = self.moved.iter();
            let moved = moved.find(|moved| (moved.leaf, moved.page, moved.block) == key);
            let place = moved.map_or(first_place.clone(), |moved| moved.range.clone());
            let rows = table.rows_of(block).map_err(text)?;
            let bytes = slice(self.bytes, place.clone())?;
            let decode = || -> Result<(BlockHeader, Survivors), tarsia_codec::Error> {
                let header = BlockHeader::parse(bytes)?;
                Ok((
                    header,
                    decode_survivors(&context, bytes, rows.end - rows.start)?,
                ))
            };
            let decoded = decode().map_err(|error| format!("block {block}: {error}"));
            let (header, decoded) = decoded?;
            if is_shared && decoded.rows() != (rows.end - rows.start) as usize {
                return Err(format!("block {block}: entries are missing"));
            }
            blocks.push(WalkedBlock {
                place,
                first_place,
                rows,
                header,
                decoded,
            });
        }
        Ok(WalkedPage {
            descriptor,
            meta,
            shared,
            blocks,
        })
    }

    /// Ranges of the file in which every byte has to be zero, with what they are: places that moved blocks left, what
    /// lies behind a block in its byte range, gaps between pages, and what lies behind the digest tree and is neither a
    /// moved block nor a section.
    pub(crate) fn dead_ranges(&self) -> Vec<(&'static str, Range<u64>)> {
        let mut dead = Vec::new();
        let mut used = vec![(0, limits::HEADER_BYTES as u64)];
        for column in &self.columns {
            for (_, page) in column.all_pages() {
                used.push((page.descriptor.place, page.descriptor.range().end));
                for block in &page.blocks {
                    let end = block.place.start + block.header.block_bytes();
                    dead.push(("slack behind a block", end..block.place.end));
                    if block.place != block.first_place {
                        let place = block.first_place.clone();
                        dead.push(("the place that a moved block left", place));
                        used.push((block.place.start, block.place.end));
                    }
                }
            }
        }
        let sections = self.footer.sections.iter();
        used.extend(sections.map(|section| (section.range.start, section.range.end)));
        used.push((self.footer.meta_place, self.footer.late_place()));
        let footer_bytes = u64::from(self.postscript.footer_bytes);
        let end = self.postscript.committed_bytes;
        used.push((end - limits::POSTSCRIPT_BYTES as u64 - footer_bytes, end));
        used.sort_unstable();
        let mut at = 0;
        for (start, end) in used {
            if start > at {
                dead.push(("a gap", at..start));
            }
            at = at.max(end);
        }
        dead.push(("behind the end of the file", at..self.bytes.len() as u64));
        dead.retain(|(_, range)| range.start < range.end);
        dead
    }
}

/// The values of all blocks of a shared page, as one list.
fn joined(page: &WalkedPage) -> Result<OwnedValues, String> {
    let parts: Vec<Values<'_>> = page
        .blocks
        .iter()
        .map(|block| block.decoded.values())
        .collect::<Result<_, _>>()
        .map_err(text)?;
    if let [one] = parts.as_slice() {
        return Ok(OwnedValues::copy_of(*one));
    }
    let len = parts.iter().map(Values::len).sum();
    let aligned = |bytes: &[u8]| {
        let mut out = AlignedBuf::zeroed(bytes.len());
        out.copy_from_slice(bytes);
        out
    };
    match parts.first() {
        Some(Values::Fixed(first)) => {
            let width = first.width();
            let mut bytes = Vec::new();
            for part in &parts {
                bytes.extend_from_slice(part.as_fixed().map_err(text)?.bytes());
            }
            Ok(OwnedValues::Fixed {
                bytes: aligned(&bytes),
                width,
                len,
            })
        }
        Some(Values::Bytes(_)) => {
            let (mut offsets, mut data) = (vec![0], Vec::new());
            for part in &parts {
                let strings = part.as_bytes().map_err(text)?;
                for i in 0..strings.len() {
                    data.extend_from_slice(strings.get(i));
                    offsets.push(data.len() as u32);
                }
            }
            Ok(OwnedValues::Bytes {
                offsets,
                data: aligned(&data),
            })
        }
        _ => Err("a shared page of bits".to_owned()),
    }
}

/// The values of a list, one by one: nothing for bits, which identify nothing.
pub(crate) fn each_value<'v>(values: Values<'v>, visit: &mut dyn FnMut(usize, &'v [u8])) {
    match values {
        Values::Bits(_) => {}
        Values::Fixed(fixed) => (0..fixed.len()).for_each(|i| visit(i, fixed.get(i))),
        Values::Bytes(strings) => (0..strings.len()).for_each(|i| visit(i, strings.get(i))),
    }
}
