//! Blocks of a page decoded into one run of column memory.

#[cfg(feature = "zero-copy")]
mod asked;
mod compact;
mod ranges;

#[cfg(feature = "zero-copy")]
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

#[cfg(feature = "zero-copy")]
use tarsia_codec::OwnedPredicate;
#[cfg(feature = "zero-copy")]
use tarsia_codec::toolbox::{VIEW_BYTES, VIEW_INLINE_BYTES};
use tarsia_codec::{
    AlignedBuf, BitSlice, Decoder, Error, Output, OwnedValues, Result, Scratch, Selection, Unit,
    ValueType, limits,
};

#[cfg(feature = "zero-copy")]
use self::asked::Asked;
use crate::block::{Block, Validity};
use crate::full_zip::rows::{FullZipRows, no_such};
#[cfg(feature = "zero-copy")]
use crate::memory::words;
use crate::memory::{Take, grow, words_mut};
use crate::page::PageDecoder;
use crate::slots;

/// Most bytes of the strings of one array.
const BYTES_MAX: u64 = limits::ARROW_OFFSET_MAX as u64;

/// The values and validity of a run of rows of one column, decoded block after block into memory of the caller.
#[derive(Debug)]
pub struct RawColumn {
    value_type: ValueType,
    rows: usize,
    rows_max: usize,
    null_count: usize,
    validity: Option<AlignedBuf>,
    values: AlignedBuf,
    ends: AlignedBuf,
    data_len: usize,
    #[cfg(feature = "zero-copy")]
    collects: Collects,
    /// Entries that views refer to, by buffer number.
    #[cfg(feature = "zero-copy")]
    entries: Vec<Arc<OwnedValues>>,
}

/// The form in which byte strings are collected.
#[cfg(feature = "zero-copy")]
#[derive(Debug, Clone, PartialEq, Eq)]
enum Collects {
    /// Their ends and their bytes.
    All,
    /// Only their lengths, as values of 4 bytes.
    Lengths,
    /// Only their ends.
    Ends,
    /// Views of the entries of their pages' dictionaries.
    EntryViews,
    /// The numbers of these entries, as values of 4 bytes. Also of values of fixed width.
    EntryCodes,
    /// Whether a predicate holds for them, as bits.
    Holds(Arc<OwnedPredicate>),
}

/// Place for a decoder that is made for one block.
#[cfg(feature = "zero-copy")]
type Place<'a> = Option<Asked<'a>>;
#[cfg(not(feature = "zero-copy"))]
type Place<'a> = core::marker::PhantomData<&'a ()>;

/// Rows that a kernel has decoded; see [`RawColumn::push_decoded`].
#[derive(Debug, Clone, Copy)]
pub struct DecodedRows<'a> {
    /// Number of rows.
    pub rows: usize,
    /// One bit per row, 1 for valid; empty where all are valid.
    pub validity: &'a [u8],
    /// For byte strings `rows + 1` little-endian u32 from 0 to the length of `values`, rising; else empty.
    pub offsets: &'a [u8],
    /// Packed bits, fixed-width values or the bytes of strings.
    pub values: &'a [u8],
}

/// The finished parts of a [`RawColumn`].
#[derive(Debug)]
pub struct RawParts {
    /// Number of rows.
    pub rows: usize,
    /// Bits, 1 for valid; `None` where all are.
    pub validity: Option<AlignedBuf>,
    /// Null rows.
    pub null_count: usize,
    /// Packed bits, fixed-width values or the bytes of strings.
    pub values: AlignedBuf,
    /// For byte strings `rows + 1` offsets as u32, else empty.
    pub offsets: AlignedBuf,
    /// Bytes of `values` that are filled.
    pub values_len: usize,
}

impl RawParts {
    /// The parts of a column without rows.
    pub fn empty() -> Self {
        Self {
            rows: 0,
            validity: None,
            null_count: 0,
            values: AlignedBuf::default(),
            offsets: AlignedBuf::default(),
            values_len: 0,
        }
    }

    /// The values as they are owned outside of Arrow arrays, with something for each null row. They still are to be
    /// checked by [`OwnedValues::as_values`].
    pub fn into_values(self, value_type: ValueType) -> OwnedValues {
        let (mut bytes, len) = (self.values, self.rows);
        bytes.reset_len(self.values_len);
        match value_type {
            ValueType::Bits => OwnedValues::Bits { bytes, len },
            ValueType::Fixed(width) => OwnedValues::Fixed {
                bytes,
                width: width as usize,
                len,
            },
            ValueType::Bytes => {
                let ends = self.offsets.as_chunks::<4>().0.iter().take(len + 1);
                OwnedValues::Bytes {
                    offsets: ends.map(|end| u32::from_le_bytes(*end)).collect(),
                    data: bytes,
                }
            }
        }
    }
}

