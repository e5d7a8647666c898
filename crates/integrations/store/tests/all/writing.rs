//! Objects that are written: when they appear, what is left of those given up, and what failures do.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tarsia_io::{Sink, Store, StoreError, StoreErrorKind, block_on};
use tarsia_store::{Policy, StoreSink};

use tarsia_store_testing::{Fault, Request, Server, pattern, quick};

fn parts_of(part_bytes: usize) -> Policy {
    let mut policy = quick();
    policy.part_bytes = part_bytes;
    policy
}

fn sink(server: &Server, policy: Policy) -> StoreSink {
    StoreSink::new(server.bucket(policy), "a/b c", policy)
}

/// The object that the sinks of these tests write.
const WRITTEN: &str = "/bucket/a/b%20c";

fn content(server: &Server) -> Option<Vec<u8>> {
    server.content(WRITTEN).map(|bytes| bytes.to_vec())
}

/// Names of requests, such as `PUT partNumber=2`.
fn names(server: &Server) -> Vec<String> {
    let name = |request: &Request| {
        let query = request
            .target
            .split_once('?')
            .map_or("", |(_, query)| query);
        let shown = query.split('&').find(|pair| !pair.starts_with("uploadId"));
        format!("{} {}", request.method, shown.unwrap_or("uploadId"))
    };
    let requests = server.requests();
    requests.iter().map(name).collect()
}

#[test]
fn a_small_file_is_one_request() {
    for n_bytes in [0, 1, 999, 1_000] {
        let server = Server::new();
        let bytes = pattern(n_bytes);
        let mut sink = sink(&server, parts_of(1_000));
        sink.append(&bytes).unwrap();
        if n_bytes > 0 {
            assert!(sink.overwrite(0, b"X").unwrap());
        }
        assert_eq!(content(&server), None);
        sink.commit().unwrap();
        let written = content(&server).unwrap();
        assert_eq!(written.len(), n_bytes);
        assert!(n_bytes == 0 || written[0] == b'X' && written[1..] == bytes[1..]);
        assert_eq!(server.requests().len(), 1);
        assert!(sink.etag().is_some());
        assert!(sink.append(b"more").is_err() && sink.commit().is_err());
    }
}

#[test]
fn a_large_file_is_written_in_parts_and_appears_at_the_end() {
    let server = Server::new();
    let mut bytes = pattern(10_500);
    let mut sink = sink(&server, parts_of(1_000));
    for piece in bytes.chunks(333) {
        sink.append(piece).unwrap();
    }
    // The header, all of the first part, and what is filled now; nothing between.
    for (place, new, expected) in [
        (0, &b"HEAD"[..], true),
        (996, b"tail", true),
        (10_400, b"x", true),
        (1_000, b"no", false),
        (998, b"over", false),
    ] {
        assert_eq!(sink.overwrite(place, new).unwrap(), expected, "{place}");
        if expected {
            let place = place as usize;
            bytes[place..place + new.len()].copy_from_slice(new);
        }
    }
    assert!(sink.overwrite(10_499, b"xy").is_err());
    assert_eq!(content(&server), None);
    sink.commit().unwrap();
    assert!(content(&server).unwrap() == bytes);
    assert_eq!(server.n_uploads(), 0);
    let names = names(&server);
    assert_eq!(names.first().unwrap(), "POST uploads=");
    assert_eq!(names.last().unwrap(), "POST uploadId");
    assert_eq!(names.len(), 13);
    assert_eq!(
        names
            .iter()
            .filter(|name| *name == "PUT partNumber=1")
            .count(),
        1
    );
}

