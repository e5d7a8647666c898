//! check, init, decode.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use crate::{
    BitSlice, Error, ErrorKind, Node, NodeSpec, Result, Scratch, SharedBuffer, ValueType, Values,
    Version,
};

/// The encoded values of one block (or of a child inside one). Hostile.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    /// Exactly the unit's bytes.
    pub bytes: &'a [u8],
    /// Number of values, as the block header or the parent says.
    pub len: u32,
    /// For byte strings, what the block header or the parent says their bytes add up to; else ignored.
    pub decoded_bytes: u32,
}

impl<'a> Unit<'a> {
    /// The unit's bytes, for a layout that needs exactly `needed_bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) for fewer bytes,
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for more.
    pub fn exact(&self, needed_bytes: u64, field: &'static str) -> Result<&'a [u8]> {
        let have_bytes = self.bytes.len() as u64;
        if have_bytes < needed_bytes {
            return Err(Error::from(ErrorKind::Truncated {
                field,
                needed_bytes,
                have_bytes,
            }));
        }
        if have_bytes > needed_bytes {
            return Err(Error::from(ErrorKind::Corrupt {
                field,
                at_byte: needed_bytes,
                found: have_bytes - needed_bytes,
                allowed: "no bytes after the last value",
            }));
        }
        Ok(self.bytes)
    }

    /// The values of a unit that is one bitmap: value `i` is bit `i % 8` of byte `i / 8`, the spare bits of the last byte
    /// are zero. Errors name `bits_field` or `spare_field`.
    ///
    /// # Errors
    /// As [`Unit::exact`]; [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for spare bits that are set.
    pub fn bitmap(
        &self,
        bits_field: &'static str,
        spare_field: &'static str,
    ) -> Result<BitSlice<'a>> {
        let bytes = self.exact(u64::from(self.len).div_ceil(8), bits_field)?;
        let n_used = self.len % 8;
        match bytes.last() {
            Some(last) if n_used != 0 && last >> n_used != 0 => Err(Error::corrupt(
                spare_field,
                bytes.len() - 1,
                last >> n_used,
                "zero",
            )),
            _ => BitSlice::new(bytes, 0, self.len as usize),
        }
    }
}

/// Which values of a unit are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'a> {
    /// All.
    All,
    /// `len` values from `start`.
    Range {
        /// First value.
        start: u32,
        /// Number of values.
        len: u32,
    },
    /// These, rising; a value may be named twice.
    Indices(&'a [u32]),
}

impl From<&Range<u32>> for Selection<'_> {
    fn from(range: &Range<u32>) -> Self {
        Self::Range {
            start: range.start,
            len: range.end.saturating_sub(range.start),
        }
    }
}

impl Selection<'_> {
    /// How often the value that is selected most often is selected: rising indices may repeat. At least 1.
    pub fn repeats(&self) -> u64 {
        let Self::Indices(indices) = self else {
            return 1;
        };
        let (mut most, mut run, mut last) = (1, 0, None);
        for index in *indices {
            run = if last == Some(index) { run + 1 } else { 1 };
            last = Some(index);
            most = run.max(most);
        }
        most
    }

    /// Number of values selected from a unit of `unit_len`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where the selection reaches beyond the unit or
    /// falls.
    pub fn check(&self, unit_len: u32) -> Result<usize> {
        match self {
            Self::All => Ok(unit_len as usize),
            Self::Range { start, len } => match start.checked_add(*len) {
                Some(end) if end <= unit_len => Ok(*len as usize),
                _ => Err(Error::invalid("a range reaches beyond its unit")),
            },
            Self::Indices(indices) => {
                // No early end: it is compiled to vector instructions, and falling indices are an error anyway.
                let rising = indices
                    .windows(2)
                    .fold(true, |rising, pair| rising & (pair[0] <= pair[1]));
                match indices.last() {
                    Some(last) if !rising || *last >= unit_len => {
                        Err(Error::invalid("indices fall or reach beyond their unit"))
                    }
                    _ => Ok(indices.len()),
                }
            }
        }
    }
}

/// Where decoded values go: memory of the caller, sized for exactly the selection.
#[derive(Debug)]
pub enum Output<'a> {
    /// Value `i` becomes bit `offset + i`; bits outside are left as they are.
    Bits {
        /// Holds all bits written.
        bytes: &'a mut [u8],
        /// Place of the first bit.
        offset: usize,
    },
    /// Exactly number of values x width bytes.
    Fixed(&'a mut [u8]),
    /// Byte strings: `ends[i]` is `base` plus the bytes of values `0 ..= i`.
    Bytes {
        /// Exactly one per value.
        ends: &'a mut [u32],
        /// Added to every end.
        base: u32,
        /// At least as long as the values; those bytes beyond are undefined afterwards.
        data: &'a mut [u8],
    },
}

