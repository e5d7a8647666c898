//! The tree of `sqlparser` as a condition.

use sqlparser::ast::{
    self, BinaryOperator, Spanned, UnaryOperator, Value as SqlValue, ValueWithSpan,
};
use sqlparser::tokenizer::{Location, Span};

use super::text::Text;
use super::tokens::{LITERALS, POSSIBLE, bytes_of};
use crate::error::FilterError;
use crate::expr::{Column, Comparison, Expr};
use crate::literal::{Literal, Value};
use crate::number::Number;

/// The condition that a tree is.
///
/// # Errors
/// The place of the first part that no condition has.
pub(super) fn condition(tree: &ast::Expr, text: &Text<'_>) -> Result<Expr, FilterError> {
    let negated = |is_negated: bool, expr: Expr| match is_negated {
        true => expr.not(),
        false => expr,
    };
    match tree {
        ast::Expr::Nested(inner) => condition(inner, text),
        ast::Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => Ok(condition(expr, text)?.not()),
        ast::Expr::BinaryOp {
            op: BinaryOperator::And,
            ..
        } => Ok(Expr::And(members(tree, &BinaryOperator::And, text)?)),
        ast::Expr::BinaryOp {
            op: BinaryOperator::Or,
            ..
        } => Ok(Expr::Or(members(tree, &BinaryOperator::Or, text)?)),
        ast::Expr::BinaryOp { left, op, right } => comparison(left, op, right, text),
        ast::Expr::IsNull(inner) => Ok(column(inner, text)?.is_null()),
        ast::Expr::IsNotNull(inner) => Ok(column(inner, text)?.is_not_null()),
        ast::Expr::IsTrue(inner) => is_boolean(inner, true, text),
        ast::Expr::IsFalse(inner) => is_boolean(inner, false, text),
        ast::Expr::IsNotTrue(inner) => Ok(is_boolean(inner, true, text)?.not()),
        ast::Expr::IsNotFalse(inner) => Ok(is_boolean(inner, false, text)?.not()),
        ast::Expr::InList {
            expr,
            list,
            negated: is_negated,
        } => {
            let column = column(expr, text)?;
            let literals = list.iter().map(|it| literal(it, text));
            let literals = literals.collect::<Result<_, _>>()?;
            Ok(negated(*is_negated, Expr::In { column, literals }))
        }
        ast::Expr::Between {
            expr,
            negated: is_negated,
            low,
            high,
        } => {
            let column = column(expr, text)?;
            let (low, high) = (literal(low, text)?, literal(high, text)?);
            Ok(negated(*is_negated, column.between(low, high)))
        }
        ast::Expr::Like {
            negated: is_negated,
            any: false,
            expr,
            pattern,
            escape_char,
        } => {
            let column = column(expr, text)?;
            let pattern = like_pattern(pattern, escape_char.as_ref(), text)?;
            Ok(negated(*is_negated, column.like(pattern)))
        }
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => {
            let column = column(tree, text)?;
            let at = column.at().unwrap_or_default();
            Ok(column.eq(Literal::written(Value::Boolean(true), at, "TRUE")))
        }
        other => {
            let what = format!("no test of a column: {POSSIBLE}");
            Err(FilterError::new(text.character(start(other)), what))
        }
    }
}

/// The members of an `AND` or `OR`: the tree is as deep on the left as it has members.
fn members(
    tree: &ast::Expr,
    joined_by: &BinaryOperator,
    text: &Text<'_>,
) -> Result<Vec<Expr>, FilterError> {
    let mut members = Vec::new();
    let mut left = tree;
    while let ast::Expr::BinaryOp {
        left: more,
        op,
        right,
    } = left
        && op == joined_by
    {
        members.push(right.as_ref());
        left = more;
    }
    members.push(left);
    let in_order = members.into_iter().rev();
    in_order.map(|it| condition(it, text)).collect()
}

fn comparison(
    left: &ast::Expr,
    op: &BinaryOperator,
    right: &ast::Expr,
    text: &Text<'_>,
) -> Result<Expr, FilterError> {
    let comparison = match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => {
            let what = format!("`{op}` is no operator of conditions: {POSSIBLE}");
            return Err(FilterError::new(text.character(start(left)), what));
        }
    };
    if !matches!(bare(left), ast::Expr::Value(_)) {
        let column = column(left, text)?;
        return Ok(column.compare(comparison, literal(right, text)?));
    }
    let flipped = match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    };
    let literal = literal(left, text)?;
    Ok(column(right, text)?.compare(flipped, literal))
}

/// `column IS TRUE` or `column IS FALSE`, which are never unknown.
fn is_boolean(tree: &ast::Expr, value: bool, text: &Text<'_>) -> Result<Expr, FilterError> {
    let column = column(tree, text)?;
    let at = column.at().unwrap_or_default();
    let shown = if value { "TRUE" } else { "FALSE" };
    let literal = Literal::written(Value::Boolean(value), at, shown);
    Ok(column.clone().is_not_null().and(column.eq(literal)))
}

