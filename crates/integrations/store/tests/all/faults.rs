//! Servers that fail: the right bytes come, or an error that says what happened, never wrong bytes, and never too late.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tarsia_io::{
    Conflict, ReadAt, ReadOptions, StoreError, StoreErrorKind, read_range, read_ranges,
};
use tarsia_store::{Policy, RemoteFile, StoreOptions, open};

use tarsia_store_testing::{Fault, Request, Server, pattern, quick};

const MIB: usize = 1 << 20;
/// Longest time that any of these tests waits for an answer: the timeouts of [`quick`], four times.
const PATIENCE: Duration = Duration::from_secs(10);

fn served(n_bytes: usize, etag: Option<&str>) -> (Server, Vec<u8>) {
    let server = Server::new();
    let content = pattern(n_bytes);
    server.put("/file", content.clone(), etag);
    (server, content)
}

fn try_open(server: &Server, policy: Policy) -> io::Result<RemoteFile> {
    RemoteFile::open(server.store(policy), "file")
}

fn kind(error: &io::Error) -> StoreErrorKind {
    StoreError::of(error)
        .unwrap_or_else(|| panic!("{error}"))
        .kind()
}

fn changed(error: &io::Error) -> Option<&'static str> {
    match Conflict::of(error)? {
        Conflict::Changed { what, .. } => Some(what),
        _ => None,
    }
}

/// Faults that pass when a request is made again.
const PASSING: [Fault; 9] = [
    Fault::Status(500),
    Fault::Status(503),
    Fault::Status(429),
    Fault::ShortBody,
    Fault::LongBody,
    Fault::Reset,
    Fault::StallBefore,
    Fault::StallInside,
    Fault::Trickle,
];

fn impatient() -> Policy {
    let mut policy = quick();
    policy.answer_timeout = Duration::from_millis(300);
    policy.bytes_per_second_min = 1 << 20;
    policy
}

