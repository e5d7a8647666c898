//! Metadata of files that are kept between opens.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tarsia_io::{LocalFile, ReadAt};

use super::file::File;
use crate::error::Result;
use crate::exec::{Known, OpenFile};
use crate::options::OpenOptions;
use crate::session::Session;
use crate::source::Source;

/// Bytes that parsed metadata take for each byte of the file that they were read from, about.
const PARSED_FACTOR: u64 = 3;

/// Bytes of an entry without metadata, about.
const ENTRY_BYTES: u64 = 4 << 10;

/// Metadata of files between opens. A file that is opened again, and has not changed, is not parsed again: its footer,
/// the records and block tables that were read so far, dictionaries and decoders are those of before. It may be open
/// several times; all of these opens share them.
///
/// A version of a file is known by its name and by what its reader says of the content ([`ReadAt::version`]): the ETag
/// of an object; for a local file its number in the file system, its length and its times, after which the header (file
/// id, epoch) is compared. Nothing is kept of files without a version (objects without a strong ETag, local files on
/// other systems than Unix), and of those whose last erasure was interrupted. One version is kept of each name.
///
/// What is kept takes about as many bytes as it is made for, counted as three times the metadata read and the decoded
/// dictionaries; what was not used for longest is dropped first. Bytes of rows are not kept, and no file stays open.
///
/// ```
/// # use std::sync::Arc;
/// # use tarsia::arrow_array::{ArrayRef, Int32Array, RecordBatch};
/// # use tarsia::{FileCache, OpenOptions, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.tarsia");
/// # let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", column)])?;
/// # let mut writer = Writer::create(&path, batch.schema(), Default::default())?;
/// # writer.write(&batch)?;
/// # writer.finish()?;
/// let cache = FileCache::new(64 << 20, OpenOptions::default());
/// for _ in 0..2 {
///     assert_eq!(cache.open(&path)?.num_rows(), 3);
/// }
/// assert_eq!(cache.len(), if cfg!(unix) { 1 } else { 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileCache {
    options: OpenOptions,
    bytes_max: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By name.
    entries: HashMap<String, Entry>,
    /// Number of the last use.
    clock: u64,
}

struct Entry {
    version: String,
    /// Whether its files are in memory: then less is kept of them.
    is_mapped: bool,
    known: Known,
    /// Number of its last use.
    used: u64,
}

impl FileCache {
    /// A cache of about this many bytes. All files are opened with these options, but local files are read by position,
    /// never mapped.
    pub fn new(bytes_max: u64, options: OpenOptions) -> Self {
        Self {
            options,
            bytes_max,
            kept: Mutex::default(),
        }
    }

    /// Opens a local file.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match LocalFile::open(path) {
            Ok(reader) => self.open_reader(&name, Arc::new(reader)),
            Err(error) => Err(crate::Error::from(error).in_file(&name)),
        }
    }

    /// Opens what a reader reads. The name is that of the file in errors, and tells files apart, such as an URL without
    /// anything secret: the versions of one name are those of one file.
    ///
    /// If this version is known, and its reader says that it reads one version alone, nothing is read. So an object
    /// whose state the caller knows, from a list or a question for it, is opened without a further request.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_reader(&self, name: &str, reader: Arc<dyn ReadAt>) -> Result<File> {
        let version = reader.version();
        let is_mapped = reader.mapped().is_some();
        if let Some(version) = &version
            && let Some(known) = self.find(name, version, is_mapped)
        {
            let source = Source::new(reader.clone(), name.to_owned());
            let file = OpenFile::of_known(source, Session::new(&self.options), known);
            // A file that somebody changes in place may be another one within the clock's resolution.
            if reader.is_one_version() || file.check_unchanged().is_ok() {
                let file = Arc::new(file);
                return Ok(File { file });
            }
        }
        let opened = File::open_named(reader, name.to_owned(), self.options.clone())?;
        if let Some(version) = version
            && !opened.file.catalog.erasure_is_pending()
        {
            self.keep(name, version, is_mapped, opened.file.known());
        }
        Ok(opened)
    }

    /// Returns how many bytes are kept, about.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes()
    }

    /// Returns of how many files something is kept.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Returns whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops what is kept. Open files are not touched.
    pub fn clear(&self) {
        self.lock().entries.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Entries are changed whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str, version: &str, is_mapped: bool) -> Option<Known> {
        let mut kept = self.lock();
        let used = kept.tick();
        let entry = kept.entries.get_mut(name)?;
        if entry.version != version || entry.is_mapped != is_mapped {
            return None;
        }
        entry.used = used;
        Some(entry.known.clone())
    }

    /// Keeps a version in place of an older one, and drops what is too much.
    fn keep(&self, name: &str, version: String, is_mapped: bool, known: Known) {
        let mut kept = self.lock();
        let entry = Entry {
            version,
            is_mapped,
            known,
            used: kept.tick(),
        };
        kept.entries.insert(name.to_owned(), entry);
        kept.shrink(self.bytes_max);
    }
}

impl Kept {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn bytes(&self) -> u64 {
        let bytes = self.entries.iter().map(|(name, entry)| entry.bytes(name));
        bytes.fold(0, u64::saturating_add)
    }

    /// Drops the entries that were not used for longest. Entries grow while their files are read, so all are counted.
    fn shrink(&mut self, bytes_max: u64) {
        let mut bytes = self.bytes();
        if bytes <= bytes_max {
            return;
        }
        let entries = self.entries.iter();
        let mut by_age: Vec<_> = entries
            .map(|(name, entry)| (entry.used, name.clone(), entry.bytes(name)))
            .collect();
        by_age.sort_unstable();
        for (_, name, of_entry) in by_age {
            if bytes <= bytes_max {
                return;
            }
            self.entries.remove(&name);
            bytes = bytes.saturating_sub(of_entry);
        }
    }
}

impl Entry {
    fn bytes(&self, name: &str) -> u64 {
        let parsed = self.known.kept_bytes().saturating_mul(PARSED_FACTOR);
        let texts = (name.len() + self.version.len()) as u64;
        parsed.saturating_add(texts).saturating_add(ENTRY_BYTES)
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("files", &self.entries.len())
            .field("bytes", &self.bytes())
            .finish()
    }
}
