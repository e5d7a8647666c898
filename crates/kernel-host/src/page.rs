//! Pages: requests to the kernel, and checks of its answers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarsia_codec::{OwnedValues, ValueType};
use tarsia_kernel_guest::abi::{self, ArrayNode, RequestWriter, SharedEntry, tag};
use tarsia_structure::{Cut, DecodedForm, DecodedRows, DecodedSlots};

use crate::error::{Error, Result};
use crate::instance::{BatchPlace, Instance};
use crate::kernel::Kernel;

/// A batch aims at this many bytes: it stays in the second-level cache until it is copied out.
const BATCH_BYTES_TARGET: u64 = 512 << 10;

/// The blocks of one request have at most this many bytes together (one block alone may have more), so that they stay
/// in the cache until they are decoded. The median table of the benchmark took 1.46 times the native time with this
/// value, 1.47 times with 128 KiB and 1.52 times with 256 KiB.
const REQUEST_BYTES_TARGET: usize = 64 << 10;

/// The rows wanted. They are counted over all blocks of a call, from the first row of the first block.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// All rows.
    All {
        /// Their number.
        len: usize,
    },
    /// Consecutive rows.
    Range {
        /// The first row.
        start: u32,
        /// Their number.
        len: u32,
    },
    /// These rows, in rising order; repeats are allowed.
    Indices(&'a [u32]),
}

impl Rows<'_> {
    /// The number of rows wanted.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::All { len } => *len,
            Self::Range { len, .. } => *len as usize,
            Self::Indices(indices) => indices.len(),
        }
    }
}

/// Rows of a nested page, in a kernel's memory.
#[derive(Debug)]
pub struct NestedRows<'a> {
    /// Number of rows.
    pub rows: usize,
    /// The levels above the items, outermost first.
    pub levels: &'a [DecodedSlots<'a>],
    /// The items.
    pub items: DecodedRows<'a>,
}

/// A page description that a kernel can decode.
#[derive(Debug)]
pub struct KernelPage {
    pub(crate) kernel: Arc<Kernel>,
    meta: Box<[u8]>,
    shared: Box<[Arc<OwnedValues>]>,
    /// True if the kernel can decode several requests into one batch.
    pub(crate) makes_whole: bool,
    /// True if the kernel can decode only some items of a list.
    cuts: bool,
    /// Its name in the instances' lists of prepared pages; never used again in this process.
    pub(crate) number: u64,
}

