//! Bloom filters of runs of rows: which values a run does not hold.
//!
//! The bits are those of the split-block filters of Parquet's specification, which other programs know: a filter has
//! blocks of 256 bits, a value chooses one of them by the upper half of its hash, and one bit of each of the block's
//! eight words by the lower half. The hash is XXH64 with seed 0 of the value's bytes.
//!
//! A filter has 10 bits for each row of its run, also for rows that are null or erased: so its length says nothing of
//! values, and is known from the page's rows. The blocks lie in *shards* of at most 128, each with a checksum, so that
//! a reader that looks for a value reads 4 KiB of a filter and not all 80.
//!
//! Sources: Bloom (CACM 1970); Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (WEA 2007),
//! section 3.1; the page on bloom filters of Parquet's specification for the bits; for the bytes,
//! `docs/spec/blooms.md`.

use std::ops::Range;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{BitSlice, Error, FixedSlice, Result, Values};
use tarsia_metadata::crc32c;
use twox_hash::XxHash64;

use crate::collect::Collect;

/// A filter is for at most this many rows.
pub const BLOOM_ROWS_MAX: u32 = 65_536;

/// Bits of a filter for each row: about 1 of 80 values that are not there seems to be.
const BITS_PER_ROW: u64 = 10;

/// Words of a block.
const BLOCK_WORDS: usize = 8;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 4 * BLOCK_WORDS as u64;

/// Blocks of each shard but the last.
const SHARD_BLOCKS: u64 = 128;

/// Bytes in front of the blocks of a shard: a checksum, and zeros.
const SHARD_HEADER_BYTES: u64 = 8;

/// Bytes of each shard but the last.
const SHARD_BYTES: u64 = SHARD_HEADER_BYTES + SHARD_BLOCKS * BLOCK_BYTES;

/// Where the blocks of a shard begin.
const BLOCKS_AT: usize = SHARD_HEADER_BYTES as usize;

/// Odd numbers by which the lower half of a hash is multiplied, one for each word of a block.
const SALTS: [u32; BLOCK_WORDS] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The hash of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Computes it from the value's bytes: numbers are little-endian, as in Arrow's buffers.
    #[inline]
    pub fn of(value: &[u8]) -> Self {
        Self(XxHash64::oneshot(0, value))
    }

    /// The bits of the value in each word of its block.
    #[inline]
    fn masks(self) -> [u32; BLOCK_WORDS] {
        // The lower half.
        let key = self.0 as u32;
        SALTS.map(|salt| 1 << (key.wrapping_mul(salt) >> 27))
    }
}

/// The size of a filter, which depends on the rows of its run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomShape {
    /// 1 or more.
    n_blocks: u64,
}

impl BloomShape {
    /// The size of a filter of a run of so many rows.
    pub fn of_rows(rows: u32) -> Self {
        let bits = u64::from(rows) * BITS_PER_ROW;
        Self {
            n_blocks: bits.div_ceil(8 * BLOCK_BYTES).max(1),
        }
    }

    /// Bytes of the filter, those of its shards' headers counted.
    pub fn bytes(self) -> u64 {
        let n_shards = self.n_blocks.div_ceil(SHARD_BLOCKS);
        n_shards * SHARD_HEADER_BYTES + self.n_blocks * BLOCK_BYTES
    }

    /// The number of the block of a value.
    #[inline]
    fn block_of(self, key: KeyHash) -> u64 {
        ((key.0 >> 32) * self.n_blocks) >> 32
    }

    /// The bytes of the filter that say whether it may hold a value: a shard.
    pub fn shard_of(self, key: KeyHash) -> Range<u64> {
        let number = self.block_of(key) / SHARD_BLOCKS;
        let start = number * SHARD_BYTES;
        start..(start + SHARD_BYTES).min(self.bytes())
    }

    /// Whether the run may hold a value, by the bytes of [`BloomShape::shard_of`].
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt),
    /// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated).
    pub fn may_hold(self, shard: &[u8], key: KeyHash) -> Result<bool> {
        check_shard(shard)?;
        // At most 127 blocks.
        let at = BLOCKS_AT + (self.block_of(key) % SHARD_BLOCKS * BLOCK_BYTES) as usize;
        let mut block = ByteReader::new(shard.get(at..).unwrap_or_default());
        let mut may_hold = true;
        for mask in key.masks() {
            may_hold &= block.u32("bloom.block")? & mask != 0;
        }
        Ok(may_hold)
    }

    /// Compares the checksums of all shards of a filter.
    ///
    /// # Errors
    /// As [`BloomShape::may_hold`].
    pub fn check(self, filter: &[u8]) -> Result<()> {
        if filter.len() as u64 != self.bytes() {
            return Err(Error::corrupt(
                "bloom.length",
                0,
                filter.len() as u64,
                "the bytes of the run's rows",
            ));
        }
        let shards = filter.chunks(SHARD_BYTES as usize);
        shards.into_iter().try_for_each(check_shard)
    }
}

fn check_shard(shard: &[u8]) -> Result<()> {
    let mut reader = ByteReader::new(shard);
    let stored = reader.u32("bloom.crc")?;
    let reserved = reader.u32("bloom.reserved")?;
    if reserved != 0 {
        return Err(Error::corrupt("bloom.reserved", 4, reserved, "zero"));
    }
    match stored == crc_of(shard) {
        true => Ok(()),
        false => {
            let what = "the checksum of the shard's blocks";
            Err(Error::corrupt("bloom.crc", 0, stored, what))
        }
    }
}

fn crc_of(shard: &[u8]) -> u32 {
    crc32c(&[shard.get(BLOCKS_AT..).unwrap_or_default()])
}

