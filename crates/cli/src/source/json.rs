//! JSON lines to Arrow: one object per line.
//!
//! Own code rather than `arrow-json`, because that reader names no line in its errors and rounds `1.5` to `1` where a column of
//! integers is expected.
//!
//! Columns are the keys, in the order in which the first rows bring them; a missing key is null. Numbers are Int64, UInt64 or
//! Float64, in a column of floats also the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Strings stay text, also where they
//! look like dates. A key that was null in all of the first rows is a column of type Null. Empty lines are skipped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::builders::{Column, quoted};
use super::{BATCH_BYTES, BATCH_ROWS, INFERENCE_ROWS};

/// A longer line is refused.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Reads the first rows and says name and type of each column.
///
/// # Errors
/// A line is no JSON object, holds an array or an object, or its values do not fit those of earlier lines.
pub(super) fn infer(input: &mut impl BufRead) -> Result<SchemaRef, String> {
    let mut lines = Lines::new(input);
    let mut names: Vec<String> = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for _ in 0..INFERENCE_ROWS {
        let Some((line, row)) = lines.next()? else {
            break;
        };
        for (key, value) in row.values {
            let i = *index.entry(key.clone().into_owned()).or_insert_with(|| {
                names.push(key.clone().into_owned());
                seen.push(Seen::default());
                names.len() - 1
            });
            seen[i]
                .see(&value)
                .map_err(|what| format!("line {line}: column `{key}`: {what}"))?;
        }
    }
    let fields: Vec<Field> = names
        .into_iter()
        .zip(seen)
        .map(|(name, seen)| Field::new(name, seen.data_type(), true))
        .collect();
    if fields.is_empty() {
        return Err("no JSON object with a key in it, so there are no columns".into());
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Reads the lines as the types of a schema.
pub(super) struct Reader<R> {
    lines: Lines<R>,
    schema: SchemaRef,
    index: HashMap<String, usize>,
    columns: Vec<Column>,
    /// Row in which each column got a value last, counted from 1 over the whole file.
    filled: Vec<u64>,
    rows: u64,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(input: R, schema: SchemaRef) -> Reader<R> {
        let fields = schema.fields();
        Reader {
            lines: Lines::new(input),
            index: fields
                .iter()
                .enumerate()
                .map(|(i, field)| (field.name().clone(), i))
                .collect(),
            columns: fields
                .iter()
                .map(|field| Column::new(field.data_type()))
                .collect(),
            filled: vec![0; fields.len()],
            rows: 0,
            schema,
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// # Errors
    /// A line that is no JSON object, a new key, or a value that does not fit; the text says line and column.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let (mut rows, mut bytes) = (0, 0_u64);
        while rows < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some((line, row)) = self.lines.next()? else {
                break;
            };
            self.rows += 1;
            bytes += row.bytes;
            for (position, (key, value)) in row.values.into_iter().enumerate() {
                // Lines mostly have the same keys in the same order, so the table is asked only when they do not.
                let i = match self.schema.fields().get(position) {
                    Some(field) if *field.name() == key => position,
                    _ => *self.index.get(key.as_ref()).ok_or_else(|| {
                        format!(
                            "line {line}: column `{key}` is not in the first {INFERENCE_ROWS} rows"
                        )
                    })?,
                };
                if self.filled[i] == self.rows {
                    return Err(format!("line {line}: column `{key}` is there twice"));
                }
                self.filled[i] = self.rows;
                append(&mut self.columns[i], &value).map_err(|()| {
                    let data_type = self.schema.field(i).data_type();
                    format!(
                        "line {line}: column `{key}`: {value} is no {data_type}, the type that the first {INFERENCE_ROWS} rows have"
                    )
                })?;
            }
            for (column, filled) in self.columns.iter_mut().zip(&self.filled) {
                if *filled != self.rows {
                    column.append_null();
                }
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map(Some)
            .map_err(|e| e.to_string())
    }
}

/// The kinds of value seen in a column.
#[derive(Debug, Default)]
struct Seen {
    boolean: bool,
    negative: bool,
    /// A whole number beyond `i64::MAX`.
    large: bool,
    whole: bool,
    float: bool,
    /// `"NaN"` and the infinities: text or float, as the others say.
    special: bool,
    text: bool,
}

impl Seen {
    fn see(&mut self, value: &Value<'_>) -> Result<(), String> {
        match value {
            Value::Null => {}
            Value::Boolean(_) => self.boolean = true,
            Value::Whole(n) => {
                self.whole = true;
                self.negative |= *n < 0;
                self.large |= i64::try_from(*n).is_err();
            }
            Value::Float(_) => self.float = true,
            Value::Text(text) if special(text).is_some() => self.special = true,
            Value::Text(_) => self.text = true,
            Value::Array => {
                return Err("an array; nested columns cannot be imported from JSON lines".into());
            }
            Value::Object => {
                return Err("an object; nested columns cannot be imported from JSON lines".into());
            }
        }
        let kinds = [self.boolean, self.whole || self.float, self.text];
        if kinds.iter().filter(|kind| **kind).count() > 1 || (self.boolean && self.special) {
            return Err(format!("{value} has another type than in earlier lines"));
        }
        Ok(())
    }

    fn data_type(&self) -> DataType {
        if self.boolean {
            DataType::Boolean
        } else if self.float || (self.whole && (self.special || (self.large && self.negative))) {
            DataType::Float64
        } else if self.whole {
            if self.large {
                DataType::UInt64
            } else {
                DataType::Int64
            }
        } else if self.text || self.special {
            DataType::Utf8
        } else {
            DataType::Null
        }
    }
}

/// The numbers that JSON cannot write.
fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// `Err` when the value is none of the column's type.
fn append(column: &mut Column, value: &Value<'_>) -> Result<(), ()> {
    match (column, value) {
        (column, Value::Null) => column.append_null(),
        (Column::Boolean(builder), Value::Boolean(value)) => builder.append_value(*value),
        (Column::Int64(builder), Value::Whole(value)) => {
            builder.append_value(i64::try_from(*value).map_err(|_| ())?)
        }
        (Column::UInt64(builder), Value::Whole(value)) => {
            builder.append_value(u64::try_from(*value).map_err(|_| ())?)
        }
        (Column::Float64(builder), Value::Whole(value)) => builder.append_value(*value as f64),
        (Column::Float64(builder), Value::Float(value)) => builder.append_value(*value),
        (Column::Float64(builder), Value::Text(text)) => {
            builder.append_value(special(text).ok_or(())?)
        }
        (Column::Text(builder), Value::Text(text)) => builder.append_value(text),
        _ => return Err(()),
    }
    Ok(())
}

/// A line's object: keys and values in their order.
struct Row<'a> {
    values: Vec<(Cow<'a, str>, Value<'a>)>,
    /// Length of the line.
    bytes: u64,
}

/// A value that a column can hold, or what kind it is if none can.
#[derive(Debug, PartialEq)]
enum Value<'a> {
    Null,
    Boolean(bool),
    /// Wide enough for both kinds of 64-bit integers.
    Whole(i128),
    Float(f64),
    Text(Cow<'a, str>),
    Array,
    Object,
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Array => f.write_str("an array"),
            Value::Object => f.write_str("an object"),
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
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Value::Array)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Object)
            }
        }
        deserializer.deserialize_any(Values)
    }
}

