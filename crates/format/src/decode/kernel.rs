//! Pages that a kernel decodes: a Wasm module that the file carries.

use std::borrow::Cow;
use std::sync::Arc;

use tarsia_codec::{AlignedBuf, OwnedValues, ValueType};
use tarsia_kernel_host::{Error as KernelError, Kernel, KernelPage, NestedRows, Rows, Whole};
use tarsia_metadata::KernelSection;
use tarsia_structure::{
    Block, BlockHeader, Budget, Cut, DecodedRows, FullZipForm, LevelForm, Meta, RawColumn,
    RawLevel, RawLevels, RawParts,
};

use super::parts::{FetchedPart, PageRun};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::{BlockPart, Plan, Selected};

/// Most bytes that one request may decode to.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;

/// A page that the file's kernel decodes.
pub(crate) struct KernelDecoder {
    page: KernelPage,
    value_type: ValueType,
    /// Form of the rows of a full-zip page.
    full_zip: Option<FullZipForm>,
}

/// The present rows of a block.
pub(crate) struct DecodedBlock {
    pub(crate) rows: usize,
    /// Outermost first.
    pub(crate) levels: Vec<RawLevel>,
    pub(crate) items: RawParts,
}

pub(crate) fn failed(error: KernelError) -> Error {
    let kind = match &error {
        KernelError::Unsupported(_) | KernelError::Profile(_) => ErrorKind::Unsupported,
        KernelError::Limit(_) => ErrorKind::LimitExceeded,
        KernelError::Addresses(_) => ErrorKind::Io,
        _ => ErrorKind::Corrupt,
    };
    Error::new(kind, format!("kernel: {error}"))
}

impl KernelDecoder {
    /// Prepares a kernel for pages with the description `meta`, whose bytes it parses by itself.
    pub(crate) fn new(
        kernel: Arc<Kernel>,
        meta: &Meta,
        meta_bytes: &[u8],
        shared: &[Arc<OwnedValues>],
    ) -> Result<Self> {
        let nothing = || {
            let what = "a page of type Null has nothing to decode";
            Error::new(ErrorKind::Corrupt, what)
        };
        let value_type = meta.value_type.ok_or_else(nothing)?;
        let full_zip = FullZipForm::of(meta).map_err(while_reading)?;
        let page = KernelPage::new(kernel, meta_bytes, shared).map_err(failed)?;
        Ok(Self {
            page,
            value_type,
            full_zip,
        })
    }

    /// Decodes as native decoders do, except that a kernel is given many blocks at once.
    pub(crate) fn decode<B: AsRef<[u8]>>(
        &self,
        run: &PageRun<'_, B>,
        raw: &mut RawColumn,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        self.requests(run, |parts, blocks| {
            self.decode_request(run.plan, parts, blocks, raw, take)
        })
    }

    /// The selected rows of a run of a nested page, batch by batch. Of lists with a cut only its items.
    pub(crate) fn decode_nested<B: AsRef<[u8]>>(
        &self,
        run: &PageRun<'_, B>,
        cuts: &[(usize, Cut)],
        output_bytes_max: u64,
        use_batch: &mut dyn FnMut(NestedRows<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        self.requests(run, |parts, blocks| {
            let wanted = Wanted::new(parts, run.plan);
            let n_rows = wanted.len();
            let rows = wanted.rows();
            let limit = output_bytes_max.min(OUTPUT_BYTES_MAX);
            let decoded =
                self.page
                    .decode_nested(self.value_type, blocks, rows, cuts, limit, use_batch);
            as_many(decoded.map_err(failed)?, n_rows)
        })
    }

    /// The present rows of one block that is right: its levels, which have `forms` in the column, and its items.
    pub(crate) fn decode_block(&self, block: &[u8], forms: &[LevelForm]) -> Result<DecodedBlock> {
        let take = &mut AlignedBuf::zeroed;
        let header = BlockHeader::of_whole(block).map_err(while_reading)?;
        let len = header.present_rows as usize;
        let (blocks, rows) = (&[block], Rows::All { len });
        let value_type = self.value_type;
        let budget = Budget::new(OUTPUT_BYTES_MAX);
        let mut levels = RawLevels::new(forms.iter().copied(), &budget);
        let mut items = RawColumn::new(value_type, 0, 0, take).map_err(while_reading)?;
        let mut push = |batch: &DecodedRows<'_>| {
            items.reserve(batch.rows, batch.values.len(), take)?;
            items.push_decoded(batch, take)
        };
        let decoded = match forms.is_empty() {
            true => self
                .page
                .decode(value_type, blocks, rows, OUTPUT_BYTES_MAX, &mut |batch| {
                    push(&batch)
                }),
            false => self.page.decode_nested(
                value_type,
                blocks,
                rows,
                &[],
                OUTPUT_BYTES_MAX,
                &mut |batch| {
                    let n_items = batch.items.rows;
                    let take = &mut AlignedBuf::zeroed;
                    levels.push_decoded(batch.rows, batch.levels, value_type, n_items, take)?;
                    push(&batch.items)
                },
            ),
        };
        as_many(decoded.map_err(failed)?, len)?;
        Ok(DecodedBlock {
            rows: len,
            levels: levels.into_levels(),
            items: items.finish(),
        })
    }

