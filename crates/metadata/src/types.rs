//! Types as Arrow's C data interface spells them: one format string per node of the schema.
//!
//! | type | format | children |
//! |---|---|---|
//! | Null, Boolean | `n`, `b` | |
//! | Int8 .. Int64, UInt8 .. UInt64 | `c s i l`, `C S I L` | |
//! | Float16, Float32, Float64 | `e`, `f`, `g` | |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | `z`, `Z`, `vz`, `w:` bytes | |
//! | Utf8, LargeUtf8, Utf8View | `u`, `U`, `vu` | |
//! | Decimal128; Decimal32, 64, 256 | `d:` precision `,` scale; then `,32` `,64` `,256` | |
//! | Date32, Date64 | `tdD`, `tdm` | |
//! | Time32, Time64 | `tts`, `ttm`; `ttu`, `ttn` | |
//! | Timestamp | `tss:` `tsm:` `tsu:` `tsn:`, then the time zone or nothing | |
//! | Duration | `tDs` `tDm` `tDu` `tDn` | |
//! | Interval | `tiM` (months), `tiD` (days, milliseconds), `tin` (months, days, nanoseconds) | |
//! | List, LargeList, ListView, LargeListView | `+l`, `+L`, `+vl`, `+vL` | the item |
//! | FixedSizeList | `+w:` items per list | the item |
//! | Struct | `+s` | any number, also none |
//! | Map | `+m` | the entries: a struct with two children, key and value |
//! | Union, dense or sparse | `+ud:`, `+us:`, then the type ids with `,` between: 0 ..= 127, each once, maybe none | one per type id, in that order |
//! | RunEndEncoded | `+r` | run ends (Int16, Int32 or Int64, not null), values |
//! | Dictionary | `D` key `,` value, which is no dictionary; the interface itself keeps the value's type elsewhere | those of the value |
//!
//! Each type has exactly one spelling; a reader refuses others.

use arrow_schema::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, IntervalUnit, TimeUnit, UnionFields,
    UnionMode,
};
use tarsia_codec::limits::FIXED_WIDTH_BYTES_MAX;

use crate::{Error, Result};

/// Format string of the root and of structs.
pub(crate) const FORMAT_STRUCT: &str = "+s";

/// Format string of maps.
pub(crate) const FORMAT_MAP: &str = "+m";

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

pub(crate) const FIXED: [(DataType, &str); 25] = [
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

/// The format string of a type; of a nested type without its children.
///
/// ```
/// use arrow_schema::DataType;
/// assert_eq!(tarsia_metadata::format_string(&DataType::Decimal64(10, -2)).unwrap(), "d:10,-2,64");
/// let lists = DataType::new_list(DataType::Int8, true);
/// assert_eq!(tarsia_metadata::format_string(&lists).unwrap(), "+l");
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for a dictionary of dictionaries, [`Error::InvalidInput`] for types that cannot be (a Time32
/// in nanoseconds, a precision of 0, an empty time zone).
pub fn format_string(data_type: &DataType) -> Result<String> {
    NodeType::of(data_type).spell()
}

/// The flat type that [`format_string`] spells like this.
///
/// # Errors
/// [`Error::Unsupported`] for what is no format string of a flat type, or of a dictionary of one; the error names it.
pub fn parse_type(format: &str) -> Result<DataType> {
    let parsed = NodeType::parse(format)?;
    match parsed.kind {
        Kind::Flat(value) => Ok(in_dictionary(parsed.key, value)),
        _ => Err(unknown(format)),
    }
}

/// The type that [`format_string`] spells like this, with these children. `is_map_sorted` says of a map, or of a
/// dictionary of maps, whether the keys of a map are sorted.
///
/// ```
/// use arrow_schema::{DataType, Field};
/// use tarsia_metadata::{build_type, children, format_string};
///
/// let lists = DataType::new_list(DataType::Int8, true);
/// let items = children(&lists).into_iter().cloned().collect();
/// assert_eq!(build_type(&format_string(&lists).unwrap(), items, false).unwrap(), lists);
/// assert!(build_type("+l", Vec::new(), false).is_err());
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for other format strings; [`Error::InvalidInput`] for children that the type cannot have.
pub fn build_type(format: &str, children: Vec<FieldRef>, is_map_sorted: bool) -> Result<DataType> {
    let ordered = KeysOrdered {
        own: is_map_sorted,
        value: is_map_sorted,
    };
    let built = NodeType::parse(format)?.build(children, ordered);
    built.map_err(|allowed| Error::invalid(format!("type {format:?}: expected {allowed}")))
}

/// A type without its children.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeType {
    /// The type of the keys, if this is a dictionary. Then `kind` is that of the values.
    key: Option<DataType>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Flat(DataType),
    Struct,
    List,
    LargeList,
    ListView,
    LargeListView,
    FixedSizeList(i32),
    Map,
    Union(UnionMode, Vec<i8>),
    RunEndEncoded,
}

/// The part of a type that a record stores besides format string and children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeysOrdered {
    /// Flag 8 of the record.
    pub own: bool,
    /// Flag 64 of the record.
    pub value: bool,
}

