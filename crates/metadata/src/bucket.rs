//! Buckets: from a path to the offset of its record, in one read of 4 KiB, whatever the number of columns.

use std::ops::Range;

use tarsia_codec::toolbox::{ByteReader, check_zero};

use crate::bytes::{check_crc, crc32c, slice, u48};
use crate::limits::{
    BUCKET_BYTES, BUCKET_ENTRIES_MAX, BUCKET_ENTRIES_MEAN_MIN, BUCKETS_LOG2_MAX,
    RECORD_HEADER_BYTES, RECORD_WORDS_IN_ENTRY_MAX,
};
use crate::{Error, Result};

const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;
/// Stands in an entry for a length that is too large for it: the record has it.
const LONG_RECORD: u16 = u16::MAX;

/// The first 8 bytes of BLAKE3 over an encoded path ([`crate::encode_path`]).
pub fn path_hash(path: &[u8]) -> u64 {
    let digest = blake3::hash(path);
    let mut first = [0; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// The index of the bucket that a hash belongs to.
fn bucket_index(hash: u64, log2: u8) -> u64 {
    hash.checked_shr(64 - u32::from(log2)).unwrap_or(0)
}

/// Where the record of a path is. Two paths may have the same hash, so the record repeats the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketEntry {
    /// [`path_hash`] of the node's path.
    pub hash: u64,
    /// Offset of the node's record.
    pub place: u64,
    /// Bytes of the record and, behind it, of the records of all its descendants, but for the root, whose descendants
    /// do not count. `None` if they do not fit in the entry: then the first 4 bytes of the record have its own length.
    pub range_bytes: Option<u32>,
}

impl BucketEntry {
    /// The entry of a record that has, with its descendants, `range_bytes` bytes, a multiple of 8, if that is known.
    pub fn new(hash: u64, place: u64, range_bytes: Option<u64>) -> Self {
        let in_entry = |bytes: &u64| bytes / 8 <= RECORD_WORDS_IN_ENTRY_MAX;
        let range_bytes = range_bytes.filter(in_entry);
        Self {
            hash,
            place,
            // It has at most 19 bits.
            range_bytes: range_bytes.map(|bytes| bytes as u32),
        }
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let words = match self.range_bytes {
            None => LONG_RECORD,
            Some(bytes) => match u16::try_from(bytes / 8) {
                Ok(words)
                    if words < LONG_RECORD
                        && bytes.is_multiple_of(8)
                        && bytes as usize >= RECORD_HEADER_BYTES =>
                {
                    words
                }
                _ => return Err(Error::invalid("a bucket entry's record length")),
            },
        };
        out.extend_from_slice(&self.hash.to_le_bytes());
        out.extend_from_slice(&u48(self.place, "bucket.place")?);
        out.extend_from_slice(&words.to_le_bytes());
        Ok(())
    }

    /// An entry that [`Bucket::parse`] has checked, or zeros.
    fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, place @ .., low, high] = *bytes;
        let [p0, p1, p2, p3, p4, p5] = place;
        let words = u16::from_le_bytes([low, high]);
        Self {
            hash: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            place: u64::from_le_bytes([p0, p1, p2, p3, p4, p5, 0, 0]),
            range_bytes: (words != LONG_RECORD).then_some(u32::from(words) * 8),
        }
    }
}

/// Where the buckets of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    log2: u8,
    place: u64,
    end: u64,
}

impl Buckets {
    /// `1 << log2` buckets from `place` to the end of the metadata region, `tree_place`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where they do not fill that range exactly.
    pub fn new(log2: u8, place: u64, tree_place: u64) -> Result<Self> {
        let bytes = tree_place.saturating_sub(place);
        let one_bucket = HEADER_BYTES as u64..=BUCKET_BYTES as u64;
        let fits = match log2 {
            0 => one_bucket.contains(&bytes) && bytes.is_multiple_of(ENTRY_BYTES as u64),
            1..=BUCKETS_LOG2_MAX => bytes == (BUCKET_BYTES as u64) << log2,
            _ => false,
        };
        if !fits {
            return Err(Error::Corrupt {
                field: "postscript.bucket_place",
                at_byte: 16,
                found: place,
                allowed: "a place from which the buckets reach to tree_place",
            });
        }
        Ok(Self {
            log2,
            place,
            end: tree_place,
        })
    }

    /// log2 of the number of buckets.
    pub fn log2(&self) -> u8 {
        self.log2
    }

