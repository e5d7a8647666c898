//! The encoders of both scopes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    EncodeChildren, EncodingWriter, Error, NodeWriter, OwnedValues, PageEncoder, Result, Shared,
    Tree, ValueType, Values, limits,
};

use crate::Dict;
use crate::distinct::{Distinct, are_codes_of, find_codes, narrowed};
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

/// Prepares a page whose distinct values are known already: as [`crate::DICT`] would under `tree` without shared buffers, without
/// looking for them again. `distinct` is of `values`, all of them, and `codes` are its [`Distinct::codes_of`] as wide as the
/// tree says.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where they do not fit each other, and what children refuse.
pub fn prepare_known(
    tree: &Tree,
    distinct: &Distinct,
    codes: OwnedValues,
    values: Values<'_>,
    children: &dyn EncodeChildren,
) -> Result<Box<dyn PageEncoder>> {
    let node = NodeWriter {
        value_type: values.value_type(),
        params: &tree.params,
    };
    let params = Params::parse(&node)?;
    let codes = Codes::new(codes, params.code_bytes)?;
    if codes.n() != values.len() {
        return Err(Error::invalid("the codes are not those of the values"));
    }
    if distinct.n_entries() > entries_max(params.code_bytes) {
        return Err(too_many_entries());
    }
    match params.scope {
        Scope::Page { shared_index: 0 } => page_scope(codes, distinct.entries(values), children),
        Scope::Page { .. } => Err(Error::invalid(
            "the shared buffers in front of the dictionary are missing",
        )),
        Scope::Block => block_scope(codes, distinct.entries(values), children),
    }
}

/// Codes as the child encodes them.
struct Codes {
    values: OwnedValues,
    code_bytes: CodeBytes,
}

impl Codes {
    fn new(values: OwnedValues, code_bytes: CodeBytes) -> Result<Self> {
        match &values {
            OwnedValues::Fixed { width, .. } if *width == usize::from(code_bytes.bytes()) => {
                Ok(Self { values, code_bytes })
            }
            _ => Err(Error::invalid("codes are not as wide as the node says")),
        }
    }

    fn of(distinct: &Distinct, code_bytes: CodeBytes) -> Self {
        Self {
            values: distinct.codes_of(code_bytes),
            code_bytes,
        }
    }

    fn n(&self) -> usize {
        match &self.values {
            OwnedValues::Fixed { len, .. } => *len,
            _ => 0,
        }
    }

    fn as_values(&self) -> Result<Values<'_>> {
        self.values.as_values()
    }

    /// Whether those of `range` name entries equal to `values`.
    fn name(&self, range: Range<usize>, entries: Values<'_>, values: Values<'_>) -> Result<bool> {
        let codes = self.as_values()?.as_fixed()?.slice(range);
        Ok(are_codes_of(
            codes.bytes(),
            self.code_bytes,
            entries,
            values,
        ))
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
    match shared.buffers.get(shared_index) {
        Some(dictionary) => {
            let numbers = find_codes(dictionary.as_values()?, values, cap)
                .ok_or_else(|| Error::invalid("a value is not in the dictionary"))?;
            let codes = Codes::new(narrowed(&numbers, code_bytes), code_bytes)?;
            let child = children.prepare(0, codes.as_values()?)?;
            Ok(Box::new(PageScope {
                codes,
                child,
                dictionary: Arc::clone(dictionary),
                is_new: false,
            }))
        }
        None if shared_index == shared.buffers.len() => {
            let distinct = Distinct::of(values, cap).ok_or_else(too_many_entries)?;
            let codes = Codes::of(&distinct, code_bytes);
            page_scope(codes, distinct.entries(values), children)
        }
        None => Err(Error::invalid(
            "the shared buffers in front of the dictionary are missing",
        )),
    }
}

/// A page that makes the dictionary.
fn page_scope(
    codes: Codes,
    entries: OwnedValues,
    children: &dyn EncodeChildren,
) -> Result<Box<dyn PageEncoder>> {
    let child = children.prepare(0, codes.as_values()?)?;
    Ok(Box::new(PageScope {
        codes,
        child,
        dictionary: Arc::new(entries),
        is_new: true,
    }))
}

impl PageEncoder for PageScope {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        check_range(&values, &range)?;
        // The codes were found when the page was prepared. Were other values handed in, the wrong ones would be written
        // without anybody noticing.
        let entries = self.dictionary.as_values()?;
        let of_range = values.slice(range.clone());
        if !self.codes.name(range.clone(), entries, of_range)? {
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

/// Scope 0: everything is found block by block, unless the block is the page.
struct BlockScope {
    code_bytes: CodeBytes,
    codes: Box<dyn PageEncoder>,
    values: Box<dyn PageEncoder>,
    /// Codes and entries of the page.
    of_page: (Codes, OwnedValues),
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
    let codes = Codes::of(&distinct, code_bytes);
    block_scope(codes, distinct.entries(values), children)
}

fn block_scope(
    codes: Codes,
    entries: OwnedValues,
    children: &dyn EncodeChildren,
) -> Result<Box<dyn PageEncoder>> {
    Ok(Box::new(BlockScope {
        code_bytes: codes.code_bytes,
        codes: children.prepare(0, codes.as_values()?)?,
        values: children.prepare(1, entries.as_values()?)?,
        of_page: (codes, entries),
    }))
}

impl PageEncoder for BlockScope {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        check_range(&values, &range)?;
        let values = values.slice(range);
        let (codes, entries) = &self.of_page;
        // Codes that were cut name other entries.
        if codes.name(0..codes.n(), entries.as_values()?, values)? {
            return self.encode_unit(codes, entries, out);
        }
        let cap = entries_max(self.code_bytes);
        let distinct = Distinct::of(values, cap).ok_or_else(too_many_entries)?;
        let codes = Codes::of(&distinct, self.code_bytes);
        self.encode_unit(&codes, &distinct.entries(values), out)
    }
}

impl BlockScope {
    fn encode_unit(&self, codes: &Codes, entries: &OwnedValues, out: &mut Vec<u8>) -> Result<()> {
        let entries = entries.as_values()?;
        let n_entries = entries.len();
        let entries_bytes = u32::try_from(entries.decoded_bytes())
            .map_err(|_| Error::invalid("the entries of a block take 4 GiB"))?;

        let unit_at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.codes.encode(codes.as_values()?, 0..codes.n(), out)?;
        let codes_len = u32::try_from(out.len() - unit_at - HEADER_BYTES)
            .map_err(|_| Error::invalid("the codes of a block take 4 GiB"))?;
        let n_padded = (out.len() - unit_at).next_multiple_of(VALUES_ALIGN);
        out.resize(unit_at + n_padded, 0);
        self.values.encode(entries, 0..n_entries, out)?;
        write_header(out, unit_at, n_entries as u32, codes_len, entries_bytes);
        Ok(())
    }
}
