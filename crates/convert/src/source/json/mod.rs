//! JSON lines to Arrow: one object per line.
//!
//! This does not use `arrow-json`, because that reader names no line in its errors and rounds `1.5` to `1` in a column
//! of integers.
//!
//! Columns are the keys, in the order in which the first rows bring them; a missing key is null. Numbers are Int64,
//! UInt64, Float64 or text as in CSV (see `number`), in a column of floats also the strings `"NaN"`, `"Infinity"` and
//! `"-Infinity"`. Strings stay text, also where they look like dates. A key that was null in all of the first rows is a
//! column of type Null. Empty lines are skipped.
//!
//! In a column whose type is asked for, numbers, strings, `true` and `false` are read by their text, as in CSV. Where
//! no row has a key, the columns are those that types are asked for.
//!
//! Objects are structs and arrays are lists, to any depth, by the same rules: a struct has the keys that any of the
//! first rows have, and all items of a list have one type.

mod lines;
mod seen;

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::Error;
use crate::source::builders::{self, Column};
use crate::source::limits::{BATCH_BYTES, BATCH_ROWS, BATCH_VALUES};
use crate::source::options::Options;
use lines::{Lines, Members, Value};
use seen::{Keys, Misfit, Seen, special};

/// Reads the first rows and returns what they say of the columns. Where no row has a key, as in the export of a table
/// without rows, the columns are those that types are asked for.
///
/// # Errors
/// A line is no JSON object, or its values do not fit those of earlier lines.
pub(super) fn infer(input: &mut impl BufRead, options: &Options) -> Result<Columns, Error> {
    let mut lines = Lines::new(input);
    let mut columns = Keys::default();
    for _ in 0..options.inference_rows {
        let Some((line, row)) = lines.next()? else {
            break;
        };
        columns
            .see(&row.values, &options.types)
            .map_err(|misfit| misfit.in_line(line))?;
    }
    if columns.names.is_empty() {
        if options.types.is_empty() {
            let what = "no JSON object with a key in it, so there are no columns; --types COLUMN=TYPE names them";
            return Err(what.into());
        }
        columns = Keys::of_types(&options.types)?;
    }
    Ok(Columns(columns))
}

/// The columns of a file and how to read them.
pub(super) struct Columns(Keys);

/// Reads the lines as the types of a schema.
pub(super) struct JsonReader<R> {
    lines: Lines<R>,
    schema: SchemaRef,
    columns: Object,
    /// Rows of a batch.
    batch_rows: usize,
}

