//! Cutting a page into blocks and encoding them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    BitSlice, Block, BytesSlice, Error, Facts, FixedSlice, LogicalType, OwnedValues, PageEncoder,
    Registry, Result, RowStarts, SharedBuffers, SharedKind, Statistics, Tree, TreeWriter,
    ValueType, Values, limits,
};

use crate::full_zip::ZipInput;
use crate::shape::{Shape, ShapeSlice, length_values};
use tarsia_structure::block::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, BlockHeader, CHUNKED_BYTES_MIN,
    LAYER_ALL_NULL, LAYER_ALL_VALID, LAYER_CONSTANT, ROW_EXPANSION_MAX,
};
use tarsia_structure::levels::{SECTION_HEADER_BYTES, items_bytes, slots_bytes};
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta};

/// A block's payload is at most this long (validity may add 1 KiB), unless it is one row or the fewest rows a block may have.
pub const BLOCK_PAYLOAD_BYTES_TARGET: usize = limits::UNIT_BYTES_TARGET;

/// Validity may come on top of that where rows per block are uniform: else 4,096 nullable values of 16 bits would need two blocks, and
/// their headers would show in the size.
const LAYER_BYTES_ALLOWED: usize = 1024;

/// Fixed-width values of up to 8 bytes have at least this many rows in a block.
pub const BLOCK_ROWS_MIN: usize = 1024;

const BLOCK_ROWS_MAX: usize = limits::BLOCK_VALUES_MAX as usize;

/// Values of null items are dropped where more than one item in this many is null. Below it, filler costs less than the
/// second pass that spreads values to their slots.
const COMPACT_NULLS_ONE_IN: usize = 8;

/// What [`Choose::full_zip_bytes_min`] is unless the policy says otherwise. Source: the Lance paper, section 4.3.
pub const FULL_ZIP_BYTES_MIN: u32 = 128;

/// Memory set aside for a page before its bytes are known is at most this.
const CAPACITY_BYTES_MAX: u64 = 16 << 20;

/// A run of rows of one column, as the writer collected them.
#[derive(Debug, Clone, Copy)]
pub struct PageInput<'a> {
    /// What stands above the items; `None` in flat columns, where an item is a row.
    pub shape: Option<ShapeSlice<'a>>,
    /// One bit per item, 1 for valid; `None` where all are.
    pub validity: Option<BitSlice<'a>>,
    /// One value per item; what stands under null items does not matter.
    pub values: Values<'a>,
    /// What the values mean.
    pub logical_type: LogicalType,
    /// What shared buffer the values are, if they are one; then the page is of mini-blocks.
    pub shared: Option<SharedKind>,
}

impl<'a> PageInput<'a> {
    /// A flat column without nulls, of which nothing else is known.
    pub fn of_values(values: Values<'a>) -> Self {
        Self {
            shape: None,
            validity: None,
            values,
            logical_type: LogicalType::Unknown,
            shared: None,
        }
    }
}

/// How a page's values are to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Best first; the last holds any values of the type.
    pub trees: Vec<Tree>,
    /// Bytes that all values are expected to take under the first tree, shared buffers not counted: for cutting blocks.
    pub bytes: u64,
    /// Whether values take about equally many bits, so that blocks can have equally many rows.
    pub uniform: bool,
}

/// Chooses trees; the policy lives above this crate.
pub trait Choose {
    /// Trees for values: those of a page, filler and nulls already dealt with, or the validity or the lengths of a
    /// level ([`LogicalType`] says which). The shared buffers of all trees together are numbered from 0 on.
    ///
    /// # Errors
    /// What encodings refuse.
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice>;

    /// Values of a row that take at least so many bytes are stored row by row, where nothing is gained by encoding them together.
    fn full_zip_bytes_min(&self) -> u32 {
        FULL_ZIP_BYTES_MIN
    }
}

/// What encoding needs besides values.
#[derive(Clone, Copy)]
pub struct EncodeContext<'a> {
    /// Encoders by id.
    pub registry: &'a Registry,
    /// The policy.
    pub chooser: &'a dyn Choose,
    /// CRC-32C.
    pub checksum: fn(&[u8]) -> u32,
}

/// Rows of the blocks of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockRows {
    /// `1 << log2` in each but the last.
    Uniform(u8),
    /// So many in each.
    Table(Vec<u32>),
}

/// A page ready to be written.
#[derive(Debug, Clone)]
pub struct EncodedPage {
    /// All blocks, 8-aligned to the page's start.
    pub bytes: Vec<u8>,
    /// Start of each block in `bytes`.
    pub starts: Vec<u64>,
    /// Rows of each block.
    pub block_rows: BlockRows,
    /// Rows of the page.
    pub rows: u64,
    /// Null items.
    pub null_count: u64,
    /// How to decode it.
    pub meta: Meta,
    /// What the shared buffers that `meta` lists hold, in the order of their numbers; they are stored as pages of their
    /// own.
    pub shared: Vec<Arc<OwnedValues>>,
}

