//! Pages of strict columns: what an erasure leaves of them is a function of the rows that are left, of the type and of
//! the number of rows, and of nothing else.
//!
//! All that other pages choose for their values is fixed here. There is one tree for each part, the chooser's, which
//! must not depend on values. All levels that may have nulls are stored, and the validity of items that may be null,
//! also where none is. Blocks have equally many rows, and their places the room that any values of these rows take.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, Error, Registry, Result, RowStarts, Tree, TreeWriter, ValueType, limits,
};
use tarsia_structure::block::{BLOCK_ALIGN, BlockHeader};
use tarsia_structure::layout::SECTION_HEADER_BYTES;
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta};

use crate::encode::PageRows;
use crate::levels::{LAYER_HEADER_BYTES, Nested};
use crate::mini_block::{Encoder, Fit, LAYER_BYTES_ALLOWED, is_chunked};
use crate::nulls::filled;
use crate::page::{BLOCK_PAYLOAD_BYTES_TARGET, BlockRows, EncodeContext, EncodedPage, PageInput};
use crate::prepare::Prepared;
use crate::seal::length;

/// Why rows of a type cannot be strict, in words that follow a colon; `None` if they can. `forms` are the levels above
/// the items.
pub fn not_strict(forms: &[LevelForm], value_type: Option<ValueType>) -> Option<&'static str> {
    let has_lengths = forms.iter().any(|form| matches!(form, LevelForm::Lengths));
    match value_type {
        _ if has_lengths => Some("the places of blocks tell the lengths of lists"),
        Some(ValueType::Bytes) => {
            Some("the places of blocks tell the lengths of texts and binary data")
        }
        _ => None,
    }
}

/// Encodes a run of rows as a page of a strict column; `nullable` says whether items may be null. The chooser names one
/// tree for each type of values, whatever they are.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for values that are [not strict](not_strict), and
/// where levels, validity and values differ in length; what encoders refuse.
pub fn encode_strict_page(
    input: PageInput<'_>,
    nullable: bool,
    context: &EncodeContext<'_>,
) -> Result<EncodedPage> {
    let n_items = input.values.len();
    let n_rows = input.levels.map_or(n_items, |levels| levels.rows());
    let items_of_levels = input.levels.map_or(n_items, |levels| levels.n_items());
    if items_of_levels != n_items || input.validity.is_some_and(|bits| bits.len() != n_items) {
        return Err(Error::invalid(
            "levels, validity and values differ in length",
        ));
    }
    let all_valid = vec![0xff; n_items.div_ceil(8)];
    let validity = match input.validity {
        Some(bits) if nullable || bits.count_ones() < n_items => Some(bits),
        None if nullable => Some(BitSlice::new(&all_valid, 0, n_items)?),
        _ => None,
    };
    let null_count = validity.map_or(0, |bits| n_items - bits.count_ones());
    let cleaned = validity.map(|bits| filled(input.values, bits));
    let values = match &cleaned {
        Some(cleaned) => cleaned.as_values()?,
        None => input.values,
    };
    let row_starts = PageRows {
        levels: input.levels,
        validity: None,
    };
    let statistics = input.statistics(
        values,
        input.levels.map(|_| &row_starts as &dyn RowStarts),
        context,
    );
    let choice = context.chooser.choose(&statistics)?;
    let mut prepared = Prepared::new(context);
    let nested = match input.levels {
        Some(levels) => Some(Nested::strict(levels, context, &mut prepared)?),
        None => None,
    };
    let levels = nested.iter().flat_map(|nested| &nested.levels);
    let levels: Vec<Level> = levels.map(|(level, _)| level.clone()).collect();
    let mut layers = vec![];
    let mut validity_encoders = None;
    if let Some(bits) = validity {
        let (trees, encoders) = prepared.bits(bits, context)?;
        layers.push(Layer {
            kind: LayerKind::ItemValidity,
            trees,
        });
        validity_encoders = Some((bits, encoders));
    }
    let (trees, encoders) = prepared.page(&choice, &statistics, context)?;
    let meta = Meta {
        layout: Layout::MiniBlock,
        value_type: Some(values.value_type()),
        compact: false,
        levels,
        layers,
        trees,
        shared: vec![],
    };
    if !is_strict(&meta, nullable, context.registry)? || !prepared.shared.to_vec()?.is_empty() {
        return Err(Error::invalid(
            "a chooser whose trees are not those of strict columns",
        ));
    }
    let mut encoder = Encoder {
        nested,
        values,
        validity: validity_encoders,
        compact: false,
        trees: encoders,
        checksum: context.checksum,
        shared: &[],
        bytes: Vec::new(),
        starts: Vec::new(),
    };
    let mut block_rows = block_rows(&meta, context.registry)?;
    while let Fit::TooLarge = encoder.try_uniform(n_rows, block_rows as usize, None)? {
        block_rows = match block_rows {
            1 => return Err(Error::invalid("a value is too large for a block")),
            rows => rows / 2,
        };
    }
    Ok(EncodedPage {
        bytes: encoder.bytes,
        starts: encoder.starts,
        block_rows: BlockRows::Uniform(block_rows.trailing_zeros() as u8),
        rows: n_rows as u64,
        null_count: null_count as u64,
        meta,
        shared: vec![],
    })
}

