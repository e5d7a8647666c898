//! `tarsia table create`, `append`, `delete`, `alter`, `reset`, `merge` and `rebase`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatchIterator;
use serde_json::json;
use tarsia::io::{List, Store, block_on};
use tarsia_table::{AlterField, Overlap, Snapshot, Table, TableSpec};

use crate::args::{
    OnOverlap, TableAlter, TableAppend, TableCreate, TableDelete, TableMerge, TableRebase,
    TableReset,
};
use crate::failure::Failure;
use crate::place::Places;

use super::table_input::Input;
use super::table_open::{commit_info, failed, new_store, open_table, rows_wanted, show_done};

fn overlap_of(on_overlap: OnOverlap) -> Overlap {
    match on_overlap {
        OnOverlap::Fail => Overlap::Fail,
        OnOverlap::Source => Overlap::Source,
        OnOverlap::Target => Overlap::Target,
    }
}

/// The commit that a branch is at.
fn commit_of(table: &Table, branch: &str, path: &Path) -> Result<String, Failure> {
    let snapshot = table.at(branch).map_err(failed(path))?;
    Ok(snapshot.id().to_string())
}

/// An error about rows of a file: those that do not fit the table are bad data.
fn rows_failed(path: &Path) -> impl Fn(tarsia_table::Error) -> Failure + '_ {
    move |error| Failure::bad(path, error)
}

