//! Messages that are made of pieces of others.

use std::io::{Read, Seek};

use arrow_array::RecordBatch;
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer};
use arrow_ipc::{FieldNode, MetadataVersion, RecordBatchBuilder};
use arrow_schema::SchemaRef;
use flatbuffers::FlatBufferBuilder;

use crate::source::ipc::decoder::Decoder;
use crate::source::ipc::input::read_into;

/// Alignment of buffers, so that the decoder need not copy them.
const ALIGNMENT: usize = 64;

/// A record batch: what its metadata say, and its body.
#[derive(Default)]
pub(super) struct Message {
    nodes: Vec<FieldNode>,
    buffers: Vec<arrow_ipc::Buffer>,
    variadic_counts: Vec<i64>,
    body: MutableBuffer,
}

impl Message {
    /// An empty one, with memory for so many buffers, and their bytes in all.
    pub(super) fn with_capacity(buffers: usize, bytes: u64) -> Message {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let padding = buffers.saturating_mul(ALIGNMENT);
        Message {
            body: MutableBuffer::with_capacity(bytes.saturating_add(padding)),
            ..Message::default()
        }
    }

    /// Appends the length of an array, and how many of its items are null.
    pub(super) fn push_node(&mut self, length: usize, nulls: usize) {
        // Lengths of parts are at most those of the message, which are of this type.
        self.nodes.push(FieldNode::new(length as i64, nulls as i64));
    }

    /// Appends how many buffers of data an array of views has.
    pub(super) fn push_variadic_count(&mut self, n: i64) {
        self.variadic_counts.push(n);
    }

    /// Appends a buffer of bits, or an empty one.
    pub(super) fn push_bits(&mut self, bits: Option<&BooleanBuffer>) {
        let bytes = bits.map(BooleanBuffer::sliced);
        let bytes = bytes.as_deref().unwrap_or_default();
        self.push_buffer(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends a buffer of bytes of the input.
    pub(super) fn read_buffer(
        &mut self,
        input: &mut (impl Read + Seek),
        start: u64,
        bytes: u64,
    ) -> Result<&mut [u8], String> {
        let n = usize::try_from(bytes).map_err(|_| format!("byte {start}: {bytes} bytes"))?;
        let to = self.push_buffer(n);
        read_into(input, start, to)?;
        Ok(to)
    }

    /// Appends a buffer of zeros, and returns it.
    pub(super) fn push_buffer(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.body.len().next_multiple_of(ALIGNMENT);
        let buffer = arrow_ipc::Buffer::new(start as i64, bytes as i64);
        self.buffers.push(buffer);
        self.body.resize(start + bytes, 0);
        &mut self.body[start..]
    }

    /// Decodes the message, which has columns of this schema.
    ///
    /// # Errors
    /// Those of the decoder.
    pub(super) fn decode(
        self,
        decoder: &Decoder,
        schema: &SchemaRef,
        rows: usize,
        version: MetadataVersion,
    ) -> Result<RecordBatch, String> {
        let mut fb = FlatBufferBuilder::new();
        let nodes = fb.create_vector(&self.nodes);
        let buffers = fb.create_vector(&self.buffers);
        let variadic_counts = fb.create_vector(&self.variadic_counts);
        let mut batch = RecordBatchBuilder::new(&mut fb);
        batch.add_length(rows as i64);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        batch.add_variadicBufferCounts(variadic_counts);
        let root = batch.finish();
        fb.finish(root, None);
        let batch = flatbuffers::root::<arrow_ipc::RecordBatch<'_>>(fb.finished_data())
            .map_err(|error| error.to_string())?;
        let body: Buffer = self.body.into();
        decoder.batch(schema, batch, &body, version)
    }
}