impl EncodedPage {
    /// The bytes of block `i`, padding included.
    pub fn block(&self, i: usize) -> &[u8] {
        let start = self.starts.get(i).copied().unwrap_or_default() as usize;
        let end = match self.starts.get(i + 1) {
            Some(end) => *end as usize,
            None => self.bytes.len(),
        };
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// Encodes a run of rows as one page.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where validity and values differ in length or a row is too large; what encoders refuse.
pub fn encode_page(input: PageInput<'_>, context: &EncodeContext<'_>) -> Result<EncodedPage> {
    let n_items = input.values.len();
    if input.validity.is_some_and(|bits| bits.len() != n_items) {
        return Err(Error::invalid("validity and values differ in length"));
    }
    let rows = match input.shape {
        None => n_items,
        Some(shape) if shape.n_items() == n_items => shape.rows(),
        Some(_) => return Err(Error::invalid("levels and values differ in length")),
    };
    let validity = input.validity.filter(|bits| bits.count_ones() < n_items);
    let null_count = validity.map_or(0, |bits| n_items - bits.count_ones());
    let mut known_choice = None;
    let mut zip = ZipInput {
        shape: input.shape,
        validity,
        values: input.values,
    };
    let refilled;
    if input.shared.is_none() && zip.are_long(context) {
        if let Some(bits) = validity.filter(|bits| !is_filled(input.values, *bits)) {
            refilled = filled(input.values, bits, BLOCK_ROWS_MIN);
            zip.values = refilled.as_values()?;
        }
        // What stands under nulls does not count.
        if zip.are_long(context) {
            let choice = context
                .chooser
                .choose(&input.statistics(zip.values, None))?;
            if let Some(page) = zip.encode_strings(&choice, context)? {
                return Ok(page);
            }
            known_choice = Some(choice);
        }
    }
    // Nulls cost a byte string an entry in its block's index, dropped or not, so this comes after it.
    let compact = null_count * COMPACT_NULLS_ONE_IN > n_items;
    let cleaned = match validity {
        None => None,
        Some(bits) if compact => Some(compacted(input.values, bits, n_items - null_count)?),
        Some(bits) if is_filled(input.values, bits) => None,
        Some(bits) => Some(filled(input.values, bits, BLOCK_ROWS_MIN)),
    };
    let values = match &cleaned {
        Some(cleaned) => cleaned.as_values()?,
        None => input.values,
    };
    let row_starts = PageRows {
        shape: input.shape,
        validity: validity.filter(|_| compact),
    };
    let statistics = input.statistics(values, input.shape.map(|_| &row_starts as &dyn RowStarts));
    let choice = match known_choice.filter(|_| !compact) {
        Some(choice) => choice,
        None => context.chooser.choose(&statistics)?,
    };
    if let (Some(_), false) = (input.shape, compact) {
        let zip = ZipInput {
            shape: input.shape,
            validity,
            values,
        };
        if let Some(page) = zip.encode(&choice, context)? {
            return Ok(page);
        }
    }
    let mut prepared = Prepared::default();
    let mut levels = vec![];
    let mut nested = None;
    if let Some(shape) = input.shape {
        let of_levels = Nested::new(shape, context, &mut prepared)?;
        levels = of_levels
            .levels
            .iter()
            .map(|(level, _)| level.clone())
            .collect();
        nested = Some(of_levels);
    }
    let mut layers = vec![];
    let mut validity_encoder = None;
    if let Some(bits) = validity {
        let (trees, encoder) = prepared.bits(bits, context)?;
        layers.push(Layer {
            kind: LayerKind::ItemValidity,
            trees,
        });
        validity_encoder = Some((bits, encoder));
    }
    let (trees, encoders) = prepared.page(&choice, &statistics, context)?;
    let shared = prepared.shared.to_vec()?;
    let mut encoder = Encoder {
        nested,
        values,
        validity: validity_encoder,
        compact,
        trees: encoders,
        checksum: context.checksum,
        bytes: Vec::with_capacity(expected_bytes(values, &choice)),
        starts: Vec::new(),
    };
    let lists_differ = levels
        .iter()
        .any(|level| matches!(level, Level::Lengths(_)));
    let block_rows = match (&encoder.nested, choice.uniform && !lists_differ) {
        (_, true) => encoder.cut_uniform(rows, n_items, null_count, &choice)?,
        (None, false) => encoder.cut_by_size(rows)?,
        (Some(_), false) => encoder.cut_nested(rows, &choice)?,
    };
    let value_type = Some(values.value_type());
    Ok(EncodedPage {
        bytes: encoder.bytes,
        starts: encoder.starts,
        block_rows,
        rows: rows as u64,
        null_count: null_count as u64,
        meta: Meta {
            layout: Layout::MiniBlock,
            value_type,
            compact,
            levels,
            layers,
            trees,
            shared: shared.iter().map(|(spec, _)| *spec).collect(),
        },
        shared: shared.into_iter().map(|(_, values)| values).collect(),
    })
}

impl PageInput<'_> {
    /// Of these values, which are the input's with nulls dealt with.
    fn statistics<'s>(
        &self,
        values: Values<'s>,
        rows: Option<&'s dyn RowStarts>,
    ) -> Statistics<'s> {
        let facts = Facts {
            logical_type: self.logical_type,
            all_distinct: self.shared == Some(SharedKind::Dictionary),
            shared: self.shared,
            rows,
        };
        Statistics::new(values, facts)
    }
}

/// Where the rows of a nested page begin among its values.
struct PageRows<'a> {
    shape: Option<ShapeSlice<'a>>,
    /// Where values of null items are dropped: which are there.
    validity: Option<BitSlice<'a>>,
}

impl RowStarts for PageRows<'_> {
    fn row_starts(&self) -> Vec<u32> {
        let Some(shape) = self.shape else {
            return Vec::new();
        };
        let (mut item, mut value) = (0, 0);
        let mut starts = vec![0];
        for row in 0..shape.rows() {
            let end = shape.items(row..row + 1).end;
            value += match self.validity {
                None => end - item,
                Some(bits) => bits.slice(item..end).count_ones(),
            };
            item = end;
            // A page's values are counted in 32 bits.
            starts.push(value as u32);
        }
        starts
    }
}

