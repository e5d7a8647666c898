//! `tarsia table gc`, `pin`, `unpin`, `protect` and `copy`.

use std::time::Duration;

use serde_json::{Value, json};
use tarsia_table::meta::{Pin, Policy, Rule, TxnId};
use tarsia_table::{CommitInfo, Gc, PIN_DAYS_MAX};

use crate::args::{BranchRule, Said, TableCopy, TableGc, TablePin, TableProtect, TableUnpin};
use crate::failure::Failure;
use crate::place::Places;
use crate::shown::printable;

use super::output::{NAME_CHARS, Out, SHOWN_CHARS, new_table, summarise};
use super::table_open::{
    LEFT_AGE, SHOWN_DIGITS, check_place, commit_info, failed, new_store, open_table, show_done,
    temporaries, time_text,
};

pub(super) fn gc(args: &TableGc, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let mut gc = args.keep_days.map_or_else(Gc::new, Gc::keep_days);
    if args.dry_run {
        gc = gc.dry_run();
    }
    let report = table.gc(&gc).map_err(failed(path))?;
    let n_temporaries = temporaries(&args.table)?.map_or(Ok(0), |store| {
        let found = match args.dry_run {
            true => store.count_temporaries(LEFT_AGE),
            false => store.remove_temporaries(LEFT_AGE),
        };
        found.map_err(|error| Failure::bad(path, error))
    })?;
    let mut out = Out::new();
    if args.json {
        let removed = report.removed.iter();
        let removed = removed.map(|it| json!({"key": it.key, "bytes": it.bytes}));
        out.document(&json!({
            "dry_run": args.dry_run,
            "keep_days": report.keep_days,
            "needed_objects": report.needed_objects,
            "needed_bytes": report.needed_bytes,
            "young_objects": report.young_objects,
            "young_bytes": report.young_bytes,
            "removed_objects": report.removed.len(),
            "removed_bytes": report.removed_bytes(),
            "ended_pins": report.ended_pins,
            "temporary_files_left": n_temporaries,
            "removed": removed.collect::<Vec<_>>(),
        }))?;
        return out.finish();
    }
    let names = match args.dry_run {
        true => ["objects to delete", "bytes to delete"],
        false => ["objects deleted", "bytes deleted"],
    };
    let [objects, bytes] = names;
    out.facts(&[
        ("days kept", report.keep_days.to_string()),
        ("objects needed", report.needed_objects.to_string()),
        ("bytes needed", report.needed_bytes.to_string()),
        ("objects too young", report.young_objects.to_string()),
        ("bytes too young", report.young_bytes.to_string()),
        (objects, report.removed.len().to_string()),
        (bytes, report.removed_bytes().to_string()),
        ("pins that ended", report.ended_pins.to_string()),
        ("temporary files", n_temporaries.to_string()),
    ])?;
    out.finish()
}

fn pin_document(id: &TxnId, pin: &Pin) -> Value {
    json!({
        "id": id.to_string(),
        "commit": pin.commit.to_string(),
        "time": pin.time,
        "end": pin.end,
        "since": pin.since,
        "message": pin.message,
        "author": pin.author,
    })
}

pub(super) fn pin(args: &TablePin, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let mut out = Out::new();
    if let Some(state) = &args.state {
        // Also of a dry run, which makes no pin that could be refused.
        if !(1..=PIN_DAYS_MAX).contains(&args.days) {
            let what = format!("--days: {} is not from 1 to {PIN_DAYS_MAX}", args.days);
            return Err(Failure::Usage(what));
        }
        let commit = table.at(state).map_err(failed(path))?.id();
        let lease = Duration::from_secs(args.days.saturating_mul(24 * 3600));
        let id = match args.dry_run {
            true => None,
            false => {
                let made = table.pin(state, lease, &commit_info(&args.said));
                Some(made.map_err(failed(path))?.to_string())
            }
        };
        if args.json {
            out.document(&json!({"id": id, "commit": commit.to_string(), "days": args.days}))?;
            return out.finish();
        }
        let id = id.unwrap_or_else(|| "none: a dry run".to_owned());
        let facts = [("pin", id), ("of", commit.to_string())];
        return summarise(path, &facts);
    }
    let pins = table.pins().map_err(failed(path))?;
    if args.json {
        let pins = pins.iter().map(|(id, pin)| pin_document(id, pin));
        out.document(&pins.collect::<Vec<_>>())?;
        return out.finish();
    }
    let mut rows = new_table(&["pin", "end (UTC)", "author", "commit", "message"]);
    for (id, pin) in &pins {
        rows.add_row([
            id.to_string(),
            time_text(pin.end),
            printable(&pin.author, SHOWN_CHARS),
            pin.commit.to_string().chars().take(SHOWN_DIGITS).collect(),
            printable(&pin.message, SHOWN_CHARS),
        ]);
    }
    out.table(&rows)?;
    out.finish()
}

