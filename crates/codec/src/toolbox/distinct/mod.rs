//! Finding the distinct values of a page or block.
//!
//! No result depends on the order of a hash table: entries are numbered by first appearance.

mod keys;
mod numbers;

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use self::keys::{Key, Visitor, are_short, visit};
use self::numbers::Numbers;
use crate::{AlignedBuf, OwnedValues, ValueType, Values, limits};

/// The distinct values, in the order in which they first appear or of their values, and the code of every value.
#[derive(Debug, Clone)]
pub struct Distinct {
    codes: Codes,
    first_rows: Vec<u32>,
}

/// Indices of entries, of two bytes if these are enough for all entries.
#[derive(Debug, Clone)]
enum Codes {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Distinct {
    /// Finds the distinct values. `None` if there are more than `cap` distinct values, or more than
    /// [`limits::UNIT_VALUES_MAX`] values.
    ///
    /// ```
    /// use tarsia_codec::toolbox::Distinct;
    /// use tarsia_codec::{BytesSlice, Values};
    /// let values = Values::Bytes(BytesSlice::new(&[0, 3, 6, 9], b"oakelmoak").unwrap());
    /// let distinct = Distinct::of(values, 2).unwrap();
    /// assert!(distinct.codes().eq([0, 1, 0]));
    /// assert_eq!(distinct.first_rows(), [0, 1]);
    /// assert!(Distinct::of(values, 1).is_none());
    /// ```
    pub fn of(values: Values<'_>, cap: usize) -> Option<Self> {
        Self::within(values, cap, u64::MAX)
    }

    /// Finds the distinct values. `None` also if they take more than `entry_bytes_max`: packed bits, or their bytes
    /// without offsets.
    pub fn within(values: Values<'_>, cap: usize, entry_bytes_max: u64) -> Option<Self> {
        if values.len() as u64 > u64::from(limits::UNIT_VALUES_MAX) {
            return None;
        }
        let (cap, string_bytes_max) = match values.value_type() {
            ValueType::Bits => (cap, u64::MAX),
            ValueType::Fixed(0) => (cap, u64::MAX),
            ValueType::Fixed(width) => {
                let fitting = entry_bytes_max / u64::from(width);
                (cap.min(usize::try_from(fitting).unwrap_or(cap)), u64::MAX)
            }
            ValueType::Bytes => (cap, entry_bytes_max),
        };
        let number = Number {
            values,
            cap,
            string_bytes_max,
        };
        visit(values, are_short(values), number)
    }

    /// Sorts the entries in the order of their values: values of fixed width taken as unsigned little-endian numbers,
    /// byte strings by their bytes. `values` are the values that were searched.
    pub fn ordered(&self, values: Values<'_>) -> Self {
        match values {
            Values::Fixed(fixed) if fixed.width() <= 8 => self.ordered_by(|row, _| {
                let mut bytes = [0; 8];
                let value = fixed.get(row as usize);
                bytes
                    .iter_mut()
                    .zip(value)
                    .for_each(|(to, from)| *to = *from);
                u64::from_le_bytes(bytes)
            }),
            Values::Fixed(fixed) => self.ordered_by(|row, _| {
                fixed
                    .get(row as usize)
                    .iter()
                    .rev()
                    .copied()
                    .collect::<Vec<u8>>()
            }),
            Values::Bytes(strings) => self.ordered_by(|row, _| strings.get(row as usize)),
            Values::Bits(bits) => self.ordered_by(|row, _| bits.get(row as usize)),
        }
    }

    /// Sorts the entries: those that most values are equal to come first; of those with equally many the one that
    /// appears first.
    pub fn by_frequency(&self) -> Self {
        let mut counts = vec![0u32; self.n_entries()];
        for code in self.codes() {
            if let Some(count) = counts.get_mut(code as usize) {
                *count += 1;
            }
        }
        self.ordered_by(|_, code| Reverse(counts.get(code as usize).copied().unwrap_or_default()))
    }

