//! Erasing rows of a local file in place.

use std::path::Path;
use std::sync::Arc;

use tarsia_compliance::RowSet;
use tarsia_io::{ExclusiveFile, OnBusy};
use tarsia_metadata::ErasureLevel;

use super::file::File;
use crate::erase::{self, ErasurePlan, ErasureReport, Recovery};
use crate::error::{Error, ErrorKind, Result};
use crate::options::OpenOptions;

/// A local file that is locked to be changed in place.
///
/// An interruption leaves the file as it was before or as it is after; whoever opens it for erasing next finishes or
/// drops what was begun. Readers that have it mapped keep it from being locked ([`OnBusy`]); those that read it by
/// position notice the change ([`ErrorKind::FileChanged`]).
///
/// "Gone" means that no byte of the file was computed from an erased value; `docs/spec/erasure.md` says what that
/// covers. Copies elsewhere are out of reach: backups, snapshots, blocks that a disk keeps under another number.
///
/// ```
/// use std::sync::Arc;
/// use tarsia::arrow_array::{ArrayRef, RecordBatch, UInt64Array};
/// use tarsia::io::OnBusy;
/// use tarsia::{ErasureLevel, Eraser, File, RowSet, WriteOptions, Writer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let users: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..10_000).map(|i| i / 100)));
/// let batch = RecordBatch::try_from_iter([("user", users)])?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("clicks.tarsia");
/// let options = WriteOptions::new().with_erasure(ErasureLevel::Erase);
/// let mut writer = Writer::create(&path, batch.schema(), options)?;
/// writer.write(&batch)?;
/// writer.finish()?;
///
/// let eraser = Eraser::open(&path, OnBusy::Refuse, Default::default())?;
/// // User 42.
/// let rows: RowSet = (4200..4300).collect();
/// let plan = eraser.plan(&rows, ErasureLevel::Erase)?;
/// println!("{} blocks", plan.summary().blocks);
/// let report = eraser.commit(plan)?;
/// assert_eq!(report.summary.rows_erased, 100);
///
/// let file = File::open(&path)?;
/// assert_eq!((file.num_rows(), file.live_rows()), (10_000, 9_900));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Eraser {
    file: File,
    locked: Arc<ExclusiveFile>,
    recovery: Recovery,
    name: String,
}

impl Eraser {
    /// Locks a file, and finishes or drops what an interrupted erasure left.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] where others use the file and `on_busy` does not say otherwise;
    /// [`ErrorKind::Unsupported`] for a file that needs more than this build knows to be changed; as
    /// [`File::open`](crate::File::open).
    pub fn open(path: impl AsRef<Path>, on_busy: OnBusy, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let open = || -> Result<Self> {
            let mut locked = ExclusiveFile::open(path, on_busy)?;
            let recovery = erase::recover(&mut locked)?;
            let locked = Arc::new(locked);
            let file = File::open_named(locked.clone(), name.clone(), options)?;
            Ok(Self {
                file,
                locked,
                recovery,
                name: name.clone(),
            })
        };
        open().map_err(|error| error.in_file(&name))
    }

    /// The file, to find the rows. Drop what was read of it before the commit.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What was found of an interrupted erasure.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Plans to erase rows; as [`File::plan_erasure`].
    ///
    /// # Errors
    /// As [`File::plan_erasure`].
    pub fn plan(&self, rows: &RowSet, level: ErasureLevel) -> Result<ErasurePlan> {
        self.file.plan_erasure(rows, level)
    }

    /// Carries out a plan of [`Eraser::plan`]: journal, commit point, changes, each on the disk before the next. Then
    /// the lock ends.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]: the text says whether the changes count; [`ErrorKind::InvalidInput`] while clones of
    /// [`Eraser::file`] or scans of it are left, and for a plan of another file.
    pub fn commit(self, plan: ErasurePlan) -> Result<ErasureReport> {
        let Self {
            file, locked, name, ..
        } = self;
        let commit = || -> Result<ErasureReport> {
            let metadata = file.metadata();
            if plan.old_root() != metadata.root_digest || plan.old_epoch() != metadata.epoch {
                let what = "the plan was made for another file, or before another erasure";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            drop(file);
            let in_use = || {
                let what = "the file is still read by clones of it or by scans";
                Error::new(ErrorKind::InvalidInput, what)
            };
            let mut locked = Arc::into_inner(locked).ok_or_else(in_use)?;
            erase::commit(&mut locked, plan)
        };
        commit().map_err(|error| error.in_file(&name))
    }
}

/// Finishes an erasure of a local file that was interrupted after its commit point, or removes what one left that was
/// interrupted before it. Afterwards all of the file is on the disk.
///
/// # Errors
/// As [`Eraser::open`].
pub fn recover(path: impl AsRef<Path>, on_busy: OnBusy) -> Result<Recovery> {
    let path = path.as_ref();
    let recover = || erase::recover(&mut ExclusiveFile::open(path, on_busy)?);
    recover().map_err(|error: Error| error.in_file(&path.display().to_string()))
}
