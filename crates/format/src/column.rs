//! One column of an open file: plans of what to read of its pages, and what is read decoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, FieldRef};
use tarsia_arrow::{LeafParts, LeafPath, LentItems, Packing};
use tarsia_arrow::{LentStrings, Shown};
use tarsia_codec::{AlignedBuf, OwnedValues, Scratch, Selection, ValueType};
use tarsia_metadata as metadata;
use tarsia_metadata::BlockTable;
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::full_zip::IndexFront;
use tarsia_structure::{
    Block, BlockHeader, Budget, Cut, PageDecoder, RawColumn, RawLevels, RawParts, RowIndex,
    SHARED_DEPTH_MAX, ZipForm,
};

use crate::decoder::{Decoder, Run};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::file::Inner;
use crate::options::Checksums;
use crate::page::{Blocks, Page, check_covered};
use crate::partial::{BlockBytes, Partial};
use crate::plan::{Bare, BlockPart, Piece, Plan, Selected, push_bare};

/// Most bytes a shared buffer may decode to: what writers keep to, with room.
const SHARED_BYTES_MAX: u64 = 64 << 20;

/// What a processor fetches at once.
const LINE_BYTES: u64 = 64;

/// A string is expected to take at least so many bytes with its offset.
const STRING_BYTES: usize = 16;

/// A batch of a scan is cut where its byte strings cannot be lent in one piece, if the pieces have so many bytes in the mean.
const LENT_PIECE_BYTES_MIN: usize = 256 << 10;

/// Rows of so many bytes in each of their columns take longer to be copied than to be decoded one by one.
const LONG_BYTES_MIN: u64 = 4 << 10;

/// Nested rows are expected to decode to so many times their encoded bytes.
const NESTED_EXPANSION: u64 = 3;

/// A top-level field and its leaf columns.
pub(crate) struct TableField {
    pub(crate) field: FieldRef,
    /// In the schema's order; one where the field is flat.
    pub(crate) columns: Vec<Arc<Column>>,
}

/// What the columns of a field hold.
pub(crate) struct Stored {
    /// The field's type; where it is packed, that of whole rows.
    pub(crate) data_type: DataType,
    /// Of packed structs.
    pub(crate) packing: Option<Packing>,
}

impl Stored {
    /// What a top-level field is stored as.
    pub(crate) fn of(field: &Field) -> Result<Self> {
        if !tarsia_metadata::is_packed(field) {
            return Ok(Self {
                data_type: field.data_type().clone(),
                packing: None,
            });
        }
        let packing = Packing::of(field.data_type());
        let packing = packing.map_err(|error| Error::from(error).in_column(field.name()))?;
        Ok(Self {
            data_type: packing.stored_type(),
            packing: Some(packing),
        })
    }
}

/// A leaf column whose pages are known.
pub(crate) struct Column {
    pub(crate) leaf: u32,
    /// Names from the top-level field down, joined by dots.
    pub(crate) name: String,
    /// What stands above the column's items, and their type.
    pub(crate) path: LeafPath,
    /// The Arrow type that the column alone decodes to: the field's where it is flat, that of whole rows where it is packed.
    pub(crate) data_type: DataType,
    /// Of packed structs: the column's items are their rows.
    pub(crate) packing: Option<Packing>,
    /// Physical type; `None` for type Null.
    pub(crate) value_type: Option<ValueType>,
    pub(crate) pages: Vec<Page>,
    pub(crate) shared_pages: Vec<Page>,
    /// See `ColumnMeta::shared_lists`.
    pub(crate) shared_lists: Vec<u16>,
    /// Digest over the column, for `verify`.
    pub(crate) digest: [u8; 32],
    /// Bytes of metadata: record, FlatBuffer, block tables and digests.
    pub(crate) metadata_bytes: u64,
}

/// The rows of a column, as they were decoded.
pub(crate) enum Decoded {
    /// Into memory of ours.
    Raw(RawColumn),
    /// Views of the file.
    Views(RawParts, Vec<Buffer>),
    /// Byte strings back to back in the file, in as many pieces as they lie in.
    InPlace(Vec<(RawParts, Buffer)>),
    /// By a kernel, in whose memory they stay.
    #[cfg(feature = "kernels")]
    Lent(tarsia_kernel_host::Lent),
}

impl TableField {
    /// Whether rows take about a block of each column.
    pub(crate) fn is_long(&self) -> bool {
        let columns = self.columns.iter();
        let bytes: u64 = columns.map(|column| column.encoded_row_bytes()).sum();
        bytes > 0 && bytes >= LONG_BYTES_MIN * self.columns.len() as u64
    }

    pub(crate) fn is_flat(&self) -> bool {
        self.columns.iter().all(|column| column.is_flat())
    }
}

impl Column {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the field is this one column.
    pub(crate) fn is_flat(&self) -> bool {
        self.path.is_flat()
    }

    /// About what a row decodes to.
    pub(crate) fn row_bytes(&self) -> usize {
        match self.value_type {
            // How many items a row has is known from its encoded bytes alone.
            _ if !self.is_flat() => 1 + (NESTED_EXPANSION * self.encoded_row_bytes()) as usize,
            None => 0,
            Some(ValueType::Bits) => 1,
            Some(ValueType::Fixed(width)) => width as usize,
            // Of a dictionary's codes nothing says how long its entries are; a batch that grows too large is cut.
            Some(ValueType::Bytes) => STRING_BYTES.max(self.encoded_row_bytes() as usize),
        }
    }

    /// The same, of what is written when it is decoded: of what is lent, its views.
    pub(crate) fn written_row_bytes(&self, file: &Inner) -> usize {
        match self.is_flat() && self.is_lent(file) {
            true => size_of::<u128>(),
            false => self.row_bytes(),
        }
    }

    /// Whether its byte strings are shown where they are stored as they are.
    fn is_shown(&self, file: &Inner) -> bool {
        self.data_type == DataType::BinaryView && file.stays()
    }

    /// Whether its byte strings are not copied.
    fn is_lent(&self, file: &Inner) -> bool {
        let lies_row_by_row = || self.pages.iter().all(|page| page.is_indexed(file));
        self.is_shown(file) || self.lends_runs(file) && lies_row_by_row()
    }

