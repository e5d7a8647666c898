//! Lists of a folder, in the order of keys, and the temporary files in it.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::folder::{Folder, is_absence, meta_of};
use crate::file_system::{Entry, FileKind, FileSystem};
use crate::keys::fault_of;
use crate::list::{List, ListPage, Listed};
use crate::store_error::{StoreError, StoreErrorKind};
use crate::temporary::is_temporary;

/// Entries of a folder that are in memory at the same time; a larger one is read several times.
const BATCH_MAX: usize = 1_024;

/// Most entries of a page, whatever a request says.
const PAGE_MAX: usize = 10_000;

/// The name of a new object that says the time by which the age of others is counted.
const PROBE: &str = "probe";

/// The state of a list that is made.
struct Walk<'a> {
    list: &'a List,
    page: ListPage,
    page_max: usize,
    last: Option<String>,
}

/// Entries of a folder that a walk visits.
struct Batch {
    /// Keys in order; those of folders end with `/`.
    names: Vec<String>,
    /// Whether these are all that are left.
    is_last: bool,
}

impl Walk<'_> {
    /// Whether there is space; if not, the next page begins here.
    fn has_space(&mut self) -> bool {
        let has_space = self.page.objects.len() + self.page.folders.len() < self.page_max;
        if !has_space && let Some(last) = &self.last {
            self.page.next = Some(self.list.clone().start_after(last));
        }
        has_space
    }

    /// Whether a list can have this entry, or entries in this folder.
    fn wants(&self, name: &str) -> bool {
        if !name.starts_with(&self.list.prefix) {
            return false;
        }
        let Some(start) = self.list.start_after.as_deref() else {
            return true;
        };
        let may_hold = !self.list.folders && name.ends_with('/') && start.starts_with(name);
        name > start || may_hold
    }
}

impl<F: FileSystem + Clone> Folder<F> {
    pub(super) fn list(&self, list: &List) -> Result<ListPage, StoreError> {
        let base = match list.prefix.rfind('/') {
            Some(at) => list.prefix.split_at(at + 1).0,
            None => "",
        };
        if !base.is_empty()
            && let Some(what) = fault_of(base.trim_end_matches('/')).or(base
                .ends_with("//")
                .then_some("the prefix has an empty part"))
        {
            let url = self.url(&list.prefix);
            return Err(StoreError::new(StoreErrorKind::Invalid, url, what));
        }
        let mut walk = Walk {
            list,
            page: ListPage::default(),
            page_max: list.page_max.clamp(1, PAGE_MAX),
            last: None,
        };
        match self.walk(base, &mut walk) {
            Ok(_) => Ok(walk.page),
            Err(error) => Err(self.failure(&list.prefix, &error)),
        }
    }

    /// Adds the entries of a folder to a page. False once the page is full and more follows.
    fn walk(&self, folder: &str, walk: &mut Walk<'_>) -> io::Result<bool> {
        let mut behind = None;
        loop {
            let batch = self.batch(folder, behind.as_deref(), |name| walk.wants(name))?;
            for name in &batch.names {
                if !self.visit(name, walk)? {
                    return Ok(false);
                }
            }
            if batch.is_last {
                return Ok(true);
            }
            behind = batch.names.last().cloned();
        }
    }

    fn visit(&self, name: &str, walk: &mut Walk<'_>) -> io::Result<bool> {
        if name.ends_with('/') {
            if !walk.list.folders {
                return self.walk(name, walk);
            }
            // Folders outlive their last object.
            if !self.has_objects(name)? {
                return Ok(true);
            }
            if !walk.has_space() {
                return Ok(false);
            }
            walk.page.folders.push(name.to_owned());
        } else {
            let state = match self.files.state(&self.root().join(name)) {
                Ok(state) if state.kind == FileKind::File => state,
                // It was removed, or is a folder by now.
                Ok(_) => return Ok(true),
                Err(error) if is_absence(&error) => return Ok(true),
                Err(error) => return Err(error),
            };
            if !walk.has_space() {
                return Ok(false);
            }
            walk.page.objects.push(Listed {
                key: name.to_owned(),
                meta: meta_of(&state),
            });
        }
        walk.last = Some(name.to_owned());
        Ok(true)
    }

