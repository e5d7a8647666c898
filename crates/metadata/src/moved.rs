//! Blocks that an erasure wrote elsewhere, since their rows did not fit the place any more.

use std::ops::Range;

use crate::{Error, Result};

const ENTRY_BYTES: usize = 24;

/// A block that lies outside its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedBlock {
    /// Number of the column.
    pub leaf: u32,
    /// Number of the page; shared pages count from `1 << 31`.
    pub page: u32,
    /// Number of the block in the page.
    pub block: u32,
    /// Its bytes in the file.
    pub range: Range<u64>,
}

impl MovedBlock {
    /// Column, page and block, by which entries are sorted.
    fn key(&self) -> [u32; 3] {
        [self.leaf, self.page, self.block]
    }
}

/// The bytes of a section with the id [`SECTION_MOVED`](crate::SECTION_MOVED), of blocks in the order of column, page
/// and block.
///
/// # Errors
/// What [`moved_blocks`] would refuse.
pub fn moved_to_bytes(blocks: &[MovedBlock], late: Range<u64>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(blocks.len() * ENTRY_BYTES);
    for block in blocks {
        let bytes = block.range.end.saturating_sub(block.range.start);
        let length = u32::try_from(bytes).map_err(|_| Error::invalid("a block of 4 GiB"))?;
        for word in [block.leaf, block.page, block.block, length] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&block.range.start.to_le_bytes());
    }
    moved_blocks(&out, late)?;
    Ok(out)
}

/// Reads such a section. `late` is where blocks may lie: between digest tree and footer.
///
/// # Errors
/// [`Error::Corrupt`] for entries out of order, and for places outside `late`, that are not 8-aligned, or that overlap.
pub fn moved_blocks(bytes: &[u8], late: Range<u64>) -> Result<Vec<MovedBlock>> {
    let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    let bad = |i: usize, allowed| {
        Err(Error::corrupt(
            "moved_block",
            i * ENTRY_BYTES,
            i as u64,
            allowed,
        ))
    };
    if !rest.is_empty() {
        return bad(entries.len(), "whole entries of 24 bytes");
    }
    let mut blocks = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let word = |at: usize| {
            let word = entry.get(at..).and_then(<[u8]>::first_chunk);
            word.map_or(0, |word| u32::from_le_bytes(*word))
        };
        let (length, low, high) = (word(12), word(16), word(20));
        let start = u64::from(high) << 32 | u64::from(low);
        let end = start.saturating_add(length.into());
        let aligned = start.is_multiple_of(8) && length.is_multiple_of(8);
        if start < late.start || end > late.end || length < 32 || !aligned {
            return bad(i, "8-aligned places between digest tree and footer");
        }
        blocks.push(MovedBlock {
            leaf: word(0),
            page: word(4),
            block: word(8),
            range: start..end,
        });
    }
    if !blocks.is_sorted_by(|a, b| a.key() < b.key()) {
        return bad(0, "entries in the order of column, page and block");
    }
    let mut places: Vec<_> = blocks.iter().map(|block| &block.range).collect();
    places.sort_by_key(|range| range.start);
    if !places.is_sorted_by(|a, b| a.end <= b.start) {
        return bad(0, "places that do not overlap");
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_blocks_round_trip_and_lies_are_refused() {
        let block = |leaf, page, block, start: u64| MovedBlock {
            leaf,
            page,
            block,
            range: start..start + 64,
        };
        let late = 1000..2000;
        let blocks = vec![
            block(0, 1, 2, 1064),
            block(0, 1 << 31, 0, 1000),
            block(3, 0, 0, 1936),
        ];
        let bytes = moved_to_bytes(&blocks, late.clone()).unwrap();
        assert_eq!(moved_blocks(&bytes, late.clone()), Ok(blocks.clone()));
        for len in 1..24 {
            assert!(moved_blocks(&bytes[..len], late.clone()).is_err());
        }
        for lie in [
            vec![blocks[1].clone(), blocks[0].clone()],
            vec![blocks[0].clone(), blocks[0].clone()],
            vec![block(0, 0, 0, 992)],
            vec![block(0, 0, 0, 1944)],
            vec![block(0, 0, 0, 1004)],
            vec![block(0, 0, 0, 1000), block(0, 0, 1, 1056)],
        ] {
            assert!(moved_to_bytes(&lie, late.clone()).is_err(), "{lie:?}");
        }
    }
}
