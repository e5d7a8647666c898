//! Values whose nulls or erased rows have been dealt with: dropped, or replaced by filler.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, BytesSlice, Error, FixedSlice, Result, Values};

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
