//! Lines of a file as objects.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read};

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, JsonType, Peek};

use crate::Error;
use crate::source::builders::{quoted, short};

/// A longer line is refused.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A line with more commas is refused, too: each may separate values, and a value takes more memory than its text.
pub(super) const COMMAS_MAX: usize = 16 << 20;

/// Arrays and objects inside each other, below a line's object. With a value inside they are as deep as a column may
/// be.
pub(super) const DEPTH_MAX: usize = tarsia_codec::limits::SCHEMA_DEPTH_MAX - 1;

/// Keys and values in their order.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The error for a file that is one array.
const IS_ARRAY: &str = "the file begins with a JSON array; JSON lines are one object in each line, without an array \
    around them";

/// The error for a file whose objects go over several lines.
const IS_INDENTED: &str = "the file has a JSON value in several lines; JSON lines are one object in each line, so write \
    each without line ends";

/// A line's object.
pub(super) struct Row<'a> {
    pub(super) values: Members<'a>,
    /// Length of the line.
    pub(super) bytes: u64,
}

/// A value that a column can hold.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    /// As it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    Object(Members<'a>),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Number(text) => f.write_str(&short(text)),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Array(_) => f.write_str("an array"),
            Value::Object(_) => f.write_str("an object"),
        }
    }
}

/// Parses a line. Unlike `serde_json` the parser returns numbers as they are written, so that none is rounded before
/// its column is known.
struct Parser<'a> {
    text: &'a [u8],
    tokens: Jiter<'a>,
}

/// Mistake in a line, and the byte of the line, counted from 0.
struct Fault {
    what: String,
    index: usize,
    /// Whether the line ends before its object does.
    is_cut: bool,
}

impl Fault {
    fn new(what: String, index: usize) -> Self {
        Fault {
            what,
            index,
            is_cut: false,
        }
    }
}

impl From<JiterError> for Fault {
    fn from(error: JiterError) -> Self {
        use JsonErrorType::{
            EofWhileParsingList, EofWhileParsingObject, EofWhileParsingString, EofWhileParsingValue,
        };
        let is_cut = matches!(
            error.error_type,
            JiterErrorType::JsonError(
                EofWhileParsingList
                    | EofWhileParsingObject
                    | EofWhileParsingString
                    | EofWhileParsingValue
            )
        );
        let what = match error.error_type {
            JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange) => {
                "a whole number of more than 4300 digits".to_owned()
            }
            JiterErrorType::JsonError(
                JsonErrorType::LoneLeadingSurrogateInHexEscape
                | JsonErrorType::UnexpectedEndOfHexEscape,
            ) => {
                "half of a surrogate pair, such as \\ud83d alone, which is no character".to_owned()
            }
            JiterErrorType::JsonError(what) => what.to_string(),
            JiterErrorType::WrongType { expected, actual } => match expected {
                JsonType::Object => format!("expected an object, not {actual}"),
                _ => format!("expected {expected}, not {actual}"),
            },
        };
        Fault {
            is_cut,
            ..Fault::new(what, error.index)
        }
    }
}

impl<'a> Parser<'a> {
    fn row(text: &'a [u8]) -> Result<Members<'a>, Fault> {
        let mut parser = Parser {
            text,
            tokens: Jiter::new(text),
        };
        let peek = parser.tokens.peek()?;
        if peek != Peek::Object {
            let index = parser.tokens.current_index();
            let found = parser.value(peek, 0)?;
            return Err(Fault::new(format!("{found} is no object"), index));
        }
        let row = parser.object(0)?;
        parser.tokens.finish()?;
        Ok(row)
    }

    fn value(&mut self, peek: Peek, depth: usize) -> Result<Value<'a>, Fault> {
        Ok(match peek {
            Peek::Null => {
                self.tokens.known_null()?;
                Value::Null
            }
            Peek::True | Peek::False => Value::Boolean(self.tokens.known_bool(peek)?),
            Peek::String => {
                let raw = self.tokens.known_bytes()?;
                let raw = within(self.text, raw);
                Value::Text(self.unescaped(raw)?)
            }
            Peek::Array | Peek::Object if depth == DEPTH_MAX => {
                let what = format!("nested deeper than {DEPTH_MAX} arrays and objects");
                let index = self.tokens.current_index();
                return Err(Fault::new(what, index));
            }
            Peek::Array => {
                let mut items = Vec::new();
                let mut next = self.tokens.known_array()?;
                while let Some(peek) = next {
                    items.push(self.value(peek, depth + 1)?);
                    next = self.tokens.array_step()?;
                }
                Value::Array(items)
            }
            Peek::Object => Value::Object(self.object(depth + 1)?),
            number => {
                let text = self.tokens.known_number_bytes(number)?;
                let text = within(self.text, text);
                Value::Number(str::from_utf8(text).unwrap_or_default())
            }
        })
    }

