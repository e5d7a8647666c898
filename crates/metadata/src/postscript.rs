//! The postscript: the last 64 bytes, from which everything else is found.

use std::ops::Range;

use tarsia_codec::toolbox::ByteReader;

use crate::bytes::{check_crc, crc32c, slice, u48};
use crate::header::check_version;
use crate::limits::{
    BUCKETS_LOG2_MAX, FOOTER_BYTES_MAX, HEADER_BYTES, POSTSCRIPT_BYTES, U48_MAX, VERSION_MAJOR,
    VERSION_MINOR,
};
use crate::{Error, Result};

const MAGIC: [u8; 4] = *b"TRSA";
const FOOTER_WORDS_AT: usize = 22;
const ROOT_DIGEST_AT: usize = 24;
const CRC_AT: usize = 56;
const MAGIC_AT: usize = 60;

/// The last 64 bytes of the committed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postscript {
    /// Where the postscript ends.
    pub committed_bytes: u64,
    /// Rows of the table.
    pub rows: u64,
    /// log2 of the number of buckets.
    pub buckets_log2: u8,
    /// Offset of bucket 0.
    pub bucket_place: u64,
    /// Bytes of the footer, which ends where the postscript starts; a multiple of 8.
    pub footer_bytes: u32,
    /// Digest of kind 6 over the whole file.
    pub root_digest: [u8; 32],
}

