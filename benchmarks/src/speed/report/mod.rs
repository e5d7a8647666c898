//! Report of the times: ratios, medians and means over tables, text.

mod cells;
mod criteria;
mod groups;
#[cfg(all(test, feature = "tarsia"))]
mod made_up;
mod random_access;
mod ratios;
mod remarks;
mod scenarios;
mod tables;
mod views;

use std::fmt::Write as _;

use anyhow::Result;

use self::cells::{mebibytes, time};
pub(crate) use self::cells::{missing, times};
use self::criteria::criteria;
use self::groups::{GROUPS, is_for_random_access};
use self::random_access::{RANDOM_ACCESS, random_access};
pub(crate) use self::ratios::{Number, TARSIA, file_bytes, ratio, seconds};
use self::ratios::{peak_of_scan, peak_of_write};
pub(crate) use self::remarks::remarks;
use self::remarks::{MEANING, failures};
use self::scenarios::scan_scenarios;
use self::tables::{bytes_table, numbers, ratio_table, scan_rates, summary};
use self::views::{VIEWS, views};
use super::{Measure, Speed};

/// Everything, for a terminal.
pub(super) fn text(speed: &Speed) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", speed.environment.line());
    for line in remarks(speed) {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(
        out,
        "\n{} repetitions, medians. {MEANING}\n",
        speed.repetitions
    );
    for measure in Measure::ORDINARY
        .into_iter()
        .chain(Measure::MORE_TAKES)
        .chain([Measure::OpenAndScanTen])
    {
        if let Some(table) = numbers(speed, false, &seconds(measure), time) {
            let _ = writeln!(out, "{}\n\n{table}", measure.label());
        }
    }
    for (name, number) in [
        ("peak memory of write", &peak_of_write as Number<'_>),
        ("peak memory of scan", &peak_of_scan),
    ] {
        if let Some(table) = numbers(speed, false, number, mebibytes) {
            let _ = writeln!(out, "{name}\n\n{table}");
        }
    }
    let _ = writeln!(out, "bytes\n\n{}", bytes_table(speed));
    let _ = writeln!(
        out,
        "decoded bytes per second of Tarsia's scans, and their part of the speed of storing\n\n{}",
        scan_rates(speed)
    );
    for (name, of) in GROUPS {
        let _ = writeln!(out, "{name}\n\n{}", summary(speed, of));
    }
    if let Some(section) = random_access(speed) {
        let _ = writeln!(out, "random access\n\n{section}");
    }
    if let Some(section) = scan_scenarios(speed) {
        let _ = writeln!(out, "scan scenarios\n\n{section}");
    }
    if let Some(section) = views(speed) {
        let _ = writeln!(out, "scans as views\n\n{section}");
    }
    let _ = writeln!(out, "criteria\n\n{}", criteria(speed));
    for line in failures(speed) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// Everything, one table per line, so that two runs compare well.
pub(crate) fn json(speed: &Speed) -> Result<String> {
    let tables = speed
        .tables
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()?;
    let mut out = String::from("{\n");
    for (name, value) in [
        ("environment", serde_json::to_string(&speed.environment)?),
        ("load", serde_json::to_string(&speed.load)?),
        ("repetitions", speed.repetitions.to_string()),
        ("limits_gb_per_s", serde_json::to_string(&speed.limits)?),
        ("formats", serde_json::to_string(&speed.formats)?),
        ("evictions", serde_json::to_string(&speed.evictions)?),
        ("left_out", serde_json::to_string(&speed.left_out)?),
        ("failed", serde_json::to_string(&speed.failed)?),
    ] {
        let _ = writeln!(out, "\"{name}\": {value},");
    }
    let _ = writeln!(out, "\"tables\": [\n{}\n]\n}}", tables.join(",\n"));
    Ok(out)
}

/// The section of the docs.
pub(super) fn markdown(speed: &Speed) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Whole tables written, opened, scanned, and read at random. Measured by `cargo run --release -- speed` in \
         `benchmarks/`, which rewrites this section; every repetition is in `benchmarks/results/speed.json`, the rules \
         are in `benchmarks/README.md`.\n\n{}.\n",
        speed.environment.line()
    );
    let _ = writeln!(
        out,
        "{} repetitions, medians. {MEANING}\n",
        speed.repetitions
    );
    for line in remarks(speed) {
        let _ = writeln!(out, "{line}\n");
    }
    for line in failures(speed) {
        let _ = writeln!(out, "- {line}");
    }
    if !speed.failed.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "What is asked:\n\n{}", criteria(speed));
    for (name, of) in GROUPS {
        let _ = writeln!(out, "{name}:\n\n{}", summary(speed, of));
    }
    if let Some(section) = random_access(speed) {
        let _ = writeln!(out, "### Random access\n\n{RANDOM_ACCESS}\n\n{section}");
    }
    if let Some(section) = scan_scenarios(speed) {
        let _ = writeln!(
            out,
            "### Scan scenarios\n\nScans of the tables that stand for the scenarios of the Lance paper's scan \
             figure.\n\n{section}"
        );
    }
    if let Some(section) = views(speed) {
        let _ = writeln!(out, "### Views\n\n{VIEWS}\n\n{section}");
    }
    if speed.tables.iter().any(is_for_random_access) {
        out.push_str("### All tables\n\n");
    }
    for peer in speed.peers() {
        let _ = writeln!(
            out,
            "Ratios to {} of each table:\n\n{}\nMore takes, ratios to {}:\n\n{}",
            peer.name(),
            ratio_table(speed, peer, &Measure::ORDINARY, true),
            peer.name(),
            ratio_table(speed, peer, &Measure::MORE_TAKES, false)
        );
    }
    for measure in [Measure::Open, Measure::OpenAndScanTen, Measure::WriteOne] {
        if let Some(table) = numbers(speed, true, &seconds(measure), time) {
            let _ = writeln!(
                out,
                "Tables of {} rows and very many columns, {}:\n\n{table}",
                super::generate::WIDE_ROWS,
                measure.label()
            );
        }
    }
    for (name, number) in [
        ("writes", &peak_of_write as Number<'_>),
        ("scans", &peak_of_scan),
    ] {
        if let Some(table) = numbers(speed, false, number, mebibytes) {
            let _ = writeln!(
                out,
                "Peak memory of a process that {name} on all threads, MiB more than before:\n\n{table}"
            );
        }
    }
    let _ = writeln!(
        out,
        "Decoded bytes per second of Tarsia's scans, and what part that is of storing into memory that was used \
         before:\n\n{}",
        scan_rates(speed)
    );
    let _ = writeln!(
        out,
        "Bytes of the files; “kernel” is what an embedded decoder would add to Tarsia's, which are written \
         without:\n\n{}",
        bytes_table(speed)
    );
    out
}

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::made_up::{measured, speed};
    use super::*;
    use crate::speed::random_access;

    #[test]
    fn sections_and_failures_are_written() {
        let measure = Measure::TakeManyRows;
        let of_random_access = format!("{}scalar", random_access::PREFIX);
        let speed = speed(vec![
            measured("a", 2, measure, [1.0, 2.0]),
            measured(&of_random_access, 1, measure, [0.5, 4.0]),
        ]);
        let section = markdown(&speed);
        assert!(section.contains("### Random access"));
        assert!(section.contains("LATE: b, parquet: write: not in 120 s"));
        let json: serde_json::Value = serde_json::from_str(&json(&speed).unwrap()).unwrap();
        assert_eq!(json["tables"].as_array().unwrap().len(), 2);
    }
}
