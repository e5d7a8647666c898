//! Finds by cause, counts by kind.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use crate::kind::{KINDS, Kind};
use crate::trial::{Find, Outcome, Verdict, input_name};

/// Finds of one cause that are printed while runs go on; the rest is counted.
const SHOWN_PER_CAUSE: u64 = 3;

/// From so many runs of a kind on, one must have been accepted: else they test only how files are refused.
const ACCEPTED_FROM: u64 = 500;

/// The cause of a find: finds of one cause are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    kind: Kind,
    command: String,
    what: String,
    said: String,
}

impl Cause {
    fn of(kind: Kind, find: &Find) -> Cause {
        let command = find.command.first().cloned().unwrap_or_default();
        Cause {
            kind,
            command,
            what: without_numbers(&find.what),
            said: without_numbers(find.said.lines().next().unwrap_or_default()),
        }
    }
}

/// A text without numbers and names, which differ between finds of one cause.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            '`' => {
                is_quoted = !is_quoted;
                out.push_str(if is_quoted { "`…" } else { "`" });
            }
            _ if is_quoted => {}
            _ if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            _ => out.push(c),
        }
    }
    out
}

/// The names of all columns of a wide table fill a screen.
fn shortened(command: &str) -> String {
    const SHOWN_CHARS: usize = 160;
    match command.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

#[derive(Debug, Default)]
struct Counts {
    outcomes: BTreeMap<Outcome, u64>,
    /// Runs with finds.
    found: u64,
}

/// Finds so far.
pub(crate) struct Report<'a> {
    seed: u64,
    only: Option<Kind>,
    keep: Option<&'a Path>,
    /// How many runs there will be, where that is known.
    total: Option<u64>,
    runs: u64,
    commands: u64,
    kinds: BTreeMap<Kind, Counts>,
    causes: BTreeMap<Cause, (u64, String)>,
    is_terminal: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        seed: u64,
        only: Option<Kind>,
        keep: Option<&'a Path>,
        total: Option<u64>,
    ) -> Report<'a> {
        Report {
            seed,
            only,
            keep,
            total,
            runs: 0,
            commands: 0,
            kinds: BTreeMap::new(),
            causes: BTreeMap::new(),
            is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Notes a run; prints its finds, as long as their causes are new.
    ///
    /// # Errors
    /// Where a find cannot be kept.
    pub(crate) fn add(&mut self, verdict: &Verdict) -> Result<(), String> {
        self.runs += 1;
        self.commands += verdict.n_commands;
        let counts = self.kinds.entry(verdict.kind).or_default();
        *counts.outcomes.entry(verdict.outcome).or_default() += 1;
        counts.found += u64::from(!verdict.finds.is_empty());
        let mut is_new = false;
        for find in &verdict.finds {
            let text = self.describe(verdict, find);
            let cause = Cause::of(verdict.kind, find);
            let (n, _) = self
                .causes
                .entry(cause)
                .or_insert_with(|| (0, text.clone()));
            *n += 1;
            if *n <= SHOWN_PER_CAUSE {
                is_new = true;
                self.clear();
                println!("{text}");
            }
        }
        if let (true, Some(folder)) = (is_new, self.keep) {
            self.keep(folder, verdict)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        self.progress();
        Ok(())
    }

    /// How to see it again.
    fn again(&self, number: u64) -> String {
        let only = self
            .only
            .map_or(String::new(), |kind| format!(" --only {}", kind.name()));
        format!(
            "cargo xtask mutate --seed {} --run {number}{only}",
            self.seed
        )
    }

    fn describe(&self, verdict: &Verdict, find: &Find) -> String {
        let said = match find.said.as_str() {
            "" => String::new(),
            said => format!(
                "\n    {}",
                said.lines().take(4).collect::<Vec<_>>().join("\n    ")
            ),
        };
        format!(
            "FOUND {} of {}, {} bytes: tarsia {}: {}{said}\n    again: {}",
            verdict.kind.name(),
            verdict.original,
            verdict.file.len(),
            shortened(&find.command.join(" ")),
            find.what,
            self.again(verdict.number),
        )
    }

    fn keep(&self, folder: &Path, verdict: &Verdict) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let stem = format!("{}-{}-{}", verdict.kind.name(), self.seed, verdict.number);
        let file = folder.join(&stem).with_extension(verdict.kind.extension());
        fs::write(file, &verdict.file)?;
        let texts: Vec<String> = verdict
            .finds
            .iter()
            .map(|find| self.describe(verdict, find))
            .collect();
        let name = input_name(verdict.kind);
        let text = format!(
            "{}\n\n{name} is the file beside this text.\n",
            texts.join("\n")
        );
        fs::write(folder.join(stem).with_extension("txt"), text)
    }

    fn progress(&self) {
        if self.is_terminal {
            let of_all = self
                .total
                .map_or_else(String::new, |total| format!(" of {total}"));
            eprint!(
                "\r{}{of_all} runs, {} causes ",
                self.runs,
                self.causes.len()
            );
            let _ = io::stderr().flush();
        }
    }

    /// Removes the line of progress, so that another line can stand there.
    fn clear(&self) {
        if self.is_terminal {
            eprint!("\r\u{1b}[K");
        }
    }

    /// Prints counts and causes; true where nothing was found.
    pub(crate) fn finish(self) -> bool {
        self.clear();
        if !self.causes.is_empty() {
            println!("\n{} causes, the first find of each:", self.causes.len());
        }
        for (n, first) in self.causes.values() {
            println!("{n} times: {first}");
        }
        let mut is_good = self.causes.is_empty();
        println!(
            "\n{:<14}{:>10}{:>10}{:>11}{:>8}",
            "kind", "accepted", "refused", "unchanged", "finds"
        );
        for (kind, _) in KINDS {
            let Some(counts) = self.kinds.get(&kind) else {
                continue;
            };
            let of = |outcome| counts.outcomes.get(&outcome).copied().unwrap_or(0);
            let [accepted, refused, unchanged] =
                [Outcome::Accepted, Outcome::Refused, Outcome::Unchanged].map(of);
            println!(
                "{:<14}{accepted:>10}{refused:>10}{unchanged:>11}{:>8}",
                kind.name(),
                counts.found
            );
            // Checksums let hardly any through.
            if kind != Kind::Plain && accepted == 0 && refused >= ACCEPTED_FROM {
                println!(
                    "no file of kind {} was accepted, so its runs test only how files are refused",
                    kind.name()
                );
                is_good = false;
            }
        }
        println!(
            "{} runs, {} commands, {} causes of finds",
            self.runs,
            self.commands,
            self.causes.len()
        );
        is_good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(number: u64, outcome: Outcome, finds: &[&str]) -> Verdict {
        let find = |what: &&str| Find {
            command: vec!["import".to_owned(), "in.csv".to_owned()],
            what: (*what).to_owned(),
            said: "error: in.csv: line 7".to_owned(),
        };
        Verdict {
            number,
            kind: Kind::Csv,
            original: "simple".to_owned(),
            file: b"a\n".into(),
            outcome,
            n_commands: 1,
            finds: finds.iter().map(find).collect(),
        }
    }

    #[test]
    fn numbers_and_names_do_not_make_causes() {
        assert_eq!(
            without_numbers("column `a1`, page 12: 0x7f"),
            "column `…`, page #: #x#f"
        );
        let mut report = Report::new(1, None, None, Some(3));
        for (number, what) in [
            (1, "ended by signal 6"),
            (2, "ended by signal 11"),
            (3, "a panic"),
        ] {
            report
                .add(&verdict(number, Outcome::Refused, &[what]))
                .unwrap();
        }
        assert_eq!(
            report.causes.values().map(|(n, _)| *n).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(!report.finish());
    }

    #[test]
    fn a_find_says_how_it_is_repeated_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::new(7, Some(Kind::Csv), Some(folder.path()), Some(1));
        report
            .add(&verdict(42, Outcome::Accepted, &["a panic"]))
            .unwrap();
        let text = fs::read_to_string(folder.path().join("csv-7-42.txt")).unwrap();
        assert!(text.contains("tarsia import in.csv: a panic"), "{text}");
        assert!(
            text.contains("again: cargo xtask mutate --seed 7 --run 42 --only csv"),
            "{text}"
        );
        assert_eq!(
            fs::read(folder.path().join("csv-7-42.csv")).unwrap(),
            b"a\n"
        );
    }

    #[test]
    fn runs_that_only_refuse_are_no_success() {
        let judge = |accepted: Option<u64>| {
            let mut report = Report::new(1, None, None, Some(ACCEPTED_FROM));
            for number in 0..ACCEPTED_FROM + 1 {
                let outcome = match accepted == Some(number) {
                    true => Outcome::Accepted,
                    false => Outcome::Refused,
                };
                report.add(&verdict(number, outcome, &[])).unwrap();
            }
            report.finish()
        };
        assert!(judge(Some(3)));
        assert!(!judge(None));
    }
}
