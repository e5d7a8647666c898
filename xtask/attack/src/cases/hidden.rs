//! Rows that were hidden at level 1 are found by the same condition at level 2; and an erasure of nothing does nothing.

use std::fs;

use tarsia::RowSet;
use tarsia_testkit::rng::Rng;

use super::context::Context;
use super::search;
use crate::leaves::leaf_values;
use crate::outcome::Outcome;
use crate::scene;
use crate::tool::Tool;
use crate::users::Users;
use crate::walk::Walked;

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x6869_6464);
    let users = Users::any(&mut rng);
    let table = users.table(&mut rng)?;
    let tool = Tool {
        command: context.command,
        folder: context.folder,
    };
    let path = tool.path("users.tarsia");
    users.write(&table, &path)?;
    let first = rng.below(users.rows) as u64;
    let last = (first + rng.below(40) as u64).min(users.rows as u64 - 1);
    let condition = match rng.below(3) {
        0 if first == last => format!("k = {first}"),
        0 | 1 => format!("k BETWEEN {first} AND {last}"),
        _ => {
            let keys: Vec<String> = (first..=last).map(|key| key.to_string()).collect();
            format!("k IN ({})", keys.join(", "))
        }
    };
    outcome.note(format!("{users:?}, {condition}"));
    nothing(&tool, users.rows, outcome)?;
    let erase = |level: &str| {
        tool.must(&[
            "erase",
            "users.tarsia",
            "--where",
            &condition,
            "--level",
            level,
        ])
    };
    erase("1")?;
    let said = erase("2")?;
    outcome.note(said.stdout);
    let bytes = fs::read(&path).map_err(|error| error.to_string())?;
    let mut gone = RowSet::new();
    gone.insert_range(first..last + 1);
    let walked = Walked::of(&bytes)?;
    outcome.count("conditions asked at level 1 and then at level 2", 1);
    if walked.erased != gone {
        outcome.find(format!(
            "of {} rows that are hidden, the same condition at level 2 erases {} (`{condition}`)",
            gone.len(),
            walked.erased.len()
        ));
    }
    let rows = users.rows as u64;
    let left = leaf_values(&scene::rows_of(&table, scene::survivors(rows, &gone))?)?;
    let mut only_erased = leaf_values(&scene::rows_of(&table, first..last + 1)?)?;
    for (erased, left) in only_erased.iter_mut().zip(&left) {
        erased.retain(|value| !left.contains(value) && value.iter().any(|byte| *byte != 0));
    }
    search::decoded(&walked, &only_erased, outcome);
    Ok(())
}

/// A condition that no row passes: exit 0, no byte changed, no certificate, and words that say so.
fn nothing(tool: &Tool<'_>, rows: usize, outcome: &mut Outcome) -> Result<(), String> {
    let path = tool.path("users.tarsia");
    let before = fs::read(&path).map_err(|error| error.to_string())?;
    let condition = format!("k = {}", rows + 7);
    for level in ["1", "2"] {
        outcome.count("erasures of nothing", 1);
        let done = tool.run(&[
            "erase",
            "users.tarsia",
            "--where",
            &condition,
            "--level",
            level,
            "--certificate",
            "none.json",
        ])?;
        if fs::read(&path).map_err(|error| error.to_string())? != before {
            outcome.find(format!(
                "an erasure of no row at level {level} changes the file"
            ));
        }
        if tool.path("none.json").exists() {
            outcome.find(format!(
                "an erasure of no row at level {level} writes a certificate"
            ));
            let _ = fs::remove_file(tool.path("none.json"));
        }
        if done.stdout.trim().is_empty() && done.stderr.trim().is_empty() {
            outcome.find(format!(
                "an erasure of no row at level {level} says nothing"
            ));
        }
        fs::write(&path, &before).map_err(|error| error.to_string())?;
    }
    Ok(())
}