    /// Sorts the entries in the order of their keys, which are those of a first row and a code.
    fn ordered_by<K: Ord>(&self, key: impl Fn(u32, u32) -> K) -> Self {
        let entries = self.first_rows.iter().zip(0u32..);
        let entries = entries.map(|(row, code)| (key(*row, code), *row, code));
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable();
        let mut codes = vec![0u32; entries.len()];
        for ((_, _, before), code) in entries.iter().zip(0u32..) {
            if let Some(to) = codes.get_mut(*before as usize) {
                *to = code;
            }
        }
        let code_of = |before: usize| codes.get(before).copied().unwrap_or_default();
        Self {
            first_rows: entries.iter().map(|(_, row, _)| *row).collect(),
            codes: match &self.codes {
                Codes::Narrow(all) => {
                    let all = all.iter();
                    Codes::Narrow(all.map(|code| code_of((*code).into()) as u16).collect())
                }
                Codes::Wide(all) => {
                    Codes::Wide(all.iter().map(|code| code_of(*code as usize)).collect())
                }
            },
        }
    }

    /// Number of distinct values among `n_samples` evenly spread values.
    pub fn count_sampled(values: Values<'_>, n_samples: usize) -> usize {
        visit(values, false, CountSampled { values, n_samples })
    }

    /// Number of distinct values.
    pub fn n_entries(&self) -> usize {
        self.first_rows.len()
    }

    /// The index of the entry of each value.
    pub fn codes(&self) -> impl Iterator<Item = u32> {
        let (narrow, wide) = match &self.codes {
            Codes::Narrow(codes) => (codes.as_slice(), &[][..]),
            Codes::Wide(codes) => (&[][..], codes.as_slice()),
        };
        let narrow = narrow.iter().map(|code| u32::from(*code));
        narrow.chain(wide.iter().copied())
    }

    /// The codes as little-endian numbers of `code_bytes` bytes (1, 2 or 4). Empty for other widths.
    pub fn codes_of(&self, code_bytes: usize) -> OwnedValues {
        match &self.codes {
            Codes::Narrow(codes) => narrow_numbers(codes, code_bytes),
            Codes::Wide(codes) => narrow_numbers(codes, code_bytes),
        }
    }

    /// For each entry the index of the first value equal to it. They rise, unless the entries are
    /// [`ordered`](Distinct::ordered).
    pub fn first_rows(&self) -> &[u32] {
        &self.first_rows
    }

    /// Size of the entries in bytes: packed bits, or their bytes without offsets. `values` are the values that were
    /// searched.
    pub fn entry_bytes(&self, values: Values<'_>) -> u64 {
        let n = self.n_entries() as u64;
        match values {
            Values::Bits(_) => n.div_ceil(8),
            Values::Fixed(fixed) => n * fixed.width() as u64,
            Values::Bytes(strings) => {
                let rows = self.first_rows.iter();
                rows.map(|row| u64::from(strings.value_bytes(*row as usize)))
                    .sum()
            }
        }
    }

