//! A progress bar on the standard error, only when that is a terminal.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that is erased when it is dropped, so that it does not stand before a summary or an error.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar for `verb` (such as "importing"). Its length is unknown until the first [`Bar::set`].
    pub(crate) fn new(verb: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if stderr().is_terminal() {
            if let Ok(style) = ProgressStyle::with_template(
                "{prefix} {wide_bar} {percent:>3}% {msg} rows, {elapsed}",
            ) {
                bar.set_style(style);
            }
            bar.set_prefix(verb.to_owned());
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Bar(bar)
    }

    /// Sets how much is done: `done` of `total` in any unit, and the number of rows so far.
    pub(crate) fn set(&self, done: u64, total: u64, rows: u64) {
        if self.0.is_hidden() {
            return;
        }
        self.0.set_length(total);
        self.0.set_position(done.min(total));
        self.0.set_message(rows.to_string());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
