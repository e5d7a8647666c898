//! The simulated store: what each fault does, and what it tells its caller.

use std::sync::Arc;
use std::time::Duration;

use tarsia_io::{
    Capabilities, Get, GetRange, List, PutIfAbsent, Store, StoreErrorKind, StoreOperation, block_on,
};
use tarsia_table_testkit::store::{Call, Fault, SimulatedStore};

fn bytes(byte: u8) -> Arc<Vec<u8>> {
    Arc::new(vec![byte])
}

/// A store in which the first call goes wrong.
fn first(fault: Fault) -> SimulatedStore {
    SimulatedStore::scripted(move |call: &Call| match call.number {
        0 => fault,
        _ => Fault::None,
    })
}

#[test]
fn a_create_that_goes_wrong_says_whether_it_may_be_done() {
    let (unknown, transient) = (StoreErrorKind::Unknown, StoreErrorKind::Transient);
    for (fault, kind, is_done) in [
        (Fault::LostAnswer, unknown, true),
        (Fault::Dropped, unknown, false),
        (Fault::Conflict, transient, false),
        (Fault::TooMany, transient, false),
        (Fault::Broken { is_done: true }, unknown, true),
        (Fault::Broken { is_done: false }, unknown, false),
        (Fault::Reset { is_done: true }, unknown, true),
        (Fault::Reset { is_done: false }, unknown, false),
    ] {
        let store = first(fault);
        let error = block_on(store.put_if_absent("k", bytes(1))).unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}");
        assert_eq!(error.operation(), Some(StoreOperation::PutIfAbsent));
        assert_eq!(error.object(), "simulated:///k");
        assert_eq!(store.objects().len(), usize::from(is_done), "{fault:?}");
        let again = block_on(store.put_if_absent("k", bytes(1))).unwrap();
        assert_eq!(again == PutIfAbsent::Exists, is_done, "{fault:?}");
        let calls = store.calls();
        assert_eq!((calls[0].fault, calls[0].error), (fault, Some(kind)));
        assert_eq!(calls[1].error, None);
    }
}

#[test]
fn a_late_create_lands_unless_the_name_is_taken() {
    for is_taken in [false, true] {
        let store = first(Fault::Late { n_calls: 2 });
        let error = block_on(store.put_if_absent("k", bytes(1))).unwrap_err();
        assert_eq!((error.kind(), store.n_late()), (StoreErrorKind::Unknown, 1));
        assert!(block_on(store.head("k")).is_err());
        if is_taken {
            block_on(store.put_if_absent("k", bytes(2))).unwrap();
        } else {
            assert!(block_on(store.head("k")).is_err());
        }
        let got = block_on(store.get(Get::new("k", GetRange::Suffix(9)))).unwrap();
        assert_eq!(got.bytes, [if is_taken { 2 } else { 1 }]);
        assert_eq!(store.n_late(), 0);
    }
    // A put overwrites.
    let store = first(Fault::Late { n_calls: 9 });
    block_on(store.put("k", bytes(1))).unwrap_err();
    block_on(store.put("k", bytes(2))).unwrap();
    store.land_late();
    assert_eq!(store.objects()["k"], bytes(1));
}

#[test]
fn a_list_may_lag_and_shows_no_state_that_never_was() {
    let store = SimulatedStore::new();
    for key in ["a", "b", "c"] {
        block_on(store.put(key, bytes(1))).unwrap();
    }
    block_on(store.delete("a")).unwrap();
    let keys = |store: &SimulatedStore| -> Vec<String> {
        let page = block_on(store.list(List::new(""))).unwrap();
        page.objects.into_iter().map(|listed| listed.key).collect()
    };
    assert_eq!(keys(&store), ["b", "c"]);
    for (n_changes, expected) in [(1, &["a", "b", "c"][..]), (2, &["a", "b"]), (9, &[])] {
        store.script(move |_| Fault::Lagging { n_changes });
        assert_eq!(keys(&store), expected);
        // Objects do not lag.
        block_on(store.head("c")).unwrap();
    }
}

#[test]
fn the_clock_jumps_and_passes() {
    let store = SimulatedStore::new();
    let now = || block_on(store.now("probe")).unwrap();
    let before = now();
    store.advance(Duration::from_secs(60));
    assert!(now().duration_since(before).unwrap() >= Duration::from_secs(60));
    store.script(|_| Fault::Clock { seconds: -3_600 });
    block_on(store.put("k", bytes(1))).unwrap();
    let written = block_on(store.head("k")).unwrap().last_modified.unwrap();
    assert!(written < before);
}

#[test]
fn half_an_upload_is_no_object() {
    // The second part is lost; it is sent again, and then the answer to the end is lost.
    for (at, kind, is_done) in [
        (2, StoreErrorKind::Transient, false),
        (3, StoreErrorKind::Unknown, true),
    ] {
        let store = SimulatedStore::scripted(move |call: &Call| match call.number == at {
            true => Fault::LostAnswer,
            false => Fault::None,
        });
        let upload = block_on(store.upload("k")).unwrap();
        let steps = [
            block_on(upload.put_part(0, bytes(1))).err(),
            block_on(upload.put_part(1, bytes(2))).err(),
        ];
        let end = block_on(upload.complete(2)).err();
        let error = steps.into_iter().flatten().chain(end).next().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(store.objects().contains_key("k"), is_done);
    }
}

#[test]
fn equal_seeds_make_equal_faults_of_every_kind() {
    let run = |seed| {
        let store = SimulatedStore::seeded(seed, 40);
        for n in 0..400_u32 {
            let key = format!("k{}", n % 7);
            let _ = match n % 4 {
                0 => block_on(store.put(&key, bytes(n as u8))).map(drop),
                1 => block_on(store.put_if_absent(&key, bytes(n as u8))).map(drop),
                2 => block_on(store.delete(&key)),
                _ => block_on(store.list(List::new("k"))).map(drop),
            };
        }
        (store.calls(), store.objects())
    };
    let (calls, objects) = run(5);
    assert_eq!((calls.clone(), objects), run(5));
    assert_ne!(calls, run(6).0);
    let has = |is: fn(&Fault) -> bool| calls.iter().any(|call| is(&call.fault));
    assert!(has(|fault| *fault == Fault::LostAnswer) && has(|fault| *fault == Fault::Dropped));
    assert!(has(|fault| *fault == Fault::Conflict) && has(|fault| *fault == Fault::TooMany));
    assert!(has(|fault| matches!(fault, Fault::Late { .. })));
    assert!(has(|fault| matches!(fault, Fault::Broken { .. })));
    assert!(has(|fault| matches!(fault, Fault::Reset { .. })));
    assert!(has(|fault| matches!(fault, Fault::Lagging { .. })));
    assert!(has(|fault| matches!(fault, Fault::Clock { .. })));
}

#[test]
fn abilities_can_be_taken_away() {
    let store = SimulatedStore::new();
    store.set_capabilities(Capabilities::NONE);
    for error in [
        block_on(store.put_if_absent("k", bytes(1))).unwrap_err(),
        block_on(store.list(List::new(""))).unwrap_err(),
        block_on(store.delete("k")).unwrap_err(),
        block_on(store.now("k")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    }
    store.set_capabilities(Capabilities::ALL);
    block_on(store.put_if_absent("k", bytes(1))).unwrap();
    store.damage("k", |bytes| bytes[0] ^= 1);
    assert_eq!(store.objects()["k"], bytes(0));
}
