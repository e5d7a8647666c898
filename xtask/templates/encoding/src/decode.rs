//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::{{Type}};
use crate::layout::{self, ID, VERSION};

impl Encoding for {{Type}} {
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
        let [values] = children_of(children)?;
        Ok(Box::new(UnitDecoder { values }))
    }
}

struct UnitDecoder {
    values: Box<dyn Decoder>,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        // FILL IN: parse the unit and decode the selected values. If that needs the whole unit, implement only
        // `Selection::All` and call `tarsia_codec::toolbox::decode_by_gather` for all others.
        self.values.decode(unit, selection, scratch, out)
    }
}
