//! The encoders of both scopes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    AlignedBuf, EncodeChildren, EncodingWriter, Error, FixedSlice, NodeWriter, OwnedValues,
    PageEncoder, Result, Shared, ValueType, Values, limits,
};

use crate::Dict;
use crate::distinct::{Distinct, are_codes_of, find_codes};
use crate::layout::{CodeBytes, HEADER_BYTES, ID, Params, Scope, VALUES_ALIGN, write_header};

impl EncodingWriter for Dict {
    fn id(&self) -> &'static str {
        ID
    }

    fn prepare(
        &self,
        node: &NodeWriter<'_>,
        values: Values<'_>,
        children: &dyn EncodeChildren,
        shared: Shared<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let params = Params::parse(node)?;
        if values.value_type() != node.value_type {
            return Err(Error::invalid("the values are not of the node's type"));
        }
        match params.scope {
            Scope::Block => prepare_blocks(params.code_bytes, values, children),
            Scope::Page { shared_index } => prepare_page(
                params.code_bytes,
                shared_index.into(),
                values,
                children,
                shared,
            ),
        }
    }

    fn encoded_bytes_max(
        &self,
        node: &NodeWriter<'_>,
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
            Scope::Page { .. } => codes,
            Scope::Block => {
                let front = codes.saturating_add((HEADER_BYTES + VALUES_ALIGN - 1) as u64);
                let front = front - front % VALUES_ALIGN as u64;
                // Each value may be an entry of its own.
                front.saturating_add(child(1, node.value_type, n_values, decoded_bytes))
            }
        }
    }
}

/// Codes as the child encodes them.
struct Codes {
    bytes: AlignedBuf,
    code_bytes: CodeBytes,
    n: usize,
}

impl Codes {
    /// The lowest `code_bytes` bytes of each number.
    fn new(numbers: &[u32], code_bytes: CodeBytes) -> Self {
        let n = numbers.len();
        let mut bytes = AlignedBuf::zeroed(n * usize::from(code_bytes.bytes()));
        match code_bytes {
            CodeBytes::One => cut::<1>(numbers, &mut bytes),
            CodeBytes::Two => cut::<2>(numbers, &mut bytes),
            CodeBytes::Four => cut::<4>(numbers, &mut bytes),
        }
        Self {
            bytes,
            code_bytes,
            n,
        }
    }

    fn as_values(&self) -> Result<Values<'_>> {
        let width = self.code_bytes.bytes().into();
        Ok(Values::Fixed(FixedSlice::new(&self.bytes, width, self.n)?))
    }

    /// The numbers of `range`.
    fn numbers(&self, range: Range<usize>) -> impl Iterator<Item = u32> {
        let width = usize::from(self.code_bytes.bytes());
        let bytes = self.bytes.get(range.start * width..range.end * width);
        bytes.unwrap_or_default().chunks_exact(width).map(|code| {
            code.iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u32::from(*byte))
        })
    }
}

fn cut<const W: usize>(numbers: &[u32], to: &mut [u8]) {
    for (to, number) in to.as_chunks_mut::<W>().0.iter_mut().zip(numbers) {
        if let Some(low) = number.to_le_bytes().first_chunk() {
            *to = *low;
        }
    }
}

/// The largest number of entries that codes tell apart.
fn entries_max(code_bytes: CodeBytes) -> usize {
    let max = code_bytes.entries_max().min(limits::UNIT_VALUES_MAX.into());
    usize::try_from(max).unwrap_or(usize::MAX)
}

fn check_range(values: &Values<'_>, range: &Range<usize>) -> Result<()> {
    if range.start > range.end || range.end > values.len() {
        return Err(Error::invalid("a range reaches beyond the page"));
    }
    Ok(())
}

#[cold]
fn too_many_entries() -> Error {
    Error::invalid("more distinct values than the codes tell apart")
}

/// Scope 1: all codes of the page, and what they point into.
struct PageScope {
    codes: Codes,
    child: Box<dyn PageEncoder>,
    dictionary: Arc<OwnedValues>,
    is_new: bool,
}

