//! Sets of row numbers.
//!
//! They are stored in the [portable 64-bit form of Roaring](https://github.com/RoaringBitmap/RoaringFormatSpec): u64
//! number of bitmaps; per bitmap the upper 32 bits of its rows (u32, rising), then its rows' lower 32 bits in the
//! portable 32-bit form. A container is stored as runs where that takes fewer bytes, else as positions up to 4,096
//! rows, else as a bitmap: so a set has one form, whatever it was made of.

use std::collections::{BTreeMap, btree_map};
use std::ops::Range;

use roaring::RoaringBitmap;

use crate::bytes::{ByteReader, TooShort};
use crate::{Digest, Kind, hasher};

/// Cookie of a bitmap without containers of runs; the number of containers follows.
const COOKIE_PLAIN: u32 = 12346;
/// Lower half of the cookie of a bitmap with containers of runs; the number of containers less one is the upper half.
const COOKIE_RUNS: u16 = 12347;
const CONTAINERS_MAX: usize = 1 << 16;
/// A bitmap with containers of runs has offsets from this number of containers on.
const OFFSETS_FROM: usize = 4;
/// A container of more rows is no list of positions.
const POSITIONS_MAX: usize = 4096;
const BITMAP_BYTES: usize = 8192;
const RUN_COUNT_BYTES: usize = 2;
const RUN_BYTES: usize = 4;
/// Rows of a bitmap.
const BITMAP_ROWS: u64 = 1 << 32;

/// Why bytes are no set of rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowSetError {
    /// The bytes end before the set does.
    #[error("the set of rows ends at byte {len}: {what} at byte {at} needs {needed} bytes")]
    Truncated {
        /// Names the missing part.
        what: &'static str,
        /// Where it starts.
        at: u64,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes of the set.
        len: u64,
    },
    /// Bytes that no writer writes.
    #[error("{what} at byte {at} of the set of rows: {expect}")]
    Corrupt {
        /// The field.
        what: &'static str,
        /// Where it starts.
        at: u64,
        /// Describes what must be there.
        expect: String,
    },
    /// A row that the table does not have.
    #[error("the set of rows has row {row}, the table has {rows} rows")]
    Row {
        /// The last row of the set.
        row: u64,
        /// Rows of the table.
        rows: u64,
    },
}

/// A set of row numbers, kept as Roaring bitmaps. It takes little memory for rows that are few, that are runs, or that
/// are nearly all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSet {
    /// By the upper 32 bits of the rows. None is empty.
    bitmaps: BTreeMap<u32, RoaringBitmap>,
}

impl RowSet {
    /// A set without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the rows of `range`. A run takes about 50 bytes per 65,536 rows.
    pub fn insert_range(&mut self, range: Range<u64>) {
        for (high, low) in split(range) {
            self.bitmaps
                .entry(high)
                .or_default()
                .insert_range(low.start..=low.last);
        }
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.bitmaps.values().map(RoaringBitmap::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bitmaps.is_empty()
    }

    /// Whether a row is in the set.
    pub fn contains(&self, row: u64) -> bool {
        let bitmap = self.bitmaps.get(&high(row));
        bitmap.is_some_and(|bitmap| bitmap.contains(low(row)))
    }

    /// The last row.
    pub fn last(&self) -> Option<u64> {
        let (high, bitmap) = self.bitmaps.last_key_value()?;
        bitmap.max().map(|low| join(*high, low))
    }

    /// The rows of the set that lie in `range`, as rising ranges that do not touch each other. It costs two binary
    /// searches, and then as much as the rows and the ranges in `range`, however large the set is.
    pub fn ranges(&self, range: Range<u64>) -> Ranges<'_> {
        let bitmaps = match split(range.clone()).next() {
            Some(_) => self.bitmaps.range(high(range.start)..=high(range.end - 1)),
            None => self.bitmaps.range(0..0),
        };
        Ranges {
            bitmaps,
            current: None,
            range,
            pending: None,
        }
    }

    /// How many rows of the set lie in `range`. It does not visit them one by one.
    pub fn count(&self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        self.bitmaps
            .range(high(range.start)..=high(range.end - 1))
            .filter_map(|(high, bitmap)| {
                let part = part_of(*high, &range)?;
                Some(bitmap.range_cardinality(part.start..=part.last))
            })
            .sum()
    }

