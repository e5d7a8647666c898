//! Rows of full-zip pages as blocks: those that were read without their block, and the items of a block.

use alloc::vec::Vec;

use tarsia_codec::Result;

use super::form::FullZipForm;
use super::rows::FullZipRows;
use crate::block::Block;
use crate::header::BlockHeader;
use crate::layout::ROW_ENTRY_BYTES;

impl<'a> Block<'a> {
    /// A block of rows of a full-zip page that were read without their block. For byte strings, `index` holds their
    /// entries, as [`RowIndex::copy_to`](crate::RowIndex::copy_to) copies them; else it is empty. The caller checks the
    /// rows' checksums.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Corrupt`] for bytes that are not so many rows.
    pub fn of_rows(
        bytes: &'a [u8],
        form: FullZipForm,
        index: &'a [[u8; ROW_ENTRY_BYTES]],
        n_rows: u32,
    ) -> Result<Self> {
        let header = BlockHeader {
            n_values: n_rows.saturating_mul(form.items_per_row()),
            // Of strings, which are at most what 24 bits say, all bytes.
            decoded_bytes: u32::from(form.is_indexed()) * bytes.len() as u32,
            ..BlockHeader::of_rows(n_rows)
        };
        let index = index.as_flattened();
        FullZipRows::checked(form, index, bytes, n_rows)?;
        Ok(Self::row_by_row(header, index, bytes))
    }

    /// The bytes of a block that holds just these rows of byte strings, for decoders that take whole blocks (kernels).
    /// It has no valid checksum.
    pub fn bytes_of_rows(values: &[u8], index: &[[u8; ROW_ENTRY_BYTES]], n_rows: u32) -> Vec<u8> {
        // Below 16 MiB, as the index says.
        let values_bytes = values.len() as u32;
        let header = BlockHeader {
            indexed: true,
            decoded_bytes: values_bytes,
            payload_bytes: values_bytes,
            ..BlockHeader::of_rows(n_rows)
        };
        let mut out = header.to_bytes().to_vec();
        out.extend_from_slice(index.as_flattened());
        out.extend_from_slice(values);
        out
    }

    /// How many items a block of a full-zip page has, those of rows that are null above their items not counted.
    pub fn full_zip_items(&self, form: FullZipForm) -> u64 {
        let rows = FullZipRows::of(form, self.levels, self.unit);
        let n_rows = (0..self.header.present_rows).filter(|row| rows.has_items(*row));
        n_rows.count() as u64 * u64::from(form.items_per_row())
    }
}
