//! Changes of bytes.

use tarsia_testkit::rng::Rng;

use super::place::{Places, piece};

/// Numbers at which parsers go wrong: small ones, and around the largest of each width.
const EXTREMES: [u64; 18] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Other bytes in one place; the length stays.
pub(super) fn overwrite(rng: &mut Rng, places: &Places, file: &mut [u8]) {
    if file.is_empty() {
        return;
    }
    let at = places.pick(rng, file.len());
    match rng.below(10) {
        0..3 => file[at] ^= 1 << rng.below(8),
        3 => file[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        4 => file[at] = rng.u8(),
        5 | 6 => step(rng, file, at),
        7 | 8 => extreme(rng, file, at),
        _ => swap(rng, file),
    }
}

/// A number of 1, 2, 4 or 8 bytes becomes one more or one less.
fn step(rng: &mut Rng, file: &mut [u8], at: usize) {
    let width = *rng.pick(&[1, 2, 4, 8]);
    let at = aligned(rng, at, width);
    let bytes = &file[at..(at + width).min(file.len())];
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(number);
    let number = match rng.flip() {
        true => number.wrapping_add(1),
        false => number.wrapping_sub(1),
    };
    put(file, at, &number.to_le_bytes()[..width]);
}

fn extreme(rng: &mut Rng, file: &mut [u8], at: usize) {
    let width = *rng.pick(&[4, 8]);
    let at = aligned(rng, at, width);
    let number = rng.pick(&EXTREMES).to_le_bytes();
    put(file, at, &number[..width]);
}

/// Numbers of most formats are aligned, numbers inside compressed data are not.
fn aligned(rng: &mut Rng, at: usize, width: usize) -> usize {
    match rng.flip() {
        true => at - at % width,
        false => at,
    }
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in file[at..].iter_mut().zip(bytes) {
        *to = *from;
    }
}

/// Two pieces of the same length change places.
fn swap(rng: &mut Rng, file: &mut [u8]) {
    let (a, b) = (piece(rng, file.len()), rng.below(file.len()));
    let n = a.len().min(64).min(file.len() - b);
    for i in 0..n {
        file.swap(a.start + i, b + i);
    }
}

/// Pieces are cut off, removed, repeated, or come from another file.
pub(super) fn rearrange(rng: &mut Rng, places: &Places, file: &mut Vec<u8>, other: &[u8]) {
    let at = places.pick(rng, file.len());
    match rng.below(6) {
        0 => file.truncate(at),
        1 => {
            file.drain(piece(rng, file.len()));
        }
        2 => {
            let repeated = file[piece(rng, file.len())].to_vec();
            file.splice(at..at, repeated);
        }
        3 => {
            let len = rng.between(1, 9);
            let added = rng.bytes(len);
            file.splice(at..at, added);
        }
        4 => {
            // A piece of the other file over one of this.
            let from = other[piece(rng, other.len())].to_vec();
            let end = (at + from.len()).min(file.len());
            file.splice(at..end, from);
        }
        _ => {
            // The front of one file and the back of the other.
            file.truncate(at);
            file.extend_from_slice(&other[rng.below(other.len())..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_carry_across_bytes() {
        let mut results = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut file = [0xff, 0, 0, 0, 0, 0, 0, 0];
            step(&mut Rng::new(seed), &mut file, 0);
            results.insert(file);
        }
        assert!(results.contains(&[0, 1, 0, 0, 0, 0, 0, 0]));
        assert!(results.contains(&[0xfe, 0, 0, 0, 0, 0, 0, 0]));
        // The highest byte of a number of one byte is its only one.
        assert!(results.contains(&[0, 0, 0, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_number_at_the_end_is_cut() {
        for seed in 0..200 {
            let mut file = [7; 9];
            extreme(&mut Rng::new(seed), &mut file, 8);
            step(&mut Rng::new(seed), &mut file, 8);
        }
    }
}