/// The children of a type; of a dictionary, those of its values.
pub fn children(data_type: &DataType) -> Vec<&FieldRef> {
    match value_type(data_type) {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item],
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field).collect(),
        DataType::RunEndEncoded(run_ends, values) => vec![run_ends, values],
        _ => Vec::new(),
    }
}

fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

fn in_dictionary(key: Option<DataType>, value: DataType) -> DataType {
    match key {
        Some(key) => DataType::Dictionary(Box::new(key), Box::new(value)),
        None => value,
    }
}

fn unknown(format: &str) -> Error {
    Error::Unsupported {
        what: format!("type with the format string {format:?}"),
    }
}

impl NodeType {
    pub(crate) fn of(data_type: &DataType) -> Self {
        let key = match data_type {
            DataType::Dictionary(key, _) => Some((**key).clone()),
            _ => None,
        };
        let kind = match value_type(data_type) {
            DataType::Struct(_) => Kind::Struct,
            DataType::List(_) => Kind::List,
            DataType::LargeList(_) => Kind::LargeList,
            DataType::ListView(_) => Kind::ListView,
            DataType::LargeListView(_) => Kind::LargeListView,
            DataType::FixedSizeList(_, n_items) => Kind::FixedSizeList(*n_items),
            DataType::Map(..) => Kind::Map,
            DataType::Union(fields, mode) => {
                Kind::Union(*mode, fields.iter().map(|(id, _)| id).collect())
            }
            DataType::RunEndEncoded(..) => Kind::RunEndEncoded,
            flat => Kind::Flat(flat.clone()),
        };
        Self { key, kind }
    }

    /// Reads a format string.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other strings.
    pub(crate) fn parse(format: &str) -> Result<Self> {
        let parsed = parse_node(format).filter(|parsed| {
            // Numbers can be spelled in many ways ("+1", "01"), and some types do not exist. So a format string is
            // right if it is what a writer would write.
            parsed.spell().is_ok_and(|spelled| spelled == format)
        });
        parsed.ok_or_else(|| unknown(format))
    }

    /// The format string.
    pub(crate) fn spell(&self) -> Result<String> {
        let value = match &self.kind {
            Kind::Flat(flat) => spell_flat(flat)?,
            Kind::Struct => FORMAT_STRUCT.to_owned(),
            Kind::List => "+l".to_owned(),
            Kind::LargeList => "+L".to_owned(),
            Kind::ListView => "+vl".to_owned(),
            Kind::LargeListView => "+vL".to_owned(),
            Kind::FixedSizeList(n_items) if *n_items < 0 => {
                return Err(Error::invalid(format!(
                    "a fixed-size list of {n_items} items"
                )));
            }
            Kind::FixedSizeList(n_items) => format!("+w:{n_items}"),
            Kind::Map => FORMAT_MAP.to_owned(),
            Kind::Union(mode, ids) => spell_union(*mode, ids)?,
            Kind::RunEndEncoded => "+r".to_owned(),
        };
        let Some(key) = &self.key else {
            return Ok(value);
        };
        if !key.is_dictionary_key_type() {
            return Err(Error::invalid(format!(
                "a dictionary with keys of type {key}: keys are integers"
            )));
        }
        Ok(format!("D{},{value}", spell_flat(key)?))
    }

    /// Whether a node of this type with this many children stores a column itself.
    pub(crate) fn has_column(&self, n_children: usize) -> bool {
        match self.kind {
            Kind::Flat(_) | Kind::Union(..) => true,
            // A struct without children has a column for its validity.
            Kind::Struct => n_children == 0,
            _ => false,
        }
    }

