//! The table as every process reads it: an Arrow IPC file, mapped, so that all formats write the same memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::root_as_footer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Schema, SchemaRef};

/// Bytes after the footer: its length and the magic.
const TRAILER_BYTES: usize = 10;

/// Writes batches one by one, so that a table need not fit into memory twice. Returns the number of rows.
pub(super) fn write(
    path: &Path,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<usize> {
    let mut writer = FileWriter::try_new(BufWriter::new(File::create(path)?), schema)?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    ensure!(rows > 0, "no rows");
    Ok(rows)
}

/// The schema, and the batches, whose buffers are parts of the mapping.
pub(super) fn read(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let buffer = Buffer::from(crate::peers::mapped(path)?);
    let trailer_start = buffer
        .len()
        .checked_sub(TRAILER_BYTES)
        .context("no trailer")?;
    let footer_bytes = read_footer_length(buffer[trailer_start..].try_into()?)?;
    let footer_start = trailer_start
        .checked_sub(footer_bytes)
        .context("no footer")?;
    let footer = root_as_footer(&buffer[footer_start..trailer_start])
        .map_err(|error| anyhow::anyhow!("footer: {error}"))?;
    let schema = SchemaRef::new(fb_to_schema(footer.schema().context("no schema")?));
    let decoder = FileDecoder::new(schema.clone(), footer.version());
    let mut batches = Vec::new();
    for block in footer.recordBatches().context("no batches")? {
        let offset = usize::try_from(block.offset())?;
        let len = usize::try_from(block.bodyLength())? + usize::try_from(block.metaDataLength())?;
        ensure!(offset + len <= buffer.len(), "a batch is outside the file");
        let data = buffer.slice_with_length(offset, len);
        batches.push(
            decoder
                .read_record_batch(block, &data)?
                .context("an empty block")?,
        );
    }
    ensure!(!batches.is_empty(), "no batches");
    Ok((schema, batches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back_from_the_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.arrow");
        let batches: Vec<_> = super::super::generate::mixed(70_000)
            .collect::<Result<_>>()
            .unwrap();
        let schema = batches[0].schema();
        let rows = write(&path, &schema, batches.iter().cloned().map(Ok)).unwrap();
        assert_eq!(rows, 70_000);
        let (read_schema, read_batches) = read(&path).unwrap();
        assert_eq!(read_schema, schema);
        assert_eq!(read_batches, batches);
    }
}
