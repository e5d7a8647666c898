//! Values as encoders get them (borrowed) and as shared buffers hold them (owned).
//!
//! The contract knows only physical types: bits, values of a fixed number of bytes, byte strings. Logical types (a
//! signed integer, a date, text) belong to the layers above.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{AlignedBuf, Error, ErrorKind, Result, limits};

/// The physical type of the values a node of a tree encodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// One bit per value, least significant bit of a byte first (booleans, validity).
    Bits,
    /// This many bytes per value, little-endian if it is a number. Zero is allowed.
    Fixed(u32),
    /// Byte strings of any length.
    Bytes,
}

impl ValueType {
    /// Bytes of one value; `None` for bits and byte strings.
    pub fn fixed_bytes(self) -> Option<usize> {
        match self {
            Self::Fixed(bytes) => Some(bytes as usize),
            Self::Bits | Self::Bytes => None,
        }
    }

    /// Refuses a fixed width beyond [`limits::FIXED_WIDTH_BYTES_MAX`].
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`].
    pub fn validate(self) -> Result<Self> {
        match self {
            Self::Fixed(bytes) if bytes > limits::FIXED_WIDTH_BYTES_MAX => {
                Err(Error::from(ErrorKind::LimitExceeded {
                    limit: "FIXED_WIDTH_BYTES_MAX",
                    found: bytes.into(),
                    max: limits::FIXED_WIDTH_BYTES_MAX.into(),
                }))
            }
            other => Ok(other),
        }
    }
}

/// A run of bits: value `i` is bit `(offset + i) % 8` of byte `(offset + i) / 8`.
#[derive(Debug, Clone, Copy)]
pub struct BitSlice<'a> {
    bytes: &'a [u8],
    offset: usize,
    len: usize,
}

impl<'a> BitSlice<'a> {
    /// `len` bits from bit `offset` of `bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if `bytes` is too short.
    pub fn new(bytes: &'a [u8], offset: usize, len: usize) -> Result<Self> {
        match offset.checked_add(len) {
            Some(end) if end.div_ceil(8) <= bytes.len() => Ok(Self { bytes, offset, len }),
            _ => Err(Error::invalid("a bit slice reaches beyond its bytes")),
        }
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes that hold the bits; the first bit is bit [`BitSlice::offset`].
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The first bit's place in [`BitSlice::bytes`].
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Bit `i`; `false` beyond the end.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        let at = self.offset + i;
        i < self.len
            && self
                .bytes
                .get(at / 8)
                .is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }

    /// The bits of `range`; cut to what there is.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.len);
        let end = range.end.clamp(start, self.len);
        Self {
            bytes: self.bytes,
            offset: self.offset + start,
            len: end - start,
        }
    }

    /// The 64 bits from bit `i` (zeros beyond the end), value `i` in bit 0.
    #[inline]
    pub fn word(&self, i: usize) -> u64 {
        if i >= self.len {
            return 0;
        }
        let at = self.offset + i;
        let (byte, shift) = (at / 8, at % 8);
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 8];
                for (to, from) in chunk.iter_mut().zip(rest) {
                    *to = *from;
                }
                u64::from_le_bytes(chunk)
            }
        };
        let high = match rest.get(8) {
            Some(next) if shift != 0 => u64::from(*next) << (64 - shift),
            _ => 0,
        };
        let word = word >> shift | high;
        match self.len - i {
            left @ 0..64 => word & ((1 << left) - 1),
            _ => word,
        }
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> usize {
        // The bits lie inside of the bytes, as `new` has checked and `slice` keeps.
        tarsia_bits::count_ones(self.bytes, self.offset, self.len).unwrap_or_default()
    }

    /// Appends the bits to `out` as whole bytes, first bit in bit 0, spare bits zero.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let full = out.len() + self.len.div_ceil(8);
        for word in 0..self.len.div_ceil(64) {
            out.extend_from_slice(&self.word(word * 64).to_le_bytes());
        }
        out.truncate(full);
    }
}

/// Values of equal width, back to back.
#[derive(Debug, Clone, Copy)]
pub struct FixedSlice<'a> {
    bytes: &'a [u8],
    width: usize,
    len: usize,
}

