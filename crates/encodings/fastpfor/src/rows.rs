//! Whole groups: 128 values, interleaved in rows of 128 bits.
//!
//! All lanes of a row shift by the same number of bits. So a row is shifted as two words of 64 bits, whatever the width
//! of its lanes is, and a mask drops what a lane got from its neighbour. Two such words are one register of SSE2.

#[cfg(not(feature = "kernel"))]
use tarsia_bits::read_value;

/// The bytes of a row.
type Row = [u8; 16];

/// Bytes of a row: a value of `S` bytes has a lane in a row of `16 / S`.
pub(crate) const ROW_BYTES: usize = size_of::<Row>();

/// The lowest `n` bits, of at most 64.
pub(crate) const fn low_bits(n: u32) -> u64 {
    match n {
        0 => 0,
        n => u64::MAX >> (64 - n),
    }
}

/// The lowest `n` bits of each lane of a word.
#[inline(always)]
const fn lane_mask(n: u32, lane_bits: u32) -> u64 {
    let ones = match lane_bits {
        8 => 0x0101_0101_0101_0101,
        16 => 0x0001_0001_0001_0001,
        32 => 0x0000_0001_0000_0001,
        _ => 1,
    };
    low_bits(n).wrapping_mul(ones)
}

/// Row `number` of a group, `width` bits wide, 1 or more. `None` if it is not in `packed`.
#[inline(always)]
fn row(packed: &[Row], width: u32, lane_bits: u32, number: u32) -> Option<Row> {
    let bit = number * width;
    // A power of two: a shift, not a division.
    let shift = bit & (lane_bits - 1);
    let at = (bit >> lane_bits.trailing_zeros()) as usize;
    // Loaded whole before anything is stored, so that the compiler need not ask whether both overlap.
    let mut row = *packed.get(at)?;
    let words = row.as_chunks_mut::<8>().0;
    if shift + width <= lane_bits {
        let mask = lane_mask(width, lane_bits);
        for word in words {
            *word = (u64::from_le_bytes(*word) >> shift & mask).to_le_bytes();
        }
    } else {
        let n_low = lane_bits - shift;
        let low_mask = lane_mask(n_low, lane_bits);
        let high_mask = lane_mask(width, lane_bits) & !low_mask;
        let next = *packed.get(at + 1)?;
        for (word, next) in words.iter_mut().zip(next.as_chunks::<8>().0) {
            let low = u64::from_le_bytes(*word) >> shift & low_mask;
            let high = u64::from_le_bytes(*next) << n_low & high_mask;
            *word = (low | high).to_le_bytes();
        }
    }
    Some(row)
}

/// Unpacks a group: `packed` has `16 * width` bytes, `to` has 128 values of `value_bytes`.
pub(crate) fn unpack(packed: &[u8], width: u32, value_bytes: usize, to: &mut [u8]) {
    let lane_bits = value_bytes as u32 * 8;
    if width == 0 {
        to.fill(0);
    } else if width == lane_bits && packed.len() == to.len() {
        to.copy_from_slice(packed);
    } else {
        let (packed, to) = (packed.as_chunks().0, to.as_chunks_mut().0);
        #[cfg(feature = "kernel")]
        unpack_rows(packed, width, lane_bits, to);
        #[cfg(not(feature = "kernel"))]
        match value_bytes {
            1 => unrolled::unpack::<8>(packed, width, to),
            2 => unrolled::unpack::<16>(packed, width, to),
            4 => unrolled::unpack::<32>(packed, width, to),
            _ => unrolled::unpack::<64>(packed, width, to),
        }
    }
}

/// Unpacks a group of any width, at about 17 GB/s; the functions of one width make 50 to 100 (`benches/codec.rs`).
#[inline(always)]
fn unpack_rows(packed: &[Row], width: u32, lane_bits: u32, to: &mut [Row]) {
    for (number, to) in to.iter_mut().enumerate() {
        let Some(row) = row(packed, width, lane_bits, number as u32) else {
            return;
        };
        *to = row;
    }
}

