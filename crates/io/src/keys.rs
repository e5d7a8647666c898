//! Keys that every store can have.

use crate::store_error::{StoreError, StoreErrorKind};

/// Bytes of the longest key: what S3, Google Cloud Storage and Azure take.
pub const KEY_BYTES_MAX: usize = 1_024;

/// Bytes of the longest part of a key between two `/`: what file systems take.
pub const KEY_PART_BYTES_MAX: usize = 255;

/// Checks that a key names an object in every store and a file below a folder: parts between `/`, none of them empty,
/// `.` or `..`, without backslash and control characters.
///
/// # Errors
/// [`StoreErrorKind::Invalid`], about `url`, which names the object.
pub fn check_key(key: &str, url: &str) -> Result<(), StoreError> {
    match fault_of(key) {
        None => Ok(()),
        Some(what) => Err(StoreError::new(StoreErrorKind::Invalid, url, what)),
    }
}

/// Says what is wrong with a key; `None` if it is good.
pub(crate) fn fault_of(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        return Some("it names no object");
    }
    if key.len() > KEY_BYTES_MAX {
        return Some("the key has more than 1,024 bytes");
    }
    if key.chars().any(|c| c.is_control() || c == '\\') {
        return Some("the key has a backslash or a control character");
    }
    for part in key.split('/') {
        if matches!(part, "" | "." | "..") {
            return Some("the key has an empty part, or one that is . or ..");
        }
        if part.len() > KEY_PART_BYTES_MAX {
            return Some("a part of the key has more than 255 bytes");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_elsewhere_are_refused() {
        for key in ["a", "a/b.c", "refs/heads/a%2fb/00/1", "ü", "...", "a b"] {
            assert_eq!(fault_of(key), None, "{key}");
        }
        let long = "x".repeat(256);
        let deep = "x/".repeat(512) + "y";
        for key in [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "a\\b", "a\0", "a\n",
            &long, &deep,
        ] {
            let error = check_key(key, "file:///t").unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Invalid, "{key}");
            assert_eq!(error.object(), "file:///t");
        }
        assert_eq!(fault_of(&long[1..]), None);
        assert_eq!(fault_of(&deep[2..]), None);
    }
}