    /// A copy of the entries. `values` are the values that were searched.
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
                    // Distinct values take at most as many bytes as all values, whose offsets have 32 bits.
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

/// The lowest `width` bytes (1, 2 or 4) of each number. Empty for other widths.
pub fn narrow_numbers<C: Copy + Into<u32>>(numbers: &[C], width: usize) -> OwnedValues {
    fn narrow<C: Copy + Into<u32>, const W: usize>(numbers: &[C], to: &mut [u8]) {
        for (to, number) in to.as_chunks_mut::<W>().0.iter_mut().zip(numbers) {
            let number: u32 = (*number).into();
            if let Some(low) = number.to_le_bytes().first_chunk() {
                *to = *low;
            }
        }
    }
    let len = match width {
        1 | 2 | 4 => numbers.len(),
        _ => 0,
    };
    let mut bytes = AlignedBuf::zeroed(len * width);
    match width {
        1 => narrow::<C, 1>(numbers, &mut bytes),
        2 => narrow::<C, 2>(numbers, &mut bytes),
        4 => narrow::<C, 4>(numbers, &mut bytes),
        _ => {}
    }
    OwnedValues::Fixed { bytes, width, len }
}

/// For each value the index of the first entry equal to it. `None` if a value has no entry below index `cap`.
pub fn find_codes(entries: Values<'_>, values: Values<'_>, cap: usize) -> Option<Vec<u32>> {
    if entries.value_type() != values.value_type() {
        return None;
    }
    let find = Find {
        entries,
        values,
        cap,
    };
    visit(values, are_short(values) && are_short(entries), find)
}

/// True if entry `codes[i]` equals value `i` for all values. `codes` are little-endian numbers of `code_bytes` bytes.
pub fn are_codes_of(
    codes: &[u8],
    code_bytes: usize,
    entries: Values<'_>,
    values: Values<'_>,
) -> bool {
    struct Compare<'a, 'c> {
        codes: &'c [u8],
        code_bytes: usize,
        entries: Values<'a>,
        values: Values<'a>,
    }

    impl<'a> Compare<'a, '_> {
        fn compare<K: Key<'a>>(&self, codes: impl ExactSizeIterator<Item = u32>) -> bool {
            if codes.len() != self.values.len() {
                return false;
            }
            let mut pairs = K::all(self.values).zip(codes);
            // To look at all entries first pays where there are few.
            if self.entries.len() * 2 <= self.values.len() {
                let keys: Vec<K> = K::all(self.entries).collect();
                return pairs.all(|(value, code)| keys.get(code as usize) == Some(&value));
            }
            let table = K::table(self.entries);
            pairs.all(|(value, code)| K::at(table, code as usize) == Some(value))
        }
    }

    impl<'a> Visitor<'a> for Compare<'a, '_> {
        type Out = bool;

        fn visit<K: Key<'a>>(self) -> bool {
            match self.code_bytes {
                1 => self.compare::<K>(self.codes.iter().map(|code| (*code).into())),
                2 => {
                    let codes = self.codes.as_chunks().0.iter();
                    self.compare::<K>(codes.map(|code| u16::from_le_bytes(*code).into()))
                }
                4 => {
                    let codes = self.codes.as_chunks().0.iter();
                    self.compare::<K>(codes.map(|code| u32::from_le_bytes(*code)))
                }
                _ => false,
            }
        }
    }
    let compare = Compare {
        codes,
        code_bytes,
        entries,
        values,
    };
    let are_short = are_short(values) && are_short(entries);
    entries.value_type() == values.value_type() && visit(values, are_short, compare)
}

struct CountSampled<'a> {
    values: Values<'a>,
    n_samples: usize,
}

impl<'a> Visitor<'a> for CountSampled<'a> {
    type Out = usize;

    fn visit<K: Key<'a>>(self) -> usize {
        let table = K::table(self.values);
        let mut numbers = Numbers::<K>::hashing();
        (0..self.n_samples)
            .filter_map(|i| K::at(table, i * self.values.len() / self.n_samples))
            .for_each(|key| _ = numbers.insert(key));
        numbers.len() as usize
    }
}

struct Number<'a> {
    values: Values<'a>,
    cap: usize,
    /// Distinct strings take at most as many bytes as all strings.
    string_bytes_max: u64,
}

