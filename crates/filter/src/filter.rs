//! Conditions bound to a schema, and the rows that pass them.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float16Array, Float32Array, Float64Array, RecordBatch, Scalar};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use half::f16;
use tarsia_codec::{NumberRange, Order};

use crate::expr::Expr;
use crate::range::Range;
use crate::test::{Kind, Test};
use crate::truth::Truth;

/// A condition on the rows of tables of one schema: [`Conjunct`]s that all must be true.
#[derive(Debug)]
pub struct Filter {
    pub(crate) conjuncts: Vec<Conjunct>,
}

/// A part of a condition that a row must pass, whatever the other parts say.
#[derive(Debug)]
pub struct Conjunct {
    pub(crate) expr: Expr,
    pub(crate) fields: Vec<usize>,
    pub(crate) node: Node,
}

/// The only thing that a conjunct asks: whether the values of a column lie in a range of numbers. It is true of no
/// null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRange {
    /// The number of the top-level field.
    pub field: usize,
    /// The numbers, as the bytes of the column's values are numbers.
    pub numbers: NumberRange,
    /// True if it asks for the values outside of the range.
    pub is_negated: bool,
}

/// A condition whose columns and literals are bound.
#[derive(Debug)]
pub(crate) enum Node {
    Test {
        /// The number of the top-level field.
        field: usize,
        /// The numbers of the fields of structs below it, from the outermost struct.
        path: Vec<usize>,
        test: Box<Test>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
}

impl Filter {
    /// The top-level conjuncts, in the order of the condition: an `AND` inside of an `AND` gives its own members.
    pub fn conjuncts(&self) -> &[Conjunct] {
        &self.conjuncts
    }

    /// Finds the rows of a batch for which the condition is true, one bit per row. Conjuncts are evaluated one after
    /// another, until no row is left.
    ///
    /// # Errors
    /// A batch of another schema than the one that was bound.
    pub fn matches(&self, batch: &RecordBatch) -> Result<BooleanBuffer, ArrowError> {
        let n_rows = batch.num_rows();
        let mut all = BooleanBuffer::new_set(n_rows);
        for conjunct in &self.conjuncts {
            if all.count_set_bits() == 0 {
                break;
            }
            let columns: Option<Vec<ArrayRef>> = conjunct
                .fields
                .iter()
                .map(|field| batch.columns().get(*field).cloned())
                .collect();
            let columns = columns.ok_or_else(|| {
                let what = "a batch without a column of the condition";
                ArrowError::SchemaError(what.to_owned())
            })?;
            all = &all & &conjunct.evaluate(&columns, n_rows)?;
        }
        Ok(all)
    }
}

impl Conjunct {
    /// The top-level fields of the schema that it looks at: their numbers, rising, each once. A condition that looks
    /// at none, such as an `OR` of nothing, has the first field of the schema, if there is one.
    pub fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// The range of numbers that it asks of one column of this type, if that is all that it asks.
    pub fn number_range(&self, data_type: &DataType) -> Option<ColumnRange> {
        let (node, is_negated) = match &self.node {
            Node::Not(inner) => (&**inner, true),
            other => (other, false),
        };
        let Node::Test { field, path, test } = node else {
            return None;
        };
        if !path.is_empty() || test.values != *data_type {
            return None;
        }
        let numbers = match &test.kind {
            Kind::Equal(value) => Range::of(value).numbers(data_type),
            Kind::Range(range) => range.numbers(data_type),
            _ => return None,
        };
        let mut numbers = numbers.ok()??;
        if test.nan_is_unknown && numbers.order == Order::Float {
            if is_negated {
                return None;
            }
            numbers = numbers.and(&no_nan(data_type)?);
        }
        Some(ColumnRange {
            field: *field,
            numbers,
            is_negated,
        })
    }

