//! Finding the distinct values of a page or block.
//!
//! Hashing has a fixed seed, and nothing depends on the order of a hash table: entries are numbered as they first
//! appear. Whoever chooses the values can make hashes collide and the writer slow; readers do not hash.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tarsia_codec::{AlignedBuf, OwnedValues, ValueType, Values, limits};

/// Any number does; this one stays the same from version to version so that speed does too.
const SEED: u64 = 0x7461_7273_6961;

/// From this many values on, a table with a slot for each number of two bytes is cheaper than hashing.
const DIRECT_VALUES_MIN: usize = 1 << 13;

/// How many distinct values there are, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistinctStats {
    /// Number of distinct values.
    pub n_entries: usize,
    /// What they take together when decoded: packed bits, or their bytes without offsets.
    pub entry_bytes: u64,
}

/// The exact number of distinct values, or `None` as soon as it exceeds `cap`. Values are compared bit for bit, so `0.0`
/// and `-0.0` are two.
///
/// ```
/// use tarsia_codec::{BytesSlice, Values};
/// use tarsia_dict::count_distinct;
/// let values = Values::Bytes(BytesSlice::new(&[0, 3, 6, 9], b"oakelmoak").unwrap());
/// let stats = count_distinct(values, 2).unwrap();
/// assert_eq!((stats.n_entries, stats.entry_bytes), (2, 6));
/// assert_eq!(count_distinct(values, 1), None);
/// ```
pub fn count_distinct(values: Values<'_>, cap: usize) -> Option<DistinctStats> {
    visit(values, Count { values, cap })
}

/// The distinct values in the order in which they first appear, and the code of every value.
#[derive(Debug, Clone)]
pub struct Distinct {
    codes: Vec<u32>,
    first_rows: Vec<u32>,
}

impl Distinct {
    /// Finds them; `None` as soon as there are more than `cap`, or where there are more than
    /// [`limits::UNIT_VALUES_MAX`] values.
    pub fn of(values: Values<'_>, cap: usize) -> Option<Self> {
        if values.len() as u64 > u64::from(limits::UNIT_VALUES_MAX) {
            return None;
        }
        visit(values, Number { values, cap })
    }

    /// Number of distinct values.
    pub fn n_entries(&self) -> usize {
        self.first_rows.len()
    }

    /// For each value the number of its entry.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The codes alone.
    pub fn into_codes(self) -> Vec<u32> {
        self.codes
    }

    /// For each entry the index of the first value equal to it; rising.
    pub fn first_rows(&self) -> &[u32] {
        &self.first_rows
    }

    /// A copy of the entries; `values` are those it was made of.
    pub fn entries(&self, values: Values<'_>) -> OwnedValues {
        let rows = self.first_rows.iter().map(|row| *row as usize);
        let len = self.first_rows.len();
        match values {
            Values::Bits(values) => {
                let mut bytes = AlignedBuf::zeroed(len.div_ceil(8));
                for (i, row) in rows.enumerate() {
                    if let Some(byte) = bytes.get_mut(i / 8) {
                        *byte |= u8::from(values.get(row)) << (i % 8);
                    }
                }
                OwnedValues::Bits { bytes, len }
            }
            Values::Fixed(values) => {
                let width = values.width();
                let mut bytes = AlignedBuf::zeroed(len * width);
                if width > 0 {
                    for (to, row) in bytes.chunks_exact_mut(width).zip(rows) {
                        to.copy_from_slice(values.get(row));
                    }
                }
                OwnedValues::Fixed { bytes, width, len }
            }
            Values::Bytes(values) => {
                let mut offsets = Vec::with_capacity(len + 1);
                let mut end = 0u32;
                offsets.push(end);
                for row in rows.clone() {
                    // Distinct values take no more than all, whose offsets are of 32 bits.
                    end = end.saturating_add(values.value_bytes(row));
                    offsets.push(end);
                }
                let mut data = AlignedBuf::zeroed(end as usize);
                for (pair, row) in offsets.windows(2).zip(rows) {
                    if let Some(to) = data.get_mut(pair[0] as usize..pair[1] as usize) {
                        to.copy_from_slice(values.get(row));
                    }
                }
                OwnedValues::Bytes { offsets, data }
            }
        }
    }
}

