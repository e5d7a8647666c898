//! Scans as streams: all rows in order, errors that end them, a scan that stops with its stream.

mod files;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use futures_core::FusedStream;
use futures_util::StreamExt;
use tarsia::io::ReadAt;
use tarsia::{ErrorKind, File, OpenOptions, WriteOptions, Writer};
use tempfile::TempDir;

const N_ROWS: u64 = 200_000;

/// Numbers that no encoding makes small, so that a file has many blocks.
fn id(row: u64) -> u64 {
    let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

fn written() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids.tarsia");
    let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..N_ROWS).map(id)));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    (folder, path)
}

#[tokio::test]
async fn a_stream_gives_all_rows_in_order() {
    let (_folder, path) = written();
    let file = tarsia_tokio::run(move || File::open(path))
        .await
        .unwrap()
        .unwrap();
    let mut batches = tarsia_tokio::stream(file.scan().batch_rows(1000), 2);
    let mut next = 0;
    while let Some(batch) = batches.next().await {
        for value in batch
            .unwrap()
            .column(0)
            .as_primitive::<UInt64Type>()
            .values()
        {
            assert_eq!(*value, id(next));
            next += 1;
        }
    }
    assert_eq!(next, N_ROWS);
    assert!(batches.is_terminated());
    assert!(batches.next().await.is_none());
}

#[tokio::test]
async fn a_scan_that_cannot_begin_is_one_error() {
    let (_folder, path) = written();
    let file = File::open(path).unwrap();
    let mut batches = tarsia_tokio::stream(file.scan().columns(&["no such column"]), 2);
    let error = tarsia::Error::from(batches.next().await.unwrap().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::NoSuchColumn);
    assert!(batches.next().await.is_none());
}

/// Bytes that count how many of them were read, and fail or panic from a number on.
struct Counted {
    bytes: Vec<u8>,
    n_read: AtomicU64,
    panic_from: u64,
}

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> std::io::Result<()> {
        let before = self.n_read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        assert!(before < self.panic_from, "planted");
        let start = usize::try_from(place).map_err(std::io::Error::other)?;
        let end = start.saturating_add(buf.len());
        let bytes = self
            .bytes
            .get(start..end)
            .ok_or(std::io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}

fn counted(panic_from: u64) -> (Arc<Counted>, File) {
    let (_folder, path) = written();
    let counted = Arc::new(Counted {
        bytes: std::fs::read(path).unwrap(),
        n_read: AtomicU64::new(0),
        panic_from,
    });
    let file = File::open_reader(counted.clone(), OpenOptions::new()).unwrap();
    (counted, file)
}

#[tokio::test]
async fn a_scan_that_panics_ends_with_an_error() {
    let (reader, file) = counted(100_000);
    assert!(reader.bytes.len() > 200_000);
    let mut batches = tarsia_tokio::stream(file.scan().batch_rows(1000), 1);
    let mut errors = 0;
    while let Some(batch) = batches.next().await {
        errors += u32::from(batch.is_err());
    }
    assert_eq!(errors, 1);
}

#[tokio::test]
async fn a_scan_stops_when_its_stream_is_dropped_and_waits_for_its_caller() {
    let (reader, file) = counted(u64::MAX);
    let mut batches = tarsia_tokio::stream(file.scan().batch_rows(1000), 1);
    assert!(batches.next().await.unwrap().is_ok());
    // Reads settle although nobody takes a batch or drops the stream.
    let mut before = 0;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = reader.n_read.load(Ordering::Relaxed);
        if now == before {
            break;
        }
        before = now;
    }
    assert!(
        before < reader.bytes.len() as u64 * 3 / 4,
        "{before} bytes were read ahead"
    );
    drop(batches);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let after = reader.n_read.load(Ordering::Relaxed);
    assert!(
        after < reader.bytes.len() as u64 * 3 / 4,
        "{after} bytes were read for nobody"
    );
}
