//! One leaf column: collects rows, and encodes and appends the pages that are cut from them.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use tarsia_arrow::{
    BeyondPrecision, Fit, LeafPath, Packing, RowsHeld, is_decimal, leaf_beyond_precision,
};
use tarsia_codec::{Registry, RoundingError};
use tarsia_compliance as compliance;
use tarsia_compliance::Salts;
use tarsia_io::Sink;
use tarsia_metadata::ErasureLevel;
use tarsia_page_writer::PageInput;
use tarsia_zones::{ZoneForm, ZoneMap};

use crate::error::{Error, ErrorKind, Result};
use crate::table::Stored;
use crate::write::body::{Body, WrittenPage};
use crate::write::budget::Budget;
use crate::write::chooser::ColumnChooser;
use crate::write::cut::{PAGE_ROWS_MAX, full_pages, full_pages_of, strict_page_rows, whole_rows};
use crate::write::memory::{ColumnKey, FirstPage, WriterMemory};
use crate::write::options::{Erasure, STRICT_KEY_PREFIX, STRICT_VALUE};
use crate::write::page::{self, DataPage, PageId, Repeats};
use crate::write::rounding::ColumnRounding;
use crate::write::shared::SharedPages;
use crate::write::zones::{self, is_without_zones};

/// A leaf column that is being written.
pub(super) struct ColumnWriter {
    /// The top-level field it is a part of, and its number.
    pub(super) field: FieldRef,
    pub(super) index: usize,
    pub(super) leaf: u32,
    /// Pages of lower ranks come first, where several columns have pages.
    pub(super) rank: u32,
    pub(super) buffer: RowsHeld,
    /// The type of its values, if they are decimals.
    decimals: Option<DataType>,
    /// Packing of packed structs.
    pub(super) packing: Option<Packing>,
    /// How values are compared for the column's zones, if it gets some.
    zones: Option<ZoneForm>,
    /// Whether it gets bloom filters.
    has_blooms: bool,
    pub(super) pages: Vec<WrittenPage>,
    pub(super) shared: SharedPages,
    /// The row of the table that the buffer's first is.
    next_row: u64,
    chooser: ColumnChooser,
    rounding: Option<ColumnRounding>,
    /// Largest errors of all pages so far.
    rounding_error: RoundingError,
    first_page: FirstPage,
    /// Where its first page's memory is kept for later files.
    memory_key: Option<ColumnKey>,
    repeats: Repeats,
    /// The column's erasure level.
    pub(super) level: ErasureLevel,
    /// Salts of a column whose values can be erased.
    salts: Option<Arc<Salts>>,
    path: LeafPath,
    /// The name of the leaf, if erasures leave nothing of its values.
    strict: Option<String>,
}

/// Rows of a column that become a page.
pub(super) struct Cut {
    /// Rows of the table that had to come in before the page could end: pages are appended in this order, then by
    /// column, so that their places in the file do not depend on batches either.
    pub(super) known_at: u64,
    /// The column's place among the writers.
    pub(super) column: usize,
    /// Its number among the pages of the column, if it will be stored.
    pub(super) page: usize,
    /// Rows of the column's buffer.
    pub(super) rows: Range<usize>,
}

impl ColumnWriter {
    /// The leaf column `leaf` of the table, which belongs to its top-level field `index` and lies at `path` in it.
    pub(super) fn new(
        field: FieldRef,
        index: usize,
        leaf: u32,
        stored: &Stored,
        path: LeafPath,
        chooser: ColumnChooser,
        rounding: Option<ColumnRounding>,
    ) -> Self {
        Self {
            field,
            index,
            leaf,
            rank: 0,
            decimals: is_decimal(path.data_type()).then(|| path.data_type().clone()),
            buffer: RowsHeld::new(&stored.data_type, path.clone()),
            packing: stored.packing.clone(),
            zones: stored.zone_form(&path),
            has_blooms: false,
            pages: Vec::new(),
            shared: SharedPages::default(),
            next_row: 0,
            chooser,
            rounding,
            rounding_error: RoundingError::default(),
            first_page: FirstPage::default(),
            memory_key: None,
            repeats: Repeats::default(),
            level: ErasureLevel::default(),
            salts: None,
            strict: None,
            path,
        }
    }

