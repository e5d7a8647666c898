//! A buffer back to values.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::DerefMut;

use tarsia_codec::{
    Decoder, Error, ErrorKind, Output, Registry, Result, Scratch, Selection, Tree, Unit, ValueType,
    build_decoder,
};

use crate::layout::StandaloneParts;
use crate::number::{Number, swap_if_big_endian};

/// The most memory, in bytes, that the values of a buffer may take that [`Encoded::open`] accepts. A few hostile bytes
/// may claim billions of values; a constant array does so rightly.
pub const DECODED_BYTES_MAX: u64 = 256 << 20;

/// First room for the strings of a selection, in bytes, and the factor by which it grows while it is too small.
const ROOM_BYTES: u64 = 4096;
const ROOM_GROWTH: u64 = 4;

/// An encoded array: parsed once, decoded as often as needed. Threads open one each.
pub struct Encoded<'a> {
    value_type: ValueType,
    tree: Tree,
    unit: Unit<'a>,
    decoder: Box<dyn Decoder>,
    scratch: Scratch,
}

impl<'a> Encoded<'a> {
    /// Checks the buffer's fields and prepares its decoders. The unit itself is checked by decoding.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] and [`ErrorKind::Corrupt`] for bytes that are no such buffer,
    /// [`ErrorKind::Unsupported`] for encodings that are not in the registry, [`ErrorKind::LimitExceeded`] for values
    /// that take more than [`DECODED_BYTES_MAX`].
    pub fn open(registry: &Registry, bytes: &'a [u8]) -> Result<Self> {
        Self::open_with_limit(registry, bytes, DECODED_BYTES_MAX)
    }

