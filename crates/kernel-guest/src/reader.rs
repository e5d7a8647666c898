//! Readers: which rows a request wants, and their batches.

use alloc::rc::Rc;
use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, Scratch, Selection, ValueType};
#[cfg(feature = "nested")]
use tarsia_structure::Cut;
use tarsia_structure::{Block, BlockHeader, PageDecoder, RawColumn};

use crate::abi::{ArrayNode, BatchHead, Entry, LAYOUT_PLAIN, code, write_batch};
use crate::batch::{Batch, buffers_of};
use crate::fault::{Fault, Result, in_piece, unordered};
use crate::memory::Memory;
#[cfg(feature = "nested")]
use crate::request::cuts_of;
use crate::request::{Input, Request};

/// Wanted rows of one input.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    input: usize,
    /// True if the rows are `start .. start + len` of the reader's list of indices; else they are those rows of the
    /// input.
    pub(crate) by_index: bool,
    start: u32,
    len: u32,
}

/// The rows that one request wants.
pub(crate) struct BatchReader {
    pub(crate) page: Rc<PageDecoder>,
    inputs: Vec<Input>,
    /// All pieces; those from `next_piece` on are not decoded yet.
    pieces: Vec<Piece>,
    pub(crate) next_piece: usize,
    indices: Vec<u32>,
    /// The pieces of the current batch.
    pub(crate) batch: Vec<Piece>,
    batch_rows: u32,
    pub(crate) output_bytes_max: u64,
    pub(crate) honoured: u64,
    pub(crate) rows_done: u64,
    #[cfg(feature = "nested")]
    pub(crate) cuts: Vec<(usize, Cut)>,
    /// If all rows are one batch: that batch, until it is full.
    pub(crate) whole: Option<RawColumn>,
}

impl BatchReader {
    pub(crate) fn new(
        memory: &impl Memory,
        page: Rc<PageDecoder>,
        request: Request<'_>,
    ) -> Result<Self> {
        let mut reader = Self {
            page,
            inputs: request.inputs,
            pieces: Vec::new(),
            next_piece: 0,
            indices: Vec::new(),
            batch: Vec::new(),
            batch_rows: request.batch_rows,
            output_bytes_max: request.output_bytes_max,
            honoured: request.honoured,
            rows_done: 0,
            #[cfg(feature = "nested")]
            cuts: cuts_of(request.cuts.as_ref())?,
            whole: None,
        };
        let mut rows = 0u64;
        for input in &mut reader.inputs {
            // The rest of the block is checked when it is decoded.
            input.rows = BlockHeader::parse(input.bytes(memory)?)?.present_rows;
            input.first_row = rows;
            rows += u64::from(input.rows);
        }
        if request.rows.is_some_and(|said| said != rows) {
            let after = " rows, not as many as the request says";
            let (code, before) = (code::MALFORMED, "the inputs hold ");
            return Err(Fault::numbered(code, before, rows, after));
        }
        match (&request.ranges, &request.selection) {
            (None, None) => reader.want(0, rows)?,
            (Some(ranges), None) => {
                let mut words = ranges.words()?;
                let mut last = 0;
                while let Some(start) = words.next() {
                    let len = words.next().ok_or_else(|| unordered(start))?;
                    let end = u64::from(start) + u64::from(len);
                    if u64::from(start) < last || end > rows {
                        return Err(unordered(start));
                    }
                    last = end;
                    reader.want(start.into(), len.into())?;
                }
            }
            (None, Some(selection)) => reader.select(selection, rows)?,
            (Some(_), Some(_)) => {
                let what = "row ranges and a selection in one request";
                return Err(Fault::new(code::MALFORMED, what));
            }
        }
        Ok(reader)
    }

    /// Index of the input that holds a row.
    fn input_of(&self, row: u64) -> usize {
        // An input without rows has the same first row as the next one, so the last of equal ones is right.
        let after = self.inputs.partition_point(|input| input.first_row <= row);
        after.saturating_sub(1)
    }

    /// Adds the rows `start .. start + len`, which exist.
    fn want(&mut self, start: u64, len: u64) -> Result<()> {
        let (mut row, end) = (start, start + len);
        let mut at = self.input_of(row);
        while row < end {
            let Some(input) = self.inputs.get(at) else {
                return Err(unordered(u32::MAX));
            };
            let upto = end.min(input.end());
            if upto > row {
                self.pieces.push(Piece {
                    input: at,
                    by_index: false,
                    // Inside a block, whose rows are counted in 32 bits.
                    start: (row - input.first_row) as u32,
                    len: (upto - row) as u32,
                });
                row = upto;
            }
            at += 1;
        }
        Ok(())
    }

    fn select(&mut self, selection: &Entry<'_>, rows: u64) -> Result<()> {
        let mut last = 0;
        // The rows of the current input.
        let (mut first_row, mut end) = (0, 0);
        self.indices.reserve(selection.payload.len() / 4);
        for row in selection.words()? {
            if row < last || u64::from(row) >= rows {
                return Err(unordered(row));
            }
            last = row;
            if u64::from(row) >= end {
                let at = self.input_of(row.into());
                let Some(input) = self.inputs.get(at) else {
                    return Err(unordered(row));
                };
                (first_row, end) = (input.first_row, input.end());
                self.pieces.push(Piece {
                    input: at,
                    by_index: true,
                    // A request of 4 GiB has fewer indices than that.
                    start: self.indices.len() as u32,
                    len: 0,
                });
            }
            if let Some(piece) = self.pieces.last_mut() {
                piece.len += 1;
            }
            self.indices.push((u64::from(row) - first_row) as u32);
        }
        Ok(())
    }

