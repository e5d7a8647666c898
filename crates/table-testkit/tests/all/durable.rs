//! Folders on a disk that loses power: whatever was answered is there, and whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tarsia_io::{
    Get, GetRange, List, Listing, LocalStore, PutIfAbsent, Store, StoreErrorKind, block_on,
};
use tarsia_table_testkit::disk::{Lies, SimulatedFiles};
use tarsia_testkit::rng::Rng;

const KEYS: [&str; 6] = ["k", "a/1", "a/2", "a/b/3", "c/d/e/4", "c/5"];
const ROOT: &str = "/srv/table";

/// Contents that an object may have, `None` if it may be absent.
type Allowed = BTreeSet<Option<Vec<u8>>>;

/// Stores on one disk: processes that work one after the other and die at any call.
struct Run {
    files: SimulatedFiles,
    store: LocalStore<SimulatedFiles>,
    allowed: BTreeMap<&'static str, Allowed>,
    rng: Rng,
}

fn open(files: &SimulatedFiles) -> LocalStore<SimulatedFiles> {
    LocalStore::open_in(files.clone(), Path::new(ROOT)).unwrap()
}

impl Run {
    fn new(seed: u64, lies: &Lies) -> Self {
        let files = SimulatedFiles::new(seed);
        let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
        files.set_lies(lies.clone());
        let mut rng = Rng::new(seed ^ 0x5eed);
        files.set_abilities(rng.percent(80), true);
        Self {
            files,
            store,
            allowed: KEYS.map(|key| (key, Allowed::from([None]))).into(),
            rng,
        }
    }

