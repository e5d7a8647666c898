//! Files that are changed while others read them: who keeps whom out, within a process and between two.

#![cfg(any(unix, windows))]

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use tarsia_io::{
    ChangeAt, Conflict, ExclusiveFile, LocalFile, MappedFile, OnBusy, ReadAt, read_range,
};
#[cfg(unix)]
use tarsia_io::{FileSink, Sink};

/// One test at a time: while a process starts another one, that one has all its locks for a moment.
static ALONE: Mutex<()> = Mutex::new(());

struct Folder {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Folder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn file(&self, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Longer than the clock of any file system's times stands still.
#[cfg(unix)]
fn next_tick() {
    std::thread::sleep(Duration::from_millis(30));
}

#[cfg(unix)]
fn replace(path: &Path, content: &[u8]) {
    let mut sink = FileSink::create(path).unwrap();
    sink.append(content).unwrap();
    sink.commit().unwrap();
}

#[track_caller]
fn check_in_use<T>(got: io::Result<T>, path: &Path) {
    let error = got.err().expect("the file is in use");
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    let path = path.to_owned();
    assert_eq!(Conflict::of(&error), Some(&Conflict::InUse { path }));
}

#[track_caller]
fn check_being_changed<T>(got: io::Result<T>, path: &Path) {
    let error = got.err().expect("the file is being changed");
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    let path = path.to_owned();
    assert_eq!(Conflict::of(&error), Some(&Conflict::BeingChanged { path }));
}

#[test]
fn a_map_keeps_changes_out_as_long_as_it_lives() {
    let folder = Folder::new();
    for content in [&b"content"[..], b""] {
        let path = folder.file(content);
        let first = MappedFile::open(&path).unwrap();
        let second = MappedFile::open(&path).unwrap();
        assert_eq!(second.mapped(), Some(content));
        check_in_use(ExclusiveFile::open(&path, OnBusy::Refuse), &path);
        drop(first);
        check_in_use(ExclusiveFile::open(&path, OnBusy::Refuse), &path);
        drop(second);
        assert!(
            ExclusiveFile::open(&path, OnBusy::Refuse)
                .unwrap()
                .is_locked()
        );
    }
}

#[test]
fn a_change_keeps_maps_and_other_changes_out() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let mut file = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
    check_being_changed(MappedFile::open(&path), &path);
    check_in_use(ExclusiveFile::open(&path, OnBusy::Refuse), &path);
    file.write_at(3, b"TENT").unwrap();
    assert_eq!(&*read_range(&file, 0..7).unwrap(), b"conTENT");
    file.sync().unwrap();
    drop(file);
    let mapped = MappedFile::open(&path).unwrap();
    assert_eq!(mapped.mapped(), Some(&b"conTENT"[..]));
}

#[test]
fn writes_beyond_the_end_extend_a_file_and_it_is_cut() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let mut file = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
    assert_eq!((file.len(), file.path()), (7, &*path));
    for place in [u64::MAX, i64::MAX as u64] {
        let error = file.write_at(place, b"xx").unwrap_err();
        assert_eq!((error.kind(), file.len()), (ErrorKind::InvalidInput, 7));
    }
    file.write_at(100, b"").unwrap();
    assert_eq!(file.len(), 7);
    file.write_at(5, b"NTS").unwrap();
    assert_eq!(&*read_range(&file, 0..file.len()).unwrap(), b"conteNTS");
    file.write_at(10, b"!").unwrap();
    assert_eq!(
        &*read_range(&file, 0..file.len()).unwrap(),
        b"conteNTS\0\0!"
    );
    file.set_len(3).unwrap();
    assert_eq!(file.len(), 3);
    let error = file.read_at(2, &mut [0; 2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    file.set_len(5).unwrap();
    file.sync().unwrap();
    assert_eq!(&*read_range(&file, 0..5).unwrap(), b"con\0\0");
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), b"con\0\0");
}

// Locks of Windows keep reads of other handles out, too.
#[cfg(unix)]
#[test]
fn positioned_readers_are_not_kept_out_and_notice() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let reader = LocalFile::open(&path).unwrap();
    let mut file = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
    reader.check_unchanged().unwrap();
    assert_eq!(&*read_range(&reader, 0..7).unwrap(), b"content");
    next_tick();
    file.write_at(0, b"C").unwrap();
    assert_eq!(&*read_range(&reader, 0..7).unwrap(), b"Content");
    let error = reader.check_unchanged().unwrap_err();
    let expect = Conflict::Changed {
        path: Some(path.clone()),
        what: "time of modification",
    };
    assert_eq!(Conflict::of(&error), Some(&expect));
    // The one who changed it, and who opens it anew, is content.
    file.check_unchanged().unwrap();
    LocalFile::open(&path).unwrap().check_unchanged().unwrap();
}

#[test]
fn a_file_of_another_length_was_changed() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let reader = LocalFile::open(&path).unwrap();
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.set_len(9).unwrap();
    let error = reader.check_unchanged().unwrap_err();
    assert!(error.to_string().contains("its length"), "{error}");
    assert!(error.to_string().starts_with(&path.display().to_string()));
}

#[test]
fn who_waits_goes_on_when_the_last_map_is_gone() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let map = MappedFile::open(&path).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = ExclusiveFile::open(&path, OnBusy::Wait).unwrap();
            sender.send(file.is_locked()).unwrap();
        });
        let waiting = receiver.recv_timeout(Duration::from_millis(100));
        assert_eq!(waiting, Err(mpsc::RecvTimeoutError::Timeout));
        assert_eq!(map.mapped(), Some(&b"content"[..]));
        drop(map);
        assert_eq!(receiver.recv(), Ok(true));
    });
}

