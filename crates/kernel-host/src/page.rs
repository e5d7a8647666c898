//! Pages: what the kernel is asked, and what its answers are checked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarsia_codec::{OwnedValues, ValueType};
use tarsia_kernel_guest::abi::{self, RequestWriter, SharedEntry, tag};
use tarsia_structure::DecodedRows;

use crate::error::{Error, Result};
use crate::instance::{BatchPlace, Instance};
use crate::kernel::Kernel;

/// A batch aims at this many bytes: it stays in the second-level cache until it is copied out. Smaller ones pay more calls: with
/// 32 KiB of both this and the next, the median table of the benchmark took 2.46 times the native time, with 64 KiB 2.31, so 2.15.
const BATCH_BYTES_TARGET: u64 = 512 << 10;

/// Blocks of one request hold at most this many bytes together (one block may hold more).
const REQUEST_BYTES_TARGET: usize = 1024 << 10;

/// The rows wanted of some blocks laid end to end.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// All of them.
    All,
    /// A run.
    Range {
        /// The first row.
        start: u32,
        /// How many.
        len: u32,
    },
    /// These, rising; repeats allowed.
    Indices(&'a [u32]),
}

/// A page description that a kernel can decode.
#[derive(Debug)]
pub struct KernelPage {
    kernel: Arc<Kernel>,
    meta: Box<[u8]>,
    shared: Box<[Arc<OwnedValues>]>,
    /// Its name in the instances' lists of prepared pages; never used again in this process.
    number: u64,
}

