//! The decoders of floating-point numbers and of integers.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::iter;
use core::num::NonZero;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Quantized;
use crate::layout::{self, Format, ID, Params, SCALE_BYTES, Scale, VERSION, VectorParts};
use crate::scaled::{multiply, too_wide};
use crate::widen::{N_CODES, look_up, widen, write_table};

impl Encoding for Quantized {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        Ok(Params::parse(node)?.spec())
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let params = Params::parse(node)?;
        if let Scale::Vector(dim) = params.scale {
            let [numbers, scales] = children_of(children)?;
            return Ok(Box::new(VectorDecoder {
                params,
                dim,
                numbers,
                scales,
            }));
        }
        let [numbers] = children_of(children)?;
        let mut table = Vec::new();
        if let (Some(small), 1) = (params.format.small(), params.format.number_bytes()) {
            table = vec![0; N_CODES * params.value_bytes];
            write_table(small, params.value_bytes, &mut table);
        }
        Ok(Box::new(PageDecoder {
            params,
            table,
            numbers,
        }))
    }
}

/// Decodes units that are those of the child.
struct PageDecoder {
    params: Params,
    /// For floating-point numbers of 1 byte: the value of each.
    table: Vec<u8>,
    numbers: Box<dyn Decoder>,
}

impl PageDecoder {
    fn convert(&self, numbers: &[u8], to: &mut [u8]) -> Result<()> {
        let Params {
            format,
            scale,
            value_bytes,
        } = self.params;
        if let Scale::Page(scale) = scale {
            check_integers(format, numbers, 0)?;
            multiply(numbers, scale, value_bytes, to);
            return Ok(());
        }
        match (format.number_bytes(), value_bytes) {
            (1, 2) => look_up::<2>(&self.table, numbers, to),
            (1, 4) => look_up::<4>(&self.table, numbers, to),
            (1, _) => look_up::<8>(&self.table, numbers, to),
            _ => widen(format, value_bytes, numbers, to),
        }
        Ok(())
    }
}

impl Decoder for PageDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.params.value_bytes, n_selected)?;
        // Smaller than the output, which the caller has.
        let mut numbers = scratch.take(n_selected * self.params.format.number_bytes());
        let of_child = self.params.numbers_unit(unit.bytes, unit.len);
        let into = Output::Fixed(&mut numbers);
        let done = self.numbers.decode(of_child, selection, scratch, into);
        let done = done.and_then(|_| self.convert(&numbers, to));
        scratch.give(numbers);
        done.map(|()| 0)
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        let of_child = self.params.numbers_unit(unit.bytes, unit.len);
        self.numbers.reach(of_child, front, range, scratch)
    }
}

/// Decodes units with a scale for each vector of `dim` values.
struct VectorDecoder {
    params: Params,
    dim: NonZero<u32>,
    numbers: Box<dyn Decoder>,
    scales: Box<dyn Decoder>,
}

impl Decoder for VectorDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.params.value_bytes, n_selected)?;
        let parts = VectorParts::parse(&unit, &self.params, self.dim)?;
        let mut numbers = scratch.take(n_selected);
        let into = Output::Fixed(&mut numbers);
        let done = self.numbers.decode(parts.numbers, selection, scratch, into);
        let done = done.and_then(|_| {
            check_integers(self.params.format, &numbers, parts.numbers_at)?;
            match selection {
                Selection::All => self.range(&parts, 0..unit.len, &numbers, scratch, to),
                Selection::Range { start, len } => {
                    self.range(&parts, start..start + len, &numbers, scratch, to)
                }
                Selection::Indices(indices) => self.indices(&parts, indices, &numbers, scratch, to),
            }
        });
        scratch.give(numbers);
        done.map(|()| 0)
    }
}

