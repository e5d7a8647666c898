//! Partitions: their values for rows, and what they say of the rows of a file.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};
use tarsia_filter::ColumnBounds;

use crate::calendar::{first_day, year_and_month};
use crate::entry::{PartitionField, PartitionSpec, Transform};
use crate::error::{Error, Result};
use crate::ids::FieldId;
use crate::key::{KeyType, KeyValue, array_of};
use crate::limits::PARTITION_BYTES_MAX;
use crate::schema::TableSchema;

/// Values of the transforms of time: 32-bit numbers.
const UNITS: KeyType = KeyType::Integer {
    bytes: 4,
    is_signed: true,
};

/// A partition spec with the types of its fields.
#[derive(Debug, Clone)]
pub struct Partitioning {
    spec: PartitionSpec,
    fields: Vec<Typed>,
}

#[derive(Debug, Clone)]
struct Typed {
    field: PartitionField,
    name: String,
    data_type: DataType,
    source: KeyType,
    /// The type of the partition's values.
    result: KeyType,
}

impl Partitioning {
    /// A spec for tables of a schema.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a field that is not there, and for a transform that its type does not have.
    pub fn new(spec: &PartitionSpec, schema: &TableSchema) -> Result<Self> {
        spec.check()?;
        let fields = spec.fields.iter().map(|field| typed(*field, schema));
        Ok(Self {
            spec: spec.clone(),
            fields: fields.collect::<Result<_>>()?,
        })
    }

    /// The spec.
    pub fn spec(&self) -> &PartitionSpec {
        &self.spec
    }

    /// Spreads rows. `columns` are those of the spec's fields, in their order. Returns the rows of each partition that
    /// there is, by its values.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for columns of other types; [`Error::LimitExceeded`] for values that are too long.
    pub fn spread(
        &self,
        columns: &[ArrayRef],
        n_rows: usize,
    ) -> Result<Vec<(Vec<u8>, UInt64Array)>> {
        let mut keys = vec![Vec::new(); n_rows];
        if columns.len() != self.fields.len() {
            return Err(Error::invalid("columns of another partition spec"));
        }
        for (field, column) in self.fields.iter().zip(columns) {
            if *column.data_type() != field.data_type || column.len() != n_rows {
                let what = format!(
                    "a column of `{}` of another type",
                    field.name.escape_debug()
                );
                return Err(Error::invalid(what));
            }
            let values = field.source.values(column);
            for (key, value) in keys.iter_mut().zip(values) {
                field.result.encode(&field.transformed(value), key);
            }
        }
        let mut partitions: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
        for (key, row) in keys.into_iter().zip(0..) {
            Error::check_limit("PARTITION_BYTES_MAX", key.len(), PARTITION_BYTES_MAX)?;
            partitions.entry(key).or_default().push(row);
        }
        let partitions = partitions.into_iter();
        Ok(partitions.map(|(key, rows)| (key, rows.into())).collect())
    }

    /// The values of a partition, one for each field of the spec.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn decode(&self, partition: &[u8]) -> Result<Vec<KeyValue>> {
        let mut rest = partition;
        let values = self.fields.iter().map(|field| {
            let (value, after) = field.result.decode(rest)?;
            rest = after;
            Ok(value)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        match rest.is_empty() {
            true => Ok(values),
            false => Err(Error::corrupt("partition", "bytes behind its values")),
        }
    }

    /// The partition as people read it: `day(time)=2026-05-01, country=NL`.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn describe(&self, partition: &[u8]) -> Result<String> {
        let values = self.decode(partition)?;
        let parts = self
            .fields
            .iter()
            .zip(values)
            .map(|(field, value)| format!("{}={}", field.spelled(), field.shown(&value)));
        Ok(parts.collect::<Vec<_>>().join(", "))
    }

    /// The spec as people write it: `day(time), country`.
    pub fn spelled(&self) -> String {
        let parts: Vec<_> = self.fields.iter().map(Typed::spelled).collect();
        parts.join(", ")
    }

