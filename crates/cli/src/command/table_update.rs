//! `tarsia table update`, `add-column` and `compact`.

use std::path::Path;

use arrow_array::RecordBatchIterator;
use arrow_schema::{DataType, Field};
use serde_json::json;
use tarsia_filter::Literal;
use tarsia_table::{
    AlterField, Compact, Compacted, Overlap, Snapshot, Table, Transaction, Unmatched,
};

use crate::args::{Condition, OnOverlap, TableAddColumn, TableCompact, TableUpdate};
use crate::failure::Failure;
use crate::place::{Place, Places};

use super::output::{Out, summarise};
use super::table_input::Input;
use super::table_open::{commit_info, failed, open_table};

pub(super) fn overlap_of(on_overlap: OnOverlap) -> Overlap {
    match on_overlap {
        OnOverlap::Fail => Overlap::Fail,
        OnOverlap::Source => Overlap::Source,
        OnOverlap::Target => Overlap::Target,
    }
}

/// Outcome of an update.
struct Updated {
    rows: u64,
    /// Rows of a file that no row of the table matches.
    unmatched: Option<u64>,
    commit: Option<String>,
}

pub(super) fn update(args: &TableUpdate, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let updated = match (&args.condition, &args.by, &args.from) {
        (Some(condition), None, _) => update_where(args, &table, condition)?,
        (None, Some(keys), Some(file)) => update_by(args, &table, &keys.0, file, places)?,
        _ => {
            let what = format!(
                "{}: either --set and --where, or --by and --from",
                path.display()
            );
            return Err(Failure::Usage(what));
        }
    };
    let Updated {
        rows,
        unmatched,
        commit,
    } = updated;
    if args.json {
        let mut out = Out::new();
        let mut document = json!({"rows": rows, "commit": commit, "dry_run": args.dry_run});
        if let (Some(unmatched), Some(fields)) = (unmatched, document.as_object_mut()) {
            fields.insert("unmatched".to_owned(), unmatched.into());
        }
        out.document(&document)?;
        return out.finish();
    }
    let what = if args.dry_run {
        "rows to update"
    } else {
        "rows updated"
    };
    let mut facts = vec![(what, rows.to_string())];
    facts.extend(unmatched.map(|it| ("rows of the file left out", it.to_string())));
    facts.extend(commit.map(|commit| ("commit", commit)));
    summarise(path, &facts)
}

fn update_where(
    args: &TableUpdate,
    table: &Table,
    condition: &Condition,
) -> Result<Updated, Failure> {
    let path = args.table.name();
    let condition = condition.read()?;
    let values: Vec<(&str, Literal)> = args
        .set
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let txn = table.begin(&args.branch, commit_info(&args.said));
    let mut txn = txn.map_err(failed(path))?;
    if args.dry_run {
        let scan = txn.snapshot().scan();
        let rows = scan.filter(condition.into_owned()).count();
        return Ok(Updated {
            rows: rows.map_err(failed(path))?,
            unmatched: None,
            commit: None,
        });
    }
    let rows = txn
        .update_where(&condition, &values)
        .map_err(failed(path))?;
    Ok(Updated {
        rows,
        unmatched: None,
        commit: committed(txn, path)?,
    })
}

fn update_by(
    args: &TableUpdate,
    table: &Table,
    keys: &[String],
    file: &Place,
    places: &dyn Places,
) -> Result<Updated, Failure> {
    let path = args.table.name();
    let txn = table.begin(&args.branch, commit_info(&args.said));
    let mut txn = txn.map_err(failed(path))?;
    let wanted = txn.snapshot().arrow_schema();
    let input = Input::open_for(places, file, &args.text, &wanted)?;
    let schema = input.schema();
    let reader = RecordBatchIterator::new(input, schema);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let unmatched = match args.skip_unmatched {
        true => Unmatched::Skip,
        false => Unmatched::Fail,
    };
    let matched = match args.dry_run {
        true => txn.count_by(&keys, reader, unmatched),
        false => txn.update_by(&keys, reader, unmatched),
    };
    let matched = matched.map_err(failed(file.name()))?;
    Ok(Updated {
        rows: matched.rows,
        unmatched: args.skip_unmatched.then_some(matched.unmatched),
        commit: committed(txn, path)?,
    })
}

/// Commits a transaction; `None` if it changes nothing.
fn committed(txn: Transaction, path: &Path) -> Result<Option<String>, Failure> {
    match txn.is_empty() {
        true => Ok(None),
        false => Ok(Some(txn.commit().map_err(failed(path))?.commit.to_string())),
    }
}

