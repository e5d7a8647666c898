//! CSV (RFC 4180) to Arrow.
//!
//! This does not use `arrow-csv`, because that reader cannot tell `""` from an empty field, names records instead of
//! lines in its errors, and drops the values of a column that was empty in the first rows.
//!
//! The first line names the columns, and its end says how lines end: with LF or CR LF, or with CR alone. A quoted field
//! may hold all of them; the other kind outside of quotes is an error. A field that is empty and not quoted is null; a
//! quoted empty field is an empty text, and null in a column that is no text. An empty line is a null row in a file of
//! one column, and skipped in others. A byte order mark is skipped.

mod records;

use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::builders::{Column, as_text, misfit, parse_bool, quoted};
use super::limits::{BATCH_BYTES, BATCH_ROWS, INFERENCE_ROWS};
use super::number::{Number, Numbers};
use super::timestamp::{parse_date, parse_timestamp};
use super::types::Types;
use records::Records;

/// Reads the header and the first rows, and returns name and type of each column: the one that is asked for, if any.
///
/// # Errors
/// The header or a row is malformed; the text says the line.
pub(super) fn infer(input: &mut impl BufRead, types: &Types) -> Result<SchemaRef, String> {
    let mut records = Records::new(input);
    let names = header(&mut records)?;
    let mut candidates = vec![Candidates::all(); names.len()];
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
        .map(|(name, seen)| {
            let asked = types.get(&name).cloned();
            Field::new(name, asked.unwrap_or_else(|| seen.data_type()), true)
        })
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// Reads the rows as the types of a schema.
pub(super) struct Reader<R> {
    records: Records<R>,
    schema: SchemaRef,
    columns: Vec<Column>,
    types: Types,
}

impl<R: BufRead> Reader<R> {
    /// # Errors
    /// The header is malformed, or no longer what it was when the schema was inferred.
    pub(super) fn new(input: R, schema: SchemaRef, types: Types) -> Result<Reader<R>, String> {
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
            types,
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
                    let (name, data_type) = (
                        self.schema.field(i).name(),
                        self.schema.field(i).data_type(),
                    );
                    let is_asked = self.types.get(name).is_some();
                    let what = misfit(quoted(text), data_type, is_asked);
                    let advice = if is_asked {
                        String::new()
                    } else {
                        as_text(name)
                    };
                    format!(
                        "line {}: column `{name}`: {what}{advice}",
                        self.records.line
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

/// The types that every value so far can be read as, as a set of bits, and what these values need of them.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    types: u8,
    any: bool,
    numbers: Numbers,
    needs_nanos: bool,
}

const BOOLEAN: u8 = 1;
const NUMBER: u8 = 2;
const DATE32: u8 = 4;
/// A timestamp without an offset.
const LOCAL: u8 = 8;
/// A timestamp with one.
const INSTANT: u8 = 16;

impl Candidates {
    fn all() -> Candidates {
        Candidates {
            types: !0,
            any: false,
            numbers: Numbers::default(),
            needs_nanos: false,
        }
    }

    fn see(&mut self, text: &str) {
        if text.is_empty() || (self.any && self.types == 0) {
            return;
        }
        self.any = true;
        let mut types = 0;
        if parse_bool(text).is_some() {
            types |= BOOLEAN;
        }
        if let Some(number) = Number::parse(text) {
            types |= NUMBER;
            self.numbers.see(number);
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
            t if t & NUMBER != 0 => self.numbers.data_type(),
            t if t & DATE32 != 0 => DataType::Date32,
            t if t & LOCAL != 0 => DataType::Timestamp(unit, None),
            t if t & INSTANT != 0 => DataType::Timestamp(unit, Some("UTC".into())),
            _ => DataType::Utf8,
        }
    }
}

/// `Err` when the text is no value of the column's type.
fn append(column: &mut Column, text: &str, is_quoted: bool) -> Result<(), ()> {
    if text.is_empty() && !(is_quoted && matches!(column, Column::Text(_))) {
        column.append_null();
        return Ok(());
    }
    column.append_text(text)
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

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, TimestampMicrosecondType};

    use super::*;

    fn read(text: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
        read_as(text, &Types::default())
    }

    fn read_as(text: &[u8], asked: &Types) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
        let schema = infer(&mut &text[..], asked)?;
        let mut reader = Reader::new(text, schema.clone(), asked.clone())?;
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
            [Utf8, Float64]
        );
        assert_eq!(
            types("a,b,c\n1.5,1e400,0.1\n9007199254740993,1,123456789012345678901\n"),
            [Utf8, Utf8, Utf8]
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
    fn lines_end_as_the_first_one_does() {
        let (schema, batches) = read(b"\xef\xbb\xbfn,t\r1,\"a\rb\nc\r\nd\"\r\r,\"\"\r3,x").unwrap();
        assert_eq!(schema.field(0).name(), "n");
        assert_eq!(schema.field(1).name(), "t");
        let numbers = batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [Some(1), None, Some(3)]);
        let texts = batches[0].column(1).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [Some("a\rb\nc\r\nd"), Some(""), Some("x")]
        );
        // Ends of lines in a quoted name decide nothing.
        let (schema, batches) = read(b"\"n\rm\",t\n1,2\n").unwrap();
        assert_eq!(
            (schema.field(0).name().as_str(), batches[0].num_rows()),
            ("n\rm", 1)
        );
        // A last line whose line feed is missing.
        let (_, batches) = read(b"n\n1\r\n2\r").unwrap();
        assert_eq!(batches[0].num_rows(), 2);
        // Without the data behind it, a carriage return at the end of a piece that was read may be half of an end.
        let text = b"n\r\n1\r\n";
        for capacity in 1..8 {
            let input = || std::io::BufReader::with_capacity(capacity, &text[..]);
            let schema = infer(&mut input(), &Types::default()).unwrap();
            assert_eq!(schema.field(0).data_type(), &DataType::Int64, "{capacity}");
            let mut reader = Reader::new(input(), schema, Types::default()).unwrap();
            assert_eq!(reader.next_batch().unwrap().unwrap().num_rows(), 1);
        }
        let stray =
            "a carriage return outside of quotes, in a file whose lines end with line feeds";
        assert_eq!(error("n,t\n1,x\ry\n"), format!("line 2: {stray}"));
        assert_eq!(error("n,t\n1,\"x\"\r\r\n"), format!("line 2: {stray}"));
        let stray =
            "a line feed outside of quotes, in a file whose lines end with carriage returns";
        assert_eq!(error("n,t\r1,x\n2,y\r"), format!("line 2: {stray}"));
        assert_eq!(error("n,t\r\r\n1,x\r\r\n"), format!("line 3: {stray}"));
    }

    #[test]
    fn types_may_be_asked_for() {
        let asked = |types: &[(&str, DataType)]| {
            Types::new(types.iter().map(|(name, data_type)| (*name, data_type))).unwrap()
        };
        let text = b"n,t,d\n1,007,1.50\n,,\n300,1e400,-2\n";
        let types = asked(&[
            ("t", DataType::Utf8),
            ("n", DataType::Int16),
            ("d", DataType::Decimal128(5, 1)),
        ]);
        let (schema, batches) = read_as(text, &types).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Int16);
        let texts = batches[0].column(1).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [Some("007"), None, Some("1e400")]
        );
        let decimals = batches[0]
            .column(2)
            .as_primitive::<arrow_array::types::Decimal128Type>();
        assert_eq!(
            decimals.iter().collect::<Vec<_>>(),
            [Some(15), None, Some(-20)]
        );
        assert_eq!(
            read_as(text, &asked(&[("n", DataType::UInt8)])).unwrap_err(),
            "line 4: column `n`: \"300\" is no UInt8, the type that --types asks for"
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
            "line 10004: column `n`: \"1.5\" is no Int64, the type that the first 10000 rows have; \
             with --types n=utf8 the column is text"
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
