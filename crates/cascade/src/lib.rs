//! Chooses a tree of encodings for the values of a page.
//!
//! Exact closed-form sizes decide, not trial encodes of samples: sampling was measured to lose 5–9 % of size on integer columns
//! (design notes, `ENCODINGS.md`). A sample only decides whether counting distinct values is worth its time. Every choice is a
//! function of the values and the options, so the same input gives the same bytes on every machine.
//!
//! | values | candidates |
//! |---|---|
//! | bits | constant, bitmap |
//! | 1, 2, 4, 8 bytes | constant, bitpack, dict(codes: bitpack), plain |
//! | other fixed widths | constant, dict(codes: bitpack), plain |
//! | byte strings | constant, dict(codes: bitpack), bytes(lengths: bitpack); long ones that gain nothing lie row by row |
//!
//! A dictionary lives inside the block where the page is one block, else in a dictionary page.
//!
//! # What this crate does not do
//! It encodes nothing, and it has no cost table of decode times yet: a preset says how much smaller a slower tree must be.
#![forbid(unsafe_code)]

use tarsia_codec::{
    BytesSlice, EncodeChildren, EncodingWriter, Error, FixedSlice, Node, OwnedValues, PageEncoder,
    Registry, Result, Shared, Tree, Values, limits,
};
use tarsia_dict::{CodeBytes, Distinct};
use tarsia_structure::{BLOCK_PAYLOAD_BYTES_TARGET, Choice, Choose, FULL_ZIP_BYTES_MIN};

/// What a writer cares about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Objective {
    /// Cheapest to write and read: a dictionary must save half.
    Fast,
    /// Small where it costs little reading time: a dictionary must save 3 %.
    #[default]
    Balanced,
    /// Smallest.
    Compact,
}

impl Objective {
    /// A dictionary is taken where its size times this many per cent is below the alternative's times 100.
    fn dictionary_penalty_percent(self) -> u64 {
        match self {
            Self::Fast => 200,
            Self::Balanced => 103,
            Self::Compact => 101,
        }
    }

    /// The most bytes of a dictionary's fixed-width entries. Up to 64 KiB it stays in the search cache.
    fn fixed_dictionary_bytes_max(self) -> u64 {
        match self {
            Self::Fast | Self::Balanced => 64 << 10,
            Self::Compact => 1 << 20,
        }
    }
}

/// A dictionary's strings are at most this long together: it is read whole before the first code.
const STRING_DICTIONARY_BYTES_MAX: u64 = 1 << 20;

/// What a dictionary page costs beside its entries: block header, page descriptor, the column's FlatBuffer.
const DICTIONARY_PAGE_OVERHEAD_BYTES: u64 = 320;

/// What a dictionary inside a block costs beside codes and entries.
const DICTIONARY_IN_BLOCK_OVERHEAD_BYTES: u64 = 24;

/// A tree is kept only if it beats plain by 2 %.
const GAIN_OVER_PLAIN_PERCENT: u64 = 102;

/// Values looked at before distinct ones are counted.
const SAMPLE_VALUES: usize = 1024;

/// The default policy.
#[derive(Debug, Clone, Copy)]
pub struct Chooser {
    objective: Objective,
    dictionaries: bool,
    full_zip_bytes_min: u32,
}

impl Chooser {
    /// The policy for the columns of a table.
    pub fn new(objective: Objective) -> Self {
        Self {
            objective,
            dictionaries: true,
            full_zip_bytes_min: FULL_ZIP_BYTES_MIN,
        }
    }

    /// The same, where rows are stored one by one from another size on; see [`Choose::full_zip_bytes_min`].
    pub fn with_full_zip_bytes_min(self, full_zip_bytes_min: u32) -> Self {
        Self {
            full_zip_bytes_min,
            ..self
        }
    }

    /// The policy for the entries of a dictionary, which are distinct.
    pub fn for_dictionary_entries(objective: Objective) -> Self {
        Self {
            objective,
            dictionaries: false,
            // Dictionary pages are of mini-blocks.
            full_zip_bytes_min: u32::MAX,
        }
    }
}

/// Adds the decoders and encoders this policy uses to a registry.
pub fn register(registry: &mut Registry) {
    registry
        .add(&tarsia_plain::PLAIN)
        .add(&tarsia_bytes::BYTES)
        .add(&tarsia_bitmap::BITMAP)
        .add(&tarsia_constant::CONSTANT)
        .add(&tarsia_bitpack::BITPACK)
        .add(&tarsia_dict::DICT)
        .add_writer(&tarsia_plain::PLAIN)
        .add_writer(&tarsia_bytes::BYTES)
        .add_writer(&tarsia_bitmap::BITMAP)
        .add_writer(&tarsia_constant::CONSTANT)
        .add_writer(&tarsia_bitpack::BITPACK)
        .add_writer(&tarsia_dict::DICT);
}

impl Choose for Chooser {
    fn choose(&self, values: Values<'_>) -> Result<Choice> {
        match values {
            Values::Bits(_) => Ok(choose_bits(values)),
            Values::Fixed(fixed) => self.choose_fixed(values, fixed),
            Values::Bytes(strings) => self.choose_bytes(values, strings),
        }
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }

