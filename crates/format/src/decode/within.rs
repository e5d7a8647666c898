//! Which rows of a flat column lie in a range of numbers, without decoding all of them.

use tarsia_codec::NumberRange;
use tarsia_structure::{RawColumn, RawParts};

use super::column_read::ColumnRead;
use super::memory::Memory;
use crate::error::{Error, ErrorKind, Result, while_reading};

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// A bit for each row, whether its value lies in the range, and which rows are null. `None` if a kernel decodes a
    /// page, or rows are stored one by one.
    pub(crate) fn within(
        &self,
        range: NumberRange,
        memory: &mut Memory<'_>,
    ) -> Result<Option<RawParts>> {
        if !self.is_native()? {
            return Ok(None);
        }
        let in_column = |error| while_reading(error).in_column(self.column.name());
        let rows = self.plan.rows;
        let mut bits = RawColumn::within(range, rows, memory.take).map_err(in_column)?;
        let mut is_by_rows = false;
        self.each_page(|decoder, run| {
            let is_full_zip = decoder
                .native()
                .is_some_and(|decoder| decoder.full_zip().is_some());
            is_by_rows |= is_full_zip;
            match is_by_rows {
                true => Ok(()),
                false => decoder.decode(run, &mut bits, memory),
            }
        })?;
        if is_by_rows {
            return Ok(None);
        }
        if bits.rows() != rows {
            let what = "blocks hold fewer rows than they say";
            return Err(Error::new(ErrorKind::Corrupt, what).in_column(self.column.name()));
        }
        Ok(Some(bits.finish()))
    }
}