    /// Room for a column of this page's type, where that is better than batches.
    pub(crate) fn whole(&self, rows: usize, data_bytes: u64) -> Option<Whole> {
        let bytes = usize::try_from(data_bytes).ok()?;
        Whole::new(&self.page, self.value_type, rows, bytes)
    }

    /// The selected rows of a run behind those that are there.
    pub(crate) fn push_to<B: AsRef<[u8]>>(
        &self,
        run: &PageRun<'_, B>,
        whole: &mut Whole,
    ) -> Result<()> {
        self.requests(run, |parts, blocks| {
            let wanted = Wanted::new(parts, run.plan);
            whole
                .push(&self.page, blocks, wanted.rows())
                .map_err(failed)
        })
    }

    /// Cuts a run into requests, of blocks that are right.
    fn requests<B: AsRef<[u8]>>(
        &self,
        run: &PageRun<'_, B>,
        mut request: impl FnMut(&[BlockPart], &[&[u8]]) -> Result<()>,
    ) -> Result<()> {
        let mut rest = run.parts;
        let mut blocks = run.each().peekable();
        while !rest.is_empty() {
            let mut bytes = 0;
            let mut checked: Vec<Cow<'_, [u8]>> = Vec::new();
            let mut fits = |block: &FetchedPart<'_>| {
                let before = bytes;
                bytes += block.bytes.len();
                before == 0 || bytes <= KernelPage::request_bytes_target()
            };
            while let Some(part) = blocks.next_if(&mut fits) {
                let block = self.checked_block(run, &part);
                checked.push(block.map_err(|error| error.in_block(part.part.block.into()))?);
            }
            if checked.is_empty() {
                let what = "fewer blocks than were planned";
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
            let (now, later) = rest.split_at(checked.len().min(rest.len()));
            let checked: Vec<&[u8]> = checked.iter().map(AsRef::as_ref).collect();
            request(now, &checked)?;
            rest = later;
        }
        Ok(())
    }

    /// A part's block, which is right; of rows that were read without theirs, one of them alone.
    fn checked_block<'b, B>(
        &self,
        run: &PageRun<'_, B>,
        part: &FetchedPart<'b>,
    ) -> Result<Cow<'b, [u8]>> {
        let (Some(rows), Some(form)) = (&part.part.lone_rows, self.full_zip) else {
            run.checks.block(part.page, part.part.block, part.bytes)?;
            check_rows(part)?;
            return Ok(Cow::Borrowed(part.bytes));
        };
        run.checks
            .lone_rows(part.page, part.plan, rows, part.bytes, form)?;
        let entries = part.plan.entries(rows);
        Ok(Cow::Owned(Block::bytes_of_rows(
            part.bytes,
            entries,
            part.part.rows,
        )))
    }

    fn decode_request(
        &self,
        plan: &Plan,
        parts: &[BlockPart],
        blocks: &[&[u8]],
        raw: &mut RawColumn,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        let wanted = Wanted::new(parts, plan);
        let expected = wanted.len();
        let mut push = |batch: DecodedRows<'_>| raw.push_decoded(&batch, take);
        let n_rows = self
            .page
            .decode(
                self.value_type,
                blocks,
                wanted.rows(),
                OUTPUT_BYTES_MAX,
                &mut push,
            )
            .map_err(failed)?;
        as_many(n_rows, expected)
    }
}

fn as_many(n_rows: usize, expected: usize) -> Result<()> {
    match n_rows == expected {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the kernel decoded {n_rows} rows instead of {expected}"),
        )),
    }
}

