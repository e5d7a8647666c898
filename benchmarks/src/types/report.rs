//! Report of the sizes and times of the types: ratios, means, what is lost, text.

use std::fmt::Write as _;

use super::cases::{Cardinality, Case, Family};
use crate::report::{geometric_mean, table};
use crate::speed::report::{Number, TARSIA, file_bytes, missing, ratio, remarks, seconds, times};
use crate::speed::{Failure, FormatName, Measure, Speed, Table};

/// Beginning of the names of the tables of TPC-H.
pub(super) const LINEITEM: &str = "lineitem_";

/// The scans, with their names in headings.
const SCANS: [(Measure, &str); 2] = [
    (Measure::ScanOne, "1 thread"),
    (Measure::ScanAll, "all threads"),
];

const MEANING: &str = "GB/s are bytes of Arrow arrays (10⁹) per second. A ratio of sizes, such as T/V, is Tarsia's \
     file divided by the peer's: below 1, Tarsia is smaller. A ratio of times, such as V/T, is the peer's time \
     divided by Tarsia's: above 1, Tarsia is faster. Means are geometric, over the tables that have \
     the ratio.";

/// A scan or a file that is worse than a peer's by less is as good.
const TOLERANCE: f64 = 0.01;

/// Whether this failure is Tarsia's, or that of a table that could not be made.
pub(super) fn is_of_tarsia(failure: &Failure) -> bool {
    failure.format.is_none() || failure.format == TARSIA
}

/// Everything, for a terminal.
pub(super) fn text(speed: &Speed) -> String {
    format!("{}\n\n{}", speed.environment.line(), body(speed))
}

/// The section of the docs.
pub(super) fn markdown(speed: &Speed) -> String {
    format!(
        "Scans of one column of every flat Arrow type, of few (`low`) and many (`high`) distinct values, without nulls \
         and with a tenth (`nulls`), and of `lineitem` of TPC-H at scale factor 1. Measured by `cargo run --release -- \
         types` in `benchmarks/`, which rewrites this section; every repetition is in \
         `benchmarks/results/types.json`, the rules are in `benchmarks/README.md`.\n\n{}.\n\n{}",
        speed.environment.line(),
        body(speed)
    )
}

fn body(speed: &Speed) -> String {
    let mut out = format!("{} repetitions, medians. {MEANING}\n\n", speed.repetitions);
    for line in remarks(speed) {
        let _ = writeln!(out, "{line}\n");
    }
    let _ = writeln!(out, "{}", table_of_all(speed));
    let reasons = reasons(speed);
    if !reasons.is_empty() {
        let _ = writeln!(out, "Not measured:\n\n{reasons}");
    }
    let _ = writeln!(out, "Means:\n\n{}", means(speed));
    let slower = slower(speed);
    match slower.len() {
        0 => out.push_str("No scan is slower than a peer's by more than 1 %.\n\n"),
        n => {
            let head = [
                "slower than a peer",
                "scan",
                "peer",
                "T/peer, bytes",
                "why",
                "peer/T",
            ];
            let unknown = slower.iter();
            let unknown = unknown.filter(|(cells, _)| cells.iter().any(|cell| cell == UNKNOWN));
            let _ = writeln!(
                out,
                "Slower than a peer by more than 1 % ({n}, {} of them without a reason):\n\n{}",
                unknown.count(),
                lost(head, slower)
            );
        }
    }
    let larger = larger(speed);
    match larger.len() {
        0 => out.push_str("No file is larger than a peer's by more than 1 %.\n"),
        n => {
            let head = ["larger than a peer", "peer", "T/peer"];
            let _ = write!(
                out,
                "Larger than a peer by more than 1 % ({n}):\n\n{}",
                lost(head, larger)
            );
        }
    }
    out
}

/// The first letter stands for a format in headings.
fn letter(format: FormatName) -> String {
    format.name()[..1].to_uppercase()
}

/// Tarsia's bytes divided by the peer's.
fn size_ratio(t: &Table, peer: FormatName) -> Option<f64> {
    ratio(t, &file_bytes, peer).map(|ratio| 1.0 / ratio)
}

fn time_ratio(t: &Table, measure: Measure, peer: FormatName) -> Option<f64> {
    let number: Number<'_> = &seconds(measure);
    ratio(t, number, peer)
}

