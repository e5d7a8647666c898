//! When the checksums of blocks and rows are compared with their bytes.

use tarsia_structure::full_zip::checksummed_rows;
use tarsia_structure::{FullZipForm, RowIndex};

use crate::error::Result;
use crate::options::Checksums;
use crate::plan::{LoneRows, Plan};
use crate::table::{Page, check_block, check_covered};

/// Decides whether a checksum is compared.
#[derive(Clone, Copy)]
pub(crate) struct Checks {
    pub(crate) checksums: Checksums,
    /// Whether what was read stays where it is, so that once is enough.
    pub(crate) is_mapped: bool,
}

impl Checks {
    /// Compares a block's checksums with its bytes, where that is wanted and was not done before.
    pub(crate) fn block(self, page: &Page, block: u32, bytes: &[u8]) -> Result<()> {
        match self.checksums {
            Checksums::Never => Ok(()),
            Checksums::Once if self.is_mapped => {
                let n_blocks = page.descriptor.n_blocks;
                let check = || check_block(bytes);
                page.checked_blocks.check(block, n_blocks, check)
            }
            Checksums::Once | Checksums::Always => check_block(bytes),
        }
    }

    /// Checks rows of a full-zip page that were read without their block.
    pub(crate) fn lone_rows(
        self,
        page: &Page,
        plan: &Plan,
        rows: &LoneRows,
        bytes: &[u8],
        form: FullZipForm,
    ) -> Result<()> {
        let Some(stride) = form.stride() else {
            let index = RowIndex::of_entries(plan.entries(rows));
            return self.indexed_rows(page, rows.first, index, bytes);
        };
        if self.checksums == Checksums::Never {
            return Ok(());
        }
        for row in bytes.chunks_exact(stride) {
            if let Some((covered, stored)) = form.checksummed(row) {
                check_covered(covered, stored)?;
            }
        }
        Ok(())
    }

    /// Rows from `first` on of a page of byte strings.
    fn indexed_rows(self, page: &Page, first: u32, rows: RowIndex<'_>, bytes: &[u8]) -> Result<()> {
        let once = match self.checksums {
            Checksums::Never => return Ok(()),
            Checksums::Once => self.is_mapped,
            Checksums::Always => false,
        };
        for (row, (covered, stored)) in (first..).zip(checksummed_rows(rows, bytes)) {
            let check = || check_covered(covered, stored);
            match once {
                true => page.checked_rows.check(row, page.descriptor.rows, check)?,
                false => check()?,
            }
        }
        Ok(())
    }

    /// Compares what one checksum covers with it, unless that is never wanted.
    pub(crate) fn covered(self, covered: &[u8], stored: u32) -> Result<()> {
        match self.checksums {
            Checksums::Never => Ok(()),
            Checksums::Once | Checksums::Always => check_covered(covered, stored),
        }
    }
}