impl<R: BufRead> JsonReader<R> {
    pub(super) fn new(input: R, columns: &Columns, options: &Options) -> JsonReader<R> {
        let columns = Object::new(&columns.0, options.inference_rows);
        JsonReader {
            lines: Lines::new(input),
            schema: Arc::new(Schema::new(columns.fields.clone())),
            batch_rows: (BATCH_VALUES / columns.fields.len().max(1)).clamp(1, BATCH_ROWS),
            columns,
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// # Errors
    /// A line that is no JSON object, a new key, or a value that does not fit; the text says line and column.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let (mut rows, mut bytes) = (0, 0_u64);
        while rows < self.batch_rows && bytes < BATCH_BYTES {
            let Some((line, row)) = self.lines.next()? else {
                break;
            };
            bytes += row.bytes;
            self.columns
                .append(&row.values)
                .map_err(|misfit| misfit.in_line(line))?;
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = self.columns.finish();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map(Some)
            .map_err(|error| error.to_string().into())
    }
}

/// The columns of an object's keys.
struct Object {
    fields: Fields,
    index: HashMap<String, usize>,
    columns: Vec<Values>,
    /// The rows that each column has; those it has not are null. Most keys may be in few of the objects, so that a
    /// column waits for its next value.
    rows: Vec<usize>,
    n_objects: usize,
    inference_rows: u64,
}

impl Object {
    fn new(keys: &Keys, inference_rows: u64) -> Self {
        let fields = keys.fields();
        let columns = keys.seen.iter();
        Self {
            index: keys.index.clone(),
            columns: columns
                .map(|seen| Values::new(seen, inference_rows))
                .collect(),
            rows: vec![0; fields.len()],
            n_objects: 0,
            fields,
            inference_rows,
        }
    }

    fn append(&mut self, members: &Members<'_>) -> Result<(), Misfit> {
        self.n_objects += 1;
        for (position, (key, value)) in members.iter().enumerate() {
            // Objects mostly have the same keys in the same order. The hash table is used only if they do not.
            let i = match self.fields.get(position) {
                Some(field) if *field.name() == *key => position,
                _ => *self.index.get(key.as_ref()).ok_or_else(|| {
                    let n_rows = self.inference_rows;
                    let what = format!(
                        "not in the first {n_rows} rows; --infer-rows takes more of them, or all"
                    );
                    Misfit::new(what).under(key)
                })?,
            };
            let missing = self.n_objects - self.rows[i];
            if missing == 0 {
                return Err(Misfit::twice().under(key));
            }
            self.columns[i].append_nulls(missing - 1);
            self.rows[i] = self.n_objects;
            self.columns[i]
                .append(value)
                .map_err(|misfit| misfit.under(key))?;
        }
        Ok(())
    }

    /// So many objects that are null.
    fn append_nulls(&mut self, n: usize) {
        self.n_objects += n;
    }

    /// The values appended since the last call.
    fn finish(&mut self) -> Vec<ArrayRef> {
        let n_objects = std::mem::take(&mut self.n_objects);
        let columns = self.columns.iter_mut().zip(&mut self.rows);
        let arrays = columns.map(|(column, rows)| {
            column.append_nulls(n_objects - std::mem::take(rows));
            column.finish()
        });
        arrays.collect()
    }
}

/// The values of a key or of lists' items.
enum Values {
    Flat(Column, DataType, Accepted, u64),
    List {
        item: FieldRef,
        /// The rows that its type comes from.
        n_rows: u64,
        ends: Vec<i32>,
        valid: NullBufferBuilder,
        values: Box<Values>,
    },
    Struct {
        valid: NullBufferBuilder,
        object: Object,
    },
}

/// Which kinds of JSON value a flat column takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Accepted {
    /// Rows that its type is inferred from.
    OfType,
    /// Numbers that no type of numbers holds, as text.
    Numbers,
    /// All, by their text.
    Any,
}

impl Values {
    fn new(seen: &Seen, inference_rows: u64) -> Self {
        match (&seen.items, &seen.keys) {
            (Some(items), _) => Self::List {
                item: Arc::new(Field::new_list_field(items.data_type(), true)),
                n_rows: inference_rows,
                ends: vec![0],
                valid: NullBufferBuilder::new(0),
                values: Box::new(Self::new(items, inference_rows)),
            },
            (None, Some(keys)) => Self::Struct {
                valid: NullBufferBuilder::new(0),
                object: Object::new(keys, inference_rows),
            },
            (None, None) => {
                let data_type = seen.data_type();
                let accepted = match data_type {
                    _ if seen.asked.is_some() => Accepted::Any,
                    DataType::Utf8 if seen.numbers.any() => Accepted::Numbers,
                    _ => Accepted::OfType,
                };
                Self::Flat(Column::new(&data_type), data_type, accepted, inference_rows)
            }
        }
    }

    fn append(&mut self, value: &Value<'_>) -> Result<(), Misfit> {
        let misfit = |data_type: &dyn fmt::Display, is_asked, n_rows| {
            Misfit::new(builders::misfit(value, data_type, is_asked, n_rows))
        };
        match (self, value) {
            (values, Value::Null) => values.append_nulls(1),
            (Self::Flat(column, data_type, accepted, n_rows), value) => {
                append(column, value, *accepted).map_err(|()| {
                    let is_nested = matches!(value, Value::Array(_) | Value::Object(_));
                    let is_asked = *accepted == Accepted::Any;
                    Misfit {
                        suits_text: !is_nested && !is_asked,
                        ..misfit(data_type, is_asked, *n_rows)
                    }
                })?;
            }
            (
                Self::List {
                    ends,
                    valid,
                    values,
                    ..
                },
                Value::Array(items),
            ) => {
                for item in items {
                    values.append(item)?;
                }
                let end = ends.last().copied().unwrap_or(0);
                let end = i32::try_from(items.len())
                    .ok()
                    .and_then(|n| end.checked_add(n));
                // A line has at most 256 MiB, and so have all lines of a batch together.
                ends.push(end.ok_or_else(|| Misfit::new("too many items".into()))?);
                valid.append_non_null();
            }
            (Self::Struct { valid, object }, Value::Object(members)) => {
                object.append(members)?;
                valid.append_non_null();
            }
            (Self::List { n_rows, .. }, _) => return Err(misfit(&"array", false, *n_rows)),
            (Self::Struct { object, .. }, _) => {
                return Err(misfit(&"object", false, object.inference_rows));
            }
        }
        Ok(())
    }

