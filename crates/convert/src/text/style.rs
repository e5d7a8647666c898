//! Differences between the styles: text, null, and how they are quoted.

use std::borrow::Cow;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use tarsia_compliance::certificate::is_unprintable;

/// The use of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A JSON value, for people and programs that look at a table.
    Json,
    /// A JSON value of a file that holds the table: what has no text is refused.
    JsonLines,
    /// A field of a CSV line.
    Csv,
    /// The start of a JSON value, of more than so many characters if there are more: not all of a long value is looked
    /// at.
    Start(usize),
}

/// Appends the value of a row to a buffer. The error says why the value has no text.
pub type Cell<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<(), String> + 'a>;

impl Style {
    /// Whether what was written of a value is enough of it.
    pub(super) fn is_enough(self, out: &[u8]) -> bool {
        /// Most bytes of a character.
        const CHAR_BYTES: usize = 4;
        match self {
            Self::Start(n_chars) => out.len() / CHAR_BYTES > n_chars,
            Self::Json | Self::JsonLines | Self::Csv => false,
        }
    }
}

/// Appends a JSON string.
pub(super) fn json_string(out: &mut Vec<u8>, text: &str) {
    // `serde_json` escapes the controls of ASCII but one. Nearly all text has no other character to escape.
    if text.bytes().any(|byte| byte == 0x7f || !byte.is_ascii()) {
        let json = serde_json::to_string(text).expect("a string always has a JSON form");
        out.extend_from_slice(escape_controls(&json).as_bytes());
        return;
    }
    serde_json::to_writer(out, text)
        .expect("a string always has a JSON form, and writing to memory cannot fail");
}

/// Escapes the control characters and marks of direction that JSON allows in strings and terminals obey.
pub fn escape_controls(json: &str) -> Cow<'_, str> {
    // Between the strings of indented JSON there are line ends.
    let is_obeyed = |c: char| is_unprintable(c) && c != '\n';
    if !json.contains(is_obeyed) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_obeyed(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Appends a CSV field. An empty text is quoted, since an empty field is null.
pub(crate) fn csv_text(out: &mut Vec<u8>, text: &str) {
    // At the start of a file this character would be taken for a byte order mark.
    if !text.is_empty()
        && !text.starts_with('\u{feff}')
        && !text
            .bytes()
            .any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r'))
    {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for (i, part) in text.split('"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'"');
}

pub(super) fn null(style: Style, out: &mut Vec<u8>) -> Result<(), String> {
    if style != Style::Csv {
        out.extend_from_slice(b"null");
    }
    Ok(())
}

pub(super) fn string(style: Style, out: &mut Vec<u8>, text: &str) -> Result<(), String> {
    match style {
        Style::Json | Style::JsonLines => json_string(out, text),
        Style::Csv => csv_text(out, text),
        Style::Start(n_chars) => {
            let end = text.char_indices().nth(n_chars + 1);
            let end = end.map_or(text.len(), |(end, _)| end);
            json_string(out, &text[..end]);
        }
    }
    Ok(())
}

/// Text that needs no escaping in either style.
pub(super) fn ascii(style: Style, out: &mut Vec<u8>, text: &str) -> Result<(), String> {
    match style {
        Style::Json | Style::JsonLines | Style::Start(_) => plain(out, format_args!("\"{text}\"")),
        Style::Csv => plain(out, text),
    }
}

pub(super) fn plain(out: &mut Vec<u8>, value: impl std::fmt::Display) -> Result<(), String> {
    write!(out, "{value}").map_err(|error| error.to_string())
}

pub(super) fn base64(style: Style, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    let bytes = match style {
        // Each byte is more than a character.
        Style::Start(n_chars) => bytes.get(..=n_chars).unwrap_or(bytes),
        Style::Json | Style::JsonLines | Style::Csv => bytes,
    };
    plain(out, format_args!("\"{}\"", BASE64.encode(bytes)))
}
