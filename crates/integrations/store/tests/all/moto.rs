//! The dialect of S3, as `moto_server` speaks it.

use std::sync::Arc;

use tarsia_io::{
    Conflict, ReadAt, ReadOptions, Sink, StoreError, StoreErrorKind, block_on, read_range,
    read_ranges,
};
use tarsia_store::{RemoteFile, StoreSink, create, open};
use tarsia_store_testing::{Moto, pattern, quick};

const MIB: usize = 1 << 20;

#[test]
fn objects_are_written_in_parts_and_read_in_ranges() {
    let Some(moto) = Moto::start() else { return };
    let url = "s3://bucket/day=1/part 0 ü%.tarsia";
    let mut content = pattern(20 * MIB);
    let mut sink = create(url, &moto.options()).unwrap();
    for piece in content.chunks(1_234_567) {
        sink.append(piece).unwrap();
    }
    assert!(sink.overwrite(0, b"HEAD").unwrap());
    content[..4].copy_from_slice(b"HEAD");
    assert!(moto.ask("GET /bucket?uploads").contains("<UploadId>"));
    sink.commit().unwrap();
    assert!(!moto.ask("GET /bucket?uploads").contains("<UploadId>"));

    let file = open(url, &moto.options()).unwrap();
    assert_eq!(file.len(), content.len() as u64);
    let ranges = [
        0..4,
        9_000_000..9_000_100,
        8_388_600..8_388_620,
        0..20 << 20,
    ];
    let parts = read_ranges(&*file, &ranges, ReadOptions::REMOTE_TAKE).unwrap();
    for (range, bytes) in ranges.iter().zip(&parts) {
        assert!(**bytes == content[range.start as usize..range.end as usize]);
    }
}

#[test]
fn conditions_tell_a_changed_object() {
    let Some(moto) = Moto::start() else { return };
    let store = moto.store("bucket");
    let content = pattern(2 * MIB);
    let etag = block_on(store.put("k", Arc::new(content.clone()))).unwrap();
    let file = RemoteFile::open(Arc::clone(&store), "k").unwrap();
    assert_eq!(file.meta().etag, etag);
    assert_eq!(block_on(store.head("k")).unwrap().etag, etag);
    let bytes = read_range(&file, 5..10).unwrap();
    assert!(*bytes == content[5..10]);
    block_on(store.put("k", Arc::new(vec![1; 2 * MIB]))).unwrap();
    let error = read_range(&file, 5..10).unwrap_err();
    assert!(matches!(
        Conflict::of(&error),
        Some(Conflict::Changed { what: "ETag", .. })
    ));
    assert_eq!(
        &*read_range(&RemoteFile::open(store, "k").unwrap(), 5..7).unwrap(),
        [1, 1]
    );
}

#[test]
fn an_upload_that_is_given_up_leaves_no_parts() {
    let Some(moto) = Moto::start() else { return };
    let mut sink = StoreSink::new(moto.store("bucket"), "given up", quick());
    sink.append(&pattern(18 * MIB)).unwrap();
    assert!(moto.ask("GET /bucket?uploads").contains("<UploadId>"));
    drop(sink);
    assert!(!moto.ask("GET /bucket?uploads").contains("<UploadId>"));
    let error = RemoteFile::open(moto.store("bucket"), "given up").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
}

#[test]
fn what_is_not_there_is_not_found_and_what_is_empty_is_empty() {
    let Some(moto) = Moto::start() else { return };
    for (bucket, key) in [("bucket", "no"), ("no-bucket", "k")] {
        let error = RemoteFile::open(moto.store(bucket), key).unwrap_err();
        let kind = StoreError::of(&error).unwrap().kind();
        assert_eq!(kind, StoreErrorKind::NotFound, "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("s3://{bucket}/{key}: not found")),
            "{text}"
        );
    }
    let store = moto.store("bucket");
    block_on(store.put("empty", Arc::default())).unwrap();
    assert!(RemoteFile::open(store, "empty").unwrap().is_empty());
}
