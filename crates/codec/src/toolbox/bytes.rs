//! A cursor over untrusted bytes: every read is checked, and none panics. Parts with their length in front of them.

use alloc::vec::Vec;

use crate::{Error, Result};

/// Reads little-endian fields from front to back. An error names the field and its offset. The methods are inlined
/// except in kernels, which must be small.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// A cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if fewer are left.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(self.truncated(len, field)),
        }
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, len: usize, field: &'static str) -> Error {
        Error::truncated(field, self.at.saturating_add(len), self.bytes.len())
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(taken) => {
                self.at += N;
                Ok(*taken)
            }
            None => Err(self.truncated(N, field)),
        }
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) at the end.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn u8(&mut self, field: &'static str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// The next two bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if fewer are left.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn u16(&mut self, field: &'static str) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    /// The next four bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if fewer are left.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn u32(&mut self, field: &'static str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    /// The next eight bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if fewer are left.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn u64(&mut self, field: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// An unsigned integer of `len` bytes, `len <= 8`; zero bytes are the number 0.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if fewer are left,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for `len > 8`.
    #[cfg_attr(not(feature = "kernel"), inline)]
    #[cfg_attr(feature = "kernel", inline(never))]
    pub fn uint(&mut self, len: usize, field: &'static str) -> Result<u64> {
        if len > 8 {
            return Err(Error::invalid("integers are at most 8 bytes wide"));
        }
        let taken = self.take(len, field)?;
        let mut out = [0; 8];
        for (to, from) in out.iter_mut().zip(taken) {
            *to = *from;
        }
        Ok(u64::from_le_bytes(out))
    }

    /// Skips zero bytes up to the next multiple of `align` (a power of two), and refuses others.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) or [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt).
    pub fn pad_to(&mut self, align: usize, field: &'static str) -> Result<()> {
        let pad = self.at.wrapping_neg() & (align - 1);
        let at = self.at;
        check_zero(self.take(pad, field)?, field, at)
    }

    /// Refuses bytes after the last field.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if some are left.
    pub fn finish(&self, field: &'static str) -> Result<()> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(Error::corrupt(
                field,
                self.at,
                (self.bytes.len() - self.at) as u64,
                "no bytes after the last field",
            ))
        }
    }
}

/// Checks that padding or reserved bytes are zero. `at_byte` is the offset of `bytes` in the buffer, for the error.
///
/// # Errors
/// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) at the first byte that is not.
pub fn check_zero(bytes: &[u8], field: &'static str, at_byte: usize) -> Result<()> {
    match bytes.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => Err(Error::corrupt(
            field,
            at_byte + at,
            bytes.get(at).copied().unwrap_or_default(),
            "zero (padding or reserved)",
        )),
    }
}

/// Appends what `append` appends, with its length in bytes before it, as a little-endian number of 4 bytes.
///
/// # Errors
/// Those of `append`; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the sentence `too_long` from
/// 4 GiB on.
pub fn append_sized(
    out: &mut Vec<u8>,
    too_long: &'static str,
    append: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let len_at = out.len();
    out.extend_from_slice(&[0; size_of::<u32>()]);
    let start = out.len();
    append(out)?;
    let len = u32::try_from(out.len() - start).map_err(|_| Error::invalid(too_long))?;
    if let Some(field) = out.get_mut(len_at..start) {
        field.copy_from_slice(&len.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn every_prefix_is_truncated() {
        let bytes = [1, 2, 3, 4, 5, 6, 7];
        for len in 0..bytes.len() {
            let mut reader = ByteReader::new(&bytes[..len]);
            let got = (|| {
                reader.u8("a")?;
                reader.u16("b")?;
                reader.u32("c")
            })();
            assert!(
                matches!(
                    got.as_ref().map_err(|error| error.kind()),
                    Err(ErrorKind::Truncated { .. })
                ),
                "{len}: {got:?}"
            );
        }
        let mut reader = ByteReader::new(&bytes);
        assert_eq!(reader.u8("a"), Ok(1));
        assert_eq!(reader.u16("b"), Ok(0x0302));
        assert_eq!(reader.u32("c"), Ok(0x0706_0504));
        assert_eq!(reader.finish("end"), Ok(()));
    }

    #[test]
    fn padding_must_be_zero() {
        let mut reader = ByteReader::new(&[9, 0, 0, 1]);
        reader.u8("a").unwrap();
        let error = reader.pad_to(4, "pad").unwrap_err();
        assert_eq!(
            error,
            Error::corrupt("pad", 3, 1u8, "zero (padding or reserved)")
        );
    }

    #[test]
    fn uint_takes_any_width() {
        let mut reader = ByteReader::new(&[1, 2, 3]);
        assert_eq!(reader.uint(0, "zero"), Ok(0));
        assert_eq!(reader.uint(3, "three"), Ok(0x03_02_01));
        assert!(reader.uint(9, "nine").is_err());
    }
}
