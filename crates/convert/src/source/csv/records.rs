//! The lines of a CSV file as records of fields.

use std::io::{self, BufRead, Read};

use crate::Error;

/// A record longer than this is refused: most likely a quote was never closed.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// How the lines of a file end: as the first one does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LineEnd {
    /// Also after a carriage return.
    LineFeed,
    /// Alone, as on old Macs.
    CarriageReturn,
}

/// Cuts text into records and fields.
pub(super) struct Records<R> {
    input: R,
    /// The physical line being read.
    raw: Vec<u8>,
    /// The fields of the record, unescaped, one after the other.
    pub(super) text: Vec<u8>,
    pub(super) fields: Vec<FieldEnd>,
    /// Line on which the record starts, counted from 1.
    pub(super) line: u64,
    lines_read: u64,
    line_end: Option<LineEnd>,
    /// The current record comes once more.
    is_repeated: bool,
}

#[derive(Clone, Copy)]
pub(super) struct FieldEnd {
    /// In `text`.
    end: usize,
    is_quoted: bool,
}

/// The state of the parser between two bytes.
#[derive(Clone, Copy, PartialEq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first half of an escaped quote.
    QuoteSeen,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(input: R) -> Records<R> {
        Records {
            input,
            raw: Vec::new(),
            text: Vec::new(),
            fields: Vec::new(),
            line: 0,
            lines_read: 0,
            line_end: None,
            is_repeated: false,
        }
    }

    /// Gives the current record once more.
    pub(super) fn read_again(&mut self) {
        self.is_repeated = true;
    }

    /// Whether the input has nothing but, at most, a byte order mark: no field, and no end of a line.
    pub(super) fn is_empty_input(&self) -> bool {
        self.lines_read == 1
            && self.text.is_empty()
            && self.line_end.is_none()
            && self.fields.len() == 1
            && !self.fields[0].is_quoted
    }

    /// Text of a field of the current record, and whether it stood in quotes.
    pub(super) fn field(&self, i: usize) -> Result<(&str, bool), Error> {
        let start = if i == 0 { 0 } else { self.fields[i - 1].end };
        let FieldEnd { end, is_quoted } = self.fields[i];
        match std::str::from_utf8(&self.text[start..end]) {
            Ok(text) => Ok((text, is_quoted)),
            Err(_) => Err(Error::new(format!("field {} is not UTF-8", i + 1)).in_line(self.line)),
        }
    }

    /// Reads the next record of `n_fields` fields; `false` at the end of the file.
    pub(super) fn next(&mut self, n_fields: usize) -> Result<bool, Error> {
        loop {
            if !self.read()? {
                return Ok(false);
            }
            if self.fields.len() == n_fields {
                return Ok(true);
            }
            let is_empty_line =
                self.fields.len() == 1 && self.text.is_empty() && !self.fields[0].is_quoted;
            if !is_empty_line {
                let found = self.fields.len();
                let what = format!("{found} fields, but the header has {n_fields}");
                return Err(Error::new(what).in_line(self.line));
            }
        }
    }

    /// Reads the next record, of any number of fields.
    pub(super) fn read(&mut self) -> Result<bool, Error> {
        if std::mem::take(&mut self.is_repeated) {
            return Ok(true);
        }
        self.text.clear();
        self.fields.clear();
        self.line = self.lines_read + 1;
        let mut state = State::FieldStart;
        let mut is_quoted = false;
        loop {
            self.raw.clear();
            // The read is limited, so that a file without line ends is not read into memory as a whole.
            let limit = RECORD_BYTES_MAX - self.text.len() + 1;
            read_line(&mut self.input, limit, self.line_end, &mut self.raw)
                .map_err(|error| Error::new(error.to_string()).in_line(self.lines_read + 1))?;
            let n = self.raw.len();
            if n == 0 {
                return match state {
                    State::Quoted => {
                        Err(Error::new("a quoted field is never closed").in_line(self.line))
                    }
                    // This state is entered only at the start of the file and at the end of a line.
                    _ => Ok(false),
                };
            }
            if self.text.len() + n > RECORD_BYTES_MAX {
                let what = format!("a record of more than {RECORD_BYTES_MAX} bytes");
                return Err(Error::new(what).in_line(self.line));
            }
            self.lines_read += 1;
            let mut line = self.raw.as_slice();
            if self.lines_read == 1 {
                line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            }
            let (content, line_end) = match line {
                [content @ .., b'\r', b'\n'] => (content, &b"\r\n"[..]),
                [content @ .., b'\n'] => (content, &b"\n"[..]),
                [content @ .., b'\r'] => (content, &b"\r"[..]),
                content => (content, &b""[..]),
            };
            for &byte in content {
                state = match (state, byte) {
                    (State::FieldStart, b'"') => {
                        is_quoted = true;
                        State::Quoted
                    }
                    (State::FieldStart | State::Unquoted | State::QuoteSeen, b',') => {
                        self.fields.push(FieldEnd {
                            end: self.text.len(),
                            is_quoted,
                        });
                        is_quoted = false;
                        State::FieldStart
                    }
                    (State::Quoted, b'"') => State::QuoteSeen,
                    (State::QuoteSeen, b'"') => {
                        self.text.push(b'"');
                        State::Quoted
                    }
                    (State::FieldStart | State::Unquoted | State::QuoteSeen, b'\r' | b'\n') => {
                        return Err(self.foreign_line_end(byte));
                    }
                    (State::QuoteSeen, _) => {
                        let what = "text follows a closing quote";
                        return Err(Error::new(what).in_line(self.lines_read));
                    }
                    (State::Quoted, _) => {
                        self.text.push(byte);
                        State::Quoted
                    }
                    (State::FieldStart | State::Unquoted, _) => {
                        self.text.push(byte);
                        State::Unquoted
                    }
                };
            }
            if state != State::Quoted {
                if self.line_end.is_none() {
                    self.line_end = match line_end {
                        b"" => None,
                        b"\r" => Some(LineEnd::CarriageReturn),
                        _ => Some(LineEnd::LineFeed),
                    };
                }
                self.fields.push(FieldEnd {
                    end: self.text.len(),
                    is_quoted,
                });
                return Ok(true);
            }
            self.text.extend_from_slice(line_end);
        }
    }

    /// The error for an end of line of the other kind, which may be one, or belong to a value.
    fn foreign_line_end(&self, byte: u8) -> Error {
        let (found, others) = match byte {
            b'\r' => ("carriage return", "line feeds"),
            _ => ("line feed", "carriage returns"),
        };
        Error::new(format!(
            "a {found} outside of quotes, in a file whose lines end with {others}"
        ))
        .in_line(self.lines_read)
    }
}

/// Reads up to and with the next end of line, at most `limit` bytes. Before the first line has ended, both kinds end
/// one.
fn read_line(
    input: &mut impl BufRead,
    limit: usize,
    line_end: Option<LineEnd>,
    line: &mut Vec<u8>,
) -> io::Result<()> {
    let mut input = input.take(limit as u64);
    match line_end {
        Some(LineEnd::LineFeed) => input.read_until(b'\n', line).map(drop),
        Some(LineEnd::CarriageReturn) => input.read_until(b'\r', line).map(drop),
        None => loop {
            let bytes = input.fill_buf()?;
            let (n, end) = match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
                Some(at) => (at + 1, Some(bytes[at])),
                None => (bytes.len(), None),
            };
            line.extend_from_slice(&bytes[..n]);
            input.consume(n);
            if n == 0 || end == Some(b'\n') {
                return Ok(());
            }
            if end == Some(b'\r') {
                if input.fill_buf()?.first() == Some(&b'\n') {
                    line.push(b'\n');
                    input.consume(1);
                }
                return Ok(());
            }
        },
    }
}