impl<'a> Output<'a> {
    /// The fixed-width output for `n_values` of `width` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another kind or size.
    pub fn into_fixed(self, width: usize, n_values: usize) -> Result<&'a mut [u8]> {
        match self {
            Self::Fixed(bytes) if width.checked_mul(n_values) == Some(bytes.len()) => Ok(bytes),
            _ => Err(Error::invalid(
                "the output is not sized for these fixed-width values",
            )),
        }
    }

    /// The bit output for `n_values`: bytes and the first bit's place.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another kind or size.
    pub fn into_bits(self, n_values: usize) -> Result<(&'a mut [u8], usize)> {
        match self {
            Self::Bits { bytes, offset }
                if offset
                    .checked_add(n_values)
                    .is_some_and(|end| end.div_ceil(8) <= bytes.len()) =>
            {
                Ok((bytes, offset))
            }
            _ => Err(Error::invalid("the output is not sized for these bits")),
        }
    }

    /// The byte-string output for `n_values`: ends, base, data.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another kind or size.
    pub fn into_bytes(self, n_values: usize) -> Result<(&'a mut [u32], u32, &'a mut [u8])> {
        match self {
            Self::Bytes { ends, base, data } if ends.len() == n_values => Ok((ends, base, data)),
            _ => Err(Error::invalid(
                "the output is not sized for these byte strings",
            )),
        }
    }
}

/// Which bytes of a unit a decoder looks at for a run of values; see [`Decoder::reach`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// That cannot be said before so many bytes at the front are at hand.
    Front(usize),
    /// The front that is at hand, and these.
    Bytes {
        /// Their place in the unit.
        place: Range<usize>,
        /// What the values decode to at most, of byte strings; else 0.
        decoded_bytes: u64,
    },
    /// Perhaps all of them.
    All,
}

impl Reach {
    /// Bytes of values that are no byte strings.
    pub fn bytes(place: Range<usize>) -> Self {
        Self::Bytes {
            place,
            decoded_bytes: 0,
        }
    }
}

/// A prepared node: one per page and tree, used by many threads at once.
pub trait Decoder: Send + Sync {
    /// Decodes the selected values of `unit` into `out` and returns the bytes of data written for byte strings (0 for
    /// other types). Allocates nothing but through `scratch`.
    ///
    /// Every decoder honours every selection.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for
    /// bad bytes, [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a selection or output that does not
    /// fit. After an error the output holds anything.
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize>;

    /// Which bytes of `unit` decoding the values of `range` depends on, so that a few of a large unit can be read
    /// alone: where all others are zero, or what they are, the values are the same. Only the first `front` bytes are at
    /// hand; the others of `unit.bytes`, which is as long as the unit, mean nothing yet.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<Reach> {
        let _ = (unit, front, range, scratch);
        Ok(Reach::All)
    }

    /// Where the byte strings of `unit` lie, where they lie in it as they are: then a reader lends them instead of
    /// copying them. `None` for all other units.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn strings<'a>(&'a self, unit: Unit<'a>) -> Result<Option<StoredStrings<'a>>> {
        let _ = unit;
        Ok(None)
    }

    /// The most bytes that the byte strings of a unit of these `bytes` and `len` values decode to, so that a parent
    /// that does not store it can take memory for a child; `None` where the unit does not say. A limit, not a promise:
    /// decoding may still fail.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn decoded_bytes_max(&self, bytes: &[u8], len: u32) -> Result<Option<u64>> {
        let _ = (bytes, len);
        Ok(None)
    }

    /// Evaluates a predicate on every value of `unit` without decoding all of them: sets bit `offset + i` of `out`
    /// where it holds for value `i` and clears it where it does not. Returns `false`, and leaves `out` as it is, where
    /// this decoder can do no better than decoding and comparing, which is then up to the caller.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an output that does not
    /// fit.
    fn filter(
        &self,
        unit: Unit<'_>,
        predicate: &Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        let _ = (unit, predicate, scratch, out);
        Ok(false)
    }

    /// What is known of all values of `unit` without decoding them; nothing unless it is free.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn aggregates<'a>(&self, unit: Unit<'a>, order: Order) -> Result<Aggregates<'a>> {
        let _ = (unit, order);
        Ok(Aggregates::default())
    }

    /// Decodes the selected byte strings as views of Arrow's layout: 16 bytes each, little-endian. A string of up to 12
    /// bytes stands in its view behind its length; of a longer one the view holds length, first four bytes,
    /// `out.buffer` and the place in `out.data`, counted from `out.base`. Returns the bytes of data written.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn decode_views(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: ViewOutput<'_>,
    ) -> Result<usize> {
        #[cfg(not(feature = "kernel"))]
        return views_by_decoding(
            &|out, scratch| self.decode(unit, selection, scratch, out),
            scratch,
            out,
        );
        // Kernels hand out ends and data, and are to be small.
        #[cfg(feature = "kernel")]
        {
            let _ = (unit, selection, scratch, out);
            Err(Error::invalid("views by a kernel"))
        }
    }
}

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As unsigned little-endian numbers; bits as 0 and 1.
    Unsigned,
    /// As little-endian numbers in two's complement.
    Signed,
    /// As IEEE 754 numbers, in the standard's total order.
    Float,
    /// Byte by byte, a prefix before what continues it.
    Bytes,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `value == operand`
    Equal,
    /// `value < operand`
    Less,
    /// `value <= operand`
    LessOrEqual,
    /// `value > operand`
    Greater,
    /// `value >= operand`
    GreaterOrEqual,
}

