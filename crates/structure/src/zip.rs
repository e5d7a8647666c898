//! Full-zip pages: wide values row by row, each of which can be read alone. Bytes: `docs/spec/page.md`, Full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4 (full-zip). Here a row has a checksum of its own, so that what is read
//! alone is checked too, and rows have one length, so that a row is found by multiplication: columns whose rows differ in length stay
//! in mini-blocks, where a lookup takes one request too.

use tarsia_codec::{Error, Result, ValueType};

use crate::block::Block;
use crate::meta::{Layout, Level, Meta};

/// Bytes of a row's checksum, the last of it.
pub(crate) const ROW_CRC_BYTES: usize = 4;

/// The one encoding of values.
const PLAIN: &str = "tarsia.plain";

/// What the rows of a full-zip page look like: a control byte if any row may be null, the values of all its items, a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipForm {
    /// Levels that store validity, and one more if items do.
    n_controls: u8,
    /// Whether the last of them is the items' own.
    item_validity: bool,
    /// Items of a row that is not null.
    items: u32,
    /// Bytes of an item's value.
    width: u32,
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
        let Some(ValueType::Fixed(width @ 1..)) = meta.value_type else {
            return Err(corrupt(0));
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
        if items == 0 || item_validity && items > 1 || meta.compact {
            return Err(corrupt(meta.levels.len()));
        }
        n_controls += u8::from(item_validity);
        match meta.trees.as_slice() {
            [tree] if tree.id == PLAIN => {}
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

    /// Bytes of a row's values.
    pub(crate) fn values_bytes(&self) -> u64 {
        u64::from(self.items) * u64::from(self.width)
    }

    fn control_bytes(&self) -> usize {
        usize::from(self.n_controls > 0)
    }

    /// Bytes from one row to the next.
    pub fn stride(&self) -> usize {
        // At most 16 MiB and five.
        self.control_bytes() + self.values_bytes() as usize + ROW_CRC_BYTES
    }

    /// A row's bytes before its checksum, and that.
    pub fn checksummed<'a>(&self, row: &'a [u8]) -> Option<(&'a [u8], u32)> {
        let (covered, crc) = row.split_last_chunk()?;
        Some((covered, u32::from_le_bytes(*crc)))
    }
}

/// Rows larger than this stay in mini-blocks.
pub(crate) const ROW_BYTES_MAX: u64 = 16 << 20;

/// Rows of a full-zip page one behind the other. What is asked of rows that are not there is zero or empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZipRows<'a> {
    pub(crate) form: ZipForm,
    bytes: &'a [u8],
}

