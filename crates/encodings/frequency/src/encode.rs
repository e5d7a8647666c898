//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::sample_of;
use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Frequency;
use crate::layout::{self, HEADER_BYTES, WIDTH_MAX};

/// A gain of less than one byte in so many is not worth the search.
const GAIN_ONE_IN: u128 = 4;

/// Values of a word of the mask, and its bytes.
const WORD_VALUES: usize = u64::BITS as usize;
const WORD_BYTES: usize = size_of::<u64>();

/// Every so manieth value of a sample is looked at, unless there are so few that all are.
const SAMPLE_STEP: usize = 4;
const ALL_UPTO: usize = 256;

/// Fewer values do not pay for two children.
const VALUES_MIN: usize = 256;

impl EncodingWriter for Frequency {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let header_bytes = values.n_units() * (HEADER_BYTES + fixed.width()) as u64;
        let is_too_wide = fixed.width() > WIDTH_MAX as usize;
        if values.facts().all_distinct
            || fixed.len() < VALUES_MIN
            || is_too_wide
            || header_bytes >= proposals.bytes_to_beat()
        {
            return Ok(());
        }
        let sample = Counted::of(&fixed);
        let Some(top) = sample.values.first().filter(|_| sample.is_one_frequent()) else {
            return Ok(());
        };
        let (_, top) = *top;
        let words = mask_words(&fixed, top);
        let n_exceptions: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        // All values equal are for another encoding.
        if n_exceptions == 0 || !can_win(fixed.len(), n_exceptions, proposals.bytes_to_beat()) {
            return Ok(());
        }
        let parts = Split::under(words, &fixed)?;
        let n_units = values.n_units().max(1) as usize;
        let exceptions = Rc::new(parts.exceptions);
        proposals.push(Proposal {
            children: vec![
                Part::owned(Rc::new(parts.mask), LogicalType::Boolean),
                Part::owned(exceptions, values.facts().logical_type)
                    .in_units_of(n_exceptions.div_ceil(n_units).max(1)),
            ],
            ..Proposal::leaf(self, header_bytes)
        });
        Ok(())
    }

    /// The most frequent value is as frequent in a sample.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let zero = vec![0; layout::width(node)?];
        let fixed = values.as_fixed()?;
        let tops = Counted::of(&fixed).values;
        let tops = tops.iter().map(|(_, top)| *top);
        // Of a block that is encoded again, a dictionary of the page's exceptions may lack those of the first.
        let mut first_error = None;
        for top in tops.chain(fixed.is_empty().then_some(&*zero)) {
            match PageValues::under(top, &fixed, page) {
                Ok(page) => return Ok(Box::new(page)),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| Error::invalid("values without a frequent one")))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let top_bytes = node.value_type.fixed_bytes().unwrap_or(0);
        (HEADER_BYTES as u64 + top_bytes as u64)
            .saturating_add(child(0, ValueType::Bits, n_values, n_values.div_ceil(8)))
            .saturating_add(child(1, node.value_type, n_values, decoded_bytes))
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Another of the remaining values may be the frequent one; then those of the first become exceptions.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [4, 8, 1, 2, 16, 3, 32].map(ValueType::Fixed);
        widths.map(|it| Sample::any(it, &[])).into()
    }
}

/// The values of a sample that more than a quarter of it have, among others.
struct Counted<'v> {
    /// How often each is there, the most frequent first: at most three, at least one of any values.
    values: Vec<(usize, &'v [u8])>,
    /// Values of the sample.
    n: usize,
}

impl<'v> Counted<'v> {
    /// Source: Misra and Gries, "Finding repeated elements" (1982), with three counters.
    fn of(fixed: &FixedSlice<'v>) -> Self {
        let step = match fixed.len() {
            ..=ALL_UPTO => 1,
            _ => SAMPLE_STEP,
        };
        let places = sample_of(fixed.len()).into_iter().flatten();
        let places: Vec<usize> = places.step_by(step).collect();
        let found = match fixed.width() {
            ..=8 => frequent(&keys::<8>(fixed, &places)),
            9..=16 => frequent(&keys::<16>(fixed, &places)),
            _ => frequent(&places.iter().map(|i| fixed.get(*i)).collect::<Vec<_>>()),
        };
        let value = |place: usize| fixed.get(places[place]);
        let found = found.into_iter().filter(|(count, _)| *count > 0);
        let mut values: Vec<_> = found.map(|(count, place)| (count, value(place))).collect();
        values.sort_by_key(|(count, _)| core::cmp::Reverse(*count));
        let n = places.len();
        Self { values, n }
    }

