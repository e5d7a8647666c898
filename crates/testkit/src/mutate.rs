//! Random changes of bytes.

use crate::rng::Rng;

/// One random change: a bit, a byte, a removed or added stretch, a number of an interesting size.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        let len = rng.between(1, 20);
        *bytes = rng.bytes(len);
        return;
    }
    // Headers matter most and are at the front.
    let at = match rng.below(2) {
        0 => rng.below(bytes.len().min(24)),
        _ => rng.below(bytes.len()),
    };
    match rng.below(8) {
        0..3 => bytes[at] ^= 1 << rng.below(8),
        3 => bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        4 => bytes[at] = rng.u8(),
        5 => bytes.truncate(at),
        6 => {
            let len = rng.between(1, 9);
            let added = rng.bytes(len);
            bytes.splice(at..at, added);
        }
        _ => {
            let number = rng
                .pick(&[u32::MAX, i32::MAX as u32, 1 << 31, 0xffff, 65_537, 0])
                .to_le_bytes();
            for (to, from) in bytes[at..].iter_mut().zip(number) {
                *to = from;
            }
        }
    }
}
