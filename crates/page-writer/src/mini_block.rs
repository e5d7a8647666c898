//! Cutting a page into mini-blocks and encoding them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{BitSlice, BlockValues, Error, OwnedValues, Result, SharedSpec, Values, limits};
use tarsia_structure::block::{
    BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, BlockHeader, row_decoded_bytes_max,
};
use tarsia_structure::meta::Level;

use crate::levels::{Nested, pad_expanding_row, push_validity};
use crate::nulls::{of_block, other_filler};
use crate::page::{BLOCK_PAYLOAD_BYTES_TARGET, BLOCK_ROWS_MIN, BlockRows, Choice};
use crate::prepare::{Encoders, encode_unit};
use crate::seal::{length, seal};

/// Bytes that validity may add to [`BLOCK_PAYLOAD_BYTES_TARGET`] where all blocks have as many rows: else 4,096
/// nullable values of 16 bits would need two blocks, and the second header would make the page noticeably larger.
pub(crate) const LAYER_BYTES_ALLOWED: usize = 1024;

/// Larger blocks would make a take of one row read too much, whatever an encoding gains by them.
const BLOCK_PAYLOAD_BYTES_MAX: usize = 256 << 10;

const BLOCK_ROWS_MAX: usize = limits::BLOCK_ROWS_MAX as usize;

/// Blocks of one row of a nested column with more payload than this get a checksum for each chunk of it.
const CHUNKED_BYTES_MIN: usize = 64 << 10;

/// A page that is cut into mini-blocks, and its blocks so far.
pub(crate) struct Encoder<'a> {
    pub(crate) nested: Option<Nested<'a>>,
    pub(crate) values: Values<'a>,
    pub(crate) validity: Option<(BitSlice<'a>, Encoders)>,
    pub(crate) compact: bool,
    pub(crate) trees: Encoders,
    pub(crate) checksum: fn(&[u8]) -> u32,
    /// The page's shared buffers.
    pub(crate) shared: &'a [(SharedSpec, Arc<OwnedValues>)],
    pub(crate) bytes: Vec<u8>,
    pub(crate) starts: Vec<u64>,
}

