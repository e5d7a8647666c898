//! One page of an open file: what was made of it so far, and which of its parts were found right.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tarsia_codec::{OwnedValues, ValueType};
use tarsia_metadata::{BlockTable, PageDescriptor};
use tarsia_structure::full_zip::{IndexFront, checksummed_rows};
use tarsia_structure::{Layout, ROW_ENTRY_BYTES, RowIndex, ZipForm};

use crate::decoder::Decoder;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::file::Inner;
use crate::options::Checksums;

/// The block table of a page.
pub(crate) type Blocks = BlockTable<Vec<u8>>;

/// One page and what was made of it so far.
pub(crate) struct Page {
    pub(crate) descriptor: PageDescriptor,
    pub(crate) decoder: OnceLock<Arc<Decoder>>,
    pub(crate) blocks: OnceLock<Blocks>,
    pub(crate) entries: OnceLock<Arc<OwnedValues>>,
    /// Blocks.
    checked: Checked,
    /// Rows of a full-zip page of byte strings, which are read without their block.
    checked_rows: Checked,
    /// The indexes of its blocks, read when first needed.
    fronts: OnceLock<Box<[OnceLock<Front>]>>,
}

/// The front of a block with an index of its rows, which is right.
struct Front {
    /// Where it ends, counted from the block's start: there the values begin.
    values_at: usize,
    /// `None` where the file is in memory.
    bytes: Option<Box<[u8]>>,
}

impl Front {
    /// Reads the front of a block at `place`, and checks it.
    fn read(file: &Inner, place: &Range<u64>, form: ZipForm, rows: u32) -> Result<Self> {
        let end = place.end.min(place.start + IndexFront::bytes_max(rows));
        let read;
        let bytes = match file.lent(place.start..end) {
            Some(bytes) => bytes,
            None => {
                read = file.read_once(place.start..end)?;
                &*read
            }
        };
        let (front, (covered, stored)) =
            IndexFront::parse(bytes, form, rows).map_err(while_reading)?;
        if file.checksums != Checksums::Never {
            check_covered(covered, stored)?;
        }
        let values_at = front.values_at;
        Ok(Self {
            values_at,
            bytes: match file.stays() {
                true => None,
                false => bytes.get(..values_at).map(Box::from),
            },
        })
    }
}

/// The parts of a page whose checksum was right, a bit each.
#[derive(Default)]
struct Checked(OnceLock<Box<[AtomicU64]>>);

impl Checked {
    /// Whether all of `n` were checked.
    fn all(&self, n: u32) -> bool {
        let ones = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones();
        let words = self.0.get();
        words.is_some_and(|words| words.iter().map(ones).sum::<u32>() == n)
    }

