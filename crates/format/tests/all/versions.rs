//! Files whose readers know their version: opened by their end alone, and with metadata that are kept between opens.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::io::{OnBusy, ReadAt, check_inside};
use tarsia::{
    Eraser, ErasureLevel, ErrorKind, File, FileCache, OpenOptions, RowSet, WriteOptions, Writer,
};
use tarsia_metadata::{Header, Slot, SlotState, SlotView};

use crate::common::{assert_rows, deterministic, read_all, write};

const HEADER_BYTES: u64 = 192;

/// An object of a store: it has a version, and notes which bytes were read.
struct Object {
    bytes: Vec<u8>,
    version: Option<&'static str>,
    read: Mutex<Vec<Range<u64>>>,
}

impl Object {
    fn new(bytes: Vec<u8>, version: &'static str) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            version: Some(version),
            read: Mutex::default(),
        })
    }

    /// The ranges that were read since this was asked for.
    fn read(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.read.lock().unwrap())
    }
}

impl ReadAt for Object {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.len())?;
        let start = place as usize;
        buf.copy_from_slice(&self.bytes[start..start + buf.len()]);
        self.read
            .lock()
            .unwrap()
            .push(place..place + buf.len() as u64);
        Ok(())
    }

    fn is_one_version(&self) -> bool {
        self.version.is_some()
    }

    fn version(&self) -> Option<String> {
        self.version.map(str::to_owned)
    }
}

