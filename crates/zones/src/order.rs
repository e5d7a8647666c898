//! The loops that find the smallest and the largest value.

use std::cmp::Ordering;

use tarsia_bits::Word;
use tarsia_codec::{BitSlice, BytesSlice};

use crate::form::ZoneForm;

/// A number of a fixed width that has an order.
pub(crate) trait Number: Copy {
    /// The number as it is compared.
    type Key: Ord + Copy;
    const MAX: Self::Key;
    const MIN: Self::Key;

    /// The key, and whether it is that of a NaN.
    fn key_and_nan(self) -> (Self::Key, bool);

    /// The key; `None` for NaN.
    #[inline]
    fn key(self) -> Option<Self::Key> {
        let (key, is_nan) = self.key_and_nan();
        (!is_nan).then_some(key)
    }
}

/// The smallest and the largest of integers, in the order of the type: in two's complement if `is_signed`.
pub(crate) fn extremes_of_words<W: Word>(bytes: &[u8], is_signed: bool) -> Option<[W; 2]> {
    let extent = tarsia_bits::extent::<W>(bytes).ok().flatten()?;
    let (min, max) = if is_signed {
        extent.signed
    } else {
        extent.unsigned
    };
    Some([min, max])
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            type Key = $type;
            const MAX: $type = <$type>::MAX;
            const MIN: $type = <$type>::MIN;

            #[inline]
            fn key_and_nan(self) -> ($type, bool) {
                (self, false)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64, i128);

/// The bits of a floating-point number.
#[derive(Clone, Copy)]
pub(crate) struct Float<B>(pub(crate) B);

macro_rules! floats {
    ($($bits:ty, $key:ty, $infinity:expr);*) => {$(
        impl Number for Float<$bits> {
            type Key = $key;
            const MAX: $key = <$key>::MAX;
            const MIN: $key = <$key>::MIN;

            #[inline]
            fn key_and_nan(self) -> ($key, bool) {
                let bits = self.0 as $key;
                // Negative numbers are in the reverse order of their bits.
                let key = bits ^ (((bits >> (<$key>::BITS - 1)) as $bits) >> 1) as $key;
                let magnitude = self.0 & (<$bits>::MAX >> 1);
                (key, magnitude > $infinity)
            }
        }
    )*};
}

floats!(u16, i16, 0x7c00; u32, i32, 0x7f80_0000; u64, i64, 0x7ff0_0000_0000_0000);

/// The smallest and the largest key of some values, and how many of these are NaN.
pub(crate) struct Found<K> {
    pub(crate) min: K,
    pub(crate) max: K,
    pub(crate) nans: u64,
    /// Values that are neither null nor NaN.
    pub(crate) n: u64,
}

/// Looks at the valid ones of `values`, each of `W` bytes.
pub(crate) fn extremes<T: Number, const W: usize>(
    bytes: &[u8],
    read: fn([u8; W]) -> T,
    validity: Option<BitSlice<'_>>,
) -> Found<T::Key> {
    let (values, _) = bytes.as_chunks::<W>();
    let mut found = Found {
        min: T::MAX,
        max: T::MIN,
        nans: 0,
        n: 0,
    };
    let Some(validity) = validity else {
        all_of(values, read, &mut found);
        return found;
    };
    for (at, run) in values.chunks(64).enumerate() {
        let all = u64::MAX >> (64 - run.len());
        let valid = validity.word(at * 64) & all;
        if valid == all {
            all_of(run, read, &mut found);
            continue;
        }
        let mut left = valid;
        let (mut min, mut max, mut nans) = (found.min, found.max, 0);
        for value in run {
            let (key, is_nan) = read(*value).key_and_nan();
            let is_valid = left & 1 == 1;
            left >>= 1;
            nans += u64::from(is_valid & is_nan);
            let is_number = is_valid & !is_nan;
            min = min.min(if is_number { key } else { T::MAX });
            max = max.max(if is_number { key } else { T::MIN });
        }
        (found.min, found.max) = (min, max);
        found.nans += nans;
        found.n += u64::from(valid.count_ones()) - nans;
    }
    found
}

#[inline]
fn all_of<T: Number, const W: usize>(
    values: &[[u8; W]],
    read: fn([u8; W]) -> T,
    found: &mut Found<T::Key>,
) {
    let (mut min, mut max, mut nans) = (found.min, found.max, 0u64);
    for value in values {
        // NaN is below all for the largest value, and above all for the smallest one.
        let key = read(*value).key();
        nans += u64::from(key.is_none());
        min = min.min(key.unwrap_or(T::MAX));
        max = max.max(key.unwrap_or(T::MIN));
    }
    (found.min, found.max) = (min, max);
    found.nans += nans;
    found.n += values.len() as u64 - nans;
}

/// Whether `a` is below `b`, both of the form's values.
pub(crate) fn is_below(form: ZoneForm, a: &[u8], b: &[u8]) -> bool {
    fn less<const W: usize, K: Ord>(a: &[u8], b: &[u8], key: impl Fn([u8; W]) -> K) -> bool {
        match (a.first_chunk::<W>(), b.first_chunk::<W>()) {
            (Some(a), Some(b)) => key(*a) < key(*b),
            _ => false,
        }
    }
    match form {
        ZoneForm::Unsigned(2) => less(a, b, u16::from_le_bytes),
        ZoneForm::Unsigned(4) => less(a, b, u32::from_le_bytes),
        ZoneForm::Unsigned(8) => less(a, b, u64::from_le_bytes),
        ZoneForm::Signed(1) => less(a, b, i8::from_le_bytes),
        ZoneForm::Signed(2) => less(a, b, i16::from_le_bytes),
        ZoneForm::Signed(4) => less(a, b, i32::from_le_bytes),
        ZoneForm::Signed(8) => less(a, b, i64::from_le_bytes),
        ZoneForm::Signed(16) => less(a, b, i128::from_le_bytes),
        ZoneForm::Signed(_) => compare_256(a, b).is_lt(),
        ZoneForm::Float(2) => less(a, b, |it| Float(u16::from_le_bytes(it)).key()),
        ZoneForm::Float(4) => less(a, b, |it| Float(u32::from_le_bytes(it)).key()),
        ZoneForm::Float(_) => less(a, b, |it| Float(u64::from_le_bytes(it)).key()),
        ZoneForm::Bits | ZoneForm::Unsigned(_) | ZoneForm::Text | ZoneForm::Binary => a < b,
    }
}

/// Decimals of 256 bits, little-endian.
pub(crate) fn compare_256(a: &[u8], b: &[u8]) -> Ordering {
    let key = |bytes: &[u8]| {
        let (halves, _) = bytes.as_chunks::<16>();
        let low = halves.first().map_or(0, |it| u128::from_le_bytes(*it));
        let high = halves.get(1).map_or(0, |it| i128::from_le_bytes(*it));
        (high, low)
    };
    key(a).cmp(&key(b))
}

/// The smallest and the largest of values that lie somewhere; `None` if none is valid.
pub(crate) fn extremes_by<'a>(
    n: usize,
    get: impl Fn(usize) -> &'a [u8],
    validity: Option<BitSlice<'_>>,
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Option<[&'a [u8]; 2]> {
    let mut found: Option<[&[u8]; 2]> = None;
    for i in (0..n).filter(|i| validity.is_none_or(|bits| bits.get(*i))) {
        let value = get(i);
        match &mut found {
            None => found = Some([value, value]),
            Some([min, max]) => {
                if compare(value, min) == Ordering::Less {
                    *min = value;
                } else if compare(value, max) == Ordering::Greater {
                    *max = value;
                }
            }
        }
    }
    found
}

/// Bytes of strings that are compared as a number.
const KEY_BYTES: usize = 8;

/// The smallest and the largest of strings. Most are compared by their first eight bytes alone.
pub(crate) fn extremes_of_strings<'a>(
    strings: BytesSlice<'a>,
    validity: Option<BitSlice<'_>>,
) -> Option<[&'a [u8]; 2]> {
    let data = strings.data();
    let mut found: Option<([&[u8]; 2], [u64; 2])> = None;
    for (i, ends) in strings.offsets().windows(2).enumerate() {
        let [start, end] = ends else {
            continue;
        };
        if validity.is_some_and(|bits| !bits.get(i)) {
            continue;
        }
        let (start, end) = (*start as usize, *end as usize);
        let rest = data.get(start..).unwrap_or_default();
        let len = end.saturating_sub(start);
        let key = match rest.first_chunk::<KEY_BYTES>() {
            Some(first) if len < KEY_BYTES => u64::from_be_bytes(*first) & !(u64::MAX >> (8 * len)),
            Some(first) => u64::from_be_bytes(*first),
            None => first_eight(rest.get(..len).unwrap_or_default()),
        };
        // Short strings of one key and length are equal.
        let is_equal = |to: &[u8]| len == to.len() && len <= KEY_BYTES;
        if let Some(([min, max], [min_key, max_key])) = found
            && (key > min_key || key == min_key && is_equal(min))
            && (key < max_key || key == max_key && is_equal(max))
        {
            continue;
        }
        let value = rest.get(..len).unwrap_or_default();
        let Some(([min, max], [min_key, max_key])) = &mut found else {
            found = Some(([value; 2], [key; 2]));
            continue;
        };
        // Of equal keys the strings decide.
        if key <= *min_key && value < *min {
            (*min, *min_key) = (value, key);
        }
        if key >= *max_key && value > *max {
            (*max, *max_key) = (value, key);
        }
    }
    found.map(|(bounds, _)| bounds)
}

/// The first eight bytes as a number, in the order of the strings; zeros stand for bytes that are not there.
#[inline]
pub(crate) fn first_eight(value: &[u8]) -> u64 {
    match value.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            for (to, from) in first.iter_mut().zip(value) {
                *to = *from;
            }
            u64::from_be_bytes(first)
        }
    }
}
