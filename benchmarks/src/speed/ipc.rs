//! The table as every process reads it: an Arrow IPC file, mapped, so that all formats write the same memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{Block, root_as_footer};
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
    let bytes = |block: &Block| -> Result<Buffer> {
        let offset = usize::try_from(block.offset())?;
        let len = usize::try_from(block.bodyLength())? + usize::try_from(block.metaDataLength())?;
        ensure!(offset + len <= buffer.len(), "a block is outside the file");
        Ok(buffer.slice_with_length(offset, len))
    };
    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &bytes(block)?)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().context("no batches")? {
        let data = bytes(block)?;
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
    use std::sync::Arc;

    use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};

    use super::*;

    fn comes_back(batches: &[RecordBatch]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.arrow");
        let schema = batches[0].schema();
        let rows = write(&path, &schema, batches.iter().cloned().map(Ok)).unwrap();
        assert_eq!(
            rows,
            batches.iter().map(RecordBatch::num_rows).sum::<usize>()
        );
        let (read_schema, read_batches) = read(&path).unwrap();
        assert_eq!(read_schema, schema);
        assert_eq!(read_batches, batches);
    }

    #[test]
    fn tables_come_back_from_the_mapping() {
        let batches: Vec<_> = super::super::generate::mixed(70_000)
            .collect::<Result<_>>()
            .unwrap();
        comes_back(&batches);
    }

    #[test]
    fn dictionaries_come_back_too() {
        let values: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc"]));
        let batch = |keys: Vec<Option<i32>>| {
            let array = DictionaryArray::new(Int32Array::from(keys), values.clone());
            RecordBatch::try_from_iter_with_nullable([("a", Arc::new(array) as ArrayRef, true)])
        };
        let keys = [vec![Some(0), None, Some(1)], vec![Some(1)]];
        comes_back(&keys.map(|keys| batch(keys).unwrap()));
    }
}
