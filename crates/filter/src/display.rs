//! Conditions as SQL text.

use std::fmt::{self, Display, Formatter};

use crate::expr::{Column, Expr, range_ends};
use crate::literal::write_text;

/// Words that are no name without quotes.
const KEYWORDS: [&str; 12] = [
    "and", "between", "escape", "false", "ilike", "in", "is", "like", "not", "null", "or", "true",
];

/// True if the text reads a word as a keyword, not as a name.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// Writes the name, in double quotes where it has to be.
impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_word = |part: &str| {
            let starts = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let follows = part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            starts && follows && !is_keyword(part)
        };
        match self.name().split('.').all(is_word) {
            true => f.write_str(self.name()),
            false => write!(f, "\"{}\"", self.name().replace('"', "\"\"")),
        }
    }
}

/// Writes the condition as SQL text. `AND` of none is written `TRUE`, `OR` of none `FALSE`.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Compare {
                column,
                comparison,
                literal,
            } => write!(f, "{column} {} {literal}", comparison.symbol()),
            Expr::In { .. } | Expr::IsNull(_) | Expr::Like { .. } => test(f, self, ""),
            Expr::And(all) if range_ends(all).is_some() => test(f, self, ""),
            Expr::And(all) => list(f, all, " AND ", "TRUE"),
            Expr::Or(all) => list(f, all, " OR ", "FALSE"),
            Expr::Not(inner) => match inner.as_ref() {
                Expr::In { .. } | Expr::IsNull(_) | Expr::Like { .. } => test(f, inner, "NOT "),
                Expr::And(all) if range_ends(all).is_some() => test(f, inner, "NOT "),
                _ => write!(f, "NOT ({inner})"),
            },
        }
    }
}

/// Writes a test in which `NOT` stands in front of the operator.
fn test(f: &mut Formatter<'_>, expr: &Expr, not: &str) -> fmt::Result {
    match expr {
        Expr::In { column, literals } => {
            write!(f, "{column} {not}IN (")?;
            for (i, literal) in literals.iter().enumerate() {
                f.write_str(if i == 0 { "" } else { ", " })?;
                literal.fmt(f)?;
            }
            f.write_str(")")
        }
        Expr::IsNull(column) => write!(f, "{column} IS {not}NULL"),
        Expr::Like { column, pattern } => {
            write!(f, "{column} {not}LIKE ")?;
            write_text(f, pattern)
        }
        Expr::And(all) => match (range_ends(all), all.first()) {
            (Some([low, high]), Some(Expr::Compare { column, .. })) => {
                write!(f, "{column} {not}BETWEEN {low} AND {high}")
            }
            _ => list(f, all, " AND ", "TRUE"),
        },
        _ => expr.fmt(f),
    }
}

/// Writes members of an `AND` or `OR`: those that are one themselves in parentheses.
fn list(f: &mut Formatter<'_>, all: &[Expr], between: &str, of_none: &str) -> fmt::Result {
    if all.is_empty() {
        return f.write_str(of_none);
    }
    for (i, expr) in all.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { between })?;
        match expr {
            Expr::And(members) if range_ends(members).is_some() => expr.fmt(f)?,
            Expr::And(_) | Expr::Or(_) => write!(f, "({expr})")?,
            _ => expr.fmt(f)?,
        }
    }
    Ok(())
}
