//! Finds by cause, counts by kind.

use std::collections::BTreeMap;

use crate::kind::Kind;
use crate::outcome::Outcome;

/// Finds of one cause that are told as they come; the rest is counted.
const TOLD_PER_CAUSE: u64 = 3;

#[derive(Default)]
struct Counts {
    cases: u64,
    failed: u64,
    checks: BTreeMap<&'static str, u64>,
}

/// Finds so far.
#[derive(Default)]
pub(crate) struct Report {
    kinds: BTreeMap<Kind, Counts>,
    /// How many finds a cause has, and the first of them.
    causes: BTreeMap<(Kind, String), (u64, String)>,
    tells_all: bool,
}

/// A text without numbers and names, which differ between finds of one cause.
fn cause_of(text: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    // What stands in brackets is of the case.
    let text = text.split(['(', '[']).next().unwrap_or_default();
    for word in text.split_inclusive([' ', ',', ':', '.']) {
        let quotes = word.matches('`').count();
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        match is_quoted || quotes > 0 || has_digit {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push_str(word),
        }
        is_quoted ^= quotes % 2 == 1;
    }
    out
}

impl Report {
    /// Tells all finds, however many have one cause.
    pub(crate) fn show_all(&mut self) {
        self.tells_all = true;
    }

    /// Notes a case, and tells its finds.
    pub(crate) fn add(&mut self, kind: Kind, seed: u64, outcome: Outcome) {
        let counts = self.kinds.entry(kind).or_default();
        counts.cases += 1;
        counts.failed += u64::from(!outcome.finds.is_empty());
        for (what, n) in outcome.counts {
            *counts.checks.entry(what).or_default() += n;
        }
        for find in outcome.finds {
            let text = format!("FOUND {} seed {seed}: {find}", kind.name());
            let cause = (kind, cause_of(&find));
            let (n, _) = self.causes.entry(cause).or_insert((0, text.clone()));
            *n += 1;
            if self.tells_all || *n <= TOLD_PER_CAUSE {
                println!("{text}");
            }
        }
    }

    /// Prints causes and counts; true where nothing was found.
    pub(crate) fn finish(&self) -> bool {
        if !self.tells_all && !self.causes.is_empty() {
            println!("\n{} causes, the first find of each:", self.causes.len());
            for (n, first) in self.causes.values() {
                println!("{n} times: {first}");
            }
        }
        for (kind, counts) in &self.kinds {
            println!(
                "\n{}: {} cases, {} with finds",
                kind.name(),
                counts.cases,
                counts.failed
            );
            for (what, n) in &counts.checks {
                println!("{n:>14} {what}");
            }
        }
        let failed: u64 = self.kinds.values().map(|counts| counts.failed).sum();
        let cases: u64 = self.kinds.values().map(|counts| counts.cases).sum();
        println!("\n{} passed, {failed} failed", cases - failed);
        // A session that runs nothing proves nothing.
        failed == 0 && cases > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_make_no_causes() {
        let one = cause_of("column `a b`, page 3: value 0 is left, 00ff1e");
        assert_eq!(
            one,
            cause_of("column `c1`, page 12: value 7 is left, a9b8c7")
        );
        assert_ne!(
            one,
            cause_of("column `c1`, page 12: filler 7 is left, a9b8c7")
        );
    }

    #[test]
    fn a_find_is_a_failure_and_so_is_no_case() {
        let mut report = Report::default();
        assert!(!report.finish());
        report.add(Kind::Search, 16, Outcome::default());
        assert!(report.finish());
        let mut outcome = Outcome::default();
        outcome.find("a value\nis left");
        assert_eq!(outcome.finds, ["a value / is left"]);
        report.add(Kind::Search, 32, outcome);
        assert!(!report.finish());
    }
}