/// Memory to set aside: growing would copy what is there, and what is not used is never touched.
fn expected_bytes(values: Values<'_>, choice: &Choice) -> usize {
    let bytes = match values {
        Values::Bytes(strings) if !choice.uniform => u64::from(strings.data_bytes()),
        _ => choice.bytes,
    };
    (bytes + bytes / 16).min(CAPACITY_BYTES_MAX) as usize
}

/// One for each tree.
type Encoders = Vec<Box<dyn PageEncoder>>;

/// Encoders of a page that were prepared so far, and the shared buffers they made.
#[derive(Default)]
struct Prepared {
    shared: SharedBuffers,
    n_shared: u8,
}

impl Prepared {
    /// Trees and encoders for the values of `choice`.
    fn page(
        &mut self,
        choice: &Choice,
        values: &Statistics<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Encoders)> {
        let mut trees = choice.trees.clone();
        let mut encoders = Vec::with_capacity(trees.len());
        let (first, value_type) = (self.n_shared, values.values().value_type());
        for tree in &mut trees {
            // All trees of a choice are numbered together, and may refer to the same buffers.
            self.n_shared = self.n_shared.max(tree.shift_shared(first)?);
            let writer = TreeWriter::new(context.registry, tree, value_type)?;
            encoders.push(writer.prepare(values.values(), &mut self.shared, Some(values))?);
        }
        match trees.is_empty() {
            false => Ok((trees, encoders)),
            true => Err(Error::invalid("the chooser names no tree")),
        }
    }

    /// The same for validity: only the first tree is written with.
    fn bits(
        &mut self,
        bits: BitSlice<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Box<dyn PageEncoder>)> {
        let values = Statistics::new(Values::Bits(bits), Facts::of(LogicalType::Validity));
        let choice = context.chooser.choose(&values)?;
        let (trees, encoders) = self.page(&choice, &values, context)?;
        let first = encoders.into_iter().next();
        let first = first.ok_or_else(|| Error::invalid("the chooser names no tree"))?;
        Ok((trees, first))
    }
}

/// Values copied because nulls or erased rows had to be dealt with.
pub(crate) enum Cleaned {
    Bits(Vec<u8>, usize),
    Fixed(Vec<u8>, usize, usize),
    Bytes(Vec<u32>, Vec<u8>),
}

impl Cleaned {
    pub(crate) fn as_values(&self) -> Result<Values<'_>> {
        Ok(match self {
            Self::Bits(bytes, len) => Values::Bits(BitSlice::new(bytes, 0, *len)?),
            Self::Fixed(bytes, width, len) => Values::Fixed(FixedSlice::new(bytes, *width, *len)?),
            Self::Bytes(offsets, data) => Values::Bytes(BytesSlice::new(offsets, data)?),
        })
    }
}

/// The values of valid rows only.
pub(crate) fn compacted(
    values: Values<'_>,
    validity: BitSlice<'_>,
    n_valid: usize,
) -> Result<Cleaned> {
    let valid = (0..validity.len()).filter(|i| validity.get(*i));
    Ok(match values {
        Values::Bits(bits) => {
            let mut out = vec![0; n_valid.div_ceil(8)];
            for (to, from) in valid.enumerate() {
                out[to / 8] |= u8::from(bits.get(from)) << (to % 8);
            }
            Cleaned::Bits(out, n_valid)
        }
        Values::Fixed(fixed) => {
            let mut out = vec![0; n_valid * fixed.width()];
            tarsia_bits::compact(
                validity.bytes(),
                validity.offset(),
                validity.len(),
                fixed.width(),
                fixed.bytes(),
                &mut out,
            )
            .map_err(|_| Error::invalid("validity and values differ in length"))?;
            Cleaned::Fixed(out, fixed.width(), n_valid)
        }
        Values::Bytes(strings) => {
            let mut offsets = Vec::with_capacity(n_valid + 1);
            offsets.push(0);
            if is_filled(values, validity) {
                let first = strings.offsets().first().copied().unwrap_or_default();
                let ends = strings.offsets().get(1..).unwrap_or_default();
                offsets.extend(valid.filter_map(|i| ends.get(i)).map(|end| end - first));
                return Ok(Cleaned::Bytes(offsets, strings.value_data().to_vec()));
            }
            let mut data = Vec::new();
            for i in valid {
                data.extend_from_slice(strings.get(i));
                // The input's offsets are u32, so a subset's are too.
                offsets.push(data.len() as u32);
            }
            Cleaned::Bytes(offsets, data)
        }
    })
}

/// Whether nothing stands under nulls: strings that were collected from arrays are empty there.
fn is_filled(values: Values<'_>, validity: BitSlice<'_>) -> bool {
    let Values::Bytes(strings) = values else {
        return false;
    };
    let offsets = strings.offsets();
    (0..validity.len()).step_by(64).all(|base| {
        let n = (validity.len() - base).min(64);
        let mut nulls = !validity.word(base) & u64::MAX >> (64 - n);
        while nulls != 0 {
            let i = base + nulls.trailing_zeros() as usize;
            if offsets.get(i) != offsets.get(i + 1) {
                return false;
            }
            nulls &= nulls - 1;
        }
        true
    })
}