impl RawColumn {
    /// Room for `rows_max` rows and, for byte strings, `data_bytes_max` bytes; memory comes from `take`, which may hand
    /// out memory used before.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::LimitExceeded`] where that does not fit the address space or 32-bit offsets.
    pub fn new(
        value_type: ValueType,
        rows_max: usize,
        data_bytes_max: usize,
        take: Take<'_>,
    ) -> Result<Self> {
        let too_large = |found: u64| Error::limit("bytes of a batch's column", found, BYTES_MAX);
        let bytes = match value_type {
            ValueType::Bits => rows_max.div_ceil(8),
            ValueType::Fixed(width) => rows_max
                .checked_mul(width as usize)
                .ok_or_else(|| too_large(u64::MAX))?,
            ValueType::Bytes => data_bytes_max,
        };
        if bytes > isize::MAX as usize / 2 {
            return Err(too_large(bytes as u64));
        }
        let mut ends = AlignedBuf::default();
        if value_type == ValueType::Bytes {
            if data_bytes_max as u64 > BYTES_MAX {
                return Err(too_large(data_bytes_max as u64));
            }
            ends = take((rows_max + 1) * 4);
            if let Some(first) = ends.get_mut(..4) {
                first.fill(0);
            }
        }
        Ok(Self {
            value_type,
            rows: 0,
            rows_max,
            null_count: 0,
            validity: None,
            values: take(bytes),
            ends,
            data_len: 0,
            #[cfg(feature = "zero-copy")]
            collects: Collects::All,
            #[cfg(feature = "zero-copy")]
            entries: Vec::new(),
        })
    }

    /// Room for the lengths of `rows_max` byte strings, as values of 4 bytes; 0 for null strings that are not stored.
    /// Units that do not hold their strings [uncompressed](Decoder::strings) are refused.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    #[cfg(feature = "zero-copy")]
    pub fn lengths(rows_max: usize, take: Take<'_>) -> Result<Self> {
        let mut lengths = Self::new(ValueType::Fixed(4), rows_max, 0, take)?;
        lengths.collects = Collects::Lengths;
        Ok(lengths)
    }

    /// Room for the ends of `rows_max` byte strings of `data_bytes_max` bytes altogether, which are not copied. Only
    /// full-zip pages can be pushed: they alone store strings back to back.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    #[cfg(feature = "zero-copy")]
    pub fn ends(rows_max: usize, data_bytes_max: usize, take: Take<'_>) -> Result<Self> {
        if data_bytes_max as u64 > BYTES_MAX {
            let found = data_bytes_max as u64;
            return Err(Error::limit("bytes of a batch's column", found, BYTES_MAX));
        }
        let mut ends = Self::new(ValueType::Bytes, rows_max, 0, take)?;
        ends.collects = Collects::Ends;
        Ok(ends)
    }

    /// Room for views of `rows_max` byte strings, as values of 16 bytes. Only blocks whose strings are
    /// [entries](Decoder::entries) of a shared buffer can be pushed. Null strings have empty views.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    #[cfg(feature = "zero-copy")]
    pub fn entry_views(rows_max: usize, take: Take<'_>) -> Result<Self> {
        let mut views = Self::new(ValueType::Fixed(VIEW_BYTES as u32), rows_max, 0, take)?;
        views.collects = Collects::EntryViews;
        Ok(views)
    }

    /// Room for the numbers of entries of `rows_max` values, as values of 4 bytes. Only blocks whose values are
    /// [entries](Decoder::entries) of a shared buffer can be pushed. The entries of one buffer are numbered behind
    /// those of the buffers before it. What stands for null values means nothing.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    #[cfg(feature = "zero-copy")]
    pub fn entry_codes(rows_max: usize, take: Take<'_>) -> Result<Self> {
        let code = ValueType::Fixed(size_of::<u32>() as u32);
        let mut codes = Self::new(code, rows_max, 0, take)?;
        codes.collects = Collects::EntryCodes;
        Ok(codes)
    }

