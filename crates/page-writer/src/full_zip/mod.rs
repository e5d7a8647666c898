//! Encoding full-zip pages.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, BytesSlice, Error, FixedSlice, Result, Tree, Values, limits};

use tarsia_structure::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, reseal};
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta};
use tarsia_structure::zip::{BYTES, INDEXED_BYTES_END, ROW_ENTRY_BYTES, ZipForm};

use crate::encode::{BlockRows, Choice, EncodeContext, EncodedPage, length, one_length};
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
            self.next_item += self.form.items_per_row() as usize;
        }
        RowState {
            control,
            value: (control == self.form.n_controls()).then_some(item),
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
        let null_rows = rows - values.len() / form.items_per_row() as usize + null_items;
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
            n_values: length(n_rows * form.items_per_row() as usize)?,
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
    let above = form.n_controls().saturating_sub(1);
    let is_null_item = |control: u8| form.has_item_validity() && control == above;
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
