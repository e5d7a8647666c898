//! CSV (RFC 4180) to Arrow.
//!
//! This does not use `arrow-csv`, because that reader cannot tell `""` from an empty field, names records instead of
//! lines in its errors, and drops the values of a column that was empty in the first rows.
//!
//! The first line names the columns. Lines end with LF or CR LF; a quoted field may hold both. A field that is empty
//! and not quoted is null; a quoted empty field is an empty text, and null in a column that is no text. An empty line
//! is a null row in a file of one column, and skipped in others. A byte order mark is skipped.

use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::builders::{Column, quoted};
use super::limits::{BATCH_BYTES, BATCH_ROWS, INFERENCE_ROWS};
use super::timestamp::{parse_date, parse_timestamp};

/// A record longer than this is refused: most likely a quote was never closed.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// Reads the header and the first rows, and returns name and type of each column.
///
/// # Errors
/// The header or a row is malformed; the text says the line.
pub(super) fn infer(input: &mut impl BufRead) -> Result<SchemaRef, String> {
    let mut records = Records::new(input);
    let names = header(&mut records)?;
    let mut candidates = vec![Candidates::ALL; names.len()];
    for _ in 0..INFERENCE_ROWS {
        if !records.next(names.len())? {
            break;
        }
        for (i, candidates) in candidates.iter_mut().enumerate() {
            candidates.see(records.field(i)?.0);
        }
    }
    let fields: Vec<Field> = names
        .into_iter()
        .zip(candidates)
        .map(|(name, seen)| Field::new(name, seen.data_type(), true))
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// Reads the rows as the types of a schema.
pub(super) struct Reader<R> {
    records: Records<R>,
    schema: SchemaRef,
    columns: Vec<Column>,
}

impl<R: BufRead> Reader<R> {
    /// # Errors
    /// The header is malformed, or no longer what it was when the schema was inferred.
    pub(super) fn new(input: R, schema: SchemaRef) -> Result<Reader<R>, String> {
        let mut records = Records::new(input);
        let names = header(&mut records)?;
        if !names
            .iter()
            .eq(schema.fields().iter().map(|field| field.name()))
        {
            return Err("line 1: the header changed while the file was read".into());
        }
        let columns = schema
            .fields()
            .iter()
            .map(|field| Column::new(field.data_type()))
            .collect();
        Ok(Reader {
            records,
            schema,
            columns,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// # Errors
    /// A malformed row or a value that does not fit the type; the text says the line, and the column where it is one
    /// value.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let (mut rows, mut bytes) = (0, 0_u64);
        while rows < BATCH_ROWS && bytes < BATCH_BYTES && self.records.next(self.columns.len())? {
            for (i, column) in self.columns.iter_mut().enumerate() {
                let (text, is_quoted) = self.records.field(i)?;
                append(column, text, is_quoted).map_err(|()| {
                    let field = self.schema.field(i);
                    format!(
                        "line {}: column `{}`: {} is no {}, the type that the first {INFERENCE_ROWS} rows have",
                        self.records.line,
                        field.name(),
                        quoted(text),
                        field.data_type()
                    )
                })?;
            }
            rows += 1;
            bytes += self.records.text.len() as u64;
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

/// The types that every value so far can be read as, as a set of bits, and the properties of its timestamps.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    types: u8,
    any: bool,
    needs_nanos: bool,
}

const BOOLEAN: u8 = 1;
const INT64: u8 = 2;
const UINT64: u8 = 4;
const FLOAT64: u8 = 8;
const DATE32: u8 = 16;
/// A timestamp without an offset.
const LOCAL: u8 = 32;
/// A timestamp with one.
const INSTANT: u8 = 64;

impl Candidates {
    const ALL: Candidates = Candidates {
        types: !0,
        any: false,
        needs_nanos: false,
    };

    fn see(&mut self, text: &str) {
        if text.is_empty() || (self.any && self.types == 0) {
            return;
        }
        self.any = true;
        let mut types = 0;
        if parse_bool(text).is_some() {
            types |= BOOLEAN;
        }
        if text.parse::<i64>().is_ok() {
            types |= INT64;
        }
        if text.parse::<u64>().is_ok() {
            types |= UINT64;
        }
        if parse_float(text).is_some() {
            types |= FLOAT64;
        }
        if let Some(timestamp) = parse_timestamp(text) {
            if parse_date(text).is_some() {
                types |= DATE32;
            }
            types |= if timestamp.has_offset { INSTANT } else { LOCAL };
            self.needs_nanos |= timestamp.digits > 6;
        }
        self.types &= types;
    }

    /// A column without any value is text, which can hold any later value.
    fn data_type(self) -> DataType {
        let unit = if self.needs_nanos {
            TimeUnit::Nanosecond
        } else {
            TimeUnit::Microsecond
        };
        match self.types {
            _ if !self.any => DataType::Utf8,
            t if t & BOOLEAN != 0 => DataType::Boolean,
            t if t & INT64 != 0 => DataType::Int64,
            t if t & UINT64 != 0 => DataType::UInt64,
            t if t & FLOAT64 != 0 => DataType::Float64,
            t if t & DATE32 != 0 => DataType::Date32,
            t if t & LOCAL != 0 => DataType::Timestamp(unit, None),
            t if t & INSTANT != 0 => DataType::Timestamp(unit, Some("UTC".into())),
            _ => DataType::Utf8,
        }
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// A whole number too large for 64 bits is text: it is more likely a key, and as a float it would lose digits.
fn parse_float(text: &str) -> Option<f64> {
    let is_whole = text
        .strip_prefix(['+', '-'])
        .unwrap_or(text)
        .bytes()
        .all(|b| b.is_ascii_digit());
    if is_whole && text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
        return None;
    }
    text.parse().ok()
}

/// `Err` when the text is no value of the column's type.
fn append(column: &mut Column, text: &str, is_quoted: bool) -> Result<(), ()> {
    if text.is_empty() && !(is_quoted && matches!(column, Column::Text(_))) {
        column.append_null();
        return Ok(());
    }
    match column {
        Column::Null(_) => return Err(()),
        Column::Boolean(builder) => builder.append_value(parse_bool(text).ok_or(())?),
        Column::Int64(builder) => builder.append_value(text.parse().map_err(|_| ())?),
        Column::UInt64(builder) => builder.append_value(text.parse().map_err(|_| ())?),
        Column::Float64(builder) => builder.append_value(parse_float(text).ok_or(())?),
        Column::Date32(builder) => builder.append_value(parse_date(text).ok_or(())?),
        Column::Micros(builder, has_zone) => {
            builder.append_value(timestamp(text, TimeUnit::Microsecond, *has_zone).ok_or(())?);
        }
        Column::Nanos(builder, has_zone) => {
            builder.append_value(timestamp(text, TimeUnit::Nanosecond, *has_zone).ok_or(())?);
        }
        Column::Text(builder) => builder.append_value(text),
    }
    Ok(())
}

/// A timestamp. It must have an offset if the column's type has a time zone, and must have none if not.
fn timestamp(text: &str, unit: TimeUnit, has_zone: bool) -> Option<i64> {
    parse_timestamp(text)
        .filter(|timestamp| timestamp.has_offset == has_zone)?
        .in_unit(unit)
}

/// The names in the first line.
fn header<R: BufRead>(records: &mut Records<R>) -> Result<Vec<String>, String> {
    if !records.read()? {
        return Err("line 1: the header with the column names is missing".into());
    }
    (0..records.fields.len())
        .map(|i| records.field(i).map(|(name, _)| name.to_owned()))
        .collect()
}

/// Cuts text into records and fields.
struct Records<R> {
    input: R,
    /// The physical line being read.
    raw: Vec<u8>,
    /// The fields of the record, unescaped, one after the other.
    text: Vec<u8>,
    fields: Vec<FieldEnd>,
    /// Line on which the record starts, counted from 1.
    line: u64,
    lines_read: u64,
}

#[derive(Clone, Copy)]
struct FieldEnd {
    /// In `text`.
    end: usize,
    is_quoted: bool,
}

/// The state of the parser between two bytes.
#[derive(Clone, Copy, PartialEq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first half of an escaped quote.
    QuoteSeen,
}

impl<R: BufRead> Records<R> {
    fn new(input: R) -> Records<R> {
        Records {
            input,
            raw: Vec::new(),
            text: Vec::new(),
            fields: Vec::new(),
            line: 0,
            lines_read: 0,
        }
    }

    /// Text of a field of the current record, and whether it stood in quotes.
    fn field(&self, i: usize) -> Result<(&str, bool), String> {
        let start = if i == 0 { 0 } else { self.fields[i - 1].end };
        let FieldEnd { end, is_quoted } = self.fields[i];
        match std::str::from_utf8(&self.text[start..end]) {
            Ok(text) => Ok((text, is_quoted)),
            Err(_) => Err(format!("line {}: field {} is not UTF-8", self.line, i + 1)),
        }
    }

    /// Reads the next record of `n_fields` fields; `false` at the end of the file.
    fn next(&mut self, n_fields: usize) -> Result<bool, String> {
        loop {
            if !self.read()? {
                return Ok(false);
            }
            if self.fields.len() == n_fields {
                return Ok(true);
            }
            let is_empty_line =
                self.fields.len() == 1 && self.text.is_empty() && !self.fields[0].is_quoted;
            if !is_empty_line {
                let found = self.fields.len();
                return Err(format!(
                    "line {}: {found} fields, but the header has {n_fields}",
                    self.line
                ));
            }
        }
    }

    /// Reads the next record, of any number of fields.
    fn read(&mut self) -> Result<bool, String> {
        self.text.clear();
        self.fields.clear();
        self.line = self.lines_read + 1;
        let mut state = State::FieldStart;
        let mut is_quoted = false;
        loop {
            self.raw.clear();
            // The read is limited, so that a file without line ends is not read into memory as a whole.
            let limit = (RECORD_BYTES_MAX - self.text.len() + 1) as u64;
            let n = std::io::Read::take(&mut self.input, limit)
                .read_until(b'\n', &mut self.raw)
                .map_err(|error| format!("line {}: {error}", self.lines_read + 1))?;
            if n == 0 {
                return match state {
                    State::Quoted => Err(format!(
                        "line {}: a quoted field is never closed",
                        self.line
                    )),
                    // This state is entered only at the start of the file and at the end of a line.
                    _ => Ok(false),
                };
            }
            if self.text.len() + n > RECORD_BYTES_MAX {
                return Err(format!(
                    "line {}: a record of more than {RECORD_BYTES_MAX} bytes",
                    self.line
                ));
            }
            self.lines_read += 1;
            let mut line = self.raw.as_slice();
            if self.lines_read == 1 {
                line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            }
            let (content, line_end) = match line {
                [content @ .., b'\r', b'\n'] => (content, &b"\r\n"[..]),
                [content @ .., b'\n'] => (content, &b"\n"[..]),
                content => (content, &b""[..]),
            };
            for &byte in content {
                state = match (state, byte) {
                    (State::FieldStart, b'"') => {
                        is_quoted = true;
                        State::Quoted
                    }
                    (State::FieldStart | State::Unquoted | State::QuoteSeen, b',') => {
                        self.fields.push(FieldEnd {
                            end: self.text.len(),
                            is_quoted,
                        });
                        is_quoted = false;
                        State::FieldStart
                    }
                    (State::Quoted, b'"') => State::QuoteSeen,
                    (State::QuoteSeen, b'"') => {
                        self.text.push(b'"');
                        State::Quoted
                    }
                    (State::QuoteSeen, _) => {
                        return Err(format!(
                            "line {}: text follows a closing quote",
                            self.lines_read
                        ));
                    }
                    (State::Quoted, _) => {
                        self.text.push(byte);
                        State::Quoted
                    }
                    (State::FieldStart | State::Unquoted, _) => {
                        self.text.push(byte);
                        State::Unquoted
                    }
                };
            }
            if state != State::Quoted {
                self.fields.push(FieldEnd {
                    end: self.text.len(),
                    is_quoted,
                });
                return Ok(true);
            }
            self.text.extend_from_slice(line_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, TimestampMicrosecondType};

    use super::*;

    fn read(text: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
        let schema = infer(&mut &text[..])?;
        let mut reader = Reader::new(text, schema.clone())?;
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            batches.push(batch);
        }
        Ok((schema, batches))
    }

    fn types(text: &str) -> Vec<DataType> {
        read(text.as_bytes())
            .unwrap()
            .0
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect()
    }

    fn error(text: impl AsRef<[u8]>) -> String {
        read(text.as_ref()).unwrap_err()
    }

    #[test]
    fn types_are_the_narrowest_that_hold_every_value() {
        use DataType::*;
        assert_eq!(
            types("a,b,c,d\n1,1.5,true,x\n-2,3,FALSE,4\n"),
            [Int64, Float64, Boolean, Utf8]
        );
        assert_eq!(
            types("a,b\n18446744073709551615,123456789012345678901\n"),
            [UInt64, Utf8]
        );
        assert_eq!(
            types("a,b\n-1,1e3\n18446744073709551615,nan\n"),
            [Float64, Float64]
        );
        assert_eq!(types("a,b\n,1\n,\n"), [Utf8, Int64]);
        assert_eq!(
            types("a,b\n2024-01-01,2024-01-01\n2024-01-02,2024-01-01T10:00:00\n"),
            [Date32, Timestamp(TimeUnit::Microsecond, None)]
        );
        assert_eq!(
            types("a,b\n2024-01-01T00:00:00Z,2024-01-01 00:00:00.123456789\n"),
            [
                Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                Timestamp(TimeUnit::Nanosecond, None)
            ]
        );
        assert_eq!(
            types("a\n2024-01-01T00:00:00Z\n2024-01-01T00:00:00\n"),
            [Utf8]
        );
        assert_eq!(types("a,b\n\"1\", 2\n"), [Int64, Utf8]);
    }

    #[test]
    fn dates_alone_in_a_column_of_instants_are_text() {
        assert_eq!(
            types("a\n2024-01-01\n2024-01-01T00:00:00Z\n"),
            [DataType::Utf8]
        );
    }

    #[test]
    fn nulls_quotes_and_line_ends() {
        let (schema, batches) =
            read("\u{feff}n,t\r\n1,\"a,\"\"b\"\"\r\nc\"\r\n,\"\"\r\n\r\n3,\r\n".as_bytes())
                .unwrap();
        assert_eq!(schema.field(0).name(), "n");
        let numbers = batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [Some(1), None, Some(3)]);
        let texts = batches[0].column(1).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [Some("a,\"b\"\r\nc"), Some(""), None]
        );
    }

    #[test]
    fn one_column_keeps_its_empty_lines() {
        let (_, batches) = read(b"a\n1\n\n3\n").unwrap();
        assert_eq!(batches[0].num_rows(), 3);
        assert!(batches[0].column(0).is_null(1));
    }

    #[test]
    fn no_rows_and_no_last_line_end() {
        let (schema, batches) = read(b"a,b").unwrap();
        assert_eq!((schema.fields().len(), batches.len()), (2, 0));
        let (_, batches) = read(b"a\n2024-01-01T00:00:00.25").unwrap();
        assert_eq!(
            batches[0]
                .column(0)
                .as_primitive::<TimestampMicrosecondType>()
                .value(0),
            1_704_067_200_250_000
        );
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            error(""),
            "line 1: the header with the column names is missing"
        );
        assert_eq!(
            error("a,b\n1,2\n3\n"),
            "line 3: 1 fields, but the header has 2"
        );
        assert_eq!(
            error("a\n\"x\ny\"\n\"z"),
            "line 4: a quoted field is never closed"
        );
        assert_eq!(
            error("a\n\"x\ny\"z\n"),
            "line 3: text follows a closing quote"
        );
        assert_eq!(error(b"a,b\n1,2\n1,\xff\n"), "line 3: field 2 is not UTF-8");
    }

    #[test]
    fn a_later_conflict_names_line_and_column() {
        // A field of two lines moves the line numbers by one.
        let mut text = String::from("n,t\n0,\"a\nb\"\n");
        for i in 1..INFERENCE_ROWS {
            text.push_str(&format!("{i},x\n"));
        }
        text.push_str("10000,x\n1.5,x\n");
        assert_eq!(
            error(&text),
            "line 10004: column `n`: \"1.5\" is no Int64, the type that the first 10000 rows have"
        );
        // The last row that counts for the types.
        let text = text.replace("\n9999,", "\n9999.5,");
        let (schema, batches) = read(text.as_bytes()).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Float64);
        assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            10_002
        );
        assert_eq!(batches.len(), 2);
    }
}
