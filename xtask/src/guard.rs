//! Instruction counts of fixed operations against those that are committed.
//!
//! `benchmarks/guard` holds the operations; callgrind counts the instructions of its function `measured`, one process
//! per operation. Unlike times, counts are the same on a loaded machine, so 5 % more is a change of the code.
//!
//! A skip is one line and no failure; with `--require`, or where `CI` is set, it is a failure on x86_64 Linux.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::process::{cargo, show};

const MANIFEST: &str = "benchmarks/guard/Cargo.toml";
const COUNTS: &str = "benchmarks/guard/counts.json";
const BINARY: &str = "tarsia-guard";

/// Instructions of a function of this name and of all that it calls are counted; callgrind matches demangled names.
const MEASURED: &str = "*tarsia_guard*measured*";

/// More growth than this fails; more shrinkage is worth committing.
const CHANGE_PERCENT_MAX: u64 = 5;
/// Two counts of the same binary that differ by more than one in so many are not worth committing.
const REPEATABLE_TO_ONE_IN: u64 = 1000;

/// The content of [`COUNTS`].
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    /// Versions that the numbers were made with: `rustc`, `valgrind`, `libc`. Other versions may count differently.
    made_with: BTreeMap<String, String>,
    /// Features of the CPU that callgrind emulates; other features mean other code.
    features: Vec<String>,
    instructions: BTreeMap<String, u64>,
}

/// Counts, and compares or commits.
pub(crate) fn run(root: &Path, options: &[&str]) -> Outcome {
    let mut bless = false;
    let mut require = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
    for option in options {
        match *option {
            "--bless" => bless = true,
            "--require" => require = true,
            _ => return Err("usage: cargo xtask guard [--bless] [--require]".to_owned()),
        }
    }
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("skipped: instructions are counted on x86_64 Linux only");
        return Ok(());
    }
    let skip = |why: &str| match require || bless {
        true => Err(format!("instructions were not counted: {why}")),
        false => {
            println!("skipped: {why}");
            Ok(())
        }
    };
    let Some(valgrind) = find_program("valgrind") else {
        return skip("there is no valgrind (scripts/guard installs it where it may)");
    };
    let guard = Guard {
        made_with: made_with(root, &valgrind)?,
        binary: build(root)?,
        valgrind,
    };
    if bless {
        return guard.bless(&root.join(COUNTS));
    }
    let committed = read(&root.join(COUNTS))?;
    let Some(counted) = guard.count_all(&committed.features)? else {
        return skip(&format!(
            "the committed counts are for a CPU with other features; see {COUNTS}"
        ));
    };
    guard.report(&committed, &counted)
}

/// Programs that count.
struct Guard {
    valgrind: PathBuf,
    binary: PathBuf,
    made_with: BTreeMap<String, String>,
}

/// One run of an operation.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    instructions: u64,
    features: Vec<String>,
}

impl Guard {
    /// Names of the operations, in the order of the table.
    fn operations(&self) -> Result<Vec<String>, String> {
        let list = output(Command::new(&self.binary).arg("list"))?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Where the profile of an operation is written; `callgrind_annotate` reads it.
    fn profile(&self, name: &str) -> PathBuf {
        self.binary
            .with_file_name(format!("guard-{name}.callgrind"))
    }

    fn count(&self, name: &str) -> Result<Counted, String> {
        let profile = self.profile(name);
        let mut out_file = std::ffi::OsString::from("--callgrind-out-file=");
        out_file.push(&profile);
        let mut command = Command::new(&self.valgrind);
        command
            .args(["--tool=callgrind", "--quiet"])
            .arg(format!("--toggle-collect={MEASURED}"))
            .arg(out_file)
            // Arguments and environment lie on the stack, and are copied: their lengths show in counts by 0.2 %.
            .arg(format!("./{BINARY}"))
            .args(["run", name])
            .env_clear();
        if let Some(folder) = self.binary.parent() {
            command.current_dir(folder);
        }
        if let Some(folder) = std::env::var_os("VALGRIND_LIB") {
            command.env("VALGRIND_LIB", folder);
        }
        let said = output(&mut command)?;
        let profile = fs::read_to_string(&profile)
            .map_err(|error| format!("{}: {error}", profile.display()))?;
        let instructions = instructions_of(&profile)
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("{name}: callgrind counted nothing: is `measured` inlined?"))?;
        let features = said
            .lines()
            .find_map(|line| line.strip_prefix("features: "))
            .ok_or_else(|| format!("{name}: the features of the CPU are missing"))?;
        Ok(Counted {
            instructions,
            features: features.split_whitespace().map(str::to_owned).collect(),
        })
    }

