//! Strings in records: paths and metadata.
//!
//! | part | bytes |
//! |---|---|
//! | string | u32 length, then that many bytes of UTF-8 |
//! | path | one string per component, outermost first |
//! | metadata | key and value of each pair, sorted by key, each key once |

use std::collections::HashMap;

use tarsia_codec::toolbox::ByteReader;

use crate::bytes::len_u32;
use crate::error::{Error, Result};
use crate::limits::SCHEMA_DEPTH_MAX;

pub(crate) fn to_usize(value: u32, field: &'static str) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::limit(field, value.into(), usize::MAX as u64))
}

pub(crate) fn utf8<'a>(bytes: &'a [u8], field: &'static str, at: usize) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::corrupt(field, at, error.valid_up_to() as u64, "UTF-8"))
}

/// A u32 length, then that many bytes, and where these start.
fn counted<'a>(
    reader: &mut ByteReader<'a>,
    field: &'static str,
    at: usize,
) -> Result<(&'a [u8], usize)> {
    let start = at.saturating_add(reader.position());
    let len = to_usize(reader.u32(field)?, field)?;
    if len > reader.rest().len() {
        return Err(Error::corrupt(field, start, len as u64, "the bytes left"));
    }
    Ok((reader.take(len, field)?, start + 4))
}

/// A u32 length, then that many bytes of UTF-8.
fn string<'a>(reader: &mut ByteReader<'a>, field: &'static str, at: usize) -> Result<&'a str> {
    let (bytes, start) = counted(reader, field, at)?;
    utf8(bytes, field, start)
}

/// `at` is where the path starts in its record.
pub(crate) fn check_path(path: &[u8], at: usize) -> Result<()> {
    let mut reader = ByteReader::new(path);
    let mut depth = 0;
    while !reader.rest().is_empty() {
        string(&mut reader, "record.path", at)?;
        depth += 1;
    }
    check_depth(depth)
}

/// Refuses a depth of more than [`SCHEMA_DEPTH_MAX`]; a top-level field has the depth 1.
pub(crate) fn check_depth(depth: usize) -> Result<()> {
    if depth > SCHEMA_DEPTH_MAX {
        return Err(Error::limit(
            "schema depth",
            depth as u64,
            SCHEMA_DEPTH_MAX as u64,
        ));
    }
    Ok(())
}

/// `at` is where the metadata of the field at `path` start in their record.
pub(crate) fn check_metadata(path: &[u8], metadata: &[u8], at: usize) -> Result<()> {
    let mut reader = ByteReader::new(metadata);
    let mut last = None;
    while !reader.rest().is_empty() {
        let start = at.saturating_add(reader.position());
        let (key, key_at) = counted(&mut reader, "record.metadata", at)?;
        let text = |bytes, part, at_byte: usize| {
            std::str::from_utf8(bytes).map_err(|_| Error::MetadataText {
                owner: match path {
                    [] => "the schema".to_owned(),
                    path => format!("field `{}`", display_path(path).escape_debug()),
                },
                part,
                key: String::from_utf8_lossy(key).escape_debug().to_string(),
                at_byte: at_byte as u64,
            })
        };
        let (value, value_at) = counted(&mut reader, "record.metadata", at)?;
        text(value, "value of the key", value_at)?;
        let key = text(key, "key", key_at)?;
        if last.is_some_and(|last| last >= key) {
            return Err(Error::corrupt(
                "record.metadata",
                start,
                key.len() as u64,
                "keys sorted, each once",
            ));
        }
        last = Some(key);
    }
    Ok(())
}

/// Strings that were checked when their record was parsed; stops at the first that is not well formed.
pub(crate) struct Strings<'a>(ByteReader<'a>);

impl<'a> Strings<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(ByteReader::new(bytes))
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.rest().is_empty() {
            return None;
        }
        string(&mut self.0, "record.strings", 0).ok()
    }
}

/// A path as records store it and [`crate::path_hash`] takes it: per component a u32 length and its bytes.
///
/// ```
/// let path = tarsia_metadata::encode_path(["user", "id"]).unwrap();
/// assert_eq!(path, b"\x04\0\0\0user\x02\0\0\0id");
/// ```
///
/// # Errors
/// [`Error::LimitExceeded`] for a component of 4 GiB or more.
pub fn encode_path<S: AsRef<str>>(components: impl IntoIterator<Item = S>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for component in components {
        push_string(&mut out, component.as_ref())?;
    }
    Ok(out)
}

/// Metadata as records store them: pairs sorted by key.
///
/// # Errors
/// [`Error::LimitExceeded`] for a string of 4 GiB or more.
pub fn encode_metadata(metadata: &HashMap<String, String>) -> Result<Vec<u8>> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort_unstable();
    let mut out = Vec::new();
    for (key, value) in pairs {
        push_string(&mut out, key)?;
        push_string(&mut out, value)?;
    }
    Ok(out)
}

pub(crate) fn push_string(out: &mut Vec<u8>, string: &str) -> Result<()> {
    out.extend_from_slice(&len_u32(string.len(), "record.string_length")?.to_le_bytes());
    out.extend_from_slice(string.as_bytes());
    Ok(())
}

/// Components joined by dots, for people.
pub(crate) fn display_path(path: &[u8]) -> String {
    Strings::of(path).collect::<Vec<_>>().join(".")
}

/// Whether a path is another's with one component more; both are well formed.
pub(crate) fn is_child(path: &[u8], parent: &[u8]) -> bool {
    let own = path.strip_prefix(parent);
    own.is_some_and(|own| Strings::of(own).count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_keys_are_sorted_and_unique() {
        let mut twice = encode_path(["a", "1", "a", "2"]).unwrap();
        assert!(check_metadata(&[], &twice, 0).is_err());
        twice[18] = b'b';
        assert!(check_metadata(&[], &twice, 0).is_err());
        let sorted = encode_path(["a", "1", "b", "2"]).unwrap();
        assert!(check_metadata(&[], &sorted, 0).is_ok());
        let odd = encode_path(["a", "1", "b"]).unwrap();
        assert!(check_metadata(&[], &odd, 0).is_err());
    }

    #[test]
    fn metadata_that_are_no_text_are_named() {
        let good = encode_path(["unit", "m", "zone", "UTC"]).unwrap();
        let path = encode_path(["user", "id"]).unwrap();
        // Offsets of the value "m" and of the second key.
        for (at, path, what) in [
            (
                12,
                &[][..],
                "the value of the key `unit` in the metadata of the schema",
            ),
            (
                17,
                &path[..],
                "the key `\u{fffd}one` in the metadata of field `user.id`",
            ),
        ] {
            let mut bad = good.clone();
            bad[at] = 0xff;
            let error = check_metadata(path, &bad, 100).unwrap_err();
            assert!(error.is_corruption());
            assert_eq!(
                error.to_string(),
                format!("{what} is no UTF-8, at byte {}", 100 + at)
            );
        }
    }
}
