//! URLs of files and stores.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tarsia_io::{StoreError, StoreErrorKind, local_path, redact};

/// Where a file lies. Shown, it holds nothing secret.
///
/// | URL | store | key |
/// |---|---|---|
/// | `s3://BUCKET/KEY`, `s3a://…` | S3 and what speaks its dialect | as it stands |
/// | `gs://BUCKET/KEY`, `gcs://…` | Google Cloud Storage | as it stands |
/// | `az://CONTAINER/KEY`, `abfs://…`, `abfss://…` | Azure; the account is an option | as it stands |
/// | `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY` | Azure | as it stands |
/// | `https://HOST/PATH?QUERY`, `http://…` | a server | path and query, sent as they stand |
/// | `file:///PATH` | a local file | path; `%20` is a space |
///
/// Keys are written as the stores' own tools write them: `%20` in an `s3://` URL is three characters of the key. Keys
/// with an empty part (`a//b`) or with the parts `.` and `..` are refused, since clients disagree about them.
///
/// ```
/// use tarsia_store::StoreUrl;
///
/// let url: StoreUrl = "s3://bucket/day=1/part 0.tarsia".parse()?;
/// assert_eq!(url.key(), "day=1/part 0.tarsia");
/// let url: StoreUrl = "https://host/a.tarsia?X-Amz-Signature=secret".parse()?;
/// assert_eq!(url.to_string(), "https://host/a.tarsia?…");
/// assert!("https://user:password@host/a.tarsia".parse::<StoreUrl>().is_err());
/// # Ok::<(), tarsia_io::StoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    pub(crate) place: Place,
    key: String,
}

/// A store, or the local file system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    S3 {
        bucket: String,
    },
    Google {
        bucket: String,
    },
    Azure {
        container: String,
        account: Option<String>,
    },
    /// Scheme and authority.
    Http {
        origin: String,
    },
    Local {
        path: PathBuf,
    },
}

/// Ends of the host names of Azure's accounts.
const AZURE_HOSTS: [&str; 2] = [".dfs.core.windows.net", ".blob.core.windows.net"];

impl StoreUrl {
    /// Returns the name of the object in its store; the path and the query for a server, empty for a local file.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the path of a local file.
    pub fn local_path(&self) -> Option<&std::path::Path> {
        match &self.place {
            Place::Local { path } => Some(path),
            _ => None,
        }
    }

    /// Returns the URL of another object of the store.
    pub(crate) fn show(place: &Place, key: &str) -> String {
        match place {
            Place::S3 { bucket } => format!("s3://{bucket}/{key}"),
            Place::Google { bucket } => format!("gs://{bucket}/{key}"),
            Place::Azure {
                container,
                account: None,
            } => format!("az://{container}/{key}"),
            Place::Azure {
                container,
                account: Some(account),
            } => format!("abfss://{container}@{account}.dfs.core.windows.net/{key}"),
            Place::Http { origin } => match key.split_once('?') {
                // Signatures are in the query.
                Some((path, _)) => format!("{origin}/{path}?…"),
                None => format!("{origin}/{key}"),
            },
            Place::Local { path } => path.display().to_string(),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::show(&self.place, &self.key))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    /// Parses a URL. Errors are [`StoreErrorKind::Invalid`].
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let invalid = |what: &str| StoreError::new(StoreErrorKind::Invalid, redact(text), what);
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(invalid("no URL: it has no ://"));
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "file" {
            let path = local_path(text).ok_or_else(|| invalid("no absolute path of this machine"));
            return Ok(Self {
                place: Place::Local { path: path? },
                key: String::new(),
            });
        }
        if matches!(scheme.as_str(), "http" | "https") {
            return server(&scheme, rest).map_err(invalid);
        }
        let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
        let place = match scheme.as_str() {
            "s3" | "s3a" => Place::S3 {
                bucket: name.to_owned(),
            },
            "gs" | "gcs" => Place::Google {
                bucket: name.to_owned(),
            },
            "az" | "azure" | "abfs" | "abfss" => azure(name).map_err(invalid)?,
            _ => return Err(invalid("unknown kind of store")),
        };
        if !is_plain(match &place {
            Place::Azure { container, .. } => container,
            _ => name,
        }) {
            return Err(invalid("no name of a bucket or container"));
        }
        check_key(key).map_err(invalid)?;
        Ok(Self {
            place,
            key: key.to_owned(),
        })
    }
}