/// One value per row, null rows holding filler that is a function of the same `group_rows` rows alone: the last valid
/// fixed-width value (the first valid one at the start), `false`, or the empty string.
pub(crate) fn filled(values: Values<'_>, validity: BitSlice<'_>, group_rows: usize) -> Cleaned {
    let rows = validity.len();
    match values {
        Values::Bits(bits) => {
            let mut out = Vec::with_capacity(rows.div_ceil(8) + 8);
            for i in (0..rows).step_by(64) {
                out.extend_from_slice(&(bits.word(i) & validity.word(i)).to_le_bytes());
            }
            out.truncate(rows.div_ceil(8));
            Cleaned::Bits(out, rows)
        }
        Values::Fixed(fixed) => {
            let width = fixed.width();
            let mut out = fixed.bytes().to_vec();
            match width {
                1 => fill::<1>(&mut out, validity, group_rows),
                2 => fill::<2>(&mut out, validity, group_rows),
                4 => fill::<4>(&mut out, validity, group_rows),
                8 => fill::<8>(&mut out, validity, group_rows),
                16 => fill::<16>(&mut out, validity, group_rows),
                _ => fill_wide(&mut out, width, validity, group_rows),
            }
            Cleaned::Fixed(out, width, rows)
        }
        Values::Bytes(strings) => {
            let mut offsets = Vec::with_capacity(rows + 1);
            let mut data = Vec::with_capacity(strings.data_bytes() as usize);
            offsets.push(0);
            for i in 0..rows {
                if validity.get(i) {
                    data.extend_from_slice(strings.get(i));
                }
                offsets.push(data.len() as u32);
            }
            Cleaned::Bytes(offsets, data)
        }
    }
}

/// Null values become the one before them in their group, or the first valid one, or zero.
fn fill<const W: usize>(values: &mut [u8], validity: BitSlice<'_>, group_rows: usize) {
    let (values, _) = values.as_chunks_mut::<W>();
    let group_rows = group_rows.max(1);
    for (group, values) in values.chunks_mut(group_rows).enumerate() {
        let start = group * group_rows;
        let validity = validity.slice(start..start + values.len());
        let first = first_valid(validity).and_then(|i| values.get(i));
        let first = first.copied().unwrap_or([0; W]);
        for base in (0..values.len()).step_by(64) {
            let n = (values.len() - base).min(64);
            let mut nulls = !validity.word(base) & u64::MAX >> (64 - n);
            while nulls != 0 {
                let i = base + nulls.trailing_zeros() as usize;
                values[i] = match i.checked_sub(1) {
                    Some(before) => values[before],
                    None => first,
                };
                nulls &= nulls - 1;
            }
        }
    }
}

/// The same for other widths.
fn fill_wide(values: &mut [u8], width: usize, validity: BitSlice<'_>, group_rows: usize) {
    let rows = validity.len();
    let group_rows = group_rows.max(1);
    for start in (0..rows).step_by(group_rows) {
        let end = (start + group_rows).min(rows);
        let first = first_valid(validity.slice(start..end)).map(|i| start + i);
        for i in (start..end).filter(|i| !validity.get(*i)) {
            let from = if i > start { Some(i - 1) } else { first };
            match from {
                Some(from) => values.copy_within(from * width..(from + 1) * width, i * width),
                None => values[i * width..(i + 1) * width].fill(0),
            }
        }
    }
}

fn first_valid(validity: BitSlice<'_>) -> Option<usize> {
    (0..validity.len()).step_by(64).find_map(|base| {
        let word = validity.word(base);
        (word != 0).then(|| base + word.trailing_zeros() as usize)
    })
}

enum Fit {
    Fits,
    TooLarge,
}

/// The levels of a page with their encoders.
struct Nested<'a> {
    shape: ShapeSlice<'a>,
    levels: Vec<(Level, Vec<Box<dyn PageEncoder>>)>,
}

impl<'a> Nested<'a> {
    fn new(
        slice: ShapeSlice<'a>,
        context: &EncodeContext<'_>,
        prepared: &mut Prepared,
    ) -> Result<Self> {
        let shape: &Shape = slice.shape();
        let mut levels = Vec::new();
        for (number, form) in shape.forms().enumerate() {
            let slots = slice.slots(number, 0..slice.rows());
            levels.push(match form {
                LevelForm::ConstantLength(length) => (Level::ConstantLength(length), vec![]),
                LevelForm::Validity => match shape.nulls(number, slots) {
                    None => (Level::AllValid, vec![]),
                    Some(bits) => {
                        let (trees, encoder) = prepared.bits(bits, context)?;
                        (Level::Validity(trees), vec![encoder])
                    }
                },
                LevelForm::Lengths => {
                    let lengths = shape.lengths(number, slots);
                    match one_length(lengths) {
                        Some(length) => (Level::ConstantLength(length), vec![]),
                        None => {
                            let values = length_values(lengths)?;
                            let values = Statistics::new(values, Facts::of(LogicalType::Length));
                            let choice = context.chooser.choose(&values)?;
                            let (trees, encoders) = prepared.page(&choice, &values, context)?;
                            (Level::Lengths(trees), encoders)
                        }
                    }
                }
            });
        }
        Ok(Self {
            shape: slice,
            levels,
        })
    }