    /// Bounds of a field in runs of files whose partitions, in the order of manifests, are between two, with both ends;
    /// `None` if the spec says nothing of the field.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn bounds(&self, id: FieldId, runs: &[[&[u8]; 2]]) -> Result<Option<ColumnBounds>> {
        let at = self
            .fields
            .iter()
            .position(|field| field.field.source == id);
        let Some((at, field)) = at.and_then(|at| Some((at, self.fields.get(at)?))) else {
            return Ok(None);
        };
        let value = |partition: &[u8]| {
            let value = self.decode(partition)?.into_iter().nth(at);
            Ok::<_, Error>(value.unwrap_or(KeyValue::Null))
        };
        let (mut min, mut max) = (Vec::new(), Vec::new());
        let (mut has_nulls, mut is_known) = (Vec::new(), Vec::new());
        for [first, last] in runs {
            let (low, high) = (value(first)?, value(last)?);
            // Files are sorted by the first field alone; nulls come before all values.
            let is_run = first == last || at == 0 && low != KeyValue::Null;
            is_known.push(is_run);
            has_nulls.push(low == KeyValue::Null);
            min.push(if is_run {
                field.range(low).0
            } else {
                KeyValue::Null
            });
            max.push(if is_run {
                field.range(high).1
            } else {
                KeyValue::Null
            });
        }
        let n = runs.len();
        let is_cut = matches!(field.field.transform, Transform::Truncate(_));
        let is_cut = is_cut && matches!(field.source, KeyType::Bytes | KeyType::Fixed(_));
        let bits = |is_set: bool| match is_set {
            true => BooleanBuffer::new_set(n),
            false => BooleanBuffer::new_unset(n),
        };
        let corrupt = |error: Error| Error::corrupt("partition", error.to_string());
        Ok(Some(ColumnBounds {
            min: array_of(&field.data_type, &min).map_err(corrupt)?,
            max: array_of(&field.data_type, &max).map_err(corrupt)?,
            is_cut: bits(is_cut),
            has_nulls: BooleanBuffer::from(has_nulls),
            has_nans: bits(false),
            is_known: BooleanBuffer::from(is_known),
            keys: None,
        }))
    }
}

fn typed(field: PartitionField, schema: &TableSchema) -> Result<Typed> {
    let missing = || Error::invalid(format!("no field has the id {}", field.source));
    let of_table = schema.by_id(field.source).ok_or_else(missing)?;
    let (name, data_type) = (of_table.field.name(), of_table.field.data_type());
    let bad = |what: &str| {
        let name = name.escape_debug();
        Error::invalid(format!("field `{name}` of type {data_type}: {what}"))
    };
    let source = KeyType::of(data_type);
    let source = source.ok_or_else(|| bad("rows are not partitioned by this type"))?;
    let result = match field.transform {
        Transform::Identity => source,
        Transform::Truncate(_) => match (data_type, source) {
            (DataType::Boolean, _) => return Err(bad("it is not truncated")),
            (_, KeyType::Fixed(_)) => KeyType::Bytes,
            _ => source,
        },
        _ => {
            let per_day = ticks_per_day(data_type);
            let per_day = per_day.ok_or_else(|| bad("it is no date or timestamp"))?;
            if field.transform == Transform::Hour && per_day < 24 {
                return Err(bad("it has no hours"));
            }
            UNITS
        }
    };
    if matches!(field.transform, Transform::Truncate(_)) && is_time(data_type) {
        return Err(bad("times are not truncated: name a unit"));
    }
    Ok(Typed {
        field,
        name: name.clone(),
        data_type: data_type.clone(),
        source,
        result,
    })
}

fn is_time(data_type: &DataType) -> bool {
    ticks_per_day(data_type).is_some()
        || matches!(
            data_type,
            DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_)
        )
}

fn ticks_per_day(data_type: &DataType) -> Option<i128> {
    const DAY_SECONDS: i128 = 86_400;
    Some(match data_type {
        DataType::Date32 => 1,
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => DAY_SECONDS * 1_000,
        DataType::Timestamp(TimeUnit::Second, _) => DAY_SECONDS,
        DataType::Timestamp(TimeUnit::Microsecond, _) => DAY_SECONDS * 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => DAY_SECONDS * 1_000_000_000,
        _ => return None,
    })
}

impl Typed {
    fn per_day(&self) -> i128 {
        ticks_per_day(&self.data_type).unwrap_or(1)
    }

