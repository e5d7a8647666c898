//! Conditions bound to a schema: names to columns, literals to values.

use std::collections::BTreeSet;

use arrow_array::{ArrayRef, Scalar};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema};

use crate::error::FilterError;
use crate::expr::{Column, Comparison, Expr, range_ends};
use crate::filter::{Conjunct, Filter, Node};
use crate::like::Pattern;
use crate::literal::{Literal, Value};
use crate::place::{Mode, Placed, hint, place, zeros};
use crate::range::{Bound, Range};
use crate::resolve::{Place, resolve};
use crate::set::Set;
use crate::test::{Kind, Test};

/// Most conditions inside of each other.
const DEPTH_MAX: usize = 500;

impl Expr {
    /// Binds the condition to a schema: it compares as query engines do (see [the crate's page](crate#meaning)).
    ///
    /// # Errors
    /// A column that the schema does not have, that is nested, or inside of a list or map; a literal that cannot be
    /// compared with its column; `LIKE` for a column that is no text; conditions in more than 500 others.
    pub fn bind(&self, schema: &Schema) -> Result<Filter, FilterError> {
        filter(self, schema, Mode::Lenient)
    }

    /// Binds the condition to a schema for a purpose that allows no surprise, such as an erasure (see
    /// [the crate's page](crate#meaning)).
    ///
    /// # Errors
    /// Those of [`Expr::bind`]; a literal that is no value of its column's type, or null; `column BETWEEN low AND
    /// high` with `low` above `high`.
    pub fn bind_strict(&self, schema: &Schema) -> Result<Filter, FilterError> {
        filter(self, schema, Mode::Strict)
    }
}

fn filter(expr: &Expr, schema: &Schema, mode: Mode) -> Result<Filter, FilterError> {
    let binder = Binder { schema, mode };
    let mut conjuncts = Vec::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::And(all) => {
                binder.check_ends(all)?;
                rest.extend(all.iter().rev());
            }
            other => {
                let next = binder.conjunct(other)?;
                let is_joined = conjuncts.last_mut().is_some_and(|last| join(last, &next));
                if !is_joined {
                    conjuncts.push(next);
                }
            }
        }
    }
    Ok(Filter { conjuncts })
}

/// Adds a conjunct to the one before it, if one is a lower bound of a column and the other an upper bound, so that both
/// are compared at once. Returns whether they are.
fn join(last: &mut Conjunct, next: &Conjunct) -> bool {
    let (
        Node::Test { field, path, test },
        Node::Test {
            field: of,
            path: below,
            test: other,
        },
    ) = (&mut last.node, &next.node)
    else {
        return false;
    };
    let (Kind::Range(range), Kind::Range(more)) = (&mut test.kind, &other.kind) else {
        return false;
    };
    if (*field, &*path) != (*of, below) {
        return false;
    }
    match (&range.low, &range.high, &more.low, &more.high) {
        (Some(_), None, None, Some(high)) => range.high = Some(high.clone()),
        (None, Some(_), Some(low), None) => range.low = Some(low.clone()),
        _ => return false,
    }
    last.expr = Expr::And(vec![last.expr.clone(), next.expr.clone()]);
    true
}

struct Binder<'a> {
    schema: &'a Schema,
    mode: Mode,
}

