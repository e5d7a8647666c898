//! The encoder, and the question whether it may be used.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    EncodeChildren, EncodingWriter, Error, NodeWriter, PageEncoder, Result, Shared, ValueType,
    Values,
};

use crate::Constant;
use crate::layout::{self, ID};

/// Whether all values are equal, bit for bit; true for no value and for one. Runs at the speed of a memory comparison
/// and stops at the first difference.
///
/// ```
/// use tarsia_codec::{FixedSlice, Values};
/// let values = |bytes| Values::Fixed(FixedSlice::new(bytes, 2, 3).unwrap());
/// assert!(tarsia_constant::is_constant(values(&[7, 1, 7, 1, 7, 1])));
/// assert!(!tarsia_constant::is_constant(values(&[7, 1, 7, 1, 7, 0])));
/// ```
pub fn is_constant(values: Values<'_>) -> bool {
    match values {
        Values::Bits(bits) => {
            let expected = if bits.get(0) { u64::MAX } else { 0 };
            (0..bits.len()).step_by(64).all(|at| {
                let used = match bits.len() - at {
                    n @ 0..64 => (1 << n) - 1,
                    _ => u64::MAX,
                };
                bits.word(at) == expected & used
            })
        }
        Values::Fixed(values) => is_periodic(values.bytes(), values.width()),
        Values::Bytes(values) => {
            let first = values.value_bytes(0);
            is_stepped(values.offsets(), first) && is_periodic(values.value_data(), first as usize)
        }
    }
}

/// Whether `offsets` are `step` apart.
fn is_stepped(offsets: &[u32], step: u32) -> bool {
    let later = offsets.get(1..).unwrap_or_default();
    // Inside a chunk all are compared, which vectorises; after it the loop may end.
    let mut chunks = offsets.chunks(256).zip(later.chunks(256));
    chunks.all(|(starts, ends)| {
        let differences = starts
            .iter()
            .zip(ends)
            .map(|(start, end)| (end - start) ^ step);
        differences.fold(0, |all, difference| all | difference) == 0
    })
}

/// Whether `bytes` repeats its first `period` bytes.
fn is_periodic(bytes: &[u8], period: usize) -> bool {
    match (bytes.get(period..), bytes.len().checked_sub(period)) {
        (Some(shifted), Some(n)) => bytes.get(..n) == Some(shifted),
        _ => true,
    }
}

impl EncodingWriter for Constant {
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
        // Blocks are looked at one by one: each may hold a value of its own.
        Ok(Box::new(ConstantPage))
    }

    fn encoded_bytes_max(
        &self,
        node: &NodeWriter<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        match layout::value_bytes(node.value_type) {
            _ if n_values == 0 => 0,
            Some(value_bytes) => value_bytes,
            // Not divided by the number of values: a parent may ask for "at most so many", and the bound must not fall
            // as that number grows.
            None => decoded_bytes,
        }
    }
}

struct ConstantPage;

impl PageEncoder for ConstantPage {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        if range.start > range.end || range.end > values.len() {
            return Err(Error::invalid("a range reaches beyond the page"));
        }
        let values = values.slice(range);
        if !is_constant(values) {
            return Err(Error::invalid("the values of a constant unit differ"));
        }
        match values {
            _ if values.is_empty() => {}
            Values::Bits(bits) => out.push(bits.get(0).into()),
            Values::Fixed(values) => out.extend_from_slice(values.get(0)),
            Values::Bytes(values) => out.extend_from_slice(values.get(0)),
        }
        Ok(())
    }
}
