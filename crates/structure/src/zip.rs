//! Full-zip pages: wide values row by row, each of which can be read alone. Bytes: `docs/spec/page.md`, Full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4 (full-zip, with its repetition index for values that differ in length).
//! Here a row has a checksum of its own, so that what is read alone is checked too. Of values of one length that lies behind the row, and
//! the row is found by multiplication. Of byte strings it lies, with the row's place, in an index in front of all rows, so that
//! these are one run of bytes that can be lent as it is.

use core::ops::Range;

use tarsia_codec::{Error, Result, Tree, ValueType};

use crate::block::Block;
use crate::meta::{Layout, Level, Meta};

/// Bytes of a row's checksum, the last of it.
pub(crate) const ROW_CRC_BYTES: usize = 4;

/// The one encoding of values of fixed width, and of the lengths of byte strings.
const PLAIN: &str = "tarsia.plain";
/// That of byte strings.
const BYTES: &str = "tarsia.bytes";

/// Bytes of a row's entry in the index of a block of byte strings.
pub const ROW_ENTRY_BYTES: usize = 8;

/// The values of a block of byte strings take fewer bytes than this: an entry says in 24 bits where its row ends.
#[cfg(feature = "encode")]
pub(crate) const INDEXED_BYTES_END: usize = 1 << 24;

/// What the rows of a full-zip page look like. Of values of fixed width: a control byte if any row may be null, the values of all its items,
/// a checksum. Of byte strings: the string alone; control and checksum are in the block's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipForm {
    /// Levels that store validity, and one more if items do.
    n_controls: u8,
    /// Whether the last of them is the items' own.
    item_validity: bool,
    /// Items of a row that is not null.
    items: u32,
    /// Bytes of an item's value; `None` of byte strings.
    width: Option<u32>,
}

impl ZipForm {
    /// The form of a page's rows; `None` for a page of mini-blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for levels that no full-zip page has,
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) for values that are not plain.
    pub fn of(meta: &Meta) -> Result<Option<Self>> {
        if meta.layout == Layout::MiniBlock {
            return Ok(None);
        }
        let corrupt = |found: usize| {
            let allowed = "a full-zip page's: one slot per row where validity is stored, lengths that are constant";
            Error::corrupt("meta.layers", 12, found as u64, allowed)
        };
        let width = match meta.value_type {
            Some(ValueType::Fixed(width @ 1..)) => Some(width),
            Some(ValueType::Bytes) => None,
            _ => return Err(corrupt(0)),
        };
        let (mut n_controls, mut items) = (0, 1u32);
        for (number, level) in meta.levels.iter().enumerate() {
            match level {
                Level::AllValid => {}
                Level::ConstantLength(length) => {
                    items = items.checked_mul(*length).ok_or_else(|| corrupt(number))?;
                }
                Level::Validity(_) if items == 1 => n_controls += 1,
                Level::Validity(_) | Level::Lengths(_) => return Err(corrupt(number)),
            }
        }
        let item_validity = !meta.layers.is_empty();
        let one_item = item_validity || width.is_none();
        if items == 0 || one_item && items > 1 || meta.compact {
            return Err(corrupt(meta.levels.len()));
        }
        n_controls += u8::from(item_validity);
        match (meta.trees.as_slice(), width) {
            ([tree], Some(_)) if tree.id == PLAIN => {}
            ([tree], None) if holds_strings_as_they_are(tree) => {}
            _ => {
                return Err(Error::unsupported(
                    "a full-zip page of values that are not plain",
                ));
            }
        }
        let form = Self {
            n_controls,
            item_validity,
            items,
            width,
        };
        match form.values_bytes() {
            0..=ROW_BYTES_MAX => Ok(Some(form)),
            bytes => Err(Error::limit(
                "bytes of a full-zip row",
                bytes,
                ROW_BYTES_MAX,
            )),
        }
    }

    /// Items of a row that is not null.
    pub fn items_per_row(&self) -> u32 {
        self.items
    }

    /// Bytes of a row's values; 0 of byte strings.
    pub(crate) fn values_bytes(&self) -> u64 {
        u64::from(self.items) * u64::from(self.width.unwrap_or(0))
    }

    fn control_bytes(&self) -> usize {
        usize::from(self.n_controls > 0)
    }

    /// Bytes from one row to the next; `None` of byte strings, whose place the block's index says.
    pub fn stride(&self) -> Option<usize> {
        // At most 16 MiB and five.
        self.width?;
        Some(self.control_bytes() + self.values_bytes() as usize + ROW_CRC_BYTES)
    }

    /// Whether blocks have an index of their rows: those of byte strings.
    pub fn is_indexed(&self) -> bool {
        self.width.is_none()
    }

    /// A row's bytes before its checksum, and that.
    pub fn checksummed<'a>(&self, row: &'a [u8]) -> Option<(&'a [u8], u32)> {
        let (covered, crc) = row.split_last_chunk()?;
        Some((covered, u32::from_le_bytes(*crc)))
    }
}

