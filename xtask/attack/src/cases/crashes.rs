//! The command's own process dies, or a write of it fails, at any of its writes and syncs.

use std::collections::BTreeSet;
use std::fs;

use tarsia_metadata::Header;
use tarsia_testkit::rng::Rng;

use super::certificates::keys;
use super::context::Context;
use crate::interpose::{How, calls, interrupted};
use crate::outcome::Outcome;
use crate::tool::Tool;
use crate::users::{self, Users};

/// Points of a case at which the command is stopped.
const POINTS: usize = 8;

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let Some(library) = context.interpose else {
        outcome.count("cases left out: nothing makes the command die here", 1);
        return Ok(());
    };
    let mut rng = Rng::new(seed ^ 0x6372_6173);
    let users = Users {
        rows: rng.between(20, 1500),
        secrets: rng.between(1, 2),
        ..Users::any(&mut rng)
    };
    let table = users.table(&mut rng)?;
    let tool = Tool {
        command: context.command,
        folder: context.folder,
    };
    users.write(&table, &tool.path("t.tarsia"))?;
    let (secret, public) = keys(tool.folder, "own", &mut rng)?;
    let clean = fs::read(tool.path("t.tarsia")).map_err(|error| error.to_string())?;
    let first = rng.below(users.rows);
    let rows = format!("{first}..{}", (first + rng.between(1, 60)).min(users.rows));
    let level = *rng.pick(&["1", "2", "2", "2"]);
    let args = [
        "erase",
        "t.tarsia",
        "--rows",
        &rows,
        "--level",
        level,
        "--certificate",
        "c.json",
        "--key",
        &secret,
    ];
    let n_calls = calls(&tool, library, &args)?;
    let after = fs::read(tool.path("t.tarsia")).map_err(|error| error.to_string())?;
    let states = States {
        before: users::keys(clean.clone())?,
        after: users::keys(after)?,
    };
    outcome.note(format!(
        "{users:?}, rows {rows} at level {level}, {n_calls} calls"
    ));
    if n_calls < 4 {
        return Err(format!(
            "the command makes {n_calls} writes: the library is not loaded"
        ));
    }
    for _ in 0..POINTS {
        fs::write(tool.path("t.tarsia"), &clean).map_err(|error| error.to_string())?;
        let _ = fs::remove_file(tool.path("c.json"));
        let at = 1 + rng.below(n_calls as usize) as u64;
        let how = *rng.pick(&How::ALL);
        let what = format!("{how:?} at write {at} of {n_calls}");
        let done = interrupted(&tool, library, &args, (at, how))?;
        outcome.note(format!("{what}: {}", done.said()));
        outcome.count("interrupted erasures", 1);
        let point = Point {
            what: &what,
            how,
            is_done: done.code == Some(0),
            keys: (&secret, &public),
        };
        check(&tool, &states, &point, outcome)?;
    }
    Ok(())
}

/// The keys that the file shows.
struct States {
    before: Vec<i64>,
    after: Vec<i64>,
}

/// How a command was interrupted.
struct Point<'a> {
    what: &'a str,
    how: How,
    /// Whether the command said that all went well.
    is_done: bool,
    keys: (&'a str, &'a str),
}

fn check(
    tool: &Tool<'_>,
    states: &States,
    point: &Point<'_>,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let what = point.what;
    let bytes = fs::read(tool.path("t.tarsia")).map_err(|error| error.to_string())?;
    // Readers first: they see the one state or the other, before anybody recovers the file.
    for args in [
        &["scan", "t.tarsia", "--json", "--columns", "k"][..],
        &["scan", "t.tarsia", "--json", "--columns", "k", "--map"],
    ] {
        let said = tool.run(args)?;
        outcome.count("readers before recovery", 1);
        let shown = said.stdout.lines().count();
        let is_state = shown == states.before.len() || shown == states.after.len();
        if said.code != Some(0) || !is_state {
            outcome.find(format!(
                "{what}: a reader before recovery: {}, {shown} rows",
                said.said()
            ));
        }
    }
    temporary(tool, point, outcome)?;
    let has_journal = Header::parse(&bytes)
        .ok()
        .and_then(|header| header.current_slot().ok().flatten())
        .is_some_and(|slot| slot.state != tarsia_metadata::SlotState::Clean);
    outcome.count("interruptions that left a journal", u64::from(has_journal));
    let out = recovered(tool, point, outcome)?;
    let said = tool.run(&["verify", "t.tarsia"])?;
    outcome.count("files verified after recovery", 1);
    if said.code != Some(0) {
        outcome.find(format!("{what}: verify after recovery: {}", said.said()));
        return Ok(());
    }
    let bytes = fs::read(tool.path("t.tarsia")).map_err(|error| error.to_string())?;
    let shown = users::keys(bytes)?;
    let is_gone = shown == states.after;
    if !is_gone && shown != states.before {
        outcome.find(format!(
            "{what}: {} rows, which is neither before nor after",
            shown.len()
        ));
    }
    if point.is_done && !is_gone {
        outcome.find(format!(
            "{what}: the command says that it is done, and the rows are there"
        ));
    }
    match is_gone {
        true => certificate(tool, point, out, outcome),
        false => {
            if tool.path("c.json").exists() {
                outcome.find(format!("{what}: a certificate, and the rows are there"));
            }
            Ok(())
        }
    }
}