/// For each value the number of the first entry equal to it. `None` where an entry is missing or its number is not below
/// `cap`.
pub(crate) fn find_codes(entries: Values<'_>, values: Values<'_>, cap: usize) -> Option<Vec<u32>> {
    if entries.value_type() != values.value_type() {
        return None;
    }
    visit(
        values,
        Find {
            entries,
            values,
            cap,
        },
    )
}

/// Whether `codes` name, one after the other, entries equal to `values`.
pub(crate) fn are_codes_of(
    codes: impl Iterator<Item = u32>,
    entries: Values<'_>,
    values: Values<'_>,
) -> bool {
    struct Compare<'a, I> {
        codes: I,
        entries: Values<'a>,
        values: Values<'a>,
    }
    impl<'a, I: Iterator<Item = u32>> Visitor<'a> for Compare<'a, I> {
        type Out = bool;

        fn visit<K: Key<'a>>(self) -> bool {
            let entries = self.entries;
            K::all(self.values)
                .zip(self.codes)
                .all(|(value, code)| K::at(entries, code as usize) == Some(value))
        }
    }
    entries.value_type() == values.value_type()
        && visit(
            values,
            Compare {
                codes,
                entries,
                values,
            },
        )
}

/// What a value is compared and hashed as.
trait Key<'a>: Copy + Eq + Hash {
    /// Slots of a table that needs no hashing; 0 where there is none.
    const N_DIRECT: usize = 0;

    /// All values in order.
    fn all(values: Values<'a>) -> impl Iterator<Item = Self>;

    /// One value.
    fn at(values: Values<'a>, i: usize) -> Option<Self>;

    /// Its slot below [`Key::N_DIRECT`].
    fn slot(self) -> usize {
        0
    }
}

macro_rules! number_key {
    ($type:ty, $n_direct:expr) => {
        impl<'a> Key<'a> for $type {
            const N_DIRECT: usize = $n_direct;

            fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
                let bytes = match values {
                    Values::Fixed(values) => values.bytes(),
                    Values::Bits(_) | Values::Bytes(_) => &[],
                };
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                chunks.iter().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn at(values: Values<'a>, i: usize) -> Option<Self> {
                match values {
                    Values::Fixed(values) => {
                        let (chunks, _) = values.bytes().as_chunks::<{ size_of::<$type>() }>();
                        chunks.get(i).map(|bytes| Self::from_le_bytes(*bytes))
                    }
                    Values::Bits(_) | Values::Bytes(_) => None,
                }
            }

            #[inline]
            fn slot(self) -> usize {
                self as usize
            }
        }
    };
}

number_key!(u8, 1 << 8);
number_key!(u16, 1 << 16);
number_key!(u32, 0);
number_key!(u64, 0);
number_key!(u128, 0);

impl<'a> Key<'a> for bool {
    fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
        (0..values.len()).map_while(move |i| Self::at(values, i))
    }

    fn at(values: Values<'a>, i: usize) -> Option<Self> {
        match values {
            Values::Bits(values) if i < values.len() => Some(values.get(i)),
            _ => None,
        }
    }
}

impl<'a> Key<'a> for &'a [u8] {
    fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
        (0..values.len()).map_while(move |i| Self::at(values, i))
    }

    #[inline]
    fn at(values: Values<'a>, i: usize) -> Option<Self> {
        match values {
            Values::Bytes(values) if i < values.len() => Some(values.get(i)),
            Values::Fixed(values) if i < values.len() => Some(values.get(i)),
            _ => None,
        }
    }
}

/// A function that is generic over keys.
trait Visitor<'a> {
    type Out;

    fn visit<K: Key<'a>>(self) -> Self::Out;
}

/// Calls the visitor with the key that suits the type of `values`.
fn visit<'a, V: Visitor<'a>>(values: Values<'a>, visitor: V) -> V::Out {
    match values.value_type() {
        ValueType::Bits => visitor.visit::<bool>(),
        ValueType::Fixed(1) => visitor.visit::<u8>(),
        ValueType::Fixed(2) => visitor.visit::<u16>(),
        ValueType::Fixed(4) => visitor.visit::<u32>(),
        ValueType::Fixed(8) => visitor.visit::<u64>(),
        ValueType::Fixed(16) => visitor.visit::<u128>(),
        ValueType::Fixed(_) | ValueType::Bytes => visitor.visit::<&[u8]>(),
    }
}