/// Rows larger than this stay in mini-blocks.
pub(crate) const ROW_BYTES_MAX: u64 = 16 << 20;

fn holds_strings_as_they_are(tree: &Tree) -> bool {
    let is_plain = |lengths: &Tree| lengths.id == PLAIN;
    tree.id == BYTES && matches!(tree.children.as_slice(), [lengths] if is_plain(lengths))
}

/// The index of a block of byte strings, or a part of it: of each row where it ends, what of it is valid, and its checksum.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowIndex<'a> {
    entries: &'a [[u8; ROW_ENTRY_BYTES]],
    /// Where the first row starts.
    start: u32,
}

impl<'a> RowIndex<'a> {
    /// The index that `bytes` are; nothing is checked.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Self {
        let entries = bytes.as_chunks().0;
        Self { entries, start: 0 }
    }

    /// The entries of rows that were read without their block, which [`RowIndex::copy_to`] has made.
    pub fn of_entries(entries: &'a [[u8; ROW_ENTRY_BYTES]]) -> Self {
        Self { entries, start: 0 }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Some of the rows; fewer where there are not so many.
    pub fn slice(&self, rows: Range<u32>) -> Self {
        let (start, end) = (rows.start as usize, rows.end as usize);
        let entries = self.entries.get(start..end.min(self.entries.len()));
        Self {
            entries: entries.unwrap_or_default(),
            start: self.start_of(rows.start),
        }
    }

    /// Where all of them lie, counted from the first byte of the block's values.
    pub fn extent(&self) -> Range<u32> {
        let end = self.entries.last().map_or(self.start, end_of);
        self.start..end
    }

    fn start_of(&self, row: u32) -> u32 {
        match row.checked_sub(1) {
            None => self.start,
            Some(before) => match self.entries.get(before as usize) {
                Some(entry) => end_of(entry),
                None => self.extent().end,
            },
        }
    }

    /// Where the values of a row lie, counted as [`RowIndex::extent`] is.
    pub fn place(&self, row: u32) -> Range<u32> {
        let entry = self.entries.get(row as usize);
        let start = self.start_of(row);
        start..entry.map_or(start, end_of)
    }

    /// How many of the levels that store validity are valid.
    fn control(&self, row: u32) -> u8 {
        let entry = self.entries.get(row as usize);
        entry.map_or(0, |entry| entry[3])
    }

    /// The checksum of the row's values.
    pub fn checksum(&self, row: u32) -> u32 {
        let [.., a, b, c, d] = self.entries.get(row as usize).copied().unwrap_or_default();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Appends the entries, counted from the first of their rows, so that they are an index of these rows alone.
    pub fn copy_to(&self, out: &mut alloc::vec::Vec<[u8; ROW_ENTRY_BYTES]>) {
        out.extend(self.entries.iter().map(|entry| {
            let end = end_of(entry).wrapping_sub(self.start).to_le_bytes();
            let mut entry = *entry;
            entry[..3].copy_from_slice(&end[..3]);
            entry
        }));
    }

    /// Checks that the rows follow each other up to `values_bytes`, and that those without a value have no bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt).
    pub(crate) fn check(&self, form: &ZipForm, values_bytes: u64) -> Result<()> {
        let mut end = self.start;
        for (row, entry) in self.entries.iter().enumerate() {
            let at = row * ROW_ENTRY_BYTES;
            let (before, control) = (end, entry[3]);
            end = end_of(entry);
            let is_valid = control == form.n_controls;
            if control > form.n_controls {
                let allowed = "at most the levels that store validity";
                return Err(Error::corrupt("row.control", at + 3, control, allowed));
            }
            if end < before || !is_valid && end > before {
                let allowed = "the end of the row before, or more where the row has a value";
                return Err(Error::corrupt("row.end", at, end, allowed));
            }
        }
        match u64::from(end - self.start) == values_bytes {
            true => Ok(()),
            false => {
                let allowed = "the end of the values in the last row";
                let at = self.len().saturating_sub(1) * ROW_ENTRY_BYTES;
                Err(Error::corrupt("row.end", at, end, allowed))
            }
        }
    }
}

fn end_of(entry: &[u8; ROW_ENTRY_BYTES]) -> u32 {
    let [a, b, c, ..] = *entry;
    u32::from_le_bytes([a, b, c, 0])
}

/// Rows of a full-zip page one behind the other. What is asked of rows that are not there is zero or empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZipRows<'a> {
    pub(crate) form: ZipForm,
    index: RowIndex<'a>,
    bytes: &'a [u8],
}

