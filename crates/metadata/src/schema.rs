//! The Arrow schema as records, and types as Arrow's C data interface spells them.
//!
//! | type | format |
//! |---|---|
//! | Null, Boolean | `n`, `b` |
//! | Int8 .. Int64, UInt8 .. UInt64 | `c s i l`, `C S I L` |
//! | Float16, Float32, Float64 | `e`, `f`, `g` |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | `z`, `Z`, `vz`, `w:` bytes |
//! | Utf8, LargeUtf8, Utf8View | `u`, `U`, `vu` |
//! | Decimal128; Decimal32, 64, 256 | `d:` precision `,` scale; then `,32` `,64` `,256` |
//! | Date32, Date64 | `tdD`, `tdm` |
//! | Time32, Time64 | `tts`, `ttm`; `ttu`, `ttn` |
//! | Timestamp | `tss:` `tsm:` `tsu:` `tsn:`, then the time zone or nothing |
//! | Duration | `tDs` `tDm` `tDu` `tDn` |
//! | Interval | `tiM` (months), `tiD` (days, milliseconds), `tin` (months, days, nanoseconds) |
//! | Dictionary | `D` key `,` value; the interface itself keeps the value's type elsewhere |
//!
//! Each type has exactly one spelling; a reader refuses others. Nested types come with a later version.

use arrow_schema::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, Field, IntervalUnit, Schema, TimeUnit,
};
use tarsia_codec::limits::FIXED_WIDTH_BYTES_MAX;

use crate::record::FORMAT_STRUCT;
use crate::{
    BucketEntry, ChildRange, ColumnRecord, Error, NodeRecord, Records, Result, encode_metadata,
    encode_path, path_hash,
};

const UNITS: [(TimeUnit, char); 4] = [
    (TimeUnit::Second, 's'),
    (TimeUnit::Millisecond, 'm'),
    (TimeUnit::Microsecond, 'u'),
    (TimeUnit::Nanosecond, 'n'),
];

const INTERVALS: [(IntervalUnit, char); 3] = [
    (IntervalUnit::YearMonth, 'M'),
    (IntervalUnit::DayTime, 'D'),
    (IntervalUnit::MonthDayNano, 'n'),
];

const FIXED: [(DataType, &str); 25] = [
    (DataType::Null, "n"),
    (DataType::Boolean, "b"),
    (DataType::Int8, "c"),
    (DataType::UInt8, "C"),
    (DataType::Int16, "s"),
    (DataType::UInt16, "S"),
    (DataType::Int32, "i"),
    (DataType::UInt32, "I"),
    (DataType::Int64, "l"),
    (DataType::UInt64, "L"),
    (DataType::Float16, "e"),
    (DataType::Float32, "f"),
    (DataType::Float64, "g"),
    (DataType::Binary, "z"),
    (DataType::LargeBinary, "Z"),
    (DataType::BinaryView, "vz"),
    (DataType::Utf8, "u"),
    (DataType::LargeUtf8, "U"),
    (DataType::Utf8View, "vu"),
    (DataType::Date32, "tdD"),
    (DataType::Date64, "tdm"),
    (DataType::Time32(TimeUnit::Second), "tts"),
    (DataType::Time32(TimeUnit::Millisecond), "ttm"),
    (DataType::Time64(TimeUnit::Microsecond), "ttu"),
    (DataType::Time64(TimeUnit::Nanosecond), "ttn"),
];

fn lookup<T: PartialEq + Copy>(table: &[(T, char)], value: T) -> char {
    // The tables list every variant.
    let row = table.iter().find(|(known, _)| *known == value);
    row.map_or('?', |(_, letter)| *letter)
}

