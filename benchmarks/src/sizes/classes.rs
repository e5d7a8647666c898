//! Kinds of columns, and their sizes as plain Arrow.

use std::collections::HashSet;
use std::fmt;

use anyhow::{Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde::Serialize;

/// Classes of columns. The order is that of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    Integer,
    DateTime,
    Boolean,
    LowCardinalityString,
    OtherString,
    Float,
    Decimal,
    Binary,
    Null,
}

impl Class {
    pub(crate) const ALL: [Self; 9] = [
        Self::Integer,
        Self::DateTime,
        Self::Boolean,
        Self::LowCardinalityString,
        Self::OtherString,
        Self::Float,
        Self::Decimal,
        Self::Binary,
        Self::Null,
    ];

    /// The classes for which Tarsia has to be no larger than Vortex.
    pub(crate) fn is_criterion(self) -> bool {
        matches!(
            self,
            Self::Integer | Self::DateTime | Self::Boolean | Self::LowCardinalityString
        )
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Integer => "integer",
            Self::DateTime => "date/time",
            Self::Boolean => "boolean",
            Self::LowCardinalityString => "low-cardinality string",
            Self::OtherString => "other string",
            Self::Float => "float",
            Self::Decimal => "decimal",
            Self::Binary => "binary",
            Self::Null => "null",
        })
    }
}

/// Distinct values up to which a string column may count as one of low cardinality, besides the
/// share of its rows.
const DISTINCT_VALUES_MAX: usize = 65_536;

/// The class of a column and, for strings, the number of its distinct values without null.
///
/// A string column has low cardinality if its distinct values are at most a tenth of its rows, or at
/// most 65,536 and half of its rows.
pub(crate) fn classify(array: &dyn Array) -> Result<(Class, Option<usize>)> {
    Ok(match array.data_type() {
        DataType::Null => (Class::Null, None),
        DataType::Boolean => (Class::Boolean, None),
        t if t.is_integer() => (Class::Integer, None),
        t if t.is_temporal() => (Class::DateTime, None),
        t if t.is_floating() => (Class::Float, None),
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => (Class::Decimal, None),
        DataType::Utf8 => string_class(array.as_string::<i32>().iter(), array.len()),
        DataType::LargeUtf8 => string_class(array.as_string::<i64>().iter(), array.len()),
        DataType::Utf8View => string_class(array.as_string_view().iter(), array.len()),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => (Class::Binary, None),
        other => bail!("no class for a column of type {other}"),
    })
}

fn string_class<'a>(
    values: impl Iterator<Item = Option<&'a str>>,
    n_rows: usize,
) -> (Class, Option<usize>) {
    let n_distinct = values.flatten().collect::<HashSet<_>>().len();
    let low = n_distinct <= n_rows / 10
        || (n_distinct <= DISTINCT_VALUES_MAX && n_distinct <= n_rows / 2);
    let class = if low {
        Class::LowCardinalityString
    } else {
        Class::OtherString
    };
    (class, Some(n_distinct))
}

/// Bytes of the column as one plain Arrow array: values, offsets, and a validity bitmap if there are
/// nulls. Padding is not counted, and neither are bytes of values under nulls in strings.
pub(crate) fn plain_arrow_bytes(array: &ArrayRef) -> Result<u64> {
    let n = array.len();
    let validity = if array.null_count() > 0 {
        n.div_ceil(8)
    } else {
        0
    };
    let offsets_32 = 4 * (n + 1);
    let offsets_64 = 8 * (n + 1);
    let values = match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => n.div_ceil(8),
        DataType::FixedSizeBinary(width) => n * usize::try_from(*width)?,
        DataType::Utf8 => offsets_32 + lengths(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => offsets_64 + lengths(array.as_string::<i64>().iter()),
        DataType::Utf8View => offsets_32 + lengths(array.as_string_view().iter()),
        DataType::Binary => offsets_32 + lengths(array.as_binary::<i32>().iter()),
        DataType::LargeBinary => offsets_64 + lengths(array.as_binary::<i64>().iter()),
        DataType::BinaryView => offsets_32 + lengths(array.as_binary_view().iter()),
        other => match other.primitive_width() {
            Some(width) => n * width,
            None => bail!("no plain size for a column of type {other}"),
        },
    };
    Ok((values + validity) as u64)
}

fn lengths<V: AsRef<[u8]>>(values: impl Iterator<Item = Option<V>>) -> usize {
    values.flatten().map(|v| v.as_ref().len()).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Date32Array, Int16Array, StringArray};

    use super::*;

    #[track_caller]
    fn check(array: ArrayRef, class: Class, n_distinct: Option<usize>, bytes: u64) {
        assert_eq!(classify(&array).unwrap(), (class, n_distinct));
        assert_eq!(plain_arrow_bytes(&array).unwrap(), bytes);
    }

    #[test]
    fn classes_and_plain_sizes() {
        check(
            Arc::new(Int16Array::from(vec![1; 9])),
            Class::Integer,
            None,
            18,
        );
        check(
            Arc::new(Int16Array::from(vec![Some(1), None])),
            Class::Integer,
            None,
            4 + 1,
        );
        check(
            Arc::new(Date32Array::from(vec![1])),
            Class::DateTime,
            None,
            4,
        );
        check(
            Arc::new(BooleanArray::from(vec![true; 9])),
            Class::Boolean,
            None,
            2,
        );
        check(
            Arc::new(StringArray::from(vec!["ab", "ab"])),
            Class::LowCardinalityString,
            Some(1),
            12 + 4,
        );
        check(
            Arc::new(StringArray::from(vec![Some("ab"), Some("c"), None])),
            Class::OtherString,
            Some(2),
            16 + 3 + 1,
        );
    }
}
