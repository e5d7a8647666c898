//! The reading side: check, init, decode.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

#[cfg(not(feature = "kernel"))]
use crate::toolbox::write_views;
use crate::{
    BitSlice, Error, ErrorKind, Node, NodeSpec, Order, Predicate, Result, Scratch, SharedBuffer,
    Version,
};

/// The encoded values of one block, or of a child inside one. Untrusted.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    /// Exactly the unit's bytes.
    pub bytes: &'a [u8],
    /// Number of values, as the block header or the parent says.
    pub len: u32,
    /// For byte strings, their total decoded bytes, as the block header or the parent says; ignored for other types.
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

    /// The values of a unit that is one bitmap: value `i` is bit `i % 8` of byte `i / 8`, the spare bits of the last
    /// byte are zero. Errors name `bits_field` or `spare_field`.
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

/// Which values of a unit to decode.
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
    /// The values at these indices, which do not fall. An index may be repeated.
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
    /// The largest number of times that one value is selected, since indices may repeat. At least 1.
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
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the selection reaches beyond the unit, or if its
    /// indices fall.
    pub fn check(&self, unit_len: u32) -> Result<usize> {
        match self {
            Self::All => Ok(unit_len as usize),
            Self::Range { start, len } => match start.checked_add(*len) {
                Some(end) if end <= unit_len => Ok(*len as usize),
                _ => Err(Error::invalid("a range reaches beyond its unit")),
            },
            Self::Indices(indices) => {
                // No early exit, so that the loop vectorises.
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

/// Memory of the caller for decoded values, sized exactly for the selection.
#[derive(Debug)]
pub enum Output<'a> {
    /// Value `i` is written to bit `offset + i`. Other bits keep their value.
    Bits {
        /// Long enough for all bits.
        bytes: &'a mut [u8],
        /// The place of the first bit.
        offset: usize,
    },
    /// Exactly number of values × width bytes.
    Fixed(&'a mut [u8]),
    /// Byte strings: `ends[i]` is `base` plus the bytes of values `0 ..= i`.
    Bytes {
        /// Exactly one element per value.
        ends: &'a mut [u32],
        /// Added to every end.
        base: u32,
        /// At least as long as all values together. Bytes behind the values are undefined afterwards.
        data: &'a mut [u8],
    },
}

impl<'a> Output<'a> {
    /// The bytes of a fixed-width output, which must hold exactly `n_values` values of `width` bytes.
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

    /// The bytes and the offset of a bit output, which must hold `n_values` bits.
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

    /// The parts of a byte-string output, which must have exactly `n_values` ends.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another kind or size.
    pub fn into_bytes(self, n_values: usize) -> Result<BytesOutput<'a>> {
        match self {
            Self::Bytes { ends, base, data } if ends.len() == n_values => {
                Ok(BytesOutput { ends, base, data })
            }
            _ => Err(Error::invalid(
                "the output is not sized for these byte strings",
            )),
        }
    }
}

/// The parts of [`Output::Bytes`].
#[derive(Debug)]
pub struct BytesOutput<'a> {
    /// The end of each string, `base` added.
    pub ends: &'a mut [u32],
    /// The number added to each end.
    pub base: u32,
    /// The bytes of the strings.
    pub data: &'a mut [u8],
}

/// Which bytes of a unit a decoder reads for a range of values; see [`Decoder::reach`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Unknown until this many bytes at the front of the unit are available.
    Front(usize),
    /// The available front, and these bytes.
    Bytes {
        /// Their place in the unit.
        place: Range<usize>,
        /// For byte strings, the most bytes that the values decode to; 0 for other types.
        decoded_bytes: u64,
    },
    /// Possibly all bytes.
    All,
}

impl Reach {
    /// The bytes `place`, of values that are not byte strings.
    pub fn bytes(place: Range<usize>) -> Self {
        Self::Bytes {
            place,
            decoded_bytes: 0,
        }
    }
}

