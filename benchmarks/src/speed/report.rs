//! What is made of the times: ratios, medians over tables, text.

use std::fmt::Write as _;

use anyhow::Result;

use super::{FormatName, Measure, Speed, Table};
use crate::report::{median, table};

/// How much faster Tarsia is: the other's time divided by Tarsia's.
#[cfg(feature = "tarsia")]
fn ratio(t: &Table, measure: Measure, peer: FormatName) -> Option<f64> {
    Some(t.seconds(measure, peer)? / t.seconds(measure, FormatName::Tarsia)?)
}

#[cfg(not(feature = "tarsia"))]
fn ratio(_: &Table, _: Measure, _: FormatName) -> Option<f64> {
    None
}

/// The other's bytes divided by Tarsia's: above 1, Tarsia is smaller.
#[cfg(feature = "tarsia")]
fn bytes_ratio(t: &Table, peer: FormatName) -> Option<f64> {
    Some(*t.file_bytes.get(&peer)? as f64 / *t.file_bytes.get(&FormatName::Tarsia)? as f64)
}

#[cfg(not(feature = "tarsia"))]
fn bytes_ratio(_: &Table, _: FormatName) -> Option<f64> {
    None
}

const PEERS: [FormatName; 2] = [FormatName::Vortex, FormatName::Parquet];

/// Made by a script, not found in the world.
fn is_generated(t: &Table) -> bool {
    t.table.starts_with("ml_") || t.table.starts_with("generated_")
}

/// Medians of the ratios over all ordinary tables, and over those that no script has made.
fn summary(speed: &Speed) -> String {
    let mut rows = vec![
        [
            "medians of ratios",
            "tables",
            "T/vortex",
            "T/parquet",
            "not generated",
            "T/vortex",
            "T/parquet",
        ]
        .map(str::to_owned),
    ];
    let ordinary = || speed.tables.iter().filter(|t| !t.wide);
    let found = || ordinary().filter(|t| !is_generated(t));
    let mut line = |name: &str, of: &dyn Fn(&Table, FormatName) -> Option<f64>| {
        let n = |tables: &mut dyn Iterator<Item = &Table>| {
            tables
                .filter(|t| of(t, FormatName::Vortex).is_some())
                .count()
                .to_string()
        };
        rows.push([
            name.to_owned(),
            n(&mut ordinary()),
            times(median(ordinary().filter_map(|t| of(t, FormatName::Vortex)))),
            times(median(
                ordinary().filter_map(|t| of(t, FormatName::Parquet)),
            )),
            n(&mut found()),
            times(median(found().filter_map(|t| of(t, FormatName::Vortex)))),
            times(median(found().filter_map(|t| of(t, FormatName::Parquet)))),
        ]);
    };
    for measure in Measure::ORDINARY {
        line(measure.label(), &|t, peer| ratio(t, measure, peer));
    }
    line("bytes of the file", &bytes_ratio);
    table(&rows)
}

/// One measure of all tables, or of the wide ones alone.
fn measure_table(speed: &Speed, measure: Measure, only_wide: bool) -> Option<String> {
    let tables: Vec<_> = speed
        .tables
        .iter()
        .filter(|t| t.seconds.contains_key(&measure) && (t.wide || !only_wide))
        .collect();
    if tables.is_empty() {
        return None;
    }
    let mut head: Vec<String> = vec!["table".to_owned(), "Arrow MB".to_owned()];
    head.extend(FormatName::ALL.iter().map(|f| f.name().to_owned()));
    head.extend(PEERS.iter().map(|peer| format!("T/{}", peer.name())));
    let mut rows = vec![head];
    for t in tables {
        let mut row = vec![t.table.clone(), megabytes(t)];
        row.extend(FormatName::ALL.iter().map(|f| time(t.seconds(measure, *f))));
        row.extend(PEERS.iter().map(|peer| times(ratio(t, measure, *peer))));
        rows.push(row);
    }
    Some(table(&rows))
}

fn bytes_table(speed: &Speed) -> String {
    let mut head: Vec<String> = ["table", "rows", "columns", "Arrow"]
        .map(str::to_owned)
        .to_vec();
    head.extend(FormatName::ALL.iter().map(|f| f.name().to_owned()));
    head.extend(PEERS.iter().map(|peer| format!("T/{}", peer.name())));
    let mut rows = vec![head];
    for t in &speed.tables {
        let mut row = vec![
            t.table.clone(),
            t.rows.to_string(),
            t.columns.to_string(),
            t.arrow_bytes.to_string(),
        ];
        row.extend(FormatName::ALL.iter().map(|f| {
            t.file_bytes
                .get(f)
                .map_or_else(|| "-".to_owned(), u64::to_string)
        }));
        row.extend(PEERS.iter().map(|peer| times(bytes_ratio(t, *peer))));
        rows.push(row);
    }
    table(&rows)
}

fn limits_line(speed: &Speed) -> String {
    let l = &speed.limits;
    format!(
        "Memory, GB of output per second: copy {:.1} (into fresh memory {:.1}), store {:.1} (fresh {:.1}); all threads: copy {:.1}, \
         store {:.1}.",
        l.copy_reused,
        l.copy_fresh,
        l.store_reused,
        l.store_fresh,
        l.copy_reused_all,
        l.store_reused_all
    )
}

