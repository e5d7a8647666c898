//! Blocks of one long row of which only some items are wanted: the front with the levels, then the chunks that hold the
//! items. A block says which of its bytes it needs and is supplied with them; the bytes are in `docs/spec/page.md`,
//! Chunks.

use std::ops::Range;

use tarsia_codec::{Reach, Scratch, ValueType};
use tarsia_io::ReadBytes;
use tarsia_structure::block::{BLOCK_HEADER_BYTES, CHUNK_BYTES, checksummed_chunks};
use tarsia_structure::{Block, BlockHeader, PageDecoder};

use super::checks::Checks;
use super::column_read::ColumnRead;
use super::memory::Memory;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::BlockPart;

/// Blocks up to here have no chunks, with a header: a second request would cost more than their bytes.
const WHOLE_BYTES_MAX: u64 = (64 << 10) + 64;

/// Chunks that are read together with the front, which mostly is all in them.
const FRONT_CHUNKS: usize = 2;

/// A block as it was read for elements.
pub(crate) enum BlockBytes<'f> {
    Whole(ReadBytes<'f>),
    Partial(Partial<'f>),
}

impl BlockBytes<'_> {
    pub(crate) fn is_partial(&self) -> bool {
        matches!(self, Self::Partial(_))
    }
}

impl AsRef<[u8]> for BlockBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Partial(partial) => partial.bytes(),
        }
    }
}

enum Bytes<'f> {
    /// Bytes of a file in memory: all of them, of which the system fetches what is touched.
    Borrowed(&'f [u8]),
    /// As long as the block; what was not read is zero.
    Own(Vec<u8>),
}

/// The front of a block, as far as it is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// It is all there.
    Ready,
    /// The block has no chunks: it has to be read whole.
    NotChunked,
    /// These bytes are needed, counted from the block's start.
    Needs(Vec<Range<usize>>),
}

/// A chunked block, some of whose chunks were read.
pub(crate) struct Partial<'f> {
    bytes: Bytes<'f>,
    /// The block's place in the file.
    start: u64,
    /// Bytes that are read first.
    first: usize,
    /// For each chunk, whether it was read, and its checksum right; `None` before the first bytes were read.
    at_hand: Option<Vec<bool>>,
    /// Ranges of items whose bytes are at hand.
    n_ranges_ready: usize,
    /// Most bytes that the items that were read decode to, of byte strings; `None` where that is not known.
    data_bytes: Option<u64>,
    checks: Checks,
}

impl<'f> Partial<'f> {
    /// Where the front of a block lies that may be better read in parts.
    pub(crate) fn front_place(part: &BlockPart) -> Option<Range<u64>> {
        let Range { start, end } = part.place;
        let len = end.saturating_sub(start);
        if part.lone_rows.is_some() || part.logical_rows != 1 || len <= WHOLE_BYTES_MAX {
            return None;
        }
        let crcs = 4 * len.div_ceil(CHUNK_BYTES as u64);
        let front = (BLOCK_HEADER_BYTES + FRONT_CHUNKS * CHUNK_BYTES) as u64 + crcs;
        Some(start..start + front.min(len))
    }

