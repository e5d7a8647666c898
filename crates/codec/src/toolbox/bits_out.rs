//! Bits of an output.

use crate::{BitSlice, Error, Output, Result};

/// The bits of an [`Output`] whose size was checked.
#[derive(Debug)]
pub struct BitsOut<'a> {
    bytes: &'a mut [u8],
    offset: usize,
    len: usize,
}

impl<'a> BitsOut<'a> {
    /// The bits of `n_values` values.
    ///
    /// # Errors
    /// As [`Output::into_bits`].
    pub fn new(out: Output<'a>, n_values: usize) -> Result<Self> {
        let (bytes, offset) = out.into_bits(n_values)?;
        Ok(Self {
            bytes,
            offset,
            len: n_values,
        })
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The output again.
    pub fn as_output(&mut self) -> Output<'_> {
        Output::Bits {
            bytes: &mut *self.bytes,
            offset: self.offset,
        }
    }

    /// At most `len` of the bits, from bit `start` on.
    pub fn part(&mut self, start: usize, len: usize) -> BitsOut<'_> {
        let start = start.min(self.len);
        BitsOut {
            bytes: &mut *self.bytes,
            offset: self.offset + start,
            len: len.min(self.len - start),
        }
    }

    /// Sets or clears all bits.
    pub fn fill(&mut self, value: bool) {
        tarsia_bits::fill_bits(self.bytes, self.offset, self.len, value);
    }

    /// Sets each bit to what `bit` says of its number.
    ///
    /// # Errors
    /// Those of `bit`.
    #[inline]
    pub fn fill_with(&mut self, mut bit: impl FnMut(usize) -> Result<bool>) -> Result<()> {
        for base in (0..self.len).step_by(64) {
            let n = (self.len - base).min(64);
            let mut word = 0;
            for i in 0..n {
                word |= u64::from(bit(base + i)?) << i;
            }
            self.part(base, n).copy(&word.to_le_bytes())?;
        }
        Ok(())
    }

    /// Copies bits, of which the first is bit 0 of the first byte.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there are too few.
    pub fn copy(&mut self, bits: &[u8]) -> Result<()> {
        tarsia_bits::copy_bits(self.bytes, self.offset, bits, 0, self.len)
            .map_err(|_| Error::invalid("fewer bits than values"))
    }

    /// Where a bit of `mask` is set, the bit becomes the next of `dense`, or 0 behind its end. Others keep their value.
    pub fn spread(&mut self, mask: BitSlice<'_>, dense: &[u8]) {
        let mut next = 0;
        for base in (0..mask.len().min(self.len)).step_by(64) {
            let mut word = mask.word(base);
            while word != 0 {
                let at = base + word.trailing_zeros() as usize;
                if at >= self.len {
                    return;
                }
                let value = dense.get(next / 8).copied().unwrap_or_default() >> (next % 8) & 1;
                let at = self.offset + at;
                if let Some(byte) = self.bytes.get_mut(at / 8) {
                    *byte = *byte & !(1 << (at % 8)) | value << (at % 8);
                }
                next += 1;
                word &= word - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn bits_are_spread_over_those_of_a_mask() {
        let noise = |i: usize| (i * i * 29 + 7 * i) as u8;
        let mask: vec::Vec<u8> = (0..40).map(noise).collect();
        let dense: vec::Vec<u8> = (0..40).map(|i| noise(i + 50)).collect();
        for (start, len) in [(0, 0), (0, 1), (3, 64), (5, 65), (1, 200), (7, 300)] {
            let mask = BitSlice::new(&mask, start, len).unwrap();
            for before in [0, 0xff, 0x5a] {
                let mut bytes = vec![before; (len + 5).div_ceil(8) + 1];
                let out = Output::Bits {
                    bytes: &mut bytes,
                    offset: 5,
                };
                BitsOut::new(out, len).unwrap().spread(mask, &dense);
                let mut rank = 0;
                for i in 0..bytes.len() * 8 {
                    let is_set = i.checked_sub(5).is_some_and(|i| mask.get(i));
                    let wanted = match is_set {
                        true => {
                            rank += 1;
                            dense[(rank - 1) / 8] >> ((rank - 1) % 8) & 1
                        }
                        false => before >> (i % 8) & 1,
                    };
                    assert_eq!(bytes[i / 8] >> (i % 8) & 1, wanted, "{start} {len} {i}");
                }
            }
        }
    }

    #[test]
    fn bits_are_set_as_a_function_says() {
        for (offset, len) in [(0_usize, 0_usize), (0, 64), (5, 3), (3, 130), (7, 64)] {
            for before in [0, 0xff] {
                let mut bytes = vec![before; (offset + len).div_ceil(8) + 1];
                let out = Output::Bits {
                    bytes: &mut bytes,
                    offset,
                };
                let mut out = BitsOut::new(out, len).unwrap();
                out.fill_with(|i| Ok(i % 3 == 1)).unwrap();
                for i in 0..bytes.len() * 8 {
                    let of_value = i.checked_sub(offset).filter(|i| *i < len);
                    let wanted = of_value.map_or(before == 0xff, |i| i % 3 == 1);
                    assert_eq!(
                        bytes[i / 8] >> (i % 8) & 1 == 1,
                        wanted,
                        "{offset} {len} {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn parts_are_cut_to_the_bits() {
        let mut bytes = [0; 4];
        let out = Output::Bits {
            bytes: &mut bytes,
            offset: 3,
        };
        let mut out = BitsOut::new(out, 20).unwrap();
        assert_eq!(out.part(18, 9).len(), 2);
        assert!(out.part(99, 1).is_empty());
        out.part(2, 3).fill(true);
        assert!(out.copy(&[0; 2]).is_err());
        assert_eq!(bytes, [0b1110_0000, 0, 0, 0]);
    }
}