    /// The rows that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        for (high, bitmap) in &other.bitmaps {
            *union.bitmaps.entry(*high).or_default() |= bitmap;
        }
        union.optimized()
    }

    /// The rows of this set that are not in the other one.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        for (high, bitmap) in &other.bitmaps {
            if let Some(ours) = difference.bitmaps.get_mut(high) {
                *ours -= bitmap;
            }
        }
        difference.bitmaps.retain(|_, bitmap| !bitmap.is_empty());
        difference.optimized()
    }

    /// Whether all rows of this set are in the other one.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.bitmaps.iter().all(|(high, bitmap)| {
            let theirs = other.bitmaps.get(high);
            theirs.is_some_and(|theirs| bitmap.is_subset(theirs))
        })
    }

    /// The rows, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.bitmaps
            .iter()
            .flat_map(|(high, bitmap)| bitmap.iter().map(|low| join(*high, low)))
    }

    /// The digest: BLAKE3 over 16 bytes as all digests have them (kind 8, numbers 0) and the rising rows, each as u64.
    /// It does not depend on how the set is stored. It visits every row.
    pub fn digest(&self) -> Digest {
        const ROWS_AT_ONCE: usize = 1024;
        let mut hasher = hasher(Kind::RowSet, [0; 3]);
        let mut bytes = Vec::with_capacity(ROWS_AT_ONCE * 8);
        for row in self.iter() {
            bytes.extend_from_slice(&row.to_le_bytes());
            if bytes.len() >= ROWS_AT_ONCE * 8 {
                hasher.update(&bytes);
                bytes.clear();
            }
        }
        hasher.update(&bytes);
        *hasher.finalize().as_bytes()
    }

    /// The set as it is stored. Equal sets have equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = (self.bitmaps.len() as u64).to_le_bytes().to_vec();
        for (high, bitmap) in &self.bitmaps {
            out.extend_from_slice(&high.to_le_bytes());
            write_bitmap(bitmap, &mut out);
        }
        out
    }

    /// Reads a set of rows of a table of `rows` rows, which is all of `bytes`. It takes a small multiple of the memory
    /// of `bytes`. The form of a container need not be the smallest one. The set may have many rows in a few bytes: all
    /// that visits them one by one may take long.
    ///
    /// # Errors
    /// [`RowSetError::Row`] for rows that the table does not have, else [`RowSetError`] with the byte.
    pub fn parse(bytes: &[u8], rows: u64) -> Result<Self, RowSetError> {
        let mut reader = ByteReader::new(bytes);
        let count = reader.array::<8>("the number of bitmaps")?;
        let count = u64::from_le_bytes(count);
        let mut bitmaps = BTreeMap::<u32, RoaringBitmap>::new();
        for _ in 0..count {
            let at = reader.position();
            let high = u32::from_le_bytes(reader.array("the upper half of rows")?);
            if bitmaps
                .last_key_value()
                .is_some_and(|(last, _)| *last >= high)
            {
                return Err(corrupt("the upper half of rows", at, "it must rise"));
            }
            let start = reader.position();
            check_bitmap(&mut reader)?;
            let bitmap = bytes.get(start..reader.position()).unwrap_or_default();
            // This checks the order of positions and runs, and counts the bits of bitmaps.
            let bitmap = RoaringBitmap::deserialize_from(bitmap)
                .map_err(|error| corrupt("a bitmap", start, error.to_string()))?;
            bitmaps.insert(high, bitmap);
        }
        if reader.n_left() > 0 {
            return Err(corrupt("the end", reader.position(), "no bytes may follow"));
        }
        let set = Self { bitmaps };
        match set.last() {
            Some(row) if row >= rows => Err(RowSetError::Row { row, rows }),
            // Short runs would be slow to search.
            _ => Ok(set.optimized()),
        }
    }

    fn optimized(mut self) -> Self {
        for bitmap in self.bitmaps.values_mut() {
            bitmap.optimize();
        }
        self
    }
}

impl FromIterator<u64> for RowSet {
    /// The set of these rows, which may come in any order and several times.
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        let mut set = Self::new();
        set.extend(rows);
        set.optimized()
    }
}

impl Extend<u64> for RowSet {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, rows: I) {
        for row in rows {
            self.bitmaps.entry(high(row)).or_default().insert(low(row));
        }
    }
}

/// The rows of a set in a range, as ranges: [`RowSet::ranges`].
#[derive(Clone)]
pub struct Ranges<'a> {
    bitmaps: btree_map::Range<'a, u32, RoaringBitmap>,
    current: Option<(u32, roaring::bitmap::Iter<'a>)>,
    range: Range<u64>,
    /// A range that may go on in the next bitmap.
    pending: Option<Range<u64>>,
}

