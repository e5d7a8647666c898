//! Objects that are created once, listed and deleted, and what failures of these say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tarsia_io::{
    Capabilities, Get, GetRange, List, ListPage, Listing, PutIfAbsent, Store, StoreErrorKind,
    StoreOperation, block_on,
};
use tarsia_store_testing::{Fault, Moto, Request, Server, pattern, quick};

fn bytes(byte: u8) -> Arc<Vec<u8>> {
    Arc::new(vec![byte; 3])
}

/// Has the first `n` requests that write end with a fault.
fn failing(n: usize, fault: Fault) -> Server {
    let server = Server::new();
    let n_failed = AtomicUsize::new(0);
    server.fail(move |request: &Request| {
        let is_write = matches!(request.method.as_str(), "PUT" | "POST");
        match is_write && n_failed.fetch_add(1, Ordering::Relaxed) < n {
            true => fault,
            false => Fault::None,
        }
    });
    server
}

#[test]
fn an_object_is_created_once() {
    let server = Server::new();
    let store = server.bucket(quick());
    let first = block_on(store.put_if_absent("a/b c", bytes(1))).unwrap();
    let etag = block_on(store.head("a/b c")).unwrap().etag;
    assert!(etag.is_some());
    assert_eq!(first, PutIfAbsent::Created { etag });
    let second = block_on(store.put_if_absent("a/b c", bytes(2))).unwrap();
    assert_eq!(second, PutIfAbsent::Exists);
    assert_eq!(server.content("/bucket/a/b%20c"), Some(bytes(1)));
    let creates = server.requests();
    let creates = creates.iter().filter(|it| it.method == "PUT");
    assert!(
        creates
            .clone()
            .all(|it| it.header("if-none-match") == Some("*"))
    );
    assert_eq!(creates.count(), 2);
}

/// Nobody may say "exists" of an object that the same call made, so nothing is tried again that may have been done.
#[test]
fn a_create_without_an_answer_is_unknown_and_is_not_repeated() {
    for (fault, is_done) in [
        (Fault::LostAnswer, true),
        (Fault::Reset, false),
        (Fault::Status(500), false),
        (Fault::Status(502), false),
        (Fault::Status(503), false),
        (Fault::StallBefore, false),
    ] {
        let server = failing(1, fault);
        let store = server.bucket(quick());
        let error = block_on(store.put_if_absent("k", bytes(1))).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unknown, "{fault:?}: {error}");
        assert_eq!(error.operation(), Some(StoreOperation::PutIfAbsent));
        let text = error.to_string();
        assert!(
            text.starts_with("s3://bucket/k: it may be there or not"),
            "{text}"
        );
        assert!(
            text.ends_with("(put if absent)") && !text.contains("SECRET"),
            "{text}"
        );
        assert_eq!(server.requests().len(), 1, "{fault:?}");
        assert_eq!(server.content("/bucket/k").is_some(), is_done, "{fault:?}");
        assert_eq!(store.counts().retries, 0);
    }
}

#[test]
fn a_create_that_was_refused_for_a_moment_is_repeated() {
    for fault in [Fault::Status(429), Fault::CreateConflict] {
        let server = failing(2, fault);
        let store = server.bucket(quick());
        let done = block_on(store.put_if_absent("k", bytes(1))).unwrap();
        assert!(matches!(done, PutIfAbsent::Created { .. }), "{fault:?}");
        assert_eq!(store.counts().retries, 2);
        // For ever refused, it is not done, and the error says so.
        let server = failing(usize::MAX, fault);
        let error = block_on(server.bucket(quick()).put_if_absent("k", bytes(1))).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    }
}

