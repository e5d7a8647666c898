//! Opening a file: what is read at once, and what when it is first needed.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{Field, Fields, Schema, SchemaRef};
use tarsia_arrow::{LeafPath, Pool, leaf_paths, lent_buffer};
use tarsia_codec::Registry;
use tarsia_io::{LocalFile, MappedFile, ReadAt, ReadBytes, ReadOptions};
use tarsia_metadata as metadata;
use tarsia_metadata::{ColumnMeta, Footer, Header, NodeRecord, Postscript, limits};
use tarsia_structure::Meta;

use crate::column::{Column, Stored, TableField};
use crate::decoder::Decoder;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::inspect::{ColumnInspection, Inspection, Region};
use crate::options::{Access, Checksums, Kernels, OpenOptions, Threads};
use crate::page::Page;
use crate::plan::{BlockPart, Plan};
use crate::scan::ScanBuilder;
use crate::verify::VerifyReport;
use crate::{ElementPath, element, inspect, take, verify, views};

/// An open file. Cloning shares it; all methods can be called from many threads.
///
/// Opening reads the header, the footer and the postscript, however many columns there are. A column's metadata is read and checked
/// when the column is first used.
///
/// ```no_run
/// let file = tarsia::File::open("ads.tarsia")?;
/// for batch in file.scan().columns(&["user_id", "label"]).rows(0..1_000_000).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// let rows = file.take_columns(&[17, 3, 17], &["label"])?;
/// assert_eq!(rows.num_rows(), 3);
/// # Ok::<(), tarsia::Error>(())
/// ```
#[derive(Clone)]
pub struct File {
    inner: Arc<Inner>,
}

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// Rows of the table.
    pub rows: u64,
    /// Top-level fields.
    pub columns: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Format version: major, minor.
    pub version: (u8, u8),
    /// Random, or zero where the writer was deterministic.
    pub file_id: [u8; 16],
    /// BLAKE3 over everything but the state slots.
    pub root_digest: [u8; 32],
    /// Grows with every change of the file; a new file's is 1.
    pub epoch: u64,
    /// The writer's name and version.
    pub created_by: String,
}

pub(crate) struct Inner {
    reader: Arc<dyn ReadAt>,
    name: String,
    header_bytes: Vec<u8>,
    header: Header,
    epoch: u64,
    footer_bytes: Vec<u8>,
    footer: Footer,
    postscript: Postscript,
    shape: metadata::FileShape,
    n_columns: u32,
    metas: Vec<OnceLock<Arc<Meta>>>,
    /// Decoders of pages without shared buffers, by META index: shared by all columns.
    decoders: Vec<OnceLock<Arc<Decoder>>>,
    fields: Mutex<HashMap<String, Arc<TableField>>>,
    all_fields: OnceLock<Vec<Arc<TableField>>>,
    schema: OnceLock<SchemaRef>,
    /// The schema's metadata.
    root: HashMap<String, String>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) pool: Pool,
    pub(crate) threads: Threads,
    pub(crate) checksums: Checksums,
    views: bool,
    pub(crate) kernels: Kernels,
    #[cfg_attr(
        not(feature = "kernels"),
        expect(dead_code, reason = "this build runs no kernels")
    )]
    pub(crate) trusted_kernels: Vec<[u8; 32]>,
    #[cfg(feature = "kernels")]
    loaded_kernels: crate::decoder::Loaded,
    native_decoders: AtomicU64,
    kernel_decoders: AtomicU64,
    metadata_requests: AtomicU64,
    metadata_bytes: AtomicU64,
}

/// How the pages that were decoded so far were decoded, in prepared decoders: each serves all pages of the file that have the
/// same description (and shared buffers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounts {
    /// This build's own.
    pub native: u64,
    /// By a kernel of the file.
    pub kernel: u64,
}

/// What a take read of the file: the requests that positioned reads make (a mapped file needs none, and then they are what would be
/// made), neighbouring blocks read together. The 192 bytes that say whether the file was changed meanwhile are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// For blocks.
    pub requests: u64,
    /// For blocks.
    pub bytes: u64,
    /// For records, page lists, block tables, shared buffers: read once and kept, so zero where a page was touched
    /// before. While other threads read, theirs count too.
    pub metadata_requests: u64,
    /// For the same.
    pub metadata_bytes: u64,
}

