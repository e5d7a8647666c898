//! Literals: values as they stand in a condition.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_buffer::i256;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;

use crate::number::Number;

/// Characters of a literal that an error shows.
const SHOWN_CHARS: usize = 40;

/// A value that a column is compared with: null, a boolean, a number with all its digits, text, bytes, or a value of
/// Arrow.
///
/// Numbers and text have no type of their own: they are read as values of the column's type when the condition is
/// bound to a schema. Text stands for dates, times and timestamps, too, in the form of ISO 8601.
///
/// Two literals are equal if their values are, wherever they stand in a text.
#[derive(Debug, Clone)]
pub struct Literal {
    pub(crate) value: Value,
    /// The character of the text at which it starts, counted from 1.
    pub(crate) at: Option<usize>,
    /// How it stands in the text, cut short.
    written: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Number(Number),
    Text(String),
    Bytes(Vec<u8>),
    /// Holds one value.
    Array(ArrayRef),
}

impl Literal {
    /// Null, which is neither equal nor unequal to anything.
    pub fn null() -> Literal {
        Value::Null.into()
    }

    /// The value of an array of one value; null if the array has another length.
    ///
    /// Numbers of any type are compared with numbers of any other, text and bytes with text and bytes of other
    /// layouts, and points in time, times of day and durations with those of other units. Everything else must have
    /// the type of the column.
    pub fn array(array: ArrayRef) -> Literal {
        match array.len() {
            1 if array.logical_null_count() == 0 => Value::Array(array).into(),
            _ => Literal::null(),
        }
    }

    /// The literal at a place of a text.
    #[cfg(feature = "sql")]
    pub(crate) fn written(value: Value, at: usize, text: &str) -> Literal {
        Literal {
            value,
            at: Some(at),
            written: Some(cut(text)),
        }
    }

    /// The literal as errors show it.
    pub(crate) fn shown(&self) -> String {
        match &self.written {
            Some(text) => text.clone(),
            None => cut(&self.to_string()),
        }
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a.as_ref() == b.as_ref(),
            _ => false,
        }
    }
}

/// Writes the literal as SQL text. A value of Arrow is written as Arrow shows it: numbers bare, others in single
/// quotes.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => f.write_str("NULL"),
            Value::Boolean(true) => f.write_str("TRUE"),
            Value::Boolean(false) => f.write_str("FALSE"),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => write_text(f, text),
            Value::Bytes(bytes) => write_bytes(f, bytes),
            Value::Array(array) => {
                let shown = array_value_to_string(array, 0).unwrap_or_default();
                match array.data_type() {
                    DataType::Boolean => f.write_str(&shown.to_ascii_uppercase()),
                    DataType::Binary
                    | DataType::LargeBinary
                    | DataType::BinaryView
                    | DataType::FixedSizeBinary(_) => write!(f, "X'{shown}'"),
                    other if other.is_numeric() => f.write_str(&shown),
                    _ => write_text(f, &shown),
                }
            }
        }
    }
}

/// Writes text in single quotes, each quote inside of it twice.
pub(crate) fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "'{}'", text.replace('\'', "''"))
}

fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("X'")?;
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_str("'")
}

/// The start of a text, for a message.
pub(crate) fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(SHOWN_CHARS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}

impl From<Value> for Literal {
    fn from(value: Value) -> Literal {
        Literal {
            value,
            at: None,
            written: None,
        }
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Literal {
        Value::Boolean(value).into()
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Literal {
            fn from(value: $integer) -> Literal {
                number_of(&value.to_string())
            }
        }
    )*};
}

from_integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize i256);

/// The number that is written so; null for text that is none, which the callers do not have.
fn number_of(written: &str) -> Literal {
    match Number::parse(written) {
        Some(number) => Value::Number(number).into(),
        None => Literal::null(),
    }
}

impl From<f64> for Literal {
    /// The number of the fewest digits that is nearest to this value; NaN and infinities as they are.
    fn from(value: f64) -> Literal {
        match value.is_finite() {
            true => number_of(&format!("{value:e}")),
            false => Literal::array(Arc::new(Float64Array::from(vec![value]))),
        }
    }
}

impl From<f32> for Literal {
    /// Takes the value as a Float64.
    fn from(value: f32) -> Literal {
        f64::from(value).into()
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Literal {
        value.to_owned().into()
    }
}

impl From<String> for Literal {
    fn from(value: String) -> Literal {
        Value::Text(value).into()
    }
}

impl From<&[u8]> for Literal {
    fn from(value: &[u8]) -> Literal {
        value.to_vec().into()
    }
}

impl From<Vec<u8>> for Literal {
    fn from(value: Vec<u8>) -> Literal {
        Value::Bytes(value).into()
    }
}
