//! Values whose nulls or erased rows have been dealt with: dropped, or replaced by filler.

use alloc::vec;
use alloc::vec::Vec;

use alloc::sync::Arc;

use tarsia_codec::{
    BitSlice, BytesSlice, Error, FixedSlice, OwnedValues, Result, SharedSpec, Values,
};

/// Values copied because nulls or erased rows had to be dealt with.
pub(crate) enum CopiedValues {
    Bits(Vec<u8>, usize),
    Fixed(Vec<u8>, usize, usize),
    Bytes(Vec<u32>, Vec<u8>),
}

impl CopiedValues {
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
) -> Result<CopiedValues> {
    let valid = (0..validity.len()).filter(|i| validity.get(*i));
    Ok(match values {
        Values::Bits(bits) => {
            let mut out = vec![0; n_valid.div_ceil(8)];
            for (to, from) in valid.enumerate() {
                out[to / 8] |= u8::from(bits.get(from)) << (to % 8);
            }
            CopiedValues::Bits(out, n_valid)
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
            CopiedValues::Fixed(out, fixed.width(), n_valid)
        }
        Values::Bytes(strings) => {
            let mut offsets = Vec::with_capacity(n_valid + 1);
            offsets.push(0);
            if is_filled(values, validity) {
                let first = strings.offsets().first().copied().unwrap_or_default();
                let ends = strings.offsets().get(1..).unwrap_or_default();
                offsets.extend(valid.filter_map(|i| ends.get(i)).map(|end| end - first));
                return Ok(CopiedValues::Bytes(offsets, strings.value_data().to_vec()));
            }
            let mut data = Vec::new();
            for i in valid {
                data.extend_from_slice(strings.get(i));
                // The input's offsets are u32, so a subset's are too.
                offsets.push(data.len() as u32);
            }
            CopiedValues::Bytes(offsets, data)
        }
    })
}

