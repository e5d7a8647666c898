//! `tarsia table`.

use std::path::Path;

use serde_json::{Value, json};
use tarsia_filter::Expr;
use tarsia_table::meta::{Entry, RefEntry, RefOp};
use tarsia_table::{Depth, DiffEntry, LogEntry, Snapshot};

use crate::args::{
    TableBranch, TableCommand, TableDiff, TableFsck, TableInfo, TableLog, TableScan, TableTag,
};
use crate::failure::Failure;
use crate::place::Places;
use crate::shown::printable;

use super::output::{NAME_CHARS, Out, SHOWN_CHARS, align_right, new_table};
use super::print_rows::print_rows;
use super::table_open::{
    LEFT_AGE, SHOWN_DIGITS, commit_info, failed, folders_as_refs, open_table, show_done,
    temporaries, time_text,
};
use super::table_update::{add_column, compact, update};
use super::table_upkeep;
use super::table_write::{alter, append, create, delete, merge, partitioned_by, rebase, reset};

pub(super) fn table(command: &TableCommand, places: &dyn Places) -> Result<(), Failure> {
    match command {
        TableCommand::Create(args) => create(args, places),
        TableCommand::Append(args) => append(args, places),
        TableCommand::Scan(args) => scan(args, places),
        TableCommand::Delete(args) => delete(args, places),
        TableCommand::Update(args) => update(args, places),
        TableCommand::AddColumn(args) => add_column(args, places),
        TableCommand::Compact(args) => compact(args, places),
        TableCommand::Info(args) => info(args, places),
        TableCommand::Log(args) => log(args, places),
        TableCommand::Branch(args) => branch(args, places),
        TableCommand::Tag(args) => tag(args, places),
        TableCommand::Reset(args) => reset(args, places),
        TableCommand::Merge(args) => merge(args, places),
        TableCommand::Rebase(args) => rebase(args, places),
        TableCommand::Diff(args) => diff(args, places),
        TableCommand::Alter(args) => alter(args, places),
        TableCommand::Fsck(args) => fsck(args, places),
        TableCommand::Gc(args) => table_upkeep::gc(args, places),
        TableCommand::Pin(args) => table_upkeep::pin(args, places),
        TableCommand::Unpin(args) => table_upkeep::unpin(args, places),
        TableCommand::Protect(args) => table_upkeep::protect(args, places),
        TableCommand::Copy(args) => table_upkeep::copy(args, places),
    }
}

fn scan(args: &TableScan, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let snapshot = open_table(&args.table, places)?
        .at(&args.at)
        .map_err(failed(path))?;
    let mut scan = snapshot.scan();
    if let Some(names) = &args.columns.names {
        scan = scan.columns(&names.0);
    }
    if let Some(condition) = args.only.read()? {
        if args.explain_filter {
            show_files_left(path, &snapshot, &condition)?;
        }
        scan = scan.filter(condition);
    }
    if let Some(n_rows) = args.n_rows {
        scan = scan.limit(n_rows);
    }
    if args.count {
        let mut out = Out::new();
        out.line(&scan.count().map_err(failed(path))?.to_string())?;
        return out.finish();
    }
    let scan = scan.build().map_err(failed(path))?;
    let schema = scan.schema();
    let batches = scan.map(|batch| batch.map_err(|error| failed(path)(error.into())));
    print_rows(path, &schema, batches, args.json)
}

/// Says how many files a scan opens, and why not all.
fn show_files_left(path: &Path, snapshot: &Snapshot, condition: &Expr) -> Result<(), Failure> {
    let mut table = new_table(&["", "files", "rows", "bytes"]);
    for column in 1..=3 {
        align_right(&mut table, column);
    }
    for (what, condition) in [("all", None), ("partitions leave", Some(condition))] {
        let files = snapshot.files(condition).map_err(failed(path))?;
        let sum = |of: fn(&Entry) -> u64| files.iter().map(of).sum::<u64>().to_string();
        table.add_row([
            what.to_owned(),
            files.len().to_string(),
            sum(|file| file.rows),
            sum(|file| file.bytes),
        ]);
    }
    let mut out = Out::to_standard_error();
    out.table(&table)?;
    out.finish()
}

