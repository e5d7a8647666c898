//! Byte strings that are not copied: arrays that refer to the file's own memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::DataType;
use tarsia_arrow::{BorrowedStrings, ViewBuffer, borrowed_buffer, dictionary_entries_max};
use tarsia_codec::{EntriesOfBuffer, OwnedValues, Selection};
use tarsia_structure::{RawColumn, RawParts, Take};

use super::column_read::ColumnRead;
use super::memory::Memory;
use crate::error::{Result, while_reading};
use crate::plan::{BlockPart, Piece, Selected};

/// A batch of a scan is cut where its byte strings cannot be borrowed in one piece, if the pieces have so many bytes in
/// the mean.
const BORROWED_PIECE_BYTES_MIN: usize = 256 << 10;

/// Views of dictionary entries are made for at least this many rows.
const ENTRY_VIEW_ROWS_MIN: usize = 1024;

/// Strings are compared by the entries of their dictionary if an entry has so many rows in the mean.
const ROWS_OF_ENTRY_MIN: u64 = 4;

/// Views, and the buffers that they refer to.
pub(crate) struct Views {
    pub(crate) views: RawParts,
    pub(crate) buffers: Vec<Buffer>,
}

/// Numbers of the entries of all dictionaries, one behind the other.
pub(crate) struct EntryCodes {
    pub(crate) codes: RawParts,
    pub(crate) entries: Vec<Arc<OwnedValues>>,
}

/// Offsets, and the run of the file's bytes that they count in.
pub(crate) struct BorrowedRun {
    pub(crate) ends: RawParts,
    pub(crate) bytes: Buffer,
}

/// The strings of a dictionary, one behind the other.
struct EntryBytes(Arc<OwnedValues>);