/// Whether nothing stands under nulls: strings that were collected from arrays are empty there.
pub(crate) fn is_filled(values: Values<'_>, validity: BitSlice<'_>) -> bool {
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

/// One value per item, null items holding filler: the last valid value of fixed width before (the first valid one where
/// there is none, zero where none is valid), `false`, or the empty string.
///
/// In a block, filler must be a function of that block alone: else it would outlive the row that it was taken from. So
/// filler of a page is not yet that of its blocks ([`of_block`]).
pub(crate) fn filled(values: Values<'_>, validity: BitSlice<'_>) -> CopiedValues {
    let rows = validity.len();
    match values {
        Values::Bits(bits) => {
            let mut out = Vec::with_capacity(rows.div_ceil(8) + 8);
            for i in (0..rows).step_by(64) {
                out.extend_from_slice(&(bits.word(i) & validity.word(i)).to_le_bytes());
            }
            out.truncate(rows.div_ceil(8));
            CopiedValues::Bits(out, rows)
        }
        Values::Fixed(fixed) => {
            let width = fixed.width();
            let mut out = fixed.bytes().to_vec();
            match width {
                1 => fill::<1>(&mut out, validity),
                2 => fill::<2>(&mut out, validity),
                4 => fill::<4>(&mut out, validity),
                8 => fill::<8>(&mut out, validity),
                16 => fill::<16>(&mut out, validity),
                _ => fill_wide(&mut out, width, validity),
            }
            CopiedValues::Fixed(out, width, rows)
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
            CopiedValues::Bytes(offsets, data)
        }
    }
}

/// The values of a block of a page that is [`filled`], where they are others than the page has: null items in front of
/// the first valid one hold a value of another block there.
pub(crate) fn of_block(values: Values<'_>, validity: BitSlice<'_>) -> Option<CopiedValues> {
    let Values::Fixed(fixed) = values else {
        return None;
    };
    if validity.is_empty() || validity.get(0) {
        return None;
    }
    let (width, len) = (fixed.width(), fixed.len());
    let mut bytes = fixed.bytes().to_vec();
    let n_head = first_valid(validity).unwrap_or(len);
    let (head, rest) = bytes.split_at_mut(n_head * width);
    match rest.get(..width) {
        Some(first) if width > 0 => {
            let slots = head.chunks_exact_mut(width);
            slots.for_each(|slot| slot.copy_from_slice(first));
        }
        _ => head.fill(0),
    }
    Some(CopiedValues::Fixed(bytes, width, len))
}

/// Returns the filler of a block in which no item is valid, if the page's encodings do not hold zero: the first entry
/// of the page's dictionary of the values' type, which does not count as used. `None` without such a dictionary.
pub(crate) fn other_filler(
    values: Values<'_>,
    shared: &[(SharedSpec, Arc<OwnedValues>)],
) -> Result<Option<CopiedValues>> {
    let Values::Fixed(fixed) = values else {
        return Ok(None);
    };
    let value_type = values.value_type();
    let is_dictionary =
        |spec: &SharedSpec| spec.kind.has_entries() && spec.value_type == value_type;
    let Some((_, dictionary)) = shared.iter().find(|(spec, _)| is_dictionary(spec)) else {
        return Ok(None);
    };
    Ok(match dictionary.as_values()? {
        Values::Fixed(entries) if entries.width() == fixed.width() && !entries.is_empty() => {
            let bytes = entries.get(0).repeat(fixed.len());
            Some(CopiedValues::Fixed(bytes, fixed.width(), fixed.len()))
        }
        _ => None,
    })
}

/// Null values become the one before them, or the first valid one, or zero.
fn fill<const W: usize>(values: &mut [u8], validity: BitSlice<'_>) {
    let (values, _) = values.as_chunks_mut::<W>();
    let first = first_valid(validity).and_then(|i| values.get(i));
    let mut before = first.copied().unwrap_or([0; W]);
    for base in (0..values.len()).step_by(64) {
        let n = (values.len() - base).min(64);
        let mut nulls = !validity.word(base) & u64::MAX >> (64 - n);
        while nulls != 0 {
            let i = base + nulls.trailing_zeros() as usize;
            if let Some(known) = i.checked_sub(1).and_then(|i| values.get(i)) {
                before = *known;
            }
            if let Some(value) = values.get_mut(i) {
                *value = before;
            }
            nulls &= nulls - 1;
        }
    }
}

/// Fills values of other widths.
fn fill_wide(values: &mut [u8], width: usize, validity: BitSlice<'_>) {
    let first = first_valid(validity);
    for i in (0..validity.len()).filter(|i| !validity.get(*i)) {
        match i.checked_sub(1).or(first) {
            Some(from) => values.copy_within(from * width..(from + 1) * width, i * width),
            None => values[i * width..(i + 1) * width].fill(0),
        }
    }
}

fn first_valid(validity: BitSlice<'_>) -> Option<usize> {
    (0..validity.len()).step_by(64).find_map(|base| {
        let word = validity.word(base);
        (word != 0).then(|| base + word.trailing_zeros() as usize)
    })
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

    /// Returns what null items of `values` must hold, if all of them are one block.
    fn expected(values: &[u8], width: usize, validity: BitSlice<'_>) -> Vec<u8> {
        let mut expect = values.to_vec();
        let rows = validity.len();
        for i in (0..rows).filter(|i| !validity.get(*i)) {
            let before = (0..i).rev().find(|i| validity.get(*i));
            let from = before.or((0..rows).find(|i| validity.get(*i)));
            let filler = match from {
                Some(from) => values[from * width..(from + 1) * width].to_vec(),
                None => vec![0; width],
            };
            expect[i * width..(i + 1) * width].copy_from_slice(&filler);
        }
        expect
    }

    #[test]
    fn filler_of_a_block_is_a_function_of_the_block() {
        for width in [1, 2, 3, 4, 8, 16, 20] {
            for rows in [0, 1, 63, 64, 65, 200, 300] {
                for (kind, block_rows) in
                    (0..6).flat_map(|kind| [1, 7, 64, 1000].map(|n| (kind, n)))
                {
                    let bits = bitmap(rows, kind);
                    let validity = BitSlice::new(&bits, 0, rows).unwrap();
                    let values: Vec<u8> = (0..rows * width).map(|i| (i * 7) as u8 | 1).collect();
                    let fixed = FixedSlice::new(&values, width, rows).unwrap();
                    let CopiedValues::Fixed(page, ..) = filled(Values::Fixed(fixed), validity)
                    else {
                        panic!("not of fixed width");
                    };
                    assert_eq!(
                        page,
                        expected(&values, width, validity),
                        "{width} {rows} {kind}"
                    );
                    for start in (0..rows).step_by(block_rows) {
                        let end = (start + block_rows).min(rows);
                        let of = start * width..end * width;
                        let validity = validity.slice(start..end);
                        let block = FixedSlice::new(&page[of.clone()], width, end - start).unwrap();
                        let got = match of_block(Values::Fixed(block), validity) {
                            None => page[of.clone()].to_vec(),
                            Some(CopiedValues::Fixed(bytes, ..)) => bytes,
                            Some(_) => panic!("not of fixed width"),
                        };
                        let case = (width, rows, kind, start, end);
                        assert_eq!(got, expected(&values[of], width, validity), "{case:?}");
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
                        CopiedValues::Bytes(offsets, data) => (is_filled, offsets, data),
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
