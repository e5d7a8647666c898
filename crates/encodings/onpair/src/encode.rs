//! The encoder.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::{
    FirstPageSizes, append_sized, codes_between, narrow_numbers, strings_worth_tokens,
};
use tarsia_codec::{
    BlockValues, BytesSlice, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Onpair;
use crate::layout::{
    CODE_BYTES, CODES_TYPE, COUNT_BYTES, COUNTS_TYPE, HEADER_BYTES, TOKEN_BYTES_MAX, TOKENS_MAX,
};
use crate::split::Split;
use crate::token::Token;
use crate::train::{self, Trial};
use crate::trie::Trie;

/// Longer tokens must save one byte in so many. Those of random digits do not: codes of few bits are all that can be
/// gained there, and no tokens need to be found.
const LONGER_SAVE_ONE_IN: u64 = 32;

/// In pages of more bytes, training gains up to half of what a trial needs, and up to three eighths in others.
const MEDIUM_DATA_BYTES_MAX: u64 = 512 << 10;

impl EncodingWriter for Onpair {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Some(strings) = strings_worth_tokens(values) else {
            return Ok(());
        };
        let data_bytes = u64::from(strings.data_bytes());
        let to_beat = proposals.bytes_to_beat().min(data_bytes);
        if to_beat < data_bytes && repeat_often(values, data_bytes) {
            return Ok(());
        }
        let Some(source) = Source::that_pays(values, &strings, to_beat, proposals.is_for_speed())
        else {
            return Ok(());
        };
        let page = values.cached(|| Page::of(values, &strings, source));
        let Ok(page) = &*page else {
            return Ok(());
        };
        if page.bytes() >= to_beat {
            return Ok(());
        }
        let n_units = page
            .bytes()
            .div_ceil(limits::UNIT_BYTES_TARGET as u64)
            .max(1);
        let per_unit = |n: usize| (n as u64).div_ceil(n_units) as usize;
        let counts = Part::copied(page.counts.as_values()?, LogicalType::Length);
        let codes = Part::copied(page.codes.as_values()?, LogicalType::Code);
        let tokens = Part::copied(page.tokens.as_values()?, LogicalType::Binary);
        proposals.push(Proposal {
            children: vec![
                counts.in_units_of(per_unit(strings.len())),
                codes.in_units_of(per_unit(page.codes.len())),
            ],
            shared: vec![tokens.distinct()],
            is_uniform: false,
            ..Proposal::leaf(self, HEADER_BYTES as u64 * n_units)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let strings = values.as_bytes()?;
        let encoded = match page.shared(0)? {
            Some(tokens) => Page::under(tokens, &strings)?,
            None => {
                let encoded = match page.statistics() {
                    Some(known) => {
                        let source = || Source::that_pays(known, &strings, u64::MAX, false);
                        let source = || source().unwrap_or(Source::TRAINING);
                        (*known.cached(|| Page::of(known, &strings, source()))).clone()?
                    }
                    None => Page::under(Arc::new(train::train(&strings, None, false)), &strings)?,
                };
                page.make_shared(0, OwnedValues::copy_of(encoded.tokens.as_values()?))?;
                encoded
            }
        };
        Ok(Box::new(PageStrings {
            counts: page.child(0, encoded.counts.as_values()?)?,
            codes: page.child(1, encoded.codes.as_values()?)?,
            page: encoded,
        }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let counts_bytes = n_values.saturating_mul(COUNT_BYTES as u64);
        let codes_bytes = decoded_bytes.saturating_mul(CODE_BYTES as u64);
        (HEADER_BYTES as u64)
            .saturating_add(child(0, COUNTS_TYPE, n_values, counts_bytes))
            .saturating_add(child(1, CODES_TYPE, decoded_bytes, codes_bytes))
    }

    /// A string has the same codes whatever is beside it, so that those of the remaining values are a subsequence.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some(
            "how many tokens the page had, which were wiped, and which pieces were frequent in all its values",
        )
    }

    fn samples(&self) -> Vec<Sample> {
        // Bytes without a token cannot be encoded.
        vec![Sample {
            holds_any: false,
            ..Sample::any(ValueType::Bytes, &[])
        }]
    }
}

/// Whether each string occurs four times on average, and a dictionary can hold the distinct ones. Then a dictionary is
/// smaller than tokens of all strings, and its entries may be stored as tokens.
fn repeat_often(values: &Statistics<'_>, data_bytes: u64) -> bool {
    let entry_bytes_max = (data_bytes / 4).min(limits::STRING_DICTIONARY_BYTES_MAX);
    !values.is_mostly_distinct() && values.distinct(values.len() / 4, entry_bytes_max).is_some()
}

/// Where a page's tokens come from.
enum Source {
    /// The column's first page, whose tokens suit.
    First(Arc<FirstPage>),
    /// Training, after a trial if there was one.
    Training {
        trial: Option<Trial>,
        /// Whether time counts more than size.
        for_speed: bool,
    },
    /// They are the bytes that occur.
    SingleBytes,
}

impl Source {
    /// Training in full, without a trial.
    const TRAINING: Self = Self::Training {
        trial: None,
        for_speed: false,
    };

    /// The source for strings that could take fewer than `to_beat` bytes, as a small sample suggests.
    fn that_pays(
        values: &Statistics<'_>,
        strings: &BytesSlice<'_>,
        to_beat: u64,
        for_speed: bool,
    ) -> Option<Self> {
        let training = |trial| Self::Training { trial, for_speed };
        let data_bytes = u64::from(strings.data_bytes());
        if let Some(first) = values.recall::<FirstPage>()
            && let Some(bytes) = first.bytes_if_it_suits(values, strings)
        {
            return (bytes - bytes / 8 < to_beat).then_some(Self::First(first));
        }
        if data_bytes <= train::TRIAL_BYTES as u64 {
            return Some(training(None));
        }
        let trial = train::trial(strings);
        let bytes = trial.bytes;
        if data_bytes <= 2 * train::TRIAL_BYTES as u64 {
            // The trial has seen most of the data. Few letters, such as hexadecimal digits, save enough without it.
            let are_few = trial.single_bytes <= data_bytes / 4 * 3;
            let gain_little = bytes + bytes / LONGER_SAVE_ONE_IN >= trial.single_bytes;
            return match are_few && gain_little {
                true => Some(Self::SingleBytes),
                false => Some(training(Some(trial))),
            };
        }
        if for_speed {
            return train::trial_for_speed(strings, trial, to_beat)
                .map(|trial| training(Some(trial)));
        }
        let gained_max = match data_bytes <= MEDIUM_DATA_BYTES_MAX {
            true => bytes / 8 * 3,
            false => bytes / 2,
        };
        // Text without repeated pieces, such as random characters, saves less than a quarter, by codes of fewer than 8
        // bits. For that it is written and read too slowly.
        let pays = bytes - gained_max < to_beat && bytes < data_bytes / 4 * 3;
        pays.then_some(training(Some(trial)))
    }
}

/// The tokens of a page. Empty ones were wiped and are not used.
fn dictionary_of(tokens: &BytesSlice<'_>) -> Result<Trie> {
    if tokens.len() > TOKENS_MAX {
        return Err(Error::invalid("more tokens than codes tell apart"));
    }
    let all = || (0..tokens.len()).map(|i| tokens.get(i));
    if all().any(|token| token.len() > TOKEN_BYTES_MAX) {
        return Err(Error::invalid("a token of more than 16 bytes"));
    }
    let codes = all().zip(0..=u16::MAX);
    Ok(Trie::new(
        codes
            .filter(|(token, _)| !token.is_empty())
            .map(|(token, code)| (Token::of(token), code)),
    ))
}

/// The codes of strings.
fn codes_of(dictionary: &Trie, strings: &BytesSlice<'_>) -> Result<Split> {
    let offsets = strings.offsets();
    let codes = Split::of(dictionary, strings.data(), strings.len(), |i| {
        offsets[i] as usize..offsets[i + 1] as usize
    });
    match codes.is_whole {
        true => Ok(codes),
        false => Err(Error::invalid("a byte that is not a token")),
    }
}

/// The strings of a page as codes.
#[derive(Clone)]
struct Page {
    tokens: Arc<OwnedValues>,
    dictionary: Arc<Trie>,
    counts: Arc<OwnedValues>,
    codes: Arc<OwnedValues>,
    /// The end of each string's codes.
    ends: Arc<[u32]>,
}

impl Page {
    fn of(values: &Statistics<'_>, strings: &BytesSlice<'_>, source: Source) -> Result<Self> {
        let tokens = match source {
            Source::First(first) => {
                let page = Self::split(first.tokens.clone(), first.dictionary.clone(), strings);
                // A byte may occur that is none of the tokens.
                match page {
                    Ok(page) => return Ok(page),
                    Err(_) if values.recalls_other_file() => {
                        let tokens = train::with_bytes_of(strings, &first.tokens)?;
                        let page = Self::under(Arc::new(tokens), strings)?;
                        page.remember(values, first.sizes);
                        return Ok(page);
                    }
                    Err(_) => train::train(strings, None, false),
                }
            }
            Source::Training { trial, for_speed } => train::train(strings, trial, for_speed),
            Source::SingleBytes => train::single_bytes(strings),
        };
        let page = Self::under(Arc::new(tokens), strings)?;
        let sizes = FirstPageSizes {
            data_bytes: strings.data_bytes().into(),
            codes: page.codes.len() as u64,
        };
        page.remember(values, sizes);
        Ok(page)
    }

    /// Leaves its tokens to later pages. They were found in a page of these sizes.
    fn remember(&self, values: &Statistics<'_>, sizes: FirstPageSizes) {
        values.remember(Arc::new(FirstPage {
            tokens: self.tokens.clone(),
            dictionary: self.dictionary.clone(),
            sizes,
        }));
    }

    fn under(tokens: Arc<OwnedValues>, strings: &BytesSlice<'_>) -> Result<Self> {
        let dictionary = dictionary_of(&tokens.as_values()?.as_bytes()?)?;
        Self::split(tokens, Arc::new(dictionary), strings)
    }

    fn split(
        tokens: Arc<OwnedValues>,
        dictionary: Arc<Trie>,
        strings: &BytesSlice<'_>,
    ) -> Result<Self> {
        let Split { numbers, ends, .. } = codes_of(&dictionary, strings)?;
        Ok(Self {
            tokens,
            dictionary,
            counts: Arc::new(counts_of(&ends)),
            codes: Arc::new(narrow_numbers(&numbers, CODE_BYTES)),
            ends: ends.into(),
        })
    }

    /// Bytes of codes and tokens. Their children may make them smaller.
    fn bytes(&self) -> u64 {
        code_bytes(self.codes.len() as u64, &self.tokens) + token_bytes(&self.tokens)
    }

    /// The codes of the values in `range`.
    fn codes_of(&self, range: Range<usize>) -> Option<Range<usize>> {
        codes_between(range, |i| self.ends.get(i).map(|end| *end as usize))
    }

    /// True if `codes` are the tokens of `strings`, and the strings are those in `range` as far as their lengths in
    /// codes show it.
    fn are_codes_of(
        &self,
        range: Range<usize>,
        codes: FixedSlice<'_>,
        strings: &BytesSlice<'_>,
    ) -> Result<bool> {
        let tokens = self.tokens.as_values()?.as_bytes()?;
        let (codes, _) = codes.bytes().as_chunks::<CODE_BYTES>();
        let counts = self.counts.as_values()?.as_fixed()?.slice(range);
        let (counts, _) = counts.bytes().as_chunks::<COUNT_BYTES>();
        let mut codes = codes.iter();
        for (i, count) in counts.iter().enumerate() {
            let mut rest = strings.get(i);
            for code in codes.by_ref().take(u32::from_le_bytes(*count) as usize) {
                let token = tokens.get(usize::from(u16::from_le_bytes(*code)));
                match rest.strip_prefix(token) {
                    Some(left) => rest = left,
                    None => return Ok(false),
                }
            }
            if !rest.is_empty() {
                return Ok(false);
            }
        }
        Ok(counts.len() == strings.len())
    }
}

/// Findings that the first page of a column leaves for the others.
struct FirstPage {
    tokens: Arc<OwnedValues>,
    dictionary: Arc<Trie>,
    /// Codes in their number.
    sizes: FirstPageSizes,
}

impl FirstPage {
    /// The bytes of the strings' codes under these tokens, as a sample suggests. `None` where the codes would be
    /// smaller under tokens of their own by more than such tokens take: those that all pages share are stored once.
    fn bytes_if_it_suits(&self, values: &Statistics<'_>, strings: &BytesSlice<'_>) -> Option<u64> {
        let expected = self.sizes.expected(strings.data_bytes().into())?;
        let bytes = |n_codes| code_bytes(n_codes, &self.tokens);
        let sampled = bytes(train::n_codes(&self.dictionary, strings));
        let token_bytes = token_bytes(&self.tokens);
        let most = FirstPageSizes::code_bytes_max(values, bytes(expected), token_bytes);
        (sampled <= most).then_some(sampled)
    }
}

/// Bytes of codes for these tokens.
fn code_bytes(n_codes: u64, tokens: &OwnedValues) -> u64 {
    n_codes * u64::from(train::code_bits(tokens.len())) / 8
}

fn token_bytes(tokens: &OwnedValues) -> u64 {
    tokens
        .as_values()
        .map_or(0, |tokens| tokens.decoded_bytes())
}

/// The number of codes of each string.
fn counts_of(ends: &[u32]) -> OwnedValues {
    let starts = core::iter::once(&0).chain(ends);
    let counts: Vec<u32> = ends
        .iter()
        .zip(starts)
        .map(|(end, start)| end - start)
        .collect();
    narrow_numbers(&counts, COUNT_BYTES)
}

struct PageStrings {
    page: Page,
    counts: Box<dyn PageEncoder>,
    codes: Box<dyn PageEncoder>,
}

impl PageEncoder for PageStrings {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let page = &self.page;
        let strings = block.values().as_bytes()?;
        if let Some(range) = page.codes_of(block.range()) {
            let codes = BlockValues::new(page.codes.as_values()?, range)?;
            // The codes are those of the values that the page was prepared with. Without this comparison, other values
            // from the caller would be written as wrong codes without an error.
            if page.are_codes_of(block.range(), codes.values().as_fixed()?, &strings)? {
                return self.encode_unit(block.of(page.counts.as_values()?)?, codes, out);
            }
        }
        // A parent that derives its child's values per block passes values at other positions.
        let Split { numbers, ends, .. } = codes_of(&page.dictionary, &strings)?;
        let (counts, codes) = (counts_of(&ends), narrow_numbers(&numbers, CODE_BYTES));
        let (counts, codes) = (counts.as_values()?, codes.as_values()?);
        self.encode_unit(BlockValues::all(counts)?, BlockValues::all(codes)?, out)
    }
}

impl PageStrings {
    fn encode_unit(
        &self,
        counts: BlockValues<'_>,
        codes: BlockValues<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.extend_from_slice(&(codes.len() as u32).to_le_bytes());
        append_sized(out, "the counts of a unit take 4 GiB", |out| {
            self.counts.encode(counts, out)
        })?;
        self.codes.encode(codes, out)
    }
}
