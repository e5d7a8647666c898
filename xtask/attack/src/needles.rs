//! Values searched in raw bytes: as they are and turned round, zig-zag, and their low bits alone, at every bit.

use std::collections::HashMap;

/// Values with fewer bits that tell them apart from others are not searched: chance would find them.
pub(crate) const BITS_MIN: u32 = 40;

/// Bits that a quick look compares first.
const QUICK_BITS: u32 = 20;

/// Different bytes that a pattern of 8 bytes has to have.
const DIFFERENT_BYTES_MIN: usize = 6;

/// How a value may lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Some bytes of it, from this one on.
    Bytes(usize),
    /// Its last byte first.
    TurnedRound,
    /// A number whose sign is its lowest bit.
    ZigZag,
    /// As many low bits as the number needs, as bit-packing writes it.
    LowBits(u32),
}

/// A pattern that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// Number of the value, as it was added.
    pub(crate) value: usize,
    pub(crate) form: Form,
    pub(crate) at_byte: usize,
    pub(crate) shift: u32,
}

#[derive(Debug, Clone, Copy)]
struct Pattern {
    bits: u128,
    n_bits: u32,
    value: usize,
    form: Form,
}

/// Patterns to be searched.
#[derive(Default)]
pub(crate) struct Needles {
    patterns: Vec<Pattern>,
}

/// Bytes of a longer value that are compared: of texts, eight bytes may be few letters.
const LONG_BYTES: usize = 12;

/// Whether bytes hold enough to be told from others.
fn is_telling(bytes: &[u8]) -> bool {
    let mut seen = [false; 256];
    bytes
        .iter()
        .for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= DIFFERENT_BYTES_MIN
}

fn mask(n_bits: u32) -> u64 {
    u64::MAX >> (64 - n_bits)
}

fn mask_wide(n_bits: u32) -> u128 {
    u128::MAX >> (128 - n_bits)
}

impl Needles {
    /// Adds the forms of a value that are long enough; returns how many these are.
    pub(crate) fn add(&mut self, value: usize, bytes: &[u8]) -> usize {
        let before = self.patterns.len();
        if let Ok(word) = <[u8; 8]>::try_from(bytes) {
            self.add_number(value, word);
        } else if let Some(last) = bytes.len().checked_sub(LONG_BYTES) {
            for at in [0, last / 2, last] {
                self.add_bytes(value, bytes, at, Form::Bytes(at));
            }
            // Decimals and ids may be written with their last byte first.
            let mut turned = bytes.to_vec();
            turned.reverse();
            if bytes.len() <= 32 {
                self.add_bytes(value, &turned, 0, Form::TurnedRound);
            }
        }
        self.patterns.len() - before
    }

    fn add_bytes(&mut self, value: usize, bytes: &[u8], at: usize, form: Form) {
        let part = bytes.get(at..).and_then(<[u8]>::first_chunk::<LONG_BYTES>);
        if let Some(part) = part.filter(|part| is_telling(&part[..])) {
            let mut wide = [0; 16];
            wide[..LONG_BYTES].copy_from_slice(part);
            let n_bits = 8 * LONG_BYTES as u32;
            self.push(u128::from_le_bytes(wide), n_bits, value, form);
        }
    }

    fn add_number(&mut self, value: usize, word: [u8; 8]) {
        let number = u64::from_le_bytes(word);
        let signed = number as i64;
        let zigzag = ((signed << 1) ^ (signed >> 63)) as u64;
        if is_telling(&word) {
            self.push(number.into(), 64, value, Form::Bytes(0));
            self.push(
                u64::from_be_bytes(word).into(),
                64,
                value,
                Form::TurnedRound,
            );
        }
        if is_telling(&zigzag.to_le_bytes()) {
            self.push(zigzag.into(), 64, value, Form::ZigZag);
        }
        for packed in [number, zigzag] {
            let n_bits = 64 - packed.leading_zeros();
            // The low 40 bits alone have to tell.
            let low = packed & mask(BITS_MIN);
            let is_telling = is_telling(&low.to_le_bytes());
            if (BITS_MIN + 6..64).contains(&n_bits) && is_telling {
                self.push(packed.into(), n_bits, value, Form::LowBits(n_bits));
            }
        }
    }

    fn push(&mut self, bits: u128, n_bits: u32, value: usize, form: Form) {
        self.patterns.push(Pattern {
            bits,
            n_bits,
            value,
            form,
        });
    }