pub(super) fn add_column(args: &TableAddColumn, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let usage = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let data_type = args
        .data_type
        .parse::<DataType>()
        .map_err(|error| usage(format!("--type: {error}")))?;
    let field = Field::new(&args.name, data_type.clone(), true);
    let alter = match &args.default {
        None => AlterField::add(field),
        Some(value) => {
            let value = value.to_array(&data_type);
            let value = value.map_err(|error| usage(format!("--default: {error}")))?;
            AlterField::add_with_default(field, value)
        }
    };
    let table = open_table(&args.table, places)?;
    let txn = table.begin(&args.branch, commit_info(&args.said));
    let mut txn = txn.map_err(failed(path))?;
    txn.alter(&[alter]).map_err(failed(path))?;
    let commit = match args.dry_run {
        true => None,
        false => Some(txn.commit().map_err(failed(path))?.commit.to_string()),
    };
    if args.json {
        let mut out = Out::new();
        out.document(&json!({
            "column": args.name,
            "type": data_type.to_string(),
            "commit": commit,
            "dry_run": args.dry_run,
        }))?;
        return out.finish();
    }
    let mut facts = vec![
        ("column", args.name.clone()),
        ("type", data_type.to_string()),
    ];
    facts.extend(commit.map(|commit| ("commit", commit)));
    summarise(path, &facts)
}

pub(super) fn compact(args: &TableCompact, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    if args.metadata {
        return compact_metadata(args, &table);
    }
    let mut compact = Compact::new().branch(args.branch.as_str());
    if let Some(bytes) = args.max_bytes {
        compact = compact.max_bytes(bytes);
    }
    if let Some(bytes) = args.small_bytes {
        compact = compact.small_bytes(bytes);
    }
    if let Some(condition) = &args.partitions.condition {
        compact = compact.partitions(condition.read()?.into_owned());
    }
    let report = match args.dry_run {
        true => table.compaction_due(&compact),
        false => table.compact(&compact, &commit_info(&args.said)),
    };
    show_compacted(args, &report.map_err(failed(path))?)
}

fn compact_metadata(args: &TableCompact, table: &Table) -> Result<(), Failure> {
    let path = args.table.name();
    let before = table.at(&args.branch).map_err(failed(path))?;
    let commit = match args.dry_run {
        true => {
            // What forbids the commit forbids the dry run, too.
            let txn = table.begin(&args.branch, commit_info(&args.said));
            drop(txn.map_err(failed(path))?);
            None
        }
        false => {
            let done = table.compact_metadata(&args.branch, &commit_info(&args.said));
            let done = done.map_err(failed(path))?;
            (!done.was_there).then_some(done.commit)
        }
    };
    let after = match &commit {
        Some(commit) => Some(table.at(&commit.to_string()).map_err(failed(path))?),
        None => None,
    };
    let counts = |snapshot: &Snapshot| {
        let n_manifests = snapshot.commit().manifests.len();
        (snapshot.metadata_runs(), n_manifests)
    };
    let (runs_before, manifests_before) = counts(&before);
    let commit = commit.map(|commit| commit.to_string());
    if args.json {
        let mut out = Out::new();
        let after = after.as_ref().map(counts);
        out.document(&json!({
            "commit": commit,
            "runs_before": runs_before,
            "manifests_before": manifests_before,
            "runs_after": after.map(|it| it.0),
            "manifests_after": after.map(|it| it.1),
            "dry_run": args.dry_run,
        }))?;
        return out.finish();
    }
    let mut facts = vec![
        ("runs of descriptions", runs_before.to_string()),
        ("their manifests", manifests_before.to_string()),
    ];
    if let Some((runs, manifests)) = after.as_ref().map(counts) {
        facts.push(("runs after", runs.to_string()));
        facts.push(("manifests after", manifests.to_string()));
    }
    match (commit, args.dry_run) {
        (Some(commit), _) => facts.push(("commit", commit)),
        (None, true) => {}
        (None, false) => facts.push(("commit", "none, since there is one run already".to_owned())),
    }
    summarise(path, &facts)
}

fn show_compacted(args: &TableCompact, report: &Compacted) -> Result<(), Failure> {
    let commits = report.commits.iter().map(ToString::to_string);
    if args.json {
        let mut out = Out::new();
        out.document(&json!({
            "commits": commits.collect::<Vec<_>>(),
            "files_before": report.files_before,
            "bytes_before": report.bytes_before,
            "files_after": report.files_after,
            "bytes_after": report.bytes_after,
            "rows": report.rows,
            "dry_run": args.dry_run,
        }))?;
        return out.finish();
    }
    let mut facts = vec![
        ("files to replace", report.files_before.to_string()),
        ("their bytes", report.bytes_before.to_string()),
        ("files in their place", report.files_after.to_string()),
    ];
    if !args.dry_run {
        facts.push(("bytes of these", report.bytes_after.to_string()));
        facts.push(("rows of these", report.rows.to_string()));
        facts.extend(commits.map(|commit| ("commit", commit)));
    }
    summarise(args.table.name(), &facts)
}
