//! Shared pages: dictionaries and other buffers that pages of a column refer to. They are decoded whole and kept.

use std::sync::Arc;

use tarsia_codec::{AlignedBuf, Scratch};
use tarsia_structure::{BlockHeader, RawColumn};

use super::column_read::Decoding;
use super::memory::Memory;
use super::parts::PageRun;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::Plan;
use crate::table::{Column, Page};

/// Most bytes a shared buffer may decode to: what writers keep to, with room.
const SHARED_BYTES_MAX: u64 = 64 << 20;

/// A shared page whose blocks were fetched, and whose own shared buffers are kept already.
pub(crate) struct SharedRead<'a, B> {
    pub(crate) column: &'a Column,
    pub(crate) page: &'a Page,
    pub(crate) plan: &'a Plan,
    pub(crate) blocks: &'a [B],
}

/// Decodes a shared page and keeps its values with it.
pub(crate) fn decode_shared<B: AsRef<[u8]>>(
    decoding: Decoding<'_>,
    read: &SharedRead<'_, B>,
) -> Result<()> {
    let page = read.page;
    let meta = page.description.meta()?;
    let flat = meta.layers.is_empty() && meta.levels.is_empty();
    let (Some(value_type), true) = (meta.value_type, flat) else {
        let what = "a shared page with nulls or levels";
        return Err(Error::new(ErrorKind::Corrupt, what));
    };
    let decoder = decoding.make_decoder(read.column, page)?;
    let rows = page.descriptor.rows as usize;
    let data_bytes = decoded_bytes(read.blocks)?;
    if data_bytes > SHARED_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("a shared page of {data_bytes} bytes"),
        ));
    }
    let mut take = AlignedBuf::zeroed;
    let mut raw =
        RawColumn::new(value_type, rows, data_bytes as usize, &mut take).map_err(while_reading)?;
    let run = PageRun {
        page,
        plan: read.plan,
        parts: &read.plan.parts,
        blocks: read.blocks,
        checks: decoding.checks(),
    };
    let mut memory = Memory {
        scratch: &mut Scratch::new(),
        take: &mut take,
    };
    decoder.decode(&run, &mut raw, &mut memory)?;
    let values = raw.finish().into_values(value_type);
    // What was decoded must fit together, since decoders index into it.
    values.as_values().map_err(while_reading)?;
    decoding.source.count_kept(values.memory_bytes() as u64);
    page.kept.set(Arc::new(values));
    Ok(())
}

fn decoded_bytes(blocks: &[impl AsRef<[u8]>]) -> Result<u64> {
    let mut total = 0;
    for block in blocks {
        let header = BlockHeader::of_whole(block.as_ref()).map_err(while_reading)?;
        total += u64::from(header.decoded_bytes);
    }
    Ok(total)
}
