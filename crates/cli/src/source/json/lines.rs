//! Lines of a file as objects.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::source::builders::quoted;

/// A longer line is refused.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A line with more commas is refused, too: each may separate values, and a value takes more memory than its text.
pub(super) const COMMAS_MAX: usize = 16 << 20;

/// A line's object: keys and values in their order.
pub(super) struct Row<'a> {
    pub(super) values: Vec<(Cow<'a, str>, Value<'a>)>,
    /// Length of the line.
    pub(super) bytes: u64,
}

/// A value that a column can hold.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    /// Wide enough for both kinds of 64-bit integers.
    Whole(i128),
    Float(f64),
    Text(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    /// Keys and values in their order.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Array(_) => f.write_str("an array"),
            Value::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row<'de>, A::Error> {
                let mut row = Vec::new();
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    row.push((key.0, map.next_value()?));
                }
                Ok(Row {
                    values: row,
                    bytes: 0,
                })
            }
        }
        deserializer.deserialize_map(Rows)
    }
}

/// A key, borrowed where it has no escapes; `Cow` by itself is always owned.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Value<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Value<'de>, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
                Ok(Value::Boolean(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
                Ok(Value::Whole(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
                Ok(Value::Whole(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
                Ok(Value::Float(value))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'de>, A::Error> {
                let mut values = Vec::new();
                while let Some(item) = items.next_element()? {
                    values.push(item);
                }
                Ok(Value::Array(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
                let mut values = Vec::new();
                while let Some(key) = entries.next_key::<Key<'de>>()? {
                    values.push((key.0, entries.next_value()?));
                }
                Ok(Value::Object(values))
            }
        }
        deserializer.deserialize_any(Values)
    }
}

/// The lines of a file that are not empty, as objects.
pub(super) struct Lines<R> {
    input: R,
    text: Vec<u8>,
    /// Number of the current line, counted from 1.
    line: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            text: Vec::new(),
            line: 0,
        }
    }

    /// The next object and the number of its line.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Row<'_>)>, String> {
        let bytes = loop {
            self.text.clear();
            let n = Read::take(&mut self.input, LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut self.text)
                .map_err(|error| format!("line {}: {error}", self.line + 1))?
                as u64;
            if n == 0 {
                return Ok(None);
            }
            self.line += 1;
            if n > LINE_BYTES_MAX {
                return Err(format!(
                    "line {}: more than {LINE_BYTES_MAX} bytes",
                    self.line
                ));
            }
            if !self.text.iter().all(u8::is_ascii_whitespace) {
                break n;
            }
        };
        if self.text.len() > COMMAS_MAX {
            let commas = self.text.iter().filter(|byte| **byte == b',').count();
            if commas > COMMAS_MAX {
                return Err(format!("line {}: more than {COMMAS_MAX} commas", self.line));
            }
        }
        let text = match self.line {
            1 => self
                .text
                .strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(&self.text),
            _ => &self.text,
        };
        let row = serde_json::from_slice::<Row<'_>>(text).map_err(|error| {
            // The parser counts lines too, always 1 here.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            match error.column() {
                0 => format!("line {}: {what}", self.line),
                byte => format!("line {}, byte {byte}: {what}", self.line),
            }
        })?;
        Ok(Some((self.line, Row { bytes, ..row })))
    }
}