    fn has_objects(&self, folder: &str) -> io::Result<bool> {
        let mut has_files = false;
        let read = self.each_entry(folder, &mut |entry| {
            let name = name_of(folder, &entry);
            has_files = name.is_some_and(|name| !name.ends_with('/'));
            match has_files {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match read {
            Err(error) if !is_absence(&error) => return Err(error),
            _ if has_files => return Ok(true),
            _ => {}
        }
        let mut behind = None;
        loop {
            let batch = self.batch(folder, behind.as_deref(), |_| true)?;
            for name in &batch.names {
                if !name.ends_with('/') || self.has_objects(name)? {
                    return Ok(true);
                }
            }
            if batch.is_last {
                return Ok(false);
            }
            behind = batch.names.last().cloned();
        }
    }

    /// The first entries of a folder behind one of them, in order. A folder that is gone has none.
    fn batch(
        &self,
        folder: &str,
        behind: Option<&str>,
        wants: impl Fn(&str) -> bool,
    ) -> io::Result<Batch> {
        let mut smallest: BinaryHeap<String> = BinaryHeap::new();
        let mut n_found = 0_usize;
        let read = self.each_entry(folder, &mut |entry| {
            let Some(name) = name_of(folder, &entry).filter(|name| wants(name)) else {
                return ControlFlow::Continue(());
            };
            if behind.is_some_and(|behind| name.as_str() <= behind) {
                return ControlFlow::Continue(());
            }
            n_found += 1;
            if smallest.len() < BATCH_MAX {
                smallest.push(name);
            } else if let Some(mut largest) = smallest.peek_mut()
                && name < *largest
            {
                *largest = name;
            }
            ControlFlow::Continue(())
        });
        match read {
            Err(error) if !is_absence(&error) => return Err(error),
            _ => {}
        }
        let names = smallest.into_sorted_vec();
        let is_last = names.len() == n_found;
        Ok(Batch { names, is_last })
    }

    fn each_entry(
        &self,
        folder: &str,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let path = match folder.strip_suffix('/') {
            Some(folder) => self.root().join(folder),
            None => self.root().to_owned(),
        };
        self.files.each_entry(&path, each)
    }

    pub(super) fn remove_temporaries(&self, age: Duration) -> Result<u64, StoreError> {
        let mut n_removed = 0;
        for Left { folder, name } in self.temporaries(self.now(PROBE)?, age)? {
            let path = self.root().join(&folder).join(&name);
            n_removed += self.remove_temporary(&path, &folder, &name)?;
        }
        Ok(n_removed)
    }

    /// Temporary files that were not written to for a time before `now`; all of them if that is none.
    pub(super) fn temporaries(
        &self,
        now: SystemTime,
        age: Duration,
    ) -> Result<Vec<Left>, StoreError> {
        let mut left = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let mut found = Vec::new();
            let read = self.each_entry(&folder, &mut |entry| {
                match (entry.kind, name_of(&folder, &entry)) {
                    (FileKind::Folder, Some(name)) => folders.push(name),
                    (FileKind::File, _) if is_temporary(&entry.name) => found.push(entry.name),
                    _ => {}
                }
                ControlFlow::Continue(())
            });
            match read {
                Err(error) if !is_absence(&error) => return Err(self.failure(&folder, &error)),
                _ => {}
            }
            for name in found {
                let folder = folder.clone();
                let found = Left { folder, name };
                if self.is_old(&found, now, age) {
                    left.push(found);
                }
            }
        }
        Ok(left)
    }

    /// Whether a temporary file was not written to for a time before `now`.
    pub(super) fn is_old(&self, left: &Left, now: SystemTime, age: Duration) -> bool {
        let path = self.root().join(&left.folder).join(&left.name);
        age.is_zero()
            || self.files.state(&path).is_ok_and(|state| {
                let written = state.modified;
                written.is_some_and(|written| {
                    now.duration_since(written).is_ok_and(|since| since >= age)
                })
            })
    }

    fn remove_temporary(&self, path: &Path, folder: &str, name: &OsStr) -> Result<u64, StoreError> {
        match self.files.remove(path) {
            Ok(()) => Ok(1),
            // Its writer was alive, or another collector was faster.
            Err(error) if is_absence(&error) => Ok(0),
            Err(error) => {
                let key = format!("{folder}{}", name.display());
                Err(self.failure(&key, &error))
            }
        }
    }
}

/// A temporary file, and the folder that it is in, with `/` at its end unless it is the root.
pub(super) struct Left {
    folder: String,
    name: std::ffi::OsString,
}

/// The key of an entry, with `/` behind a folder's; `None` for what is no object and no folder of objects.
fn name_of(folder: &str, entry: &Entry) -> Option<String> {
    let name = entry.name.to_str()?;
    let mut key = format!("{folder}{name}");
    match entry.kind {
        _ if fault_of(&key).is_some() => None,
        FileKind::File if is_temporary(&entry.name) => None,
        FileKind::File => Some(key),
        FileKind::Folder => {
            key.push('/');
            Some(key)
        }
        FileKind::Other => None,
    }
}