impl<'a> ZipRows<'a> {
    /// The rows of a block, which [`ZipRows::checked`] has seen.
    pub(crate) fn of(form: ZipForm, block: &Block<'a>) -> Self {
        let bytes = block.unit;
        Self { form, bytes }
    }

    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for another number of bytes, or a control byte out of range.
    pub(crate) fn checked(form: ZipForm, bytes: &'a [u8], n_rows: u32) -> Result<Self> {
        let expected = form.stride() as u64 * u64::from(n_rows);
        if bytes.len() as u64 != expected {
            let allowed = "rows x their stride";
            return Err(Error::corrupt(
                "block.payload_bytes",
                24,
                bytes.len() as u64,
                allowed,
            ));
        }
        let rows = Self { form, bytes };
        if form.n_controls > 0 {
            let wrong = (0..n_rows).find(|row| rows.control(*row) > form.n_controls);
            if let Some(row) = wrong {
                let at = row as usize * form.stride();
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
        match self.form.control_bytes() {
            0 => 0,
            _ => {
                let at = row as usize * self.form.stride();
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
        let start = row as usize * self.form.stride() + self.form.control_bytes();
        let end = start + self.form.values_bytes() as usize;
        self.bytes.get(start..end).unwrap_or_default()
    }
}

#[cfg(feature = "encode")]
mod encode {
    use alloc::vec;
    use alloc::vec::Vec;

    use tarsia_codec::{BitSlice, FixedSlice, Values, limits};

    use super::*;
    use crate::block::{BLOCK_HEADER_BYTES, BlockHeader};
    use crate::encode::{BlockRows, Choice, EncodeContext, EncodedPage, length, one_length};
    use crate::meta::{Layer, LayerKind, LevelForm};
    use crate::shape::ShapeSlice;

    /// Blocks are found by their table and read in whole by scans alone, so they are larger than mini-blocks: as many rows as fit.
    const BLOCK_BYTES_TARGET: usize = 64 << 10;

    /// Null rows keep the bytes of their values, so pages where more than one row in this many is null stay in mini-blocks.
    const NULLS_ONE_IN: usize = 8;

    /// One value per item of a run of rows; nulls hold filler.
    pub(crate) struct ZipInput<'a> {
        pub(crate) shape: ShapeSlice<'a>,
        pub(crate) validity: Option<BitSlice<'a>>,
        pub(crate) values: Values<'a>,
    }

    impl ZipInput<'_> {
        /// The page, if it is one for this layout: rows of one length whose values take at least as many bytes as the policy says and
        /// gain nothing by being encoded together.
        pub(crate) fn encode(
            &self,
            choice: &Choice,
            context: &EncodeContext<'_>,
        ) -> Result<Option<EncodedPage>> {
            let Some(meta) = self.meta(choice) else {
                return Ok(None);
            };
            let Values::Fixed(values) = self.values else {
                return Ok(None);
            };
            let form = match ZipForm::of(&meta) {
                Ok(Some(form)) => form,
                _ => return Ok(None),
            };
            let rows = self.shape.rows();
            let null_items = self
                .validity
                .map_or(0, |bits| bits.len() - bits.count_ones());
            let null_rows = rows - values.len() / form.items as usize + null_items;
            if form.values_bytes() < context.chooser.full_zip_bytes_min().into()
                || null_rows * NULLS_ONE_IN > rows
                || rows == 0
            {
                return Ok(None);
            }
            let block_rows = (BLOCK_BYTES_TARGET / form.stride()).max(1);
            let log2 = (1usize << block_rows.ilog2())
                .min(limits::BLOCK_VALUES_MAX as usize)
                .ilog2();
            let (bytes, starts) = self.blocks(&form, &meta, values, 1 << log2, context.checksum)?;
            Ok(Some(EncodedPage {
                bytes,
                starts,
                block_rows: BlockRows::Uniform(log2 as u8),
                rows: rows as u64,
                null_count: null_items as u64,
                meta,
                shared: vec![],
            }))
        }

        fn meta(&self, choice: &Choice) -> Option<Meta> {
            let shape = self.shape.shape();
            let mut levels = Vec::new();
            for (number, form) in shape.forms().enumerate() {
                let slots = self.shape.slots(number, 0..self.shape.rows());
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
            let layers = self.validity.map(|_| Layer {
                kind: LayerKind::ItemValidity,
                trees: vec![],
            });
            Some(Meta {
                layout: Layout::FullZip,
                value_type: Some(self.values.value_type()),
                compact: false,
                levels,
                layers: layers.into_iter().collect(),
                trees: choice.trees.clone(),
            })
        }

        fn blocks(
            &self,
            form: &ZipForm,
            meta: &Meta,
            values: FixedSlice<'_>,
            block_rows: usize,
            checksum: fn(&[u8]) -> u32,
        ) -> Result<(Vec<u8>, Vec<u64>)> {
            let (shape, rows) = (self.shape.shape(), self.shape.rows());
            // The bits of each level that stores validity; a row has one slot in it if it is valid in those above.
            let bits: Vec<BitSlice<'_>> = meta
                .levels
                .iter()
                .enumerate()
                .filter(|(_, level)| matches!(level, Level::Validity(_)))
                .filter_map(|(number, _)| shape.nulls(number, self.shape.slots(number, 0..rows)))
                .collect();
            let mut next_slots = vec![0; bits.len()];
            let mut next_item = 0;
            let row_bytes = form.values_bytes() as usize;
            let mut out = Vec::with_capacity(rows * form.stride());
            let mut starts = Vec::new();
            for first in (0..rows).step_by(block_rows) {
                let n_rows = block_rows.min(rows - first);
                let start = out.len();
                starts.push(start as u64);
                out.resize(start + BLOCK_HEADER_BYTES, 0);
                let mut null_count = 0;
                for _ in 0..n_rows {
                    let row_start = out.len();
                    let mut control = 0;
                    for (bits, next) in bits.iter().zip(&mut next_slots) {
                        let valid = bits.get(*next);
                        *next += 1;
                        if !valid {
                            break;
                        }
                        control += 1;
                    }
                    let has_items = control == bits.len();
                    if let (true, Some(validity)) = (has_items, self.validity) {
                        let valid = validity.get(next_item);
                        control += usize::from(valid);
                        null_count += usize::from(!valid);
                    }
                    if form.control_bytes() > 0 {
                        out.push(control as u8);
                    }
                    match has_items && control == usize::from(form.n_controls) {
                        true => {
                            let at = next_item * form.width as usize;
                            let row = values.bytes().get(at..at + row_bytes);
                            out.extend_from_slice(row.ok_or_else(misfit)?);
                        }
                        false => out.resize(out.len() + row_bytes, 0),
                    }
                    if has_items {
                        next_item += form.items as usize;
                    }
                    let crc = checksum(out.get(row_start..).unwrap_or_default());
                    out.extend_from_slice(&crc.to_le_bytes());
                }
                let payload = out.len() - start - BLOCK_HEADER_BYTES;
                let n_values = n_rows * form.items as usize;
                let header = BlockHeader {
                    tree: 0,
                    salted: false,
                    chunked: false,
                    logical_rows: length(n_rows)?,
                    present_rows: length(n_rows)?,
                    n_values: length(n_values)?,
                    decoded_bytes: length(n_rows * row_bytes)?,
                    payload_bytes: length(payload)?,
                    crc: 0,
                    null_count: length(null_count)?,
                };
                header.seal(&mut out, start, checksum)?;
            }
            match next_item == values.len() {
                true => Ok((out, starts)),
                false => Err(misfit()),
            }
        }
    }

    fn misfit() -> Error {
        Error::invalid("levels and values differ in length")
    }
}

#[cfg(feature = "encode")]
pub(crate) use encode::ZipInput;
