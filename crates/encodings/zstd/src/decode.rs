//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::toolbox::{children_of, decode_by_gather};
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, ValueType, Version, limits,
};

use crate::Zstd;
use crate::frame::{self, State};
use crate::huffman;
use crate::layout::{self, ID, VERSION};
use crate::sequences::{History, Tables};

impl Encoding for Zstd {
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
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [] = children_of(children)?;
        let width = layout::value_bytes(node)?;
        Ok(Box::new(UnitDecoder { width }))
    }
}

/// Bytes of all tables.
const TABLES_BYTES: usize = size_of::<Tables>() + size_of::<huffman::Table>();

struct UnitDecoder {
    /// Bytes of a value.
    width: usize,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        limits::check_codec_bytes(unit.len.into(), self.width)?;
        let Selection::All = selection else {
            frame::check(unit.bytes, unit.len as usize * self.width)?;
            let value_type = ValueType::Fixed(self.width as u32);
            return decode_by_gather(self, value_type, unit, selection, scratch, out);
        };
        let to = out.into_fixed(self.width, unit.len as usize)?;
        let mut tables = scratch.take(TABLES_BYTES);
        let mut literals = scratch.take(frame::literals_bytes(to.len()));
        let done = match state(&mut tables, &mut literals) {
            Some(mut state) => frame::decode(unit.bytes, &mut state, to),
            None => Err(Error::invalid("memory that is too short for tables")),
        };
        scratch.give(literals);
        scratch.give(tables);
        done.map(|()| 0)
    }
}

/// The state at the start of a frame. Tables that earlier frames have left are not used.
fn state<'m>(tables: &'m mut [u8], literals: &'m mut [u8]) -> Option<State<'m>> {
    let (of_sequences, of_literals) = tables.split_at_mut_checked(size_of::<Tables>())?;
    let of_sequences: &mut [u64] = bytemuck::try_cast_slice_mut(of_sequences).ok()?;
    let of_literals: &mut [u16] = bytemuck::try_cast_slice_mut(of_literals).ok()?;
    Some(State {
        codes: of_literals.first_chunk_mut()?,
        has_codes: false,
        history: History::new(of_sequences.as_chunks_mut().0.first_chunk_mut()?),
        literals,
    })
}
