//! The decoder: turns lengths into ends. The data of a range is copied at once.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::{NumbersUnit, children_of, ends_from_lengths};
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Bytes;
use crate::layout::{self, ID, LENGTHS_TYPE, UnitParts, VERSION};

/// Strings up to this length, in bytes, are copied with one load and one store.
const SHORT_BYTES: usize = 16;

impl Encoding for Bytes {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::with_children(&[LENGTHS_TYPE]))
    }

    fn init(
        &self,
        _node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [lengths] = children_of(children)?;
        Ok(Box::new(BytesDecoder { lengths }))
    }
}

struct BytesDecoder {
    lengths: Box<dyn Decoder>,
}

impl Decoder for BytesDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let parts = UnitParts::parse(&unit)?;
        let BytesOutput { ends, base, data } = out.into_bytes(n_selected)?;
        match selection {
            Selection::All => self.decode_range(&parts, 0, ends, base, data, scratch),
            Selection::Range { start, .. } => {
                self.decode_range(&parts, start, ends, base, data, scratch)
            }
            Selection::Indices(indices) => {
                self.decode_indices(&parts, indices, ends, base, data, scratch)
            }
        }
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        // The lengths are at the front, after their size in bytes.
        if front < layout::HEADER_BYTES.min(unit.bytes.len()) {
            return Ok(Reach::Front(layout::HEADER_BYTES));
        }
        let parts = UnitParts::parse(&unit)?;
        let data_at = unit.bytes.len() - parts.data.len();
        if front < data_at {
            return Ok(Reach::Front(data_at));
        }
        let start = self.sum_of(&parts, 0..range.start, scratch)?;
        let bytes = self.sum_of(&parts, range, scratch)?;
        let end = start.saturating_add(bytes);
        if end > parts.data.len() as u64 {
            return Err(UnitParts::bad_lengths(end));
        }
        // Both are at most the length of a slice now.
        Ok(Reach::Bytes {
            place: data_at + start as usize..data_at + end as usize,
            decoded_bytes: bytes,
        })
    }

    #[cfg(not(feature = "kernel"))]
    fn decoded_bytes_max(&self, bytes: &[u8], _len: u32) -> Result<Option<u64>> {
        // The data are all bytes after the lengths.
        let mut reader = tarsia_codec::toolbox::ByteReader::new(bytes);
        let lengths_len = reader.u32("bytes.lengths_len")?;
        reader.take(lengths_len as usize, "bytes.lengths")?;
        Ok(Some(reader.rest().len() as u64))
    }

    #[cfg(not(feature = "kernel"))]
    fn strings<'a>(&'a self, unit: Unit<'a>) -> Result<Option<tarsia_codec::StoredStrings<'a>>> {
        let parts = UnitParts::parse(&unit)?;
        Ok(Some(tarsia_codec::StoredStrings {
            lengths: self.lengths.as_ref(),
            unit: parts.lengths,
            data: unit.bytes.len() - parts.data.len()..unit.bytes.len(),
        }))
    }
}

impl BytesDecoder {
    fn lengths_of<'a>(&'a self, parts: &UnitParts<'a>) -> NumbersUnit<'a> {
        NumbersUnit::new(&*self.lengths, parts.lengths)
    }

