//! Faults: what no command may do, whatever file it gets.

use std::fs;
use std::io;
use std::path::Path;

use crate::process::{Done, Ending, Limits};

/// Says what is wrong with how a command ended or what it printed; `None` where nothing is.
pub(super) fn fault(done: &Done, limits: Limits) -> Option<String> {
    let ended = match done.ending {
        Ending::Code(0..=2) => None,
        Ending::Code(code) => Some(format!("exit code {code}")),
        Ending::Signal(signal) => Some(format!("ended by signal {signal}")),
        Ending::OverTime => Some(format!("more than {} seconds", limits.time.as_secs())),
    };
    ended
        .or_else(|| memory(done, limits))
        .or_else(|| output(done))
}

fn memory(done: &Done, limits: Limits) -> Option<String> {
    let mebibytes = |bytes: u64| bytes >> 20;
    (done.peak_bytes > limits.resident_bytes)
        .then(|| format!("{} MiB of memory", mebibytes(done.peak_bytes)))
}

fn output(done: &Done) -> Option<String> {
    let Ok(said) = std::str::from_utf8(&done.stderr) else {
        return Some("an error that is no UTF-8".to_owned());
    };
    // Notes say what of a file could not be carried, each on a line.
    let rest: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("note: "))
        .collect();
    let is_error =
        matches!(rest[..], [line] if line.starts_with("error: ")) && said.ends_with('\n');
    let is_control = |c: char| c.is_control() && c != '\n';
    if said.contains("panicked at") || said.contains("stack backtrace") {
        Some("a panic".to_owned())
    } else if done.is_ok() && !rest.is_empty() {
        Some("done, but not in silence".to_owned())
    } else if !done.is_ok() && !is_error {
        Some(format!("an error of {} lines, not one", rest.len()))
    } else if said.chars().any(is_control) {
        Some("control characters in the error".to_owned())
    } else {
        match std::str::from_utf8(&done.stdout) {
            Ok(printed) if printed.chars().any(is_control) => {
                Some("control characters in the output".to_owned())
            }
            Ok(_) => None,
            Err(_) => Some("output that is no UTF-8".to_owned()),
        }
    }
}

/// Finds what lies in the folder of a command besides its input and, where it is done, its output. All but the input is
/// removed.
///
/// # Errors
/// Where the folder cannot be read.
pub(super) fn left_behind(
    folder: &Path,
    input: &str,
    output: Option<&str>,
) -> io::Result<Option<String>> {
    let mut left = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == input {
            continue;
        }
        if output.is_none_or(|output| name != output) {
            left = Some(format!(
                "`{}` is left behind",
                shape(&name.to_string_lossy())
            ));
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(left)
}

/// The name without what is random in it.
fn shape(name: &str) -> &str {
    name.find(".tmp")
        .map_or(name, |at| &name[..at + ".tmp".len()])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits {
        time: Duration::from_secs(10),
        resident_bytes: 1 << 20,
    };

    fn found(ending: Ending, stdout: &str, stderr: &str) -> Option<String> {
        let done = Done {
            ending,
            stdout: stdout.into(),
            stderr: stderr.into(),
            peak_bytes: 1 << 20,
        };
        fault(&done, LIMITS)
    }

    #[test]
    fn what_commands_promise_is_no_fault() {
        assert_eq!(found(Ending::Code(0), "rows 1\né\n", ""), None);
        assert_eq!(found(Ending::Code(1), "", "error: a.csv: cut\n"), None);
        assert_eq!(found(Ending::Code(2), "", "error: what\n"), None);
    }

    #[test]
    fn every_broken_promise_is_a_fault() {
        let one = "error: a.csv: cut\n";
        let faults = [
            (Ending::Signal(6), "", "", "ended by signal 6"),
            (Ending::Code(101), "", one, "exit code 101"),
            (Ending::OverTime, "", "", "more than 10 seconds"),
            (
                Ending::Code(1),
                "",
                "thread 'main' panicked at x\n",
                "a panic",
            ),
            (
                Ending::Code(0),
                "",
                "warning: x\n",
                "done, but not in silence",
            ),
            (
                Ending::Code(1),
                "",
                "error: a\nb\n",
                "an error of 2 lines, not one",
            ),
            (Ending::Code(1), "", "", "an error of 0 lines, not one"),
            (Ending::Code(1), "", "cut\n", "an error of 1 lines, not one"),
            (
                Ending::Code(1),
                "",
                "error: \u{1b}[31m\n",
                "control characters in the error",
            ),
            (
                Ending::Code(0),
                "a\rb\n",
                "",
                "control characters in the output",
            ),
        ];
        for (ending, stdout, stderr, expected) in faults {
            assert_eq!(found(ending, stdout, stderr).as_deref(), Some(expected));
        }
        let large = Done {
            ending: Ending::Code(0),
            stdout: Vec::new(),
            stderr: Vec::new(),
            peak_bytes: 3 << 20,
        };
        assert_eq!(fault(&large, LIMITS).as_deref(), Some("3 MiB of memory"));
    }

    #[test]
    fn files_that_are_left_are_told_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let left = |names: &[&str], output| {
            names
                .iter()
                .for_each(|name| fs::write(path.join(name), "").unwrap());
            left_behind(path, "in.csv", output).unwrap()
        };
        assert_eq!(left(&["in.csv", "out.tarsia"], Some("out.tarsia")), None);
        assert_eq!(
            left(&["out.tarsia"], None).as_deref(),
            Some("`out.tarsia` is left behind")
        );
        let temporary = left(&[".out.tarsia.tmp-a8Xz"], Some("out.tarsia"));
        assert_eq!(
            temporary.as_deref(),
            Some("`.out.tarsia.tmp` is left behind")
        );
        assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    }
}
