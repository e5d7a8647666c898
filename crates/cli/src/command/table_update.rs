//! `tarsia table update`, `add-column` and `compact`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use serde_json::json;
use tarsia_filter::{Expr, Literal};
use tarsia_table::{
    AlterField, Compact, Compacted, Matched, Snapshot, Table, Transaction, Unmatched, Written,
};

use crate::args::{TableAddColumn, TableCompact, TableUpdate};
use crate::failure::Failure;
use crate::place::{Place, Places};

use super::output::{Out, summarise};
use super::table_input::Input;
use super::table_open::{commit_info, failed, open_table, rows_wanted, show_done};

/// Outcome of an update.
struct Updated {
    rows: u64,
    /// Rows of a file that no row of the table matches.
    unmatched: Option<u64>,
    written: Written,
    commit: Option<String>,
}

pub(super) fn update(args: &TableUpdate, places: &dyn Places) -> Result<(), Failure> {
    let path = args.table.name();
    let table = open_table(&args.table, places)?;
    let updated = match (&args.by, &args.from) {
        (None, _) => update_where(args, &table, &rows_wanted(args.condition.as_ref())?)?,
        (Some(keys), Some(file)) => update_by(args, &table, &keys.0, file, places)?,
        (Some(_), None) => {
            let what = format!("{}: --by goes with --from", path.display());
            return Err(Failure::Usage(what));
        }
    };
    let Updated {
        rows,
        unmatched,
        written,
        commit,
    } = updated;
    let mut document = json!({
        "branch": args.branch,
        "commit": commit,
        "rows": rows,
        "files": written.files,
        "bytes": written.bytes,
        "dry_run": args.dry_run,
    });
    if let (Some(unmatched), Some(fields)) = (unmatched, document.as_object_mut()) {
        fields.insert("unmatched".to_owned(), unmatched.into());
    }
    let what = if args.dry_run {
        "rows to update"
    } else {
        "rows updated"
    };
    let mut facts = vec![(what, rows.to_string())];
    facts.extend(unmatched.map(|it| ("rows of the file left out", it.to_string())));
    facts.extend(commit.map(|commit| ("commit", commit)));
    show_done(path, args.json, &document, &facts)
}