    fn validity_trees(&self) -> Vec<Tree> {
        vec![tarsia_bitmap::tree()]
    }

    fn length_trees(&self, lengths: Values<'_>) -> Result<Vec<Tree>> {
        let chooser = Self {
            dictionaries: false,
            ..*self
        };
        Ok(chooser.choose(lengths)?.trees)
    }
}

fn choose_bits(values: Values<'_>) -> Choice {
    if tarsia_constant::is_constant(values) {
        return uniform(vec![tarsia_constant::tree(), tarsia_plain::tree()], 0);
    }
    uniform(vec![tarsia_bitmap::tree(), tarsia_plain::tree()], 1)
}

fn uniform(trees: Vec<Tree>, bits_per_value: u32) -> Choice {
    Choice {
        trees,
        bits_per_value,
        uniform: true,
        first: None,
    }
}

/// Bits of each of `n_values` that take `bytes` together, rounded up.
fn bits_of(bytes: u64, n_values: usize) -> u32 {
    u32::try_from((bytes * 8).div_ceil(n_values.max(1) as u64)).unwrap_or(u32::MAX)
}

/// Bits of a code for `n_entries`.
fn code_bits(n_entries: u64) -> u32 {
    match n_entries {
        0 | 1 => 0,
        n => (n - 1).ilog2() + 1,
    }
}

/// Bytes of fixed-width values bit-packed in blocks of so many.
fn packed_bytes(values: FixedSlice<'_>, block_values: usize) -> Result<u64> {
    tarsia_bitpack::estimate(values, block_values, tarsia_bitpack::Mode::Free)
}

/// A dictionary that would pay.
struct Dictionary {
    distinct: Distinct,
    code_bytes: CodeBytes,
    codes: OwnedValues,
    /// Codes and entries.
    bytes: u64,
    /// Those of them that lie in blocks.
    block_bytes: u64,
    in_block: bool,
}

impl Chooser {
    fn choose_fixed(&self, values: Values<'_>, fixed: FixedSlice<'_>) -> Result<Choice> {
        let n = fixed.len();
        let plain_bytes = fixed.bytes().len() as u64;
        let plain_bits = bits_of(plain_bytes, n);
        if n == 0 || fixed.width() == 0 {
            return Ok(uniform(vec![tarsia_plain::tree()], plain_bits));
        }
        if tarsia_constant::is_constant(values) {
            return Ok(uniform(
                vec![tarsia_constant::tree(), tarsia_plain::tree()],
                0,
            ));
        }
        let mut bytes = plain_bytes;
        let mut choice = uniform(vec![tarsia_plain::tree()], plain_bits);
        if matches!(fixed.width(), 1 | 2 | 4 | 8) {
            let packed = packed_bytes(fixed, limits::BLOCK_VALUES_MAX as usize)?;
            if packed * GAIN_OVER_PLAIN_PERCENT < plain_bytes * 100 {
                bytes = packed;
                choice = uniform(
                    vec![tarsia_bitpack::tree(), tarsia_plain::tree()],
                    bits_of(packed, n),
                );
            }
        }
        let entry_bytes = fixed.width() as u64;
        let cap = (self.objective.fixed_dictionary_bytes_max() / entry_bytes).min(n as u64 / 2);
        let found = self.dictionary(values, bytes, cap, |n_entries, entries_bytes| {
            entries_bytes.min(n_entries * entry_bytes)
        });
        if let Some(dictionary) = found {
            return dictionary.choice(values, tarsia_plain::tree(), vec![tarsia_plain::tree()]);
        }
        Ok(choice)
    }

    fn choose_bytes(&self, values: Values<'_>, strings: BytesSlice<'_>) -> Result<Choice> {
        let n = strings.len();
        let plain = tarsia_bytes::tree(tarsia_plain::tree());
        let packed = tarsia_bytes::tree(tarsia_bitpack::tree());
        let by_size = Choice {
            trees: vec![packed.clone(), plain.clone()],
            bits_per_value: 0,
            uniform: false,
            first: None,
        };
        if n == 0 {
            return Ok(by_size);
        }
        if tarsia_constant::is_constant(values) {
            return Ok(uniform(vec![tarsia_constant::tree(), packed, plain], 0));
        }
        let mut lengths = vec![0; n * 4];
        let pairs = strings.offsets().windows(2);
        for (to, pair) in lengths.as_chunks_mut().0.iter_mut().zip(pairs) {
            *to = (pair[1] - pair[0]).to_le_bytes();
        }
        let lengths_bytes = packed_bytes(FixedSlice::new(&lengths, 4, n)?, 1024)?;
        let bytes = u64::from(strings.data_bytes()) + lengths_bytes;
        let cap = n as u64 / 2;
        let found = self.dictionary(values, bytes, cap, |n_entries, entries_bytes| {
            // Lengths of entries take about as many bits as those of the values.
            entries_bytes + (lengths_bytes * n_entries).div_ceil(n as u64)
        });
        match found {
            Some(dictionary) if dictionary.bytes <= bytes => {
                dictionary.choice(values, packed, vec![plain])
            }
            _ => Ok(by_size),
        }
    }

