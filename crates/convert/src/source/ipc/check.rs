//! Lengths that a message states, compared with the bytes that are there.

use arrow_ipc::{Block, Message, MessageHeader, RecordBatch};

use super::compressed::decompressed_max;
use super::metadata;

/// Mark and length before a block's metadata.
const PREFIX_BYTES: i32 = 8;

/// Whether a block lies before the footer.
pub(super) fn block(block: &Block, footer_start: u64) -> Result<(), String> {
    let parts = [
        block.offset(),
        block.metaDataLength().into(),
        block.bodyLength(),
    ];
    let parts = parts.map(|part| u64::try_from(part).ok());
    let end = parts
        .into_iter()
        .try_fold(0_u64, |sum, part| sum.checked_add(part?));
    if block.metaDataLength() < PREFIX_BYTES || end.is_none_or(|end| end > footer_start) {
        return Err(format!(
            "footer: a block at byte {}, of {} and {} bytes, is not within the file",
            block.offset(),
            block.metaDataLength(),
            block.bodyLength()
        ));
    }
    Ok(())
}

/// The end of a body of so many bytes, which lies before the end of the input.
pub(super) fn body(start: u64, n: i64, bytes: u64) -> Result<u64, String> {
    let end = u64::try_from(n).ok().and_then(|n| start.checked_add(n));
    end.filter(|end| *end <= bytes).ok_or_else(|| {
        let follow = bytes.saturating_sub(start);
        format!("states a body of {n} bytes, {follow} follow")
    })
}

/// The key under which Arrow 0.17 said how the buffers of a batch are compressed. Its buffers are not those of later
/// versions.
const COMPRESSION_OF_0_17: &str = "ARROW:experimental_compression";

/// A message without mark and length, all of whose lengths are those of its body.
///
/// # Errors
/// The message is no batch and no dictionary, or a length is not within a body of so many bytes.
pub(super) fn message(metadata: &[u8], body_bytes: u64) -> Result<Message<'_>, String> {
    let message = arrow_ipc::root_as_message_with_opts(&metadata::limits(metadata), metadata)
        .map_err(|error| metadata::text_of(&error))?;
    if let Some((key, codec)) = pairs(&message).find(|(key, _)| *key == COMPRESSION_OF_0_17) {
        return Err(format!(
            "compressed with {codec} as by Arrow 0.17 ({key}), which is not read; a later version of Arrow reads and \
             writes the file again"
        ));
    }
    match message.header_type() {
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch();
            record_batch(batch.ok_or("no batch")?, body_bytes)?;
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch();
            let values = dictionary.and_then(|dictionary| dictionary.data());
            record_batch(values.ok_or("a dictionary without values")?, body_bytes)?;
        }
        _ => return Err("neither a batch nor a dictionary".to_owned()),
    }
    Ok(message)
}

/// The metadata that belong to a message alone, as keys and values.
pub(super) fn pairs<'a>(message: &Message<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = message.custom_metadata().into_iter().flatten();
    pairs.map(|pair| {
        (
            pair.key().unwrap_or_default(),
            pair.value().unwrap_or_default(),
        )
    })
}

fn record_batch(batch: RecordBatch<'_>, body_bytes: u64) -> Result<(), String> {
    if batch.length() < 0 {
        return Err(format!("{} rows", batch.length()));
    }
    for (i, node) in batch.nodes().into_iter().flatten().enumerate() {
        if !(0..=node.length()).contains(&node.null_count()) {
            let (nulls, values) = (node.null_count(), node.length());
            return Err(format!("array {i}: {nulls} nulls of {values} values"));
        }
    }
    let n_buffers = batch.buffers().map_or(0, |buffers| buffers.len());
    let views = batch.variadicBufferCounts().into_iter().flatten();
    let mut of_views = views.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    if of_views.any(|n| n > n_buffers) {
        return Err(format!("views of more than all {n_buffers} buffers"));
    }
    for (i, buffer) in batch.buffers().into_iter().flatten().enumerate() {
        let (start, n) = (buffer.offset(), buffer.length());
        let start_and_n = u64::try_from(start).ok().zip(u64::try_from(n).ok());
        let end = start_and_n.and_then(|(start, n)| start.checked_add(n));
        if end.is_none_or(|end| end > body_bytes) {
            return Err(format!(
                "buffer {i}: {n} bytes at byte {start} of a body of {body_bytes} bytes"
            ));
        }
    }
    Ok(())
}

/// Compares what compressed buffers state with the most that their bytes can stand for.
///
/// # Errors
/// One states more, is no frame of the codec, or is there twice.
pub(super) fn compressed(batch: RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let Some(codec) = batch.compression().map(|compression| compression.codec()) else {
        return Ok(());
    };
    let mut compressed_bytes = 0;
    for (i, buffer) in batch.buffers().into_iter().flatten().enumerate() {
        let in_buffer = |what: String| format!("buffer {i}: {what}");
        let start_and_n = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok());
        let bytes = start_and_n
            .and_then(|(start, n)| body.get(start..)?.get(..n))
            .ok_or_else(|| in_buffer("cut off".to_owned()))?;
        if bytes.is_empty() {
            continue;
        }
        let (stated, bytes) = bytes
            .split_first_chunk()
            .ok_or_else(|| in_buffer("no length of what is compressed".to_owned()))?;
        let stated = i64::from_le_bytes(*stated);
        // A buffer of -1 is not compressed.
        if !(-1..=0).contains(&stated) {
            let most = decompressed_max(codec, bytes).map_err(in_buffer)?;
            if u64::try_from(stated).map_or(true, |stated| stated > most) {
                return Err(in_buffer(format!(
                    "states {stated} bytes, its {} compressed ones stand for at most {most}",
                    bytes.len()
                )));
            }
        }
        // The same bytes would be decompressed once for each buffer that has them.
        compressed_bytes += bytes.len();
        if compressed_bytes > body.len() {
            return Err("compressed buffers that overlap".to_owned());
        }
    }
    Ok(())
}