/// Whether a name has only characters that names of buckets, containers and accounts have.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._$".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

/// Refuses keys that clients spell differently.
fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        return Err("it names no object");
    }
    for part in key.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err("the key has an empty part, or one that is . or ..");
        }
    }
    match key.chars().any(char::is_control) {
        true => Err("the key has a control character"),
        false => Ok(()),
    }
}

fn azure(name: &str) -> Result<Place, &'static str> {
    let Some((container, host)) = name.split_once('@') else {
        return Ok(Place::Azure {
            container: name.to_owned(),
            account: None,
        });
    };
    let mut accounts = AZURE_HOSTS.iter().filter_map(|end| host.strip_suffix(end));
    match accounts.next() {
        Some(account) if is_plain(account) && !account.contains('.') => Ok(Place::Azure {
            container: container.to_owned(),
            account: Some(account.to_owned()),
        }),
        _ => Err("the host is none of Azure's: say the option `endpoint` for another"),
    }
}

fn server(scheme: &str, rest: &str) -> Result<StoreUrl, &'static str> {
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, key) = rest.split_at(end);
    if authority.contains('@') {
        return Err("user names and passwords in URLs are refused: say the option `authorization`");
    }
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(is_host) {
        return Err("no name of a host");
    }
    let key = key.strip_prefix('/').unwrap_or(key);
    if key.is_empty() || key.starts_with('?') {
        return Err("it names no object");
    }
    if key.chars().any(|c| c.is_control() || c == ' ') {
        return Err("a URL has no spaces and no control characters: write %20");
    }
    Ok(StoreUrl {
        place: Place::Http {
            origin: format!("{scheme}://{authority}"),
        },
        key: key.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, key: &str, shown: &str) {
        let url: StoreUrl = text.parse().unwrap();
        assert_eq!(
            (url.key(), url.to_string().as_str()),
            (key, shown),
            "{text}"
        );
    }

    #[test]
    fn urls_name_a_store_and_a_key() {
        check(
            "s3://b-1.x/a/b.tarsia",
            "a/b.tarsia",
            "s3://b-1.x/a/b.tarsia",
        );
        check("S3a://b/a%20b?c#d", "a%20b?c#d", "s3://b/a%20b?c#d");
        check("gs://b/a b", "a b", "gs://b/a b");
        check("gcs://b/a", "a", "gs://b/a");
        check("az://c/a", "a", "az://c/a");
        check("abfs://c/a", "a", "az://c/a");
        let full = "abfss://c@account.dfs.core.windows.net/a/b";
        check(full, "a/b", full);
        check("http://127.0.0.1:80/a/b", "a/b", "http://127.0.0.1:80/a/b");
        check("https://[::1]/a%20b", "a%20b", "https://[::1]/a%20b");
        check("https://h/a?s=1#frag", "a?s=1", "https://h/a?…");
        let url: StoreUrl = "file:///a%20b/c".parse().unwrap();
        assert!(url.local_path().unwrap().ends_with("a b/c"));
        assert_eq!(url.key(), "");
    }

    #[test]
    fn what_is_ambiguous_or_secret_is_refused() {
        for text in [
            "a/b",
            "s3://",
            "s3://b",
            "s3://b/",
            "s3://b//k",
            "s3://b/a//k",
            "s3://b/a/../k",
            "s3://b/k/",
            "s3://b/k\n",
            "s3://b@c/k",
            "abfss://c@evil.example/k",
            "ftp://h/k",
            "https://h",
            "https://h/",
            "https://h?x",
            "https:///k",
            "https://h/a b",
            "file://other/k",
            "file:///%zz",
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Invalid, "{text}");
        }
        let error = "https://me:pw1@h/k?sig=pw2"
            .parse::<StoreUrl>()
            .unwrap_err();
        assert!(!error.to_string().contains("pw"), "{error}");
    }
}