    /// All operations; `None` where the CPU has other features than these.
    fn count_all(&self, features: &[String]) -> Result<Option<Vec<(String, u64)>>, String> {
        let mut all = Vec::new();
        for name in self.operations()? {
            let counted = self.count(&name)?;
            if counted.features != features {
                return Ok(None);
            }
            all.push((name, counted.instructions));
        }
        Ok(Some(all))
    }

    /// Counts twice, because a count that does not repeat guards nothing, and writes [`COUNTS`].
    fn bless(&self, path: &Path) -> Outcome {
        let mut instructions = BTreeMap::new();
        let mut features = Vec::new();
        for name in self.operations()? {
            let (first, second) = (self.count(&name)?, self.count(&name)?);
            println!("{name:32}{:>14}", grouped(first.instructions));
            check_repeatable(&name, first.instructions, second.instructions)?;
            features = first.features;
            instructions.insert(name, first.instructions);
        }
        let counts = Counts {
            made_with: self.made_with.clone(),
            features,
            instructions,
        };
        fs::write(path, counts.to_json())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {COUNTS}");
        Ok(())
    }

    /// Prints the table; the error says what to do.
    fn report(&self, committed: &Counts, counted: &[(String, u64)]) -> Outcome {
        let rows = compare(&committed.instructions, counted);
        print!("{}", table(&rows));
        for (program, version) in &self.made_with {
            let then = committed.made_with.get(program).map_or("none", |v| v);
            if then != version {
                println!("note: committed with {program} {then}, counted with {version}");
            }
        }
        if rows.iter().any(|row| row.verdict() == Verdict::Grew) {
            let profile = self.profile("NAME");
            println!("functions: callgrind_annotate {}", profile.display());
        }
        if rows.iter().any(|row| row.verdict() == Verdict::Shrank) {
            println!("some need less: commit that with `cargo xtask guard --bless`");
        }
        match rows.iter().filter(|row| row.verdict().fails()).count() {
            0 => Ok(()),
            n => Err(format!(
                "{n} of {} operations grew by more than {CHANGE_PERCENT_MAX} %, are new, or are gone. If that is meant, run \
                 `cargo xtask guard --bless` and commit {COUNTS} with the change, saying why",
                rows.len()
            )),
        }
    }
}

/// An operation that is committed, was counted, or both.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    committed: Option<u64>,
    now: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Same,
    Shrank,
    Grew,
    /// Counted, not committed.
    New,
    /// Committed, not counted.
    Gone,
}

impl Verdict {
    fn fails(self) -> bool {
        matches!(self, Self::Grew | Self::New | Self::Gone)
    }

    fn text(self) -> &'static str {
        match self {
            Self::Same => "",
            Self::Shrank => "less",
            Self::Grew => "TOO MANY",
            Self::New => "NOT COMMITTED",
            Self::Gone => "GONE",
        }
    }
}

impl Row {
    fn verdict(&self) -> Verdict {
        let (committed, now) = match (self.committed, self.now) {
            (Some(committed), Some(now)) => (u128::from(committed), u128::from(now)),
            (None, _) => return Verdict::New,
            (_, None) => return Verdict::Gone,
        };
        let change_max = u128::from(CHANGE_PERCENT_MAX);
        if now * 100 > committed * (100 + change_max) {
            Verdict::Grew
        } else if now * 100 < committed * (100 - change_max) {
            Verdict::Shrank
        } else {
            Verdict::Same
        }
    }

    fn change_percent(&self) -> Option<f64> {
        let (committed, now) = (self.committed? as f64, self.now? as f64);
        Some(100.0 * (now - committed) / committed)
    }
}