fn update_where(args: &TableUpdate, table: &Table, condition: &Expr) -> Result<Updated, Failure> {
    let path = args.table.name();
    let values: Vec<(&str, Literal)> = args
        .set
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let txn = table.begin(&args.branch, commit_info(&args.said));
    let mut txn = txn.map_err(failed(path))?;
    if args.dry_run {
        let scan = txn.snapshot().scan();
        let rows = scan.filter(condition.clone()).count();
        return Ok(Updated {
            rows: rows.map_err(failed(path))?,
            unmatched: None,
            written: Written::default(),
            commit: None,
        });
    }
    let rows = txn.update_where(condition, &values).map_err(failed(path))?;
    Ok(Updated {
        rows,
        unmatched: None,
        written: txn.written(),
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
    let by = By {
        keys,
        skip_unmatched: args.skip_unmatched,
        dry_run: args.dry_run,
    };
    let matched = by.put(&mut txn, reader).map_err(failed(file.name()))?;
    Ok(Updated {
        rows: matched.rows,
        unmatched: args.skip_unmatched.then_some(matched.unmatched),
        written: txn.written(),
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
    let table = open_table(&args.table, places)?;
    let txn = table.begin(&args.branch, commit_info(&args.said));
    let mut txn = txn.map_err(failed(path))?;
    let values = match (&args.from, &args.by) {
        (Some(file), Some(keys)) => {
            let wanted = txn.snapshot().arrow_schema();
            Some(NewValues::open(args, file, &keys.0, &wanted, places)?)
        }
        _ => None,
    };
    let data_type = match (&args.data_type, &values) {
        (Some(data_type), _) => data_type.clone(),
        (None, Some(values)) => values.data_type.clone(),
        (None, None) => {
            let what = format!("{}: --type, or --from and --by", path.display());
            return Err(Failure::Usage(what));
        }
    };
    let field = Field::new(&args.name, data_type.clone(), true);
    let alter = match &args.default {
        None => AlterField::add(field),
        Some(value) => {
            let value = value.to_array(&data_type);
            let value = value.map_err(|error| {
                Failure::Usage(format!("{}: --default: {error}", path.display()))
            })?;
            AlterField::add_with_default(field, value)
        }
    };
    txn.alter(&[alter]).map_err(failed(path))?;
    let matched = values
        .map(|values| values.put(args, &mut txn))
        .transpose()?;
    let written = txn.written();
    let commit = match args.dry_run {
        true => None,
        false => Some(txn.commit().map_err(failed(path))?.commit.to_string()),
    };
    let rows = matched.map(|it| it.rows);
    let document = json!({
        "branch": args.branch,
        "commit": commit,
        "column": args.name,
        "type": data_type.to_string(),
        "rows": rows.unwrap_or(0),
        "files": written.files,
        "bytes": written.bytes,
        "unmatched": matched.map_or(0, |it| it.unmatched),
        "dry_run": args.dry_run,
    });
    let mut facts = vec![
        ("column", args.name.clone()),
        ("type", data_type.to_string()),
    ];
    let what = if args.dry_run {
        "rows to update"
    } else {
        "rows updated"
    };
    facts.extend(rows.map(|rows| (what, rows.to_string())));
    if args.skip_unmatched {
        let unmatched = matched.map_or(0, |it| it.unmatched);
        facts.push(("rows of the file left out", unmatched.to_string()));
    }
    facts.extend(commit.map(|commit| ("commit", commit)));
    show_done(path, args.json, &document, &facts)
}

/// Values of a new column, in a file.
struct NewValues<'a> {
    file: &'a Path,
    input: Input,
    keys: &'a [String],
    /// Places of the keys and of the column in the file.
    places: Vec<usize>,
    data_type: DataType,
}

impl<'a> NewValues<'a> {
    fn open(
        args: &TableAddColumn,
        file: &'a Place,
        keys: &'a [String],
        wanted: &SchemaRef,
        places: &dyn Places,
    ) -> Result<Self, Failure> {
        // Columns of CSV and JSON lines are read with the types that are asked for.
        let mut fields: Vec<FieldRef> = wanted.fields().iter().cloned().collect();
        if let Some(data_type) = &args.data_type {
            fields.push(Arc::new(Field::new(&args.name, data_type.clone(), true)));
        }
        let wanted = Arc::new(Schema::new(fields));
        let input = Input::open_for(places, file, &args.text, &wanted)?;
        let schema = input.schema();
        let place = |name: &String| {
            let mut of_name = (0..)
                .zip(schema.fields())
                .filter(|(_, it)| it.name() == name);
            let (first, second) = (of_name.next(), of_name.next());
            let (file, name) = (file.name().display(), name.escape_debug());
            match (first, second) {
                (Some((place, _)), None) => Ok(place),
                (None, _) => Err(Failure::Usage(format!("{file}: no column `{name}`"))),
                _ => Err(Failure::Usage(format!(
                    "{file}: several columns are named `{name}`"
                ))),
            }
        };
        let mut columns = keys.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let column = place(&args.name)?;
        columns.push(column);
        Ok(Self {
            file: file.name(),
            data_type: schema.field(column).data_type().clone(),
            input,
            keys,
            places: columns,
        })
    }

    /// Gives the rows of the table the values, or counts them.
    fn put(self, args: &TableAddColumn, txn: &mut Transaction) -> Result<Matched, Failure> {
        let schema = self.input.schema().project(&self.places);
        let schema = schema.map_err(|error| Failure::bad(self.file, error))?;
        let places = self.places;
        let batches = self.input.map(|batch| batch?.project(&places));
        let reader = RecordBatchIterator::new(batches, Arc::new(schema));
        let by = By {
            keys: self.keys,
            skip_unmatched: args.skip_unmatched,
            dry_run: args.dry_run,
        };
        by.put(txn, reader).map_err(failed(self.file))
    }
}

/// Values for the rows of a table that have the same keys.
struct By<'a> {
    keys: &'a [String],
    skip_unmatched: bool,
    dry_run: bool,
}

impl By<'_> {
    /// Gives the rows the values, or counts them.
    fn put(
        &self,
        txn: &mut Transaction,
        reader: impl RecordBatchReader,
    ) -> tarsia_table::Result<Matched> {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let unmatched = match self.skip_unmatched {
            true => Unmatched::Skip,
            false => Unmatched::Fail,
        };
        match self.dry_run {
            true => txn.count_by(&keys, reader, unmatched),
            false => txn.update_by(&keys, reader, unmatched),
        }
    }
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
