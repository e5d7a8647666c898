//! CSV (RFC 4180) to Arrow.
//!
//! This does not use `arrow-csv`, because that reader cannot tell `""` from an empty field, names records instead of
//! lines in its errors, and drops the values of a column that was empty in the first rows.
//!
//! The first line names the columns, and its end says how lines end: with LF or CR LF, or with CR alone. A quoted field
//! may hold all of them; the other kind outside of quotes is an error. A field that is empty and not quoted is null; a
//! quoted empty field is an empty text, and null in a column that is no text. An empty line is a null row in a file of
//! one column, and skipped in others. A byte order mark is skipped. Options may say that there is no header.

mod records;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::Error;

use super::builders::{Column, as_text, misfit, parse_bool, quoted};
use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::number::{Number, Numbers, is_code};
use super::options::Options;
use records::Records;
use tarsia_arrow::timestamp::{parse_date, parse_timestamp};

/// Reads the header and the first rows, and returns name and type of each column: the one that is asked for, if any.
///
/// # Errors
/// The header or a row is malformed; the text says the line.
pub(super) fn infer(input: &mut impl BufRead, options: &Options) -> Result<SchemaRef, Error> {
    let types = &options.types;
    let mut records = Records::new(input);
    let names = header(&mut records, options)?;
    let mut candidates = vec![Candidates::all(); names.len()];
    for _ in 0..options.inference_rows {
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
pub(super) struct CsvReader<R> {
    records: Records<R>,
    schema: SchemaRef,
    columns: Vec<Column>,
    options: Options,
}

impl<R: BufRead> CsvReader<R> {
    /// # Errors
    /// The header is malformed, or no longer what it was when the schema was inferred.
    pub(super) fn new(
        input: R,
        schema: SchemaRef,
        options: Options,
    ) -> Result<CsvReader<R>, Error> {
        let mut records = Records::new(input);
        let names = header(&mut records, &options)?;
        if !names
            .iter()
            .eq(schema.fields().iter().map(|field| field.name()))
        {
            return Err(Error::new("the header changed while the file was read").in_line(1));
        }
        let columns = schema
            .fields()
            .iter()
            .map(|field| Column::new(field.data_type()))
            .collect();
        Ok(CsvReader {
            records,
            schema,
            columns,
            options,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// # Errors
    /// A malformed row or a value that does not fit the type; the text says the line, and the column where it is one
    /// value.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let (mut rows, mut bytes) = (0, 0_u64);
        while rows < BATCH_ROWS && bytes < BATCH_BYTES && self.records.next(self.columns.len())? {
            for (i, column) in self.columns.iter_mut().enumerate() {
                let (text, is_quoted) = self.records.field(i)?;
                let (name, data_type) = (
                    self.schema.field(i).name(),
                    self.schema.field(i).data_type(),
                );
                let is_asked = self.options.types.get(name).is_some();
                append(column, text, is_quoted, is_asked).map_err(|()| {
                    let n_rows = self.options.inference_rows;
                    let what = misfit(quoted(text), data_type, is_asked, n_rows);
                    let advice = if is_asked {
                        String::new()
                    } else {
                        as_text(name)
                    };
                    Error::new(format!("{what}{advice}"))
                        .in_line(self.records.line)
                        .in_column(name)
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
            .map_err(|error| error.to_string().into())
    }
}

/// Columns of one name that a table may have; more are most likely values of a file without a header.
const SAME_NAME_MAX: usize = 255;

/// The types that every value so far can be read as, as a set of bits, and what these values need of them.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    types: u8,
    any: bool,
    numbers: Numbers,
    /// A timestamp has more digits than microseconds hold.
    needs_nanos: bool,
    /// A timestamp is out of reach of nanoseconds in 64 bits.
    beyond_nanos: bool,
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
            beyond_nanos: false,
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
            match is_code(text) {
                true => self.numbers.see_code(),
                false => self.numbers.see(number),
            }
        }
        if let Some(timestamp) = parse_timestamp(text) {
            if parse_date(text).is_some() {
                types |= DATE32;
            }
            types |= if timestamp.has_offset { INSTANT } else { LOCAL };
            self.needs_nanos |= timestamp.digits > 6;
            self.beyond_nanos |= timestamp.in_unit(TimeUnit::Nanosecond).is_none();
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
            // Neither unit holds all of them.
            _ if self.needs_nanos && self.beyond_nanos => DataType::Utf8,
            t if t & LOCAL != 0 => DataType::Timestamp(unit, None),
            t if t & INSTANT != 0 => DataType::Timestamp(unit, Some("UTC".into())),
            _ => DataType::Utf8,
        }
    }
}

/// `Err` when the text is no value of the column's type, or a code in a column of numbers that nobody asked for.
fn append(column: &mut Column, text: &str, is_quoted: bool, is_asked: bool) -> Result<(), ()> {
    if text.is_empty() && !(is_quoted && matches!(column, Column::Text(_))) {
        column.append_null();
        return Ok(());
    }
    if !is_asked && column.is_number() && is_code(text) {
        return Err(());
    }
    column.append_text(text)
}

/// The names in the first line. In a file without a header that line is a row, which is read again, and the columns are
/// numbered from 0.
fn header<R: BufRead>(records: &mut Records<R>, options: &Options) -> Result<Vec<String>, Error> {
    if !records.read()? || records.is_empty_input() {
        let what = match options.header {
            true => "the header with the column names is missing",
            false => "no line, so there are no columns",
        };
        return Err(Error::new(what).in_line(1));
    }
    let n_fields = records.fields.len();
    if !options.header {
        records.read_again();
        return Ok((0..n_fields).map(|i| format!("column_{i}")).collect());
    }
    let names = (0..n_fields).map(|i| records.field(i).map(|(name, _)| name.to_owned()));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let mut counts = HashMap::new();
    for name in &names {
        let n: &mut usize = counts.entry(name).or_default();
        *n += 1;
        if *n > SAME_NAME_MAX {
            let what = format!(
                "more than {SAME_NAME_MAX} columns have this name; if the first line is a row, --no-header says so"
            );
            return Err(Error::new(what).in_line(1).in_column(name));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, TimestampMicrosecondType};

    use super::*;
    use crate::source::{INFERENCE_ROWS, Types};

    fn with_types(types: Types) -> Options {
        Options {
            types,
            ..Options::default()
        }
    }

    fn read(text: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
        read_as(text, &Options::default())
    }

    fn read_as(text: &[u8], asked: &Options) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
        let schema = infer(&mut &text[..], asked)?;
        let mut reader = CsvReader::new(text, schema.clone(), asked.clone())?;
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
        read(text.as_ref()).unwrap_err().to_string()
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
    fn years_beyond_four_digits_are_dates_where_they_need_a_sign() {
        use DataType::*;
        assert_eq!(types("a\n+10000-01-01\n-0001-12-31\n"), [Date32]);
        let micros = Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(types("a\n+262142-12-31T23:59:59.999999\n"), [micros]);
        assert_eq!(types("a\n+2024-01-01\n"), [Utf8]);
    }

    #[test]
    fn a_quoted_empty_field_is_a_text_in_columns_of_text_alone() {
        let text = b"t,i,f,b,d,s\n\"\",\"\",\"\",\"\",\"\",\"\"\n,,,,,\nx,1,0.5,true,2024-01-01,2024-01-01T00:00:00\n";
        let (schema, batches) = read(text).unwrap();
        let texts = batches[0].column(0).as_string::<i32>();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [Some(""), None, Some("x")]
        );
        for i in 1..6 {
            assert_ne!(schema.field(i).data_type(), &DataType::Utf8);
            let column = batches[0].column(i);
            let valid: Vec<_> = (0..3).map(|row| column.is_valid(row)).collect();
            assert_eq!(valid, [false, false, true], "{}", schema.field(i));
        }
        // What an export writes for both.
        let (_, batches) = read(b"t,u\n\"\",\n,\"\"\n").unwrap();
        for (i, expected) in [[Some(""), None], [None, Some("")]].into_iter().enumerate() {
            let texts = batches[0].column(i).as_string::<i32>();
            assert_eq!(texts.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn codes_are_text() {
        use DataType::*;
        for (text, expected) in [
            ("a\n00501\n2134\n", Utf8),
            ("a\n2134\n00501\n", Utf8),
            ("a\n+4915112345\n1\n", Utf8),
            ("a\n-0\n1\n", Utf8),
            ("a\n1.5\n01.5\n", Utf8),
            ("a\n0\n-1\n", Int64),
            ("a\n0.5\n-0.0\n", Float64),
        ] {
            assert_eq!(types(text), [expected], "{text}");
        }
        let (_, batches) = read(b"a,b\n00501,+49\n7,\n").unwrap();
        let texts = batches[0].column(0).as_string::<i32>();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("00501"), Some("7")]);
        // Later ones are errors, unless a type is asked for.
        let late = format!("a\n{}007\n", "1\n".repeat(INFERENCE_ROWS as usize));
        assert_eq!(
            error(&late),
            "line 10002: column `a`: \"007\" is no Int64, the type that the first 10000 rows have; \
             with --types a=utf8 the column is text"
        );
        let asked = with_types(Types::new([("a", &Int64)]).unwrap());
        let (_, batches) = read_as(late.as_bytes(), &asked).unwrap();
        let last = batches
            .last()
            .unwrap()
            .column(0)
            .as_primitive::<Int64Type>();
        assert_eq!(last.values().last(), Some(&7));
    }

    #[test]
    fn timestamps_that_neither_unit_holds_are_text() {
        let nanos = "2024-01-01T00:00:00.123456789";
        let early = "1600-01-01T00:00:00";
        assert_eq!(types(&format!("a\n{nanos}\n{early}\n")), [DataType::Utf8]);
        assert_eq!(types(&format!("a\n{early}.123456789Z\n")), [DataType::Utf8]);
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(types(&format!("a\n{early}.5\n")), [micros]);
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
            let schema = infer(&mut input(), &Options::default()).unwrap();
            assert_eq!(schema.field(0).data_type(), &DataType::Int64, "{capacity}");
            let mut reader = CsvReader::new(input(), schema, Options::default()).unwrap();
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
            let types = types.iter().map(|(name, data_type)| (*name, data_type));
            with_types(Types::new(types).unwrap())
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
            read_as(text, &asked(&[("n", DataType::UInt8)]))
                .unwrap_err()
                .to_string(),
            "line 4: column `n`: \"300\" is no UInt8, the type that the column is to have"
        );
    }

    #[test]
    fn files_without_a_header() {
        let options = Options {
            header: false,
            ..Options::default()
        };
        let (schema, batches) = read_as(b"\xef\xbb\xbf1,\"a\nb\"\n2,\n", &options).unwrap();
        let names: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(names, ["column_0", "column_1"]);
        let numbers = batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!(numbers.values(), &[1, 2]);
        assert_eq!(batches[0].column(1).as_string::<i32>().value(0), "a\nb");
        let wrong = read_as(b"1,2\n3\n", &options).unwrap_err().to_string();
        assert_eq!(wrong, "line 2: 1 fields, but the header has 2");
        assert!(read_as(b"", &options).is_err());
    }

    #[test]
    fn many_columns_of_one_name_are_most_likely_values() {
        let line = format!("{}0\n", "0,".repeat(255));
        assert_eq!(
            error(&line),
            "line 1: column `0`: more than 255 columns have this name; if the first line is a row, \
             --no-header says so"
        );
        assert!(read(&line.as_bytes()[2..]).is_ok());
    }

    #[test]
    fn rows_that_types_come_from() {
        let text = format!("a\n{}1.5\n", "1\n".repeat(20_000));
        let options = |inference_rows| Options {
            inference_rows,
            ..Options::default()
        };
        assert!(error(&text).starts_with("line 20002: column `a`: \"1.5\" is no Int64, "));
        let (schema, _) = read_as(text.as_bytes(), &options(u64::MAX)).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Float64);
        let few = read_as(b"a\n1\n1.5\n", &options(1))
            .unwrap_err()
            .to_string();
        assert!(few.contains("the type that the first 1 rows have"), "{few}");
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
        assert_eq!(error(b"\xef\xbb\xbf"), error(""));
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