    fn spelled(&self) -> String {
        let needs_quotes = self.name.contains(['"', ',', ';', '(', ')'])
            || self.name.trim().len() < self.name.len()
            || self.name.is_empty();
        let name = match needs_quotes {
            true => &format!("\"{}\"", self.name.replace('"', "\"\"")),
            false => &self.name,
        };
        match self.field.transform {
            Transform::Identity => name.clone(),
            Transform::Year => format!("year({name})"),
            Transform::Month => format!("month({name})"),
            Transform::Day => format!("day({name})"),
            Transform::Hour => format!("hour({name})"),
            Transform::Truncate(width) => format!("truncate({name}, {width})"),
        }
    }

    /// The partition's value of a value.
    fn transformed(&self, value: KeyValue) -> KeyValue {
        let per_day = self.per_day();
        let number = match value {
            KeyValue::Null => return KeyValue::Null,
            KeyValue::Integer(number) => number,
            KeyValue::Bytes(mut bytes) => {
                if let Transform::Truncate(width) = self.field.transform {
                    let n_bytes = self.first_bytes(&bytes, width as usize);
                    bytes.truncate(n_bytes);
                }
                return KeyValue::Bytes(bytes);
            }
        };
        let day = || number.div_euclid(per_day);
        KeyValue::Integer(match self.field.transform {
            Transform::Identity => number,
            Transform::Year => year_and_month(day()).0 - 1970,
            Transform::Month => {
                let (year, month) = year_and_month(day());
                (year - 1970) * 12 + month - 1
            }
            Transform::Day => day(),
            Transform::Hour => number.div_euclid(per_day / 24),
            Transform::Truncate(width) => self.truncated(number, width.into()),
        })
    }

    /// A number down to a multiple of the width, or the smallest of the type above that.
    fn truncated(&self, number: i128, width: i128) -> i128 {
        let lowest = self.ends().0;
        number
            .checked_sub(number.rem_euclid(width))
            .map_or(lowest, |it| it.max(lowest))
    }

    /// Bytes of the first characters of text, or of the first bytes of bytes.
    fn first_bytes(&self, bytes: &[u8], width: usize) -> usize {
        let is_text = matches!(
            self.data_type,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        );
        match str::from_utf8(bytes) {
            Ok(text) if is_text => {
                let end = text.char_indices().nth(width);
                end.map_or(bytes.len(), |(at, _)| at)
            }
            _ => width.min(bytes.len()),
        }
    }

    /// The smallest and the largest value of the source's type.
    fn ends(&self) -> (i128, i128) {
        match self.source {
            KeyType::Integer { bytes: 16, .. } => (i128::MIN, i128::MAX),
            KeyType::Integer { bytes, is_signed } => match is_signed {
                true => (-(1 << (8 * bytes - 1)), (1 << (8 * bytes - 1)) - 1),
                false => (0, (1 << (8 * bytes)) - 1),
            },
            _ => (0, 0),
        }
    }

    /// The smallest and the largest value that have this value of the partition; of a truncated text what they begin
    /// with.
    fn range(&self, value: KeyValue) -> (KeyValue, KeyValue) {
        let number = match value {
            KeyValue::Integer(number) => number,
            other => return (other.clone(), other),
        };
        let per_day = self.per_day();
        let days = |first: i128, end: i128| (first * per_day, end * per_day - 1);
        let (low, high) = match self.field.transform {
            Transform::Identity => (number, number),
            Transform::Year => days(first_day(1970 + number, 1), first_day(1971 + number, 1)),
            Transform::Month => {
                let first =
                    |month: i128| first_day(1970 + month.div_euclid(12), month.rem_euclid(12) + 1);
                days(first(number), first(number + 1))
            }
            Transform::Day => days(number, number + 1),
            Transform::Hour => {
                let per_hour = per_day / 24;
                (number * per_hour, (number + 1) * per_hour - 1)
            }
            Transform::Truncate(width) => {
                let width = i128::from(width);
                // The lowest multiple may lie below the type.
                let last = number
                    .div_euclid(width)
                    .saturating_add(1)
                    .saturating_mul(width);
                (number, last.saturating_sub(1))
            }
        };
        let (lowest, highest) = self.ends();
        let within = |number: i128| KeyValue::Integer(number.clamp(lowest, highest));
        (within(low), within(high))
    }