impl Binder<'_> {
    fn conjunct(&self, expr: &Expr) -> Result<Conjunct, FilterError> {
        let mut fields = BTreeSet::new();
        let node = self.node(expr, 0, &mut fields)?;
        if fields.is_empty() && !self.schema.fields().is_empty() {
            // It says how many rows there are.
            fields.insert(0);
        }
        Ok(Conjunct {
            expr: expr.clone(),
            fields: fields.into_iter().collect(),
            node,
        })
    }

    /// The bound condition; its top-level fields are added to `fields`.
    fn node(
        &self,
        expr: &Expr,
        depth: usize,
        fields: &mut BTreeSet<usize>,
    ) -> Result<Node, FilterError> {
        if depth > DEPTH_MAX {
            let what = format!("conditions inside of more than {DEPTH_MAX} others");
            return Err(FilterError::new(None, what));
        }
        match expr {
            Expr::And(list) => {
                self.check_ends(list)?;
                Ok(Node::And(self.nodes(list, depth, fields)?))
            }
            Expr::Or(list) => match self.is_one_of(list, depth)? {
                Some((found, literals)) => {
                    let kind = self.is_in(&found, &literals)?;
                    Ok(self.test(found, kind, fields))
                }
                None => Ok(Node::Or(self.nodes(list, depth, fields)?)),
            },
            Expr::Not(inner) => {
                let inner = self.node(inner, depth + 1, fields)?;
                Ok(Node::Not(Box::new(inner)))
            }
            Expr::IsNull(column) => {
                let found = self.find(column)?;
                Ok(self.test(found, Kind::IsNull, fields))
            }
            Expr::Compare {
                column,
                comparison,
                literal,
            } => {
                let found = self.find(column)?;
                let kind = self.compare(&found, *comparison, literal)?;
                let test = self.test(found, kind, fields);
                Ok(match comparison {
                    Comparison::NotEqual => Node::Not(Box::new(test)),
                    _ => test,
                })
            }
            Expr::In { column, literals } => {
                let found = self.find(column)?;
                let kind = self.is_in(&found, literals)?;
                Ok(self.test(found, kind, fields))
            }
            Expr::Like { column, pattern } => {
                let found = self.find(column)?;
                let kind = self.like(&found, pattern)?;
                Ok(self.test(found, kind, fields))
            }
        }
    }

    /// The column and its values, if conditions joined by `OR` all say which values one column may have: decoders
    /// answer that as one question. Floating-point numbers are left out, of which strict comparisons tell zeros and NaN
    /// apart from others.
    fn is_one_of<'a>(
        &'a self,
        list: &'a [Expr],
        depth: usize,
    ) -> Result<Option<(Found<'a>, Vec<Literal>)>, FilterError> {
        let mut column: Option<&Column> = None;
        let mut literals = Vec::new();
        let mut rest = vec![(list, depth)];
        while let Some((list, depth)) = rest.pop() {
            // It is refused where it is bound.
            if depth > DEPTH_MAX {
                return Ok(None);
            }
            for expr in list {
                let of = match expr {
                    Expr::Compare {
                        column,
                        comparison: Comparison::Equal,
                        literal,
                    } => {
                        literals.push(literal.clone());
                        column
                    }
                    Expr::In {
                        column,
                        literals: more,
                    } => {
                        literals.extend_from_slice(more);
                        column
                    }
                    Expr::Or(inner) => {
                        rest.push((inner, depth + 1));
                        continue;
                    }
                    _ => return Ok(None),
                };
                if column.is_some_and(|column| column.name() != of.name()) {
                    return Ok(None);
                }
                column = Some(of);
            }
        }
        let Some(column) = column else {
            return Ok(None);
        };
        let found = self.find(column)?;
        let is_float = found.values.is_floating();
        Ok((!is_float).then_some((found, literals)))
    }

    fn nodes(
        &self,
        list: &[Expr],
        depth: usize,
        fields: &mut BTreeSet<usize>,
    ) -> Result<Vec<Node>, FilterError> {
        let nodes = list.iter().map(|it| self.node(it, depth + 1, fields));
        nodes.collect()
    }

    fn find<'a>(&'a self, column: &'a Column) -> Result<Found<'a>, FilterError> {
        let place = resolve(self.schema, column.name())
            .map_err(|what| FilterError::new(column.at(), what))?;
        let mut values = place.data_type;
        loop {
            values = match values {
                DataType::Dictionary(_, values) => values.as_ref(),
                DataType::RunEndEncoded(_, values) => values.data_type(),
                _ => break,
            };
        }
        Ok(Found {
            column,
            place,
            values,
        })
    }

    fn test(&self, found: Found<'_>, kind: Kind, fields: &mut BTreeSet<usize>) -> Node {
        fields.insert(found.place.field);
        Node::Test {
            field: found.place.field,
            path: found.place.path,
            test: Box::new(Test {
                kind,
                values: found.values.clone(),
                nan_is_unknown: self.mode == Mode::Strict,
            }),
        }
    }

    /// The place of a literal among the values of a column.
    fn place(&self, found: &Found<'_>, literal: &Literal) -> Result<Placed, FilterError> {
        match (self.mode, &literal.value, found.values) {
            (Mode::Strict, Value::Null, _) => {
                let what = "nothing equals null: write IS NULL";
                return Err(FilterError::new(literal.at, what));
            }
            (Mode::Lenient, _, DataType::Null) => return Ok(Placed::Unknown),
            _ => {}
        }
        place(&literal.value, found.values, self.mode).ok_or_else(|| {
            let what = format!(
                "column `{}` has the type {}, which does not hold {}{}",
                found.column.name(),
                found.place.data_type,
                literal.shown(),
                hint(found.values),
            );
            FilterError::new(literal.at, what)
        })
    }

    fn compare(
        &self,
        found: &Found<'_>,
        comparison: Comparison,
        literal: &Literal,
    ) -> Result<Kind, FilterError> {
        let placed = self.place(found, literal)?;
        let kind = match placed {
            Placed::Unknown => Kind::Unknown,
            Placed::At(value) => {
                let both = match self.mode {
                    Mode::Strict => zeros(&value),
                    Mode::Lenient => None,
                };
                match both {
                    Some([low, high]) => at(comparison, low, high),
                    None => at(comparison, value.clone(), value),
                }
            }
            Placed::Above(below) => match comparison {
                Comparison::Equal | Comparison::NotEqual => Kind::Nothing,
                Comparison::Less | Comparison::LessOrEqual => up_to(below, true),
                Comparison::Greater | Comparison::GreaterOrEqual => from(below, false),
            },
            Placed::BelowAll | Placed::AboveAll => {
                let is_above = matches!(placed, Placed::AboveAll);
                match comparison {
                    Comparison::Less | Comparison::LessOrEqual if is_above => everything(),
                    Comparison::Greater | Comparison::GreaterOrEqual if !is_above => everything(),
                    _ => Kind::Nothing,
                }
            }
        };
        Ok(kind)
    }

    fn is_in(&self, found: &Found<'_>, literals: &[Literal]) -> Result<Kind, FilterError> {
        let mut members = Vec::with_capacity(literals.len());
        let mut or_unknown = false;
        for literal in literals {
            match self.place(found, literal)? {
                Placed::At(value) => match zeros(&value) {
                    Some(both) if self.mode == Mode::Strict => members.extend(both),
                    _ => members.push(value),
                },
                Placed::Unknown => or_unknown = true,
                // No value equals it.
                Placed::Above(_) | Placed::BelowAll | Placed::AboveAll => {}
            }
        }
        Ok(match (members.is_empty(), or_unknown) {
            (true, true) => Kind::Unknown,
            (true, false) => Kind::Nothing,
            (false, _) => Kind::In {
                set: Set::new(members),
                or_unknown,
            },
        })
    }

    fn like(&self, found: &Found<'_>, pattern: &str) -> Result<Kind, FilterError> {
        match found.values {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Ok(Kind::Like(Pattern::new(pattern)))
            }
            DataType::Null if self.mode == Mode::Lenient => Ok(Kind::Unknown),
            _ => {
                let what = format!(
                    "column `{}` has the type {}; LIKE tests text alone",
                    found.column.name(),
                    found.place.data_type,
                );
                Err(FilterError::new(found.column.at(), what))
            }
        }
    }

    /// Refuses `column BETWEEN low AND high` without values between its ends, in strict mode.
    fn check_ends(&self, all: &[Expr]) -> Result<(), FilterError> {
        if self.mode == Mode::Lenient {
            return Ok(());
        }
        for pair in all.windows(2) {
            let (Some([low, high]), Some(Expr::Compare { column, .. })) =
                (range_ends(pair), pair.first())
            else {
                continue;
            };
            let found = self.find(column)?;
            let (Placed::At(first), Placed::At(last)) =
                (self.place(&found, low)?, self.place(&found, high)?)
            else {
                continue;
            };
            let [first, _] = zeros(&first).unwrap_or_else(|| [first.clone(), first]);
            let [_, last] = zeros(&last).unwrap_or_else(|| [last.clone(), last]);
            let rises = cmp::lt_eq(&first, &last)
                .map_err(|error| FilterError::new(column.at(), error.to_string()))?;
            if rises.iter().any(|it| it != Some(true)) {
                let what = format!(
                    "{} is above {}, so no row is between them",
                    low.shown(),
                    high.shown()
                );
                return Err(FilterError::new(low.at, what));
            }
        }
        Ok(())
    }
}