    /// Number of a hash's bucket.
    pub fn index(&self, hash: u64) -> u32 {
        // At most 24 bits.
        bucket_index(hash, self.log2) as u32
    }

    /// The range of the bucket of a hash, whose bytes [`Bucket::parse`] needs.
    pub fn range(&self, hash: u64) -> Range<u64> {
        self.bucket_range(self.index(hash))
    }

    /// The range of bucket `index`; empty beyond the last one.
    pub fn bucket_range(&self, index: u32) -> Range<u64> {
        match self.log2 {
            0 if index == 0 => self.place..self.end,
            _ => {
                let start = self
                    .place
                    .saturating_add(u64::from(index) * BUCKET_BYTES as u64);
                let start = start.min(self.end);
                start..(start + BUCKET_BYTES as u64).min(self.end)
            }
        }
    }

    /// Number of buckets.
    pub fn count(&self) -> u32 {
        1 << self.log2
    }

    /// The buckets for `entries` in any order, as log2 of their number and their bytes: the fewest that hold them all.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where hashes were made to collide;
    /// [`Error::InvalidInput`] for an entry that cannot be stored.
    pub fn build(mut entries: Vec<BucketEntry>) -> Result<(u8, Vec<u8>)> {
        entries.sort_unstable();
        let log2 = fitting_log2(&entries)?;
        let n_buckets = 1usize << log2;
        let mut out = Vec::with_capacity(if log2 == 0 {
            HEADER_BYTES + entries.len() * ENTRY_BYTES
        } else {
            n_buckets * BUCKET_BYTES
        });
        let mut rest = entries.as_slice();
        for index in 0..n_buckets as u64 {
            let n = rest.partition_point(|entry| bucket_index(entry.hash, log2) <= index);
            let (mine, others) = rest.split_at(n);
            rest = others;
            let start = out.len();
            write_bucket(mine, &mut out)?;
            if log2 > 0 {
                out.resize(start + BUCKET_BYTES, 0);
            }
        }
        Ok((log2, out))
    }
}

/// The smallest log2 of the number of buckets with which no bucket gets too many entries.
fn fitting_log2(sorted: &[BucketEntry]) -> Result<u8> {
    let most = |log2| {
        sorted
            .chunk_by(|a, b| bucket_index(a.hash, log2) == bucket_index(b.hash, log2))
            .map(<[BucketEntry]>::len)
            .max()
            .unwrap_or(0)
    };
    for log2 in 0..=BUCKETS_LOG2_MAX {
        let too_many = log2 > 0 && sorted.len() >> log2 < BUCKET_ENTRIES_MEAN_MIN;
        if too_many {
            break;
        }
        if most(log2) <= BUCKET_ENTRIES_MAX {
            return Ok(log2);
        }
    }
    Err(Error::limit(
        "BUCKET_ENTRIES_MAX",
        most(BUCKETS_LOG2_MAX).max(BUCKET_ENTRIES_MAX + 1) as u64,
        BUCKET_ENTRIES_MAX as u64,
    ))
}

fn write_bucket(entries: &[BucketEntry], out: &mut Vec<u8>) -> Result<()> {
    let mut body = Vec::with_capacity(entries.len() * ENTRY_BYTES);
    for entry in entries {
        entry.write_to(&mut body)?;
    }
    // `fitting_log2` keeps it below 256.
    let n_entries = (entries.len() as u32).to_le_bytes();
    out.extend_from_slice(&n_entries);
    out.extend_from_slice(&crc32c(&[&n_entries, &body]).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&body);
    Ok(())
}

/// One bucket whose checksum and order hold.
#[derive(Debug, Clone, Copy)]
pub struct Bucket<'a> {
    entries: &'a [[u8; ENTRY_BYTES]],
}