#[test]
fn what_passes_is_tried_again_and_the_bytes_are_right() {
    for fault in PASSING {
        let (server, content) = served(4 * MIB, Some("\"one\""));
        // Each request fails once, those of the opening included.
        let n_requests = AtomicUsize::new(0);
        server.fail(move |_| match n_requests.fetch_add(1, Ordering::Relaxed) {
            0 | 2 | 4 => fault,
            _ => Fault::None,
        });
        let began = Instant::now();
        let store = server.store(impatient());
        let file = RemoteFile::open(store.clone(), "file").unwrap();
        for start in [0, 1_000_000] {
            let bytes = read_range(&file, start..start + 100_000).unwrap();
            let start = start as usize;
            assert!(*bytes == content[start..start + 100_000], "{fault:?}");
        }
        // On a busy machine a good answer may come too late as well.
        assert!(store.counts().retries >= 3, "{fault:?}");
        assert_eq!(file.counts().requests, 3, "{fault:?}");
        assert!(
            began.elapsed() < PATIENCE,
            "{fault:?}: {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn what_does_not_pass_is_an_error_in_time() {
    for fault in PASSING {
        let (server, _) = served(4 * MIB, Some("\"one\""));
        let file = try_open(&server, impatient()).unwrap();
        server.fail(move |_| fault);
        let began = Instant::now();
        let error = read_range(&file, 0..100_000).unwrap_err();
        assert_eq!(
            kind(&error),
            StoreErrorKind::Transient,
            "{fault:?}: {error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("/file: ") && text.contains("after 3 retries"),
            "{text}"
        );
        assert!(!text.contains("SECRET") && !text.contains('\n'), "{text}");
        assert!(
            began.elapsed() < PATIENCE,
            "{fault:?}: {:?}",
            began.elapsed()
        );
        // The server is well again, and so is the file.
        server.fail(|_| Fault::None);
        read_range(&file, 0..100_000).unwrap();
    }
}

#[test]
fn what_stays_is_not_tried_again() {
    for (status, expected) in [
        (400, StoreErrorKind::Invalid),
        (401, StoreErrorKind::Permission),
        (403, StoreErrorKind::Permission),
        (404, StoreErrorKind::NotFound),
    ] {
        let (server, _) = served(MIB, None);
        server.fail(move |_| Fault::Status(status));
        let error = try_open(&server, quick()).unwrap_err();
        assert_eq!(kind(&error), expected, "{error}");
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[test]
fn half_of_a_range_is_no_answer() {
    let (server, _) = served(4 * MIB, Some("\"one\""));
    let file = try_open(&server, quick()).unwrap();
    server.fail(|_| Fault::HalfRange);
    let error = read_range(&file, 0..100).unwrap_err();
    assert!(error.to_string().contains("/file: "), "{error}");
    assert!(try_open(&server, quick()).is_err());
}

#[test]
fn a_changed_object_is_an_error() {
    // (ETag before, ETag after, bytes after, whether the server heeds conditions, what shows it)
    let cases = [
        (Some("\"a\""), Some("\"b\""), 4 * MIB, Fault::None, "ETag"),
        (
            Some("\"a\""),
            Some("\"b\""),
            4 * MIB,
            Fault::NoCondition,
            "ETag",
        ),
        (
            Some("W/\"a\""),
            Some("W/\"b\""),
            4 * MIB,
            Fault::None,
            "ETag",
        ),
        (None, None, 3 * MIB, Fault::None, "length"),
        (None, None, 1_000, Fault::None, "length"),
    ];
    for (before, after, n_bytes, fault, what) in cases {
        let (server, content) = served(4 * MIB, before);
        let file = try_open(&server, quick()).unwrap();
        let bytes = read_range(&file, 50_000..50_100).unwrap();
        assert!(*bytes == content[50_000..50_100]);
        let mut other = content.clone();
        other.reverse();
        other.truncate(n_bytes);
        server.put("/file", other, after);
        server.fail(move |_| fault);
        let error = read_range(&file, 50_000..50_100).unwrap_err();
        assert_eq!(changed(&error), Some(what), "{before:?}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("/file was changed while it was open"),
            "{text}"
        );
        // With an ETag that is a condition, nothing of another state was ever read.
        assert_eq!(file.is_one_version(), before == Some("\"a\""));
        assert_eq!(file.check_unchanged().is_ok(), file.is_one_version());
        try_open(&server, quick()).unwrap();
    }
}

#[test]
fn without_an_etag_the_time_of_modification_counts() {
    let (server, content) = served(4 * MIB, None);
    let file = try_open(&server, quick()).unwrap();
    file.check_unchanged().unwrap();
    server.put("/file", vec![7; 4 * MIB], None);
    server.set_last_modified("/file", Some("Tue, 01 Sep 2026 10:00:01 GMT"));
    let error = read_range(&file, 0..100).unwrap_err();
    assert_eq!(changed(&error), Some("time of modification"));
    assert!(file.check_unchanged().is_err());
    // A server that says nothing at all is believed.
    let server = Server::new();
    server.put("/file", content, None);
    server.set_last_modified("/file", None);
    let file = try_open(&server, quick()).unwrap();
    assert_eq!(file.meta().last_modified, None);
    read_range(&file, 0..100).unwrap();
}

#[test]
fn a_try_that_broke_off_is_not_continued_with_other_content() {
    let (server, content) = served(4 * MIB, Some("\"one\""));
    let file = try_open(&server, quick()).unwrap();
    // The first try breaks off in the middle; then the object is another one.
    let first = AtomicUsize::new(0);
    server.fail(move |_| match first.fetch_add(1, Ordering::Relaxed) {
        0 => Fault::ShortBody,
        _ => Fault::NoCondition,
    });
    let mut other = content;
    other.reverse();
    server.put("/file", other, Some("\"two\""));
    let error = read_range(&file, 0..1_000_000).unwrap_err();
    assert_eq!(changed(&error), Some("ETag"), "{error}");
}

#[test]
fn a_server_without_ranges_serves_small_files_and_refuses_large_ones() {
    let (server, content) = served(MIB, None);
    server.fail(|_| Fault::NoRanges);
    let file = try_open(&server, quick()).unwrap();
    assert_eq!(file.mapped(), Some(&content[..]));
    assert_eq!(server.requests().len(), 2);
    let parts = read_ranges(&file, &[5..10, 500_000..500_010], ReadOptions::LOCAL).unwrap();
    assert!(*parts[1] == content[500_000..500_010]);
    assert_eq!(server.requests().len(), 2);

    let (server, _) = served(20 * MIB, None);
    server.fail(|_| Fault::NoRanges);
    let error = try_open(&server, quick()).unwrap_err();
    assert_eq!(kind(&error), StoreErrorKind::NoRanges);
    assert!(error.to_string().contains("ignores ranges"), "{error}");
    // It stopped after the file was open.
    let (server, _) = served(20 * MIB, None);
    let file = try_open(&server, quick()).unwrap();
    server.fail(|_| Fault::NoRanges);
    let error = read_range(&file, 0..10).unwrap_err();
    assert_eq!(kind(&error), StoreErrorKind::NoRanges, "{error}");
}

#[test]
fn one_bad_request_of_a_wave_is_the_error_of_the_wave() {
    let (server, content) = served(16 * MIB, Some("\"one\""));
    let file = try_open(&server, quick()).unwrap();
    let is_bad = |request: &Request| request.start() == Some(5_000_000);
    server.fail(move |request| match is_bad(request) {
        true => Fault::Status(403),
        false => Fault::None,
    });
    let ranges: Vec<_> = (0..30).map(|i| i * 500_000..i * 500_000 + 100).collect();
    let error = read_ranges(&file, &ranges, ReadOptions::LOCAL).unwrap_err();
    assert_eq!(kind(&error), StoreErrorKind::Permission, "{error}");
    let parts = read_ranges(&file, &ranges[..10], ReadOptions::LOCAL).unwrap();
    assert!(*parts[9] == content[4_500_000..4_500_100]);
}

#[test]
fn random_faults_never_bring_wrong_bytes() {
    let (server, content) = served(16 * MIB, Some("\"one\""));
    let mut policy = impatient();
    policy.retries_max = 20;
    let file = try_open(&server, policy).unwrap();
    // A third of the requests fails, each time another way.
    server.fail(
        |request| match request.index.wrapping_mul(0x9e37_79b9) >> 7 {
            n if n % 3 == 0 => PASSING[n / 3 % 6],
            _ => Fault::None,
        },
    );
    for round in 0..4 {
        let ranges: Vec<_> = (0..40)
            .map(|i| i * 400_000 + round * 1_000)
            .map(|start| start..start + 3_000 * (round + 1))
            .collect();
        let parts = read_ranges(&file, &ranges, ReadOptions::LOCAL).unwrap();
        for (range, bytes) in ranges.iter().zip(&parts) {
            assert!(**bytes == content[range.start as usize..range.end as usize]);
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error_soon() {
    let began = Instant::now();
    let url = {
        let server = Server::new();
        server.url("/file?token=SECRET")
    };
    let options = StoreOptions::new().policy(quick());
    let error = open(&url, &options).err().unwrap();
    assert_eq!(kind(&error), StoreErrorKind::Transient, "{error}");
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("no connection") && !text.contains("SECRET"),
        "{text}"
    );
    assert!(began.elapsed() < PATIENCE);
}
