//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    EncodeChildren, EncodingWriter, Error, NodeWriter, PageEncoder, Result, Shared, ValueType,
    Values,
};

use crate::Plain;
use crate::layout::{self, ID};

impl EncodingWriter for Plain {
    fn id(&self) -> &'static str {
        ID
    }

    fn prepare(
        &self,
        node: &NodeWriter<'_>,
        values: Values<'_>,
        _children: &dyn EncodeChildren,
        _shared: Shared<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        layout::check_node(node)?;
        if values.value_type() != node.value_type {
            return Err(Error::invalid("the values are not of the node's type"));
        }
        Ok(Box::new(PlainPage))
    }

    fn encoded_bytes_max(
        &self,
        node: &NodeWriter<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        layout::unit_bytes(node.value_type, n_values).unwrap_or(0)
    }
}

struct PlainPage;

impl PageEncoder for PlainPage {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        if range.start > range.end || range.end > values.len() {
            return Err(Error::invalid("a range reaches beyond the page"));
        }
        match values.slice(range) {
            Values::Fixed(values) => out.extend_from_slice(values.bytes()),
            Values::Bits(values) => values.append_to(out),
            Values::Bytes(_) => return Err(Error::invalid("plain holds no byte strings")),
        }
        Ok(())
    }
}