impl KernelPage {
    /// *check*: whether the kernel decodes pages with this description.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Malformed`], [`Error::Failed`].
    pub fn new(kernel: Arc<Kernel>, meta: &[u8], shared: &[Arc<OwnedValues>]) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut instance = kernel.take()?;
        let checked = instance.check(meta);
        kernel.give(instance);
        let needed = 1 << tag::INPUT | 1 << tag::ROWS | 1 << tag::META | 1 << tag::BATCH_ROWS;
        if checked?.tags & needed != needed {
            return Err(Error::Unsupported("a tag that every kernel has".into()));
        }
        Ok(Self {
            kernel,
            meta: meta.into(),
            shared: shared.into(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// Decodes rows of blocks, and hands them out batch by batch, in order. Each of `blocks` is the place of one block, in row
    /// order; rows count from the first block's first row. The batches lie in the kernel's memory. Their lengths fit their rows, and
    /// what offsets and bits say was checked too. Returns the number of rows.
    ///
    /// # Errors
    /// What the kernel refuses or fails at, and what `use_batch` returns.
    pub fn decode(
        &self,
        value_type: ValueType,
        blocks: &[&[u8]],
        rows: Rows<'_>,
        output_bytes_max: u64,
        use_batch: &mut dyn FnMut(DecodedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<usize> {
        let mut instance = self.kernel.take()?;
        let done = self.decode_in(
            &mut instance,
            value_type,
            blocks,
            rows,
            output_bytes_max,
            use_batch,
        );
        self.kernel.give(instance);
        done
    }

    /// Most bytes of blocks that one call should be given: more do not stay in the cache.
    pub fn request_bytes_target() -> usize {
        REQUEST_BYTES_TARGET
    }

    fn decode_in(
        &self,
        instance: &mut Instance,
        value_type: ValueType,
        blocks: &[&[u8]],
        rows: Rows<'_>,
        output_bytes_max: u64,
        use_batch: &mut dyn FnMut(DecodedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<usize> {
        let prepared = self.prepare(instance)?;
        let addresses = instance.write_inputs(blocks)?;
        let mut request = RequestWriter::default();
        request.word(tag::PREPARED, prepared as u32);
        for (block, address) in blocks.iter().zip(addresses) {
            let len = u32::try_from(block.len());
            let len = len.map_err(|_| Error::Limit("a block of more than 4 GiB".into()))?;
            request.input(address, len, 0);
        }
        request.wide(tag::LIMITS, output_bytes_max);
        let per_row = match value_type {
            ValueType::Bits => 1,
            ValueType::Fixed(width) => u64::from(width).max(1),
            ValueType::Bytes => 16,
        };
        let batch_rows = (BATCH_BYTES_TARGET / per_row).max(64);
        request.word(tag::BATCH_ROWS, batch_rows.min(u32::MAX.into()) as u32);
        let too_long = || Error::Limit("more than 2^30 rows in one request".into());
        match rows {
            Rows::All => {}
            Rows::Range { start, len } => {
                let (start, len) = (start.to_le_bytes(), len.to_le_bytes());
                if !request.entry(tag::ROW_RANGES, &[&start, &len]) {
                    return Err(too_long());
                }
            }
            Rows::Indices(indices) => {
                let bytes: Vec<u8> = indices.iter().flat_map(|row| row.to_le_bytes()).collect();
                if !request.entry(tag::SELECTION, &[&bytes]) {
                    return Err(too_long());
                }
            }
        }
        let handle = instance.init(request.bytes())?;
        let done = self.batches(instance, value_type, handle, use_batch);
        // After a trap there is nothing to close.
        if !instance.failed() {
            instance.close(handle)?;
        }
        done
    }

    fn batches(
        &self,
        instance: &mut Instance,
        value_type: ValueType,
        handle: i32,
        use_batch: &mut dyn FnMut(DecodedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<usize> {
        let mut n_rows = 0;
        while let Some(place) = instance.decode(handle)? {
            let used = view(instance, &place, value_type).and_then(|batch| {
                n_rows += batch.rows;
                Ok(use_batch(batch)?)
            });
            instance.release(&place)?;
            used?;
        }
        Ok(n_rows)
    }

    /// The handle of this page in an instance.
    fn prepare(&self, instance: &mut Instance) -> Result<i32> {
        if let Some(handle) = instance.prepared(self.number) {
            return Ok(handle);
        }
        let mut request = RequestWriter::default();
        let too_long = || Error::Limit("a page description of more than 4 GiB".into());
        if !request.entry(tag::META, &[&self.meta]) {
            return Err(too_long());
        }
        let offsets: Vec<Vec<u8>> = self
            .shared
            .iter()
            .map(|shared| offsets_of(shared))
            .collect();
        let parts: Vec<&[u8]> = self
            .shared
            .iter()
            .zip(&offsets)
            .flat_map(|(shared, offsets)| [values_of(shared), offsets])
            .collect();
        let addresses = instance.write_inputs(&parts)?;
        for ((shared, addresses), parts) in self
            .shared
            .iter()
            .zip(addresses.as_chunks::<2>().0)
            .zip(parts.as_chunks::<2>().0)
        {
            let (kind, width) = match &**shared {
                OwnedValues::Bits { .. } => (1, 0),
                OwnedValues::Fixed { width, .. } => (2, *width as u32),
                OwnedValues::Bytes { .. } => (3, 0),
            };
            // The input region holds them, so their lengths fit 32 bits.
            request.shared(&SharedEntry {
                kind,
                width,
                values: (addresses[0], parts[0].len() as u32),
                offsets: (addresses[1], parts[1].len() as u32),
                len: shared.len() as u64,
            });
        }
        let handle = instance.init(request.bytes())?;
        instance.keep_prepared(self.number, handle)?;
        Ok(handle)
    }
}

fn values_of(shared: &OwnedValues) -> &[u8] {
    match shared {
        OwnedValues::Bits { bytes, .. } | OwnedValues::Fixed { bytes, .. } => bytes,
        OwnedValues::Bytes { data, .. } => data,
    }
}

fn offsets_of(shared: &OwnedValues) -> Vec<u8> {
    match shared {
        OwnedValues::Bytes { offsets, .. } => {
            offsets.iter().flat_map(|end| end.to_le_bytes()).collect()
        }
        _ => Vec::new(),
    }
}

/// The batch's buffers, where they fit its rows and the type.
fn view<'a>(
    instance: &'a Instance,
    place: &BatchPlace,
    value_type: ValueType,
) -> Result<DecodedRows<'a>> {
    let broken = |what: &str| Error::Failed(format!("a batch with {what}"));
    let description = &place.description;
    let [node] = description.nodes.as_slice() else {
        return Err(broken("more than one array"));
    };
    let rows = usize::try_from(node.length).map_err(|_| broken("too many rows"))?;
    if node.length != description.rows || node.layout != abi::LAYOUT_PLAIN || rows == 0 {
        return Err(broken("other rows or another layout than its description"));
    }
    let buffers = description
        .buffers
        .iter()
        .map(|(address, len)| instance.read(*address, *len))
        .collect::<Result<Vec<_>>>()?;
    let (validity, offsets, values) = match (value_type, buffers.as_slice()) {
        (ValueType::Bytes, [validity, offsets, values]) => (*validity, *offsets, *values),
        (ValueType::Bits | ValueType::Fixed(_), [validity, values]) => {
            (*validity, &[][..], *values)
        }
        _ => return Err(broken("buffers of another type")),
    };
    let values_bytes = match value_type {
        ValueType::Bits => Some(rows.div_ceil(8)),
        ValueType::Fixed(width) => rows.checked_mul(width as usize),
        ValueType::Bytes => Some(values.len()),
    };
    let validity_fits = validity.is_empty() || validity.len() == rows.div_ceil(8);
    if !validity_fits || values_bytes != Some(values.len()) {
        return Err(broken("buffers that do not fit its rows"));
    }
    if value_type == ValueType::Bytes && !offsets_fit(offsets, rows, values.len()) {
        return Err(broken("offsets that do not fit its values"));
    }
    Ok(DecodedRows {
        rows,
        validity,
        offsets,
        values,
    })
}

/// Whether `rows + 1` offsets rise from 0 to `end`.
fn offsets_fit(offsets: &[u8], rows: usize, end: usize) -> bool {
    let (words, rest) = offsets.as_chunks::<4>();
    let word = |word: &[u8; 4]| u32::from_le_bytes(*word);
    let rising = words
        .iter()
        .zip(words.iter().skip(1))
        .fold(true, |rising, (a, b)| rising & (word(a) <= word(b)));
    rest.is_empty()
        && words.len() == rows + 1
        && words.first().map(word) == Some(0)
        && words.last().map(word) == u32::try_from(end).ok()
        && rising
}