/// A signal leaves no other file than those that were there.
fn temporary(tool: &Tool<'_>, point: &Point<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let known: BTreeSet<&str> = ["t.tarsia", "c.json", "own.key", "own.pub"].into();
    let entries = fs::read_dir(tool.folder).map_err(|error| error.to_string())?;
    let is_signal = matches!(point.how, How::Int | How::Term | How::Eio | How::Enospc);
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if known.contains(name.as_str()) {
            continue;
        }
        if is_signal {
            outcome.find(format!("{}: a file is left: `{name}`", point.what));
        }
        let _ = fs::remove_file(path);
    }
    outcome.count("folders looked through for temporary files", 1);
    Ok(())
}

/// Outcome of the recovery of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recovered {
    /// It was recovered, and was asked for a certificate.
    Certified,
    /// It was recovered without one.
    Alone,
}

fn recovered(
    tool: &Tool<'_>,
    point: &Point<'_>,
    outcome: &mut Outcome,
) -> Result<Recovered, String> {
    let _ = fs::remove_file(tool.path("c2.json"));
    outcome.count("files recovered", 1);
    let is_there = tool.path("c.json").exists();
    if !is_there {
        let said = tool.run(&[
            "recover",
            "t.tarsia",
            "--certificate",
            "c2.json",
            "--key",
            point.keys.0,
        ])?;
        // Where nothing was interrupted there is nothing to certify.
        if said.code != Some(2) {
            return Ok(Recovered::Certified);
        }
    }
    let said = tool.run(&["recover", "t.tarsia"])?;
    if said.code != Some(0) {
        outcome.find(format!("{}: recover: {}", point.what, said.said()));
    }
    Ok(Recovered::Alone)
}

/// Rows that are gone have a certificate, from the command or from recovery, and it is whole.
fn certificate(
    tool: &Tool<'_>,
    point: &Point<'_>,
    recovered: Recovered,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let what = point.what;
    outcome.count("certificates of interrupted erasures", 1);
    let found = ["c.json", "c2.json"]
        .into_iter()
        .find(|name| tool.path(name).exists());
    let Some(name) = found else {
        let how = match recovered {
            Recovered::Certified => "`recover --certificate` writes none",
            Recovered::Alone => "`recover` has no option for one",
        };
        outcome.find(format!(
            "{what}: the rows are gone, there is no certificate, and {how}"
        ));
        return Ok(());
    };
    let said = tool.run(&[
        "verify-certificate",
        name,
        "t.tarsia",
        "--signed-by",
        point.keys.1,
    ])?;
    if said.code != Some(0) {
        outcome.find(format!("{what}: the certificate `{name}`: {}", said.said()));
    }
    let _ = fs::remove_file(tool.path("c2.json"));
    Ok(())
}

/// So that the case is not left out where it could run.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::interpose::Interpose;
    use std::path::Path;

    #[test]
    fn a_process_dies_where_it_is_told_to() {
        let Ok(interpose) = Interpose::build() else {
            // No compiler.
            return;
        };
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("case");
        fs::create_dir(&folder).unwrap();
        let tool = Tool {
            command: Path::new("/bin/sh"),
            folder: &folder,
        };
        let args = ["-c", "truncate -s 7 copy"];
        let n_calls = calls(&tool, interpose.library(), &args).unwrap();
        assert!(n_calls > 0);
        assert_eq!(fs::metadata(folder.join("copy")).unwrap().len(), 7);
        let done = interrupted(&tool, interpose.library(), &args, (1, How::Enospc)).unwrap();
        assert_ne!(done.code, Some(0), "{done:?}");
        fs::remove_file(folder.join("copy")).unwrap();
        interrupted(&tool, interpose.library(), &args, (1, How::Kill)).unwrap();
        assert_eq!(fs::metadata(folder.join("copy")).unwrap().len(), 0);
    }
}