    /// Moves the pieces of the next batch to `self.batch`, the last one cut at the end of the batch. Returns their
    /// rows.
    pub(crate) fn next_batch(&mut self) -> u32 {
        self.batch.clear();
        let mut room = self.batch_rows;
        while let Some(piece) = self.pieces.get_mut(self.next_piece) {
            let len = piece.len.min(room);
            if len == 0 {
                break;
            }
            self.batch.push(Piece { len, ..*piece });
            room -= len;
            piece.start += len;
            piece.len -= len;
            if piece.len == 0 {
                self.next_piece += 1;
            }
        }
        self.batch_rows - room
    }

    /// The indices of a piece that is named by indices.
    fn indices(&self, piece: &Piece) -> &[u32] {
        let from = self.indices.get(piece.start as usize..);
        let indices = from.and_then(|indices| indices.get(..piece.len as usize));
        indices.unwrap_or_default()
    }

    pub(crate) fn decode(
        &mut self,
        memory: &impl Memory,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<Option<Batch>> {
        if let Some(mut raw) = self.whole.take() {
            self.batch_rows = u32::MAX;
            self.next_batch();
            self.push_batch(memory, &mut raw, scratch, take)?;
            if raw.is_full() {
                return Ok(Some(self.finish(raw)));
            }
            self.whole = Some(raw);
            return Ok(None);
        }
        let rows = self.next_batch();
        if rows == 0 {
            return Ok(None);
        }
        let bytes = self.output_bytes(memory, rows)?;
        self.check_output(bytes)?;
        let value_type = self.page.value_type();
        let mut raw = RawColumn::new(value_type, rows as usize, bytes as usize, take)?;
        self.push_batch(memory, &mut raw, scratch, take)?;
        Ok(Some(self.finish(raw)))
    }

    pub(crate) fn check_output(&self, bytes: u64) -> Result<()> {
        if bytes > self.output_bytes_max {
            let after = " bytes, more than the request allows";
            return Err(Fault::numbered(code::LIMIT, "a batch of ", bytes, after));
        }
        Ok(())
    }

    /// Decodes the pieces of the current batch and appends them to `raw`.
    fn push_batch(
        &self,
        memory: &impl Memory,
        raw: &mut RawColumn,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        for (number, piece) in self.batch.iter().enumerate() {
            let input = self.input(piece)?;
            let selection = self.selection(piece, input);
            let block = parse_block(&self.page, input.bytes(memory)?)?;
            raw.push(&self.page, &block, selection, scratch, take)
                .map_err(|error| in_piece(number, error))?;
        }
        Ok(())
    }

    /// The rows of a piece as a selection for decoders.
    #[inline(always)]
    pub(crate) fn selection(&self, piece: &Piece, input: &Input) -> Selection<'_> {
        match piece {
            Piece { by_index: true, .. } => Selection::Indices(self.indices(piece)),
            Piece { start: 0, len, .. } if *len == input.rows => Selection::All,
            Piece { start, len, .. } => Selection::Range {
                start: *start,
                len: *len,
            },
        }
    }

    /// Makes a batch, with its description, of the decoded rows.
    fn finish(&mut self, raw: RawColumn) -> Batch {
        let null_count = raw.null_count();
        let parts = raw.finish();
        let rows = parts.rows as u64;
        let (buffers, n_buffers) = buffers_of(&parts);
        let places = buffers.map(|buffer| (buffer.as_ptr() as usize as u64, buffer.len() as u64));
        let node = ArrayNode {
            length: rows,
            null_count: null_count as i64,
            first_buffer: 0,
            n_buffers: n_buffers as u16,
            n_children: 0,
            layout: LAYOUT_PLAIN,
        };
        let mut description = Vec::new();
        let places = places.get(..n_buffers).unwrap_or_default();
        let head = BatchHead {
            honoured: self.honoured,
            rows,
            first_row: self.rows_done,
        };
        write_batch(&mut description, head, &[node], places);
        self.rows_done += rows;
        Batch {
            parts,
            description,
            #[cfg(feature = "nested")]
            levels: Vec::new(),
        }
    }

    /// Bytes of the batch's values, at most.
    pub(crate) fn output_bytes(&self, memory: &impl Memory, rows: u32) -> Result<u64> {
        match self.page.value_type() {
            ValueType::Bytes => {
                let mut bytes = 0u64;
                for piece in &self.batch {
                    let header = BlockHeader::parse(self.input(piece)?.bytes(memory)?)?;
                    let repeats = match piece.by_index {
                        true => Selection::Indices(self.indices(piece)).repeats(),
                        false => 1,
                    };
                    let more = u64::from(header.decoded_bytes).saturating_mul(repeats);
                    bytes = bytes.saturating_add(more);
                }
                Ok(bytes)
            }
            other => Ok(value_bytes(other, rows)),
        }
    }

    pub(crate) fn input(&self, piece: &Piece) -> Result<&Input> {
        let input = self.inputs.get(piece.input);
        input.ok_or_else(|| unordered(piece.start))
    }
}

/// Bytes of `rows` values of a type other than byte strings.
pub(crate) fn value_bytes(value_type: ValueType, rows: u32) -> u64 {
    match value_type {
        ValueType::Fixed(width) => u64::from(rows) * u64::from(width),
        _ => u64::from(rows.div_ceil(8)),
    }
}

/// Parses a block. Its rows, and which of them are left, are taken from its own header: only the host has the block
/// table and knows of erasures.
pub(crate) fn parse_block<'a>(page: &PageDecoder, bytes: &'a [u8]) -> Result<Block<'a>> {
    let rows = BlockHeader::parse(bytes)?.logical_rows;
    Ok(Block::parse_erased(bytes, &page.expect(rows))?)
}