    /// Returns its zone map as the file has it; `None` if no page has zones.
    pub(super) fn zone_map(&mut self) -> Result<Option<Vec<u8>>> {
        let n_blocks = self
            .pages
            .iter()
            .map(|page| u64::from(page.descriptor.n_blocks));
        let has_none = self.pages.iter().all(|page| is_without_zones(&page.zones));
        if has_none || n_blocks.sum::<u64>() < 2 {
            return Ok(None);
        }
        let parts = self.pages.iter().map(|page| page.zones.as_slice());
        let map = ZoneMap::of_parts(parts)?;
        self.pages
            .iter_mut()
            .for_each(|page| page.zones = Vec::new());
        Ok(Some(map))
    }

    /// Takes its bloom filters as the file has them; `None` if it has none.
    pub(super) fn take_blooms(&mut self) -> Option<Vec<u8>> {
        let mut filters = Vec::new();
        for page in &mut self.pages {
            filters.append(&mut std::mem::take(&mut page.blooms));
        }
        (!filters.is_empty()).then_some(filters)
    }

    /// The salt of the file's root digest, if values of this column can be erased.
    pub(super) fn root_salt(&self) -> Option<[u8; 32]> {
        self.salts.as_ref().map(|salts| salts.of_root())
    }

    /// The way to it in its top-level field.
    pub(super) fn path(&self) -> &LeafPath {
        &self.path
    }

    /// Sets its rank.
    pub(super) fn with_rank(self, rank: u32) -> Self {
        Self { rank, ..self }
    }

    /// Begins with what the column of this key has left in an earlier file.
    pub(super) fn with_memory(self, memory: &WriterMemory, key: ColumnKey) -> Self {
        Self {
            first_page: FirstPage::after(memory.recall(&key)),
            memory_key: Some(key),
            ..self
        }
    }

    /// Keeps what its first page has left.
    pub(super) fn keep_in(&mut self, memory: &WriterMemory) {
        if let Some(key) = self.memory_key.take()
            && let Some(left) = self.first_page.left()
        {
            memory.keep(key, left);
        }
    }

    /// Leaves its zones out.
    pub(super) fn without_zones(self) -> Self {
        Self {
            zones: None,
            ..self
        }
    }

    /// Adds bloom filters.
    pub(super) fn with_blooms(self) -> Self {
        Self {
            has_blooms: true,
            ..self
        }
    }

    /// Sets what erasures may do with the leaf `name`; there are salts where values can be erased.
    pub(super) fn with_erasure(
        self,
        erasure: Erasure,
        salts: Option<Arc<Salts>>,
        name: &str,
    ) -> Self {
        Self {
            level: erasure.level,
            salts,
            strict: erasure.is_strict.then(|| name.to_owned()),
            ..self
        }
    }

    /// Whether a page may be full with `more` rows, or before.
    pub(super) fn may_fill(&self, more: &Fit, page_bytes: u64) -> bool {
        match self.strict {
            None => {
                let rows = self.buffer.rows() + more.rows;
                rows >= PAGE_ROWS_MAX || self.buffer.may_reach(more, page_bytes)
            }
            Some(_) => {
                let page_rows = strict_page_rows(&self.path, page_bytes);
                self.buffer.rows() + more.rows >= page_rows
            }
        }
    }

    /// Cuts the pages that are full; `column` is the column's place among the writers.
    pub(super) fn push_full(&self, column: usize, page_bytes: u64, cuts: &mut Vec<Cut>) {
        let full = match self.strict {
            None => full_pages(&self.buffer, page_bytes),
            Some(_) => {
                let page_rows = strict_page_rows(&self.path, page_bytes);
                full_pages_of(self.buffer.rows(), page_rows)
            }
        };
        for (i, full) in full.into_iter().enumerate() {
            cuts.push(Cut {
                known_at: self.next_row + full.known_at as u64,
                column,
                page: self.pages.len() + i,
                rows: full.rows,
            });
        }
    }

    /// Cuts a page of the rows held: of as many as pages had better have, if there are enough.
    pub(super) fn cut_early(&self, column: usize) -> Cut {
        self.cut(column, whole_rows(self.buffer.rows()))
    }

    /// Cuts the last page, of all rows held; `None` if there are none.
    pub(super) fn cut_last(&self, column: usize) -> Option<Cut> {
        let rows = self.buffer.rows();
        (rows > 0).then(|| self.cut(column, rows))
    }

    fn cut(&self, column: usize, rows: usize) -> Cut {
        Cut {
            known_at: self.next_row + rows as u64,
            column,
            page: self.pages.len(),
            rows: 0..rows,
        }
    }

