//! Rows encoded as one block for a place.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, BlockValues, BytesSlice, Error, Facts, FixedSlice, LogicalType, PageEncoder, Result,
    RowStarts, Statistics, Tree, TreeWriter, ValueType, Values, limits,
};
use tarsia_structure::block::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, Block as ParsedBlock,
    BlockExpectation, BlockHeader, SALT_BYTES,
};
use tarsia_structure::full_zip::FullZipForm;
use tarsia_structure::layout::LAYER_CONSTANT;
use tarsia_structure::meta::{Level, LevelForm, Meta};

use super::context::BlockContext;
use crate::collected_levels::LevelsSlice;
use crate::encode::PageRows;
use crate::full_zip::erase::FullZipParts;
use crate::levels::{
    SlotsOfRows, decoded_bytes as decoded_bytes_of, pad_expanding_row, push_levels, push_validity,
};
use crate::mini_block::is_chunked;
use crate::nulls::{CopiedValues, compacted, filled, other_filler};
use crate::protect::Growth;
use crate::seal::{length, seal};

/// A block that moves gets a zero behind it for so many bytes that it has, if it may grow. Else it would move at the
/// next erasure again: what made it grow is likely to come again.
const MOVED_SLACK_ONE_IN: usize = 16;

/// Where the survivors fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Into the place.
    InPlace {
        /// Bytes that the whole place must hold from now on.
        bytes: Vec<u8>,
    },
    /// Under no tree of the page into the place: the block must be written elsewhere, and then its old place zeroed.
    MustMove {
        /// The block for its new place, as small as the page's trees make it, with a 16th of zeros behind it if it may
        /// grow, and zero-padded to 8.
        bytes: Vec<u8>,
    },
}

impl Outcome {
    /// The new block.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::InPlace { bytes } | Self::MustMove { bytes } => bytes,
        }
    }

    /// Whether the block must be written elsewhere.
    pub fn must_move(&self) -> bool {
        matches!(self, Self::MustMove { .. })
    }
}

/// Encodes rows as one block for a place of `place_bytes`, as an erasure would leave them.
///
/// `levels` are those above the items, in a nested page; they and the rows have as many items as `values`. `validity`
/// has a bit for each item; where it is `None`, all are valid. What stands under null items is not stored. A block that
/// is new has as many rows as `logical_rows`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where lengths do not fit each other, for nulls
/// in a page without validity, and for levels that are not the page's; what encoders refuse.
pub fn encode_block(
    context: &BlockContext<'_>,
    levels: Option<LevelsSlice<'_>>,
    validity: Option<BitSlice<'_>>,
    values: Values<'_>,
    logical_rows: u32,
    salt: Option<[u8; SALT_BYTES]>,
    place_bytes: usize,
) -> Result<Outcome> {
    let n_items = values.len();
    let rows = check_levels(&context.meta.levels, levels, n_items)?;
    if rows > logical_rows as usize || validity.is_some_and(|bits| bits.len() != n_items) {
        return Err(Error::invalid("validity, values and rows differ in length"));
    }
    if context.meta.value_type != Some(values.value_type()) {
        return Err(Error::invalid("the values are not of the page's type"));
    }
    let all_valid;
    let validity = match (validity, context.meta.layers.is_empty()) {
        (Some(bits), true) if bits.count_ones() < n_items => {
            return Err(Error::invalid("a page without validity cannot hold nulls"));
        }
        (_, true) => None,
        (Some(bits), false) => Some(bits),
        (None, false) => {
            all_valid = vec![0xff; n_items.div_ceil(8)];
            Some(BitSlice::new(&all_valid, 0, n_items)?)
        }
    };
    let dense;
    let values = match validity {
        Some(bits) if context.meta.compact => {
            dense = compacted(values, bits, bits.count_ones())?;
            dense.as_values()?
        }
        _ => values,
    };
    let parts = BlockContent {
        logical_rows,
        present_rows: rows,
        levels,
        validity,
        values,
        salt,
    };
    parts.encode(context, place_bytes)
}