    /// Whether more than a quarter are the first.
    fn is_one_frequent(&self) -> bool {
        let first = self.values.first();
        first.is_some_and(|(count, _)| count * 4 > self.n)
    }
}

/// These values, followed by zeros: of a fixed width they are compared in registers.
fn keys<const W: usize>(fixed: &FixedSlice<'_>, places: &[usize]) -> Vec<[u8; W]> {
    let key = |i: &usize| {
        let mut key = [0; W];
        if let Some(to) = key.get_mut(..fixed.width()) {
            to.copy_from_slice(fixed.get(*i));
        }
        key
    };
    places.iter().map(key).collect()
}

/// Three values that are among the frequent ones: how often each is in the sample, and the place of one.
fn frequent<K: PartialEq>(sample: &[K]) -> [(usize, usize); 3] {
    let mut candidates: [(usize, usize); 3] = [(0, 0); 3];
    for (place, value) in sample.iter().enumerate() {
        let is_known = |(votes, at): &(usize, usize)| *votes > 0 && sample[*at] == *value;
        let known = candidates.iter().position(is_known);
        let free = || candidates.iter().position(|(votes, _)| *votes == 0);
        match known.or_else(free) {
            Some(candidate) => candidates[candidate] = (candidates[candidate].0 + 1, place),
            None => candidates.iter_mut().for_each(|(votes, _)| *votes -= 1),
        }
    }
    candidates.map(|(_, at)| {
        let equal = sample.iter().filter(|value| sample.get(at) == Some(*value));
        (equal.count(), at)
    })
}

/// Whether mask and exceptions could take clearly fewer bytes than what is to beat, if an exception takes as many as a
/// value takes there. A bit of the mask takes at least 4 p (1 - p) bits, where p of the rows are exceptions: that is
/// below the entropy.
fn can_win(n: usize, n_exceptions: usize, bytes_to_beat: u64) -> bool {
    let (n, n_exceptions) = (n as u128, n_exceptions as u128);
    // All in bits times n.
    let mask = 4 * n_exceptions * (n - n_exceptions);
    let gained_values = (n - n / GAIN_ONE_IN).saturating_sub(n_exceptions);
    let gained = 8 * u128::from(bytes_to_beat) * gained_values;
    mask < gained
}

/// A block for each child.
struct ChildBlocks<'a> {
    mask: BlockValues<'a>,
    exceptions: BlockValues<'a>,
}

/// Values taken apart.
struct Split {
    /// One bit per value, set where it is an exception.
    mask: OwnedValues,
    exceptions: OwnedValues,
    /// For each word of the mask the exceptions before it, and at last all.
    n_before: Vec<u32>,
}

impl Split {
    fn of(values: &FixedSlice<'_>, top: &[u8]) -> Result<Self> {
        Self::under(mask_words(values, top), values)
    }

    /// Under a mask of these words.
    fn under(words: Vec<u64>, values: &FixedSlice<'_>) -> Result<Self> {
        let (len, width) = (values.len(), values.width());
        let mut mask = AlignedBuf::zeroed(words.len() * WORD_BYTES);
        let (mut n_before, mut n_exceptions) = (Vec::with_capacity(words.len() + 1), 0);
        for (to, word) in mask.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
            n_before.push(n_exceptions);
            n_exceptions += word.count_ones();
        }
        n_before.push(n_exceptions);
        let n_exceptions = n_exceptions as usize;
        let mut exceptions = AlignedBuf::zeroed(n_exceptions * width);
        tarsia_bits::compact(&mask, 0, len, width, values.bytes(), &mut exceptions)
            .map_err(|_| Error::invalid("values of another width than the frequent one"))?;
        Ok(Self {
            mask: OwnedValues::Bits { bytes: mask, len },
            exceptions: OwnedValues::Fixed {
                bytes: exceptions,
                width,
                len: n_exceptions,
            },
            n_before,
        })
    }

    /// The exceptions before value `at`.
    fn n_before(&self, at: usize) -> Result<usize> {
        let (word, bit) = (at / WORD_VALUES, at % WORD_VALUES);
        let mask = self.mask.as_values()?.as_bits()?;
        let of_word = mask.word(word * WORD_VALUES) & ((1 << bit) - 1);
        let before = self.n_before.get(word).map_or(0, |n| *n as usize);
        Ok(before + of_word.count_ones() as usize)
    }

    /// Mask and exceptions of the values of a block.
    fn of_block(&self, range: Range<usize>) -> Result<ChildBlocks<'_>> {
        let exceptions = self.n_before(range.start)?..self.n_before(range.end)?;
        Ok(ChildBlocks {
            mask: BlockValues::new(self.mask.as_values()?, range)?,
            exceptions: BlockValues::new(self.exceptions.as_values()?, exceptions)?,
        })
    }
}