    /// Whether a dictionary of at most `cap` entries beats `bytes`; `size_of(n_entries, their bytes)` is the size of its entries.
    fn dictionary(
        &self,
        values: Values<'_>,
        bytes: u64,
        cap: u64,
        size_of: impl Fn(u64, u64) -> u64,
    ) -> Option<Dictionary> {
        let n = values.len();
        if !self.dictionaries || cap < 2 || mostly_distinct(values) {
            return None;
        }
        let penalty = self.objective.dictionary_penalty_percent();
        let pays = |total: u64| total * penalty < bytes * 100;
        // Entries that take more than this do not pay even if codes were free.
        let entry_bytes_max = (bytes * 100 / penalty).min(STRING_DICTIONARY_BYTES_MAX);
        let distinct = Distinct::within(values, usize::try_from(cap).ok()?, entry_bytes_max)?;
        let n_entries = distinct.n_entries() as u64;
        let entry_bytes = match values {
            Values::Bytes(strings) => distinct
                .first_rows()
                .iter()
                .map(|row| u64::from(strings.value_bytes(*row as usize)))
                .sum(),
            Values::Fixed(fixed) => n_entries * fixed.width() as u64,
            Values::Bits(_) => n_entries.div_ceil(8),
        };
        let entries = size_of(n_entries, entry_bytes);
        let codes_max = (n as u64 * u64::from(code_bits(n_entries))).div_ceil(8);
        // Frequent values have small codes, since entries are numbered as they first appear: patches may save a bit or two.
        // Where that could decide, the codes themselves are measured.
        if !pays(codes_max * 3 / 4 + entries) {
            return None;
        }
        let code_bytes = CodeBytes::for_entries(distinct.n_entries());
        let codes = distinct.codes_of(code_bytes);
        let codes_bytes = measured(&codes).unwrap_or(codes_max).min(codes_max);
        let in_block_bytes = codes_bytes + entries + DICTIONARY_IN_BLOCK_OVERHEAD_BYTES;
        let in_block = n <= limits::BLOCK_VALUES_MAX as usize
            && in_block_bytes <= BLOCK_PAYLOAD_BYTES_TARGET as u64 * 7 / 8;
        let (total, block_bytes) = match in_block {
            true => (in_block_bytes, in_block_bytes),
            false => (
                codes_bytes + entries + DICTIONARY_PAGE_OVERHEAD_BYTES,
                codes_bytes,
            ),
        };
        pays(total).then_some(Dictionary {
            distinct,
            code_bytes,
            codes,
            bytes: total,
            block_bytes,
            in_block,
        })
    }
}

/// Bytes of the codes, bit-packed.
fn measured(codes: &OwnedValues) -> Option<u64> {
    let codes = codes.as_values().ok()?.as_fixed().ok()?;
    packed_bytes(codes, limits::BLOCK_VALUES_MAX as usize).ok()
}

impl Dictionary {
    /// The dictionary first, whose encoder need not look for the distinct values again, then `others`.
    fn choice(self, values: Values<'_>, entries: Tree, others: Vec<Tree>) -> Result<Choice> {
        let codes = tarsia_bitpack::tree();
        let tree = match self.in_block {
            true => tarsia_dict::block_tree(self.code_bytes, codes, entries),
            false => tarsia_dict::page_tree(self.code_bytes, codes),
        };
        let children = ChildrenOf(&tree);
        let first =
            tarsia_dict::prepare_known(&tree, &self.distinct, self.codes, values, &children)?;
        let bits_per_value = bits_of(self.block_bytes, values.len());
        let trees = std::iter::once(tree).chain(others).collect();
        Ok(Choice {
            first: Some(first),
            ..uniform(trees, bits_per_value)
        })
    }
}

/// Prepares the children of a dictionary, whose trees this crate has made.
struct ChildrenOf<'a>(&'a Tree);

impl EncodeChildren for ChildrenOf<'_> {
    fn prepare(&self, index: usize, values: Values<'_>) -> Result<Box<dyn PageEncoder>> {
        let known: [&dyn EncodingWriter; 3] = [
            &tarsia_bitpack::BITPACK,
            &tarsia_plain::PLAIN,
            &tarsia_bytes::BYTES,
        ];
        let tree = self.0.children.get(index);
        let writer = known
            .into_iter()
            .find(|writer| tree.is_some_and(|tree| tree.id == writer.id()));
        let (Some(tree), Some(writer)) = (tree, writer) else {
            return Err(Error::invalid("a dictionary of other children"));
        };
        let node = Node {
            value_type: values.value_type(),
            params: &tree.params,
        };
        writer.prepare(&node, values, &ChildrenOf(tree), Shared::default())
    }
}

/// Whether nearly all of an evenly spread sample differ: then counting the rest is not worth its time.
fn mostly_distinct(values: Values<'_>) -> bool {
    let n = values.len();
    if n <= 2 * SAMPLE_VALUES {
        return false;
    }
    Distinct::count_sampled(values, SAMPLE_VALUES) * 20 > SAMPLE_VALUES * 19
}
