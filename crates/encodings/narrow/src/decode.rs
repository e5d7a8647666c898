//! The decoder: widens the values of the child.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, ValueType, Version,
};

use crate::Narrow;
use crate::layout::{Extension, ID, Params, VERSION};

impl Encoding for Narrow {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        Ok(NodeSpec::with_children(
            &[Params::parse(node)?.child_type()],
        ))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [values] = children_of(children)?;
        Ok(Box::new(NarrowDecoder {
            params: Params::parse(node)?,
            value_type: node.value_type,
            values,
        }))
    }
}

struct NarrowDecoder {
    params: Params,
    value_type: ValueType,
    values: Box<dyn Decoder>,
}

impl NarrowDecoder {
    /// The unit of the values before they are widened.
    fn child<'a>(&self, unit: Unit<'a>) -> Unit<'a> {
        Unit {
            decoded_bytes: unit.len.saturating_mul(self.params.child_bytes.into()),
            ..unit
        }
    }
}

impl Decoder for NarrowDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let value_bytes = self.value_type.fixed_bytes().unwrap_or_default();
        let to = out.into_fixed(value_bytes, n_selected)?;
        let child_bytes = usize::from(self.params.child_bytes);
        // Not larger than the output, which the caller has.
        let mut narrow = scratch.take(n_selected * child_bytes);
        let into = Output::Fixed(&mut narrow);
        let done = self
            .values
            .decode(self.child(unit), selection, scratch, into);
        if done.is_ok() {
            let is_signed = self.params.extension == Extension::Sign;
            match child_bytes {
                1 => widen::<1>(&narrow, value_bytes, is_signed, to),
                2 => widen::<2>(&narrow, value_bytes, is_signed, to),
                4 => widen::<4>(&narrow, value_bytes, is_signed, to),
                16 => widen_halves(&narrow, is_signed, to),
                _ => widen::<8>(&narrow, value_bytes, is_signed, to),
            }
        }
        scratch.give(narrow);
        done.map(|_| 0)
    }

    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: core::ops::Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        self.values.reach(unit, front, range, scratch)
    }

    /// Tests the values before they are widened: their numbers are the same.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        use tarsia_codec::{NumberRange, Order, Predicate, ValueType, toolbox::Holds};

        let value_bytes = self.value_type.fixed_bytes().unwrap_or_default();
        let Some(range) = predicate.numbers(value_bytes) else {
            return Ok(false);
        };
        let order = match (range.order, self.params.extension) {
            (Order::Signed, Extension::Sign) => Order::Signed,
            (Order::Signed | Order::Unsigned, Extension::Zero) => Order::Unsigned,
            _ => return Ok(false),
        };
        let width = usize::from(self.params.child_bytes);
        let range = NumberRange { order, ..*range };
        let predicate = Predicate::Within(range);
        if predicate.numbers(width).is_none() {
            return Ok(false);
        }
        let values = Holds {
            values: &*self.values,
            value_type: ValueType::Fixed(self.params.child_bytes.into()),
            predicate,
        };
        values.decode(self.child(unit), selection, scratch, out)?;
        Ok(true)
    }
}

/// Writes values of `N` bytes as values of `value_bytes`, 16 or 32.
fn widen<const N: usize>(from: &[u8], value_bytes: usize, is_signed: bool, to: &mut [u8]) {
    match value_bytes {
        16 => widen_to::<N, 2>(from, is_signed, to),
        _ => widen_to::<N, 4>(from, is_signed, to),
    }
}

/// Writes values of 16 bytes as values of 32 bytes.
fn widen_halves(from: &[u8], is_signed: bool, to: &mut [u8]) {
    let (halves, _) = to.as_chunks_mut::<16>();
    let (to, _) = halves.as_chunks_mut::<2>();
    for (to, from) in to.iter_mut().zip(from.as_chunks::<16>().0) {
        let sign = i128::from_le_bytes(*from) >> 127;
        let high = if is_signed { sign } else { 0 };
        *to = [*from, high.to_le_bytes()];
    }
}

/// Writes values of `N` bytes as values of `W` words of 8 bytes.
fn widen_to<const N: usize, const W: usize>(from: &[u8], is_signed: bool, to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (words, _) = to.as_chunks_mut::<8>();
    let (to, _) = words.as_chunks_mut::<W>();
    // Shifted so that the child's sign bit is that of 64 bits, and back.
    let shift = 64 - 8 * N as u32;
    for (to, from) in to.iter_mut().zip(from) {
        let mut low = [0; 8];
        low.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        let low = u64::from_le_bytes(low) << shift;
        let (low, high) = match is_signed {
            true => (low as i64 >> shift, low as i64 >> 63),
            false => ((low >> shift) as i64, 0),
        };
        *to = [high.to_le_bytes(); W];
        if let Some(first) = to.first_mut() {
            *first = low.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_extended_or_not() {
        let mut to = [9; 32];
        widen::<2>(&[0xfe, 0xff, 1, 0x80], 16, true, &mut to);
        assert_eq!(to[..16], (-2i128).to_le_bytes());
        assert_eq!(to[16..], (-0x7fffi128).to_le_bytes());
        widen::<2>(&[0xfe, 0xff, 1, 0x80], 16, false, &mut to);
        assert_eq!(to[..16], 0xfffei128.to_le_bytes());
        assert_eq!(to[16..], 0x8001i128.to_le_bytes());
        let mut to = [9; 32];
        widen::<8>(&(-5i64).to_le_bytes(), 32, true, &mut to);
        assert_eq!(to[..16], (-5i128).to_le_bytes());
        assert_eq!(to[16..], [0xff; 16]);
        let mut to = [9; 64];
        let from = [i128::MIN.to_le_bytes(), i128::MAX.to_le_bytes()].concat();
        widen_halves(&from, true, &mut to);
        assert_eq!((&to[..16], &to[16..32]), (&from[..16], &[0xff; 16][..]));
        assert_eq!((&to[32..48], &to[48..]), (&from[16..], &[0; 16][..]));
        widen_halves(&from, false, &mut to);
        assert_eq!((&to[..16], &to[16..32]), (&from[..16], &[0; 16][..]));
    }
}