/// Checks what the host knows of a block: its rows are those of the block table, and those are left that were not
/// erased.
fn check_rows(part: &FetchedPart<'_>) -> Result<()> {
    let header = BlockHeader::parse(part.bytes).map_err(while_reading)?;
    let found = (header.logical_rows, header.present_rows);
    let expected = (part.part.logical_rows, part.part.rows);
    match found == expected {
        true => Ok(()),
        false => {
            let ((rows, left), (expected, expected_left)) = (found, expected);
            Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "a block of {rows} rows, {left} of them left, where {expected} and {expected_left} are known"
                ),
            ))
        }
    }
}

/// Rows counted over all blocks of a request.
enum Wanted {
    Range { start: u32, len: u32, all: u32 },
    Indices(Vec<u32>),
}

impl Wanted {
    fn new(parts: &[BlockPart], plan: &Plan) -> Self {
        let all = parts.iter().map(|part| part.rows).sum();
        let mut first = 0;
        let mut run: Option<(u32, u32)> = None;
        let mut contiguous = true;
        for part in parts {
            match &part.selected {
                Selected::Range { start, len } => match &mut run {
                    None => run = Some((first + start, *len)),
                    Some((from, so_far)) if *from + *so_far == first + start => *so_far += len,
                    Some(_) => contiguous = false,
                },
                Selected::Indices(_) => contiguous = false,
            }
            first += part.rows;
        }
        if let (true, Some((start, len))) = (contiguous, run) {
            return Self::Range { start, len, all };
        }
        let mut indices = Vec::new();
        let mut first = 0;
        for part in parts {
            match &part.selected {
                Selected::Range { start, len } => {
                    indices.extend(first + start..first + start + len);
                }
                Selected::Indices(range) => {
                    let rows = plan.indices.get(range.clone()).unwrap_or_default();
                    indices.extend(rows.iter().map(|row| first + row));
                }
            }
            first += part.rows;
        }
        Self::Indices(indices)
    }

    /// As a kernel is told.
    fn rows(&self) -> Rows<'_> {
        match self {
            Self::Range { start: 0, len, all } if len == all => Rows::All { len: *len as usize },
            Self::Range { start, len, .. } => Rows::Range {
                start: *start,
                len: *len,
            },
            Self::Indices(indices) => Rows::Indices(indices),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Range { len, .. } => *len as usize,
            Self::Indices(indices) => indices.len(),
        }
    }
}

/// Compiles the kernel of a section, if this reader may run it.
pub(crate) fn load(section: &[u8], trusted: &[[u8; 32]]) -> Result<Arc<Kernel>> {
    let section = KernelSection::parse(section)?;
    if shipped(&section).is_none() && !trusted.contains(&section.digest) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the file's kernel {digest} is not one that this reader trusts; if you do, name it in \
                 OpenOptions::with_trusted_kernels, or on the command line with --trust-kernel {digest}",
                digest = hex(&section.digest)
            ),
        ));
    }
    Kernel::load(&module(&section)?).map_err(failed)
}

/// Checks the kernel of a section. One that this build does not ship is compiled where this reader may run it; of
/// others only the form is looked at.
pub(crate) fn check(section: &[u8], trusted: &[[u8; 32]]) -> Result<()> {
    let section = KernelSection::parse(section)?;
    let wasm = module(&section)?;
    if shipped(&section).is_some() {
        return Ok(());
    }
    match trusted.contains(&section.digest) {
        true => Kernel::load(&wasm).map(drop).map_err(failed),
        false => tarsia_kernel_host::check(&wasm).map_err(failed),
    }
}

/// The kernel of this build that a section holds, by its digest.
fn shipped(section: &KernelSection<'_>) -> Option<&'static tarsia_kernels::Kernel> {
    let mut known = tarsia_kernels::ALL.iter();
    known.find(|known| known.digest == section.digest).copied()
}

/// The module of a section, which is what its digest says.
fn module(section: &KernelSection<'_>) -> Result<Vec<u8>> {
    let wasm = tarsia_kernel_host::decompress(section.compressed, section.raw_bytes);
    let wasm = wasm.map_err(failed)?;
    match tarsia_kernel_host::digest(&wasm) == section.digest {
        true => Ok(wasm),
        false => Err(Error::new(
            ErrorKind::Corrupt,
            "the kernel's bytes are not those of its digest",
        )),
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
