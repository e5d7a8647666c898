//! The types that the user asks for, instead of what values suggest.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Fields, Schema, TimeUnit};

use crate::Error;

/// The names of all types, for help and messages.
pub const TYPE_NAMES: &str = "bool, int8 to int64, uint8 to uint64, float32, float64, decimal(PRECISION,SCALE), date32, \
    timestamp-s, timestamp-ms, timestamp-us, timestamp-ns, the same with -utc, utf8";

/// The types of columns by their names. A field inside JSON objects is named by its path: `user.age`; the name of a
/// list is that of its items. A name counts for each column and field that has it as its path, so that `a.b` means a
/// column `a.b` as well as the field `b` of objects `a`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Types {
    by_name: BTreeMap<String, DataType>,
    /// The names in the order in which they were given.
    names: Vec<String>,
}

impl Types {
    /// The types of these columns.
    ///
    /// # Errors
    /// [`ErrorKind::Request`](crate::ErrorKind::Request) for a column that is named twice.
    pub fn new<'a>(
        types: impl IntoIterator<Item = (&'a str, &'a DataType)>,
    ) -> Result<Types, Error> {
        let mut all = Types::default();
        for (column, data_type) in types {
            let before = all.by_name.insert(column.to_owned(), data_type.clone());
            if before.is_some() {
                let what = format!("--types: column `{column}` is there twice");
                return Err(Error::request(what));
            }
            all.names.push(column.to_owned());
        }
        Ok(all)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names in the order in which they were given.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The type that is wanted for the values at a path.
    pub(super) fn get(&self, path: &str) -> Option<&DataType> {
        self.by_name.get(path)
    }

    /// Whether every name is that of a column, or of a field inside one.
    ///
    /// # Errors
    /// Names the first that is not.
    pub(super) fn check_names(&self, schema: &Schema) -> Result<(), Error> {
        if let Some(name) = self.by_name.keys().find(|name| !has(schema.fields(), name)) {
            return Err(Error::request(format!("--types: no column `{name}`")));
        }
        for field in schema.fields() {
            self.check_objects(field.name(), field.data_type())?;
        }
        Ok(())
    }

    /// Checks that no type is for objects, which have those of their fields.
    fn check_objects(&self, path: &str, data_type: &DataType) -> Result<(), Error> {
        match data_type {
            DataType::Struct(_) if self.by_name.contains_key(path) => Err(Error::request(format!(
                "--types: column `{path}` holds objects; name a field of them"
            ))),
            DataType::Struct(fields) => fields.iter().try_for_each(|field| {
                self.check_objects(&format!("{path}.{}", field.name()), field.data_type())
            }),
            DataType::List(item) => self.check_objects(path, item.data_type()),
            _ => Ok(()),
        }
    }
}

/// Whether a field, or one inside it, has this path. Names may contain dots.
fn has(fields: &Fields, path: &str) -> bool {
    fields.iter().any(|field| {
        let rest = path.strip_prefix(field.name().as_str());
        rest.is_some_and(|rest| match rest.strip_prefix('.') {
            None => rest.is_empty(),
            Some(inner) => has_inside(field.data_type(), inner),
        })
    })
}

fn has_inside(data_type: &DataType, path: &str) -> bool {
    match data_type {
        DataType::Struct(fields) => has(fields, path),
        DataType::List(item) => has_inside(item.data_type(), path),
        _ => false,
    }
}

/// The type that has this name, in any case.
///
/// # Errors
/// There is none; the text says which there are.
///
/// ```
/// use arrow_schema::DataType;
/// use tarsia_convert::source::parse_type;
/// assert_eq!(parse_type("decimal(10,2)"), Ok(DataType::Decimal128(10, 2)));
/// assert!(parse_type("int128").unwrap_err().contains("no type `int128`"));
/// ```
pub fn parse_type(name: &str) -> Result<DataType, String> {
    let asked = name;
    let unknown = || format!("no type `{asked}`; there are {TYPE_NAMES}");
    let timestamp = |unit: &str, zone: Option<&str>| {
        let unit = match unit {
            "s" => TimeUnit::Second,
            "ms" => TimeUnit::Millisecond,
            "us" => TimeUnit::Microsecond,
            "ns" => TimeUnit::Nanosecond,
            _ => return Err(unknown()),
        };
        Ok(DataType::Timestamp(unit, zone.map(Into::into)))
    };
    let name = name.to_ascii_lowercase();
    Ok(match name.as_str() {
        "bool" | "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "date32" => DataType::Date32,
        "utf8" => DataType::Utf8,
        _ => {
            if let Some(unit) = name.strip_prefix("timestamp-") {
                return match unit.strip_suffix("-utc") {
                    Some(unit) => timestamp(unit, Some("UTC")),
                    None => timestamp(unit, None),
                };
            }
            decimal(&name).ok_or_else(unknown)?
        }
    })
}

/// `decimal(PRECISION,SCALE)`, with 1 to 38 digits, `SCALE` of them after the point.
fn decimal(name: &str) -> Option<DataType> {
    let digits = name.strip_prefix("decimal(")?.strip_suffix(')')?;
    let (precision, scale) = digits.split_once(',')?;
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: u8 = scale.trim().parse().ok()?;
    let is_held = (1..=38).contains(&precision) && scale <= precision;
    is_held.then(|| DataType::Decimal128(precision, scale.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        assert_eq!(parse_type("timestamp-ms-utc"), Ok(utc));
        let local = DataType::Timestamp(TimeUnit::Nanosecond, None);
        assert_eq!(parse_type("timestamp-ns"), Ok(local));
        assert_eq!(
            parse_type("decimal(38, 0)"),
            Ok(DataType::Decimal128(38, 0))
        );
        assert_eq!(parse_type("Int64"), Ok(DataType::Int64));
        assert_eq!(parse_type("Boolean"), Ok(DataType::Boolean));
        for wrong in [
            "",
            "Int65",
            "timestamp",
            "timestamp-us-",
            "decimal",
            "decimal(39,0)",
            "decimal(2,3)",
        ] {
            let what = format!("no type `{wrong}`; there are bool, ");
            assert!(parse_type(wrong).unwrap_err().starts_with(&what), "{wrong}");
        }
    }
}
