//! Messages, whose lengths are checked, to Arrow.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{DictionaryBatch, MetadataVersion};
use arrow_schema::SchemaRef;

use crate::guarded::arrow_text;

/// Decodes batches, and keeps the dictionaries for them. Each message says its own version, by which unions are laid
/// out; footers may say another.
pub(super) struct Decoder {
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Decoder {
    pub(super) fn new(schema: SchemaRef) -> Decoder {
        Decoder {
            schema,
            dictionaries: HashMap::new(),
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Keeps a dictionary for later batches.
    pub(super) fn keep(
        &mut self,
        dictionary: DictionaryBatch<'_>,
        body: &Buffer,
        version: MetadataVersion,
    ) -> Result<(), String> {
        let kept = &mut self.dictionaries;
        read_dictionary(body, dictionary, &self.schema, kept, &version).map_err(arrow_text)
    }

    /// Decodes a batch that has columns of this schema, some or all of those of the file.
    pub(super) fn batch(
        &self,
        schema: &SchemaRef,
        batch: arrow_ipc::RecordBatch<'_>,
        body: &Buffer,
        version: MetadataVersion,
    ) -> Result<RecordBatch, String> {
        let kept = &self.dictionaries;
        read_record_batch(body, batch, schema.clone(), kept, None, &version).map_err(arrow_text)
    }
}
