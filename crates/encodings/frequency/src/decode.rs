//! The decoder: decodes the mask, then the selected exceptions, and spreads these over the frequent value.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    BitSlice, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Frequency;
use crate::layout::{self, ID, UnitParts, VERSION, bad_count};

impl Encoding for Frequency {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::spec(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [mask, exceptions] = children_of(children)?;
        Ok(Box::new(UnitDecoder {
            width: layout::width(node)?,
            mask,
            exceptions,
        }))
    }
}

struct UnitDecoder {
    width: usize,
    mask: Box<dyn Decoder>,
    exceptions: Box<dyn Decoder>,
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
        let to = out.into_fixed(self.width, n_selected)?;
        let parts = UnitParts::parse(&unit, self.width)?;
        // Which exceptions are selected depends on the bits before.
        let n_bits = match selection {
            Selection::All => unit.len,
            Selection::Range { start, len } => start + len,
            Selection::Indices(indices) => indices.last().map_or(0, |last| last + 1),
        };
        let mut mask = scratch.take((n_bits as usize).div_ceil(8));
        let done = self.decode_under(&parts, selection, n_bits, &mut mask, scratch, to);
        scratch.give(mask);
        done.map(|()| 0)
    }

    /// Tests the frequent value once, and the exceptions.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        let Some(range) = predicate.numbers(self.width) else {
            return Ok(false);
        };
        let n_selected = selection.check(unit.len)?;
        if !matches!(selection, Selection::All) {
            return Ok(false);
        }
        let mut out = tarsia_codec::toolbox::BitsOut::new(out, n_selected)?;
        self.find_within(&unit, range, scratch, &mut out)?;
        Ok(true)
    }
}

#[cfg(not(feature = "kernel"))]
impl UnitDecoder {
    /// Tests all values of a unit.
    fn find_within(
        &self,
        unit: &Unit<'_>,
        range: &tarsia_codec::NumberRange,
        scratch: &mut Scratch,
        out: &mut tarsia_codec::toolbox::BitsOut<'_>,
    ) -> Result<()> {
        use tarsia_codec::{NumberRange, Predicate, ValueType, toolbox::Holds};

        let parts = UnitParts::parse(unit, self.width)?;
        let top = NumberRange::number(range.order, parts.top);
        out.fill(top.is_some_and(|top| range.contains(top)));
        let n = parts.exceptions.len as usize;
        scratch.with_values(out.len().div_ceil(8), |mask: &mut [u8], scratch| {
            let to = Output::Bits {
                bytes: &mut *mask,
                offset: 0,
            };
            self.mask.decode(parts.mask, Selection::All, scratch, to)?;
            let mask = BitSlice::new(mask, 0, out.len())?;
            if mask.count_ones() != n {
                let allowed = "the number of set bits in the mask";
                return Err(bad_count(parts.exceptions.len, allowed));
            }
            scratch.with_values(n.div_ceil(8), |found: &mut [u8], scratch| {
                let exceptions = Holds {
                    values: &*self.exceptions,
                    value_type: ValueType::Fixed(self.width as u32),
                    predicate: Predicate::Within(*range),
                };
                let to = Output::Bits {
                    bytes: &mut *found,
                    offset: 0,
                };
                exceptions.decode(parts.exceptions, Selection::All, scratch, to)?;
                out.spread(mask, found);
                Ok(())
            })
        })
    }
}