    /// Whether the child at `i` holds run ends. It has no column, since values are stored as if not run-end encoded.
    pub(crate) fn is_run_ends(&self, i: usize) -> bool {
        self.kind == Kind::RunEndEncoded && i == 0
    }

    /// Checks that the type can have these children. The error says what is allowed.
    pub(crate) fn check_children(
        &self,
        children: &[impl AsRef<Field>],
    ) -> Result<(), &'static str> {
        let good = |good, allowed| if good { Ok(()) } else { Err(allowed) };
        match (&self.kind, children) {
            (Kind::Flat(_), _) => good(children.is_empty(), "no children of a flat type"),
            (Kind::Struct, _) => Ok(()),
            (Kind::Map, [entries]) => {
                let pairs = |of: &DataType| matches!(of, DataType::Struct(pair) if pair.len() == 2);
                good(
                    pairs(entries.as_ref().data_type()),
                    "entries of a map: a struct with two children",
                )
            }
            (Kind::Map, _) => good(false, "one child of a map"),
            (Kind::Union(_, ids), _) => good(
                children.len() == ids.len(),
                "as many children of a union as type ids",
            ),
            (Kind::RunEndEncoded, [run_ends, _values]) => {
                let run_ends = run_ends.as_ref();
                good(
                    run_ends.data_type().is_run_ends_type() && !run_ends.is_nullable(),
                    "run ends: Int16, Int32, Int64, not null",
                )
            }
            (Kind::RunEndEncoded, _) => good(false, "two children of a run-end encoded type"),
            _ => good(children.len() == 1, "one child of a list"),
        }
    }

    /// The type with these children; a flat type has none.
    ///
    /// # Errors
    /// The text of [`NodeType::check_children`].
    pub(crate) fn build(
        self,
        children: Vec<FieldRef>,
        ordered: KeysOrdered,
    ) -> Result<DataType, &'static str> {
        self.check_children(&children)?;
        let is_map_sorted = match self.key {
            Some(_) => ordered.value,
            None => ordered.own,
        };
        let value = match (self.kind, <[FieldRef; 1]>::try_from(children)) {
            (Kind::Flat(flat), _) => flat,
            (Kind::List, Ok([item])) => DataType::List(item),
            (Kind::LargeList, Ok([item])) => DataType::LargeList(item),
            (Kind::ListView, Ok([item])) => DataType::ListView(item),
            (Kind::LargeListView, Ok([item])) => DataType::LargeListView(item),
            (Kind::FixedSizeList(n_items), Ok([item])) => DataType::FixedSizeList(item, n_items),
            (Kind::Map, Ok([entries])) => DataType::Map(entries, is_map_sorted),
            (Kind::Struct, Ok([only])) => DataType::Struct([only].into_iter().collect()),
            (Kind::Struct, Err(fields)) => DataType::Struct(fields.into()),
            (Kind::Union(mode, ids), fields) => {
                let fields = fields.map_or_else(|fields| fields, Vec::from);
                let fields = UnionFields::try_new(ids, fields)
                    .map_err(|_| "type ids of a union: each once, 0 to 127")?;
                DataType::Union(fields, mode)
            }
            (Kind::RunEndEncoded, Err(children)) => match <[FieldRef; 2]>::try_from(children) {
                Ok([run_ends, values]) => DataType::RunEndEncoded(run_ends, values),
                Err(_) => return Err("two children of a run-end encoded type"),
            },
            // Refused above.
            _ => return Err("one child"),
        };
        Ok(in_dictionary(self.key, value))
    }
}

fn spell_union(mode: UnionMode, ids: &[i8]) -> Result<String> {
    let mut seen = 0_u128;
    for id in ids {
        let bit = u32::try_from(*id)
            .ok()
            .and_then(|id| 1_u128.checked_shl(id));
        match bit {
            Some(bit) if seen & bit == 0 => seen |= bit,
            _ => {
                return Err(Error::invalid(format!(
                    "type id {id} of a union: each once, 0 to 127"
                )));
            }
        }
    }
    let letter = match mode {
        UnionMode::Dense => 'd',
        UnionMode::Sparse => 's',
    };
    let ids: Vec<_> = ids.iter().map(i8::to_string).collect();
    Ok(format!("+u{letter}:{}", ids.join(",")))
}

fn spell_flat(data_type: &DataType) -> Result<String> {
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
        DataType::Time32(_) | DataType::Time64(_) => {
            return Err(Error::invalid(format!("type {data_type}: unit")));
        }
        // Other nested types have a variant of `Kind` and do not come here.
        nested => {
            return Err(Error::Unsupported {
                what: format!("a dictionary whose values are {nested}"),
            });
        }
    })
}

