//! Byte strings that are not copied: views of a file in memory, typically mapped.

use core::ops::Range;

use tarsia_codec::toolbox::{VIEW_BYTES, view_in};
use tarsia_codec::{AlignedBuf, BitSlice, Error, Reach, Result, Scratch, Selection};

use tarsia_structure::memory::words;
use tarsia_structure::{Block, DecodedRows, PageDecoder, RawColumn, RawParts};

/// The strings of neighbouring blocks make one buffer if at most this many other bytes (headers, lengths) lie between
/// them. Whoever copies the buffers of an array, to send it for instance, copies these bytes too.
const GAP_BYTES_MAX: usize = 1024;

/// A buffer has at most this many bytes, so that the 32-bit offsets of views reach all of them.
const RUN_BYTES_MAX: usize = 1 << 30;

/// Rows of byte strings, collected block by block as Arrow views. A short string lies in its view. A longer one is
/// borrowed from `memory`, which holds the blocks, or copied if its block does not hold it uncompressed.
#[derive(Debug)]
pub struct BorrowedStrings<'m> {
    memory: &'m [u8],
    lengths: RawColumn,
    views: AlignedBuf,
    runs: Vec<ViewBuffer<Range<usize>>>,
    /// How many more blocks were copied than borrowed so far.
    copied_blocks: i32,
}

/// A data buffer of Arrow views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewBuffer<P> {
    /// A byte range of the memory that holds the blocks.
    Borrowed(P),
    /// Copies of strings that their block does not hold uncompressed.
    Copied(Vec<u8>),
}

/// If this many more blocks have to be copied than can be borrowed, copying all of the column is faster.
const COPIED_BLOCKS_MAX: i32 = 8;