    /// A block that may be better read in parts, of which nothing was read. `in_memory` are its bytes, where the file
    /// is in memory.
    pub(crate) fn of(
        part: &BlockPart,
        in_memory: Option<&'f [u8]>,
        checks: Checks,
    ) -> Result<Option<Self>> {
        let Some(front) = Self::front_place(part) else {
            return Ok(None);
        };
        let len = part.place.end - part.place.start;
        let too_large = |_| Error::new(ErrorKind::LimitExceeded, format!("a block of {len} bytes"));
        let len = usize::try_from(len).map_err(too_large)?;
        Ok(Some(Self {
            bytes: match in_memory {
                Some(bytes) => Bytes::Borrowed(bytes),
                None => Bytes::Own(vec![0; len]),
            },
            start: part.place.start,
            // At most the block's length.
            first: (front.end - front.start) as usize,
            at_hand: None,
            n_ranges_ready: 0,
            data_bytes: Some(0),
            checks,
        }))
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Own(bytes) => bytes,
        }
    }

    /// Where bytes of the block lie in the file.
    pub(crate) fn place(&self, range: &Range<usize>) -> Range<u64> {
        self.start + range.start as u64..self.start + range.end as u64
    }

    /// Takes bytes that the block needed, and checks the chunks that are complete with them.
    pub(crate) fn supply(&mut self, range: Range<usize>, read: &[u8]) -> Result<()> {
        if let Bytes::Own(bytes) = &mut self.bytes
            && let Some(to) = bytes.get_mut(range.clone())
        {
            if to.len() != read.len() {
                let what = "other bytes than a block needs";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            to.copy_from_slice(read);
        }
        let mut at_hand = match self.at_hand.take() {
            Some(at_hand) => at_hand,
            None => {
                let header = BlockHeader::parse(self.bytes()).map_err(while_reading)?;
                if !header.chunked {
                    self.at_hand = Some(Vec::new());
                    return Ok(());
                }
                let (head, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
                if chunks.start() > self.first {
                    // More checksums than a block of this length has chunks.
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        "a block that is longer than its place",
                    ));
                }
                let (covered, stored) = head;
                self.checks.covered(covered, stored)?;
                vec![false; chunks.len()]
            }
        };
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        for chunk in chunks.holding(&range) {
            let place = chunks.place(chunk);
            let is_whole = range.start <= place.start && place.end <= range.end;
            let Some(at_hand) = at_hand.get_mut(chunk).filter(|at_hand| !**at_hand) else {
                continue;
            };
            if let Some((covered, stored)) = chunks.checksummed(chunk).filter(|_| is_whole) {
                self.checks.covered(covered, stored)?;
                *at_hand = true;
            }
        }
        self.at_hand = Some(at_hand);
        Ok(())
    }

    /// The parts of these bytes, counted from the block's start, that are not at hand.
    fn missing(&self, bytes: &Range<usize>) -> Result<Vec<Range<usize>>> {
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        let at_hand = self.at_hand.as_deref().unwrap_or_default();
        let is_missing = |chunk: &usize| at_hand.get(*chunk) == Some(&false);
        let missing: Vec<usize> = chunks.holding(bytes).filter(is_missing).collect();
        let runs = missing.chunk_by(|a, b| a + 1 == *b);
        let runs = runs.filter_map(|run| {
            let (first, last) = (*run.first()?, *run.last()?);
            Some(chunks.place(first).start..chunks.place(last).end)
        });
        Ok(runs.collect())
    }

    /// Bytes at the block's front that are at hand without a gap.
    fn front_bytes(&self) -> Result<usize> {
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        let at_hand = self.at_hand.as_deref().unwrap_or_default();
        let n_chunks = at_hand.iter().take_while(|at_hand| **at_hand).count();
        Ok(match n_chunks {
            0 => chunks.start(),
            n_chunks => chunks.place(n_chunks - 1).end,
        })
    }

    /// Whether all in front of the unit is at hand.
    pub(crate) fn front(&self, decoder: &PageDecoder) -> Result<Front> {
        match &self.at_hand {
            // The header comes first.
            None => {
                return Ok(Front::Needs(vec![Range {
                    start: 0,
                    end: self.first,
                }]));
            }
            Some(chunks) if chunks.is_empty() => return Ok(Front::NotChunked),
            Some(_) => {}
        }
        let front = self.front_bytes()?;
        let block = Block::parse_front(self.bytes(), front, &decoder.expect(1));
        if block.map_err(while_reading)?.is_some() {
            return Ok(Front::Ready);
        }
        // Each time twice as much: there are few times.
        let missing = self.missing(&(0..front.saturating_mul(2)))?;
        if missing.is_empty() {
            let what = "the front of a block is longer than the block";
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        Ok(Front::Needs(missing))
    }

    /// Returns what decoding the items of `ranges` needs next; nothing, once all is at hand.
    pub(crate) fn items(
        &mut self,
        decoder: &PageDecoder,
        ranges: &[Range<u32>],
        scratch: &mut Scratch,
    ) -> Result<Vec<Range<usize>>> {
        while let Some(range) = ranges.get(self.n_ranges_ready) {
            let front = self.front_bytes()?;
            let reach = Block::parse(self.bytes(), &decoder.expect(1))
                .and_then(|block| decoder.reach(&block, front, range.clone(), scratch));
            let (missing, data_bytes) = match reach.map_err(while_reading)? {
                Reach::Front(bytes) if bytes > front => {
                    let missing = self.missing(&(0..bytes))?;
                    if missing.is_empty() {
                        let what = "items begin behind the end of their block";
                        return Err(Error::new(ErrorKind::Corrupt, what));
                    }
                    return Ok(missing);
                }
                Reach::Bytes {
                    place,
                    decoded_bytes,
                } => {
                    let sum = self
                        .data_bytes
                        .and_then(|sum| sum.checked_add(decoded_bytes));
                    (self.missing(&place)?, sum)
                }
                Reach::Front(_) | Reach::All => (self.missing(&(0..usize::MAX))?, None),
            };
            if !missing.is_empty() {
                return Ok(missing);
            }
            self.data_bytes = data_bytes;
            self.n_ranges_ready += 1;
        }
        Ok(Vec::new())
    }
}

/// If a first guess at the bytes of elements is no more, a better one is not worth its time.
const GUESS_BYTES_MAX: u64 = 64 << 20;

impl ColumnRead<'_, BlockBytes<'_>> {
    /// An upper bound on the bytes of the strings that the `items` of each part decode to; 0 for other values.
    pub(crate) fn element_bytes_max(
        &self,
        items: &[Vec<Range<u32>>],
        memory: &mut Memory<'_>,
    ) -> Result<u64> {
        if self.value_type() != ValueType::Bytes {
            return Ok(0);
        }
        let mut guesses = Vec::with_capacity(self.blocks.len());
        for (part, block) in self.plan.parts.iter().zip(self.blocks) {
            // Of a few items of long rows, all bytes of the rows would be far too many.
            let known = match block {
                BlockBytes::Whole(_) => None,
                BlockBytes::Partial(partial) => partial.data_bytes,
            };
            guesses.push(match known {
                Some(bytes) => bytes,
                None => {
                    let repeats = self.plan.selection(part).repeats();
                    self.part_bytes(part, block.as_ref())?
                        .saturating_mul(repeats)
                }
            });
        }
        let guess = guesses.iter().fold(0u64, |sum, it| sum.saturating_add(*it));
        if guess <= GUESS_BYTES_MAX {
            return Ok(guess);
        }
        let mut total = 0u64;
        let mut of_parts = guesses.iter().zip(items);
        self.each_block(
            |_| false,
            |_, decoder, block| {
                let Some((guess, ranges)) = of_parts.next() else {
                    return Ok(());
                };
                let mut of_part = 0u64;
                for range in ranges {
                    let reach = decoder.reach(block, usize::MAX, range.clone(), memory.scratch)?;
                    of_part = of_part.saturating_add(match reach {
                        Reach::Bytes { decoded_bytes, .. } => decoded_bytes,
                        Reach::Front(_) | Reach::All => *guess,
                    });
                }
                total = total.saturating_add(of_part.min(*guess));
                Ok(())
            },
        )?;
        Ok(total)
    }
}
