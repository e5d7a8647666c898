//! Finding the distinct values of a page or block.
//!
//! The hash has a fixed seed, and no result depends on the order of a hash table: entries are numbered by first
//! appearance. Chosen values can make hashes collide and slow the writer down. Readers do not hash.

use alloc::vec;
use alloc::vec::Vec;

use crate::{AlignedBuf, OwnedValues, ValueType, Values, limits};

/// Numbers with a span of at most this, and of at most the number of values, are looked up in a table with a slot per
/// number instead of a hash table.
const DIRECT_SLOTS_MAX: usize = 1 << 16;

/// The longest string, in bytes, that is compared and hashed as one number with its bytes and its length.
const SHORT_BYTES_MAX: u32 = 15;

/// Multipliers of the hash: odd, with half of their bits set. They stay the same across versions so that the speed does
/// too.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// The distinct values in the order in which they first appear, and the code of every value.
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
    /// use tarsia_codec::{BytesSlice, Distinct, Values};
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

    /// For each entry the index of the first value equal to it. They rise.
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
            let table = K::table(self.entries);
            codes.len() == self.values.len()
                && K::all(self.values)
                    .zip(codes)
                    .all(|(value, code)| K::at(table, code as usize) == Some(value))
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
    // Checking per block whether all entries are short would not pay off.
    entries.value_type() == values.value_type() && visit(values, false, compare)
}

/// True if all values are strings of at most [`SHORT_BYTES_MAX`] bytes.
fn are_short(values: Values<'_>) -> bool {
    match values {
        Values::Bytes(strings) => {
            let offsets = strings.offsets();
            let later = offsets.get(1..).unwrap_or_default();
            let lengths = offsets.iter().zip(later).map(|(start, end)| end - start);
            lengths.fold(0, u32::max) <= SHORT_BYTES_MAX
        }
        Values::Bits(_) | Values::Fixed(_) => false,
    }
}

/// The key by which a value is compared and hashed.
trait Key<'a>: Copy + Eq {
    /// The values in a form that makes single lookups fast.
    type Table: Copy;

    /// The table of `values`.
    fn table(values: Values<'a>) -> Self::Table;

    /// One value.
    fn at(table: Self::Table, i: usize) -> Option<Self>;

    /// All values in order.
    fn all(values: Values<'a>) -> impl Iterator<Item = Self>;

    /// The hash of a key. Its lowest bits are as well distributed as the others.
    fn hash(self) -> u32;

    /// The smallest key and the number of integers from it to the largest; `None` if keys are not numbers, or if that
    /// number is too large.
    fn base_and_span(_: Values<'a>) -> Option<(Self, usize)> {
        None
    }

    /// The difference from `base`, if keys are numbers.
    fn slot(self, _base: Self) -> usize {
        usize::MAX
    }
}

/// The two halves of the 128-bit product, xor-ed: each bit depends on all bits of both factors.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn hash_of(low: u64, high: u64) -> u32 {
    let folded = fold(low ^ MULTIPLIERS[0], high ^ MULTIPLIERS[1]);
    (folded ^ folded >> 32) as u32
}

macro_rules! number_key {
    ($type:ty, $hash:expr, { $($direct:tt)* }) => {
        impl<'a> Key<'a> for $type {
            type Table = &'a [[u8; size_of::<$type>()]];

            fn table(values: Values<'a>) -> Self::Table {
                match values {
                    Values::Fixed(values) => values.bytes().as_chunks().0,
                    Values::Bits(_) | Values::Bytes(_) => &[],
                }
            }

            #[inline]
            fn at(table: Self::Table, i: usize) -> Option<Self> {
                table.get(i).map(|bytes| Self::from_le_bytes(*bytes))
            }

            fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
                let table = <Self as Key<'a>>::table(values);
                table.iter().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn hash(self) -> u32 {
                let hash: fn($type) -> u32 = $hash;
                hash(self)
            }

            $($direct)*
        }
    };
    ($type:ty, $hash:expr) => {
        number_key!($type, $hash, {
            fn base_and_span(values: Values<'a>) -> Option<(Self, usize)> {
                let extent = match values {
                    Values::Fixed(values) => tarsia_bits::extent::<$type>(values.bytes()),
                    Values::Bits(_) | Values::Bytes(_) => return None,
                };
                let (base, span) = extent.ok()??.base_and_span();
                Some((base, usize::try_from(span).ok()?.checked_add(1)?))
            }

            #[inline]
            fn slot(self, base: Self) -> usize {
                usize::try_from(self.wrapping_sub(base)).unwrap_or(usize::MAX)
            }
        });
    };
}

number_key!(u8, |key| hash_of(key.into(), 0));
number_key!(u16, |key| hash_of(key.into(), 0));
number_key!(u32, |key| hash_of(key.into(), 0));
number_key!(u64, |key| hash_of(key, 0));
number_key!(u128, |key| hash_of(key as u64, (key >> 64) as u64), {});

impl<'a> Key<'a> for bool {
    type Table = Values<'a>;

    fn table(values: Values<'a>) -> Self::Table {
        values
    }

