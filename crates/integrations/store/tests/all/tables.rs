//! Tables in a store: written in parts, scanned and taken from a server that is slow and fails.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::{ErrorKind, File, FileCache, OpenOptions, WriteOptions, Writer};
use tarsia_io::{ReadAt, Store, block_on};
use tarsia_store::{Policy, RemoteFile, StoreSink};

use tarsia_store_testing::{Fault, Server, quick};

const ROWS: i64 = 300_000;
const HASHES: [&str; 4] = ["h0", "h1", "h2", "h3"];

/// A value that no encoding makes smaller.
fn hash(column: usize, row: i64) -> i64 {
    let mixed = (row + 1).wrapping_mul(0x1e37_79b9_7f4a_7c15 + 2 * column as i64);
    (mixed ^ mixed >> 29).wrapping_mul(0x3f58_476d_1ce4_e5b9)
}

fn text(row: i64) -> String {
    format!("row {}", row * 7_919 % 100_003)
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let texts = StringArray::from_iter_values(rows.clone().map(text));
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("text", Arc::new(texts)),
    ];
    for (column, name) in HASHES.into_iter().enumerate() {
        let values = rows.clone().map(|row| hash(column, row));
        columns.push((name, Arc::new(Int64Array::from_iter_values(values))));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The table as it is written to a store, in parts of 1 MiB.
fn table() -> &'static Vec<u8> {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let server = Server::new();
        let mut policy = quick();
        policy.part_bytes = 1 << 20;
        let sink = StoreSink::new(server.bucket(policy), "table", policy);
        let options = WriteOptions::default();
        let mut writer = Writer::new(sink, batch(0..1).schema(), options).unwrap();
        for start in (0..ROWS).step_by(50_000) {
            writer.write(&batch(start..start + 50_000)).unwrap();
        }
        writer.finish().unwrap();
        let bytes = server.content("/bucket/table").unwrap();
        assert!(bytes.len() > 8 << 20);
        bytes.to_vec()
    })
}

fn served() -> Server {
    let bytes = table().clone();
    let server = Server::new();
    server.put("/table", bytes, Some("\"one\""));
    server
}

fn reader(server: &Server, policy: Policy) -> std::io::Result<RemoteFile> {
    RemoteFile::open(server.store(policy), "table")
}

fn opened(server: &Server, policy: Policy) -> tarsia::Result<File> {
    File::open_reader(Arc::new(reader(server, policy)?), OpenOptions::default())
}

/// Compares a batch with the rows that it should have.
fn check(batch: &RecordBatch, rows: &[i64]) {
    assert_eq!(batch.num_rows(), rows.len());
    let expected = |name: &str, row: i64| match name {
        "id" => row,
        _ => hash(HASHES.iter().position(|hash| *hash == name).unwrap(), row),
    };
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.name() == "text" {
            let texts = column.as_string::<i32>();
            assert!(
                rows.iter()
                    .zip(texts)
                    .all(|(row, got)| got == Some(&text(*row)))
            );
            continue;
        }
        let values = column.as_primitive::<Int64Type>().values();
        let same = |(row, got): (&i64, &i64)| *got == expected(field.name(), *row);
        assert!(rows.iter().zip(values.iter()).all(same), "{}", field.name());
    }
}

fn scan(file: &File) -> tarsia::Result<()> {
    let mut next = 0;
    for batch in file.scan().build()? {
        let batch = batch?;
        let end = next + batch.num_rows() as i64;
        check(&batch, &(next..end).collect::<Vec<_>>());
        next = end;
    }
    assert_eq!(next, ROWS);
    Ok(())
}

fn take(file: &File) -> tarsia::Result<()> {
    let rows: Vec<i64> = (0..50).map(|i| i * 104_729 % ROWS).collect();
    let wanted: Vec<u64> = rows.iter().map(|row| *row as u64).collect();
    check(&file.take(&wanted).read()?, &rows);
    Ok(())
}