impl<'a> Number<'a> {
    /// Codes of the chosen width, and the first row of each entry.
    fn number<K: Key<'a>, C: Copy + Default>(
        &self,
        cut: impl Fn(u32) -> C,
    ) -> Option<(Vec<C>, Vec<u32>)> {
        let mut numbers = Numbers::<K>::new(self.values);
        let mut codes = vec![C::default(); self.values.len()];
        if numbers.are_direct() {
            let first_rows = numbers.number_direct(self.values, self.cap, &mut codes, cut)?;
            return Some((codes, first_rows));
        }
        let mut first_rows = Vec::new();
        let mut string_bytes = 0;
        // Values often repeat the one before, and looking that up would wait for memory.
        let mut last: Option<(K, u32)> = None;
        for ((row, key), to) in K::all(self.values).enumerate().zip(&mut codes) {
            let number = match last {
                Some((before, number)) if before == key => number,
                _ => numbers.insert(key),
            };
            last = Some((key, number));
            *to = cut(number);
            if number as usize == first_rows.len() {
                if let Values::Bytes(strings) = self.values {
                    string_bytes += u64::from(strings.value_bytes(row));
                }
                if first_rows.len() == self.cap || string_bytes > self.string_bytes_max {
                    return None;
                }
                first_rows.push(row as u32);
            }
        }
        Some((codes, first_rows))
    }
}