pub(super) fn create(args: &TableCreate, places: &dyn Places) -> Result<(), Failure> {
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
    let n_columns = snapshot.schema().fields().len();
    let (id, partitions) = (table.root().id.to_string(), partitioned_by(&snapshot)?);
    let document = json!({
        "table": id,
        "branch": "main",
        "commit": snapshot.id().to_string(),
        "columns": n_columns,
        "partitioned_by": partitions,
    });
    let facts = [
        ("table", id),
        ("columns", n_columns.to_string()),
        ("partitioned by", partitions),
    ];
    show_done(path, args.json, &document, &facts)
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

/// Parts between commas that are outside of parentheses and of double quotes.
fn split_partitions(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut is_quoted) = (0_usize, false);
    for found in text.chars() {
        match found {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (found, parts.last_mut()) {
            (',' | ';', _) if depth == 0 && !is_quoted => parts.push(String::new()),
            (_, Some(part)) => part.push(found),
            _ => {}
        }
    }
    let parts = parts.iter().map(|part| part.trim().to_owned());
    parts.collect()
}

pub(super) fn partitioned_by(snapshot: &Snapshot) -> Result<String, Failure> {
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

pub(super) fn append(args: &TableAppend, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let mut info = commit_info(&args.said);
    if let Some((application, number)) = &args.idempotent {
        info = info.idempotent(application, *number);
    }
    let mut txn = table.begin(&args.branch, info).map_err(failed(path))?;
    let mut done = Appended::default();
    if txn.was_committed() {
        done.commit = Some(txn.snapshot().id().to_string());
        done.was_there = true;
        return done.show(args);
    }
    let wanted = txn.snapshot().arrow_schema();
    for file in &args.files {
        let input = Input::open_for(places, file, &args.text, &wanted)?;
        let schema = input.schema();
        let appended = txn.append(RecordBatchIterator::new(input, schema));
        done.rows += appended.map_err(rows_failed(file.name()))?;
    }
    if txn.is_empty() {
        return done.show(args);
    }
    let written = txn.written();
    (done.files, done.bytes) = (written.files, written.bytes);
    let committed = txn.commit().map_err(failed(path))?;
    if committed.was_there {
        done = Appended::default();
    }
    done.commit = Some(committed.commit.to_string());
    done.was_there = committed.was_there;
    done.show(args)
}

/// Outcome of an append.
#[derive(Default)]
struct Appended {
    rows: u64,
    files: u64,
    bytes: u64,
    /// None if there were no rows.
    commit: Option<String>,
    was_there: bool,
}

impl Appended {
    fn show(self, args: &TableAppend) -> Result<(), Failure> {
        let document = json!({
            "branch": args.branch,
            "commit": self.commit,
            "rows": self.rows,
            "files": self.files,
            "bytes": self.bytes,
            "was_there": self.was_there,
        });
        let none = || "none, since there are no rows".to_owned();
        let facts = [
            ("rows", self.rows.to_string()),
            ("branch", args.branch.clone()),
            ("commit", self.commit.unwrap_or_else(none)),
            ("was there already", yes_or_no(self.was_there)),
        ];
        show_done(args.table.name(), args.json, &document, &facts)
    }
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

pub(super) fn delete(args: &TableDelete, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let condition = rows_wanted(args.condition.as_ref())?;
    // What forbids the delete forbids the dry run, too.
    let mut txn = table
        .begin(&args.branch, commit_info(&args.said))
        .map_err(failed(path))?;
    let show = |n_rows: u64, commit: Option<String>| {
        let document = json!({
            "branch": args.branch,
            "commit": commit,
            "rows": n_rows,
            "dry_run": args.dry_run,
        });
        let what = if args.dry_run {
            "rows to delete"
        } else {
            "rows deleted"
        };
        let mut facts = vec![(what, n_rows.to_string())];
        facts.extend(commit.map(|commit| ("commit", commit)));
        show_done(path, args.json, &document, &facts)
    };
    if args.dry_run {
        let scan = txn.snapshot().scan().filter(condition);
        return show(scan.count().map_err(failed(path))?, None);
    }
    let n_rows = txn.delete_where(&condition).map_err(failed(path))?;
    let commit = match txn.is_empty() {
        true => None,
        false => Some(txn.commit().map_err(failed(path))?.commit.to_string()),
    };
    show(n_rows, commit)
}

pub(super) fn reset(args: &TableReset, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let reset = table.reset(&args.branch, &args.state, &commit_info(&args.said));
    reset.map_err(failed(path))?;
    let document = json!({
        "branch": args.branch,
        "commit": commit_of(&table, &args.branch, path)?,
        "state": args.state,
    });
    let facts = [("branch", args.branch.clone()), ("at", args.state.clone())];
    show_done(path, args.json, &document, &facts)
}

pub(super) fn merge(args: &TableMerge, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let merged = table.merge_with(
        &args.source,
        &args.into,
        overlap_of(args.overlap),
        &commit_info(&args.said),
    );
    let merged = merged.map_err(failed(path))?;
    let commit = merged.commit.to_string();
    let document = json!({
        "branch": args.into,
        "source": args.source,
        "commit": commit,
        "was_there": merged.was_there,
    });
    let facts = [
        ("branch", args.into.clone()),
        ("commit", commit),
        ("was there already", yes_or_no(merged.was_there)),
    ];
    show_done(path, args.json, &document, &facts)
}

pub(super) fn rebase(args: &TableRebase, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let n_changes = table.rebase_with(
        &args.branch,
        &args.onto,
        overlap_of(args.overlap),
        &commit_info(&args.said),
    );
    let n_changes = n_changes.map_err(failed(path))?;
    let document = json!({
        "branch": args.branch,
        "onto": args.onto,
        "commit": commit_of(&table, &args.branch, path)?,
        "changes": n_changes,
    });
    let facts = [
        ("branch", args.branch.clone()),
        ("changes", n_changes.to_string()),
    ];
    show_done(path, args.json, &document, &facts)
}

pub(super) fn alter(args: &TableAlter, places: &dyn Places) -> Result<(), Failure> {
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
    let (n_changes, commit) = (changes.len(), committed.commit.to_string());
    let document = json!({"branch": args.branch, "commit": commit, "changes": n_changes});
    let facts = [("changes", n_changes.to_string()), ("commit", commit)];
    show_done(path, args.json, &document, &facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_split_outside_of_parentheses() {
        assert_eq!(
            split_partitions("day(time), truncate(\"a;(\", 4);country,"),
            ["day(time)", "truncate(\"a;(\", 4)", "country", ""]
        );
        assert_eq!(split_partitions(""), [""]);
    }
}