    /// [`Encoded::open`] for values that take at most `decoded_bytes_max`: packed bits, fixed-width values, or byte
    /// strings with 4 bytes for each end.
    ///
    /// # Errors
    /// As [`Encoded::open`].
    pub fn open_with_limit(
        registry: &Registry,
        bytes: &'a [u8],
        decoded_bytes_max: u64,
    ) -> Result<Self> {
        let parts = StandaloneParts::parse(bytes, decoded_bytes_max)?;
        let decoder = build_decoder(registry, &parts.tree, parts.value_type, &parts.shared)?;
        Ok(Self {
            value_type: parts.value_type,
            tree: parts.tree,
            unit: parts.unit,
            decoder,
            scratch: Scratch::new(),
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.unit.len as usize
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.unit.len == 0
    }

    /// The physical type of the values.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// The encodings.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Bytes of the unit alone: the buffer without header, tree and shared buffers.
    pub fn unit_bytes(&self) -> usize {
        self.unit.bytes.len()
    }

    /// Decodes into memory of the caller; returns the bytes of strings written. All other methods are made of this one.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode(&mut self, selection: Selection<'_>, out: Output<'_>) -> Result<usize> {
        self.decoder
            .decode(self.unit, selection, &mut self.scratch, out)
    }

    /// Decodes numbers into `out`, which is as long as the selection.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a `T` of another width than the values, a selection beyond them, or an `out` of
    /// another length; [`ErrorKind::Truncated`] and [`ErrorKind::Corrupt`] for bad bytes.
    pub fn decode_slice<T: Number>(
        &mut self,
        selection: Selection<'_>,
        out: &mut [T],
    ) -> Result<()> {
        self.check_width(size_of::<T>())?;
        let bytes = bytemuck::cast_slice_mut(out);
        self.decode(selection, Output::Fixed(bytes))?;
        swap_if_big_endian(bytes, size_of::<T>());
        Ok(())
    }

    /// The selected numbers.
    ///
    /// # Errors
    /// As [`Encoded::decode_slice`].
    pub fn to_vec<T: Number>(&mut self, selection: Selection<'_>) -> Result<Vec<T>> {
        self.check_width(size_of::<T>())?;
        let mut out = vec![T::zeroed(); selection.check(self.unit.len)?];
        self.decode_slice(selection, &mut out)?;
        Ok(out)
    }

    /// The number at `index`. The others are not decoded where the encoding can do without.
    ///
    /// # Errors
    /// As [`Encoded::decode_slice`].
    pub fn value<T: Number>(&mut self, index: u32) -> Result<T> {
        let mut value = [T::zeroed()];
        self.decode_slice(Selection::Indices(&[index]), &mut value)?;
        let [value] = value;
        Ok(value)
    }

    /// The selected byte strings.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for values that are no byte strings or a selection beyond them;
    /// [`ErrorKind::Truncated`] and [`ErrorKind::Corrupt`] for bad bytes.
    pub fn strings(&mut self, selection: Selection<'_>) -> Result<Strings> {
        self.check_type(ValueType::Bytes)?;
        let mut ends = vec![0; selection.check(self.unit.len)?];
        let make = |len| vec![0u8; len];
        let (mut data, written) = self.decode_strings(selection, &mut ends, make)?;
        data.truncate(written);
        Ok(Strings { ends, data })
    }

    /// The selected bits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for values that are no bits or a selection beyond them; [`ErrorKind::Truncated`] and
    /// [`ErrorKind::Corrupt`] for bad bytes.
    pub fn bits(&mut self, selection: Selection<'_>) -> Result<Vec<bool>> {
        self.check_type(ValueType::Bits)?;
        let n = selection.check(self.unit.len)?;
        let mut bytes = vec![0; n.div_ceil(8)];
        let out = Output::Bits {
            bytes: &mut bytes,
            offset: 0,
        };
        self.decode(selection, out)?;
        let bits = bytes
            .iter()
            .flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1));
        Ok(bits.take(n).collect())
    }

    /// Decodes strings into a buffer that `make` makes. Returns it with the number of bytes that are strings.
    ///
    /// What a selection takes is known only when it is decoded, so its buffer starts small and grows.
    pub(crate) fn decode_strings<B: DerefMut<Target = [u8]>>(
        &mut self,
        selection: Selection<'_>,
        ends: &mut [u32],
        make: impl Fn(usize) -> B,
    ) -> Result<(B, usize)> {
        let all_bytes = u64::from(self.unit.decoded_bytes);
        let (mut room, room_max) = match selection {
            Selection::All => (all_bytes, all_bytes),
            _ => {
                let max = all_bytes.saturating_mul(selection.repeats());
                let average = all_bytes / u64::from(self.unit.len).max(1);
                let expected = average.saturating_mul(2 * ends.len() as u64);
                (expected.max(ROOM_BYTES).min(max), max)
            }
        };
        loop {
            let len = usize::try_from(room);
            let len = len.map_err(|_| Error::invalid("the strings do not fit the memory"))?;
            let mut data = make(len);
            let out = Output::Bytes {
                ends: &mut *ends,
                base: 0,
                data: &mut data,
            };
            match self.decode(selection, out) {
                Ok(written) => return Ok((data, written)),
                // The selection was checked and the ends are as many: only `data` can be too short.
                Err(error) if is_invalid(&error) && room < room_max => {
                    room = room.saturating_mul(ROOM_GROWTH).min(room_max);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn check_type(&self, wanted: ValueType) -> Result<()> {
        match self.value_type == wanted {
            true => Ok(()),
            false => Err(Error::invalid("the encoded values are of another type")),
        }
    }

    fn check_width(&self, width: usize) -> Result<()> {
        match self.value_type.fixed_bytes() == Some(width) {
            true => Ok(()),
            false => Err(Error::invalid(
                "the encoded values are not numbers of this width",
            )),
        }
    }
}

fn is_invalid(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput { .. })
}

impl fmt::Debug for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("tree", &format_args!("{}", self.tree))
            .field("value_type", &self.value_type)
            .field("len", &self.unit.len)
            .field("unit_bytes", &self.unit_bytes())
            .finish_non_exhaustive()
    }
}

/// Decoded byte strings, back to back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strings {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl Strings {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`; `None` beyond the last.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let end = *self.ends.get(i)?;
        let start = match i.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.data.get(start as usize..end as usize)
    }

    /// All strings, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|i| self.get(i))
    }
}
