//! Names of files on the command line: local paths and URLs, and who opens the URLs.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarsia::io::{ReadAt, Sink, Store, local_path, redact};

use crate::failure::Failure;

/// A file that the command line names: a local path or a URL. `file:///data/a%20b` is the local path `/data/a b`.
///
/// ```
/// use tarsia_cli::place::Place;
///
/// let signed = Place::from("https://host/a.tarsia?X-Amz-Signature=1f");
/// assert_eq!(signed.name().to_str(), Some("https://host/a.tarsia?…"));
/// assert_eq!(Place::from("file:///data/a%20b").path().unwrap().to_str(), Some("/data/a b"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    name: PathBuf,
    /// The URL, with what may be secret in it; `None` for a local path.
    url: Option<String>,
}

impl Place {
    /// The name that messages and results show: a path as it was given, a URL without user name and query, which may
    /// be secret.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The URL, of what is no local file.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The local path.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a URL.
    pub fn path(&self) -> Result<&Path, Failure> {
        match self.url {
            None => Ok(&self.name),
            Some(_) => Err(Failure::Usage(format!(
                "{}: is a URL, and this file has to be a local one",
                self.name.display()
            ))),
        }
    }
}

impl From<OsString> for Place {
    fn from(text: OsString) -> Place {
        let Some(url) = text.to_str().filter(|text| is_url(text)) else {
            return Place {
                name: text.into(),
                url: None,
            };
        };
        if let Some(path) = local_path(url) {
            return Place {
                name: path,
                url: None,
            };
        }
        let shown = match url.find(['?', '#']) {
            Some(end) => format!("{}?…", redact(&url[..end])),
            None => redact(url),
        };
        Place {
            name: shown.into(),
            url: Some(url.to_owned()),
        }
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Place {
        path.into_os_string().into()
    }
}

impl From<&str> for Place {
    fn from(text: &str) -> Place {
        OsString::from(text).into()
    }
}

/// Shows nothing secret.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({:?})", self.name)
    }
}

/// Whether a text starts with the scheme of a URL and `://`. One letter is a drive of Windows.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_of_scheme)
}

/// Opener of the URLs of a command line. Local files are not its matter.
pub trait Places: Send + Sync {
    /// Opens the file of a URL to read it.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a URL that is none, or of a kind that is not known here; [`Failure::Bad`] where the file
    /// is missing or cannot be read. Texts hold nothing secret.
    fn open(&self, url: &str) -> Result<Arc<dyn ReadAt>, Failure>;

    /// Starts the file of a URL, which appears when it is committed.
    ///
    /// # Errors
    /// As [`Places::open`].
    fn create(&self, url: &str) -> Result<NewFile, Failure>;

    /// Opens what is below a URL as a store, whose keys continue the URL behind a slash: a table.
    ///
    /// # Errors
    /// As [`Places::open`]. Nothing is asked of the store yet.
    fn store(&self, url: &str) -> Result<Arc<dyn Store>, Failure>;
}

/// A file of a URL that is being written.
pub struct NewFile {
    /// Where its bytes go. Dropped before the commit, it leaves nothing.
    pub sink: Box<dyn Sink>,
    /// Gives the file up from another thread, while the sink may be in the middle of a write: for a process that ends
    /// by a signal. It may wait for the network; further writes fail.
    pub abandon: Arc<dyn Fn() + Send + Sync>,
}

/// Knows no URL: the default build.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles;

impl LocalFiles {
    fn refused(url: &str) -> Failure {
        let name = Place::from(url).name;
        let name = name.display();
        if url
            .get(..7)
            .is_some_and(|it| it.eq_ignore_ascii_case("file://"))
        {
            return Failure::Usage(format!("{name}: no absolute path of this machine"));
        }
        Failure::Usage(format!(
            "{name}: this build reads and writes local files alone; `cargo install --path crates/integrations/command` \
             builds a `tarsia` that knows s3://, gs://, az:// and https:// URLs"
        ))
    }
}

impl Places for LocalFiles {
    fn open(&self, url: &str) -> Result<Arc<dyn ReadAt>, Failure> {
        Err(Self::refused(url))
    }

    fn create(&self, url: &str) -> Result<NewFile, Failure> {
        Err(Self::refused(url))
    }

    fn store(&self, url: &str) -> Result<Arc<dyn Store>, Failure> {
        Err(Self::refused(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme() {
        for text in ["s3://b/k", "HTTP://h/k", "a+b.c-1://x", "ftp://h/k"] {
            assert_eq!(Place::from(text).url(), Some(text));
        }
        for text in [
            "a.tarsia", "C://a", "a b://c", "://c", "-", "1s://x", "./s3://b",
        ] {
            assert_eq!(Place::from(text).path(), Ok(Path::new(text)));
        }
    }

    #[test]
    fn names_hold_nothing_secret() {
        for (url, name) in [
            ("https://h/k?sig=pw1 pw\"pw", "https://h/k?…"),
            ("https://me:pw@h/k", "https://…@h/k"),
            ("https://h/k#pw", "https://h/k?…"),
            ("az://c/k?sv=pw", "az://c/k?…"),
            ("s3://b/a b", "s3://b/a b"),
        ] {
            let place = Place::from(url);
            assert_eq!(place.name(), Path::new(name));
            assert!(!format!("{place:?}").contains("pw"));
            let failure = LocalFiles.open(url).err().and_then(|it| it.line());
            assert!(!failure.unwrap().contains("pw"), "{url}");
        }
    }
}