/// Everything, for a terminal.
pub(super) fn text(speed: &Speed) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", speed.environment.line());
    let _ = writeln!(
        out,
        "{}\n{}\n\n{} repetitions, medians. T/… is the other's time divided by Tarsia's: above 1, Tarsia is faster.\n",
        limits_line(speed),
        load_line(speed),
        speed.repetitions
    );
    for measure in Measure::ORDINARY
        .into_iter()
        .chain([Measure::OpenAndScanTen])
    {
        if let Some(table) = measure_table(speed, measure, false) {
            let _ = writeln!(out, "{}\n\n{table}", measure.label());
        }
    }
    let _ = writeln!(
        out,
        "bytes (T/… is the other's divided by Tarsia's)\n\n{}",
        bytes_table(speed)
    );
    let _ = writeln!(
        out,
        "Medians over the ordinary tables; then without the generated ones (`ml_*`, `generated_*`).\n\n{}",
        summary(speed)
    );
    if !speed.skipped.is_empty() {
        let _ = writeln!(
            out,
            "skipped, since some columns are nested: {}",
            speed.skipped.join(", ")
        );
    }
    for f in &speed.failed {
        let _ = writeln!(out, "FAILED: {}, {}: {}", f.table, f.format.name(), f.why);
    }
    out
}

/// Everything, one table per line, so that two runs compare well.
pub(super) fn json(speed: &Speed) -> Result<String> {
    let tables = speed
        .tables
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()?;
    let mut out = String::from("{\n");
    let _ = writeln!(
        out,
        "\"environment\": {},",
        serde_json::to_string(&speed.environment)?
    );
    let _ = writeln!(out, "\"load\": {},", serde_json::to_string(&speed.load)?);
    let _ = writeln!(out, "\"repetitions\": {},", speed.repetitions);
    let _ = writeln!(
        out,
        "\"limits_gb_per_s\": {},",
        serde_json::to_string(&speed.limits)?
    );
    let _ = writeln!(
        out,
        "\"skipped\": {},",
        serde_json::to_string(&speed.skipped)?
    );
    let _ = writeln!(
        out,
        "\"failed\": {},",
        serde_json::to_string(&speed.failed)?
    );
    let _ = writeln!(out, "\"tables\": [\n{}\n]\n}}", tables.join(",\n"));
    Ok(out)
}

/// The section of the docs.
pub(super) fn markdown(speed: &Speed) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Whole tables written, opened, scanned, and read at random. Measured by `cargo run --release -- speed` in `benchmarks/`, \
         which rewrites this section; every repetition is in `benchmarks/results/speed.json`, the rules are in \
         `benchmarks/README.md`.\n\n{}.\n",
        speed.environment.line()
    );
    let _ = writeln!(
        out,
        "{} {} repetitions, medians. {}\n",
        load_line(speed),
        speed.repetitions,
        limits_line(speed)
    );
    let _ = writeln!(
        out,
        "A ratio is the other's time (or bytes) divided by Tarsia's: above 1, Tarsia is faster (or smaller). The medians are over the \
         ordinary tables, and over those that no script has made (without `ml_*` and `generated_*`).\n\n{}",
        summary(speed)
    );
    for peer in PEERS {
        let _ = writeln!(
            out,
            "Ratios to {} of each table:\n\n{}",
            peer.name(),
            ratio_table(speed, peer)
        );
    }
    for measure in [Measure::Open, Measure::OpenAndScanTen, Measure::WriteOne] {
        if let Some(table) = measure_table(speed, measure, true) {
            let _ = writeln!(
                out,
                "Tables of {} rows and very many columns, {}:\n\n{table}",
                super::generate::WIDE_ROWS,
                measure.label()
            );
        }
    }
    if !speed.skipped.is_empty() {
        let _ = writeln!(
            out,
            "Skipped, since some columns are nested: {}.",
            speed.skipped.join(", ")
        );
    }
    out
}

/// All measures of the ordinary tables against one peer.
fn ratio_table(speed: &Speed, peer: FormatName) -> String {
    let mut head = vec!["table".to_owned(), "Arrow MB".to_owned()];
    head.extend(Measure::ORDINARY.iter().map(|m| m.label().to_owned()));
    head.push("bytes".to_owned());
    let mut rows = vec![head];
    for t in speed.tables.iter().filter(|t| !t.wide) {
        let mut row = vec![t.table.clone(), megabytes(t)];
        row.extend(Measure::ORDINARY.iter().map(|m| times(ratio(t, *m, peer))));
        row.push(times(bytes_ratio(t, peer)));
        rows.push(row);
    }
    table(&rows)
}

fn load_line(speed: &Speed) -> String {
    match speed.load {
        [Some(before), Some(after)] => format!(
            "The load of the machine was {before:.1} before the run and {after:.1} after it, this command's own included."
        ),
        _ => String::new(),
    }
}

fn megabytes(t: &Table) -> String {
    format!("{:.1}", t.arrow_bytes as f64 / 1e6)
}

fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(s) if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        Some(s) if s < 1.0 => format!("{:.2} ms", s * 1e3),
        Some(s) => format!("{s:.2} s"),
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"))
}