/// A decoder for the units of a page: one per page and tree, used by several threads at the same time.
pub trait Decoder: Send + Sync {
    /// Decodes the selected values of `unit` into `out`. Returns the bytes of data written for byte strings, 0 for
    /// other types. Allocates only through `scratch`.
    ///
    /// Every decoder supports every selection.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for
    /// bad bytes, [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a selection or output that does not
    /// fit. After an error the content of the output is undefined.
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize>;

    /// Which bytes of `unit` the values of `range` depend on, so that a reader can fetch only those of a large unit and
    /// leave all others zero. Only the first `front` bytes of `unit.bytes` are valid when this is called; `unit.bytes`
    /// has the full length of the unit, but its other bytes have no meaning yet.
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

    /// The place of the byte strings of `unit`, if they lie in it unchanged. The reader then borrows them instead of
    /// copying them (zero-copy). `None` for all other units.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn strings<'a>(&'a self, unit: Unit<'a>) -> Result<Option<StoredStrings<'a>>> {
        let _ = unit;
        Ok(None)
    }

    /// Other ways to decode units whose values are all entries of a shared buffer: as the entries' numbers, or as views
    /// of them. `None` for all others.
    fn entries(&self) -> Option<EntriesOfBuffer<'_>> {
        None
    }

    /// An upper bound on the decoded bytes of a unit of byte strings with these `bytes` and `len` values, for a parent
    /// that does not store that number but must allocate memory for a child. `None` if the unit does not contain it.
    /// Decoding may still fail.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn decoded_bytes_max(&self, bytes: &[u8], len: u32) -> Result<Option<u64>> {
        let _ = (bytes, len);
        Ok(None)
    }

    /// Evaluates a predicate on the selected values of `unit` without decoding all of them: sets bit `offset + i` of
    /// `out` if it holds for value `i` of the selection, else clears it. Returns `false` and leaves `out` unchanged if
    /// this decoder cannot do better than decode and compare, which the caller then does
    /// ([`Holds`](crate::toolbox::Holds)).
    ///
    /// # Errors
    /// As [`Decoder::decode`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an output that does not
    /// fit.
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        let _ = (unit, selection, predicate, scratch, out);
        Ok(false)
    }

    /// Facts about the values of `unit` that are known without decoding them. Empty if they would take time.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    fn aggregates<'a>(&self, unit: Unit<'a>, order: Order) -> Result<Aggregates<'a>> {
        let _ = (unit, order);
        Ok(Aggregates::default())
    }

    /// Decodes the selected byte strings as Arrow views: 16 bytes each, little-endian. The view of a string of up to 12
    /// bytes holds its length and the string. The view of a longer one holds its length, its first four bytes,
    /// `out.buffer`, and its offset in `out.data` plus `out.base`. Returns the bytes of data written.
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
        // Kernels return ends and data, never views, and must be small.
        #[cfg(feature = "kernel")]
        {
            let _ = (unit, selection, scratch, out);
            Err(Error::invalid("views by a kernel"))
        }
    }
}

/// Facts about the values of a unit. `None` means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Aggregates<'a> {
    /// The bytes of the smallest value.
    pub min: Option<&'a [u8]>,
    /// The bytes of the largest value.
    pub max: Option<&'a [u8]>,
    /// The number of values that represent nulls, in an encoding that holds nulls.
    pub null_count: Option<u32>,
}

impl<'a> Aggregates<'a> {
    /// The facts about values that all equal `value`.
    pub fn of_constant(value: &'a [u8]) -> Self {
        Self {
            min: Some(value),
            max: Some(value),
            null_count: None,
        }
    }
}

/// Memory of the caller for views; see [`Decoder::decode_views`].
#[derive(Debug)]
pub struct ViewOutput<'a> {
    /// Exactly one element per value.
    pub views: &'a mut [u128],
    /// The number of the Arrow data buffer that `data` is part of.
    pub buffer: u32,
    /// The offset of `data` in that buffer.
    pub base: u32,
    /// At least as long as all values together. Bytes behind the values are undefined afterwards.
    pub data: &'a mut [u8],
}

