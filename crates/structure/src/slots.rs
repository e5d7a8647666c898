//! Between dense values and slots: what a validity bitmap says about where values go.

use tarsia_bits::fill_bits;
use tarsia_codec::toolbox::BitsOut;
use tarsia_codec::{BitSlice, Error, Output, Result};

/// Copies all of `bits` to bit `offset` on; neighbours keep theirs.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where they do not fit.
pub fn copy_bits(bytes: &mut [u8], offset: usize, bits: BitSlice<'_>) -> Result<()> {
    tarsia_bits::copy_bits(bytes, offset, bits.bytes(), bits.offset(), bits.len())
        .map_err(|_| Error::invalid("bits do not fit their place"))
}

/// For each index: its bit into `selected`, and where that is set the number of set bits before it into `ranks`.
/// Returns how many ranks there are. Indices rise.
pub fn rank_indices(
    bits: BitSlice<'_>,
    indices: &[u32],
    selected: &mut [u8],
    ranks: &mut [u32],
) -> usize {
    let (mut word, mut before, mut n_ranks) = (0usize, 0usize, 0usize);
    for (i, index) in indices.iter().enumerate() {
        let index = *index as usize;
        while (word + 1) * 64 <= index {
            before += bits.word(word * 64).count_ones() as usize;
            word += 1;
        }
        let current = bits.word(word * 64);
        let below = current & ((1u64 << (index % 64)) - 1);
        let on = current >> (index % 64) & 1 == 1;
        fill_bits(selected, i, 1, on);
        if on {
            if let Some(rank) = ranks.get_mut(n_ranks) {
                *rank = (before + below.count_ones() as usize) as u32;
            }
            n_ranks += 1;
        }
    }
    n_ranks
}

/// Bit `offset + i` becomes the next dense bit where `bits[i]` is set, else 0.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where they do not fit.
pub fn spread_bits(
    bytes: &mut [u8],
    offset: usize,
    bits: BitSlice<'_>,
    dense: &[u8],
) -> Result<()> {
    let mut to = BitsOut::new(Output::Bits { bytes, offset }, bits.len())?;
    to.fill(false);
    to.spread(bits, dense);
    Ok(())
}

/// Slot `i` becomes the next dense value where `bits[i]` is set, else zero.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where values and slots do not fit each other.
pub fn spread_fixed(
    slots: &mut [u8],
    width: usize,
    bits: BitSlice<'_>,
    dense: &[u8],
) -> Result<()> {
    tarsia_bits::expand(bits.bytes(), bits.offset(), bits.len(), width, dense, slots)
        .map_err(|_| Error::invalid("values and slots do not fit each other"))
}

/// End `i` becomes the next dense end where `bits[i]` is set, else the end before it.
pub fn spread_ends(ends: &mut [u32], base: u32, bits: BitSlice<'_>, dense: &[u32]) {
    let mut last = base;
    let mut next = dense.iter();
    for (chunk, base) in ends.chunks_mut(64).zip((0..bits.len()).step_by(64)) {
        let word = bits.word(base);
        for (i, end) in chunk.iter_mut().enumerate() {
            if word >> i & 1 == 1 {
                last = next.next().copied().unwrap_or(last);
            }
            *end = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn bitmap(n: usize) -> Vec<u8> {
        (0..n.div_ceil(8))
            .map(|i| (i as u8).wrapping_mul(91) ^ 0x35)
            .collect()
    }

    #[test]
    fn spreading_matches_a_naive_loop() {
        let bytes = bitmap(300);
        for offset in [0, 3, 8] {
            for len in [0, 1, 63, 64, 65, 200] {
                let bits = BitSlice::new(&bytes, offset, len).unwrap();
                let n = bits.count_ones();
                for width in [0usize, 1, 2, 3, 4, 8, 16, 32] {
                    let dense: Vec<u8> = (0..n * width).map(|i| i as u8 | 1).collect();
                    let mut slots = vec![9; len * width];
                    spread_fixed(&mut slots, width, bits, &dense).unwrap();
                    let mut next = 0;
                    for i in 0..len {
                        let want = if bits.get(i) {
                            next += 1;
                            dense[(next - 1) * width..next * width].to_vec()
                        } else {
                            vec![0; width]
                        };
                        assert_eq!(slots[i * width..(i + 1) * width], want);
                    }
                }
                let dense: Vec<u32> = (1..=n as u32).map(|i| i * 3).collect();
                let mut ends = vec![0; len];
                spread_ends(&mut ends, 7, bits, &dense);
                let mut last = 7;
                for (i, end) in ends.iter().enumerate() {
                    if bits.get(i) {
                        last = dense[(0..i).filter(|i| bits.get(*i)).count()];
                    }
                    assert_eq!(*end, last);
                }
                let dense = bitmap(n);
                let mut out = vec![0xff; (len + 5).div_ceil(8)];
                spread_bits(&mut out, 5, bits, &dense).unwrap();
                for i in 0..len {
                    let rank = (0..i).filter(|i| bits.get(*i)).count();
                    let want = bits.get(i) && dense[rank / 8] >> (rank % 8) & 1 == 1;
                    assert_eq!(out[(5 + i) / 8] >> ((5 + i) % 8) & 1 == 1, want);
                }
                let indices: Vec<u32> = (0..len as u32).flat_map(|i| [i, i]).step_by(3).collect();
                let mut selected = vec![0; indices.len().div_ceil(8)];
                let mut ranks = vec![0; indices.len()];
                let n_ranks = rank_indices(bits, &indices, &mut selected, &mut ranks);
                let want: Vec<u32> = indices
                    .iter()
                    .filter(|i| bits.get(**i as usize))
                    .map(|i| (0..*i as usize).filter(|i| bits.get(*i)).count() as u32)
                    .collect();
                assert_eq!(ranks[..n_ranks], want);
                for (i, index) in indices.iter().enumerate() {
                    assert_eq!(
                        selected[i / 8] >> (i % 8) & 1 == 1,
                        bits.get(*index as usize)
                    );
                }
            }
        }
    }
}