/// A function for each width, without branches and with constant shifts.
#[cfg(not(feature = "kernel"))]
mod unrolled {
    use super::{Row, row, unpack_rows};

    /// Widths up to 32 have functions. Wider values of 8 bytes are rarely worth packing, and theirs would be as long as
    /// all others together.
    #[inline(always)]
    pub(super) fn unpack<const LANE_BITS: u32>(packed: &[Row], width: u32, to: &mut [Row]) {
        macro_rules! by_width {
            ($($width:literal)*) => {
                match width {
                    $($width => unpack_at::<LANE_BITS, $width>(packed, to),)*
                    _ => unpack_rows(packed, width, LANE_BITS, to),
                }
            };
        }
        by_width!(
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        );
    }

    #[inline(never)]
    fn unpack_at<const LANE_BITS: u32, const WIDTH: usize>(packed: &[Row], to: &mut [Row]) {
        if WIDTH as u32 >= LANE_BITS {
            return;
        }
        // Known lengths, so that no row is checked.
        let Some(packed) = packed.first_chunk::<WIDTH>() else {
            return;
        };
        let Some(to) = to.get_mut(..LANE_BITS as usize) else {
            return;
        };
        macro_rules! each_row {
            ($($number:literal)*) => {
                $(
                    if $number < LANE_BITS
                        && let Some(to) = to.get_mut($number)
                        && let Some(row) = row(packed, WIDTH as u32, LANE_BITS, $number)
                    {
                        *to = row;
                    }
                )*
            };
        }
        // The compiler does not unroll loops of this length.
        each_row!(
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
            61 62 63
        );
    }
}

/// Value `at` of a group; `None` if it is not in `packed`.
#[cfg(not(feature = "kernel"))]
pub(crate) fn unpack_one(packed: &[u8], width: u32, value_bytes: usize, at: usize) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let lane_bits = value_bytes as u32 * 8;
    // Where the value lies in rows of all bits: its row here, and its lane.
    let in_rows = at * value_bytes;
    let bit = (in_rows / ROW_BYTES) as u32 * width;
    let (word, shift) = (bit >> lane_bits.trailing_zeros(), bit & (lane_bits - 1));
    let start = word as usize * ROW_BYTES + in_rows % ROW_BYTES;
    let read = |start: usize| read_value(packed.get(start..start + value_bytes)?);
    let mut value = read(start)? >> shift;
    if shift + width > lane_bits {
        value |= read(start + ROW_BYTES)? << (lane_bits - shift);
    }
    Some(value & low_bits(width))
}

/// Appends a group: the low `width` bits of 128 values of `value_bytes`.
#[cfg(feature = "encode")]
pub(crate) fn pack(values: &[u8], width: u32, value_bytes: usize, out: &mut alloc::vec::Vec<u8>) {
    let lane_bits = value_bytes as u32 * 8;
    if width == lane_bits {
        return out.extend_from_slice(values);
    }
    let mask = lane_mask(width, lane_bits);
    // The row that is not full yet, and the bits in each of its lanes.
    let mut filling = [0u64; 2];
    let mut n_filled = 0;
    for row in values.as_chunks::<ROW_BYTES>().0 {
        let n_low = lane_bits - n_filled;
        let low_mask = mask & lane_mask(n_low, lane_bits);
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(row.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        for (to, word) in filling.iter_mut().zip(words) {
            *to |= (word & low_mask) << n_filled;
        }
        n_filled += width;
        if n_filled >= lane_bits {
            out.extend_from_slice(filling.map(u64::to_le_bytes).as_flattened());
            n_filled -= lane_bits;
            // None are left over if all bits of the lane were used: the mask is empty then.
            filling = words.map(|word| (word & mask & !low_mask) >> (n_low % 64));
        }
    }
}