fn info(args: &TableInfo, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let snapshot = table.at(&args.at).map_err(failed(path))?;
    let commit = snapshot.commit();
    let n_rows = snapshot.scan().count().map_err(failed(path))?;
    let files = snapshot.files(None).map_err(failed(path))?;
    let n_bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let mut out = Out::new();
    if args.json {
        let fields = snapshot.schema().fields().iter().map(|field| {
            json!({
                "name": field.field.name(),
                "id": field.id.to_string(),
                "type": field.field.data_type().to_string(),
                "nullable": field.field.is_nullable(),
                "former": field.former,
            })
        });
        out.document(&json!({
            "table": table.root().id.to_string(),
            "commit": snapshot.id().to_string(),
            "generation": commit.generation,
            "message": commit.message,
            "author": commit.author,
            "time": commit.time,
            "rows": n_rows,
            "files": files.len(),
            "bytes": n_bytes,
            "manifests": commit.manifests.len(),
            "partitioned_by": partitioned_by(&snapshot)?,
            "fields": fields.collect::<Vec<_>>(),
        }))?;
        return out.finish();
    }
    out.facts(&[
        ("table", table.root().id.to_string()),
        ("commit", snapshot.id().to_string()),
        ("time", time_text(commit.time)),
        ("author", printable(&commit.author, NAME_CHARS)),
        ("message", printable(&commit.message, NAME_CHARS)),
        ("rows", n_rows.to_string()),
        ("files", files.len().to_string()),
        ("bytes", n_bytes.to_string()),
        ("partitioned by", partitioned_by(&snapshot)?),
    ])?;
    let mut columns = new_table(&["column", "type", "nullable", "id", "former names"]);
    for field in snapshot.schema().fields() {
        columns.add_row([
            printable(field.field.name(), NAME_CHARS),
            printable(&field.field.data_type().to_string(), NAME_CHARS),
            if field.field.is_nullable() {
                "yes"
            } else {
                "no"
            }
            .into(),
            field.id.to_string(),
            printable(&field.former.join(", "), SHOWN_CHARS),
        ]);
    }
    out.line("")?;
    out.table(&columns)?;
    out.finish()
}

fn log(args: &TableLog, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let log = open_table(&args.table, places)?
        .log(&args.branch)
        .map_err(failed(path))?;
    let mut out = Out::new();
    if args.json {
        let entries: Vec<_> = log.iter().map(log_document).collect();
        out.document(&entries)?;
        return out.finish();
    }
    let mut rows = new_table(&[
        "n",
        "time (UTC)",
        "author",
        "what",
        "rows",
        "files",
        "commit",
        "message",
    ]);
    [0, 4, 5]
        .into_iter()
        .for_each(|column| align_right(&mut rows, column));
    for it in &log {
        let count = |value: fn(&tarsia_table::meta::Commit) -> u64| {
            it.commit
                .as_ref()
                .map_or_else(|| "gone".to_owned(), |commit| value(commit).to_string())
        };
        rows.add_row([
            it.entry.n.to_string(),
            time_text(it.entry.time),
            printable(&it.entry.author, SHOWN_CHARS),
            what_happened(it),
            count(|commit| commit.rows),
            count(|commit| commit.files),
            it.entry
                .commit
                .to_string()
                .chars()
                .take(SHOWN_DIGITS)
                .collect(),
            printable(
                it.commit.as_ref().map_or("", |commit| &commit.message),
                SHOWN_CHARS,
            ),
        ]);
    }
    out.table(&rows)?;
    out.finish()
}

