//! Arrow IPC, files and streams, to Arrow.
//!
//! The readers of `arrow-ipc` take memory by lengths that a file states, so one changed byte can end the process. Here
//! every length is compared with the bytes that are there before `arrow-ipc` decodes a message: of footers, blocks and
//! messages with the file's length, of buffers with their message, and of decompressed buffers with the most that their
//! compressed bytes can stand for.

mod check;
mod compressed;
mod coverage;
mod input;
mod metadata;

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, MetadataVersion, convert};
use arrow_schema::SchemaRef;

use crate::guarded::arrow_text;
use crate::{Error, Note};
use input::{CONTINUATION, read_at};

const MAGIC: [u8; 6] = *b"ARROW1";

/// Length and mark at the end of a file.
const TAIL_BYTES: u64 = 10;

/// Reads the batches of a file or of a stream.
pub(crate) struct IpcReader<R> {
    input: R,
    /// Bytes of the input.
    bytes: u64,
    schema: SchemaRef,
    decoder: FileDecoder,
    messages: Messages,
    left_out: LeftOut,
}

/// Metadata that have no place in a table's schema.
#[derive(Default)]
struct LeftOut {
    /// Keys that are there twice, of the schema or of a field.
    twice: BTreeSet<String>,
    /// Whether the stream ends with the file and without the mark that streams end with.
    has_no_end: bool,
    /// Keys of single messages.
    of_messages: BTreeSet<String>,
    /// Keys of the footer for which the schema has other values.
    of_footer: Vec<String>,
}

impl LeftOut {
    fn notes(&self) -> Vec<Note> {
        let quoted = |keys: &mut dyn Iterator<Item = &String>| {
            keys.map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut notes = Vec::new();
        if self.has_no_end {
            notes.push(Note::new(
                "the stream has no mark of its end, so batches may be missing".to_owned(),
            ));
        }
        for key in &self.twice {
            notes.push(Note::new(format!(
                "the metadata key `{key}` is there twice; the last value counts"
            )));
        }
        if !self.of_messages.is_empty() {
            let keys = quoted(&mut self.of_messages.iter());
            notes.push(Note::new(format!(
                "metadata of single batches are left out: {keys}"
            )));
        }
        if !self.of_footer.is_empty() {
            let keys = quoted(&mut self.of_footer.iter());
            notes.push(Note::new(format!(
                "metadata of the footer are left out, since the schema has other values: {keys}"
            )));
        }
        notes
    }
}

/// Where the next message is.
enum Messages {
    /// In blocks that the footer lists.
    Blocks(std::vec::IntoIter<Block>),
    /// Behind the last one, at this byte.
    Stream(u64),
}

impl<R: Read + Seek> IpcReader<R> {
    /// # Errors
    /// The input is no Arrow IPC, or its schema or dictionaries are bad.
    pub(crate) fn new(mut input: R, bytes: u64) -> Result<IpcReader<R>, Error> {
        let mut magic = Vec::new();
        let text = |error: std::io::Error| error.to_string();
        Read::take(&mut input, 6)
            .read_to_end(&mut magic)
            .map_err(text)?;
        input.seek(SeekFrom::Start(0)).map_err(text)?;
        if magic.starts_with(b"FEA1") {
            return Err(
                "Feather version 1 is not read; write it as version 2, which is Arrow IPC".into(),
            );
        }
        match magic == MAGIC {
            true => Self::of_file(input, bytes),
            false => Self::of_stream(input, bytes),
        }
    }

    fn of_file(mut input: R, bytes: u64) -> Result<IpcReader<R>, Error> {
        let cut = || "the file is shorter than its footer".to_owned();
        let tail_start = bytes.checked_sub(TAIL_BYTES).ok_or_else(cut)?;
        let tail = read_at(&mut input, tail_start, TAIL_BYTES)?;
        let tail = tail.as_slice().try_into().map_err(|_| cut())?;
        let footer_bytes = read_footer_length(tail).map_err(arrow_text)? as u64;
        let footer_start = tail_start.checked_sub(footer_bytes).ok_or_else(cut)?;
        let footer = read_at(&mut input, footer_start, footer_bytes)?;
        let footer = metadata::readable(footer.to_vec(), |options, bytes| {
            arrow_ipc::root_as_footer_with_opts(options, bytes).map(drop)
        })
        .map_err(|what| format!("footer: {what}"))?;
        let footer = arrow_ipc::root_as_footer_with_opts(&metadata::limits(&footer), &footer)
            .map_err(|error| error.to_string())?;
        let schema = footer.schema().ok_or("footer: no schema")?;
        let mut left_out = LeftOut {
            twice: metadata::keys_twice(schema),
            ..LeftOut::default()
        };
        let mut schema = convert_schema(schema)?;
        for pair in footer.custom_metadata().into_iter().flatten() {
            let key = pair.key().unwrap_or_default();
            let value = pair.value().unwrap_or_default();
            match schema.metadata().get(key) {
                None => {
                    let metadata = &mut Arc::make_mut(&mut schema).metadata;
                    metadata.insert(key.to_owned(), value.to_owned());
                }
                Some(other) if other == value => {}
                Some(_) => left_out.of_footer.push(key.to_owned()),
            }
        }
        let blocks = footer.recordBatches().ok_or("footer: no list of batches")?;
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let all = blocks.iter().chain(dictionaries.clone());
        for block in all {
            check::block(block, footer_start)?;
        }
        let listed = blocks.iter().chain(dictionaries.clone()).copied();
        coverage::check(&mut input, listed.collect(), footer_start)?;
        let mut decoder = new_decoder(&schema);
        for block in dictionaries {
            let message = read_block(&mut input, block)?;
            decode(&mut decoder, block, &message, &mut left_out)?;
        }
        let blocks: Vec<Block> = blocks.iter().copied().collect();
        Ok(IpcReader {
            input,
            bytes,
            schema,
            decoder,
            messages: Messages::Blocks(blocks.into_iter()),
            left_out,
        })
    }