#[test]
fn one_long_append_is_cut_into_parts() {
    let server = Server::new();
    let bytes = pattern(5_000);
    let mut sink = sink(&server, parts_of(1_000));
    sink.append(&bytes).unwrap();
    sink.commit().unwrap();
    assert!(content(&server).unwrap() == bytes);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn parts_are_sent_a_few_at_a_time() {
    let server = Server::new();
    server.slow(std::time::Duration::from_millis(20), None);
    let mut policy = parts_of(1_000);
    policy.parts_in_flight_max = 3;
    let bytes = pattern(20_000);
    let mut sink = sink(&server, policy);
    sink.append(&bytes).unwrap();
    sink.commit().unwrap();
    assert!(content(&server).unwrap() == bytes);
    assert!((2..=3).contains(&server.at_once()), "{}", server.at_once());
}

#[test]
fn a_file_that_is_given_up_leaves_nothing() {
    let server = Server::new();
    let mut sink = sink(&server, parts_of(1_000));
    sink.append(&pattern(3_500)).unwrap();
    assert_eq!(server.n_uploads(), 1);
    drop(sink);
    assert_eq!(server.n_uploads(), 0);
    assert_eq!(content(&server), None);
    // Nor does a small one, of which nothing was sent.
    let mut sink = self::sink(&server, parts_of(1_000));
    sink.append(&pattern(10)).unwrap();
    drop(sink);
    assert_eq!(content(&server), None);
}

#[test]
fn failures_that_pass_are_tried_again() {
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Reset,
        Fault::LostAnswer,
    ] {
        let server = Server::new();
        // The first try of each part fails.
        let tried = Mutex::new(HashSet::new());
        server.fail(move |request| {
            let is_first = tried.lock().unwrap().insert(request.target.clone());
            match request.method == "PUT" && is_first {
                true => fault,
                false => Fault::None,
            }
        });
        let bytes = pattern(5_500);
        let mut sink = sink(&server, parts_of(1_000));
        sink.append(&bytes).unwrap();
        sink.commit().unwrap();
        assert!(content(&server).unwrap() == bytes, "{fault:?}");
    }
}

#[test]
fn a_part_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let server = Server::new();
    server.fail(|request| match request.target.contains("partNumber=3") {
        true => Fault::Status(500),
        false => Fault::None,
    });
    let mut sink = sink(&server, parts_of(1_000));
    let error = [sink.append(&pattern(9_500)), sink.commit()];
    let error = error.into_iter().find_map(Result::err).unwrap();
    let text = error.to_string();
    assert!(text.contains("s3://bucket/a/b c: status 500"), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
    // Everything after it is refused.
    assert!(sink.append(b"more").is_err() && sink.commit().is_err());
    drop(sink);
    assert_eq!((content(&server), server.n_uploads()), (None, 0));
}

#[test]
fn a_lost_answer_to_the_last_request_is_an_unknown_outcome() {
    let server = Server::new();
    let is_last =
        |request: &Request| request.method == "POST" && request.target.contains("uploadId");
    server.fail(move |request| match is_last(request) {
        true => Fault::LostAnswer,
        false => Fault::None,
    });
    let mut sink = sink(&server, parts_of(1_000));
    let bytes = pattern(2_500);
    sink.append(&bytes).unwrap();
    let error = sink.commit().unwrap_err();
    let kind = StoreError::of(&error).unwrap().kind();
    assert_eq!(kind, StoreErrorKind::Unknown, "{error}");
    drop(sink);
    // It was complete, and stays.
    assert!(content(&server).unwrap() == bytes);
}

#[test]
fn servers_take_small_files_alone() {
    let server = Server::new();
    let policy = parts_of(1_000);
    let mut sink = StoreSink::new(server.store(policy), "file", policy);
    sink.append(&pattern(1_000)).unwrap();
    sink.commit().unwrap();
    assert_eq!(server.content("/file").unwrap().len(), 1_000);
    let mut sink = StoreSink::new(server.store(policy), "large", policy);
    let error = sink.append(&pattern(1_001)).unwrap_err();
    let kind = StoreError::of(&error).unwrap().kind();
    assert_eq!(kind, StoreErrorKind::Unsupported, "{error}");
}

#[test]
fn uploads_need_all_their_parts() {
    let server = Server::new();
    let store: Arc<dyn Store> = server.bucket(quick());
    let upload = block_on(store.upload("k")).unwrap();
    block_on(upload.put_part(0, Arc::new(vec![1]))).unwrap();
    let error = block_on(upload.complete(2)).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Invalid, "{error}");
    // A part written twice counts as it was last written.
    block_on(upload.put_part(1, Arc::new(vec![2]))).unwrap();
    block_on(upload.put_part(0, Arc::new(vec![3]))).unwrap();
    block_on(upload.complete(2)).unwrap();
    assert_eq!(server.content("/bucket/k").unwrap().as_slice(), [3, 2]);
    block_on(upload.abort()).unwrap();
}