/// Whether the description of a page is that of a strict column, whose items may be null if they are `nullable`: it
/// would be the same for any values of as many rows.
///
/// # Errors
/// What [`TreeWriter::new`] refuses: a tree that this build does not write.
pub fn is_strict(meta: &Meta, nullable: bool, registry: &Registry) -> Result<bool> {
    let is_fixed = |level: &Level| match level {
        Level::Validity(_) | Level::ConstantLength(_) => true,
        Level::AllValid | Level::Lengths(_) => false,
    };
    let mut told = Vec::new();
    for (tree, value_type) in trees(meta) {
        TreeWriter::new(registry, tree, value_type)?.residue(&mut told);
    }
    Ok(meta.layout == Layout::MiniBlock
        && !meta.compact
        && meta.shared.is_empty()
        && meta.levels.iter().all(is_fixed)
        && (!meta.layers.is_empty() || !nullable)
        && trees(meta).count() == 1 + meta.layers.len() + n_validities(meta)
        && told.is_empty())
}

fn n_validities(meta: &Meta) -> usize {
    let is_validity = |level: &&Level| matches!(level, Level::Validity(_));
    meta.levels.iter().filter(is_validity).count()
}

/// All trees of a page, each with the type of its values.
fn trees(meta: &Meta) -> impl Iterator<Item = (&Tree, ValueType)> {
    let levels = meta.levels.iter().flat_map(Level::trees);
    let layers = meta.layers.iter().flat_map(|layer| &layer.trees);
    let bits = levels.chain(layers).map(|tree| (tree, ValueType::Bits));
    let value_type = meta.value_type.unwrap_or(ValueType::Bits);
    bits.chain(meta.trees.iter().map(move |tree| (tree, value_type)))
}

/// The bytes of the place of a block of so many rows in a page of a strict column: what any values of them take. `None`
/// for the description of another page.
///
/// # Errors
/// What [`TreeWriter::new`] refuses.
pub fn strict_place_bytes(meta: &Meta, rows: u32, registry: &Registry) -> Result<Option<u64>> {
    let Some(sizes) = Sizes::of(meta, rows.into(), registry)? else {
        return Ok(None);
    };
    let payload = usize::try_from(sizes.payload)
        .map_err(|_| Error::invalid("a block is larger than 4 GiB"))?;
    let header = BlockHeader {
        tree: 0,
        salted: true,
        chunked: is_chunked(!meta.levels.is_empty(), rows as usize, payload),
        indexed: false,
        logical_rows: rows,
        present_rows: rows,
        n_values: 0,
        decoded_bytes: 0,
        payload_bytes: length(payload)?,
        crc: 0,
        null_count: 0,
    };
    Ok(Some(
        header.block_bytes().next_multiple_of(BLOCK_ALIGN as u64),
    ))
}

/// The most that rows of a page take.
struct Sizes {
    items: u64,
    payload: u64,
}

impl Sizes {
    fn of(meta: &Meta, rows: u64, registry: &Registry) -> Result<Option<Self>> {
        let padded = |bytes: u64| bytes.next_multiple_of(BLOCK_ALIGN as u64);
        let bound = |tree, value_type, n: u64| -> Result<u64> {
            let decoded = match value_type {
                ValueType::Bits => n.div_ceil(8),
                ValueType::Fixed(width) => n.saturating_mul(width.into()),
                ValueType::Bytes => {
                    return Err(Error::invalid("byte strings have no largest size"));
                }
            };
            Ok(TreeWriter::new(registry, tree, value_type)?.encoded_bytes_max(n, decoded))
        };
        let mut items = rows;
        let mut payload = 0u64;
        if !meta.levels.is_empty() {
            payload += BLOCK_ALIGN as u64;
        }
        for level in &meta.levels {
            match level {
                Level::Validity(trees) => {
                    let Some(tree) = trees.first() else {
                        return Ok(None);
                    };
                    let slots = padded(bound(tree, ValueType::Bits, items)?);
                    payload = payload.saturating_add(SECTION_HEADER_BYTES as u64 + slots);
                }
                Level::ConstantLength(n) => items = items.saturating_mul((*n).into()),
                Level::AllValid | Level::Lengths(_) => return Ok(None),
            }
        }
        for tree in meta.layers.iter().filter_map(|layer| layer.trees.first()) {
            let bits = padded(bound(tree, ValueType::Bits, items)?);
            payload = payload.saturating_add(LAYER_HEADER_BYTES as u64 + bits);
        }
        let (Some(tree), Some(value_type)) = (meta.trees.first(), meta.value_type) else {
            return Ok(None);
        };
        if value_type == ValueType::Bytes {
            return Ok(None);
        }
        let values = bound(tree, value_type, items)?;
        Ok(Some(Self {
            items,
            payload: payload.saturating_add(values),
        }))
    }
}

/// Rows of each block of a page but the last: the largest power of two that fits the target.
fn block_rows(meta: &Meta, registry: &Registry) -> Result<u32> {
    let most = (BLOCK_PAYLOAD_BYTES_TARGET + LAYER_BYTES_ALLOWED) as u64;
    let mut rows = limits::BLOCK_ROWS_MAX;
    while rows > 1 {
        let sizes = Sizes::of(meta, rows.into(), registry)?;
        let sizes = sizes.ok_or_else(|| Error::invalid("no page of a strict column"))?;
        if sizes.payload <= most && sizes.items <= u64::from(limits::BLOCK_VALUES_MAX) {
            break;
        }
        rows /= 2;
    }
    Ok(rows)
}