    /// Total bytes of the values in `range`.
    fn sum_of(
        &self,
        parts: &UnitParts<'_>,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        match range.is_empty() {
            true => Ok(0),
            false => self.lengths_of(parts).sum(range, scratch),
        }
    }

    fn decode_range(
        &self,
        parts: &UnitParts<'_>,
        start: u32,
        ends: &mut [u32],
        base: u32,
        data: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let n = ends.len() as u64;
        let from = self.sum_of(parts, 0..start, scratch)?;
        // `ends` first holds the lengths, which are then summed in place.
        let lengths = self.lengths_of(parts);
        let selection = match start {
            0 if n == u64::from(lengths.len()) => Selection::All,
            _ => Selection::Range {
                start,
                len: ends.len() as u32,
            },
        };
        lengths.decode(selection, ends, scratch)?;
        let (bytes, fits) = ends_from_lengths(ends, base);
        let reaches_end = u64::from(start) + n == u64::from(parts.lengths.len);
        let to = from.saturating_add(bytes);
        if to > parts.data.len() as u64 || reaches_end && to != parts.data.len() as u64 {
            return Err(UnitParts::bad_lengths(to));
        }
        if !fits {
            return Err(ends_overflow());
        }
        // Both are at most the length of a slice now.
        let (from, bytes) = (from as usize, bytes as usize);
        let (Some(from), Some(to)) = (parts.data.get(from..from + bytes), data.get_mut(..bytes))
        else {
            return Err(no_room());
        };
        to.copy_from_slice(from);
        Ok(bytes)
    }

    fn decode_indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        ends: &mut [u32],
        base: u32,
        data: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Some(last) = indices.last() else {
            return Ok(0);
        };
        let mut selected = indices.iter().zip(ends).peekable();
        let mut data_at = 0u64;
        let mut written = 0usize;
        let lengths = self.lengths_of(parts);
        lengths.for_parts(0..last + 1, scratch, &mut |lengths, _| {
            // `lengths` become ends inside the data, which is shorter than 2^32 bytes.
            let part_at = data_at;
            let (bytes, fits) = ends_from_lengths(lengths.numbers, part_at as u32);
            data_at = bytes.saturating_add(part_at);
            if data_at > parts.data.len() as u64 || !fits {
                return Err(UnitParts::bad_lengths(data_at));
            }
            let part_end = lengths.start + lengths.numbers.len() as u32;
            while let Some((index, end)) = selected.next_if(|(index, _)| **index < part_end) {
                let i = (index - lengths.start) as usize;
                let from = match i {
                    0 => part_at as usize,
                    _ => lengths.numbers.get(i - 1).map_or(0, |end| *end as usize),
                };
                let to = lengths.numbers.get(i).map_or(0, |end| *end as usize);
                written = copy_string(parts.data, from, to, data, written)?;
                *end = base.wrapping_add(written as u32);
            }
            Ok(())
        })?;
        check_ends(base, written)?;
        Ok(written)
    }
}

/// Checks that the last end fits 32 bits; then all others do.
fn check_ends(base: u32, bytes: usize) -> Result<()> {
    match u32::try_from(bytes)
        .ok()
        .and_then(|bytes| base.checked_add(bytes))
    {
        Some(_) => Ok(()),
        None => Err(ends_overflow()),
    }
}

#[cold]
fn ends_overflow() -> Error {
    Error::invalid("the ends of the byte strings exceed 32 bits")
}

/// Copies `from[start..end]` to `to[at..]`. Returns the end of the copy.
#[inline]
fn copy_string(from: &[u8], start: usize, end: usize, to: &mut [u8], at: usize) -> Result<usize> {
    let len = end.wrapping_sub(start);
    // Bytes behind the value are undefined until the next value covers them. So a short string may be copied with a
    // fixed number of bytes, which is several times faster than a copy of a length known only at run time.
    if len <= SHORT_BYTES
        && let Some(from) = from
            .get(start..)
            .and_then(<[u8]>::first_chunk::<SHORT_BYTES>)
        && let Some(to) = to
            .get_mut(at..)
            .and_then(<[u8]>::first_chunk_mut::<SHORT_BYTES>)
    {
        *to = *from;
        return Ok(at + len);
    }
    let from = from.get(start..end).ok_or_else(no_room)?;
    let to = to
        .get_mut(at..)
        .and_then(|to| to.get_mut(..len))
        .ok_or_else(no_room)?;
    to.copy_from_slice(from);
    Ok(at + len)
}

#[cold]
fn no_room() -> Error {
    Error::invalid("the output is too short for the selection")
}