fn prepare_page(
    code_bytes: CodeBytes,
    shared_index: usize,
    values: Values<'_>,
    children: &dyn EncodeChildren,
    shared: Shared<'_>,
) -> Result<Box<dyn PageEncoder>> {
    let cap = entries_max(code_bytes);
    let (numbers, dictionary, is_new) = match shared.buffers.get(shared_index) {
        Some(dictionary) => {
            let numbers = find_codes(dictionary.as_values()?, values, cap)
                .ok_or_else(|| Error::invalid("a value is not in the dictionary"))?;
            (numbers, Arc::clone(dictionary), false)
        }
        None if shared_index == shared.buffers.len() => {
            let distinct = Distinct::of(values, cap).ok_or_else(too_many_entries)?;
            let dictionary = Arc::new(distinct.entries(values));
            (distinct.into_codes(), dictionary, true)
        }
        None => {
            return Err(Error::invalid(
                "the shared buffers in front of the dictionary are missing",
            ));
        }
    };
    let codes = Codes::new(&numbers, code_bytes);
    let child = children.prepare(0, codes.as_values()?)?;
    Ok(Box::new(PageScope {
        codes,
        child,
        dictionary,
        is_new,
    }))
}

impl PageEncoder for PageScope {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        check_range(&values, &range)?;
        // The codes were found when the page was prepared. Were other values handed in, the wrong ones would be written
        // without anybody noticing.
        let entries = self.dictionary.as_values()?;
        let numbers = self.codes.numbers(range.clone());
        if range.end > self.codes.n || !are_codes_of(numbers, entries, values.slice(range.clone()))
        {
            return Err(Error::invalid("the values are not those of the page"));
        }
        self.child.encode(self.codes.as_values()?, range, out)
    }

    fn shared(&self) -> Vec<Arc<OwnedValues>> {
        match self.is_new {
            true => vec![Arc::clone(&self.dictionary)],
            false => Vec::new(),
        }
    }
}

/// Scope 0: everything is found block by block.
struct BlockScope {
    code_bytes: CodeBytes,
    codes: Box<dyn PageEncoder>,
    values: Box<dyn PageEncoder>,
}

/// Where the blocks begin and end is not known yet, so the children are shown the page's codes and entries: each block's
/// codes (which start at 0) and entries are among them. Codes of the page that are too large are cut.
fn prepare_blocks(
    code_bytes: CodeBytes,
    values: Values<'_>,
    children: &dyn EncodeChildren,
) -> Result<Box<dyn PageEncoder>> {
    let distinct = Distinct::of(values, usize::MAX)
        .ok_or_else(|| Error::invalid("more values than a unit holds"))?;
    let entries = distinct.entries(values);
    let codes = Codes::new(distinct.codes(), code_bytes);
    Ok(Box::new(BlockScope {
        code_bytes,
        codes: children.prepare(0, codes.as_values()?)?,
        values: children.prepare(1, entries.as_values()?)?,
    }))
}

impl PageEncoder for BlockScope {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        check_range(&values, &range)?;
        let values = values.slice(range);
        let cap = entries_max(self.code_bytes);
        let distinct = Distinct::of(values, cap).ok_or_else(too_many_entries)?;
        let entries = distinct.entries(values);
        let entries = entries.as_values()?;
        let entries_bytes = u32::try_from(entries.decoded_bytes())
            .map_err(|_| Error::invalid("the entries of a block take 4 GiB"))?;
        let codes = Codes::new(distinct.codes(), self.code_bytes);

        let unit_at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.codes.encode(codes.as_values()?, 0..codes.n, out)?;
        let codes_len = u32::try_from(out.len() - unit_at - HEADER_BYTES)
            .map_err(|_| Error::invalid("the codes of a block take 4 GiB"))?;
        let n_padded = (out.len() - unit_at).next_multiple_of(VALUES_ALIGN);
        out.resize(unit_at + n_padded, 0);
        self.values.encode(entries, 0..distinct.n_entries(), out)?;
        write_header(
            out,
            unit_at,
            distinct.n_entries() as u32,
            codes_len,
            entries_bytes,
        );
        Ok(())
    }
}
