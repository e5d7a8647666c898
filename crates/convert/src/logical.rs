//! Logical types of Parquet that no Arrow type has, as metadata of Arrow fields: read from one and written to the
//! other.
//!
//! | Parquet | metadata of the field |
//! |---|---|
//! | UUID, JSON, VARIANT | `ARROW:extension:name`: `arrow.uuid`, `arrow.json`, `arrow.parquet.variant` |
//! | VARIANT, ENUM, BSON, GEOMETRY, GEOGRAPHY | `PARQUET:logical_type`, with what they are refined by |
//! | TIME in UTC | `adjusted_to_utc` |

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field};
use parquet::basic::{
    ConvertedType, EdgeInterpolationAlgorithm, GeographyType, GeometryType, LogicalType,
    Type as Physical, VariantType,
};
use parquet::schema::types::Type;

/// The key of a logical type that Arrow has no name for.
pub(crate) const LOGICAL_TYPE_KEY: &str = "PARQUET:logical_type";

/// The key of times of day that are in UTC; the `parquet` crate writes by it.
pub(crate) const IS_UTC_KEY: &str = "adjusted_to_utc";

const UUID: &str = "arrow.uuid";
const JSON: &str = "arrow.json";
const VARIANT: &str = "arrow.parquet.variant";

const ALGORITHMS: [(&str, EdgeInterpolationAlgorithm); 5] = [
    ("SPHERICAL", EdgeInterpolationAlgorithm::SPHERICAL),
    ("VINCENTY", EdgeInterpolationAlgorithm::VINCENTY),
    ("THOMAS", EdgeInterpolationAlgorithm::THOMAS),
    ("ANDOYER", EdgeInterpolationAlgorithm::ANDOYER),
    ("KARNEY", EdgeInterpolationAlgorithm::KARNEY),
];

/// The name of Arrow's extension type for a type of Parquet.
pub(crate) fn extension_of(of: &Type) -> Option<&'static str> {
    let info = of.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Uuid), _) => Some(UUID),
        (Some(LogicalType::Json), _) | (None, ConvertedType::JSON) => Some(JSON),
        (Some(LogicalType::Variant(_)), _) => Some(VARIANT),
        _ => None,
    }
}

/// A logical type of Parquet as text, where Arrow has neither a type nor all of an extension type for it.
pub(crate) fn text_of(of: &Type) -> Option<String> {
    let info = of.get_basic_info();
    let with = |name: &str, inner: Option<&str>| match inner {
        Some(inner) => format!("{name}({inner})"),
        None => name.to_owned(),
    };
    Some(match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Enum), _) | (None, ConvertedType::ENUM) => "ENUM".to_owned(),
        (Some(LogicalType::Bson), _) | (None, ConvertedType::BSON) => "BSON".to_owned(),
        (Some(LogicalType::Variant(of)), _) => {
            let version = of.specification_version.map(|version| version.to_string());
            with("VARIANT", version.as_deref())
        }
        (Some(LogicalType::Geometry(of)), _) => with("GEOMETRY", of.crs.as_deref()),
        (Some(LogicalType::Geography(of)), _) => {
            let name = |of: &EdgeInterpolationAlgorithm| {
                let mut known = ALGORITHMS.iter();
                known.find(|(_, known)| known == of).map(|(name, _)| *name)
            };
            let algorithm = of.algorithm.as_ref().and_then(name);
            match (algorithm, of.crs.as_deref()) {
                (None, None) => "GEOGRAPHY".to_owned(),
                (algorithm, crs) => {
                    let (algorithm, crs) = (algorithm.unwrap_or(""), crs.unwrap_or(""));
                    format!("GEOGRAPHY({algorithm},{crs})")
                }
            }
        }
        _ => return None,
    })
}

/// Whether a type is one of times of day in UTC. The older annotations mean that.
pub(crate) fn is_utc_time(of: &Type) -> bool {
    let info = of.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Time(time)), _) => time.is_adjusted_to_u_t_c,
        (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => true,
        _ => false,
    }
}

/// The logical type to write for a field, by its metadata, where its type can have that. `stored` is the type that it
/// is written as.
pub(crate) fn logical_type(field: &Field, stored: &Type) -> Option<LogicalType> {
    let extension = field
        .metadata()
        .get(EXTENSION_TYPE_NAME_KEY)
        .map(String::as_str);
    let by_text = field
        .metadata()
        .get(LOGICAL_TYPE_KEY)
        .and_then(|text| parsed(text));
    if stored.is_group() {
        return match by_text {
            Some(LogicalType::Variant(of)) => is_variant(field).then_some(LogicalType::Variant(of)),
            _ if extension == Some(VARIANT) && is_variant(field) => {
                Some(LogicalType::Variant(VariantType {
                    specification_version: Some(1),
                }))
            }
            _ => None,
        };
    }
    let is_text = matches!(
        stored.get_basic_info().logical_type_ref(),
        Some(LogicalType::String | LogicalType::Json)
    );
    match (stored.get_physical_type(), extension, by_text) {
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(UUID), _) if length(stored) == Some(16) => {
            Some(LogicalType::Uuid)
        }
        (Physical::BYTE_ARRAY, Some(JSON), _) if is_text => Some(LogicalType::Json),
        (Physical::BYTE_ARRAY, _, Some(LogicalType::Variant(_))) => None,
        (Physical::BYTE_ARRAY, _, Some(of)) if !is_text || of == LogicalType::Enum => Some(of),
        _ => None,
    }
}

fn length(of: &Type) -> Option<i32> {
    match of {
        Type::PrimitiveType { type_length, .. } => Some(*type_length),
        Type::GroupType { .. } => None,
    }
}

/// Whether a field has the shape of a variant, which has metadata and a value, or a part of it in columns.
fn is_variant(field: &Field) -> bool {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().any(|field| field.name() == "metadata"),
        _ => false,
    }
}

fn parsed(text: &str) -> Option<LogicalType> {
    let (name, inner) = match text.split_once('(') {
        Some((name, inner)) => (name, Some(inner.strip_suffix(')')?)),
        None => (text, None),
    };
    Some(match (name, inner) {
        ("ENUM", None) => LogicalType::Enum,
        ("BSON", None) => LogicalType::Bson,
        ("VARIANT", version) => LogicalType::Variant(VariantType {
            specification_version: match version {
                Some(version) => Some(version.parse().ok()?),
                None => None,
            },
        }),
        ("GEOMETRY", crs) => LogicalType::Geometry(GeometryType {
            crs: crs.map(str::to_owned),
        }),
        ("GEOGRAPHY", None) => LogicalType::Geography(GeographyType {
            crs: None,
            algorithm: None,
        }),
        ("GEOGRAPHY", Some(inner)) => {
            let (algorithm, crs) = inner.split_once(',')?;
            let mut known = ALGORITHMS.into_iter();
            LogicalType::Geography(GeographyType {
                crs: (!crs.is_empty()).then(|| crs.to_owned()),
                algorithm: known.find(|(name, _)| *name == algorithm).map(|(_, of)| of),
            })
        }
        _ => return None,
    })
}