    fn append_nulls(&mut self, n: usize) {
        match self {
            Self::Flat(column, ..) => column.append_nulls(n),
            Self::List { ends, valid, .. } => {
                let end = ends.last().copied().unwrap_or(0);
                ends.extend(std::iter::repeat_n(end, n));
                valid.append_n_nulls(n);
            }
            Self::Struct { valid, object } => {
                object.append_nulls(n);
                valid.append_n_nulls(n);
            }
        }
    }

    /// The values appended since the last call, as an array.
    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Flat(column, ..) => column.finish(),
            Self::List {
                item,
                ends,
                valid,
                values,
                ..
            } => {
                let offsets = OffsetBuffer::new(std::mem::replace(ends, vec![0]).into());
                let nulls = valid.finish();
                Arc::new(ListArray::new(
                    item.clone(),
                    offsets,
                    values.finish(),
                    nulls,
                ))
            }
            Self::Struct { valid, object } => {
                let rows = valid.len();
                let (nulls, children) = (valid.finish(), object.finish());
                let fields = object.fields.clone();
                match children.is_empty() {
                    true => Arc::new(StructArray::new_empty_fields(rows, nulls)),
                    false => Arc::new(StructArray::new(fields, children, nulls)),
                }
            }
        }
    }
}

/// `Err` when the value is none of the column's type.
fn append(column: &mut Column, value: &Value<'_>, accepted: Accepted) -> Result<(), ()> {
    match (column, value) {
        (column, Value::Null) => column.append_null(),
        (_, Value::Array(_) | Value::Object(_)) => return Err(()),
        (column, Value::Boolean(value)) if accepted == Accepted::Any => {
            column.append_text(if *value { "true" } else { "false" })?;
        }
        (column, Value::Text(text)) if accepted == Accepted::Any => column.append_text(text)?,
        (Column::Boolean(builder), Value::Boolean(value)) => builder.append_value(*value),
        (Column::Float64(builder), Value::Text(text)) => {
            builder.append_value(special(text).ok_or(())?);
        }
        (Column::Text(_), Value::Number(_)) if accepted == Accepted::OfType => return Err(()),
        (column, Value::Number(text)) => column.append_text(text)?,
        // Beside numbers that became text, the strings that are numbers stay what they are.
        (Column::Text(builder), Value::Text(text))
            if accepted == Accepted::OfType || special(text).is_some() =>
        {
            builder.append_value(text);
        }
        _ => return Err(()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};

    use super::lines::COMMAS_MAX;
    use super::*;
    use crate::source::{INFERENCE_ROWS, Types};

    fn read(text: &str) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
        read_as(text, &[])
    }

    fn read_as(
        text: &str,
        types: &[(&str, DataType)],
    ) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
        let types = types.iter().map(|(name, data_type)| (*name, data_type));
        let options = Options {
            types: Types::new(types).unwrap(),
            ..Options::default()
        };
        read_with(text, &options)
    }

    fn read_with(text: &str, options: &Options) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
        let columns = infer(&mut text.as_bytes(), options)?;
        let mut reader = JsonReader::new(text.as_bytes(), &columns, options);
        let schema = reader.schema();
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
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn types() {
        assert_eq!(data_type(&["1", "-2", "null"]), DataType::Int64);
        assert_eq!(data_type(&["1", "18446744073709551615"]), DataType::UInt64);
        assert_eq!(data_type(&["-1", "18446744073709551615"]), DataType::Utf8);
        assert_eq!(data_type(&["1.5", "9007199254740993"]), DataType::Utf8);
        assert_eq!(data_type(&["1", "18446744073709551616"]), DataType::Utf8);
        assert_eq!(data_type(&["0.5", "1e400"]), DataType::Utf8);
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
            "no JSON object with a key in it, so there are no columns; --types COLUMN=TYPE names them"
        );
        assert_eq!(
            error("{\"a\":1}\n[1]\n"),
            "line 2, byte 1: an array is no object"
        );
        assert_eq!(
            error("{\"a\":1}\n\n{\"a\":\n"),
            "line 3, byte 7: EOF while parsing a value"
        );
        assert_eq!(
            error("{\"a\":1}\n{\"a\":\"x\"}\n"),
            "line 2: column `a`: \"x\" has another type than in earlier lines; with --types a=utf8 the column is text"
        );
        assert_eq!(
            error("{\"a\":[1,{\"b\":2}]}\n"),
            "line 1: column `a`: an object has another type than in earlier lines"
        );
        assert_eq!(
            error("{\"a\":{\"b\":[]}}\n{\"a\":{\"b\":[{\"c\":1},{\"c\":[]}]}}\n"),
            "line 2: column `a.b.c`: an array has another type than in earlier lines"
        );
        assert_eq!(
            error("{\"a\":[]}\n{\"a\":\"NaN\"}\n"),
            "line 2: column `a`: \"NaN\" has another type than in earlier lines"
        );
        assert_eq!(
            error("{\"a\":{\"b\":1,\"b\":2}}\n"),
            "line 1: column `a.b`: there twice"
        );
        assert_eq!(
            error("{\"a\":1,\"a\":2}\n"),
            "line 1: column `a`: there twice"
        );
        assert_eq!(
            error("{\"a\":true}\n{\"a\":\"NaN\"}\n"),
            "line 2: column `a`: \"NaN\" has another type than in earlier lines; with --types a=utf8 the column is text"
        );
    }

    #[test]
    fn nested_types() {
        let item = |data_type| DataType::List(Arc::new(Field::new_list_field(data_type, true)));
        assert_eq!(
            data_type(&["[1]", "null", "[2.5,null]", "[]"]),
            item(DataType::Float64)
        );
        assert_eq!(data_type(&["[]", "[null]"]), item(DataType::Null));
        assert_eq!(data_type(&["[[\"a\"],[]]"]), item(item(DataType::Utf8)));
        // Keys in the order in which they came.
        let object = |fields: &[(&str, DataType)]| {
            let fields = fields
                .iter()
                .map(|(name, of)| Field::new(*name, of.clone(), true));
            DataType::Struct(fields.collect())
        };
        assert_eq!(
            data_type(&["{\"x\":1}", "{\"y\":{\"z\":[true]},\"x\":null}"]),
            object(&[
                ("x", DataType::Int64),
                ("y", object(&[("z", item(DataType::Boolean))]))
            ])
        );
        assert_eq!(data_type(&["{}", "null"]), object(&[]));
        assert_eq!(
            data_type(&["[{\"a\":1},{\"b\":\"x\"}]"]),
            item(object(&[("a", DataType::Int64), ("b", DataType::Utf8)]))
        );
    }

    #[test]
    fn nested_values() {
        let text = "{\"m\":[{\"role\":\"user\",\"n\":1},{\"n\":2}],\"o\":{\"p\":{}}}\n\
            {\"m\":[]}\n{\"o\":{\"p\":null}}\n{\"m\":[null,{\"role\":\"a\"}],\"o\":null}\n";
        let (schema, batches) = read(text).unwrap();
        assert_eq!(schema.fields().len(), 2);
        let lists = batches[0].column(0).as_list::<i32>();
        assert_eq!(lists.value_offsets(), [0, 2, 2, 2, 4]);
        assert_eq!(
            (0..4).map(|i| lists.is_null(i)).collect::<Vec<_>>(),
            [false, false, true, false]
        );
        let items = lists.values().as_struct();
        assert!(items.is_null(2) && items.null_count() == 1);
        let roles = items.column(0).as_string::<i32>();
        assert_eq!(
            roles.iter().collect::<Vec<_>>(),
            [Some("user"), None, None, Some("a")]
        );
        let numbers = items.column(1).as_primitive::<Int64Type>();
        assert_eq!(
            numbers.iter().collect::<Vec<_>>(),
            [Some(1), Some(2), None, None]
        );
        let objects = batches[0].column(1).as_struct();
        assert_eq!(
            (0..4).map(|i| objects.is_null(i)).collect::<Vec<_>>(),
            [false, true, false, true]
        );
        let empty = objects.column(0).as_struct();
        assert_eq!(
            (0..4).map(|i| empty.is_null(i)).collect::<Vec<_>>(),
            [false, true, true, true]
        );
        // In as many batches as it takes: nothing of one is left in the next.
        let lines: String = (0..30_000)
            .map(|i| format!("{{\"a\":[{i}],\"b\":{{\"c\":{i}}}}}\n"))
            .collect();
        let (_, batches) = read(&lines).unwrap();
        assert!(batches.len() > 1);
        let mut row = 0;
        for batch in batches {
            let lists = batch.column(0).as_list::<i32>();
            let numbers = lists.values().as_primitive::<Int64Type>();
            let inner = batch.column(1).as_struct().column(0).clone();
            let inner = inner.as_primitive::<Int64Type>();
            assert_eq!(numbers.values(), inner.values());
            for i in 0..batch.num_rows() {
                assert_eq!((lists.value_length(i), numbers.value(i)), (1, row));
                row += 1;
            }
        }
        assert_eq!(row, 30_000);
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
        let as_text = |path| format!("{types}; with --types {path}=utf8 the column is text");
        let (n, z, l) = (as_text("n"), as_text("z"), as_text("o.l"));
        assert_eq!(
            later("{\"n\":1.5}"),
            format!("line 10002: column `n`: 1.5 is no Int64, {n}")
        );
        assert_eq!(
            later("{\"n\":9223372036854775808}"),
            format!("line 10002: column `n`: 9223372036854775808 is no Int64, {n}")
        );
        assert_eq!(
            later("{\"n\":\"1\"}"),
            format!("line 10002: column `n`: \"1\" is no Int64, {n}")
        );
        assert_eq!(
            later("{\"z\":1}"),
            format!("line 10002: column `z`: 1 is no Null, {z}")
        );
        assert_eq!(
            later("{\"new\":1}"),
            "line 10002: column `new`: not in the first 10000 rows; --infer-rows takes more of them, or all"
        );
        assert_eq!(
            later("{\"n\":[1]}"),
            format!("line 10002: column `n`: an array is no Int64, {types}")
        );
        let nested: String = (0..INFERENCE_ROWS)
            .map(|i| format!("{{\"o\":{{\"l\":[{i}]}}}}\n"))
            .collect();
        let later = |line: &str| error(&format!("{nested}{line}\n"));
        assert_eq!(
            later("{\"o\":{\"l\":[1,\"x\"]}}"),
            format!("line 10001: column `o.l`: \"x\" is no Int64, {l}")
        );
        assert_eq!(
            later("{\"o\":{\"l\":1}}"),
            format!("line 10001: column `o.l`: 1 is no array, {types}")
        );
        assert_eq!(
            later("{\"o\":[]}"),
            format!("line 10001: column `o`: an array is no object, {types}")
        );
        assert_eq!(
            later("{\"o\":{\"m\":1}}"),
            "line 10001: column `o.m`: not in the first 10000 rows; --infer-rows takes more of them, or all"
        );
    }

    #[test]
    fn keys_that_come_late_are_columns_where_all_rows_count() {
        let mut text = "{\"a\":1}\n".repeat(10_001);
        text.push_str("{\"b\":{\"c\":[1]},\"a\":2.5}\n");
        assert!(error(&text).contains("column `b`: not in the first 10000 rows; --infer-rows "));
        let options = Options {
            inference_rows: u64::MAX,
            ..Options::default()
        };
        let (schema, batches) = read_with(&text, &options).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Float64);
        assert!(schema.field(1).data_type().is_nested());
        let last = batches.last().unwrap();
        assert!(last.column(1).is_valid(last.num_rows() - 1));
        assert_eq!(last.column(1).null_count(), last.num_rows() - 1);
    }

    #[test]
    fn a_key_that_is_there_twice_is_the_reason_whatever_its_values() {
        for line in [
            "{\"a\":1,\"a\":\"x\"}",
            "{\"a\":1,\"b\":2,\"a\":1}",
            "{\"a\":[],\"a\":{}}",
        ] {
            assert_eq!(error(line), "line 1: column `a`: there twice", "{line}");
        }
        let nested = "{\"o\":[{\"k\":1,\"k\":true}]}";
        assert_eq!(error(nested), "line 1: column `o.k`: there twice");
    }

    #[test]
    fn sparse_keys_take_no_time_for_the_rows_without_them() {
        let mut text = String::new();
        for i in 0..3_000 {
            text.push_str(&format!("{{\"k{i}\":{i},\"o\":{{\"p{i}\":[{i}]}}}}\n"));
        }
        let (schema, batches) = read(&text).unwrap();
        assert_eq!(schema.fields().len(), 3_001);
        let mut row = 0;
        for batch in &batches {
            for i in 0..batch.num_rows() {
                let key = batch.column_by_name(&format!("k{row}")).unwrap();
                assert_eq!(key.as_primitive::<Int64Type>().value(i), row);
                assert_eq!(key.null_count(), batch.num_rows() - 1);
                let objects = batch.column_by_name("o").unwrap().as_struct();
                let lists = objects.column_by_name(&format!("p{row}")).unwrap();
                let list = lists.as_list::<i32>().value(i);
                assert_eq!(list.as_primitive::<Int64Type>().values(), &[row]);
                row += 1;
            }
        }
        assert_eq!(row, 3_000);
    }

    #[test]
    fn a_line_of_millions_of_values_is_refused() {
        let line = |n: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(n));
        let refused = error(&line(COMMAS_MAX + 1));
        assert_eq!(refused, format!("line 1: more than {COMMAS_MAX} commas"));
        assert_eq!(read(&line(1 << 20)).unwrap().1.len(), 1);
    }

    #[test]
    fn deep_nesting_is_refused_not_a_stack_overflow() {
        for (open, n) in [("[", 64), ("[", 1_000_000), ("{\"b\":", 1_000_000)] {
            let text = format!("{{\"z\":1}}\n{{\"a\":{}", open.repeat(n));
            let byte = 6 + 63 * open.len();
            assert_eq!(
                error(&text),
                format!("line 2, byte {byte}: nested deeper than 63 arrays and objects")
            );
        }
        let deepest = format!("{{\"a\":{}1{}}}", "[".repeat(63), "]".repeat(63));
        assert_eq!(read(&deepest).unwrap().1.len(), 1);
    }

    #[test]
    fn types_may_be_asked_for() {
        let text = "{\"n\":1.50,\"o\":{\"l\":[1,2]},\"t\":\"2024-01-01T00:00:00Z\"}\n\
            {\"n\":1e400,\"t\":null}\n{\"n\":true,\"o\":{\"l\":[]}}\n{\"n\":\"a\\nb\"}\n";
        let utc = DataType::Timestamp(arrow_schema::TimeUnit::Second, Some("UTC".into()));
        let types = [("n", DataType::Utf8), ("o.l", DataType::UInt8), ("t", utc)];
        let (_, batches) = read_as(text, &types).unwrap();
        let texts = batches[0].column(0).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [Some("1.50"), Some("1e400"), Some("true"), Some("a\nb")]
        );
        let lists = batches[0].column(1).as_struct().column(0).clone();
        let items = lists.as_list::<i32>().values().clone();
        let items = items.as_primitive::<arrow_array::types::UInt8Type>();
        assert_eq!(items.values(), &[1, 2]);
        let times = batches[0].column(2);
        let times = times.as_primitive::<arrow_array::types::TimestampSecondType>();
        assert_eq!(times.value(0), 1_704_067_200);
        assert_eq!(
            read_as(text, &[("o.l", DataType::Boolean), ("n", DataType::Utf8)])
                .unwrap_err()
                .to_string(),
            "line 1: column `o.l`: 1 is no Boolean, the type that the column is to have"
        );
        assert_eq!(
            read_as(text, &[("o", DataType::Int8), ("n", DataType::Utf8)]).map(|_| ()),
            Ok(()),
            "a type is one for flat values"
        );
    }

    #[test]
    fn numbers_that_became_text_stay_as_they_are_written() {
        let text = "{\"a\":9007199254740993}\n{\"a\":1.50}\n{\"a\":\"NaN\"}\n{\"a\":-0}\n";
        let (_, batches) = read(text).unwrap();
        let texts = batches[0].column(0).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [
                Some("9007199254740993"),
                Some("1.50"),
                Some("NaN"),
                Some("-0")
            ]
        );
        // Not text that just looks like a number.
        let mut lines = "{\"a\":123456789012345678901234567890}\n".repeat(INFERENCE_ROWS as usize);
        lines.push_str("{\"a\":12345678901234567890123456789}\n");
        assert!(read(&lines).is_ok());
        lines.push_str("{\"a\":\"1\"}\n");
        assert!(error(&lines).starts_with("line 10002: column `a`: \"1\" is no Utf8, "));
    }
}
