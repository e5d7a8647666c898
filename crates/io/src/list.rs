//! Lists of objects, a page at a time.

use crate::object::ObjectMeta;

/// Entries of a page, unless a request says another number; S3 and Google Cloud Storage have no larger pages.
pub const LIST_PAGE_MAX: usize = 1_000;

/// A request for a page of a list. The order is that of the keys' bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// Beginning of the keys that are listed. It may end anywhere in a name: `data/a` lists `data/ab` and `data/a/b`.
    pub prefix: String,
    /// Only keys behind this one are listed. There need not be an object of that name.
    pub start_after: Option<String>,
    /// Lists one level: keys that have a `/` behind the prefix are listed as one folder, up to and with that `/`.
    pub folders: bool,
    /// Most entries of a page, folders included. A store may return fewer, and has limits of its own; 0 counts as 1.
    pub page_max: usize,
    /// Where the page before ended, if the store has a name for it. Only [`ListPage::next`] has one.
    pub token: Option<String>,
}

impl List {
    /// Asks for the first page of all keys that begin with a prefix.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            start_after: None,
            folders: false,
            page_max: LIST_PAGE_MAX,
            token: None,
        }
    }

    /// Lists only keys behind this one.
    #[must_use]
    pub fn start_after(mut self, key: impl Into<String>) -> Self {
        self.start_after = Some(key.into());
        self
    }

    /// Lists one level: objects, and folders for all that lies deeper.
    #[must_use]
    pub fn folders(mut self) -> Self {
        self.folders = true;
        self
    }

    /// Asks for at most so many entries.
    #[must_use]
    pub fn page_max(mut self, n_entries: usize) -> Self {
        self.page_max = n_entries;
        self
    }

    /// Continues the list where a page ended, for stores to say in [`ListPage::next`].
    #[must_use]
    pub fn continued(mut self, token: String) -> Self {
        self.token = Some(token);
        self
    }

    /// Returns the entry that stands for a key: `None` if the list does not have it, the folder if it lies in one.
    pub fn entry_of<'a>(&self, key: &'a str) -> Option<ListName<'a>> {
        let rest = key.strip_prefix(self.prefix.as_str())?;
        let entry = match rest.find('/') {
            Some(at) if self.folders => ListName::Folder(key.get(..self.prefix.len() + at + 1)?),
            _ => ListName::Object(key),
        };
        let is_behind = (self.start_after.as_deref()).is_none_or(|start| entry.name() > start);
        is_behind.then_some(entry)
    }
}

/// An entry of a list, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListName<'a> {
    /// An object, by its key.
    Object(&'a str),
    /// Objects whose keys begin with this text, which ends with `/`.
    Folder(&'a str),
}

impl<'a> ListName<'a> {
    /// Returns the text by which entries are ordered.
    pub fn name(self) -> &'a str {
        match self {
            Self::Object(name) | Self::Folder(name) => name,
        }
    }
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Name of the object.
    pub key: String,
    /// Size, ETag and time, as [`Store::head`](crate::Store::head) says them.
    pub meta: ObjectMeta,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListPage {
    /// Objects, in the order of the bytes of their keys.
    pub objects: Vec<Listed>,
    /// Folders, each with its `/` at the end, in the same order. A folder has at least one object.
    pub folders: Vec<String>,
    /// The request for the next page. There may be one although nothing follows, and after a page without entries.
    pub next: Option<List>,
}

impl ListPage {
    /// Makes a page of objects, which come in the order of their keys, for stores that have them at hand. Those that
    /// the list does not have are passed over.
    pub fn collect<K: AsRef<str>>(
        list: &List,
        objects: impl IntoIterator<Item = K>,
        meta: impl Fn(&K) -> ObjectMeta,
    ) -> Self {
        let mut page = Self::default();
        // Everything in a folder begins with its name, so the entry before says whether it is listed already.
        let mut last: Option<String> = None;
        for key in objects {
            let Some(entry) = list.entry_of(key.as_ref()) else {
                continue;
            };
            if last.as_deref() == Some(entry.name()) {
                continue;
            }
            if page.objects.len() + page.folders.len() >= list.page_max.max(1) {
                page.next = last.map(|last| list.clone().start_after(last));
                break;
            }
            last = Some(entry.name().to_owned());
            match entry {
                ListName::Object(name) => page.objects.push(Listed {
                    key: name.to_owned(),
                    meta: meta(&key),
                }),
                ListName::Folder(folder) => page.folders.push(folder.to_owned()),
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_by_prefix_and_level() {
        let all = List::new("a/");
        assert_eq!(all.entry_of("a/b/c"), Some(ListName::Object("a/b/c")));
        assert_eq!(all.entry_of("ab"), None);
        let level = List::new("a/").folders();
        assert_eq!(level.entry_of("a/b/c"), Some(ListName::Folder("a/b/")));
        assert_eq!(level.entry_of("a/b"), Some(ListName::Object("a/b")));
        let inside = List::new("a").folders();
        assert_eq!(inside.entry_of("a/b"), Some(ListName::Folder("a/")));
        let behind = List::new("").start_after("b");
        assert_eq!(behind.entry_of("b"), None);
        assert_eq!(behind.entry_of("b/a"), Some(ListName::Object("b/a")));
        // A folder is behind the key of an object inside it only if its name is.
        let behind = List::new("").folders().start_after("a/b");
        assert_eq!(behind.entry_of("a/c"), None);
        assert_eq!(behind.entry_of("b/c"), Some(ListName::Folder("b/")));
    }
}