pub(super) fn unpin(args: &TableUnpin, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let id = TxnId::parse(&args.id).map_err(|_| {
        let id = args.id.escape_debug();
        Failure::Usage(format!("`{id}` is no id of a pin: 32 hexadecimal digits"))
    })?;
    let table = open_table(&args.table, places)?;
    table.unpin(&id).map_err(failed(path))?;
    let document = json!({"id": id.to_string(), "is": "removed"});
    show_done(
        path,
        args.json,
        &document,
        &[("pin removed", id.to_string())],
    )
}

fn rule_of(rule: BranchRule) -> Rule {
    match rule {
        BranchRule::MergeOnly => Rule::MergeOnly,
        BranchRule::ForwardOnly => Rule::ForwardOnly,
        BranchRule::NoReset => Rule::NoReset,
    }
}

pub(super) fn protect(args: &TableProtect, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let info: CommitInfo = commit_info(&Said {
        message: String::new(),
        author: args.author.clone(),
    });
    if args.branch.is_some() && args.rule.is_empty() && !args.none {
        let what = format!("{}: --rule or --none goes with a branch", path.display());
        return Err(Failure::Usage(what));
    }
    if !args.dry_run {
        if let Some(branch) = &args.branch {
            let rules = args.rule.iter().map(|rule| rule_of(*rule));
            table.protect(branch, rules, &info).map_err(failed(path))?;
        }
        if let Some(keep_days) = args.keep_days {
            let set = table.keep_states(keep_days, &info);
            set.map_err(failed(path))?;
        }
    }
    show_policy(&table.policy().map_err(failed(path))?, args.json)
}

fn show_policy(policy: &Policy, is_json: bool) -> Result<(), Failure> {
    let names = |rules: &std::collections::BTreeSet<Rule>| -> Vec<&str> {
        rules.iter().map(|rule| rule.name()).collect()
    };
    let mut out = Out::new();
    if is_json {
        let branches = policy.branches.iter();
        let branches = branches.map(|(branch, rules)| (branch.clone(), json!(names(rules))));
        out.document(&json!({
            "keep_days": policy.keep_days,
            "branches": branches.collect::<serde_json::Map<_, _>>(),
        }))?;
        return out.finish();
    }
    out.facts(&[("days kept", policy.keep_days.to_string())])?;
    let mut rows = new_table(&["branch", "rules"]);
    for (branch, rules) in &policy.branches {
        rows.add_row([printable(branch, NAME_CHARS), names(rules).join(", ")]);
    }
    out.table(&rows)?;
    out.finish()
}

pub(super) fn copy(args: &TableCopy, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    // A dry run makes no folder: one that is not there is as one that is empty.
    let is_absent = args.to.url().is_none() && !args.to.name().exists();
    let to = match args.dry_run && is_absent {
        true => {
            check_place(args.to.name())?;
            std::sync::Arc::new(tarsia::io::MemoryStore::new())
        }
        false => new_store(&args.to, places)?,
    };
    let report = match args.dry_run {
        true => table.copy_plan(&to),
        false => table.copy_to(&to),
    };
    let report = report.map_err(failed(path))?;
    if args.json {
        let mut out = Out::new();
        out.document(&json!({
            "dry_run": args.dry_run,
            "objects": report.objects,
            "bytes": report.bytes,
            "objects_there": report.objects_there,
            "refs": report.refs,
        }))?;
        return out.finish();
    }
    let objects = match args.dry_run {
        true => "objects to copy",
        false => "objects copied",
    };
    let facts = [
        (objects, report.objects.to_string()),
        ("bytes of files", report.bytes.to_string()),
        ("objects there", report.objects_there.to_string()),
        ("refs", report.refs.to_string()),
    ];
    summarise(path, &facts)
}