impl UnitDecoder {
    /// Decodes the first `n_bits` of the mask to `mask`, and the selected values to `to`.
    fn decode_under(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        n_bits: u32,
        mask: &mut [u8],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let out = Output::Bits {
            bytes: &mut *mask,
            offset: 0,
        };
        self.mask
            .decode(parts.mask, first(n_bits, parts.mask.len), scratch, out)?;
        let mask = BitSlice::new(mask, 0, n_bits as usize)?;
        match selection {
            Selection::All => {
                let n_found = mask.count_ones() as u32;
                if n_found != parts.exceptions.len {
                    let allowed = "the number of set bits in the mask";
                    return Err(bad_count(parts.exceptions.len, allowed));
                }
                self.spread(parts, mask, 0, n_found, scratch, to)
            }
            Selection::Range { start, len } => {
                let (start, len) = (start as usize, len as usize);
                let n_before = mask.slice(0..start).count_ones() as u32;
                let mask = mask.slice(start..start + len);
                let n_found = mask.count_ones() as u32;
                self.spread(parts, mask, n_before, n_found, scratch, to)
            }
            Selection::Indices(indices) => self.gather(parts, mask, indices, scratch, to),
        }
    }

    /// The values of a run of rows, whose bits are `mask`, of which `n_found` are set, and `n_before` before them.
    fn spread(
        &self,
        parts: &UnitParts<'_>,
        mask: BitSlice<'_>,
        n_before: u32,
        n_found: u32,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let width = self.width;
        let selection = Selection::Range {
            start: n_before,
            len: n_found,
        };
        let mut found = scratch.take(n_found as usize * width);
        let done = self
            .decode_exceptions(parts, selection, n_before + n_found, scratch, &mut found)
            .and_then(|()| {
                let (bits, at) = (mask.bytes(), mask.offset());
                tarsia_bits::expand_over(bits, at, mask.len(), parts.top, &found, to)
                    .map_err(|_| Error::invalid("exceptions that do not fit their mask"))
            });
        scratch.give(found);
        done
    }

    /// The values at rising `indices`; `mask` has the bits of all rows up to the last.
    fn gather(
        &self,
        parts: &UnitParts<'_>,
        mask: BitSlice<'_>,
        indices: &[u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let width = self.width;
        let mut places = scratch.take(indices.len() * 4);
        let (mut n_before, mut counted, mut n_found) = (0, 0, 0);
        for index in indices {
            let index = *index as usize;
            n_before += count_ones(&mask, counted, index);
            counted = index;
            if mask.get(index) {
                if let Some(place) = places.as_chunks_mut::<4>().0.get_mut(n_found) {
                    *place = n_before.to_ne_bytes();
                }
                n_found += 1;
            }
        }
        let mut found = scratch.take(n_found * width);
        let done = places.as_values().and_then(|places: &[u32]| {
            let places = places.get(..n_found).unwrap_or_default();
            let n_needed = places.last().map_or(0, |last| last + 1);
            let selection = Selection::Indices(places);
            self.decode_exceptions(parts, selection, n_needed, scratch, &mut found)
        });
        if done.is_ok() {
            let mut found = found.chunks_exact(width);
            for (to, index) in to.chunks_exact_mut(width).zip(indices) {
                let value = match mask.get(*index as usize) {
                    true => found.next(),
                    false => None,
                };
                to.copy_from_slice(value.unwrap_or(parts.top));
            }
        }
        scratch.give(found);
        scratch.give(places);
        done
    }

    /// Decodes selected exceptions, those before number `n_needed`.
    fn decode_exceptions(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        n_needed: u32,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let n = parts.exceptions.len;
        if n_needed > n {
            return Err(bad_count(n, "at least the number of set bits in the mask"));
        }
        let selection = match selection {
            Selection::Range { start: 0, len } => first(len, n),
            other => other,
        };
        self.exceptions
            .decode(parts.exceptions, selection, scratch, Output::Fixed(to))
            .map(|_| ())
    }
}

/// The set bits of a range, which is often short.
fn count_ones(mask: &BitSlice<'_>, start: usize, end: usize) -> u32 {
    match end - start {
        n @ 0..64 => (mask.word(start) & ((1 << n) - 1)).count_ones(),
        _ => mask.slice(start..end).count_ones() as u32,
    }
}

/// The first `n` of `all` values.
fn first<'a>(n: u32, all: u32) -> Selection<'a> {
    match n == all {
        true => Selection::All,
        false => Selection::Range { start: 0, len: n },
    }
}
