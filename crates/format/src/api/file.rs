//! Opening a file, and what can be asked of an open one.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tarsia_compliance::RowSet;
use tarsia_io::{FileSink, LocalFile, MappedFile, MemoryFile, ReadAt, Sink};
use tarsia_metadata::ErasureLevel;

use super::audit::{self, Audit};
use super::capture;
#[cfg(feature = "certificate")]
use super::certificate::CertificateCheck;
use super::inspect::{self, ColumnInspection, Inspection};
use super::scan::ScanBuilder;
use super::statistics::{self, Statistics};
use super::take::TakeBuilder;
use super::verify::{self, Depth, VerifyReport};
use crate::decode::DecoderCounts;
use crate::erase::{self, ErasurePlan, ErasureReport, as_committed, while_unchanged};
use crate::error::{ErrorKind, Result};
use crate::exec::OpenFile;
use crate::options::{Access, OpenOptions};
use crate::reorder::{self, ReorderSummary};
use crate::session::Session;
use crate::source::Source;
use crate::table::FileMetadata;
use crate::write::CapturedLayout;

/// Times that a file is opened which somebody changes in place meanwhile. An erasure changes its header twice, with
/// several syncs between, and opening takes a fraction of one.
const OPEN_ATTEMPTS_MAX: u32 = 16;

/// An open file. Cloning shares it; all methods can be called from many threads.
///
/// Opening reads the header, the postscript and the footer, however many columns there are. Of an object in a store,
/// which nobody changes in place, it reads the end alone. A column's metadata is read and checked when the column is
/// first used.
///
/// ```no_run
/// let file = tarsia::File::open("ads.tarsia")?;
/// for batch in file.scan().columns(&["user_id", "label"]).rows(0..1_000_000).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// let rows = file.take(&[17, 3, 17]).columns(&["label"]).read()?;
/// assert_eq!(rows.num_rows(), 3);
/// # Ok::<(), tarsia::Error>(())
/// ```
#[derive(Clone)]
pub struct File {
    pub(super) file: Arc<OpenFile>,
}