/// Lists what was counted, in order, then what is committed only.
fn compare(committed: &BTreeMap<String, u64>, counted: &[(String, u64)]) -> Vec<Row> {
    let now = counted.iter().map(|(name, now)| Row {
        name: name.clone(),
        committed: committed.get(name).copied(),
        now: Some(*now),
    });
    let gone = committed
        .iter()
        .filter(|(name, _)| counted.iter().all(|(counted, _)| counted != *name));
    let gone = gone.map(|(name, committed)| Row {
        name: name.clone(),
        committed: Some(*committed),
        now: None,
    });
    now.chain(gone).collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:32}{:>14}{:>14}{:>10}\n",
        "instructions of", "committed", "now", "change"
    );
    let count = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), grouped);
    for row in rows {
        let change = row
            .change_percent()
            .map_or_else(String::new, |change| format!("{change:+.2} %"));
        let line = format!(
            "{:32}{:>14}{:>14}{change:>10}  {}",
            row.name,
            count(row.committed),
            count(row.now),
            row.verdict().text()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// `12345` as `12,345`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn check_repeatable(name: &str, first: u64, second: u64) -> Outcome {
    if first.abs_diff(second) > first / REPEATABLE_TO_ONE_IN {
        return Err(format!(
            "{name} needed {first} instructions, then {second}: make the operation repeat what varies more often"
        ));
    }
    Ok(())
}

/// The total of a profile of callgrind.
fn instructions_of(profile: &str) -> Option<u64> {
    let total = profile
        .lines()
        .find_map(|line| line.strip_prefix("summary: "))?;
    total.trim().parse().ok()
}

impl Counts {
    fn to_json(&self) -> String {
        let counts = json!({
            "made_with": self.made_with,
            "features": self.features.join(" "),
            "instructions": self.instructions,
        });
        format!("{counts:#}\n")
    }

    fn from_json(text: &str) -> Result<Self, String> {
        let counts: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let object = |name: &str| {
            let object = counts.get(name).and_then(Value::as_object);
            object.ok_or_else(|| format!("`{name}` is no object"))
        };
        let versions = object("made_with")?.iter().map(|(program, version)| {
            let version = version.as_str().ok_or("a version is no string")?;
            Ok((program.clone(), version.to_owned()))
        });
        let instructions = object("instructions")?.iter().map(|(name, n)| {
            let n = n.as_u64().filter(|n| *n > 0);
            let n = n.ok_or_else(|| format!("`{name}` has no count above 0"))?;
            Ok((name.clone(), n))
        });
        let features = counts.get("features").and_then(Value::as_str);
        let features = features.ok_or("`features` is no string")?;
        Ok(Self {
            made_with: versions.collect::<Result<_, String>>()?,
            features: features.split_whitespace().map(str::to_owned).collect(),
            instructions: instructions.collect::<Result<_, String>>()?,
        })
    }
}

fn read(path: &Path) -> Result<Counts, String> {
    let text = fs::read_to_string(path).map_err(|error| {
        format!(
            "{}: {error}; `cargo xtask guard --bless` makes it",
            path.display()
        )
    })?;
    Counts::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The release binary. Flags of whoever calls would be counted, so they are left out.
fn build(root: &Path) -> Result<PathBuf, String> {
    let mut command = cargo(root);
    command
        .args(["build", "--release", "--quiet", "--manifest-path", MANIFEST])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit());
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.ends_with("RUSTFLAGS") || shown.starts_with("CARGO_PROFILE_") {
            command.env_remove(&name);
        }
    }
    let messages = output(&mut command)?;
    let executable = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let name = message.get("target")?.get("name")?.as_str()?;
        let executable = message.get("executable")?.as_str()?;
        (name == BINARY).then(|| PathBuf::from(executable))
    });
    executable.ok_or_else(|| format!("`{}` made no {BINARY}", show(&command)))
}

/// Returns the versions that counts may differ with, apart from the code.
fn made_with(root: &Path, valgrind: &Path) -> Result<BTreeMap<String, String>, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let rustc = output(Command::new(rustc).arg("--version").current_dir(root))?;
    let valgrind = output(Command::new(valgrind).arg("--version"))?;
    // malloc, memcpy and their like are counted too; a system without getconf has another libc anyway.
    let libc = output(Command::new("getconf").arg("GNU_LIBC_VERSION"))
        .unwrap_or_else(|_| "unknown".to_owned());
    let version = |name: &str, said: &str| {
        let version = said.trim();
        let version = version.strip_prefix(name).unwrap_or(version);
        (
            name.to_owned(),
            version.trim_start_matches([' ', '-']).to_owned(),
        )
    };
    Ok(BTreeMap::from([
        version("rustc", &rustc),
        version("valgrind", &valgrind),
        version("libc", &libc),
    ]))
}

