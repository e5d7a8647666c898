//! Errors of what rules of branches forbid.

use tarsia_table_meta::Rule;

use crate::error::{Error, ErrorKind};

/// The error of what a rule forbids.
pub(crate) fn forbidden(branch: &str, rule: Rule) -> Error {
    let why = match rule {
        Rule::MergeOnly => "nobody commits to it: merge another branch into it",
        Rule::ForwardOnly => {
            "a merge may only set it forward: rebase the other branch onto it first, then merge"
        }
        Rule::NoReset => "nobody deletes, resets or rebases it",
    };
    let what = format!("branch `{}` is protected: {why}", branch.escape_debug());
    Error::new(ErrorKind::Forbidden, what)
}
