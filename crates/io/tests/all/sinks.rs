//! Every sink against a vector; files appear whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tarsia_io::{FileSink, MemorySink, Sink};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("table.tarsia");
    (directory, target)
}

#[test]
fn a_committed_file_replaces_the_old_one() {
    let (directory, target) = place();
    for content in ["first", "second, longer", ""] {
        let mut sink = FileSink::create(&target).unwrap();
        sink.append(content.as_bytes()).unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), content);
        assert_eq!(names(directory.path()), ["table.tarsia"]);
    }
}

#[test]
fn until_the_commit_the_old_file_stays_and_the_temporary_name_is_ignored_by_git() {
    let (directory, target) = place();
    fs::write(&target, "old").unwrap();
    let mut sink = FileSink::create(&target).unwrap();
    sink.append(&vec![7; 5 << 20]).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    let names_now = names(directory.path());
    assert_eq!(names_now.len(), 2, "{names_now:?}");
    // The pattern `*.tarsia.tmp*`.
    assert!(
        names_now[1].starts_with("table.tarsia.tmp"),
        "{names_now:?}"
    );
    drop(sink);
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_eq!(names(directory.path()), ["table.tarsia"]);
}

#[test]
fn dropped_without_commit_nothing_appears() {
    let (directory, target) = place();
    let mut sink = FileSink::create(&target).unwrap();
    sink.append(b"lost").unwrap();
    drop(sink);
    assert!(names(directory.path()).is_empty());
    let sink = MemorySink::new();
    let handle = sink.handle();
    drop(sink);
    assert_eq!(handle.take(), None);
}

#[test]
fn targets_that_cannot_be_are_refused_at_once() {
    let (directory, target) = place();
    let kind = |path: &Path| FileSink::create(path).unwrap_err().kind();
    assert_eq!(
        kind(&directory.path().join("missing").join("table.tarsia")),
        ErrorKind::NotFound
    );
    assert_eq!(kind(directory.path()), ErrorKind::IsADirectory);
    assert_eq!(kind(Path::new("..")), ErrorKind::InvalidInput);
    assert_eq!(kind(Path::new("")), ErrorKind::InvalidInput);
    fs::write(&target, "a file").unwrap();
    assert!(FileSink::create(target.join("inside-a-file")).is_err());
    assert_eq!(names(directory.path()), ["table.tarsia"]);
}

/// A rename over it would replace what other programs use by a file.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_replaced() {
    let (directory, target) = place();
    let socket = std::os::unix::net::UnixListener::bind(&target).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for path in [&target, &link] {
        let error = FileSink::create(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error
                .to_string()
                .ends_with("table.tarsia is no regular file"),
            "{error}"
        );
    }
    assert_eq!(names(directory.path()), ["link", "table.tarsia"]);
    drop(socket);
}

#[test]
fn a_commit_that_fails_leaves_nothing_behind() {
    let (directory, target) = place();
    let mut sink = FileSink::create(&target).unwrap();
    sink.append(b"new").unwrap();
    // A directory that is not empty cannot be replaced by a file.
    fs::create_dir(&target).unwrap();
    fs::write(target.join("inside"), "x").unwrap();
    assert!(sink.commit().is_err());
    assert_eq!(names(directory.path()), ["table.tarsia"]);
    assert_eq!(fs::read(target.join("inside")).unwrap(), b"x");
}

#[test]
fn two_writers_of_one_target_do_not_mix() {
    let (directory, target) = place();
    let mut first = FileSink::create(&target).unwrap();
    let mut second = FileSink::create(&target).unwrap();
    first.append(b"first").unwrap();
    second.append(b"second").unwrap();
    first.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"first");
    second.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"second");
    assert_eq!(names(directory.path()), ["table.tarsia"]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (directory, target) = place();
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = directory.path().join("link");
    symlink(&target, &link).unwrap();
    let mut sink = FileSink::create(&link).unwrap();
    sink.append(b"new").unwrap();
    sink.commit().unwrap();
    assert!(
        fs::symlink_metadata(&link)
            .unwrap()
            .file_type()
            .is_symlink()
    );
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[derive(Debug, Clone)]
enum Step {
    Append(u8, usize),
    Overwrite(u8, usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Around the buffer of 1 MiB, so that overwrites hit the file, the buffer and both.
    let lens = prop_oneof![0..50usize, 200_000..600_000usize, 1_000_000..1_100_000usize];
    let append = (any::<u8>(), lens.clone()).prop_map(|(byte, len)| Step::Append(byte, len));
    let overwrite = (any::<u8>(), 0..3_000_000usize, lens)
        .prop_map(|(byte, place, len)| Step::Overwrite(byte, place, len));
    prop::collection::vec(prop_oneof![append, overwrite], 0..12)
}

fn check_steps(mut sink: impl Sink, steps: &[Step]) -> Vec<u8> {
    let mut model: Vec<u8> = vec![];
    for step in steps {
        match *step {
            Step::Append(byte, len) => {
                let bytes: Vec<u8> = (0..len).map(|i| byte.wrapping_add(i as u8)).collect();
                sink.append(&bytes).unwrap();
                model.extend(bytes);
            }
            Step::Overwrite(byte, place, len) => {
                let place = place.min(model.len() + 1);
                let got = sink.overwrite(place as u64, &vec![byte; len]);
                match model.get_mut(place..place + len) {
                    Some(old) => {
                        assert!(got.unwrap());
                        old.fill(byte);
                    }
                    None => assert_eq!(got.unwrap_err().kind(), ErrorKind::InvalidInput),
                }
            }
        }
    }
    assert!(sink.overwrite(u64::MAX, &[1]).is_err());
    sink.commit().unwrap();
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sinks_hold_what_was_written_and_overwritten(steps in steps()) {
        let sink = MemorySink::new();
        let handle = sink.handle();
        let model = check_steps(sink, &steps);
        prop_assert!(handle.take().unwrap() == model);
        prop_assert_eq!(handle.take(), None);

        let (directory, target) = place();
        let model = check_steps(FileSink::create(&target).unwrap(), &steps);
        prop_assert!(fs::read(&target).unwrap() == model);
        prop_assert_eq!(names(directory.path()), ["table.tarsia"]);
    }
}