fn parse_node(format: &str) -> Option<NodeType> {
    let (key, value) = match format.strip_prefix('D') {
        None => (None, format),
        Some(dictionary) => {
            let (key, value) = dictionary.split_once(',')?;
            (Some(parse_flat(key)?), value)
        }
    };
    let kind = match value {
        FORMAT_STRUCT => Kind::Struct,
        "+l" => Kind::List,
        "+L" => Kind::LargeList,
        "+vl" => Kind::ListView,
        "+vL" => Kind::LargeListView,
        FORMAT_MAP => Kind::Map,
        "+r" => Kind::RunEndEncoded,
        _ => {
            if let Some(n_items) = value.strip_prefix("+w:") {
                Kind::FixedSizeList(n_items.parse().ok()?)
            } else if let Some(ids) = value.strip_prefix("+ud:") {
                Kind::Union(UnionMode::Dense, parse_ids(ids)?)
            } else if let Some(ids) = value.strip_prefix("+us:") {
                Kind::Union(UnionMode::Sparse, parse_ids(ids)?)
            } else {
                Kind::Flat(parse_flat(value)?)
            }
        }
    };
    Some(NodeType { key, kind })
}

fn parse_ids(ids: &str) -> Option<Vec<i8>> {
    if ids.is_empty() {
        return Some(Vec::new());
    }
    ids.split(',').map(|id| id.parse().ok()).collect()
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
    None
}

/// Nested types, for tests.
#[cfg(test)]
pub(crate) mod made_up {
    use std::sync::Arc;

    use arrow_schema::Fields;

    use super::*;

    /// Types with their format strings and their numbers of columns.
    /// Each nested type with its format string and its number of columns.
    pub(crate) fn nested() -> Vec<(DataType, &'static str, u32)> {
        let byte = || item(DataType::Int8);
        let runs = run_ends(DataType::Int64);
        let pair = || DataType::Struct([byte(), byte()].into_iter().collect());
        vec![
            (DataType::List(byte()), "+l", 1),
            (DataType::LargeList(item(pair())), "+L", 2),
            (DataType::ListView(byte()), "+vl", 1),
            (DataType::LargeListView(byte()), "+vL", 1),
            (DataType::FixedSizeList(byte(), 0), "+w:0", 1),
            (
                DataType::FixedSizeList(item(pair()), i32::MAX),
                "+w:2147483647",
                2,
            ),
            (DataType::Struct(Fields::empty()), "+s", 1),
            (
                DataType::List(item(DataType::Struct(Fields::empty()))),
                "+l",
                1,
            ),
            (DataType::Struct([byte()].into_iter().collect()), "+s", 1),
            (pair(), "+s", 2),
            (DataType::Map(entries(2), false), "+m", 2),
            (DataType::Map(entries(2), true), "+m", 2),
            (union(vec![], UnionMode::Dense), "+ud:", 1),
            (union(vec![], UnionMode::Sparse), "+us:", 1),
            (union(vec![5], UnionMode::Sparse), "+us:5", 2),
            (union(vec![127, 0, 5], UnionMode::Dense), "+ud:127,0,5", 4),
            (DataType::RunEndEncoded(runs.clone(), byte()), "+r", 1),
            (
                DataType::RunEndEncoded(runs, item(union(vec![1], UnionMode::Dense))),
                "+r",
                2,
            ),
        ]
    }

    pub(crate) fn item(data_type: DataType) -> FieldRef {
        Arc::new(Field::new("item", data_type, true))
    }

    pub(crate) fn dictionary(value: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(value))
    }

    pub(crate) fn union(ids: Vec<i8>, mode: UnionMode) -> DataType {
        let fields = ids.iter().map(|_| item(DataType::Int8)).collect::<Vec<_>>();
        DataType::Union(UnionFields::try_new(ids, fields).unwrap(), mode)
    }

    pub(crate) fn entries(n: usize) -> FieldRef {
        item(DataType::Struct(
            (0..n).map(|_| item(DataType::Utf8)).collect(),
        ))
    }

    pub(crate) fn run_ends(of: DataType) -> FieldRef {
        Arc::new(Field::new("run_ends", of, false))
    }
}

