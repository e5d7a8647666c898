//! Shared buffers: which of their entries the rows that are left refer to, and the others wiped.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BitSlice, BytesSlice, Error, OwnedValues, Registry, Result, Selection,
    SharedBuffer, UsedEntries, ValueType, Values,
};
use tarsia_structure::block::BlockHeader;
use tarsia_structure::meta::Layout;

use super::context::BlockContext;
use super::decode::{decode_layers, decode_values, parse};
use crate::page::EncodedPage;

/// Longer strings are not repeated in wiped entries.
const REPEATED_BYTES_MAX: u32 = 64;

/// Notes in `used`, which has one for each shared buffer of the page, which entries of buffers of a kind with entries
/// the present rows of a block refer to, whatever encodings stand between the rows and the buffer: their levels, the
/// validity of their items, and their valid values. The filler of null items refers to nothing: were its entry wiped,
/// it would read as another filler. But an entry that is the empty string stays as it is where it is filler, since
/// blocks store how many bytes their strings have.
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
    let meta = context.meta;
    // The rows of full-zip pages are stored as they are.
    if buffers.is_empty() || meta.layout == Layout::FullZip {
        return Ok(());
    }
    let recording = recorded(&buffers, used);
    let block = parse(context, place, rows)?;
    // What levels and validity refer to is in use: they have slots of survivors only.
    let layers = decode_layers(context, &recording, &block)?;
    let n_values = block.header.n_values;
    // Of values with filler among them, the valid ones alone.
    let Some(bits) = layers.validity.as_ref().filter(|_| !meta.compact) else {
        decode_values(context, &recording, &block, Selection::All, n_values)?;
        return Ok(());
    };
    let bits = BitSlice::new(bits, 0, block.n_items as usize)?;
    let (valid, null): (Vec<u32>, Vec<u32>) = (0..n_values).partition(|i| bits.get(*i as usize));
    let decode = |recording: &[SharedBuffer], indices: &[u32]| {
        let (selection, n) = (Selection::Indices(indices), indices.len() as u32);
        decode_values(context, recording, &block, selection, n).map(drop)
    };
    decode(&recording, &valid)?;
    if null.is_empty() || meta.value_type != Some(ValueType::Bytes) {
        return Ok(());
    }
    let of_filler: Vec<_> = used
        .iter()
        .map(|used| Arc::new(UsedEntries::none_of(used.len())))
        .collect();
    decode(&recorded(&buffers, &of_filler), &null)?;
    for ((buffer, of_filler), used) in buffers.iter().zip(&of_filler).zip(used) {
        let Values::Bytes(entries) = buffer.values().as_values()? else {
            continue;
        };
        let filler = (0..entries.len()).filter(|i| of_filler.contains(*i));
        filler
            .filter(|i| entries.value_bytes(*i) == 0)
            .for_each(|i| used.insert(i));
    }
    Ok(())
}

/// The buffers, which note in `used` what is read of each.
fn recorded(buffers: &[SharedBuffer], used: &[Arc<UsedEntries>]) -> Vec<SharedBuffer> {
    let recording = buffers.iter().zip(used);
    recording
        .map(|(buffer, used)| buffer.clone().recording(used.clone()))
        .collect()
}

/// Which entries of the shared buffers of a page that was just encoded its blocks refer to.
///
/// # Errors
/// As [`mark_used`].
pub fn used_entries(
    page: &EncodedPage,
    registry: &Registry,
    checksum: fn(&[u8]) -> u32,
) -> Result<Vec<Arc<UsedEntries>>> {
    let used = page.shared.iter();
    let used: Vec<_> = used
        .map(|values| Arc::new(UsedEntries::none_of(values.len())))
        .collect();
    if used.is_empty() {
        return Ok(used);
    }
    let context = BlockContext {
        registry,
        meta: &page.meta,
        shared: &page.shared,
        checksum,
    };
    for block in 0..page.starts.len() {
        let bytes = page.block(block);
        let rows = BlockHeader::parse(bytes)?.logical_rows;
        mark_used(&context, bytes, rows, &used)?;
    }
    Ok(used)
}

