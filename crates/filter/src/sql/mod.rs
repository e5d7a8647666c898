//! Conditions as SQL text.
//!
//! | file | job |
//! |---|---|
//! | `tokens` | tokens of the text, of which only those of conditions are let through |
//! | `convert` | the tree that `sqlparser` makes of them, as a condition |
//! | `text` | places in the text |
//!
//! `sqlparser` reads all of SQL in many dialects. So that it never comes near the rest of it, words that are no
//! keywords of conditions reach it as quoted names, and functions, operators and literals of other kinds do not reach
//! it.

mod convert;
mod text;
mod tokens;

use std::str::FromStr;

use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::error::FilterError;
use crate::expr::Expr;
use text::Text;

/// Most parentheses and operators inside of each other.
const DEPTH_MAX: usize = 50;

impl FromStr for Expr {
    type Err = FilterError;

    /// Reads a condition in SQL: comparisons of a column with a literal (`=`, `<>`, `!=`, `<`, `<=`, `>`, `>=`),
    /// `[NOT] IN`, `[NOT] BETWEEN`, `[NOT] LIKE` with `ESCAPE`, `IS [NOT] NULL`, `IS [NOT] TRUE` and `IS [NOT] FALSE`,
    /// columns that are booleans, `AND`, `OR`, `NOT` and parentheses.
    ///
    /// Keywords may be in any case, names may not. A name that is no word, or is a keyword, stands in double quotes;
    /// fields of structs follow a dot. Literals are numbers, `'text'`, `X'0aff'`, `TRUE` and `FALSE`; `DATE`, `TIME`
    /// and
    /// `TIMESTAMP` may stand in front of text.
    ///
    /// # Errors
    /// [`FilterError`] with the first character that is not like that; text with more than 1,000 operators, keywords
    /// and parentheses, or with too many of them inside of each other. `NULL` is no literal, since nothing equals it.
    fn from_str(text: &str) -> Result<Expr, FilterError> {
        let text = Text::new(text);
        let tokens = tokens::of(&text)?;
        let mut parser = Parser::new(&GenericDialect {})
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens);
        let expr = parser
            .parse_expr()
            .map_err(|error| parse_error(&text, error))?;
        let next = parser.peek_token();
        if next.token != Token::EOF {
            let what = format!("`{}` instead of AND or OR", text.shown(next.span));
            return Err(FilterError::new(text.character(next.span.start), what));
        }
        convert::condition(&expr, &text)
    }
}

/// The error of the parser with its place as a character.
fn parse_error(text: &Text<'_>, error: ParserError) -> FilterError {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            let what = "too many parentheses and operators inside of each other";
            return FilterError::new(None, what);
        }
    };
    let (what, place) = text::split_place(&message);
    let at = place.map_or(text.end(), |place| text.character(place));
    let wanted = what
        .strip_prefix("Expected: ")
        .and_then(|it| it.rsplit_once(", found: "));
    let what = match (wanted, place) {
        (None, _) => what.to_owned(),
        (Some((wanted, _)), Some(place)) => {
            format!("`{}` instead of {}", text.token_at(place), readable(wanted))
        }
        (Some((wanted, _)), None) => format!("the end instead of {}", readable(wanted)),
    };
    FilterError::new(at, what)
}

/// Returns what the parser wants, in the words of conditions.
fn readable(wanted: &str) -> &str {
    match wanted {
        "an expression" => "a column's name, a number, 'text', true or false",
        "[NOT] NULL | TRUE | FALSE | DISTINCT | [form] NORMALIZED FROM after IS" => {
            "[NOT] NULL, TRUE or FALSE"
        }
        other => other,
    }
}