/// The format string of a flat type.
///
/// ```
/// use arrow_schema::DataType;
/// assert_eq!(tarsia_metadata::format_string(&DataType::Decimal64(10, -2)).unwrap(), "d:10,-2,64");
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for nested types, [`Error::InvalidInput`] for types that cannot be (a Time32 in nanoseconds, a
/// precision of 0, an empty time zone).
pub fn format_string(data_type: &DataType) -> Result<String> {
    if let Some((_, format)) = FIXED.iter().find(|(known, _)| known == data_type) {
        return Ok((*format).to_owned());
    }
    let decimal = |precision: u8, scale: i8, max: u8, bits: &str| {
        if !(1..=max).contains(&precision) || scale > max as i8 || scale < -(max as i8) {
            return Err(Error::invalid(format!(
                "type {data_type}: precision or scale"
            )));
        }
        Ok(format!("d:{precision},{scale}{bits}"))
    };
    Ok(match data_type {
        DataType::Decimal32(p, s) => decimal(*p, *s, DECIMAL32_MAX_PRECISION, ",32")?,
        DataType::Decimal64(p, s) => decimal(*p, *s, DECIMAL64_MAX_PRECISION, ",64")?,
        DataType::Decimal128(p, s) => decimal(*p, *s, DECIMAL128_MAX_PRECISION, "")?,
        DataType::Decimal256(p, s) => decimal(*p, *s, DECIMAL256_MAX_PRECISION, ",256")?,
        DataType::FixedSizeBinary(bytes) => match u32::try_from(*bytes) {
            Ok(bytes) if bytes <= FIXED_WIDTH_BYTES_MAX => format!("w:{bytes}"),
            _ => return Err(Error::invalid(format!("type {data_type}: width"))),
        },
        DataType::Timestamp(_, Some(zone)) if zone.is_empty() => {
            return Err(Error::invalid("a timestamp's time zone is empty: use None"));
        }
        DataType::Timestamp(unit, zone) => {
            format!(
                "ts{}:{}",
                lookup(&UNITS, *unit),
                zone.as_deref().unwrap_or_default()
            )
        }
        DataType::Duration(unit) => format!("tD{}", lookup(&UNITS, *unit)),
        DataType::Interval(unit) => format!("ti{}", lookup(&INTERVALS, *unit)),
        DataType::Dictionary(key, value) => {
            if !key.is_dictionary_key_type() {
                return Err(Error::invalid(format!(
                    "type {data_type}: keys are integers"
                )));
            }
            if matches!(**value, DataType::Dictionary(..)) {
                return Err(Error::Unsupported {
                    what: format!("type {data_type}: a dictionary of dictionaries"),
                });
            }
            format!("D{},{}", format_string(key)?, format_string(value)?)
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            return Err(Error::invalid(format!("type {data_type}: unit")));
        }
        nested => {
            return Err(Error::Unsupported {
                what: format!("type {nested}"),
            });
        }
    })
}

/// The type that [`format_string`] spells like this.
///
/// # Errors
/// [`Error::Unsupported`] for what is no format string of a flat type; the error names it.
pub fn parse_type(format: &str) -> Result<DataType> {
    let parsed = parse_flat(format).filter(|parsed| {
        // Numbers have many spellings ("+1", "01"), and some types cannot be: one predicate for reader and writer.
        format_string(parsed).is_ok_and(|spelled| spelled == format)
    });
    parsed.ok_or_else(|| Error::Unsupported {
        what: format!("type with the format string {format:?}"),
    })
}

fn parse_flat(format: &str) -> Option<DataType> {
    if let Some((data_type, _)) = FIXED.iter().find(|(_, known)| *known == format) {
        return Some(data_type.clone());
    }
    let unit = |letter: &str| {
        let row = UNITS.iter().find(|(_, known)| letter.chars().eq([*known]));
        row.map(|(unit, _)| *unit)
    };
    if let Some(width) = format.strip_prefix("w:") {
        return Some(DataType::FixedSizeBinary(width.parse().ok()?));
    }
    if let Some(decimal) = format.strip_prefix("d:") {
        let mut parts = decimal.split(',');
        let precision = parts.next()?.parse().ok()?;
        let scale = parts.next()?.parse().ok()?;
        return match (parts.next(), parts.next()) {
            (None, None) => Some(DataType::Decimal128(precision, scale)),
            (Some("32"), None) => Some(DataType::Decimal32(precision, scale)),
            (Some("64"), None) => Some(DataType::Decimal64(precision, scale)),
            (Some("256"), None) => Some(DataType::Decimal256(precision, scale)),
            _ => None,
        };
    }
    if let Some(letter) = format.strip_prefix("tD") {
        return Some(DataType::Duration(unit(letter)?));
    }
    if let Some(letter) = format.strip_prefix("ti") {
        let row = INTERVALS
            .iter()
            .find(|(_, known)| letter.chars().eq([*known]));
        return row.map(|(unit, _)| DataType::Interval(*unit));
    }
    if let Some(timestamp) = format.strip_prefix("ts") {
        let (letter, zone) = timestamp.split_once(':')?;
        let zone = (!zone.is_empty()).then(|| zone.into());
        return Some(DataType::Timestamp(unit(letter)?, zone));
    }
    if let Some(dictionary) = format.strip_prefix('D') {
        let (key, value) = dictionary.split_once(',')?;
        // Neither may be a dictionary, so this goes one level deep whatever the string.
        if key.starts_with('D') || value.starts_with('D') {
            return None;
        }
        let key = Box::new(parse_flat(key)?);
        return Some(DataType::Dictionary(key, Box::new(parse_flat(value)?)));
    }
    None
}

impl NodeRecord<'_> {
    /// The Arrow field of a node, with its metadata.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a type of a later version, [`Error::InvalidInput`] for the root.
    pub fn to_field(&self) -> Result<Field> {
        if self.ordinal == 0 {
            return Err(Error::invalid("the root is a schema, not a field"));
        }
        Ok(
            Field::new(self.name(), parse_type(self.format)?, self.nullable)
                .with_dict_is_ordered(self.keys_ordered)
                .with_metadata(self.metadata_map()),
        )
    }
}

