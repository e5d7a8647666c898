//! `tarsia table`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatchIterator;
use serde_json::{Value, json};
use tarsia::io::{List, Store, block_on};
use tarsia_filter::Expr;
use tarsia_table::meta::{Entry, RefEntry, RefOp};
use tarsia_table::{AlterField, Depth, DiffEntry, LogEntry, Snapshot, Table, TableSpec};

use crate::args::{
    TableAlter, TableAppend, TableBranch, TableCommand, TableCreate, TableDelete, TableDiff,
    TableFsck, TableInfo, TableLog, TableMerge, TableRebase, TableReset, TableScan, TableTag,
};
use crate::failure::Failure;
use crate::place::Places;
use crate::shown::printable;

use super::output::{NAME_CHARS, Out, SHOWN_CHARS, align_right, new_table, summarise};
use super::print_rows::print_rows;
use super::table_input::Input;
use super::table_open::{
    LEFT_AGE, SHOWN_DIGITS, commit_info, failed, new_store, open_table, temporaries, time_text,
};
use super::table_update::{add_column, compact, overlap_of, update};
use super::table_upkeep;

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

/// An error about rows of a file: those that do not fit the table are bad data.
fn rows_failed(path: &Path) -> impl Fn(tarsia_table::Error) -> Failure + '_ {
    move |error| Failure::bad(path, error)
}

fn create(args: &TableCreate, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let input = Input::open(places, &args.like, &args.text)?;
    let partitions = args
        .partition_by
        .as_deref()
        .map(split_partitions)
        .unwrap_or_default();
    let spec = TableSpec::new(input.schema()).partition_by(partitions);
    // Nothing is made for a table that cannot be.
    spec.check().map_err(failed(path))?;
    let store = new_store(&args.table, places)?;
    if !args.force {
        check_empty(&store, path)?;
    }
    let table = Table::create(store, &spec, &commit_info(&args.said));
    let table = table.map_err(failed(path))?;
    let snapshot = table.at("main").map_err(failed(path))?;
    summarise(
        path,
        &[
            ("table", table.root().id.to_string()),
            ("columns", snapshot.schema().fields().len().to_string()),
            ("partitioned by", partitioned_by(&snapshot)?),
        ],
    )
}

/// Refuses to make a table among objects of others, which garbage collection would delete.
fn check_empty(store: &Arc<dyn Store>, path: &Path) -> Result<(), Failure> {
    let bad = |error: tarsia::io::StoreError| Failure::bad(path, error);
    if !store.capabilities().can_list || block_on(store.head("TABLE")).is_ok() {
        return Ok(());
    }
    let page = block_on(store.list(List::new("").page_max(1))).map_err(bad)?;
    match page.objects.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Usage(format!(
            "{}: there is something else, such as `{}`, and `tarsia table gc` would delete it; --force makes the table \
             all the same",
            path.display(),
            first.key.escape_debug()
        ))),
    }
}