#[test]
fn opening_a_table_is_one_request() {
    let server = served();
    let file = opened(&server, quick()).unwrap();
    assert_eq!((server.requests().len(), file.num_rows()), (1, ROWS as u64));
    assert_eq!(file.metadata().unwrap().epoch, 1);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_table_that_is_opened_again_is_known_by_its_etag() {
    let server = served();
    let store = server.store(quick());
    let cache = FileCache::new(1 << 20, OpenOptions::default());
    let file = RemoteFile::open(store.clone(), "table").unwrap();
    let meta = file.meta().clone();
    take(&cache.open_reader(&file.url(), Arc::new(file)).unwrap()).unwrap();
    let taken = server.requests().len();
    // The caller knows the state of the object: no request, and then the blocks alone.
    let known = RemoteFile::known(store.clone(), "table", meta.clone());
    let file = cache.open_reader(&known.url(), Arc::new(known)).unwrap();
    assert_eq!(
        (server.requests().len(), file.num_rows()),
        (taken, ROWS as u64)
    );
    take(&file).unwrap();
    assert!(server.requests().len() - taken < taken);
    // Or it asks for it.
    let before = server.requests().len();
    let now = block_on(store.head("table")).unwrap();
    assert_eq!(now.etag, meta.etag);
    let known = RemoteFile::known(store.clone(), "table", now);
    cache.open_reader(&known.url(), Arc::new(known)).unwrap();
    assert_eq!(server.requests().len(), before + 1);
    // Another object under the same key is another one.
    server.put(
        "/table",
        server.content("/table").unwrap().to_vec(),
        Some("\"two\""),
    );
    let file = RemoteFile::open(store, "table").unwrap();
    assert_ne!(file.meta().etag, meta.etag);
    take(&cache.open_reader(&file.url(), Arc::new(file)).unwrap()).unwrap();
    // The old version is gone, and nothing of the new one is taken for it.
    let old = RemoteFile::known(server.store(quick()), "table", meta);
    let error = cache.open_reader(&old.url(), Arc::new(old)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileChanged, "{error}");
}

#[test]
fn a_table_is_read_from_a_slow_server() {
    let server = served();
    // Each request waits 20 ms, and all share 200 MB/s.
    server.slow(Duration::from_millis(20), Some(200_000_000));
    let remote = reader(&server, Policy::default()).unwrap();
    let began = Instant::now();
    let file = File::open_reader(Arc::new(remote.clone()), OpenOptions::default()).unwrap();
    let opened = (remote.counts(), began.elapsed());
    take(&file).unwrap();
    let taken = (remote.counts(), began.elapsed());
    scan(&file).unwrap();
    println!(
        "open {opened:?}\ntake {taken:?}\nscan {:?} {:?}",
        remote.counts(),
        began.elapsed()
    );
    assert!(remote.counts().bytes < 3 * remote.len());
}

#[test]
fn under_faults_that_pass_the_rows_are_right() {
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::ShortBody,
        Fault::LongBody,
        Fault::Reset,
        Fault::StallBefore,
        Fault::StallInside,
    ] {
        let server = served();
        let mut policy = quick();
        policy.retries_max = 10;
        policy.answer_timeout = Duration::from_millis(300);
        // Every third range fails, at the first try.
        let tried = Mutex::new(HashSet::new());
        server.fail(move |request| {
            let mut tried = tried.lock().unwrap();
            let is_first = tried.insert(request.header("range").map(str::to_owned));
            match is_first && tried.len() % 3 == 1 {
                true => fault,
                false => Fault::None,
            }
        });
        let file = opened(&server, policy).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        take(&file).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        scan(&file).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    }
}

#[test]
fn under_faults_that_stay_there_are_errors_and_no_rows() {
    for (fault, expected) in [
        (Fault::Status(500), ErrorKind::Io),
        (Fault::Status(403), ErrorKind::Io),
        (Fault::ShortBody, ErrorKind::Io),
        (Fault::StallInside, ErrorKind::Io),
        (Fault::NoRanges, ErrorKind::Io),
        (Fault::HalfRange, ErrorKind::Io),
        (Fault::WrongByte, ErrorKind::Corrupt),
    ] {
        let server = served();
        let mut policy = quick();
        policy.retries_max = 1;
        let file = opened(&server, policy).unwrap();
        server.fail(move |_| fault);
        let error = scan(&file).unwrap_err();
        assert_eq!(error.kind(), expected, "{fault:?}: {error}");
        assert!(!error.to_string().contains("SECRET"), "{error}");
        let error = take(&file).unwrap_err();
        assert_eq!(error.kind(), expected, "{fault:?}: {error}");
    }
}

#[test]
fn wrong_bytes_are_never_rows() {
    // One request is answered with a wrong byte, a different one each time.
    for wrong in 0..12 {
        let server = served();
        server.fail(move |request| match request.index == wrong {
            true => Fault::WrongByte,
            false => Fault::None,
        });
        let read = opened(&server, quick()).and_then(|file| {
            take(&file)?;
            scan(&file)
        });
        if let Err(error) = read {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
    }
}

#[test]
fn a_table_that_was_replaced_is_an_error() {
    for heeds_conditions in [true, false] {
        let server = served();
        let file = opened(&server, quick()).unwrap();
        take(&file).unwrap();
        let mut other = table().clone();
        other.reverse();
        server.put("/table", other, Some("\"two\""));
        server.fail(move |_| match heeds_conditions {
            true => Fault::None,
            false => Fault::NoCondition,
        });
        let error = scan(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileChanged, "{error}");
    }
}
