//! The encoder.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZero;
use core::ops::Range;

use tarsia_codec::toolbox::append_sized;
use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Rounding, RowStarts,
    Sample, Statistics, ValueType, Values,
};

use crate::Quantized;
use crate::layout::{Format, Params, SCALE_BYTES, SCALES_LEN_BYTES, SCALES_TYPE, Scale};
use crate::named::ROUNDINGS;
use crate::numbers::{self, Numbers};
use crate::samples;

impl EncodingWriter for Quantized {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let facts = values.facts();
        if facts.logical_type != LogicalType::Float
            || !matches!(fixed.width(), 2 | 4 | 8)
            || values.is_constant()
        {
            return Ok(());
        }
        for numbers in not_dominated(numbers::floats(&fixed, &Format::ALL)) {
            proposals.push(self.proposal(numbers, values));
        }
        let dim = facts.rows.and_then(dim_of);
        for format in [Format::Int8, Format::Int4] {
            let of_page = numbers::page(&fixed, format, facts.erasable);
            let of_vectors = dim.and_then(|dim| numbers::vectors(&fixed, format, dim));
            for numbers in of_page.into_iter().chain(of_vectors) {
                proposals.push(self.proposal(numbers, values));
            }
        }
        Ok(())
    }

    fn roundings(&self) -> &'static [&'static dyn Rounding] {
        ROUNDINGS
    }

    /// Scales of vectors need rows.
    fn asked(&self) -> Asked {
        Asked::BySampleOrLast
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let params = Params::parse(node)?;
        let fixed = values.as_fixed()?;
        let Numbers {
            numbers, scales, ..
        } = held(params, &fixed)?;
        let encoder = page.child(0, numbers.as_values()?)?;
        let numbers = ChildPage::new(&numbers, encoder)?;
        let scales = match scales {
            None => None,
            Some(scales) => {
                let encoder = page.child(1, scales.as_values()?)?;
                Some(ChildPage::new(&scales, encoder)?)
            }
        };
        Ok(Box::new(QuantizedPage {
            params,
            values: AlignedBuf::copy_of(fixed.bytes()),
            numbers,
            scales,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let Ok(params) = Params::parse(node) else {
            return 0;
        };
        let number_bytes = params.format.number_bytes() as u64;
        let bytes = n_values.saturating_mul(number_bytes);
        let numbers = child(0, params.format.value_type(), n_values, bytes);
        let Scale::Vector(dim) = params.scale else {
            return numbers;
        };
        let n_vectors = n_values.div_ceil(u64::from(dim.get()));
        let bytes = n_vectors.saturating_mul(SCALE_BYTES as u64);
        let scales = child(1, SCALES_TYPE, n_vectors, bytes);
        numbers
            .saturating_add(scales)
            .saturating_add(SCALES_LEN_BYTES as u64)
    }

    fn erase_fit(&self, node: &Node<'_>) -> EraseFit {
        match Params::parse(node).map(|params| params.scale) {
            // What is left of a vector is no vector.
            Ok(Scale::Vector(_)) => EraseFit::MayGrow,
            _ => EraseFit::Always,
        }
    }

    fn residue(&self, node: &Node<'_>) -> Option<&'static str> {
        match Params::parse(node).map(|params| params.scale) {
            Ok(Scale::Page(_)) | Err(_) => Some(
                "the scale of the page, in steps of a quarter of a power of two: about how large its largest value was",
            ),
            Ok(Scale::None | Scale::Vector(_)) => None,
        }
    }

    fn samples(&self) -> Vec<Sample> {
        samples::all()
    }
}

impl Quantized {
    fn proposal<'v>(&self, numbers: Numbers, values: &Statistics<'_>) -> Proposal<'v> {
        let Numbers {
            params,
            numbers,
            scales,
        } = numbers;
        let logical_type = match params.format {
            Format::F32 | Format::F16 => LogicalType::Float,
            Format::Int8 | Format::Int4 => LogicalType::Signed,
            // Bits that no other encoding takes apart.
            Format::Bf16 | Format::E4m3 | Format::E5m2 => LogicalType::Unknown,
        };
        let mut children = vec![Part::owned(numbers, logical_type)];
        let mut bytes = 0;
        if let (Scale::Vector(dim), Some(scales)) = (params.scale, scales) {
            let unit_vectors = values.unit_values() / dim.get() as usize;
            let scales = Part::owned(scales, LogicalType::Float)
                .in_units_of(unit_vectors.max(1))
                .standing_for(dim.get().into());
            children.push(scales);
            bytes = values.n_units() * SCALES_LEN_BYTES as u64;
        }
        Proposal {
            params: params.to_bytes(),
            children,
            ..Proposal::leaf(self, bytes)
        }
    }
}

/// The numbers of the fewest bytes of those that stand for the same values.
fn not_dominated(mut all: Vec<Numbers>) -> Vec<Numbers> {
    let bytes = |it: &Numbers| it.params.format.number_bytes();
    let fewest = all.iter().map(bytes).min();
    all.retain(|it| Some(bytes(it)) == fewest);
    all
}

/// The number of values of each row, if all rows have as many, and more than one.
fn dim_of(rows: &dyn RowStarts) -> Option<NonZero<u32>> {
    let starts = rows.row_starts();
    let mut lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let dim = lens.next().filter(|it| *it > 1)?;
    match lens.all(|it| it == dim) {
        true => NonZero::new(dim),
        false => None,
    }
}

/// The numbers under a node.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for values that it does not hold.
fn held(params: Params, values: &FixedSlice<'_>) -> Result<Numbers> {
    let not_held = || Error::invalid("a value for which no number of the node stands");
    numbers::under(params, values).ok_or_else(not_held)
}

/// The values of a child on a page, and their encoder.
struct ChildPage {
    values: OwnedValues,
    encoder: Box<dyn PageEncoder>,
}

impl ChildPage {
    fn new(values: &OwnedValues, encoder: Box<dyn PageEncoder>) -> Result<Self> {
        Ok(Self {
            values: OwnedValues::copy_of(values.as_values()?),
            encoder,
        })
    }

    fn encode(&self, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let block = BlockValues::new(self.values.as_values()?, range)?;
        self.encoder.encode(block, out)
    }

    /// Encodes other values than those of the page.
    fn encode_other(&self, values: &OwnedValues, out: &mut Vec<u8>) -> Result<()> {
        let block = BlockValues::all(values.as_values()?)?;
        self.encoder.encode(block, out)
    }
}

struct QuantizedPage {
    params: Params,
    /// The values of the page.
    values: AlignedBuf,
    numbers: ChildPage,
    scales: Option<ChildPage>,
}

impl QuantizedPage {
    /// True if the page has these values in this range.
    fn has(&self, range: &Range<usize>, values: &FixedSlice<'_>) -> bool {
        let width = values.width();
        let of_page = self.values.get(range.start * width..range.end * width);
        of_page == Some(values.bytes())
    }
}

impl PageEncoder for QuantizedPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let range = block.range();
        let dim = match self.params.scale {
            Scale::Vector(dim) => dim.get() as usize,
            _ => 1,
        };
        let is_whole = range.start.is_multiple_of(dim) && range.end.is_multiple_of(dim);
        let other = match is_whole && self.has(&range, &values) {
            true => None,
            false => Some(held(self.params, &values)?),
        };
        if let Some(scales) = &self.scales {
            let other = other.as_ref().and_then(|other| other.scales.as_ref());
            append_sized(out, "the scales of a block take 4 GiB", |out| match other {
                None => scales.encode(range.start / dim..range.end / dim, out),
                Some(other) => scales.encode_other(other, out),
            })?;
        }
        match other {
            None => self.numbers.encode(range, out),
            Some(other) => self.numbers.encode_other(&other.numbers, out),
        }
    }
}