/// Describes the effect of a ref entry: `append`, `merge of 3 changes`, `reset`, `branch of main`.
fn what_happened(it: &LogEntry) -> String {
    let of_commit = || match it.commit.as_deref() {
        None => "commit".to_owned(),
        Some(commit) if commit.parents.len() > 1 => match commit.changes.len() {
            1 => "merge of 1 change".to_owned(),
            n_changes => format!("merge of {n_changes} changes"),
        },
        Some(commit) => {
            let ops = commit.changes.iter().map(|change| change.op.name());
            ops.collect::<Vec<_>>().join(", ")
        }
    };
    match (it.entry.op, &it.entry.source) {
        (RefOp::Create, Some(source)) => format!("branch of {}", printable(source, SHOWN_CHARS)),
        (RefOp::Create, None) => "create".to_owned(),
        (RefOp::Commit, _) => of_commit(),
        (RefOp::Reset, _) => "reset".to_owned(),
        (RefOp::Delete, _) => "branch deleted".to_owned(),
    }
}

fn log_document(it: &LogEntry) -> Value {
    let changes = |commit: &tarsia_table::meta::Commit| -> Vec<Value> {
        let changes = commit.changes.iter();
        changes
            .map(|change| json!({"txn": change.txn.to_string(), "op": change.op.name()}))
            .collect()
    };
    json!({
        "entry": entry_document(&it.entry),
        "what": what_happened(it),
        "commit": it.commit.as_ref().map(|commit| json!({
            "message": commit.message,
            "author": commit.author,
            "parents": commit.parents.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "changes": changes(commit),
            "rows": commit.rows,
            "files": commit.files,
        })),
    })
}

fn entry_document(entry: &RefEntry) -> Value {
    json!({
        "n": entry.n,
        "op": entry.op.name(),
        "commit": entry.commit.to_string(),
        "before": entry.before.map(|id| id.to_string()),
        "txn": entry.txn.to_string(),
        "author": entry.author,
        "time": entry.time,
        "tool": entry.tool,
    })
}

fn branch(args: &TableBranch, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let info = commit_info(&args.said);
    if let Some(name) = &args.name {
        let made = match args.delete {
            true => table.delete_branch(name, &info).map(|()| None),
            false => {
                let made = table.create_branch(name, &args.at, &info);
                made.and_then(|()| table.at(name)).map(Some)
            }
        };
        let commit = made.map_err(failed(path))?.map(|it| it.id().to_string());
        let done = if args.delete { "deleted" } else { "made" };
        let document = json!({"branch": name, "is": done, "commit": commit});
        let facts = [("branch", name.clone()), ("is", done.to_owned())];
        return show_done(path, args.json, &document, &facts);
    }
    let branches = table.branches().map_err(failed(path))?;
    let mut out = Out::new();
    if args.json {
        let branches = branches.iter();
        let list =
            branches.map(|(name, entry)| json!({"name": name, "entry": entry_document(entry)}));
        out.document(&list.collect::<Vec<_>>())?;
        return out.finish();
    }
    let mut rows = new_table(&["branch", "n", "time (UTC)", "author", "commit"]);
    align_right(&mut rows, 1);
    for (name, entry) in &branches {
        rows.add_row([
            printable(name, NAME_CHARS),
            entry.n.to_string(),
            time_text(entry.time),
            printable(&entry.author, SHOWN_CHARS),
            entry
                .commit
                .to_string()
                .chars()
                .take(SHOWN_DIGITS)
                .collect(),
        ]);
    }
    out.table(&rows)?;
    out.finish()
}

fn tag(args: &TableTag, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    if let Some(name) = &args.name {
        let tagged = table.tag(name, &args.at, &commit_info(&args.said));
        let commit = tagged.and_then(|()| table.at(&format!("tag:{name}")));
        let commit = commit.map_err(failed(path))?.id().to_string();
        let document = json!({"tag": name, "of": args.at, "commit": commit});
        let facts = [("tag", name.clone()), ("of", args.at.clone())];
        return show_done(path, args.json, &document, &facts);
    }
    let tags = table.tags().map_err(failed(path))?;
    let mut out = Out::new();
    if args.json {
        let list = tags.iter().map(|(name, tag)| {
            json!({
                "name": name,
                "commit": tag.commit.to_string(),
                "message": tag.message,
                "author": tag.author,
                "time": tag.time,
            })
        });
        out.document(&list.collect::<Vec<_>>())?;
        return out.finish();
    }
    let mut rows = new_table(&["tag", "time (UTC)", "author", "commit", "message"]);
    for (name, tag) in &tags {
        rows.add_row([
            printable(name, NAME_CHARS),
            time_text(tag.time),
            printable(&tag.author, SHOWN_CHARS),
            tag.commit.to_string().chars().take(SHOWN_DIGITS).collect(),
            printable(&tag.message, SHOWN_CHARS),
        ]);
    }
    out.table(&rows)?;
    out.finish()
}

