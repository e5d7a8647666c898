//! Decoding the present rows of a block.

use alloc::vec;

use tarsia_codec::{
    AlignedBuf, BitSlice, Error, Output, OwnedValues, Result, Scratch, Selection, SharedBuffer,
    Unit, ValueType, build_decoder,
};
use tarsia_structure::block::{Block, BlockExpectation, Validity};

use super::context::{BlockContext, refuse_nested, tree_of};
use super::survivors::Survivors;
use crate::full_zip::erase::survivors_of_strings;

/// Decodes the present rows of a block, erased ones being absent.
///
/// # Errors
/// What [`Block::parse_erased`] and the decoders refuse;
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
    let meta = context.meta;
    let full_zip = refuse_nested(meta)?;
    let value_type = meta
        .value_type
        .ok_or_else(|| Error::invalid("a page of type Null has nothing to erase"))?;
    let expect = BlockExpectation::of(meta, rows)?;
    let block = Block::parse_erased(place, &expect)?;
    let header = block.header;
    let rows = header.present_rows as usize;
    if let Some(form) = full_zip {
        return survivors_of_strings(form, &block);
    }
    let mut scratch = Scratch::new();
    let validity = match (meta.layers.first(), block.validity) {
        (None, _) => None,
        (Some(_), Validity::AllValid) => Some(vec![0xff; rows.div_ceil(8)]),
        (Some(_), Validity::AllNull) => Some(vec![0; rows.div_ceil(8)]),
        (Some(layer), Validity::Encoded { tree, bytes }) => {
            let tree = tree_of(&layer.trees, tree, "layer.tree")?;
            let decoder = build_decoder(context.registry, tree, ValueType::Bits, shared)?;
            let unit = Unit {
                bytes,
                len: header.present_rows,
                decoded_bytes: header.present_rows.div_ceil(8),
            };
            let mut bits = vec![0; rows.div_ceil(8)];
            let out = Output::Bits {
                bytes: &mut bits,
                offset: 0,
            };
            decoder.decode(unit, Selection::All, &mut scratch, out)?;
            Some(bits)
        }
    };
    if let Some(bits) = &validity {
        let nulls = rows - BitSlice::new(bits, 0, rows)?.count_ones();
        if nulls != header.null_count as usize {
            return Err(Error::corrupt(
                "block.null_count",
                28,
                header.null_count,
                "what the validity layer says",
            ));
        }
    }
    // Header and limits bound both: a block decodes to 16 MiB at most, or to a multiple of its payload.
    let (n, decoded_bytes) = (header.n_values as usize, header.decoded_bytes as usize);
    let mut bytes = AlignedBuf::zeroed(decoded_bytes);
    let mut ends = vec![0; if value_type == ValueType::Bytes { n } else { 0 }];
    let mut written = decoded_bytes;
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
        let done = decoder.decode(unit, Selection::All, &mut scratch, out)?;
        if value_type == ValueType::Bytes {
            written = done;
        }
    }
    if written != decoded_bytes {
        return Err(Error::corrupt(
            "block.decoded_bytes",
            20,
            header.decoded_bytes,
            "the bytes of the strings",
        ));
    }
    let values = match value_type {
        ValueType::Bits => OwnedValues::Bits { bytes, len: n },
        ValueType::Fixed(width) => OwnedValues::Fixed {
            bytes,
            width: width as usize,
            len: n,
        },
        ValueType::Bytes => OwnedValues::Bytes {
            offsets: core::iter::once(0).chain(ends).collect(),
            data: bytes,
        },
    };
    Ok(Survivors {
        rows,
        validity,
        values,
    })
}
