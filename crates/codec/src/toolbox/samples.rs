//! Samples of values, and the lengths of strings.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{AlignedBuf, BytesSlice, OwnedValues};

/// Runs of a sample, evenly spread over the page, and values in each run.
const SAMPLE_RUNS: usize = 16;
const SAMPLE_RUN_VALUES: usize = 64;

/// Bytes of a length of a byte string.
const LENGTH_BYTES: usize = 4;

/// A sample of `n` values: 16 runs of 64, evenly spread, or all of a few. The ranges depend only on the number.
pub fn sample_of(n: usize) -> Vec<Range<usize>> {
    if n <= SAMPLE_RUNS * SAMPLE_RUN_VALUES {
        return alloc::vec![0..n];
    }
    let start = |run: usize| run * (n - SAMPLE_RUN_VALUES) / (SAMPLE_RUNS - 1);
    let runs = (0..SAMPLE_RUNS).map(|run| start(run)..start(run) + SAMPLE_RUN_VALUES);
    runs.collect()
}

/// The length of each string, little-endian.
pub fn lengths_of(strings: &BytesSlice<'_>) -> OwnedValues {
    let len = strings.len();
    let mut bytes = AlignedBuf::zeroed(len * LENGTH_BYTES);
    let (to, _) = bytes.as_chunks_mut::<LENGTH_BYTES>();
    for (to, pair) in to.iter_mut().zip(strings.offsets().windows(2)) {
        *to = (pair[1] - pair[0]).to_le_bytes();
    }
    OwnedValues::Fixed {
        bytes,
        width: LENGTH_BYTES,
        len,
    }
}