    fn at(table: Self::Table, i: usize) -> Option<Self> {
        match table {
            Values::Bits(values) if i < values.len() => Some(values.get(i)),
            _ => None,
        }
    }

    fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
        (0..values.len()).map_while(move |i| Self::at(values, i))
    }

    fn hash(self) -> u32 {
        hash_of(self.into(), 0)
    }
}

/// A string of at most [`SHORT_BYTES_MAX`] bytes: its bytes, zeros, and its length in the last byte.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short(u128);

impl Short {
    #[inline]
    fn of(data: &[u8], start: u32, end: u32) -> Self {
        let length = end - start;
        let rest = data.get(start as usize..).unwrap_or_default();
        let bytes = match rest.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 16];
                for (to, from) in chunk.iter_mut().zip(rest) {
                    *to = *from;
                }
                u128::from_le_bytes(chunk)
            }
        };
        let mask = (1u128 << (8 * length.min(SHORT_BYTES_MAX))) - 1;
        Self(bytes & mask | u128::from(length) << 120)
    }
}

/// The byte strings of `values`.
fn strings(values: Values<'_>) -> (&[u32], &[u8]) {
    match values {
        Values::Bytes(strings) => (strings.offsets(), strings.data()),
        Values::Bits(_) | Values::Fixed(_) => (&[], &[]),
    }
}

impl<'a> Key<'a> for Short {
    type Table = (&'a [u32], &'a [u8]);

    fn table(values: Values<'a>) -> Self::Table {
        strings(values)
    }

    #[inline]
    fn at((offsets, data): Self::Table, i: usize) -> Option<Self> {
        let pair = (offsets.get(i), offsets.get(i + 1));
        match pair {
            (Some(start), Some(end)) => Some(Self::of(data, *start, *end)),
            _ => None,
        }
    }

    fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
        let (offsets, data) = strings(values);
        let later = offsets.get(1..).unwrap_or_default();
        let pairs = offsets.iter().zip(later);
        pairs.map(|(start, end)| Self::of(data, *start, *end))
    }

    #[inline]
    fn hash(self) -> u32 {
        hash_of(self.0 as u64, (self.0 >> 64) as u64)
    }
}

/// A byte string of any length.
#[derive(Clone, Copy)]
struct Long<'a>(&'a [u8]);

impl PartialEq for Long<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0, other.0);
        if a.len() != b.len() {
            return false;
        }
        // Strings are mostly short, and a call of the library's comparison takes longer than comparing them. The words
        // compared at the front and at the back may overlap.
        match a.len() {
            8..=64 => {
                a.last_chunk::<8>().map(|last| u64::from_le_bytes(*last))
                    == b.last_chunk::<8>().map(|last| u64::from_le_bytes(*last))
                    && words(a).zip(words(b)).all(|(a, b)| a == b)
            }
            4..=7 => {
                a.first_chunk::<4>().map(|first| u32::from_le_bytes(*first))
                    == b.first_chunk::<4>().map(|first| u32::from_le_bytes(*first))
                    && a.last_chunk::<4>().map(|last| u32::from_le_bytes(*last))
                        == b.last_chunk::<4>().map(|last| u32::from_le_bytes(*last))
            }
            0..=3 => a.iter().zip(b).all(|(a, b)| a == b),
            _ => a == b,
        }
    }
}

/// The whole words from the start.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word))
}

impl Eq for Long<'_> {}

impl<'a> Key<'a> for Long<'a> {
    type Table = Values<'a>;

    fn table(values: Values<'a>) -> Self::Table {
        values
    }

    #[inline]
    fn at(table: Self::Table, i: usize) -> Option<Self> {
        match table {
            Values::Bytes(values) if i < values.len() => Some(Self(values.get(i))),
            Values::Fixed(values) if i < values.len() => Some(Self(values.get(i))),
            _ => None,
        }
    }

    fn all(values: Values<'a>) -> impl Iterator<Item = Self> {
        (0..values.len()).map_while(move |i| Self::at(values, i))
    }

    #[inline]
    fn hash(self) -> u32 {
        let mut hash = self.0.len() as u64;
        let (chunks, rest) = self.0.as_chunks::<16>();
        let mut add = |chunk: [u8; 16]| {
            let word = u128::from_le_bytes(chunk);
            let (low, high) = (word as u64, (word >> 64) as u64);
            hash = fold(hash ^ low ^ MULTIPLIERS[0], high ^ MULTIPLIERS[1]);
        };
        for chunk in chunks {
            add(*chunk);
        }
        // The last sixteen bytes, which may overlap those before, or all bytes of a shorter string.
        match self.0.last_chunk() {
            _ if rest.is_empty() => {}
            Some(last) => add(*last),
            None => {
                let mut last = [0; 16];
                for (to, from) in last.iter_mut().zip(rest) {
                    *to = *from;
                }
                add(last);
            }
        }
        (hash ^ hash >> 32) as u32
    }
}

/// A function that is generic over keys.
trait Visitor<'a> {
    type Out;

    fn visit<K: Key<'a>>(self) -> Self::Out;
}

