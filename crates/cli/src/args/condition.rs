//! Conditions on rows.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use tarsia_filter::{Expr, FilterError};

use super::selections::file_name;
use crate::failure::Failure;

/// The option of commands that may read only rows which pass a condition.
#[derive(Debug, Args)]
pub struct OnlyWhere {
    /// Only rows that pass a condition: clicks > 5 AND country IN ('NL', 'BE'); @FILE reads it from a file (see `tarsia
    /// erase --help` for what it may say; here a number need not be one that the column can hold)
    #[arg(
        long = "where",
        value_name = "CONDITION",
        value_parser = OsStringValueParser::new().try_map(parse_condition)
    )]
    pub condition: Option<Condition>,
}

impl OnlyWhere {
    /// The condition, if there is one.
    ///
    /// # Errors
    /// As [`Condition::read`].
    pub fn read(&self) -> Result<Option<Expr>, Failure> {
        let condition = self.condition.as_ref().map(Condition::read).transpose()?;
        Ok(condition.map(Cow::into_owned))
    }
}

/// The options of commands that read rows of a file which pass a condition.
#[derive(Debug, Args)]
pub struct Where {
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub only: OnlyWhere,
    /// Say on the standard error how many rows each part of the condition, joined by AND, looked at and let pass
    #[arg(long, requires = "condition")]
    pub explain_filter: bool,
}

impl Where {
    /// The condition, if there is one.
    ///
    /// # Errors
    /// As [`Condition::read`].
    pub fn read(&self) -> Result<Option<Expr>, Failure> {
        self.only.read()
    }
}

/// A condition, or the file that it is in. No condition starts with `@`.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// On the command line.
    Given(Expr),
    /// In a text file.
    File(PathBuf),
}

impl Condition {
    /// The condition.
    ///
    /// # Errors
    /// [`Failure::Bad`] for a file that cannot be read, that has more than 32 MiB, or that holds no condition.
    pub fn read(&self) -> Result<Cow<'_, Expr>, Failure> {
        /// A million ids take 20 MB at most. The parser takes about 65 times as much memory as the text.
        const BYTES_MAX: u64 = 32 << 20;
        let path = match self {
            Condition::Given(condition) => return Ok(Cow::Borrowed(condition)),
            Condition::File(path) => path,
        };
        let file = File::open(path).map_err(|error| Failure::bad(path, error))?;
        let mut text = String::new();
        let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|error| Failure::bad(path, error))?;
        if text.len() as u64 > BYTES_MAX {
            return Err(Failure::bad(
                path,
                "more than 32 MiB, too many for a condition",
            ));
        }
        let condition = text.parse();
        condition
            .map(Cow::Owned)
            .map_err(|error: FilterError| Failure::bad(path, error))
    }
}

pub(super) fn parse_condition(text: OsString) -> Result<Condition, String> {
    match text.as_encoded_bytes() {
        b"@" => return Err("a file's name is missing after `@`".to_owned()),
        [b'@', ..] => return file_name(&text).map(Condition::File),
        _ => {}
    }
    let text = text.to_str().ok_or("the condition is not UTF-8")?;
    let condition = text
        .parse()
        .map_err(|error: FilterError| error.to_string())?;
    Ok(Condition::Given(condition))
}
