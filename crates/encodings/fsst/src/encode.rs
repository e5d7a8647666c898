//! The encoder.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::{
    FirstPageSizes, codes_between, lengths_of, narrow_numbers, strings_worth_tokens,
};
use tarsia_codec::{
    BlockValues, BytesSlice, EncodingWriter, EraseFit, Error, Facts, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Fsst;
use crate::layout::{ESCAPE, HEADER_BYTES, NUMBER_BYTES, NUMBERS_TYPE, SYMBOLS_MAX};
use crate::train::{Sampled, Table};

/// The codes of a page may be smaller than those of its sample suggest, by one byte in so many.
const LESS_BY_ONE_IN: u64 = 8;

impl EncodingWriter for Fsst {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Some(strings) = strings_worth_tokens(values) else {
            return Ok(());
        };
        let to_beat = proposals.bytes_to_beat().min(strings.data_bytes().into());
        let trial = values.cached(|| Trial::of(values, &strings));
        let Ok(trial) = &*trial else {
            return Ok(());
        };
        if trial.code_bytes - trial.code_bytes / LESS_BY_ONE_IN >= to_beat {
            return Ok(());
        }
        let page = values.cached(|| Page::of(values, &strings, trial));
        let Ok(page) = &*page else {
            return Ok(());
        };
        let code_bytes = page.codes.len() as u64;
        if code_bytes + page.table.bytes() >= to_beat {
            return Ok(());
        }
        let n_units = code_bytes.div_ceil(limits::UNIT_BYTES_TARGET as u64).max(1);
        let unit_values = (strings.len() as u64).div_ceil(n_units) as usize;
        let numbers = |values: &OwnedValues| {
            let part = Part::copied(values.as_values()?, LogicalType::Length);
            Ok::<_, Error>(part.in_units_of(unit_values))
        };
        let symbols = page.table.symbols.as_values()?;
        proposals.push(Proposal {
            children: vec![numbers(&page.lengths)?, numbers(&page.counts)?],
            shared: vec![Part::copied(symbols, LogicalType::Binary).distinct()],
            is_uniform: false,
            ..Proposal::leaf(self, code_bytes + HEADER_BYTES as u64 * n_units)
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
            Some(symbols) => Page::under(Table::of(symbols)?, &strings)?,
            None => {
                let of = |known: &Statistics<'_>, strings: &BytesSlice<'_>| {
                    let trial = known.cached(|| Trial::of(known, &known.values().as_bytes()?));
                    let trial = (*trial).as_ref().map_err(Clone::clone)?;
                    (*known.cached(|| Page::of(known, strings, trial))).clone()
                };
                let encoded = match page.statistics() {
                    Some(known) => of(known, &strings)?,
                    None => of(&Statistics::new(values, Facts::default()), &strings)?,
                };
                let symbols = encoded.table.symbols.as_values()?;
                page.make_shared(0, OwnedValues::copy_of(symbols))?;
                encoded
            }
        };
        Ok(Box::new(PageStrings {
            strings: OwnedValues::copy_of(values),
            lengths: page.child(0, encoded.lengths.as_values()?)?,
            counts: page.child(1, encoded.counts.as_values()?)?,
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
        let number_bytes = n_values.saturating_mul(NUMBER_BYTES as u64);
        // Every byte may need an escape.
        (HEADER_BYTES as u64)
            .saturating_add(child(0, NUMBERS_TYPE, n_values, number_bytes))
            .saturating_add(child(1, NUMBERS_TYPE, n_values, number_bytes))
            .saturating_add(decoded_bytes.saturating_mul(2))
    }

    /// A string has the same codes whatever is beside it, so that those of the remaining values are a subsequence.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some(
            "how many symbols the page had, which were wiped, and which pieces were frequent in all its values",
        )
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bytes, &[])]
    }
}

/// Symbols that suit a page, as a sample suggests.
struct Trial {
    table: Table,
    /// The bytes of the page's codes.
    code_bytes: u64,
    /// True for the symbols of the column's first page, which are stored once.
    are_of_first: bool,
}

impl Trial {
    fn of<'v>(values: &Statistics<'v>, strings: &BytesSlice<'v>) -> Result<Self> {
        let sampled = Sampled::of(values, strings);
        let data_bytes = u64::from(strings.data_bytes());
        if let Some(first) = values.recall::<FirstPage>() {
            let code_bytes = sampled.code_bytes(&first.table, data_bytes);
            if first.suits(values, data_bytes, code_bytes) {
                return Ok(Self {
                    table: first.table.clone(),
                    code_bytes,
                    are_of_first: true,
                });
            }
        }
        let table = sampled.train()?;
        Ok(Self {
            code_bytes: sampled.code_bytes(&table, data_bytes),
            table,
            are_of_first: false,
        })
    }
}

/// Findings that the first page of a column leaves for the others.
struct FirstPage {
    table: Table,
    /// Codes in bytes.
    sizes: FirstPageSizes,
}

impl FirstPage {
    /// Whether strings of `data_bytes`, whose codes under these symbols take `code_bytes`, would gain less from symbols
    /// of their own than those take.
    fn suits(&self, values: &Statistics<'_>, data_bytes: u64, code_bytes: u64) -> bool {
        let Some(expected) = self.sizes.expected(data_bytes) else {
            return false;
        };
        code_bytes <= FirstPageSizes::code_bytes_max(values, expected, self.table.bytes())
    }
}

