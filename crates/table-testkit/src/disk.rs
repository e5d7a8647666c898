//! A file system that loses power, fails and lacks links where a test wants it to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tarsia_io::{Entry, FileKind, FileState, FileSystem, MemoryFile, Opened};
use tarsia_testkit::disk::SECTOR_BYTES;
use tarsia_testkit::faults::FAULT;
use tarsia_testkit::rng::Rng;

/// Syncs that a disk says it did, and did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lies {
    /// None: what is synced stays.
    None,
    /// Syncs of files.
    Files,
    /// Syncs of folders.
    Folders,
    /// Syncs of one folder.
    Folder(PathBuf),
}

/// A file system in memory: what processes see, and what survives a loss of power.
///
/// A write, a new name, a removed name and a new folder survive once their file or folder is synced. Before that each
/// of them, on its own, survives or not: names in any combination, writes sector by sector of 512 bytes. A file that is
/// renamed has two such changes, its new name and its old one. Nothing that was done to a folder helps if the folder's
/// own name is lost.
///
/// Clones share the disk, so several stores may use it, one after the other: processes.
#[derive(Clone)]
pub struct SimulatedFiles {
    disk: Arc<Mutex<Disk>>,
}

/// A handle of a file that is written.
#[derive(Debug)]
pub struct SimulatedFile {
    node: usize,
}

struct Disk {
    /// Files and folders by number; the first is the root. None is ever forgotten.
    nodes: Vec<Node>,
    clock: SystemTime,
    n_operations: usize,
    crash_at: Option<usize>,
    fail_at: Option<usize>,
    has_links: bool,
    has_rename_new: bool,
    lies: Lies,
    rng: Rng,
}

enum Node {
    File(FileNode),
    Folder(FolderNode),
}

struct FileNode {
    now: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Write>,
    modified: SystemTime,
}