/// Calls the visitor with the key that suits the type of `values`.
fn visit<'a, V: Visitor<'a>>(values: Values<'a>, are_short: bool, visitor: V) -> V::Out {
    match values.value_type() {
        ValueType::Bits => visitor.visit::<bool>(),
        ValueType::Fixed(1) => visitor.visit::<u8>(),
        ValueType::Fixed(2) => visitor.visit::<u16>(),
        ValueType::Fixed(4) => visitor.visit::<u32>(),
        ValueType::Fixed(8) => visitor.visit::<u64>(),
        ValueType::Fixed(16) => visitor.visit::<u128>(),
        ValueType::Bytes if are_short => visitor.visit::<Short>(),
        ValueType::Fixed(_) | ValueType::Bytes => visitor.visit::<Long<'a>>(),
    }
}

/// A table from keys to indices.
struct Numbers<K> {
    /// The keys by index.
    keys: Vec<K>,
    /// Open addressing, at most half full; the number of slots is a power of two. A slot holds part of the hash in its
    /// high bits and the index + 1 in its low bits, or 0 if it is empty.
    hashed: Vec<u64>,
    /// For each integer from `base` on the index + 1 of its key, or 0.
    direct: Vec<u32>,
    /// `None` if keys are hashed.
    base: Option<K>,
    n: u32,
}

const HASHED_SLOTS_MIN: usize = 64;

impl<'a, K: Key<'a>> Numbers<K> {
    fn hashing() -> Self {
        Self {
            keys: Vec::new(),
            hashed: vec![0; HASHED_SLOTS_MIN],
            direct: Vec::new(),
            base: None,
            n: 0,
        }
    }

    /// An empty table for the keys of `values`.
    fn new(values: Values<'a>) -> Self {
        let span_max = values.len().clamp(1 << 8, DIRECT_SLOTS_MAX);
        let direct = K::base_and_span(values).filter(|(_, span)| *span <= span_max);
        match direct {
            None => Self::hashing(),
            Some((base, span)) => Self {
                keys: Vec::new(),
                hashed: Vec::new(),
                direct: vec![0; span],
                base: Some(base),
                n: 0,
            },
        }
    }

    /// The index of `key`, and true if it was added.
    #[inline]
    fn insert(&mut self, key: K) -> (u32, bool) {
        if let Some(base) = self.base
            && let Some(slot) = self.direct.get_mut(key.slot(base))
        {
            if *slot > 0 {
                return (*slot - 1, false);
            }
            self.n += 1;
            *slot = self.n;
            return (self.n - 1, true);
        }
        let hash = key.hash();
        match self.look_up(key, hash) {
            Ok(number) => (number, false),
            Err(empty) => (self.push(key, hash, empty), true),
        }
    }

    /// The index of `key`, or the slot where it belongs.
    #[inline]
    fn look_up(&self, key: K, hash: u32) -> Result<u32, usize> {
        let mask = self.hashed.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            // Terminates: half of the slots are empty.
            let slot = self.hashed.get(at).copied().unwrap_or_default();
            if slot == 0 {
                return Err(at);
            }
            let number = slot as u32 - 1;
            if (slot >> 32) as u32 == hash && self.keys.get(number as usize) == Some(&key) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn push(&mut self, key: K, hash: u32, empty: usize) -> u32 {
        let number = self.n;
        self.n += 1;
        self.keys.push(key);
        if let Some(slot) = self.hashed.get_mut(empty) {
            *slot = u64::from(hash) << 32 | u64::from(self.n);
        }
        if self.keys.len() * 2 > self.hashed.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.hashed.len() * 4 - 1;
        let mut grown = vec![0; mask + 1];
        for slot in self.hashed.iter().filter(|slot| **slot > 0) {
            let mut at = (slot >> 32) as usize & mask;
            while grown.get(at).is_some_and(|taken| *taken > 0) {
                at = (at + 1) & mask;
            }
            if let Some(to) = grown.get_mut(at) {
                *to = *slot;
            }
        }
        self.hashed = grown;
    }

    /// The index of `key`.
    #[inline]
    fn find(&self, key: K) -> Option<u32> {
        if let Some(base) = self.base {
            return self.direct.get(key.slot(base))?.checked_sub(1);
        }
        self.look_up(key, key.hash()).ok()
    }
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
            .filter(|key| numbers.insert(*key).1)
            .count()
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
    fn number<K: Key<'a>, C>(&self, cut: impl Fn(u32) -> C) -> Option<(Vec<C>, Vec<u32>)> {
        let mut numbers = Numbers::<K>::new(self.values);
        let mut codes = Vec::with_capacity(self.values.len());
        let mut first_rows = Vec::new();
        let mut string_bytes = 0;
        for (row, key) in K::all(self.values).enumerate() {
            let (number, is_new) = numbers.insert(key);
            if is_new {
                if let Values::Bytes(strings) = self.values {
                    string_bytes += u64::from(strings.value_bytes(row));
                }
                if first_rows.len() == self.cap || string_bytes > self.string_bytes_max {
                    return None;
                }
                first_rows.push(row as u32);
            }
            codes.push(cut(number));
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
    use crate::{BitSlice, BytesSlice, FixedSlice};
    use alloc::collections::BTreeMap;

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
