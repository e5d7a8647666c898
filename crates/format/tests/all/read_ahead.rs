//! Scans of sources where each read waits: blocks of several batches are read together, ahead of decoding.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_select::concat::concat_batches;
use tarsia::{File, OpenOptions, RowSelection, Threads};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, write};
use crate::waves::Slow;

const COLUMNS: usize = 8;
const ROWS: usize = 400_000;

/// Numbers of 16 bits, so that a batch of 3 MiB has about 750 KB of the file: 90 KB of each column.
fn table() -> &'static (RecordBatch, Vec<u8>) {
    static TABLE: OnceLock<(RecordBatch, Vec<u8>)> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rng = Rng::new(16);
        let columns = (0..COLUMNS).map(|i| {
            let values = (0..ROWS).map(|_| rng.below(1 << 16) as i64);
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
            (format!("c{i}"), values)
        });
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let bytes = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            deterministic(),
        );
        (batch, bytes)
    })
}

fn opened(threads: Threads) -> (Arc<Slow>, File) {
    let slow = Slow::of(table().1.clone());
    let options = OpenOptions::new().with_threads(threads);
    let file = File::open_reader(slow.clone(), options).unwrap();
    slow.counted();
    (slow, file)
}

fn read(scan: tarsia::ScanBuilder) -> (RecordBatch, usize) {
    let batches = scan.build().unwrap().read_all().unwrap();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    (all, batches.len())
}

#[test]
fn a_scan_waits_for_windows_and_not_for_batches() {
    let (batch, bytes) = table();
    let (slow, file) = opened(Threads::One);
    let (found, n_batches) = read(file.scan());
    assert_eq!(found, *batch);
    let (waves, _) = slow.counted();
    // Three windows (2, 4 and 6 MiB at most): what is known of the columns, then of each window blocks and their
    // tables.
    assert!(n_batches >= 8, "{n_batches}");
    assert!(waves <= 8, "{waves} waves for {n_batches} batches");
    // Nothing is read twice, and hardly anything that is not needed.
    let n_bytes = bytes.len() as u64;
    assert!(n_bytes > 6 << 20);
    assert!(
        slow.read_bytes() < n_bytes + n_bytes / 10,
        "{} of {n_bytes}",
        slow.read_bytes()
    );
}

#[test]
fn rows_are_the_same_whatever_is_read_ahead() {
    let (batch, _) = table();
    let n_rows = ROWS as u64;
    for threads in [Threads::One, Threads::All] {
        let (_, file) = opened(threads);
        assert_eq!(read(file.scan()).0, *batch);
        let (found, _) = read(file.scan().rows(70_001..n_rows - 3).batch_rows(999));
        assert_eq!(found, batch.slice(70_001, ROWS - 70_004));
        // Single rows, far from each other: parts of blocks.
        let rows: Vec<u64> = (0..n_rows).step_by(9_973).collect();
        let selection = RowSelection::from_rows(rows.iter().copied()).unwrap();
        let (found, _) = read(file.scan().selection(selection));
        assert_eq!(found, file.take(&rows).read().unwrap());
        let (found, _) = read(file.scan().columns(&["c3"]));
        assert_eq!(found, batch.project(&[3]).unwrap());
    }
}

#[test]
fn a_scan_with_a_limit_reads_nothing_ahead() {
    let (batch, bytes) = table();
    let (slow, file) = opened(Threads::All);
    let (found, _) = read(file.scan().columns(&["c0"]).limit(10));
    assert_eq!(found, batch.project(&[0]).unwrap().slice(0, 10));
    assert!(slow.read_bytes() < bytes.len() as u64 / 8);
}

#[test]
fn a_scan_that_is_dropped_leaves_nothing_behind() {
    let (slow, file) = opened(Threads::All);
    let mut scan = file.scan().build().unwrap();
    assert!(scan.next().unwrap().is_ok());
    drop((scan, file));
    // Threads that read ahead end with what they have begun.
    let began = std::time::Instant::now();
    while Arc::strong_count(&slow) > 1 {
        assert!(began.elapsed().as_secs() < 60, "somebody keeps the file");
        std::thread::yield_now();
    }
}
