//! `tarsia table update`, `add-column` and `compact`.

use arrow_schema::{DataType, Field};
use serde_json::json;
use tarsia_filter::Literal;
use tarsia_table::{AlterField, Compact, Compacted, Overlap};

use crate::args::{OnOverlap, TableAddColumn, TableCompact, TableUpdate};
use crate::failure::Failure;
use crate::place::Places;

use super::output::{Out, summarise};
use super::table_open::{commit_info, failed, open_table};

pub(super) fn overlap_of(on_overlap: OnOverlap) -> Overlap {
    match on_overlap {
        OnOverlap::Fail => Overlap::Fail,
        OnOverlap::Source => Overlap::Source,
        OnOverlap::Target => Overlap::Target,
    }
}

pub(super) fn update(args: &TableUpdate, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let condition = args.condition.read()?;
    let values: Vec<(&str, Literal)> = args
        .set
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let (n_rows, commit) = match args.dry_run {
        true => {
            let snapshot = table.at(&args.branch).map_err(failed(path))?;
            let n_rows = snapshot.scan().filter(condition.into_owned()).count();
            (n_rows.map_err(failed(path))?, None)
        }
        false => {
            let txn = table.begin(&args.branch, commit_info(&args.said));
            let mut txn = txn.map_err(failed(path))?;
            let n_rows = txn
                .update_where(&condition, &values)
                .map_err(failed(path))?;
            let committed = match txn.is_empty() {
                true => None,
                false => Some(txn.commit().map_err(failed(path))?.commit.to_string()),
            };
            (n_rows, committed)
        }
    };
    if args.json {
        let mut out = Out::new();
        out.document(&json!({"rows": n_rows, "commit": commit, "dry_run": args.dry_run}))?;
        return out.finish();
    }
    let what = if args.dry_run {
        "rows to update"
    } else {
        "rows updated"
    };
    let mut facts = vec![(what, n_rows.to_string())];
    facts.extend(commit.map(|commit| ("commit", commit)));
    summarise(path, &facts)
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
