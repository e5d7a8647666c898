//! The layout, bit by bit as the page says and without a thought for speed.

use std::sync::Arc;

use tarsia_codec::{OwnedValues, SharedBuffer, SharedKind};
use tarsia_testkit::cases::Case;

/// The shared buffer of codes of these lengths.
pub(crate) fn table(lengths: &[u8]) -> SharedBuffer {
    let case = Case::fixed("", 1, lengths.len(), lengths.to_vec());
    let values = OwnedValues::copy_of(case.values());
    SharedBuffer::new(SharedKind::SymbolTable, Arc::new(values))
}

/// The code of each value, its bits in the order of the unit: the algorithm of RFC 1951, section 3.2.2.
fn codes(lengths: &[u8]) -> Vec<Vec<bool>> {
    let count = |length: u8| lengths.iter().filter(|it| **it == length).count() as u32;
    let mut next = [0; 13];
    for length in 1..=12 {
        let shorter = if length == 1 { 0 } else { count(length - 1) };
        next[usize::from(length)] = (next[usize::from(length) - 1] + shorter) << 1;
    }
    let code = |length: &u8| {
        let length = usize::from(*length);
        let number: u32 = next[length];
        next[length] += 1;
        let bits = (0..length).rev().map(|i| number >> i & 1 == 1);
        bits.collect()
    };
    lengths.iter().map(code).collect()
}

/// The unit of `values`, all of which have codes.
pub(crate) fn unit(values: &[u8], lengths: &[u8]) -> Vec<u8> {
    let codes = codes(lengths);
    let stream = |values: &[u8]| -> Vec<bool> {
        let codes = values
            .iter()
            .map(|value| codes[usize::from(*value)].clone());
        codes.collect::<Vec<_>>().concat()
    };
    let mut bytes = Vec::new();
    let n = values.len();
    if n >= 1024 {
        let m = n.div_ceil(4);
        let width = if 12 * m < 1 << 16 { 2 } else { 4 };
        for values in values.chunks(m).take(3) {
            let bits = stream(values).len() as u32;
            bytes.extend(&bits.to_le_bytes()[..width]);
        }
    }
    let byte = |bits: &[bool]| {
        bits.iter()
            .rev()
            .fold(0, |byte, bit| byte << 1 | u8::from(*bit))
    };
    bytes.extend(stream(values).chunks(8).map(byte));
    bytes
}

/// Lengths of two codes of 12 bits, those of 254 and 255, and of one code of each shorter length, those of 0 to 10.
pub(crate) fn steep() -> Vec<u8> {
    let mut lengths = vec![0; 256];
    for (i, length) in (1..=11).enumerate() {
        lengths[i] = length;
    }
    lengths[254..].fill(12);
    lengths
}