impl AsRef<[u8]> for EntryBytes {
    fn as_ref(&self) -> &[u8] {
        match &*self.0 {
            OwnedValues::Bytes { data, .. } => data,
            _ => &[],
        }
    }
}

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// Whether byte strings of this column come as views of the file.
    pub(crate) fn has_views(&self) -> bool {
        self.column.has_views(self.decoding.source.is_mapped())
    }

    /// The rows of a flat plan as views of the file, where [`ColumnRead::decode_views`] can: not of rows picked out of
    /// a block.
    pub(crate) fn decode_flat_views(&self, memory: &mut Memory<'_>) -> Result<Option<Views>> {
        if !self.has_views() || !self.is_native()? {
            return Ok(None);
        }
        let range = |part: &BlockPart| match part.selected {
            Selected::Range { start, len } => Some(start..start + len),
            Selected::Indices(_) => None,
        };
        let parts = self.plan.parts.iter();
        match parts.map(range).collect::<Option<Vec<_>>>() {
            Some(items) => self.decode_views(items.chunks(1), true, memory),
            None => Ok(None),
        }
    }

    /// The items of each part as views of the file, where they are byte strings that come as views and all lie in the
    /// file's memory as they are. `None` of others. With `check`, blocks are checked first.
    pub(crate) fn decode_views<'i>(
        &self,
        mut items: impl Iterator<Item = &'i [Range<u32>]> + Clone,
        check: bool,
        memory: &mut Memory<'_>,
    ) -> Result<Option<Views>> {
        let source = self.decoding.source;
        let Some(mapped) = source.mapped().filter(|_| self.has_views()) else {
            return Ok(None);
        };
        let Memory { scratch, take } = memory;
        let n_items = items.clone().flatten().map(|range| range.len()).sum();
        let mut strings = BorrowedStrings::new(mapped, n_items, take)
            .map_err(|error| while_reading(error).in_column(self.column.name()))?;
        let mut are_borrowed = true;
        self.each_block(
            |_| check,
            |_, decoder, block| {
                for range in items.next().into_iter().flatten() {
                    are_borrowed = are_borrowed
                        && strings.push(decoder, block, range.clone(), scratch, take)?;
                }
                Ok(())
            },
        )?;
        if !are_borrowed {
            return Ok(None);
        }
        let (views, buffers) = strings.finish();
        let buffers = buffers.into_iter().map(|buffer| match buffer {
            ViewBuffer::Borrowed(place) => source.borrow(place),
            ViewBuffer::Copied(bytes) => Buffer::from(bytes),
        });
        Ok(Some(Views {
            views,
            buffers: buffers.collect(),
        }))
    }

    /// The rows of a flat plan of views as views of their pages' dictionaries, where all blocks have one. Such strings
    /// are neither expanded nor copied. `None` of others, and of few rows: the text of a whole dictionary is checked.
    pub(crate) fn decode_entry_views(&self, memory: &mut Memory<'_>) -> Result<Option<Views>> {
        let rows = self.plan.rows;
        let is_of_views = matches!(
            self.column.data_type,
            DataType::Utf8View | DataType::BinaryView
        );
        if !is_of_views
            || !self.column.is_flat()
            || rows < ENTRY_VIEW_ROWS_MIN
            || !self.is_native()?
        {
            return Ok(None);
        }
        let has_views = |entries: &EntriesOfBuffer<'_>| entries.views.is_some();
        let views = self.decode_entries(RawColumn::entry_views, has_views, memory)?;
        let Some(views) = views else {
            return Ok(None);
        };
        let (views, entries) = views.finish_entries();
        Ok(Some(Views {
            views,
            buffers: entries
                .into_iter()
                .map(|entries| borrowed_buffer(EntryBytes(entries)))
                .collect(),
        }))
    }

    /// The rows of a flat plan of dictionary arrays as numbers of the entries of their pages' dictionaries, where all
    /// blocks have one. `None` of others, and where there are more entries than rows.
    pub(crate) fn decode_entry_codes(&self, memory: &mut Memory<'_>) -> Result<Option<EntryCodes>> {
        let DataType::Dictionary(key, _) = &self.column.data_type else {
            return Ok(None);
        };
        let rows = self.plan.rows as u64;
        self.entry_codes(rows.min(dictionary_entries_max(key)), memory)
    }

    /// The rows of a flat plan of byte strings as numbers of the entries of their pages' dictionaries, where all blocks
    /// have one. `None` of others, and where a row is not one of several with the same entry.
    pub(crate) fn decode_string_entries(
        &self,
        memory: &mut Memory<'_>,
    ) -> Result<Option<EntryCodes>> {
        let is_of_strings = matches!(
            self.column.data_type,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary
        );
        match is_of_strings {
            true => self.entry_codes(self.plan.rows as u64 / ROWS_OF_ENTRY_MIN, memory),
            false => Ok(None),
        }
    }

    /// Numbers of entries, if there are at most so many.
    fn entry_codes(&self, entries_max: u64, memory: &mut Memory<'_>) -> Result<Option<EntryCodes>> {
        if !self.column.is_flat() || !self.is_native()? {
            return Ok(None);
        }
        let are_few =
            |entries: &EntriesOfBuffer<'_>| entries.entries.values().len() as u64 <= entries_max;
        let codes = self.decode_entries(RawColumn::entry_codes, are_few, memory)?;
        let Some(codes) = codes else {
            return Ok(None);
        };
        let (codes, entries) = codes.finish_entries();
        let n_entries = entries.iter().map(|entries| entries.len()).sum::<usize>();
        Ok((n_entries as u64 <= entries_max).then_some(EntryCodes { codes, entries }))
    }

    /// Decodes the rows of a flat plan into a column made by `make`, which takes only entries of dictionaries. `None`
    /// unless the values of all blocks are entries that are `usable`.
    fn decode_entries(
        &self,
        make: fn(usize, Take<'_>) -> tarsia_codec::Result<RawColumn>,
        usable: impl Fn(&EntriesOfBuffer<'_>) -> bool,
        memory: &mut Memory<'_>,
    ) -> Result<Option<RawColumn>> {
        let Memory { scratch, take } = memory;
        let mut column = None;
        let mut are_usable = true;
        self.each_block(
            |_| true,
            |part, decoder, block| {
                are_usable = are_usable && decoder.entries(block)?.as_ref().is_some_and(&usable);
                if !are_usable {
                    return Ok(());
                }
                let column: &mut RawColumn = match &mut column {
                    Some(column) => column,
                    None => column.insert(make(self.plan.rows, take)?),
                };
                column.push(decoder, block, self.plan.selection(part), scratch, take)
            },
        )?;
        Ok(column.filter(|_| are_usable))
    }

    /// The pieces of a plan of byte strings that may be borrowed from the file, since they lie there back to back.
    /// `None` where they may not, or some do not lie so.
    fn borrowed_pieces(&self) -> Result<Option<Vec<Piece<'_>>>> {
        let Self { column, plan, .. } = self;
        if !column.borrows_runs(self.decoding.source.is_mapped()) || plan.parts.is_empty() {
            return Ok(None);
        }
        for part in &plan.parts {
            let page = column.page(part.page as usize)?;
            if part.lone_rows.is_none() || !page.is_indexed() {
                return Ok(None);
            }
        }
        if !self.is_native()? {
            return Ok(None);
        }
        Ok(Some(plan.pieces()))
    }

    /// The items of each part where they lie in the file, in one piece. `None` of others.
    pub(crate) fn decode_items_in_place(
        &self,
        items: &[Vec<Range<u32>>],
        memory: &mut Memory<'_>,
    ) -> Result<Option<BorrowedRun>> {
        let pieces = self.borrowed_pieces()?;
        let Some([Piece { place, .. }]) = pieces.as_deref() else {
            return Ok(None);
        };
        let n_items = items.iter().flatten().map(|range| range.len()).sum();
        let mut ends = RawColumn::ends(n_items, place.len(), memory.take)
            .map_err(|error| while_reading(error).in_column(self.column.name()))?;
        self.push_items(items, &mut ends, memory)?;
        // Rows without an item have no bytes, so these are all of the run, unless only some items of it are wanted.
        let are_all = ends.data_bytes() == place.len();
        Ok(are_all.then(|| BorrowedRun {
            ends: ends.finish(),
            bytes: self.decoding.source.borrow(place.clone()),
        }))
    }

    /// The rows of a flat plan of byte strings where they lie in the file, back to back: in one piece, or in few large
    /// ones where the plan may be cut. `None` of others.
    pub(crate) fn decode_in_place(
        &self,
        memory: &mut Memory<'_>,
    ) -> Result<Option<Vec<BorrowedRun>>> {
        if !self.column.is_flat() {
            return Ok(None);
        }
        let Some(pieces) = self.borrowed_pieces()? else {
            return Ok(None);
        };
        let bytes: usize = pieces.iter().map(|piece| piece.place.len()).sum();
        let may_be_cut = self.plan.may_be_cut;
        let are_few = may_be_cut && bytes / pieces.len().max(1) >= BORROWED_PIECE_BYTES_MIN;
        if pieces.len() > 1 && !are_few {
            return Ok(None);
        }
        let Memory { scratch, take } = memory;
        let mut blocks = self.blocks;
        let mut runs = Vec::new();
        for Piece { place, parts } in pieces {
            let (now, later) = blocks.split_at(parts.len().min(blocks.len()));
            blocks = later;
            let rows = parts.iter().map(|part| part.rows as usize).sum();
            let mut ends = RawColumn::ends(rows, place.len(), take)
                .map_err(|error| while_reading(error).in_column(self.column.name()))?;
            self.each_part(
                parts,
                now,
                |_| true,
                |_, decoder, block| ends.push(decoder, block, Selection::All, scratch, take),
            )?;
            runs.push(BorrowedRun {
                ends: ends.finish(),
                bytes: self.decoding.source.borrow(place),
            });
        }
        Ok(Some(runs))
    }
}
