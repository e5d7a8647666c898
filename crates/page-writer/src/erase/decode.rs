//! Decoding the present rows of a block.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BitSlice, Error, Output, OwnedValues, Result, Scratch, Selection, SharedBuffer,
    Unit, ValueType, build_decoder,
};
use tarsia_structure::block::{Block, BlockExpectation, Validity};
use tarsia_structure::full_zip::FullZipForm;
use tarsia_structure::levels::{LevelSection, LevelSections, Slots};
use tarsia_structure::meta::Level;

use super::context::{BlockContext, tree_of};
use super::survivors::Survivors;
use crate::collected_levels::CollectedLevels;
use crate::full_zip::erase::survivors_of;

/// Decodes the present rows of a block, erased ones being absent.
///
/// # Errors
/// What [`Block::parse_erased`] and the decoders refuse;
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for levels whose slots do not add up;
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for a page without values.
pub fn decode_survivors(context: &BlockContext<'_>, place: &[u8], rows: u32) -> Result<Survivors> {
    let shared = context.meta.shared_buffers(context.shared)?;
    decode_present(context, &shared, place, rows)
}

pub(super) fn decode_present(
    context: &BlockContext<'_>,
    shared: &[SharedBuffer],
    place: &[u8],
    rows: u32,
) -> Result<Survivors> {
    let block = parse(context, place, rows)?;
    if let Some(form) = FullZipForm::of(context.meta)? {
        return survivors_of(form, context.meta, &block);
    }
    let layers = decode_layers(context, shared, &block)?;
    let header = block.header;
    let (values, written) =
        decode_values(context, shared, &block, Selection::All, header.n_values)?;
    if written != header.decoded_bytes as usize {
        return Err(Error::corrupt(
            "block.decoded_bytes",
            20,
            header.decoded_bytes,
            "the bytes of the strings",
        ));
    }
    Ok(Survivors {
        rows: header.present_rows as usize,
        levels: layers.levels,
        n_items: block.n_items as usize,
        validity: layers.validity,
        values,
    })
}

/// A block of the page, erased rows being absent.
pub(super) fn parse<'a>(
    context: &BlockContext<'_>,
    place: &'a [u8],
    rows: u32,
) -> Result<Block<'a>> {
    let expect = BlockExpectation::of(context.meta, rows)?;
    Block::parse_erased(place, &expect)
}

/// The layers of a mini-block.
pub(super) struct Layers {
    /// `None` in flat pages.
    levels: Option<CollectedLevels>,
    /// One bit per item, in a page with item validity.
    pub(super) validity: Option<Vec<u8>>,
}

pub(super) fn decode_layers(
    context: &BlockContext<'_>,
    shared: &[SharedBuffer],
    block: &Block<'_>,
) -> Result<Layers> {
    let meta = context.meta;
    let n_items = block.n_items as usize;
    let levels = match meta.levels.is_empty() {
        true => None,
        false => Some(decode_levels(context, shared, block)?),
    };
    let validity = match (meta.layers.first(), block.validity) {
        (None, _) => None,
        (Some(_), Validity::AllValid) => Some(vec![0xff; n_items.div_ceil(8)]),
        (Some(_), Validity::AllNull) => Some(vec![0; n_items.div_ceil(8)]),
        (Some(layer), Validity::Encoded { tree, bytes }) => {
            let tree = tree_of(&layer.trees, tree, "layer.tree")?;
            let decoder = build_decoder(context.registry, tree, ValueType::Bits, shared)?;
            Some(decode_bits(decoder.as_ref(), bytes, block.n_items)?)
        }
    };
    if let Some(bits) = &validity {
        let nulls = n_items - BitSlice::new(bits, 0, n_items)?.count_ones();
        if nulls != block.header.null_count as usize {
            return Err(Error::corrupt(
                "block.null_count",
                28,
                block.header.null_count,
                "what the validity layer says",
            ));
        }
    }
    Ok(Layers { levels, validity })
}

fn decode_bits(decoder: &dyn tarsia_codec::Decoder, bytes: &[u8], n: u32) -> Result<Vec<u8>> {
    let unit = Unit {
        bytes,
        len: n,
        decoded_bytes: n.div_ceil(8),
    };
    let mut bits = vec![0; n.div_ceil(8) as usize];
    let out = Output::Bits {
        bytes: &mut bits,
        offset: 0,
    };
    decoder.decode(unit, Selection::All, &mut Scratch::new(), out)?;
    Ok(bits)
}