    /// The object that begins here. `depth` is that of its values.
    fn object(&mut self, depth: usize) -> Result<Members<'a>, Fault> {
        let mut members = Vec::new();
        let mut next = self.tokens.next_object_bytes()?;
        while let Some(raw) = next {
            let raw = within(self.text, raw);
            let key = self.unescaped(raw)?;
            let peek = self.tokens.peek()?;
            members.push((key, self.value(peek, depth)?));
            next = self.tokens.next_key_bytes()?;
        }
        Ok(members)
    }

    /// A string of which this stands between the quotes. Most have no escapes and are not copied.
    fn unescaped(&self, raw: &'a [u8]) -> Result<Cow<'a, str>, Fault> {
        let start = offset(self.text, raw);
        if !raw.contains(&b'\\') {
            return str::from_utf8(raw).map(Cow::Borrowed).map_err(|error| {
                let what = "a string that is not UTF-8".to_owned();
                Fault::new(what, start + error.valid_up_to())
            });
        }
        let quote = start.saturating_sub(1);
        let with_quotes = self.text.get(quote..=start + raw.len());
        let mut string = Jiter::new(with_quotes.unwrap_or_default());
        let text = string.known_str().map_err(Fault::from);
        let text = text.map_err(|fault| Fault {
            index: quote + fault.index,
            ..fault
        })?;
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Gives bytes the lifetime of the whole that they are a part of; the parser's methods shorten it.
fn within<'a>(whole: &'a [u8], part: &[u8]) -> &'a [u8] {
    let start = offset(whole, part);
    whole.get(start..start + part.len()).unwrap_or_default()
}

/// Where a part of a whole begins.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// The lines of a file that are not empty, as objects.
pub(super) struct Lines<R> {
    input: R,
    text: Vec<u8>,
    /// Number of the current line, counted from 1.
    line: u64,
    /// Whether a line had an object before.
    is_begun: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            text: Vec::new(),
            line: 0,
            is_begun: false,
        }
    }

    /// The next object and the number of its line.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Row<'_>)>, Error> {
        let bytes = loop {
            self.text.clear();
            let n = Read::take(&mut self.input, LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut self.text)
                .map_err(|error| Error::new(error.to_string()).in_line(self.line + 1))?
                as u64;
            if n == 0 {
                return Ok(None);
            }
            self.line += 1;
            if n > LINE_BYTES_MAX {
                let what = format!("more than {LINE_BYTES_MAX} bytes");
                return Err(Error::new(what).in_line(self.line));
            }
            if !self.text.iter().all(u8::is_ascii_whitespace) {
                break n;
            }
        };
        if self.text.len() > COMMAS_MAX {
            let commas = self.text.iter().filter(|byte| **byte == b',').count();
            if commas > COMMAS_MAX {
                let what = format!("more than {COMMAS_MAX} commas");
                return Err(Error::new(what).in_line(self.line));
            }
        }
        let text = match self.line {
            1 => self
                .text
                .strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(&self.text),
            _ => &self.text,
        };
        let values = match Parser::row(text) {
            Ok(values) => values,
            Err(fault) => {
                // Other forms of JSON are known by their first line.
                let is_first = !self.is_begun;
                if is_first && text.trim_ascii_start().starts_with(b"[") {
                    return Err(Error::new(IS_ARRAY).in_line(self.line));
                }
                if is_first && fault.is_cut && has_more(&mut self.input) {
                    return Err(Error::new(IS_INDENTED).in_line(self.line));
                }
                let Fault { what, index, .. } = fault;
                return Err(format!("line {}, byte {}: {what}", self.line, index + 1).into());
            }
        };
        self.is_begun = true;
        Ok(Some((self.line, Row { values, bytes })))
    }
}

/// Whether anything but white space follows.
fn has_more(input: &mut impl BufRead) -> bool {
    loop {
        let Ok(bytes @ [_, ..]) = input.fill_buf() else {
            return false;
        };
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            return true;
        }
        let n = bytes.len();
        input.consume(n);
    }
}
