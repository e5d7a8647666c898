//! Journals of interrupted erasures: of which file they are, and the records that they keep.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tarsia::io::OnBusy;
use tarsia::{
    Access, Eraser, ErasureLevel, ErrorKind, File, OpenOptions, Recovery, RowSet, WriteOptions,
    Writer, recover, recover_with,
};
use tarsia_metadata::{Header, SlotState};

const SLOTS: std::ops::Range<usize> = 64..192;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, content: &[u8]) -> PathBuf {
        let path = self.0.path().join("t.tarsia");
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// A new file; each has another id.
pub(crate) fn written() -> Vec<u8> {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..3000).map(|i| i * i % 911)));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let folder = Folder::new();
    let path = folder.file(b"");
    let options = WriteOptions::new().with_erasure(ErasureLevel::Erase);
    let mut writer = Writer::create(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    std::fs::read(&path).unwrap()
}

fn eraser(path: &Path) -> Eraser {
    Eraser::open(path, OnBusy::Refuse, OpenOptions::new()).unwrap()
}

/// The file after an erasure, and as it is while the record is published: in state JOURNAL.
pub(crate) fn erased(
    old: &[u8],
    rows: &[u64],
    level: ErasureLevel,
    record: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let folder = Folder::new();
    let path = folder.file(old);
    let eraser = eraser(&path);
    let plan = eraser.plan(&rows.iter().copied().collect(), level).unwrap();
    let mut interrupted = Vec::new();
    let mut publish = || {
        interrupted = std::fs::read(&path)?;
        Ok(())
    };
    eraser
        .commit_with(plan, record.to_vec(), &mut publish)
        .unwrap();
    (std::fs::read(&path).unwrap(), interrupted)
}

/// A file with the slots and the journal of another one, of which no change is applied.
fn grafted(base: &[u8], interrupted: &[u8]) -> Vec<u8> {
    let slot = Header::parse(interrupted)
        .unwrap()
        .current_slot()
        .unwrap()
        .unwrap();
    let SlotState::Journal { place, length, .. } = slot.state else {
        panic!("{slot:?}");
    };
    let (place, end) = (place as usize, (place + length) as usize);
    let mut bytes = base.to_vec();
    bytes[SLOTS].copy_from_slice(&interrupted[SLOTS]);
    bytes.resize(place, 0);
    bytes.extend_from_slice(&interrupted[place..end]);
    bytes
}

#[track_caller]
fn check_refused(content: &[u8]) {
    let folder = Folder::new();
    let path = folder.file(content);
    let open = |access| {
        let options = OpenOptions::new().with_access(access);
        File::open_with(&path, options).unwrap_err()
    };
    let mut publish = |_: &[u8]| panic!("published");
    for error in [
        open(Access::Read),
        open(Access::Map),
        recover(&path, OnBusy::Refuse).unwrap_err(),
        recover_with(&path, OnBusy::Refuse, &mut publish).unwrap_err(),
        Eraser::open(&path, OnBusy::Refuse, OpenOptions::new()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("is of another file, or of another state"),
            "{text}"
        );
        assert!(std::fs::read(&path).unwrap() == content, "{text}");
    }
}

#[test]
fn journals_of_other_files_forks_and_older_states_are_refused() {
    let (first, second) = (written(), written());
    assert_eq!(first.len(), second.len());
    let rows: Vec<u64> = (100..200).collect();
    let (_, interrupted) = erased(&first, &rows, ErasureLevel::Erase, b"proof");
    // Where it is from, it is finished.
    let folder = Folder::new();
    let path = folder.file(&grafted(&first, &interrupted));
    let found = recover(&path, OnBusy::Refuse).unwrap();
    assert!(
        matches!(found, Recovery::Finished { epoch: 3, .. }),
        "{found:?}"
    );
    File::open(&path).unwrap().verify().unwrap();

    check_refused(&grafted(&second, &interrupted));
    // Two copies of one file of one epoch and one length, of which other rows were erased.
    let (left, _) = erased(&first, &[5], ErasureLevel::Hide, b"");
    let (right, _) = erased(&first, &[6], ErasureLevel::Hide, b"");
    assert_eq!(left.len(), right.len());
    let (_, of_left) = erased(&left, &rows, ErasureLevel::Erase, b"");
    check_refused(&grafted(&right, &of_left));
    // The file itself, before and after.
    check_refused(&grafted(&left, &interrupted));
    check_refused(&grafted(&first, &of_left));
}

