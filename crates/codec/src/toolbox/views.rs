//! Arrow views of byte strings: 16 bytes each. The view of a string of up to 12 bytes holds its length and the string.
//! That of a longer one holds its length, its first four bytes, the number of a buffer, and its offset there.

/// Bytes of a view.
pub const VIEW_BYTES: usize = size_of::<u128>();

/// The longest string that is stored inside its view, in bytes.
pub const VIEW_INLINE_BYTES: usize = 12;

/// Bytes that are loaded for a view.
const LOAD_BYTES: usize = VIEW_BYTES;

/// `MASKS[n]` keeps the length and the first `n` bytes of the view of a short string.
const MASKS: [u128; VIEW_INLINE_BYTES + 1] = {
    let mut masks = [0; VIEW_INLINE_BYTES + 1];
    let mut n = 0;
    while n < masks.len() {
        masks[n] = u128::MAX >> (8 * (VIEW_INLINE_BYTES - n));
        n += 1;
    }
    masks
};

/// The view of a string: a short one lies in its view, a longer one at `offset` of a buffer.
pub fn view_of(string: &[u8], buffer: u32, offset: u32) -> u128 {
    let mut bytes = [0; LOAD_BYTES];
    for (to, from) in bytes.iter_mut().zip(string) {
        *to = *from;
    }
    view(
        u128::from_le_bytes(bytes),
        string.len() as u32,
        buffer,
        offset,
    )
}

/// The view of the string of `length` bytes at `start` of `data`, whose bytes lie at `offset` of a buffer. It is faster
/// than [`view_of`] where more bytes follow the string, whatever they are. Without them, as [`view_of`]; a string that
/// reaches beyond `data` is an empty one.
#[inline]
pub fn view_in(data: &[u8], start: usize, length: u32, buffer: u32, offset: u32) -> u128 {
    match data.get(start..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => view(u128::from_le_bytes(*bytes), length, buffer, offset),
        None => {
            let end = start.saturating_add(length as usize);
            let string = data.get(start..end).unwrap_or_default();
            view_of(string, buffer, offset)
        }
    }
}

/// Writes one view per string `data[ends[i]..ends[i + 1]]`. `data` lies at `base` of a buffer. `ends` has one more
/// element than `to`; they rise, and the last is at most the length of `data`.
pub fn write_views(ends: &[u32], data: &[u8], buffer: u32, base: u32, to: &mut [u128]) {
    // Behind the start of these there are enough bytes to load a fixed number, which takes no loop and no branch.
    let last_load = data.len().checked_sub(LOAD_BYTES);
    let starts = ends.get(..to.len()).unwrap_or_default();
    let n_fast = last_load.map_or(0, |last| starts.partition_point(|it| *it as usize <= last));
    let (fast, slow) = to.split_at_mut(n_fast);
    let later = ends.get(1..).unwrap_or_default();
    for (to, (start, end)) in fast.iter_mut().zip(starts.iter().zip(later)) {
        let bytes = data.get(*start as usize..).and_then(<[u8]>::first_chunk);
        let bytes = u128::from_le_bytes(bytes.copied().unwrap_or_default());
        let offset = base.wrapping_add(*start);
        *to = view(bytes, end.wrapping_sub(*start), buffer, offset);
    }
    let pairs = ends.get(n_fast..).unwrap_or_default().windows(2);
    for (to, pair) in slow.iter_mut().zip(pairs) {
        let string = data.get(pair[0] as usize..pair[1] as usize);
        *to = view_of(
            string.unwrap_or_default(),
            buffer,
            base.wrapping_add(pair[0]),
        );
    }
}

/// The view of a string of `length` that begins with `bytes`.
#[inline]
fn view(bytes: u128, length: u32, buffer: u32, offset: u32) -> u128 {
    let all = bytes << 32 | u128::from(length);
    let place = u128::from(u64::from(offset) << 32 | u64::from(buffer)) << 64;
    match MASKS.get(length as usize) {
        Some(mask) => all & mask,
        None => all & u128::from(u64::MAX) | place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// By the definition, byte by byte.
    fn slow_view(string: &[u8], buffer: u32, offset: u32) -> u128 {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(string.len() as u32).to_le_bytes());
        if string.len() <= 12 {
            view[4..4 + string.len()].copy_from_slice(string);
        } else {
            view[4..8].copy_from_slice(&string[..4]);
            view[8..12].copy_from_slice(&buffer.to_le_bytes());
            view[12..].copy_from_slice(&offset.to_le_bytes());
        }
        u128::from_le_bytes(view)
    }

    #[test]
    fn views_are_those_of_the_definition() {
        let data: Vec<u8> = (0..4000u32).map(|i| (i * 7 % 251) as u8).collect();
        for (gap, base) in [(0, 0), (1, 7), (20, 1 << 30)] {
            let mut ends = vec![3u32];
            for length in (0..40).chain([12, 13, 200, 0, 0, 11]) {
                ends.push(ends[ends.len() - 1] + length);
            }
            let data = &data[..ends[ends.len() - 1] as usize + gap];
            let mut views = vec![9; ends.len() - 1];
            write_views(&ends, data, 5, base, &mut views);
            for (view, pair) in views.iter().zip(ends.windows(2)) {
                let string = &data[pair[0] as usize..pair[1] as usize];
                let expect = slow_view(string, 5, base + pair[0]);
                assert_eq!(
                    (*view, view_of(string, 5, base + pair[0])),
                    (expect, expect)
                );
                let (start, length) = (pair[0] as usize, string.len() as u32);
                assert_eq!(view_in(data, start, length, 5, base + pair[0]), expect);
            }
        }
        write_views(&[0], &[], 0, 0, &mut []);
        let mut views = [9; 2];
        write_views(&[0, 0, 1], b"a", 0, 0, &mut views);
        assert_eq!(views, [0, 0x61_0000_0001]);
        assert_eq!(view_in(b"a", 1, 1, 0, 0), 0);
        assert_eq!(view_in(b"a", 2, 0, 0, 0), 0);
    }
}