impl File {
    /// Opens a local file, memory-mapped; each block's checksum is checked before the block is first used. The reader
    /// holds a shared lock on the file until it and all zero-copy arrays are dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io); [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for what is no file
    /// of this format or is damaged; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a version or feature
    /// that this build cannot read; [`ErrorKind::Busy`](crate::ErrorKind::Busy) while somebody changes the file in
    /// place; [`ErrorKind::FileChanged`](crate::ErrorKind::FileChanged) where that goes on and the file is read by
    /// position ([`Access::Read`]).
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
        let access = options.access();
        let reader = || -> Result<Arc<dyn ReadAt>> {
            Ok(match access {
                Access::Map => Arc::new(MappedFile::open(path)?),
                Access::Read => Arc::new(LocalFile::open(path)?),
            })
        };
        let opened = Self::open_attempts(reader, &name, &options);
        opened.map_err(|error| error.in_file(&name))
    }

    /// Opens a file that is in memory: `bytes::Bytes`, a vector, an Arrow buffer. It is read zero-copy;
    /// [`OpenOptions::access`] does not matter.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tarsia::arrow_array::{ArrayRef, Int32Array, RecordBatch};
    ///
    /// let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    /// let mut writer = tarsia::Writer::new(Vec::new(), batch.schema(), Default::default())?;
    /// writer.write(&batch)?;
    /// let (bytes, _) = writer.finish_into()?;
    /// let file = tarsia::File::from_bytes(bytes, Default::default())?;
    /// assert_eq!(file.take(&[0, 1, 2]).read()?.column(0), batch.column(0));
    /// # Ok::<(), tarsia::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_bytes(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: OpenOptions,
    ) -> Result<Self> {
        let reader: Arc<dyn ReadAt> = Arc::new(MemoryFile::new(bytes));
        Self::open_attempts(|| Ok(reader.clone()), "<memory>", &options)
    }

    /// Opens anything that can be read at any place. [`OpenOptions::access`] does not matter.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_reader(reader: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Self> {
        Self::open_attempts(|| Ok(reader.clone()), "<reader>", &options)
    }

    /// Opens anything that can be read at any place, as [`File::open_reader`] does. Errors of the file call it by this
    /// name, such as its URL, which must hold nothing secret.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_named(reader: Arc<dyn ReadAt>, name: String, options: OpenOptions) -> Result<Self> {
        let opened = Self::open_attempts(|| Ok(reader.clone()), &name, &options);
        opened.map_err(|error| error.in_file(&name))
    }

    /// Opens what `reader` returns, and again if that was changed meanwhile. A file that was opened anew has its new
    /// length, too.
    fn open_attempts(
        reader: impl Fn() -> Result<Arc<dyn ReadAt>>,
        name: &str,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut attempt = 1;
        loop {
            let open = |reader: Arc<dyn ReadAt>| {
                let source = Source::new(reader, name.to_owned());
                OpenFile::open(source, Session::new(options), options.views())
            };
            let mut may_settle = true;
            let opened = reader().and_then(|reader| {
                // Nobody changes it in place, so what is read is read once, and a version that is gone stays so.
                if reader.is_one_version() {
                    may_settle = false;
                    match open(reader.clone()) {
                        Ok(file) if !file.catalog.erasure_is_pending() => return Ok(file),
                        Err(error)
                            if matches!(error.kind(), ErrorKind::Io | ErrorKind::FileChanged) =>
                        {
                            return Err(error);
                        }
                        _ => {}
                    }
                }
                while_unchanged(&*reader.clone(), || open(as_committed(reader)?))
            });
            match opened {
                Err(error)
                    if error.kind() == ErrorKind::FileChanged
                        && may_settle
                        && attempt < OPEN_ATTEMPTS_MAX =>
                {
                    attempt += 1;
                }
                opened => {
                    return opened.map(|file| Self {
                        file: Arc::new(file),
                    });
                }
            }
        }
    }

    /// Returns what is known of the file, if it was not changed while that was read.
    fn unchanged<T>(&self, known: Result<T>) -> Result<T> {
        let known = known.and_then(|known| self.file.check_unchanged().map(|()| known));
        self.named(known)
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.file.explain(error))
    }

    /// Rows of the table, deleted ones too: they keep their numbers.
    pub fn num_rows(&self) -> u64 {
        self.file.rows()
    }

    /// Rows that were not deleted: those that a scan yields.
    pub fn live_rows(&self) -> u64 {
        self.num_rows().saturating_sub(self.deleted_rows().len())
    }

    /// The rows that were deleted.
    pub fn deleted_rows(&self) -> &RowSet {
        self.file.deleted()
    }

    /// Deleted rows that columns at [`ErasureLevel::Erase`] do not hold any more.
    pub fn erased_rows(&self) -> &RowSet {
        self.file.erased()
    }

    /// Top-level fields.
    pub fn num_columns(&self) -> u32 {
        self.file.catalog.n_columns()
    }

    /// The whole schema, with the metadata of schema and fields. Reads the records of all columns, once.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt),
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    pub fn schema(&self) -> Result<SchemaRef> {
        self.unchanged(self.file.schema().cloned())
    }

    /// Finds what the file still holds of deleted rows, and where. Reads the metadata of all columns; [`File::verify`]
    /// checks that the file is what its metadata say.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn audit(&self) -> Result<Audit> {
        self.unchanged(audit::audit(&self.file))
    }

    /// Plans to erase rows, without changing the file: at [`ErasureLevel::Hide`] readers will not see them any more; at
    /// [`ErasureLevel::Erase`] the columns at that level will not hold them either. Reads the blocks that hold them.
    /// See [`Eraser`](crate::Eraser) for what carries a plan out.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`](crate::ErrorKind::OutOfRange) for rows that the file does not have;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where no column is at that level;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file that needs more than this build knows to be
    /// changed; what reading may meet.
    pub fn plan_erasure(&self, rows: &RowSet, level: ErasureLevel) -> Result<ErasurePlan> {
        self.unchanged(erase::plan(&self.file, rows, level, None))
    }

    /// Plans an erasure with salts from this key, for tests; see
    /// [`WriteOptions::with_salt_key`](crate::WriteOptions::with_salt_key).
    ///
    /// # Errors
    /// As [`File::plan_erasure`].
    pub fn plan_erasure_with_salt_key(
        &self,
        rows: &RowSet,
        level: ErasureLevel,
        key: [u8; 32],
    ) -> Result<ErasurePlan> {
        self.unchanged(erase::plan(&self.file, rows, level, Some(key)))
    }

    /// Compares the certificate of an erasure with this file: its identity, the sets of rows, the columns, the blocks,
    /// and that the file is the one that the erasure left or descends from it. The file is verified, too. Whose
    /// signature the certificate has is for the caller to check.
    ///
    /// # Errors
    /// As [`File::verify`] for a file that is damaged.
    #[cfg(feature = "certificate")]
    pub fn check_certificate(
        &self,
        certificate: &tarsia_compliance::certificate::Certificate,
    ) -> Result<CertificateCheck> {
        self.named(super::certificate::check(&self.file, certificate))
    }

    /// Writes a new file as the planned erasure would leave this one, which is not changed: where a store has no writes
    /// in place. What the erasure does not change is copied without being decoded. The file appears under its name when
    /// it is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn write_erased(&self, plan: ErasurePlan, path: impl AsRef<Path>) -> Result<ErasureReport> {
        let written = FileSink::create(path).map_err(Into::into);
        self.named(written.and_then(|mut sink| erase::rewrite(&self.file, plan, &mut sink)))
    }

    /// Writes the rows that are left into a sink, which is committed.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn write_erased_into(
        &self,
        plan: ErasurePlan,
        sink: &mut dyn Sink,
    ) -> Result<ErasureReport> {
        self.named(erase::rewrite(&self.file, plan, sink))
    }

    /// Writes a new file with the same rows, in which the pages of these columns lie together, in this order and before
    /// all others; names are those of [`WriteOptions::with_column_order`](crate::WriteOptions::with_column_order). The
    /// others follow as they lie in this file. Nothing is decoded: blocks are copied, and compared with their checksums
    /// and digests. Deleted rows stay deleted. The file appears under its name when it is complete.
    ///
    /// The new file has an id of its own, unless that of this one is zero, and no history: a certificate of an erasure
    /// belongs to the old file. Pages of one column keep their order; of several columns those come first that have
    /// earlier rows.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tarsia::arrow_array::{ArrayRef, Int32Array, RecordBatch};
    ///
    /// let column = |first: i32| Arc::new(Int32Array::from_iter_values(first..first + 9)) as ArrayRef;
    /// let batch = RecordBatch::try_from_iter(["a", "b", "c"].map(|name| (name, column(5)))).unwrap();
    /// let mut writer = tarsia::Writer::new(Vec::new(), batch.schema(), Default::default())?;
    /// writer.write(&batch)?;
    /// let file = tarsia::File::from_bytes(writer.finish_into()?.0, Default::default())?;
    ///
    /// let mut bytes = Vec::new();
    /// file.reorder_into(["c", "a"], &mut bytes)?;
    /// let file = tarsia::File::from_bytes(bytes, Default::default())?;
    /// assert_eq!(file.take(&[0, 8]).read()?.num_columns(), 3);
    /// # Ok::<(), tarsia::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`](crate::ErrorKind::NoSuchColumn) for a name that leads nowhere;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for two that lead to the same;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where an erasure was interrupted or has moved blocks;
    /// what reading and writing may meet.
    pub fn reorder(
        &self,
        order: impl IntoIterator<Item = impl Into<String>>,
        path: impl AsRef<Path>,
    ) -> Result<ReorderSummary> {
        match FileSink::create(path) {
            Ok(mut sink) => self.reorder_into(order, &mut sink),
            Err(error) => self.named(Err(error.into())),
        }
    }

    /// Writes a new file as [`File::reorder`] does into a sink, which is committed.
    ///
    /// # Errors
    /// As [`File::reorder`].
    pub fn reorder_into(
        &self,
        order: impl IntoIterator<Item = impl Into<String>>,
        sink: &mut dyn Sink,
    ) -> Result<ReorderSummary> {
        let order: Vec<String> = order.into_iter().map(Into::into).collect();
        self.named(reorder::reorder(&self.file, &order, sink))
    }

    /// Returns what the file says of itself. Reads the header, if opening the file did not need it.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn metadata(&self) -> Result<FileMetadata> {
        self.named(self.file.file_metadata())
    }

    /// Counts what decoded the pages that were read so far. With [`Kernels::Forced`](crate::Kernels::Forced) nothing is
    /// native.
    pub fn decoder_counts(&self) -> DecoderCounts {
        self.file.decoders.counts()
    }

    /// Returns what is known of rows that a scan yields without reading a block: how many there are and, of some
    /// top-level fields (all unless `columns` names some), nulls, bytes, the smallest and the largest value. Flat
    /// fields have these if their columns have zones ([`WriteOptions::with_zones`]). After deletions that left values
    /// in the file they are bounds.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`](crate::ErrorKind::NoSuchColumn), and what reading may meet.
    ///
    /// [`WriteOptions::with_zones`]: crate::WriteOptions::with_zones
    pub fn statistics(&self, columns: Option<&[&str]>) -> Result<Statistics> {
        let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()));
        let columns: Option<Vec<String>> = columns.map(Iterator::collect);
        self.unchanged(statistics::of_file(&self.file, columns.as_deref()))
    }

    /// Describes a scan; see [`ScanBuilder`].
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.file.clone())
    }

    /// Describes a take of single rows, counted from 0, in any order; see [`TakeBuilder`].
    pub fn take<'r>(&self, rows: &'r [u64]) -> TakeBuilder<'r> {
        TakeBuilder::new(self.file.clone(), rows)
    }

    /// Sizes, trees and layout of the whole file. Reads every block's header.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn inspect(&self) -> Result<Inspection> {
        self.unchanged(inspect::file(&self.file))
    }

    /// Inspects the columns of one field, or one column of it, named from the field down with dots
    /// (`user.ids.item`).
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`](crate::ErrorKind::NoSuchColumn), and what reading may meet.
    pub fn inspect_columns(&self, name: &str) -> Result<Vec<ColumnInspection>> {
        let inspect = || {
            let columns = self.file.columns_of(name)?;
            let columns = columns.iter();
            columns
                .map(|column| inspect::column(&self.file, column))
                .collect()
        };
        self.unchanged(inspect())
    }

    /// How the columns are encoded, to write other tables alike ([`WriteOptions::with_layout`]). Reads the metadata of
    /// all columns and no page.
    ///
    /// [`WriteOptions::with_layout`]: crate::WriteOptions::with_layout
    ///
    /// # Errors
    /// What reading may meet.
    pub fn capture_layout(&self) -> Result<CapturedLayout> {
        self.unchanged(capture::layout(&self.file))
    }

    /// Checks every byte of the file (state slots apart) against the digests, that all of it decodes, and that what the
    /// file says of itself is true, since whoever changed it may have computed the digests again: where buckets lead,
    /// checksums of rows, null counts, texts, decimals, what kernels are named for. Where nothing is found, all that
    /// can be asked of the file works. A kernel that is not trusted
    /// ([`OpenOptions::with_trusted_kernels`](crate::OpenOptions::with_trusted_kernels)) is not run: only its form is
    /// checked.
    ///
    /// # Errors
    /// The first thing that is bad, with its place.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.named(verify::all(&self.file, Depth::Values))
    }

    /// Checks every byte of the file (state slots apart) against the checksums and digests, up to the root digest, and
    /// decodes nothing. So it finds every byte that was changed by accident, several times as fast as [`File::verify`];
    /// but not what a writer did wrong, nor what was changed by someone who computed the digests again.
    ///
    /// # Errors
    /// The first thing that is bad, with its place.
    pub fn verify_digests(&self) -> Result<VerifyReport> {
        self.named(verify::all(&self.file, Depth::Digests))
    }

    /// Checks one field, or one column of it, named from the field down with dots.
    ///
    /// # Errors
    /// As [`File::verify`], and [`ErrorKind::NoSuchColumn`](crate::ErrorKind::NoSuchColumn).
    pub fn verify_column(&self, name: &str) -> Result<VerifyReport> {
        self.unchanged(verify::named(&self.file, name))
    }

    /// Checks one page of a column, which a nested field's name is not enough for; pages count from 0.
    ///
    /// # Errors
    /// As [`File::verify_column`], and [`ErrorKind::OutOfRange`](crate::ErrorKind::OutOfRange).
    pub fn verify_page(&self, name: &str, page: usize) -> Result<VerifyReport> {
        let column = self.file.column(name);
        let page = column.and_then(|column| verify::page(&self.file, &column, page));
        self.unchanged(page)
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("name", &self.file.source.name())
            .field("rows", &self.num_rows())
            .finish_non_exhaustive()
    }
}