/// A bit for each value, set where it is not `top`, which is as wide.
fn mask_words(values: &FixedSlice<'_>, top: &[u8]) -> Vec<u64> {
    match values.width() {
        1 => words_of::<1>(values, top),
        2 => words_of::<2>(values, top),
        4 => words_of::<4>(values, top),
        8 => words_of::<8>(values, top),
        16 => words_of::<16>(values, top),
        _ => words_where(values.len(), |i| values.get(i) != top),
    }
}

/// Sets the bits of [`mask_words`] for values of one width.
fn words_of<const W: usize>(values: &FixedSlice<'_>, top: &[u8]) -> Vec<u64> {
    let Some(top) = top.first_chunk::<W>() else {
        return vec![];
    };
    let values = values.bytes().as_chunks::<W>().0;
    let word = |values: &[[u8; W]]| {
        let bits = values.iter().enumerate();
        bits.fold(0, |word, (i, value)| word | u64::from(value != top) << i)
    };
    values.chunks(WORD_VALUES).map(word).collect()
}

fn words_where(n: usize, is_set: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut words = vec![0; n.div_ceil(WORD_VALUES)];
    for (word, i) in words.iter_mut().zip((0..n).step_by(WORD_VALUES)) {
        let until = n.min(i + WORD_VALUES);
        *word = (i..until).fold(0, |word, at| word | u64::from(is_set(at)) << (at - i));
    }
    words
}

struct PageValues {
    top: Vec<u8>,
    /// The values of the page.
    values: AlignedBuf,
    of_page: Split,
    mask: Box<dyn PageEncoder>,
    exceptions: Box<dyn PageEncoder>,
}

impl PageEncoder for PageValues {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let (range, width) = (block.range(), self.top.len());
        let of_page = self.values.get(range.start * width..range.end * width);
        // A range of the page's values is faster for children. A parent that derives values per block passes others.
        if of_page == Some(values.bytes()) {
            return self.append(self.of_page.of_block(range)?, out);
        }
        let split = Split::of(&values, &self.top)?;
        self.append(split.of_block(0..values.len())?, out)
    }
}

impl PageValues {
    fn under(top: &[u8], fixed: &FixedSlice<'_>, page: &mut Prepare<'_>) -> Result<Self> {
        let of_page = Split::of(fixed, top)?;
        Ok(Self {
            top: top.to_vec(),
            values: AlignedBuf::copy_of(fixed.bytes()),
            mask: page.child(0, of_page.mask.as_values()?)?,
            exceptions: page.child(1, of_page.exceptions.as_values()?)?,
            of_page,
        })
    }

    fn append(&self, parts: ChildBlocks<'_>, out: &mut Vec<u8>) -> Result<()> {
        let ChildBlocks { mask, exceptions } = parts;
        let at = out.len();
        let n_exceptions = exceptions.len() as u32;
        out.extend_from_slice(&[0; HEADER_BYTES]);
        out.extend_from_slice(&self.top);
        let mask_at = out.len();
        self.mask.encode(mask, out)?;
        let too_long = |_| Error::invalid("a mask of 4 GiB and more");
        let mask_len = u32::try_from(out.len() - mask_at).map_err(too_long)?;
        let header = out.get_mut(at..at + HEADER_BYTES).unwrap_or_default();
        for (to, field) in header.chunks_exact_mut(4).zip([n_exceptions, mask_len]) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        self.exceptions.encode(exceptions, out)
    }
}
