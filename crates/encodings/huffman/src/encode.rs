//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Huffman;
use crate::bit_writer::{BitWriter, Bits};
use crate::codes::{LENGTH_MAX, Lengths, N_VALUES};
use crate::layout::{BYTE_TYPE, Streams};
use crate::optimal::optimal_lengths;

/// Fewer values than this do not pay for the lengths of their codes.
const VALUES_MIN: usize = 2048;

/// Among values that may be erased, a byte value is rare if it is at most one in so many, divided by the number of byte
/// values that get codes. So the codes of values that do not occur take a 64th of all at most, a 43rd of a bit for each
/// value.
const RARE: u64 = 64;

impl EncodingWriter for Huffman {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        // A code has a bit or more.
        let bytes_min = fixed.len() as u64 / 8;
        if fixed.width() != 1 || fixed.len() < VALUES_MIN || bytes_min >= proposals.bytes_to_beat()
        {
            return Ok(());
        }
        let is_erasable = values.facts().erasable;
        let page = values.cached(|| Page::of(&fixed, is_erasable));
        let bytes = page.bytes(values);
        if bytes >= proposals.bytes_to_beat() {
            return Ok(());
        }
        let lengths = Rc::new(page.stored()?);
        proposals.push(Proposal {
            shared: vec![Part::owned(lengths, LogicalType::Unknown)],
            is_uniform: false,
            ..Proposal::leaf(self, bytes)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let lengths = match page.shared(0)? {
            Some(lengths) => lengths,
            None => {
                let fixed = values.as_fixed()?;
                let find = || Page::of(&fixed, page.is_erasable());
                let found = match page.statistics() {
                    Some(known) => known.cached(find),
                    None => Rc::new(find()),
                };
                page.make_shared(0, found.stored()?)?
            }
        };
        // What a reader would refuse, for another reason.
        let refused = |_| Error::invalid("a shared buffer that is no complete code");
        let lengths = Lengths::of(&lengths).map_err(refused)?;
        Ok(Box::new(UnitEncoder::of(&lengths)))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let bits = n_values.saturating_mul(LENGTH_MAX.into());
        let header_bytes = Streams::of(n_values).header_bytes() as u64;
        bits.div_ceil(8).saturating_add(header_bytes)
    }

    /// Each value keeps its code. No bits lie between two streams, so that it does not matter where a stream ends, and
    /// fewer values never need a longer header.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("which byte values the page had, and about how often")
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample {
            // Only values that have a code, if the page exists already.
            holds_any: false,
            ..Sample::any(BYTE_TYPE, &[])
        }]
    }
}

/// The best codes for a page.
struct Page {
    lengths: [u8; N_VALUES],
    /// The bits of the codes of all values.
    bits: u64,
}

impl Page {
    fn of(values: &FixedSlice<'_>, is_erasable: bool) -> Self {
        let counts = counts_of(values.bytes());
        let lengths = match is_erasable {
            true => optimal_lengths(&without_rare(&counts), LENGTH_MAX),
            false => optimal_lengths(&counts, LENGTH_MAX),
        };
        let of_value = counts.iter().zip(&lengths);
        Self {
            bits: of_value.map(|(n, length)| n * u64::from(*length)).sum(),
            lengths,
        }
    }

    /// The bytes of all units, of which each but one may end inside of a byte.
    fn bytes(&self, values: &Statistics<'_>) -> u64 {
        let code_bytes = self.bits.div_ceil(8);
        let by_bytes = code_bytes.div_ceil(limits::UNIT_BYTES_TARGET as u64);
        let n_units = by_bytes.max(values.n_units()).max(1);
        let unit_values = (values.len() as u64).div_ceil(n_units);
        let header_bytes = Streams::of(unit_values).header_bytes() as u64;
        code_bytes + n_units * header_bytes + n_units - 1
    }