/// Decodes strings with `decode` and writes their views.
#[cfg(not(feature = "kernel"))]
fn views_by_decoding(
    decode: &dyn Fn(Output<'_>, &mut Scratch) -> Result<usize>,
    scratch: &mut Scratch,
    out: ViewOutput<'_>,
) -> Result<usize> {
    let mut buf = scratch.take((out.views.len() + 1) * 4);
    let ends: &mut [u32] = bytemuck::cast_slice_mut(&mut buf);
    let viewed = match ends.split_first_mut() {
        Some((first, later)) => {
            *first = 0;
            let to = Output::Bytes {
                ends: later,
                base: 0,
                data: &mut *out.data,
            };
            decode(to, scratch)
        }
        None => Ok(0),
    };
    let viewed = viewed.and_then(|written| {
        if out.base.checked_add(written as u32).is_none() {
            return Err(Error::invalid("the places of views exceed 32 bits"));
        }
        let data = out.data.get(..written).unwrap_or_default();
        let rise = ends
            .windows(2)
            .fold(true, |rise, pair| rise & (pair[0] <= pair[1]));
        if !rise || ends.last().is_some_and(|last| *last as usize != data.len()) {
            return Err(Error::invalid("a decoder returned bad ends"));
        }
        write_views(ends, data, out.buffer, out.base, out.views);
        Ok(written)
    });
    scratch.give(buf);
    viewed
}

/// The place of a unit's byte strings, which lie back to back.
#[derive(Clone)]
pub struct StoredStrings<'a> {
    /// The decoder of their lengths, which are values of 4 bytes.
    pub lengths: &'a dyn Decoder,
    /// The unit of their lengths.
    pub unit: Unit<'a>,
    /// The range of their bytes in the unit that was passed to [`Decoder::strings`]. The caller checks that the lengths
    /// add up to its length.
    pub data: Range<usize>,
}

/// Values as entries of a shared buffer; see [`Decoder::entries`].
#[derive(Clone, Copy)]
pub struct EntriesOfBuffer<'a> {
    /// Decodes the same units to values of 4 bytes: the number of each value's entry, little-endian. All are less than
    /// the number of entries.
    pub codes: &'a dyn Decoder,
    /// Decodes the same units, if the entries are byte strings, to values of 16 bytes: Arrow views, little-endian. A
    /// long string's view has the buffer number 0 and the string's offset in the data of the entries.
    pub views: Option<&'a dyn Decoder>,
    /// The entries.
    pub entries: &'a SharedBuffer,
}

/// The decoders of a node's children, in the encoding's order.
pub type Children = Vec<Box<dyn Decoder>>;

/// The reading side of an encoding: one static per crate, listed in a [`crate::Registry`].
pub trait Encoding: Send + Sync {
    /// The id in files, such as `tarsia.bitpack` or `org.example.leco`. It is never reused for another layout.
    fn id(&self) -> &'static str;

    /// The newest version of the layout that this build reads. It is also the version that is written, unless the
    /// writer's options ask for an older one.
    fn version(&self) -> Version;

    /// True if units of this version can be read. By default: the same major version and any minor version up to
    /// [`Encoding::version`]. An encoding that also reads an older major version overrides this function and checks
    /// [`Node::version`].
    fn reads(&self, written: Version) -> bool {
        self.version().reads(written)
    }

    /// **check**: parses the node's parameters and returns what the node needs. Readers and writers both call it for
    /// every node of a tree before anything else, so both refuse the same trees.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for
    /// bad parameters, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a type of values that the encoding
    /// does not hold.
    fn check(&self, node: &Node<'_>) -> Result<NodeSpec>;

    /// **init**: creates the decoder for all units of a page. Children and shared buffers are those that
    /// [`Encoding::check`] returned.
    ///
    /// # Errors
    /// As [`Encoding::check`]; also for bad content of a shared buffer.
    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>>;
}
