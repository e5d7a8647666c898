//! Blocks of one long row of which only some items are read: the front with the levels, then the chunks that hold the items.
//! Source of the idea: DESIGN, nested lookup; the bytes are in `docs/spec/page.md`, Chunks.

use std::ops::Range;

use tarsia_codec::{Reach, Scratch};
use tarsia_io::ReadBytes;
use tarsia_structure::block::{BLOCK_HEADER_BYTES, CHUNK_BYTES, checksummed_chunks};
use tarsia_structure::{Block, BlockHeader, PageDecoder};

use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::file::Inner;
use crate::options::Checksums;
use crate::page::check_covered;
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
    /// What the items that were asked for decode to at most, of byte strings; `None` where all of the block is what is known.
    pub(crate) fn data_bytes(&self) -> Option<u64> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(partial) => partial.data_bytes,
        }
    }

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
    /// Of a file that is in memory: all of them, of which the system fetches what is touched.
    Lent(&'f [u8]),
    /// As long as the block; what was not read is zero.
    Own(Vec<u8>),
}

/// A chunked block, some of whose chunks are at hand.
pub(crate) struct Partial<'f> {
    bytes: Bytes<'f>,
    /// The block's place in the file.
    start: u64,
    /// Of each chunk whether it was read, and its checksum right.
    at_hand: Vec<bool>,
    /// What the items that were read decode to at most, of byte strings; `None` where that is not known.
    data_bytes: Option<u64>,
    /// What was read, in requests that positioned reads make.
    pub(crate) requests: u64,
    pub(crate) read_bytes: u64,
}

impl<'f> Partial<'f> {
    /// Where the front of a block lies that may be better read in parts.
    pub(crate) fn front_place(part: &BlockPart) -> Option<Range<u64>> {
        let Range { start, end } = part.place;
        let len = end.saturating_sub(start);
        if part.bare.is_some() || part.rows != 1 || len <= WHOLE_BYTES_MAX {
            return None;
        }
        let crcs = 4 * len.div_ceil(CHUNK_BYTES as u64);
        let front = (BLOCK_HEADER_BYTES + FRONT_CHUNKS * CHUNK_BYTES) as u64 + crcs;
        Some(start..start + front.min(len))
    }