impl<'m> BorrowedStrings<'m> {
    /// Room for `rows_max` rows.
    ///
    /// # Errors
    /// As [`RawColumn::new`].
    pub fn new(
        memory: &'m [u8],
        rows_max: usize,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<Self> {
        let lengths = RawColumn::lengths(rows_max, take)?;
        let bytes = rows_max.checked_mul(VIEW_BYTES);
        let bytes = bytes.filter(|bytes| *bytes <= isize::MAX as usize / 2);
        let too_many = || Error::limit("rows of a batch", rows_max as u64, u32::MAX.into());
        Ok(Self {
            memory,
            lengths,
            views: take(bytes.ok_or_else(too_many)?),
            runs: Vec::new(),
            copied_blocks: 0,
        })
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.lengths.rows()
    }

    /// Appends items of a block. `false` where too few blocks of the column can be borrowed, because they do not lie in
    /// `memory` or do not hold their strings uncompressed: the caller should copy the column instead.
    ///
    /// # Errors
    /// As [`RawColumn::push`]. After an error or `false`, these strings must not be used.
    pub fn push(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        range: Range<u32>,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<bool> {
        let selection = match range == (0..block.n_items) {
            true => Selection::All,
            false => Selection::from(&range),
        };
        let first = self.lengths.rows();
        let Some(data) = self.place_of(page, block, range, scratch)? else {
            self.copied_blocks += 1;
            if self.copied_blocks > COPIED_BLOCKS_MAX {
                return Ok(false);
            }
            self.push_copies(page, block, selection, scratch, take)?;
            return Ok(true);
        };
        self.copied_blocks -= 1;
        self.lengths.push(page, block, selection, scratch, take)?;
        let (lengths, _) = self.lengths.words_so_far();
        let lengths = lengths.get(first..).unwrap_or_default();
        let bytes: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        if bytes > data.len() as u64 {
            let allowed = "lengths that add up to the data";
            return Err(Error::corrupt("block.unit", 0, bytes, allowed));
        }
        let (run, run_start) = match bytes {
            0 => (0, data.start),
            _ => borrowed_run(&mut self.runs, data.start..data.start + bytes as usize),
        };
        // Below the data's length, which is of 32 bits, and a run's.
        let run_at = (data.start - run_start) as u32;
        let data = self.memory.get(data).unwrap_or_default();
        self.write_views(first, data, run, run_at)?;
        Ok(true)
    }

    /// Writes the views of the rows from `first` on, whose lengths are known. Their strings lie back to back from the
    /// start of `data`, which begins at byte `run_at` of buffer `run`.
    fn write_views(&mut self, first: usize, data: &[u8], run: u32, run_at: u32) -> Result<()> {
        let (lengths, validity) = self.lengths.words_so_far();
        let lengths = lengths.get(first..).unwrap_or_default();
        let validity = validity.map(|bits| BitSlice::new(bits, first, lengths.len()));
        let validity = validity.transpose()?;
        let (views, _) = self.views.as_chunks_mut::<VIEW_BYTES>();
        let views = views.get_mut(first..).unwrap_or_default();
        let mut at = 0;
        for (row, (view, length)) in views.iter_mut().zip(lengths).enumerate() {
            let offset = run_at.wrapping_add(at as u32);
            // Masked, not branched upon: which rows are null is chance.
            let is_valid = validity.is_none_or(|validity| validity.get(row));
            let mask = u128::from(is_valid).wrapping_neg();
            *view = (view_in(data, at, *length, run, offset) & mask).to_le_bytes();
            at += *length as usize;
        }
        Ok(())
    }

    /// The place in `memory` from the first string of some items of a block to the end of the block's strings; `None`
    /// where they do not lie there.
    fn place_of(
        &self,
        page: &PageDecoder,
        block: &Block<'_>,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<Option<Range<usize>>> {
        if block.header.n_values == 0 {
            return Ok(Some(0..0));
        }
        let unit_at = (block.unit.as_ptr() as usize).checked_sub(self.memory.as_ptr() as usize);
        let Some((unit_at, strings)) = unit_at.zip(page.strings(block)?) else {
            return Ok(None);
        };
        let mut data = unit_at + strings.start..unit_at + strings.end;
        if data.end > self.memory.len() {
            return Ok(None);
        }
        if range.start > 0 {
            let all = block.unit_at + block.unit.len();
            match page.reach(block, all, range, scratch)? {
                Reach::Bytes { place, .. } if place.is_empty() => {}
                Reach::Bytes { place, .. } if place.start >= block.unit_at => {
                    data.start = unit_at + (place.start - block.unit_at);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(data))
    }

    /// Appends items whose strings are copied.
    fn push_copies(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        let n_rows = selection.check(block.n_items)?;
        let data_bytes = block.header.decoded_bytes as usize;
        let mut copies = RawColumn::new(page.value_type(), n_rows, data_bytes, take)?;
        copies.push(page, block, selection, scratch, take)?;
        let copies = copies.finish();
        let data = copies.values.get(..copies.values_len).unwrap_or_default();
        let run = match self.runs.iter().position(|run| run.has_room_for(data)) {
            Some(run) => run,
            None => {
                self.runs.push(ViewBuffer::Copied(Vec::new()));
                self.runs.len() - 1
            }
        };
        let Some(ViewBuffer::Copied(run_bytes)) = self.runs.get_mut(run) else {
            return Err(Error::invalid("a run of copies that is none"));
        };
        // At most a run's bytes.
        let run_at = run_bytes.len() as u32;
        run_bytes.extend_from_slice(data);
        let first = self.lengths.rows();
        let ends = words(&copies.offsets).get(..=n_rows).unwrap_or_default();
        let lengths: Vec<u32> = ends
            .windows(2)
            .map(|pair| pair[1].wrapping_sub(pair[0]))
            .collect();
        let validity = copies.validity.as_deref().unwrap_or_default();
        let rows = DecodedRows {
            rows: n_rows,
            validity,
            offsets: &[],
            values: bytemuck::cast_slice(&lengths),
        };
        self.lengths.push_decoded(&rows, take)?;
        self.write_views(first, data, run as u32, run_at)
    }

    /// The views, as values of 16 bytes, and the buffers behind them, in the order of the views' buffer numbers: places
    /// in `memory`, or copies.
    pub fn finish(self) -> (RawParts, Vec<ViewBuffer<Range<usize>>>) {
        let lengths = self.lengths.finish();
        let parts = RawParts {
            values_len: lengths.rows * VIEW_BYTES,
            values: self.views,
            ..lengths
        };
        (parts, self.runs)
    }
}

impl ViewBuffer<Range<usize>> {
    fn has_room_for(&self, data: &[u8]) -> bool {
        matches!(self, Self::Copied(held) if held.len() + data.len() <= RUN_BYTES_MAX)
    }
}

/// The number and the start of the buffer that `place` belongs to: the last borrowed one where `place` follows it
/// closely, else a new one.
fn borrowed_run(runs: &mut Vec<ViewBuffer<Range<usize>>>, place: Range<usize>) -> (u32, usize) {
    let is_borrowed = |run: &ViewBuffer<_>| matches!(run, ViewBuffer::Borrowed(_));
    if let Some(index) = runs.iter().rposition(is_borrowed)
        && let Some(ViewBuffer::Borrowed(last)) = runs.get_mut(index)
        && place.start >= last.end
        && place.start - last.end <= GAP_BYTES_MAX
        && place.end - last.start <= RUN_BYTES_MAX
    {
        last.end = place.end;
        return (index as u32, last.start);
    }
    let start = place.start;
    runs.push(ViewBuffer::Borrowed(place));
    (runs.len() as u32 - 1, start)
}