/// A column of the condition in the schema.
struct Found<'a> {
    column: &'a Column,
    place: Place<'a>,
    /// The type of its values: not of their numbers, if they are in a dictionary.
    values: &'a DataType,
}

/// The test for a literal that equals all values from `low` to `high`.
fn at(comparison: Comparison, low: ArrayRef, high: ArrayRef) -> Kind {
    match comparison {
        Comparison::Equal | Comparison::NotEqual if low.as_ref() == high.as_ref() => {
            Kind::Equal(Scalar::new(low))
        }
        Comparison::Equal | Comparison::NotEqual => Kind::Range(Range {
            low: Some(bound(low, true)),
            high: Some(bound(high, true)),
        }),
        Comparison::Less => up_to(low, false),
        Comparison::LessOrEqual => up_to(high, true),
        Comparison::Greater => from(high, false),
        Comparison::GreaterOrEqual => from(low, true),
    }
}

fn bound(value: ArrayRef, is_inclusive: bool) -> Bound {
    Bound {
        value: Scalar::new(value),
        is_inclusive,
    }
}

fn from(low: ArrayRef, is_inclusive: bool) -> Kind {
    Kind::Range(Range {
        low: Some(bound(low, is_inclusive)),
        high: None,
    })
}

fn up_to(high: ArrayRef, is_inclusive: bool) -> Kind {
    Kind::Range(Range {
        low: None,
        high: Some(bound(high, is_inclusive)),
    })
}

fn everything() -> Kind {
    Kind::Range(Range::default())
}
