//! What decodes the blocks of a page: this build's own decoders, or the kernel that the file carries.

use std::sync::Arc;

use tarsia_codec::{AlignedBuf, OwnedValues, Scratch};
use tarsia_structure::{Meta, PageDecoder, RawColumn};

use crate::column::with_block;
use crate::error::{Error, Result, while_reading};
use crate::file::Inner;
use crate::options::Kernels;
use crate::page::Page;
use crate::plan::{BlockPart, Plan};

/// The prepared decoders of a page.
pub(crate) enum Decoder {
    Native(Box<PageDecoder>),
    #[cfg(feature = "kernels")]
    Kernel(kernel::Page),
}

/// Blocks of one page, fetched, and where they go.
pub(crate) struct Run<'a, B> {
    pub(crate) page: &'a Page,
    pub(crate) parts: &'a [BlockPart],
    /// The bytes of each part's block.
    pub(crate) fetched: &'a [B],
    pub(crate) plan: &'a Plan,
}

impl Decoder {
    /// The decoders of pages with the META of index `index`. This build's own are preferred where they read every tree of the page.
    pub(crate) fn new(
        file: &Inner,
        index: u16,
        meta: &Meta,
        shared: &[Arc<OwnedValues>],
    ) -> Result<Self> {
        let native = || meta.all_trees().all(|tree| file.registry.reads(tree));
        let by_kernel = match file.kernels {
            Kernels::Never => false,
            Kernels::Trusted => !native() && file.kernel_of(index).is_some(),
            Kernels::Forced => true,
        };
        if by_kernel {
            #[cfg(feature = "kernels")]
            return kernel::Page::new(file, index, meta, shared).map(Self::Kernel);
            #[cfg(not(feature = "kernels"))]
            return Err(Error::new(
                crate::ErrorKind::Unsupported,
                "this build runs no kernels (feature `kernels`)",
            ));
        }
        let decoder = PageDecoder::new(&file.registry, meta, shared).map_err(while_reading)?;
        file.count_decoder(false);
        Ok(Self::Native(Box::new(decoder)))
    }

    /// This build's own decoders, if it is them.
    pub(crate) fn native(&self) -> Option<&PageDecoder> {
        match self {
            Self::Native(decoder) => Some(decoder),
            #[cfg(feature = "kernels")]
            Self::Kernel(_) => None,
        }
    }

    /// Decodes the selected rows of the blocks of a run, in order, behind what `raw` holds.
    pub(crate) fn decode<B: AsRef<[u8]>>(
        &self,
        file: &Inner,
        run: &Run<'_, B>,
        raw: &mut RawColumn,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        match self {
            Self::Native(decoder) => {
                for (part, bytes) in run.parts.iter().zip(run.fetched) {
                    decode_part(
                        file,
                        run.page,
                        decoder,
                        part,
                        bytes.as_ref(),
                        run.plan,
                        raw,
                        scratch,
                        take,
                    )
                    .map_err(|error| error.in_block(part.block.into()))?;
                }
                Ok(())
            }
            #[cfg(feature = "kernels")]
            Self::Kernel(page) => page.decode(file, run, raw, take),
        }
    }

    /// The page of a kernel that decodes this.
    #[cfg(feature = "kernels")]
    pub(crate) fn kernel(&self) -> Option<&kernel::Page> {
        match self {
            Self::Native(_) => None,
            Self::Kernel(page) => Some(page),
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one step of a loop, split for reading"
)]
fn decode_part(
    file: &Inner,
    page: &Page,
    decoder: &PageDecoder,
    part: &BlockPart,
    bytes: &[u8],
    plan: &Plan,
    raw: &mut RawColumn,
    scratch: &mut Scratch,
    take: &mut dyn FnMut(usize) -> AlignedBuf,
) -> Result<()> {
    let place = (plan, part, bytes);
    with_block(file, page, place, Some(decoder), true, |decoder, block| {
        raw.push(decoder, block, plan.selection(part), scratch, take)
    })
}

#[cfg(feature = "kernels")]
mod kernel {
    use std::borrow::Cow;

    use tarsia_codec::ValueType;
    use tarsia_kernel_host::{Error as KernelError, Kernel, KernelPage, NestedRows, Rows, Whole};
    use tarsia_metadata::{KernelSection, SECTION_KERNEL};
    use tarsia_structure::{Block, BlockHeader, Cut, DecodedRows, ZipForm};

    use super::*;
    use crate::column::check_bare;
    use crate::error::ErrorKind;
    use crate::plan::Selected;

