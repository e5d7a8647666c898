//! Keys and values of metadata that are no UTF-8, as texts: nothing of them is lost.
//!
//! Keys and values are strings by the formats, but extension types of other programs, such as pyarrow's, put bytes
//! there.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Ends the keys of metadata whose values are bytes in base64.
const VALUE_SUFFIX: &str = ".base64";

/// Begins keys that are bytes in base64 themselves.
const KEY_PREFIX: &str = "base64:";

/// A key as text.
pub(super) fn key_text(key: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(key) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(format!("{KEY_PREFIX}{}", STANDARD.encode(key))),
    }
}

/// The key and the text for a value that is no UTF-8.
pub(super) fn value_text(key: &str, value: &[u8]) -> (String, String) {
    (format!("{key}{VALUE_SUFFIX}"), STANDARD.encode(value))
}
