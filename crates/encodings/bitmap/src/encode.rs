//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    EncodeChildren, EncodingWriter, Error, NodeWriter, PageEncoder, Result, Shared, ValueType,
    Values,
};

use crate::Bitmap;
use crate::layout::{self, ID};

impl EncodingWriter for Bitmap {
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
        Ok(Box::new(BitmapPage))
    }

    fn encoded_bytes_max(
        &self,
        _node: &NodeWriter<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        layout::unit_bytes(n_values)
    }
}

struct BitmapPage;

impl PageEncoder for BitmapPage {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        if range.start > range.end || range.end > values.len() {
            return Err(Error::invalid("a range reaches beyond the page"));
        }
        values.slice(range).as_bits()?.append_to(out);
        Ok(())
    }
}
