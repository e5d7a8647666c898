//! Conditions as text: tokens, and what they say.

use std::fmt;
use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

use super::number::Number;

/// Characters of a token that an error shows.
const SHOWN_CHARS: usize = 40;

/// A condition on the rows of a table: tests of columns that must all be passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    pub(super) terms: Vec<Term>,
}

/// Why a text is no condition, or none for the columns at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredicateError {
    /// The character of the text that it is about, counted from 1.
    pub at: usize,
    /// Describes the mistake.
    pub what: String,
}

impl PredicateError {
    pub(super) fn new(at: usize, what: impl Into<String>) -> PredicateError {
        PredicateError {
            at,
            what: what.into(),
        }
    }
}

impl fmt::Display for PredicateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.at, self.what)
    }
}

impl std::error::Error for PredicateError {}

/// A test of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) column: String,
    /// Where the column's name starts.
    pub(super) at: usize,
    pub(super) test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    Equal(Literal),
    /// At least one.
    In(Vec<Literal>),
    /// Both ends belong to it.
    Between(Literal, Literal),
    IsNull,
    IsNotNull,
}

/// A value as it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) value: Value,
    /// Where it starts.
    pub(super) at: usize,
    /// Its text, cut short.
    pub(super) shown: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Number(Number),
    Text(String),
    Bytes(Vec<u8>),
    Boolean(bool),
}

impl FromStr for Predicate {
    type Err = PredicateError;

    /// Reads `column = literal`, `column IN (literal, …)`, `column BETWEEN literal AND literal`, `column IS NULL` and
    /// `column IS NOT NULL`, joined by `AND`. Keywords may be in any case.
    ///
    /// # Errors
    /// [`PredicateError`] with the first character that is not like that.
    fn from_str(text: &str) -> Result<Predicate, PredicateError> {
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            end: text.chars().count() + 1,
        };
        let mut terms = vec![parser.term()?];
        while let Some(token) = parser.tokens.next() {
            if !token.is_keyword("and") {
                return Err(token.unexpected("AND between tests"));
            }
            terms.push(parser.term()?);
        }
        Ok(Predicate { terms })
    }
}

#[derive(Debug)]
struct Token {
    kind: Kind,
    at: usize,
    shown: String,
}

#[derive(Debug)]
enum Kind {
    /// A keyword, or a name without quotes.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    Literal(Value),
    /// Other characters that belong together.
    Symbol(String),
}

const KEYWORDS: [&str; 10] = [
    "and", "between", "false", "in", "is", "like", "not", "null", "or", "true",
];

impl Token {
    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(&self.kind, Kind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(&self.kind, Kind::Symbol(it) if it == symbol)
    }

    /// The error for a token that cannot stand here.
    fn unexpected(&self, wanted: &str) -> PredicateError {
        let hint = match &self.kind {
            Kind::Symbol(it) if it == "==" => "; one `=` compares",
            Kind::Symbol(it) if ["<", ">", "<=", ">=", "!=", "<>"].contains(&it.as_str()) => {
                "; there are =, IN, BETWEEN, IS NULL and IS NOT NULL"
            }
            Kind::Symbol(it) if it == "." => {
                "; fields of nested columns cannot be tested, and a name with a point stands in double quotes"
            }
            Kind::Word(_) if self.is_keyword("or") => "; tests are joined by AND only",
            Kind::Word(_) if self.is_keyword("not") || self.is_keyword("like") => {
                "; there are =, IN, BETWEEN, IS NULL and IS NOT NULL"
            }
            _ => "",
        };
        let what = format!("`{}` instead of {wanted}{hint}", self.shown);
        PredicateError::new(self.at, what)
    }
}

struct Parser {
    tokens: Peekable<std::vec::IntoIter<Token>>,
    /// The character behind the last one.
    end: usize,
}

impl Parser {
    fn next(&mut self, wanted: &str) -> Result<Token, PredicateError> {
        self.tokens
            .next()
            .ok_or_else(|| PredicateError::new(self.end, format!("the end instead of {wanted}")))
    }

    fn symbol(&mut self, symbol: &str) -> Result<(), PredicateError> {
        let wanted = format!("`{symbol}`");
        let token = self.next(&wanted)?;
        match token.is_symbol(symbol) {
            true => Ok(()),
            false => Err(token.unexpected(&wanted)),
        }
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), PredicateError> {
        let wanted = keyword.to_ascii_uppercase();
        let token = self.next(&wanted)?;
        match token.is_keyword(keyword) {
            true => Ok(()),
            false => Err(token.unexpected(&wanted)),
        }
    }

