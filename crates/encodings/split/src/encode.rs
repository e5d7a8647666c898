//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Split;
use crate::layout::{self, LEN_BYTES, PARTS_MAX, WIDTH_MAX};

/// The most bytes of a part that other encodings take for a number.
const NUMBER_BYTES: usize = 8;

impl EncodingWriter for Split {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let logical_type = values.facts().logical_type;
        let width = fixed.width();
        let widths = match width {
            // Wider than a number: numbers.
            16 | 24 | 32 if logical_type.is_integer() || proposals.is_named() => {
                vec![NUMBER_BYTES as u8; width / NUMBER_BYTES]
            }
            2..=PARTS_MAX if proposals.is_named() => vec![1; width],
            _ => return Ok(()),
        };
        let lens_bytes = ((widths.len() - 1) * LEN_BYTES) as u64;
        let bytes = values.n_units() * lens_bytes;
        if fixed.is_empty() || bytes >= proposals.bytes_to_beat() {
            return Ok(());
        }
        // The sign is in the highest part.
        let of_highest = match logical_type {
            LogicalType::Unsigned | LogicalType::Float => LogicalType::Unsigned,
            it if it.is_integer() => LogicalType::Signed,
            _ => LogicalType::Unsigned,
        };
        let parts = split(&fixed, &widths).into_iter().enumerate();
        let children = parts.map(|(i, values)| {
            let is_highest = i + 1 == widths.len();
            let logical_type = if is_highest {
                of_highest
            } else {
                LogicalType::Unsigned
            };
            Part::owned(Rc::new(values), logical_type)
        });
        let children = children.collect();
        proposals.push(Proposal {
            params: widths,
            children,
            ..Proposal::leaf(self, bytes)
        });
        Ok(())
    }

    /// The parts of a sample are like those of all values.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let widths = layout::widths(node)?;
        let fixed = values.as_fixed()?;
        let of_page = split(&fixed, widths);
        let encoders = of_page.iter().enumerate();
        let encoders = encoders.map(|(i, part)| page.child(i, part.as_values()?));
        Ok(Box::new(SplitPage {
            widths: widths.to_vec(),
            values: AlignedBuf::copy_of(fixed.bytes()),
            encoders: encoders.collect::<Result<_>>()?,
            of_page,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let widths = layout::widths(node).unwrap_or_default();
        let lens = (widths.len().saturating_sub(1) * LEN_BYTES) as u64;
        let parts = widths.iter().enumerate();
        parts.fold(lens, |bytes, (i, width)| {
            let decoded_bytes = n_values.saturating_mul((*width).into());
            let value_type = ValueType::Fixed((*width).into());
            bytes.saturating_add(child(i, value_type, n_values, decoded_bytes))
        })
    }

    /// Parts of the remaining values are subsequences of those before.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |widths: &[u8]| {
            let width = widths.iter().map(|width| u32::from(*width)).sum();
            Sample::any(ValueType::Fixed(width), widths)
        };
        vec![
            of(&[2, 2]),
            of(&[1; 8]),
            of(&[8, 8]),
            of(&[1, 1]),
            of(&[1, 2]),
            of(&[1, 1, 3, 3]),
            of(&[WIDTH_MAX as u8 / 4; 4]),
        ]
    }
}

/// The parts of all values.
fn split(values: &FixedSlice<'_>, widths: &[u8]) -> Vec<OwnedValues> {
    let (len, whole) = (values.len(), values.width());
    let mut start = 0;
    let parts = widths.iter().map(|width| {
        let width = usize::from(*width);
        let mut bytes = AlignedBuf::zeroed(len * width);
        match width {
            1 => take::<1>(values.bytes(), whole, start, &mut bytes),
            2 => take::<2>(values.bytes(), whole, start, &mut bytes),
            4 => take::<4>(values.bytes(), whole, start, &mut bytes),
            8 => take::<8>(values.bytes(), whole, start, &mut bytes),
            _ => {
                let values = values.bytes().chunks_exact(whole);
                for (to, value) in bytes.chunks_exact_mut(width).zip(values) {
                    to.copy_from_slice(&value[start..start + width]);
                }
            }
        }
        start += width;
        OwnedValues::Fixed { bytes, width, len }
    });
    parts.collect()
}

/// Copies `WIDTH` bytes from byte `start` on of each value of `whole` bytes.
fn take<const WIDTH: usize>(values: &[u8], whole: usize, start: usize, to: &mut [u8]) {
    let values = values.chunks_exact(whole);
    for (to, value) in to.as_chunks_mut::<WIDTH>().0.iter_mut().zip(values) {
        if let Some(part) = value.get(start..).and_then(|rest| rest.first_chunk()) {
            *to = *part;
        }
    }
}

struct SplitPage {
    widths: Vec<u8>,
    /// The values of the page, and their parts.
    values: AlignedBuf,
    of_page: Vec<OwnedValues>,
    encoders: Vec<Box<dyn PageEncoder>>,
}

impl PageEncoder for SplitPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let (range, width) = (block.range(), values.width());
        let of_page = self.values.get(range.start * width..range.end * width);
        // A range of the page's values is faster for children. A parent that derives values per block passes others.
        if of_page == Some(values.bytes()) {
            let part = |i: usize| block.of(self.of_page[i].as_values()?);
            return self.append(part, out);
        }
        let parts = split(&values, &self.widths);
        self.append(|i| BlockValues::all(parts[i].as_values()?), out)
    }
}

impl SplitPage {
    /// Appends a unit of these parts.
    fn append<'a>(
        &self,
        part: impl Fn(usize) -> Result<BlockValues<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut lens_at = out.len();
        let last = self.encoders.len() - 1;
        out.resize(lens_at + last * LEN_BYTES, 0);
        for (i, encoder) in self.encoders.iter().enumerate() {
            let start = out.len();
            encoder.encode(part(i)?, out)?;
            if i == last {
                break;
            }
            let too_long = |_| Error::invalid("a part of 4 GiB and more");
            let len = u32::try_from(out.len() - start).map_err(too_long)?;
            if let Some(field) = out.get_mut(lens_at..lens_at + LEN_BYTES) {
                field.copy_from_slice(&len.to_le_bytes());
            }
            lens_at += LEN_BYTES;
        }
        Ok(())
    }
}
