//! The decoder: fills the output with the value.

use alloc::boxed::Box;

use tarsia_bits::fill_bits;
use tarsia_codec::{
    BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, ValueType, Version,
};

use crate::Constant;
use crate::layout::{self, ID, VERSION};

/// The most bytes copied at once while a value is repeated.
const DOUBLING_BYTES_MAX: usize = 1 << 13;

impl Encoding for Constant {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::LEAF)
    }

    fn init(
        &self,
        node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(ConstantDecoder {
            value_type: node.value_type,
        }))
    }
}

struct ConstantDecoder {
    value_type: ValueType,
}

impl Decoder for ConstantDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let value = layout::parse(&unit, self.value_type)?;
        match self.value_type {
            ValueType::Fixed(width) => {
                let to = out.into_fixed(width as usize, n_selected)?;
                fill(to, value);
                Ok(0)
            }
            ValueType::Bits => {
                let (to, offset) = out.into_bits(n_selected)?;
                fill_bits(to, offset, n_selected, value == [1]);
                Ok(0)
            }
            ValueType::Bytes => {
                let BytesOutput { ends, base, data } = out.into_bytes(n_selected)?;
                fill_strings(value, ends, base, data)
            }
        }
    }

    #[cfg(not(feature = "kernel"))]
    fn decoded_bytes_max(&self, bytes: &[u8], len: u32) -> Result<Option<u64>> {
        Ok(Some(bytes.len() as u64 * u64::from(len)))
    }

    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        let value = layout::parse(&unit, self.value_type)?;
        let Some(holds) = predicate.holds(self.value_type, value) else {
            return Ok(false);
        };
        let n = selection.check(unit.len)?;
        let (to, offset) = out.into_bits(n)?;
        fill_bits(to, offset, n, holds);
        Ok(true)
    }

    #[cfg(not(feature = "kernel"))]
    fn aggregates<'a>(
        &self,
        unit: Unit<'a>,
        _order: tarsia_codec::Order,
    ) -> Result<tarsia_codec::Aggregates<'a>> {
        let value = layout::parse(&unit, self.value_type)?;
        Ok(match unit.len {
            0 => tarsia_codec::Aggregates::default(),
            _ => tarsia_codec::Aggregates::of_constant(value),
        })
    }
}

/// Fills `to`, whose length is a multiple of that of `value`, with copies of `value`.
fn fill(to: &mut [u8], value: &[u8]) {
    match value.len() {
        0 => {}
        1 => fill_fixed::<1>(to, value),
        // In a kernel a memory copy is as fast as the loops below, and smaller.
        _ if cfg!(feature = "kernel") => fill_by_doubling(to, value),
        2 => fill_fixed::<2>(to, value),
        4 => fill_fixed::<4>(to, value),
        8 => fill_fixed::<8>(to, value),
        16 => fill_fixed::<16>(to, value),
        _ => fill_by_doubling(to, value),
    }
}

/// Copies one value, then two, then four, because one call per value would take most of the time.
fn fill_by_doubling(to: &mut [u8], value: &[u8]) {
    let Some(first) = to.get_mut(..value.len()) else {
        return;
    };
    first.copy_from_slice(value);
    let mut n_done = value.len();
    while n_done < to.len() {
        // Longer copies would not fit the first-level cache.
        let n = n_done
            .min(to.len() - n_done)
            .min(DOUBLING_BYTES_MAX.max(value.len()) / value.len() * value.len());
        let Some((done, rest)) = to.split_at_mut_checked(n_done) else {
            return;
        };
        if let (Some(from), Some(to)) = (done.get(..n), rest.get_mut(..n)) {
            to.copy_from_slice(from);
        }
        n_done += n;
    }
}

fn fill_fixed<const W: usize>(to: &mut [u8], value: &[u8]) {
    if let Some(value) = value.first_chunk::<W>() {
        to.as_chunks_mut::<W>().0.fill(*value);
    }
}

/// Writes `ends.len()` copies of `value` with their ends. Returns the bytes written.
fn fill_strings(value: &[u8], ends: &mut [u32], base: u32, data: &mut [u8]) -> Result<usize> {
    let all_bytes = value.len().checked_mul(ends.len());
    let to = all_bytes
        .and_then(|all_bytes| data.get_mut(..all_bytes))
        .ok_or_else(|| Error::invalid("the output is too short for the selection"))?;
    let last_end = u32::try_from(to.len())
        .ok()
        .and_then(|len| base.checked_add(len));
    if last_end.is_none() {
        return Err(Error::invalid(
            "the ends of the byte strings exceed 32 bits",
        ));
    }
    // Neither the product nor the sum wraps: the last end is the largest and was checked.
    let value_bytes = value.len() as u32;
    for (i, end) in ends.iter_mut().enumerate() {
        *end = base.wrapping_add((i as u32).wrapping_add(1).wrapping_mul(value_bytes));
    }
    fill(to, value);
    Ok(to.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_would_wrap_are_refused() {
        let mut data = [0; 8];
        let mut ends = [0; 2];
        assert_eq!(
            fill_strings(b"ab", &mut ends, u32::MAX - 4, &mut data),
            Ok(4)
        );
        assert_eq!(ends, [u32::MAX - 2, u32::MAX]);
        assert!(fill_strings(b"ab", &mut ends, u32::MAX - 3, &mut data).is_err());
        assert!(fill_strings(b"abcde", &mut ends, 0, &mut data).is_err());
    }
}