    fn term(&mut self) -> Result<Term, PredicateError> {
        let token = self.next("a column's name")?;
        let column = match token.kind {
            Kind::Quoted(name) => name,
            Kind::Word(ref word) if is_keyword(word) => {
                let wanted = "a column's name (in double quotes, if it is a keyword)";
                return Err(token.unexpected(wanted));
            }
            Kind::Word(name) => name,
            Kind::Literal(_) | Kind::Symbol(_) => {
                return Err(token.unexpected("a column's name"));
            }
        };
        Ok(Term {
            column,
            at: token.at,
            test: self.test()?,
        })
    }

    fn test(&mut self) -> Result<Test, PredicateError> {
        const WANTED: &str = "=, IN, BETWEEN or IS";
        let token = self.next(WANTED)?;
        if token.is_symbol("=") {
            return self.literal().map(Test::Equal);
        }
        if token.is_keyword("in") {
            return self.list().map(Test::In);
        }
        if token.is_keyword("between") {
            let low = self.literal()?;
            self.keyword("and")?;
            return Ok(Test::Between(low, self.literal()?));
        }
        if token.is_keyword("is") {
            let is_not = self.tokens.next_if(|it| it.is_keyword("not")).is_some();
            self.keyword("null")?;
            return Ok(match is_not {
                true => Test::IsNotNull,
                false => Test::IsNull,
            });
        }
        Err(token.unexpected(WANTED))
    }

    fn list(&mut self) -> Result<Vec<Literal>, PredicateError> {
        self.symbol("(")?;
        let mut literals = vec![self.literal()?];
        loop {
            let token = self.next("`,` or `)`")?;
            if token.is_symbol(")") {
                return Ok(literals);
            }
            if !token.is_symbol(",") {
                return Err(token.unexpected("`,` or `)`"));
            }
            literals.push(self.literal()?);
        }
    }

