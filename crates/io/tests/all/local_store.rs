//! Folders as stores: names, races, what crashed writers leave, and what is no object.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, SystemTime};

use tarsia_io::{
    Get, GetRange, List, Listing, LocalStore, PutIfAbsent, Store, StoreErrorKind, StoreOperation,
    block_on,
};

fn store() -> (tempfile::TempDir, LocalStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::open(folder.path()).unwrap();
    (folder, store)
}

fn put(store: &LocalStore, key: &str, byte: u8) {
    block_on(store.put(key, Arc::new(vec![byte]))).unwrap();
}

fn keys(store: &LocalStore, prefix: &str) -> Vec<String> {
    Listing::new(store, List::new(prefix))
        .map(|listed| listed.unwrap().key)
        .collect()
}

/// All names below a folder, of files alone.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => names.extend(files(&path)),
            false => names.push(path.file_name().unwrap().to_str().unwrap().to_owned()),
        }
    }
    names.sort();
    names
}

#[test]
fn keys_that_lead_out_of_the_folder_are_refused_by_every_operation() {
    let (folder, store) = store();
    let inside = folder.path().join("inside");
    let store_inside = LocalStore::create(&inside).unwrap();
    put(&store, "outside", 1);
    let long = "x".repeat(256);
    for key in [
        "../outside",
        "/outside",
        "a/../../outside",
        "a//b",
        "a/",
        "",
        ".",
        "a\\b",
        "a\0b",
        &long,
        "t.tmp0123456789abcdef",
    ] {
        let store = &store_inside;
        let errors = [
            block_on(store.put(key, Arc::default())).unwrap_err(),
            block_on(store.put_if_absent(key, Arc::default())).unwrap_err(),
            block_on(store.get(Get::new(key, GetRange::Suffix(1)))).unwrap_err(),
            block_on(store.head(key)).unwrap_err(),
            block_on(store.upload(key)).map(drop).unwrap_err(),
            block_on(store.delete(key)).unwrap_err(),
            block_on(store.now(key)).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), StoreErrorKind::Invalid, "{error}");
            assert_eq!(error.object(), store.url(key));
            assert!(error.operation().is_some());
        }
    }
    for prefix in ["../", "/", "a/../", "a//", "a/./x"] {
        let error = block_on(store_inside.list(List::new(prefix))).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{prefix}");
        assert_eq!(error.operation(), Some(StoreOperation::List));
    }
    assert_eq!(files(folder.path()), ["outside"]);
}