    /// The front of a block, if it is one that is better read in parts.
    pub(crate) fn open(file: &'f Inner, part: &BlockPart) -> Result<Option<Self>> {
        let Some(front) = Self::front_place(part) else {
            return Ok(None);
        };
        let len = part.place.end - part.place.start;
        let too_large = |_| Error::new(ErrorKind::LimitExceeded, format!("a block of {len} bytes"));
        let len = usize::try_from(len).map_err(too_large)?;
        // At most the block's length.
        let front = (front.end - front.start) as usize;
        let mut partial = Self {
            bytes: match file.lent(part.place.clone()) {
                Some(bytes) => Bytes::Lent(bytes),
                None => Bytes::Own(vec![0; len]),
            },
            start: part.place.start,
            at_hand: Vec::new(),
            data_bytes: Some(0),
            requests: 0,
            read_bytes: 0,
        };
        partial.read(file, 0..front)?;
        let header = BlockHeader::parse(partial.bytes()).map_err(while_reading)?;
        if !header.chunked {
            return Ok(None);
        }
        let (head, chunks) = checksummed_chunks(partial.bytes()).map_err(while_reading)?;
        if chunks.start() > front {
            // More checksums than a block of this length has chunks.
            return Err(Error::new(
                ErrorKind::Corrupt,
                "a block that is longer than its place",
            ));
        }
        check(file, head)?;
        let n_whole = (front - chunks.start()) / CHUNK_BYTES;
        let n_whole = n_whole.min(chunks.len());
        for chunk in (0..n_whole).filter_map(|chunk| chunks.checksummed(chunk)) {
            check(file, chunk)?;
        }
        partial.at_hand = (0..chunks.len()).map(|chunk| chunk < n_whole).collect();
        Ok(Some(partial))
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Lent(bytes) => bytes,
            Bytes::Own(bytes) => bytes,
        }
    }

    fn read(&mut self, file: &Inner, range: Range<usize>) -> Result<()> {
        self.requests += 1;
        self.read_bytes += range.len() as u64;
        if let Bytes::Own(bytes) = &mut self.bytes
            && let Some(to) = bytes.get_mut(range.clone())
        {
            let place = self.start + range.start as u64..self.start + range.end as u64;
            to.copy_from_slice(&file.read(place)?);
        }
        Ok(())
    }

    /// Sees to it that these bytes, counted from the block's start, are at hand.
    fn need(&mut self, file: &Inner, bytes: &Range<usize>) -> Result<()> {
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        let wanted = chunks.holding(bytes);
        let is_missing = |chunk: &usize| self.at_hand.get(*chunk) == Some(&false);
        let missing: Vec<usize> = wanted.filter(is_missing).collect();
        let runs: Vec<Range<usize>> = missing
            .chunk_by(|a, b| a + 1 == *b)
            .filter_map(|run| {
                let (first, last) = (*run.first()?, *run.last()?);
                Some(chunks.place(first).start..chunks.place(last).end)
            })
            .collect();
        for run in runs {
            self.read(file, run)?;
        }
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        for chunk in &missing {
            if let Some(chunk) = chunks.checksummed(*chunk) {
                check(file, chunk)?;
            }
        }
        for chunk in missing {
            if let Some(at_hand) = self.at_hand.get_mut(chunk) {
                *at_hand = true;
            }
        }
        Ok(())
    }

    /// Bytes at the block's front that are at hand without a gap.
    fn front(&self) -> Result<usize> {
        let (_, chunks) = checksummed_chunks(self.bytes()).map_err(while_reading)?;
        let n_chunks = self.at_hand.iter().take_while(|at_hand| **at_hand).count();
        Ok(match n_chunks {
            0 => chunks.start(),
            n_chunks => chunks.place(n_chunks - 1).end,
        })
    }

    /// Reads all in front of the unit.
    pub(crate) fn read_front(&mut self, file: &Inner, decoder: &PageDecoder) -> Result<()> {
        loop {
            let front = self.front()?;
            let block = Block::parse_front(self.bytes(), front, &decoder.expect(1));
            match block.map_err(while_reading)? {
                Some(_) => return Ok(()),
                // Each time twice as much: there are few times.
                None => self.need(file, &(0..front.saturating_mul(2)))?,
            }
        }
    }

    /// Where in the file the items of `ranges` lie, as far as the front says it; what is wrong with it, reading finds out.
    pub(crate) fn item_places(
        &self,
        decoder: &PageDecoder,
        ranges: &[Range<u32>],
        scratch: &mut Scratch,
    ) -> Vec<Range<u64>> {
        let mut place_of = |range: &Range<u32>| {
            let front = self.front().ok()?;
            let block = Block::parse(self.bytes(), &decoder.expect(1)).ok()?;
            match decoder.reach(&block, front, range.clone(), scratch).ok()? {
                Reach::Bytes { place, .. } if !place.is_empty() => {
                    Some(self.start + place.start as u64..self.start + place.end as u64)
                }
                _ => None,
            }
        };
        ranges.iter().filter_map(&mut place_of).collect()
    }

    /// Reads what decoding the items of `ranges` looks at.
    pub(crate) fn read_items(
        &mut self,
        file: &Inner,
        decoder: &PageDecoder,
        ranges: &[Range<u32>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        for range in ranges {
            loop {
                let front = self.front()?;
                let reach = Block::parse(self.bytes(), &decoder.expect(1))
                    .and_then(|block| decoder.reach(&block, front, range.clone(), scratch));
                match reach.map_err(while_reading)? {
                    Reach::Front(bytes) if bytes > front => self.need(file, &(0..bytes))?,
                    Reach::Bytes {
                        place,
                        decoded_bytes,
                    } => {
                        self.need(file, &place)?;
                        let data_bytes = self.data_bytes;
                        self.data_bytes = data_bytes.and_then(|sum| sum.checked_add(decoded_bytes));
                        break;
                    }
                    Reach::Front(_) | Reach::All => {
                        self.need(file, &(0..usize::MAX))?;
                        self.data_bytes = None;
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

fn check(file: &Inner, (covered, stored): (&[u8], u32)) -> Result<()> {
    match file.checksums {
        Checksums::Never => Ok(()),
        Checksums::Once | Checksums::Always => check_covered(covered, stored),
    }
}
