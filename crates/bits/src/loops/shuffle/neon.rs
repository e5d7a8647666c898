//! Lookups with NEON: 16 codes at once, in a table of up to 64 entries per instruction.

use core::arch::aarch64::{
    uint8x16_t, uint8x16x2_t, uint8x16x4_t, vqtbl1q_u8, vqtbl2q_u8, vqtbl4q_u8, vzip1q_u8,
    vzip2q_u8,
};

/// True if the processor has what these functions are compiled for: so does the program.
pub(super) fn is_there() -> bool {
    true
}

/// Codes per iteration.
pub(super) const CODES: usize = 16;

/// Entries of a register.
pub(super) const TABLE: usize = 16;

/// Entries of a byte, of which there are at most `16 * N`.
#[target_feature(enable = "neon")]
pub(super) fn bytes<const N: usize>(entries: &[u8], codes: &[u8], out: &mut [u8]) {
    let tables = tables::<N>(entries.iter().copied());
    let codes = codes.as_chunks::<CODES>().0;
    for (to, codes) in out.as_chunks_mut::<CODES>().0.iter_mut().zip(codes) {
        *to = bytemuck::cast(found(&tables, bytemuck::cast(*codes)));
    }
}

/// Entries of two bytes, of which there are at most `16 * N`.
#[target_feature(enable = "neon")]
pub(super) fn pairs<const N: usize>(entries: &[u8], codes: &[u8], out: &mut [u8]) {
    let entries = entries.as_chunks::<2>().0;
    let low = tables::<N>(entries.iter().map(|entry| entry[0]));
    let high = tables::<N>(entries.iter().map(|entry| entry[1]));
    let out = out.as_chunks_mut::<{ 2 * CODES }>().0;
    for (to, codes) in out.iter_mut().zip(codes.as_chunks::<CODES>().0) {
        let codes = bytemuck::cast(*codes);
        let (low, high) = (found(&low, codes), found(&high, codes));
        *to = bytemuck::cast([vzip1q_u8(low, high), vzip2q_u8(low, high)]);
    }
}

/// Registers with 16 bytes each.
#[target_feature(enable = "neon")]
fn tables<const N: usize>(mut bytes: impl Iterator<Item = u8>) -> [uint8x16_t; N] {
    let mut tables = [[0; TABLE]; N];
    for (to, byte) in tables.as_flattened_mut().iter_mut().zip(&mut bytes) {
        *to = byte;
    }
    tables.map(bytemuck::cast)
}

/// The byte of each code, zero for a code beyond the tables.
#[target_feature(enable = "neon")]
#[inline]
fn found<const N: usize>(tables: &[uint8x16_t; N], codes: uint8x16_t) -> uint8x16_t {
    match *tables.as_slice() {
        [a] => vqtbl1q_u8(a, codes),
        [a, b] => vqtbl2q_u8(uint8x16x2_t(a, b), codes),
        [a, b, c, d] => vqtbl4q_u8(uint8x16x4_t(a, b, c, d), codes),
        _ => bytemuck::cast([0u8; CODES]),
    }
}