/// The records of a schema, and what the buckets and the footer say about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncodedSchema {
    /// All records, back to back; they belong at the place given.
    pub records: Vec<u8>,
    /// One per node, for [`crate::Buckets::build`].
    pub entries: Vec<BucketEntry>,
    /// Bytes of the root's record, the first.
    pub root_bytes: u32,
    /// Nodes, the root counted.
    pub n_nodes: u32,
    /// Nodes with a column.
    pub n_leaves: u32,
}

/// The records of `schema`, whose top-level fields have these `columns`, to be stored at `place` (a multiple of 8).
///
/// # Errors
/// What [`format_string`] refuses, with the field's name; [`Error::InvalidInput`] where fields and columns differ in number
/// or the place is not aligned; [`Error::LimitExceeded`] for strings of 4 GiB.
pub fn write_schema(
    schema: &Schema,
    columns: &[ColumnRecord],
    place: u64,
) -> Result<EncodedSchema> {
    if schema.fields().len() != columns.len() {
        return Err(Error::invalid("a schema has as many columns as fields"));
    }
    if !place.is_multiple_of(8) {
        return Err(Error::invalid("records start at a multiple of 8"));
    }
    let n_leaves = u32::try_from(columns.len())
        .ok()
        .filter(|n| *n < u32::MAX)
        .ok_or_else(|| Error::limit("columns", columns.len() as u64, u32::MAX.into()))?;
    let mut encoded = EncodedSchema {
        n_nodes: n_leaves + 1,
        n_leaves,
        ..EncodedSchema::default()
    };

    let metadata = encode_metadata(schema.metadata())?;
    let root = |first_child_place| NodeRecord {
        ordinal: 0,
        nullable: false,
        keys_ordered: false,
        children: Some(ChildRange {
            n_children: n_leaves,
            first_leaf: 0,
            n_leaves,
            first_child_place,
        }),
        column: None,
        format: FORMAT_STRUCT,
        path: &[],
        metadata: &metadata,
    };
    // The place of the first child depends on the root's length, which does not depend on that place.
    let mut draft = Vec::new();
    root(if n_leaves == 0 { 0 } else { place.max(1 << 16) }).write_to(&mut draft)?;
    let first_child = place.saturating_add(draft.len() as u64);
    let root = root(if n_leaves == 0 { 0 } else { first_child });
    encoded.push(&root, place)?;
    encoded.root_bytes = encoded.records.len() as u32;

    for ((field, column), ordinal) in schema.fields().iter().zip(columns).zip(1..) {
        let name = field.name();
        let format = format_string(field.data_type()).map_err(|error| in_field(name, error))?;
        let metadata = encode_metadata(field.metadata())?;
        let path = encode_path([name])?;
        let record = NodeRecord {
            ordinal,
            nullable: field.is_nullable(),
            keys_ordered: field.dict_is_ordered().unwrap_or(false),
            children: None,
            column: Some(*column),
            format: &format,
            path: &path,
            metadata: &metadata,
        };
        encoded.push(&record, place)?;
    }
    Ok(encoded)
}

