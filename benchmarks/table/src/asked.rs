//! Demands on Tarsia, and what was found.

use std::fmt::Write as _;

use crate::branches::Branches;
use crate::commits::{PROCESSES, Row};
use crate::found::Report;
use crate::made::PARTITIONS;
use crate::plans::Plan;
use crate::section::{millis, share};
use crate::updates::{UPDATES, Update};

const TARSIA: &str = "tarsia";
const COMPACTED: &str = "tarsia, compacted";
/// Files of a table that is computed and not measured, and the most runs of its manifests: 15 of each of four tiers.
const PAPER_FILES: f64 = 10e6;
const PAPER_RUNS: f64 = 60.0;

/// Adds a line for each demand.
pub(crate) fn all(report: &Report, out: &mut String) {
    of_plans(report, out);
    of_commits(report, out);
    of_branches(report, out);
    of_updates(report, out);
    of_new_columns(report, out);
}

fn line(out: &mut String, is_met: bool, text: &str) {
    let mark = match is_met {
        true => "",
        false => " (**not met**)",
    };
    let _ = writeln!(out, "- {text}{mark}");
}

fn of_plans(report: &Report, out: &mut String) {
    let plans = report.plans();
    let of = |format: &'static str| plans.iter().copied().filter(move |it| it.format == format);
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
    if let Some(best) = plans
        .iter()
        .copied()
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

fn of_commits(report: &Report, out: &mut String) {
    let commits = report.commits();
    for row in commits.iter().filter(|it| it.format == TARSIA) {
        if let Some(bytes) = row.bytes_median {
            let kib = bytes / 1024.0;
            let files = row.files;
            let text = format!(
                "an append of {files} files writes 200 KiB of metadata: {kib:.1} KiB, median"
            );
            line(out, kib <= 200.0, &text);
        }
    }
    let remote = report.remote();
    let remote = |what: &str| remote.iter().find(|it| it.what.starts_with(what));
    if let (Some(open), Some(plan)) = (remote("open"), remote("the first plan")) {
        let (rounds, reads) = (open.rounds, open.reads);
        let text = format!("opening takes 3 requests: {reads} requests in {rounds} rounds");
        line(out, reads <= 3, &text);
        let text = format!("a plan takes 2 rounds more: {}", plan.rounds);
        line(out, plan.rounds <= 2, &text);
    }
    if let Some(append) = remote("an append with") {
        let text = format!("an append takes 2 rounds of puts: {}", append.put_rounds);
        line(out, append.put_rounds <= 2, &text);
    }
    let rate = |row: &Row| row.commits as f64 / row.total;
    for own in commits.iter().filter(|it| it.format == TARSIA) {
        let peers = commits.iter().filter(|it| it.files == own.files);
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
    let races = report.races().into_iter().filter(|it| it.place == "memory");
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

fn of_branches(report: &Report, out: &mut String) {
    for it in report.branches() {
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

fn of_updates(report: &Report, out: &mut String) {
    let updates = report.updates();
    for own in updates.iter().filter(|it| it.format == TARSIA) {
        let same = updates
            .iter()
            .filter(|it| it.table == own.table && it.which == own.which);
        let same: Vec<&&Update> = same.collect();
        let of = |format: &str| same.iter().find(|it| it.format == format);
        let what = format!("{}, {} rows", own.table, share(&own.which));
        let kb = |it: &Update| it.bytes / 1e3;
        if let Some(peer) = of("iceberg") {
            let text = format!(
                "{what}: an update writes a tenth of Iceberg's bytes: {:.1} of {:.0} KB",
                kb(own),
                kb(peer)
            );
            line(out, own.bytes * 10.0 <= peer.bytes, &text);
        }
        if let Some(peer) = of("lance") {
            let text = format!(
                "{what}: as many bytes as Lance's: {:.1} of {:.1} KB",
                kb(own),
                kb(peer)
            );
            line(out, own.bytes <= peer.bytes, &text);
        }
        let Some(last) = own.scans.last() else {
            continue;
        };
        let most = if own.which == "all" { 1.1 } else { 1.6 };
        let ratio = last / own.scan;
        let text = format!(
            "{what}: a scan after {UPDATES} updates takes {most} times that before them: {ratio:.2}"
        );
        line(out, ratio <= most, &text);
        if let Some(compacted) = own.compacted {
            let ratio = compacted / own.scan;
            let text = format!("{what}: 1.05 times after a compaction: {ratio:.2}");
            line(out, ratio <= 1.05, &text);
        }
        let peers = same.iter().filter(|it| it.format != TARSIA);
        let peers = peers.filter_map(|it| Some((it.scans.last()?, &it.format)));
        if let Some((best, format)) = peers.min_by(|a, b| a.0.total_cmp(b.0)) {
            let text = format!(
                "{what}: a scan after the updates is never slower than a peer's ({format}, {} ms): {} ms",
                millis(*best),
                millis(*last)
            );
            line(out, last <= best, &text);
        }
    }
}

fn of_new_columns(report: &Report, out: &mut String) {
    let columns = report.new_columns();
    let of = |format: &'static str| columns.iter().filter(move |it| it.format == format);
    let (Some(narrow), Some(own)) = (of(TARSIA).next(), of(TARSIA).next_back()) else {
        return;
    };
    let n_columns = own.columns;
    let kib = |n_bytes: f64| n_bytes / 1024.0;
    let most = own.value_bytes as f64 * 1.1 + 65_536.0;
    let text = format!(
        "a new column of {n_columns} writes 1.1 times its bytes and 64 KiB, {:.1} KiB: {:.1} KiB; no data file is \
         touched",
        kib(most),
        kib(own.bytes as f64)
    );
    line(out, own.bytes as f64 <= most, &text);
    let demands = [
        ("lance", 1.0, "Lance's time"),
        ("iceberg", 50.0, "1/50 of Iceberg's"),
    ];
    for (format, part, name) in demands {
        // A peer that did not get so far is slower than it was with fewer columns.
        let Some(peer) = of(format).next_back() else {
            continue;
        };
        let text = format!(
            "in {name} ({} ms with {} columns): {} ms",
            millis(peer.seconds),
            peer.columns,
            millis(own.seconds)
        );
        line(out, own.seconds * part <= peer.seconds, &text);
    }
    let ratio = own.ten / narrow.ten;
    let text = format!(
        "opening and ten columns of {n_columns} take 1.3 times those of {}: {ratio:.2}",
        narrow.columns
    );
    line(out, ratio <= 1.3, &text);
    let ratio = own.new / own.plain;
    let text = format!("a scan of the new column takes 1.1 times that of a plain one: {ratio:.2}");
    line(out, ratio <= 1.1, &text);
}