impl<'a> Visitor<'a> for Number<'a> {
    type Out = Option<Distinct>;

    fn visit<K: Key<'a>>(self) -> Self::Out {
        let (codes, first_rows) = if self.cap.min(self.values.len()) <= 1 << 16 {
            let (codes, first_rows) = self.number::<K, u16>(|code| code as u16)?;
            (Codes::Narrow(codes), first_rows)
        } else {
            let (codes, first_rows) = self.number::<K, u32>(|code| code)?;
            (Codes::Wide(codes), first_rows)
        };
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
        // Wiped entries are equal to each other, so an index is not a position yet.
        let mut numbers = Numbers::<K>::new(self.entries);
        let mut places = Vec::new();
        for (place, key) in K::all(self.entries).enumerate().take(self.cap) {
            if numbers.insert(key) as usize == places.len() {
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
    use crate::{BitSlice, BytesSlice, FixedSlice};
    use alloc::collections::BTreeMap;

    #[test]
    fn entries_are_put_in_order() {
        let check = |width: usize, n: u32, spread: u32| {
            let values: Vec<u64> = (0..n).map(|i| u64::from(i * 7 % spread * 1000)).collect();
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_le_bytes()[..width].to_vec())
                .collect();
            let values = Values::Fixed(FixedSlice::new(&bytes, width, values.len()).unwrap());
            let ordered = Distinct::of(values, usize::MAX).unwrap().ordered(values);
            let entries = ordered.entries(values);
            let entries = entries.as_values().unwrap();
            let numbers = entries.as_fixed().unwrap();
            let number = |i: usize| {
                let mut bytes = [0; 8];
                bytes[..width].copy_from_slice(numbers.get(i));
                u64::from_le_bytes(bytes)
            };
            assert!((1..numbers.len()).all(|i| number(i - 1) < number(i)));
            let codes = ordered.codes_of(4);
            let codes = codes.as_values().unwrap().as_fixed().unwrap();
            assert!(are_codes_of(codes.bytes(), 4, entries, values));
        };
        check(4, 1000, 300);
        check(8, 70_000, 68_000);
        check(1, 300, 256);
        check(3, 50, 7);
        // Wide numbers, whose last byte counts most.
        let bytes: Vec<u8> = [[0, 2], [9, 1], [0, 1], [9, 1]]
            .map(|[low, high]| [[low; 8], [high; 8]])
            .as_flattened()
            .as_flattened()
            .to_vec();
        let wide = Values::Fixed(FixedSlice::new(&bytes, 16, 4).unwrap());
        let ordered = Distinct::of(wide, 9).unwrap().ordered(wide);
        assert_eq!(ordered.first_rows(), [2, 1, 0]);
        assert!(ordered.codes().eq([2, 1, 0, 1]));
        let strings = Values::Bytes(BytesSlice::new(&[0, 2, 3, 3, 5], b"oaboa").unwrap());
        let ordered = Distinct::of(strings, 9).unwrap().ordered(strings);
        assert_eq!(ordered.first_rows(), [2, 1, 0]);
        assert!(ordered.codes().eq([2, 1, 0, 2]));
        let bits = Values::Bits(BitSlice::new(&[0b0111], 0, 4).unwrap());
        let ordered = Distinct::of(bits, 9).unwrap().ordered(bits);
        assert!(ordered.codes().eq([1, 1, 1, 0]));
    }

    #[test]
    fn frequent_entries_come_first() {
        let words = Values::Bytes(BytesSlice::new(&[0, 1, 2, 3, 4, 5, 6], b"abccdb").unwrap());
        let distinct = Distinct::of(words, 9).unwrap();
        for found in [
            distinct.by_frequency(),
            distinct.ordered(words).by_frequency(),
        ] {
            // Of equally frequent ones the one that appears first.
            assert_eq!(found.first_rows(), [1, 2, 0, 4]);
            assert!(found.codes().eq([2, 0, 1, 1, 3, 0]));
        }
        let none = Values::Bytes(BytesSlice::new(&[0], b"").unwrap());
        let none = Distinct::of(none, 9).unwrap().by_frequency();
        assert_eq!(none.n_entries(), 0);
    }

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
        assert!(distinct.codes().eq(codes.iter().copied()));
        assert!(
            Distinct::of(values, usize::MAX)
                .unwrap()
                .codes()
                .eq(codes.iter().copied())
        );
        assert_eq!(distinct.first_rows(), first_rows);
        assert_eq!(distinct.n_entries(), n_entries);
        let entries = distinct.entries(values);
        let entries = entries.as_values().unwrap();
        let entry_bytes = entries.decoded_bytes();
        assert!(Distinct::within(values, n_entries, entry_bytes).is_some());
        let one_bit = values.value_type() == ValueType::Bits;
        if entry_bytes > 0 && !one_bit {
            assert!(Distinct::within(values, n_entries, entry_bytes - 1).is_none());
        }
        let are_codes = |codes: &[u32], code_bytes| {
            let codes = narrow_numbers(codes, code_bytes);
            let Ok(Values::Fixed(codes)) = codes.as_values() else {
                panic!("codes are numbers");
            };
            are_codes_of(codes.bytes(), code_bytes, entries, values)
        };
        for code_bytes in [1, 2, 4] {
            let fits = n_entries as u64 <= 1 << (8 * code_bytes);
            assert_eq!(are_codes(&codes, code_bytes), fits);
        }
        assert_eq!(Distinct::count_sampled(values, keys.len()), n_entries);
        assert_eq!(find_codes(entries, values, n_entries), Some(codes.clone()));
        if n_entries > 0 {
            assert!(Distinct::of(values, n_entries - 1).is_none());
            assert_eq!(find_codes(entries, values, n_entries - 1), None);
            let missing = entries.slice(1..n_entries);
            assert_eq!(find_codes(missing, values, n_entries), None);
            let mut wrong = codes;
            wrong[0] = 1;
            assert!(!are_codes(&wrong, 4));
            assert!(!are_codes(&wrong[1..], 4));
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
        // Short ones, and ones around every length at which they are compared otherwise.
        for (n_distinct, len_max) in [(300, 15), (300, 16), (2000, 24), (300, 70), (40, 300)] {
            let keys: Vec<Vec<u8>> = some(3000, n_distinct)
                .map(|number| {
                    let mut key = number.to_le_bytes().repeat(len_max / 8 + 1);
                    // Equal but for the last byte, too.
                    key.truncate((number % (len_max as u64 + 1)) as usize);
                    if let Some(last) = key.last_mut() {
                        *last = *last & 0xfe | (number >> 9 & 1) as u8;
                    }
                    key
                })
                .collect();
            let mut offsets = vec![0];
            let mut data = vec![];
            for key in &keys {
                data.extend_from_slice(key);
                offsets.push(data.len() as u32);
            }
            let strings = BytesSlice::new(&offsets, &data).unwrap();
            check(Values::Bytes(strings), &keys);
            check(Values::Bytes(strings.slice(7..2900)), &keys[7..2900]);
        }
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