/// Parts between commas that are outside of parentheses.
fn split_partitions(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for found in text.chars() {
        match found {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (found, depth, parts.last_mut()) {
            (',' | ';', 0, _) => parts.push(String::new()),
            (_, _, Some(part)) => part.push(found),
            _ => {}
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn partitioned_by(snapshot: &Snapshot) -> Result<String, Failure> {
    let spec = snapshot.commit().spec().cloned().unwrap_or_default();
    let partitioning = tarsia_table::meta::Partitioning::new(&spec, snapshot.schema());
    let spelled = partitioning.map(|it| it.spelled());
    let spelled = spelled.map_err(|error| Failure::Bad(error.to_string()))?;
    Ok(if spelled.is_empty() {
        "nothing".to_owned()
    } else {
        spelled
    })
}

fn append(args: &TableAppend, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let mut info = commit_info(&args.said);
    if let Some((application, number)) = &args.idempotent {
        info = info.idempotent(application, *number);
    }
    let mut txn = table.begin(&args.branch, info).map_err(failed(path))?;
    if txn.was_committed() {
        let commit = txn.snapshot().id().to_string();
        return summarise_append(path, args, 0, commit, "yes");
    }
    let wanted = txn.snapshot().arrow_schema();
    let mut n_rows = 0;
    for file in &args.files {
        let input = Input::open_for(places, file, &args.text, &wanted)?;
        let schema = input.schema();
        let appended = txn.append(RecordBatchIterator::new(input, schema));
        n_rows += appended.map_err(rows_failed(file.name()))?;
    }
    if txn.is_empty() {
        let commit = "none, since there are no rows".to_owned();
        return summarise_append(path, args, 0, commit, "no");
    }
    let committed = txn.commit().map_err(failed(path))?;
    let was_there = if committed.was_there { "yes" } else { "no" };
    if committed.was_there {
        n_rows = 0;
    }
    summarise_append(path, args, n_rows, committed.commit.to_string(), was_there)
}

fn summarise_append(
    path: &Path,
    args: &TableAppend,
    n_rows: u64,
    commit: String,
    was_there: &str,
) -> Result<(), Failure> {
    let facts = [
        ("rows", n_rows.to_string()),
        ("branch", args.branch.clone()),
        ("commit", commit),
        ("was there already", was_there.to_owned()),
    ];
    summarise(path, &facts)
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

fn delete(args: &TableDelete, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let condition = args.condition.read()?;
    // What forbids the delete forbids the dry run, too.
    let mut txn = table
        .begin(&args.branch, commit_info(&args.said))
        .map_err(failed(path))?;
    if args.dry_run {
        let scan = txn.snapshot().scan().filter(condition.into_owned());
        let n_rows = scan.count().map_err(failed(path))?;
        return summarise(path, &[("rows to delete", n_rows.to_string())]);
    }
    let n_rows = txn.delete_where(&condition).map_err(failed(path))?;
    let mut facts = vec![("rows deleted", n_rows.to_string())];
    if !txn.is_empty() {
        let committed = txn.commit().map_err(failed(path))?;
        facts.push(("commit", committed.commit.to_string()));
    }
    summarise(path, &facts)
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
        let done = match args.delete {
            true => table.delete_branch(name, &info).map(|()| "deleted"),
            false => table.create_branch(name, &args.at, &info).map(|()| "made"),
        };
        let done = done.map_err(failed(path))?;
        return summarise(path, &[("branch", name.clone()), ("is", done.to_owned())]);
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
        tagged.map_err(failed(path))?;
        return summarise(path, &[("tag", name.clone()), ("of", args.at.clone())]);
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

fn reset(args: &TableReset, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let reset = table.reset(&args.branch, &args.state, &commit_info(&args.said));
    reset.map_err(failed(path))?;
    summarise(
        path,
        &[("branch", args.branch.clone()), ("at", args.state.clone())],
    )
}

fn merge(args: &TableMerge, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let merged = table.merge_with(
        &args.source,
        &args.into,
        overlap_of(args.overlap),
        &commit_info(&args.said),
    );
    let merged = merged.map_err(failed(path))?;
    let nothing = if merged.was_there { "yes" } else { "no" };
    summarise(
        path,
        &[
            ("branch", args.into.clone()),
            ("commit", merged.commit.to_string()),
            ("was there already", nothing.to_owned()),
        ],
    )
}

fn rebase(args: &TableRebase, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let n_changes = table.rebase_with(
        &args.branch,
        &args.onto,
        overlap_of(args.overlap),
        &commit_info(&args.said),
    );
    let n_changes = n_changes.map_err(failed(path))?;
    summarise(
        path,
        &[
            ("branch", args.branch.clone()),
            ("changes", n_changes.to_string()),
        ],
    )
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

fn alter(args: &TableAlter, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let mut txn = table
        .begin(&args.branch, commit_info(&args.said))
        .map_err(failed(path))?;
    let mut changes = Vec::new();
    changes.extend(args.drop.iter().map(|name| AlterField::drop(name.as_str())));
    let renames = args.rename.iter();
    changes.extend(renames.map(|(old, new)| AlterField::rename(old.as_str(), new.as_str())));
    if let Some(like) = &args.add_like {
        let schema = Input::open(places, like, &args.text)?.schema();
        let known = txn.snapshot().schema();
        let new = schema
            .fields()
            .iter()
            .filter(|field| known.by_name(field.name()).is_none());
        changes
            .extend(new.map(|field| AlterField::add(field.as_ref().clone().with_nullable(true))));
    }
    if changes.is_empty() {
        let what = format!("{}: nothing is to be changed", path.display());
        return Err(Failure::Usage(what));
    }
    txn.alter(&changes).map_err(failed(path))?;
    let committed = txn.commit().map_err(failed(path))?;
    summarise(
        path,
        &[
            ("changes", changes.len().to_string()),
            ("commit", committed.commit.to_string()),
        ],
    )
}

fn fsck(args: &TableFsck, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let depth = match (args.deep, args.digests) {
        (true, _) => Depth::Deep,
        (false, true) => Depth::Digests,
        (false, false) => Depth::Metadata,
    };
    let report = open_table(&args.table, places)?.fsck(depth);
    let report = report.map_err(failed(path))?;
    let store = temporaries(&args.table)?;
    let count = |age: Duration| {
        let counted = store.as_ref().map(|store| store.count_temporaries(age));
        let counted = counted.transpose();
        let counted = counted.map_err(|error| Failure::bad(path, error))?;
        Ok::<u64, Failure>(counted.unwrap_or(0))
    };
    let (n_temporaries, n_old) = (count(Duration::ZERO)?, count(LEFT_AGE)?);
    let mut out = Out::new();
    if args.json {
        let findings = report.findings.iter();
        let findings = findings.map(|it| json!({"object": it.object, "what": it.what}));
        out.document(&json!({
            "ok": report.findings.is_empty(),
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
            "findings": findings.collect::<Vec<_>>(),
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
        for it in &report.findings {
            out.line(&printable(
                &format!("{}: {}", it.object, it.what),
                NAME_CHARS,
            ))?;
        }
    }
    out.finish()?;
    match report.findings.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            let n_findings = report.findings.len();
            let what = format!(
                "{n_findings} faults, the first: {}: {}",
                first.object, first.what
            );
            Err(Failure::bad(path, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_split_outside_of_parentheses() {
        assert_eq!(
            split_partitions("day(time), truncate(name, 4);country,"),
            ["day(time)", "truncate(name, 4)", "country"]
        );
        assert!(split_partitions("").is_empty());
    }
}
