//! Which requests reads make, and that their bytes are right.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "a list of ranges may have one"
)]

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use tarsia_io::{
    Access, Conflict, Priority, ReadAt, ReadOptions, Store, StoreErrorKind, block_on, read_range,
    read_ranges,
};
use tarsia_store::{FileCounts, Policy, RemoteFile, StoreOptions, TAIL_BYTES, open};

use tarsia_store_testing::{Fault, Server, pattern, quick};

const MIB: usize = 1 << 20;

fn served(n_bytes: usize) -> (Server, Vec<u8>) {
    let server = Server::new();
    let content = pattern(n_bytes);
    server.put("/file", content.clone(), Some("\"one\""));
    (server, content)
}

fn opened(server: &Server, policy: Policy) -> RemoteFile {
    RemoteFile::open(server.store(policy), "file").unwrap()
}

fn part<'a>(content: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    &content[range.start as usize..range.end as usize]
}

/// Reads ranges and compares them. Returns the requests that this took.
fn check(
    server: &Server,
    file: &RemoteFile,
    content: &[u8],
    ranges: &[Range<u64>],
    options: ReadOptions,
) -> usize {
    let before = server.requests().len();
    let parts = read_ranges(file, ranges, options).unwrap();
    assert_eq!(parts.len(), ranges.len());
    for (range, bytes) in ranges.iter().zip(&parts) {
        assert!(**bytes == *part(content, range), "{range:?}");
    }
    server.requests().len() - before
}

#[test]
fn opening_is_one_request_that_brings_the_tail_the_size_and_the_etag() {
    let (server, content) = served(3 * MIB);
    let file = opened(&server, quick());
    let size = content.len() as u64;
    assert_eq!(file.len(), size);
    assert_eq!(file.meta().etag.as_deref(), Some("\"one\""));
    assert!(file.meta().last_modified.is_some() && file.mapped().is_none());
    let tail = size - TAIL_BYTES;
    let ranges = [
        size - 10..size,
        tail..size,
        tail..tail + 1,
        5..5,
        size..size,
    ];
    assert_eq!(
        check(&server, &file, &content, &ranges, ReadOptions::LOCAL),
        0
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("range"), Some("bytes=-65536"));
    assert_eq!(requests[0].method, "GET");
    let expected = FileCounts {
        waves: 1,
        requests: 1,
        bytes: TAIL_BYTES,
    };
    assert_eq!(file.counts(), expected);
    // A byte before the tail is another request, with the ETag as its condition.
    let crossing = [tail - 1..size];
    assert_eq!(
        check(&server, &file, &content, &crossing, ReadOptions::LOCAL),
        1
    );
    assert_eq!(server.requests()[1].header("if-match"), Some("\"one\""));
}

