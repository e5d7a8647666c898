//! Flat columns: one value, or null, a row.

use tarsia_structure::RawColumn;

use super::column_read::ColumnRead;
use super::memory::Memory;
use super::zero_copy::{BorrowedRun, EntryCodes, Views};
use crate::error::{Error, ErrorKind, Result, while_reading};

/// The rows of a column, as they were decoded.
pub(crate) enum Decoded {
    /// Into memory of ours.
    Raw(RawColumn),
    /// Views of the file or of dictionaries.
    Views(Views),
    /// Numbers of dictionary entries.
    EntryCodes(EntryCodes),
    /// Byte strings back to back in the file, in as many pieces as they lie in.
    InPlace(Vec<BorrowedRun>),
    /// By a kernel, in whose memory they stay.
    #[cfg(feature = "kernels")]
    InKernel(tarsia_kernel_host::BorrowedColumn),
}

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// Decodes the rows of a flat column.
    pub(crate) fn decode(&self, memory: &mut Memory<'_>) -> Result<Decoded> {
        if let Some(codes) = self.decode_entry_codes(memory)? {
            return Ok(Decoded::EntryCodes(codes));
        }
        if let Some(views) = self.decode_entry_views(memory)? {
            return Ok(Decoded::Views(views));
        }
        if let Some(views) = self.decode_flat_views(memory)? {
            return Ok(Decoded::Views(views));
        }
        if let Some(runs) = self.decode_in_place(memory)? {
            return Ok(Decoded::InPlace(runs));
        }
        let in_column = |error| while_reading(error).in_column(self.column.name());
        let (value_type, rows) = (self.value_type(), self.plan.rows);
        let data_bytes = self.string_bytes_max()?;
        #[cfg(feature = "kernels")]
        if let Some(in_kernel) = self.decode_in_kernel(data_bytes)? {
            if !in_kernel.should_be_copied() {
                return Ok(Decoded::InKernel(in_kernel));
            }
            let bytes = data_bytes as usize;
            let mut raw =
                RawColumn::new(value_type, rows, bytes, memory.take).map_err(in_column)?;
            let view = in_kernel.view().map_err(super::kernel::failed);
            let view = view.map_err(|error| error.in_column(self.column.name()))?;
            raw.push_decoded(&view, memory.take).map_err(in_column)?;
            return Ok(Decoded::Raw(raw));
        }
        let mut raw = RawColumn::new(value_type, rows, data_bytes as usize, memory.take)
            .map_err(in_column)?;
        self.each_page(|decoder, run| decoder.decode(run, &mut raw, memory))?;
        if raw.rows() != rows {
            let what = "blocks hold fewer rows than they say";
            return Err(Error::new(ErrorKind::Corrupt, what).in_column(self.column.name()));
        }
        Ok(Decoded::Raw(raw))
    }

    /// Decodes the rows by a kernel, if one decodes all pages: they stay in its memory. `None` if these pages must be
    /// decoded otherwise.
    #[cfg(feature = "kernels")]
    fn decode_in_kernel(
        &self,
        data_bytes: u64,
    ) -> Result<Option<tarsia_kernel_host::BorrowedColumn>> {
        let mut whole = None;
        let mut is_whole = true;
        self.each_page(|decoder, run| {
            let Some(kernel) = decoder.kernel().filter(|_| is_whole) else {
                is_whole = false;
                return Ok(());
            };
            match &mut whole {
                Some(whole) => kernel.push_to(run, whole),
                None => match kernel.whole(self.plan.rows, data_bytes) {
                    Some(new) => kernel.push_to(run, whole.insert(new)),
                    None => {
                        is_whole = false;
                        Ok(())
                    }
                },
            }
        })?;
        let whole = whole.filter(|_| is_whole);
        let finished = whole.map(tarsia_kernel_host::Whole::finish).transpose();
        finished.map_err(|error| super::kernel::failed(error).in_column(self.column.name()))
    }
}
