//! The decoder: turns lengths into ends, and has the child decode the bytes to where the strings belong.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::{Numbers, NumbersUnit, children_of, ends_from_lengths};
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Concat;
use crate::layout::{self, DATA_TYPE, ID, LENGTHS_TYPE, UnitParts, VERSION, bad_lengths};

impl Encoding for Concat {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::with_children(&[LENGTHS_TYPE, DATA_TYPE]))
    }

    fn init(
        &self,
        _node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [lengths, data] = children_of(children)?;
        Ok(Box::new(UnitDecoder { lengths, data }))
    }
}

struct UnitDecoder {
    lengths: Box<dyn Decoder>,
    data: Box<dyn Decoder>,
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
        let out = out.into_bytes(n_selected)?;
        match selection {
            Selection::All => self.range(&parts, 0..unit.len, scratch, out),
            Selection::Range { start, len } => self.range(&parts, start..start + len, scratch, out),
            Selection::Indices(indices) => self.indices(&parts, indices, scratch, out),
        }
    }
}

impl UnitDecoder {
    fn lengths_of<'a>(&'a self, parts: &UnitParts<'a>) -> NumbersUnit<'a> {
        NumbersUnit::new(&*self.lengths, parts.lengths)
    }

    /// Decodes consecutive strings.
    fn range(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        scratch: &mut Scratch,
        out: BytesOutput<'_>,
    ) -> Result<usize> {
        let BytesOutput { ends, base, data } = out;
        let lengths = self.lengths_of(parts);
        let start = match values.start {
            0 => 0,
            n_before => lengths.sum(0..n_before, scratch)?,
        };
        let is_whole = values.len() == lengths.len() as usize;
        let selection = match is_whole {
            true => Selection::All,
            false => Selection::from(&values),
        };
        // `ends` first holds the lengths.
        lengths.decode(selection, ends, scratch)?;
        let (bytes, fits) = ends_from_lengths(ends, base);
        let place = place_in(parts, start, bytes, values.end)?;
        let to = data.get_mut(..place.len());
        let Some(to) = to.filter(|_| fits) else {
            return Err(no_room(fits));
        };
        self.bytes_into(parts, place, to, scratch)
    }

    /// Decodes the bytes `place` of all bytes of the unit's strings to `to`, which is as long.
    fn bytes_into(
        &self,
        parts: &UnitParts<'_>,
        place: Range<u32>,
        to: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let n_bytes = to.len();
        let selection = match place.len() == parts.data.len as usize {
            true => Selection::All,
            false => Selection::from(&place),
        };
        let out = Output::Fixed(to);
        self.data.decode(parts.data, selection, scratch, out)?;
        Ok(n_bytes)
    }

    /// Decodes the strings at rising `indices`.
    fn indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        scratch: &mut Scratch,
        out: BytesOutput<'_>,
    ) -> Result<usize> {
        let n_needed = indices.last().map_or(0, |last| last + 1);
        let mut strings = Strings { out, written: 0 };
        let (mut left, mut start) = (indices, 0);
        self.lengths_of(parts)
            .for_parts(0..n_needed, scratch, &mut |lengths, scratch| {
                let (bytes, fits) = ends_from_lengths(lengths.numbers, 0);
                let place = place_in(parts, start, bytes, lengths_end(&lengths))?;
                if !fits {
                    return Err(bad_lengths(start + bytes));
                }
                let is_of_part = |index: &&u32| **index < lengths_end(&lengths);
                let n = left.iter().take_while(is_of_part).count();
                let (now, later) = left.split_at(n);
                left = later;
                start += bytes;
                self.part(parts, &lengths, now, place.start, scratch, &mut strings)
            })?;
        Ok(strings.written)
    }

    /// Decodes the strings at `indices`, whose ends are those of `lengths`, counted from byte `start` of all.
    fn part(
        &self,
        parts: &UnitParts<'_>,
        lengths: &Numbers<'_>,
        indices: &[u32],
        start: u32,
        scratch: &mut Scratch,
        strings: &mut Strings<'_>,
    ) -> Result<()> {
        let place_of = |index: &u32| lengths.ends_of(*index).unwrap_or_default();
        let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
            return Ok(());
        };
        let around = place_of(first).start..place_of(last).end;
        let mut bytes = scratch.take(around.len());
        // No overflow: the end of the part was compared with the bytes of all strings.
        let place = start + around.start..start + around.end;
        let done = self.bytes_into(parts, place, &mut bytes, scratch);
        let done = done.and_then(|_| {
            let mut of = indices.iter().map(place_of);
            of.try_for_each(|place| {
                let place =
                    (place.start - around.start) as usize..(place.end - around.start) as usize;
                strings.push(bytes.get(place).unwrap_or_default())
            })
        });
        scratch.give(bytes);
        done
    }
}

/// The value behind the last of the decoded numbers.
fn lengths_end(lengths: &Numbers<'_>) -> u32 {
    lengths.start + lengths.numbers.len() as u32
}

/// The place of strings among the bytes of all, which begin at byte `start`, take `bytes`, and end before value `end`.
fn place_in(parts: &UnitParts<'_>, start: u64, bytes: u64, end: u32) -> Result<Range<u32>> {
    let all = u64::from(parts.data.len);
    let to = start.saturating_add(bytes);
    let reaches_end = end == parts.lengths.len;
    match to > all || reaches_end && to != all {
        true => Err(bad_lengths(to)),
        // Both are at most `all` now.
        false => Ok(start as u32..to as u32),
    }
}

/// The strings decoded so far.
struct Strings<'a> {
    out: BytesOutput<'a>,
    written: usize,
}

impl Strings<'_> {
    fn push(&mut self, string: &[u8]) -> Result<()> {
        let end = self.written + string.len();
        let to = self.out.data.get_mut(self.written..end);
        to.ok_or_else(|| no_room(true))?.copy_from_slice(string);
        self.written = end;
        let with_base = u32::try_from(end)
            .ok()
            .and_then(|end| end.checked_add(self.out.base));
        let with_base = with_base.ok_or_else(|| no_room(false))?;
        // The strings have taken as many ends from the front.
        let ends = core::mem::take(&mut self.out.ends);
        let Some((first, later)) = ends.split_first_mut() else {
            return Err(no_room(true));
        };
        *first = with_base;
        self.out.ends = later;
        Ok(())
    }
}

#[cold]
fn no_room(fits: bool) -> Error {
    Error::invalid(match fits {
        true => "the output is too short for the selection",
        false => "the ends of the byte strings exceed 32 bits",
    })
}