#[cfg(test)]
mod tests {
    use super::made_up::{dictionary, entries, item, nested, run_ends};
    use super::*;
    use arrow_schema::Fields;
    use proptest::prelude::*;

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
            "+",
            "+x",
            "+ss",
            "+v",
            "+w",
            "+w:",
            "+w:-1",
            "+w:01",
            "+w:+1",
            "+w:2147483648",
            "+u",
            "+ud",
            "+ux:0",
            "+ud:,",
            "+ud:0,",
            "+ud:0,0",
            "+ud:-1",
            "+ud:128",
            "+ud:00",
            "+us:0 ,1",
            "D+s,i",
            "DDi,i,+s",
            "Di,Di,+s",
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
            "é",
            "tsé:",
        ] {
            let got = NodeType::parse(format);
            assert!(
                matches!(got, Err(Error::Unsupported { .. })),
                "{format}: {got:?}"
            );
            assert!(parse_type(format).is_err(), "{format}");
        }
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
            DataType::Dictionary(
                Box::new(DataType::Struct(Fields::empty())),
                Box::new(DataType::Utf8),
            ),
            DataType::FixedSizeList(item(DataType::Int8), -1),
        ] {
            let got = format_string(&impossible);
            assert!(
                matches!(got, Err(Error::InvalidInput { .. })),
                "{impossible}"
            );
        }
    }

    #[test]
    fn every_nested_type_has_one_spelling_and_its_children() {
        for (data_type, format, _) in nested() {
            let sorted = matches!(data_type, DataType::Map(_, true));
            let inner = (data_type.clone(), format.to_owned(), sorted, false);
            let outer = (dictionary(data_type), format!("Di,{format}"), true, sorted);
            for (data_type, format, own, value) in [inner, outer] {
                assert_eq!(format_string(&data_type).as_ref(), Ok(&format));
                let parsed = NodeType::parse(&format).unwrap();
                assert_eq!(parsed, NodeType::of(&data_type));
                let children: Vec<_> = children(&data_type).into_iter().cloned().collect();
                let built = parsed.build(children, KeysOrdered { own, value });
                assert_eq!(built, Ok(data_type.clone()));
                assert!(matches!(
                    parse_type(&format),
                    Err(Error::Unsupported { .. })
                ));
            }
        }
        let twice = dictionary(dictionary(DataType::Utf8));
        assert!(matches!(
            format_string(&twice),
            Err(Error::Unsupported { .. })
        ));
    }

    #[test]
    fn children_that_a_type_cannot_have_are_refused() {
        let byte = || item(DataType::Int8);
        let nullable_ends = item(DataType::Int32);
        for (format, children) in [
            ("c", vec![byte()]),
            ("Di,u", vec![byte()]),
            ("+l", vec![]),
            ("+vL", vec![byte(), byte()]),
            ("+w:3", vec![]),
            ("+m", vec![]),
            ("+m", vec![byte()]),
            ("+m", vec![entries(1)]),
            ("+m", vec![entries(3)]),
            ("+m", vec![entries(2), entries(2)]),
            ("Di,+m", vec![entries(3)]),
            ("+ud:", vec![byte()]),
            ("+us:0,1", vec![byte()]),
            ("+us:0,1", vec![byte(), byte(), byte()]),
            ("+r", vec![run_ends(DataType::Int16)]),
            ("+r", vec![byte(), byte()]),
            ("+r", vec![nullable_ends, byte()]),
            ("+r", vec![run_ends(DataType::UInt32), byte()]),
            ("+r", vec![run_ends(DataType::Int16), byte(), byte()]),
        ] {
            let n_children = children.len();
            let ordered = KeysOrdered {
                own: false,
                value: false,
            };
            let got = NodeType::parse(format).unwrap().build(children, ordered);
            assert!(got.is_err(), "{format} with {n_children}: {got:?}");
        }
    }

    proptest! {
        #[test]
        fn no_string_makes_parsing_panic_and_what_parses_spells_the_same(
            format in "D?[a-zA-Z:]{0,3}[,:]?(\\+(ud|us|w):)?[-+0-9a-z]{0,4},?[-0-9]{0,3}(,(32|64|256|é))?"
        ) {
            if let Ok(parsed) = NodeType::parse(&format) {
                prop_assert_eq!(parsed.spell(), Ok(format.clone()));
            }
            if let Ok(parsed) = parse_type(&format) {
                prop_assert_eq!(format_string(&parsed), Ok(format));
            }
        }
    }
}