    /// Encodes a page; `None` for a column without pages. The first page must be encoded before the others, which use
    /// what it has left.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`], and what encodings refuse.
    pub(super) fn encode(&self, cut: &Cut, registry: &Registry) -> Result<Option<DataPage>> {
        let (buffer, rows) = self.buffer.dense(cut.rows.clone())?;
        let Some(mut input) = buffer.page(rows)? else {
            return Ok(None);
        };
        self.check_decimals(&input, cut.rows.start)?;
        let rounded = match &self.rounding {
            None => None,
            Some(rounding) => Some(rounding.round(&input, self.salts.is_some())?),
        };
        if let Some(rounded) = &rounded {
            input.values = rounded.values()?;
        }
        let number = u32::try_from(cut.page)
            .ok()
            .filter(|number| *number < compliance::SHARED_PAGE_FIRST)
            .ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "2^31 pages in a column"))?;
        let leaf = self.leaf;
        let id = PageId { leaf, number };
        let page_bytes = self.buffer.bytes_of(cut.rows.clone());
        let memory = self.first_page.seen_by(cut.page, page_bytes);
        let context = page::PageContext {
            id,
            registry,
            salts: self.salts.as_deref(),
            strict: self.strict.as_ref().map(|_| &self.path),
        };
        // The first page is chosen for without memory, so that none of the others is like it.
        let repeats = (cut.page > 0).then_some(&self.repeats);
        let mut page = page::encode(input, &context, &self.chooser, &memory, repeats)?;
        if let Some(rounded) = &rounded {
            page.rounding_error = rounded.error;
        }
        if let Some(form) = self.zones {
            page.zones = zones::of_page(form, &input, &page.page.page, self.salts.is_some())?;
        }
        if self.has_blooms {
            page.blooms = zones::blooms_of_page(&input, page.page.page.rows as usize)?;
        }
        Ok(Some(page))
    }

    /// Refuses decimals that their type cannot hold, in a page whose first row is `start` of the rows held. Other
    /// formats cut them to other numbers.
    fn check_decimals(&self, input: &PageInput<'_>, start: usize) -> Result<()> {
        let Some(data_type) = &self.decimals else {
            return Ok(());
        };
        let found = leaf_beyond_precision(data_type, input.values, input.validity);
        let Some(BeyondPrecision { index, what }) = found else {
            return Ok(());
        };
        let what = match input.levels {
            None => format!("row {}: {what}", self.next_row + (start + index) as u64),
            Some(_) => what,
        };
        Err(Error::new(ErrorKind::InvalidInput, what))
    }

    /// Appends a page that [`ColumnWriter::encode`] made.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], [`ErrorKind::LimitExceeded`].
    pub(super) fn append(
        &mut self,
        cut: &Cut,
        page: DataPage,
        registry: &Registry,
        budget: &mut Budget,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<()> {
        self.rounding_error = self.rounding_error.and(page.rounding_error);
        let first_row = self.next_row + cut.rows.start as u64;
        let context = page::PageContext {
            id: PageId {
                leaf: self.leaf,
                number: compliance::SHARED_PAGE_FIRST,
            },
            registry,
            salts: self.salts.as_deref(),
            strict: self.strict.as_ref().map(|_| &self.path),
        };
        let shared_before = self.shared.pages.len();
        let shared = self.shared.append(&context, page.shared, body)?;
        let mut written = body.append_page(page.page, first_row, shared)?;
        written.zones = page.zones;
        written.blooms = page.blooms;
        if self.pages.is_empty() {
            budget.count_first_page();
        }
        let shared_pages = self.shared.pages.iter().skip(shared_before);
        for page in shared_pages.chain([&written]) {
            budget.count_page(page.side.len() + page.zones.len() + page.blooms.len());
        }
        self.pages.push(written);
        Ok(())
    }

    /// Returns what the metadata of the schema says of it if it is rounded.
    pub(super) fn rounded(&self) -> Option<(String, String)> {
        let rounding = self.rounding.as_ref()?;
        // The largest errors are of values that may be erased.
        let error = (self.level != ErasureLevel::Erase).then_some(self.rounding_error);
        Some(rounding.key_value(error))
    }

    /// Returns what the metadata of the schema says of it if it is strict.
    pub(super) fn strict(&self) -> Option<(String, String)> {
        let name = self.strict.as_ref()?;
        let key = format!("{STRICT_KEY_PREFIX}{name}");
        Some((key, STRICT_VALUE.to_owned()))
    }

    /// Forgets the first rows of the buffer, whose pages were appended.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for more rows than it holds.
    pub(super) fn drain(&mut self, rows: usize) -> Result<()> {
        self.buffer.drain(rows)?;
        self.next_row += rows as u64;
        Ok(())
    }
}