/// The rows that are to be stored. Errors where their levels are not what META says of all rows of the page.
fn check_levels(
    stored: &[Level],
    levels: Option<LevelsSlice<'_>>,
    n_items: usize,
) -> Result<usize> {
    let misfit = || Error::invalid("levels that are not the page's");
    let Some(slice) = levels else {
        return match stored.is_empty() {
            true => Ok(n_items),
            false => Err(misfit()),
        };
    };
    let collected = slice.levels();
    if collected.forms().count() != stored.len() || slice.n_items() != n_items {
        return Err(misfit());
    }
    for (number, (form, level)) in collected.forms().zip(stored).enumerate() {
        let slots = slice.slots(number, 0..slice.rows());
        let fits = form.admits(level)
            && match (level, form) {
                (Level::AllValid, _) => collected.nulls(number, slots).is_none(),
                (Level::ConstantLength(length), LevelForm::Lengths) => {
                    let lengths = collected.lengths(number, slots);
                    lengths.iter().all(|it| it == length)
                }
                _ => true,
            };
        if !fits {
            return Err(misfit());
        }
    }
    Ok(slice.rows())
}

/// The parts that a block is made of.
pub(super) struct BlockContent<'a> {
    pub(super) logical_rows: u32,
    pub(super) present_rows: usize,
    /// The levels of the present rows, in a nested page.
    pub(super) levels: Option<LevelsSlice<'a>>,
    /// One bit per item where the page has validity.
    pub(super) validity: Option<BitSlice<'a>>,
    /// The values of the unit.
    pub(super) values: Values<'a>,
    pub(super) salt: Option<[u8; SALT_BYTES]>,
}

