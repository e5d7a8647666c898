//! Tokens of conditions. All others are refused, with their place.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{
    Span, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace, Word,
};

use super::text::Text;
use crate::display::is_keyword;
use crate::error::FilterError;
use crate::number::Number;

/// Most operators, keywords and parentheses: the parser and the trees that it makes go as deep as there are many.
const OPERATORS_MAX: usize = 1_000;

/// Says what a literal can be.
pub(super) const LITERALS: &str = "a number, 'text', true or false";

/// Says what a condition can be.
pub(super) const POSSIBLE: &str = "a condition compares a column with a literal by =, <>, <, <=, >, >=, IN, BETWEEN, \
                                   LIKE or IS NULL; AND, OR, NOT and parentheses join such tests";

/// The tokens of a text, as the parser gets them: names are quoted, signs are part of their numbers, and `DATE '…'`
/// is text.
///
/// # Errors
/// The first token that no condition has, or that cannot follow the one in front of it.
pub(super) fn of(text: &Text<'_>) -> Result<Vec<TokenWithSpan>, FilterError> {
    let tokens = Tokenizer::new(&GenericDialect {}, text.as_str())
        .tokenize_with_location()
        .map_err(|error| tokenize_error(text, error))?;
    let mut reader = Reader {
        text,
        out: Vec::with_capacity(tokens.len()),
        n_operators: 0,
    };
    let mut tokens = tokens
        .into_iter()
        .filter(|it| !is_space(&it.token))
        .peekable();
    while let Some(token) = tokens.next() {
        let used_next = reader.read(token, tokens.peek())?;
        if used_next {
            tokens.next();
        }
    }
    Ok(reader.out)
}

fn is_space(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(Whitespace::Space | Whitespace::Newline | Whitespace::Tab)
    )
}

fn tokenize_error(text: &Text<'_>, error: TokenizerError) -> FilterError {
    let what = match error.message.as_str() {
        it if it.starts_with("Unterminated string") => "no closing '",
        it if it.starts_with("Expected close delimiter '\"'") => "no closing \"",
        other => other,
    };
    FilterError::new(text.character(error.location), what)
}

struct Reader<'a> {
    text: &'a Text<'a>,
    out: Vec<TokenWithSpan>,
    n_operators: usize,
}

