//! Dictionaries that the blocks of a page list for themselves, where a page has many.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::Distinct;
use tarsia_codec::{
    AlignedBuf, FixedSlice, LogicalType, OwnedValues, Part, Proposal, Proposals, Statistics,
    Values, limits,
};

use crate::Dict;
use crate::layout::{CodeBytes, HEADER_BYTES, Scope, VALUES_ALIGN, code_bits, params};

/// Blocks by which the bytes of all are estimated.
const SAMPLE_BLOCKS: usize = 4;

/// An estimate may be too large by so much.
const DOUBT_ONE_IN: u64 = 16;

/// Bytes of a block's header and padding.
const BLOCK_OVERHEAD_BYTES: usize = HEADER_BYTES + VALUES_ALIGN / 2;

/// Bits of a code that is packed in too few bits: a position, and the bits above.
const PATCH_BITS: u64 = 24;

/// The least rows of a block.
const BLOCK_VALUES_MIN: usize = 1 << 10;

/// Proposes a dictionary in each block of a page of many blocks, whose `n_entries` distinct values are numbers of up to
/// 8 bytes. Of the orders of entries of which the encoder takes the smallest for each block, two are of use: that of
/// their values, whose differences are small, and the most frequent first, which makes codes small.
///
/// Such codes depend on their block alone, so that they may be what those of a page's dictionary may not be where rows
/// are erased: small for frequent values. And a block often has few of the entries of its page.
pub(crate) fn propose<'v>(
    values: &Statistics<'v>,
    n_entries: usize,
    proposals: &mut Proposals<'v>,
) {
    let Values::Fixed(fixed) = values.values() else {
        return;
    };
    let block_values = block_values(values, n_entries);
    if fixed.width() > 8 || fixed.len() <= block_values {
        return;
    }
    let (order, bytes) = best_order(&fixed, block_values);
    if bytes - bytes / DOUBT_ONE_IN >= proposals.bytes_to_beat() {
        return;
    }
    let code_bytes = CodeBytes::for_entries(n_entries);
    let Some(Lists { codes, entries }) = Lists::of(&fixed, block_values, order, code_bytes) else {
        return;
    };
    let logical_type = match values.facts().logical_type {
        LogicalType::Code => LogicalType::Unsigned,
        other => other,
    };
    let n_blocks = fixed.len().div_ceil(block_values);
    let entries_per_block = entries.len().div_ceil(n_blocks);
    let codes = Part::owned(Rc::new(codes), LogicalType::Code).in_units_of(block_values);
    let entries = Part::owned(Rc::new(entries), logical_type).in_units_of(entries_per_block);
    proposals.push(Proposal {
        params: params(Scope::Block, code_bytes).to_vec(),
        children: vec![codes.depending_on_cuts(), entries.depending_on_cuts()],
        ..Proposal::leaf(&Dict, (n_blocks * BLOCK_OVERHEAD_BYTES) as u64)
    });
}

/// A guess at the values of a block, which is cut later.
fn block_values(values: &Statistics<'_>, n_entries: usize) -> usize {
    let bits = code_bits(n_entries).max(1) as usize;
    let fitting = 8 * limits::UNIT_BYTES_TARGET / bits;
    let most = values.unit_values().min(limits::BLOCK_VALUES_MAX as usize);
    let guess = 1usize << fitting.max(1).ilog2();
    guess.min(most).max(BLOCK_VALUES_MIN)
}

/// The order under which a few of the blocks take the fewest bytes, and what all would take.
fn best_order(fixed: &FixedSlice<'_>, block_values: usize) -> (Order, u64) {
    let n_blocks = fixed.len() / block_values;
    let n_sampled = SAMPLE_BLOCKS.min(n_blocks).max(1);
    let (mut n_values, mut of_values, mut of_frequency) = (0u64, 0u64, 0u64);
    for i in 0..n_sampled {
        let start = i * n_blocks / n_sampled * block_values;
        let block = fixed.slice(start..start + block_values);
        if let Some(distinct) = Distinct::of(Values::Fixed(block), block_values) {
            let sizes = Sizes::of(&distinct, &block);
            n_values += block.len() as u64;
            of_values += sizes.of_values;
            of_frequency += sizes.of_frequency;
        }
    }
    let (order, bits) = match of_frequency < of_values {
        true => (Order::OfFrequency, of_frequency),
        false => (Order::OfValues, of_values),
    };
    let bits = u128::from(bits) * fixed.len() as u128 / u128::from(n_values.max(1));
    (order, u64::try_from(bits / 8).unwrap_or(u64::MAX))
}