    /// Patterns of values that are in these bytes, too, are forgotten.
    pub(crate) fn forget_those_in(&mut self, bytes: &[u8]) {
        let mut is_there = vec![false; self.patterns.len()];
        self.visit(bytes, &mut |pattern, _, _| is_there[pattern] = true);
        let mut is_there = is_there.into_iter();
        self.patterns.retain(|_| !is_there.next().unwrap_or(false));
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The first place of each value that is found.
    pub(crate) fn search(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut hits: HashMap<usize, Hit> = HashMap::new();
        self.visit(bytes, &mut |pattern, at_byte, shift| {
            let pattern = &self.patterns[pattern];
            hits.entry(pattern.value).or_insert(Hit {
                value: pattern.value,
                form: pattern.form,
                at_byte,
                shift,
            });
        });
        let mut hits: Vec<Hit> = hits.into_values().collect();
        hits.sort_by_key(|hit| (hit.at_byte, hit.value));
        hits
    }

    /// Calls `found` with each pattern at each place.
    fn visit(&self, bytes: &[u8], found: &mut dyn FnMut(usize, usize, u32)) {
        if self.patterns.is_empty() {
            return;
        }
        let mut quick = vec![0u64; 1 << (QUICK_BITS - 6)];
        let mut by_low: HashMap<u64, Vec<usize>> = HashMap::new();
        for (number, pattern) in self.patterns.iter().enumerate() {
            let low = pattern.bits as u64 & mask(QUICK_BITS);
            quick[(low / 64) as usize] |= 1 << (low % 64);
            let low = pattern.bits as u64 & mask(BITS_MIN);
            by_low.entry(low).or_default().push(number);
        }
        // Zeros behind the end: a number of fewer bits may end with the bytes.
        let padded = [&bytes[bytes.len().saturating_sub(16)..], &[0; 16]].concat();
        let start_of_padded = bytes.len().saturating_sub(16);
        for at in 0..bytes.len() {
            let wide = match bytes.get(at..).and_then(<[u8]>::first_chunk::<16>) {
                Some(wide) => u128::from_le_bytes(*wide),
                None => match padded[at - start_of_padded..].first_chunk::<16>() {
                    Some(wide) => u128::from_le_bytes(*wide),
                    None => continue,
                },
            };
            for shift in 0..8 {
                let window = (wide >> shift) as u64;
                let low = window & mask(QUICK_BITS);
                if quick[(low / 64) as usize] >> (low % 64) & 1 == 0 {
                    continue;
                }
                let Some(candidates) = by_low.get(&(window & mask(BITS_MIN))) else {
                    continue;
                };
                for number in candidates {
                    let pattern = &self.patterns[*number];
                    if (pattern.bits ^ (wide >> shift)) & mask_wide(pattern.n_bits) == 0 {
                        found(*number, at, shift);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0xd1c7_3a95_4be8_0f62;

    /// Random bytes with some bits of a number planted at a bit.
    fn planted(bits: u64, n_bits: u32, at_bit: usize) -> Vec<u8> {
        let mut bytes = tarsia_testkit::rng::Rng::new(at_bit as u64).bytes(64);
        for bit in 0..n_bits as usize {
            let (byte, of_byte) = ((at_bit + bit) / 8, (at_bit + bit) % 8);
            bytes[byte] &= !(1 << of_byte);
            bytes[byte] |= ((bits >> bit & 1) as u8) << of_byte;
        }
        bytes
    }

    fn found(value: u64, bytes: &[u8]) -> Vec<(Form, usize, u32)> {
        let mut needles = Needles::default();
        needles.add(0, &value.to_le_bytes());
        let hits = needles.search(bytes).into_iter();
        hits.map(|hit| (hit.form, hit.at_byte, hit.shift)).collect()
    }

    #[test]
    fn a_planted_value_is_found_at_each_bit() {
        for at_bit in 0..64 * 8 - 63 {
            let place = (at_bit / 8, (at_bit % 8) as u32);
            let bytes = planted(SECRET, 64, at_bit);
            let expected = vec![(Form::Bytes(0), place.0, place.1)];
            assert_eq!(found(SECRET, &bytes), expected);
        }
        assert_eq!(found(SECRET, &planted(SECRET ^ 1 << 20, 64, 77)), []);
    }

    #[test]
    fn a_planted_value_is_found_in_each_form() {
        let turned = SECRET.swap_bytes();
        let expected = vec![(Form::TurnedRound, 5, 3)];
        assert_eq!(found(SECRET, &planted(turned, 64, 43)), expected);
        let signed = SECRET as i64;
        let zigzag = ((signed << 1) ^ (signed >> 63)) as u64;
        let hits = found(SECRET, &planted(zigzag, 64, 9));
        assert_eq!(hits.len(), 1);
        assert_eq!((hits[0].1, hits[0].2), (1, 1));
    }

    #[test]
    fn low_bits_of_a_packed_number_are_found_at_each_bit() {
        for n_bits in BITS_MIN + 6..64 {
            let number = SECRET & mask(n_bits) | 1 << (n_bits - 1);
            for at_bit in [0, 1, 13, 64 * 8 - n_bits as usize] {
                let bytes = planted(number, n_bits, at_bit);
                let hits = found(number, &bytes);
                assert!(!hits.is_empty(), "{n_bits} bits at bit {at_bit}");
                // Zig-zag, it begins a bit earlier.
                let found = hits[0].1 * 8 + hits[0].2 as usize;
                assert!(found == at_bit || found + 1 == at_bit, "{found}");
            }
        }
    }

    #[test]
    fn parts_of_a_long_value_are_found() {
        let value = tarsia_testkit::rng::Rng::new(4).bytes(100);
        let mut needles = Needles::default();
        assert_eq!(needles.add(7, &value), 3);
        for part in [&value[..12], &value[44..56], &value[88..]] {
            let file = [&[0; 9], part, &[0; 9]].concat();
            let hits = needles.search(&file);
            assert_eq!(hits.len(), 1);
            assert_eq!((hits[0].value, hits[0].at_byte), (7, 9));
        }
        needles.forget_those_in(&value[44..56]);
        assert_eq!(needles.len(), 2);
    }

    #[test]
    fn values_that_tell_nothing_are_not_searched() {
        let mut needles = Needles::default();
        for value in [
            &[0; 8][..],
            &[7; 16],
            b"aabbaabb",
            b"short",
            &1.5f64.to_le_bytes(),
        ] {
            assert_eq!(needles.add(0, value), 0, "{value:?}");
        }
    }
}
