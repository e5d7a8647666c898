//! Children as an array, and selections for layouts that have none of their own.

use alloc::boxed::Box;

use crate::{
    BitSlice, BytesOutput, Children, Decoder, Error, Output, Result, Scratch, Selection, Unit,
    ValueType,
};

/// The children as an array, for an encoding with `N` children.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another number of children.
/// [`build_decoder`](crate::build_decoder) has refused it before.
pub fn children_of<const N: usize>(children: Children) -> Result<[Box<dyn Decoder>; N]> {
    children
        .try_into()
        .map_err(|_| Error::invalid("a node with another number of children"))
}

/// Copies the selected bits of a unit to `out`: the decoder of every layout that is one bitmap. Returns 0, the bytes of
/// byte strings.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a selection or an output that does not fit.
pub fn decode_bits(bits: BitSlice<'_>, selection: Selection<'_>, out: Output<'_>) -> Result<usize> {
    let n_selected = selection.check(bits.len() as u32)?;
    let (to, offset) = out.into_bits(n_selected)?;
    let range = match selection {
        Selection::All => bits,
        Selection::Range { start, .. } => {
            let start = start as usize;
            bits.slice(start..start + n_selected)
        }
        Selection::Indices(indices) => {
            for (i, index) in indices.iter().enumerate() {
                let bit = u8::from(bits.get(*index as usize));
                let at = offset + i;
                if let Some(byte) = to.get_mut(at / 8) {
                    *byte = *byte & !(1 << (at % 8)) | bit << (at % 8);
                }
            }
            return Ok(0);
        }
    };
    tarsia_bits::copy_bits(to, offset, range.bytes(), range.offset(), range.len())
        .map_err(|_| Error::invalid("the output is not sized for these bits"))?;
    Ok(0)
}

/// Implements selections for a decoder that can only decode whole units: decodes all values into scratch memory, then
/// copies the selected ones.
///
/// # Errors
/// As [`Decoder::decode`].
pub fn decode_by_gather(
    decoder: &dyn Decoder,
    value_type: ValueType,
    unit: Unit<'_>,
    selection: Selection<'_>,
    scratch: &mut Scratch,
    out: Output<'_>,
) -> Result<usize> {
    let n_selected = selection.check(unit.len)?;
    let n_all = unit.len as usize;
    let index = |i: usize| match selection {
        Selection::All => i,
        Selection::Range { start, .. } => start as usize + i,
        Selection::Indices(indices) => indices.get(i).copied().unwrap_or_default() as usize,
    };
    match value_type {
        ValueType::Fixed(width) => {
            let width = width as usize;
            let to = out.into_fixed(width, n_selected)?;
            let mut all = scratch.take(n_all * width);
            let done = decoder.decode(unit, Selection::All, scratch, Output::Fixed(&mut all));
            if done.is_ok() && width > 0 {
                for (i, to) in to.chunks_exact_mut(width).enumerate() {
                    let from = index(i) * width;
                    to.copy_from_slice(&all[from..from + width]);
                }
            }
            scratch.give(all);
            done.map(|_| 0)
        }
        ValueType::Bits => {
            let (to, offset) = out.into_bits(n_selected)?;
            let mut all = scratch.take(n_all.div_ceil(8));
            let done = decoder.decode(
                unit,
                Selection::All,
                scratch,
                Output::Bits {
                    bytes: &mut all,
                    offset: 0,
                },
            );
            if done.is_ok() {
                for i in 0..n_selected {
                    let from = index(i);
                    let bit = all[from / 8] >> (from % 8) & 1;
                    let at = offset + i;
                    to[at / 8] = to[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
                }
            }
            scratch.give(all);
            done.map(|_| 0)
        }
        ValueType::Bytes => {
            let BytesOutput { ends, base, data } = out.into_bytes(n_selected)?;
            let mut all = scratch.take(unit.decoded_bytes as usize);
            let mut all_ends = scratch.take(n_all * 4);
            let all_ends_u32: &mut [u32] = bytemuck::cast_slice_mut(&mut all_ends);
            let done = decoder.decode(
                unit,
                Selection::All,
                scratch,
                Output::Bytes {
                    ends: all_ends_u32,
                    base: 0,
                    data: &mut all,
                },
            );
            let copied = done.and_then(|_| {
                let mut written = 0usize;
                for (i, end) in ends.iter_mut().enumerate() {
                    let i = index(i);
                    let from = match i {
                        0 => 0,
                        _ => all_ends_u32[i - 1] as usize,
                    };
                    let value = all
                        .get(from..all_ends_u32[i] as usize)
                        .ok_or_else(|| Error::invalid("a decoder returned bad ends"))?;
                    let to = data
                        .get_mut(written..written + value.len())
                        .ok_or_else(|| {
                            Error::invalid("the output is too short for the selection")
                        })?;
                    to.copy_from_slice(value);
                    written += value.len();
                    *end = base.wrapping_add(written as u32);
                }
                Ok(written)
            });
            scratch.give(all_ends);
            scratch.give(all);
            copied
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_are_checked_and_selected() {
        let unit = |bytes: &'static [u8]| Unit {
            bytes,
            len: 10,
            decoded_bytes: 0,
        };
        let parse = |bytes| unit(bytes).bitmap("a", "b").map(|bits| bits.len());
        assert_eq!(parse(&[0xff, 3]), Ok(10));
        assert_eq!(parse(&[0xff]), Err(Error::truncated("a", 2, 1)));
        let after = Error::corrupt("a", 2, 1, "no bytes after the last value");
        assert_eq!(parse(&[0xff, 3, 0]), Err(after));
        assert_eq!(parse(&[0, 4]), Err(Error::corrupt("b", 1, 1, "zero")));
        let select = |selection: Selection<'_>| {
            let bits = unit(&[0b1000_0010, 0b01]).bitmap("a", "b")?;
            let mut bytes = [0b1, 0];
            let out = Output::Bits {
                bytes: &mut bytes,
                offset: 1,
            };
            decode_bits(bits, selection, out).map(|_| bytes)
        };
        assert_eq!(select(Selection::All), Ok([0b0000_0101, 0b11]));
        let range = |start, len| Selection::Range { start, len };
        assert_eq!(select(range(7, 3)), Ok([0b0111, 0]));
        assert_eq!(select(Selection::Indices(&[0, 1, 1, 9])), Ok([0b1101, 0]));
        assert!(select(range(8, 3)).is_err());
        assert!(select(Selection::Indices(&[10])).is_err());
    }
}