/// What [`Decoder::filter`] asks of each value. More forms may come: a decoder that does not know one returns `false`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Predicate<'a> {
    /// `value <comparison> operand`
    Compare {
        /// The comparison.
        comparison: Comparison,
        /// How values are compared.
        order: Order,
        /// A value of the unit's type: its bytes, of bits one byte that is 0 or 1.
        operand: &'a [u8],
    },
    /// The value equals one of these, byte by byte.
    In(Values<'a>),
}

impl Predicate<'_> {
    /// Whether it holds for a value of this type, of bits one byte that is 0 or 1; `None` where it cannot be said: a
    /// form of predicate that is not known, or values that cannot be compared so.
    pub fn holds(&self, value_type: ValueType, value: &[u8]) -> Option<bool> {
        match self {
            Self::Compare {
                comparison,
                order,
                operand,
            } => Some(comparison.admits(order.compare(value_type, value, operand)?)),
            Self::In(values) if values.value_type() == value_type => match values {
                Values::Bits(bits) => {
                    Some((0..bits.len()).any(|i| [u8::from(bits.get(i))] == value))
                }
                Values::Fixed(fixed) => Some((0..fixed.len()).any(|i| fixed.get(i) == value)),
                Values::Bytes(strings) => Some((0..strings.len()).any(|i| strings.get(i) == value)),
            },
            Self::In(_) => None,
        }
    }
}

impl Comparison {
    fn admits(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Order {
    /// Compares two values of this type; `None` where that is no order of theirs.
    pub fn compare(self, value_type: ValueType, a: &[u8], b: &[u8]) -> Option<Ordering> {
        let has_length = |bytes: &[u8]| match value_type {
            ValueType::Bits => bytes.len() == 1,
            ValueType::Fixed(width) => bytes.len() == width as usize,
            ValueType::Bytes => true,
        };
        if !has_length(a) || !has_length(b) {
            return None;
        }
        let is_number = value_type != ValueType::Bytes;
        let negative = |bytes: &[u8]| bytes.last().is_some_and(|last| last >> 7 == 1);
        // From the most significant byte on.
        let unsigned = || a.iter().rev().cmp(b.iter().rev());
        match self {
            Self::Bytes => (value_type != ValueType::Bits).then(|| a.cmp(b)),
            Self::Unsigned => is_number.then(unsigned),
            Self::Signed => is_number.then(|| (negative(b).cmp(&negative(a))).then_with(unsigned)),
            Self::Float => matches!(value_type, ValueType::Fixed(2 | 4 | 8)).then(|| {
                match (negative(a), negative(b)) {
                    (false, false) => unsigned(),
                    (true, true) => unsigned().reverse(),
                    (a, b) => b.cmp(&a),
                }
            }),
        }
    }
}

/// What is known of the values of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Aggregates<'a> {
    /// The bytes of the smallest value.
    pub min: Option<&'a [u8]>,
    /// The bytes of the largest value.
    pub max: Option<&'a [u8]>,
    /// How many values stand for nulls, in an encoding that holds nulls.
    pub null_count: Option<u32>,
}

impl<'a> Aggregates<'a> {
    /// Of values that all are this one.
    pub fn of_constant(value: &'a [u8]) -> Self {
        Self {
            min: Some(value),
            max: Some(value),
            null_count: None,
        }
    }
}

/// Where views go; see [`Decoder::decode_views`].
#[derive(Debug)]
pub struct ViewOutput<'a> {
    /// Exactly one per value.
    pub views: &'a mut [u128],
    /// The number of the buffer that `data` is a part of.
    pub buffer: u32,
    /// Where `data` starts in that buffer.
    pub base: u32,
    /// At least as long as the values; those bytes beyond are undefined afterwards.
    pub data: &'a mut [u8],
}