impl BlockContent<'_> {
    /// A block of which no row is left.
    pub(super) fn of_no_rows(
        logical_rows: u32,
        meta: &Meta,
        salt: Option<[u8; SALT_BYTES]>,
    ) -> Result<Self> {
        let values = match meta.value_type {
            Some(ValueType::Bits) => Values::Bits(BitSlice::new(&[], 0, 0)?),
            Some(ValueType::Fixed(width)) => {
                Values::Fixed(FixedSlice::new(&[], width as usize, 0)?)
            }
            Some(ValueType::Bytes) => Values::Bytes(BytesSlice::new(&[0], &[])?),
            None => return Err(Error::invalid("a page of type Null has nothing to erase")),
        };
        Ok(Self {
            logical_rows,
            present_rows: 0,
            levels: None,
            validity: None,
            values,
            salt,
        })
    }

    /// The block for a place of so many bytes.
    pub(super) fn encode(&self, context: &BlockContext<'_>, place_bytes: usize) -> Result<Outcome> {
        let has_filler = !context.meta.compact && FullZipForm::of(context.meta)?.is_none();
        match self.validity.filter(|_| has_filler) {
            Some(bits) => {
                let filled = filled(self.values, bits);
                self.encode_filled(context, place_bytes, filled.as_values()?)
            }
            None => self.encode_filled(context, place_bytes, self.values),
        }
    }

    /// Encodes these values, in which filler stands under null items.
    pub(super) fn encode_filled(
        &self,
        context: &BlockContext<'_>,
        place_bytes: usize,
        values: Values<'_>,
    ) -> Result<Outcome> {
        let put = |mut bytes: Vec<u8>| {
            if bytes.len() > place_bytes {
                return moved(bytes, 0);
            }
            bytes.resize(place_bytes, 0);
            Outcome::InPlace { bytes }
        };
        if let Some(form) = FullZipForm::of(context.meta)? {
            let parts = FullZipParts {
                levels: self.levels,
                validity: self.validity,
                values: self.values,
                n_rows: self.present_rows,
                logical_rows: self.logical_rows,
                salt: self.salt,
            };
            let block = parts.block(form, &context.meta.levels, context.checksum)?;
            return Ok(put(block));
        }
        if self.present_rows == 0 {
            return Ok(put(self.block(context, 0, &[], &[], 0)?));
        }
        let front = self.front(context)?;
        if self.levels.is_some() && self.values.is_empty() {
            // Encodings are never asked to encode no values. The writer names the last tree, too.
            let last = context.meta.trees.len().saturating_sub(1);
            return Ok(put(self.block(context, last, &front, &[], 0)?));
        }
        let other_filler = self.other_filler(context)?;
        let other_filler = match &other_filler {
            Some(filler) => Some(filler.as_values()?),
            None => None,
        };
        let mut smallest: Option<(usize, Vec<u8>)> = None;
        let mut refused = None;
        for (i, tree) in context.meta.trees.iter().enumerate() {
            let unit = match (self.unit(context, tree, values), other_filler) {
                (Err(_), Some(values)) => self.unit(context, tree, values),
                (unit, _) => unit,
            };
            let block =
                unit.and_then(|unit| self.block(context, i, &front, &unit, values.decoded_bytes()));
            match block {
                Ok(block) if block.len() <= place_bytes => return Ok(put(block)),
                Ok(block)
                    if smallest
                        .as_ref()
                        .is_none_or(|(_, old)| block.len() < old.len()) =>
                {
                    smallest = Some((i, block));
                }
                Ok(_) => {}
                Err(error) => refused = Some(error),
            }
        }
        match (smallest, refused) {
            (Some((tree, block)), _) => {
                let growth = Growth::of(context.meta, context.registry)?;
                let slack = match growth.of_tree(tree) {
                    true => block.len() / MOVED_SLACK_ONE_IN,
                    false => 0,
                };
                Ok(moved(block, slack))
            }
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::invalid("the page has no trees")),
        }
    }

    /// Where all items are null and the page is not compact, their filler is zero, or something [else](other_filler).
    fn other_filler(&self, context: &BlockContext<'_>) -> Result<Option<CopiedValues>> {
        let all_null = self.validity.is_some_and(|bits| bits.count_ones() == 0);
        if !all_null || context.meta.compact {
            return Ok(None);
        }
        let specs = context.meta.shared.iter().copied();
        let shared: Vec<_> = specs.zip(context.shared.iter().cloned()).collect();
        other_filler(self.values, &shared)
    }

    /// Encodes what is in front of the unit: the levels of a nested page, then the validity of the items of a page that
    /// has it.
    fn front(&self, context: &BlockContext<'_>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let meta = context.meta;
        if let Some(slice) = self.levels {
            let mut encode = |number: usize, block: BlockValues<'_>, out: &mut Vec<u8>| {
                let level = meta.levels.get(number);
                let trees = level.map_or(&[][..], Level::trees);
                let rows = SlotsOfRows { slice, number };
                let facts = match level {
                    Some(Level::Lengths(_)) => rows.facts_of_lengths(),
                    _ => Facts::of(LogicalType::Validity),
                };
                let slots = Statistics::new(block.values(), facts);
                encode_under_first(context, trees, &slots, out)
            };
            let rows = 0..slice.rows();
            push_levels(slice, meta.levels.iter(), rows, &mut encode, &mut out)?;
        }
        if let (Some(bits), Some(layer)) = (self.validity, meta.layers.first()) {
            let encode = |out: &mut Vec<u8>| {
                let facts = Facts::of(LogicalType::Validity);
                let bits = Statistics::new(Values::Bits(bits), facts);
                encode_under_first(context, &layer.trees, &bits, out)
            };
            push_validity(bits.count_ones(), bits.len(), encode, &mut out)?;
        }
        Ok(out)
    }

    /// The unit of values: encoders see nothing else.
    fn unit(&self, context: &BlockContext<'_>, tree: &Tree, values: Values<'_>) -> Result<Vec<u8>> {
        let rows = PageRows {
            levels: self.levels,
            validity: self.validity.filter(|_| context.meta.compact),
        };
        // As the writer of a page tells encoders where rows begin, so that they find the same again.
        let facts = Facts {
            rows: self.levels.map(|_| &rows as &dyn RowStarts),
            ..Facts::default()
        };
        let mut out = Vec::new();
        let encoder = prepared(context, tree, &Statistics::new(values, facts))?;
        encoder.encode(BlockValues::all(values)?, &mut out)?;
        Ok(out)
    }

    /// Header, salt, what is in front of the unit, and the unit, without padding.
    fn block(
        &self,
        context: &BlockContext<'_>,
        tree: usize,
        front: &[u8],
        unit: &[u8],
        decoded_bytes: u64,
    ) -> Result<Vec<u8>> {
        let nulls = match self.validity {
            Some(bits) => bits.len() - bits.count_ones(),
            None => 0,
        };
        let decoded_max = match self.logical_rows {
            1 => limits::UNIT_DECODED_BYTES_MAX,
            _ => BLOCK_DECODED_BYTES_MAX.into(),
        };
        if decoded_bytes > decoded_max {
            return Err(Error::invalid("the rows are too large for a block"));
        }
        let mut bytes = vec![0; BLOCK_HEADER_BYTES];
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(unit);
        if let (Some(slice), 1, 1) = (self.levels, self.present_rows, self.logical_rows) {
            let forms = context.meta.levels.iter().map(Level::form);
            let of_slots = decoded_bytes_of(slice, forms, 0..1, self.values.value_type());
            let decoded = decoded_bytes.max(of_slots);
            pad_expanding_row(1, BLOCK_HEADER_BYTES, decoded, &mut bytes)?;
        }
        let payload = bytes.len() - BLOCK_HEADER_BYTES;
        let header = BlockHeader {
            tree: u8::try_from(tree).map_err(|_| Error::invalid("a page has 254 trees"))?,
            salted: self.salt.is_some(),
            chunked: is_chunked(self.levels.is_some(), self.logical_rows as usize, payload),
            indexed: false,
            logical_rows: self.logical_rows,
            present_rows: length(self.present_rows)?,
            n_values: match self.present_rows {
                0 => 0,
                _ => length(self.values.len())?,
            },
            decoded_bytes: length(decoded_bytes as usize)?,
            payload_bytes: length(payload)?,
            crc: 0,
            null_count: length(nulls)?,
        };
        seal(header, self.salt.as_ref(), &mut bytes, 0, context.checksum)?;
        bytes.truncate(header.block_bytes() as usize);
        // One predicate for reader and writer: what a reader would refuse is refused here.
        let expect = BlockExpectation::of(context.meta, self.logical_rows)?;
        ParsedBlock::parse_erased(&bytes, &expect)?;
        Ok(bytes)
    }
}

