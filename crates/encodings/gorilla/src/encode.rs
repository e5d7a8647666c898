//! The encoder.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values, limits,
};

use crate::Gorilla;
use crate::layout::{self, END_BYTES, GROUP_VALUES, LEADS, Scheme};

impl EncodingWriter for Gorilla {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if !matches!(fixed.width(), 4 | 8) || fixed.is_empty() {
            return Ok(());
        }
        let of_scheme = |scheme| (encoded_bytes(&fixed, scheme), scheme);
        let smaller = Scheme::ALL.into_iter().map(of_scheme);
        if let Some((bytes, scheme)) = smaller.min_by_key(|(bytes, _)| *bytes) {
            proposals.push(Proposal {
                params: vec![scheme.number()],
                is_uniform: false,
                ..Proposal::leaf(self, bytes)
            });
        }
        Ok(())
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let scheme = Scheme::of(node)?;
        Ok(Box::new(UnitEncoder { scheme }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let (Ok(width), Ok(scheme)) = (layout::value_bytes(node), Scheme::of(node)) else {
            return u64::MAX;
        };
        let of_group = |n_values: u64| match n_values {
            0 => 0,
            _ => {
                let bits = codes_bits_max(width, scheme, n_values - 1);
                (END_BYTES + width) as u64 + bits.div_ceil(8)
            }
        };
        let group = GROUP_VALUES as u64;
        let whole = (n_values / group).saturating_mul(of_group(group));
        whole.saturating_add(of_group(n_values % group))
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Values on both sides of a gap may differ in more bits than each differs from the value in it.
        EraseFit::MayGrow
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("which scheme took fewer bytes for the page")
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |width, scheme: Scheme| Sample::any(ValueType::Fixed(width), &[scheme.number()]);
        let of_width = |width| Scheme::ALL.map(|scheme| of(width, scheme));
        [8, 4].map(of_width).concat()
    }
}

/// The most bits that the codes of `n` values take one behind the other.
fn codes_bits_max(width: usize, scheme: Scheme, n: u64) -> u64 {
    let n_bits = width as u64 * 8;
    let len_bits = u64::from(n_bits.ilog2());
    match scheme {
        // Values whose meaningful bits are all but the first and all but the last in turn never fit the window before.
        // Only the last can have one more: behind a window of all bits there is no new one.
        Scheme::Gorilla => n * (7 + len_bits + n_bits - 1) + u64::from(n > 0),
        // No leading zeros, and as few trailing ones as are left out.
        Scheme::Chimp => n * (5 + len_bits + n_bits - u64::from(trailing_min(width))),
    }
}

/// Chimp leaves out trailing zeros if there are more than the bits of a length: at least this many.
fn trailing_min(width: usize) -> u32 {
    (width as u32 * 8).ilog2() + 1
}

/// The bytes of one unit with all `values`.
fn encoded_bytes(values: &FixedSlice<'_>, scheme: Scheme) -> u64 {
    let mut bytes = 0;
    for group in groups(values) {
        let mut bits = 0;
        encode_group(&group, scheme, |_, n| bits += u64::from(n));
        bytes += END_BYTES as u64 + bits.div_ceil(8);
    }
    bytes
}

fn groups<'v>(values: &FixedSlice<'v>) -> impl Iterator<Item = FixedSlice<'v>> + use<'v> {
    let values = *values;
    let starts = (0..values.len()).step_by(GROUP_VALUES);
    starts.map(move |start| values.slice(start..start + GROUP_VALUES))
}

/// Passes a group's first value and its codes to `put`: numbers, and how many of their lowest bits to write. Their
/// other bits are zero.
fn encode_group(group: &FixedSlice<'_>, scheme: Scheme, put: impl FnMut(u64, u32)) {
    match (group.width(), scheme) {
        (4, Scheme::Gorilla) => encode_numbers(words(group), GorillaCodes::<32>::default(), put),
        (4, Scheme::Chimp) => encode_numbers(words(group), ChimpCodes::<32>::default(), put),
        (_, Scheme::Gorilla) => encode_numbers(longs(group), GorillaCodes::<64>::default(), put),
        (_, Scheme::Chimp) => encode_numbers(longs(group), ChimpCodes::<64>::default(), put),
    }
}

fn words(group: &FixedSlice<'_>) -> impl Iterator<Item = u64> {
    let (words, _) = group.bytes().as_chunks();
    words.iter().map(|it| u32::from_le_bytes(*it).into())
}

fn longs(group: &FixedSlice<'_>) -> impl Iterator<Item = u64> {
    let (longs, _) = group.bytes().as_chunks();
    longs.iter().map(|it| u64::from_le_bytes(*it))
}

fn encode_numbers<C: Codes>(
    mut numbers: impl Iterator<Item = u64>,
    mut codes: C,
    mut put: impl FnMut(u64, u32),
) {
    let Some(mut before) = numbers.next() else {
        return;
    };
    put(before, C::BITS);
    for number in numbers {
        codes.encode(number ^ before, &mut put);
        before = number;
    }
}

