//! The section that holds a kernel: a header, then a Wasm module compressed with zstd. Bytes: `docs/spec/file.md`,
//! Kernels.

use tarsia_codec::toolbox::ByteReader;

use crate::{Error, Result};

const HEADER_BYTES: usize = 48;
const COMPRESSION_ZSTD: u32 = 1;

/// A kernel as a file stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSection<'a> {
    /// BLAKE3 over the module.
    pub digest: [u8; 32],
    /// Bytes of the module.
    pub raw_bytes: u64,
    /// The module as one zstd frame.
    pub compressed: &'a [u8],
}

impl<'a> KernelSection<'a> {
    /// Reads the section. The module is not decompressed.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`]; [`Error::Unsupported`] for another compression.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let compression = reader.u32("kernel.compression")?;
        if compression != COMPRESSION_ZSTD {
            return Err(Error::Unsupported {
                what: format!("compression {compression} of a kernel"),
            });
        }
        let reserved = reader.u32("kernel.reserved")?;
        if reserved != 0 {
            return Err(Error::corrupt("kernel.reserved", 4, reserved, "zero"));
        }
        let raw_bytes = reader.u64("kernel.raw_bytes")?;
        let mut digest = [0; 32];
        digest.copy_from_slice(reader.take(32, "kernel.digest")?);
        Ok(Self {
            digest,
            raw_bytes,
            compressed: reader.rest(),
        })
    }

    /// The section's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.compressed.len());
        out.extend_from_slice(&COMPRESSION_ZSTD.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.raw_bytes.to_le_bytes());
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(self.compressed);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_back_and_bad_headers_are_refused() {
        let section = KernelSection {
            digest: [7; 32],
            raw_bytes: 1 << 40,
            compressed: b"frame",
        };
        let bytes = section.to_bytes();
        assert_eq!(bytes.len(), HEADER_BYTES + 5);
        assert_eq!(KernelSection::parse(&bytes), Ok(section));
        for len in 0..HEADER_BYTES {
            let cut = KernelSection::parse(&bytes[..len]);
            assert!(matches!(cut, Err(Error::Truncated { .. })), "{len}");
        }
        for at in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 2;
            assert!(KernelSection::parse(&bad).is_err(), "{at}");
        }
    }
}