/// An encoder under a tree of the page, which uses the page's shared buffers. It has seen these values.
pub(super) fn prepared(
    context: &BlockContext<'_>,
    tree: &Tree,
    values: &Statistics<'_>,
) -> Result<Box<dyn PageEncoder>> {
    let writer = TreeWriter::new(context.registry, tree, values.values().value_type())?;
    writer.prepare(
        values.values(),
        &mut context.closed_buffers()?,
        Some(values),
    )
}

/// Appends slots or validity under the first of the trees that holds them, and returns its number.
fn encode_under_first(
    context: &BlockContext<'_>,
    trees: &[Tree],
    slots: &Statistics<'_>,
    out: &mut Vec<u8>,
) -> Result<u8> {
    let start = out.len();
    let mut refused = Error::invalid("a layer has no trees");
    for (number, tree) in (0..LAYER_CONSTANT).zip(trees) {
        let encoder = prepared(context, tree, slots);
        let block = BlockValues::all(slots.values())?;
        match encoder.and_then(|it| it.encode(block, out)) {
            Ok(()) => return Ok(number),
            Err(error) => refused = error,
        }
        out.truncate(start);
    }
    Err(refused)
}

fn moved(mut bytes: Vec<u8>, slack: usize) -> Outcome {
    bytes.resize((bytes.len() + slack).next_multiple_of(BLOCK_ALIGN), 0);
    Outcome::MustMove { bytes }
}