/// A run of rows of a page that has a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomRun {
    /// Rows, counted from the page's first.
    pub rows: Range<u32>,
    /// Place of the filter in the page's part of the filters of a column.
    pub place: Range<u64>,
    /// Size of the filter.
    pub shape: BloomShape,
}

/// The runs of a page of so many rows: each of [`BLOOM_ROWS_MAX`] rows but the last.
pub fn bloom_runs(rows: u32) -> impl Iterator<Item = BloomRun> {
    let full = BloomShape::of_rows(BLOOM_ROWS_MAX).bytes();
    let starts = (0..rows).step_by(BLOOM_ROWS_MAX as usize);
    starts.enumerate().map(move |(number, start)| {
        let end = rows.min(start.saturating_add(BLOOM_ROWS_MAX));
        let shape = BloomShape::of_rows(end - start);
        let place = number as u64 * full;
        BloomRun {
            rows: start..end,
            place: place..place + shape.bytes(),
            shape,
        }
    })
}

/// Bytes of the filters of a page of so many rows.
pub fn bloom_bytes(rows: u32) -> u64 {
    let full = BloomShape::of_rows(BLOOM_ROWS_MAX).bytes();
    let rest = match rows % BLOOM_ROWS_MAX {
        0 => 0,
        rest => BloomShape::of_rows(rest).bytes(),
    };
    u64::from(rows / BLOOM_ROWS_MAX) * full + rest
}

/// The filter of some rows so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomCollector {
    shape: BloomShape,
    blocks: Vec<[u32; BLOCK_WORDS]>,
}

impl BloomCollector {
    /// No values yet, of a run of so many rows.
    pub fn new(rows: u32) -> Self {
        let shape = BloomShape::of_rows(rows);
        Self {
            shape,
            blocks: vec![[0; BLOCK_WORDS]; shape.n_blocks as usize],
        }
    }

    fn insert(&mut self, value: &[u8]) {
        let key = KeyHash::of(value);
        if let Some(block) = self.blocks.get_mut(self.shape.block_of(key) as usize) {
            for (word, mask) in block.iter_mut().zip(key.masks()) {
                *word |= mask;
            }
        }
    }

    /// The filter's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.shape.bytes() as usize);
        for blocks in self.blocks.chunks(SHARD_BLOCKS as usize) {
            let start = out.len();
            out.extend_from_slice(&[0; BLOCKS_AT]);
            out.extend(blocks.as_flattened().iter().flat_map(|it| it.to_le_bytes()));
            let crc = crc_of(out.get(start..).unwrap_or_default());
            if let Some(field) = out.get_mut(start..start + 4) {
                field.copy_from_slice(&crc.to_le_bytes());
            }
        }
        out
    }

    /// Compares a stored filter with this one, which was computed from the run's rows; `None` if they are the same.
    ///
    /// # Errors
    /// As [`BloomShape::check`].
    pub fn compare(&self, filter: &[u8]) -> Result<Option<BloomLie>> {
        self.shape.check(filter)?;
        let shards = filter.chunks(SHARD_BYTES as usize);
        let stored = shards.flat_map(|shard| shard.get(BLOCKS_AT..).unwrap_or_default());
        let computed = self.blocks.as_flattened().iter();
        let mut found = None;
        for (stored, computed) in stored.zip(computed.flat_map(|it| it.to_le_bytes())) {
            if computed & !stored != 0 {
                return Ok(Some(BloomLie::Lacks));
            }
            if *stored != computed {
                found = Some(BloomLie::HasMore);
            }
        }
        Ok(found)
    }
}

/// How a filter differs from what the rows of its run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BloomLie {
    /// It says of a value that it is not there.
    Lacks,
    /// It has bits that no value of the rows sets.
    HasMore,
}

impl Collect for BloomCollector {
    fn add(&mut self, values: Values<'_>, validity: Option<BitSlice<'_>>) -> Result<()> {
        each_value(values, validity, |value| {
            if let Some(value) = value {
                self.insert(value);
            }
        })
    }

    fn add_nulls(&mut self, _n: u64) {}

    fn merge(&mut self, other: &Self) {
        let words = self.blocks.as_flattened_mut().iter_mut();
        for (word, other) in words.zip(other.blocks.as_flattened()) {
            *word |= other;
        }
    }
}

/// The hashes of some values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyHashes {
    /// One for each value; `None` for nulls.
    pub hashes: Vec<Option<KeyHash>>,
}

impl Collect for KeyHashes {
    fn add(&mut self, values: Values<'_>, validity: Option<BitSlice<'_>>) -> Result<()> {
        each_value(values, validity, |value| {
            self.hashes.push(value.map(KeyHash::of));
        })
    }

    fn add_nulls(&mut self, n: u64) {
        self.hashes.extend((0..n).map(|_| None));
    }

    fn merge(&mut self, other: &Self) {
        self.hashes.extend_from_slice(&other.hashes);
    }
}

/// Calls `each` with the bytes of each value, `None` for nulls.
fn each_value<'v>(
    values: Values<'v>,
    validity: Option<BitSlice<'_>>,
    mut each: impl FnMut(Option<&'v [u8]>),
) -> Result<()> {
    let is_valid = |i: usize| validity.is_none_or(|bits| bits.get(i));
    match values {
        Values::Bits(_) => return Err(Error::invalid("a bloom filter of booleans")),
        Values::Fixed(fixed) => {
            let get = |i| FixedSlice::get(&fixed, i);
            (0..fixed.len()).for_each(|i| each(is_valid(i).then(|| get(i))));
        }
        Values::Bytes(strings) => {
            let get = |i| strings.get(i);
            (0..strings.len()).for_each(|i| each(is_valid(i).then(|| get(i))));
        }
    }
    Ok(())
}