    /// The most bytes that the slots of one level of some rows, or their items, decode to. Where Arrow wants slots below nulls, those
    /// count too: whoever reads the rows takes memory for them.
    fn decoded_bytes(&self, rows: Range<usize>, value_type: ValueType) -> u64 {
        let mut most = 0;
        let mut n_slots = rows.len() as u64;
        for (number, form) in self.shape.shape().forms().enumerate() {
            most = slots_bytes(form, n_slots).max(most);
            match form {
                LevelForm::Validity => {}
                LevelForm::Lengths => {
                    n_slots = self.shape.slots(number + 1, rows.clone()).len() as u64;
                }
                LevelForm::ConstantLength(length) => {
                    n_slots = n_slots.saturating_mul(length.into());
                }
            }
        }
        items_bytes(value_type, n_slots).max(most)
    }

    /// Appends the levels of some rows.
    fn encode(&self, rows: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&[0; 8]);
        let shape = self.shape.shape();
        for (number, (level, encoders)) in self.levels.iter().enumerate() {
            let slots = self.shape.slots(number, rows.clone());
            let n_below = self.shape.slots(number + 1, rows.clone()).len();
            let (values, tree) = match level {
                Level::AllValid | Level::ConstantLength(_) => continue,
                Level::Validity(_) => match shape.nulls(number, slots.clone()) {
                    None => (None, LAYER_ALL_VALID),
                    Some(_) if n_below == 0 => (None, LAYER_ALL_NULL),
                    Some(bits) => (Some(Values::Bits(bits)), 0),
                },
                Level::Lengths(_) => {
                    let lengths = shape.lengths(number, slots.clone());
                    match one_length(lengths) {
                        Some(_) => (None, LAYER_CONSTANT),
                        None => (Some(length_values(lengths)?), 0),
                    }
                }
            };
            let start = out.len();
            out.resize(start + SECTION_HEADER_BYTES, 0);
            match (values, tree) {
                (Some(values), _) => {
                    let encoder = encoders.first();
                    let encoder = encoder.ok_or_else(|| Error::invalid("a level without trees"))?;
                    encoder.encode(Block::all(values)?, out)?;
                }
                (None, LAYER_CONSTANT) => {
                    let length = one_length(shape.lengths(number, slots)).unwrap_or_default();
                    out.extend_from_slice(&length.to_le_bytes());
                }
                (None, _) => {}
            }
            let len = out.len() - start - SECTION_HEADER_BYTES;
            out[start] = tree;
            out[start + 4..start + 8].copy_from_slice(&length(len)?.to_le_bytes());
            out[start + 8..start + 12].copy_from_slice(&length(n_below)?.to_le_bytes());
            let padded = len.next_multiple_of(BLOCK_ALIGN);
            out.resize(start + SECTION_HEADER_BYTES + padded, 0);
        }
        Ok(())
    }
}

/// The length that all have; that of none is 0.
pub(crate) fn one_length(lengths: &[u32]) -> Option<u32> {
    let first = lengths.first().copied().unwrap_or_default();
    lengths
        .iter()
        .all(|length| *length == first)
        .then_some(first)
}

struct Encoder<'a> {
    nested: Option<Nested<'a>>,
    values: Values<'a>,
    validity: Option<(BitSlice<'a>, Box<dyn PageEncoder>)>,
    compact: bool,
    trees: Vec<Box<dyn PageEncoder>>,
    checksum: fn(&[u8]) -> u32,
    bytes: Vec<u8>,
    starts: Vec<u64>,
}