impl<'a> ZipRows<'a> {
    /// The rows of a block, which [`ZipRows::checked`] has seen.
    pub(crate) fn of(form: ZipForm, block: &Block<'a>) -> Self {
        let index = match form.is_indexed() {
            true => RowIndex::of_bytes(block.levels),
            false => RowIndex::default(),
        };
        let bytes = block.unit;
        Self { form, index, bytes }
    }

    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for another number of bytes, or a control byte out of range.
    pub(crate) fn checked(
        form: ZipForm,
        index: &'a [u8],
        bytes: &'a [u8],
        n_rows: u32,
    ) -> Result<Self> {
        let index = RowIndex::of_bytes(index);
        let rows = Self { form, index, bytes };
        let Some(stride) = form.stride() else {
            if index.len() as u64 != u64::from(n_rows) {
                let (found, allowed) = (index.len() as u64, "the present rows");
                return Err(Error::corrupt("row.entries", 0, found, allowed));
            }
            index.check(&form, bytes.len() as u64)?;
            return Ok(rows);
        };
        let expected = stride as u64 * u64::from(n_rows);
        if bytes.len() as u64 != expected {
            let allowed = "rows x their stride";
            return Err(Error::corrupt(
                "block.payload_bytes",
                24,
                bytes.len() as u64,
                allowed,
            ));
        }
        if form.n_controls > 0 {
            let wrong = (0..n_rows).find(|row| rows.control(*row) > form.n_controls);
            if let Some(row) = wrong {
                let at = row as usize * stride;
                let allowed = "at most the levels that store validity";
                return Err(Error::corrupt(
                    "row.control",
                    at,
                    rows.control(row),
                    allowed,
                ));
            }
        }
        Ok(rows)
    }

    /// How many of the levels that store validity are valid in this row, in order; all of them where it has values.
    pub(crate) fn control(&self, row: u32) -> u8 {
        match (self.form.stride(), self.form.control_bytes()) {
            (None, _) => self.index.control(row),
            (Some(_), 0) => 0,
            (Some(stride), _) => {
                let at = row as usize * stride;
                self.bytes.get(at).copied().unwrap_or_default()
            }
        }
    }

    /// Whether the row's items exist, null or not.
    pub(crate) fn has_items(&self, row: u32) -> bool {
        self.control(row) + u8::from(self.form.item_validity) >= self.form.n_controls
    }

    /// Whether the row's one item is valid, in a page that stores that.
    pub(crate) fn item_is_valid(&self, row: u32) -> bool {
        self.control(row) == self.form.n_controls
    }

    pub(crate) fn has_item_validity(&self) -> bool {
        self.form.item_validity
    }

    /// The values of a row.
    pub(crate) fn values(&self, row: u32) -> &'a [u8] {
        self.values_of(row..row + 1)
    }

    /// The values of rows: of byte strings those of all of them, of others those of the first.
    pub(crate) fn values_of(&self, rows: Range<u32>) -> &'a [u8] {
        let Some(stride) = self.form.stride() else {
            let place = self.place_of(rows);
            return self.bytes.get(place).unwrap_or_default();
        };
        let start = rows.start as usize * stride + self.form.control_bytes();
        let end = start + self.form.values_bytes() as usize;
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Where the strings of rows lie in the values.
    pub(crate) fn place_of(&self, rows: Range<u32>) -> Range<usize> {
        let extent = self.index.slice(rows).extent();
        extent.start as usize..extent.end as usize
    }

    /// Bytes of a row's string.
    pub(crate) fn length(&self, row: u32) -> u32 {
        let place = self.index.place(row);
        place.end.saturating_sub(place.start)
    }
}

#[cfg(feature = "encode")]
mod encode {
    use alloc::vec;
    use alloc::vec::Vec;

    use tarsia_codec::{BitSlice, BytesSlice, FixedSlice, Values, limits};

