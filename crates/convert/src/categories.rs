//! Categories of a dictionary: its values in their order, also those that no row has.
//!
//! A Tarsia file stores the values of rows, so that a dictionary comes back with those that rows have, in the order in
//! which they come. What it said besides lies in the metadata of the schema, under [`key_of`] its path: whether its
//! order means something, and its values as an Arrow stream.

use std::io::Cursor;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::guarded::guarded;
use crate::source::ipc;

/// Bytes of values that are kept for one dictionary.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// Values that are kept for one dictionary.
pub(crate) const VALUES_MAX: usize = 1 << 16;

const PREFIX: &str = "dictionary:";

/// The values of a dictionary, and whether they are ordered.
pub(crate) struct Categories {
    pub(crate) values: ArrayRef,
    pub(crate) ordered: bool,
}

/// The key for the dictionary of a column, or of a field inside one.
pub(crate) fn key_of(path: &str) -> String {
    format!("{PREFIX}{path}")
}

/// The path of a dictionary, of a key that [`key_of`] has made; `None` for other keys.
pub(crate) fn path_of(key: &str) -> Option<&str> {
    key.strip_prefix(PREFIX)
}

impl Categories {
    /// The text that stands for them.
    pub(crate) fn to_text(&self) -> Result<String, String> {
        let text = |error: arrow_schema::ArrowError| error.to_string();
        let batch =
            RecordBatch::try_from_iter_with_nullable([("values", self.values.clone(), true)]);
        let batch = batch.map_err(text)?;
        let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(text)?;
        stream.write(&batch).map_err(text)?;
        let bytes = stream.into_inner().map_err(text)?;
        Ok(json!({ "ordered": self.ordered, "values": STANDARD.encode(bytes) }).to_string())
    }

    /// Reads the categories that a text stands for.
    ///
    /// # Errors
    /// The text is none of [`Categories::to_text`].
    pub(crate) fn parse(text: &str) -> Result<Categories, String> {
        let parsed: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let values = parsed["values"].as_str().ok_or("no values")?;
        let bytes = STANDARD.decode(values).map_err(|error| error.to_string())?;
        let n_bytes = bytes.len() as u64;
        let batch = guarded(|| ipc::IpcReader::new(Cursor::new(bytes), n_bytes)?.next_batch());
        let batch = batch
            .map_err(|error| error.to_string())?
            .ok_or("no batch")?;
        let values = batch.columns().first().ok_or("no column")?;
        Ok(Categories {
            values: values.clone(),
            ordered: parsed["ordered"] == true,
        })
    }
}
