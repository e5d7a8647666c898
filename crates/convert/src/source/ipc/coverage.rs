//! Messages that a footer does not list.
//!
//! Readers go by the footer, so that a batch it misses is lost without a word. So are the rows of the first of two
//! files that were put into one, since the footer at the end is that of the second.

use std::io::{Read, Seek};

use arrow_ipc::{Block, MessageHeader};

use super::input::{CONTINUATION, read_at};
use super::metadata;

/// Mark and padding at the start of a file.
const HEAD_BYTES: u64 = 8;

/// Padding before the first message, at most.
const HEAD_PADDING_MAX: u64 = 4 << 10;

/// Bytes that are compared with zero at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// The end of a file's messages, in the form of a message.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Whether all bytes before the footer are those of the schema, of blocks that the footer lists, or padding. The blocks
/// lie before the footer, which has so many bytes.
pub(super) fn check(
    input: &mut (impl Read + Seek),
    mut blocks: Vec<Block>,
    footer_start: u64,
    footer_bytes: u64,
) -> Result<(), String> {
    blocks.sort_by_key(Block::offset);
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut start = after_schema(input, footer_start)?;
    if start == HEAD_BYTES {
        let first = blocks
            .first()
            .map_or(footer_start, |block| number(block.offset()));
        if is_bare_schema(input, first, footer_bytes) {
            start = first;
        }
    }
    for block in &blocks {
        let block_start = number(block.offset());
        padding(input, start, block_start)?;
        let end = block_start + number(block.metaDataLength().into()) + number(block.bodyLength());
        start = start.max(end);
    }
    let end = footer_start.min(start + END.len() as u64);
    if end > start && *read_at(input, start, end - start)? == END {
        start = end;
    }
    padding(input, start, footer_start)
}

/// The byte behind the schema's message, which is the first. Writers align it as they please.
fn after_schema(input: &mut (impl Read + Seek), footer_start: u64) -> Result<u64, String> {
    let head = read_at(
        input,
        HEAD_BYTES,
        HEAD_PADDING_MAX.min(footer_start - HEAD_BYTES.min(footer_start)),
    )?;
    let words = head
        .chunks(8)
        .take_while(|word| word.iter().all(|byte| *byte == 0));
    let start = HEAD_BYTES + 8 * words.count() as u64;
    match message(input, start, footer_start) {
        Some((MessageHeader::Schema, end)) => Ok(end),
        _ => Ok(HEAD_BYTES),
    }
}

/// Whether the bytes up to the first block are a schema without mark and length, as polars 1.44 writes it. It has about
/// the bytes of the footer, which holds the schema, too.
fn is_bare_schema(input: &mut (impl Read + Seek), end: u64, footer_bytes: u64) -> bool {
    let Some(bytes) = end.checked_sub(HEAD_BYTES) else {
        return false;
    };
    if bytes > footer_bytes + HEAD_PADDING_MAX {
        return false;
    }
    let Ok(bytes) = read_at(input, HEAD_BYTES, bytes) else {
        return false;
    };
    // Behind the schema could be a message that the footer does not list.
    let marks = bytes
        .chunks(8)
        .enumerate()
        .filter(|(_, word)| word.starts_with(&CONTINUATION));
    for (i, _) in marks {
        if message(input, HEAD_BYTES + 8 * i as u64, end).is_some() {
            return false;
        }
    }
    let readable = metadata::readable(bytes.to_vec(), |options, bytes| {
        arrow_ipc::root_as_message_with_opts(options, bytes).map(drop)
    });
    let Ok(bytes) = readable else { return false };
    arrow_ipc::root_as_message_with_opts(&metadata::limits(&bytes), &bytes).is_ok_and(|message| {
        message.header_type() == MessageHeader::Schema && message.bodyLength() == 0
    })
}

/// The kind of a message that begins at this byte, and the byte behind it; `None` if there is none.
fn message(
    input: &mut (impl Read + Seek),
    start: u64,
    footer_start: u64,
) -> Option<(MessageHeader, u64)> {
    let left = footer_start.checked_sub(start)?;
    let head = read_at(input, start, left.min(8)).ok()?;
    let (length, prefix) = match head.get(..4)? == CONTINUATION {
        true => (head.get(4..8)?, 8),
        false => (head.get(..4)?, 4),
    };
    let length = u64::try_from(i32::from_le_bytes(length.try_into().ok()?)).ok()?;
    if length == 0 || length > left - prefix.min(left) {
        return None;
    }
    let bytes = read_at(input, start + prefix, length).ok()?;
    // Metadata that are no UTF-8 do not matter here.
    let readable = metadata::readable(bytes.to_vec(), |options, bytes| {
        arrow_ipc::root_as_message_with_opts(options, bytes).map(drop)
    });
    let bytes = readable.ok()?;
    let message = arrow_ipc::root_as_message_with_opts(&metadata::limits(&bytes), &bytes).ok()?;
    let body = u64::try_from(message.bodyLength()).ok()?;
    let end = (start + prefix + length).checked_add(body)?;
    Some((message.header_type(), end))
}

/// Whether bytes that no block has are zero.
fn padding(input: &mut (impl Read + Seek), start: u64, end: u64) -> Result<(), String> {
    let mut next = start;
    while next < end {
        let n = PIECE_BYTES.min(end - next);
        if read_at(input, next, n)?.iter().any(|byte| *byte != 0) {
            let what = match message(input, start, end) {
                Some((MessageHeader::RecordBatch, _)) => "a batch",
                Some((MessageHeader::DictionaryBatch, _)) => "a dictionary",
                _ => "something",
            };
            return Err(format!(
                "byte {start}: {what} of {} bytes that the footer does not list",
                end - start
            ));
        }
        next += n;
    }
    Ok(())
}