/// Keys and their numbers.
struct Numbers<K> {
    hash: FixedState,
    hashed: HashTable<(K, u32)>,
    /// Per slot the number + 1, or 0; empty where keys are hashed.
    direct: Vec<u32>,
    n: u32,
}

impl<'a, K: Key<'a>> Numbers<K> {
    fn new(n_values: usize) -> Self {
        let n_direct = match K::N_DIRECT {
            n if n <= 1 << 8 || n_values >= DIRECT_VALUES_MIN => n,
            _ => 0,
        };
        Self {
            hash: FixedState::with_seed(SEED),
            hashed: HashTable::new(),
            direct: vec![0; n_direct],
            n: 0,
        }
    }

    /// The number of `key`, and whether it is a new one.
    #[inline]
    fn insert(&mut self, key: K) -> (u32, bool) {
        if K::N_DIRECT > 0
            && let Some(slot) = self.direct.get_mut(key.slot())
        {
            if *slot > 0 {
                return (*slot - 1, false);
            }
            self.n += 1;
            *slot = self.n;
            return (self.n - 1, true);
        }
        let hash = &self.hash;
        let entry = self.hashed.entry(
            hash.hash_one(key),
            |(known, _)| *known == key,
            |(known, _)| hash.hash_one(known),
        );
        match entry {
            Entry::Occupied(entry) => (entry.get().1, false),
            Entry::Vacant(entry) => {
                let number = self.n;
                entry.insert((key, number));
                self.n += 1;
                (number, true)
            }
        }
    }

    /// The number of `key`.
    #[inline]
    fn find(&self, key: K) -> Option<u32> {
        if K::N_DIRECT > 0
            && let Some(slot) = self.direct.get(key.slot())
        {
            return slot.checked_sub(1);
        }
        let hash = self.hash.hash_one(key);
        self.hashed
            .find(hash, |(known, _)| *known == key)
            .map(|(_, number)| *number)
    }
}

struct Count<'a> {
    values: Values<'a>,
    cap: usize,
}

impl<'a> Visitor<'a> for Count<'a> {
    type Out = Option<DistinctStats>;

    fn visit<K: Key<'a>>(self) -> Self::Out {
        let mut numbers = Numbers::<K>::new(self.values.len());
        let mut n_entries = 0;
        let mut entry_bytes = 0;
        for (i, key) in K::all(self.values).enumerate() {
            if numbers.insert(key).1 {
                n_entries += 1;
                if n_entries > self.cap {
                    return None;
                }
                if let Values::Bytes(values) = self.values {
                    entry_bytes += u64::from(values.value_bytes(i));
                }
            }
        }
        match self.values {
            Values::Bits(_) => entry_bytes = n_entries.div_ceil(8) as u64,
            Values::Fixed(values) => entry_bytes = n_entries as u64 * values.width() as u64,
            Values::Bytes(_) => {}
        }
        Some(DistinctStats {
            n_entries,
            entry_bytes,
        })
    }
}

struct Number<'a> {
    values: Values<'a>,
    cap: usize,
}

impl<'a> Visitor<'a> for Number<'a> {
    type Out = Option<Distinct>;

    fn visit<K: Key<'a>>(self) -> Self::Out {
        let mut numbers = Numbers::<K>::new(self.values.len());
        let mut codes = Vec::with_capacity(self.values.len());
        let mut first_rows = Vec::new();
        for (i, key) in K::all(self.values).enumerate() {
            let (number, is_new) = numbers.insert(key);
            if is_new {
                if first_rows.len() == self.cap {
                    return None;
                }
                first_rows.push(i as u32);
            }
            codes.push(number);
        }
        Some(Distinct { codes, first_rows })
    }
}

struct Find<'a> {
    entries: Values<'a>,
    values: Values<'a>,
    cap: usize,
}

