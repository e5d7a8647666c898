//! The entries of dictionaries of text.

use std::ptr;
use std::sync::Arc;

use arrow_schema::DataType;
use tarsia_arrow::logical_type;
use tarsia_codec::{Error, OwnedValues};

use super::column_read::ColumnRead;
use crate::error::Result;

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// Checks that the entries of the dictionaries of a flat column of text are text, whether a row has them or not.
    /// Whether a read looks at all of them depends on how many rows it reads.
    pub(crate) fn check_entries(&self) -> Result<()> {
        let is_text = matches!(
            logical_type(&self.column.data_type),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        );
        if !is_text || !self.is_native()? {
            return Ok(());
        }
        let mut checked = ptr::null();
        self.each_block(
            |_| false,
            |_, decoder, block| {
                let Some(entries) = decoder.entries(block)? else {
                    return Ok(());
                };
                let values = entries.entries.values();
                if Arc::as_ptr(values) != checked {
                    checked = Arc::as_ptr(values);
                    check_text(values)?;
                }
                Ok(())
            },
        )
    }
}

fn check_text(values: &OwnedValues) -> tarsia_codec::Result<()> {
    let OwnedValues::Bytes { offsets, data } = values else {
        return Ok(());
    };
    let text = str::from_utf8(data);
    let wrong = offsets.iter().position(|end| {
        text.as_ref()
            .map_or(true, |text| !text.is_char_boundary(*end as usize))
    });
    match wrong {
        None => Ok(()),
        Some(entry) => Err(Error::corrupt(
            "dictionary.entry",
            0,
            entry as u64,
            "text in UTF-8",
        )),
    }
}