impl Encoder<'_> {
    /// Blocks of equally many rows: the most, as a power of two, whose payload stays within the target.
    fn cut_uniform(
        &mut self,
        rows: usize,
        n_items: usize,
        null_count: usize,
        choice: &Choice,
    ) -> Result<BlockRows> {
        let width = self.values.value_type().fixed_bytes().unwrap_or(0);
        // In flat columns 1; more where fixed-size lists are rows, and fewer where rows are null above their items.
        let row_items = n_items.div_ceil(rows.max(1)).max(1);
        let rows_min = match width {
            0..=8 => BLOCK_ROWS_MIN,
            // Wide values: as many as fit the target, at least one. Widths that do not divide it would leave so much of a block
            // unused that headers show in the size; their blocks may be four times as long, still far below 1,024 values.
            _ if width.is_power_of_two() => {
                (BLOCK_PAYLOAD_BYTES_TARGET / width).clamp(1, BLOCK_ROWS_MIN)
            }
            _ => (4 * BLOCK_PAYLOAD_BYTES_TARGET / width).clamp(1, BLOCK_ROWS_MIN),
        };
        let rows_min = prev_power_of_two((rows_min / row_items).max(1));
        // Bits of an item's value, unless dropped.
        let valid_share = match self.compact {
            true => (n_items - null_count) as u64 * 1024 / n_items.max(1) as u64,
            false => 1024,
        };
        // In parts of 1,024 of a byte.
        let row_bytes = self.expected_bytes(choice, valid_share) * row_items as u64;
        let fitting = BLOCK_PAYLOAD_BYTES_TARGET as u64 * 1024 / row_bytes.max(1);
        let mut block_rows = prev_power_of_two((fitting as usize).clamp(rows_min, BLOCK_ROWS_MAX));
        loop {
            let lowest = block_rows <= rows_min;
            match self.try_uniform(rows, block_rows, lowest)? {
                Fit::Fits => return Ok(BlockRows::Uniform(block_rows.trailing_zeros() as u8)),
                Fit::TooLarge if block_rows > 1 => block_rows /= 2,
                Fit::TooLarge => return Err(Error::invalid("a value is too large for a block")),
            }
        }
    }

    /// Bytes that so many values are expected to take, rounded up.
    fn expected_bytes(&self, choice: &Choice, n_values: u64) -> u64 {
        let n_all = self.values.len().max(1) as u128;
        let bytes = u128::from(choice.bytes) * u128::from(n_values);
        u64::try_from(bytes.div_ceil(n_all)).unwrap_or(u64::MAX)
    }

    fn try_uniform(&mut self, rows: usize, block_rows: usize, any_payload: bool) -> Result<Fit> {
        self.bytes.clear();
        self.starts.clear();
        let mut value = 0;
        for start in (0..rows).step_by(block_rows) {
            let end = (start + block_rows).min(rows);
            let items = self.items_of(start..end);
            let values = self.values_of(items.clone(), value);
            value = values.end;
            let decoded = self.values.slice(values.clone()).decoded_bytes();
            let decoded = decoded.max(self.decoded_bytes(start..end));
            if decoded > BLOCK_DECODED_BYTES_MAX.into() && end - start > 1 {
                return Ok(Fit::TooLarge);
            }
            let payload = self.encode_block(start..end, values)?;
            let layers = if self.validity.is_some() || self.nested.is_some() {
                LAYER_BYTES_ALLOWED
            } else {
                0
            };
            if payload > BLOCK_PAYLOAD_BYTES_TARGET + layers && !any_payload {
                return Ok(Fit::TooLarge);
            }
        }
        Ok(Fit::Fits)
    }

    /// Blocks of as many whole rows as fit the target, for lists whose lengths or values differ.
    fn cut_nested(&mut self, rows: usize, choice: &Choice) -> Result<BlockRows> {
        let mut table = Vec::new();
        let (mut row, mut value, mut guess) = (0, 0, 64);
        while row < rows {
            let mut n_rows = self.nested_rows_that_fit(row, rows, value, choice, guess);
            loop {
                let items = self.items_of(row..row + n_rows);
                let values = self.values_of(items.clone(), value);
                let payload = self.encode_block(row..row + n_rows, values.clone())?;
                let fits = payload <= BLOCK_PAYLOAD_BYTES_TARGET
                    || n_rows == 1
                    || items.len() <= BLOCK_ROWS_MIN && choice.uniform;
                if fits {
                    table.push(n_rows as u32);
                    (row, value, guess) = (row + n_rows, values.end, n_rows);
                    break;
                }
                let start = self.starts.pop().unwrap_or_default();
                self.bytes.truncate(start as usize);
                n_rows = (n_rows * 7 / 8).clamp(1, n_rows - 1);
            }
        }
        Ok(BlockRows::Table(table))
    }

    /// A first guess at the rows of a nested block: the most whose estimate fits. Near `guess`, it takes few looks.
    fn nested_rows_that_fit(
        &self,
        row: usize,
        rows: usize,
        value: usize,
        choice: &Choice,
        guess: usize,
    ) -> usize {
        let most = (rows - row).min(BLOCK_ROWS_MAX);
        let fits = |n: usize| self.nested_block_fits(row..row + n, value, choice);
        let (mut low, mut high) = (1, guess.clamp(1, most));
        while high < most && fits(high) {
            (low, high) = (high, (high * 2).min(most));
        }
        if high == most && fits(high) {
            return high;
        }
        // `low` fits or is 1, `high` does not.
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match fits(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Whether rows are likely to fit the target: values as they are expected, a byte for each length, a bit for validity.
    fn nested_block_fits(&self, rows: Range<usize>, value: usize, choice: &Choice) -> bool {
        let Some(nested) = &self.nested else {
            return true;
        };
        let mut bits = 0;
        let mut decoded = self.decoded_bytes(rows.clone());
        for (number, (level, _)) in nested.levels.iter().enumerate() {
            let slots = nested.shape.slots(number, rows.clone()).len() as u64;
            let per_slot = match level {
                Level::AllValid | Level::ConstantLength(_) => 0,
                Level::Validity(_) => 1,
                Level::Lengths(_) => 8,
            };
            bits += slots * per_slot;
        }
        let items = self.items_of(rows);
        let n_items = items.len() as u64;
        bits += n_items * u64::from(self.validity.is_some());
        let values = self.values_of(items, value);
        bits += match self.values {
            Values::Bytes(_) if !choice.uniform => {
                let n_values = values.len() as u64;
                let bytes = self.values.slice(values).decoded_bytes();
                decoded = decoded.max(bytes);
                bytes * 8 + n_values * 9
            }
            _ => self.expected_bytes(choice, values.len() as u64) * 8,
        };
        let few = n_items <= BLOCK_ROWS_MIN as u64 && choice.uniform;
        (few || bits <= BLOCK_PAYLOAD_BYTES_TARGET as u64 * 8)
            && decoded <= BLOCK_DECODED_BYTES_MAX.into()
    }

    /// Blocks of as many rows as fit the target, for values that differ in size.
    fn cut_by_size(&mut self, rows: usize) -> Result<BlockRows> {
        let mut table = Vec::new();
        let (mut row, mut value) = (0, 0);
        while row < rows {
            let mut n_rows = self.rows_that_fit(row, value, rows);
            loop {
                let values = self.values_of(row..row + n_rows, value);
                let payload = self.encode_block(row..row + n_rows, values.clone())?;
                if payload <= BLOCK_PAYLOAD_BYTES_TARGET || n_rows == 1 {
                    table.push(n_rows as u32);
                    row += n_rows;
                    value = values.end;
                    break;
                }
                let start = self.starts.pop().unwrap_or_default();
                self.bytes.truncate(start as usize);
                n_rows = (n_rows * 7 / 8).clamp(1, n_rows - 1);
            }
        }
        Ok(BlockRows::Table(table))
    }

    /// A first guess at the rows of a block: values as they are, 12 bits for each length.
    fn rows_that_fit(&self, row: usize, mut value: usize, rows: usize) -> usize {
        let end = rows.min(row + BLOCK_ROWS_MAX);
        let mut bits = 64u64;
        for i in row..end {
            let present = match (&self.validity, self.compact) {
                (Some((validity, _)), true) => validity.get(i),
                _ => true,
            };
            bits += u64::from(self.validity.is_some());
            if present {
                let bytes = match self.values {
                    Values::Bytes(strings) => strings.value_bytes(value).into(),
                    Values::Fixed(fixed) => fixed.width() as u64,
                    Values::Bits(_) => 1,
                };
                bits += bytes * 8 + 9;
                value += 1;
            }
            if bits > BLOCK_PAYLOAD_BYTES_TARGET as u64 * 8 {
                return (i - row).max(1);
            }
        }
        end - row
    }

    /// The items of `rows`; in flat pages the rows.
    fn items_of(&self, rows: Range<usize>) -> Range<usize> {
        match &self.nested {
            None => rows,
            Some(nested) => nested.shape.items(rows),
        }
    }

    /// What nested rows decode to besides the values of their blocks.
    fn decoded_bytes(&self, rows: Range<usize>) -> u64 {
        let nested = self.nested.as_ref();
        nested.map_or(0, |nested| {
            nested.decoded_bytes(rows, self.values.value_type())
        })
    }

    /// The values of `items`, where `value` is the first of them.
    fn values_of(&self, items: Range<usize>, value: usize) -> Range<usize> {
        match (&self.validity, self.compact) {
            (Some((validity, _)), true) => value..value + validity.slice(items).count_ones(),
            _ => items,
        }
    }

    /// Appends one block and returns its payload's length.
    fn encode_block(&mut self, rows: Range<usize>, values: Range<usize>) -> Result<usize> {
        let start = self.bytes.len();
        self.starts.push(start as u64);
        self.bytes.resize(start + BLOCK_HEADER_BYTES, 0);
        let payload_start = self.bytes.len();
        let mut null_count = 0;
        let items = self.items_of(rows.clone());
        if let Some(nested) = &self.nested {
            nested.encode(rows.clone(), &mut self.bytes)?;
        }
        if let Some((validity, encoder)) = &self.validity {
            let n_items = items.len();
            let valid = validity.slice(items.clone()).count_ones();
            null_count = n_items - valid;
            let descriptor = self.bytes.len();
            self.bytes.resize(descriptor + 8, 0);
            let tree = match valid {
                valid if valid == n_items => LAYER_ALL_VALID,
                0 => LAYER_ALL_NULL,
                _ => {
                    let block = Block::new(Values::Bits(*validity), items)?;
                    encoder.encode(block, &mut self.bytes)?;
                    0
                }
            };
            let len = self.bytes.len() - descriptor - 8;
            self.bytes[descriptor] = tree;
            self.bytes[descriptor + 4..descriptor + 8].copy_from_slice(&length(len)?.to_le_bytes());
            let padded = len.next_multiple_of(BLOCK_ALIGN);
            self.bytes.resize(descriptor + 8 + padded, 0);
        }
        let decoded = self.values.slice(values.clone()).decoded_bytes();
        let tree = match values.is_empty() && self.nested.is_some() {
            // Nobody asks an encoding about no values.
            true => (self.trees.len() - 1) as u8,
            false => self.encode_unit(values.clone(), decoded)?,
        };
        if self.nested.is_some() {
            let decoded = self.decoded_bytes(rows.clone()).max(decoded);
            self.pad_expanding_row(&rows, payload_start, decoded)?;
        }
        let payload = self.bytes.len() - payload_start;
        let header = BlockHeader {
            tree,
            salted: false,
            chunked: self.nested.is_some() && rows.len() == 1 && payload > CHUNKED_BYTES_MIN,
            indexed: false,
            logical_rows: length(rows.len())?,
            present_rows: length(rows.len())?,
            n_values: length(values.len())?,
            decoded_bytes: u32::try_from(decoded)
                .map_err(|_| Error::invalid("a row is larger than 2 GiB"))?,
            payload_bytes: length(payload)?,
            crc: 0,
            null_count: length(null_count)?,
        };
        header.seal(&mut self.bytes, start, self.checksum)?;
        Ok(payload)
    }

    /// A block of one row may decode to so many times its payload: one that decodes to more gets zeros in front of its levels.
    fn pad_expanding_row(
        &mut self,
        rows: &Range<usize>,
        payload_start: usize,
        decoded: u64,
    ) -> Result<()> {
        let payload = (self.bytes.len() - payload_start) as u64;
        let needed = decoded
            .saturating_sub(BLOCK_DECODED_BYTES_MAX.into())
            .div_ceil(ROW_EXPANSION_MAX);
        if decoded > limits::UNIT_DECODED_BYTES_MAX {
            return Err(Error::invalid(
                "a row takes more than 2 GiB in one column, the slots below its nulls counted",
            ));
        }
        if rows.len() > 1 || needed <= payload {
            return Ok(());
        }
        let padding = (needed - payload).next_multiple_of(BLOCK_ALIGN as u64) as usize;
        let at = payload_start + 8;
        self.bytes.splice(at..at, core::iter::repeat_n(0, padding));
        self.bytes[payload_start..payload_start + 4]
            .copy_from_slice(&length(padding)?.to_le_bytes());
        Ok(())
    }

    /// Appends the unit under the first tree, or under the last where that is no larger or the first does not hold the
    /// values. Returns the tree's index.
    fn encode_unit(&mut self, values: Range<usize>, decoded: u64) -> Result<u8> {
        let start = self.bytes.len();
        let last = self.trees.len() - 1;
        let block = Block::new(self.values, values)?;
        match self.trees[0].encode(block, &mut self.bytes) {
            Ok(()) => {}
            Err(_) if last > 0 => {
                self.bytes.truncate(start);
                self.trees[last].encode(block, &mut self.bytes)?;
                return Ok(last as u8);
            }
            Err(error) => return Err(error),
        }
        let plain_bytes = match self.values {
            Values::Bytes(_) => decoded + 4 + 4 * block.len() as u64,
            _ => decoded,
        };
        if last > 0 && (self.bytes.len() - start) as u64 > plain_bytes {
            let first_bytes = self.bytes.split_off(start);
            self.trees[last].encode(block, &mut self.bytes)?;
            if self.bytes.len() - start < first_bytes.len() {
                return Ok(last as u8);
            }
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(&first_bytes);
        }
        Ok(0)
    }
}

pub(crate) fn length(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::invalid("a block is larger than 4 GiB"))
}