fn table_of_all(speed: &Speed) -> String {
    let peers = speed.peers();
    let mut head = vec![
        "table".to_owned(),
        "Arrow MB".to_owned(),
        "Tarsia MB".to_owned(),
    ];
    head.extend(peers.iter().map(|peer| format!("size T/{}", letter(*peer))));
    for (_, threads) in SCANS {
        let formats = TARSIA.iter().chain(&peers);
        head.extend(formats.map(|format| format!("{} GB/s, {threads}", letter(*format))));
        head.extend(peers.iter().map(|peer| format!("{}/T", letter(*peer))));
    }
    let mut rows = vec![head];
    for t in &speed.tables {
        let megabytes = |bytes: f64| format!("{:.3}", bytes / 1e6);
        let tarsia_bytes = TARSIA.and_then(|tarsia| file_bytes(t, tarsia));
        let mut row = vec![
            t.table.clone(),
            megabytes(t.arrow_bytes as f64),
            tarsia_bytes.map_or_else(missing, megabytes),
        ];
        row.extend(peers.iter().map(|peer| times(size_ratio(t, *peer))));
        for (measure, _) in SCANS {
            let rate = |format: &FormatName| {
                let seconds = t.seconds(measure, *format);
                times(seconds.map(|seconds| t.arrow_bytes as f64 / 1e9 / seconds))
            };
            row.extend(TARSIA.iter().chain(&peers).map(rate));
            row.extend(
                peers
                    .iter()
                    .map(|peer| times(time_ratio(t, measure, *peer))),
            );
        }
        rows.push(row);
    }
    table(&rows)
}

/// One line for each format and reason, with the tables that have no number for it.
fn reasons(speed: &Speed) -> String {
    let mut reasons: Vec<(Option<FormatName>, &str, Vec<&str>)> = Vec::new();
    for failure in &speed.failed {
        let known = reasons
            .iter_mut()
            .find(|(format, why, _)| *format == failure.format && *why == failure.why);
        match known {
            Some((_, _, tables)) => tables.push(&failure.table),
            None => reasons.push((failure.format, &failure.why, vec![&failure.table])),
        }
    }
    let mut out = String::new();
    for (format, why, tables) in reasons {
        let format = format.map_or("the table", FormatName::name);
        // What a library says may have several lines.
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "- {format}: {}: {why}", tables.join(", "));
    }
    out
}

/// The means of groups of tables, `lineitem` apart.
fn means(speed: &Speed) -> String {
    let peers = speed.peers();
    let mut head = vec!["tables".to_owned(), "number".to_owned()];
    head.extend(peers.iter().map(|peer| format!("size T/{}", letter(*peer))));
    for (_, threads) in SCANS {
        head.extend(
            peers
                .iter()
                .map(|peer| format!("{}/T, {threads}", letter(*peer))),
        );
    }
    let mut rows = vec![head];
    let cases: Vec<(String, Case)> = Case::all()
        .into_iter()
        .map(|case| (case.name(), case))
        .collect();
    let case = |t: &Table| {
        cases
            .iter()
            .find(|(name, _)| *name == t.table)
            .map(|(_, case)| case)
    };
    let mut group = |name: &str, is_one: &dyn Fn(&Table) -> bool| {
        let tables: Vec<&Table> = speed.tables.iter().filter(|t| is_one(t)).collect();
        if tables.is_empty() {
            return;
        }
        let mean = |number: &dyn Fn(&Table) -> Option<f64>| {
            times(geometric_mean(tables.iter().filter_map(|t| number(t))))
        };
        let mut row = vec![name.to_owned(), tables.len().to_string()];
        row.extend(peers.iter().map(|peer| mean(&|t| size_ratio(t, *peer))));
        for (measure, _) in SCANS {
            row.extend(
                peers
                    .iter()
                    .map(|peer| mean(&|t| time_ratio(t, measure, *peer))),
            );
        }
        rows.push(row);
    };
    group("all types", &|t| case(t).is_some());
    for (name, cardinality) in [("low", Cardinality::Low), ("high", Cardinality::High)] {
        group(name, &|t| {
            case(t).is_some_and(|case| case.cardinality == cardinality)
        });
    }
    for (name, has_nulls) in [("without nulls", false), ("with nulls", true)] {
        group(name, &|t| {
            case(t).is_some_and(|case| case.has_nulls == has_nulls)
        });
    }
    for family in Family::ALL {
        group(family.name(), &|t| {
            case(t).is_some_and(|case| case.family() == family)
        });
    }
    group("lineitem", &|t| t.table.starts_with(LINEITEM));
    table(&rows)
}

/// Scans that take longer than a peer's, the worst first, with the ratio.
fn slower(speed: &Speed) -> Vec<(Vec<String>, f64)> {
    let mut slower = Vec::new();
    for t in &speed.tables {
        for (measure, threads) in SCANS {
            for peer in speed.peers() {
                if let Some(ratio) =
                    time_ratio(t, measure, peer).filter(|ratio| *ratio < 1.0 - TOLERANCE)
                {
                    let bytes = times(size_ratio(t, peer));
                    let cells = [&t.table, threads, peer.name(), &bytes, why(t, peer)];
                    slower.push((cells.map(str::to_owned).to_vec(), ratio));
                }
            }
        }
    }
    slower.sort_by(|a, b| a.1.total_cmp(&b.1));
    slower
}