    fn literal(&mut self) -> Result<Literal, PredicateError> {
        const WANTED: &str = "a number, 'text', true or false";
        let token = self.next(WANTED)?;
        let hint = |hint: &str| token.unexpected(&format!("{WANTED}; {hint}"));
        let value = match &token.kind {
            Kind::Literal(value) => value.clone(),
            Kind::Word(_) if token.is_keyword("true") => Value::Boolean(true),
            Kind::Word(_) if token.is_keyword("false") => Value::Boolean(false),
            Kind::Word(_) if token.is_keyword("null") => {
                return Err(hint("nothing equals null: write IS NULL"));
            }
            Kind::Word(word)
                if ["nan", "inf", "infinity"]
                    .iter()
                    .any(|it| word.eq_ignore_ascii_case(it)) =>
            {
                return Err(hint("only finite numbers can be written"));
            }
            Kind::Word(_) => return Err(hint("text stands in single quotes")),
            Kind::Quoted(_) => {
                return Err(hint("text stands in single quotes, names in double ones"));
            }
            Kind::Symbol(_) => return Err(token.unexpected(WANTED)),
        };
        Ok(Literal {
            value,
            at: token.at,
            shown: token.shown,
        })
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// A text's characters, with the number of the next one.
struct Characters<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    /// Counted from 1.
    at: usize,
}

impl<'a> Characters<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, c)| *c)
    }

    fn next_if(&mut self, is_wanted: impl Fn(char) -> bool) -> Option<char> {
        let (_, c) = self.rest.next_if(|(_, c)| is_wanted(*c))?;
        self.at += 1;
        Some(c)
    }

    fn skip_while(&mut self, is_wanted: impl Fn(char) -> bool) {
        while self.next_if(&is_wanted).is_some() {}
    }

    /// The byte at which the next character starts.
    fn byte(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(byte, _)| *byte)
    }

    fn since(&mut self, start: usize) -> &'a str {
        let end = self.byte();
        self.text.get(start..end).unwrap_or_default()
    }

    /// Reads what stands between quotes, of which two stand for one. The opening one is passed.
    fn quoted(&mut self, quote: char, at: usize) -> Result<String, PredicateError> {
        let mut inner = String::new();
        loop {
            let Some(c) = self.next_if(|_| true) else {
                return Err(PredicateError::new(at, format!("no closing {quote}")));
            };
            if c != quote || self.next_if(|c| c == quote).is_some() {
                inner.push(c);
            } else {
                return Ok(inner);
            }
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, PredicateError> {
    let mut characters = Characters {
        text,
        rest: text.char_indices().peekable(),
        at: 1,
    };
    let mut tokens = Vec::new();
    loop {
        characters.skip_while(char::is_whitespace);
        let (at, start) = (characters.at, characters.byte());
        let Some(first) = characters.next_if(|_| true) else {
            return Ok(tokens);
        };
        let kind = match first {
            '"' => Kind::Quoted(characters.quoted('"', at)?),
            '\'' => Kind::Literal(Value::Text(characters.quoted('\'', at)?)),
            'x' | 'X' if characters.next_if(|c| c == '\'').is_some() => {
                let digits = characters.quoted('\'', at)?;
                Kind::Literal(Value::Bytes(bytes_of(&digits).ok_or_else(|| {
                    PredicateError::new(
                        at,
                        "no bytes: pairs of hexadecimal digits, such as X'0aff'",
                    )
                })?))
            }
            c if c.is_alphabetic() || c == '_' => {
                characters.skip_while(is_of_word);
                Kind::Word(characters.since(start).to_owned())
            }
            c if starts_number(c, characters.peek()) => {
                // A sign belongs to it behind an exponent's `e` only.
                let mut last = c;
                while let Some(c) = characters.next_if(|c| {
                    is_of_word(c)
                        || c == '.'
                        || (matches!(last, 'e' | 'E') && matches!(c, '+' | '-'))
                }) {
                    last = c;
                }
                let number = characters.since(start);
                Kind::Literal(Value::Number(Number::parse(number).ok_or_else(|| {
                    PredicateError::new(at, format!("`{}` is no number", cut(number)))
                })?))
            }
            c if is_of_comparison(c) => {
                characters.skip_while(is_of_comparison);
                Kind::Symbol(characters.since(start).to_owned())
            }
            c => Kind::Symbol(c.to_string()),
        };
        tokens.push(Token {
            kind,
            at,
            shown: cut(characters.since(start)),
        });
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_of_comparison(c: char) -> bool {
    matches!(c, '=' | '<' | '>' | '!')
}

fn starts_number(first: char, second: Option<char>) -> bool {
    let follows = |c: char| c.is_ascii_digit() || c == '.';
    match first {
        '+' | '-' => second.is_some_and(follows),
        '.' => second.is_some_and(|c| c.is_ascii_digit()),
        c => c.is_ascii_digit(),
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let byte = |pair: &[u8; 2]| {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        u8::try_from(high? << 4 | low?).ok()
    };
    pairs.iter().map(byte).collect()
}

/// The start of a text, for a message.
fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(SHOWN_CHARS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Predicate, String> {
        text.parse()
            .map_err(|error: PredicateError| error.to_string())
    }

    fn number(text: &str) -> Value {
        Value::Number(Number::parse(text).unwrap())
    }

    /// Column, position and test of each term; literals without position.
    fn terms(text: &str) -> Vec<Term> {
        let mut terms = parse(text).unwrap().terms;
        for term in &mut terms {
            let clear = |literal: &mut Literal| {
                literal.at = 0;
                literal.shown.clear();
            };
            match &mut term.test {
                Test::Equal(it) => clear(it),
                Test::In(all) => all.iter_mut().for_each(clear),
                Test::Between(low, high) => [low, high].into_iter().for_each(clear),
                Test::IsNull | Test::IsNotNull => {}
            }
        }
        terms
    }

    fn literal(value: Value) -> Literal {
        Literal {
            value,
            at: 0,
            shown: String::new(),
        }
    }

    #[test]
    fn tests_are_joined_by_and() {
        let term = |column: &str, at, test| Term {
            column: column.into(),
            at,
            test,
        };
        let text = |text: &str| literal(Value::Text(text.into()));
        assert_eq!(
            terms("user_id = 42"),
            [term("user_id", 1, Test::Equal(literal(number("42"))))]
        );
        let all = "größe\tBetween -1.5e+3 aNd .5 and \"a \"\"b\"\".c\" In('it''s',  '')\nAND n is NULL and \"and\" IS not \
                   null AND x=X'0aFF' AND x1=TRUE";
        assert_eq!(
            terms(all),
            [
                term(
                    "größe",
                    1,
                    Test::Between(literal(number("-1500")), literal(number("0.5")))
                ),
                term("a \"b\".c", 34, Test::In(vec![text("it's"), text("")])),
                term("n", 67, Test::IsNull),
                term("and", 81, Test::IsNotNull),
                term("x", 103, Test::Equal(literal(Value::Bytes(vec![10, 255])))),
                term("x1", 117, Test::Equal(literal(Value::Boolean(true)))),
            ]
        );
        assert_eq!(terms("a='b'AND c=1").len(), 2);
        assert_eq!(terms("a IN (1)"), terms("a in(1)"));
    }

    #[test]
    fn errors_name_the_character() {
        for (text, what) in [
            ("", "character 1: the end instead of a column's name"),
            ("  ", "character 3: the end instead of a column's name"),
            ("a", "character 2: the end instead of =, IN, BETWEEN or IS"),
            ("a =", "character 4: the end instead of a number"),
            (
                "a = 1 AND",
                "character 10: the end instead of a column's name",
            ),
            (
                "a = 1 b = 2",
                "character 7: `b` instead of AND between tests",
            ),
            (
                "a = 1 OR b = 2",
                "character 7: `OR` instead of AND between tests; tests are joined by AND only",
            ),
            (
                "a == 1",
                "character 3: `==` instead of =, IN, BETWEEN or IS; one `=` compares",
            ),
            (
                "a <> 1",
                "character 3: `<>` instead of =, IN, BETWEEN or IS; there are",
            ),
            ("a<1", "character 2: `<` instead of"),
            (
                "a NOT IN (1)",
                "character 3: `NOT` instead of =, IN, BETWEEN or IS; there are",
            ),
            (
                "u.age = 1",
                "character 2: `.` instead of =, IN, BETWEEN or IS; fields of nested",
            ),
            ("NOT a = 1", "character 1: `NOT` instead of a column's name"),
            (
                "in = 1",
                "character 1: `in` instead of a column's name (in double quotes",
            ),
            ("1 = a", "character 1: `1` instead of a column's name"),
            ("(a = 1)", "character 1: `(` instead of a column's name"),
            (
                "a = b",
                "character 5: `b` instead of a number, 'text', true or false; text stands in single quotes",
            ),
            (
                "a = \"b\"",
                "character 5: `\"b\"` instead of a number, 'text', true or false; text stands",
            ),
            (
                "a = null",
                "character 5: `null` instead of a number, 'text', true or false; nothing equals null",
            ),
            ("a IN (1, NULL)", "character 10: `NULL` instead of"),
            (
                "a = NaN",
                "character 5: `NaN` instead of a number, 'text', true or false; only finite",
            ),
            ("a = -inf", "character 5: `-` instead of a number"),
            ("a = 1x", "character 5: `1x` is no number"),
            ("a = 1.2.3", "character 5: `1.2.3` is no number"),
            ("a = 1e", "character 5: `1e` is no number"),
            ("a = 1-2", "character 6: `-2` instead of AND between tests"),
            ("a = ++1", "character 5: `+` instead of a number"),
            ("a = 'it", "character 5: no closing '"),
            ("a = 'it''", "character 5: no closing '"),
            ("\"a = 1", "character 1: no closing \""),
            ("a = X'0'", "character 5: no bytes"),
            ("a = X'0g'", "character 5: no bytes"),
            ("a IN ()", "character 7: `)` instead of a number"),
            ("a IN (1", "character 8: the end instead of `,` or `)`"),
            ("a IN (1 2)", "character 9: `2` instead of `,` or `)`"),
            ("a IN (1,)", "character 9: `)` instead of a number"),
            ("a IN 1", "character 6: `1` instead of `(`"),
            ("a BETWEEN 1 OR 2", "character 13: `OR` instead of AND"),
            ("a BETWEEN 1", "character 12: the end instead of AND"),
            ("a IS 1", "character 6: `1` instead of NULL"),
            ("a IS NOT", "character 9: the end instead of NULL"),
            (
                "ä = 'ö' ; 1",
                "character 9: `;` instead of AND between tests",
            ),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(what), "{text}: {found}");
        }
        let long = parse(&format!("a = {}x", "1".repeat(1 << 20))).unwrap_err();
        assert!(long.len() < 100, "{}", long.len());
    }
}