    /// Finds the rows for which it is true, one bit per row. `columns` are the arrays of [`Conjunct::fields`], in their
    /// order, all of `n_rows` rows. A dictionary array or runs may stand for an array of their values.
    ///
    /// # Errors
    /// Another number of columns, columns of other lengths, and columns of other types than those that were bound.
    pub fn evaluate(
        &self,
        columns: &[ArrayRef],
        n_rows: usize,
    ) -> Result<BooleanBuffer, ArrowError> {
        if columns.len() != self.fields.len() || columns.iter().any(|it| it.len() != n_rows) {
            return Err(ArrowError::InvalidArgumentError(format!(
                "a condition on {} columns needs as many, of one length",
                self.fields.len()
            )));
        }
        let input = Input {
            fields: &self.fields,
            columns,
            n_rows,
        };
        Ok(self.node.truth(&input)?.yes)
    }
}

/// Writes the conjunct as SQL text.
impl fmt::Display for Conjunct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

/// The range of the floating-point values of a type that are numbers.
fn no_nan(data_type: &DataType) -> Option<NumberRange> {
    let [low, high]: [ArrayRef; 2] = match data_type {
        DataType::Float16 => {
            let ends = [f16::NEG_INFINITY, f16::INFINITY];
            ends.map(|end| Arc::new(Float16Array::from(vec![end])) as ArrayRef)
        }
        DataType::Float32 => {
            let ends = [f32::NEG_INFINITY, f32::INFINITY];
            ends.map(|end| Arc::new(Float32Array::from(vec![end])) as ArrayRef)
        }
        DataType::Float64 => {
            let ends = [f64::NEG_INFINITY, f64::INFINITY];
            ends.map(|end| Arc::new(Float64Array::from(vec![end])) as ArrayRef)
        }
        _ => return None,
    };
    let range = Range {
        low: Range::of(&Scalar::new(low)).low,
        high: Range::of(&Scalar::new(high)).high,
    };
    range.numbers(data_type).ok().flatten()
}

/// Columns of some rows.
struct Input<'a> {
    /// The numbers of the columns' fields, rising.
    fields: &'a [usize],
    columns: &'a [ArrayRef],
    n_rows: usize,
}

impl Node {
    fn truth(&self, input: &Input<'_>) -> Result<Truth, ArrowError> {
        match self {
            Node::Test { field, path, test } => test_below(input, *field, path, test),
            Node::And(all) => joined(all, input, true),
            Node::Or(all) => joined(all, input, false),
            Node::Not(inner) => Ok(inner.truth(input)?.not()),
        }
    }
}

/// Joins nodes by `AND` or `OR`, until the others cannot change the result.
fn joined(all: &[Node], input: &Input<'_>, is_and: bool) -> Result<Truth, ArrowError> {
    let Some((first, rest)) = all.split_first() else {
        return Ok(Truth::of_all(is_and, input.n_rows));
    };
    let mut truth = first.truth(input)?;
    for node in rest {
        if truth.is_all(!is_and) {
            break;
        }
        let next = node.truth(input)?;
        truth = match is_and {
            true => truth.and(&next),
            false => truth.or(&next),
        };
    }
    Ok(truth)
}

/// Tests the field that a path of struct fields leads to. It is null where a struct around it is.
fn test_below(
    input: &Input<'_>,
    field: usize,
    path: &[usize],
    test: &Test,
) -> Result<Truth, ArrowError> {
    let other_schema = || {
        let what = "a column of another type than the one that the condition was bound to";
        ArrowError::SchemaError(what.to_owned())
    };
    let slot = input.fields.binary_search(&field);
    let column = slot.ok().and_then(|slot| input.columns.get(slot));
    let mut array = column.ok_or_else(other_schema)?;
    let mut nulls = None;
    for number in path {
        let parent = array.as_struct_opt().ok_or_else(other_schema)?;
        nulls = NullBuffer::union(nulls.as_ref(), parent.nulls());
        array = parent.columns().get(*number).ok_or_else(other_schema)?;
    }
    let truth = test.truth(array)?;
    Ok(match (&test.kind, nulls) {
        (Kind::IsNull, Some(nulls)) => {
            let is_null = Truth::of_bits(nulls.into_inner()).not();
            truth.or(&is_null)
        }
        (_, nulls) => truth.known_unless_null(nulls.as_ref()),
    })
}
