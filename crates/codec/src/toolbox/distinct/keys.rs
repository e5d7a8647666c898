//! Keys: the form in which values are compared and hashed. Each type of values has the key that is fastest for it.
//!
//! The hash has a fixed seed. Chosen values can make hashes collide and slow the writer down. Readers do not hash.

use crate::{ValueType, Values};

/// The key by which a value is compared and hashed.
pub(super) trait Key<'a>: Copy + Eq {
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

/// A function that is generic over keys.
pub(super) trait Visitor<'a> {
    type Out;

    fn visit<K: Key<'a>>(self) -> Self::Out;
}

/// Calls the visitor with the key that suits the type of `values`.
pub(super) fn visit<'a, V: Visitor<'a>>(values: Values<'a>, are_short: bool, visitor: V) -> V::Out {
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

/// True if all values are strings of at most [`SHORT_BYTES_MAX`] bytes.
pub(super) fn are_short(values: Values<'_>) -> bool {
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

/// The longest string, in bytes, that is compared and hashed as one number with its bytes and its length.
const SHORT_BYTES_MAX: u32 = 15;

/// Multipliers of the hash: odd, with half of their bits set. They stay the same across versions so that the speed does
/// too.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

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
pub(super) struct Short(u128);

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

/// The byte strings of `values`.
fn strings(values: Values<'_>) -> (&[u32], &[u8]) {
    match values {
        Values::Bytes(strings) => (strings.offsets(), strings.data()),
        Values::Bits(_) | Values::Fixed(_) => (&[], &[]),
    }
}

/// A byte string of any length.
#[derive(Clone, Copy)]
pub(super) struct Long<'a>(&'a [u8]);

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