/// The strings of a page as codes.
#[derive(Clone)]
struct Page {
    table: Table,
    lengths: Arc<OwnedValues>,
    /// The bytes of each string's codes.
    counts: Arc<OwnedValues>,
    codes: Arc<Vec<u8>>,
    /// The end of each string's codes.
    ends: Arc<Vec<usize>>,
}

impl Page {
    fn of(values: &Statistics<'_>, strings: &BytesSlice<'_>, trial: &Trial) -> Result<Self> {
        let page = Self::under(trial.table.clone(), strings)?;
        if trial.are_of_first {
            return Ok(page);
        }
        let page = page.without_unused_symbols()?;
        values.remember(Arc::new(FirstPage {
            table: page.table.clone(),
            sizes: FirstPageSizes {
                data_bytes: strings.data_bytes().into(),
                codes: page.codes.len() as u64,
            },
        }));
        Ok(page)
    }

    fn under(table: Table, strings: &BytesSlice<'_>) -> Result<Self> {
        let mut codes = Vec::with_capacity(strings.data_bytes() as usize / 2);
        let mut ends = Vec::with_capacity(strings.len());
        let mut counts = Vec::with_capacity(strings.len());
        for i in 0..strings.len() {
            let start = codes.len();
            table.splitter.split(strings.get(i), &mut codes);
            counts.push(n_codes(codes.len() - start)?);
            ends.push(codes.len());
        }
        Ok(Self {
            table,
            lengths: Arc::new(lengths_of(strings)),
            counts: Arc::new(narrow_numbers(&counts, NUMBER_BYTES)),
            codes: Arc::new(codes),
            ends: Arc::new(ends),
        })
    }

    /// Takes out the symbols that no string uses. The strings are split the same way without them.
    fn without_unused_symbols(self) -> Result<Self> {
        let mut is_used = [false; SYMBOLS_MAX];
        for_codes(self.codes.iter(), |code| is_used[usize::from(*code)] = true);
        let mut number = [0; SYMBOLS_MAX];
        let mut next = 0u8;
        for (number, is_used) in number.iter_mut().zip(&is_used) {
            *number = next;
            next += u8::from(*is_used);
        }
        let mut codes = Arc::unwrap_or_clone(self.codes);
        for_codes(codes.iter_mut(), |code| *code = number[usize::from(*code)]);
        Ok(Self {
            table: self.table.without_unused(&is_used)?,
            codes: Arc::new(codes),
            ..self
        })
    }

    /// The codes of the values in `range`.
    fn codes_of(&self, range: Range<usize>) -> Option<&[u8]> {
        self.codes
            .get(codes_between(range, |i| self.ends.get(i).copied())?)
    }
}

/// Calls `with` with each code of a symbol: with all but escapes and what follows them.
fn for_codes<C: core::borrow::Borrow<u8>>(
    mut codes: impl Iterator<Item = C>,
    mut with: impl FnMut(C),
) {
    while let Some(code) = codes.next() {
        match *code.borrow() {
            ESCAPE => _ = codes.next(),
            _ => with(code),
        }
    }
}

/// The size of a string's codes, or of a unit's.
fn n_codes(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::limit("bytes of codes", n as u64, u32::MAX.into()))
}

struct PageStrings {
    strings: OwnedValues,
    page: Page,
    lengths: Box<dyn PageEncoder>,
    counts: Box<dyn PageEncoder>,
}

impl PageEncoder for PageStrings {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let page = &self.page;
        let strings = block.values().as_bytes()?;
        if let Some(codes) = page.codes_of(block.range())
            && self.are_at(block.range(), &strings)?
        {
            let lengths = block.of(page.lengths.as_values()?)?;
            return self.encode_unit(lengths, block.of(page.counts.as_values()?)?, codes, out);
        }
        // A parent that derives its child's values per block passes values at other positions.
        let block = Page::under(page.table.clone(), &strings)?;
        let (lengths, counts) = (block.lengths.as_values()?, block.counts.as_values()?);
        self.encode_unit(
            BlockValues::all(lengths)?,
            BlockValues::all(counts)?,
            &block.codes,
            out,
        )
    }
}

impl PageStrings {
    /// True if `strings` are those of the page in `range`.
    fn are_at(&self, range: Range<usize>, strings: &BytesSlice<'_>) -> Result<bool> {
        let of_page = self.strings.as_values()?.as_bytes()?.slice(range);
        let lengths = |strings: &BytesSlice<'_>| {
            let offsets = strings.offsets().windows(2);
            offsets.map(|pair| pair[1] - pair[0]).collect::<Vec<u32>>()
        };
        Ok(of_page.len() == strings.len()
            && of_page.value_data() == strings.value_data()
            && lengths(&of_page) == lengths(strings))
    }

    fn encode_unit(
        &self,
        lengths: BlockValues<'_>,
        counts: BlockValues<'_>,
        codes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        n_codes(codes.len())?;
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.lengths.encode(lengths, out)?;
        let counts_at = out.len();
        self.counts.encode(counts, out)?;
        let sizes = [counts_at - start - HEADER_BYTES, out.len() - counts_at];
        for (i, size) in sizes.into_iter().enumerate() {
            let size = u32::try_from(size)
                .map_err(|_| Error::invalid("the lengths of a unit take 4 GiB"))?;
            let at = start + i * size_of::<u32>();
            out[at..at + size_of::<u32>()].copy_from_slice(&size.to_le_bytes());
        }
        out.extend_from_slice(codes);
        Ok(())
    }
}
