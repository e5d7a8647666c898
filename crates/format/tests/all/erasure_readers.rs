//! Readers while rows are erased: they see the file before an erasure or after it, or are told that it changed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use std::sync::Arc;
use tarsia::io::OnBusy;
use tarsia::{
    Access, DeletedRows, Eraser, ErasureLevel, ErrorKind, File, OpenOptions, RowSet, Threads,
    WriteOptions, Writer,
};
use tarsia_testkit::rng::Rng;

const ROWS: u64 = 4000;

/// A dictionary, text and lists, in several pages.
fn table() -> RecordBatch {
    let few = Int64Array::from_iter_values((0..ROWS as i64).map(|row| (row / 7 % 90) << 33));
    let text = (0..ROWS).map(|row| format!("name {}", row * 7919 % 1009));
    let lengths = OffsetBuffer::from_lengths((0..ROWS as usize).map(|row| row % 3));
    let items = Int64Array::from_iter_values((0..*lengths.last().unwrap() as i64).map(|i| i * i));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let columns: [(&str, ArrayRef); 3] = [
        ("few", Arc::new(few)),
        ("text", Arc::new(StringArray::from_iter_values(text))),
        (
            "lists",
            Arc::new(ListArray::new(item, lengths, Arc::new(items), None)),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write(path: &Path, batch: &RecordBatch) {
    let options = WriteOptions::new()
        .with_erasure(ErasureLevel::Erase)
        .with_page_bytes(8 << 10);
    let mut writer = Writer::create(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Returns the rows that round `round` erases, and those that all rounds before it have erased.
fn rows_of(round: u64) -> RowSet {
    (0..ROWS).filter(|row| row * 31 % 61 == round).collect()
}

fn erased_before(round: u64) -> RowSet {
    (0..ROWS).filter(|row| row * 31 % 61 < round).collect()
}

/// Asks one thing of the file. If there is an answer, it must be that of one state.
fn ask(file: &File, batch: &RecordBatch, rng: &mut Rng) -> tarsia::Result<()> {
    let round = (0..61).find(|round| erased_before(*round) == *file.deleted_rows());
    let round = round.expect("no round has deleted these rows");
    let left: Vec<u64> = (0..ROWS).filter(|row| row * 31 % 61 >= round).collect();
    match rng.below(9) {
        0 | 1 => {
            let scan = file.scan().build()?;
            let read = concat_batches(&batch.schema(), &scan.read_all()?).unwrap();
            let left = arrow_array::UInt64Array::from(left);
            assert_eq!(
                read,
                arrow_select::take::take_record_batch(batch, &left).unwrap()
            );
        }
        2 | 3 => {
            let rows: Vec<u64> = (0..20).map(|_| rng.below(ROWS as usize) as u64).collect();
            let read = file.take(&rows).deleted(DeletedRows::Null).read()?;
            for (at, row) in rows.iter().enumerate() {
                let (read, expect) = (read.column(0), batch.column(0));
                match left.binary_search(row) {
                    Ok(_) => assert_eq!(&read.slice(at, 1), &expect.slice(*row as usize, 1)),
                    Err(_) => assert!(read.is_null(at)),
                }
            }
        }
        4 => assert!(file.verify()?.columns > 0),
        5 => assert!(file.verify_digests()?.columns > 0),
        6 => assert_eq!(file.inspect()?.columns.len(), 3),
        7 => assert_eq!(file.audit()?.deleted_rows, ROWS - left.len() as u64),
        _ => {
            file.capture_layout()?;
            assert_eq!(file.schema()?, batch.schema());
            file.plan_erasure(&(0..40).collect(), ErasureLevel::Erase)?;
            file.verify_column("few")?;
            file.verify_page("text", 0)?;
        }
    }
    Ok(())
}

#[test]
fn readers_during_erasures_see_one_state_or_that_it_changed() {
    let batch = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    write(&path, &batch);
    let is_done = AtomicBool::new(false);
    let (n_answers, n_changed, n_busy) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let one = || OpenOptions::new().with_threads(Threads::One);
    let read = |access, seed| {
        let mut rng = Rng::new(seed);
        while !is_done.load(Ordering::Relaxed) {
            let opened = File::open_with(&path, one().with_access(access));
            let asked = opened.and_then(|file| {
                // Metadata are read late by some, when the file is another.
                if rng.flip() {
                    std::thread::yield_now();
                }
                ask(&file, &batch, &mut rng)
            });
            let counter = match asked {
                Ok(()) => &n_answers,
                Err(error) => match (error.kind(), access) {
                    (ErrorKind::FileChanged, Access::Read) => &n_changed,
                    (ErrorKind::Busy, Access::Map) => &n_busy,
                    _ => panic!("{error:?}"),
                },
            };
            counter.fetch_add(1, Ordering::Relaxed);
            if access == Access::Map {
                // Whoever erases waits for a moment in which nobody maps the file.
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        }
    };
    std::thread::scope(|scope| {
        let readers = [
            scope.spawn(|| read(Access::Read, 1)),
            scope.spawn(|| read(Access::Read, 2)),
            scope.spawn(|| read(Access::Read, 3)),
            scope.spawn(|| read(Access::Map, 4)),
        ];
        let erased = std::panic::catch_unwind(|| {
            for round in 0..40 {
                let eraser = Eraser::open(&path, OnBusy::Wait, one()).unwrap();
                let plan = eraser.plan(&rows_of(round), ErasureLevel::Erase).unwrap();
                eraser.commit(plan).unwrap();
            }
        });
        is_done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
        erased.unwrap();
    });
    let file = File::open(&path).unwrap();
    assert_eq!(*file.deleted_rows(), erased_before(40));
    file.verify().unwrap();
    let counts = [n_answers, n_changed, n_busy].map(AtomicUsize::into_inner);
    assert!(counts[0] > 20, "{counts:?}");
}

/// Threads of a scan may have the file for a moment after the last batch, and those that did not begin their part do
/// not have it at all.
#[test]
fn an_erasure_does_not_fail_for_scans_that_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let batch = table();
    write(&path, &batch);
    let threads = OpenOptions::new();
    for round in 0..60 {
        let eraser = Eraser::open(&path, OnBusy::Refuse, threads.clone()).unwrap();
        let mut scan = eraser.file().scan().batch_rows(100).build().unwrap();
        // To its end, and left in the middle.
        match round % 2 {
            0 => drop(scan.by_ref().count()),
            _ => drop(scan.next()),
        }
        drop(scan);
        let plan = eraser.plan(&rows_of(round), ErasureLevel::Erase).unwrap();
        eraser.commit(plan).unwrap();
    }
    // A clone that is dropped soon is waited for, one that stays is not.
    let eraser = || Eraser::open(&path, OnBusy::Refuse, threads.clone()).unwrap();
    let nothing = |eraser: &Eraser| {
        eraser
            .plan(&RowSet::default(), ErasureLevel::Erase)
            .unwrap()
    };
    let first = eraser();
    let (clone, plan) = (first.file().clone(), nothing(&first));
    let other = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(clone);
    });
    first.commit(plan).unwrap();
    other.join().unwrap();
    let held = eraser();
    let (clone, plan) = (held.file().clone(), nothing(&held));
    let refused = held.commit(plan).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
    drop(clone);
}