fn diff(args: &TableDiff, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let diff = open_table(&args.table, places)?.diff(&args.first, &args.second);
    let diff = diff.map_err(failed(path))?;
    let mut out = Out::new();
    let document = |entry: &DiffEntry| {
        json!({
            "txn": entry.txn.to_string(),
            "op": entry.op.name(),
            "author": entry.author,
            "message": entry.message,
        })
    };
    if args.json {
        let list = |entries: &[DiffEntry]| entries.iter().map(document).collect::<Vec<_>>();
        out.document(&json!({"first": list(&diff.first), "second": list(&diff.second)}))?;
        return out.finish();
    }
    let mut rows = new_table(&["only in", "what", "author", "message"]);
    for (state, entries) in [(&args.first, &diff.first), (&args.second, &diff.second)] {
        for entry in entries {
            rows.add_row([
                printable(state, NAME_CHARS),
                entry.op.name().to_owned(),
                printable(&entry.author, SHOWN_CHARS),
                printable(&entry.message, SHOWN_CHARS),
            ]);
        }
    }
    out.table(&rows)?;
    out.finish()
}

/// Describes a folder that no list shows, since it has no objects.
const A_FOLDER: &str = "a folder is in its place, so no object can be written there";

fn fsck(args: &TableFsck, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let depth = match (args.deep, args.digests) {
        (true, _) => Depth::Deep,
        (false, true) => Depth::Digests,
        (false, false) => Depth::Metadata,
    };
    let report = open_table(&args.table, places)?.fsck(depth);
    let report = report.map_err(failed(path))?;
    let folders = folders_as_refs(&args.table)?;
    let folders = folders.iter().map(|key| (key.as_str(), A_FOLDER));
    let findings = report.findings.iter();
    let findings = findings.map(|it| (it.object.as_str(), it.what.as_str()));
    let findings: Vec<(&str, &str)> = findings.chain(folders).collect();
    let store = temporaries(&args.table)?;
    let counted = store.map(|store| store.count_all_temporaries(LEFT_AGE));
    let counted = counted.transpose();
    let counted = counted.map_err(|error| Failure::bad(path, error))?;
    let [n_temporaries, n_old] = counted.unwrap_or([0, 0]);
    let mut out = Out::new();
    if args.json {
        let shown = findings.iter();
        let shown = shown.map(|(object, what)| json!({"object": object, "what": what}));
        out.document(&json!({
            "ok": findings.is_empty(),
            "refs": report.refs,
            "pins": report.pins,
            "ended_pins": report.ended_pins,
            "commits": report.commits,
            "manifests": report.manifests,
            "files": report.files,
            "unused_objects": report.unused_objects,
            "unused_bytes": report.unused_bytes,
            "temporary_files": n_temporaries,
            "temporary_files_left": n_old,
            "findings": shown.collect::<Vec<_>>(),
        }))?;
    } else {
        out.facts(&[
            ("refs", report.refs.to_string()),
            ("pins", report.pins.to_string()),
            ("commits", report.commits.to_string()),
            ("manifests", report.manifests.to_string()),
            ("files", report.files.to_string()),
            ("unused objects", report.unused_objects.to_string()),
            ("unused bytes", report.unused_bytes.to_string()),
            ("temporary files", n_temporaries.to_string()),
            ("of killed writers", n_old.to_string()),
        ])?;
        for (object, what) in &findings {
            out.line(&printable(&format!("{object}: {what}"), NAME_CHARS))?;
        }
    }
    out.finish()?;
    match findings.as_slice() {
        [] => Ok(()),
        [(object, what), ..] => {
            let n_findings = findings.len();
            let what = format!("{n_findings} faults, the first: {object}: {what}");
            Err(Failure::bad(path, what))
        }
    }
}