fn column(tree: &ast::Expr, text: &Text<'_>) -> Result<Column, FilterError> {
    let parts = match bare(tree) {
        ast::Expr::Identifier(part) => std::slice::from_ref(part),
        ast::Expr::CompoundIdentifier(parts) => parts,
        other => {
            let at = text.character(start(other));
            return Err(FilterError::new(
                at,
                format!("no column's name: {POSSIBLE}"),
            ));
        }
    };
    let names: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
    let at = parts.first().map_or(Location::empty(), |it| it.span.start);
    Ok(Column::written(names.join("."), text.character(at)))
}

fn literal(tree: &ast::Expr, text: &Text<'_>) -> Result<Literal, FilterError> {
    let tree = bare(tree);
    let refuse = |span: Span, hint: &str| {
        let what = format!("`{}` instead of {LITERALS}{hint}", text.shown(span));
        FilterError::new(text.character(span.start), what)
    };
    let (value, span) = match tree {
        ast::Expr::Value(ValueWithSpan { value, span }) => (value, *span),
        ast::Expr::Identifier(name) => {
            let is_quoted = text.slice(name.span).starts_with('"');
            let is_not_finite = ["nan", "inf", "infinity"]
                .iter()
                .any(|it| name.value.eq_ignore_ascii_case(it));
            let hint = match (is_quoted, is_not_finite) {
                (true, _) => "; text stands in single quotes, names in double ones",
                (false, true) => "; only finite numbers can be written",
                (false, false) => {
                    "; text stands in single quotes, and no column can be compared with another"
                }
            };
            return Err(refuse(name.span, hint));
        }
        ast::Expr::CompoundIdentifier(_) => {
            let hint = "; no column can be compared with another";
            return Err(refuse(tree.span(), hint));
        }
        other => {
            let what = format!("no literal: {LITERALS}");
            return Err(FilterError::new(text.character(start(other)), what));
        }
    };
    let value = match value {
        SqlValue::Number(digits, _) => Number::parse(digits).map(Value::Number),
        SqlValue::SingleQuotedString(text) => Some(Value::Text(text.clone())),
        SqlValue::HexStringLiteral(digits) => bytes_of(digits).map(Value::Bytes),
        SqlValue::Boolean(value) => Some(Value::Boolean(*value)),
        SqlValue::Null => {
            return Err(refuse(span, "; nothing equals null: write IS NULL"));
        }
        _ => None,
    };
    let value = value.ok_or_else(|| refuse(span, ""))?;
    let at = text.character(span.start);
    Ok(Literal::written(value, at, text.slice(span)))
}

/// The pattern of a `LIKE`, with `\` for the character that `ESCAPE` names.
fn like_pattern(
    tree: &ast::Expr,
    escape: Option<&ValueWithSpan>,
    text: &Text<'_>,
) -> Result<String, FilterError> {
    let literal = literal(tree, text)?;
    let Value::Text(pattern) = &literal.value else {
        let what = format!("`{}` instead of a pattern, such as 'a%'", literal.shown());
        return Err(FilterError::new(literal.at, what));
    };
    let Some(ValueWithSpan { value, span }) = escape else {
        return Ok(pattern.clone());
    };
    let escape = match value {
        SqlValue::SingleQuotedString(text) => {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none())
        }
        _ => None,
    };
    let Some(escape) = escape else {
        let what = format!("`{}` instead of one character in quotes", text.shown(*span));
        return Err(FilterError::new(text.character(span.start), what));
    };
    let mut written = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c == escape {
            written.push('\\');
            written.push(characters.next().unwrap_or(escape));
        } else {
            written.extend((c == '\\').then_some('\\'));
            written.push(c);
        }
    }
    Ok(written)
}

/// The tree without parentheses around it.
fn bare(mut tree: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = tree {
        tree = inner;
    }
    tree
}

/// Where a tree starts. It may be deep on the left, so the parser's own spans are asked for its first leaf alone.
fn start(mut tree: &ast::Expr) -> Location {
    loop {
        tree = match tree {
            ast::Expr::BinaryOp { left: inner, .. }
            | ast::Expr::UnaryOp { expr: inner, .. }
            | ast::Expr::Nested(inner)
            | ast::Expr::IsNull(inner)
            | ast::Expr::IsNotNull(inner)
            | ast::Expr::IsTrue(inner)
            | ast::Expr::IsNotTrue(inner)
            | ast::Expr::IsFalse(inner)
            | ast::Expr::IsNotFalse(inner)
            | ast::Expr::InList { expr: inner, .. }
            | ast::Expr::Between { expr: inner, .. }
            | ast::Expr::Like { expr: inner, .. } => inner,
            ast::Expr::Tuple(all) => match all.first() {
                Some(first) => first,
                None => return tree.span().start,
            },
            leaf => return leaf.span().start,
        };
    }
}
