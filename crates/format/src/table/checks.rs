//! Checksums, and which parts of a page were checked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tarsia_compliance as compliance;
use tarsia_compliance::Digest;

use crate::error::{Error, ErrorKind, Result, while_reading};

/// One bit for each part of a page: whether its checksum was compared and was right.
#[derive(Default)]
pub(crate) struct Checked(OnceLock<Box<[AtomicU64]>>);

impl Checked {
    /// Whether all of `n` were checked.
    pub(crate) fn all(&self, n: u32) -> bool {
        let ones = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones();
        let words = self.0.get();
        words.is_some_and(|words| words.iter().map(ones).sum::<u32>() == n)
    }

    /// Checks part `part` of `n` unless it was checked before.
    pub(crate) fn check(
        &self,
        part: u32,
        n: u32,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let words = self.0.get_or_init(|| {
            let n_words = n.div_ceil(64);
            (0..n_words).map(|_| AtomicU64::new(0)).collect()
        });
        let Some(word) = words.get(part as usize / 64) else {
            return check();
        };
        let bit = 1 << (part % 64);
        // Two threads may check the same part at the same time. They get the same result.
        if word.load(Ordering::Relaxed) & bit == 0 {
            check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Compares the CRC-32C of `covered` with the stored one.
pub(crate) fn check_covered(covered: &[u8], stored: u32) -> Result<()> {
    let computed = tarsia_metadata::crc32c(&[covered]);
    match computed == stored {
        true => Ok(()),
        false => Err(wrong_checksum(stored, computed)),
    }
}

#[cold]
fn wrong_checksum(stored: u32, computed: u32) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("checksum {stored:08x} stored, {computed:08x} computed"),
    )
}

/// Compares all checksums that a block stores with its bytes.
pub(crate) fn check_block(block: &[u8]) -> Result<()> {
    for (covered, stored) in tarsia_structure::block::checksummed(block).map_err(while_reading)? {
        check_covered(covered, stored)?;
    }
    Ok(())
}

/// Checks that the digest of a block is the one that its page lists, or, for a page of one block, has itself.
pub(crate) fn check_digest(
    digest: &Digest,
    block: u32,
    listed: Option<&[[u8; 16]]>,
    of_page: &Digest,
) -> Result<()> {
    let is_right = match listed {
        None => digest == of_page,
        Some(listed) => {
            listed.get(block as usize) == Some(&compliance::stored_block_digest(digest))
        }
    };
    match is_right {
        true => Ok(()),
        false => {
            let what = "block digest: the block is not the one that was written";
            Err(Error::new(ErrorKind::Corrupt, what))
        }
    }
}

/// Checks that the digests of the blocks of a page, which digests call `bound`, are those of the page's digest.
pub(crate) fn check_listed(
    leaf: u32,
    bound: u32,
    listed: &[[u8; 16]],
    of_page: &Digest,
) -> Result<()> {
    match compliance::page_digest(leaf, bound, listed) == *of_page {
        true => Ok(()),
        false => {
            let what = "page digest: the block digests are not those that were written";
            Err(Error::new(ErrorKind::Corrupt, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_checked_until_it_was_right() {
        let checked = Checked::default();
        let damaged = || Err(wrong_checksum(0, 1));
        for block in [0, 63, 64, 129] {
            assert!(checked.check(block, 130, damaged).is_err());
            assert!(checked.check(block, 130, damaged).is_err(), "twice");
            assert!(checked.check(block, 130, || Ok(())).is_ok());
            assert!(checked.check(block, 130, damaged).is_ok(), "known by now");
        }
        assert!(
            checked.check(1, 130, damaged).is_err(),
            "its neighbour is not"
        );
        assert!(!checked.all(130));
        for block in 0..130 {
            assert!(checked.check(block, 130, || Ok(())).is_ok());
        }
        assert!(checked.all(130));
        // A block that the table does not have: always checked.
        assert!(checked.check(10_000, 130, || Ok(())).is_ok());
        assert!(checked.check(10_000, 130, damaged).is_err());
    }
}
