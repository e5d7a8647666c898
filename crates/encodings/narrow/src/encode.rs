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

use crate::Narrow;
use crate::layout::{Extension, Params};

impl EncodingWriter for Narrow {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if !matches!(fixed.width(), 16 | 32)
            || !values.facts().logical_type.is_integer()
            || fixed.is_empty()
        {
            return Ok(());
        }
        // Most values that are not narrow are found in a sample.
        let mut sample = values.sample().into_iter();
        if !sample.all(|run| Bits::of(&fixed.slice(run)).child(fixed.width()).is_some()) {
            return Ok(());
        }
        let Some(params) = Bits::of(&fixed).child(fixed.width()) else {
            return Ok(());
        };
        let logical_type = match params.extension {
            Extension::Zero => LogicalType::Unsigned,
            Extension::Sign => LogicalType::Signed,
        };
        let child = Rc::new(narrowed(&fixed, params)?);
        proposals.push(Proposal {
            params: params.to_bytes().to_vec(),
            children: vec![Part::owned(child, logical_type)],
            ..Proposal::leaf(self, 0)
        });
        Ok(())
    }

    /// Every value takes as many bytes.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let params = Params::parse(node)?;
        let narrow = narrowed(&values.as_fixed()?, params)?;
        let child = page.child(0, narrow.as_values()?)?;
        Ok(Box::new(NarrowPage {
            params,
            narrow,
            child,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let child_bytes = Params::parse(node).map_or(0, |params| params.child_bytes);
        let child_type = ValueType::Fixed(child_bytes.into());
        let bytes = n_values.saturating_mul(child_bytes.into());
        child(0, child_type, n_values, bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |value_bytes, child_bytes, extension, fit| {
            let params = Params {
                child_bytes,
                extension,
            };
            Sample::fitting(ValueType::Fixed(value_bytes), &params.to_bytes(), fit)
        };
        vec![
            of(16, 8, Extension::Sign, |it| extended::<8>(it, true)),
            of(16, 2, Extension::Zero, |it| extended::<2>(it, false)),
            of(16, 1, Extension::Sign, |it| extended::<1>(it, true)),
            of(32, 4, Extension::Zero, |it| extended::<4>(it, false)),
            of(32, 8, Extension::Sign, |it| extended::<8>(it, true)),
            of(32, 16, Extension::Sign, |it| extended::<16>(it, true)),
        ]
    }
}

/// The values with all bytes but the lowest `N` replaced by what the node restores.
fn extended<const N: usize>(values: Values<'_>, is_signed: bool) -> OwnedValues {
    let Values::Fixed(fixed) = values else {
        return OwnedValues::copy_of(values);
    };
    let mut bytes = AlignedBuf::copy_of(fixed.bytes());
    for value in bytes.chunks_exact_mut(fixed.width().max(1)) {
        let Some((low, high)) = value.split_at_mut_checked(N) else {
            continue;
        };
        let is_negative = low.last().is_some_and(|byte| byte >> 7 == 1);
        high.fill(if is_signed && is_negative { 0xff } else { 0 });
    }
    OwnedValues::Fixed {
        bytes,
        width: fixed.width(),
        len: fixed.len(),
    }
}

/// Which bits the values of a page have, beyond their sign.
#[derive(Default)]
struct Bits {
    /// Bits that some value has, as unsigned numbers.
    low: u64,
    high: u64,
    /// Bits that differ from the sign in some value, as signed numbers.
    signed_low: u64,
    signed_high: u64,
    /// Bits of the words behind the second that differ from the sign.
    signed_top: u64,
}

impl Bits {
    fn of(values: &FixedSlice<'_>) -> Self {
        match values.width() {
            16 => Self::of_words::<2>(values),
            _ => Self::of_words::<4>(values),
        }
    }

    fn of_words<const W: usize>(values: &FixedSlice<'_>) -> Self {
        let (words, _) = values.bytes().as_chunks::<8>();
        let (values, _) = words.as_chunks::<W>();
        let mut bits = Self::default();
        for value in values {
            let words = value.map(u64::from_le_bytes);
            let sign = words.last().map_or(0, |last| (*last as i64 >> 63) as u64);
            for (i, word) in words.into_iter().enumerate() {
                let (unsigned, signed) = match i {
                    0 => (&mut bits.low, &mut bits.signed_low),
                    _ => (&mut bits.high, &mut bits.signed_high),
                };
                *unsigned |= word;
                *signed |= word ^ sign;
                if i > 1 {
                    bits.signed_top |= word ^ sign;
                }
            }
        }
        bits
    }

    /// The smallest child of at most 8 bytes that holds the values; signed, unless only an unsigned one does.
    fn params(&self) -> Option<Params> {
        let bytes = |bits: u32| bits.div_ceil(8).next_power_of_two().max(1) as u8;
        let signed_bits = 64 - self.signed_low.leading_zeros() + 1;
        let signed = (self.signed_high == 0 && signed_bits <= 64).then(|| Params {
            child_bytes: bytes(signed_bits),
            extension: Extension::Sign,
        });
        let unsigned = (self.high == 0).then(|| Params {
            child_bytes: bytes(64 - self.low.leading_zeros()),
            extension: Extension::Zero,
        });
        match (signed, unsigned) {
            (Some(signed), Some(unsigned)) if unsigned.child_bytes < signed.child_bytes => {
                Some(unsigned)
            }
            (signed, unsigned) => signed.or(unsigned),
        }
    }

    /// The smallest child that holds the values, of `width` bytes.
    fn child(&self, width: usize) -> Option<Params> {
        self.params().or_else(|| self.half(width))
    }

    /// A child of half the bytes, if it holds values of 32.
    fn half(&self, width: usize) -> Option<Params> {
        let fits = width == 32 && self.signed_top == 0 && self.signed_high >> 63 == 0;
        fits.then_some(Params {
            child_bytes: 16,
            extension: Extension::Sign,
        })
    }
}

/// The low bytes of each value.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for a value that the node does not restore.
fn narrowed(values: &FixedSlice<'_>, params: Params) -> Result<OwnedValues> {
    let width = usize::from(params.child_bytes);
    let len = values.len();
    let mut bytes = AlignedBuf::zeroed(len * width);
    let fits = match (width, values.width()) {
        (1, 16) => copy_low::<1, 16>(values.bytes(), params.extension, &mut bytes),
        (2, 16) => copy_low::<2, 16>(values.bytes(), params.extension, &mut bytes),
        (4, 16) => copy_low::<4, 16>(values.bytes(), params.extension, &mut bytes),
        (8, 16) => copy_low::<8, 16>(values.bytes(), params.extension, &mut bytes),
        (1, _) => copy_low::<1, 32>(values.bytes(), params.extension, &mut bytes),
        (2, _) => copy_low::<2, 32>(values.bytes(), params.extension, &mut bytes),
        (4, _) => copy_low::<4, 32>(values.bytes(), params.extension, &mut bytes),
        (16, _) => copy_low::<16, 32>(values.bytes(), params.extension, &mut bytes),
        (_, _) => copy_low::<8, 32>(values.bytes(), params.extension, &mut bytes),
    };
    match fits {
        true => Ok(OwnedValues::Fixed { bytes, width, len }),
        false => Err(Error::invalid("a value is wider than the node holds")),
    }
}

/// Copies the lowest `N` of each `W` bytes. False if the others are not what the node restores.
fn copy_low<const N: usize, const W: usize>(
    from: &[u8],
    extension: Extension,
    to: &mut [u8],
) -> bool {
    let (values, _) = from.as_chunks::<W>();
    let (to, _) = to.as_chunks_mut::<N>();
    let mut odd = 0;
    for (to, value) in to.iter_mut().zip(values) {
        to.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        let high = match extension {
            Extension::Zero => 0,
            Extension::Sign => (to[N - 1] as i8 >> 7) as u8,
        };
        odd |= value.iter().skip(N).fold(0, |odd, byte| odd | byte ^ high);
    }
    odd == 0
}

struct NarrowPage {
    params: Params,
    /// All values of the page, as the child encodes them.
    narrow: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for NarrowPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let of_block = narrowed(&block.values().as_fixed()?, self.params)?;
        let of_block = block.derived(self.narrow.as_values()?, of_block.as_values()?)?;
        self.child.encode(of_block, out)
    }
}