impl<'a> Visitor<'a> for Find<'a> {
    type Out = Option<Vec<u32>>;

    fn visit<K: Key<'a>>(self) -> Self::Out {
        // Entries that were wiped are equal to each other, so a number is not a place yet.
        let mut numbers = Numbers::<K>::new(self.entries.len());
        let mut places = Vec::new();
        for (place, key) in K::all(self.entries).enumerate().take(self.cap) {
            if numbers.insert(key).1 {
                places.push(u32::try_from(place).ok()?);
            }
        }
        K::all(self.values)
            .map(|key| places.get(numbers.find(key)? as usize).copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use tarsia_codec::{BitSlice, BytesSlice, FixedSlice};

    /// The slow way: entries by first appearance.
    fn check(values: Values<'_>, keys: &[Vec<u8>]) {
        let mut known = BTreeMap::new();
        let mut codes = vec![];
        let mut first_rows = vec![];
        for (i, key) in keys.iter().enumerate() {
            let n = known.len() as u32;
            let code = *known.entry(key.clone()).or_insert(n);
            if code == n {
                first_rows.push(i as u32);
            }
            codes.push(code);
        }
        let n_entries = known.len();
        let distinct = Distinct::of(values, n_entries).unwrap();
        assert_eq!(distinct.codes(), codes);
        assert_eq!(distinct.first_rows(), first_rows);
        assert_eq!(distinct.n_entries(), n_entries);
        let entries = distinct.entries(values);
        let entries = entries.as_values().unwrap();
        let stats = count_distinct(values, n_entries).unwrap();
        assert_eq!(stats.n_entries, n_entries);
        assert_eq!(stats.entry_bytes, entries.decoded_bytes());
        assert!(are_codes_of(codes.iter().copied(), entries, values));
        assert_eq!(find_codes(entries, values, n_entries), Some(codes.clone()));
        if n_entries > 0 {
            assert!(Distinct::of(values, n_entries - 1).is_none());
            assert_eq!(count_distinct(values, n_entries - 1), None);
            assert_eq!(find_codes(entries, values, n_entries - 1), None);
            let missing = entries.slice(1..n_entries);
            assert_eq!(find_codes(missing, values, n_entries), None);
            let mut wrong = codes;
            wrong[0] = 1;
            assert!(!are_codes_of(wrong.into_iter(), entries, values));
        }
    }

    /// Numbers that repeat now and then.
    fn some(n: usize, n_distinct: u64) -> impl Iterator<Item = u64> {
        (0..n as u64).map(move |i| {
            let mixed = (i ^ 0x55).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 20) % n_distinct * 0x0101_0f0f_0107
        })
    }

    #[test]
    fn every_width_is_numbered_by_first_appearance() {
        for width in [1, 2, 3, 4, 8, 12, 16, 20] {
            for (n, n_distinct) in [(0, 1), (1, 1), (500, 1), (500, 77), (9000, 5000)] {
                let keys: Vec<Vec<u8>> = some(n, n_distinct)
                    .map(|number| {
                        let mut key = number.to_le_bytes().repeat(3);
                        key.truncate(width);
                        key
                    })
                    .collect();
                let bytes = keys.concat();
                check(
                    Values::Fixed(FixedSlice::new(&bytes, width, n).unwrap()),
                    &keys,
                );
            }
        }
        check(
            Values::Fixed(FixedSlice::new(&[], 0, 9).unwrap()),
            &vec![vec![]; 9],
        );
    }

    #[test]
    fn strings_and_bits_are_numbered_by_first_appearance() {
        let keys: Vec<Vec<u8>> = some(3000, 300)
            .map(|number| {
                let len = (number % 11) as usize;
                number.to_le_bytes().repeat(2)[..len].to_vec()
            })
            .collect();
        let mut offsets = vec![0];
        let mut data = vec![];
        for key in &keys {
            data.extend_from_slice(key);
            offsets.push(data.len() as u32);
        }
        check(
            Values::Bytes(BytesSlice::new(&offsets, &data).unwrap()),
            &keys,
        );
        for byte in [0, 0xff, 0x5e] {
            let keys: Vec<Vec<u8>> = (0..7).map(|i| vec![byte >> (i + 1) & 1]).collect();
            check(Values::Bits(BitSlice::new(&[byte], 1, 7).unwrap()), &keys);
        }
    }

    #[test]
    fn the_first_of_equal_entries_is_found() {
        let entries = Values::Fixed(FixedSlice::new(&[7, 0, 0, 9], 1, 4).unwrap());
        let values = Values::Fixed(FixedSlice::new(&[9, 0, 7], 1, 3).unwrap());
        assert_eq!(find_codes(entries, values, 256), Some(vec![3, 1, 0]));
        assert_eq!(find_codes(entries, values, 3), None);
        let wider = Values::Fixed(FixedSlice::new(&[9, 0], 2, 1).unwrap());
        assert_eq!(find_codes(entries, wider, 256), None);
    }
}
