//! The encoders of both scopes.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::{Distinct, are_codes_of, find_codes, narrow_numbers};
use tarsia_codec::{
    Asked, BlockChild, BlockValues, EncodingWriter, EraseFit, Error, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::layout::{
    CodeBytes, HEADER_BYTES, Params, Scope, VALUES_ALIGN, code_bits, params, write_header,
};
use crate::{Dict, local};

impl EncodingWriter for Dict {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        // No dictionary for lengths, which are small already. For the codes of another dictionary only those of blocks.
        let logical_type = values.facts().logical_type;
        let erasable = values.facts().erasable;
        let are_codes = logical_type == LogicalType::Code;
        if are_codes && !erasable || logical_type == LogicalType::Length {
            return Ok(());
        }
        let (n, all) = (values.len(), values.values());
        let (cap, entry_bytes_max) = match all.value_type() {
            ValueType::Bits | ValueType::Fixed(0) => return Ok(()),
            ValueType::Fixed(width) => {
                let fitting = proposals.shared_bytes_max() / u64::from(width);
                (fitting.min(n as u64 / 2), u64::MAX)
            }
            ValueType::Bytes => (n as u64 / 2, limits::STRING_DICTIONARY_BYTES_MAX),
        };
        let to_beat = proposals.bytes_to_beat();
        if cap < 2 || to_beat < 2 || values.is_mostly_distinct() {
            return Ok(());
        }
        // Of a sample, entries come once, and codes are those of all of the page.
        let of_sample = proposals.are_of_sample();
        let (cap, entry_bytes_max) = match of_sample {
            true => (n, u64::MAX),
            false => (cap as usize, entry_bytes_max.min(to_beat)),
        };
        let Some(distinct) = values.distinct(cap, entry_bytes_max) else {
            return Ok(());
        };
        let n_entries = distinct.n_entries();
        let is_one_unit = n <= values.unit_values() && !of_sample;
        if erasable && (are_codes || n_entries <= LOCAL_ENTRIES_MAX) {
            local::propose(values, n_entries, proposals);
        }
        if are_codes {
            return Ok(());
        }
        let ordered = values.cached(|| Ordered(ordered(&distinct, all, erasable)));
        let distinct = ordered.0.as_ref().unwrap_or(&distinct);
        let entry_bytes = distinct.entry_bytes(all);
        let codes_bytes_max = (n as u64 * u64::from(code_bits(n_entries))).div_ceil(8);
        // Frequent values have small codes, because entries are numbered by first appearance. So patches may save a bit
        // or two per code.
        let codes_bytes_min = codes_bytes_max * 3 / 4;
        let counted_bytes = if of_sample { 0 } else { entry_bytes };
        if codes_bytes_min + counted_bytes >= to_beat {
            return Ok(());
        }
        let code_bytes = CodeBytes::for_entries(n_entries);
        let codes = Rc::new(distinct.codes_of(code_bytes.bytes().into()));
        let codes = Part::owned(codes, LogicalType::Code).nesting();
        let entries = Part::owned(Rc::new(distinct.entries(all)), logical_type).distinct();
        // A dictionary inside the block is for pages of one block. An eighth of the block's target size remains for its
        // other contents.
        let block_bytes_max = limits::UNIT_BYTES_TARGET as u64 * 7 / 8;
        let header_bytes = (HEADER_BYTES + VALUES_ALIGN) as u64;
        if is_one_unit && header_bytes + codes_bytes_min + entry_bytes <= block_bytes_max {
            proposals.push(Proposal {
                params: params(Scope::Block, code_bytes).to_vec(),
                children: vec![codes.clone(), entries.clone()],
                bytes_max: block_bytes_max,
                ..Proposal::leaf(self, header_bytes)
            });
        }
        if !is_one_unit || header_bytes + codes_bytes_max + entry_bytes > block_bytes_max {
            proposals.push(Proposal {
                params: params(Scope::Page, code_bytes).to_vec(),
                children: vec![codes],
                shared: vec![entries],
                ..Proposal::leaf(self, 0)
            });
        }
        Ok(())
    }

    /// Codes of a sample take no more bits than those of all values, and entries come once.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let Params { scope, code_bytes } = Params::parse(node)?;
        match scope {
            Scope::Block => prepare_blocks(code_bytes, values, page),
            Scope::Page => prepare_page(code_bytes, values, page),
        }
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let Ok(params) = Params::parse(node) else {
            return 0;
        };
        let code_bytes = params.code_bytes;
        let codes_bytes = n_values.saturating_mul(code_bytes.bytes().into());
        let codes = child(0, code_bytes.value_type(), n_values, codes_bytes);
        match params.scope {
            Scope::Page => codes,
            Scope::Block => {
                let front = codes.saturating_add((HEADER_BYTES + VALUES_ALIGN - 1) as u64);
                let front = front - front % VALUES_ALIGN as u64;
                // In the worst case every value is an entry.
                front.saturating_add(child(1, node.value_type, n_values, decoded_bytes))
            }
        }
    }

    fn erase_fit(&self, node: &Node<'_>) -> EraseFit {
        match Params::parse(node).map(|params| params.scope) {
            // The codes of the remaining values are a subsequence of the codes.
            Ok(Scope::Page) => EraseFit::Always,
            // The entries of the remaining values are numbered anew. A frequent value that loses its first row may get
            // a higher code than before; then a child that packs most codes narrowly and patches the others needs more
            // bytes.
            Ok(Scope::Block) | Err(_) => EraseFit::MayGrow,
        }
    }

    fn residue(&self, node: &Node<'_>) -> Option<&'static str> {
        Some(match Params::parse(node).map(|params| params.scope) {
            Ok(Scope::Block) => "whether a block had more than 256, or 65,536, distinct values",
            Ok(Scope::Page) | Err(_) => {
                "how many distinct values the page had, and between which others the wiped ones were"
            }
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [4, 8, 1, 16, 33].map(ValueType::Fixed);
        let types = types.into_iter().chain([ValueType::Bytes]);
        let scopes = [Scope::Block, Scope::Page];
        types
            .flat_map(|it| {
                scopes.map(|scope| Sample {
                    holds_any: scope == Scope::Block,
                    ..Sample::any(it, &params(scope, CodeBytes::Four))
                })
            })
            .collect()
    }
}

/// Values with more distinct ones than this get no dictionaries in the blocks of a large page, unless they are codes.
/// Such dictionaries would save bytes, but scans would take longer than where rows may not be erased.
const LOCAL_ENTRIES_MAX: usize = 1 << 8;

/// Entries are put in order where they are at least so many, and one of so many values.
const ORDERED_ENTRIES_MIN: usize = 1 << 10;
const ORDERED_ONE_IN: usize = 8;

/// Sorts the distinct values where rows may be erased, or where that makes them smaller: numbers in order have small
/// differences, which counts where entries are many and take much of the bytes.
fn ordered(distinct: &Distinct, values: Values<'_>, erasable: bool) -> Option<Distinct> {
    let n_entries = distinct.n_entries();
    let are_many = n_entries >= ORDERED_ENTRIES_MIN
        && n_entries.saturating_mul(ORDERED_ONE_IN) >= values.len();
    let are_numbers = matches!(values.value_type(), ValueType::Fixed(1..=8));
    (erasable || are_many && are_numbers).then(|| distinct.ordered(values))
}

/// The result of [`ordered`] that [`Statistics`] keeps.
struct Ordered(Option<Distinct>);

/// The codes, of the width that the child encodes.
struct Codes {
    values: OwnedValues,
    code_bytes: CodeBytes,
}

impl Codes {
    fn of(distinct: &Distinct, code_bytes: CodeBytes) -> Self {
        Self {
            values: distinct.codes_of(code_bytes.bytes().into()),
            code_bytes,
        }
    }

    fn as_values(&self) -> Result<Values<'_>> {
        self.values.as_values()
    }

    /// True if the codes of the block refer to entries equal to its values.
    fn name(&self, block: &BlockValues<'_>, entries: Values<'_>) -> Result<bool> {
        let codes = self.as_values()?.as_fixed()?.slice(block.range());
        let width = self.code_bytes.bytes().into();
        Ok(are_codes_of(codes.bytes(), width, entries, block.values()))
    }
}

/// The most entries that codes of this width can refer to.
fn entries_max(code_bytes: CodeBytes) -> usize {
    let max = code_bytes.entries_max().min(limits::UNIT_VALUES_MAX.into());
    usize::try_from(max).unwrap_or(usize::MAX)
}

#[cold]
fn too_many_entries() -> Error {
    Error::invalid("more distinct values than the codes tell apart")
}

/// The distinct values: taken from the statistics if the search has found them, else computed.
fn distinct_of(values: Values<'_>, cap: usize, page: &Prepare<'_>) -> Result<Rc<Distinct>> {
    let known = page.statistics().and_then(|it| it.distinct(cap, u64::MAX));
    let found = known.or_else(|| Distinct::of(values, cap).map(Rc::new));
    found.ok_or_else(too_many_entries)
}

/// Scope 1: all codes of the page, and the dictionary.
struct PageScope {
    codes: Codes,
    child: Box<dyn PageEncoder>,
    dictionary: Arc<OwnedValues>,
}

fn prepare_page(
    code_bytes: CodeBytes,
    values: Values<'_>,
    page: &mut Prepare<'_>,
) -> Result<Box<dyn PageEncoder>> {
    let cap = entries_max(code_bytes);
    let (codes, dictionary) = match page.shared(0)? {
        Some(dictionary) => {
            let numbers = find_codes(dictionary.as_values()?, values, cap)
                .ok_or_else(|| Error::invalid("a value is not in the dictionary"))?;
            let values = narrow_numbers(&numbers, code_bytes.bytes().into());
            (Codes { values, code_bytes }, dictionary)
        }
        None => {
            let found = distinct_of(values, cap, page)?;
            let ordered = ordered(&found, values, page.is_erasable());
            let distinct = ordered.map_or(found, Rc::new);
            let dictionary = page.make_shared(0, distinct.entries(values))?;
            (Codes::of(&distinct, code_bytes), dictionary)
        }
    };
    let child = page.child(0, codes.as_values()?)?;
    Ok(Box::new(PageScope {
        codes,
        child,
        dictionary,
    }))
}

impl PageEncoder for PageScope {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        // The codes are those of the values that the page was prepared with. Without this comparison, other values from
        // the caller would be written as wrong codes without an error.
        let entries = self.dictionary.as_values()?;
        let codes = self.codes.as_values()?;
        if block.range().end <= codes.len() && self.codes.name(&block, entries)? {
            return self.child.encode(block.of(codes)?, out);
        }
        // A parent that derives its child's values per block passes values at other positions.
        let cap = entries_max(self.codes.code_bytes);
        let numbers = find_codes(entries, block.values(), cap)
            .ok_or_else(|| Error::invalid("the values are not those of the page"))?;
        let codes = narrow_numbers(&numbers, self.codes.code_bytes.bytes().into());
        self.child
            .encode(BlockValues::all(codes.as_values()?)?, out)
    }
}