/// The lines of a file that are not empty, as objects.
struct Lines<R> {
    input: R,
    text: Vec<u8>,
    /// Number of the current line, counted from 1.
    line: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Lines<R> {
        Lines {
            input,
            text: Vec::new(),
            line: 0,
        }
    }

    /// The next object and the number of its line.
    fn next(&mut self) -> Result<Option<(u64, Row<'_>)>, String> {
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

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};

    use super::*;

    fn read(text: &str) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
        let schema = infer(&mut text.as_bytes())?;
        let mut reader = Reader::new(text.as_bytes(), schema.clone());
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            batches.push(batch);
        }
        Ok((schema, batches))
    }

    fn data_type(values: &[&str]) -> DataType {
        let text: String = values
            .iter()
            .map(|value| format!("{{\"a\":{value}}}\n"))
            .collect();
        read(&text).unwrap().0.field(0).data_type().clone()
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err()
    }

    #[test]
    fn types() {
        assert_eq!(data_type(&["1", "-2", "null"]), DataType::Int64);
        assert_eq!(data_type(&["1", "18446744073709551615"]), DataType::UInt64);
        assert_eq!(
            data_type(&["-1", "18446744073709551615"]),
            DataType::Float64
        );
        assert_eq!(data_type(&["1", "1.0"]), DataType::Float64);
        assert_eq!(data_type(&["1", "\"NaN\""]), DataType::Float64);
        assert_eq!(data_type(&["\"NaN\"", "\"Infinity\""]), DataType::Utf8);
        assert_eq!(data_type(&["\"NaN\"", "\"x\""]), DataType::Utf8);
        assert_eq!(data_type(&["true", "null"]), DataType::Boolean);
        assert_eq!(data_type(&["null"]), DataType::Null);
        assert_eq!(data_type(&["\"2024-01-01\""]), DataType::Utf8);
    }

    #[test]
    fn values_missing_keys_and_escapes() {
        let text = "{\"n\":9223372036854775807,\"t\":\"a\\n\\u00e9\"}\r\n\n  \n{\"t\":null,\"u\":18446744073709551615}\n{\"f\":\"-Infinity\",\"n\":-1}\n{\"f\":-0.0,\"\\u006e\":2}";
        let (schema, batches) = read(text).unwrap();
        let names: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(names, ["n", "t", "u", "f"]);
        let batch = &batches[0];
        assert_eq!(
            batch
                .column(0)
                .as_primitive::<Int64Type>()
                .iter()
                .collect::<Vec<_>>(),
            [Some(i64::MAX), None, Some(-1), Some(2)]
        );
        assert_eq!(
            batch
                .column(1)
                .as_string::<i32>()
                .iter()
                .collect::<Vec<_>>(),
            [Some("a\né"), None, None, None]
        );
        assert_eq!(
            batch
                .column(2)
                .as_primitive::<UInt64Type>()
                .iter()
                .collect::<Vec<_>>(),
            [None, Some(u64::MAX), None, None]
        );
        let floats = batch.column(3).as_primitive::<Float64Type>();
        assert!(
            floats.is_null(0)
                && floats.value(2) == f64::NEG_INFINITY
                && floats.value(3).is_sign_negative()
        );
    }

    #[test]
    fn errors_name_line_and_column() {
        assert_eq!(
            error(""),
            "no JSON object with a key in it, so there are no columns"
        );
        assert_eq!(
            error("{\"a\":1}\n[1]\n"),
            "line 2: invalid type: sequence, expected an object"
        );
        assert_eq!(
            error("{\"a\":1}\n\n{\"a\":\n"),
            "line 3: EOF while parsing a value"
        );
        assert_eq!(
            error("{\"a\":1}\n{\"a\":\"x\"}\n"),
            "line 2: column `a`: \"x\" has another type than in earlier lines"
        );
        assert_eq!(
            error("{\"a\":[1,{\"b\":2}]}\n"),
            "line 1: column `a`: an array; nested columns cannot be imported from JSON lines"
        );
        assert_eq!(
            error("{\"a\":{\"b\":[]}}\n"),
            "line 1: column `a`: an object; nested columns cannot be imported from JSON lines"
        );
        assert_eq!(
            error("{\"a\":1,\"a\":2}\n"),
            "line 1: column `a` is there twice"
        );
        assert_eq!(
            error("{\"a\":true}\n{\"a\":\"NaN\"}\n"),
            "line 2: column `a`: \"NaN\" has another type than in earlier lines"
        );
    }

    #[test]
    fn later_conflicts_name_line_and_column() {
        let mut text: String = (0..INFERENCE_ROWS)
            .map(|i| format!("{{\"n\":{i},\"z\":null}}\n"))
            .collect();
        text.push_str("{\"n\":10000}\n");
        let good = text.clone();
        assert_eq!(
            read(&good)
                .unwrap()
                .1
                .iter()
                .map(RecordBatch::num_rows)
                .sum::<usize>(),
            10_001
        );
        let later = |line: &str| error(&format!("{good}{line}\n"));
        let types = "the type that the first 10000 rows have";
        assert_eq!(
            later("{\"n\":1.5}"),
            format!("line 10002: column `n`: 1.5 is no Int64, {types}")
        );
        assert_eq!(
            later("{\"n\":9223372036854775808}"),
            format!("line 10002: column `n`: 9223372036854775808 is no Int64, {types}")
        );
        assert_eq!(
            later("{\"n\":\"1\"}"),
            format!("line 10002: column `n`: \"1\" is no Int64, {types}")
        );
        assert_eq!(
            later("{\"z\":1}"),
            format!("line 10002: column `z`: 1 is no Null, {types}")
        );
        assert_eq!(
            later("{\"new\":1}"),
            "line 10002: column `new` is not in the first 10000 rows"
        );
    }

    #[test]
    fn deep_nesting_is_refused_not_a_stack_overflow() {
        let text = format!("{{\"a\":{}", "[".repeat(1_000_000));
        assert!(
            error(&text).starts_with("line 1, byte "),
            "{}",
            error(&text)
        );
    }
}
