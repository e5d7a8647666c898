//! The decoder: decodes prefixes and suffixes from the start of the group on that holds the first selected string, and
//! puts the strings together.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::{children_of, ends_from_lengths};
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Front;
use crate::coded::{Coded, Known, MARGIN};
use crate::layout::{self, GROUP, ID, UnitParts, VERSION};

impl Encoding for Front {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)
    }

    fn init(
        &self,
        _node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [prefixes, suffixes] = children_of(children)?;
        Ok(Box::new(UnitDecoder { prefixes, suffixes }))
    }
}

struct UnitDecoder {
    prefixes: Box<dyn Decoder>,
    suffixes: Box<dyn Decoder>,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let parts = UnitParts::parse(&unit)?;
        let to = out.into_bytes(n_selected)?;
        match selection {
            Selection::All => {
                let bytes = Some(unit.decoded_bytes);
                self.decode_range(&parts, 0..unit.len, bytes, to, scratch)
            }
            Selection::Range { start, len } if len > 0 => {
                self.decode_range(&parts, start..start + len, None, to, scratch)
            }
            Selection::Indices(indices) if !indices.is_empty() => {
                self.decode_indices(&parts, indices, to, scratch)
            }
            Selection::Range { .. } | Selection::Indices(_) => Ok(0),
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
        // The prefixes are at the front, behind their size in bytes.
        if front < layout::HEADER_BYTES.min(unit.bytes.len()) {
            return Ok(Reach::Front(layout::HEADER_BYTES));
        }
        let parts = UnitParts::parse(&unit)?;
        let suffixes_at = unit.bytes.len() - parts.suffixes.bytes.len();
        if front < suffixes_at {
            return Ok(Reach::Front(suffixes_at));
        }
        let strings = group_start(range.start)..range.end;
        let in_front = front - suffixes_at;
        let reach = self
            .suffixes
            .reach(parts.suffixes, in_front, strings, scratch)?;
        let (place, suffix_bytes) = match reach {
            Reach::Front(more) => return Ok(Reach::Front(suffixes_at + more)),
            Reach::Bytes {
                place,
                decoded_bytes,
            } => (
                suffixes_at + place.start..suffixes_at + place.end,
                decoded_bytes,
            ),
            Reach::All => (
                suffixes_at..unit.bytes.len(),
                parts.suffixes.decoded_bytes.into(),
            ),
        };
        let n = range.len();
        let prefix_bytes =
            scratch.with_values(n, |prefixes: &mut [u32], scratch| -> Result<u64> {
                let selection = consecutive(range, unit.len);
                self.prefixes_into(&parts, selection, prefixes, scratch)?;
                Ok(prefixes.iter().map(|it| u64::from(*it)).sum::<u64>())
            })?;
        let decoded_bytes = prefix_bytes.saturating_add(suffix_bytes);
        Ok(Reach::Bytes {
            place,
            decoded_bytes: decoded_bytes.min(unit.decoded_bytes.into()),
        })
    }
}

/// The first string of the group that holds `string`.
fn group_start(string: u32) -> u32 {
    string - string % GROUP as u32
}

/// The selection of consecutive values of a unit of `len`.
fn consecutive(range: Range<u32>, len: u32) -> Selection<'static> {
    match range == (0..len) {
        true => Selection::All,
        false => Selection::from(&range),
    }
}

impl UnitDecoder {
    /// Decodes consecutive strings. They are all of the unit if `unit_bytes` is given, what it decodes to.
    fn decode_range(
        &self,
        parts: &UnitParts<'_>,
        range: Range<u32>,
        unit_bytes: Option<u32>,
        out: BytesOutput<'_>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let BytesOutput { ends, base, data } = out;
        let first = group_start(range.start);
        let head = (range.start - first) as usize;
        let strings = consecutive(first..range.end, parts.prefixes.len);
        let n = head + ends.len();
        self.with_coded(parts, strings, n, scratch, |coded| {
            coded.check_consecutive(first)?;
            let suffixes = coded.suffix_starts.iter().zip(coded.suffix_ends);
            let selected = coded.prefixes.iter().zip(suffixes).skip(head);
            for (end, (prefix, (suffix_start, suffix_end))) in ends.iter_mut().zip(selected) {
                *end = prefix.wrapping_add(suffix_end.wrapping_sub(*suffix_start));
            }
            let (n_bytes, fits) = ends_from_lengths(ends, base);
            if let Some(bytes) = unit_bytes
                && n_bytes != u64::from(bytes)
            {
                return Err(layout::bad_sum(n_bytes));
            }
            let data = room(data, 0, n_bytes, fits)?;
            coded.put_all(head, ends, base, data);
            Ok(data.len())
        })
    }