fn prev_power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validity of `rows`, of which some runs are null.
    fn bitmap(rows: usize, kind: usize) -> Vec<u8> {
        let is_valid = |i: usize| match kind {
            0 => false,
            1 => true,
            2 => i >= 70,
            3 => !i.is_multiple_of(3),
            4 => i * 31 % 97 > 50,
            _ => i == 129,
        };
        let mut bits = vec![0; rows.div_ceil(8)];
        for i in (0..rows).filter(|i| is_valid(*i)) {
            bits[i / 8] |= 1 << (i % 8);
        }
        bits
    }

    #[test]
    fn rows_of_lists_begin_where_their_values_do() {
        let lengths = [2, 0, 3, 1];
        let mut shape = Shape::new([LevelForm::Lengths]);
        shape.push_lengths(0, lengths.into_iter()).unwrap();
        shape.end_rows(4);
        let slice = ShapeSlice::new(&shape, 0..4).unwrap();
        let starts = |validity| {
            let rows = PageRows {
                shape: Some(slice),
                validity,
            };
            rows.row_starts()
        };
        assert_eq!(starts(None), [0, 2, 2, 5, 6]);
        // Null items have no values in a compact page.
        let valid = BitSlice::new(&[0b101101], 0, 6).unwrap();
        assert_eq!(starts(Some(valid)), [0, 1, 1, 3, 4]);
    }

    #[test]
    fn filler_is_the_value_before_in_its_group() {
        for width in [1, 2, 3, 4, 8, 16, 20] {
            for rows in [0, 1, 63, 64, 65, 200, 300] {
                for (kind, group_rows) in (0..6).flat_map(|kind| [(kind, 128), (kind, 1 << 20)]) {
                    let bits = bitmap(rows, kind);
                    let validity = BitSlice::new(&bits, 0, rows).unwrap();
                    let values: Vec<u8> = (0..rows * width).map(|i| (i * 7) as u8 | 1).collect();
                    let mut expect = values.clone();
                    for i in (0..rows).filter(|i| !validity.get(*i)) {
                        let start = i - i % group_rows;
                        let end = rows.min(start + group_rows);
                        let before = (start..i).rev().find(|i| validity.get(*i));
                        let from = before.or((start..end).find(|i| validity.get(*i)));
                        let filler = match from {
                            Some(from) => values[from * width..(from + 1) * width].to_vec(),
                            None => vec![0; width],
                        };
                        expect[i * width..(i + 1) * width].copy_from_slice(&filler);
                    }
                    let fixed = FixedSlice::new(&values, width, rows).unwrap();
                    match filled(Values::Fixed(fixed), validity, group_rows) {
                        Cleaned::Fixed(out, ..) => {
                            assert_eq!(out, expect, "{width} {rows} {kind} {group_rows}");
                        }
                        _ => panic!("not of fixed width"),
                    }
                }
            }
        }
    }

    #[test]
    fn strings_with_nothing_under_nulls_are_seen_and_compacted_alike() {
        for rows in [1, 64, 130, 300] {
            for kind in 0..6 {
                let bits = bitmap(rows, kind);
                let validity = BitSlice::new(&bits, 0, rows).unwrap();
                let n_valid = validity.count_ones();
                let strings = |under_nulls: usize| {
                    let mut offsets = vec![0u32];
                    let mut data = Vec::new();
                    for i in 0..rows {
                        let len = if validity.get(i) { i % 5 } else { under_nulls };
                        data.extend((0..len).map(|at| (i + at) as u8));
                        offsets.push(data.len() as u32);
                    }
                    (offsets, data)
                };
                let (clean, garbage) = (strings(0), strings(3));
                let of = |(offsets, data): &(Vec<u32>, Vec<u8>)| {
                    let strings = Values::Bytes(BytesSlice::new(offsets, data).unwrap());
                    let is_filled = is_filled(strings, validity);
                    match compacted(strings, validity, n_valid).unwrap() {
                        Cleaned::Bytes(offsets, data) => (is_filled, offsets, data),
                        _ => panic!("no strings"),
                    }
                };
                let (clean, garbage) = (of(&clean), of(&garbage));
                assert!(clean.0);
                assert_eq!(garbage.0, n_valid == rows);
                assert_eq!((clean.1, clean.2), (garbage.1, garbage.2));
            }
        }
    }
}