impl<'a> Bucket<'a> {
    /// Reads bucket `index` of `buckets` from the bytes of [`Buckets::bucket_range`].
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`] (order, an entry of another bucket, bytes after the
    /// last entry that are not zero).
    pub fn parse(bytes: &'a [u8], buckets: &Buckets, index: u32) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let n_entries = reader.u32("bucket.n_entries")?;
        let crc = reader.u32("bucket.crc")?;
        check_zero(reader.take(8, "bucket.reserved")?, "bucket.reserved", 8)?;
        let n_entries = match usize::try_from(n_entries) {
            Ok(n) if n <= BUCKET_ENTRIES_MAX => n,
            _ => {
                return Err(Error::corrupt(
                    "bucket.n_entries",
                    0,
                    n_entries,
                    "0 ..= 255",
                ));
            }
        };
        let body = reader.take(n_entries * ENTRY_BYTES, "bucket.entries")?;
        check_crc(
            "bucket",
            0,
            crc,
            &[slice(bytes, 0..4, "bucket.n_entries")?, body],
        )?;
        check_zero(reader.rest(), "bucket.padding", reader.position())?;
        let range = buckets.bucket_range(index);
        if range.end - range.start != bytes.len() as u64 {
            return Err(Error::invalid("the bytes given are not the bucket's"));
        }

        let (entries, _) = body.as_chunks::<ENTRY_BYTES>();
        let mut last = None;
        for (i, entry) in entries.iter().map(BucketEntry::from_bytes).enumerate() {
            let at = HEADER_BYTES + i * ENTRY_BYTES;
            if buckets.index(entry.hash) != index {
                return Err(Error::corrupt(
                    "bucket.hash",
                    at,
                    entry.hash,
                    "hashes of this bucket",
                ));
            }
            let key = (entry.hash, entry.place);
            if last.is_some_and(|last| last >= key) {
                return Err(Error::corrupt(
                    "bucket.hash",
                    at,
                    entry.hash,
                    "entries sorted by hash, then place",
                ));
            }
            last = Some(key);
            let short = entry
                .range_bytes
                .is_some_and(|bytes| (bytes as usize) < RECORD_HEADER_BYTES);
            if short || !entry.place.is_multiple_of(8) || entry.place >= buckets.place {
                return Err(Error::corrupt(
                    "bucket.place",
                    at + 8,
                    entry.place,
                    "places of records, which lie before the buckets",
                ));
            }
        }
        Ok(Self { entries })
    }

    /// All entries, sorted by hash, then by offset.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = BucketEntry> + use<'a> {
        self.entries.iter().map(BucketEntry::from_bytes)
    }

    /// The entries with this hash. Usually one; the records say whether their path is the one looked for
    /// ([`crate::unique_record`]).
    pub fn lookup(&self, hash: u64) -> impl ExactSizeIterator<Item = BucketEntry> + use<'a> {
        let hash_of = |entry: &[u8; ENTRY_BYTES]| BucketEntry::from_bytes(entry).hash;
        let start = self.entries.partition_point(|entry| hash_of(entry) < hash);
        let rest = self.entries.get(start..).unwrap_or_default();
        let n = rest.partition_point(|entry| hash_of(entry) <= hash);
        let found = rest.get(..n).unwrap_or_default();
        found.iter().map(BucketEntry::from_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_path;

    const PLACE: u64 = 1 << 24;

    fn entries(n: usize) -> Vec<BucketEntry> {
        (0..n)
            .map(|i| {
                let path = encode_path([format!("feature_{i}").as_str()]).unwrap();
                BucketEntry::new(path_hash(&path), 192 + 112 * i as u64, Some(112))
            })
            .collect()
    }

    fn check(n: usize) -> u8 {
        let entries = entries(n);
        let (log2, bytes) = Buckets::build(entries.clone()).unwrap();
        let buckets = Buckets::new(log2, PLACE, PLACE + bytes.len() as u64).unwrap();
        let mut n_found = 0;
        for index in 0..buckets.count() {
            let range = buckets.bucket_range(index);
            let at = (range.start - PLACE) as usize..(range.end - PLACE) as usize;
            n_found += Bucket::parse(&bytes[at], &buckets, index)
                .unwrap()
                .entries()
                .len();
        }
        assert_eq!(n_found, n);
        for entry in &entries {
            let range = buckets.range(entry.hash);
            let at = (range.start - PLACE) as usize..(range.end - PLACE) as usize;
            let bucket = Bucket::parse(&bytes[at], &buckets, buckets.index(entry.hash)).unwrap();
            assert_eq!(bucket.lookup(entry.hash).collect::<Vec<_>>(), [*entry]);
            assert_eq!(bucket.lookup(entry.hash ^ 1).len(), 0);
        }
        log2
    }

    #[test]
    fn every_entry_is_found_and_buckets_double_when_one_overflows() {
        assert_eq!(check(0), 0);
        assert_eq!(check(1), 0);
        assert_eq!(check(255), 0);
        assert_eq!(check(256), 1);
        assert_eq!(check(20_000), 7);
    }

    #[test]
    fn the_order_given_does_not_matter() {
        let mut reversed = entries(1000);
        reversed.reverse();
        assert_eq!(Buckets::build(reversed), Buckets::build(entries(1000)));
    }

    #[test]
    fn the_roots_path_is_empty() {
        // BLAKE3 of nothing starts with af 13 49 b9 f5 f9 a1 a6.
        assert_eq!(path_hash(&[]), 0xa6a1_f9f5_b949_13af);
        assert_eq!(bucket_index(u64::MAX, 0), 0);
        assert_eq!(bucket_index(u64::MAX, 1), 1);
        assert_eq!(bucket_index(1 << 63, 24), 1 << 23);
    }

    #[test]
    fn a_bucket_of_one_path_or_of_made_up_hashes_is_refused() {
        let same: Vec<_> = (0..256)
            .map(|i| BucketEntry::new(7, 192 + 8 * i, Some(24)))
            .collect();
        assert!(Buckets::build(same[..255].to_vec()).is_ok());
        assert_eq!(
            Buckets::build(same),
            Err(Error::LimitExceeded {
                limit: "BUCKET_ENTRIES_MAX",
                found: 256,
                max: 255
            })
        );
        // Only 2^24 buckets of 4 KiB would put these hashes in different buckets.
        let close = (0..256)
            .map(|i| BucketEntry::new(i << 40, 192 + 8 * i, Some(24)))
            .collect();
        assert!(matches!(
            Buckets::build(close),
            Err(Error::LimitExceeded { .. })
        ));
    }

    #[test]
    fn long_records_are_marked() {
        let limit = RECORD_WORDS_IN_ENTRY_MAX * 8;
        let length_of = |bytes| BucketEntry::new(0, 0, bytes).range_bytes;
        assert_eq!(length_of(Some(limit)), Some(limit as u32));
        assert_eq!(length_of(Some(limit + 8)), None);
        assert_eq!(length_of(None), None);
        let long = vec![BucketEntry::new(0, 192, Some(limit + 8))];
        let (_, bytes) = Buckets::build(long).unwrap();
        assert_eq!(bytes[30..32], [0xff, 0xff]);
        let buckets = Buckets::new(0, PLACE, PLACE + bytes.len() as u64).unwrap();
        let bucket = Bucket::parse(&bytes, &buckets, 0).unwrap();
        assert_eq!(bucket.lookup(0).next().unwrap().range_bytes, None);
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        let (log2, bytes) = Buckets::build(entries(300)).unwrap();
        let buckets = Buckets::new(log2, PLACE, PLACE + bytes.len() as u64).unwrap();
        let bytes = &bytes[BUCKET_BYTES..];
        for len in (0..bytes.len()).step_by(7) {
            assert!(Bucket::parse(&bytes[..len], &buckets, 1).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Bucket::parse(&bad, &buckets, 1).is_err(), "bit {bit}");
        }
        assert!(Bucket::parse(bytes, &buckets, 0).is_err());
    }

    #[test]
    fn order_and_places_are_checked_under_a_right_checksum() {
        let parse = |entries: &[BucketEntry]| {
            let mut bytes = Vec::new();
            write_bucket(entries, &mut bytes).unwrap();
            let buckets = Buckets::new(0, PLACE, PLACE + bytes.len() as u64).unwrap();
            Bucket::parse(&bytes, &buckets, 0).map(|bucket| bucket.entries().len())
        };
        let at = |hash, place| BucketEntry::new(hash, place, Some(24));
        assert_eq!(parse(&[at(1, 200), at(1, 208), at(2, 192)]), Ok(3));
        assert!(parse(&[at(2, 200), at(1, 208)]).is_err());
        assert!(parse(&[at(1, 208), at(1, 200)]).is_err());
        assert!(parse(&[at(1, 200), at(1, 200)]).is_err());
        assert!(parse(&[at(1, PLACE)]).is_err());
        assert!(parse(&[at(1, 201)]).is_err());
    }

    #[test]
    fn buckets_fill_their_range() {
        for (log2, bytes, fits) in [
            (0, 16, true),
            (0, 0, false),
            (0, 24, false),
            (0, 4096, true),
            (0, 4112, false),
            (1, 8192, true),
            (1, 8191, false),
            (25, 4096 << 25, false),
            (255, 16, false),
        ] {
            assert_eq!(
                Buckets::new(log2, 192, 192 + bytes).is_ok(),
                fits,
                "{log2} {bytes}"
            );
        }
        assert!(Buckets::new(0, 192, 100).is_err());
    }
}