impl<'a> FixedSlice<'a> {
    /// `len` values of `width` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if `bytes` is not exactly that long.
    pub fn new(bytes: &'a [u8], width: usize, len: usize) -> Result<Self> {
        if width.checked_mul(len) == Some(bytes.len()) {
            Ok(Self { bytes, width, len })
        } else {
            Err(Error::invalid(
                "fixed-width values need width x length bytes",
            ))
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of one value.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All values' bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Value `i`; empty beyond the end.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.bytes
            .get(i * self.width..(i + 1) * self.width)
            .unwrap_or_default()
    }

    /// The values of `range`; cut to what there is.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.len);
        let end = range.end.clamp(start, self.len);
        Self {
            bytes: self
                .bytes
                .get(start * self.width..end * self.width)
                .unwrap_or_default(),
            width: self.width,
            len: end - start,
        }
    }
}

/// Byte strings: value `i` is `data[offsets[i]..offsets[i + 1]]`. Offsets need not start at zero.
#[derive(Debug, Clone, Copy)]
pub struct BytesSlice<'a> {
    offsets: &'a [u32],
    data: &'a [u8],
}

impl<'a> BytesSlice<'a> {
    /// `offsets.len() - 1` values (none for an empty slice).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if offsets fall or reach beyond `data`.
    pub fn new(offsets: &'a [u32], data: &'a [u8]) -> Result<Self> {
        let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        let inside = offsets.last().is_none_or(|end| *end as usize <= data.len());
        if rising && inside {
            Ok(Self { offsets, data })
        } else {
            Err(Error::invalid(
                "offsets of byte strings fall or reach beyond the data",
            ))
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets: one more than there are values, or none.
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    /// The bytes that the offsets refer to.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Value `i`; empty beyond the end.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(start), Some(end)) => self
                .data
                .get(*start as usize..*end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Length of value `i` in bytes.
    #[inline]
    pub fn value_bytes(&self, i: usize) -> u32 {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    /// Total bytes of all values.
    pub fn data_bytes(&self) -> u32 {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    /// The bytes of all values, back to back.
    pub fn value_data(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(start), Some(end)) => self
                .data
                .get(*start as usize..*end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// The values of `range`; cut to what there is.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.len());
        let end = range.end.clamp(start, self.len());
        Self {
            offsets: self.offsets.get(start..=end).unwrap_or_default(),
            data: self.data,
        }
    }
}

/// The values of a page (or of a child's page), as an encoder gets them.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Values of type [`ValueType::Bits`].
    Bits(BitSlice<'a>),
    /// Values of type [`ValueType::Fixed`].
    Fixed(FixedSlice<'a>),
    /// Values of type [`ValueType::Bytes`].
    Bytes(BytesSlice<'a>),
}

impl<'a> Values<'a> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Bits(values) => values.len(),
            Self::Fixed(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::Bits(_) => ValueType::Bits,
            Self::Fixed(values) => {
                ValueType::Fixed(u32::try_from(values.width()).unwrap_or(u32::MAX))
            }
            Self::Bytes(_) => ValueType::Bytes,
        }
    }

    /// The values of `range`; cut to what there is.
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Bits(values) => Self::Bits(values.slice(range)),
            Self::Fixed(values) => Self::Fixed(values.slice(range)),
            Self::Bytes(values) => Self::Bytes(values.slice(range)),
        }
    }

    /// Decoded size in bytes: packed bits, or the bytes of the values without offsets.
    pub fn decoded_bytes(&self) -> u64 {
        match self {
            Self::Bits(values) => values.len().div_ceil(8) as u64,
            Self::Fixed(values) => values.bytes().len() as u64,
            Self::Bytes(values) => values.data_bytes().into(),
        }
    }

    /// The bits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for another type.
    pub fn as_bits(&self) -> Result<BitSlice<'a>> {
        match self {
            Self::Bits(values) => Ok(*values),
            _ => Err(Error::invalid("this encoding takes bits")),
        }
    }

    /// The fixed-width values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for another type.
    pub fn as_fixed(&self) -> Result<FixedSlice<'a>> {
        match self {
            Self::Fixed(values) => Ok(*values),
            _ => Err(Error::invalid("this encoding takes fixed-width values")),
        }
    }

    /// The byte strings.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for another type.
    pub fn as_bytes(&self) -> Result<BytesSlice<'a>> {
        match self {
            Self::Bytes(values) => Ok(*values),
            _ => Err(Error::invalid("this encoding takes byte strings")),
        }
    }
}