    /// Checks one of `n` unless it was checked before.
    fn check(&self, part: u32, n: u32, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let words = self.0.get_or_init(|| {
            let n_words = n.div_ceil(64);
            (0..n_words).map(|_| AtomicU64::new(0)).collect()
        });
        let Some(word) = words.get(part as usize / 64) else {
            return check();
        };
        let bit = 1 << (part % 64);
        // Two threads that check the same part at the same time find the same.
        if word.load(Ordering::Relaxed) & bit == 0 {
            check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Page {
    pub(crate) fn new(descriptor: PageDescriptor) -> Self {
        Self {
            descriptor,
            decoder: OnceLock::new(),
            blocks: OnceLock::new(),
            entries: OnceLock::new(),
            checked: Checked::default(),
            checked_rows: Checked::default(),
            fronts: OnceLock::new(),
        }
    }

    /// Compares a block's checksum with its bytes, where that is wanted and was not done before.
    pub(crate) fn check(&self, file: &Inner, block: u32, bytes: &[u8]) -> Result<()> {
        match (file.checksums, self.blocks.get()) {
            (Checksums::Never, _) => Ok(()),
            (Checksums::Once, Some(blocks)) if file.stays() => {
                let check = || check_crc(bytes);
                self.checked.check(block, blocks.n_blocks(), check)
            }
            _ => check_crc(bytes),
        }
    }

    /// The same for rows from `first` on of a full-zip page, which are read without their block.
    pub(crate) fn check_rows(
        &self,
        file: &Inner,
        first: u32,
        rows: RowIndex<'_>,
        bytes: &[u8],
    ) -> Result<()> {
        let once = match file.checksums {
            Checksums::Never => return Ok(()),
            Checksums::Once => file.stays(),
            Checksums::Always => false,
        };
        for (row, (covered, stored)) in (first..).zip(checksummed_rows(rows, bytes)) {
            let check = || check_covered(covered, stored);
            match once {
                true => self.checked_rows.check(row, self.descriptor.rows, check)?,
                false => check()?,
            }
        }
        Ok(())
    }

    /// The front of a block with an index, read once; and where the block lies.
    pub(crate) fn front<'a>(
        &'a self,
        file: &'a Inner,
        blocks: &Blocks,
        block: u32,
        form: ZipForm,
    ) -> Result<(IndexFront<'a>, Range<u64>)> {
        let place = self.place_of(blocks, block)?;
        let fronts = self.fronts.get_or_init(|| {
            let n_blocks = blocks.n_blocks();
            (0..n_blocks).map(|_| OnceLock::new()).collect()
        });
        let none = || Error::new(ErrorKind::OutOfRange, format!("block {block}"));
        let cell = fronts.get(block as usize).ok_or_else(none)?;
        let rows = blocks.rows_of(block)?;
        let read = || Front::read(file, &place, form, rows.end - rows.start);
        let front = match cell.get() {
            None => {
                let front = read()?;
                cell.get_or_init(|| front)
            }
            Some(front) => {
                if file.checksums == Checksums::Always && file.stays() {
                    read()?;
                }
                front
            }
        };
        let bytes = match &front.bytes {
            Some(bytes) => Some(&**bytes),
            None => file.lent(place.start..place.start + front.values_at as u64),
        };
        Ok((IndexFront::of_parsed(bytes.ok_or_else(none)?), place))
    }

    /// Bytes that its indexes take once all of them were read.
    pub(crate) fn index_bytes(&self, file: &Inner) -> u64 {
        let is_kept = !file.stays() && self.is_indexed(file);
        u64::from(is_kept) * u64::from(self.descriptor.rows) * ROW_ENTRY_BYTES as u64
    }

    /// Whether nothing of it will be compared with its checksum again.
    pub(crate) fn is_checked(&self, file: &Inner) -> bool {
        let descriptor = &self.descriptor;
        match file.checksums {
            Checksums::Never => true,
            Checksums::Once => {
                self.checked.all(descriptor.n_blocks) || self.checked_rows.all(descriptor.rows)
            }
            Checksums::Always => false,
        }
    }

    pub(crate) fn rows(&self) -> Range<u64> {
        self.descriptor.row_range()
    }

    /// Where a block lies in the file.
    pub(crate) fn place_of(&self, blocks: &Blocks, block: u32) -> Result<Range<u64>> {
        let range = blocks.block_range(block)?;
        let start = self.descriptor.place;
        Ok(start + range.start..start + range.end)
    }

    /// Whether it is full-zip of byte strings.
    pub(crate) fn is_indexed(&self, file: &Inner) -> bool {
        let meta = file.meta(self.descriptor.meta);
        meta.is_ok_and(|meta| {
            meta.layout == Layout::FullZip && meta.value_type == Some(ValueType::Bytes)
        })
    }
}

/// Compares what a checksum covers with it.
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

/// Compares a block's stored checksums with its bytes.
pub(crate) fn check_crc(place: &[u8]) -> Result<()> {
    for (covered, stored) in tarsia_structure::block::checksummed(place).map_err(while_reading)? {
        check_covered(covered, stored)?;
    }
    Ok(())
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