#[test]
fn a_record_is_kept_until_it_is_published() {
    let first = written();
    let rows: Vec<u64> = (100..200).collect();
    let expect: RowSet = rows.iter().copied().collect();
    let (after, interrupted) = erased(&first, &rows, ErasureLevel::Erase, b"proof");
    let folder = Folder::new();
    // Before the changes are applied, and after.
    for content in [grafted(&first, &interrupted), interrupted] {
        let path = folder.file(&content);
        // Readers see the rows erased.
        assert_eq!(*File::open(&path).unwrap().deleted_rows(), expect);
        let refused = Eraser::open(&path, OnBusy::Refuse, OpenOptions::new()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert!(
            refused
                .to_string()
                .contains("tarsia recover FILE --certificate OUT")
        );
        assert!(std::fs::read(&path).unwrap() == content);
        let mut fail = |_: &[u8]| Err(std::io::Error::other("no room").into());
        let failed = recover_with(&path, OnBusy::Refuse, &mut fail).unwrap_err();
        assert!(failed.to_string().contains("no room"), "{failed}");
        let mut told = Vec::new();
        let mut publish = |record: &[u8]| {
            told.push(record.to_vec());
            Ok(())
        };
        let found = recover_with(&path, OnBusy::Refuse, &mut publish).unwrap();
        assert!(matches!(found, Recovery::Finished { .. }), "{found:?}");
        let again = recover_with(&path, OnBusy::Refuse, &mut publish).unwrap();
        assert_eq!(again, Recovery::Clean);
        assert_eq!(told, [b"proof"]);
        assert!(std::fs::read(&path).unwrap() == after);
        drop(eraser(&path));
    }
    // Nothing to publish: whoever erases next finishes it.
    let (after, interrupted) = erased(&first, &rows, ErasureLevel::Hide, b"");
    let path = folder.file(&interrupted);
    assert!(matches!(
        eraser(&path).recovery(),
        Recovery::Finished { .. }
    ));
    assert!(std::fs::read(&path).unwrap() == after);
}

#[test]
fn a_certificate_that_cannot_be_written_stays_in_the_journal() {
    let folder = Folder::new();
    let path = folder.file(&written());
    let eraser = eraser(&path);
    let rows: RowSet = (7..9).collect();
    let plan = eraser.plan(&rows, ErasureLevel::Erase).unwrap();
    let promised = plan.report().clone();
    assert_eq!(promised.summary.rows_erased, 2);
    let mut fail = || Err(std::io::Error::other("no room").into());
    let error = eraser.commit_with(plan, vec![1], &mut fail).unwrap_err();
    let text = error.to_string();
    let expect = "the changes count, and recovery finishes them: no room";
    assert!(text.contains(expect), "{text}");
    // Readers see what counts, and no eraser throws the record away.
    let file = File::open(&path).unwrap();
    assert_eq!(*file.deleted_rows(), rows);
    drop(file);
    let error = Eraser::open(&path, OnBusy::Refuse, OpenOptions::new()).unwrap_err();
    assert!(error.to_string().contains("recover"), "{error}");
    let mut records = Vec::new();
    let mut publish = |record: &[u8]| {
        records.push(record.to_vec());
        Ok(())
    };
    recover_with(&path, OnBusy::Refuse, &mut publish).unwrap();
    assert_eq!(records, [[1]]);
    let file = File::open(&path).unwrap();
    let metadata = file.metadata().unwrap();
    assert_eq!(
        (metadata.root_digest, metadata.epoch),
        (promised.new_root, promised.new_epoch)
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_before_the_commit_is_not_changed() {
    let folder = Folder::new();
    let old = written();
    let path = folder.file(&old);
    let aside = path.with_file_name("aside");
    for is_replaced in [true, false] {
        let eraser = eraser(&path);
        let plan = eraser.plan(&(7..9).collect(), ErasureLevel::Erase).unwrap();
        std::fs::rename(&path, &aside).unwrap();
        if is_replaced {
            std::fs::copy(&aside, &path).unwrap();
        }
        let mut publish = || panic!("published");
        let error = eraser.commit_with(plan, vec![1], &mut publish).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileChanged, "{error}");
        assert!(
            error
                .to_string()
                .contains("was replaced, renamed or removed"),
            "{error}"
        );
        assert!(std::fs::read(&aside).unwrap() == old);
        std::fs::rename(&aside, &path).unwrap();
    }
}