/// Decoded values that are kept longer than a block, such as a dictionary.
#[derive(Debug)]
pub enum OwnedValues {
    /// Packed bits.
    Bits {
        /// First bit in bit 0 of the first byte.
        bytes: AlignedBuf,
        /// Number of values.
        len: usize,
    },
    /// Fixed-width values.
    Fixed {
        /// `width x len` bytes.
        bytes: AlignedBuf,
        /// Bytes of one value.
        width: usize,
        /// Number of values.
        len: usize,
    },
    /// Byte strings.
    Bytes {
        /// One more than there are values; they do not fall, and the first is 0.
        offsets: Vec<u32>,
        /// The buffer that the views point into.
        data: AlignedBuf,
    },
}

impl OwnedValues {
    /// A copy of values.
    pub fn copy_of(values: Values<'_>) -> Self {
        match values {
            Values::Bits(bits) => {
                let mut bytes = Vec::new();
                bits.append_to(&mut bytes);
                Self::Bits {
                    bytes: AlignedBuf::copy_of(&bytes),
                    len: bits.len(),
                }
            }
            Values::Fixed(fixed) => Self::Fixed {
                bytes: AlignedBuf::copy_of(fixed.bytes()),
                width: fixed.width(),
                len: fixed.len(),
            },
            Values::Bytes(strings) => {
                let first = strings.offsets().first().copied().unwrap_or_default();
                let rebased = strings.offsets().iter().map(|offset| offset - first);
                Self::Bytes {
                    offsets: rebased.collect(),
                    data: AlignedBuf::copy_of(strings.value_data()),
                }
            }
        }
    }

    /// A view of the values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the lengths of the parts do not match.
    pub fn as_values(&self) -> Result<Values<'_>> {
        Ok(match self {
            Self::Bits { bytes, len } => Values::Bits(BitSlice::new(bytes, 0, *len)?),
            Self::Fixed { bytes, width, len } => {
                Values::Fixed(FixedSlice::new(bytes, *width, *len)?)
            }
            Self::Bytes { offsets, data } => Values::Bytes(BytesSlice::new(offsets, data)?),
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Bits { len, .. } | Self::Fixed { len, .. } => *len,
            Self::Bytes { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of their memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Bits { bytes, .. } | Self::Fixed { bytes, .. } => bytes.len(),
            Self::Bytes { offsets, data } => offsets.len() * 4 + data.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn words_match_single_bits_at_every_offset() {
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(37) ^ 0x5a).collect();
        for offset in 0..20 {
            for len in [0, 1, 7, 8, 63, 64, 65, 130, 300 - offset] {
                let bits = BitSlice::new(&bytes, offset, len).unwrap();
                for start in [0, 1, 5, 64, 100] {
                    let word = bits.word(start);
                    for i in 0..64 {
                        assert_eq!(
                            word >> i & 1 == 1,
                            bits.get(start + i),
                            "{offset} {len} {start} {i}"
                        );
                    }
                }
                let naive = (0..len).filter(|i| bits.get(*i)).count();
                assert_eq!(bits.count_ones(), naive);
                let mut out = vec![9];
                bits.append_to(&mut out);
                assert_eq!(out.len(), 1 + len.div_ceil(8));
                let copy = BitSlice::new(&out[1..], 0, len).unwrap();
                assert!((0..len).all(|i| copy.get(i) == bits.get(i)));
            }
        }
    }

    #[test]
    fn slices_refuse_what_does_not_fit() {
        assert!(BitSlice::new(&[0], 1, 8).is_err());
        assert!(BitSlice::new(&[0], usize::MAX, 2).is_err());
        assert!(FixedSlice::new(&[0; 7], 4, 2).is_err());
        assert!(BytesSlice::new(&[0, 2, 1], b"abc").is_err());
        assert!(BytesSlice::new(&[0, 4], b"abc").is_err());
    }

    #[test]
    fn byte_strings_slice_without_copying() {
        let values = BytesSlice::new(&[1, 2, 2, 5], b"xabcd").unwrap();
        assert_eq!(values.len(), 3);
        assert_eq!(values.get(0), b"a");
        assert_eq!(values.get(1), b"");
        assert_eq!(values.get(2), b"bcd");
        let tail = values.slice(1..3);
        assert_eq!(
            (tail.len(), tail.get(1), tail.data_bytes()),
            (2, &b"bcd"[..], 3)
        );
        assert_eq!(tail.value_data(), b"bcd");
        assert_eq!(values.slice(3..3).len(), 0);
        assert_eq!(values.slice(7..9).len(), 0);
    }
}
