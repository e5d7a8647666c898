//! Arrow IPC, files and streams, to Arrow.
//!
//! The readers of `arrow-ipc` take memory by lengths that a file states, so one changed byte can end the process. Here
//! every length is compared with the bytes that are there before `arrow-ipc` decodes a message: of footers, blocks and
//! messages with the file's length, of buffers with their message, and of decompressed buffers with the most that their
//! compressed bytes can stand for. Large batches are decoded some of their rows at a time ([`parts`]).

mod check;
mod compressed;
mod coverage;
mod decoder;
mod input;
mod metadata;
mod parts;

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, convert};
use arrow_schema::SchemaRef;

use crate::guarded::arrow_text;
use crate::{Error, Note};
use decoder::Decoder;
use input::{CONTINUATION, read_at};
use parts::{Parts, Sizes};

const MAGIC: [u8; 6] = *b"ARROW1";

/// Length and mark at the end of a file.
const TAIL_BYTES: u64 = 10;

/// Reads the batches of a file or of a stream.
pub(crate) struct IpcReader<R> {
    input: R,
    /// Bytes of the input.
    bytes: u64,
    decoder: Decoder,
    messages: Messages,
    /// A batch whose rows come before the next message, and the first byte of its message.
    parts: Option<(u64, Parts)>,
    sizes: Sizes,
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
    pub(crate) fn new(input: R, bytes: u64) -> Result<IpcReader<R>, Error> {
        Self::with_sizes(input, bytes, Sizes::default())
    }

    /// # Errors
    /// Those of [`IpcReader::new`].
    fn with_sizes(mut input: R, bytes: u64, sizes: Sizes) -> Result<IpcReader<R>, Error> {
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
            true => Self::of_file(input, bytes, sizes),
            false => Self::of_stream(input, bytes, sizes),
        }
    }

    fn of_file(mut input: R, bytes: u64, sizes: Sizes) -> Result<IpcReader<R>, Error> {
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
        coverage::check(&mut input, listed.collect(), footer_start, footer_bytes)?;
        let dictionaries: Vec<Block> = dictionaries.copied().collect();
        let blocks: Vec<Block> = blocks.iter().copied().collect();
        let mut reader = IpcReader {
            input,
            bytes,
            decoder: Decoder::new(schema),
            messages: Messages::Blocks(blocks.into_iter()),
            parts: None,
            sizes: Sizes::WHOLE,
            left_out,
        };
        for block in dictionaries {
            let message = Message::of_block(&mut reader.input, &block)?;
            reader.decode(&message)?;
        }
        reader.sizes = sizes;
        Ok(reader)
    }

    fn of_stream(mut input: R, bytes: u64, sizes: Sizes) -> Result<IpcReader<R>, Error> {
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
        let keys = check::pairs(&message).map(|(key, _)| key.to_owned());
        left_out.of_messages.extend(keys);
        Ok(IpcReader {
            input,
            bytes,
            decoder: Decoder::new(convert_schema(schema)?),
            messages: Messages::Stream(next),
            parts: None,
            sizes,
            left_out,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.decoder.schema().clone()
    }

    /// Returns notes of what was left out so far.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.left_out.notes()
    }

    /// # Errors
    /// A message is bad; the text says at which byte it begins.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some((start, parts)) = &mut self.parts {
                let part = parts.next(&mut self.input, &self.decoder);
                match part.map_err(|what| at_message(*start, &what))? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.parts = None,
                }
            }
            let message = match &mut self.messages {
                Messages::Blocks(blocks) => {
                    let Some(block) = blocks.next() else {
                        return Ok(None);
                    };
                    Message::of_block(&mut self.input, &block)?
                }
                Messages::Stream(next) => {
                    let start = *next;
                    let read = Message::of_stream(&mut self.input, self.bytes, next)?;
                    let Some(message) = read else {
                        self.left_out.has_no_end = start == self.bytes;
                        return Ok(None);
                    };
                    message
                }
            };
            if let Some(batch) = self.decode(&message)? {
                return Ok(Some(batch));
            }
        }
    }

    /// Decodes a message. A dictionary is kept for later batches, and a large batch for its parts.
    fn decode(&mut self, message: &Message) -> Result<Option<RecordBatch>, String> {
        let at = |what: String| at_message(message.start, &what);
        let checked = check::message(&message.metadata, message.body_bytes).map_err(at)?;
        let keys = check::pairs(&checked).map(|(key, _)| key.to_owned());
        self.left_out.of_messages.extend(keys);
        let version = checked.version();
        if let Some(dictionary) = checked.header_as_dictionary_batch() {
            let body = message.read_body(&mut self.input)?;
            let values = dictionary
                .data()
                .ok_or("no values".to_owned())
                .map_err(at)?;
            check::compressed(values, &body).map_err(at)?;
            self.decoder.keep(dictionary, &body, version).map_err(at)?;
            return Ok(None);
        }
        let batch = checked.header_as_record_batch();
        let batch = batch.ok_or("no batch".to_owned()).map_err(at)?;
        let place = parts::Place {
            batch,
            version,
            body_start: message.body_start,
            body_bytes: message.body_bytes,
        };
        let parts = Parts::new(&mut self.input, &self.decoder, &place, self.sizes).map_err(at)?;
        if let Some(parts) = parts {
            self.parts = Some((message.start, parts));
            return Ok(None);
        }
        let body = message.read_body(&mut self.input)?;
        check::compressed(batch, &body).map_err(at)?;
        let batch = self
            .decoder
            .batch(self.decoder.schema(), batch, &body, version);
        batch.map(Some).map_err(at)
    }
}