impl Ranges<'_> {
    /// The next range inside a bitmap.
    fn next_inside(&mut self) -> Option<Range<u64>> {
        loop {
            if let Some((high, iter)) = &mut self.current
                && let Some(lows) = iter.next_range()
            {
                // The end of the last range is 2^64 for a row that no file has, u64::MAX.
                let end = join(*high, *lows.end()).saturating_add(1);
                return Some(join(*high, *lows.start())..end);
            }
            let (high, bitmap) = self.bitmaps.next()?;
            self.current = part_of(*high, &self.range)
                .map(|part| (*high, bitmap.range(part.start..=part.last)));
        }
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let mut found = self.pending.take().or_else(|| self.next_inside())?;
        while found.end % BITMAP_ROWS == 0 {
            match self.next_inside() {
                Some(next) if next.start == found.end => found.end = next.end,
                other => {
                    self.pending = other;
                    break;
                }
            }
        }
        Some(found)
    }
}

impl std::fmt::Debug for Ranges<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

fn high(row: u64) -> u32 {
    (row >> 32) as u32
}

fn low(row: u64) -> u32 {
    row as u32
}

fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Rows of one bitmap, both ends counted.
struct Part {
    start: u32,
    last: u32,
}

/// The part of `range` in bitmap `high`.
fn part_of(high: u32, range: &Range<u64>) -> Option<Part> {
    let (first, last) = (join(high, 0), join(high, u32::MAX));
    let start = range.start.max(first);
    let last = range.end.checked_sub(1)?.min(last);
    (start <= last).then(|| Part {
        start: low(start),
        last: low(last),
    })
}

/// The parts of `range`.
fn split(range: Range<u64>) -> impl Iterator<Item = (u32, Part)> {
    let highs = match range.end.checked_sub(1) {
        Some(last) if range.start <= last => Some(high(range.start)..=high(last)),
        _ => None,
    };
    highs
        .into_iter()
        .flatten()
        .filter_map(move |high| Some((high, part_of(high, &range)?)))
}

/// A container that is being written.
struct Container {
    key: u16,
    rows: usize,
    /// First and last row.
    runs: Vec<(u16, u16)>,
}

impl Container {
    fn runs_bytes(&self) -> usize {
        RUN_COUNT_BYTES + self.runs.len() * RUN_BYTES
    }

    fn are_runs_smaller(&self) -> bool {
        self.runs_bytes() < plain_bytes(self.rows)
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.are_runs_smaller() {
            // At most 2,047 runs are smaller.
            out.extend_from_slice(&(self.runs.len() as u16).to_le_bytes());
            for (first, last) in &self.runs {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&(last - first).to_le_bytes());
            }
        } else if self.rows <= POSITIONS_MAX {
            for (first, last) in &self.runs {
                for row in *first..=*last {
                    out.extend_from_slice(&row.to_le_bytes());
                }
            }
        } else {
            let mut bits = [0u8; BITMAP_BYTES];
            for (first, last) in &self.runs {
                for row in *first..=*last {
                    if let Some(byte) = bits.get_mut(usize::from(row / 8)) {
                        *byte |= 1 << (row % 8);
                    }
                }
            }
            out.extend_from_slice(&bits);
        }
    }
}

/// Bytes of a container that is no list of runs.
fn plain_bytes(rows: usize) -> usize {
    if rows <= POSITIONS_MAX {
        rows * 2
    } else {
        BITMAP_BYTES
    }
}