struct Write {
    place: usize,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct FolderNode {
    now: BTreeMap<OsString, usize>,
    durable: BTreeMap<OsString, usize>,
    pending: Vec<NameChange>,
}

struct NameChange {
    name: OsString,
    to: Option<usize>,
}

/// A folder and a name in it.
struct Named {
    folder: usize,
    name: OsString,
}

impl SimulatedFiles {
    /// An empty file system. Equal seeds make equal choices.
    pub fn new(seed: u64) -> Self {
        let disk = Disk {
            nodes: vec![Node::Folder(FolderNode::default())],
            clock: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            n_operations: 0,
            crash_at: None,
            fail_at: None,
            has_links: true,
            has_rename_new: true,
            lies: Lies::None,
            rng: Rng::new(seed),
        };
        Self {
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    /// The change after `n` more ones is interrupted, and all calls after it fail, until
    /// [`SimulatedFiles::lose_power`] or [`SimulatedFiles::restart`].
    pub fn crash_after(&self, n: usize) {
        let mut disk = self.lock();
        disk.crash_at = Some(disk.n_operations + n);
    }

    /// The change after `n` more ones fails and does nothing; those after it do not fail.
    pub fn fail_after(&self, n: usize) {
        let mut disk = self.lock();
        disk.fail_at = Some(disk.n_operations + n);
    }

    /// Says whether there are links, and renames that replace nothing.
    pub fn set_abilities(&self, has_links: bool, has_rename_new: bool) {
        let mut disk = self.lock();
        (disk.has_links, disk.has_rename_new) = (has_links, has_rename_new);
    }

    /// Has the disk lie about syncs, to prove that a test notices.
    pub fn set_lies(&self, lies: Lies) {
        self.lock().lies = lies;
    }

    /// Returns the number of changes and syncs so far.
    pub fn n_operations(&self) -> usize {
        self.lock().n_operations
    }

    /// True once a crash interrupted a call.
    pub fn is_crashed(&self) -> bool {
        let disk = self.lock();
        disk.crash_at.is_some_and(|at| disk.n_operations > at)
    }

    /// The process is gone, the system is not: all is as it was, and as unsynced.
    pub fn restart(&self) {
        self.lock().crash_at = None;
    }

    /// The power is lost and comes back.
    pub fn lose_power(&self) {
        let mut disk = self.lock();
        disk.crash_at = None;
        let Disk { nodes, rng, .. } = &mut *disk;
        let chance = *rng.pick(&[0, 20, 50, 80, 100]);
        for node in nodes {
            match node {
                Node::File(file) => file.lose_power(chance, rng),
                Node::Folder(folder) => folder.lose_power(chance, rng),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileNode {
    fn lose_power(&mut self, chance: u32, rng: &mut Rng) {
        for Write { place, bytes } in std::mem::take(&mut self.pending) {
            if !rng.percent(chance) {
                continue;
            }
            // The length may survive without the bytes.
            let grown = self.durable.len().max(place + bytes.len());
            self.durable.resize(grown, 0);
            let mut done = 0;
            while done < bytes.len() {
                let sector_end =
                    ((place + done) / SECTOR_BYTES as usize + 1) * SECTOR_BYTES as usize;
                let n_bytes = (sector_end - place - done).min(bytes.len() - done);
                if rng.percent(chance) {
                    self.durable[place + done..place + done + n_bytes]
                        .copy_from_slice(&bytes[done..done + n_bytes]);
                }
                done += n_bytes;
            }
        }
        self.now.clone_from(&self.durable);
    }

    fn sync(&mut self) {
        self.pending.clear();
        self.durable.clone_from(&self.now);
    }
}

impl FolderNode {
    fn set(&mut self, name: &OsString, to: Option<usize>) {
        set(&mut self.now, name, to);
        let name = name.clone();
        self.pending.push(NameChange { name, to });
    }

    fn lose_power(&mut self, chance: u32, rng: &mut Rng) {
        for NameChange { name, to } in std::mem::take(&mut self.pending) {
            if rng.percent(chance) {
                set(&mut self.durable, &name, to);
            }
        }
        self.now.clone_from(&self.durable);
    }

    fn sync(&mut self) {
        self.pending.clear();
        self.durable.clone_from(&self.now);
    }
}

fn set(names: &mut BTreeMap<OsString, usize>, name: &OsString, to: Option<usize>) {
    match to {
        Some(node) => names.insert(name.clone(), node),
        None => names.remove(name),
    };
}

impl Disk {
    /// Counts a change. True if it is the one that is interrupted.
    fn begin(&mut self) -> io::Result<bool> {
        let index = self.n_operations;
        self.n_operations += 1;
        self.clock += Duration::from_millis(1);
        if self.fail_at == Some(index) {
            self.fail_at = None;
            return Err(io::Error::other(FAULT));
        }
        match self.crash_at {
            Some(at) if index > at => Err(io::Error::other(FAULT)),
            at => Ok(at == Some(index)),
        }
    }

    /// A call that changes nothing: it fails in a process that is gone.
    fn look(&self) -> io::Result<()> {
        match self.crash_at {
            Some(at) if self.n_operations > at => Err(io::Error::other(FAULT)),
            _ => Ok(()),
        }
    }

    fn folder(&mut self, node: usize) -> io::Result<&mut FolderNode> {
        match self.nodes.get_mut(node) {
            Some(Node::Folder(folder)) => Ok(folder),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn file(&mut self, node: usize) -> io::Result<&mut FileNode> {
        match self.nodes.get_mut(node) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn find(&mut self, path: &Path) -> io::Result<usize> {
        let mut at = 0;
        for part in path.components() {
            if let Component::Normal(name) = part {
                let next = self.folder(at)?.now.get(name).copied();
                at = next.ok_or(ErrorKind::NotFound)?;
            }
        }
        Ok(at)
    }

    fn place(&mut self, path: &Path) -> io::Result<Named> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
        let folder = self.find(path.parent().ok_or(ErrorKind::InvalidInput)?)?;
        self.folder(folder)?;
        Ok(Named { folder, name })
    }

    /// A name that nothing has.
    fn new_place(&mut self, path: &Path) -> io::Result<Named> {
        let place = self.place(path)?;
        match self.folder(place.folder)?.now.contains_key(&place.name) {
            true => Err(ErrorKind::AlreadyExists.into()),
            false => Ok(place),
        }
    }

    fn set(&mut self, place: &Named, to: Option<usize>) -> io::Result<()> {
        self.folder(place.folder)?.set(&place.name, to);
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Named) -> io::Result<()> {
        let node = self.find(from)?;
        let old = self.folder(to.folder)?.now.get(&to.name).copied();
        if let Some(old) = old {
            self.file(old)?;
        }
        let from = self.place(from)?;
        self.set(to, Some(node))?;
        self.set(&from, None)
    }

    fn n_links(&self, node: usize) -> u64 {
        let folders = self.nodes.iter().filter_map(|it| match it {
            Node::Folder(folder) => Some(folder),
            Node::File(_) => None,
        });
        let names = folders.flat_map(|folder| folder.now.values());
        names.filter(|named| **named == node).count() as u64
    }

    fn state(&self, node: usize) -> FileState {
        let (kind, len, modified) = match self.nodes.get(node) {
            Some(Node::File(file)) => (FileKind::File, file.now.len() as u64, Some(file.modified)),
            Some(Node::Folder(_)) => (FileKind::Folder, 0, None),
            None => (FileKind::Other, 0, None),
        };
        FileState {
            kind,
            len,
            modified,
            id: node as u64,
            n_links: self.n_links(node),
        }
    }
}

fn finish(is_interrupted: bool) -> io::Result<()> {
    match is_interrupted {
        true => Err(io::Error::other(FAULT)),
        false => Ok(()),
    }
}

impl FileSystem for SimulatedFiles {
    type File = SimulatedFile;
    type Reader = MemoryFile;

    fn create_new(&self, path: &Path) -> io::Result<SimulatedFile> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let place = disk.new_place(path)?;
        let node = disk.nodes.len();
        let modified = disk.clock;
        disk.nodes.push(Node::File(FileNode {
            now: Vec::new(),
            durable: Vec::new(),
            pending: Vec::new(),
            modified,
        }));
        disk.set(&place, Some(node))?;
        finish(is_interrupted)?;
        Ok(SimulatedFile { node })
    }

    fn write_at(&self, file: &SimulatedFile, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let clock = disk.clock;
        let file = disk.file(file.node)?;
        let place = usize::try_from(place).map_err(io::Error::other)?;
        let grown = file.now.len().max(place + bytes.len());
        file.now.resize(grown, 0);
        file.now[place..place + bytes.len()].copy_from_slice(bytes);
        file.modified = clock;
        let bytes = bytes.to_vec();
        file.pending.push(Write { place, bytes });
        finish(is_interrupted)
    }

    fn sync(&self, file: &SimulatedFile) -> io::Result<()> {
        let mut disk = self.lock();
        if disk.begin()? {
            return finish(true);
        }
        if disk.lies != Lies::Files {
            disk.file(file.node)?.sync();
        }
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let node = disk.find(path)?;
        if is_interrupted {
            return finish(true);
        }
        let lies = match &disk.lies {
            Lies::Folders => true,
            Lies::Folder(folder) => folder == path,
            Lies::None | Lies::Files => false,
        };
        if !lies {
            disk.folder(node)?.sync();
        }
        Ok(())
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let place = disk.new_place(path)?;
        let node = disk.nodes.len();
        disk.nodes.push(Node::Folder(FolderNode::default()));
        disk.set(&place, Some(node))?;
        finish(is_interrupted)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let to = disk.place(to)?;
        disk.rename(from, &to)?;
        finish(is_interrupted)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        if !disk.has_rename_new {
            return Err(ErrorKind::InvalidInput.into());
        }
        let to = disk.new_place(to)?;
        disk.rename(from, &to)?;
        finish(is_interrupted)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        if !disk.has_links {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let node = disk.find(from)?;
        let to = disk.new_place(to)?;
        disk.set(&to, Some(node))?;
        finish(is_interrupted)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        let is_interrupted = disk.begin()?;
        let node = disk.find(path)?;
        disk.file(node)?;
        let place = disk.place(path)?;
        disk.set(&place, None)?;
        finish(is_interrupted)
    }

    fn open(&self, path: &Path) -> io::Result<Opened<MemoryFile>> {
        let mut disk = self.lock();
        disk.look()?;
        let node = disk.find(path)?;
        let state = disk.state(node);
        match disk.file(node) {
            Ok(file) => Ok(Opened {
                reader: MemoryFile::new(file.now.clone()),
                state,
            }),
            Err(_) => Err(ErrorKind::InvalidInput.into()),
        }
    }

    fn state(&self, path: &Path) -> io::Result<FileState> {
        let mut disk = self.lock();
        disk.look()?;
        let node = disk.find(path)?;
        Ok(disk.state(node))
    }

    fn each_entry(
        &self,
        folder: &Path,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut disk = self.lock();
        disk.look()?;
        let node = disk.find(folder)?;
        let names: Vec<(OsString, usize)> = (disk.folder(node)?.now.iter())
            .map(|(name, node)| (name.clone(), *node))
            .collect();
        for (name, node) in names {
            let kind = disk.state(node).kind;
            if each(Entry { name, kind }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SimulatedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = self.lock();
        f.debug_struct("SimulatedFiles")
            .field("n_nodes", &disk.nodes.len())
            .field("n_operations", &disk.n_operations)
            .field("crash_at", &disk.crash_at)
            .finish_non_exhaustive()
    }
}