    /// Room for a bit for each of `rows_max` values: whether a predicate holds for it. Pages of full-zip blocks are
    /// refused. Bits of null values mean nothing.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    #[cfg(feature = "zero-copy")]
    pub fn holds(predicate: Arc<OwnedPredicate>, rows_max: usize, take: Take<'_>) -> Result<Self> {
        let mut bits = Self::new(ValueType::Bits, rows_max, 0, take)?;
        bits.collects = Collects::Holds(predicate);
        Ok(bits)
    }

    /// The parts, and the entries that views or codes refer to: in the order of the views' buffer numbers, or of the
    /// codes.
    #[cfg(feature = "zero-copy")]
    pub fn finish_entries(mut self) -> (RawParts, Vec<Arc<OwnedValues>>) {
        let entries = core::mem::take(&mut self.entries);
        (self.finish(), entries)
    }

    /// Lets the views or codes of the last `n_rows` rows, which are not counted yet, refer to these entries among those
    /// of all buffers.
    #[cfg(feature = "zero-copy")]
    fn number_entries(&mut self, entries: &Arc<OwnedValues>, n_rows: usize) {
        let is_same = |known: &Arc<OwnedValues>| Arc::ptr_eq(known, entries);
        // The last is the likely one.
        let number = self.entries.iter().rposition(is_same);
        let number = number.unwrap_or_else(|| {
            self.entries.push(entries.clone());
            self.entries.len() - 1
        });
        if number == 0 {
            return;
        }
        if self.collects == Collects::EntryCodes {
            let before = self.entries.iter().take(number).map(|it| it.len() as u32);
            let before: u32 = before.sum();
            let codes = words_mut(&mut self.values);
            let codes = codes.get_mut(self.rows..self.rows + n_rows);
            for code in codes.unwrap_or_default() {
                *code = u32::wrapping_add(*code, before);
            }
            return;
        }
        let at = self.rows * VIEW_BYTES;
        let views = self.values.get_mut(at..at + n_rows * VIEW_BYTES);
        let (views, _) = views.unwrap_or_default().as_chunks_mut::<VIEW_BYTES>();
        for view in views {
            let bits = u128::from_le_bytes(*view);
            if bits as u32 > VIEW_INLINE_BYTES as u32 {
                *view = (bits | (number as u128) << 64).to_le_bytes();
            }
        }
    }

    /// Whether pages with values of this type can be decoded here.
    fn takes(&self, value_type: ValueType) -> bool {
        #[cfg(feature = "zero-copy")]
        if matches!(self.collects, Collects::Lengths | Collects::EntryViews) {
            return value_type == ValueType::Bytes;
        }
        #[cfg(feature = "zero-copy")]
        if self.collects == Collects::EntryCodes {
            return true;
        }
        #[cfg(feature = "zero-copy")]
        if let Collects::Holds(predicate) = &self.collects {
            let predicate = predicate.as_predicate();
            return predicate.is_ok_and(|predicate| predicate.suits(value_type));
        }
        value_type == self.value_type
    }