trait Codes {
    /// Bits of a value.
    const BITS: u32;
    /// Bits of the field for a number of meaningful bits.
    const LEN_BITS: u32 = Self::BITS.ilog2();

    /// Passes the code for the XOR of two values.
    fn encode(&mut self, xor: u64, put: &mut impl FnMut(u64, u32));
}

/// Section 4.1.2 of the Gorilla paper.
#[derive(Default)]
struct GorillaCodes<const BITS: u32> {
    /// Leading and trailing zeros of the window; `None` before there is one.
    window: Option<(u32, u32)>,
}

impl<const BITS: u32> Codes for GorillaCodes<BITS> {
    const BITS: u32 = BITS;

    #[inline]
    fn encode(&mut self, xor: u64, put: &mut impl FnMut(u64, u32)) {
        if xor == 0 {
            return put(0b0, 1);
        }
        let lead = (xor.leading_zeros() - (64 - BITS)).min(31);
        let trail = xor.trailing_zeros();
        match self.window {
            Some((lead_min, trail_min)) if lead >= lead_min && trail >= trail_min => {
                put(0b01, 2);
                put(xor >> trail_min, BITS - lead_min - trail_min);
            }
            _ => {
                let len = BITS - lead - trail;
                // 1 ..= 32 in five bits, 1 ..= 64 in six.
                let stored = match BITS {
                    32 => len - 1,
                    _ => len % 64,
                };
                put(
                    u64::from(0b11 | lead << 2 | stored << 7),
                    7 + Self::LEN_BITS,
                );
                put(xor >> trail, len);
                self.window = Some((lead, trail));
            }
        }
    }
}

/// The Chimp paper, without the search among the 128 values before.
#[derive(Default)]
struct ChimpCodes<const BITS: u32> {
    /// Leading zeros of the last value that differed from the one before it, rounded down.
    lead: u32,
}

impl<const BITS: u32> Codes for ChimpCodes<BITS> {
    const BITS: u32 = BITS;

    #[inline]
    fn encode(&mut self, xor: u64, put: &mut impl FnMut(u64, u32)) {
        if xor == 0 {
            return put(0b00, 2);
        }
        let zeros = xor.leading_zeros() - (64 - BITS);
        let (number, lead) = rounded(zeros);
        let trail = xor.trailing_zeros();
        if trail > Self::LEN_BITS {
            let len = BITS - lead - trail;
            put(u64::from(0b01 | number << 2 | len << 5), 5 + Self::LEN_BITS);
            put(xor >> trail, len);
        } else if lead == self.lead {
            put(0b10, 2);
            put(xor, BITS - lead);
        } else {
            put(u64::from(0b11 | number << 2), 5);
            put(xor, BITS - lead);
        }
        self.lead = lead;
    }
}

/// The largest number of leading zeros that a code can say, at most `zeros`, and its number.
#[inline]
fn rounded(zeros: u32) -> (u32, u32) {
    let larger = LEADS.iter().filter(|lead| u32::from(**lead) <= zeros);
    let number = larger.count().saturating_sub(1);
    (
        number as u32,
        LEADS.get(number).map_or(0, |it| u32::from(*it)),
    )
}

struct UnitEncoder {
    scheme: Scheme,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let mut ends_at = out.len();
        let n_groups = values.len().div_ceil(GROUP_VALUES);
        out.resize(ends_at + n_groups * END_BYTES, 0);
        let start = out.len();
        for group in groups(&values) {
            let mut writer = BitWriter::new(out);
            encode_group(&group, self.scheme, |number, n| writer.put(number, n));
            writer.finish();
            let end = out.len() - start;
            let too_long = |_| {
                let max = limits::UNIT_DECODED_BYTES_MAX;
                Error::limit("UNIT_DECODED_BYTES_MAX", values.bytes().len() as u64, max)
            };
            let end = u32::try_from(end).map_err(too_long)?;
            if let Some(to) = out.get_mut(ends_at..ends_at + END_BYTES) {
                to.copy_from_slice(&end.to_le_bytes());
            }
            ends_at += END_BYTES;
        }
        Ok(())
    }
}

/// Appends bits, the lowest of each byte first.
struct BitWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Bits that were not appended yet, fewer than 64.
    pending: u64,
    n_pending: u32,
}

impl<'o> BitWriter<'o> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            out,
            pending: 0,
            n_pending: 0,
        }
    }

    /// Appends the lowest `n` bits of a number, at most 64; its other bits are zero.
    #[inline]
    fn put(&mut self, number: u64, n: u32) {
        self.pending |= number << self.n_pending;
        let n_all = self.n_pending + n;
        if n_all >= 64 {
            self.out.extend_from_slice(&self.pending.to_le_bytes());
            // All 64 bits of the number went out if none was pending before.
            self.pending = number.checked_shr(64 - self.n_pending).unwrap_or(0);
        }
        self.n_pending = n_all % 64;
    }

    /// Appends what is pending, and zeros up to a whole byte.
    fn finish(self) {
        let n_bytes = self.n_pending.div_ceil(8) as usize;
        let bytes = self.pending.to_le_bytes();
        self.out.extend(bytes.iter().take(n_bytes));
    }
}