impl Encoder<'_> {
    /// Cuts blocks of equally many rows: the largest power of two whose payload is within the target.
    pub(crate) fn cut_uniform(
        &mut self,
        rows: usize,
        n_items: usize,
        null_count: usize,
        choice: &Choice,
    ) -> Result<BlockRows> {
        let width = self.values.value_type().fixed_bytes().unwrap_or(0);
        // In flat columns 1; more where fixed-size lists are rows, and fewer where rows are null above their items.
        let row_items = n_items.div_ceil(rows.max(1)).max(1);
        let rows_min = match width {
            0..=8 => BLOCK_ROWS_MIN,
            // Wide values: as many as fit the target, at least one. Widths that do not divide it would leave so much of
            // a block unused that headers show in the size; their blocks may be four times as long, still far below
            // 1,024 values.
            _ if width.is_power_of_two() => {
                (BLOCK_PAYLOAD_BYTES_TARGET / width).clamp(1, BLOCK_ROWS_MIN)
            }
            _ => (4 * BLOCK_PAYLOAD_BYTES_TARGET / width).clamp(1, BLOCK_ROWS_MIN),
        };
        let rows_min = prev_power_of_two((rows_min / row_items).max(1));
        // Bits of an item's value, unless dropped.
        let valid_share = match self.compact {
            true => (n_items - null_count) as u64 * 1024 / n_items.max(1) as u64,
            false => 1024,
        };
        // In parts of 1,024 of a byte.
        let row_bytes = self.expected_bytes(choice, valid_share) * row_items as u64;
        let fitting = block_bytes(choice) as u64 * 1024 / row_bytes.max(1);
        let mut block_rows = prev_power_of_two((fitting as usize).clamp(rows_min, BLOCK_ROWS_MAX));
        loop {
            let lowest = block_rows <= rows_min;
            let block_bytes = (!lowest).then_some(block_bytes(choice));
            match self.try_uniform(rows, block_rows, block_bytes)? {
                Fit::Fits => return Ok(BlockRows::Uniform(block_rows.trailing_zeros() as u8)),
                Fit::TooLarge if block_rows > 1 => block_rows /= 2,
                Fit::TooLarge => return Err(Error::invalid("a value is too large for a block")),
            }
        }
    }

    /// Bytes that so many values are expected to take, rounded up.
    fn expected_bytes(&self, choice: &Choice, n_values: u64) -> u64 {
        let n_all = self.values.len().max(1) as u128;
        let bytes = u128::from(choice.bytes) * u128::from(n_values);
        u64::try_from(bytes.div_ceil(n_all)).unwrap_or(u64::MAX)
    }

    /// Cuts blocks of so many rows. `block_bytes` is the most payload; `None` for any.
    pub(crate) fn try_uniform(
        &mut self,
        rows: usize,
        block_rows: usize,
        block_bytes: Option<usize>,
    ) -> Result<Fit> {
        self.bytes.clear();
        self.starts.clear();
        let mut value = 0;
        for start in (0..rows).step_by(block_rows) {
            let end = (start + block_rows).min(rows);
            let items = self.items_of(start..end);
            let values = self.values_of(items.clone(), value);
            value = values.end;
            let decoded = self.values.slice(values.clone()).decoded_bytes();
            let decoded = decoded.max(self.decoded_bytes(start..end));
            if decoded > BLOCK_DECODED_BYTES_MAX.into() && end - start > 1 {
                return Ok(Fit::TooLarge);
            }
            let payload = self.encode_block(start..end, values)?;
            let layers = if self.validity.is_some() || self.nested.is_some() {
                LAYER_BYTES_ALLOWED
            } else {
                0
            };
            if block_bytes.is_some_and(|most| payload > most + layers) {
                return Ok(Fit::TooLarge);
            }
        }
        Ok(Fit::Fits)
    }

    /// Blocks of as many whole rows as fit the target, for lists whose lengths or values differ.
    pub(crate) fn cut_nested(&mut self, rows: usize, choice: &Choice) -> Result<BlockRows> {
        let mut table = Vec::new();
        let (mut row, mut value, mut guess) = (0, 0, 64);
        while row < rows {
            let mut n_rows = self.nested_rows_that_fit(row, rows, value, choice, guess);
            loop {
                let items = self.items_of(row..row + n_rows);
                let values = self.values_of(items.clone(), value);
                let payload = self.encode_block(row..row + n_rows, values.clone())?;
                let fits = payload <= block_bytes(choice)
                    || n_rows == 1
                    || items.len() <= BLOCK_ROWS_MIN && choice.uniform;
                if fits {
                    table.push(n_rows as u32);
                    (row, value, guess) = (row + n_rows, values.end, n_rows);
                    break;
                }
                let start = self.starts.pop().unwrap_or_default();
                self.bytes.truncate(start as usize);
                n_rows = (n_rows * 7 / 8).clamp(1, n_rows - 1);
            }
        }
        Ok(BlockRows::Table(table))
    }

    /// A first guess at the rows of a nested block: the most whose estimate fits. Near `guess`, it takes few looks.
    fn nested_rows_that_fit(
        &self,
        row: usize,
        rows: usize,
        value: usize,
        choice: &Choice,
        guess: usize,
    ) -> usize {
        let most = (rows - row).min(BLOCK_ROWS_MAX);
        let fits = |n: usize| self.nested_block_fits(row..row + n, value, choice);
        let (mut low, mut high) = (1, guess.clamp(1, most));
        while high < most && fits(high) {
            (low, high) = (high, (high * 2).min(most));
        }
        if high == most && fits(high) {
            return high;
        }
        // `low` fits or is 1, `high` does not.
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match fits(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Whether rows are likely to fit the target: values as they are expected, a byte for each length, a bit for
    /// validity.
    fn nested_block_fits(&self, rows: Range<usize>, value: usize, choice: &Choice) -> bool {
        let Some(nested) = &self.nested else {
            return true;
        };
        let mut bits = 0;
        let mut decoded = self.decoded_bytes(rows.clone());
        for (number, (level, _)) in nested.levels.iter().enumerate() {
            let slots = nested.slice.slots(number, rows.clone()).len() as u64;
            let per_slot = match level {
                Level::AllValid | Level::ConstantLength(_) => 0,
                Level::Validity(_) => 1,
                Level::Lengths(_) => 8,
            };
            bits += slots * per_slot;
        }
        let items = self.items_of(rows);
        let n_items = items.len() as u64;
        bits += n_items * u64::from(self.validity.is_some());
        let values = self.values_of(items, value);
        bits += match self.values {
            Values::Bytes(_) if !choice.uniform => {
                let n_values = values.len() as u64;
                let bytes = self.values.slice(values).decoded_bytes();
                decoded = decoded.max(bytes);
                let plain_bits = u128::from(bytes * 8 + n_values * 9);
                let fitting = u128::from(self.plain_bits_that_fit(choice));
                (plain_bits * block_bytes(choice) as u128 * 8 / fitting) as u64
            }
            _ => self.expected_bytes(choice, values.len() as u64) * 8,
        };
        let few = n_items <= BLOCK_ROWS_MIN as u64 && choice.uniform;
        (few || bits <= block_bytes(choice) as u64 * 8) && decoded <= BLOCK_DECODED_BYTES_MAX.into()
    }

    /// Blocks of as many rows as fit the target, for values that differ in size.
    pub(crate) fn cut_by_size(&mut self, rows: usize, choice: &Choice) -> Result<BlockRows> {
        let mut table = Vec::new();
        let (mut row, mut value) = (0, 0);
        let bits_max = self.plain_bits_that_fit(choice);
        while row < rows {
            let mut n_rows = self.rows_that_fit(row, value, rows, bits_max);
            loop {
                let values = self.values_of(row..row + n_rows, value);
                let payload = self.encode_block(row..row + n_rows, values.clone())?;
                if payload <= block_bytes(choice) || n_rows == 1 {
                    table.push(n_rows as u32);
                    row += n_rows;
                    value = values.end;
                    break;
                }
                let start = self.starts.pop().unwrap_or_default();
                self.bytes.truncate(start as usize);
                n_rows = (n_rows * 7 / 8).clamp(1, n_rows - 1);
            }
        }
        Ok(BlockRows::Table(table))
    }

    /// The bits that the values of a block may have as they are, with 12 bits for each length. Strings that get smaller
    /// under their tree by more than a few per cent (not only their lengths) may have more, less a reserve for blocks
    /// that get smaller than others.
    fn plain_bits_that_fit(&self, choice: &Choice) -> u64 {
        let bits = block_bytes(choice) as u128 * 8;
        let (plain, encoded) = (
            u128::from(self.values.decoded_bytes()),
            u128::from(choice.bytes),
        );
        if encoded * 8 >= plain * 7 {
            return bits as u64;
        }
        let decoded_bits_max = u128::from(BLOCK_DECODED_BYTES_MAX) * 8;
        let scaled = bits * plain / encoded.max(1) * 15 / 16;
        scaled.clamp(bits, decoded_bits_max) as u64
    }

    /// A first guess at the rows of a block: those that take at most `bits_max` as they are.
    fn rows_that_fit(&self, row: usize, mut value: usize, rows: usize, bits_max: u64) -> usize {
        let end = rows.min(row + BLOCK_ROWS_MAX);
        let mut bits = 64u64;
        for i in row..end {
            let present = match (&self.validity, self.compact) {
                (Some((validity, _)), true) => validity.get(i),
                _ => true,
            };
            bits += u64::from(self.validity.is_some());
            if present {
                let bytes = match self.values {
                    Values::Bytes(strings) => strings.value_bytes(value).into(),
                    Values::Fixed(fixed) => fixed.width() as u64,
                    Values::Bits(_) => 1,
                };
                bits += bytes * 8 + 9;
                value += 1;
            }
            if bits > bits_max {
                return (i - row).max(1);
            }
        }
        end - row
    }

    /// The items of `rows`; in flat pages the rows.
    fn items_of(&self, rows: Range<usize>) -> Range<usize> {
        match &self.nested {
            None => rows,
            Some(nested) => nested.slice.items(rows),
        }
    }

    /// Returns the bytes that nested rows decode to besides the values of their blocks.
    fn decoded_bytes(&self, rows: Range<usize>) -> u64 {
        let nested = self.nested.as_ref();
        nested.map_or(0, |nested| {
            nested.decoded_bytes(rows, self.values.value_type())
        })
    }

    /// The values of `items`, where `value` is the first of them.
    fn values_of(&self, items: Range<usize>, value: usize) -> Range<usize> {
        match (&self.validity, self.compact) {
            (Some((validity, _)), true) => value..value + validity.slice(items).count_ones(),
            _ => items,
        }
    }

    /// Appends one block and returns its payload's length.
    fn encode_block(&mut self, rows: Range<usize>, values: Range<usize>) -> Result<usize> {
        let start = self.bytes.len();
        self.starts.push(start as u64);
        self.bytes.resize(start + BLOCK_HEADER_BYTES, 0);
        let payload_start = self.bytes.len();
        let mut null_count = 0;
        let items = self.items_of(rows.clone());
        if let Some(nested) = &self.nested {
            nested.encode(rows.clone(), &mut self.bytes)?;
        }
        if let Some((validity, encoders)) = &self.validity {
            let n_items = items.len();
            let valid = validity.slice(items.clone()).count_ones();
            null_count = n_items - valid;
            let encode = |out: &mut Vec<u8>| {
                encode_unit(
                    encoders,
                    BlockValues::new(Values::Bits(*validity), items)?,
                    None,
                    out,
                )
            };
            push_validity(valid, n_items, encode, &mut self.bytes)?;
        }
        let decoded = self.values.slice(values.clone()).decoded_bytes();
        let tree = match values.is_empty() && self.nested.is_some() {
            // Encodings are never asked to encode no values.
            true => (self.trees.len() - 1) as u8,
            false => {
                // In a page with all items, a value is an item's.
                let validity = self.validity.as_ref().filter(|_| !self.compact);
                let validity = validity.map(|(bits, _)| bits.slice(values.clone()));
                self.encode_unit(values.clone(), validity, decoded)?
            }
        };
        if self.nested.is_some() {
            let decoded = self.decoded_bytes(rows.clone()).max(decoded);
            pad_expanding_row(rows.len(), payload_start, decoded, &mut self.bytes)?;
        }
        let payload = self.bytes.len() - payload_start;
        let header = BlockHeader {
            tree,
            salted: false,
            chunked: is_chunked(self.nested.is_some(), rows.len(), payload),
            indexed: false,
            logical_rows: length(rows.len())?,
            present_rows: length(rows.len())?,
            n_values: length(values.len())?,
            decoded_bytes: u32::try_from(decoded)
                .map_err(|_| Error::invalid("a row is larger than 2 GiB"))?,
            payload_bytes: length(payload)?,
            crc: 0,
            null_count: length(null_count)?,
        };
        seal(header, None, &mut self.bytes, start, self.checksum)?;
        Ok(payload)
    }

    /// Appends the unit under the first tree that holds the values, or under the last where that is smaller. Returns
    /// the tree's index. `validity` is that of values with null ones among them.
    fn encode_unit(
        &mut self,
        values: Range<usize>,
        validity: Option<BitSlice<'_>>,
        decoded: u64,
    ) -> Result<u8> {
        let of_page = self.values.slice(values.clone());
        let own = validity.and_then(|bits| of_block(of_page, bits));
        let none_valid = own.is_some() && validity.is_some_and(|bits| bits.count_ones() == 0);
        let other = match none_valid {
            true => other_filler(of_page, self.shared)?,
            false => None,
        };
        let block = match &own {
            Some(own) => BlockValues::all(own.as_values()?)?,
            None => BlockValues::new(self.values, values)?,
        };
        let other = match &other {
            Some(other) => Some(BlockValues::all(other.as_values()?)?),
            None => None,
        };
        let start = self.bytes.len();
        let last = self.trees.len() - 1;
        let tree = encode_unit(&self.trees, block, other, &mut self.bytes)?;
        if usize::from(tree) == last {
            return Ok(tree);
        }
        // A flat row has no padding to make its payload long enough for readers, as nested ones have.
        let payload = (self.bytes.len() - start) as u64;
        if self.nested.is_none() && decoded > row_decoded_bytes_max(payload) {
            self.bytes.truncate(start);
            self.trees[last].encode(block, &mut self.bytes)?;
            return Ok(last as u8);
        }
        let plain_bytes = match self.values {
            Values::Bytes(_) => decoded + 4 + 4 * block.len() as u64,
            _ => decoded,
        };
        if (self.bytes.len() - start) as u64 > plain_bytes {
            let found = self.bytes.split_off(start);
            self.trees[last].encode(block, &mut self.bytes)?;
            if self.bytes.len() - start < found.len() {
                return Ok(last as u8);
            }
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(&found);
        }
        Ok(tree)
    }
}

/// Whether a block of `n_rows` rows has a checksum for each chunk of its payload.
pub(crate) fn is_chunked(nested: bool, n_rows: usize, payload_bytes: usize) -> bool {
    nested && n_rows == 1 && payload_bytes > CHUNKED_BYTES_MIN
}

/// Whether blocks of so many rows are small enough.
pub(crate) enum Fit {
    Fits,
    TooLarge,
}

/// The payload that blocks aim at.
fn block_bytes(choice: &Choice) -> usize {
    choice
        .block_bytes
        .clamp(BLOCK_PAYLOAD_BYTES_TARGET, BLOCK_PAYLOAD_BYTES_MAX)
}

fn prev_power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}