/// Scope 0: the dictionary is built per block, unless the block is the whole page.
struct BlockScope {
    code_bytes: CodeBytes,
    codes: BlockChild,
    values: BlockChild,
    of_page: OfPage,
}

/// The distinct values of the page, which is often the block, too.
struct OfPage {
    distinct: Distinct,
    codes: Codes,
    entries: OwnedValues,
}

/// The boundaries of the blocks are unknown yet, so the children are encoded block by block.
fn prepare_blocks(
    code_bytes: CodeBytes,
    values: Values<'_>,
    page: &mut Prepare<'_>,
) -> Result<Box<dyn PageEncoder>> {
    let found = distinct_of(values, usize::MAX, page)?;
    let distinct = ordered(&found, values, false);
    let distinct = distinct.unwrap_or_else(|| Rc::unwrap_or_clone(found));
    Ok(Box::new(BlockScope {
        code_bytes,
        codes: page.block_child(0, || distinct.codes_of(code_bytes.bytes().into()))?,
        values: page.block_child(1, || distinct.entries(values))?,
        of_page: OfPage {
            codes: Codes::of(&distinct, code_bytes),
            entries: distinct.entries(values),
            distinct,
        },
    }))
}

impl PageEncoder for BlockScope {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let OfPage {
            distinct,
            codes,
            entries,
        } = &self.of_page;
        let values = block.values();
        // Truncated codes would refer to other entries.
        let is_page = block.range() == (0..codes.as_values()?.len());
        let of_block;
        let first = if is_page && codes.name(&block, entries.as_values()?)? {
            distinct
        } else {
            let cap = entries_max(self.code_bytes);
            of_block = Distinct::of(values, cap).ok_or_else(too_many_entries)?;
            &of_block
        };
        // The order that suits codes and entries best, whatever encodes them; of equals that of first appearance.
        let start = out.len();
        self.encode_distinct(first, values, out)?;
        let mut other = Vec::new();
        for distinct in [first.ordered(values), first.by_frequency()] {
            other.clear();
            if self.encode_distinct(&distinct, values, &mut other).is_ok()
                && other.len() < out.len() - start
            {
                out.truncate(start);
                out.extend_from_slice(&other);
            }
        }
        Ok(())
    }
}

impl BlockScope {
    fn encode_distinct(
        &self,
        distinct: &Distinct,
        values: Values<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let codes = Codes::of(distinct, self.code_bytes);
        self.encode_unit(&codes, &distinct.entries(values), out)
    }

    fn encode_unit(&self, codes: &Codes, entries: &OwnedValues, out: &mut Vec<u8>) -> Result<()> {
        let entries = entries.as_values()?;
        let n_entries = entries.len();
        let entries_bytes = u32::try_from(entries.decoded_bytes())
            .map_err(|_| Error::invalid("the entries of a block take 4 GiB"))?;

        let unit_at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.codes.encode(codes.as_values()?, out)?;
        let codes_len = u32::try_from(out.len() - unit_at - HEADER_BYTES)
            .map_err(|_| Error::invalid("the codes of a block take 4 GiB"))?;
        let n_padded = (out.len() - unit_at).next_multiple_of(VALUES_ALIGN);
        out.resize(unit_at + n_padded, 0);
        self.values.encode(entries, out)?;
        write_header(out, unit_at, n_entries as u32, codes_len, entries_bytes);
        Ok(())
    }
}
