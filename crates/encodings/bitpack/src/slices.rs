//! Slices of numbers, for those who use this crate alone.

use tarsia_bits::Word;
use tarsia_codec::Result;

use crate::layout::{Mode, Unit};

mod sealed {
    pub trait Sealed {
        type Word: tarsia_bits::Word;
        fn from_word(word: Self::Word) -> Self;
    }
}

/// A number that can be encoded: the signed and unsigned integers of 8 to 64 bits. Sealed.
pub trait Value: bytemuck::Pod + sealed::Sealed {
    /// The number from little-endian order, or the reverse.
    #[doc(hidden)]
    fn swap_if_big_endian(self) -> Self;
}

macro_rules! value {
    ($($value:ty: $word:ty),*) => {
        $(
            impl sealed::Sealed for $value {
                type Word = $word;

                fn from_word(word: $word) -> Self {
                    word as Self
                }
            }

            impl Value for $value {
                fn swap_if_big_endian(self) -> Self {
                    self.to_le()
                }
            }
        )*
    };
}

value!(u8: u8, i8: u8, u16: u16, i16: u16, u32: u32, i32: u32, u64: u64, i64: u64);

/// Encodes `values` as one unit, groups free to differ ([`Mode::Free`]). The number of values is not in the unit.
///
/// ```
/// let bytes = tarsia_bitpack::encode_slice(&[-3i64, 4, 0]).unwrap();
/// // Header, base -3 as one complemented byte, three values of three bits.
/// assert_eq!(bytes, [0b10, 3, 1, 2, 0b11_111_000, 0]);
/// let mut decoded = [0i64; 3];
/// tarsia_bitpack::decode_slice(&bytes, &mut decoded).unwrap();
/// assert_eq!(decoded, [-3, 4, 0]);
/// ```
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for more values than a unit may have.
#[cfg(feature = "encode")]
pub fn encode_slice<T: Value>(values: &[T]) -> Result<alloc::vec::Vec<u8>> {
    let mut out = alloc::vec::Vec::new();
    let swapped: alloc::vec::Vec<T>;
    let values = if cfg!(target_endian = "big") {
        swapped = values
            .iter()
            .map(|value| value.swap_if_big_endian())
            .collect();
        &swapped
    } else {
        values
    };
    let bytes = bytemuck::cast_slice(values);
    crate::encode::encode_unit(bytes, size_of::<T>(), Mode::Free, &mut out)?;
    Ok(out)
}

/// Decodes a unit of `out.len()` values.
///
/// # Errors
/// [`crate::ErrorKind::Truncated`] and [`crate::ErrorKind::Corrupt`] for bytes that are no such unit.
pub fn decode_slice<T: Value>(bytes: &[u8], out: &mut [T]) -> Result<()> {
    let unit = Unit::parse(bytes, out.len(), size_of::<T>(), Mode::Free)?;
    unit.decode_range::<T::Word>(0, bytemuck::cast_slice_mut(out))?;
    if cfg!(target_endian = "big") {
        for value in out {
            *value = value.swap_if_big_endian();
        }
    }
    Ok(())
}

/// Decodes value `index` of a unit of `n_values`, without decoding the others.
///
/// # Errors
/// As [`decode_slice`], and [`crate::ErrorKind::InvalidInput`] for an index beyond the unit.
pub fn decode_one<T: Value>(bytes: &[u8], n_values: usize, index: usize) -> Result<T> {
    let unit = Unit::parse(bytes, n_values, size_of::<T>(), Mode::Free)?;
    unit.decode_one::<T::Word>(index).map(T::from_word)
}

const _: () = assert!(<u64 as Word>::BYTES == size_of::<i64>());

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn extremes_of_every_type() {
        macro_rules! check {
            ($($value:ty),*) => {
                $(
                    let values = [<$value>::MIN, <$value>::MAX, 0, 1, <$value>::MAX / 2];
                    let bytes = encode_slice(&values).unwrap();
                    let mut decoded = [0 as $value; 5];
                    decode_slice(&bytes, &mut decoded).unwrap();
                    assert_eq!(decoded, values);
                    for (i, value) in values.iter().enumerate() {
                        assert_eq!(decode_one::<$value>(&bytes, 5, i), Ok(*value));
                    }
                    assert!(decode_one::<$value>(&bytes, 5, 5).is_err());
                )*
            };
        }
        check!(u8, i8, u16, i16, u32, i32, u64, i64);
    }

    #[test]
    fn no_values_take_no_bytes() {
        let bytes = encode_slice::<u32>(&[]).unwrap();
        assert_eq!(bytes, vec![]);
        assert_eq!(decode_slice::<u32>(&bytes, &mut []), Ok(()));
        assert!(decode_slice::<u32>(&[0], &mut []).is_err());
        assert!(decode_one::<u32>(&bytes, 0, 0).is_err());
    }
}