    fn read(&self, key: &str) -> Option<Vec<u8>> {
        let whole = GetRange::Whole { bytes_max: 1 << 20 };
        match block_on(self.store.get(Get::new(key, whole))) {
            Ok(got) => Some(got.bytes),
            Err(error) if error.kind() == StoreErrorKind::NotFound => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// One operation, with its effect on what may be there.
    fn change(&mut self) -> Result<(), String> {
        let key = *self.rng.pick(&KEYS);
        let length = *self.rng.pick(&[0, 1, 100, 3_000]);
        let bytes = self.rng.bytes(length);
        let allowed = self.allowed.get_mut(key).unwrap();
        match self.rng.below(4) {
            0 => match block_on(self.store.put(key, Arc::new(bytes.clone()))) {
                Ok(_) => *allowed = Allowed::from([Some(bytes)]),
                Err(_) => drop(allowed.insert(Some(bytes))),
            },
            1 => match block_on(self.store.put_if_absent(key, Arc::new(bytes.clone()))) {
                Ok(PutIfAbsent::Created { .. }) => {
                    if !allowed.contains(&None) {
                        return Err(format!("{key} was created twice"));
                    }
                    *allowed = Allowed::from([Some(bytes)]);
                }
                Ok(PutIfAbsent::Exists) => {
                    let found = self.read(key);
                    if found.is_none() {
                        return Err(format!("{key} exists and is absent"));
                    }
                    self.allowed.insert(key, Allowed::from([found]));
                }
                Err(error) if error.kind() == StoreErrorKind::Unknown => {
                    allowed.insert(Some(bytes));
                }
                // Certainly not done.
                Err(_) => {}
            },
            2 => match block_on(self.store.delete(key)) {
                Ok(()) => *allowed = Allowed::from([None]),
                Err(_) => drop(allowed.insert(None)),
            },
            _ => {
                let done = self.upload(key, &bytes);
                let allowed = self.allowed.get_mut(key).unwrap();
                match done {
                    true => *allowed = Allowed::from([Some(bytes)]),
                    false => drop(allowed.insert(Some(bytes))),
                }
            }
        }
        Ok(())
    }

    fn upload(&self, key: &str, bytes: &[u8]) -> bool {
        let (first, second) = bytes.split_at(bytes.len() / 3);
        let write = || {
            let upload = block_on(self.store.upload(key))?;
            block_on(upload.put_part(1, Arc::new(second.to_vec())))?;
            block_on(upload.put_part(0, Arc::new(first.to_vec())))?;
            block_on(upload.complete(2))
        };
        write().is_ok()
    }

    /// Compares what is there with what may be.
    fn compare(&mut self, when: &str) -> Result<(), String> {
        let mut present = Vec::new();
        for key in KEYS {
            let found = self.read(key);
            let allowed = &self.allowed[key];
            if !allowed.contains(&found) {
                let lengths: Vec<_> = allowed.iter().map(|it| it.as_ref().map(Vec::len)).collect();
                let found = found.map(|it| it.len());
                return Err(format!(
                    "{when}: {key} has {found:?} bytes, may have {lengths:?}"
                ));
            }
            if found.is_some() {
                present.push(key.to_owned());
            }
        }
        present.sort();
        let listed = Listing::new(&self.store, List::new("").page_max(2));
        let listed: Vec<String> = listed.map(|it| it.unwrap().key).collect();
        match listed == present {
            true => Ok(()),
            false => Err(format!(
                "{when}: {listed:?} is listed, {present:?} is there"
            )),
        }
    }

    /// Operations with a crash somewhere, and what is there after it.
    fn life(&mut self, n_changes: usize) -> Result<(), String> {
        if self.rng.percent(70) {
            let n = self.rng.between(0, 8 * n_changes);
            self.files.crash_after(n);
        }
        if self.rng.percent(20) {
            let n = self.rng.between(0, 8 * n_changes);
            self.files.fail_after(n);
        }
        for _ in 0..n_changes {
            self.change()?;
            if self.files.is_crashed() {
                break;
            }
        }
        let has_power = self.rng.percent(30);
        self.files.restart();
        if !has_power {
            self.files.lose_power();
        }
        self.store = open(&self.files);
        self.compare(if has_power {
            "new process"
        } else {
            "power lost"
        })?;
        if !has_power {
            // All that survived is on the disk.
            for key in KEYS {
                let found = self.read(key);
                self.allowed.insert(key, Allowed::from([found]));
            }
        }
        Ok(())
    }
}

fn run(seed: u64, n_changes: usize, lies: &Lies) -> Result<(), String> {
    let mut run = Run::new(seed, lies);
    (0..6).try_for_each(|_| run.life(n_changes))
}

/// The first failing seed, with the fewest operations between crashes that fail, and what is wrong.
fn first_failure(seeds: u64, lies: &Lies) -> Option<String> {
    let seed = (0..seeds).find(|seed| run(*seed, 8, lies).is_err())?;
    let failing = (1..=8).find_map(|n| run(seed, n, lies).err().map(|error| (n, error)));
    let (n, error) = failing?;
    Some(format!("seed {seed}, {n} operations: {error}"))
}

#[test]
fn what_was_answered_survives_a_loss_of_power_at_any_call() {
    if let Some(failure) = first_failure(4_000, &Lies::None) {
        panic!("{failure}");
    }
}

#[test]
fn without_any_one_kind_of_sync_something_is_lost() {
    for lies in [
        Lies::Files,
        Lies::Folders,
        Lies::Folder(ROOT.into()),
        Lies::Folder(Path::new(ROOT).join("a")),
        Lies::Folder(Path::new(ROOT).join("c")),
    ] {
        assert!(first_failure(4_000, &lies).is_some(), "{lies:?}");
    }
}

/// Each call of a put if absent is interrupted, and whoever comes next sees all of it or nothing.
#[test]
fn every_call_of_a_create_is_a_crash_point() {
    let (mut is_there, mut is_not) = (0, 0);
    let bytes: Vec<u8> = (0..2_000_u32).map(|n| n as u8).collect();
    for has_links in [true, false] {
        let mut n_calls = 0;
        loop {
            for seed in 0..40 {
                let files = SimulatedFiles::new(seed);
                let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
                files.set_abilities(has_links, true);
                files.crash_after(n_calls);
                let done = block_on(store.put_if_absent("refs/heads/1", Arc::new(bytes.clone())));
                files.lose_power();
                let store = open(&files);
                let whole = GetRange::Whole { bytes_max: 9_999 };
                match block_on(store.get(Get::new("refs/heads/1", whole))) {
                    Ok(got) => {
                        assert!(got.bytes == bytes);
                        is_there += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), StoreErrorKind::NotFound);
                        assert!(done.is_err(), "{n_calls} calls, seed {seed}");
                        is_not += 1;
                    }
                }
                if let Err(error) = done
                    && error.kind() != StoreErrorKind::Unknown
                {
                    assert!(
                        block_on(store.head("refs/heads/1")).is_err(),
                        "{n_calls}: {error}"
                    );
                }
                // Others create it now, or find it.
                let again = block_on(store.put_if_absent("refs/heads/1", Arc::new(bytes.clone())));
                again.unwrap();
            }
            n_calls += 1;
            let files = SimulatedFiles::new(0);
            let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
            files.set_abilities(has_links, true);
            let before = files.n_operations();
            block_on(store.put_if_absent("refs/heads/1", Arc::new(bytes.clone()))).unwrap();
            if n_calls > files.n_operations() - before {
                break;
            }
        }
        assert!(n_calls >= 9, "{n_calls}");
    }
    assert!(is_there > 50 && is_not > 50, "{is_there} {is_not}");
}

