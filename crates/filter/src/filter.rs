//! Conditions bound to a schema, and the rows that pass them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use tarsia_codec::OwnedPredicate;

use crate::expr::Expr;
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

/// The only thing that a conjunct asks: whether a predicate holds for the values of a column. It is true of no null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnTest {
    /// The number of the top-level field.
    pub field: usize,
    /// The predicate, for the bytes of the column's values.
    pub predicate: Arc<OwnedPredicate>,
    /// True if it asks for the values for which the predicate does not hold.
    pub is_negated: bool,
}

/// A column that a condition tests: where it is in the schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnPlace {
    /// The number of the top-level field.
    pub field: usize,
    /// The numbers of the fields of structs below it, from the outermost struct; none for a flat column.
    pub path: Vec<usize>,
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

    /// The columns that it tests, rising, each once: of structs not the whole field, but the field of theirs.
    pub fn columns(&self) -> Vec<ColumnPlace> {
        let mut places = BTreeSet::new();
        let mut rest = vec![&self.node];
        while let Some(node) = rest.pop() {
            match node {
                Node::Test { field, path, .. } => {
                    places.insert(ColumnPlace {
                        field: *field,
                        path: path.clone(),
                    });
                }
                Node::And(all) | Node::Or(all) => rest.extend(all),
                Node::Not(inner) => rest.push(inner),
            }
        }
        places.into_iter().collect()
    }

    /// The predicate that it asks of one column of this type, if that is all that it asks and decoders can answer it: a
    /// range of numbers, a few numbers or strings of which it equals one, or a string that it begins with.
    pub fn column_test(&self, data_type: &DataType) -> Option<ColumnTest> {
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
        Some(ColumnTest {
            field: *field,
            predicate: Arc::new(test.predicate(is_negated)?),
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
