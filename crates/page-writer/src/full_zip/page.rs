//! Pages of this layout, and which pages are.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Result, Tree, Values, limits};
use tarsia_structure::full_zip::{BYTES, FullZipForm, INDEXED_BYTES_END};
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta};

use super::blocks::{IndexedBlocks, blocks};
use super::rows::RowStates;
use crate::collected_levels::{LevelsSlice, one_length};
use crate::page::{
    BlockRows, Choice, ERASABLE_STRINGS_BYTES_MAX, EncodeContext, EncodedPage,
    STRINGS_BLOCK_BYTES_MAX,
};

/// Only scans read whole blocks of this layout, so they are larger than mini-blocks: as many rows as fit into this.
const BLOCK_BYTES_TARGET: usize = 64 << 10;

/// A null row takes as many bytes as any other, so a page where more than one row in this many is null is stored in
/// mini-blocks.
const NULLS_ONE_IN: usize = 8;

/// Byte strings are stored row by row if their mean length is this many times the least width of vectors that are. An
/// entry in the index takes 8 bytes, and shorter strings, up to 8 KiB of them, are read with one request anyway.
const STRINGS_FACTOR: u64 = 32;

/// One value per item of a run of rows; nulls hold filler.
pub(crate) struct FullZipInput<'a> {
    /// `None` in flat columns.
    pub(crate) levels: Option<LevelsSlice<'a>>,
    pub(crate) validity: Option<BitSlice<'a>>,
    pub(crate) values: Values<'a>,
}

impl<'a> FullZipInput<'a> {
    fn rows(&self) -> usize {
        self.levels
            .map_or(self.values.len(), |levels| levels.rows())
    }

    /// The page, if it is one for this layout: rows of one length whose values take at least as many bytes as the
    /// policy says and gain nothing by being encoded together.
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
            .min(limits::BLOCK_ROWS_MAX as usize)
            .ilog2();
        let states = self.states(form, &meta);
        let (bytes, starts) = blocks(values, states, rows, 1 << log2, context.checksum)?;
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

    /// The page of byte strings that are [long](FullZipInput::are_long), where they gain nothing by being encoded, or
    /// where any are to be stored so.
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
        let is_asked_for = context.chooser.full_zip_bytes_min() == 0;
        let form = self.meta(trees);
        let form = form.filter(|_| is_asked_for || first.id == BYTES);
        let Some((meta, form)) = form else {
            return Ok(None);
        };
        let longest = (0..strings.len()).map(|i| strings.value_bytes(i)).max();
        if longest.is_some_and(|bytes| bytes as usize >= INDEXED_BYTES_END) {
            return Ok(None);
        }
        let states = self.states(form, &meta);
        let bytes_max = match context.erasable {
            true => ERASABLE_STRINGS_BYTES_MAX,
            false => STRINGS_BLOCK_BYTES_MAX,
        };
        let checksum = context.checksum;
        let blocks = IndexedBlocks::encode(strings, states, self.rows(), bytes_max, checksum)?;
        let block_rows = BlockRows::Table(blocks.rows);
        Ok(Some(self.page(
            blocks.bytes,
            blocks.starts,
            block_rows,
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
    fn meta(&self, trees: Vec<Tree>) -> Option<(Meta, FullZipForm)> {
        let mut levels = Vec::new();
        if let Some(slice) = self.levels {
            let collected = slice.levels();
            for (number, form) in collected.forms().enumerate() {
                let slots = slice.slots(number, 0..slice.rows());
                levels.push(match form {
                    LevelForm::ConstantLength(length) => Level::ConstantLength(length),
                    LevelForm::Lengths => {
                        Level::ConstantLength(one_length(collected.lengths(number, slots))?)
                    }
                    LevelForm::Validity => match collected.nulls(number, slots) {
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
        let form = FullZipForm::of(&meta).ok().flatten()?;
        Some((meta, form))
    }

    fn states(&self, form: FullZipForm, meta: &Meta) -> RowStates<'a> {
        RowStates::new(form, &meta.levels, self.levels, self.validity)
    }
}