/// A process gives an object its name and dies before it syncs. Another finds it and says so: then it stays.
#[test]
fn what_exists_survives_although_its_writer_died() {
    for seed in 0..100 {
        for n_calls in 0..12 {
            let files = SimulatedFiles::new(seed);
            let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
            files.crash_after(n_calls);
            let _ = block_on(store.put_if_absent("a/b/c", Arc::new(vec![1; 600])));
            files.restart();
            let store = open(&files);
            let done = block_on(store.put_if_absent("a/b/c", Arc::new(vec![2; 700]))).unwrap();
            let length = match done {
                PutIfAbsent::Exists => 600,
                PutIfAbsent::Created { .. } => 700,
            };
            files.lose_power();
            let meta = block_on(open(&files).head("a/b/c")).unwrap();
            assert_eq!(meta.size, length, "seed {seed}, {n_calls} calls");
        }
    }
}

#[test]
fn a_file_system_without_links_and_renames_creates_nothing() {
    let files = SimulatedFiles::new(0);
    let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
    files.set_abilities(false, false);
    let error = block_on(store.put_if_absent("a/1", Arc::new(vec![1]))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    let text = error.to_string();
    assert!(
        text.starts_with("/srv/table/a/1: the file system has neither links"),
        "{text}"
    );
    assert!(text.ends_with("(put if absent)"), "{text}");
    assert!(block_on(store.head("a/1")).is_err());
    assert_eq!(
        store.remove_temporaries(std::time::Duration::ZERO).unwrap(),
        0
    );
    // Without links alone it is done by a rename, once.
    files.set_abilities(false, true);
    let done = block_on(store.put_if_absent("a/1", Arc::new(vec![1]))).unwrap();
    assert!(matches!(done, PutIfAbsent::Created { .. }));
    let done = block_on(store.put_if_absent("a/1", Arc::new(vec![2]))).unwrap();
    assert_eq!(done, PutIfAbsent::Exists);
    assert_eq!(
        store.remove_temporaries(std::time::Duration::ZERO).unwrap(),
        0
    );
}

/// After a crash temporary files may be left; they go by their age, and no object goes with them.
#[test]
fn temporary_files_of_crashed_writers_go_by_age() {
    let mut n_removed = 0;
    for n_calls in 0..10 {
        let files = SimulatedFiles::new(3);
        let store = LocalStore::create_in(files.clone(), Path::new(ROOT)).unwrap();
        block_on(store.put("a/0", Arc::new(vec![1]))).unwrap();
        files.crash_after(n_calls);
        let _ = block_on(store.put("a/1", Arc::new(vec![1])));
        files.restart();
        let store = open(&files);
        let day = std::time::Duration::from_secs(86_400);
        assert_eq!(store.remove_temporaries(day).unwrap(), 0);
        n_removed += store.remove_temporaries(std::time::Duration::ZERO).unwrap();
        assert_eq!(
            store.remove_temporaries(std::time::Duration::ZERO).unwrap(),
            0
        );
        block_on(store.head("a/0")).unwrap();
    }
    assert!(n_removed >= 3, "{n_removed}");
}