    /// Decodes the strings at `indices`.
    fn decode_indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        out: BytesOutput<'_>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let BytesOutput { ends, base, data } = out;
        let n = needed(indices).map(|strings| strings.len()).sum();
        scratch.with_values(n, |strings: &mut [u32], scratch| {
            for (to, string) in strings.iter_mut().zip(needed(indices).flatten()) {
                *to = string;
            }
            let selection = match n == parts.prefixes.len as usize {
                true => Selection::All,
                false => Selection::Indices(strings),
            };
            self.with_coded(parts, selection, n, scratch, |coded| {
                coded.check(|i| strings.get(i).copied().unwrap_or_default())?;
                let (mut i, mut written) = (0, 0);
                let mut known = None;
                for (index, end) in indices.iter().zip(ends) {
                    while strings.get(i).is_some_and(|string| string < index) {
                        i += 1;
                    }
                    let n_bytes = coded.length(i);
                    let after = u32::try_from(written).ok();
                    let after = after.and_then(|it| it.checked_add(n_bytes));
                    let after = after.and_then(|it| base.checked_add(it));
                    room(data, written, n_bytes.into(), after.is_some())?;
                    coded.put_one(i, known, data, written);
                    known = Some(Known { i, at: written });
                    written += n_bytes as usize;
                    *end = after.unwrap_or_default();
                }
                Ok(written)
            })
        })
    }

    /// Calls `with` with what is stored of `n` selected strings.
    fn with_coded<R>(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        n: usize,
        scratch: &mut Scratch,
        with: impl FnOnce(Coded<'_>) -> Result<R>,
    ) -> Result<R> {
        // For each string the prefix and the end of the suffix, and a first start.
        scratch.with_values(
            n.saturating_mul(2).saturating_add(1),
            |numbers: &mut [u32], scratch| {
                let (prefixes, suffixes) = numbers.split_at_mut_checked(n).unwrap_or_default();
                self.prefixes_into(parts, selection, prefixes, scratch)?;
                if let Some(first) = suffixes.first_mut() {
                    *first = 0;
                }
                let all_bytes = parts.suffixes.decoded_bytes as usize;
                let Some(n_buf) = all_bytes.checked_add(2 * MARGIN) else {
                    return Err(parts.bad_suffix_bytes());
                };
                let mut buf = scratch.take(n_buf);
                let room = buf.get_mut(MARGIN..MARGIN + all_bytes);
                let out = Output::Bytes {
                    ends: suffixes.get_mut(1..).unwrap_or_default(),
                    base: 0,
                    data: room.unwrap_or_default(),
                };
                let done = self
                    .suffixes
                    .decode(parts.suffixes, selection, scratch, out);
                let done = done.and_then(|used| match selection {
                    Selection::All if used != all_bytes => Err(parts.bad_suffix_bytes()),
                    _ => with(Coded {
                        prefixes,
                        suffix_starts: suffixes.get(..n).unwrap_or_default(),
                        suffix_ends: suffixes.get(1..).unwrap_or_default(),
                        suffixes: buf.get(..used + 2 * MARGIN).unwrap_or_default(),
                    }),
                });
                scratch.give(buf);
                done
            },
        )
    }

    fn prefixes_into(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        to: &mut [u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let out = Output::Fixed(bytemuck::cast_slice_mut(to));
        self.prefixes
            .decode(parts.prefixes, selection, scratch, out)?;
        for prefix in to {
            *prefix = u32::from_le(*prefix);
        }
        Ok(())
    }
}

/// For each group that holds some of `indices` the strings up to the last of these, in pieces.
fn needed(indices: &[u32]) -> impl Iterator<Item = Range<u32>> {
    let mut next = 0;
    indices.iter().map(move |index| {
        let start = group_start(*index).max(next);
        next = index + 1;
        start..next
    })
}

/// The `n_bytes` of `data` at `at`, for strings whose ends fit 32 bits or not.
fn room(data: &mut [u8], at: usize, n_bytes: u64, fits: bool) -> Result<&mut [u8]> {
    let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    let end = at.saturating_add(n_bytes);
    match data.get_mut(at..end) {
        Some(room) if fits => Ok(room),
        Some(_) => Err(Error::invalid(
            "the ends of the byte strings exceed 32 bits",
        )),
        None => Err(Error::invalid("the output is too short for the selection")),
    }
}
