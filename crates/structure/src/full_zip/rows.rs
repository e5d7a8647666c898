//! Rows of a full-zip block.

use core::ops::Range;

use tarsia_codec::{Error, Result};

use super::form::FullZipForm;
use super::index::RowIndex;
use crate::header::BlockHeader;

/// The rows of a full-zip block. For rows that do not exist, counts are zero and values are empty.
#[derive(Debug, Clone, Copy)]
pub struct FullZipRows<'a> {
    /// Their layout.
    pub form: FullZipForm,
    index: RowIndex<'a>,
    bytes: &'a [u8],
}

impl<'a> FullZipRows<'a> {
    /// The rows of a block that was parsed: of its index ([`Block::levels`](crate::Block::levels)) and its values
    /// ([`Block::unit`](crate::Block::unit)).
    pub fn of(form: FullZipForm, index: &'a [u8], values: &'a [u8]) -> Self {
        let index = match form.is_indexed() {
            true => RowIndex::of_bytes(index),
            false => RowIndex::default(),
        };
        let bytes = values;
        Self { form, index, bytes }
    }

    /// As [`FullZipRows::of`], for rows that have not been checked yet.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for another number of bytes, or a control byte out of
    /// range.
    pub(crate) fn checked(
        form: FullZipForm,
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
        if form.n_controls() > 0 {
            let wrong = (0..n_rows).find(|row| rows.control(*row) > form.n_controls());
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

    /// At how many of the levels that store validity the row is valid, from the outermost on; all of them where it has
    /// values.
    pub fn control(&self, row: u32) -> u8 {
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
    pub fn has_items(&self, row: u32) -> bool {
        self.control(row) + u8::from(self.form.has_item_validity()) >= self.form.n_controls()
    }

    /// Whether the row's one item is valid, in a page that stores that.
    pub fn item_is_valid(&self, row: u32) -> bool {
        self.control(row) == self.form.n_controls()
    }

    /// Whether the page stores the validity of items.
    pub fn has_item_validity(&self) -> bool {
        self.form.has_item_validity()
    }

    /// The values of a row.
    pub fn values(&self, row: u32) -> &'a [u8] {
        self.values_of(row..row + 1)
    }

    /// The values of rows: the strings of all of them; with values of fixed width, those of the first row alone.
    pub(crate) fn values_of(&self, rows: Range<u32>) -> &'a [u8] {
        let Some(stride) = self.form.stride() else {
            let place = self.place_of(rows);
            return self.bytes.get(place).unwrap_or_default();
        };
        let start = rows.start as usize * stride + self.form.control_bytes();
        let end = start + self.form.values_bytes() as usize;
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The place of the strings of some rows in the unit.
    pub fn place_of(&self, rows: Range<u32>) -> Range<usize> {
        let extent = self.index.slice(rows).extent();
        extent.start as usize..extent.end as usize
    }

    /// Bytes of each of some rows' strings.
    pub(crate) fn lengths(&self, rows: Range<u32>) -> impl Iterator<Item = u32> {
        rows.map(|row| {
            let place = self.index.place(row);
            place.end.saturating_sub(place.start)
        })
    }

    /// Copies the values of items, each of `width` bytes, to `out`, which is as long as they are.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are no such items.
    pub(crate) fn copy_values(
        &self,
        items: Range<u32>,
        width: usize,
        mut out: &mut [u8],
    ) -> Result<()> {
        let per_row = self.form.items_per_row();
        let mut item = items.start;
        while item < items.end {
            let (row, first) = (item / per_row, item % per_row);
            let n = (items.end - item).min(per_row - first) as usize;
            let first = first as usize * width;
            let values = self.values(row).get(first..first + n * width);
            let (now, later) = out.split_at_mut_checked(n * width).ok_or_else(no_such)?;
            // There are as many rows as the ranges were made from.
            now.copy_from_slice(values.ok_or_else(no_such)?);
            out = later;
            item += n as u32;
        }
        Ok(())
    }

    /// Writes which rows' items are valid to the bits from `at` on, one per row; returns how many are null.
    pub(crate) fn copy_validity(&self, rows: Range<u32>, bits: &mut [u8], at: usize) -> usize {
        let mut nulls = 0;
        for (i, row) in rows.enumerate() {
            let valid = self.item_is_valid(row);
            tarsia_bits::fill_bits(bits, at + i, 1, valid);
            nulls += usize::from(!valid);
        }
        nulls
    }
}

/// Checks what the header of a block says of its rows, and the rows.
///
/// # Errors
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) where they contradict each other or the page.
pub(crate) fn check_block(
    header: &BlockHeader,
    form: FullZipForm,
    index: &[u8],
    payload: &[u8],
) -> Result<()> {
    // There is a value for each slot, below nulls too.
    let n_values = u64::from(header.present_rows) * u64::from(form.items_per_row());
    let bytes = match form.is_indexed() {
        true => u64::from(header.payload_bytes),
        false => u64::from(header.present_rows) * form.values_bytes(),
    };
    for (field, at, found, expected) in [
        ("block.values", 16, header.n_values, n_values),
        ("block.decoded_bytes", 20, header.decoded_bytes, bytes),
        ("block.tree", 4, header.tree.into(), 0),
        ("block.flags", 5, header.chunked.into(), 0),
    ] {
        if u64::from(found) != expected {
            return Err(Error::corrupt(
                field,
                at,
                found,
                "what the rows of a full-zip page make",
            ));
        }
    }
    FullZipRows::checked(form, index, payload, header.present_rows)?;
    match header.null_count > header.present_rows {
        true => Err(Error::corrupt(
            "block.null_count",
            28,
            header.null_count,
            "0 ..= the rows",
        )),
        false => Ok(()),
    }
}

#[cold]
pub(crate) fn no_such() -> Error {
    Error::invalid("no such row")
}