    /// A page that the file's kernel decodes.
    pub(crate) struct Page {
        page: KernelPage,
        value_type: ValueType,
        /// Of a full-zip page.
        zip: Option<ZipForm>,
    }

    /// Most bytes that one request may decode to.
    const OUTPUT_BYTES_MAX: u64 = 1 << 30;

    pub(crate) fn failed(error: KernelError) -> Error {
        let kind = match &error {
            KernelError::Unsupported(_) | KernelError::Profile(_) => ErrorKind::Unsupported,
            KernelError::Limit(_) => ErrorKind::LimitExceeded,
            _ => ErrorKind::Corrupt,
        };
        Error::new(kind, format!("kernel: {error}"))
    }

    impl Page {
        pub(super) fn new(
            file: &Inner,
            index: u16,
            meta: &Meta,
            shared: &[Arc<OwnedValues>],
        ) -> Result<Self> {
            let value_type = meta.value_type.ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    "a page of type Null has nothing to decode",
                )
            })?;
            let zip = ZipForm::of(meta).map_err(while_reading)?;
            let kernel = file.kernel(index)?;
            let meta = file.meta_bytes(index)?;
            let page = KernelPage::new(kernel, meta, shared).map_err(failed)?;
            file.count_decoder(true);
            Ok(Self {
                page,
                value_type,
                zip,
            })
        }

        /// The same as natively; only that a kernel is given many blocks at once.
        pub(super) fn decode<B: AsRef<[u8]>>(
            &self,
            file: &Inner,
            run: &Run<'_, B>,
            raw: &mut RawColumn,
            take: &mut dyn FnMut(usize) -> AlignedBuf,
        ) -> Result<()> {
            self.requests(file, run, |parts, blocks| {
                self.decode_request(run, parts, blocks, raw, take)
            })
        }

        /// The selected rows of a run of a nested page, batch by batch. Of lists with a cut only its items.
        pub(crate) fn decode_nested<B: AsRef<[u8]>>(
            &self,
            file: &Inner,
            run: &Run<'_, B>,
            cuts: &[(usize, Cut)],
            output_bytes_max: u64,
            use_batch: &mut dyn FnMut(NestedRows<'_>) -> tarsia_codec::Result<()>,
        ) -> Result<()> {
            self.requests(file, run, |parts, blocks| {
                let wanted = Wanted::new(parts, run.plan);
                let n_rows = wanted.len();
                let rows = (wanted.rows(), n_rows);
                let limit = output_bytes_max.min(OUTPUT_BYTES_MAX);
                let decoded =
                    self.page
                        .decode_nested(self.value_type, blocks, rows, cuts, limit, use_batch);
                as_many(decoded.map_err(failed)?, n_rows)
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
            file: &Inner,
            run: &Run<'_, B>,
            whole: &mut Whole,
        ) -> Result<()> {
            self.requests(file, run, |parts, blocks| {
                let wanted = Wanted::new(parts, run.plan);
                whole
                    .push(&self.page, blocks, wanted.rows())
                    .map_err(failed)
            })
        }

        /// Cuts a run into requests, of blocks that are right.
        fn requests<B: AsRef<[u8]>>(
            &self,
            file: &Inner,
            run: &Run<'_, B>,
            mut request: impl FnMut(&[BlockPart], &[&[u8]]) -> Result<()>,
        ) -> Result<()> {
            let mut parts = run.parts;
            let mut fetched = run.fetched;
            while !parts.is_empty() {
                let mut bytes = 0;
                let n_blocks = fetched
                    .iter()
                    .take_while(|block| {
                        let before = bytes;
                        bytes += block.as_ref().len();
                        before == 0 || bytes <= KernelPage::request_bytes_target()
                    })
                    .count()
                    .clamp(1, parts.len());
                let (now, later) = parts.split_at(n_blocks);
                let (blocks, later_blocks) = fetched.split_at(n_blocks.min(fetched.len()));
                let blocks = now.iter().zip(blocks).map(|(part, bytes)| {
                    let block = self.checked_block(file, run, part, bytes.as_ref());
                    block.map_err(|error| error.in_block(part.block.into()))
                });
                let blocks: Vec<Cow<'_, [u8]>> = blocks.collect::<Result<_>>()?;
                let blocks: Vec<&[u8]> = blocks.iter().map(AsRef::as_ref).collect();
                request(now, &blocks)?;
                (parts, fetched) = (later, later_blocks);
            }
            Ok(())
        }

        /// A part's block, which is right; of rows that were read without theirs, one of them alone.
        fn checked_block<'b, B>(
            &self,
            file: &Inner,
            run: &Run<'_, B>,
            part: &BlockPart,
            bytes: &'b [u8],
        ) -> Result<Cow<'b, [u8]>> {
            let (Some(bare), Some(form)) = (&part.bare, self.zip) else {
                check_block(file, run.page, part, bytes)?;
                return Ok(Cow::Borrowed(bytes));
            };
            check_bare(file, run.page, (run.plan, bare), bytes, form)?;
            let entries = run.plan.entries(bare);
            Ok(Cow::Owned(Block::bytes_of_rows(bytes, entries, part.rows)))
        }

        fn decode_request<B>(
            &self,
            run: &Run<'_, B>,
            parts: &[BlockPart],
            blocks: &[&[u8]],
            raw: &mut RawColumn,
            take: &mut dyn FnMut(usize) -> AlignedBuf,
        ) -> Result<()> {
            let wanted = Wanted::new(parts, run.plan);
            let expected = wanted.len();
            let mut push = |batch: DecodedRows<'_>| raw.push_decoded(&batch, take);
            let n_rows = self
                .page
                .decode(
                    self.value_type,
                    blocks,
                    (wanted.rows(), expected),
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

    /// What the host knows of a block: its checksum, and that its rows are those of the block table, none of them erased.
    fn check_block(
        file: &Inner,
        page: &crate::page::Page,
        part: &BlockPart,
        bytes: &[u8],
    ) -> Result<()> {
        page.check(file, part.block, bytes)?;
        let header = BlockHeader::parse(bytes).map_err(while_reading)?;
        if header.present_rows != header.logical_rows {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a block with erased rows",
            ));
        }
        match header.logical_rows == part.rows {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "a block of {} rows where the block table says {}",
                    header.logical_rows, part.rows
                ),
            )),
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
                Self::Range { start: 0, len, all } if len == all => Rows::All,
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

    impl Inner {
        /// The kernel that the file names for a META, if this reader may run it; compiled once per process.
        pub(crate) fn kernel(&self, meta: u16) -> Result<Arc<Kernel>> {
            let Some(number) = self.kernel_of(meta) else {
                let what = "the file carries no kernel for these pages";
                return Err(Error::new(ErrorKind::Unsupported, what));
            };
            let section = self
                .footer()
                .sections_of(SECTION_KERNEL)
                .nth(number.into())
                .ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("kernel {number}")))?;
            let cell = self.kernel_cell();
            if let Some(kernel) = cell.get(number) {
                return Ok(kernel);
            }
            let bytes = self.read(section.range.clone())?;
            let section = KernelSection::parse(&bytes)?;
            let trusted = tarsia_kernels::ALL
                .iter()
                .map(|known| known.digest)
                .chain(self.trusted_kernels.iter().copied())
                .any(|known| known == section.digest);
            if !trusted {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the file's kernel {digest} is not one that this reader trusts; if you do, name it in \
                         OpenOptions::trusted_kernels, or on the command line with --trust-kernel {digest}",
                        digest = hex(&section.digest)
                    ),
                ));
            }
            let wasm = tarsia_kernel_host::decompress(section.compressed, section.raw_bytes)
                .map_err(failed)?;
            if tarsia_kernel_host::digest(&wasm) != section.digest {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    "the kernel's bytes are not those of its digest",
                ));
            }
            let kernel = Kernel::load(&wasm).map_err(failed)?;
            cell.insert(number, &kernel);
            Ok(kernel)
        }
    }

    fn hex(digest: &[u8]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The kernels of a file that were loaded.
    #[derive(Default)]
    pub(crate) struct Loaded(std::sync::Mutex<Vec<(u16, Arc<Kernel>)>>);

    impl Loaded {
        fn list(&self) -> std::sync::MutexGuard<'_, Vec<(u16, Arc<Kernel>)>> {
            let list = self.0.lock();
            list.unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        fn get(&self, number: u16) -> Option<Arc<Kernel>> {
            let list = self.list();
            let found = list.iter().find(|(known, _)| *known == number)?;
            Some(found.1.clone())
        }

        fn insert(&self, number: u16, kernel: &Arc<Kernel>) {
            self.list().push((number, kernel.clone()));
        }
    }
}

#[cfg(feature = "kernels")]
pub(crate) use kernel::{Loaded, failed as kernel_failed};
