//! Why a command stops before it is done.

use std::fmt::Display;
use std::io;
use std::path::Path;

use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
use tarsia::ErrorKind;
use tarsia::compliance::certificate::is_unprintable;
use tarsia::io::redact;
use tarsia_convert as convert;

/// Why a command stopped. The texts are shown to people on one line; scripts go by [`Failure::exit_code`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The caller asks for something that does not exist or makes no sense.
    Usage(String),
    /// A file or its data is bad, missing, or holds what cannot be done.
    Bad(String),
    /// All that was to be checked is right, but for whose word it is: no key that the caller trusts has signed it.
    Untrusted(String),
    /// The program that reads the standard output has closed it.
    Closed,
}

impl Failure {
    /// The exit code that scripts see: 0, 1, 2 or 3.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Bad(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Untrusted(_) => 3,
        }
    }

    /// The line for the standard error, without line ends or other control characters; `None` when there is nothing to
    /// say.
    ///
    /// ```
    /// use tarsia_cli::failure::Failure;
    /// let failure = Failure::Bad("a.csv: line 3:\nbad".into());
    /// assert_eq!(failure.line().as_deref(), Some("error: a.csv: line 3: bad"));
    /// ```
    #[must_use]
    pub fn line(&self) -> Option<String> {
        match self {
            Failure::Closed => None,
            Failure::Usage(text) | Failure::Bad(text) | Failure::Untrusted(text) => {
                Some(format!("error: {}", one_line(text)))
            }
        }
    }

    /// A command line that makes no sense, on one line. `None` for help and version, which are no failures.
    ///
    /// ```
    /// use clap::Parser;
    /// use tarsia_cli::{args::Cli, failure::Failure};
    /// let error = Cli::try_parse_from(["tarsia", "take", "a.tarsia"]).unwrap_err();
    /// let line = Failure::of_usage(&error).and_then(|failure| failure.line());
    /// let missing = "the following required arguments were not provided: --rows <5,1,1,99>";
    /// assert_eq!(line, Some(format!("error: {missing}; try '--help'")));
    /// ```
    #[must_use]
    pub fn of_usage(error: &clap::Error) -> Option<Failure> {
        if !error.use_stderr() || error.kind() == DisplayHelpOnMissingArgumentOrSubcommand {
            return None;
        }
        let text = error.render().to_string();
        let mut line = String::new();
        let parts = text.lines().map(str::trim);
        let parts = parts.take_while(|part| {
            !part.starts_with("Usage:") && !part.starts_with("For more information")
        });
        for part in parts.filter(|part| !part.is_empty()) {
            match part.starts_with("tip:") {
                _ if line.is_empty() => {}
                true => line.push_str("; "),
                false => line.push(' '),
            }
            line.push_str(part);
        }
        let line = line.strip_prefix("error: ").unwrap_or(&line);
        // What is wrong may be a URL.
        Some(Failure::Usage(redact(&format!("{line}; try '--help'"))))
    }

    /// `what` is wrong with the file at `path`.
    pub(crate) fn bad(path: &Path, what: impl Display) -> Failure {
        Failure::Bad(in_file(path, &what.to_string()))
    }

    /// An error of the facade, for the file at `path`: a column or a row that is not there is the caller's mistake.
    pub(crate) fn of_tarsia(path: &Path, error: &tarsia::Error) -> Failure {
        let text = in_file(path, &error.to_string());
        match error.kind() {
            ErrorKind::NoSuchColumn
            | ErrorKind::OutOfRange
            | ErrorKind::RowDeleted
            | ErrorKind::InvalidFilter => Failure::Usage(text),
            _ => Failure::Bad(text),
        }
    }

    /// A failed write to the standard output.
    pub(crate) fn of_output(error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::Closed
        } else {
            Failure::Bad(format!("standard output: {error}"))
        }
    }
}

impl From<convert::Error> for Failure {
    fn from(error: convert::Error) -> Failure {
        match error.kind() {
            convert::ErrorKind::Request => Failure::Usage(error.to_string()),
            convert::ErrorKind::Data => Failure::Bad(error.to_string()),
        }
    }
}

/// Puts the file's name in front, unless the text starts with it already.
fn in_file(path: &Path, text: &str) -> String {
    let name = path.display().to_string();
    if text.starts_with(&name) {
        text.to_owned()
    } else {
        format!("{name}: {text}")
    }
}

/// Names, values and messages of other crates may contain any characters. A terminal or a script must get one harmless
/// line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.trim().chars() {
        if c == '\n' || c == '\r' || c == '\t' {
            gap = true;
            continue;
        }
        if gap {
            line.push(' ');
            gap = false;
        }
        if is_unprintable(c) {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_no_control_characters() {
        assert_eq!(one_line("a\r\n  b\u{1b}[31m"), "a   b\\u{1b}[31m");
        assert_eq!(one_line("a\u{202e}b\u{200f}"), "a\\u{202e}b\\u{200f}");
        assert_eq!(one_line("\nplain\n"), "plain");
    }

    #[test]
    fn the_name_of_the_file_stands_once() {
        let path = Path::new("dir/a.tarsia");
        assert_eq!(
            Failure::bad(path, "cut"),
            Failure::Bad("dir/a.tarsia: cut".into())
        );
        assert_eq!(
            Failure::bad(path, "dir/a.tarsia: cut"),
            Failure::Bad("dir/a.tarsia: cut".into())
        );
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = Failure::of_output(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((closed.exit_code(), closed.line()), (0, None));
        let full = Failure::of_output(&io::Error::other("no space"));
        assert_eq!(full.exit_code(), 1);
    }
}