/// A copy of a shared buffer whose unused entries tell nothing. Values of fixed width are those of the last used entry
/// before them, or zeros where there is none, so that what was sorted stays sorted and runs stay runs. So are strings
/// where all used ones that are not empty have one length of at most 64 bytes: constant lengths stay so. Other strings
/// have length 0. Entries keep their numbers, and of equal ones the first is a used one. A buffer of a kind that is
/// needed whole ([`SharedKind::has_entries`](tarsia_codec::SharedKind::has_entries)) is copied as it is.
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
            let zero = vec![0; fixed.width()];
            let mut before = &zero[..];
            for (i, used) in used.iter().enumerate() {
                match used {
                    true => before = fixed.get(i),
                    false => {
                        bytes[i * fixed.width()..(i + 1) * fixed.width()].copy_from_slice(before)
                    }
                }
            }
            OwnedValues::Fixed {
                bytes,
                width: fixed.width(),
                len: fixed.len(),
            }
        }
        Values::Bytes(strings) => {
            let zeros = vec![0; one_length_of(&strings, &used).unwrap_or(0)];
            let mut before = &zeros[..];
            let mut offsets = vec![0];
            let mut data = Vec::new();
            for (i, used) in used.iter().enumerate() {
                if *used {
                    data.extend_from_slice(strings.get(i));
                    if !zeros.is_empty() && !strings.get(i).is_empty() {
                        before = strings.get(i);
                    }
                } else {
                    data.extend_from_slice(before);
                }
                let end = u32::try_from(data.len());
                offsets.push(end.map_err(|_| Error::invalid("a shared buffer of 4 GiB and more"))?);
            }
            OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(&data),
            }
        }
    })
}

/// The length that all used strings but empty ones have, if it is short: a file may hold few strings and very many
/// unused entries.
fn one_length_of(strings: &BytesSlice<'_>, used: &[bool]) -> Option<usize> {
    let used = used.iter().enumerate().filter(|(_, used)| **used);
    let lengths = used.map(|(i, _)| strings.value_bytes(i));
    let mut lengths = lengths.filter(|length| *length > 0);
    let first = lengths.next()?;
    let is_one = first <= REPEATED_BYTES_MAX && lengths.all(|length| length == first);
    is_one.then_some(first as usize)
}

#[cfg(test)]
mod tests {
    use tarsia_codec::{FixedSlice, SharedKind};

    use super::*;

    fn wiped(values: Values<'_>, used: &[usize]) -> OwnedValues {
        let set = UsedEntries::none_of(values.len());
        used.iter().for_each(|entry| set.insert(*entry));
        let buffer = Arc::new(OwnedValues::copy_of(values));
        wipe_unused(&SharedBuffer::new(SharedKind::Dictionary, buffer), &set).unwrap()
    }

    #[test]
    fn wiped_values_are_those_before_them() {
        let entries: Vec<u8> = [700u16, 800, 900, 1000, 1100]
            .iter()
            .flat_map(|entry| entry.to_le_bytes())
            .collect();
        let values = Values::Fixed(FixedSlice::new(&entries, 2, 5).unwrap());
        let left = |used: &[usize]| -> Vec<u16> {
            let wiped = wiped(values, used);
            let wiped = wiped.as_values().unwrap().as_fixed().unwrap();
            (0..5)
                .map(|i| u16::from_le_bytes(*wiped.get(i).first_chunk().unwrap()))
                .collect()
        };
        assert_eq!(left(&[0, 1, 2, 3, 4]), [700, 800, 900, 1000, 1100]);
        assert_eq!(left(&[0, 3]), [700, 700, 700, 1000, 1000]);
        assert_eq!(left(&[2]), [0, 0, 900, 900, 900]);
        assert_eq!(left(&[]), [0; 5]);
    }

    #[test]
    fn wiped_strings_are_empty() {
        let strings = BytesSlice::new(&[0, 3, 5, 5, 9], b"oakelmtree").unwrap();
        let wiped = wiped(Values::Bytes(strings), &[0, 3]);
        let wiped = wiped.as_values().unwrap().as_bytes().unwrap();
        let left: Vec<&[u8]> = (0..4).map(|i| wiped.get(i)).collect();
        assert_eq!(left, [&b"oak"[..], b"", b"", b"mtre"]);
    }

    #[test]
    fn wiped_strings_have_the_length_that_the_others_have() {
        let strings = BytesSlice::new(&[0, 3, 6, 9, 10, 13, 13], b"oakelmyewabox").unwrap();
        let left = |used: &[usize]| -> Vec<Vec<u8>> {
            let wiped = wiped(Values::Bytes(strings), used);
            let wiped = wiped.as_values().unwrap().as_bytes().unwrap();
            (0..6).map(|i| wiped.get(i).to_vec()).collect()
        };
        let of = |strings: [&str; 6]| strings.map(|it| it.as_bytes().to_vec());
        let expected = of(["oak", "oak", "yew", "yew", "box", "box"]);
        assert_eq!(left(&[0, 2, 4]), expected);
        // An empty string is not repeated.
        let expected = of(["\0\0\0", "elm", "elm", "elm", "elm", ""]);
        assert_eq!(left(&[1, 5]), expected);
        assert_eq!(left(&[0, 3]), of(["oak", "", "", "a", "", ""]));
        assert_eq!(left(&[5]), of([""; 6]));
        assert_eq!(left(&[]), of([""; 6]));
    }
}