    /// Whether runs of its byte strings are lent where they lie back to back: what Arrow holds so, too, but text, which must stay what it
    /// was when it was checked.
    fn lends_runs(&self, file: &Inner) -> bool {
        let is_binary = matches!(self.data_type, DataType::Binary | DataType::LargeBinary);
        is_binary && file.stays()
    }

    fn encoded_row_bytes(&self) -> u64 {
        let pages = self.pages.iter().map(|page| &page.descriptor);
        let bytes: u64 = pages.clone().map(|page| u64::from(page.length)).sum();
        let rows: u64 = pages.map(|page| u64::from(page.rows)).sum();
        bytes / rows.max(1)
    }

    /// Adds the place to an error.
    fn at(&self, error: Error, page: usize) -> Error {
        error.in_page(page).in_column(self.name())
    }

    /// Index of the page that holds `row`.
    fn page_of(&self, row: u64) -> Result<usize> {
        let index = self.pages.partition_point(|page| page.rows().end <= row);
        match self.pages.get(index) {
            Some(page) if page.rows().contains(&row) => Ok(index),
            _ => Err(
                Error::new(ErrorKind::Corrupt, format!("no page holds row {row}"))
                    .in_column(self.name()),
            ),
        }
    }

    /// Bytes of the pages that hold some of `rows`; of what is lent, and was checked before, those that lead to it.
    pub(crate) fn encoded_bytes(&self, file: &Inner, rows: &Range<u64>) -> u64 {
        let is_lent = self.is_lent(file);
        let bytes = |page: &Page| match is_lent && page.is_checked(file) {
            true => LINE_BYTES * u64::from(page.descriptor.n_blocks),
            false => u64::from(page.descriptor.length),
        };
        let overlaps = |page: &&Page| {
            let held = page.rows();
            held.start < rows.end && rows.start < held.end
        };
        let pages = self.pages.iter().filter(overlaps);
        pages.map(bytes).sum()
    }

