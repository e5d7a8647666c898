//! The section "Tables" of docs/benchmarks.md.

use std::fmt::Write as _;

use crate::branches;
use crate::columns::NewColumn;
use crate::commits::{COMMITS_EACH, PROCESSES};
use crate::found::Report;
use crate::made::PARTITIONS;
use crate::plans::LATENCY;
use crate::report::table;
use crate::updates::{SCANS, UPDATES};

/// The section, without its heading.
pub(crate) fn markdown(report: &Report, limit: u64) -> String {
    let mut out = format!(
        "Measured by `cargo run --release` in `benchmarks/table/`, which rewrites this section. {}.\n\n\
         Tables of many files in {PARTITIONS} partitions, as in Table 2 of the Magnus paper (VLDB 2025). The files do \
         not exist: planning and commits read and write metadata alone. Each format makes its entries by its own \
         means, without bounds of columns: Tarsia by entries of tasks (`Transaction::add`), Delta Lake by \
         `create_write_transaction`, Iceberg by `fast_append` with `append_data_file` and a catalogue in SQLite, Lance \
         by `LanceDataset.commit` of fragments. A commit of Tarsia and of Iceberg has a file in each partition; Delta \
         Lake and Lance get 65,536 files in one commit, and Delta Lake a checkpoint at the end. All tables are in a \
         file system in memory.\n\n",
        report.machine
    );
    plans(report, &mut out);
    remote(report, &mut out);
    commits(report, &mut out);
    branches(report, &mut out);
    updates(report, &mut out);
    new_columns(report, &mut out);
    failures(report, limit, &mut out);
    out.push_str("Asked of Tarsia, and found:\n\n");
    crate::asked::all(report, &mut out);
    out
}