    fn of_stream(mut input: R, bytes: u64) -> Result<IpcReader<R>, Error> {
        let mut next = 0;
        let at = "message at byte 0";
        let metadata = read_stream_metadata(&mut input, bytes, &mut next)?;
        let metadata = metadata.ok_or("an empty stream")?;
        let message = readable_message(metadata).map_err(|what| format!("{at}: {what}"))?;
        let message = message_of(&message).map_err(|what| format!("{at}: {what}"))?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| format!("{at}: no schema"))?;
        next = check::body(next, message.bodyLength(), bytes)
            .map_err(|what| format!("{at}: {what}"))?;
        input
            .seek(SeekFrom::Start(next))
            .map_err(|error| error.to_string())?;
        let mut left_out = LeftOut {
            twice: metadata::keys_twice(schema),
            ..LeftOut::default()
        };
        let schema = convert_schema(schema)?;
        let decoder = new_decoder(&schema);
        let pairs = message.custom_metadata().into_iter().flatten();
        let keys = pairs.map(|pair| pair.key().unwrap_or_default().to_owned());
        left_out.of_messages.extend(keys);
        Ok(IpcReader {
            input,
            bytes,
            schema,
            decoder,
            messages: Messages::Stream(next),
            left_out,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns notes of what was left out so far.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.left_out.notes()
    }

    /// # Errors
    /// A message is bad; the text says at which byte it begins.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            let block;
            let message;
            match &mut self.messages {
                Messages::Blocks(blocks) => {
                    let Some(next) = blocks.next() else {
                        return Ok(None);
                    };
                    message = read_block(&mut self.input, &next)?;
                    block = next;
                }
                Messages::Stream(next) => {
                    let start = *next;
                    let Some(read) = read_stream_message(&mut self.input, self.bytes, next)? else {
                        self.left_out.has_no_end = start == self.bytes;
                        return Ok(None);
                    };
                    let metadata_bytes = i32::try_from(read.metadata_bytes)
                        .map_err(|_| format!("message at byte {start}: too long"))?;
                    let body = read.bytes.len() - read.metadata_bytes;
                    block = Block::new(start as i64, metadata_bytes, body as i64);
                    message = read.bytes;
                }
            }
            let decoded = decode(&mut self.decoder, &block, &message, &mut self.left_out);
            if let Some(batch) = decoded? {
                return Ok(Some(batch));
            }
        }
    }
}

/// A message, such as that of a schema in Parquet, with metadata that are UTF-8.
pub(super) fn readable_message(message: Vec<u8>) -> Result<Vec<u8>, String> {
    metadata::readable(message, |options, bytes| {
        arrow_ipc::root_as_message_with_opts(options, bytes).map(drop)
    })
}

/// The root of a message.
pub(super) fn message_of(message: &[u8]) -> Result<arrow_ipc::Message<'_>, String> {
    arrow_ipc::root_as_message_with_opts(&metadata::limits(message), message)
        .map_err(|error| metadata::text_of(&error))
}

/// Decodes a message that is at hand; a dictionary is kept for later batches.
fn decode(
    decoder: &mut FileDecoder,
    block: &Block,
    message: &Buffer,
    left_out: &mut LeftOut,
) -> Result<Option<RecordBatch>, String> {
    let at = |what: String| format!("message at byte {}: {what}", block.offset());
    let metadata_bytes = usize::try_from(block.metaDataLength()).unwrap_or(usize::MAX);
    let (metadata, body) = message
        .split_at_checked(metadata_bytes)
        .ok_or_else(|| at("cut off".to_owned()))?;
    let checked = check::message(metadata, body).map_err(at)?;
    left_out.of_messages.extend(checked.keys);
    match checked.kind {
        MessageHeader::DictionaryBatch => {
            let kept = decoder.read_dictionary(block, message);
            kept.map_err(arrow_text).map_err(at)?;
            Ok(None)
        }
        _ => {
            let batch = decoder.read_record_batch(block, message);
            batch.map_err(arrow_text).map_err(at)
        }
    }
}