/// The word where nothing explains a lost scan.
const UNKNOWN: &str = "-";

/// Says why a scan takes longer than the peer's.
fn why(t: &Table, peer: FormatName) -> &'static str {
    /// Values that take about as many bytes as in Arrow are stored as they are.
    const AS_THEY_ARE: f64 = 0.95;
    let peer_bytes = file_bytes(t, peer);
    match size_ratio(t, peer) {
        Some(ratio) if ratio < AS_THEY_ARE => "smaller file",
        _ if peer_bytes.is_some_and(|bytes| bytes >= AS_THEY_ARE * t.arrow_bytes as f64) => {
            "the peer borrows, Tarsia copies out of blocks"
        }
        _ => UNKNOWN,
    }
}

/// Files that are larger than a peer's, the worst first, with the ratio.
fn larger(speed: &Speed) -> Vec<(Vec<String>, f64)> {
    let mut larger = Vec::new();
    for t in &speed.tables {
        for peer in speed.peers() {
            if let Some(ratio) = size_ratio(t, peer).filter(|ratio| *ratio > 1.0 + TOLERANCE) {
                larger.push((vec![t.table.clone(), peer.name().to_owned()], ratio));
            }
        }
    }
    larger.sort_by(|a, b| b.1.total_cmp(&a.1));
    larger
}

/// The ratio is the last cell.
fn lost<const N: usize>(head: [&str; N], rows: Vec<(Vec<String>, f64)>) -> String {
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    for (mut row, ratio) in rows {
        row.push(times(Some(ratio)));
        cells.push(row);
    }
    table(&cells)
}

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::*;
    use crate::speed::made_up::{Scanned, empty_speed, scanned};

    fn failure(table: &str, format: FormatName, why: &str) -> Failure {
        Failure {
            table: table.to_owned(),
            format: Some(format),
            why: why.to_owned(),
            late: false,
        }
    }

    /// Vortex is faster on one column, and has no other.
    fn speed() -> Speed {
        let of = |format, file_bytes, seconds| Scanned {
            format,
            file_bytes,
            seconds,
        };
        let mut speed = empty_speed();
        speed.tables = vec![
            scanned(
                "int8_low",
                4_000_000,
                &[
                    of(FormatName::Tarsia, 1_000_000, 0.002),
                    of(FormatName::Vortex, 2_000_000, 0.001),
                    of(FormatName::Parquet, 500_000, 0.004),
                ],
            ),
            scanned(
                "interval_day_time_high",
                4_000_000,
                &[
                    of(FormatName::Tarsia, 1_000_000, 0.001),
                    of(FormatName::Parquet, 1_000_000, 0.009),
                ],
            ),
        ];
        let interval = "interval_day_time_high";
        speed.failed = vec![failure(interval, FormatName::Vortex, "no such\n type")];
        speed
    }

    #[test]
    fn ratios_are_in_the_table() {
        let table = table_of_all(&speed());
        let cells = |name: &str| -> Vec<String> {
            let line = table.lines().find(|line| line.contains(name)).unwrap();
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let scan = ["2.00", "4.00", "1.00", "0.50", "2.00"];
        let expected = [&["4.000", "1.000", "0.50", "2.00"][..], &scan, &scan].concat();
        assert_eq!(cells("int8_low")[2..16], expected);
        let interval = cells("interval_day_time_high");
        assert_eq!(interval[4..6], ["-", "1.00"]);
        assert_eq!(interval[9..11], ["-", "9.00"]);
    }

    #[test]
    fn what_is_lost_is_listed() {
        let speed = speed();
        let slower: Vec<f64> = slower(&speed).iter().map(|(_, ratio)| *ratio).collect();
        assert_eq!(slower, [0.5, 0.5]);
        assert_eq!(why(&speed.tables[0], FormatName::Vortex), "smaller file");
        let larger = larger(&speed);
        assert_eq!(
            larger,
            [(vec!["int8_low".to_owned(), "parquet".to_owned()], 2.0)]
        );
        let text = markdown(&speed);
        assert!(
            text.contains("Slower than a peer by more than 1 % (2, 0 of them without a reason):"),
            "{text}"
        );
        assert!(
            text.contains("Larger than a peer by more than 1 % (1):"),
            "{text}"
        );
        assert!(
            text.contains("- vortex: interval_day_time_high: no such type\n"),
            "{text}"
        );
        // Of the two scans of Parquet: the mean of 2 and 9.
        let mean = means(&speed);
        assert!(
            mean.lines()
                .any(|line| line.contains("all types") && line.contains("4.24")),
            "{mean}"
        );
    }

    #[test]
    fn only_failures_of_tarsia_count() {
        assert!(is_of_tarsia(&failure("a", FormatName::Tarsia, "")));
        assert!(!is_of_tarsia(&failure("a", FormatName::Vortex, "")));
    }
}