    fn shown(&self, value: &KeyValue) -> String {
        let date = |day: i128| {
            let (year, month) = year_and_month(day);
            format!(
                "{year:04}-{month:02}-{:02}",
                day - first_day(year, month) + 1
            )
        };
        match (value, self.field.transform) {
            (KeyValue::Null, _) => "NULL".to_owned(),
            (KeyValue::Integer(year), Transform::Year) => (1970 + year).to_string(),
            (KeyValue::Integer(month), Transform::Month) => {
                format!(
                    "{:04}-{:02}",
                    1970 + month.div_euclid(12),
                    month.rem_euclid(12) + 1
                )
            }
            (KeyValue::Integer(day), Transform::Day) => date(*day),
            (KeyValue::Integer(hour), Transform::Hour) => {
                format!("{}T{:02}", date(hour.div_euclid(24)), hour.rem_euclid(24))
            }
            (KeyValue::Integer(day), _) if self.data_type == DataType::Date32 => date(*day),
            (KeyValue::Integer(number), _) => match self.data_type {
                DataType::Boolean => (*number != 0).to_string(),
                _ => number.to_string(),
            },
            (KeyValue::Bytes(bytes), _) => match str::from_utf8(bytes) {
                Ok(text) => text.escape_debug().to_string(),
                Err(_) => hex::encode(bytes),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::{
        Date32Array, Int8Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    };
    use arrow_schema::Field;
    use proptest::prelude::*;
    use tarsia_filter::{Expr, Literal, col};

    use super::*;
    use crate::schema::TableField;

    fn partitioning(data_type: &DataType, transform: Transform) -> Result<Partitioning> {
        let field = TableField {
            id: FieldId(1),
            field: Arc::new(Field::new("f", data_type.clone(), true)),
            default: None,
            former: Vec::new(),
        };
        let schema = TableSchema::new(vec![field], HashMap::new())?;
        let fields = vec![PartitionField {
            source: FieldId(1),
            transform,
        }];
        Partitioning::new(&PartitionSpec { id: 0, fields }, &schema)
    }

    fn shown(column: ArrayRef, transform: Transform) -> Vec<String> {
        let it = partitioning(column.data_type(), transform).unwrap();
        let n = column.len();
        let partitions = it.spread(&[column], n).unwrap();
        let shown = partitions.iter().map(|(key, rows)| {
            let rows: Vec<_> = rows.values().iter().collect();
            format!("{} {rows:?}", it.describe(key).unwrap())
        });
        shown.collect()
    }

    #[test]
    fn rows_are_spread_by_the_values_of_their_transform() {
        let micros = 1_777_593_600_000_000; // 2026-05-01
        let times =
            TimestampMicrosecondArray::from(vec![Some(micros), None, Some(micros - 1), Some(-1)]);
        let times: ArrayRef = Arc::new(times);
        assert_eq!(
            shown(times.clone(), Transform::Day),
            [
                "day(f)=NULL [1]",
                "day(f)=1969-12-31 [3]",
                "day(f)=2026-04-30 [2]",
                "day(f)=2026-05-01 [0]"
            ]
        );
        assert_eq!(
            shown(times.clone(), Transform::Year)[1..],
            ["year(f)=1969 [3]", "year(f)=2026 [0, 2]"]
        );
        assert_eq!(
            shown(times.clone(), Transform::Month)[2],
            "month(f)=2026-04 [2]"
        );
        assert_eq!(
            shown(times, Transform::Hour)[2],
            "hour(f)=2026-04-30T23 [2]"
        );
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![20_574]));
        assert_eq!(shown(dates, Transform::Identity), ["f=2026-05-01 [0]"]);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["käse", "kä", "kalb", ""]));
        assert_eq!(
            shown(texts, Transform::Truncate(2)),
            [
                "truncate(f, 2)= [3]",
                "truncate(f, 2)=ka [2]",
                "truncate(f, 2)=kä [0, 1]"
            ]
        );
        let numbers: ArrayRef = Arc::new(Int8Array::from(vec![-128, -11, -10, -1, 0, 9]));
        assert_eq!(
            shown(numbers, Transform::Truncate(10)),
            [
                "truncate(f, 10)=-128 [0]",
                "truncate(f, 10)=-20 [1]",
                "truncate(f, 10)=-10 [2, 3]",
                "truncate(f, 10)=0 [4, 5]"
            ]
        );
    }

    #[test]
    fn transforms_that_a_type_does_not_have_are_refused() {
        let hour = Transform::Hour;
        for (data_type, transform) in [
            (DataType::Float32, Transform::Identity),
            (DataType::Int64, Transform::Day),
            (DataType::Date32, hour),
            (DataType::Date32, Transform::Truncate(3)),
            (DataType::Boolean, Transform::Truncate(3)),
            (DataType::Int64, Transform::Truncate(0)),
        ] {
            assert!(
                partitioning(&data_type, transform).is_err(),
                "{data_type} {transform:?}"
            );
        }
        let it = partitioning(&DataType::Int64, Transform::Identity).unwrap();
        for bytes in [&[][..], &[2], &[1, 2], &[0, 0]] {
            assert!(it.describe(bytes).is_err(), "{bytes:?}");
            assert!(it.bounds(FieldId(1), &[[bytes, bytes]]).is_err());
        }
        assert!(it.bounds(FieldId(2), &[[&[0], &[0]]]).unwrap().is_none());
    }

    proptest! {
        /// Checks for each partition that what is proved of its rows is true of them.
        #[test]
        fn proofs_hold_for_the_rows(
            values in proptest::collection::vec(proptest::option::of(-2000_i32..2000), 1..40),
            limit in -2000_i32..2000,
            kind in 0_usize..5,
        ) {
            let column: ArrayRef = Arc::new(Date32Array::from(values.clone()));
            let transform = [Transform::Identity, Transform::Year, Transform::Month, Transform::Day, Transform::Day][kind];
            check_proofs(&column, transform, limit)?;
            let numbers: ArrayRef = Arc::new(Int32Array::from(values));
            check_proofs(&numbers, Transform::Truncate(7), limit)?;
        }

        #[test]
        fn proofs_hold_for_text(
            values in proptest::collection::vec(proptest::option::of("[ab]{0,4}"), 1..30),
            limit in "[ab]{0,4}",
            width in 1_u32..4,
        ) {
            let column: ArrayRef = Arc::new(StringArray::from(values));
            for filter in [col("f").gt(limit.as_str()), col("f").eq(limit.as_str()), col("f").lt_eq(limit.as_str()), col("f").is_null()] {
                check_proof(&column, Transform::Truncate(width), &filter)?;
            }
        }
    }

    fn check_proofs(
        column: &ArrayRef,
        transform: Transform,
        limit: i32,
    ) -> Result<(), TestCaseError> {
        let limit = match column.data_type() {
            DataType::Date32 => Literal::array(Arc::new(Date32Array::from(vec![limit]))),
            _ => limit.into(),
        };
        for filter in [
            col("f").gt(limit.clone()),
            col("f").lt(limit.clone()),
            col("f").eq(limit.clone()),
            col("f").ne(limit.clone()).not(),
            col("f").is_null(),
        ] {
            check_proof(column, transform, &filter)?;
        }
        Ok(())
    }

    fn check_proof(
        column: &ArrayRef,
        transform: Transform,
        filter: &Expr,
    ) -> Result<(), TestCaseError> {
        let it = partitioning(column.data_type(), transform).unwrap();
        let partitions = it
            .spread(std::slice::from_ref(column), column.len())
            .unwrap();
        let batch = RecordBatch::try_from_iter_with_nullable([("f", column.clone(), true)]);
        let bound = filter.bind(&batch.as_ref().unwrap().schema()).unwrap();
        let passes = bound.matches(&batch.unwrap()).unwrap();
        for n in [1, 2, 5] {
            let runs: Vec<_> = partitions.chunks(n).collect();
            let ends = runs
                .iter()
                .map(|run| [run[0].0.as_slice(), run[run.len() - 1].0.as_slice()]);
            let ends: Vec<_> = ends.collect();
            let bounds = it.bounds(FieldId(1), &ends).unwrap();
            let proof = bound.conjuncts()[0].prove(&[bounds], ends.len()).unwrap();
            for (i, run) in runs.iter().enumerate() {
                let rows: Vec<u64> = run
                    .iter()
                    .flat_map(|(_, rows)| rows.values().to_vec())
                    .collect();
                let n_pass = rows
                    .iter()
                    .filter(|row| passes.value(**row as usize))
                    .count();
                prop_assert!(n_pass == 0 || proof.some_may_pass.value(i), "{filter} {i}");
                prop_assert!(
                    n_pass == rows.len() || !proof.all_pass.value(i),
                    "{filter} {i}"
                );
            }
        }
        Ok(())
    }
}