fn batch(n_rows: i64, salt: i64) -> RecordBatch {
    let numbers = (0..n_rows).map(|row| (row + salt).wrapping_mul(0x1e37_79b9_7f4a_7c15));
    let words = (0..n_rows).map(|row| format!("word {}", (row + salt) % 200));
    let columns: [(&str, ArrayRef); 2] = [
        ("number", Arc::new(Int64Array::from_iter_values(numbers))),
        ("word", Arc::new(StringArray::from_iter_values(words))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(n_rows: i64, salt: i64) -> Vec<u8> {
    let batch = batch(n_rows, salt);
    write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    )
}

fn opened(object: &Arc<Object>) -> File {
    File::open_reader(object.clone(), OpenOptions::new()).unwrap()
}

fn has_rows(file: &File, batch: &RecordBatch) {
    assert_rows(&read_all(file).unwrap(), batch);
}

fn corrupt(result: tarsia::Result<impl Sized>) -> String {
    let error = result.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    error.to_string()
}

#[test]
fn an_object_is_opened_by_its_end_and_its_header_is_read_when_it_is_needed() {
    let bytes = written(20_000, 0);
    let object = Object::new(bytes.clone(), "one");
    let file = opened(&object);
    let read = object.read();
    assert!(
        read.iter().all(|range| range.start > HEADER_BYTES),
        "{read:?}"
    );
    has_rows(&file, &batch(20_000, 0));
    file.take(&[5]).read().unwrap();
    assert!(
        object
            .read()
            .iter()
            .all(|range| range.start >= HEADER_BYTES)
    );
    let metadata = file.metadata().unwrap();
    assert_eq!(object.read(), vec![0..HEADER_BYTES]);
    let whole = File::from_bytes(bytes, OpenOptions::new()).unwrap();
    assert_eq!(metadata, whole.metadata().unwrap());
    assert_eq!(file.verify().unwrap(), whole.verify().unwrap());
}

#[test]
fn a_header_that_is_damaged_is_found_when_it_is_needed() {
    for (at, what) in [(0, "not a Tarsia file"), (20, "header")] {
        let mut bytes = written(20_000, 0);
        bytes[at] ^= 1;
        let file = opened(&Object::new(bytes.clone(), "one"));
        assert_eq!(file.num_rows(), 20_000);
        assert!(corrupt(file.metadata()).contains(what));
        assert!(corrupt(file.verify()).contains(what));
        assert!(corrupt(file.verify_digests()).contains(what));
        // Whoever may change a file in place says where it ends in the header.
        corrupt(File::from_bytes(bytes, OpenOptions::new()));
    }
}

#[test]
fn a_header_that_states_another_end_is_refused() {
    let bytes = written(20_000, 0);
    let end = bytes.len() as u64;
    let journal = SlotState::Journal {
        place: 192,
        length: 8,
        digest: [1; 16],
    };
    for (committed_bytes, state) in [(end - 8, SlotState::Clean), (end, journal)] {
        let mut header = Header::parse(&bytes).unwrap();
        header.slots[1] = SlotView::Whole(Slot {
            epoch: 2,
            committed_bytes,
            state,
        });
        let mut other = bytes.clone();
        other[..192].copy_from_slice(&header.to_bytes().unwrap());
        let file = opened(&Object::new(other, "one"));
        let what = "the header states another end";
        assert!(corrupt(file.metadata()).contains(what));
        assert!(corrupt(file.verify()).contains(what));
    }
}

#[test]
fn bytes_behind_the_end_are_ignored_as_the_header_says() {
    let mut bytes = written(20_000, 0);
    bytes.extend_from_slice(b"what another program appended");
    let file = opened(&Object::new(bytes, "one"));
    assert_eq!(file.metadata().unwrap().bytes_behind, 29);
    has_rows(&file, &batch(20_000, 0));
    let nothing = Object::new(vec![7; 100_000], "one");
    let error = File::open_reader(nothing, OpenOptions::new()).unwrap_err();
    assert!(error.to_string().contains("not a Tarsia file"), "{error}");
}

#[test]
fn metadata_of_a_version_are_read_once() {
    let bytes = written(20_000, 0);
    let cache = FileCache::new(1 << 20, OpenOptions::new());
    let object = Object::new(bytes.clone(), "one");
    let first = cache.open_reader("o", object.clone()).unwrap();
    has_rows(&first, &batch(20_000, 0));
    let n_read = object.read().len();
    // Another reader of the same version: nothing is read to open, and only blocks to read rows.
    let again = Object::new(bytes.clone(), "one");
    let second = cache.open_reader("o", again.clone()).unwrap();
    assert_eq!((second.num_rows(), again.read()), (20_000, Vec::new()));
    drop(first);
    has_rows(&second, &batch(20_000, 0));
    assert!(again.read().len() < n_read);
    assert_eq!(cache.len(), 1);
    // Other versions, other names and other content are read.
    let other = Object::new(written(30_000, 9), "two");
    let changed = cache.open_reader("o", other.clone()).unwrap();
    has_rows(&changed, &batch(30_000, 9));
    assert!(!other.read().is_empty());
    assert_eq!(cache.len(), 1);
    let old = cache.open_reader("o", again.clone()).unwrap();
    has_rows(&old, &batch(20_000, 0));
    let named = Object::new(written(10, 1), "one");
    assert_eq!(cache.open_reader("p", named).unwrap().num_rows(), 10);
    assert_eq!(cache.len(), 2);
    cache.clear();
    assert!(cache.is_empty() && cache.bytes() == 0);
    again.read();
    cache.open_reader("o", again.clone()).unwrap();
    assert!(!again.read().is_empty());
}

#[test]
fn readers_in_memory_and_others_share_nothing() {
    struct Mapped(Arc<Object>);
    impl ReadAt for Mapped {
        fn len(&self) -> u64 {
            self.0.len()
        }
        fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
            self.0.read_at(place, buf)
        }
        fn mapped(&self) -> Option<&[u8]> {
            Some(&self.0.bytes)
        }
        fn is_one_version(&self) -> bool {
            true
        }
        fn version(&self) -> Option<String> {
            self.0.version()
        }
    }
    let object = Object::new(written(20_000, 0), "one");
    let cache = FileCache::new(1 << 20, OpenOptions::new());
    for _ in 0..2 {
        let mapped = Arc::new(Mapped(object.clone()));
        let mapped = cache.open_reader("o", mapped).unwrap();
        has_rows(&mapped, &batch(20_000, 0));
        let read = cache.open_reader("o", object.clone()).unwrap();
        has_rows(&read, &batch(20_000, 0));
    }
}

#[test]
fn nothing_is_kept_of_files_without_a_version() {
    let object = Object {
        bytes: written(20_000, 0),
        version: None,
        read: Mutex::default(),
    };
    let cache = FileCache::new(1 << 20, OpenOptions::new());
    assert_eq!(
        cache.open_reader("o", Arc::new(object)).unwrap().num_rows(),
        20_000
    );
    assert!(cache.is_empty());
}

#[test]
fn what_is_kept_is_bounded_and_what_was_used_last_stays() {
    let bytes = written(20_000, 0);
    let cache = FileCache::new(200_000, OpenOptions::new());
    let object = |_| Object::new(bytes.clone(), "one");
    for number in 0..50 {
        let name = format!("object {number}");
        let file = cache.open_reader(&name, object(number)).unwrap();
        read_all(&file).unwrap();
        let first = object(0);
        cache.open_reader("object 0", first.clone()).unwrap();
        assert_eq!(first.read(), [], "{number}");
    }
    // The last one grew while it was read.
    let of_one = 100_000;
    assert!(cache.bytes() < 200_000 + of_one, "{}", cache.bytes());
    assert!(cache.len() >= 2, "{}", cache.len());
    let none = FileCache::new(0, OpenOptions::new());
    none.open_reader("o", object(0)).unwrap();
    assert!(none.is_empty());
}

/// Nothing of a file is served that another program has replaced or changed in place meanwhile.
#[cfg(unix)]
#[test]
fn a_local_file_that_changes_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let create = |salt: i64| {
        let batch = batch(2_000, salt);
        // Of one length, and without a file id that tells them apart.
        let options = WriteOptions::new()
            .with_deterministic(true)
            .with_erasure(ErasureLevel::Hide);
        let mut writer = Writer::create(&path, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        batch
    };
    let cache = FileCache::new(1 << 20, OpenOptions::new());
    for salt in 0..20 {
        let batch = create(salt);
        for _ in 0..2 {
            has_rows(&cache.open(&path).unwrap(), &batch);
        }
        let rows: RowSet = [salt as u64].into_iter().collect();
        let eraser = Eraser::open(&path, OnBusy::Refuse, OpenOptions::new()).unwrap();
        let plan = eraser.plan(&rows, ErasureLevel::Hide).unwrap();
        eraser.commit(plan).unwrap();
        for _ in 0..2 {
            let file = cache.open(&path).unwrap();
            assert_eq!(
                (file.live_rows(), file.metadata().unwrap().epoch),
                (1_999, 3)
            );
        }
        assert_eq!(cache.len(), 1);
    }
    std::fs::remove_file(&path).unwrap();
    let error = cache.open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("t.tarsia"), "{error}");
}
