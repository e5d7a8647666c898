//! Bits of an output.

/// Sets or clears bit `at`.
#[inline]
pub(crate) fn put_bit(to: &mut [u8], at: usize, bit: bool) {
    if let Some(byte) = to.get_mut(at / 8) {
        *byte = *byte & !(1 << (at % 8)) | u8::from(bit) << (at % 8);
    }
}

/// Sets or clears `n` bits from `at` on; other bits keep their value.
#[inline]
pub(crate) fn fill_bits(to: &mut [u8], at: usize, n: usize, bit: bool) {
    let end = at + n;
    let (first, last) = (at / 8, end / 8);
    let below_start = (1u8 << (at % 8)) - 1;
    let below_end = (1u8 << (end % 8)) - 1;
    let byte = if bit { u8::MAX } else { 0 };
    let mut merge = |place: usize, mask: u8| {
        if mask != 0
            && let Some(to) = to.get_mut(place)
        {
            *to = *to & !mask | byte & mask;
        }
    };
    if first == last {
        merge(first, below_end & !below_start);
        return;
    }
    merge(first, !below_start);
    merge(last, below_end);
    to.get_mut(first + 1..last).unwrap_or_default().fill(byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn neighbours_of_filled_bits_stay() {
        for at in 0..17 {
            for n in 0..40usize {
                for bit in [false, true] {
                    let before = if bit { 0u8 } else { 0xff };
                    let mut to = vec![before; (at + n).div_ceil(8) + 1];
                    let mut one_by_one = to.clone();
                    fill_bits(&mut to, at, n, bit);
                    (at..at + n).for_each(|place| put_bit(&mut one_by_one, place, bit));
                    assert_eq!(to, one_by_one, "{at} {n} {bit}");
                    let changed: u32 = to.iter().map(|it| (it ^ before).count_ones()).sum();
                    assert_eq!(changed as usize, n);
                }
            }
        }
    }
}
