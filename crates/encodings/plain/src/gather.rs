//! Copies of selected values.

/// Copies the values of `width` bytes at `indices`. The caller has checked that no index is beyond the values; such an
/// index would copy nothing.
pub(crate) fn gather(values: &[u8], width: usize, indices: &[u32], to: &mut [u8]) {
    match width {
        0 => {}
        1 => gather_fixed::<1>(values, indices, to),
        2 => gather_fixed::<2>(values, indices, to),
        4 => gather_fixed::<4>(values, indices, to),
        8 => gather_fixed::<8>(values, indices, to),
        16 => gather_fixed::<16>(values, indices, to),
        _ => {
            for (index, to) in indices.iter().zip(to.chunks_exact_mut(width)) {
                let start = *index as usize * width;
                if let Some(value) = values.get(start..start + width) {
                    to.copy_from_slice(value);
                }
            }
        }
    }
}

fn gather_fixed<const W: usize>(values: &[u8], indices: &[u32], to: &mut [u8]) {
    let (values, _) = values.as_chunks::<W>();
    let (to, _) = to.as_chunks_mut::<W>();
    for (index, to) in indices.iter().zip(to) {
        if let Some(value) = values.get(*index as usize) {
            *to = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn every_width_gathers() {
        for width in [0, 1, 2, 3, 4, 7, 8, 16, 33] {
            let values: Vec<u8> = (0..width * 9).map(|i| i as u8).collect();
            let indices = [0, 0, 3, 8, 8];
            let mut to = vec![0; width * indices.len()];
            gather(&values, width, &indices, &mut to);
            let expect: Vec<u8> = indices
                .iter()
                .flat_map(|i| &values[*i as usize * width..][..width])
                .copied()
                .collect();
            assert_eq!(to, expect, "{width}");
        }
    }
}
