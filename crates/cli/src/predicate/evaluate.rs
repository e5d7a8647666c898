//! Which rows of batches pass the tests.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, Scalar};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Schema};

use super::literal::{is_float_zero, value_of};
use super::parse::{Literal, Predicate, PredicateError, Test};

/// A condition on the columns of batches of one schema.
pub(super) struct Matcher(Vec<Column>);

/// A test of one column.
struct Column {
    index: usize,
    /// The type of its values: not of their numbers, if they are in a dictionary.
    values: DataType,
    check: Check,
}

enum Check {
    Equal(ArrayRef),
    /// Both ends belong to it.
    Between(ArrayRef, ArrayRef),
    In(Set),
    IsNull,
    IsNotNull,
}

/// Values, as the bytes that [`RowConverter`] makes of them.
struct Set {
    converter: RowConverter,
    members: HashSet<Box<[u8]>>,
}

impl Matcher {
    /// # Errors
    /// A column that the schema does not have or that is nested, and a literal that is no value of its column's type.
    pub(super) fn new(predicate: &Predicate, schema: &Schema) -> Result<Matcher, PredicateError> {
        let columns = predicate.terms.iter().map(|term| {
            let name = &term.column;
            let refuse = |what: String| PredicateError::new(term.at, what);
            let (index, field) = schema
                .column_with_name(name)
                .ok_or_else(|| refuse(format!("no column `{name}`")))?;
            let data_type = field.data_type();
            if data_type.is_nested() {
                return Err(refuse(format!(
                    "column `{name}` is nested ({data_type}); only flat columns can be tested"
                )));
            }
            let values = match data_type {
                DataType::Dictionary(_, values) => values.as_ref(),
                DataType::RunEndEncoded(_, values) => values.data_type(),
                other => other,
            };
            let literal = |literal: &Literal| {
                value_of(literal, values).ok_or_else(|| {
                    let what = format!(
                        "column `{name}` has the type {data_type}, which does not hold {}{}",
                        literal.shown,
                        hint(values),
                    );
                    PredicateError::new(literal.at, what)
                })
            };
            let check = match &term.test {
                Test::IsNull => Check::IsNull,
                Test::IsNotNull => Check::IsNotNull,
                Test::Equal(it) => {
                    let value = literal(it)?;
                    match zeros(&value) {
                        Some([low, high]) => Check::Between(low, high),
                        None => Check::Equal(value),
                    }
                }
                Test::Between(low, high) => {
                    let first = literal(low)?;
                    let last = literal(high)?;
                    let [first, _] = zeros(&first).unwrap_or_else(|| [first.clone(), first]);
                    let [_, last] = zeros(&last).unwrap_or_else(|| [last.clone(), last]);
                    let rises = cmp::lt_eq(&first, &last)
                        .map_err(|error| refuse(error.to_string()))?
                        .iter()
                        .all(|it| it == Some(true));
                    if !rises {
                        let what = format!(
                            "{} is above {}, so no row is between them",
                            low.shown, high.shown
                        );
                        return Err(PredicateError::new(low.at, what));
                    }
                    Check::Between(first, last)
                }
                Test::In(literals) => {
                    let values_of = literals
                        .iter()
                        .map(literal)
                        .collect::<Result<Vec<_>, _>>()?;
                    let set = Set::new(values, &values_of);
                    Check::In(set.map_err(|error| refuse(error.to_string()))?)
                }
            };
            Ok(Column {
                index,
                values: values.clone(),
                check,
            })
        });
        columns.collect::<Result<_, _>>().map(Matcher)
    }

    /// The rows of the batch that pass all tests.
    ///
    /// # Errors
    /// What Arrow cannot compare, for a batch of another schema.
    pub(super) fn matches(&self, batch: &RecordBatch) -> Result<BooleanBuffer, ArrowError> {
        let mut all = BooleanBuffer::new_set(batch.num_rows());
        for column in &self.0 {
            if all.count_set_bits() == 0 {
                break;
            }
            let array = batch.columns().get(column.index).ok_or_else(|| {
                ArrowError::SchemaError(format!("a batch without column {}", column.index))
            })?;
            all = &all & &column.matches(array)?;
        }
        Ok(all)
    }
}

impl Column {
    fn matches(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        let nulls = || match array.logical_nulls() {
            Some(nulls) => nulls.into_inner(),
            None => BooleanBuffer::new_set(array.len()),
        };
        let flat = || match array.data_type() {
            DataType::Dictionary(..) | DataType::RunEndEncoded(..) => cast(array, &self.values),
            _ => Ok(array.clone()),
        };
        let scalar = |value: &ArrayRef| Scalar::new(value.clone());
        match &self.check {
            Check::IsNull => Ok(!&nulls()),
            Check::IsNotNull => Ok(nulls()),
            Check::Equal(value) => cmp::eq(&flat()?, &scalar(value)).map(true_and_valid),
            Check::Between(low, high) => {
                let array = flat()?;
                let above = true_and_valid(cmp::gt_eq(&array, &scalar(low))?);
                let below = true_and_valid(cmp::lt_eq(&array, &scalar(high))?);
                Ok(&above & &below)
            }
            Check::In(set) => set.holds(&flat()?),
        }
    }
}

impl Set {
    fn new(data_type: &DataType, values: &[ArrayRef]) -> Result<Set, ArrowError> {
        let converter = RowConverter::new(vec![SortField::new(data_type.clone())])?;
        let mut members = HashSet::new();
        for value in values {
            let both = zeros(value);
            for value in both.iter().flatten().chain(both.is_none().then_some(value)) {
                let rows = converter.convert_columns(std::slice::from_ref(value))?;
                members.extend(rows.iter().map(|row| Box::from(row.as_ref())));
            }
        }
        Ok(Set { converter, members })
    }

    /// Null is no member, since its bytes are those of no value.
    fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        let rows = self
            .converter
            .convert_columns(std::slice::from_ref(array))?;
        let is_member = rows.iter().map(|row| self.members.contains(row.as_ref()));
        Ok(is_member.collect())
    }
}

fn true_and_valid(array: BooleanArray) -> BooleanBuffer {
    let (values, nulls) = array.into_parts();
    match nulls {
        Some(nulls) => &values & nulls.inner(),
        None => values,
    }
}

/// The smaller and the larger zero, for a floating-point zero: they are equal, but Arrow orders them.
fn zeros(value: &ArrayRef) -> Option<[ArrayRef; 2]> {
    let zero = |value: f64, data_type| {
        cast(
            &(Arc::new(Float64Array::from(vec![value])) as ArrayRef),
            data_type,
        )
        .ok()
    };
    match is_float_zero(value) {
        true => Some([
            zero(-0.0, value.data_type())?,
            zero(0.0, value.data_type())?,
        ]),
        false => None,
    }
}

/// How values of the type are written, where that is not plain.
fn hint(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            "; text stands in single quotes"
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "; bytes are written X'0aff'",
        DataType::Date32 => "; a date is written '2026-01-31'",
        DataType::Time32(_) | DataType::Time64(_) => "; a time is written '23:59:59'",
        DataType::Timestamp(_, None) | DataType::Date64 => {
            "; a timestamp is written '2026-01-31T23:59:59', with no finer fraction than the type has, and without \
             offset"
        }
        DataType::Timestamp(_, Some(_)) => {
            "; a timestamp is written '2026-01-31T23:59:59Z', with no finer fraction than the type has"
        }
        DataType::Duration(_) | DataType::Interval(_) => "; only IS NULL and IS NOT NULL test it",
        _ => "",
    }
}
