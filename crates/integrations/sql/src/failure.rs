//! Why the command stops, and with which exit code.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use datafusion::error::DataFusionError;

/// Why a statement was not answered.
#[derive(Debug)]
pub enum Failure {
    /// The caller asks for something that does not exist or makes no sense.
    Usage(String),
    /// A file or its data is bad, missing, or holds what cannot be done.
    Bad(String),
    /// The program that reads the standard output has closed it.
    Closed,
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Bad(_) => 1,
            Self::Usage(_) => 2,
        }
    }

    /// The line for the standard error, without control characters.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Self::Closed => None,
            Self::Bad(text) | Self::Usage(text) => {
                let words = text.split(|c: char| c.is_control() || c == ' ');
                let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
                Some(format!("error: {}", words.join(" ")))
            }
        }
    }

    /// Says so on the standard error, and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if let Some(line) = self.line() {
            // If the standard error is closed, the exit code alone reports the failure.
            let _ = writeln!(io::stderr(), "{line}");
        }
        ExitCode::from(self.exit_code())
    }

    /// A command line that makes no sense.
    pub fn of_usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.split("\n\nUsage:").next().unwrap_or_default();
        let text = text.strip_prefix("error: ").unwrap_or(text);
        Self::Usage(format!("{text}; try '--help'"))
    }

    /// A failed write to the standard output.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Bad(format!("standard output: {error}")),
        }
    }
}

impl From<DataFusionError> for Failure {
    /// Statements that cannot be understood are the caller's mistake, everything else is one of files.
    fn from(error: DataFusionError) -> Self {
        let root = error.find_root();
        if let Some(name) = missing_file(root) {
            return Self::Bad(why_unread(name));
        }
        let text = error.strip_backtrace();
        match root {
            DataFusionError::SQL(..) => Self::Usage(text),
            DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..)
            | DataFusionError::Configuration(_)
            | DataFusionError::NotImplemented(_) => Self::Usage(text),
            _ => Self::Bad(text),
        }
    }
}

/// Says why a file is no table, which the engine does not.
fn why_unread(name: &str) -> String {
    match (tarsia::File::open(name), Path::new(name).exists()) {
        (_, false) => format!("{name}: no such file"),
        (Err(error), true) if name.ends_with(".tarsia") => error.to_string(),
        _ => format!("{name}: no file or folder of a format that is known"),
    }
}

/// The name of a table that there is not, if it looks like that of a file.
fn missing_file(error: &DataFusionError) -> Option<&str> {
    let DataFusionError::Plan(text) = error else {
        return None;
    };
    let name = text.strip_prefix("table '")?.split_once("' not found")?.0;
    let name = name.strip_prefix("datafusion.public.").unwrap_or(name);
    (name.contains('/') || name.contains('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_no_control_characters() {
        let failure = Failure::Bad("a.csv:  line 3:\n\tbad".into());
        assert_eq!(failure.line().unwrap(), "error: a.csv: line 3: bad");
        assert_eq!(Failure::Closed.line(), None);
    }

    #[test]
    fn missing_files_are_told_from_missing_tables() {
        let of = |text: &str| Failure::from(DataFusionError::Plan(text.to_owned()));
        let file = of("table 'datafusion.public.a/b.tarsia' not found");
        assert_eq!(file.exit_code(), 1);
        assert!(
            file.line()
                .unwrap()
                .starts_with("error: a/b.tarsia: no such file")
        );
        assert_eq!(
            of("table 'datafusion.public.users' not found").exit_code(),
            2
        );
    }
}
