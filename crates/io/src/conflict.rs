//! Errors between those who read a file and those who change it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be used now: somebody else uses it in a way that excludes this one.
///
/// It is inside an [`io::Error`]; [`Conflict::of`] finds it there. `docs/design/zero-copy-under-change.md` says who
/// excludes whom, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// The file is being changed in place, so it cannot be mapped. The kind is [`io::ErrorKind::ResourceBusy`].
    BeingChanged {
        /// The file.
        path: PathBuf,
    },
    /// The file is mapped or being changed by others, so it cannot be changed. The kind is
    /// [`io::ErrorKind::ResourceBusy`].
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file system has no locks, so nothing says whether others use the file. The kind is
    /// [`io::ErrorKind::Unsupported`].
    NoLocks {
        /// The file.
        path: PathBuf,
    },
    /// The file is not as it was when it was opened. The kind is [`io::ErrorKind::Other`].
    Changed {
        /// The file, if it was opened by its path.
        path: Option<PathBuf>,
        /// `"length"` or `"time of modification"`.
        what: &'static str,
    },
    /// The file's name leads to another file now, or to none. The kind is [`io::ErrorKind::Other`].
    Replaced {
        /// The name.
        path: PathBuf,
    },
}

impl Conflict {
    /// The conflict that an error reports, if it is one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    #[cfg(any(unix, windows))]
    pub(crate) fn being_changed(path: &Path) -> io::Error {
        let path = path.to_owned();
        Self::BeingChanged { path }.into()
    }

    #[cfg(any(unix, windows))]
    pub(crate) fn in_use(path: &Path) -> io::Error {
        let path = path.to_owned();
        Self::InUse { path }.into()
    }

    #[cfg(any(unix, windows))]
    pub(crate) fn no_locks(path: &Path) -> io::Error {
        let path = path.to_owned();
        Self::NoLocks { path }.into()
    }

    #[cfg(any(unix, windows))]
    pub(crate) fn replaced(path: &Path) -> io::Error {
        let path = path.to_owned();
        Self::Replaced { path }.into()
    }

    pub(crate) fn changed(path: Option<&Path>, what: &'static str) -> io::Error {
        let path = path.map(Path::to_owned);
        Self::Changed { path, what }.into()
    }
}

impl From<Conflict> for io::Error {
    fn from(conflict: Conflict) -> Self {
        let kind = match conflict {
            Conflict::BeingChanged { .. } | Conflict::InUse { .. } => io::ErrorKind::ResourceBusy,
            Conflict::NoLocks { .. } => io::ErrorKind::Unsupported,
            Conflict::Changed { .. } | Conflict::Replaced { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, conflict)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeingChanged { path } => write!(
                f,
                "{} is being changed by another handle: try again when it is done, or read without a memory map",
                path.display()
            ),
            Self::InUse { path } => write!(
                f,
                "{} is mapped or being changed by another handle: wait until that has ended",
                path.display()
            ),
            Self::NoLocks { path } => write!(
                f,
                "{} is on a file system without locks: nothing would keep others from using it meanwhile; change a copy elsewhere",
                path.display()
            ),
            Self::Replaced { path } => write!(
                f,
                "{} was replaced, renamed or removed while it was being changed",
                path.display()
            ),
            Self::Changed { path, what } => {
                match path {
                    Some(path) => write!(f, "{}", path.display())?,
                    None => write!(f, "the file")?,
                }
                write!(
                    f,
                    " was changed while it was open (its {what}): open it again"
                )
            }
        }
    }
}

impl std::error::Error for Conflict {}

#[cfg(all(test, any(unix, windows)))]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_file_and_say_what_to_do() {
        let path = Path::new("a/b.tarsia");
        let advice = [
            (Conflict::being_changed(path), "try again"),
            (Conflict::in_use(path), "wait until that has ended"),
            (Conflict::no_locks(path), "change a copy elsewhere"),
            (Conflict::changed(Some(path), "length"), "open it again"),
            (Conflict::replaced(path), "was replaced"),
        ];
        for (error, advice) in advice {
            let text = error.to_string();
            assert!(text.starts_with("a/b.tarsia "), "{text}");
            assert!(text.contains(advice), "{text}");
            assert!(Conflict::of(&error).is_some());
        }
        let unnamed = Conflict::changed(None, "length").to_string();
        assert!(unnamed.starts_with("the file was changed"), "{unnamed}");
        assert_eq!(Conflict::of(&io::ErrorKind::ResourceBusy.into()), None);
        assert_eq!(Conflict::of(&io::Error::other("text")), None);
    }
}
