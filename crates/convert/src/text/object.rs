//! JSON objects of the values of a row.

use super::style::{Cell, json_string};

/// One key for each column.
#[derive(Default)]
pub(super) struct Object<'a> {
    /// Key with quotes and colon, and the column's values.
    columns: Vec<(Vec<u8>, Cell<'a>)>,
}

impl<'a> Object<'a> {
    pub(super) fn push(&mut self, name: &str, values: Cell<'a>) {
        let mut key = Vec::new();
        json_string(&mut key, name);
        key.push(b':');
        self.columns.push((key, values));
    }

    /// Appends the object of a row.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        out.push(b'{');
        for (i, (key, values)) in self.columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            values(row, out).map_err(|what| {
                let key = String::from_utf8_lossy(key);
                let name = key.trim_end_matches(':').trim_matches('"');
                format!("column `{name}`, row {row}: {what}")
            })?;
        }
        out.push(b'}');
        Ok(())
    }
}