    fn page(&self, index: usize) -> Result<&Page> {
        self.pages.get(index).ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfRange,
                format!("the column has {} pages", self.pages.len()),
            )
            .in_column(self.name())
        })
    }

    /// The block table of a page, read once.
    pub(crate) fn blocks<'a>(&self, file: &Inner, page: &'a Page) -> Result<&'a Blocks> {
        if let Some(blocks) = page.blocks.get() {
            return Ok(blocks);
        }
        let bytes = match page.descriptor.table_range() {
            Some(range) => file.read_once(range)?.to_vec(),
            None => Vec::new(),
        };
        let blocks = BlockTable::parse(bytes, &page.descriptor)?;
        Ok(page.blocks.get_or_init(|| blocks))
    }

    /// The decoders of a page, made once.
    pub(crate) fn decoder(&self, file: &Inner, page: &Page) -> Result<Arc<Decoder>> {
        if let Some(decoder) = page.decoder.get() {
            return Ok(decoder.clone());
        }
        let meta = file.meta(page.descriptor.meta)?;
        if meta.value_type != self.value_type {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "the page's values are not of the column's type",
            ));
        }
        let forms = self.path.forms();
        let admitted = forms.iter().zip(&meta.levels);
        if meta.levels.len() != forms.len() || !admitted.into_iter().all(|(f, l)| f.admits(l)) {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "the page's levels are not the column's",
            ));
        }
        let decoder = self.make_decoder(file, page, 0)?;
        Ok(page.decoder.get_or_init(|| decoder).clone())
    }

    /// The decoders of a page, which `depth` shared pages lead to.
    fn make_decoder(&self, file: &Inner, page: &Page, depth: u32) -> Result<Arc<Decoder>> {
        let index = page.descriptor.meta;
        let list = metadata::shared_list(&self.shared_lists, &page.descriptor);
        if list.is_empty() {
            return file.shared_decoder(index);
        }
        if depth > SHARED_DEPTH_MAX {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("shared buffers of shared buffers more than {SHARED_DEPTH_MAX} deep"),
            ));
        }
        let shared = list
            .iter()
            .map(|number| self.shared_values(file, (*number).into(), depth))
            .collect::<Result<Vec<_>>>()?;
        let meta = file.meta(index)?;
        Ok(Arc::new(Decoder::new(file, index, &meta, &shared)?))
    }

    /// What the rows of a full-zip page look like, if they are read without their blocks; `None` for mini-blocks.
    fn zip_form(&self, file: &Inner, page: &Page) -> Result<Option<ZipForm>> {
        if self.is_flat() && self.value_type != Some(ValueType::Bytes) {
            return Ok(None);
        }
        let meta = file.meta(page.descriptor.meta)?;
        match ZipForm::of(&meta).map_err(while_reading)? {
            None => Ok(None),
            Some(form) if form.is_indexed() => Ok(Some(form)),
            Some(form) => {
                // Of these a kernel is given whole blocks.
                let decoder = self.decoder(file, page)?;
                Ok(decoder.native().map(|_| form))
            }
        }
    }

    /// The decoded values of a shared page, made once.
    pub(crate) fn entries(&self, file: &Inner, number: usize) -> Result<Arc<OwnedValues>> {
        self.shared_values(file, number, 0)
    }

    fn shared_values(&self, file: &Inner, number: usize, depth: u32) -> Result<Arc<OwnedValues>> {
        let page = self.shared_pages.get(number).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the page names shared page {number} of {}",
                    self.shared_pages.len()
                ),
            )
        })?;
        if let Some(entries) = page.entries.get() {
            return Ok(entries.clone());
        }
        let decode = || -> Result<OwnedValues> {
            let meta = file.meta(page.descriptor.meta)?;
            let flat = meta.layers.is_empty() && meta.levels.is_empty();
            let (Some(value_type), true) = (meta.value_type, flat) else {
                let what = "a shared page with nulls or levels";
                return Err(Error::new(ErrorKind::Corrupt, what));
            };
            let decoder = self.make_decoder(file, page, depth + 1)?;
            let rows = page.descriptor.rows as usize;
            let plan = self.plan_range(file, page, 0, 0..page.descriptor.rows)?;
            let fetched = file.fetch(&plan.parts)?;
            file.count_shared_page(&plan);
            let data_bytes = decoded_bytes(fetched.iter().map(|bytes| &**bytes))?;
            if data_bytes > SHARED_BYTES_MAX {
                return Err(Error::new(
                    ErrorKind::LimitExceeded,
                    format!("a shared page of {data_bytes} bytes"),
                ));
            }
            let mut take = AlignedBuf::zeroed;
            let mut scratch = Scratch::new();
            let mut raw = RawColumn::new(value_type, rows, data_bytes as usize, &mut take)
                .map_err(while_reading)?;
            let run = Run {
                page,
                parts: &plan.parts,
                fetched: &fetched,
                plan: &plan,
            };
            decoder.decode(file, &run, &mut raw, &mut scratch, &mut take)?;
            let parts = raw.finish();
            let mut values = parts.values;
            values.reset_len(parts.values_len);
            Ok(match value_type {
                ValueType::Bits => OwnedValues::Bits {
                    bytes: values,
                    len: rows,
                },
                ValueType::Fixed(width) => OwnedValues::Fixed {
                    bytes: values,
                    width: width as usize,
                    len: rows,
                },
                ValueType::Bytes => {
                    let offsets = parts
                        .offsets
                        .chunks_exact(4)
                        .take(rows + 1)
                        .map(|end| end.try_into().map_or(0, u32::from_le_bytes))
                        .collect();
                    OwnedValues::Bytes {
                        offsets,
                        data: values,
                    }
                }
            })
        };
        let entries = decode().map_err(|error| error.prefixed(&format!("shared page {number}")))?;
        // What was decoded must fit together, since decoders index into it.
        entries.as_values().map_err(while_reading)?;
        Ok(page.entries.get_or_init(|| Arc::new(entries)).clone())
    }

    /// The blocks of one page that hold `rows` of it.
    fn plan_range(
        &self,
        file: &Inner,
        page: &Page,
        index: usize,
        rows: Range<u32>,
    ) -> Result<Plan> {
        let mut plan = Plan::default();
        self.plan_page_range(file, (page, index), None, rows, &mut plan)?;
        Ok(plan)
    }

    fn plan_page_range(
        &self,
        file: &Inner,
        (page, index): (&Page, usize),
        zip: Option<ZipForm>,
        rows: Range<u32>,
        plan: &mut Plan,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let blocks = self.blocks(file, page)?;
        let mut block = blocks.block_of_row(rows.start)?;
        let mut row = rows.start;
        while row < rows.end {
            let held = blocks.rows_of(block)?;
            if !held.contains(&row) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    "block rows do not follow each other",
                ));
            }
            let upto = rows.end.min(held.end);
            let whole = held == (row..upto);
            match zip.filter(|form| !whole || form.is_indexed()) {
                Some(form) => {
                    let rows = row..upto;
                    push_bare(file, (page, index), (blocks, block), form, rows, plan)?;
                }
                None => plan.parts.push(BlockPart {
                    page: index as u32,
                    block,
                    place: page.place_of(blocks, block)?,
                    rows: held.end - held.start,
                    selected: Selected::Range {
                        start: row - held.start,
                        len: upto - row,
                    },
                    bare: None,
                }),
            }
            plan.rows += (upto - row) as usize;
            row = upto;
            block += 1;
        }
        Ok(())
    }

    /// The blocks that hold `rows` of the table.
    pub(crate) fn plan_rows(&self, file: &Inner, rows: Range<u64>) -> Result<Plan> {
        let mut plan = Plan {
            may_be_cut: true,
            ..Plan::default()
        };
        if rows.is_empty() || self.value_type.is_none() {
            plan.rows = (rows.end - rows.start) as usize;
            return Ok(plan);
        }
        self.plan_run(file, rows, &mut plan)?;
        Ok(plan)
    }

    /// Adds the blocks that hold a run of rows.
    fn plan_run(&self, file: &Inner, rows: Range<u64>, plan: &mut Plan) -> Result<()> {
        let mut row = rows.start;
        let mut index = self.page_of(row)?;
        while row < rows.end {
            let page = self.page(index)?;
            let held = page.rows();
            if !held.contains(&row) {
                return Err(self.at(
                    Error::new(ErrorKind::Corrupt, format!("no page holds row {row}")),
                    index,
                ));
            }
            let upto = held.end.min(rows.end);
            let zip = self.zip_form(file, page);
            zip.and_then(|zip| {
                // Inside a page, whose rows are counted in 32 bits.
                let rows = (row - held.start) as u32..(upto - held.start) as u32;
                self.plan_page_range(file, (page, index), zip, rows, plan)
            })
            .map_err(|error| self.at(error, index))?;
            row = upto;
            index += 1;
        }
        Ok(())
    }

    /// Block tables, indexes of rows, and shared pages, of pages with some of the rows `sorted` (rising) that were not
    /// read before.
    pub(crate) fn push_tables_to_read(
        &self,
        file: &Inner,
        sorted: &[u64],
        places: &mut Vec<Range<u64>>,
    ) {
        let mut at = 0;
        while let Some(row) = sorted.get(at) {
            let Ok(index) = self.page_of(*row) else {
                return;
            };
            let Some(page) = self.pages.get(index) else {
                return;
            };
            if page.blocks.get().is_none() {
                places.extend(page.descriptor.table_range());
                if page.is_indexed(file) && page.descriptor.table_range().is_none() {
                    let Range { start, end } = page.descriptor.range();
                    let front = IndexFront::bytes_max(page.descriptor.rows);
                    places.push(start..end.min(start + front));
                }
                for number in metadata::shared_list(&self.shared_lists, &page.descriptor) {
                    let shared = self.shared_pages.get(usize::from(*number));
                    if let Some(shared) = shared.filter(|page| page.entries.get().is_none()) {
                        places.extend(shared.descriptor.table_range());
                        places.push(shared.descriptor.range());
                    }
                }
            }
            at += sorted[at..].partition_point(|row| *row < page.rows().end);
        }
    }

    /// The blocks that hold the rows `sorted` (rising, repeats allowed). Blocks of which every row is asked for once are read
    /// as ranges.
    pub(crate) fn plan_indices(&self, file: &Inner, sorted: &[u64]) -> Result<Plan> {
        let mut plan = Plan {
            rows: sorted.len(),
            ..Plan::default()
        };
        if self.value_type.is_none() {
            return Ok(plan);
        }
        let mut at = 0;
        while let Some(row) = sorted.get(at) {
            let index = self.page_of(*row)?;
            let page = self.page(index)?;
            let held = page.rows();
            let page_end = at + sorted[at..].partition_point(|row| *row < held.end);
            self.plan_page_indices(file, page, index, &sorted[at..page_end], &mut plan)
                .map_err(|error| self.at(error, index))?;
            at = page_end;
        }
        Ok(plan)
    }

    /// The blocks that hold `rows`, in their order: a block for each run of them that follow each other. As [`Column::plan_indices`] where rows
    /// are about as long as a block, which is then read for one of them.
    pub(crate) fn plan_in_order(&self, file: &Inner, rows: &[u64]) -> Result<Plan> {
        let mut plan = Plan {
            is_of_long_rows: true,
            ..Plan::default()
        };
        if self.value_type.is_none() {
            plan.rows = rows.len();
            return Ok(plan);
        }
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            self.plan_run(file, run[0]..run[0] + run.len() as u64, &mut plan)?;
        }
        Ok(plan)
    }

    fn plan_page_indices(
        &self,
        file: &Inner,
        page: &Page,
        index: usize,
        sorted: &[u64],
        plan: &mut Plan,
    ) -> Result<()> {
        let first_row = page.descriptor.first_row;
        let blocks = self.blocks(file, page)?;
        let zip = self.zip_form(file, page)?;
        let mut at = 0;
        while let Some(row) = sorted.get(at) {
            // Inside a page, whose rows are counted in 32 bits.
            let block = blocks.block_of_row((row - first_row) as u32)?;
            let held = blocks.rows_of(block)?;
            let n_rows = held.end - held.start;
            let start = first_row + u64::from(held.start);
            let end = first_row + u64::from(held.end);
            let block_end = at + sorted[at..].partition_point(|row| *row < end);
            let rows = &sorted[at..block_end];
            if let Some(form) = zip {
                // Each run of rows by itself: what lies close together is read together all the same.
                for run in rows.chunk_by(|a, b| a + 1 == *b) {
                    let first = (run[0] - first_row) as u32;
                    let run = first..first + run.len() as u32;
                    push_bare(file, (page, index), (blocks, block), form, run, plan)?;
                }
                at = block_end;
                continue;
            }
            let contiguous = rows.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            let selected = if contiguous {
                Selected::Range {
                    start: (row - start) as u32,
                    len: rows.len() as u32,
                }
            } else {
                let from = plan.indices.len();
                plan.indices
                    .extend(rows.iter().map(|row| (row - start) as u32));
                Selected::Indices(from..plan.indices.len())
            };
            plan.parts.push(BlockPart {
                page: index as u32,
                block,
                place: page.place_of(blocks, block)?,
                rows: n_rows,
                selected,
                bare: None,
            });
            at = block_end;
        }
        Ok(())
    }

    /// Decodes levels and items of what was planned and fetched, for columns that are not flat.
    pub(crate) fn decode_nested(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        budget: &Budget,
        scratch: &mut Scratch,
    ) -> Result<LeafParts> {
        let mut levels = RawLevels::new(self.path.forms().iter().copied(), budget);
        #[cfg(feature = "kernels")]
        if !self.is_native(file, plan)? {
            let plan = (plan, self.expected_bytes(plan, fetched)?);
            return self.decode_once(file, plan, fetched, (levels, &[]), budget, scratch);
        }
        if plan.is_of_long_rows && !self.is_shown(file) {
            // The blocks' places say about what they decode to, and no block has to be looked at for that.
            let plan = (plan, plan.bytes());
            return self.decode_once(file, plan, fetched, (levels, &[]), budget, scratch);
        }
        let items = self.decode_levels(file, plan, fetched, &mut levels, scratch, |_| true)?;
        let data_bytes = match self.value_type {
            Some(ValueType::Bytes) => self.data_bytes(plan, fetched)?,
            _ => 0,
        };
        let below = (levels, items.as_slice(), data_bytes);
        self.decode_items(file, plan, fetched, below, scratch)
    }

    /// The first half of [`Column::decode_nested`]: the levels, and the items of each part that are below them. The checksums of those parts are
    /// compared whose number `check` wants.
    fn decode_levels(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        levels: &mut RawLevels<'_>,
        scratch: &mut Scratch,
        check: impl Fn(usize) -> bool,
    ) -> Result<Vec<Vec<Range<u32>>>> {
        let take = &mut |len| file.pool.take(len);
        let mut items = Vec::with_capacity(plan.parts.len());
        self.each_block(file, plan, fetched, check, |part, decoder, block| {
            let mut ranges = Vec::new();
            let selection = plan.selection(part);
            levels.push(decoder, block, selection, scratch, take, &mut ranges)?;
            items.push(ranges);
            Ok(())
        })?;
        Ok(items)
    }

    /// The second half: the items, whose number is known before memory is taken for them, as are the most bytes that they take as byte strings.
    fn decode_items(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        (levels, items, data_bytes): (RawLevels<'_>, &[Vec<Range<u32>>], u64),
        scratch: &mut Scratch,
    ) -> Result<LeafParts> {
        let take = &mut |len| file.pool.take(len);
        let ranges = items.iter().map(Vec::as_slice);
        let views = self.decode_views(file, plan, fetched, ranges, false, scratch)?;
        if let Some((items, lent)) = views {
            return Ok(LeafParts {
                levels: levels.into_levels(),
                items,
                lent: Some(LentItems::Views(lent)),
            });
        }
        let in_place = self.decode_items_in_place(file, plan, fetched, items, scratch)?;
        if let Some((items, lent)) = in_place {
            return Ok(LeafParts {
                levels: levels.into_levels(),
                items,
                lent: Some(LentItems::Run(lent)),
            });
        }
        let value_type = self.value_type.unwrap_or(ValueType::Fixed(0));
        let mut raw = RawColumn::new(value_type, levels.n_items(), data_bytes as usize, take)
            .map_err(|error| while_reading(error).in_column(self.name()))?;
        self.push_items(file, plan, fetched, items, &mut raw, scratch)?;
        Ok(LeafParts {
            levels: levels.into_levels(),
            items: raw.finish(),
            lent: None,
        })
    }

    /// Appends the items of each part of a plan, whose checksums were compared when the levels were decoded.
    fn push_items(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        items: &[Vec<Range<u32>>],
        raw: &mut RawColumn,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let take = &mut |len| file.pool.take(len);
        let mut items = items.iter();
        let check = |_| false;
        self.each_block(file, plan, fetched, check, |_, decoder, block| {
            let ranges = items.next().map(Vec::as_slice).unwrap_or_default();
            raw.push_ranges(decoder, block, ranges, scratch, take)
        })
    }

    /// Levels and items block by block, each behind what is there and looked at once: while one is decoded, the next ones come from the disk.
    /// Pages that a kernel decodes, it does; of lists with a cut it decodes only the cut's items. Memory is taken for about `expected` bytes.
    fn decode_once(
        &self,
        file: &Inner,
        (plan, expected): (&Plan, u64),
        fetched: &[impl AsRef<[u8]>],
        (mut levels, cuts): (RawLevels<'_>, &[(usize, Cut)]),
        budget: &Budget,
        scratch: &mut Scratch,
    ) -> Result<LeafParts> {
        let take = &mut |len| file.pool.take(len);
        let mut raw = self.room_for(plan, expected, budget, take)?;
        #[cfg(feature = "kernels")]
        let mut known = None;
        for (index, parts, now) in plan.pages(fetched) {
            let mut decode = || -> Result<()> {
                let page = self.page(index)?;
                let decoder = self.decoder(file, page)?;
                #[cfg(feature = "kernels")]
                if let Some(kernel) = decoder.kernel() {
                    let run = Run {
                        page,
                        parts,
                        fetched: now,
                        plan,
                    };
                    let value_type = self.value_type.unwrap_or(ValueType::Fixed(0));
                    let of_strings = match (known, value_type) {
                        (Some(bytes), _) => bytes,
                        (None, ValueType::Bytes) => self.data_bytes(plan, fetched)?,
                        (None, _) => 0,
                    };
                    let most = budget.left().saturating_add(*known.insert(of_strings));
                    return kernel.decode_nested(file, &run, cuts, most, &mut |batch| {
                        let items = batch.items;
                        let below = (value_type, items.rows);
                        levels.push_decoded(batch.rows, batch.levels, below, take)?;
                        raw.reserve(items.rows, items.values.len(), take)?;
                        raw.push_decoded(&items, take)
                    });
                }
                #[cfg(not(feature = "kernels"))]
                let _ = cuts;
                for (part, bytes) in parts.iter().zip(now) {
                    let (into, place) = ((&mut levels, &mut raw), (plan, part, bytes.as_ref()));
                    self.push_part(file, page, &decoder, place, into, scratch)?;
                }
                Ok(())
            };
            decode().map_err(|error| self.at(error, index))?;
        }
        Ok(LeafParts {
            levels: levels.into_levels(),
            items: raw.finish(),
            lent: None,
        })
    }

    /// Room for about as many items as so many bytes hold, which may grow: memory that grows is copied.
    fn room_for(
        &self,
        plan: &Plan,
        bytes: u64,
        budget: &Budget,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<RawColumn> {
        let value_type = self.value_type.unwrap_or(ValueType::Fixed(0));
        let mut raw = RawColumn::new(value_type, 0, 0, take).map_err(while_reading)?;
        let bytes = bytes.min(budget.left()) as usize;
        let n_items = match value_type {
            ValueType::Bits => bytes.saturating_mul(8),
            ValueType::Fixed(width) => bytes / (width as usize).max(1),
            ValueType::Bytes => plan.rows,
        };
        raw.reserve(n_items, bytes, take).map_err(while_reading)?;
        Ok(raw)
    }

    /// Appends levels and items of a part that this build decodes, with room for them.
    fn push_part(
        &self,
        file: &Inner,
        page: &Page,
        decoder: &Decoder,
        (plan, part, bytes): (&Plan, &BlockPart, &[u8]),
        (levels, raw): (&mut RawLevels<'_>, &mut RawColumn),
        scratch: &mut Scratch,
    ) -> Result<()> {
        let take = &mut |len| file.pool.take(len);
        let mut ranges = Vec::new();
        let selection = plan.selection(part);
        let part_bytes = self.part_bytes(part, bytes)?;
        let data_bytes = part_bytes.saturating_mul(selection.repeats());
        let place = (plan, part, bytes);
        let done = with_block(
            file,
            page,
            place,
            decoder.native(),
            true,
            |decoder, block| {
                levels.push(decoder, block, selection, scratch, take, &mut ranges)?;
                let n_items = ranges.iter().map(ExactSizeIterator::len).sum();
                raw.reserve(n_items, data_bytes as usize, take)?;
                raw.push_ranges(decoder, block, &ranges, scratch, take)
            },
        );
        done.map_err(|error| error.in_block(part.block.into()))
    }

    /// The items of each part as views of the file, where they are byte strings that come as views and all lie in the file's memory as
    /// they are. `None` of others.
    fn decode_views<'i>(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        mut items: impl Iterator<Item = &'i [Range<u32>]> + Clone,
        check: bool,
        scratch: &mut Scratch,
    ) -> Result<Option<(RawParts, Vec<Buffer>)>> {
        let Some(home) = file.home().filter(|_| self.is_shown(file)) else {
            return Ok(None);
        };
        let take = &mut |len| file.pool.take(len);
        let n_items = items.clone().flatten().map(|range| range.len()).sum();
        let mut strings = LentStrings::new(home, n_items, take)
            .map_err(|error| while_reading(error).in_column(self.name()))?;
        let mut are_lent = true;
        self.each_block(
            file,
            plan,
            fetched,
            |_| check,
            |_, decoder, block| {
                for range in items.next().into_iter().flatten() {
                    are_lent =
                        are_lent && strings.push(decoder, block, range.clone(), scratch, take)?;
                }
                Ok(())
            },
        )?;
        if !are_lent {
            return Ok(None);
        }
        let (views, shown) = strings.finish();
        let shown = shown.into_iter().map(|shown| match shown {
            Shown::Lent(place) => file.lend(place),
            Shown::Copied(bytes) => Buffer::from(bytes),
        });
        Ok(Some((views, shown.collect())))
    }

    /// Whether all pages of a plan are decoded by this build.
    fn is_native(&self, file: &Inner, plan: &Plan) -> Result<bool> {
        for (index, ..) in plan.pages::<()>(&[]) {
            let decoder = self.decoder(file, self.page(index)?);
            let decoder = decoder.map_err(|error| self.at(error, index))?;
            if decoder.native().is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows of a flat plan as views of the file, where [`Column::decode_views`] can: not of rows picked out of a block.
    fn decode_flat_views(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        scratch: &mut Scratch,
    ) -> Result<Option<(RawParts, Vec<Buffer>)>> {
        if !self.is_shown(file) || !self.is_native(file, plan)? {
            return Ok(None);
        }
        let range = |part: &BlockPart| match part.selected {
            Selected::Range { start, len } => Some(start..start + len),
            Selected::Indices(_) => None,
        };
        match plan.parts.iter().map(range).collect::<Option<Vec<_>>>() {
            Some(items) => {
                let items = items.chunks(1);
                self.decode_views(file, plan, fetched, items, true, scratch)
            }
            None => Ok(None),
        }
    }

    /// The pieces of a plan of byte strings that may be lent out of the file, since they lie there back to back. `None` where they may not, or
    /// some do not lie so.
    fn pieces_in_place<'p>(&self, file: &Inner, plan: &'p Plan) -> Result<Option<Vec<Piece<'p>>>> {
        if !self.lends_runs(file) || plan.parts.is_empty() {
            return Ok(None);
        }
        for part in &plan.parts {
            if part.bare.is_none() || !self.page(part.page as usize)?.is_indexed(file) {
                return Ok(None);
            }
        }
        if !self.is_native(file, plan)? {
            return Ok(None);
        }
        Ok(Some(plan.pieces()))
    }

    /// The items of each part where they lie in the file, in one piece. `None` of others.
    fn decode_items_in_place(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        items: &[Vec<Range<u32>>],
        scratch: &mut Scratch,
    ) -> Result<Option<(RawParts, Buffer)>> {
        let pieces = self.pieces_in_place(file, plan)?;
        let Some([Piece { place, .. }]) = pieces.as_deref() else {
            return Ok(None);
        };
        let take = &mut |len| file.pool.take(len);
        let n_items = items.iter().flatten().map(|range| range.len()).sum();
        let mut ends = RawColumn::ends(n_items, place.len(), take)
            .map_err(|error| while_reading(error).in_column(self.name()))?;
        self.push_items(file, plan, fetched, items, &mut ends, scratch)?;
        // Rows without an item have no bytes, so these are all of the run, unless only some items of it are wanted.
        let are_all = ends.data_bytes() == place.len();
        Ok(are_all.then(|| (ends.finish(), file.lend(place.clone()))))
    }

    /// The rows of a flat plan of byte strings where they lie in the file, back to back: in one piece, or in few large ones where the plan may be
    /// cut. `None` of others.
    fn decode_in_place(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<Option<Vec<(RawParts, Buffer)>>> {
        if !self.is_flat() {
            return Ok(None);
        }
        let Some(pieces) = self.pieces_in_place(file, plan)? else {
            return Ok(None);
        };
        let bytes: usize = pieces.iter().map(|piece| piece.place.len()).sum();
        let are_few = plan.may_be_cut && bytes / pieces.len().max(1) >= LENT_PIECE_BYTES_MIN;
        if pieces.len() > 1 && !are_few {
            return Ok(None);
        }
        let mut fetched = fetched;
        let mut decoded = Vec::new();
        for Piece { place, parts } in pieces {
            let (now, later) = fetched.split_at(parts.len().min(fetched.len()));
            fetched = later;
            let rows = parts.iter().map(|part| part.rows as usize).sum();
            let mut ends = RawColumn::ends(rows, place.len(), take)
                .map_err(|error| while_reading(error).in_column(self.name()))?;
            let each = (parts, now);
            self.each_part(
                file,
                plan,
                each,
                |_| true,
                |_, decoder, block| ends.push(decoder, block, Selection::All, scratch, take),
            )?;
            decoded.push((ends.finish(), file.lend(place)));
        }
        Ok(Some(decoded))
    }

    /// Calls `use_block` for each part of a plan, in order.
    fn each_block(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        check: impl Fn(usize) -> bool,
        use_block: impl FnMut(&BlockPart, &PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        self.each_part(file, plan, (&plan.parts, fetched), check, use_block)
    }

    /// The same for some of its parts.
    fn each_part(
        &self,
        file: &Inner,
        plan: &Plan,
        (parts, fetched): (&[BlockPart], &[impl AsRef<[u8]>]),
        check: impl Fn(usize) -> bool,
        mut use_block: impl FnMut(&BlockPart, &PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        let mut at_page: Option<(u32, Arc<Decoder>)> = None;
        for (number, (part, bytes)) in parts.iter().zip(fetched).enumerate() {
            let check = check(number);
            let index = part.page as usize;
            let page = self.page(index)?;
            let decoder = match &at_page {
                Some((page, decoder)) if *page == part.page => decoder.clone(),
                _ => {
                    let decoder = self.decoder(file, page);
                    decoder.map_err(|error| self.at(error, index))?
                }
            };
            let place = (plan, part, bytes.as_ref());
            let done = with_block(
                file,
                page,
                place,
                decoder.native(),
                check,
                |decoder, block| use_block(part, decoder, block),
            );
            let done = done.map_err(|error| error.in_block(part.block.into()));
            done.map_err(|error| self.at(error, index))?;
            at_page = Some((part.page, decoder));
        }
        Ok(())
    }

    /// Decodes what was planned and fetched. `take` hands out output memory.
    pub(crate) fn decode(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<Decoded> {
        if let Some((rows, lent)) = self.decode_flat_views(file, plan, fetched, scratch)? {
            return Ok(Decoded::Views(rows, lent));
        }
        if let Some(pieces) = self.decode_in_place(file, plan, fetched, scratch, take)? {
            return Ok(Decoded::InPlace(pieces));
        }
        let value_type = self.value_type.unwrap_or(ValueType::Fixed(0));
        let data_bytes = match value_type {
            ValueType::Bytes => self.data_bytes(plan, fetched)?,
            _ => 0,
        };
        #[cfg(feature = "kernels")]
        if let Some(lent) = self.decode_whole(file, plan, fetched, data_bytes)? {
            if !lent.is_dear() {
                return Ok(Decoded::Lent(lent));
            }
            let mut copy = || -> Result<RawColumn> {
                let bytes = data_bytes as usize;
                let mut raw =
                    RawColumn::new(value_type, plan.rows, bytes, take).map_err(while_reading)?;
                let view = lent.view().map_err(crate::decoder::kernel_failed)?;
                raw.push_decoded(&view, take).map_err(while_reading)?;
                Ok(raw)
            };
            let raw = copy().map_err(|error| error.in_column(self.name()))?;
            return Ok(Decoded::Raw(raw));
        }
        let mut raw = RawColumn::new(value_type, plan.rows, data_bytes as usize, take)
            .map_err(|error| while_reading(error).in_column(self.name()))?;
        for (index, parts, now) in plan.pages(fetched) {
            let page = self.page(index)?;
            let run = Run {
                page,
                parts,
                fetched: now,
                plan,
            };
            self.decoder(file, page)
                .and_then(|decoder| decoder.decode(file, &run, &mut raw, scratch, take))
                .map_err(|error| self.at(error, index))?;
        }
        if raw.rows() != plan.rows {
            return Err(
                Error::new(ErrorKind::Corrupt, "blocks hold fewer rows than they say")
                    .in_column(self.name()),
            );
        }
        Ok(Decoded::Raw(raw))
    }

    /// The same by a kernel, where one decodes all pages: the rows stay in its memory. `None` where they had better not.
    #[cfg(feature = "kernels")]
    fn decode_whole(
        &self,
        file: &Inner,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        data_bytes: u64,
    ) -> Result<Option<tarsia_kernel_host::Lent>> {
        let mut whole = None;
        for (index, parts, now) in plan.pages(fetched) {
            let page = self.page(index)?;
            let decoder = self
                .decoder(file, page)
                .map_err(|error| self.at(error, index))?;
            let Some(kernel) = decoder.kernel() else {
                return Ok(None);
            };
            let run = Run {
                page,
                parts,
                fetched: now,
                plan,
            };
            let done = match &mut whole {
                Some(whole) => kernel.push_to(file, &run, whole),
                None => match kernel.whole(plan.rows, data_bytes) {
                    Some(new) => kernel.push_to(file, &run, whole.insert(new)),
                    None => return Ok(None),
                },
            };
            done.map_err(|error| self.at(error, index))?;
        }
        let lent = whole.map(tarsia_kernel_host::Whole::finish).transpose();
        lent.map_err(|error| crate::decoder::kernel_failed(error).in_column(self.name()))
    }

    /// The front of a long row's block, or all of one that cannot be read in parts.
    pub(crate) fn fetch_front<'f>(
        &self,
        file: &'f Inner,
        part: &BlockPart,
    ) -> Result<BlockBytes<'f>> {
        let open = || -> Result<BlockBytes<'f>> {
            let Some(mut partial) = Partial::open(file, part)? else {
                return Ok(BlockBytes::Whole(file.read(part.place.clone())?));
            };
            let decoder = self.decoder(file, self.page(part.page as usize)?)?;
            match decoder.native() {
                Some(decoder) => partial.read_front(file, decoder)?,
                None => return Ok(BlockBytes::Whole(file.read(part.place.clone())?)),
            }
            Ok(BlockBytes::Partial(partial))
        };
        let opened = open().map_err(|error| error.in_block(part.block.into()));
        opened.map_err(|error| self.at(error, part.page as usize))
    }

    /// As [`Column::decode_nested`], with only the items of a cut of some lists (by the number of the level with their lengths); of long rows only what that takes
    /// is read.
    pub(crate) fn decode_elements<'f>(
        &self,
        file: &'f Inner,
        plan: &Plan,
        blocks: &mut [BlockBytes<'f>],
        cuts: &[(usize, Cut)],
        budget: &Budget,
        scratch: &mut Scratch,
    ) -> Result<LeafParts> {
        let forms = self.path.forms().iter().copied();
        let mut levels = RawLevels::with_cuts(forms, cuts.iter().copied(), budget);
        #[cfg(feature = "kernels")]
        if !self.is_native(file, plan)? {
            for (part, block) in plan.parts.iter().zip(blocks.iter_mut()) {
                if block.is_partial() {
                    *block = BlockBytes::Whole(file.read(part.place.clone())?);
                }
            }
            let plan = (plan, self.expected_bytes(plan, blocks)?);
            return self.decode_once(file, plan, blocks, (levels, cuts), budget, scratch);
        }
        let check = |number: usize| blocks.get(number).is_some_and(|block| !block.is_partial());
        let items = self.decode_levels(file, plan, blocks, &mut levels, scratch, check)?;
        // What can be said of all of them now is fetched at once.
        let mut places = Vec::new();
        for ((part, block), ranges) in plan.parts.iter().zip(&*blocks).zip(&items) {
            let page = self.page(part.page as usize)?;
            if let (BlockBytes::Partial(partial), true) = (block, file.stays()) {
                let decoder = self.decoder(file, page)?;
                let decoder = decoder.native().into_iter();
                places.extend(
                    decoder.flat_map(|decoder| partial.item_places(decoder, ranges, scratch)),
                );
            }
        }
        file.prefetch(&places);
        let mut data_bytes = 0u64;
        for ((part, block), ranges) in plan.parts.iter().zip(blocks.iter_mut()).zip(&items) {
            if let BlockBytes::Partial(partial) = block {
                let read = self.page(part.page as usize).and_then(|page| {
                    let decoder = self.decoder(file, page)?;
                    match decoder.native() {
                        Some(decoder) => partial.read_items(file, decoder, ranges, scratch),
                        None => Ok(()),
                    }
                });
                let read = read.map_err(|error| error.in_block(part.block.into()));
                read.map_err(|error| self.at(error, part.page as usize))?;
            }
            // Of a few items of long rows, all bytes of the rows would be far too many.
            let of_part = match block.data_bytes() {
                Some(bytes) => bytes,
                None => self.part_bytes(part, block.as_ref())? * plan.selection(part).repeats(),
            };
            data_bytes = data_bytes.saturating_add(of_part);
        }
        let data_bytes = match self.value_type {
            Some(ValueType::Bytes) => data_bytes,
            _ => 0,
        };
        let below = (levels, items.as_slice(), data_bytes);
        self.decode_items(file, plan, blocks, below, scratch)
    }

    /// The most bytes that rows of a nested column may take, where those who asked for them cannot do with fewer: nulls that stand for
    /// more are refused, here and by the writer.
    pub(crate) fn nested_bytes_max(&self, plan: &Plan, fetched: &[impl AsRef<[u8]>]) -> u64 {
        // What a block decodes to is bounded for each level and the items; a union's slots take more than what is stored of them.
        let n_parts = 8 * (self.path.forms().len() as u64 + 2);
        let blocks = plan.parts.iter().zip(fetched);
        let bytes = blocks.map(|(part, bytes)| {
            let n_rows = part.selected.n_rows();
            let of_row =
                tarsia_structure::block::row_decoded_bytes_max(bytes.as_ref().len() as u64);
            n_rows.saturating_mul(of_row).saturating_mul(n_parts)
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// An upper bound on the bytes of the strings that a plan decodes to.
    pub(crate) fn data_bytes(&self, plan: &Plan, fetched: &[impl AsRef<[u8]>]) -> Result<u64> {
        // A value may be asked for more than once.
        self.sum_blocks(plan, fetched, |part, bytes| {
            bytes * plan.selection(part).repeats()
        })
    }

    /// About how many bytes the values of a plan decode to.
    pub(crate) fn expected_bytes(&self, plan: &Plan, fetched: &[impl AsRef<[u8]>]) -> Result<u64> {
        self.sum_blocks(plan, fetched, |part, bytes| {
            bytes * part.selected.n_rows() / u64::from(part.rows.max(1))
        })
    }

    /// The sum of what is said of each part and the bytes its block decodes to.
    fn sum_blocks(
        &self,
        plan: &Plan,
        fetched: &[impl AsRef<[u8]>],
        of_part: impl Fn(&BlockPart, u64) -> u64,
    ) -> Result<u64> {
        touch_headers(fetched);
        let mut total = 0;
        for (part, bytes) in plan.parts.iter().zip(fetched) {
            let bytes = self.part_bytes(part, bytes.as_ref())?;
            total += match part.bare {
                Some(_) => bytes,
                None => of_part(part, bytes),
            };
        }
        Ok(total)
    }

    /// The bytes that a block decodes to; of rows of a full-zip page their own.
    fn part_bytes(&self, part: &BlockPart, bytes: &[u8]) -> Result<u64> {
        if part.bare.is_some() {
            return Ok(bytes.len() as u64);
        }
        let header = BlockHeader::of_whole(bytes).map_err(|error| {
            let error = while_reading(error).in_block(part.block.into());
            self.at(error, part.page as usize)
        })?;
        Ok(header.decoded_bytes.into())
    }
}

/// Calls `use_block` for a part of a plan that this build decodes.
pub(crate) fn with_block(
    file: &Inner,
    page: &Page,
    (plan, part, bytes): (&Plan, &BlockPart, &[u8]),
    decoder: Option<&PageDecoder>,
    check: bool,
    use_block: impl FnOnce(&PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
) -> Result<()> {
    let Some(decoder) = decoder else {
        let what = "a block that a kernel decodes";
        return Err(Error::new(ErrorKind::InvalidInput, what));
    };
    let block = match (&part.bare, decoder.zip()) {
        (Some(bare), Some(form)) => {
            if check {
                check_bare(file, page, (plan, bare), bytes, form)?;
            }
            Block::of_rows(bytes, form, plan.entries(bare), part.rows)
        }
        _ => {
            if check {
                page.check(file, part.block, bytes)?;
            }
            Block::parse(bytes, &decoder.expect(part.rows))
        }
    };
    use_block(decoder, &block.map_err(while_reading)?).map_err(while_reading)
}

/// Compares the checksums of rows of a full-zip page with their bytes.
pub(crate) fn check_bare(
    file: &Inner,
    page: &Page,
    (plan, bare): (&Plan, &Bare),
    bytes: &[u8],
    form: ZipForm,
) -> Result<()> {
    let Some(stride) = form.stride() else {
        let rows = RowIndex::of_entries(plan.entries(bare));
        return page.check_rows(file, bare.first, rows, bytes);
    };
    if file.checksums == Checksums::Never {
        return Ok(());
    }
    for row in bytes.chunks_exact(stride) {
        let Some((covered, stored)) = form.checksummed(row) else {
            continue;
        };
        check_covered(covered, stored)?;
    }
    Ok(())
}

/// Has the headers of blocks fetched from memory side by side: one after the other, a scan of blocks of one large value each spends a third of
/// its time waiting for them.
fn touch_headers(fetched: &[impl AsRef<[u8]>]) {
    let mut sum = 0;
    for block in fetched {
        // A header may lie in two lines.
        if let Some(header) = block.as_ref().first_chunk::<BLOCK_HEADER_BYTES>() {
            sum ^= header[0] ^ header[BLOCK_HEADER_BYTES - 1];
        }
    }
    std::hint::black_box(sum);
}

fn decoded_bytes<'a>(blocks: impl Iterator<Item = &'a [u8]>) -> Result<u64> {
    let mut total = 0;
    for block in blocks {
        let header = BlockHeader::of_whole(block).map_err(while_reading)?;
        total += u64::from(header.decoded_bytes);
    }
    Ok(total)
}