impl VectorDecoder {
    /// Multiplies `numbers`, those of the values `range`, with the scales of their vectors.
    fn range(
        &self,
        parts: &VectorParts<'_>,
        range: Range<u32>,
        numbers: &[u8],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let dim = self.dim;
        let vectors = match range.is_empty() {
            true => 0..0,
            false => range.start / dim..(range.end - 1) / dim + 1,
        };
        let selection = match vectors.len() == parts.scales.len as usize {
            true => Selection::All,
            false => Selection::from(&vectors),
        };
        let first = dim.get() - range.start % dim;
        let runs = iter::once(first).chain(iter::repeat(dim.get()));
        let mut scales = scratch.take(vectors.len() * SCALE_BYTES);
        let into = Output::Fixed(&mut scales);
        let done = self.scales.decode(parts.scales, selection, scratch, into);
        let done = done.and_then(|_| self.multiply(runs, &scales, numbers, to));
        scratch.give(scales);
        done
    }

    /// Multiplies `numbers`, those of the values at rising `indices`, with the scales of their vectors.
    fn indices(
        &self,
        parts: &VectorParts<'_>,
        indices: &[u32],
        numbers: &[u8],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        scratch.with_values(indices.len(), |places, scratch| {
            let n_runs = write_vectors(indices, self.dim, places);
            let places = places.get(..n_runs).unwrap_or_default();
            let mut scales = scratch.take(n_runs * SCALE_BYTES);
            let done = self.scales_at(parts, places, scratch, &mut scales);
            let lens = runs(indices, self.dim).map(|run| run.len() as u32);
            let done = done.and_then(|()| self.multiply(lens, &scales, numbers, to));
            scratch.give(scales);
            done
        })
    }

    /// Decodes the scales of vectors whose numbers are the words of `places`.
    fn scales_at(
        &self,
        parts: &VectorParts<'_>,
        places: &[u32],
        scratch: &mut Scratch,
        scales: &mut [u8],
    ) -> Result<()> {
        let (selection, into) = (Selection::Indices(places), Output::Fixed(scales));
        self.scales.decode(parts.scales, selection, scratch, into)?;
        Ok(())
    }

    /// Writes the values of `numbers`, which are cut into runs of so many with one scale each. The last may be shorter.
    fn multiply(
        &self,
        runs: impl Iterator<Item = u32>,
        scales: &[u8],
        mut numbers: &[u8],
        mut to: &mut [u8],
    ) -> Result<()> {
        let value_bytes = self.params.value_bytes;
        for (n, bits) in runs.zip(scales.as_chunks().0) {
            let bits = u32::from_le_bytes(*bits);
            let scale = f64::from(f32::from_bits(bits));
            if !layout::is_scale(scale) {
                return Err(layout::bad_scale(layout::SCALES_LEN_BYTES, bits.into()));
            }
            let n = (n as usize).min(numbers.len());
            let (now, later) = numbers.split_at(n);
            let whole = core::mem::take(&mut to);
            let Some((to_now, to_later)) = whole.split_at_mut_checked(n * value_bytes) else {
                return Err(Error::invalid("the output is not sized for these values"));
            };
            multiply(now, scale, value_bytes, to_now);
            (numbers, to) = (later, to_later);
        }
        Ok(())
    }
}

/// The parts of rising `indices` that lie in one vector.
fn runs(mut indices: &[u32], dim: NonZero<u32>) -> impl Iterator<Item = &[u32]> {
    iter::from_fn(move || {
        let first = *indices.first()?;
        let last = first - first % dim + (dim.get() - 1);
        let n = indices.iter().take_while(|it| **it <= last).count();
        let (run, rest) = indices.split_at(n);
        indices = rest;
        Some(run)
    })
}

/// Writes the number of each vector that holds some of rising `indices`, and returns how many these are.
fn write_vectors(indices: &[u32], dim: NonZero<u32>, places: &mut [u32]) -> usize {
    let mut n_runs = 0;
    for (to, run) in places.iter_mut().zip(runs(indices, dim)) {
        *to = run.first().map_or(0, |first| *first / dim);
        n_runs += 1;
    }
    n_runs
}

/// Checks that integers of 4 bits are no larger. `at_byte` is where the child's unit starts.
fn check_integers(format: Format, numbers: &[u8], at_byte: usize) -> Result<()> {
    let found = match format {
        Format::Int4 => too_wide(numbers),
        _ => None,
    };
    match found {
        None => Ok(()),
        Some(found) => {
            let allowed = "-8 ..= 7 in two's complement";
            Err(Error::corrupt("quantized.numbers", at_byte, found, allowed))
        }
    }
}
