//! A journal of another file of the same length, put behind a file together with its state slot.

use std::fs;
use std::path::Path;

use tarsia_metadata::{Header, SlotState, limits};
use tarsia_testkit::rng::Rng;

use super::context::Context;
use crate::interpose::{How, interrupted};
use crate::outcome::Outcome;
use crate::tool::Tool;
use crate::users::{Users, keys};

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let Some(library) = context.interpose else {
        outcome.count("cases left out: nothing makes the command die here", 1);
        return Ok(());
    };
    let mut rng = Rng::new(seed ^ 0x6a6f_7572);
    let users = Users {
        // Random numbers take the same bytes, whichever they are.
        secrets: 1,
        ..Users::any(&mut rng)
    };
    let tool = Tool {
        command: context.command,
        folder: context.folder,
    };
    let [one, other] = ["one.tarsia", "other.tarsia"];
    for name in [one, other] {
        let table = users.table(&mut rng)?;
        users.write(&table, &tool.path(name))?;
    }
    let read = |name: &str| fs::read(tool.path(name)).map_err(|error| error.to_string());
    let (clean, victim) = (read(one)?, read(other)?);
    if clean.len() != victim.len() {
        outcome.count("pairs of files of other lengths", 1);
        return Ok(());
    }
    let first = rng.below(users.rows);
    let rows = format!("{first}..{}", (first + rng.between(1, 50)).min(users.rows));
    outcome.note(format!("{users:?}, rows {rows}"));
    let Some(journal) = journalled(&tool, library, one, &rows)? else {
        return Err("no interruption left a journal".to_owned());
    };
    // The slots and all behind the end are those of the other file.
    let mut forged = victim.clone();
    let slots = 64..limits::HEADER_BYTES;
    forged[slots.clone()].copy_from_slice(&journal[slots]);
    forged.extend_from_slice(&journal[victim.len()..]);
    fs::write(tool.path("forged.tarsia"), &forged).map_err(|error| error.to_string())?;
    let expected = keys(victim)?;
    readers(&tool, &expected, outcome)?;
    outcome.count("foreign journals", 1);
    let said = tool.run(&["recover", "forged.tarsia"])?;
    let after = read("forged.tarsia")?;
    if said.code == Some(0) {
        let verified = tool.run(&["verify", "forged.tarsia"])?;
        let shown = keys(after).map_or_else(|error| error, |keys| format!("{} rows", keys.len()));
        outcome.find(format!(
            "recover applies a journal of another file: {}; then verify: {}; the file shows {shown} of {}",
            said.said(),
            verified.said(),
            expected.len()
        ));
    } else if after != forged {
        outcome.find("recover refuses a journal of another file, and changes the file");
    }
    Ok(())
}

/// Readers refuse the file, or show it as it was.
fn readers(tool: &Tool<'_>, expected: &[i64], outcome: &mut Outcome) -> Result<(), String> {
    for map in [false, true] {
        outcome.count("readers of foreign journals", 1);
        let mut args = vec!["scan", "forged.tarsia", "--json", "--columns", "k"];
        if map {
            args.push("--map");
        }
        let said = tool.run(&args)?;
        if said.code != Some(0) {
            continue;
        }
        let n_shown = said.stdout.lines().count();
        if n_shown != expected.len() {
            outcome.find(format!(
                "a reader (map: {map}) shows a file with the journal of another: {n_shown} rows of {}",
                expected.len()
            ));
        }
    }
    Ok(())
}

/// A file as an erasure leaves it that dies behind its commit point.
fn journalled(
    tool: &Tool<'_>,
    library: &Path,
    name: &str,
    rows: &str,
) -> Result<Option<Vec<u8>>, String> {
    let clean = fs::read(tool.path(name)).map_err(|error| error.to_string())?;
    for at in 1..200 {
        fs::write(tool.path(name), &clean).map_err(|error| error.to_string())?;
        let args = ["erase", name, "--rows", rows];
        let done = interrupted(tool, library, &args, (at, How::Kill))?;
        if done.code.is_some() {
            return Ok(None);
        }
        let bytes = fs::read(tool.path(name)).map_err(|error| error.to_string())?;
        let header = Header::parse(&bytes).map_err(|error| error.to_string())?;
        let slot = header.current_slot().map_err(|error| error.to_string())?;
        if slot.is_some_and(|slot| slot.state != SlotState::Clean) {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}