#[test]
fn an_override_asks_nobody() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let map = MappedFile::open(&path).unwrap();
    let file = ExclusiveFile::open(&path, OnBusy::Override).unwrap();
    assert!(!file.is_locked());
    drop((file, map));
    let file = ExclusiveFile::open(&path, OnBusy::Override).unwrap();
    assert!(file.is_locked(), "nobody was in the way");
}

// Windows does not replace a file that is mapped.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_stays_as_it_was_for_those_who_have_it() {
    let folder = Folder::new();
    let path = folder.file(b"old");
    let (map, reader) = (
        MappedFile::open(&path).unwrap(),
        LocalFile::open(&path).unwrap(),
    );
    next_tick();
    replace(&path, b"newer");
    assert_eq!(map.mapped(), Some(&b"old"[..]));
    assert_eq!(&*read_range(&reader, 0..3).unwrap(), b"old");
    map.check_unchanged().unwrap();
    reader.check_unchanged().unwrap();
    // The new file is nobody's yet.
    let mut file = ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
    file.write_at(0, b"N").unwrap();
    assert_eq!(map.mapped(), Some(&b"old"[..]));
}

#[cfg(unix)]
#[test]
fn who_waits_for_a_file_that_is_replaced_gets_the_new_one() {
    let folder = Folder::new();
    let path = folder.file(b"old");
    let map = MappedFile::open(&path).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut file = ExclusiveFile::open(&path, OnBusy::Wait).unwrap();
            file.write_at(0, b"N").unwrap();
        });
        std::thread::sleep(Duration::from_millis(100));
        replace(&path, b"newer");
        drop(map);
        waiting.join().unwrap();
    });
    assert_eq!(std::fs::read(&path).unwrap(), b"Newer");
}

/// The task of the second process: `map PATH` or `change PATH`.
const TASK: &str = "TARSIA_IO_TEST_TASK";

/// The second process: this test binary with one test to run. Elsewhere the test has nothing to do.
#[test]
fn second_process() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (what, path) = task.split_once(' ').unwrap();
    let _held: Box<dyn ReadAt> = match what {
        "map" => Box::new(MappedFile::open(path).unwrap()),
        "change" => Box::new(ExclusiveFile::open(path, OnBusy::Refuse).unwrap()),
        _ => unreachable!("{what}"),
    };
    println!("\nholds the file");
    // Until the first process says so, or is gone.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Starts the second process and waits until it has the file.
fn start(what: &str, path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["change::second_process", "--exact", "--nocapture"])
        .env(TASK, format!("{what} {}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "holds the file"));
    child
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_map_of_another_process_keeps_changes_out() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let child = start("map", &path);
    check_in_use(ExclusiveFile::open(&path, OnBusy::Refuse), &path);
    MappedFile::open(&path).unwrap();
    end(child);
    ExclusiveFile::open(&path, OnBusy::Refuse).unwrap();
}

#[test]
fn a_change_by_another_process_keeps_maps_out_until_it_ends_or_dies() {
    let folder = Folder::new();
    let path = folder.file(b"content");
    let child = start("change", &path);
    check_being_changed(MappedFile::open(&path), &path);
    check_in_use(ExclusiveFile::open(&path, OnBusy::Refuse), &path);
    end(child);
    MappedFile::open(&path).unwrap();

    let mut child = start("change", &path);
    check_being_changed(MappedFile::open(&path), &path);
    child.kill().unwrap();
    child.wait().unwrap();
    MappedFile::open(&path).unwrap();
}

/// A name that leads elsewhere is noticed however that came about, and one that leads back is not.
#[cfg(unix)]
#[test]
fn a_name_that_leads_to_another_file_is_noticed() {
    let folder = Folder::new();
    let path = folder.file(b"first");
    let aside = path.with_file_name("aside");
    let link = path.with_file_name("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        let file = ExclusiveFile::open(name, OnBusy::Refuse).unwrap();
        let check_replaced = || {
            assert!(!file.is_at_its_path().unwrap());
            let error = file.check_named().unwrap_err();
            let path = name.clone();
            assert_eq!(Conflict::of(&error), Some(&Conflict::Replaced { path }));
        };
        assert!(file.is_at_its_path().unwrap());
        std::fs::rename(&path, &aside).unwrap();
        check_replaced();
        std::fs::write(&path, b"other").unwrap();
        check_replaced();
        std::fs::rename(&aside, &path).unwrap();
        file.check_named().unwrap();
        std::fs::hard_link(&path, &aside).unwrap();
        file.check_named().unwrap();
        replace(&path, b"newer");
        check_replaced();
        std::fs::rename(&aside, &path).unwrap();
        file.check_named().unwrap();
    }
    // The link itself leads elsewhere.
    let file = ExclusiveFile::open(&link, OnBusy::Refuse).unwrap();
    std::fs::remove_file(&link).unwrap();
    file.check_named().unwrap_err();
    std::fs::write(&link, b"first").unwrap();
    file.check_named().unwrap_err();
    // A folder on the way is gone.
    let inner = path.with_file_name("inner");
    std::fs::create_dir(&inner).unwrap();
    let deep = inner.join("file");
    std::fs::write(&deep, b"deep").unwrap();
    let file = ExclusiveFile::open(&deep, OnBusy::Refuse).unwrap();
    std::fs::remove_dir_all(&inner).unwrap();
    assert!(!file.is_at_its_path().unwrap());
    std::fs::write(&inner, b"no folder").unwrap();
    assert!(!file.is_at_its_path().unwrap());
}