impl Postscript {
    /// The byte range of the footer, from the last [`POSTSCRIPT_BYTES`] before `committed_bytes`. The postscript's
    /// checksum covers the footer too, so nothing else of it is used before [`Postscript::parse`].
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`] (another magic or committed length, a footer that does not fit),
    /// [`Error::UnsupportedVersion`].
    pub fn footer_range(bytes: &[u8], committed_bytes: u64) -> Result<Range<u64>> {
        let bytes = slice(bytes, 0..POSTSCRIPT_BYTES, "postscript")?;
        let magic = slice(bytes, MAGIC_AT..POSTSCRIPT_BYTES, "postscript.magic")?;
        if magic != MAGIC {
            let found = ByteReader::new(magic).u32("postscript.magic")?;
            return Err(Error::corrupt("postscript.magic", MAGIC_AT, found, "TRSA"));
        }
        let mut reader = ByteReader::new(bytes);
        let stored = reader.uint(6, "postscript.committed_length")?;
        if stored != committed_bytes {
            return Err(Error::corrupt(
                "postscript.committed_length",
                0,
                stored,
                "where the postscript ends",
            ));
        }
        check_version(
            reader.u8("postscript.major")?.into(),
            reader.u8("postscript.minor")?.into(),
        )?;
        let words = slice(
            bytes,
            FOOTER_WORDS_AT..ROOT_DIGEST_AT,
            "postscript.footer_length",
        )?;
        let words = ByteReader::new(words).u16("postscript.footer_length")?;
        let end = committed_bytes.checked_sub(POSTSCRIPT_BYTES as u64);
        let start = end.and_then(|end| end.checked_sub(u64::from(words) * 8));
        match (start, end) {
            (Some(start), Some(end))
                if start >= HEADER_BYTES as u64 && end - start <= FOOTER_BYTES_MAX as u64 =>
            {
                Ok(start..end)
            }
            _ => Err(Error::corrupt(
                "postscript.footer_length",
                FOOTER_WORDS_AT,
                words,
                "at most 2,048 words between header and postscript",
            )),
        }
    }

    /// Reads the postscript; `footer` are the bytes of [`Postscript::footer_range`].
    ///
    /// # Errors
    /// As [`Postscript::footer_range`], and [`Error::Crc`] over footer and postscript, [`Error::InvalidInput`] for a
    /// footer of another length.
    pub fn parse(bytes: &[u8], committed_bytes: u64, footer: &[u8]) -> Result<Self> {
        let footer_range = Self::footer_range(bytes, committed_bytes)?;
        if footer_range.end - footer_range.start != footer.len() as u64 {
            return Err(Error::invalid("the footer given is not the postscript's"));
        }
        let covered = slice(bytes, 0..CRC_AT, "postscript")?;
        let mut stored = ByteReader::new(slice(bytes, CRC_AT..MAGIC_AT, "postscript.crc")?);
        let stored = stored.u32("postscript.crc")?;
        check_crc("footer and postscript", 0, stored, &[footer, covered])?;

        let mut reader = ByteReader::new(bytes);
        reader.take(8, "postscript")?;
        let rows = reader.uint(6, "postscript.rows")?;
        let buckets_log2 = reader.u8("postscript.buckets")?;
        if buckets_log2 > BUCKETS_LOG2_MAX {
            return Err(Error::corrupt(
                "postscript.buckets",
                14,
                buckets_log2,
                "0 ..= 24",
            ));
        }
        let flags = reader.u8("postscript.flags")?;
        if flags != 0 {
            return Err(Error::corrupt(
                "postscript.flags",
                15,
                flags,
                "zero (reserved)",
            ));
        }
        let bucket_place = reader.uint(6, "postscript.bucket_place")?;
        if bucket_place < HEADER_BYTES as u64
            || bucket_place >= footer_range.start
            || !bucket_place.is_multiple_of(8)
        {
            return Err(Error::corrupt(
                "postscript.bucket_place",
                16,
                bucket_place,
                "8-aligned places between header and footer",
            ));
        }
        reader.take(2, "postscript.footer_length")?;
        let mut root_digest = [0; 32];
        root_digest.copy_from_slice(reader.take(32, "postscript.root_digest")?);
        Ok(Self {
            committed_bytes,
            rows,
            buckets_log2,
            bucket_place,
            footer_bytes: u32::try_from(footer.len())
                .map_err(|_| Error::invalid("the footer given is not the postscript's"))?,
            root_digest,
        })
    }

    /// The postscript's bytes for this footer; [`Postscript::footer_bytes`] is taken from it.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for numbers that do not fit, else what [`Postscript::parse`] would refuse.
    pub fn to_bytes(&self, footer: &[u8]) -> Result<[u8; POSTSCRIPT_BYTES]> {
        let out = self.bytes_with(footer, &self.root_digest)?;
        Self::parse(&out, self.committed_bytes, footer)?;
        Ok(out)
    }

    /// Returns the bytes of the postscript that the root digest covers: all of it with root digest and checksum zero.
    ///
    /// # Errors
    /// As [`Postscript::to_bytes`].
    pub fn bytes_for_root_digest(&self, footer: &[u8]) -> Result<[u8; POSTSCRIPT_BYTES]> {
        let mut out = self.bytes_with(footer, &[0; 32])?;
        out[CRC_AT..MAGIC_AT].fill(0);
        Ok(out)
    }

    fn bytes_with(&self, footer: &[u8], root_digest: &[u8]) -> Result<[u8; POSTSCRIPT_BYTES]> {
        if !footer.len().is_multiple_of(8) {
            return Err(Error::invalid(
                "a footer is padded to a multiple of 8 bytes",
            ));
        }
        let bytes = Some(footer.len()).filter(|bytes| *bytes <= FOOTER_BYTES_MAX);
        let words = bytes.and_then(|bytes| u16::try_from(bytes / 8).ok());
        let words = words.ok_or_else(|| {
            Error::limit(
                "FOOTER_BYTES_MAX",
                footer.len() as u64,
                FOOTER_BYTES_MAX as u64,
            )
        })?;
        let mut out = Vec::with_capacity(POSTSCRIPT_BYTES);
        out.extend_from_slice(&u48(self.committed_bytes, "postscript.committed_length")?);
        out.extend_from_slice(&[VERSION_MAJOR as u8, VERSION_MINOR as u8]);
        out.extend_from_slice(&u48(self.rows, "postscript.rows")?);
        out.extend_from_slice(&[self.buckets_log2, 0]);
        out.extend_from_slice(&u48(self.bucket_place, "postscript.bucket_place")?);
        out.extend_from_slice(&words.to_le_bytes());
        out.extend_from_slice(root_digest);
        out.extend_from_slice(&crc32c(&[footer, &out]).to_le_bytes());
        out.extend_from_slice(&MAGIC);
        let mut bytes = [0; POSTSCRIPT_BYTES];
        bytes.copy_from_slice(&out);
        Ok(bytes)
    }
}

const _: () = assert!(VERSION_MAJOR as u8 as u16 == VERSION_MAJOR);
const _: () = assert!(VERSION_MINOR as u8 as u16 == VERSION_MINOR);
const _: () = assert!(FOOTER_BYTES_MAX as u64 + HEADER_BYTES as u64 <= U48_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    const FOOTER: &[u8] = b"sixteen bytes!!!";

    fn sample() -> Postscript {
        Postscript {
            committed_bytes: 1000,
            rows: U48_MAX,
            buckets_log2: 3,
            bucket_place: 800,
            footer_bytes: 16,
            root_digest: [0xab; 32],
        }
    }

    #[test]
    fn round_trip() {
        let bytes = sample().to_bytes(FOOTER).unwrap();
        assert_eq!(bytes.len(), 64);
        assert_eq!(Postscript::footer_range(&bytes, 1000), Ok(920..936));
        assert_eq!(Postscript::parse(&bytes, 1000, FOOTER), Ok(sample()));
        let for_root = sample().bytes_for_root_digest(FOOTER).unwrap();
        assert_eq!(for_root[..24], bytes[..24]);
        assert_eq!(for_root[24..60], [0; 36]);
        assert_eq!(for_root[60..], bytes[60..]);
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        let bytes = sample().to_bytes(FOOTER).unwrap();
        for len in 0..bytes.len() {
            let got = Postscript::parse(&bytes[..len], 1000, FOOTER);
            assert!(matches!(got, Err(Error::Truncated { .. })), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Postscript::parse(&bad, 1000, FOOTER).is_err(), "bit {bit}");
        }
        for bit in 0..FOOTER.len() * 8 {
            let mut bad = FOOTER.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            let got = Postscript::parse(&bytes, 1000, &bad);
            assert!(matches!(got, Err(Error::Crc { .. })), "bit {bit}");
        }
        assert!(Postscript::parse(&bytes, 1008, FOOTER).is_err());
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let too_many_rows = Postscript {
            rows: U48_MAX + 1,
            ..sample()
        };
        assert!(matches!(
            too_many_rows.to_bytes(FOOTER),
            Err(Error::LimitExceeded { .. })
        ));
        let too_many_buckets = Postscript {
            buckets_log2: 25,
            ..sample()
        };
        assert!(too_many_buckets.to_bytes(FOOTER).is_err());
        let outside = Postscript {
            bucket_place: 920,
            ..sample()
        };
        assert!(outside.to_bytes(FOOTER).is_err());
        assert!(sample().to_bytes(&vec![0; FOOTER_BYTES_MAX + 8]).is_err());
        assert!(sample().to_bytes(&[0; 7]).is_err());
        assert!(sample().to_bytes(&[0; 944]).is_err());
    }
}