/// Bits that a block is expected to take in either order.
struct Sizes {
    of_values: u64,
    of_frequency: u64,
}

impl Sizes {
    fn of(distinct: &Distinct, block: &FixedSlice<'_>) -> Self {
        let (n, n_entries) = (block.len() as u64, distinct.n_entries());
        let mut counts = vec![0u64; n_entries];
        for code in distinct.codes() {
            if let Some(count) = counts.get_mut(code as usize) {
                *count += 1;
            }
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let number = |row: &u32| {
            let mut bytes = [0; 8];
            let value = block.get(*row as usize).iter();
            bytes
                .iter_mut()
                .zip(value)
                .for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(bytes)
        };
        let numbers = || distinct.first_rows().iter().map(number);
        let (least, most) = (numbers().min(), numbers().max());
        let span = most.unwrap_or_default() - least.unwrap_or_default();
        let bits_of = |number: u64| u64::from(u64::BITS - number.leading_zeros());
        let (code_bits, n_entries) = (u64::from(code_bits(n_entries)), n_entries as u64);
        // Differences differ, which costs about a bit more than their mean takes.
        let difference_bits = bits_of(span / n_entries.max(1)) + 1;
        // Frequent codes in fewer bits, the others as patches.
        let mut frequent = code_bits * n;
        let (mut n_packed, mut at) = (0, 0);
        for bits in 0..code_bits {
            let end = 1usize << bits;
            n_packed += counts.get(at..end).unwrap_or_default().iter().sum::<u64>();
            at = end;
            frequent = frequent.min(bits * n + (n - n_packed) * PATCH_BITS);
        }
        let overhead = 8 * BLOCK_OVERHEAD_BYTES as u64;
        Self {
            of_values: overhead + code_bits * n + difference_bits.min(bits_of(span)) * n_entries,
            of_frequency: overhead + frequent + bits_of(span) * n_entries,
        }
    }
}

/// The order of the entries of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    OfValues,
    OfFrequency,
}

/// The codes and entries of all blocks, one block behind the other.
struct Lists {
    codes: OwnedValues,
    entries: OwnedValues,
}

impl Lists {
    fn of(
        fixed: &FixedSlice<'_>,
        block_values: usize,
        order: Order,
        code_bytes: CodeBytes,
    ) -> Option<Self> {
        let (mut codes, mut entries) = (Vec::new(), Vec::new());
        for start in (0..fixed.len()).step_by(block_values) {
            let end = (start + block_values).min(fixed.len());
            let block = Values::Fixed(fixed.slice(start..end));
            let distinct = Distinct::of(block, block_values)?;
            let distinct = match order {
                Order::OfValues => distinct.ordered(block),
                Order::OfFrequency => distinct.by_frequency(),
            };
            append(&mut codes, &distinct.codes_of(code_bytes.bytes().into()));
            append(&mut entries, &distinct.entries(block));
        }
        Some(Self {
            codes: numbers(&codes, code_bytes.bytes().into()),
            entries: numbers(&entries, fixed.width()),
        })
    }
}

fn append(to: &mut Vec<u8>, values: &OwnedValues) {
    if let OwnedValues::Fixed { bytes, .. } = values {
        to.extend_from_slice(bytes);
    }
}

fn numbers(bytes: &[u8], width: usize) -> OwnedValues {
    OwnedValues::Fixed {
        len: bytes.len() / width.max(1),
        bytes: AlignedBuf::copy_of(bytes),
        width,
    }
}