fn at_message(start: u64, what: &str) -> String {
    format!("message at byte {start}: {what}")
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

fn convert_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, String> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err("the bytes of numbers are in the order of another machine (big-endian)".into());
    }
    if schema.fields().is_none() {
        return Err("a schema without a list of fields".into());
    }
    Ok(Arc::new(convert::fb_to_schema(schema)))
}

/// A message whose body has not been read.
struct Message {
    /// Its first byte in the input.
    start: u64,
    /// Without mark and length.
    metadata: Buffer,
    body_start: u64,
    body_bytes: u64,
}

impl Message {
    /// The message of a block that [`check::block`] passed.
    fn of_block(input: &mut (impl Read + Seek), block: &Block) -> Result<Message, String> {
        let number = |n: i64| u64::try_from(n).unwrap_or(0);
        let start = number(block.offset());
        let metadata_bytes = number(block.metaDataLength().into());
        let metadata = read_at(input, start, metadata_bytes)?;
        let prefix_bytes = if metadata.starts_with(&CONTINUATION) {
            8
        } else {
            4
        };
        if metadata.len() < prefix_bytes {
            return Err(at_message(start, "cut off"));
        }
        Ok(Message {
            start,
            metadata: metadata.slice(prefix_bytes),
            body_start: start + metadata_bytes,
            body_bytes: number(block.bodyLength()),
        })
    }

    /// The message of a stream at byte `next`, and moves `next` behind it. `None` at the end.
    fn of_stream(
        input: &mut (impl Read + Seek),
        bytes: u64,
        next: &mut u64,
    ) -> Result<Option<Message>, String> {
        let start = *next;
        let at = |what: String| at_message(start, &what);
        input
            .seek(SeekFrom::Start(start))
            .map_err(|error| at(error.to_string()))?;
        let Some(metadata) = read_stream_metadata(input, bytes, next)? else {
            return Ok(None);
        };
        let body_start = *next;
        let body = message_of(&metadata).map_err(at)?.bodyLength();
        *next = check::body(body_start, body, bytes).map_err(at)?;
        Ok(Some(Message {
            start,
            metadata: metadata.into(),
            body_start,
            body_bytes: *next - body_start,
        }))
    }

    fn read_body(&self, input: &mut (impl Read + Seek)) -> Result<Buffer, String> {
        read_at(input, self.body_start, self.body_bytes)
    }
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