impl KernelPage {
    /// Asks the kernel whether it decodes pages with this description (*check*).
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Malformed`], [`Error::Failed`].
    pub fn new(kernel: Arc<Kernel>, meta: &[u8], shared: &[Arc<OwnedValues>]) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut instance = kernel.take(None, usize::MAX)?;
        let checked = instance.check(meta);
        kernel.give(instance);
        let needed = 1 << tag::INPUT | 1 << tag::ROWS | 1 << tag::META | 1 << tag::BATCH_ROWS;
        let tags = checked?.tags;
        if tags & needed != needed {
            return Err(Error::Unsupported("a tag that every kernel has".into()));
        }
        let whole = 1 << tag::WHOLE | 1 << tag::MORE;
        Ok(Self {
            kernel,
            meta: meta.into(),
            shared: shared.into(),
            makes_whole: tags & whole == whole,
            cuts: tags & 1 << tag::CUTS != 0,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// Decodes rows of `blocks`, which are in row order, and gives them to `use_batch` batch by batch, in order. Rows
    /// are counted from the first row of the first block. A batch is in the kernel's
    /// memory and valid during the call of `use_batch`. Lengths of buffers, offsets and bits were checked. Returns
    /// the number of rows that were decoded: as many as were wanted, unless the kernel is wrong.
    ///
    /// # Errors
    /// Errors of the kernel and of `use_batch`.
    pub fn decode(
        &self,
        value_type: ValueType,
        blocks: &[&[u8]],
        rows: Rows<'_>,
        output_bytes_max: u64,
        use_batch: &mut dyn FnMut(DecodedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<usize> {
        let per_row = match value_type {
            ValueType::Bits => 1,
            ValueType::Fixed(width) => u64::from(width).max(1),
            ValueType::Bytes => 16,
        };
        let batch_rows = (BATCH_BYTES_TARGET / per_row).max(64);
        let more = |request: &mut RequestWriter| {
            request.wide(tag::LIMITS, output_bytes_max);
            request.word(tag::BATCH_ROWS, batch_rows.min(u32::MAX.into()) as u32);
            Ok(())
        };
        self.read(blocks, rows, &more, &mut |instance, place| {
            let places = Places::of(instance, place, value_type)?;
            use_batch(places.view(instance, value_type)?)?;
            Ok(places.rows)
        })
    }

    /// Decodes a nested page to batches of levels and items. Each cut names a level of lists by its number; of those
    /// lists only the items of the cut are decoded. Of levels, only the lengths of the buffers were checked.
    ///
    /// # Errors
    /// As [`KernelPage::decode`].
    pub fn decode_nested(
        &self,
        value_type: ValueType,
        blocks: &[&[u8]],
        rows: Rows<'_>,
        cuts: &[(usize, Cut)],
        output_bytes_max: u64,
        use_batch: &mut dyn FnMut(NestedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<usize> {
        let more = |request: &mut RequestWriter| {
            request.wide(tag::LIMITS, output_bytes_max);
            request.word(tag::BATCH_ROWS, u32::MAX);
            self.write_cuts(request, cuts)
        };
        self.read(blocks, rows, &more, &mut |instance, place| {
            let (levels, items) = nested_places(instance, place, value_type)?;
            let rows = rows_of(&place.description)?;
            use_batch(NestedRows {
                rows,
                levels: &levels,
                items: items.view(instance, value_type)?,
            })?;
            Ok(rows)
        })
    }

    fn write_cuts(&self, request: &mut RequestWriter, cuts: &[(usize, Cut)]) -> Result<()> {
        if cuts.is_empty() {
            return Ok(());
        }
        if !self.cuts {
            return Err(Error::Unsupported("elements of lists".into()));
        }
        let words = cuts.iter().flat_map(|(level, cut)| {
            // A schema has few levels.
            [*level as u32, cut.start, cut.end].map(u32::to_le_bytes)
        });
        let bytes: Vec<u8> = words.flatten().collect();
        match request.entry(tag::CUTS, &[&bytes]) {
            true => Ok(()),
            false => Err(Error::Limit("cuts of more than 4 GiB".into())),
        }
    }

    /// Most bytes of blocks that one call should get; more do not stay in the cache.
    pub fn request_bytes_target() -> usize {
        REQUEST_BYTES_TARGET
    }

    /// Makes a reader for rows of blocks and decodes its batches until there are enough rows. `ask_more` adds entries
    /// to the request; `use_batch` returns the rows of a batch. Returns the rows of all batches.
    fn read(
        &self,
        blocks: &[&[u8]],
        rows: Rows<'_>,
        ask_more: &dyn Fn(&mut RequestWriter) -> Result<()>,
        use_batch: &mut dyn FnMut(&Instance, &BatchPlace) -> Result<usize>,
    ) -> Result<usize> {
        let mut instance = self.kernel.take(Some(self.number), usize::MAX)?;
        let mut read = |instance: &mut Instance| {
            let mut request = self.request(instance, blocks, rows)?;
            ask_more(&mut request)?;
            let handle = instance.init(request)?;
            let done = batches(instance, handle, rows.n_rows(), use_batch);
            // After a trap there is nothing to close.
            if !instance.failed() {
                instance.close(handle)?;
            }
            done
        };
        let done = read(&mut instance);
        self.kernel.give(instance);
        done
    }

    /// Copies the blocks into the instance and makes the request for their rows.
    pub(crate) fn request(
        &self,
        instance: &mut Instance,
        blocks: &[&[u8]],
        rows: Rows<'_>,
    ) -> Result<RequestWriter> {
        let prepared = self.prepare(instance)?;
        let mut request = std::mem::take(&mut instance.writer);
        request.clear();
        request.word(tag::PREPARED, prepared as u32);
        instance.write_inputs(blocks, |block, address| {
            // The input region holds it, so its length fits 32 bits.
            request.input(address, block.len() as u32, 0);
        })?;
        let too_long = || Error::Limit("more than 2^30 rows in one request".into());
        match rows {
            Rows::All { .. } => {}
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
        Ok(request)
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
        let mut addresses = Vec::with_capacity(parts.len());
        instance.write_inputs(&parts, |_, address| addresses.push(address))?;
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
        let handle = instance.init(request)?;
        instance.keep_prepared(self.number, handle)?;
        Ok(handle)
    }
}

/// Decodes batches until there are enough rows.
fn batches(
    instance: &mut Instance,
    handle: i32,
    n_wanted: usize,
    use_batch: &mut dyn FnMut(&Instance, &BatchPlace) -> Result<usize>,
) -> Result<usize> {
    let mut n_rows = 0;
    while n_rows < n_wanted
        && let Some(place) = instance.decode(handle)?
    {
        let used = use_batch(instance, &place);
        instance.release(&place)?;
        n_rows += used?;
    }
    Ok(n_rows)
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

/// Where the buffers of a batch are. They are inside the memory and have the lengths that rows and type need.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) rows: usize,
    pub(crate) validity: Range<usize>,
    pub(crate) offsets: Range<usize>,
    pub(crate) values: Range<usize>,
}

impl Places {
    /// Checks the description of a batch; offsets are checked by [`Places::view`].
    pub(crate) fn of(
        instance: &Instance,
        batch: &BatchPlace,
        value_type: ValueType,
    ) -> Result<Self> {
        let description = &batch.description;
        let [node] = description.nodes.as_slice() else {
            return Err(broken("more than one array"));
        };
        if node.length != description.rows || node.length == 0 {
            return Err(broken("other rows than its description"));
        }
        Self::of_items(instance, description, node, value_type)
    }

    /// Describes one array that is not a level.
    fn of_items(
        instance: &Instance,
        description: &abi::BatchDescription,
        node: &ArrayNode,
        value_type: ValueType,
    ) -> Result<Self> {
        let rows = usize::try_from(node.length).map_err(|_| broken("too many rows"))?;
        if node.layout != abi::LAYOUT_PLAIN || node.n_children != 0 {
            return Err(broken("another layout than its type"));
        }
        let place = |(address, len): &(u64, u64)| instance.range(*address, *len);
        let (validity, offsets, values) = match (value_type, buffers_of(description, node)) {
            (ValueType::Bytes, [validity, offsets, values]) => {
                (place(validity)?, place(offsets)?, place(values)?)
            }
            (ValueType::Bits | ValueType::Fixed(_), [validity, values]) => {
                (place(validity)?, 0..0, place(values)?)
            }
            _ => return Err(broken("buffers of another type")),
        };
        let values_bytes = match value_type {
            ValueType::Bits => Some(rows.div_ceil(8)),
            ValueType::Fixed(width) => rows.checked_mul(width as usize),
            ValueType::Bytes => Some(values.len()),
        };
        let validity_fits = validity.is_empty() || validity.len() == rows.div_ceil(8);
        let offsets_bytes = match value_type {
            ValueType::Bytes => rows.checked_add(1).and_then(|n| n.checked_mul(4)),
            _ => Some(0),
        };
        if !validity_fits
            || offsets_bytes != Some(offsets.len())
            || values_bytes != Some(values.len())
        {
            return Err(broken("buffers that do not fit its rows"));
        }
        Ok(Self {
            rows,
            validity,
            offsets,
            values,
        })
    }

    /// The buffers. Offsets of byte strings are checked.
    pub(crate) fn view<'a>(
        &self,
        instance: &'a Instance,
        value_type: ValueType,
    ) -> Result<DecodedRows<'a>> {
        let bytes = |range: &Range<usize>| instance.bytes(range);
        let (offsets, values) = (bytes(&self.offsets), bytes(&self.values));
        if value_type == ValueType::Bytes && !offsets_fit(offsets, self.rows, values.len()) {
            let what = "a batch with offsets that do not fit its values";
            return Err(Error::Failed(what.into()));
        }
        Ok(DecodedRows {
            rows: self.rows,
            validity: bytes(&self.validity),
            offsets,
            values,
        })
    }
}

fn broken(what: &str) -> Error {
    Error::Failed(format!("a batch with {what}"))
}

fn buffers_of<'a>(description: &'a abi::BatchDescription, node: &ArrayNode) -> &'a [(u64, u64)] {
    let from = description.buffers.get(node.first_buffer as usize..);
    let buffers = from.and_then(|buffers| buffers.get(..node.n_buffers.into()));
    buffers.unwrap_or_default()
}

/// The rows of a batch, one at least.
fn rows_of(description: &abi::BatchDescription) -> Result<usize> {
    match usize::try_from(description.rows) {
        Ok(rows @ 1..) => Ok(rows),
        _ => Err(broken("no rows, or too many")),
    }
}

/// The levels of a batch of nested rows, and the places of its items.
fn nested_places<'a>(
    instance: &'a Instance,
    batch: &BatchPlace,
    value_type: ValueType,
) -> Result<(Vec<DecodedSlots<'a>>, Places)> {
    let description = &batch.description;
    let Some((leaf, above)) = description.nodes.split_last() else {
        return Err(broken("no array"));
    };
    let mut levels = Vec::with_capacity(above.len());
    for node in above {
        let n_slots = usize::try_from(node.length).map_err(|_| broken("too many slots"))?;
        let bytes = match buffers_of(description, node) {
            [] => &[],
            [(address, len)] => instance.read(*address, *len)?,
            _ => return Err(broken("too many buffers for a level")),
        };
        let form = match (node.layout, bytes.as_chunks::<4>()) {
            (abi::LAYOUT_VALIDITY, _) if [0, n_slots.div_ceil(8)].contains(&bytes.len()) => {
                DecodedForm::Validity(bytes)
            }
            (abi::LAYOUT_ENDS, (ends, [])) => DecodedForm::Ends(ends),
            (abi::LAYOUT_CONSTANT_LENGTH, _) if bytes.is_empty() => DecodedForm::ConstantLength,
            _ => return Err(broken("a level that does not fit its slots")),
        };
        if node.n_children != 1 {
            return Err(broken("a level with other than one array below"));
        }
        levels.push(DecodedSlots { n_slots, form });
    }
    let items = Places::of_items(instance, description, leaf, value_type)?;
    Ok((levels, items))
}

/// True if the `rows + 1` offsets start at 0, never fall and end at `end`.
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
