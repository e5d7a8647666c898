//! Statements that a person types.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Editor, Helper};
use tokio::runtime::Runtime;

use crate::args::Format;
use crate::failure::Failure;
use crate::session::Session;

const HELP: &str = "\
A statement may have several lines and ends with a semicolon. Files stand in quotes: select * from 'a.tarsia';
\\q or Ctrl-D ends the program, Ctrl-C gives up a line or a statement that runs.";

/// Reads statements and answers them, until the input ends.
///
/// # Errors
/// A terminal that cannot be read. Statements that fail are reported, and the next one is read.
pub fn run(runtime: &Runtime, session: &Session, format: Format) -> Result<(), Failure> {
    let failed = |error: ReadlineError| Failure::Bad(format!("terminal: {error}"));
    let mut editor: Editor<Statements, DefaultHistory> = Editor::new().map_err(failed)?;
    editor.set_helper(Some(Statements));
    let history = history_path();
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    println!(
        "tarsia-sql {}: \\? helps, \\q ends",
        env!("CARGO_PKG_VERSION")
    );
    loop {
        let text = match editor.readline("tarsia> ") {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        };
        // A history that cannot grow is no reason to stop.
        let _ = editor.add_history_entry(text.trim());
        match text.trim().trim_end_matches(';').trim() {
            "" => {}
            "\\q" | "quit" | "exit" => break,
            "\\?" | "\\h" | "help" => println!("{HELP}"),
            _ => answer(runtime, session, &text, format)?,
        }
    }
    if let Some(path) = &history
        && let Err(error) = editor.save_history(path)
    {
        eprintln!(
            "note: {}: the history was not written: {error}",
            path.display()
        );
    }
    Ok(())
}

/// Answers statements. Only a closed output is a reason to end.
fn answer(runtime: &Runtime, session: &Session, text: &str, format: Format) -> Result<(), Failure> {
    let answered = runtime.block_on(async {
        tokio::select! {
            answered = session.run(text, format) => answered,
            _ = tokio::signal::ctrl_c() => Err(Failure::Bad("given up".to_owned())),
        }
    });
    match answered {
        Err(Failure::Closed) => Err(Failure::Closed),
        Err(failure) => {
            if let Some(line) = failure.line() {
                eprintln!("{line}");
            }
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The file of the variable `TARSIA_SQL_HISTORY`, or one in the home folder. An empty variable keeps no history.
fn history_path() -> Option<PathBuf> {
    match std::env::var_os("TARSIA_SQL_HISTORY") {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(PathBuf::from(std::env::var_os("HOME")?).join(".tarsia_sql_history")),
    }
}

/// Says whether a statement is complete.
struct Statements;

impl Validator for Statements {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_complete(typed.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Completer for Statements {
    type Candidate = String;
}

impl Hinter for Statements {
    type Hint = String;
}

impl Highlighter for Statements {}

impl Helper for Statements {}

/// Whether a text ends with a semicolon outside of quotes and comments, or is a command of this program.
fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty()
        || trimmed.starts_with('\\')
        || matches!(trimmed, "quit" | "exit" | "help")
    {
        return true;
    }
    let mut quote = None;
    let mut ends = false;
    let mut rest = trimmed.chars().peekable();
    while let Some(next) = rest.next() {
        match (quote, next) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(next);
                ends = false;
            }
            (None, '-') if rest.peek() == Some(&'-') => {
                // Up to the end of the line.
                rest.by_ref().find(|it| *it == '\n');
            }
            (None, ';') => ends = true,
            (None, other) => ends = ends && other.is_whitespace(),
        }
    }
    ends && quote.is_none()
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn statements_end_with_semicolons() {
        assert!(is_complete("select 1;"));
        assert!(is_complete("select\n1 ;  \n"));
        assert!(is_complete("select ';';"));
        assert!(is_complete("select 1; -- that was it"));
        assert!(is_complete("\\q"));
        assert!(is_complete("  "));
        assert!(!is_complete("select 1"));
        assert!(!is_complete("select ';"));
        assert!(!is_complete("select 1 -- ;"));
        assert!(!is_complete("select 1; select 2"));
        assert!(!is_complete("select 'it''s;"));
    }
}
