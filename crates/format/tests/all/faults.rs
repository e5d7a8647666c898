//! Disks that fail: an I/O error that says so, and never half a file under the name that was asked for.

use std::sync::Arc;

use crate::common::{assert_rows, deterministic, read_all, write};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::{ErrorKind, File, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_io::{MemoryFile, MemorySink};
use tarsia_testkit::faults::{FailingReader, FailingSink};

fn table() -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        (
            "n",
            Arc::new(Int64Array::from_iter_values(
                (0..5000).map(|i| i * 7919 % 5000),
            )),
        ),
        (
            "s",
            Arc::new(StringArray::from_iter_values(
                (0..5000).map(|i| format!("{}", i * 31)),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn options() -> WriteOptions {
    deterministic().with_page_bytes(10_000)
}

#[test]
fn a_sink_that_fails_anywhere_leaves_no_file() {
    let table = table();
    let whole = write(table.schema(), std::slice::from_ref(&table), options());
    let write_to = |sink: FailingSink<MemorySink>| -> tarsia::Result<()> {
        let mut writer = Writer::new(sink, table.schema(), options())?;
        writer.write(&table)?;
        writer.finish().map(drop)
    };
    for at_byte in (0..whole.len() as u64).step_by(997) {
        let sink = MemorySink::new();
        let handle = sink.handle();
        let error = write_to(FailingSink::new(sink).fail_at_byte(at_byte)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "byte {at_byte}: {error}");
        assert!(handle.take().is_none());
    }
    let sink = MemorySink::new();
    let handle = sink.handle();
    assert_eq!(
        write_to(FailingSink::new(sink).fail_on_commit())
            .unwrap_err()
            .kind(),
        ErrorKind::Io
    );
    assert!(handle.take().is_none());
}

#[test]
fn a_sink_that_cannot_go_back_makes_a_readable_file() {
    let table = table();
    let sink = MemorySink::new();
    let handle = sink.handle();
    let sink = FailingSink::new(sink).append_only();
    let mut writer = Writer::new(sink, table.schema(), options()).unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    let bytes = handle.take().unwrap();
    assert!(
        bytes[64..192].iter().all(|byte| *byte == 0),
        "both slots stay empty"
    );
    let file = File::open_reader(Arc::new(MemoryFile::new(bytes)), OpenOptions::default()).unwrap();
    assert_rows(&read_all(&file).unwrap(), &table);
    file.verify().unwrap();
}

#[test]
fn a_dropped_or_failed_writer_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    std::fs::write(&path, b"the old one").unwrap();
    let table = table();
    let mut writer = Writer::create(&path, table.schema(), options()).unwrap();
    writer.write(&table).unwrap();
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), b"the old one");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("no such folder/t.tarsia");
    let error = match Writer::create(&missing, table.schema(), options()) {
        Err(error) => error,
        Ok(_) => panic!("created in a folder that does not exist"),
    };
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("no such folder"), "{error}");
}

#[test]
fn a_reader_that_fails_at_any_call_gives_an_error_or_the_rows() {
    let table = table();
    let bytes = write(table.schema(), std::slice::from_ref(&table), options());
    let open = |call: u64| -> tarsia::Result<Vec<RecordBatch>> {
        let reader = FailingReader::new(MemoryFile::new(bytes.clone())).fail_call(call);
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = File::open_reader(Arc::new(reader), options)?;
        let batches = read_all(&file)?;
        file.verify()?;
        Ok(batches)
    };
    let mut n_failed = 0;
    for call in 0..10_000 {
        match open(call) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "call {call}: {error}");
                n_failed += 1;
            }
            // The fault lies behind the last read.
            Ok(batches) => {
                assert_rows(&batches, &table);
                break;
            }
        }
    }
    assert!(n_failed > 10, "{n_failed}");
}

#[test]
fn a_file_that_changes_while_it_is_open_is_noticed() {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let table = table();
    let mut writer = Writer::create(&path, table.schema(), options()).unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    let options = OpenOptions::new().with_access(tarsia::Access::Read);
    let file = File::open_with(&path, options).unwrap();
    file.take(&[1]).read().unwrap();
    let mut raw = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // As an eraser would: the other slot is written.
    raw.seek(SeekFrom::Start(128)).unwrap();
    raw.write_all(&[1; 64]).unwrap();
    // Windows may show the new time of modification only then.
    drop(raw);
    assert_eq!(
        file.take(&[1]).read().unwrap_err().kind(),
        ErrorKind::FileChanged
    );
    assert_eq!(
        file.scan().build().unwrap().read_all().unwrap_err().kind(),
        ErrorKind::FileChanged
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_others_change_is_busy_or_changed_not_damaged() {
    use std::os::unix::fs::FileExt as _;
    use tarsia::io::{Conflict, ExclusiveFile, OnBusy};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tarsia");
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();

    // Zero-copy readers and changes in place exclude each other.
    let mapped = File::open(&path).unwrap();
    let refused = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap_err();
    assert!(matches!(
        Conflict::of(&refused),
        Some(Conflict::InUse { .. })
    ));
    drop(mapped);
    // Another program that asks for no lock: a scan of the map says so at its end, once.
    let mapped = File::open(&path).unwrap();
    let mut scan = mapped.scan().build().unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let raw = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    raw.set_modified(later).unwrap();
    let last = scan.by_ref().last().unwrap().unwrap_err();
    assert_eq!(tarsia::Error::from(last).kind(), ErrorKind::FileChanged);
    assert!(scan.next().is_none());
    drop((scan, mapped));
    let exclusive = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
    let busy = File::open(&path).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");

    // A reader by position needs no lock, and notices.
    let options = OpenOptions::new().with_access(tarsia::Access::Read);
    let file = File::open_with(&path, options).unwrap();
    assert_eq!(file.take(&[5]).read().unwrap().num_rows(), 1);
    drop(exclusive);
    let raw = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    raw.write_all_at(&[0xff; 4096], 300).unwrap();
    raw.set_len(raw.metadata().unwrap().len() - 8).unwrap();
    let changed = file.take(&[5]).read().unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::FileChanged, "{changed}");
    let changed = file.verify().unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::FileChanged, "{changed}");
}