impl File {
    /// Opens a local file, mapped into memory; each block's checksum is checked before the block is first used.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::Corrupt`] for what is no file of this format or is damaged; [`ErrorKind::Unsupported`] for a
    /// version or feature this build cannot read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a local file.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let open = || -> Result<Self> {
            let reader: Arc<dyn ReadAt> = match options.access {
                Access::Map => Arc::new(MappedFile::open(path)?),
                Access::Read => Arc::new(LocalFile::open(path)?),
            };
            Self::open_named(reader, name.clone(), options)
        };
        open().map_err(|error| error.in_file(&name))
    }

    /// Opens anything that can be read at any place. `access` does not matter then.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_reader(reader: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Self> {
        Self::open_named(reader, String::from("<reader>"), options)
    }

    fn open_named(reader: Arc<dyn ReadAt>, name: String, options: OpenOptions) -> Result<Self> {
        let inner = Inner::open(reader, name, options)?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.in_file(self.inner.name()))
    }

    /// Rows of the table.
    pub fn num_rows(&self) -> u64 {
        self.inner.rows()
    }

    /// Top-level fields.
    pub fn num_columns(&self) -> u32 {
        self.inner.n_columns
    }

    /// The whole schema, with the metadata of schema and fields. Reads the records of all columns, once.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], [`ErrorKind::Corrupt`], [`ErrorKind::Unsupported`].
    pub fn schema(&self) -> Result<SchemaRef> {
        self.named(self.inner.schema().cloned())
    }

    /// What the file says of itself.
    pub fn metadata(&self) -> FileMetadata {
        self.inner.metadata()
    }

    /// What decoded the pages that were read so far. With [`Kernels::Forced`] nothing is native.
    pub fn decoder_counts(&self) -> DecoderCounts {
        DecoderCounts {
            native: self.inner.native_decoders.load(Ordering::Relaxed),
            kernel: self.inner.kernel_decoders.load(Ordering::Relaxed),
        }
    }

    /// Describes a scan; see [`ScanBuilder`].
    pub fn scan(&self) -> ScanBuilder<'_> {
        ScanBuilder::new(self)
    }

    /// The rows of all columns, in the order asked for; a row may be asked for more than once.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] for a row the file does not have; [`ErrorKind::LimitExceeded`] where a dictionary column's key type
    /// cannot number the values of the rows, or strings pass 2 GiB; what reading may meet.
    pub fn take(&self, rows: &[u64]) -> Result<RecordBatch> {
        self.named(take::take(&self.inner, rows, None))
    }

    /// One element of nested rows, or a range of a list's items, as a column named like the path; null where a row has none. Only the
    /// columns it lies in are read, and of their blocks the levels and the element's items decoded.
    ///
    /// ```no_run
    /// let file = tarsia::File::open("videos.tarsia")?;
    /// let (frames, _) = file.take_element(&[5, 2], &"frames[3]".parse()?)?;
    /// assert_eq!(frames.num_rows(), 2);
    /// # Ok::<(), tarsia::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::take_columns`]; [`ErrorKind::InvalidInput`] for a path that the column's type does not have.
    pub fn take_element(&self, rows: &[u64], path: &ElementPath) -> Result<(RecordBatch, Reads)> {
        self.named(element::take(&self.inner, rows, path))
    }

    /// As [`File::take`] or [`File::take_columns`], and what was read for it.
    ///
    /// # Errors
    /// As [`File::take_columns`].
    pub fn take_counted(
        &self,
        rows: &[u64],
        columns: Option<&[&str]>,
    ) -> Result<(RecordBatch, Reads)> {
        let columns =
            columns.map(|columns| columns.iter().map(|name| (*name).to_owned()).collect());
        let columns: Option<Vec<String>> = columns;
        self.named(take::take_counted(&self.inner, rows, columns.as_deref()))
    }

    /// The same for some columns, in the order named.
    ///
    /// # Errors
    /// As [`File::take`], and [`ErrorKind::NoSuchColumn`].
    pub fn take_columns(&self, rows: &[u64], columns: &[&str]) -> Result<RecordBatch> {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        self.named(take::take(&self.inner, rows, Some(&columns)))
    }

    /// Sizes, trees and layout of the whole file. Reads every block's header.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn inspect(&self) -> Result<Inspection> {
        self.named(inspect::file(&self.inner))
    }

    /// The same for the columns of one field, or for one column of it, named from the field down with dots (`user.ids.item`).
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`], and what reading may meet.
    pub fn inspect_columns(&self, name: &str) -> Result<Vec<ColumnInspection>> {
        self.named(self.inner.columns_of(name).and_then(|columns| {
            let columns = columns.iter();
            columns
                .map(|column| inspect::column(&self.inner, column))
                .collect()
        }))
    }

    /// Checks every byte of the file (state slots apart) against the digests, and that all of it decodes.
    ///
    /// # Errors
    /// The first thing that is bad, with its place.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.named(verify::file(&self.inner))
    }

    /// Checks one field, or one column of it, named from the field down with dots.
    ///
    /// # Errors
    /// As [`File::verify`], and [`ErrorKind::NoSuchColumn`].
    pub fn verify_column(&self, name: &str) -> Result<VerifyReport> {
        self.named(
            self.inner
                .columns_of(name)
                .and_then(|columns| verify::columns(&self.inner, &columns)),
        )
    }

    /// Checks one page of a column, which a nested field's name is not enough for; pages count from 0.
    ///
    /// # Errors
    /// As [`File::verify_column`], and [`ErrorKind::OutOfRange`].
    pub fn verify_page(&self, name: &str, page: usize) -> Result<VerifyReport> {
        self.named(
            self.inner
                .column(name)
                .and_then(|column| verify::page(&self.inner, &column, page)),
        )
    }
}

fn no_such_column(name: &str) -> Error {
    Error::new(
        ErrorKind::NoSuchColumn,
        format!("no column is named `{}`", name.escape_debug()),
    )
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("name", &self.inner.name)
            .field("rows", &self.inner.rows())
            .finish_non_exhaustive()
    }
}

/// A part of a file in memory that an array refers to.
struct LentPlace {
    reader: Arc<dyn ReadAt>,
    place: Range<usize>,
}

impl AsRef<[u8]> for LentPlace {
    fn as_ref(&self) -> &[u8] {
        let home = self.reader.mapped().unwrap_or_default();
        home.get(self.place.clone()).unwrap_or_default()
    }
}

/// Where the blocks and rows of some plans lie.
fn places_of(plans: &[Plan]) -> Vec<Range<u64>> {
    let parts = plans.iter().flat_map(|plan| &plan.parts);
    parts.map(|part| part.place.clone()).collect()
}

/// What the end of a file is expected to hold of its metadata: it is fetched at once, where it has to be.
const TAIL_BYTES: u64 = 64 << 10;

/// A file of so many bytes is fetched as a whole: a disk gives it in the time of a few requests, and a row of a few columns takes as many.
const SMALL_FILE_BYTES: u64 = 128 << 10;

impl Inner {
    /// Has the metadata fetched that a plan for these rows (rising) will read, of all columns at once.
    pub(crate) fn prefetch_tables(&self, columns: &[Arc<Column>], sorted: &[u64]) {
        if self.reader.mapped().is_none() {
            return;
        }
        let mut places = Vec::new();
        for column in columns {
            column.push_tables_to_read(self, sorted, &mut places);
        }
        if !places.is_empty() {
            self.reader.prefetch(&places);
        }
    }

    fn open(reader: Arc<dyn ReadAt>, name: String, options: OpenOptions) -> Result<Self> {
        let file_bytes = reader.len();
        let least = (limits::HEADER_BYTES + limits::POSTSCRIPT_BYTES) as u64;
        if file_bytes < least {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("{file_bytes} bytes are too few for a file of this format"),
            ));
        }
        let read = |range: Range<u64>| -> Result<Vec<u8>> {
            Ok(tarsia_io::read_once(&*reader, range)?.to_vec())
        };
        let tail_start = match file_bytes {
            ..=SMALL_FILE_BYTES => 0,
            _ => file_bytes - TAIL_BYTES,
        };
        reader.prefetch(&[0..limits::HEADER_BYTES as u64, tail_start..file_bytes]);
        let header_bytes = read(0..limits::HEADER_BYTES as u64)?;
        if !header_bytes.starts_with(&metadata::MAGIC) {
            return Err(Error::new(ErrorKind::Corrupt, "not a Tarsia file"));
        }
        let header = Header::parse(&header_bytes)?;
        let committed = header.committed(file_bytes)?;
        let end = committed.bytes;
        let start = end
            .checked_sub(limits::POSTSCRIPT_BYTES as u64)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!("committed length of {end} bytes"),
                )
            })?;
        let postscript_bytes = read(start..end)?;
        let footer_bytes = read(Postscript::footer_range(&postscript_bytes, end)?)?;
        let postscript = Postscript::parse(&postscript_bytes, end, &footer_bytes)?;
        let footer = Footer::parse(&footer_bytes, &postscript, &[])?;
        footer.check_header(&header)?;
        let shape = footer.shape(&postscript);
        let n_metas = footer.metas.len();
        let mut inner = Self {
            reader,
            name,
            header_bytes,
            header,
            epoch: committed.epoch,
            shape,
            n_columns: 0,
            footer_bytes,
            footer,
            postscript,
            metas: (0..n_metas).map(|_| OnceLock::new()).collect(),
            decoders: (0..n_metas).map(|_| OnceLock::new()).collect(),
            fields: Mutex::new(HashMap::new()),
            all_fields: OnceLock::new(),
            schema: OnceLock::new(),
            root: HashMap::new(),
            pool: Pool::new(options.pool_bytes),
            threads: options.threads,
            checksums: options.checksums,
            views: options.views,
            kernels: options.kernels,
            registry: options.registry,
            trusted_kernels: options.trusted_kernels,
            #[cfg(feature = "kernels")]
            loaded_kernels: Default::default(),
            native_decoders: AtomicU64::new(0),
            kernel_decoders: AtomicU64::new(0),
            metadata_requests: AtomicU64::new(0),
            metadata_bytes: AtomicU64::new(0),
        };
        let (n_columns, metadata) = inner.read_root()?;
        inner.n_columns = n_columns;
        inner.root = metadata;
        Ok(inner)
    }

    /// Top-level fields and the schema's metadata, by the root's record.
    fn read_root(&self) -> Result<(u32, HashMap<String, String>)> {
        let bytes = self.record_bytes(self.footer.root_place, Some(self.footer.root_bytes))?;
        let root = NodeRecord::parse(&bytes)?;
        let n_columns = root.children.map_or(0, |children| children.n_children);
        Ok((n_columns, root.metadata_map()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn rows(&self) -> u64 {
        self.postscript.rows
    }

    /// Major and minor; a byte each in the postscript.
    fn postscript_version(&self) -> (u8, u8) {
        (limits::VERSION_MAJOR as u8, limits::VERSION_MINOR as u8)
    }

    pub(crate) fn metadata(&self) -> FileMetadata {
        FileMetadata {
            rows: self.rows(),
            columns: self.n_columns,
            file_bytes: self.reader.len(),
            version: self.postscript_version(),
            file_id: self.header.file_id,
            root_digest: self.postscript.root_digest,
            epoch: self.epoch,
            created_by: self.footer.created_by.clone(),
        }
    }

    /// The bytes of a range of the file.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        Ok(tarsia_io::read_range(&*self.reader, range)?)
    }

    /// The same for metadata, which is parsed once and kept.
    pub(crate) fn read_once(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        self.metadata_requests.fetch_add(1, Ordering::Relaxed);
        let bytes = range.end.saturating_sub(range.start);
        self.metadata_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(tarsia_io::read_once(&*self.reader, range)?)
    }

    /// The blocks of a plan.
    pub(crate) fn fetch(&self, parts: &[BlockPart]) -> Result<Vec<ReadBytes<'_>>> {
        let ranges: Vec<_> = parts.iter().map(|part| part.place.clone()).collect();
        Ok(tarsia_io::read_ranges(
            &*self.reader,
            &ranges,
            ReadOptions::LOCAL,
        )?)
    }

    /// A shared page that was read counts as metadata: it is kept.
    pub(crate) fn count_shared_page(&self, plan: &Plan) {
        let extent = plan.extent();
        self.metadata_requests.fetch_add(1, Ordering::Relaxed);
        self.metadata_bytes
            .fetch_add(extent.end - extent.start, Ordering::Relaxed);
    }

    /// Metadata read so far, and what the blocks of some plans take of the file.
    pub(crate) fn reads(&self, plans: &[Plan]) -> Reads {
        let places = places_of(plans);
        let ReadOptions {
            gap_bytes,
            request_bytes_max,
        } = ReadOptions::LOCAL;
        let requests = tarsia_io::coalesce(&places, gap_bytes, request_bytes_max);
        Reads {
            requests: requests.len() as u64,
            bytes: requests
                .iter()
                .map(|read| read.range.end - read.range.start)
                .sum(),
            metadata_requests: self.metadata_requests.load(Ordering::Relaxed),
            metadata_bytes: self.metadata_bytes.load(Ordering::Relaxed),
        }
    }

    /// Says that these parts will be read.
    pub(crate) fn prefetch(&self, ranges: &[Range<u64>]) {
        self.reader.prefetch(ranges);
    }

    /// A part of a file that is in memory; `None` of others, and beyond the end.
    pub(crate) fn lent(&self, range: Range<u64>) -> Option<&[u8]> {
        let place = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
        self.reader.mapped()?.get(place)
    }

    /// All of a file that is in memory, and stays where it is.
    pub(crate) fn home(&self) -> Option<&[u8]> {
        self.reader.mapped()
    }

    /// A part of [`Inner::home`], for as long as anybody uses it.
    pub(crate) fn lend(&self, place: Range<usize>) -> Buffer {
        lent_buffer(LentPlace {
            reader: self.reader.clone(),
            place,
        })
    }

    /// Whether what was read stays where it is: a second look finds the same bytes.
    pub(crate) fn stays(&self) -> bool {
        self.reader.mapped().is_some()
    }

    /// The blocks of the plans of several columns, fetched together so that neighbours share requests.
    pub(crate) fn fetch_all(&self, plans: &[Plan]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        if self.stays() {
            self.reader.prefetch(&places_of(plans));
            return plans.iter().map(|plan| self.fetch(&plan.parts)).collect();
        }
        self.fetch_joined(plans)
    }

    /// The same for a scan, which comes to each place once: what lies alone is copied, where touching a map would cost more.
    pub(crate) fn fetch_once(&self, plans: &[Plan]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        if !self.stays() {
            return self.fetch_joined(plans);
        }
        let extents: Vec<_> = plans.iter().map(Plan::extent).collect();
        let lies_alone = tarsia_io::lie_alone(&extents);
        plans
            .iter()
            .zip(extents)
            .zip(lies_alone)
            .map(|((plan, extent), alone)| {
                if !alone {
                    return self.fetch(&plan.parts);
                }
                let bytes = tarsia_io::read_once(&*self.reader, extent.clone())?;
                let part = |part: &BlockPart| {
                    // The extent is short, and the part inside it.
                    let start = (part.place.start - extent.start) as usize;
                    let end = (part.place.end - extent.start) as usize;
                    Ok(bytes.slice(start..end)?)
                };
                plan.parts.iter().map(part).collect()
            })
            .collect()
    }

    fn fetch_joined(&self, plans: &[Plan]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        let places = places_of(plans);
        let mut fetched =
            tarsia_io::read_ranges(&*self.reader, &places, ReadOptions::LOCAL)?.into_iter();
        Ok(plans
            .iter()
            .map(|plan| fetched.by_ref().take(plan.parts.len()).collect())
            .collect())
    }

    /// A local file that somebody erases from meanwhile says so in its slots.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let now = self.read(0..limits::HEADER_BYTES as u64)?;
        match *now == *self.header_bytes {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::FileChanged,
                "the file was changed while it was open",
            )),
        }
    }

    /// The parsed META of an index.
    pub(crate) fn meta(&self, index: u16) -> Result<Arc<Meta>> {
        let (Some(cell), Some(blob)) = (
            self.metas.get(usize::from(index)),
            self.footer.metas.get(usize::from(index)),
        ) else {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("page description {index} of {}", self.metas.len()),
            ));
        };
        if let Some(meta) = cell.get() {
            return Ok(meta.clone());
        }
        let meta = Arc::new(Meta::parse(&blob.bytes).map_err(while_reading)?);
        Ok(cell.get_or_init(|| meta).clone())
    }

    /// What is known of the kernels in the file without running them.
    pub(crate) fn inspect_kernels(&self) -> Result<Vec<crate::KernelInspection>> {
        let metas = &self.footer.metas;
        let sections = self.footer.sections_of(metadata::SECTION_KERNEL);
        sections
            .enumerate()
            .map(|(number, section)| {
                let bytes = self.read(section.range.clone())?;
                let kernel = metadata::KernelSection::parse(&bytes)?;
                let mut known = tarsia_kernels::ALL.iter();
                let known = known.find(|known| known.digest == kernel.digest);
                let naming = metas
                    .iter()
                    .filter(|meta| meta.kernel.map(usize::from) == Some(number));
                Ok(crate::KernelInspection {
                    digest: kernel.digest,
                    name: known.map(|known| known.name.to_string()),
                    bytes: section.range.end - section.range.start,
                    raw_bytes: kernel.raw_bytes,
                    descriptions: (naming.count() as u64, metas.len() as u64),
                })
            })
            .collect()
    }

    /// Index of the kernel that the file names for a META, among its kernels.
    pub(crate) fn kernel_of(&self, meta: u16) -> Option<u16> {
        self.footer.metas.get(usize::from(meta))?.kernel
    }

    #[cfg(feature = "kernels")]
    pub(crate) fn meta_bytes(&self, index: u16) -> Result<&[u8]> {
        match self.footer.metas.get(usize::from(index)) {
            Some(blob) => Ok(&blob.bytes),
            None => Err(Error::new(
                ErrorKind::Corrupt,
                format!("page description {index}"),
            )),
        }
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.footer
    }

    #[cfg(feature = "kernels")]
    pub(crate) fn kernel_cell(&self) -> &crate::decoder::Loaded {
        &self.loaded_kernels
    }

    pub(crate) fn count_decoder(&self, by_kernel: bool) {
        let count = match by_kernel {
            true => &self.kernel_decoders,
            false => &self.native_decoders,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// The decoders of pages with this META and no shared buffers.
    pub(crate) fn shared_decoder(&self, index: u16) -> Result<Arc<Decoder>> {
        let meta = self.meta(index)?;
        let cell = self
            .decoders
            .get(usize::from(index))
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("page description {index}")))?;
        if let Some(decoder) = cell.get() {
            return Ok(decoder.clone());
        }
        let decoder = Decoder::new(self, index, &meta, &[])?;
        Ok(cell.get_or_init(|| Arc::new(decoder)).clone())
    }

    /// The field of a name; reads one bucket, its record, those of the fields below and, where a column has several pages, their
    /// list.
    pub(crate) fn field(&self, name: &str) -> Result<Arc<TableField>> {
        let lock = || self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = lock().get(name) {
            return Ok(field.clone());
        }
        let none = || no_such_column(name);
        let path = metadata::encode_path([name])?;
        let hash = metadata::path_hash(&path);
        let buckets = self.footer.buckets(&self.postscript)?;
        let bytes = self.read_once(buckets.range(hash))?;
        let bucket = metadata::Bucket::parse(&bytes, &buckets, buckets.index(hash))
            .map_err(|error| Error::from(error).prefixed("bucket"))?;
        let records = bucket
            .lookup(hash)
            .map(|entry| self.record_bytes(entry.place, entry.record_bytes))
            .collect::<Result<Vec<_>>>()?;
        let parsed = records
            .iter()
            .map(|bytes| NodeRecord::parse(bytes))
            .collect::<metadata::Result<Vec<_>>>()?;
        let record = metadata::unique_record(&path, parsed)?.ok_or_else(none)?;
        let (place, below) = match record.descendants_range() {
            Some(range) => (range.start, Some(self.records(range)?)),
            None => (0, None),
        };
        let below = below.as_deref().unwrap_or_default();
        let found = metadata::read_field(&record, below, place)?;
        let field = match self.views {
            true => views::field(&Arc::new(found.field)).as_ref().clone(),
            false => found.field,
        };
        let field = self.make_field(found.first_leaf, field, &found.columns)?;
        let field = Arc::new(field);
        lock().insert(name.to_owned(), field.clone());
        Ok(field)
    }

    /// The leaf columns of a field, or one by its own name.
    pub(crate) fn columns_of(&self, name: &str) -> Result<Vec<Arc<Column>>> {
        match self.field(name) {
            Ok(field) => Ok(field.columns.clone()),
            Err(error) if error.kind() == ErrorKind::NoSuchColumn => Ok(vec![self.column(name)?]),
            Err(error) => Err(error),
        }
    }

    /// The leaf column of a name: that of a field with one column, or names from a field down, joined by dots.
    pub(crate) fn column(&self, name: &str) -> Result<Arc<Column>> {
        let several = |field: &TableField| {
            let names: Vec<_> = field.columns.iter().map(|column| column.name()).collect();
            let what = format!("`{name}` has several columns: {}", names.join(", "));
            Error::new(ErrorKind::InvalidInput, what)
        };
        let missing = match self.field(name) {
            Ok(field) => {
                return match field.columns.as_slice() {
                    [column] => Ok(column.clone()),
                    _ => Err(several(&field)),
                };
            }
            Err(error) if error.kind() == ErrorKind::NoSuchColumn => error,
            Err(error) => return Err(error),
        };
        for (dot, _) in name.match_indices('.') {
            let Ok(field) = self.field(&name[..dot]) else {
                continue;
            };
            let mut columns = field.columns.iter();
            if let Some(column) = columns.find(|column| column.name() == name) {
                return Ok(column.clone());
            }
        }
        Err(missing)
    }

    fn record_bytes(&self, place: u64, known: Option<u32>) -> Result<ReadBytes<'_>> {
        let length = match known {
            Some(length) => length,
            None => NodeRecord::length(&self.read_once(place..place.saturating_add(4))?)?,
        };
        self.records(place..place.saturating_add(length.into()))
    }

    /// The bytes of records.
    fn records(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        let records = self.footer.records_range(&self.postscript);
        if range.start < records.start || range.end > records.end {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("a bucket leads to byte {}, where no record is", range.start),
            ));
        }
        self.read_once(range)
    }

    fn make_field(
        &self,
        first_leaf: u32,
        field: Field,
        records: &[metadata::ColumnRecord],
    ) -> Result<TableField> {
        let stored = Stored::of(&field)?;
        let paths = leaf_paths(&stored.data_type, field.is_nullable()).map_err(|unsupported| {
            Error::new(ErrorKind::Unsupported, format!("type {unsupported}"))
                .in_column(field.name())
        })?;
        if paths.len() != records.len() {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "other columns than those of the field's type",
            )
            .in_column(field.name()));
        }
        let columns = paths.into_iter().zip(records).zip(first_leaf..);
        let columns = columns
            .map(|((path, record), leaf)| {
                let column = self.make_column(leaf, (field.name(), &stored), path, record)?;
                Ok(Arc::new(column))
            })
            .collect::<Result<_>>()?;
        Ok(TableField {
            field: Arc::new(field),
            columns,
        })
    }

    fn make_column(
        &self,
        leaf: u32,
        (field, stored): (&String, &Stored),
        path: LeafPath,
        record: &metadata::ColumnRecord,
    ) -> Result<Column> {
        let names = std::iter::once(field).chain(path.names());
        let name = names.map(String::as_str).collect::<Vec<_>>().join(".");
        let value_type = path.value_type();
        let meta = ColumnMeta::load(record, &self.shape, |range| self.read_once(range))
            .map_err(|error: Error| error.in_column(&name))?;
        if value_type.is_some() && meta.pages.is_empty() && self.rows() > 0 {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "a column without pages in a file with rows",
            )
            .in_column(&name));
        }
        // Below lists there may be more items than rows.
        let too_many = |page: &&metadata::PageDescriptor| page.null_count > page.rows;
        if path.forms().is_empty() && meta.pages.iter().any(|page| too_many(&page)) {
            return Err(
                Error::new(ErrorKind::Corrupt, "a page with more nulls than rows").in_column(&name),
            );
        }
        let listed = match record.source {
            metadata::ColumnSource::Meta { length, .. } => u64::from(length),
            _ => 0,
        };
        let sides: u64 = meta
            .pages
            .iter()
            .chain(&meta.shared_pages)
            .map(|page| u64::from(page.side_length))
            .sum();
        Ok(Column {
            leaf,
            name,
            data_type: match path.is_flat() {
                true => stored.data_type.clone(),
                false => path.data_type().clone(),
            },
            path,
            packing: stored.packing.clone(),
            value_type,
            pages: meta.pages.into_iter().map(Page::new).collect(),
            shared_pages: meta.shared_pages.into_iter().map(Page::new).collect(),
            shared_lists: meta.shared_lists,
            digest: record.digest,
            metadata_bytes: limits::COLUMN_RECORD_BYTES as u64 + listed + sides,
        })
    }

    /// All fields in order; reads all records, once.
    pub(crate) fn all_fields(&self) -> Result<&[Arc<TableField>]> {
        if let Some(fields) = self.all_fields.get() {
            return Ok(fields);
        }
        let table = self.table_schema()?;
        let mut fields = Vec::with_capacity(table.schema.fields().len());
        let mut first_leaf = 0;
        for field in table.schema.fields() {
            let n_leaves = metadata::n_leaves(field);
            let records = table.columns.get(first_leaf as usize..);
            let records = records.and_then(|records| records.get(..n_leaves as usize));
            let field = self.make_field(
                first_leaf,
                field.as_ref().clone(),
                records.unwrap_or_default(),
            )?;
            fields.push(Arc::new(field));
            first_leaf += n_leaves;
        }
        Ok(self.all_fields.get_or_init(|| fields))
    }

    /// All leaf columns in order.
    pub(crate) fn all_columns(&self) -> Result<Vec<Arc<Column>>> {
        let fields = self.all_fields()?.iter();
        Ok(fields
            .flat_map(|field| field.columns.iter().cloned())
            .collect())
    }

    fn table_schema(&self) -> Result<metadata::TableSchema> {
        let range = self.footer.records_range(&self.postscript);
        let bytes = self.read(range.clone())?;
        let mut table = metadata::read_schema(&bytes, range.start, self.footer.n_nodes)?;
        if self.views {
            let fields = table.schema.fields().iter().map(views::field);
            let fields: Fields = fields.collect();
            table.schema = Schema::new_with_metadata(fields, table.schema.metadata);
        }
        let _ = self.schema.set(Arc::new(table.schema.clone()));
        Ok(table)
    }

    /// The whole schema.
    pub(crate) fn schema(&self) -> Result<&SchemaRef> {
        if self.schema.get().is_none() {
            self.table_schema()?;
        }
        self.schema
            .get()
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "no schema"))
    }

    /// The metadata of the schema.
    pub(crate) fn schema_metadata(&self) -> &HashMap<String, String> {
        &self.root
    }

    pub(crate) fn header_bytes(&self) -> &[u8] {
        &self.header_bytes
    }

    pub(crate) fn footer_bytes(&self) -> &[u8] {
        &self.footer_bytes
    }

    pub(crate) fn root_digest(&self) -> [u8; 32] {
        self.postscript.root_digest
    }

    pub(crate) fn postscript_for_digest(&self) -> Result<[u8; limits::POSTSCRIPT_BYTES]> {
        Ok(self.postscript.bytes_for_root_digest(&self.footer_bytes)?)
    }

    pub(crate) fn meta_range(&self) -> Range<u64> {
        self.footer.meta_place..self.footer.tree_place
    }

    pub(crate) fn tree_range(&self) -> Range<u64> {
        let end = self.committed_bytes() - limits::POSTSCRIPT_BYTES as u64;
        self.footer.tree_place..end - self.footer_bytes.len() as u64
    }

    fn committed_bytes(&self) -> u64 {
        self.postscript.committed_bytes
    }

    /// The parts of the file, in order.
    pub(crate) fn layout(&self) -> Vec<Region> {
        let end = self.committed_bytes();
        let postscript = end - limits::POSTSCRIPT_BYTES as u64;
        let kernels = self.footer.sections_of(metadata::SECTION_KERNEL);
        let kernels_end = kernels.map(|section| section.range.end.next_multiple_of(8));
        let kernels_end = kernels_end.max().unwrap_or(self.footer.meta_place);
        let starts = [
            ("header", 0),
            ("pages", limits::HEADER_BYTES as u64),
            ("kernels", self.footer.meta_place),
            ("column metadata", kernels_end),
            ("records", self.footer.root_place),
            ("buckets", self.postscript.bucket_place),
            ("digest tree", self.footer.tree_place),
            ("footer", postscript - self.footer_bytes.len() as u64),
            ("postscript", postscript),
        ];
        let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([end]);
        starts
            .iter()
            .zip(ends)
            .map(|((name, place), end)| Region {
                name,
                place: *place,
                bytes: end.saturating_sub(*place),
            })
            .collect()
    }
}