/// A program's file in `PATH`: programs are started without an environment.
fn find_program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Returns what a program prints; an error names the command and what it said.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = show(command);
    let output = command
        .output()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let colon = if said.is_empty() { "" } else { ": " };
        return Err(format!("`{shown}` failed ({}){colon}{said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` printed no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(committed: impl Into<Option<u64>>, now: impl Into<Option<u64>>, expect: Verdict) {
        let row = Row {
            name: "x".to_owned(),
            committed: committed.into(),
            now: now.into(),
        };
        assert_eq!(row.verdict(), expect, "{row:?}");
    }

    #[test]
    fn more_than_five_percent_is_too_many() {
        check(1000, 1000, Verdict::Same);
        check(1000, 1050, Verdict::Same);
        check(1000, 1051, Verdict::Grew);
        check(1000, 950, Verdict::Same);
        check(1000, 949, Verdict::Shrank);
        check(1, 2, Verdict::Grew);
        check(19, 20, Verdict::Grew);
        check(20, 21, Verdict::Same);
        check(u64::MAX - 1, u64::MAX, Verdict::Same);
        check(1, u64::MAX, Verdict::Grew);
        check(u64::MAX, 1, Verdict::Shrank);
        check(None, 1000, Verdict::New);
        check(1000, None, Verdict::Gone);
        let failing = [Verdict::Grew, Verdict::New, Verdict::Gone];
        assert!(failing.into_iter().all(Verdict::fails));
        assert!(
            ![Verdict::Same, Verdict::Shrank]
                .into_iter()
                .any(Verdict::fails)
        );
    }

    fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
        let owned = |(name, n): &(&str, u64)| ((*name).to_owned(), *n);
        list.iter().map(owned).collect()
    }

    #[test]
    fn operations_on_one_side_only_are_listed() {
        let committed = named(&[("a", 1000), ("gone", 7), ("z", 1000)]);
        let counted = named(&[("z", 1100), ("new", 5), ("a", 900)]);
        let rows = compare(&committed.into_iter().collect(), &counted);
        let verdicts: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.verdict()))
            .collect();
        let expected = [
            ("z", Verdict::Grew),
            ("new", Verdict::New),
            ("a", Verdict::Shrank),
            ("gone", Verdict::Gone),
        ];
        assert_eq!(verdicts, expected);
        let expected = "\
instructions of                      committed           now    change
z                                        1,000         1,100  +10.00 %  TOO MANY
new                                          -             5            NOT COMMITTED
a                                        1,000           900  -10.00 %  less
gone                                         7             -            GONE
";
        assert_eq!(table(&rows), expected);
    }

    /// The whole verdict, as the command gives it.
    #[test]
    fn the_guard_fails_where_it_should() {
        let guard = Guard {
            valgrind: PathBuf::new(),
            binary: PathBuf::from("target/release/tarsia-guard"),
            made_with: BTreeMap::new(),
        };
        let committed = Counts {
            made_with: BTreeMap::from([("rustc".to_owned(), "1.0.0".to_owned())]),
            features: vec![],
            instructions: named(&[("a", 10_000), ("b", 20_000)]).into_iter().collect(),
        };
        let report = |list: &[(&str, u64)]| guard.report(&committed, &named(list));
        assert_eq!(report(&[("a", 10_500), ("b", 1)]), Ok(()));
        for bad in [
            &[("a", 10_501), ("b", 20_000)][..],
            &[("a", 10_000)],
            &[("a", 10_000), ("b", 20_000), ("c", 1)],
        ] {
            let error = report(bad).unwrap_err();
            assert!(error.starts_with("1 of "), "{error}");
            assert!(error.contains("--bless"), "{error}");
        }
    }

    #[test]
    fn counts_that_do_not_repeat_are_refused() {
        assert_eq!(check_repeatable("a", 10_000, 10_010), Ok(()));
        assert_eq!(check_repeatable("a", 10_000, 9_990), Ok(()));
        assert!(check_repeatable("a", 10_000, 10_011).is_err());
        assert!(check_repeatable("a", 10_000, 9_989).is_err());
    }

    #[test]
    fn totals_of_profiles_are_read() {
        let profile =
            "# callgrind format\nversion: 1\nevents: Ir\nsummary: 361213\n\nfn=(1) x\n1 5\n";
        assert_eq!(instructions_of(profile), Some(361_213));
        assert_eq!(instructions_of("summary: \n"), None);
        assert_eq!(instructions_of("totals: 5\n"), None);
    }

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn counts_are_written_and_read() {
        let counts = Counts {
            made_with: BTreeMap::from([("rustc".to_owned(), "1.0.0".to_owned())]),
            features: vec!["avx".to_owned(), "avx2".to_owned()],
            instructions: named(&[("a", 1), ("b", u64::MAX)]).into_iter().collect(),
        };
        let text = counts.to_json();
        assert_eq!(Counts::from_json(&text), Ok(counts));
        for (what, with) in [
            ("1,", "0,"),
            ("1,", "-1,"),
            ("\"avx avx2\"", "3"),
            ("{", "["),
        ] {
            assert!(text.contains(what), "{what}");
            let broken = text.replacen(what, with, 1);
            assert!(Counts::from_json(&broken).is_err(), "{broken}");
        }
    }

    /// Needs no valgrind: an operation without a count is found wherever the tests run.
    #[test]
    fn every_operation_has_a_committed_count() {
        let root = crate::root();
        let source = fs::read_to_string(root.join("benchmarks/guard/src/operations.rs")).unwrap();
        let mut names: Vec<&str> = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","))
            .collect();
        names.sort_unstable();
        let committed = read(&root.join(COUNTS)).unwrap();
        let counted: Vec<&String> = committed.instructions.keys().collect();
        assert_eq!(counted, names, "`cargo xtask guard --bless` counts");
    }
}
