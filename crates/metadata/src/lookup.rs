//! Whether the buckets lead to the records of a file.

use std::collections::HashMap;

use crate::bucket::{Bucket, BucketEntry, Buckets, path_hash};
use crate::bytes::slice;
use crate::error::{Error, Result};
use crate::limits::ENTRIES_OF_ONE_PATH_MAX;
use crate::path::display_path;
use crate::record::NodeRecord;
use crate::records::Records;

/// Checks that the buckets have an entry for each record, of the records of one path for the first two, and no others.
/// `records` are those of all `n_nodes` nodes and lie at the offset `place`; `bytes` are those of all buckets.
///
/// # Errors
/// [`Error::Unfindable`] with the first path that no bucket leads to; [`Error::Corrupt`] for entries that lead to no
/// record; as [`Bucket::parse`] and [`Records`].
pub fn check_buckets(
    records: &[u8],
    place: u64,
    n_nodes: u32,
    bytes: &[u8],
    buckets: &Buckets,
) -> Result<()> {
    let start = buckets.bucket_range(0).start;
    // Sorted, since the buckets are in the order of their hashes.
    let mut found = Vec::new();
    for index in 0..buckets.count() {
        let range = buckets.bucket_range(index);
        let range = (range.start - start) as usize..(range.end - start) as usize;
        let bucket = Bucket::parse(slice(bytes, range.clone(), "bucket")?, buckets, index)
            .map_err(|error| error.at(start.saturating_add(range.start as u64)))?;
        found.extend(bucket.entries());
    }
    let mut walk = Records::new(records, n_nodes);
    let mut of_path: HashMap<&[u8], u32> = HashMap::new();
    let mut n_expected = 0;
    loop {
        let at = walk.position();
        let Some(record) = walk.next() else { break };
        let record = record.map_err(|error| error.at(place))?;
        let of_path = of_path.entry(record.path).or_default();
        *of_path = of_path.saturating_add(1);
        if *of_path > ENTRIES_OF_ONE_PATH_MAX {
            continue;
        }
        n_expected += 1;
        let length = NodeRecord::length(slice(records, at..records.len(), "record")?)?;
        let place = place.saturating_add(at as u64);
        let range_bytes = record.range_bytes(length);
        let entry = BucketEntry::new(path_hash(record.path), place, range_bytes);
        if found.binary_search(&entry).is_err() {
            let path = display_path(record.path);
            return Err(Error::Unfindable { path, place });
        }
    }
    // All of them are among the entries, which are all different.
    match found.len() == n_expected {
        true => Ok(()),
        false => {
            let allowed = "an entry for each node, of those of one path for the first two";
            Err(Error::corrupt("buckets", 0, found.len(), allowed).at(start))
        }
    }
}