/// Strings of up to so many bytes stand in their view.
#[cfg(not(feature = "kernel"))]
const INLINE_VIEW_BYTES: usize = 12;

/// Views of the strings that `decode` writes.
#[cfg(not(feature = "kernel"))]
fn views_by_decoding(
    decode: &dyn Fn(Output<'_>, &mut Scratch) -> Result<usize>,
    scratch: &mut Scratch,
    out: ViewOutput<'_>,
) -> Result<usize> {
    let mut buf = scratch.take(out.views.len() * 4);
    let ends: &mut [u32] = bytemuck::cast_slice_mut(&mut buf);
    let to = Output::Bytes {
        ends: &mut *ends,
        base: 0,
        data: &mut *out.data,
    };
    let done = decode(to, scratch);
    let viewed = done.and_then(|written| {
        if out.base.checked_add(written as u32).is_none() {
            return Err(Error::invalid("the places of views exceed 32 bits"));
        }
        let mut start = 0;
        for (view, end) in out.views.iter_mut().zip(&*ends) {
            let end = *end as usize;
            let bytes = out.data.get(start..end);
            let bytes = bytes.ok_or_else(|| Error::invalid("a decoder returned bad ends"))?;
            let mut parts = [0; 16];
            let (length, rest) = parts.split_at_mut(4);
            length.copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            match rest.get_mut(..bytes.len()) {
                Some(inline) if bytes.len() <= INLINE_VIEW_BYTES => inline.copy_from_slice(bytes),
                _ => {
                    let (prefix, place) = rest.split_at_mut(4);
                    prefix.copy_from_slice(bytes.get(..4).unwrap_or_default());
                    let (buffer, at) = place.split_at_mut(4);
                    buffer.copy_from_slice(&out.buffer.to_le_bytes());
                    at.copy_from_slice(&(out.base + start as u32).to_le_bytes());
                }
            }
            *view = u128::from_le_bytes(parts);
            start = end;
        }
        Ok(written)
    });
    scratch.give(buf);
    viewed
}

/// The byte strings of a unit, one behind the other.
#[derive(Clone)]
pub struct StoredStrings<'a> {
    /// Decodes their lengths, values of 4 bytes,
    pub lengths: &'a dyn Decoder,
    /// from this unit.
    pub unit: Unit<'a>,
    /// Their bytes in the unit that was asked about. Lengths may add up to more, which whoever uses them checks.
    pub data: Range<usize>,
}

/// A node's prepared children, in order.
pub type Children = Vec<Box<dyn Decoder>>;

/// The children as an array, for an encoding that knows how many it has.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another number, which
/// [`build_decoder`](crate::build_decoder) has refused before.
pub fn children_of<const N: usize>(children: Children) -> Result<[Box<dyn Decoder>; N]> {
    children
        .try_into()
        .map_err(|_| Error::invalid("a node with another number of children"))
}

/// An encoding as readers know it: one static per crate, listed in a [`crate::Registry`].
pub trait Encoding: Send + Sync {
    /// `tarsia.bitpack`, `org.example.leco`: never reused for another layout.
    fn id(&self) -> &'static str;

    /// The newest version of the layout: of those that are read, and the one that is written unless the writer's
    /// options ask for an older one.
    fn version(&self) -> Version;

    /// Whether units of this version are read: by default the same major version and any minor one up to
    /// [`Encoding::version`]. An encoding that still reads an older major version says so here and looks at
    /// [`Node::version`].
    fn reads(&self, written: Version) -> bool {
        self.version().reads(written)
    }

