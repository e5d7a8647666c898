//! Conditions as plain data, and the functions that build them.

use crate::literal::Literal;

/// A column that a condition looks at: a top-level field, or a flat field of structs.
///
/// Two columns are equal if their names are, wherever they stand in a text.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    at: Option<usize>,
}

/// The column of this name: the name of a top-level field, or the names of a field and of the structs around it, from
/// the outermost one, joined by dots. A name may contain dots itself: the top-level field of the whole name comes
/// first.
pub fn col(name: impl Into<String>) -> Column {
    Column {
        name: name.into(),
        at: None,
    }
}

/// How a column's value is compared with a literal: the value is on the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A condition on the rows of a table. [`col`] begins one.
///
/// [`Display`](std::fmt::Display) writes it as SQL text, which is read back as an equal condition unless it holds
/// null, values of Arrow, or an `AND` or `OR` of fewer than two.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Expr {
    /// A comparison of a column with a literal; unknown for null.
    Compare {
        /// Stands on the left.
        column: Column,
        /// The operator.
        comparison: Comparison,
        /// Stands on the right.
        literal: Literal,
    },
    /// True if the column equals one of the literals; unknown for null, and if none is equal and one is null.
    In {
        /// The column.
        column: Column,
        /// Any number of them. Of none, the condition is false, unless the column is null.
        literals: Vec<Literal>,
    },
    /// True for null, else false.
    IsNull(Column),
    /// True if text is like a pattern; unknown for null. Case is regarded.
    Like {
        /// A column of text.
        column: Column,
        /// `%` stands for any characters, `_` for one character, and a character after `\` for itself.
        pattern: String,
    },
    /// True if all are true, false if one is false. Of none, it is true.
    And(Vec<Expr>),
    /// True if one is true, false if all are false. Of none, it is false.
    Or(Vec<Expr>),
    /// True if it is false, false if it is true.
    Not(Box<Expr>),
}

impl Column {
    /// The name, as [`col`] takes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The character of the condition's text at which the name starts, counted from 1; `None` if it was not text.
    pub fn at(&self) -> Option<usize> {
        self.at
    }

    #[cfg(feature = "sql")]
    pub(crate) fn written(name: String, at: usize) -> Column {
        Column { name, at: Some(at) }
    }

    /// `column = literal`
    pub fn eq(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::Equal, literal)
    }

    /// `column <> literal`
    pub fn ne(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::NotEqual, literal)
    }

    /// `column < literal`
    pub fn lt(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::Less, literal)
    }

    /// `column <= literal`
    pub fn lt_eq(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::LessOrEqual, literal)
    }

    /// `column > literal`
    pub fn gt(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::Greater, literal)
    }

    /// `column >= literal`
    pub fn gt_eq(self, literal: impl Into<Literal>) -> Expr {
        self.compare(Comparison::GreaterOrEqual, literal)
    }

    /// A comparison of the column with a literal.
    pub fn compare(self, comparison: Comparison, literal: impl Into<Literal>) -> Expr {
        Expr::Compare {
            column: self,
            comparison,
            literal: literal.into(),
        }
    }

    /// `column BETWEEN low AND high`, with both ends: `column >= low AND column <= high`.
    pub fn between(self, low: impl Into<Literal>, high: impl Into<Literal>) -> Expr {
        Expr::And(vec![self.clone().gt_eq(low), self.lt_eq(high)])
    }

    /// `column IN (literal, …)`
    pub fn is_in<L: Into<Literal>>(self, literals: impl IntoIterator<Item = L>) -> Expr {
        Expr::In {
            column: self,
            literals: literals.into_iter().map(L::into).collect(),
        }
    }

    /// `column IS NULL`
    pub fn is_null(self) -> Expr {
        Expr::IsNull(self)
    }

    /// `column IS NOT NULL`
    pub fn is_not_null(self) -> Expr {
        self.is_null().not()
    }

    /// `column LIKE pattern`: `%` stands for any characters, `_` for one character, and a character after `\` for
    /// itself.
    pub fn like(self, pattern: impl Into<String>) -> Expr {
        Expr::Like {
            column: self,
            pattern: pattern.into(),
        }
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.name == other.name
    }
}

impl Eq for Column {}

impl Comparison {
    /// The operator in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl Expr {
    /// `self AND other`
    pub fn and(self, other: Expr) -> Expr {
        match self {
            Expr::And(mut all) if range_ends(&all).is_none() => {
                all.push(other);
                Expr::And(all)
            }
            first => Expr::And(vec![first, other]),
        }
    }

    /// `self OR other`
    pub fn or(self, other: Expr) -> Expr {
        match self {
            Expr::Or(mut all) => {
                all.push(other);
                Expr::Or(all)
            }
            first => Expr::Or(vec![first, other]),
        }
    }

    /// `NOT self`
    #[expect(
        clippy::should_implement_trait,
        reason = "it stands beside `and` and `or`, and needs no import"
    )]
    pub fn not(self) -> Expr {
        Expr::Not(Box::new(self))
    }

    /// The names of the columns that it looks at, each once, in the order in which they appear.
    pub fn columns(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut known = std::collections::HashSet::new();
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match expr {
                Expr::Compare { column, .. }
                | Expr::In { column, .. }
                | Expr::IsNull(column)
                | Expr::Like { column, .. } => {
                    if known.insert(column.name()) {
                        names.push(column.name());
                    }
                }
                Expr::And(all) | Expr::Or(all) => rest.extend(all.iter().rev()),
                Expr::Not(inner) => rest.push(inner),
            }
        }
        names
    }
}

/// The column and both ends of `column BETWEEN low AND high`, if that is what two members of an `AND` are.
pub(crate) fn range_ends(all: &[Expr]) -> Option<[&Literal; 2]> {
    match all {
        [
            Expr::Compare {
                column,
                comparison: Comparison::GreaterOrEqual,
                literal: low,
            },
            Expr::Compare {
                column: other,
                comparison: Comparison::LessOrEqual,
                literal: high,
            },
        ] if column == other => Some([low, high]),
        _ => None,
    }
}
