//! Pools of threads that are given, and scans that are cancelled.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::{ErrorKind, File, OpenOptions, ThreadPool, Threads};
use tarsia_io::ReadAt;

use crate::common::{assert_rows, deterministic, open, open_with, read_all, write};

/// Enough rows that a scan wakes other threads.
fn table() -> RecordBatch {
    let rows = 0..200_000i64;
    let texts = rows
        .clone()
        .map(|row| format!("row {}", row * 7919 % 100_003));
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        (
            "hash",
            Arc::new(Int64Array::from_iter_values(
                rows.map(|row| row.wrapping_mul(0x1e37_79b9_7f4a_7c15)),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A file in memory that is read by position, and the names of the threads that read it.
struct Recorded {
    bytes: Vec<u8>,
    names: Mutex<HashSet<String>>,
}

impl ReadAt for Recorded {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        self.names.lock().unwrap().insert(name);
        let place = place as usize;
        let bytes = self.bytes.get(place..place + buf.len());
        buf.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[test]
fn scans_and_writers_use_the_pool_that_they_are_given() {
    let batch = table();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let pool = ThreadPool::new(3).unwrap();
    let threads = || Threads::Of(pool.clone());
    let options = deterministic().with_threads(threads());
    assert!(write(batch.schema(), std::slice::from_ref(&batch), options) == bytes);
    let of_test = std::thread::current().name().unwrap().to_owned();
    for threads in [threads(), Threads::All] {
        let recorded = Arc::new(Recorded {
            bytes: bytes.clone(),
            names: Mutex::default(),
        });
        let options = OpenOptions::new().with_threads(threads);
        let file = File::open_reader(recorded.clone(), options).unwrap();
        let batches = file.scan().batch_rows(8192).build().unwrap();
        assert_rows(&batches.read_all().unwrap(), &batch);
        file.verify().unwrap();
        let names = recorded.names.lock().unwrap();
        let others: Vec<_> = names.iter().filter(|name| **name != of_test).collect();
        assert!(!others.is_empty());
        assert!(
            others.iter().all(|name| name.starts_with("tarsia-")),
            "{others:?}"
        );
    }
}

#[test]
fn a_scan_is_cancelled_by_another_thread() {
    let batch = table();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let pools = [
        Threads::One,
        Threads::All,
        Threads::Of(ThreadPool::new(2).unwrap()),
    ];
    for threads in pools {
        let file = open_with(&bytes, OpenOptions::new().with_threads(threads)).unwrap();
        let mut scan = file.scan().batch_rows(1000).build().unwrap();
        let other = file.scan().build().unwrap();
        assert_eq!(scan.next().unwrap().unwrap().num_rows(), 1000);
        let handle = scan.cancel_handle();
        std::thread::spawn(move || handle.clone().cancel())
            .join()
            .unwrap();
        let error = tarsia::Error::from(scan.next().unwrap().unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert!(scan.next().is_none());
        // Others go on.
        assert_rows(&other.read_all().unwrap(), &batch);
    }
    // Before the first batch, and behind the last.
    let file = open(&bytes).unwrap();
    let scan = file.scan().build().unwrap();
    scan.cancel_handle().cancel();
    assert_eq!(scan.read_all().unwrap_err().kind(), ErrorKind::Cancelled);
    let mut scan = file.scan().build().unwrap();
    assert_eq!(
        scan.by_ref()
            .map(|batch| batch.unwrap().num_rows())
            .sum::<usize>(),
        200_000
    );
    scan.cancel_handle().cancel();
    assert!(scan.next().is_none_or(|batch| batch.is_err()));
    assert_rows(&read_all(&file).unwrap(), &batch);
}