fn texts<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Milliseconds with three digits or more.
pub(crate) fn millis(seconds: f64) -> String {
    let millis = seconds * 1e3;
    match millis {
        _ if millis < 10.0 => format!("{millis:.2}"),
        _ if millis < 100.0 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

fn plans(report: &Report, out: &mut String) {
    out.push_str(
        "**Planning one partition**, on one core. *Open* reads the newest state; *first* is the first plan after that, \
         *plan* the median of later ones, of other partitions. Objects and MB are what opening and the first plan \
         read. *Made* is the time that making the table took; *compacted* is the largest table after all manifests \
         were made one run (`Table::compact_metadata`). Lance has no partitions: its plan opens the table again, which \
         reads the list of all fragments.\n\n",
    );
    let mut rows = vec![texts([
        "format",
        "files",
        "made, s",
        "open, ms",
        "first, ms",
        "plan, ms",
        "objects",
        "MB",
    ])];
    for plan in report.plans() {
        rows.push(vec![
            plan.format.clone(),
            plan.files.to_string(),
            plan.make.map_or("-".to_owned(), |it| format!("{it:.1}")),
            millis(plan.open),
            millis(plan.first),
            millis(plan.warm),
            plan.objects.to_string(),
            format!("{:.2}", plan.bytes as f64 / 1e6),
        ]);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

fn remote(report: &Report, out: &mut String) {
    let _ = writeln!(
        out,
        "**A store that answers after {} ms**, Tarsia, the largest table. Requests of one round are on their way at \
         the same time.\n",
        LATENCY.as_millis()
    );
    let mut rows = vec![texts([
        "what is done",
        "rounds",
        "rounds of puts",
        "reads",
        "MB read",
        "puts",
        "KiB written",
        "ms",
    ])];
    for it in report.remote() {
        rows.push(vec![
            it.what.clone(),
            it.rounds.to_string(),
            it.put_rounds.to_string(),
            it.reads.to_string(),
            format!("{:.2}", it.read_bytes as f64 / 1e6),
            it.puts.to_string(),
            format!("{:.1}", it.put_bytes as f64 / 1024.0),
            millis(it.seconds),
        ]);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

fn commits(report: &Report, out: &mut String) {
    out.push_str(
        "**Appends in a row** to the largest table of each format, by one process that has it open. KiB and objects are \
         what a commit writes, in the mean; *largest* are the KiB of the largest one, which merges manifests. In memory \
         nothing survives a loss of power, in any format. On a disk Tarsia syncs each object and its folder, which no peer \
         does, so peers are not measured there.\n\n",
    );
    let mut rows = vec![texts([
        "format",
        "files",
        "commits",
        "files each",
        "ms, median",
        "ms, slowest",
        "a second",
        "KiB",
        "largest",
        "objects",
    ])];
    for it in report.commits() {
        rows.push(vec![
            it.format.clone(),
            it.table_files.to_string(),
            it.commits.to_string(),
            it.files.to_string(),
            millis(it.median),
            millis(it.slowest),
            format!("{:.1}", it.commits as f64 / it.total),
            format!("{:.1}", it.bytes / 1024.0),
            it.bytes_most
                .map_or("-".to_owned(), |it| format!("{:.1}", it / 1024.0)),
            format!("{:.1}", it.objects),
        ]);
    }
    let _ = writeln!(out, "{}", table(&rows));
    let _ = writeln!(
        out,
        "**{PROCESSES} processes at once**, {COMMITS_EACH} appends of one file each:\n"
    );
    let mut rows = vec![texts(["format", "in", "files", "commits", "s", "a second"])];
    for it in report.races() {
        rows.push(vec![
            it.format.clone(),
            it.place.clone(),
            it.table_files.to_string(),
            it.commits.to_string(),
            format!("{:.2}", it.seconds),
            format!("{:.1}", it.commits as f64 / it.seconds),
        ]);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

fn branches(report: &Report, out: &mut String) {
    let _ = writeln!(
        out,
        "**Branches** of the largest table: a branch with {} commits, and a `main` that has moved on by as many. Each \
         by a table that was opened anew; ms.\n",
        branches::COMMITS
    );
    let mut rows = vec![texts([
        "files a commit",
        "branch",
        "diff",
        "log",
        "merge",
        "MB",
        "rebase",
        "MB",
        "data objects",
    ])];
    for it in report.branches() {
        let times = [it.branch, it.diff, it.log, it.merge].map(millis);
        let mut row = vec![it.files.to_string()];
        row.extend(times);
        row.push(format!("{:.2}", it.merge_bytes as f64 / 1e6));
        row.push(millis(it.rebase));
        row.push(format!("{:.2}", it.rebase_bytes as f64 / 1e6));
        row.push(it.data_objects.to_string());
        rows.push(row);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

fn updates(report: &Report, out: &mut String) {
    let updates = report.updates();
    if updates.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "**Updates of one column**, {UPDATES} times, of all rows and of 5 % of them, as in Figure 13 of the Magnus \
         paper: *paper* has 1,800 rows of 200 columns of text, 116 MB (its Case 1); *lineitem* is that of TPC-H at \
         scale factor 1, with a number for each row. New values are found by the number of each row: Tarsia by \
         `update_by`, Lance by `update_columns` of each fragment, Delta Lake by `merge`; Iceberg has no updates of \
         columns, so the table is read and overwritten. *MB written* and *update* are the mean and the median of the \
         updates; scans are of all columns, the median of {SCANS}, before the updates, after the first one, after the \
         last one, the slowest after any, and after a compaction, which Iceberg needs none of. A peer that did not \
         make all updates in its time has the number of those that it made.\n"
    );
    let mut rows = vec![texts([
        "table",
        "rows",
        "format",
        "updates",
        "MB written",
        "update, ms",
        "scan before, ms",
        "after 1",
        "after the last",
        "slowest",
        "compacted",
    ])];
    for it in updates {
        let slowest = it.scans.iter().copied().reduce(f64::max);
        let scans = [
            it.scans.first().copied(),
            it.scans.last().copied(),
            slowest,
            it.compacted,
        ];
        let mut row = vec![
            it.table.clone(),
            share(&it.which).to_owned(),
            it.format.clone(),
            it.updates.to_string(),
            format!("{:.3}", it.bytes / 1e6),
            millis(it.seconds),
            millis(it.scan),
        ];
        row.extend(scans.map(|it| it.map_or("-".to_owned(), millis)));
        rows.push(row);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

/// Rows that get new values, in words.
pub(crate) fn share(which: &str) -> &'static str {
    match which {
        "all" => "all",
        _ => "5 %",
    }
}

fn new_columns(report: &Report, out: &mut String) {
    let columns = report.new_columns();
    let Some(NewColumn {
        rows,
        files,
        value_bytes,
        ..
    }) = columns.first()
    else {
        return;
    };
    let _ = writeln!(
        out,
        "**A new column** of a table of {rows} rows in {files} files, whose columns are those of `make_ml.py ads_wide` \
         (the narrow table has the first columns of the wide one); its values have {:.1} KiB. Tarsia by `add_column`, \
         Lance by `add_columns`; the others read the table and overwrite it. *Ten columns* is opening the table and \
         reading ten columns, before; *plain* is reading a column with the values of the new one that the table had \
         from the beginning.\n",
        *value_bytes as f64 / 1024.0
    );
    let mut rows = vec![texts([
        "columns",
        "format",
        "made, s",
        "KiB written",
        "new column, ms",
        "ten columns, ms",
        "plain, ms",
        "new, ms",
    ])];
    for it in columns {
        let mut row = vec![
            it.columns.to_string(),
            it.format.clone(),
            format!("{:.1}", it.make),
            format!("{:.1}", it.bytes as f64 / 1024.0),
        ];
        row.extend([it.seconds, it.ten, it.plain, it.new].map(millis));
        rows.push(row);
    }
    let _ = writeln!(out, "{}", table(&rows));
}

fn failures(report: &Report, limit: u64, out: &mut String) {
    let failures = report.failures();
    if failures.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "**Not measured.** A command of a peer has {limit} s, for making the table and all that is done with it:\n"
    );
    for failure in failures {
        let _ = writeln!(out, "- {failure}");
    }
    out.push('\n');
}
