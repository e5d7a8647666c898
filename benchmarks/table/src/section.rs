//! The section "Tables" of docs/benchmarks.md.

use std::fmt::Write as _;

use crate::branches::{self, Branches};
use crate::commits::{COMMITS_EACH, PROCESSES, Row};
use crate::made::PARTITIONS;
use crate::measure::Report;
use crate::plans::{LATENCY, Plan};
use crate::report::table;

const TARSIA: &str = "tarsia";
const COMPACTED: &str = "tarsia, compacted";
/// Files of a table that is computed and not measured, and the most runs of its manifests: 15 of each of four tiers.
const PAPER_FILES: f64 = 10e6;
const PAPER_RUNS: f64 = 60.0;

/// The section, without its heading.
pub(crate) fn markdown(report: &Report) -> String {
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
    for failure in &report.failures {
        let _ = writeln!(out, "- {failure}");
    }
    out.push_str("Asked of Tarsia, and found:\n\n");
    asked_of_plans(report, &mut out);
    asked_of_commits(report, &mut out);
    asked_of_branches(report, &mut out);
    out
}

fn texts<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn millis(seconds: f64) -> String {
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
         were made one run (`Table::compact_metadata`), and the commits of the tables below. Lance has no partitions: \
         its plan opens the table again, which reads the list of all fragments.\n\n",
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
    for plan in &report.plans {
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
        "reads",
        "MB read",
        "puts",
        "KiB written",
        "ms",
    ])];
    for it in &report.remote {
        rows.push(vec![
            it.what.clone(),
            it.rounds.to_string(),
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
        "**Appends in a row** to the largest table, by one process that has it open. KiB and objects are what a commit \
         writes, in the mean; *largest* are the KiB of the largest one, which merges manifests. In memory nothing \
         survives a loss of power, in any format. On a disk Tarsia syncs each object and its folder, which no peer \
         does, so peers are not measured there.\n\n",
    );
    let mut rows = vec![texts([
        "format",
        "commits",
        "files each",
        "ms, median",
        "ms, slowest",
        "a second",
        "KiB",
        "largest",
        "objects",
    ])];
    for it in &report.commits {
        rows.push(vec![
            it.format.clone(),
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
    let mut rows = vec![texts(["format", "in", "commits", "s", "a second"])];
    for it in &report.races {
        rows.push(vec![
            it.format.clone(),
            it.place.clone(),
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
    for it in &report.branches {
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

fn line(out: &mut String, is_met: bool, text: &str) {
    let mark = match is_met {
        true => "",
        false => " (**not met**)",
    };
    let _ = writeln!(out, "- {text}{mark}");
}

fn asked_of_plans(report: &Report, out: &mut String) {
    let of = |format: &'static str| report.plans.iter().filter(move |it| it.format == format);
    let size = |it: &&Plan| it.files;
    let (Some(small), Some(large)) = (of(TARSIA).min_by_key(size), of(TARSIA).max_by_key(size))
    else {
        return;
    };
    let ms = large.warm * 1e3;
    let text = format!("a plan of {} files in 10 ms: {ms:.2} ms", large.files);
    line(out, ms <= 10.0, &text);
    let ratio = large.warm / small.warm;
    let (few, many) = (small.files, large.files);
    let text = format!("at most 1.5 times the time of {few} files: {ratio:.2}");
    line(out, ratio <= 1.5, &text);
    let is_peer = |it: &&Plan| it.files == many && !it.format.starts_with(TARSIA);
    if let Some(best) = report
        .plans
        .iter()
        .filter(is_peer)
        .min_by(|a, b| a.warm.total_cmp(&b.warm))
    {
        let ratio = best.warm / large.warm;
        let text = format!(
            "20 times as fast as the best peer ({}): {ratio:.1}",
            best.format
        );
        line(out, ratio >= 20.0, &text);
    }
    let Some(compacted) = of(COMPACTED).next() else {
        return;
    };
    let ms = compacted.warm * 1e3;
    line(
        out,
        ms <= 2.0,
        &format!("in 2 ms when the manifests are one run: {ms:.2} ms"),
    );
    // What an entry costs is what a run of many costs; what a run costs is what is left of many runs.
    let entries = |files: f64| files / PARTITIONS as f64;
    let of_entry = compacted.warm / entries(compacted.files as f64);
    let of_run = of(TARSIA).filter_map(|it| {
        let runs = it.runs? as f64;
        Some((it.warm - of_entry * entries(it.files as f64)) / runs)
    });
    let of_run = of_run.fold(0.0, f64::max);
    let paper = entries(PAPER_FILES) * of_entry + PAPER_RUNS * of_run;
    let _ = writeln!(
        out,
        "- on paper, 10 million files: {:.1} ms, from {:.2} µs for each of {:.0} entries and {:.0} µs for each of at \
         most {PAPER_RUNS} runs",
        paper * 1e3,
        of_entry * 1e6,
        entries(PAPER_FILES),
        of_run * 1e6,
    );
}

fn asked_of_commits(report: &Report, out: &mut String) {
    for row in report.commits.iter().filter(|it| it.format == TARSIA) {
        if let Some(bytes) = row.bytes_median {
            let kib = bytes / 1024.0;
            let files = row.files;
            let text = format!(
                "an append of {files} files writes 200 KiB of metadata: {kib:.1} KiB, median"
            );
            line(out, kib <= 200.0, &text);
        }
    }
    let remote = |what: &str| report.remote.iter().find(|it| it.what.starts_with(what));
    if let (Some(open), Some(plan)) = (remote("open"), remote("the first plan")) {
        let (rounds, reads) = (open.rounds, open.reads);
        let text = format!("opening takes 3 requests: {reads} requests in {rounds} rounds");
        line(out, reads <= 3, &text);
        let text = format!("a plan takes 2 rounds more: {}", plan.rounds);
        line(out, plan.rounds <= 2, &text);
    }
    let rate = |row: &Row| row.commits as f64 / row.total;
    for own in report.commits.iter().filter(|it| it.format == TARSIA) {
        let peers = report.commits.iter().filter(|it| it.files == own.files);
        let peers = peers.filter(|it| !it.format.starts_with(TARSIA));
        if let Some(best) = peers.max_by(|a, b| rate(a).total_cmp(&rate(b))) {
            let text = format!(
                "appends of {} files in a row, as many a second as the best peer ({}, {:.1}): {:.1}",
                own.files,
                best.format,
                rate(best),
                rate(own)
            );
            line(out, rate(own) >= rate(best), &text);
        }
    }
    let races = report.races.iter().filter(|it| it.place == "memory");
    let (own, peers): (Vec<_>, Vec<_>) = races.partition(|it| it.format == TARSIA);
    let best = peers.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    if let (Some(own), Some(best)) = (own.first(), best) {
        let rates = [own, best].map(|it| it.commits as f64 / it.seconds);
        let text = format!(
            "{PROCESSES} processes at once, as many a second as the best peer ({}, {:.1}): {:.1}",
            best.format, rates[1], rates[0]
        );
        line(out, rates[0] >= rates[1], &text);
    }
}

fn asked_of_branches(report: &Report, out: &mut String) {
    for it in &report.branches {
        let Branches { files, .. } = it;
        for (what, seconds, most) in [
            ("merge", it.merge, 0.5),
            ("rebase", it.rebase, 0.5),
            ("diff", it.diff, 0.2),
            ("log", it.log, 0.2),
        ] {
            let text = format!("{what}, {files} files a commit, in {most} s: {seconds:.3} s");
            line(out, seconds <= most, &text);
        }
        let text = format!("no data object written: {}", it.data_objects);
        line(out, it.data_objects == 0, &text);
    }
}