/// A decoder of messages of every version: each says its own, by which unions are laid out. Footers may say another.
fn new_decoder(schema: &SchemaRef) -> FileDecoder {
    // The decoder takes this version for unknown, and asks the messages.
    FileDecoder::new(schema.clone(), MetadataVersion::V1)
}

fn convert_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, String> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err("the bytes of numbers are in the order of another machine (big-endian)".into());
    }
    if schema.fields().is_none() {
        return Err("a schema without a list of fields".into());
    }
    Ok(Arc::new(convert::fb_to_schema(schema)))
}

/// A block that [`check::block`] passed.
fn read_block(input: &mut (impl Read + Seek), block: &Block) -> Result<Buffer, String> {
    let metadata = u64::try_from(block.metaDataLength()).unwrap_or(0);
    let body = u64::try_from(block.bodyLength()).unwrap_or(0);
    let start = u64::try_from(block.offset()).unwrap_or(0);
    read_at(input, start, metadata + body)
}

/// A message of a stream in the form that blocks of files have.
struct StreamMessage {
    /// Mark, length, metadata, body.
    bytes: Buffer,
    /// Up to the body.
    metadata_bytes: usize,
}

/// The message at byte `next`, at which the input is, and moves `next` behind it.
fn read_stream_message(
    input: &mut (impl Read + Seek),
    bytes: u64,
    next: &mut u64,
) -> Result<Option<StreamMessage>, String> {
    let start = *next;
    let at = |what: String| format!("message at byte {start}: {what}");
    let Some(metadata) = read_stream_metadata(input, bytes, next)? else {
        return Ok(None);
    };
    let body_start = *next;
    let body = arrow_ipc::root_as_message_with_opts(&metadata::limits(&metadata), &metadata)
        .map_err(|error| at(metadata::text_of(&error)))?
        .bodyLength();
    *next = check::body(body_start, body, bytes).map_err(at)?;
    let body_bytes = usize::try_from(*next - body_start).map_err(|error| at(error.to_string()))?;
    // Old streams have no mark before the length, with which the body would be misaligned.
    let metadata_bytes = 8 + metadata.len();
    let mut message = MutableBuffer::from_len_zeroed(metadata_bytes + body_bytes);
    let (head, rest) = message.split_at_mut(8);
    head[..4].copy_from_slice(&CONTINUATION);
    head[4..].copy_from_slice(&(metadata.len() as u32).to_le_bytes());
    let (to, rest) = rest.split_at_mut(metadata.len());
    to.copy_from_slice(&metadata);
    input
        .read_exact(rest)
        .map_err(|error| at(error.to_string()))?;
    Ok(Some(StreamMessage {
        bytes: message.into(),
        metadata_bytes,
    }))
}

/// The metadata of the message at byte `next`, at which the input is, and moves `next` to its body. `None` at the end.
fn read_stream_metadata(
    input: &mut impl Read,
    bytes: u64,
    next: &mut u64,
) -> Result<Option<Vec<u8>>, String> {
    let start = *next;
    let at = |what: String| format!("message at byte {start}: {what}");
    if start == bytes {
        return Ok(None);
    }
    let mut word = [0; 4];
    let mut read_word = || -> Result<[u8; 4], String> {
        *next += 4;
        let read = input.read_exact(&mut word);
        read.map_err(|_| at("cut off".to_owned()))?;
        Ok(word)
    };
    let mut length = read_word()?;
    if length == CONTINUATION {
        length = read_word()?;
    }
    let length = i32::from_le_bytes(length);
    if length == 0 {
        return match *next < bytes {
            true => Err(format!(
                "byte {next}: more follows the end of the stream; a file holds one stream"
            )),
            false => Ok(None),
        };
    }
    let wrong = || {
        at(format!(
            "states {length} bytes of metadata, more than follow"
        ))
    };
    let n = u64::try_from(length).map_err(|_| wrong())?;
    if n > bytes.saturating_sub(*next) {
        return Err(wrong());
    }
    let mut metadata = Vec::new();
    Read::take(&mut *input, n)
        .read_to_end(&mut metadata)
        .map_err(|error| at(error.to_string()))?;
    if metadata.len() as u64 != n {
        return Err(wrong());
    }
    *next += n;
    Ok(Some(metadata))
}
