//! Shared buffers: which of their entries the rows that are left refer to, and the others wiped.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, Error, Output, OwnedValues, Result, Scratch, Selection, SharedBuffer, Unit,
    UsedEntries, ValueType, Values, build_decoder,
};
use tarsia_structure::block::{Block, BlockExpectation};

use super::context::{BlockContext, tree_of};
use super::decode::decode_present;

/// Notes in `used`, which has one for each shared buffer of the page, which entries of buffers of a kind with entries
/// the present rows of a block refer to, whatever encodings stand between the rows and the buffer. The filler of null
/// items refers to nothing: were its entry wiped, it would read as another filler.
///
/// # Errors
/// As [`decode_survivors`](crate::decode_survivors); [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput)
/// where there is not one for each buffer.
pub fn mark_used(
    context: &BlockContext<'_>,
    place: &[u8],
    rows: u32,
    used: &[Arc<UsedEntries>],
) -> Result<()> {
    let buffers = context.meta.shared_buffers(context.shared)?;
    if used.len() != buffers.len() {
        return Err(Error::invalid(
            "one note for each shared buffer of the page",
        ));
    }
    let of_all = |buffers: &[SharedBuffer]| -> Vec<SharedBuffer> {
        let recording = buffers.iter().zip(used);
        recording
            .map(|(buffer, used)| buffer.clone().recording(used.clone()))
            .collect()
    };
    let meta = context.meta;
    if buffers.is_empty() {
        return Ok(());
    }
    if meta.layers.is_empty() || meta.compact {
        return decode_present(context, &of_all(&buffers), place, rows).map(|_| ());
    }
    // What is valid first; then of the values those alone.
    let survivors = decode_present(context, &buffers, place, rows)?;
    let Some(validity) = survivors.validity() else {
        return Ok(());
    };
    let valid: Vec<u32> = (0..survivors.rows() as u32)
        .filter(|i| validity.get(*i as usize))
        .collect();
    // The validity layer's own shared buffers, if it has any, are all in use.
    let trees = meta.layers.iter().flat_map(|layer| &layer.trees);
    for tree in trees {
        tree.visit(&mut |node| {
            for number in &node.shared {
                if let Some(used) = used.get(usize::from(*number)) {
                    (0..used.len()).for_each(|i| used.insert(i));
                }
            }
        });
    }
    let expect = BlockExpectation::of(meta, rows)?;
    let block = Block::parse_erased(place, &expect)?;
    let header = block.header;
    if valid.is_empty() || header.n_values == 0 {
        return Ok(());
    }
    let value_type = survivors.values()?.value_type();
    let tree = tree_of(&meta.trees, header.tree, "block.tree")?;
    let decoder = build_decoder(context.registry, tree, value_type, &of_all(&buffers))?;
    let unit = Unit {
        bytes: block.unit,
        len: header.n_values,
        decoded_bytes: header.decoded_bytes,
    };
    let mut bytes = AlignedBuf::zeroed(header.decoded_bytes as usize);
    let mut ends = vec![
        0;
        if value_type == ValueType::Bytes {
            valid.len()
        } else {
            0
        }
    ];
    let out = match value_type {
        ValueType::Bits => Output::Bits {
            bytes: &mut bytes,
            offset: 0,
        },
        ValueType::Fixed(width) => {
            let len = valid.len() * width as usize;
            let bytes = bytes.get_mut(..len);
            Output::Fixed(bytes.ok_or_else(|| Error::invalid("values beyond their block"))?)
        }
        ValueType::Bytes => Output::Bytes {
            ends: &mut ends,
            base: 0,
            data: &mut bytes,
        },
    };
    decoder.decode(unit, Selection::Indices(&valid), &mut Scratch::new(), out)?;
    Ok(())
}

/// A copy of a shared buffer whose unused entries are zero, or strings of length 0. Entries keep their numbers. A
/// buffer of a kind that is needed whole ([`SharedKind::has_entries`](tarsia_codec::SharedKind::has_entries)) is copied
/// as it is.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there is not one flag per entry.
pub fn wipe_unused(buffer: &SharedBuffer, used: &UsedEntries) -> Result<OwnedValues> {
    let entries = buffer.values();
    if entries.len() != used.len() {
        return Err(Error::invalid("a shared buffer has a flag for each entry"));
    }
    if !buffer.kind().has_entries() {
        return Ok(OwnedValues::copy_of(entries.as_values()?));
    }
    let used: Vec<bool> = (0..used.len()).map(|i| used.contains(i)).collect();
    Ok(match entries.as_values()? {
        Values::Bits(bits) => {
            let mut bytes = AlignedBuf::zeroed(bits.len().div_ceil(8));
            for (i, used) in used.iter().enumerate() {
                bytes[i / 8] |= u8::from(*used && bits.get(i)) << (i % 8);
            }
            OwnedValues::Bits {
                bytes,
                len: bits.len(),
            }
        }
        Values::Fixed(fixed) => {
            let mut bytes = AlignedBuf::copy_of(fixed.bytes());
            for (i, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
                bytes[i * fixed.width()..(i + 1) * fixed.width()].fill(0);
            }
            OwnedValues::Fixed {
                bytes,
                width: fixed.width(),
                len: fixed.len(),
            }
        }
        Values::Bytes(strings) => {
            let mut offsets = vec![0];
            let mut data = Vec::new();
            for (i, used) in used.iter().enumerate() {
                if *used {
                    data.extend_from_slice(strings.get(i));
                }
                // The strings were addressed by u32, so a subset of them is too.
                offsets.push(data.len() as u32);
            }
            OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(&data),
            }
        }
    })
}