fn decode_levels(
    context: &BlockContext<'_>,
    shared: &[SharedBuffer],
    block: &Block<'_>,
) -> Result<CollectedLevels> {
    let stored = &context.meta.levels;
    let mut levels = CollectedLevels::new(stored.iter().map(Level::form));
    if block.header.present_rows == 0 {
        return Ok(levels);
    }
    // Parsing has bounded the slots of each level by what a block may decode to.
    let sections = LevelSections::of(block, stored)?;
    for (number, (level, section)) in stored.iter().zip(sections).enumerate() {
        let section = section?;
        let n_slots = section.n_slots as usize;
        match level {
            Level::AllValid => levels.push_validity(number, n_slots, None)?,
            Level::ConstantLength(_) => levels.push_constant(number, n_slots),
            Level::Validity(trees) => {
                let bits = match section.slots {
                    Slots::Encoded { tree, bytes } => {
                        let tree = tree_of(trees, tree, "level.tree")?;
                        let decoder =
                            build_decoder(context.registry, tree, ValueType::Bits, shared)?;
                        Some(decode_bits(decoder.as_ref(), bytes, section.n_slots)?)
                    }
                    Slots::AllNull => Some(vec![0; n_slots.div_ceil(8)]),
                    Slots::AllValid | Slots::ConstantLength(_) => None,
                };
                let bits = match &bits {
                    Some(bits) => Some(BitSlice::new(bits, 0, n_slots)?),
                    None => None,
                };
                let n_valid = bits.map_or(n_slots, |bits| bits.count_ones());
                check_below(&section, n_valid as u64)?;
                levels.push_validity(number, n_slots, bits)?;
            }
            Level::Lengths(trees) => match section.slots {
                Slots::Encoded { tree, bytes } => {
                    let tree = tree_of(trees, tree, "level.tree")?;
                    let value_type = ValueType::Fixed(4);
                    let decoder = build_decoder(context.registry, tree, value_type, shared)?;
                    let decoded_bytes = section.n_slots.saturating_mul(4);
                    let unit = Unit {
                        bytes,
                        len: section.n_slots,
                        decoded_bytes,
                    };
                    let mut lengths = AlignedBuf::zeroed(decoded_bytes as usize);
                    let out = Output::Fixed(&mut lengths);
                    decoder.decode(unit, Selection::All, &mut Scratch::new(), out)?;
                    let lengths = lengths.as_chunks().0.iter();
                    let lengths = lengths.map(|length| u32::from_le_bytes(*length));
                    check_below(&section, lengths.clone().map(u64::from).sum())?;
                    levels.push_lengths(number, lengths)?;
                }
                Slots::ConstantLength(length) => {
                    levels.push_lengths(number, core::iter::repeat_n(length, n_slots))?;
                }
                // Parsing allows neither.
                Slots::AllValid | Slots::AllNull => check_below(&section, u64::MAX)?,
            },
        }
    }
    levels.end_rows(block.header.present_rows as usize);
    Ok(levels)
}

fn check_below(section: &LevelSection<'_>, n_below: u64) -> Result<()> {
    match u64::from(section.n_below) == n_below {
        true => Ok(()),
        false => {
            let allowed = "as many as the level's slots say";
            Err(Error::corrupt(
                "level.slots_below",
                8,
                section.n_below,
                allowed,
            ))
        }
    }
}

/// The selected values of a block's unit, `n` of them, and the bytes that were written.
pub(super) fn decode_values(
    context: &BlockContext<'_>,
    shared: &[SharedBuffer],
    block: &Block<'_>,
    selection: Selection<'_>,
    n: u32,
) -> Result<(OwnedValues, usize)> {
    let (meta, header) = (context.meta, block.header);
    let value_type = meta
        .value_type
        .ok_or_else(|| Error::invalid("a page of type Null has nothing to erase"))?;
    let n_values = n as usize;
    // Header and limits bound both: a block decodes to 16 MiB at most, or to a multiple of its payload.
    let decoded_bytes = header.decoded_bytes as usize;
    let bytes_needed = match value_type {
        ValueType::Bits => n_values.div_ceil(8),
        ValueType::Fixed(width) => n_values.saturating_mul(width as usize),
        ValueType::Bytes => decoded_bytes,
    };
    if bytes_needed > decoded_bytes {
        return Err(Error::invalid("values beyond their block"));
    }
    let mut bytes = AlignedBuf::zeroed(bytes_needed);
    let mut ends = vec![
        0;
        if value_type == ValueType::Bytes {
            n_values
        } else {
            0
        }
    ];
    let mut written = bytes_needed;
    if n > 0 {
        let tree = tree_of(&meta.trees, header.tree, "block.tree")?;
        let decoder = build_decoder(context.registry, tree, value_type, shared)?;
        let unit = Unit {
            bytes: block.unit,
            len: header.n_values,
            decoded_bytes: header.decoded_bytes,
        };
        let out = match value_type {
            ValueType::Bits => Output::Bits {
                bytes: &mut bytes,
                offset: 0,
            },
            ValueType::Fixed(_) => Output::Fixed(&mut bytes),
            ValueType::Bytes => Output::Bytes {
                ends: &mut ends,
                base: 0,
                data: &mut bytes,
            },
        };
        let done = decoder.decode(unit, selection, &mut Scratch::new(), out)?;
        if value_type == ValueType::Bytes {
            written = done;
        }
    }
    let values = match value_type {
        ValueType::Bits => OwnedValues::Bits {
            bytes,
            len: n_values,
        },
        ValueType::Fixed(width) => OwnedValues::Fixed {
            bytes,
            width: width as usize,
            len: n_values,
        },
        ValueType::Bytes => OwnedValues::Bytes {
            offsets: core::iter::once(0).chain(ends).collect(),
            data: bytes,
        },
    };
    Ok((values, written))
}