impl Reader<'_> {
    /// Takes a token; true if the next one was taken with it.
    fn read(
        &mut self,
        token: TokenWithSpan,
        next: Option<&TokenWithSpan>,
    ) -> Result<bool, FilterError> {
        let span = token.span;
        match token.token {
            Token::Word(word) => return self.word(word, span, next),
            Token::Number(digits, is_long) => {
                self.adjacent_number(span)?;
                if is_long || Number::parse(&digits).is_none() {
                    return Err(self.refuse(span, "is no number"));
                }
                self.operand(Token::Number(digits, false), span)?;
            }
            Token::SingleQuotedString(_) => self.operand(token.token, span)?,
            Token::HexStringLiteral(ref digits) => {
                if self.text.slice(span).starts_with('0') {
                    return Err(self.refuse(span, "is no number"));
                }
                if bytes_of(digits).is_none() {
                    let what = "no bytes: pairs of hexadecimal digits, such as X'0aff'";
                    return Err(FilterError::new(self.text.character(span.start), what));
                }
                self.operand(token.token, span)?;
            }
            Token::Plus | Token::Minus => return self.sign(token, next),
            Token::LParen => {
                if self.follows_operand() {
                    return Err(self.unexpected(span, "an operator, AND or OR"));
                }
                self.operator(Token::LParen, span)?;
            }
            Token::RParen if self.last_is(&Token::LParen) || self.last_is(&Token::Comma) => {
                return Err(self.unexpected(span, LITERALS));
            }
            // Dots are counted, too, since the parser takes long over names with many.
            Token::RParen
            | Token::Period
            | Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::Gt
            | Token::LtEq
            | Token::GtEq => self.operator(token.token, span)?,
            Token::Comma => self.push(token.token, span),
            Token::DoubleEq => {
                return Err(self.refuse(span, "is no operator; one `=` compares"));
            }
            Token::Whitespace(_) => {
                return Err(self.refuse(span, "is a comment, which a condition cannot have"));
            }
            Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::SingleQuotedRawStringLiteral(_) => {
                return Err(self.refuse(span, "is no literal; text stands in single quotes"));
            }
            _ => return Err(self.refuse(span, &format!("cannot stand here: {POSSIBLE}"))),
        }
        Ok(false)
    }

    fn word(
        &mut self,
        word: Word,
        span: Span,
        next: Option<&TokenWithSpan>,
    ) -> Result<bool, FilterError> {
        let next_is = |token: &Token| next.is_some_and(|it| it.token == *token);
        let is_of_path = self.last_is(&Token::Period);
        match word.quote_style {
            Some('"') => {}
            Some(_) => return Err(self.refuse(span, "is no name: it stands in double quotes")),
            None if is_of_path => {}
            None => {
                self.adjacent_number(span)?;
                if self.is_keyword(&word.value) {
                    return self.keyword(word, span);
                }
                if ["date", "time", "timestamp"]
                    .iter()
                    .any(|it| word.value.eq_ignore_ascii_case(it))
                    && let Some(TokenWithSpan {
                        token: Token::SingleQuotedString(text),
                        span: of_text,
                    }) = next
                {
                    let text = Token::SingleQuotedString(text.clone());
                    self.operand(text, span.union(of_text))?;
                    return Ok(true);
                }
            }
        }
        if next_is(&Token::LParen) {
            let what = format!("is a function, which a condition cannot have: {POSSIBLE}");
            return Err(self.refuse(span, &what));
        }
        let name = Token::make_word(&word.value, Some('"'));
        match is_of_path {
            true => self.push(name, span),
            false => self.operand(name, span)?,
        }
        Ok(false)
    }

    /// True for a keyword of conditions. `ESCAPE` is one behind a pattern.
    fn is_keyword(&self, word: &str) -> bool {
        let follows_text = matches!(
            self.out.last().map(|it| &it.token),
            Some(Token::SingleQuotedString(_))
        );
        is_keyword(word) && (follows_text || !word.eq_ignore_ascii_case("escape"))
    }

    fn keyword(&mut self, word: Word, span: Span) -> Result<bool, FilterError> {
        if word.value.eq_ignore_ascii_case("ilike") {
            return Err(self.refuse(span, "is not there; LIKE tests text, with regard to case"));
        }
        let is = |keyword: &str| word.value.eq_ignore_ascii_case(keyword);
        let follows = match self.out.as_slice() {
            // `column NOT IN`
            [.., before, last] if is("in") || is("like") || is("between") => {
                is_operand(&last.token) || is_word(&last.token, "not") && is_operand(&before.token)
            }
            _ => self.follows_operand(),
        };
        let is_infix = ["and", "between", "in", "is", "like", "or"];
        if is_infix.into_iter().any(is) && !follows {
            let wanted = "a column's name (in double quotes, if it is a keyword)";
            return Err(self.unexpected(span, wanted));
        }
        if VALUES.into_iter().any(is) && self.follows_operand() {
            return Err(self.unexpected(span, "an operator, AND or OR"));
        }
        self.operator(Token::Word(word), span)?;
        Ok(false)
    }

    /// Takes a sign together with its number.
    fn sign(
        &mut self,
        token: TokenWithSpan,
        next: Option<&TokenWithSpan>,
    ) -> Result<bool, FilterError> {
        let span = token.span;
        if self.follows_operand() {
            return Err(
                self.unexpected(span, "an operator, AND or OR; a condition cannot calculate")
            );
        }
        let Some(TokenWithSpan {
            token: Token::Number(digits, false),
            span: of_digits,
        }) = next
        else {
            return Err(self.unexpected(span, LITERALS));
        };
        let sign = if token.token == Token::Minus { "-" } else { "" };
        let number = Token::Number(format!("{sign}{digits}"), false);
        self.operand(number, span.union(of_digits))?;
        Ok(true)
    }

    /// Takes a name or literal.
    fn operand(&mut self, token: Token, span: Span) -> Result<(), FilterError> {
        if self.follows_operand() {
            return Err(self.unexpected(span, "an operator, AND or OR"));
        }
        self.push(token, span);
        Ok(())
    }

    fn operator(&mut self, token: Token, span: Span) -> Result<(), FilterError> {
        self.n_operators += 1;
        if self.n_operators > OPERATORS_MAX {
            let what = format!("more than {OPERATORS_MAX} operators, keywords and parentheses");
            return Err(FilterError::new(self.text.character(span.start), what));
        }
        self.push(token, span);
        Ok(())
    }

    fn push(&mut self, token: Token, span: Span) {
        self.out.push(TokenWithSpan { token, span });
    }

    fn last_is(&self, token: &Token) -> bool {
        self.out.last().is_some_and(|it| it.token == *token)
    }

    /// True behind a name, a literal or a closing parenthesis: an operator must follow.
    fn follows_operand(&self) -> bool {
        self.out.last().is_some_and(|it| is_operand(&it.token))
    }

    /// Refuses what stands right behind a number, such as the `x` in `1x`.
    fn adjacent_number(&self, span: Span) -> Result<(), FilterError> {
        match self.out.last() {
            Some(TokenWithSpan {
                token: Token::Number(..),
                span: of_number,
            }) if of_number.end == span.start => {
                Err(self.refuse(of_number.union(&span), "is no number"))
            }
            _ => Ok(()),
        }
    }

    fn refuse(&self, span: Span, why: &str) -> FilterError {
        let what = format!("`{}` {why}", self.text.shown(span));
        FilterError::new(self.text.character(span.start), what)
    }

    fn unexpected(&self, span: Span, wanted: &str) -> FilterError {
        self.refuse(span, &format!("instead of {wanted}"))
    }
}

/// Keywords that are values.
const VALUES: [&str; 3] = ["true", "false", "null"];

/// True for a name, a literal or a closing parenthesis.
fn is_operand(token: &Token) -> bool {
    match token {
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::RParen => true,
        Token::Word(word) => {
            word.quote_style.is_some() || VALUES.into_iter().any(|it| is_word(token, it))
        }
        _ => false,
    }
}

/// True for this word without quotes, in any case.
fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// The bytes of pairs of hexadecimal digits.
pub(super) fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let byte = |pair: &[u8; 2]| {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        u8::try_from(high? << 4 | low?).ok()
    };
    pairs.iter().map(byte).collect()
}