#[test]
fn a_small_file_is_in_memory_once_it_is_open() {
    let (server, content) = served(1_000);
    let file = opened(&server, quick());
    assert_eq!(file.mapped(), Some(&content[..]));
    let bytes = read_range(&file, 10..20).unwrap();
    assert!(*bytes == content[10..20]);
    file.check_unchanged().unwrap();
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_empty_object_is_an_empty_file() {
    let (server, _) = served(0);
    let file = opened(&server, quick());
    assert!(file.is_empty());
    assert_eq!(file.mapped(), Some(&[][..]));
    assert!(read_range(&file, 0..1).is_err());
}

#[test]
fn scattered_ranges_are_one_wave() {
    let (server, content) = served(32 * MIB);
    let file = opened(&server, Policy::default());
    server.slow(Duration::from_millis(20), None);
    let ranges: Vec<Range<u64>> = (0..100).map(|i| i * 300_000..i * 300_000 + 1_000).collect();
    let began = Instant::now();
    let n_requests = check(&server, &file, &content, &ranges, ReadOptions::LOCAL);
    assert_eq!(n_requests, 100);
    assert_eq!(file.counts().waves, 2);
    // One after the other they would wait for 2 s.
    assert!(
        began.elapsed() < Duration::from_millis(1_500),
        "{:?}",
        began.elapsed()
    );
    assert!(server.at_once() > 10);
}

#[test]
fn neighbours_share_a_request_and_long_ranges_are_split() {
    let (server, content) = served(40 * MIB);
    let file = opened(&server, Policy::default());
    let check = |ranges: &[Range<u64>], options| check(&server, &file, &content, ranges, options);
    let take = file.read_options(Access::Take);
    let scan = file.read_options(Access::Scan);
    assert_eq!(
        (take.gap_bytes, take.request_bytes_max),
        (64 << 10, 8 << 20)
    );
    assert_eq!((scan.gap_bytes, scan.request_bytes_max), (1 << 20, 8 << 20));
    let near = [0..10, 65_546..65_556, 500_000..500_010];
    assert_eq!(check(&near, take), 2);
    assert_eq!(check(&near, scan), 1);
    // Callers that know nothing of stores get the gap of takes.
    assert_eq!(check(&near, ReadOptions::LOCAL), 2);
    // Ranges that touch are not joined over the largest request; a single one is cut.
    let mib = MIB as u64;
    assert_eq!(check(&[0..5 * mib, 5 * mib..10 * mib], scan), 2);
    assert_eq!(check(&[0..20 * mib], scan), 3);
    assert_eq!(check(&[mib..30 * mib, 3..7, 2 * mib..3 * mib], scan), 5);
    let mut buf = vec![0; 9 * MIB];
    file.read_at(7, &mut buf).unwrap();
    assert!(buf == content[7..7 + 9 * MIB]);
    let beyond = file.read_ranges(&[0..1, 1..41 * mib], take).unwrap_err();
    assert_eq!(beyond.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn requests_are_limited_and_come_in_the_order_of_rows() {
    let (server, content) = served(8 * MIB);
    let mut policy = quick();
    policy.requests_max = 1;
    let file = opened(&server, policy);
    // Later places first, as a take of rows in the caller's order has them.
    let ranges: Vec<Range<u64>> = (0..20)
        .rev()
        .map(|i| i * 200_000..i * 200_000 + 9)
        .collect();
    check(&server, &file, &content, &ranges, ReadOptions::LOCAL);
    let starts: Vec<u64> = server.requests().iter().filter_map(|r| r.start()).collect();
    let expected: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    assert_eq!(starts, expected);
    assert_eq!(server.at_once(), 1);

    let (server, content) = served(8 * MIB);
    policy.requests_max = 4;
    let file = opened(&server, policy);
    server.slow(Duration::from_millis(5), None);
    check(&server, &file, &content, &ranges, ReadOptions::LOCAL);
    assert!(server.at_once() <= 4, "{}", server.at_once());
}

#[test]
fn files_of_a_store_share_its_limits() {
    let (server, content) = served(8 * MIB);
    server.slow(Duration::from_millis(5), None);
    let mut policy = quick();
    policy.requests_max = 2;
    let files: Vec<RemoteFile> = (0..4).map(|_| opened(&server, policy)).collect();
    thread::scope(|scope| {
        for file in &files {
            let (server, content) = (&server, &content);
            scope.spawn(move || {
                let ranges: Vec<_> = (0..10).map(|i| i * 500_000..i * 500_000 + 9).collect();
                for (range, bytes) in ranges
                    .iter()
                    .zip(read_ranges(file, &ranges, ReadOptions::LOCAL).unwrap())
                {
                    assert!(*bytes == *part(content, range));
                }
                let _ = server;
            });
        }
    });
    // Two, and one that is older than both.
    assert!(server.at_once() <= 3, "{}", server.at_once());
}

#[test]
fn what_is_dropped_is_cancelled() {
    let (server, content) = served(8 * MIB);
    let mut policy = quick();
    policy.requests_max = 2;
    let file = opened(&server, policy);
    server.slow(Duration::from_millis(100), None);
    let ranges: Vec<Range<u64>> = (0..30).map(|i| i * 200_000..i * 200_000 + 9).collect();
    {
        let mut reading = pin!(file.get_ranges(&ranges, ReadOptions::LOCAL, Priority::next()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(reading.as_mut().poll(&mut context), Poll::Pending));
        thread::sleep(Duration::from_millis(50));
    }
    server.slow(Duration::ZERO, None);
    thread::sleep(Duration::from_millis(150));
    let n_requests = server.requests().len();
    assert!(n_requests <= 1 + 4, "{n_requests}");
    // Nothing is left of them in the limiter.
    check(&server, &file, &content, &ranges, ReadOptions::LOCAL);
}

#[test]
fn announced_ranges_are_read_in_one_wave_and_kept() {
    let (server, content) = served(8 * MIB);
    let file = opened(&server, quick());
    let size = content.len() as u64;
    let ranges = [0..192, 4_000_000..4_001_000, size - 100..size + 7];
    file.prefetch(&ranges);
    assert_eq!((file.counts().waves, server.requests().len()), (2, 3));
    let inside = [0..192, 10..20, 4_000_500..4_000_600, size - 100..size];
    assert_eq!(
        check(&server, &file, &content, &inside, ReadOptions::LOCAL),
        0
    );
    file.prefetch(&ranges);
    assert_eq!(server.requests().len(), 3);
    // Too much to be kept is not read.
    file.prefetch(&[0..size, 1..size]);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn threads_and_runtimes_of_any_kind_may_read() {
    let (server, content) = served(8 * MIB);
    let file = opened(&server, quick());
    thread::scope(|scope| {
        for thread in 0..8u64 {
            let (file, content) = (&file, &content);
            scope.spawn(move || {
                for i in 0..20 {
                    let start = (thread * 977 + i * 331) * 1_000 % 8_000_000;
                    let range = start..start + 500;
                    let bytes = read_range(file, range.clone()).unwrap();
                    assert!(*bytes == *part(content, &range));
                }
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        // A thread of a foreign runtime may wait, if it wants to, and need not.
        let bytes = read_range(&file, 0..10).unwrap();
        assert!(*bytes == content[..10]);
        let ranges = [100_000..100_010, 0..10];
        let parts = file.get_ranges(&ranges, ReadOptions::REMOTE_TAKE, Priority::next());
        let parts = parts.await.unwrap();
        assert!(*parts[0] == content[100_000..100_010]);
    });
}

#[test]
fn a_known_object_is_opened_without_a_request() {
    let (server, content) = served(2 * MIB);
    let meta = opened(&server, quick()).meta().clone();
    let file = RemoteFile::known(server.store(quick()), "file", meta);
    assert_eq!(server.requests().len(), 1);
    let size = content.len() as u64;
    let ranges = [size - 10..size];
    assert_eq!(
        check(&server, &file, &content, &ranges, ReadOptions::LOCAL),
        1
    );
    server.put("/file", pattern(2 * MIB), Some("\"two\""));
    let error = read_range(&file, 0..1).unwrap_err();
    assert!(Conflict::of(&error).is_some(), "{error}");
}

#[test]
fn urls_of_servers_are_sent_as_they_stand_and_shown_without_their_query() {
    let server = Server::new();
    server.put("/a%20b/c", pattern(100), Some("\"one\""));
    let url = server.url("/a%20b/c?X-Amz-Signature=SECRET%2F&x=1");
    let file = open(&url, &StoreOptions::new().authorization("Bearer TOKEN")).unwrap();
    assert_eq!(file.len(), 100);
    let request = &server.requests()[0];
    assert_eq!(request.target, "/a%20b/c?X-Amz-Signature=SECRET%2F&x=1");
    assert_eq!(request.header("authorization"), Some("Bearer TOKEN"));
    server.fail(|_| Fault::Status(403));
    let error = open(&url, &StoreOptions::new()).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("/a%20b/c?…") && !text.contains("SECRET"),
        "{text}"
    );
}

#[test]
fn google_and_azure_have_dialects_of_their_own() {
    let server = Server::new();
    let content = pattern(MIB);
    server.put("/bucket/a/b", content.clone(), Some("\"one\""));
    let options = StoreOptions::new()
        .without_environment()
        .endpoint(server.url(""))
        .anonymous()
        .policy(quick());
    // Azure cannot be asked for the end of an object, so the size is asked for first.
    for (url, n_requests) in [("gs://bucket/a/b", 1), ("az://bucket/a/b", 2)] {
        let before = server.requests().len();
        let options = match n_requests {
            1 => options.clone(),
            _ => options
                .clone()
                .with("azure_storage_account_name", "account"),
        };
        let file = open(url, &options).unwrap();
        assert_eq!(server.requests().len() - before, n_requests, "{url}");
        let bytes = read_range(&*file, 7..1_000).unwrap();
        assert!(*bytes == content[7..1_000], "{url}");
        let last = server.requests().pop().unwrap();
        assert_eq!(last.header("if-match"), Some("\"one\""), "{url}");
        let other = url.replace("a/b", "a/c");
        let error = open(&other, &options).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
    }
    for url in [
        "s3://bucket/k",
        "gs://bucket/k",
        "az://bucket/k",
        "http://127.0.0.1/k",
    ] {
        let error = open(url, &options.clone().with("no_such_option", "SECRET"))
            .err()
            .unwrap();
        let text = error.to_string();
        assert!(
            text.contains("option `no_such_option`") && !text.contains("SECRET"),
            "{text}"
        );
    }
}

#[test]
fn local_files_have_urls_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b");
    let url = format!("file://{}/a%20b", folder.path().display());
    let mut sink = tarsia_store::create(&url, &StoreOptions::new()).unwrap();
    tarsia_io::Sink::append(&mut sink, b"local").unwrap();
    assert!(!path.exists());
    tarsia_io::Sink::commit(&mut sink).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"local");
    let file = open(&url, &StoreOptions::new()).unwrap();
    assert_eq!(&*read_range(&*file, 0..5).unwrap(), b"local");
}

#[test]
fn the_head_of_an_object_is_its_state() {
    let (server, _) = served(100);
    let store: Arc<dyn Store> = server.store(quick());
    let meta = block_on(store.head("file")).unwrap();
    assert_eq!((meta.size, meta.etag.as_deref()), (100, Some("\"one\"")));
    let error = block_on(store.head("other")).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
}