    use super::*;
    use crate::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, reseal};
    use crate::encode::{BlockRows, Choice, EncodeContext, EncodedPage, length, one_length};
    use crate::meta::{Layer, LayerKind, LevelForm};
    use crate::shape::ShapeSlice;

    /// Blocks are found by their table and read in whole by scans alone, so they are larger than mini-blocks: as many rows as fit.
    const BLOCK_BYTES_TARGET: usize = 64 << 10;

    /// Null rows keep the bytes of their values, so pages where more than one row in this many is null stay in mini-blocks.
    const NULLS_ONE_IN: usize = 8;

    /// Byte strings are stored row by row where they take so many times what values of fixed width must take in the mean. An entry in the index is
    /// 8 bytes, and up to 8 KiB of shorter ones are read with one request anyway.
    const STRINGS_FACTOR: u64 = 32;

    /// One value per item of a run of rows; nulls hold filler.
    pub(crate) struct ZipInput<'a> {
        /// `None` in flat columns.
        pub(crate) shape: Option<ShapeSlice<'a>>,
        pub(crate) validity: Option<BitSlice<'a>>,
        pub(crate) values: Values<'a>,
    }

    /// What a row is.
    struct RowState {
        /// Levels that store validity, and the item, as far as they are valid.
        control: u8,
        /// The first of its items' values, if they are valid.
        value: Option<usize>,
        /// Whether it is an item that is null, not what is above it.
        is_null_item: bool,
    }

    /// The states of rows in order.
    struct RowStates<'a> {
        form: ZipForm,
        /// The bits of each level that stores validity; a row has one slot in it if it is valid in those above.
        bits: Vec<BitSlice<'a>>,
        next_slots: Vec<usize>,
        validity: Option<BitSlice<'a>>,
        next_item: usize,
    }

    impl RowStates<'_> {
        fn next(&mut self) -> RowState {
            let mut control = 0;
            for (bits, next) in self.bits.iter().zip(&mut self.next_slots) {
                let valid = bits.get(*next);
                *next += 1;
                if !valid {
                    break;
                }
                control += 1;
            }
            let has_items = control as usize == self.bits.len();
            let mut is_null_item = false;
            if let (true, Some(validity)) = (has_items, self.validity) {
                let valid = validity.get(self.next_item);
                control += u8::from(valid);
                is_null_item = !valid;
            }
            let item = self.next_item;
            if has_items {
                self.next_item += self.form.items as usize;
            }
            RowState {
                control,
                value: (control == self.form.n_controls).then_some(item),
                is_null_item,
            }
        }
    }

    impl<'a> ZipInput<'a> {
        fn rows(&self) -> usize {
            self.shape.map_or(self.values.len(), |shape| shape.rows())
        }

        /// The page, if it is one for this layout: rows of one length whose values take at least as many bytes as the policy says and
        /// gain nothing by being encoded together.
        pub(crate) fn encode(
            &self,
            choice: &Choice,
            context: &EncodeContext<'_>,
        ) -> Result<Option<EncodedPage>> {
            let Values::Fixed(values) = self.values else {
                return Ok(None);
            };
            let Some((meta, form)) = self.meta(choice.trees.clone()) else {
                return Ok(None);
            };
            let Some(stride) = form.stride() else {
                return Ok(None);
            };
            let rows = self.rows();
            let null_items = self.null_items();
            let null_rows = rows - values.len() / form.items as usize + null_items;
            if form.values_bytes() < context.chooser.full_zip_bytes_min().into()
                || null_rows * NULLS_ONE_IN > rows
                || rows == 0
            {
                return Ok(None);
            }
            let block_rows = (BLOCK_BYTES_TARGET / stride).max(1);
            let log2 = (1usize << block_rows.ilog2())
                .min(limits::BLOCK_VALUES_MAX as usize)
                .ilog2();
            let states = self.states(form, &meta);
            let capacity = rows * stride;
            let (bytes, starts) = blocks(
                values,
                states,
                (rows, 1 << log2),
                capacity,
                context.checksum,
            )?;
            let block_rows = BlockRows::Uniform(log2 as u8);
            Ok(Some(self.page(bytes, starts, block_rows, meta)))
        }

        /// Whether byte strings are long enough for this layout.
        pub(crate) fn are_long(&self, context: &EncodeContext<'_>) -> bool {
            let Values::Bytes(strings) = self.values else {
                return false;
            };
            let least = STRINGS_FACTOR * u64::from(context.chooser.full_zip_bytes_min());
            let rows = self.rows() as u64;
            rows > 0 && u64::from(strings.data_bytes()) >= least.saturating_mul(rows)
        }

        /// The page of byte strings that are [long](ZipInput::are_long), where they gain nothing by being encoded.
        pub(crate) fn encode_strings(
            &self,
            choice: &Choice,
            context: &EncodeContext<'_>,
        ) -> Result<Option<EncodedPage>> {
            let (Values::Bytes(strings), Some(first)) = (self.values, choice.trees.first()) else {
                return Ok(None);
            };
            // The last one holds any strings as they are, the first one perhaps with smaller lengths.
            let trees: Vec<Tree> = choice.trees.last().cloned().into_iter().collect();
            let form = self.meta(trees).filter(|_| first.id == BYTES);
            let Some((meta, form)) = form else {
                return Ok(None);
            };
            let longest = (0..strings.len()).map(|i| strings.value_bytes(i)).max();
            if longest.is_some_and(|bytes| bytes as usize >= INDEXED_BYTES_END) {
                return Ok(None);
            }
            let states = self.states(form, &meta);
            let (bytes, starts, table) =
                indexed_blocks(strings, states, self.rows(), context.checksum)?;
            Ok(Some(self.page(
                bytes,
                starts,
                BlockRows::Table(table),
                meta,
            )))
        }

        fn null_items(&self) -> usize {
            self.validity
                .map_or(0, |bits| bits.len() - bits.count_ones())
        }

        fn page(
            &self,
            bytes: Vec<u8>,
            starts: Vec<u64>,
            block_rows: BlockRows,
            meta: Meta,
        ) -> EncodedPage {
            EncodedPage {
                bytes,
                starts,
                block_rows,
                rows: self.rows() as u64,
                null_count: self.null_items() as u64,
                meta,
                shared: vec![],
            }
        }

        /// The page's description, if it can be one of this layout.
        fn meta(&self, trees: Vec<Tree>) -> Option<(Meta, ZipForm)> {
            let mut levels = Vec::new();
            if let Some(slice) = self.shape {
                let shape = slice.shape();
                for (number, form) in shape.forms().enumerate() {
                    let slots = slice.slots(number, 0..slice.rows());
                    levels.push(match form {
                        LevelForm::ConstantLength(length) => Level::ConstantLength(length),
                        LevelForm::Lengths => {
                            Level::ConstantLength(one_length(shape.lengths(number, slots))?)
                        }
                        LevelForm::Validity => match shape.nulls(number, slots) {
                            None => Level::AllValid,
                            Some(_) => Level::Validity(vec![]),
                        },
                    });
                }
            }
            let layers = self.validity.map(|_| Layer {
                kind: LayerKind::ItemValidity,
                trees: vec![],
            });
            let meta = Meta {
                layout: Layout::FullZip,
                value_type: Some(self.values.value_type()),
                compact: false,
                levels,
                layers: layers.into_iter().collect(),
                trees,
                shared: vec![],
            };
            let form = ZipForm::of(&meta).ok().flatten()?;
            Some((meta, form))
        }

        fn states(&self, form: ZipForm, meta: &Meta) -> RowStates<'a> {
            let mut bits = Vec::new();
            if let Some(slice) = self.shape {
                let stores = |level: &Level| matches!(level, Level::Validity(_));
                let stored = meta.levels.iter().enumerate();
                let stored = stored.filter(|(_, level)| stores(level));
                bits.extend(stored.filter_map(|(number, _)| {
                    let slots = slice.slots(number, 0..slice.rows());
                    slice.shape().nulls(number, slots)
                }));
            }
            RowStates {
                form,
                next_slots: vec![0; bits.len()],
                bits,
                validity: self.validity,
                next_item: 0,
            }
        }
    }

    fn blocks(
        values: FixedSlice<'_>,
        mut states: RowStates<'_>,
        (rows, block_rows): (usize, usize),
        capacity: usize,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<(Vec<u8>, Vec<u64>)> {
        let form = states.form;
        let row_bytes = form.values_bytes() as usize;
        let mut out = Vec::with_capacity(capacity);
        let mut starts = Vec::new();
        for first in (0..rows).step_by(block_rows) {
            let n_rows = block_rows.min(rows - first);
            let start = out.len();
            starts.push(start as u64);
            out.resize(start + BLOCK_HEADER_BYTES, 0);
            let mut null_count = 0;
            for _ in 0..n_rows {
                let row_start = out.len();
                let state = states.next();
                null_count += usize::from(state.is_null_item);
                if form.control_bytes() > 0 {
                    out.push(state.control);
                }
                match state.value {
                    Some(item) => {
                        let at = item * values.width();
                        let row = values.bytes().get(at..at + row_bytes);
                        out.extend_from_slice(row.ok_or_else(misfit)?);
                    }
                    None => out.resize(out.len() + row_bytes, 0),
                }
                let crc = checksum(out.get(row_start..).unwrap_or_default());
                out.extend_from_slice(&crc.to_le_bytes());
            }
            let payload = out.len() - start - BLOCK_HEADER_BYTES;
            let header = BlockHeader {
                n_values: length(n_rows * form.items as usize)?,
                decoded_bytes: length(n_rows * row_bytes)?,
                payload_bytes: length(payload)?,
                null_count: length(null_count)?,
                ..BlockHeader::of_rows(length(n_rows)?)
            };
            header.seal(&mut out, start, checksum)?;
        }
        match states.next_item == values.len() {
            true => Ok((out, starts)),
            false => Err(misfit()),
        }
    }

    /// Blocks of byte strings, each of as many rows as it may have, and their rows.
    fn indexed_blocks(
        strings: BytesSlice<'_>,
        mut states: RowStates<'_>,
        rows: usize,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<(Vec<u8>, Vec<u64>, Vec<u32>)> {
        let capacity = strings.data_bytes() as usize + rows * ROW_ENTRY_BYTES;
        let mut out = Vec::with_capacity(capacity + 2 * BLOCK_HEADER_BYTES);
        let (mut starts, mut table) = (Vec::new(), Vec::new());
        let all: Vec<(u8, &[u8])> = (0..rows)
            .map(|_| {
                let state = states.next();
                let value = state.value.map_or(&[][..], |item| strings.get(item));
                (state.control, value)
            })
            .collect();
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(_, value): &&(u8, &[u8])| {
                bytes += value.len();
                bytes < INDEXED_BYTES_END
            };
            let n_rows = rest.iter().take_while(fits).count();
            // One row fits, as the caller has seen.
            let n_rows = n_rows.clamp(1, limits::BLOCK_VALUES_MAX as usize);
            let (block, later) = rest.split_at(n_rows);
            starts.push(out.len() as u64);
            table.push(length(n_rows)?);
            push_indexed(
                &states.form,
                (length(n_rows)?, None),
                block,
                &mut out,
                checksum,
            )?;
            rest = later;
        }
        match states.next_item == strings.len() {
            true => Ok((out, starts, table)),
            false => Err(misfit()),
        }
    }

    /// Appends a block of byte strings, each with its control, zero-padded to 8.
    pub(crate) fn push_indexed(
        form: &ZipForm,
        (logical_rows, salt): (u32, Option<[u8; SALT_BYTES]>),
        rows: &[(u8, &[u8])],
        out: &mut Vec<u8>,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<()> {
        let start = out.len();
        let values_bytes: usize = rows.iter().map(|(_, value)| value.len()).sum();
        if values_bytes >= INDEXED_BYTES_END {
            return Err(Error::invalid("a block of too many bytes for its index"));
        }
        let above = form.n_controls.saturating_sub(1);
        let is_null_item = |control: u8| form.item_validity && control == above;
        let nulls = rows.iter().filter(|(control, _)| is_null_item(*control));
        let header = BlockHeader {
            indexed: true,
            salted: salt.is_some(),
            logical_rows,
            decoded_bytes: length(values_bytes)?,
            payload_bytes: length(values_bytes)?,
            null_count: length(nulls.count())?,
            ..BlockHeader::of_rows(length(rows.len())?)
        };
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(salt.as_ref().map_or(&[], |salt| &salt[..]));
        let mut end = 0;
        for (control, value) in rows {
            end += value.len();
            let [a, b, c, _] = length(end)?.to_le_bytes();
            // Checksums are put in by the seal.
            out.extend_from_slice(&[a, b, c, *control, 0, 0, 0, 0]);
        }
        for (_, value) in rows {
            out.extend_from_slice(value);
        }
        out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
        reseal(out.get_mut(start..).unwrap_or_default(), checksum)
    }

    fn misfit() -> Error {
        Error::invalid("levels and values differ in length")
    }
}

#[cfg(feature = "encode")]
pub(crate) use encode::{ZipInput, push_indexed};