impl EncodedSchema {
    fn push(&mut self, record: &NodeRecord<'_>, records_place: u64) -> Result<()> {
        let at = self.records.len();
        record.write_to(&mut self.records)?;
        self.entries.push(BucketEntry::new(
            path_hash(record.path),
            records_place.saturating_add(at as u64),
            // Checked when it was written.
            (self.records.len() - at) as u32,
        ));
        Ok(())
    }
}

fn in_field(name: &str, error: Error) -> Error {
    match error {
        Error::Unsupported { what } => Error::Unsupported {
            what: format!("field {name:?}: {what}"),
        },
        Error::InvalidInput { what } => Error::invalid(format!("field {name:?}: {what}")),
        other => other,
    }
}

/// A schema and where its columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// All fields in order, with all metadata.
    pub schema: Schema,
    /// One per field; the column of field `i` has the ordinal `i + 1`.
    pub columns: Vec<ColumnRecord>,
}

/// Rebuilds the schema from all records; `bytes` lie at `place` ([`crate::Footer::records_range`]).
///
/// # Errors
/// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`] with places in the file, [`Error::Unsupported`] for types of a
/// later version, with the field's name.
pub fn read_schema(bytes: &[u8], place: u64, n_nodes: u32) -> Result<TableSchema> {
    let mut records = Records::new(bytes, n_nodes);
    let root = match records.next() {
        Some(root) => root.map_err(|error| error.at(place))?,
        None => return Err(Error::invalid("a schema has at least its root")),
    };
    let n_fields = n_nodes.saturating_sub(1);
    let first_child = place.saturating_add(records.position() as u64);
    let expected = ChildRange {
        n_children: n_fields,
        first_leaf: 0,
        n_leaves: n_fields,
        first_child_place: if n_fields == 0 { 0 } else { first_child },
    };
    if let Some(children) = root.children
        && children != expected
    {
        // A nested schema has more nodes than fields.
        if children.n_children < n_fields {
            return Err(Error::Unsupported {
                what: "a schema with nested fields".into(),
            });
        }
        return Err(Error::corrupt(
            "record.n_children",
            24,
            children.n_children,
            "the file's nodes, from the record after",
        )
        .at(place));
    }
    // Records take more than 24 bytes each, so their number is bounded by the bytes.
    let capacity = (n_fields as usize).min(bytes.len() / 24);
    let mut fields = Vec::with_capacity(capacity);
    let mut columns = Vec::with_capacity(capacity);
    loop {
        let at = place.saturating_add(records.position() as u64);
        let Some(record) = records.next() else { break };
        let record = record.map_err(|error| error.at(place))?;
        let (Some(column), None, 1) = (record.column, record.children, record.components().count())
        else {
            return Err(Error::corrupt("record.flags", 12, record.ordinal, "a flat field").at(at));
        };
        fields.push(
            record
                .to_field()
                .map_err(|error| in_field(record.name(), error))?,
        );
        columns.push(column);
    }
    Ok(TableSchema {
        schema: Schema::new_with_metadata(fields, root.metadata_map()),
        columns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bucket, Buckets, ColumnSource, unique_record};
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::Arc;

    const PLACE: u64 = 8192;

    fn check_type(data_type: DataType, format: &str) {
        assert_eq!(format_string(&data_type).as_deref(), Ok(format));
        assert_eq!(parse_type(format), Ok(data_type));
    }

    #[test]
    fn every_flat_type_has_one_spelling() {
        for (data_type, format) in FIXED {
            check_type(data_type.clone(), format);
            if data_type != DataType::Null {
                check_type(
                    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(data_type)),
                    &format!("DS,{format}"),
                );
            }
        }
        for (unit, letter) in UNITS {
            check_type(DataType::Duration(unit), &format!("tD{letter}"));
            check_type(DataType::Timestamp(unit, None), &format!("ts{letter}:"));
            check_type(
                DataType::Timestamp(unit, Some("a,b:c".into())),
                &format!("ts{letter}:a,b:c"),
            );
        }
        for (unit, letter) in INTERVALS {
            check_type(DataType::Interval(unit), &format!("ti{letter}"));
        }
        check_type(DataType::FixedSizeBinary(0), "w:0");
        check_type(DataType::FixedSizeBinary(1 << 28), "w:268435456");
        check_type(DataType::Decimal32(9, 9), "d:9,9,32");
        check_type(DataType::Decimal64(18, -18), "d:18,-18,64");
        check_type(DataType::Decimal128(38, 0), "d:38,0");
        check_type(DataType::Decimal256(76, 76), "d:76,76,256");
        check_type(
            DataType::Dictionary(
                Box::new(DataType::Int8),
                Box::new(DataType::Decimal64(10, 2)),
            ),
            "Dc,d:10,2,64",
        );
    }

    #[test]
    fn other_spellings_and_impossible_types_are_refused() {
        for format in [
            "",
            "x",
            "nn",
            "+s",
            "+l",
            "w:",
            "w:-1",
            "w:+1",
            "w:01",
            "w:268435457",
            "d:10",
            "d:10,",
            "d:0,0",
            "d:39,0",
            "d:10,2,128",
            "d:10,2,64,",
            "d:+10,2",
            "d:10,02",
            "d:10,-0",
            "d:9,10,32",
            "d:77,0,256",
            "tsx:",
            "ts:",
            "tss",
            "tDx",
            "tD",
            "ti",
            "tiMM",
            "ttx",
            "D",
            "Di",
            "Df,u",
            "Di,Di,u",
            "DDi,i,u",
            "Di,",
            "D,u",
            "Di,+s",
            "é",
            "tsé:",
        ] {
            let got = parse_type(format);
            assert!(
                matches!(got, Err(Error::Unsupported { .. })),
                "{format}: {got:?}"
            );
        }
        let item = Arc::new(Field::new("item", DataType::Int8, true));
        let error = format_string(&DataType::List(item))
            .unwrap_err()
            .to_string();
        assert!(error.contains("List"), "{error}");
        for impossible in [
            DataType::Time32(TimeUnit::Nanosecond),
            DataType::Time64(TimeUnit::Second),
            DataType::Decimal128(39, 0),
            DataType::Decimal32(0, 0),
            DataType::Decimal32(9, -128),
            DataType::FixedSizeBinary(-1),
            DataType::FixedSizeBinary(i32::MAX),
            DataType::Timestamp(TimeUnit::Second, Some("".into())),
            DataType::Dictionary(Box::new(DataType::Utf8), Box::new(DataType::Utf8)),
        ] {
            let got = format_string(&impossible);
            assert!(
                matches!(got, Err(Error::InvalidInput { .. })),
                "{impossible}"
            );
        }
    }

    fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn sample() -> Schema {
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        Schema::new_with_metadata(
            vec![
                Field::new("id", DataType::UInt64, false),
                Field::new("", DataType::Utf8View, true).with_metadata(metadata(&[("k", "v")])),
                Field::new("ordered", dictionary.clone(), true).with_dict_is_ordered(true),
                Field::new("id", dictionary, true),
                Field::new("a.b", DataType::Null, true),
            ],
            metadata(&[("z", "1"), ("a", "2")]),
        )
    }

    fn columns(n: usize) -> Vec<ColumnRecord> {
        (0..n)
            .map(|i| ColumnRecord {
                source: ColumnSource::Page {
                    meta: 0,
                    n_blocks: 1,
                    place: 192 + i as u64 * 48,
                    length: 48,
                    null_count: 0,
                    side_place: 0,
                    side_length: 0,
                },
                digest: [i as u8; 32],
            })
            .collect()
    }

    #[test]
    fn the_schema_comes_back_with_order_metadata_and_flags() {
        let schema = sample();
        let encoded = write_schema(&schema, &columns(5), PLACE).unwrap();
        assert_eq!((encoded.n_nodes, encoded.n_leaves), (6, 5));
        let table = read_schema(&encoded.records, PLACE, 6).unwrap();
        assert_eq!(table.schema, schema);
        assert_eq!(table.columns, columns(5));
        let ordered: Vec<_> = table
            .schema
            .fields()
            .iter()
            .map(|field| field.dict_is_ordered())
            .collect();
        assert_eq!(ordered, [None, None, Some(true), Some(false), None]);
        assert_eq!(write_schema(&schema, &columns(5), PLACE), Ok(encoded));
    }

    #[test]
    fn a_schema_without_fields_comes_back() {
        let schema = Schema::new_with_metadata(Vec::<Field>::new(), metadata(&[("a", "b")]));
        let encoded = write_schema(&schema, &[], PLACE).unwrap();
        let table = read_schema(&encoded.records, PLACE, 1).unwrap();
        assert_eq!(table.schema, schema);
        assert_eq!(encoded.entries.len(), 1);
    }

    #[test]
    fn fields_are_found_by_path_and_a_shared_path_is_ambiguous() {
        let encoded = write_schema(&sample(), &columns(5), PLACE).unwrap();
        let (log2, bytes) = Buckets::build(encoded.entries.clone()).unwrap();
        let bucket_place = PLACE + encoded.records.len() as u64;
        let end = bucket_place + bytes.len() as u64;
        let buckets = Buckets::new(log2, bucket_place, end).unwrap();
        let bucket = Bucket::parse(&bytes, &buckets, 0).unwrap();
        let find = |path: &[u8]| {
            let records = bucket.lookup(path_hash(path)).map(|entry| {
                let start = (entry.place - PLACE) as usize;
                let end = start + entry.record_bytes.unwrap() as usize;
                NodeRecord::parse(&encoded.records[start..end]).unwrap()
            });
            unique_record(path, records).map(|found| found.map(|record| record.ordinal))
        };
        let path = |name| encode_path([name]).unwrap();
        assert_eq!(find(&[]), Ok(Some(0)));
        assert_eq!(find(&path("")), Ok(Some(2)));
        assert_eq!(find(&path("a.b")), Ok(Some(5)));
        assert_eq!(find(&encode_path(["a", "b"]).unwrap()), Ok(None));
        assert_eq!(
            find(&path("id")),
            Err(Error::AmbiguousPath { path: "id".into() })
        );
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        let encoded = write_schema(&sample(), &columns(5), PLACE).unwrap();
        let bytes = encoded.records;
        for len in 0..bytes.len() {
            assert!(read_schema(&bytes[..len], PLACE, 6).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read_schema(&bad, PLACE, 6).is_err(), "bit {bit}");
        }
        for n_nodes in [0, 1, 5, 7, u32::MAX] {
            assert!(read_schema(&bytes, PLACE, n_nodes).is_err(), "{n_nodes}");
        }
        assert!(read_schema(&bytes, PLACE + 8, 6).is_err());
    }

    #[test]
    fn a_nested_field_is_named() {
        let item = Arc::new(Field::new("item", DataType::Int8, true));
        let schema = Schema::new(vec![Field::new("tags", DataType::List(item), true)]);
        let error = write_schema(&schema, &columns(1), PLACE)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"tags\"") && error.contains("List"),
            "{error}"
        );
        assert!(write_schema(&sample(), &columns(4), PLACE).is_err());
        assert!(write_schema(&sample(), &columns(5), PLACE + 1).is_err());
    }

    proptest! {
        #[test]
        fn no_string_makes_parsing_panic_and_what_parses_spells_the_same(
            format in "D?[a-zA-Z:]{0,3}[,:]?[-+0-9a-z]{0,4},?[-0-9]{0,3}(,(32|64|256|é))?"
        ) {
            if let Ok(parsed) = parse_type(&format) {
                prop_assert_eq!(format_string(&parsed), Ok(format));
            }
        }

        #[test]
        fn any_flat_schema_comes_back(
            fields in prop::collection::vec((".{0,8}", 0..FIXED.len(), any::<bool>()), 0..40),
            pairs in prop::collection::hash_map(".{0,6}", ".{0,9}", 0..4),
        ) {
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, i, nullable)| Field::new(name, FIXED[i].0.clone(), nullable))
                .collect();
            let n = fields.len();
            let schema = Schema::new_with_metadata(fields, pairs);
            let encoded = write_schema(&schema, &columns(n), PLACE).unwrap();
            let table = read_schema(&encoded.records, PLACE, n as u32 + 1).unwrap();
            prop_assert_eq!(table.schema, schema);
        }
    }
}
