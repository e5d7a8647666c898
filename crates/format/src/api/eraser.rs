//! Erasing rows of a local file in place.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// [`ErrorKind::InvalidInput`] where an interrupted erasure left a record that was not published
    /// ([`Eraser::commit_with`]): [`recover_with`] publishes it, [`recover`] drops it; [`ErrorKind::Unsupported`] for a
    /// file that needs more than this build knows to be changed; [`ErrorKind::Corrupt`] for a journal that is not of
    /// this state of this file; as [`File::open`](crate::File::open).
    pub fn open(path: impl AsRef<Path>, on_busy: OnBusy, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let open = || -> Result<Self> {
            let mut locked = ExclusiveFile::open(path, on_busy)?;
            if !erase::pending_record(&locked)?.is_empty() {
                return Err(Error::new(ErrorKind::InvalidInput, RECORD_IS_LEFT));
            }
            let recovery = erase::recover(&mut locked, &mut |_| Ok(()))?;
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

    /// Says what was found of an interrupted erasure.
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
    /// the lock ends. A plan that [changes nothing](ErasurePlan::is_empty) writes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]: the text says whether the changes count; [`ErrorKind::FileChanged`] where the file was
    /// replaced, renamed or removed meanwhile: as before, and if that was before the commit point, then nothing has
    /// changed; [`ErrorKind::InvalidInput`] while clones of [`Eraser::file`] or scans of it are left, and for a plan of
    /// another file.
    pub fn commit(self, plan: ErasurePlan) -> Result<ErasureReport> {
        self.commit_with(plan, Vec::new(), &mut || Ok(()))
    }

    /// Carries out a plan and publishes what proves it, such as a certificate made of [`ErasurePlan::report`].
    ///
    /// The journal keeps `record`, of at most 1 GiB. `publish` runs when the changes are on the disk, and before the
    /// journal is dropped. So whatever interrupts the erasure: if it counts, then `publish` has returned, or the file
    /// still has the record, which [`recover_with`] publishes. `record` must hold nothing that is erased.
    ///
    /// # Errors
    /// As [`Eraser::commit`]; [`ErrorKind::LimitExceeded`] for a longer record. What `publish` returns: the changes
    /// count then, as the text says, and the journal stays until [`recover_with`] has published the record.
    pub fn commit_with(
        self,
        plan: ErasurePlan,
        record: Vec<u8>,
        publish: &mut dyn FnMut() -> Result<()>,
    ) -> Result<ErasureReport> {
        let Self {
            file, locked, name, ..
        } = self;
        let commit = || -> Result<ErasureReport> {
            let metadata = file.metadata()?;
            if plan.old_root() != metadata.root_digest || plan.old_epoch() != metadata.epoch {
                let what = "the plan was made for another file, or before another erasure";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            drop(file);
            let in_use = || {
                let what = "the file is still read by clones of it or by scans";
                Error::new(ErrorKind::InvalidInput, what)
            };
            let mut locked = only_one(locked).ok_or_else(in_use)?;
            if plan.is_empty() {
                publish()?;
                return Ok(plan.into_report());
            }
            erase::commit(&mut locked, plan, record, publish)
        };
        commit().map_err(|error| error.in_file(&name))
    }
}

/// Longest wait for threads that let go of a file. A scan may be dropped while others decode rows of it.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(3);

/// The file, if nobody else has it: threads that decoded the last rows of a scan may have it for a moment longer.
fn only_one<T>(locked: Arc<T>) -> Option<T> {
    let begun = Instant::now();
    while Arc::strong_count(&locked) > 1 && begun.elapsed() < RELEASE_TIME_MAX {
        std::thread::sleep(Duration::from_micros(200));
    }
    Arc::into_inner(locked)
}

/// Error of [`Eraser::open`] for a record that was not published.
const RECORD_IS_LEFT: &str = "an interrupted erasure has a certificate that was not written: \
    run `tarsia recover FILE --certificate OUT` first, or `tarsia recover FILE` to go without it";

/// Finishes an erasure of a local file that was interrupted after its commit point, or removes what one left that was
/// interrupted before it. Afterwards all of the file is on the disk. A record that was not published
/// ([`Eraser::commit_with`]) is dropped.
///
/// # Errors
/// [`ErrorKind::Busy`] where others use the file and `on_busy` does not say otherwise; [`ErrorKind::Corrupt`] for a
/// damaged header or journal, and for a journal that is not of this state of this file; [`ErrorKind::Unsupported`] for
/// a file that needs more than this build knows to be changed; [`ErrorKind::FileChanged`] where the file was replaced
/// meanwhile; [`ErrorKind::Io`]. If nothing else is said, recovery can be done again.
pub fn recover(path: impl AsRef<Path>, on_busy: OnBusy) -> Result<Recovery> {
    recover_with(path, on_busy, &mut |_| Ok(()))
}

/// Recovers a file without losing what proves the erasure: if an erasure is finished, then `publish` gets the record
/// that was given to [`Eraser::commit_with`], empty if there was none. The changes are on the disk then, and the
/// journal with the record is still there. `publish` may have had the same record before, from the erasure or from a
/// recovery that was interrupted.
///
/// # Errors
/// As [`recover`]. What `publish` returns: the erasure is not finished then, and the record stays, for another try.
pub fn recover_with(
    path: impl AsRef<Path>,
    on_busy: OnBusy,
    publish: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Recovery> {
    let path = path.as_ref();
    let file = ExclusiveFile::open(path, on_busy).map_err(Error::from);
    let recovered = file.and_then(|mut file| erase::recover(&mut file, publish));
    recovered.map_err(|error: Error| error.in_file(&path.display().to_string()))
}