#[test]
fn a_create_that_is_refused_for_good_says_why() {
    for (status, kind) in [
        (403, StoreErrorKind::Permission),
        (400, StoreErrorKind::Invalid),
        (404, StoreErrorKind::NotFound),
        (501, StoreErrorKind::Unsupported),
    ] {
        let server = failing(1, Fault::Status(status));
        let error = block_on(server.bucket(quick()).put_if_absent("k", bytes(1))).unwrap_err();
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert_eq!(server.requests().len(), 1, "{status}");
    }
    // Nobody listens: nothing was sent.
    let server = Server::new();
    let store = server.bucket(quick());
    drop(server);
    thread::sleep(Duration::from_millis(100));
    let error = block_on(store.put_if_absent("k", bytes(1))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
}

#[test]
fn a_server_without_a_bucket_lists_creates_and_deletes_nothing() {
    let server = Server::new();
    let store = server.store(quick());
    assert_eq!(store.capabilities(), Capabilities::NONE);
    assert_eq!(server.bucket(quick()).capabilities(), Capabilities::ALL);
    for (error, what) in [
        (
            block_on(store.put_if_absent("k", bytes(1))).unwrap_err(),
            "(put if absent)",
        ),
        (block_on(store.list(List::new("k"))).unwrap_err(), "(list)"),
        (block_on(store.delete("k")).unwrap_err(), "(delete)"),
        (block_on(store.now("k")).unwrap_err(), "(now)"),
    ] {
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(text.contains("server") && text.ends_with(what), "{text}");
    }
    assert_eq!(server.requests().len(), 0);
}

fn names(page: ListPage) -> Vec<String> {
    let mut names = page.folders;
    names.extend(page.objects.into_iter().map(|listed| listed.key));
    names.sort();
    names
}

fn check_lists(store: &dyn Store) {
    let keys = ["a", "b-c", "b/1", "b/2", "b/d/3", "b0", "e/f/4"];
    for key in keys {
        block_on(store.put(key, bytes(1))).unwrap();
    }
    let all: Vec<String> = Listing::new(store, List::new("").page_max(2))
        .map(|listed| {
            let listed = listed.unwrap();
            assert_eq!(block_on(store.head(&listed.key)).unwrap(), listed.meta);
            listed.key
        })
        .collect();
    assert_eq!(all, keys);
    let level = |list: List| names(block_on(store.list(list)).unwrap());
    assert_eq!(
        level(List::new("").folders()),
        ["a", "b-c", "b/", "b0", "e/"]
    );
    assert_eq!(level(List::new("b/").folders()), ["b/1", "b/2", "b/d/"]);
    assert_eq!(level(List::new("b")), ["b-c", "b/1", "b/2", "b/d/3", "b0"]);
    assert_eq!(level(List::new("b/").start_after("b/1")), ["b/2", "b/d/3"]);
    assert_eq!(level(List::new("b/").start_after("a")).len(), 3);
    assert_eq!(level(List::new("b/").start_after("c")), [""; 0]);
    // The folder of the key behind which the list begins is not behind it.
    assert_eq!(
        level(List::new("").folders().start_after("b/1")),
        ["b0", "e/"]
    );
    assert_eq!(level(List::new("none/")), [""; 0]);
    let first = block_on(store.list(List::new("b").page_max(1))).unwrap();
    assert_eq!(first.objects.len(), 1);
    assert!(first.next.is_some());
    for key in keys {
        block_on(store.delete(key)).unwrap();
        // Once more: it is gone already.
        block_on(store.delete(key)).unwrap();
    }
    assert_eq!(level(List::new("")), [""; 0]);
    let now = block_on(store.now("probe")).unwrap();
    assert!(now > std::time::UNIX_EPOCH);
    assert_eq!(level(List::new("")), [""; 0]);
}

#[test]
fn lists_are_in_order_by_prefix_page_and_level() {
    let server = Server::new();
    check_lists(&*server.bucket(quick()));
}

#[test]
fn a_list_that_fails_is_asked_again_and_one_in_disorder_is_refused() {
    let server = Server::new();
    let store = server.bucket(quick());
    for key in ["a", "b"] {
        block_on(store.put(key, bytes(1))).unwrap();
    }
    let n_failed = AtomicUsize::new(0);
    server.fail(move |_| match n_failed.fetch_add(1, Ordering::Relaxed) {
        0 => Fault::Status(503),
        1 => Fault::Reset,
        _ => Fault::None,
    });
    assert_eq!(
        names(block_on(store.list(List::new(""))).unwrap()),
        ["a", "b"]
    );
    server.fail(|_| Fault::Disorder);
    let error = block_on(store.list(List::new(""))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    assert!(error.to_string().contains("not in the order"), "{error}");
    server.fail(|_| Fault::Status(403));
    let error = block_on(store.list(List::new("a"))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Permission);
    assert!(
        error
            .to_string()
            .starts_with("s3://bucket/a: no permission"),
        "{error}"
    );
}

#[test]
fn a_delete_that_fails_is_tried_again() {
    let server = failing(2, Fault::LostAnswer);
    server.put("/bucket/k", pattern(3), Some("\"1\""));
    let store = server.bucket(quick());
    block_on(store.delete("k")).unwrap();
    assert_eq!(server.content("/bucket/k"), None);
    assert_eq!(store.counts().retries, 2);
}

#[test]
fn moto_lists_creates_and_deletes() {
    let Some(moto) = Moto::start() else { return };
    let store = moto.store("bucket");
    check_lists(&*store);
    for key in ["odd & <key> \"ü\" %41+", "x"] {
        let done = block_on(store.put_if_absent(key, bytes(1))).unwrap();
        let etag = block_on(store.head(key)).unwrap().etag;
        assert_eq!(done, PutIfAbsent::Created { etag });
        assert_eq!(
            block_on(store.put_if_absent(key, bytes(2))).unwrap(),
            PutIfAbsent::Exists
        );
        let got = block_on(store.get(Get::new(key, GetRange::Suffix(9)))).unwrap();
        assert_eq!(got.bytes, [1; 3]);
        assert_eq!(names(block_on(store.list(List::new(key))).unwrap()), [key]);
        block_on(store.delete(key)).unwrap();
        let done = block_on(store.put_if_absent(key, bytes(3))).unwrap();
        assert!(matches!(done, PutIfAbsent::Created { .. }));
    }
    let error = block_on(moto.store("no-bucket").put_if_absent("k", bytes(1))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
}

/// One of 32 creates at once wins, in each of several rounds. `moto` looks for the object and makes it in two steps, so
/// that with it sometimes two win.
#[test]
fn of_many_creates_one_wins() {
    let race = |store: &dyn Store, key: &str| {
        let won = thread::scope(|scope| {
            let tries: Vec<_> = (0..32)
                .map(|n| scope.spawn(move || block_on(store.put_if_absent(key, bytes(n)))))
                .collect();
            let done = tries.into_iter().map(|it| it.join().unwrap());
            done.filter(|done| matches!(done, Ok(PutIfAbsent::Created { .. })))
                .count()
        });
        assert_eq!(won, 1, "{key}");
    };
    let server = Server::new();
    for round in 0..5 {
        race(&*server.bucket(quick()), &format!("race/{round}"));
    }
}
