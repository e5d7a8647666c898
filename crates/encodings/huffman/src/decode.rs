//! The decoder: all values of a unit at once, or of each stream those up to the last one that is wanted.

use alloc::boxed::Box;
use core::array;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Huffman;
use crate::codes::Lengths;
use crate::layout::{self, ID, N_STREAMS, Streams, UnitParts, VERSION};
use crate::table::{Stream, Table};

impl Encoding for Huffman {
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
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [] = children_of(children)?;
        let [lengths] = shared else {
            return Err(Error::invalid("huffman has one shared buffer"));
        };
        let table = Table::of(Lengths::of(lengths.values())?)?;
        Ok(Box::new(UnitDecoder { table }))
    }
}

struct UnitDecoder {
    table: Table,
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
        let to = out.into_fixed(1, n_selected)?;
        let parts = UnitParts::parse(&unit)?;
        match selection {
            Selection::All => self.decode_fronts(&parts, by_stream(to, &parts.streams))?,
            _ => self.decode_some(&parts, selection, scratch, to)?,
        }
        Ok(0)
    }
}

impl UnitDecoder {
    /// Decodes some of the values: of each stream those before the last selected one, too.
    fn decode_some(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let streams = &parts.streams;
        let n_needed = end_of_selected(selection, 0..usize::MAX);
        let mut values = scratch.take(n_needed);
        let mut fronts = by_stream(&mut values, streams);
        for (i, front) in fronts.iter_mut().enumerate() {
            let of_stream = streams.values_of(i);
            let end = end_of_selected(selection, of_stream.clone());
            let n = end.saturating_sub(of_stream.start);
            *front = core::mem::take(front).get_mut(..n).unwrap_or_default();
        }
        let done = self.decode_fronts(parts, fronts);
        if done.is_ok() {
            match selection {
                Selection::Indices(indices) => {
                    for (to, index) in to.iter_mut().zip(indices) {
                        *to = values.get(*index as usize).copied().unwrap_or_default();
                    }
                }
                _ => {
                    // The selected values are the last ones.
                    let selected = values.iter().skip(n_needed - to.len());
                    for (to, from) in to.iter_mut().zip(selected) {
                        *to = *from;
                    }
                }
            }
        }
        scratch.give(values);
        done
    }

    /// Fills each part with the first values of a stream.
    fn decode_fronts(&self, parts: &UnitParts<'_>, fronts: [&mut [u8]; N_STREAMS]) -> Result<()> {
        let mut starts = parts.starts.into_iter();
        let streams = fronts.map(|to| Stream::new(starts.next().unwrap_or(0), to));
        let streams = self.table.decode(parts.codes, streams);
        let used = streams.iter().enumerate().take(parts.streams.n_streams);
        for (i, stream) in used {
            parts.check_end(i, stream.to.len(), stream.next_bit)?;
        }
        Ok(())
    }
}

/// The values of a unit, or the first of them, as those of each stream.
fn by_stream<'a>(values: &'a mut [u8], streams: &Streams) -> [&'a mut [u8]; N_STREAMS] {
    let mut of_streams = values.chunks_mut(streams.stream_values.max(1) as usize);
    array::from_fn(|_| of_streams.next().unwrap_or_default())
}

/// The end of those values up to the last selected one in `values`; 0 if none is selected.
fn end_of_selected(selection: Selection<'_>, values: Range<usize>) -> usize {
    match selection {
        Selection::All => values.end,
        Selection::Range { start, len } => {
            let (start, end) = (start as usize, (start + len) as usize);
            let end = end.min(values.end);
            if start.max(values.start) < end {
                end
            } else {
                0
            }
        }
        Selection::Indices(indices) => {
            let n_before = indices.partition_point(|index| (*index as usize) < values.end);
            let last = n_before.checked_sub(1).and_then(|i| indices.get(i));
            let end = last.map_or(0, |last| *last as usize + 1);
            if end > values.start { end } else { 0 }
        }
    }
}
