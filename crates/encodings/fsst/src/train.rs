//! Symbols for a page.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{AlignedBuf, BytesSlice, OwnedValues, Result, Statistics};

use crate::split::Splitter;

/// The most bytes of one string that a sample has. Training takes pieces of as many bytes from longer strings.
const STRING_BYTES_MAX: usize = 512;

/// Where a sample has fewer bytes, more strings are taken. Training draws 16 KiB from them. From a larger sample it
/// found better symbols: 3 % smaller codes for source code, 9 % for names.
const SAMPLE_BYTES_MIN: usize = 1 << 16;

/// Symbols, ready to split strings with.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) symbols: Arc<OwnedValues>,
    pub(crate) splitter: Arc<Splitter>,
}

impl Table {
    pub(crate) fn of(symbols: Arc<OwnedValues>) -> Result<Self> {
        let splitter = Splitter::of(&symbols.as_values()?.as_bytes()?)?;
        Ok(Self {
            symbols,
            splitter: Arc::new(splitter),
        })
    }

    /// The symbols without those that are not used.
    pub(crate) fn without_unused(&self, is_used: &[bool]) -> Result<Self> {
        let symbols = self.symbols.as_values()?.as_bytes()?;
        let used = is_used.iter().zip(0..symbols.len());
        let used = used.filter(|(is_used, _)| **is_used);
        let kept: Vec<&[u8]> = used.map(|(_, i)| symbols.get(i)).collect();
        Self::of(Arc::new(owned(&kept)))
    }

    /// Bytes of the symbols.
    pub(crate) fn bytes(&self) -> u64 {
        let symbols = self.symbols.as_values();
        symbols.map_or(0, |symbols| symbols.decoded_bytes())
    }
}

/// Some of a page's strings, the same for the same page.
pub(crate) struct Sampled<'v> {
    strings: Vec<&'v [u8]>,
}

impl<'v> Sampled<'v> {
    pub(crate) fn of(values: &Statistics<'v>, strings: &BytesSlice<'v>) -> Self {
        let sample = values.sample();
        let bytes_of = |range: &Range<usize>| strings.slice(range.clone()).data_bytes() as usize;
        let bytes: usize = sample.iter().map(bytes_of).sum();
        let string = |i| strings.get(i);
        let sampled = match bytes < SAMPLE_BYTES_MIN {
            true => {
                let one_in = (strings.data_bytes() as usize / SAMPLE_BYTES_MIN).max(1);
                (0..strings.len()).step_by(one_in).map(string).collect()
            }
            false => sample.into_iter().flatten().map(string).collect(),
        };
        Self { strings: sampled }
    }

    /// Finds symbols. They are in the order of their bytes.
    pub(crate) fn train(&self) -> Result<Table> {
        let trained = fsst::Compressor::train(&self.strings);
        let symbols = trained.symbol_table().iter().zip(trained.symbol_lengths());
        let words: Vec<_> = symbols
            .map(|(symbol, len)| (symbol.to_u64().to_le_bytes(), usize::from(*len)))
            .collect();
        let mut symbols: Vec<&[u8]> = words.iter().map(|(word, len)| &word[..*len]).collect();
        symbols.sort_unstable();
        symbols.dedup();
        Table::of(Arc::new(owned(&symbols)))
    }

    /// How many bytes the codes of `data_bytes` like these are.
    pub(crate) fn code_bytes(&self, table: &Table, data_bytes: u64) -> u64 {
        let mut codes = Vec::new();
        let mut n_bytes = 0u64;
        for string in &self.strings {
            let piece = &string[..string.len().min(STRING_BYTES_MAX)];
            table.splitter.split(piece, &mut codes);
            n_bytes += piece.len() as u64;
        }
        // Both are below 2^32.
        codes.len() as u64 * data_bytes / n_bytes.max(1)
    }
}

fn owned(strings: &[&[u8]]) -> OwnedValues {
    let mut offsets = Vec::with_capacity(strings.len() + 1);
    offsets.push(0);
    let mut end = 0;
    for string in strings {
        end += string.len() as u32;
        offsets.push(end);
    }
    OwnedValues::Bytes {
        offsets,
        data: AlignedBuf::copy_of(&strings.concat()),
    }
}