#[test]
fn of_many_writers_one_creates_an_object() {
    let (folder, store) = store();
    for round in 0..20 {
        let key = format!("refs/{round}/entry");
        let start = Barrier::new(8);
        let won = thread::scope(|scope| {
            let writers: Vec<_> = (0..8_u8)
                .map(|writer| {
                    let (store, key, start) = (&store, &key, &start);
                    scope.spawn(move || {
                        start.wait();
                        let bytes = Arc::new(vec![writer; 1_000]);
                        let done = block_on(store.put_if_absent(key, bytes)).unwrap();
                        matches!(done, PutIfAbsent::Created { .. })
                    })
                })
                .collect();
            let won = writers.into_iter().map(|writer| writer.join().unwrap());
            won.collect::<Vec<bool>>()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let got = block_on(store.get(Get::new(key, GetRange::Whole { bytes_max: 9_999 }))).unwrap();
        let winner = won.iter().position(|won| *won).unwrap() as u8;
        assert!(got.bytes == vec![winner; 1_000]);
    }
    assert_eq!(files(folder.path()), vec!["entry"; 20]);
}

#[test]
fn etags_of_writes_are_those_of_reads() {
    let (_folder, store) = store();
    let first = block_on(store.put("k", Arc::new(vec![1; 9]))).unwrap();
    assert_eq!(block_on(store.head("k")).unwrap().etag, first);
    let second = block_on(store.put("k", Arc::new(vec![2; 9]))).unwrap();
    assert_ne!(first, second);
    let created = block_on(store.put_if_absent("n", Arc::new(vec![1; 9]))).unwrap();
    let etag = block_on(store.head("n")).unwrap().etag;
    assert_eq!(created, PutIfAbsent::Created { etag: etag.clone() });
    let listed = block_on(store.list(List::new("n"))).unwrap();
    assert_eq!(listed.objects[0].meta.etag, etag);
    assert!(etag.unwrap().starts_with('"'));
}

#[test]
fn temporary_files_are_never_listed_and_removed_by_age() {
    let (folder, store) = store();
    put(&store, "a/b", 1);
    let old = SystemTime::now() - Duration::from_secs(7_200);
    for (name, is_old) in [
        ("a/x.tmp0123456789abcdef", true),
        ("y.tmp0123456789abcdef", false),
    ] {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        if is_old {
            file.set_modified(old).unwrap();
        }
    }
    let hour = Duration::from_secs(3_600);
    let n_before = store.count_temporaries(Duration::ZERO).unwrap();
    // Its writer is alive.
    let upload = block_on(store.upload("a/c")).unwrap();
    assert_eq!(store.count_temporaries(hour).unwrap(), 1);
    let counts = store.count_all_temporaries(hour).unwrap();
    assert_eq!(counts, [n_before + 1, 1]);
    assert_eq!(
        store.count_temporaries(Duration::ZERO).unwrap(),
        n_before + 1
    );
    assert_eq!(keys(&store, ""), ["a/b"]);
    assert_eq!(
        store
            .remove_temporaries(Duration::from_secs(3_600))
            .unwrap(),
        1
    );
    assert_eq!(files(folder.path()).len(), 3);
    block_on(upload.put_part(0, Arc::new(vec![1]))).unwrap();
    block_on(upload.complete(1)).unwrap();
    assert_eq!(store.remove_temporaries(Duration::ZERO).unwrap(), 1);
    assert_eq!(files(folder.path()), ["b", "c"]);
}

#[test]
fn uploads_leave_nothing_unless_they_are_completed() {
    let (folder, store) = store();
    let upload = block_on(store.upload("a/b")).unwrap();
    block_on(upload.put_part(1, Arc::new(vec![2; 3_000_000]))).unwrap();
    block_on(upload.put_part(0, Arc::new(vec![9; 10]))).unwrap();
    block_on(upload.put_part(0, Arc::new(vec![1; 5_000_000]))).unwrap();
    let error = block_on(upload.complete(3)).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Invalid);
    assert_eq!(keys(&store, ""), [""; 0]);
    block_on(upload.complete(2)).unwrap();
    let got = block_on(store.get(Get::new("a/b", GetRange::Bytes(4_999_999..5_000_001)))).unwrap();
    assert_eq!((got.bytes, got.meta.size), (vec![1, 2], 8_000_000));
    assert!(block_on(upload.put_part(0, Arc::default())).is_err());
    let upload = block_on(store.upload("a/c")).unwrap();
    block_on(upload.put_part(0, Arc::new(vec![1]))).unwrap();
    block_on(upload.abort()).unwrap();
    assert!(block_on(upload.complete(1)).is_err());
    drop(block_on(store.upload("a/d")).unwrap());
    assert_eq!(files(folder.path()), ["b"]);
}

#[test]
fn a_name_is_an_object_or_a_folder() {
    let (folder, store) = store();
    put(&store, "a/b", 1);
    for error in [
        block_on(store.put("a", Arc::default())).unwrap_err(),
        block_on(store.put_if_absent("a", Arc::default())).unwrap_err(),
        block_on(store.put("a/b/c", Arc::default())).unwrap_err(),
        block_on(store.put_if_absent("a/b/c", Arc::default())).unwrap_err(),
    ] {
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{error}");
    }
    for key in ["a", "a/b/c", "c"] {
        let error = block_on(store.head(key)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
        let error = block_on(store.get(Get::new(key, GetRange::Suffix(1)))).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
        block_on(store.delete(key)).unwrap();
    }
    assert_eq!(files(folder.path()), ["b"]);
}

#[test]
fn a_folder_without_objects_is_none() {
    let (folder, store) = store();
    put(&store, "a/b/c", 1);
    put(&store, "d/e", 1);
    block_on(store.delete("a/b/c")).unwrap();
    fs::write(folder.path().join("a/x.tmp0123456789abcdef"), "").unwrap();
    let page = block_on(store.list(List::new("").folders())).unwrap();
    assert_eq!(page.folders, ["d/"]);
    // Whoever removes empty folders does no harm.
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    put(&store, "a/b/c", 2);
    assert_eq!(keys(&store, "a"), ["a/b/c"]);
}

#[test]
fn a_large_folder_is_listed_in_order() {
    let (folder, store) = store();
    for n in 0..2_500 {
        fs::write(folder.path().join(format!("{:04}", (n * 7) % 2_500)), "").unwrap();
    }
    let expected: Vec<String> = (0..2_500).map(|n| format!("{n:04}")).collect();
    assert_eq!(keys(&store, ""), expected);
    let list = List::new("").page_max(usize::MAX);
    assert_eq!(block_on(store.list(list)).unwrap().objects.len(), 2_500);
}

#[test]
fn the_time_is_that_of_the_file_system() {
    let (folder, store) = store();
    let now = block_on(store.now("clock/probe")).unwrap();
    put(&store, "k", 1);
    let written = block_on(store.head("k")).unwrap().last_modified.unwrap();
    assert!(now <= written && written.duration_since(now).unwrap() < Duration::from_secs(60));
    assert_eq!(files(folder.path()), ["k"]);
}

#[test]
fn folders_that_are_missing_are_created_or_refused() {
    let (folder, _) = store();
    let deep = folder.path().join("x/y/z");
    assert!(LocalStore::open(&deep).is_err());
    put(&LocalStore::create(&deep).unwrap(), "k", 1);
    put(&LocalStore::create(&deep).unwrap(), "l", 1);
    assert_eq!(files(folder.path()), ["k", "l"]);
    let error = LocalStore::open(deep.join("k")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
    assert!(LocalStore::create(deep.join("k")).is_err());
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_no_object() {
    use std::os::unix::fs::symlink;
    let (folder, store) = store();
    put(&store, "a/b", 1);
    // A circle, and a file elsewhere.
    symlink(folder.path(), folder.path().join("a/circle")).unwrap();
    symlink(folder.path().join("a/b"), folder.path().join("link")).unwrap();
    symlink(folder.path().join("none"), folder.path().join("dangling")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    assert_eq!(keys(&store, ""), ["a/b", "link"]);
    let error = block_on(store.get(Get::new("socket", GetRange::Suffix(1)))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
    drop(socket);
}

#[test]
fn a_sparse_file_of_any_length_takes_no_memory() {
    let (folder, store) = store();
    let file = fs::File::create(folder.path().join("k")).unwrap();
    if file.set_len(1 << 43).is_err() {
        return;
    }
    let whole = GetRange::Whole { bytes_max: 1 << 20 };
    let error = block_on(store.get(Get::new("k", whole))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NoRanges);
    let got = block_on(store.get(Get::new("k", GetRange::Suffix(3)))).unwrap();
    assert_eq!(got.bytes, [0; 3]);
}
