//! check, init, decode; and their mirror on the writing side.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::{BitOr, Range};

use crate::{Error, OwnedValues, Result, Scratch, ValueType, Values, Version};

/// The metadata of one node of a tree: what `check` and `init` are told.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The type of the values it decodes to.
    pub value_type: ValueType,
    /// The node's page-wide parameters, verbatim from the tree. Hostile.
    pub params: &'a [u8],
}

/// The same for an encoder.
pub type NodeWriter<'a> = Node<'a>;

/// What a decoder can do beyond decoding whole units and ranges, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u64);

impl Features {
    /// Nothing beyond the basics.
    pub const NONE: Self = Self(0);
    /// *Transparent*: [`Selection::Indices`] costs about as much as the values selected, not the block.
    pub const POINT: Self = Self(1);
    /// [`Selection::Range`] costs about as much as the range, not the block.
    pub const RANGE: Self = Self(1 << 1);

    /// Whether all of `other` is in the set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The set as bits, as the kernel ABI reports it.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether survivors of an erasure, encoded again with the same tree, always fit into their old place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseFit {
    /// Any subsequence of the values encodes to at most as many bytes.
    Always,
    /// It may grow: level-2 columns avoid the tree, or expect the block to move.
    MayGrow,
}

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
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where the selection reaches beyond the unit or falls.
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
    /// Every decoder honours every selection; [`Features`] says which are cheap.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for bad bytes, [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a selection or output
    /// that does not fit. After an error the output holds anything.
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize>;

    /// Which bytes of `unit` decoding the values of `range` depends on, so that a few of a large unit can be read alone: where all others
    /// are zero, or what they are, the values are the same. Only the first `front` bytes are at hand; the others of `unit.bytes`, which is
    /// as long as the unit, mean nothing yet.
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

    /// Where the byte strings of `unit` lie, where they lie in it as they are: then a reader lends them instead of copying them. `None` for
    /// all other units.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    // Kernels copy, and are to be small.
    #[cfg(not(target_arch = "wasm32"))]
    fn strings<'a>(&'a self, unit: Unit<'a>) -> Result<Option<StoredStrings<'a>>> {
        let _ = unit;
        Ok(None)
    }
}

/// The byte strings of a unit, one behind the other.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone)]
pub struct StoredStrings<'a> {
    /// Decodes their lengths, values of 4 bytes,
    pub lengths: &'a dyn Decoder,
    /// from this unit.
    pub unit: Unit<'a>,
    /// Their bytes in the unit that was asked about. Lengths may add up to more, which whoever uses them checks.
    pub data: Range<usize>,
}

/// The value types of a node's children.
pub type ChildTypes = Vec<ValueType>;

/// A node's prepared children, in order.
pub type Children = Vec<Box<dyn Decoder>>;

/// Decoded buffers a page's trees refer to by index: dictionaries, later symbol tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shared<'a> {
    /// In the order the page lists them.
    pub buffers: &'a [Arc<OwnedValues>],
}

impl Shared<'_> {
    /// Buffer `index`.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) where the page has none of that number.
    pub fn get(&self, index: usize) -> Result<&Arc<OwnedValues>> {
        self.buffers.get(index).ok_or_else(|| {
            Error::corrupt(
                "shared buffer index",
                0,
                index as u64,
                "the page's shared buffers",
            )
        })
    }
}

/// An encoding as readers know it: one static per crate, listed in a [`crate::Registry`].
pub trait Encoding: Send + Sync {
    /// `tarsia.bitpack`, `org.example.leco`: never reused for another layout.
    fn id(&self) -> &'static str;

    /// The newest layout this crate reads and the one it writes.
    fn version(&self) -> Version;

    /// Types of the children of such a node.
    ///
    /// # Errors
    /// Where parameters are bad or the type is not one the encoding holds.
    fn child_types(&self, node: &Node<'_>) -> Result<ChildTypes>;

    /// **check**: what the decoder can do for such a node, its children taken as able to do everything.
    ///
    /// # Errors
    /// As [`Encoding::child_types`].
    fn check(&self, node: &Node<'_>) -> Result<Features>;

    /// Whether survivors always fit when the children's do.
    fn erase_fit(&self, node: &Node<'_>) -> EraseFit;

    /// **init**: a decoder for all units of a page.
    ///
    /// # Errors
    /// As [`Encoding::child_types`], and where a shared buffer is missing or of another type.
    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        shared: Shared<'_>,
    ) -> Result<Box<dyn Decoder>>;
}

/// Prepares the children of a node that is being written.
pub trait EncodeChildren {
    /// The encoder of child `index` for its `values` of the whole page.
    ///
    /// # Errors
    /// As [`EncodingWriter::prepare`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where the tree has no such child.
    fn prepare(&self, index: usize, values: Values<'_>) -> Result<Box<dyn PageEncoder>>;
}

/// The writing side of an encoding.
pub trait EncodingWriter: Send + Sync {
    /// The id of the [`Encoding`] it writes for.
    fn id(&self) -> &'static str;

    /// Sees the values of a whole page (or of the one block that is encoded again) and prepares. Shared buffers that
    /// exist are used as they are, else the encoder makes its own ([`PageEncoder::shared`]).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values the node cannot hold.
    fn prepare(
        &self,
        node: &NodeWriter<'_>,
        values: Values<'_>,
        children: &dyn EncodeChildren,
        shared: Shared<'_>,
    ) -> Result<Box<dyn PageEncoder>>;

    /// An upper bound on the bytes of one unit of `n_values` whose decoded size is `decoded_bytes`;
    /// `child(i, type, n_values, decoded_bytes)` is the bound of child `i`.
    fn encoded_bytes_max(
        &self,
        node: &NodeWriter<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64;
}

/// Encodes the blocks of one page.
pub trait PageEncoder: Send + Sync {
    /// Appends the unit of `values[range]` to `out`; `values` are those given to [`EncodingWriter::prepare`], or (from a parent
    /// that cuts its children's values per block) values of the same type that all occur among them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values the node cannot hold.
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()>;

    /// Shared buffers this encoder made, in the order of their indices. The writer stores them, the reader hands them
    /// to [`Encoding::init`].
    fn shared(&self) -> Vec<Arc<OwnedValues>> {
        Vec::new()
    }
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

/// The same for decoders that decode ranges cheaply but not single values: decodes the span from the first to the
/// last index.
///
/// # Errors
/// As [`Decoder::decode`].
pub fn decode_range_by_gather(
    decoder: &dyn Decoder,
    width: usize,
    unit: Unit<'_>,
    indices: &[u32],
    scratch: &mut Scratch,
    to: &mut [u8],
) -> Result<()> {
    let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
        return Ok(());
    };
    Selection::Indices(indices).check(unit.len)?;
    let span = Selection::Range {
        start: *first,
        len: last - first + 1,
    };
    let mut all = scratch.take((last - first + 1) as usize * width);
    let done = decoder.decode(unit, span, scratch, Output::Fixed(&mut all));
    if done.is_ok() && width > 0 {
        for (index, to) in indices.iter().zip(to.chunks_exact_mut(width)) {
            let from = (index - first) as usize * width;
            to.copy_from_slice(&all[from..from + width]);
        }
    }
    scratch.give(all);
    done.map(|_| ())
}
