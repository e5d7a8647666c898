//! For which rows of a flat column a predicate holds, without making an array of them.

use std::sync::Arc;

use tarsia_codec::OwnedPredicate;
use tarsia_structure::{RawColumn, RawParts};

use super::column_read::ColumnRead;
use super::memory::Memory;
use crate::error::{Error, ErrorKind, Result, while_reading};

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// A bit for each row, whether the predicate holds for its value, and which rows are null. `None` if a kernel
    /// decodes a page, or rows are stored one by one.
    pub(crate) fn holds(
        &self,
        predicate: &Arc<OwnedPredicate>,
        memory: &mut Memory<'_>,
    ) -> Result<Option<RawParts>> {
        if !self.is_native()? {
            return Ok(None);
        }
        let in_column = |error| while_reading(error).in_column(self.column.name());
        let rows = self.plan.rows;
        let mut bits = RawColumn::holds(predicate.clone(), rows, memory.take).map_err(in_column)?;
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