    /// Returns the decoder of what is collected of a block's values, and its input. The decoder may be put in `place`.
    fn source<'a>(
        &self,
        page: &'a PageDecoder,
        block: &Block<'a>,
        place: &'a mut Place<'a>,
    ) -> Result<(&'a dyn Decoder, Unit<'a>)> {
        #[cfg(not(feature = "zero-copy"))]
        let _ = place;
        let (tree, unit) = (page.tree(block)?, block.encoded_values());
        #[cfg(feature = "zero-copy")]
        match &self.collects {
            Collects::All => {}
            Collects::Holds(predicate) => {
                let asked = Asked {
                    values: tree,
                    value_type: page.value_type(),
                    predicate: predicate.clone(),
                };
                return Ok((place.insert(asked), unit));
            }
            Collects::Lengths => {
                return match tree.strings(unit)? {
                    Some(strings) => Ok((strings.lengths, strings.unit)),
                    None => Err(Error::invalid(
                        "lengths of values that are not stored as they are",
                    )),
                };
            }
            Collects::Ends => {
                let what = "ends of values that are not stored row by row";
                return Err(Error::invalid(what));
            }
            Collects::EntryViews | Collects::EntryCodes => {
                let as_views = self.collects == Collects::EntryViews;
                let decoder = tree.entries().and_then(|entries| match as_views {
                    true => entries.views,
                    false => Some(entries.codes),
                });
                let what = "entries for values that are not entries";
                return Ok((decoder.ok_or_else(|| Error::invalid(what))?, unit));
            }
        }
        Ok((tree, unit))
    }

    /// The values of 4 bytes so far, and the validity bits, where any row is null.
    #[cfg(feature = "zero-copy")]
    pub fn words_so_far(&self) -> (&[u32], Option<&[u8]>) {
        let words = words(&self.values).get(..self.rows).unwrap_or_default();
        (
            words,
            self.validity.as_deref().filter(|_| self.null_count > 0),
        )
    }

    /// Makes room for `rows` more rows than there are and, for byte strings, `data_bytes` more bytes.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    pub fn reserve(&mut self, rows: usize, data_bytes: usize, take: Take<'_>) -> Result<()> {
        let too_large =
            |found: usize| Error::limit("bytes of a batch's column", found as u64, BYTES_MAX);
        let rows_max = self.rows.saturating_add(rows).max(self.rows_max);
        let bytes = match self.value_type {
            ValueType::Bits => rows_max.div_ceil(8),
            ValueType::Fixed(width) => rows_max.saturating_mul(width as usize),
            ValueType::Bytes => self.data_len.saturating_add(data_bytes),
        };
        let is_bytes = self.value_type == ValueType::Bytes;
        if bytes > isize::MAX as usize / 2 || is_bytes && bytes as u64 > BYTES_MAX {
            return Err(too_large(bytes));
        }
        grow(&mut self.values, bytes, take);
        if is_bytes {
            grow(&mut self.ends, (rows_max + 1) * 4, take);
        }
        if let Some(validity) = &mut self.validity {
            grow(validity, rows_max.div_ceil(8), take);
        }
        self.rows_max = rows_max;
        Ok(())
    }

    /// Bytes of the strings pushed so far, copied or not.
    #[cfg(feature = "zero-copy")]
    pub fn data_bytes(&self) -> usize {
        self.data_len
    }

    /// Rows decoded so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there is no room for more rows.
    pub fn is_full(&self) -> bool {
        self.rows == self.rows_max
    }

    /// Null rows so far.
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    /// The parts, cut to what was decoded.
    pub fn finish(self) -> RawParts {
        let values_len = match self.value_type {
            ValueType::Bits => self.rows.div_ceil(8),
            ValueType::Fixed(width) => self.rows * width as usize,
            ValueType::Bytes => self.data_len.min(self.values.len()),
        };
        RawParts {
            rows: self.rows,
            validity: self.validity.filter(|_| self.null_count > 0),
            null_count: self.null_count,
            values: self.values,
            offsets: self.ends,
            values_len,
        }
    }

    /// Appends a run of items of a full-zip page.
    fn push_rows(
        &mut self,
        rows: FullZipRows<'_>,
        items: Range<u32>,
        take: Take<'_>,
    ) -> Result<()> {
        let n_items = items.len();
        if n_items > self.rows_max - self.rows {
            return Err(no_room());
        }
        match rows.form.is_indexed() {
            true => self.push_row_strings(rows, items.clone())?,
            false => self.push_row_values(rows, items.clone())?,
        }
        if rows.has_item_validity() {
            // One item per row.
            let (validity, at) = self.validity(take);
            self.null_count += rows.copy_validity(items, validity, at);
        } else if let Some(validity) = &mut self.validity {
            tarsia_bits::fill_bits(validity, self.rows, n_items, true);
        }
        self.rows += n_items;
        Ok(())
    }

    /// The values of items of fixed width, which are not counted yet.
    fn push_row_values(&mut self, rows: FullZipRows<'_>, items: Range<u32>) -> Result<()> {
        let ValueType::Fixed(width) = self.value_type else {
            return Err(Error::invalid("pages of one column differ in their type"));
        };
        let width = width as usize;
        let start = self.rows * width;
        let out = self.values.get_mut(start..start + items.len() * width);
        rows.copy_values(items, width, out.ok_or_else(no_room)?)
    }

    /// Collects the byte strings of a full-zip block; the rows are not counted yet.
    fn push_row_strings(&mut self, rows: FullZipRows<'_>, items: Range<u32>) -> Result<()> {
        if !self.takes(ValueType::Bytes) {
            return Err(Error::invalid("pages of one column differ in their type"));
        }
        let n_items = items.len();
        let lengths = rows.lengths(items.clone());
        #[cfg(feature = "zero-copy")]
        if self.collects == Collects::Lengths {
            let out = words_mut(&mut self.values);
            let out = out.get_mut(self.rows..self.rows + n_items);
            for (to, length) in out.ok_or_else(no_room)?.iter_mut().zip(lengths) {
                *to = length;
            }
            return Ok(());
        }
        let values = rows.values_of(items);
        // At most 2 GiB, checked when the column was made.
        let mut end = self.data_len as u32;
        let ends = words_mut(&mut self.ends);
        let ends = ends.get_mut(self.rows + 1..self.rows + 1 + n_items);
        for (to, length) in ends.ok_or_else(no_room)?.iter_mut().zip(lengths) {
            end = end.wrapping_add(length);
            *to = end;
        }
        if end as usize != self.data_len + values.len() {
            return Err(no_such());
        }
        #[cfg(feature = "zero-copy")]
        let are_copied = self.collects == Collects::All;
        #[cfg(not(feature = "zero-copy"))]
        let are_copied = true;
        if are_copied {
            let out = self.values.get_mut(self.data_len..end as usize);
            out.ok_or_else(no_room)?.copy_from_slice(values);
        }
        self.data_len = end as usize;
        Ok(())
    }

    /// Decodes the selected items of a block and appends them; in flat pages an item is a row.
    ///
    /// # Errors
    /// What the decoders refuse; [`tarsia_codec::ErrorKind::InvalidInput`] where the rows do not fit the room given at
    /// the start. After an error the column must not be used.
    pub fn push(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        take: Take<'_>,
    ) -> Result<()> {
        if !self.takes(page.value_type()) {
            return Err(Error::invalid("pages of one column differ in their type"));
        }
        let n_rows = selection.check(block.n_items)?;
        if let (true, Some(form)) = (cfg!(feature = "nested"), page.full_zip()) {
            let rows = FullZipRows::of(form, block.levels, block.unit);
            return match selection {
                Selection::All => self.push_rows(rows, 0..block.n_items, take),
                Selection::Range { start, len } => self.push_rows(rows, start..start + len, take),
                Selection::Indices(indices) => indices
                    .iter()
                    .try_for_each(|row| self.push_rows(rows, *row..*row + 1, take)),
            };
        }
        // A unit without values may have no bytes, and no encoding is asked about it.
        if n_rows == 0 {
            return Ok(());
        }
        if n_rows > self.rows_max - self.rows {
            return Err(no_room());
        }
        match block.validity {
            Validity::AllValid => {
                if let Some(validity) = &mut self.validity {
                    tarsia_bits::fill_bits(validity, self.rows, n_rows, true);
                }
                self.push_values(page, block, selection, n_rows, scratch)?;
            }
            Validity::AllNull => {
                let validity = self.validity(take);
                let at = validity.1;
                tarsia_bits::fill_bits(validity.0, at, n_rows, false);
                self.null_count += n_rows;
                if page.is_compact() {
                    self.push_filler(n_rows)?;
                } else {
                    self.push_values(page, block, selection, n_rows, scratch)?;
                }
            }
            Validity::Encoded { tree, bytes } => {
                let decoder = page.validity_tree(tree)?;
                let unit = Unit {
                    bytes,
                    len: block.n_items,
                    decoded_bytes: block.n_items.div_ceil(8),
                };
                if page.is_compact() {
                    self.push_compact(page, block, decoder, unit, selection, scratch, take)?;
                } else {
                    let (validity, offset) = self.validity(take);
                    decoder.decode(
                        unit,
                        selection,
                        scratch,
                        Output::Bits {
                            bytes: validity,
                            offset,
                        },
                    )?;
                    let valid = BitSlice::new(validity, offset, n_rows)?.count_ones();
                    self.null_count += n_rows - valid;
                    self.push_values(page, block, selection, n_rows, scratch)?;
                }
            }
        }
        #[cfg(feature = "zero-copy")]
        if matches!(self.collects, Collects::EntryViews | Collects::EntryCodes)
            && let Some(entries) = page.tree(block)?.entries()
        {
            self.number_entries(entries.entries.values(), n_rows);
        }
        self.rows += n_rows;
        Ok(())
    }

    /// Appends rows that something else decoded, such as a kernel. The caller has checked that the offsets rise.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where the parts do not fit each
    /// other, the column's type or the room given at the start.
    pub fn push_decoded(&mut self, decoded: &DecodedRows<'_>, take: Take<'_>) -> Result<()> {
        let misfit = || Error::invalid("decoded rows that do not fit the column");
        let (rows, n_rows) = (self.rows, decoded.rows);
        if n_rows > self.rows_max - rows {
            return Err(misfit());
        }
        match self.value_type {
            ValueType::Bits => {
                let bits = BitSlice::new(decoded.values, 0, n_rows)?;
                slots::copy_bits(&mut self.values, rows, bits)?;
            }
            ValueType::Fixed(width) => {
                let width = width as usize;
                let to = self.values.get_mut(rows * width..(rows + n_rows) * width);
                match to {
                    Some(to) if to.len() == decoded.values.len() => {
                        to.copy_from_slice(decoded.values);
                    }
                    _ => return Err(misfit()),
                }
            }
            ValueType::Bytes => {
                let (offsets, rest) = decoded.offsets.as_chunks::<4>();
                let base = self.data_len as u32;
                let end = self.data_len.checked_add(decoded.values.len());
                let data = end.and_then(|end| self.values.get_mut(self.data_len..end));
                let ends: &mut [u32] = words_mut(&mut self.ends);
                let ends = ends.get_mut(rows + 1..rows + 1 + n_rows);
                match (offsets.split_first(), data, ends) {
                    (Some((first, offsets)), Some(data), Some(ends))
                        if rest.is_empty() && offsets.len() == n_rows && *first == [0; 4] =>
                    {
                        data.copy_from_slice(decoded.values);
                        for (to, end) in ends.iter_mut().zip(offsets) {
                            // Below 2 GiB where offsets rise, as the caller promises.
                            *to = base.wrapping_add(u32::from_le_bytes(*end));
                        }
                        if ends.last().is_some_and(|last| end != Some(*last as usize)) {
                            return Err(misfit());
                        }
                    }
                    _ => return Err(misfit()),
                }
                self.data_len += decoded.values.len();
            }
        }
        if decoded.validity.is_empty() {
            if let Some(validity) = &mut self.validity {
                tarsia_bits::fill_bits(validity, rows, n_rows, true);
            }
        } else {
            let bits = BitSlice::new(decoded.validity, 0, n_rows)?;
            self.null_count += n_rows - bits.count_ones();
            let (validity, offset) = self.validity(take);
            slots::copy_bits(validity, offset, bits)?;
        }
        self.rows += n_rows;
        Ok(())
    }

    /// The validity bits and the place of the next row's; rows so far are valid when it is made.
    fn validity(&mut self, take: Take<'_>) -> (&mut [u8], usize) {
        let (rows, rows_max) = (self.rows, self.rows_max);
        let validity = self.validity.get_or_insert_with(|| {
            let mut validity = take(rows_max.div_ceil(8));
            tarsia_bits::fill_bits(&mut validity, 0, rows, true);
            validity
        });
        (validity, rows)
    }

    fn push_values(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        selection: Selection<'_>,
        n_rows: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut place = Default::default();
        let (tree, unit) = self.source(page, block, &mut place)?;
        let rows = self.rows;
        let out = match self.value_type {
            ValueType::Bits => Output::Bits {
                bytes: &mut self.values,
                offset: rows,
            },
            ValueType::Fixed(width) => {
                let width = width as usize;
                Output::Fixed(
                    self.values
                        .get_mut(rows * width..(rows + n_rows) * width)
                        .unwrap_or_default(),
                )
            }
            ValueType::Bytes => {
                let ends: &mut [u32] = words_mut(&mut self.ends);
                Output::Bytes {
                    ends: ends
                        .get_mut(rows + 1..rows + 1 + n_rows)
                        .unwrap_or_default(),
                    // At most 2 GiB, checked when the column was made.
                    base: self.data_len as u32,
                    data: self.values.get_mut(self.data_len..).unwrap_or_default(),
                }
            }
        };
        self.data_len += tree.decode(unit, selection, scratch, out)?;
        Ok(())
    }

    /// Appends filler for null rows: zeros or empty strings.
    fn push_filler(&mut self, n_rows: usize) -> Result<()> {
        let rows = self.rows;
        match self.value_type {
            ValueType::Bits => tarsia_bits::fill_bits(&mut self.values, rows, n_rows, false),
            ValueType::Fixed(width) => {
                let width = width as usize;
                if let Some(slots) = self.values.get_mut(rows * width..(rows + n_rows) * width) {
                    slots.fill(0);
                }
            }
            ValueType::Bytes => {
                let data_len = self.data_len as u32;
                let ends: &mut [u32] = words_mut(&mut self.ends);
                if let Some(ends) = ends.get_mut(rows + 1..rows + 1 + n_rows) {
                    ends.fill(data_len);
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn no_room() -> Error {
    Error::invalid("more rows than the column has room for")
}