    /// **check**: parses the node's parameters and says what it needs. Readers and writers both call it for every node
    /// of a tree before anything else, so that a tree that one of them refuses is refused by the other.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for
    /// bad parameters, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for values of a type that the encoding
    /// does not hold.
    fn check(&self, node: &Node<'_>) -> Result<NodeSpec>;

    /// **init**: a decoder for all units of a page. Children and shared buffers are those that [`Encoding::check`]
    /// asked for.
    ///
    /// # Errors
    /// As [`Encoding::check`], and for shared buffers whose content is bad.
    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>>;
}

/// Copies the selected bits of a unit to `out`: the decoder of every layout that is one bitmap. Returns 0, the bytes of
/// byte strings.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a selection or an output that does not fit.
pub fn decode_bits(bits: BitSlice<'_>, selection: Selection<'_>, out: Output<'_>) -> Result<usize> {
    let n_selected = selection.check(bits.len() as u32)?;
    let (to, offset) = out.into_bits(n_selected)?;
    let range = match selection {
        Selection::All => bits,
        Selection::Range { start, .. } => {
            let start = start as usize;
            bits.slice(start..start + n_selected)
        }
        Selection::Indices(indices) => {
            for (i, index) in indices.iter().enumerate() {
                let bit = u8::from(bits.get(*index as usize));
                let at = offset + i;
                if let Some(byte) = to.get_mut(at / 8) {
                    *byte = *byte & !(1 << (at % 8)) | bit << (at % 8);
                }
            }
            return Ok(0);
        }
    };
    tarsia_bits::copy_bits(to, offset, range.bytes(), range.offset(), range.len())
        .map_err(|_| Error::invalid("the output is not sized for these bits"))?;
    Ok(0)
}

/// Selects from a decoder that can only decode whole units: decodes all into scratch memory, then copies.
///
/// # Errors
/// As [`Decoder::decode`].
pub fn decode_by_gather(
    decoder: &dyn Decoder,
    value_type: ValueType,
    unit: Unit<'_>,
    selection: Selection<'_>,
    scratch: &mut Scratch,
    out: Output<'_>,
) -> Result<usize> {
    let n_selected = selection.check(unit.len)?;
    let n_all = unit.len as usize;
    let index = |i: usize| match selection {
        Selection::All => i,
        Selection::Range { start, .. } => start as usize + i,
        Selection::Indices(indices) => indices.get(i).copied().unwrap_or_default() as usize,
    };
    match value_type {
        ValueType::Fixed(width) => {
            let width = width as usize;
            let to = out.into_fixed(width, n_selected)?;
            let mut all = scratch.take(n_all * width);
            let done = decoder.decode(unit, Selection::All, scratch, Output::Fixed(&mut all));
            if done.is_ok() && width > 0 {
                for (i, to) in to.chunks_exact_mut(width).enumerate() {
                    let from = index(i) * width;
                    to.copy_from_slice(&all[from..from + width]);
                }
            }
            scratch.give(all);
            done.map(|_| 0)
        }
        ValueType::Bits => {
            let (to, offset) = out.into_bits(n_selected)?;
            let mut all = scratch.take(n_all.div_ceil(8));
            let done = decoder.decode(
                unit,
                Selection::All,
                scratch,
                Output::Bits {
                    bytes: &mut all,
                    offset: 0,
                },
            );
            if done.is_ok() {
                for i in 0..n_selected {
                    let from = index(i);
                    let bit = all[from / 8] >> (from % 8) & 1;
                    let at = offset + i;
                    to[at / 8] = to[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
                }
            }
            scratch.give(all);
            done.map(|_| 0)
        }
        ValueType::Bytes => {
            let (ends, base, data) = out.into_bytes(n_selected)?;
            let mut all = scratch.take(unit.decoded_bytes as usize);
            let mut all_ends = scratch.take(n_all * 4);
            let all_ends_u32: &mut [u32] = bytemuck::cast_slice_mut(&mut all_ends);
            let done = decoder.decode(
                unit,
                Selection::All,
                scratch,
                Output::Bytes {
                    ends: all_ends_u32,
                    base: 0,
                    data: &mut all,
                },
            );
            let copied = done.and_then(|_| {
                let mut written = 0usize;
                for (i, end) in ends.iter_mut().enumerate() {
                    let i = index(i);
                    let from = match i {
                        0 => 0,
                        _ => all_ends_u32[i - 1] as usize,
                    };
                    let value = all
                        .get(from..all_ends_u32[i] as usize)
                        .ok_or_else(|| Error::invalid("a decoder returned bad ends"))?;
                    let to = data
                        .get_mut(written..written + value.len())
                        .ok_or_else(|| {
                            Error::invalid("the output is too short for the selection")
                        })?;
                    to.copy_from_slice(value);
                    written += value.len();
                    *end = base.wrapping_add(written as u32);
                }
                Ok(written)
            });
            scratch.give(all_ends);
            scratch.give(all);
            copied
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_numbers() {
        let order = |order: Order, a: &[u8], b: &[u8]| {
            order.compare(ValueType::Fixed(a.len() as u32), a, b)
        };
        let numbers = [i16::MIN, -256, -1, 0, 1, 255, 256, i16::MAX];
        for a in numbers {
            for b in numbers {
                let (a_bytes, b_bytes) = (a.to_le_bytes(), b.to_le_bytes());
                let signed = order(Order::Signed, &a_bytes, &b_bytes);
                assert_eq!(signed, Some(a.cmp(&b)));
                let unsigned = order(Order::Unsigned, &a_bytes, &b_bytes);
                assert_eq!(unsigned, Some((a as u16).cmp(&(b as u16))));
            }
        }
        let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 7.0, f64::NAN];
        for a in floats {
            for b in floats {
                let found = order(Order::Float, &a.to_le_bytes(), &b.to_le_bytes());
                assert_eq!(found, Some(a.total_cmp(&b)));
            }
        }
        let strings = Order::Bytes.compare(ValueType::Bytes, b"ab", b"abc");
        assert_eq!(strings, Some(Ordering::Less));
        assert_eq!(order(Order::Unsigned, &[1], &[1, 0]), None);
        assert_eq!(Order::Signed.compare(ValueType::Bytes, b"a", b"b"), None);
        assert_eq!(order(Order::Float, &[1], &[1]), None);
    }

    #[test]
    fn bitmaps_are_checked_and_selected() {
        let unit = |bytes: &'static [u8]| Unit {
            bytes,
            len: 10,
            decoded_bytes: 0,
        };
        let parse = |bytes| unit(bytes).bitmap("a", "b").map(|bits| bits.len());
        assert_eq!(parse(&[0xff, 3]), Ok(10));
        assert_eq!(parse(&[0xff]), Err(Error::truncated("a", 2, 1)));
        let after = Error::corrupt("a", 2, 1, "no bytes after the last value");
        assert_eq!(parse(&[0xff, 3, 0]), Err(after));
        assert_eq!(parse(&[0, 4]), Err(Error::corrupt("b", 1, 1, "zero")));
        let select = |selection: Selection<'_>| {
            let bits = unit(&[0b1000_0010, 0b01]).bitmap("a", "b")?;
            let mut bytes = [0b1, 0];
            let out = Output::Bits {
                bytes: &mut bytes,
                offset: 1,
            };
            decode_bits(bits, selection, out).map(|_| bytes)
        };
        assert_eq!(select(Selection::All), Ok([0b0000_0101, 0b11]));
        let range = |start, len| Selection::Range { start, len };
        assert_eq!(select(range(7, 3)), Ok([0b0111, 0]));
        assert_eq!(select(Selection::Indices(&[0, 1, 1, 9])), Ok([0b1101, 0]));
        assert!(select(range(8, 3)).is_err());
        assert!(select(Selection::Indices(&[10])).is_err());
    }

    #[test]
    fn predicates_hold_or_not() {
        let holds = |comparison, operand: u32| {
            let predicate = Predicate::Compare {
                comparison,
                order: Order::Unsigned,
                operand: &operand.to_le_bytes(),
            };
            predicate.holds(ValueType::Fixed(4), &7u32.to_le_bytes())
        };
        for (comparison, expect) in [
            (Comparison::Equal, [false, true, false]),
            (Comparison::Less, [false, false, true]),
            (Comparison::LessOrEqual, [false, true, true]),
            (Comparison::Greater, [true, false, false]),
            (Comparison::GreaterOrEqual, [true, true, false]),
        ] {
            let found = [6, 7, 8].map(|operand| holds(comparison, operand));
            assert_eq!(found, expect.map(Some), "{comparison:?}");
        }
        let list = crate::BytesSlice::new(&[0, 1, 3], b"abb").unwrap();
        let among = Predicate::In(Values::Bytes(list));
        assert_eq!(among.holds(ValueType::Bytes, b"bb"), Some(true));
        assert_eq!(among.holds(ValueType::Bytes, b"b"), Some(false));
        assert_eq!(among.holds(ValueType::Fixed(1), b"b"), None);
    }
}