fn write_bitmap(bitmap: &RoaringBitmap, out: &mut Vec<u8>) {
    // Per container: whether it holds runs, its key and number of rows, where it starts behind the header.
    let (mut is_run, mut descriptions, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let mut bodies = Vec::new();
    let mut finish = |container: Container| {
        is_run.push(container.are_runs_smaller());
        descriptions.extend_from_slice(&container.key.to_le_bytes());
        descriptions.extend_from_slice(&((container.rows - 1) as u16).to_le_bytes());
        starts.push(bodies.len());
        container.write(&mut bodies);
    };
    let mut open: Option<Container> = None;
    let mut iter = bitmap.iter();
    while let Some(range) = iter.next_range() {
        let (first, last) = (*range.start(), *range.end());
        for key in (first >> 16) as u16..=(last >> 16) as u16 {
            let low = if key == (first >> 16) as u16 {
                first as u16
            } else {
                0
            };
            let high = if key == (last >> 16) as u16 {
                last as u16
            } else {
                u16::MAX
            };
            if let Some(done) = open.take_if(|container| container.key != key) {
                finish(done);
            }
            let container = open.get_or_insert(Container {
                key,
                rows: 0,
                runs: Vec::new(),
            });
            container.rows += usize::from(high - low) + 1;
            container.runs.push((low, high));
        }
    }
    if let Some(done) = open {
        finish(done);
    }
    let n = is_run.len();
    let has_runs = is_run.contains(&true);
    let start = out.len();
    if has_runs {
        out.extend_from_slice(&COOKIE_RUNS.to_le_bytes());
        out.extend_from_slice(&((n - 1) as u16).to_le_bytes());
        for flags in is_run.chunks(8) {
            let byte = flags
                .iter()
                .rev()
                .fold(0, |byte, flag| byte << 1 | u8::from(*flag));
            out.push(byte);
        }
    } else {
        out.extend_from_slice(&COOKIE_PLAIN.to_le_bytes());
        out.extend_from_slice(&(n as u32).to_le_bytes());
    }
    out.extend_from_slice(&descriptions);
    if !has_runs || n >= OFFSETS_FROM {
        let header = out.len() - start + n * 4;
        for body in starts {
            // A bitmap takes at most 2^29 bytes and its header.
            out.extend_from_slice(&((header + body) as u32).to_le_bytes());
        }
    }
    out.extend_from_slice(&bodies);
}

/// Goes over a bitmap and checks what the reader of Roaring does not: that all bytes are there before memory is taken
/// for them, that runs have as many rows as the container says, that offsets are right, that unused bits are zero.
fn check_bitmap(reader: &mut ByteReader<'_>) -> Result<(), RowSetError> {
    let start = reader.position();
    let [low0, low1, high0, high1] = reader.array("a cookie")?;
    let has_runs = u16::from_le_bytes([low0, low1]) == COOKIE_RUNS;
    let n = if has_runs {
        usize::from(u16::from_le_bytes([high0, high1])) + 1
    } else if u32::from_le_bytes([low0, low1, high0, high1]) == COOKIE_PLAIN {
        let at = reader.position();
        let n = u32::from_le_bytes(reader.array("the number of containers")?) as usize;
        if !(1..=CONTAINERS_MAX).contains(&n) {
            return Err(corrupt("the number of containers", at, "1 to 65,536"));
        }
        n
    } else {
        return Err(corrupt("a cookie", start, "12346 or 12347"));
    };
    let flags_at = reader.position();
    let flags = reader.take(
        if has_runs { n.div_ceil(8) as u64 } else { 0 },
        "flags of runs",
    )?;
    if let Some(last) = flags.last()
        && n % 8 != 0
        && last >> (n % 8) != 0
    {
        return Err(corrupt(
            "flags of runs",
            flags_at,
            "unused bits must be zero",
        ));
    }
    let descriptions_at = reader.position();
    let (descriptions, _) = reader.take(n as u64 * 4, "descriptions")?.as_chunks::<4>();
    let offsets_at = reader.position();
    let has_offsets = !has_runs || n >= OFFSETS_FROM;
    let offsets = reader.take(if has_offsets { n as u64 * 4 } else { 0 }, "offsets")?;
    let mut offsets = offsets.as_chunks::<4>().0.iter();
    let mut last_key = None;
    for (index, [key0, key1, rows0, rows1]) in descriptions.iter().enumerate() {
        let key = u16::from_le_bytes([*key0, *key1]);
        if last_key.replace(key).is_some_and(|last| last >= key) {
            return Err(corrupt(
                "a key",
                descriptions_at + index * 4,
                "it must rise",
            ));
        }
        let found = reader.position() - start;
        if let Some(offset) = offsets.next()
            && u32::from_le_bytes(*offset) as usize != found
        {
            let expect = format!("the container is at {found}");
            return Err(corrupt("an offset", offsets_at + index * 4, expect));
        }
        let rows = usize::from(u16::from_le_bytes([*rows0, *rows1])) + 1;
        let is_run = flags
            .get(index / 8)
            .is_some_and(|byte| byte >> (index % 8) & 1 == 1);
        if !is_run {
            reader.take(plain_bytes(rows) as u64, "a container")?;
            continue;
        }
        let at = reader.position();
        let runs = usize::from(u16::from_le_bytes(reader.array("the number of runs")?));
        let (runs, _) = reader
            .take((runs * RUN_BYTES) as u64, "runs")?
            .as_chunks::<4>();
        let found: usize = runs
            .iter()
            .map(|[_, _, more0, more1]| usize::from(u16::from_le_bytes([*more0, *more1])) + 1)
            .sum();
        if found != rows {
            let expect = format!("they have {found} rows, the container {rows}");
            return Err(corrupt("runs", at, expect));
        }
    }
    Ok(())
}

fn corrupt(what: &'static str, at: usize, expect: impl Into<String>) -> RowSetError {
    RowSetError::Corrupt {
        what,
        at: at as u64,
        expect: expect.into(),
    }
}

impl From<TooShort> for RowSetError {
    fn from(error: TooShort) -> Self {
        let TooShort {
            what,
            at,
            needed,
            len,
        } = error;
        Self::Truncated {
            what,
            at,
            needed,
            len,
        }
    }
}

#[cfg(test)]
mod tests;
