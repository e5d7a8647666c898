//! Values of a page as the numbers that they are.

use alloc::vec::Vec;

use tarsia_codec::FixedSlice;

/// Values that are widened at a time.
const RUN: usize = 1024;

/// Calls `with` with runs of values, one behind the other, as unsigned numbers.
pub(crate) fn for_words(values: &FixedSlice<'_>, mut with: impl FnMut(&[u64])) {
    let mut words = [0; RUN];
    for start in (0..values.len()).step_by(RUN) {
        let run = values.slice(start..start + RUN);
        match run.width() {
            1 => widen::<1>(run.bytes(), &mut words),
            2 => widen::<2>(run.bytes(), &mut words),
            4 => widen::<4>(run.bytes(), &mut words),
            _ => widen::<8>(run.bytes(), &mut words),
        }
        with(&words[..run.len()]);
    }
}

fn widen<const S: usize>(bytes: &[u8], to: &mut [u64; RUN]) {
    for (to, from) in to.iter_mut().zip(bytes.as_chunks::<S>().0) {
        let mut word = [0; 8];
        word[..S].copy_from_slice(from);
        *to = u64::from_le_bytes(word);
    }
}

/// At most `n_max` of the values, sorted: one from each part of the page, so that none prevails, at a place in it that
/// follows no period of theirs.
pub(crate) fn sorted_sample(values: &FixedSlice<'_>, n_max: usize) -> Vec<u64> {
    let n = values.len();
    let mut sample = Vec::with_capacity(n.min(n_max));
    if n <= n_max {
        for_words(values, |words| sample.extend_from_slice(words));
    } else {
        let places = (0..n_max).map(|part| {
            let (start, end) = (part * n / n_max, (part + 1) * n / n_max);
            start + scattered(part as u64) as usize % (end - start)
        });
        sample.extend(places.filter_map(|place| tarsia_bits::read_value(values.get(place))));
    }
    sample.sort_unstable();
    sample
}

/// Numbers below 2^32 in no order that a page is likely to have: multiples of the golden ratio.
fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