    /// The values of the shared buffer.
    fn stored(&self) -> Result<OwnedValues> {
        let lengths = Lengths::new(&self.lengths)?;
        let stored = lengths.stored();
        Ok(OwnedValues::Fixed {
            bytes: AlignedBuf::copy_of(stored),
            width: 1,
            len: stored.len(),
        })
    }
}

/// How often each byte value occurs.
fn counts_of(values: &[u8]) -> [u64; N_VALUES] {
    // Where equal values follow each other, a counter would wait for the addition before.
    let mut counts = [[0u64; N_VALUES]; 4];
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        for (counts, value) in counts.iter_mut().zip(four) {
            counts[usize::from(*value)] += 1;
        }
    }
    let [mut all, others @ ..] = counts;
    for value in rest {
        all[usize::from(*value)] += 1;
    }
    for counts in &others {
        for (all, n) in all.iter_mut().zip(counts) {
            *all += n;
        }
    }
    all
}

/// Counts that do not tell which rare values there are: an erased row may be the only one with such a value. The values
/// below a power of two get codes, all of those that are rare or absent alike.
fn without_rare(counts: &[u64; N_VALUES]) -> [u64; N_VALUES] {
    let n_values = counts.iter().sum::<u64>();
    let highest = counts.iter().rposition(|n| *n > 0).unwrap_or(0);
    let n_codes = (highest + 1).next_power_of_two();
    let rare = (n_values / (RARE * n_codes as u64)).max(1);
    let mut counts = *counts;
    for n in counts.iter_mut().take(n_codes) {
        *n = (*n).max(rare);
    }
    counts
}

struct UnitEncoder {
    /// The code of each byte value; no bits for a value without one.
    codes: [Bits; N_VALUES],
}

impl UnitEncoder {
    fn of(lengths: &Lengths) -> Self {
        let mut codes = [Bits::default(); N_VALUES];
        for code in lengths.codes() {
            codes[usize::from(code.value)] = Bits {
                bits: code.bits.into(),
                n: code.length.into(),
            };
        }
        Self { codes }
    }

    /// Appends the codes of `values`.
    fn write(&self, values: &[u8], to: &mut BitWriter<'_>) -> Result<()> {
        let code = |value: &u8| self.codes[usize::from(*value)];
        let (fours, rest) = values.as_chunks::<4>();
        let mut n_missing = 0;
        for four in fours {
            let codes = four.each_ref().map(code);
            n_missing += codes.iter().filter(|code| code.n == 0).count();
            // Pairs first: only the last step waits for what was written before.
            let [a, b, c, d] = codes;
            to.put(a.then(b).then(c.then(d)));
        }
        for code in rest.iter().map(code) {
            n_missing += usize::from(code.n == 0);
            to.put(code);
        }
        match n_missing {
            0 => Ok(()),
            _ => Err(Error::invalid("a value has no code in the page's table")),
        }
    }
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?.bytes();
        let streams = Streams::of(values.len() as u64);
        let header_at = out.len();
        let codes_at = header_at + streams.header_bytes();
        let codes_max = values.len().saturating_mul(LENGTH_MAX.into()).div_ceil(8);
        out.resize(codes_at + codes_max + size_of::<u64>(), 0);
        let (header, codes) = out.split_at_mut(codes_at);
        let mut sizes = header[header_at..].chunks_exact_mut(streams.size_bytes);
        let mut writer = BitWriter::new(codes);
        let mut start = 0;
        for i in 0..streams.n_streams {
            let of_stream = values.get(streams.values_of(i)).unwrap_or_default();
            self.write(of_stream, &mut writer)?;
            let bits = writer.n_bits() - start;
            start += bits;
            if let Some(to) = sizes.next() {
                let size = u32::try_from(bits);
                let size =
                    size.map_err(|_| Error::limit("bits of a stream", bits, u32::MAX.into()));
                to.copy_from_slice(&size?.to_le_bytes()[..streams.size_bytes]);
            }
        }
        let n_bytes = writer.n_bits().div_ceil(8) as usize;
        out.truncate(codes_at + n_bytes);
        Ok(())
    }
}
