//! URLs: those of local files, and those in texts that people see.

use std::path::PathBuf;

/// How a local file is written as a URL.
const FILE_SCHEME: &str = "file://";

/// Returns the local path that a URL with the scheme `file` names, in which `%20` is a space; `None` for other URLs,
/// and for those that name another machine, no absolute path, or a path that is no UTF-8.
///
/// ```
/// let path = tarsia_io::local_path("file:///data/a%20b").unwrap();
/// assert!(path.ends_with("data/a b"));
/// assert_eq!(tarsia_io::local_path("file://elsewhere/a"), None);
/// ```
pub fn local_path(url: &str) -> Option<PathBuf> {
    let scheme = url.get(..FILE_SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(FILE_SCHEME) {
        return None;
    }
    let rest = url.get(FILE_SCHEME.len()..)?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let path = decode_percents(path)?;
    // `/C:/folder` on Windows.
    #[cfg(windows)]
    let path = path.trim_start_matches('/').to_owned();
    Some(path.into())
}

fn decode_percents(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return None;
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(*high)? * 16 + digit(*low)?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Removes from a text what may be secret in the URLs inside it: user names, passwords, queries and fragments.
///
/// ```
/// let text = tarsia_io::redact("no answer from https://me:pw@host/a.tarsia?X-Amz-Signature=1f");
/// assert_eq!(text, "no answer from https://…@host/a.tarsia?…");
/// ```
pub fn redact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let is_end = |c: char| c.is_whitespace() || "\"'`<>()".contains(c);
        let (url, after) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        let end = url.find(['?', '#']).unwrap_or(url.len());
        let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
        let start = match url[..authority].rfind('@') {
            Some(at) if !is_container(before, url) => {
                shown.push('…');
                at
            }
            _ => 0,
        };
        shown.push_str(&url[start..end.max(start)]);
        if end < url.len() {
            shown.push_str("?…");
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Whether what stands before an `@` is the container of an Azure URL, not a password.
fn is_container(before: &str, url: &str) -> bool {
    let user = url.split('@').next().unwrap_or_default();
    (before.ends_with("abfs://") || before.ends_with("abfss://")) && is_plain(user)
}

/// Whether a name has only characters that names of buckets, containers and accounts have.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._$".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_local_files_are_absolute_paths() {
        for text in ["file:///a/b%20c", "FILE://localhost/a/b c"] {
            assert!(local_path(text).unwrap().ends_with("a/b c"), "{text}");
        }
        for text in [
            "file://other/a",
            "file:a",
            "file:///%zz",
            "file:///%ff",
            "file:///a%",
            "http://a",
            "/a",
            "",
        ] {
            assert_eq!(local_path(text), None, "{text}");
        }
    }

    #[test]
    fn secrets_are_removed_from_texts() {
        let text = redact("no https://me:pw@h/k?sig=pw#pw for \"s3://b/k?pw\" or abfss://c@a/k.");
        assert_eq!(
            text,
            "no https://…@h/k?… for \"s3://b/k?…\" or abfss://c@a/k."
        );
        assert_eq!(redact("://?@"), "://?…");
        assert_eq!(redact("no url ?a=b"), "no url ?a=b");
    }
}
