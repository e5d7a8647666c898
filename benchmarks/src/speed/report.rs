//! What is made of the times: ratios, medians and means over tables, text.

use std::fmt::Write as _;

use anyhow::Result;

use super::{FormatName, Measure, Speed, Table, random_access};
use crate::report::{geometric_mean, median, table};

/// The other's number divided by Tarsia's: above 1, Tarsia is faster or smaller.
fn ratio_of(peer: Option<f64>, tarsia: Option<f64>) -> Option<f64> {
    let (peer, tarsia) = (peer?, tarsia?);
    (peer > 0.0 && tarsia > 0.0).then(|| peer / tarsia)
}

#[cfg(feature = "tarsia")]
pub(crate) const TARSIA: Option<FormatName> = Some(FormatName::Tarsia);

#[cfg(not(feature = "tarsia"))]
pub(crate) const TARSIA: Option<FormatName> = None;

/// A number that a table has of each format.
pub(crate) type Number<'n> = &'n dyn Fn(&Table, FormatName) -> Option<f64>;

/// The peer's number divided by Tarsia's.
pub(crate) fn ratio(t: &Table, number: Number<'_>, peer: FormatName) -> Option<f64> {
    ratio_of(number(t, peer), TARSIA.and_then(|tarsia| number(t, tarsia)))
}

pub(crate) fn seconds(measure: Measure) -> impl Fn(&Table, FormatName) -> Option<f64> {
    move |t, format| t.seconds(measure, format)
}

pub(crate) fn file_bytes(t: &Table, format: FormatName) -> Option<f64> {
    t.file_bytes.get(&format).map(|bytes| *bytes as f64)
}

fn peak_of_write(t: &Table, format: FormatName) -> Option<f64> {
    let bytes = t.peak_bytes_of_write.get(&format);
    bytes.map(|bytes| *bytes as f64)
}

fn peak_of_scan(t: &Table, format: FormatName) -> Option<f64> {
    let bytes = t.peak_bytes_of_scan.get(&format);
    bytes.map(|bytes| *bytes as f64)
}

/// Made by a script, not found in the world.
fn is_generated(t: &Table) -> bool {
    t.table.starts_with("ml_") || t.table.starts_with("generated_")
}

fn is_flat(t: &Table) -> bool {
    t.nested_columns == 0
}

/// Made for the section on random access, and in no median of other tables.
fn is_for_random_access(t: &Table) -> bool {
    t.table.starts_with(random_access::PREFIX)
}

/// Whether a table is one of some.
type IsOne = fn(&Table) -> bool;

/// Which tables the summaries are of.
const GROUPS: [(&str, IsOne); 4] = [
    ("Flat tables", |t| !is_for_random_access(t) && is_flat(t)),
    (
        "Flat tables that no script has made (without `ml_*` and `generated_*`)",
        |t| !is_for_random_access(t) && is_flat(t) && !is_generated(t),
    ),
    ("Tables with columns of lists and structs", |t| {
        !is_for_random_access(t) && !is_flat(t)
    }),
    (
        "The tables of one column for random access",
        is_for_random_access,
    ),
];

/// All but those of very many columns.
fn not_wide(speed: &Speed) -> impl Iterator<Item = &Table> {
    speed.tables.iter().filter(|t| !t.wide)
}

/// Those that the criteria of whole tables are about.
fn ordinary(speed: &Speed) -> impl Iterator<Item = &Table> {
    not_wide(speed).filter(|t| !is_for_random_access(t))
}

/// Medians and geometric means of the ratios over these tables.
fn summary(speed: &Speed, of: IsOne) -> String {
    let peers = speed.peers();
    let mut head = vec!["ratios".to_owned(), "tables".to_owned()];
    for peer in &peers {
        head.push(format!("T/{} median", peer.name()));
        head.push("geo. mean".to_owned());
    }
    let mut rows = vec![head];
    let mut line = |name: &str, number: Number<'_>| {
        let tables = || not_wide(speed).filter(|t| of(t));
        let n_tables = tables()
            .filter(|t| peers.iter().any(|peer| ratio(t, number, *peer).is_some()))
            .count();
        if n_tables == 0 {
            return;
        }
        let mut row = vec![name.to_owned(), n_tables.to_string()];
        for peer in &peers {
            let ratios = || tables().filter_map(|t| ratio(t, number, *peer));
            row.push(times(median(ratios())));
            row.push(times(geometric_mean(ratios())));
        }
        rows.push(row);
    };
    for measure in Measure::ORDINARY.into_iter().chain(Measure::MORE_TAKES) {
        line(measure.label(), &seconds(measure));
    }
    line("bytes of the file", &file_bytes);
    line("peak memory of write", &peak_of_write);
    line("peak memory of scan", &peak_of_scan);
    table(&rows)
}

/// What the project asks of itself, and what was found.
fn criteria(speed: &Speed) -> String {
    let mut rows = vec![["asked", "found"].map(str::to_owned)];
    let mut line = |asked: &str, found: Option<f64>, is_met: fn(f64) -> bool| {
        let found = match found {
            Some(found) if is_met(found) => format!("{found:.2}"),
            Some(found) => format!("{found:.2}, not met"),
            None => "not measured".to_owned(),
        };
        rows.push([asked.to_owned(), found]);
    };
    for measure in [
        Measure::TakeOneRowFixedWidth,
        Measure::TakeManyRowsFixedWidth,
    ] {
        let number = seconds(measure);
        let ratios = ordinary(speed).filter_map(|t| ratio(t, &number, FormatName::Vortex));
        let asked = format!("{}, T/vortex, median: at least 3", measure.label());
        line(&asked, median(ratios), |found| found >= 3.0);
    }
    let scanned = seconds(Measure::ScanAll);
    for (what, of, least) in [
        ("flat tables", is_flat as IsOne, 1.2),
        ("tables with lists and structs", |t| !is_flat(t), 1.5),
    ] {
        let tables = ordinary(speed).filter(|t| of(t));
        let ratios = tables.filter_map(|t| ratio(t, &scanned, FormatName::Vortex));
        let asked = format!(
            "{}, {what}, T/vortex, median: at least {least}",
            Measure::ScanAll.label()
        );
        let is_met: fn(f64) -> bool = match least > 1.3 {
            true => |found| found >= 1.5,
            false => |found| found >= 1.2,
        };
        line(&asked, median(ratios), is_met);
    }
    let opened = seconds(Measure::OpenAndScanTen);
    let wide = || speed.tables.iter().filter(|t| t.wide);
    let ten_thousand = wide().find(|t| t.columns == 10_000);
    line(
        "open + 10 columns of 10,000, T/parquet: above 50",
        ten_thousand.and_then(|t| ratio(t, &opened, FormatName::Parquet)),
        |found| found > 50.0,
    );
    let tarsia: Vec<f64> = wide().filter_map(|t| opened(t, TARSIA?)).collect();
    let most = tarsia.iter().copied().max_by(f64::total_cmp);
    let least = tarsia.iter().copied().min_by(f64::total_cmp);
    line(
        "open + 10 columns, Tarsia, slowest width / fastest: at most 1.3",
        ratio_of(most, least).filter(|_| tarsia.len() > 1),
        |found| found <= 1.3,
    );
    table(&rows)
}

/// How near Tarsia's scans come to what the memory allows.
fn scan_rates(speed: &Speed) -> String {
    let mut rows = vec![
        [
            "table",
            "Arrow MB",
            "1 thread, GB/s",
            "of storing",
            "all threads, GB/s",
            "of storing",
        ]
        .map(str::to_owned),
    ];
    for t in not_wide(speed) {
        let mut row = [t.table.clone(), megabytes(t)].to_vec();
        for (measure, limit) in [
            (Measure::ScanOne, speed.limits.store_reused),
            (Measure::ScanAll, speed.limits.store_reused_all),
        ] {
            let seconds = TARSIA.and_then(|tarsia| t.seconds(measure, tarsia));
            let rate = seconds.map(|seconds| t.arrow_bytes as f64 / 1e9 / seconds);
            row.push(times(rate));
            row.push(rate.map_or_else(missing, |rate| format!("{:.0} %", rate / limit * 100.0)));
        }
        if let Ok(row) = row.try_into() {
            rows.push(row);
        }
    }
    table(&rows)
}

/// One number of each format, with the ratios, of the tables that have it.
fn numbers(
    speed: &Speed,
    only_wide: bool,
    number: Number<'_>,
    show: fn(f64) -> String,
) -> Option<String> {
    let peers = speed.peers();
    let mut head: Vec<String> = vec!["table".to_owned(), "Arrow MB".to_owned()];
    head.extend(speed.formats.iter().map(|f| f.name().to_owned()));
    head.extend(peers.iter().map(|peer| format!("T/{}", peer.name())));
    let mut rows = vec![head];
    for t in speed.tables.iter().filter(|t| t.wide || !only_wide) {
        let values: Vec<_> = speed.formats.iter().map(|f| number(t, *f)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![t.table.clone(), megabytes(t)];
        let why = |format: &FormatName| {
            let mut failed = speed.failed.iter();
            let failed = failed.find(|f| f.table == t.table && f.format == Some(*format));
            failed.map_or("-", |f| if f.late { "too late" } else { "failed" })
        };
        for (format, value) in speed.formats.iter().zip(values) {
            row.push(match value {
                Some(value) => show(value),
                None => why(format).to_owned(),
            });
        }
        row.extend(peers.iter().map(|peer| times(ratio(t, number, *peer))));
        rows.push(row);
    }
    (rows.len() > 1).then(|| table(&rows))
}

fn bytes_table(speed: &Speed) -> String {
    let peers = speed.peers();
    let mut head: Vec<String> = ["table", "rows", "columns", "Arrow"]
        .map(str::to_owned)
        .to_vec();
    head.extend(speed.formats.iter().map(|f| f.name().to_owned()));
    head.push("kernel".to_owned());
    head.extend(peers.iter().map(|peer| format!("T/{}", peer.name())));
    head.push("parquet's settings".to_owned());
    let mut rows = vec![head];
    let bytes = |bytes: Option<&u64>| bytes.map_or_else(missing, u64::to_string);
    for t in &speed.tables {
        let mut row = vec![
            t.table.clone(),
            t.rows.to_string(),
            t.columns.to_string(),
            t.arrow_bytes.to_string(),
        ];
        row.extend(speed.formats.iter().map(|f| bytes(t.file_bytes.get(f))));
        row.push(bytes(TARSIA.and_then(|tarsia| t.kernel_bytes.get(&tarsia))));
        row.extend(peers.iter().map(|peer| times(ratio(t, &file_bytes, *peer))));
        let settings = t.settings.get(&FormatName::Parquet).cloned();
        row.push(settings.unwrap_or_else(missing));
        rows.push(row);
    }
    table(&rows)
}

/// Measures of the ordinary tables against one peer.
fn ratio_table(speed: &Speed, peer: FormatName, measures: &[Measure], bytes: bool) -> String {
    let mut head = vec!["table".to_owned(), "Arrow MB".to_owned()];
    head.extend(measures.iter().map(|m| m.label().to_owned()));
    head.extend(bytes.then(|| "bytes".to_owned()));
    let mut rows = vec![head];
    for t in not_wide(speed) {
        let mut row = vec![t.table.clone(), megabytes(t)];
        let ratios = measures.iter().map(|m| ratio(t, &seconds(*m), peer));
        row.extend(ratios.map(times));
        row.extend(bytes.then(|| times(ratio(t, &file_bytes, peer))));
        rows.push(row);
    }
    table(&rows)
}

/// The smallest ratio of those to all peers: that to the fastest of them. `None` where a peer has no number, which may be the fastest.
fn ratio_to_best(speed: &Speed, t: &Table, number: Number<'_>) -> Option<f64> {
    ratio_to_best_of(&speed.peers(), t, number)
}

/// The same for some peers.
fn ratio_to_best_of(peers: &[FormatName], t: &Table, number: Number<'_>) -> Option<f64> {
    let ratios = peers.iter().map(|peer| ratio(t, number, *peer));
    let ratios: Option<Vec<f64>> = ratios.collect();
    ratios?.into_iter().min_by(f64::total_cmp)
}

/// Rows of the takes that the section on random access is about.
const RANDOM_ROWS: f64 = 256.0;

/// A peer whose file is smaller than this part of Tarsia's has done work that Tarsia has not.
const SMALLER: f64 = 0.9;

/// Rows per second of each data type, with the sizes of the files that they come from.
fn random_access_table(speed: &Speed, measure: Measure) -> Option<String> {
    let peers = speed.peers();
    let mut head = vec!["type".to_owned(), "rows".to_owned()];
    head.extend(
        speed
            .formats
            .iter()
            .map(|f| format!("{}, rows/s", f.name())),
    );
    head.extend(peers.iter().map(|peer| format!("T/{}", peer.name())));
    head.push("T/best".to_owned());
    head.extend(speed.formats.iter().map(|f| format!("{}, MB", f.name())));
    head.push("smaller files".to_owned());
    let mut rows = vec![head];
    let number = seconds(measure);
    for t in speed.tables.iter().filter(|t| is_for_random_access(t)) {
        let mut row = vec![type_name(t).to_owned(), t.rows.to_string()];
        row.extend(speed.formats.iter().map(|f| {
            let per_second = number(t, *f).map(|seconds| RANDOM_ROWS / seconds);
            per_second.map_or_else(missing, |n| format!("{n:.0}"))
        }));
        row.extend(peers.iter().map(|peer| times(ratio(t, &number, *peer))));
        row.push(times(ratio_to_best(speed, t, &number)));
        row.extend(speed.formats.iter().map(|f| {
            let bytes = file_bytes(t, *f);
            bytes.map_or_else(missing, |bytes| format!("{:.1}", bytes / 1e6))
        }));
        let smaller = peers.iter().filter_map(|peer| {
            let part = ratio(t, &file_bytes, *peer).filter(|part| *part < SMALLER)?;
            Some(format!("{} {part:.2}", peer.name()))
        });
        row.push(smaller.collect::<Vec<_>>().join(", "));
        rows.push(row);
    }
    (rows.len() > 1).then(|| table(&rows))
}

fn type_name(t: &Table) -> &str {
    t.table
        .strip_prefix(random_access::PREFIX)
        .unwrap_or(&t.table)
}

/// What is asked of each of some tables: a ratio to the best peer of at least one. Those that do not have it are named.
fn behind<'t>(
    speed: &Speed,
    tables: impl Iterator<Item = (&'t str, &'t Table)>,
    number: Number<'_>,
) -> String {
    let behind: Vec<String> = tables
        .filter_map(|(name, t)| match ratio_to_best(speed, t, number) {
            Some(ratio) if ratio >= 1.0 => None,
            Some(ratio) => Some(format!("{name} {ratio:.2}")),
            None => Some(format!("{name} not measured")),
        })
        .collect();
    match behind.is_empty() {
        true => "met".to_owned(),
        false => format!("not met: {}", behind.join(", ")),
    }
}

/// The section on random access: what was found of each data type, and what is asked. `None` if none was measured.
fn random_access(speed: &Speed) -> Option<String> {
    let is_asked = |t: &&Table| {
        let mut structs = random_access::Shape::STRUCTS.iter();
        is_for_random_access(t) && structs.all(|shape| shape.name() != type_name(t))
    };
    let tables = || speed.tables.iter().filter(is_asked);
    let mut out = String::new();
    let mut asked = Vec::new();
    for measure in [Measure::TakeManyRows, Measure::ColdTakeManyRows] {
        let Some(table) = random_access_table(speed, measure) else {
            continue;
        };
        let _ = writeln!(out, "{}:\n\n{table}", measure.label());
        let number = seconds(measure);
        let named = tables().map(|t| (type_name(t), t));
        asked.push([
            format!("{}: no type slower than the best peer", measure.label()),
            behind(speed, named, &number),
        ]);
        if measure == Measure::TakeManyRows {
            let ratios = tables().filter_map(|t| ratio_to_best(speed, t, &number));
            let mean = geometric_mean(ratios);
            let n_measured = tables().filter(|t| ratio_to_best(speed, t, &number).is_some());
            let is_all = n_measured.count() == random_access::Shape::ALL.len();
            asked.push([
                format!(
                    "{}: at least 2 times the best peer in geometric mean",
                    measure.label()
                ),
                match mean {
                    Some(mean) if mean >= 2.0 && is_all => format!("{mean:.2}, met"),
                    Some(mean) if is_all => format!("{mean:.2}, not met"),
                    Some(mean) => format!("{mean:.2}, but not of all types"),
                    None => "not measured".to_owned(),
                },
            ]);
        }
    }
    if out.is_empty() {
        return None;
    }
    let mut rows = vec![["asked", "found"].map(str::to_owned)];
    rows.extend(asked);
    let _ = writeln!(out, "{}", table(&rows));
    Some(out)
}

/// What the tables of random access are, and how to read theirs.
const RANDOM_ACCESS: &str = "Tables of one column each, of the data types of the Lance paper's random-access table: random values, a tenth \
     of the rows null (`benchmarks/src/speed/random_access.rs`). Takes of 256 random rows, in rows per second; of the same files with the \
     same settings, warm (from an open file) and cold (opening included). T/best is the ratio to the fastest peer. “Smaller files” are \
     those of less than 0.9 of Tarsia's bytes: being ahead of a peer there is won by storing plainly what that peer compresses. Structs of \
     five numbers, and the same packed by Tarsia and Lance, are beside what is asked.";

/// The scenarios of the scan figure of the Lance paper (section 6.3), and the tables of each that are no script's.
const SCENARIOS: [(&str, &[&str]); 8] = [
    ("names", &["geonames_cities15000"]),
    ("prompts", &["prompts_lm_eval"]),
    (
        "dates",
        &[
            "nextia_fhv_trips",
            "nycflights_flights",
            "tpch_lineitem_sf0_1",
        ],
    ),
    ("reviews", &["reviews_vader"]),
    ("code", &["code_python"]),
    ("images", &["images_png_jpeg"]),
    ("embeddings", &["embeddings_minilm384"]),
    ("websites", &["websites_postgresql"]),
];

/// Scans of the scenarios' tables. `None` if none was measured.
fn scan_scenarios(speed: &Speed) -> Option<String> {
    let tables = || {
        SCENARIOS.iter().flat_map(|(scenario, names)| {
            let of_name = |name: &&str| speed.tables.iter().find(|t| t.table == *name);
            names.iter().filter_map(of_name).map(|t| (*scenario, t))
        })
    };
    let peers = speed.peers();
    let measures = [Measure::ScanAll, Measure::ScanOne];
    let mut head = vec!["scenario".to_owned(), "table".to_owned()];
    for measure in measures {
        head.extend(peers.iter().enumerate().map(|(i, peer)| match i {
            0 => format!("{}: T/{}", measure.label(), peer.name()),
            _ => format!("T/{}", peer.name()),
        }));
        head.push("T/best".to_owned());
    }
    head.extend(peers.iter().enumerate().map(|(i, peer)| match i {
        0 => format!("bytes: T/{}", peer.name()),
        _ => format!("T/{}", peer.name()),
    }));
    let mut rows = vec![head];
    for (scenario, t) in tables() {
        let mut row = vec![scenario.to_owned(), t.table.clone()];
        for measure in measures {
            let number = seconds(measure);
            row.extend(peers.iter().map(|peer| times(ratio(t, &number, *peer))));
            row.push(times(ratio_to_best(speed, t, &number)));
        }
        row.extend(peers.iter().map(|peer| times(ratio(t, &file_bytes, *peer))));
        rows.push(row);
    }
    if rows.len() == 1 {
        return None;
    }
    let mut asked = vec![["asked", "found"].map(str::to_owned)];
    let missing: Vec<&str> = SCENARIOS
        .iter()
        .filter(|(scenario, _)| tables().all(|(measured, _)| measured != *scenario))
        .map(|(scenario, _)| *scenario)
        .collect();
    for measure in measures {
        let named = tables().map(|(_, t)| (t.table.as_str(), t));
        let mut found = behind(speed, named, &seconds(measure));
        if !missing.is_empty() {
            let _ = write!(found, "; not measured: {}", missing.join(", "));
        }
        asked.push([
            format!("{}: no slower than the best peer in each", measure.label()),
            found,
        ]);
    }
    Some(format!("{}\n{}", table(&rows), table(&asked)))
}

/// What the section on views is about.
const VIEWS: &str = "Tables with byte strings, scanned with strings and byte strings as views (`Utf8View`, `BinaryView`), by each format's own \
     means; pylance gives the types that were written. Nothing has to be copied then where a format holds the bytes as they are.";

/// Scans with strings as views. `None` if none was measured.
fn views(speed: &Speed) -> Option<String> {
    let measures = [Measure::ScanAllAsViews, Measure::ScanOneAsViews];
    let mut peers = speed.peers();
    peers.retain(|peer| *peer != FormatName::Lance);
    let mut head = vec!["table".to_owned()];
    for measure in measures {
        let of_peers = peers
            .iter()
            .map(|peer| format!("{}: T/{}", measure.label(), peer.name()));
        head.extend(of_peers);
        head.push("T/best".to_owned());
    }
    let best = |t: &Table, measure| ratio_to_best_of(&peers, t, &seconds(measure));
    let mut rows = vec![head];
    for t in &speed.tables {
        if measures.iter().all(|measure| best(t, *measure).is_none()) {
            continue;
        }
        let mut row = vec![t.table.clone()];
        for measure in measures {
            row.extend(
                peers
                    .iter()
                    .map(|peer| times(ratio(t, &seconds(measure), *peer))),
            );
            row.push(times(best(t, measure)));
        }
        rows.push(row);
    }
    (rows.len() > 1).then(|| table(&rows))
}

/// What Lance's worker spends on itself, beside what it is timed for.
fn overhead_line(speed: &Speed) -> Option<String> {
    let overheads = || speed.tables.iter().filter_map(|t| t.lance_overhead_seconds);
    let call = median(overheads().map(|o| o.call))?;
    let row = median(overheads().map(|o| o.touch_of_row))?;
    let parts = speed.tables.iter().filter_map(|t| {
        let overhead = t.lance_overhead_seconds?;
        Some(overhead.touch_of_scan / t.seconds(Measure::ScanAll, FormatName::Lance)?)
    });
    let part = median(parts).map_or_else(missing, |part| format!("{:.1} %", part * 100.0));
    Some(format!(
        "Lance is called from Python. A take of the only row of a table of one column takes {}; touching a row of all columns {} (medians \
         over tables); touching is {part} of the time of a scan on all threads. All of this is in its times.",
        time(call),
        time(row)
    ))
}

/// Lines about the run, for a reader of either report.
pub(crate) fn remarks(speed: &Speed) -> Vec<String> {
    let mut lines = vec![speed.limits.line()];
    if let [Some(before), Some(after)] = speed.load {
        lines.push(format!(
            "The load of the machine was {before:.1} before the run and {after:.1} after it, this command's own included."
        ));
    }
    let is_cold = |t: &Table| t.seconds.contains_key(&Measure::ColdTakeOneRow);
    if speed.tables.iter().any(is_cold) {
        lines.push(format!("Cold takes: {}", speed.evictions.line()));
    }
    lines.extend(overhead_line(speed));
    let settings = |format| {
        let settings = speed.tables.iter().filter_map(|t| t.settings.get(&format));
        settings.collect::<std::collections::BTreeSet<_>>()
    };
    let lance = settings(FormatName::Lance);
    if !lance.is_empty() {
        let lance: Vec<&str> = lance.into_iter().map(String::as_str).collect();
        lines.push(format!("Lance's settings: {}.", lance.join("; ")));
    }
    if !speed.left_out.is_empty() {
        lines.push(format!("Left out: {}.", speed.left_out.join("; ")));
    }
    lines
}

fn failures(speed: &Speed) -> Vec<String> {
    let line = |f: &super::Failure| {
        let format = f.format.map_or("the table", FormatName::name);
        let kind = if f.late { "LATE" } else { "FAILED" };
        format!("{kind}: {}, {format}: {}", f.table, f.why)
    };
    speed.failed.iter().map(line).collect()
}

const MEANING: &str = "A ratio T/… is the other's time (or bytes) divided by Tarsia's: above 1, Tarsia is faster (or smaller). Medians and \
     geometric means are over the tables named, never over those of very many columns.";

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
        "Whole tables written, opened, scanned, and read at random. Measured by `cargo run --release -- speed` in `benchmarks/`, \
         which rewrites this section; every repetition is in `benchmarks/results/speed.json`, the rules are in \
         `benchmarks/README.md`.\n\n{}.\n",
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
            "### Scan scenarios\n\nScans of the tables that stand for the scenarios of the Lance paper's scan figure.\n\n{section}"
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
        "Decoded bytes per second of Tarsia's scans, and what part that is of storing into memory that was used before:\n\n{}",
        scan_rates(speed)
    );
    let _ = writeln!(
        out,
        "Bytes of the files; “kernel” is what an embedded decoder would add to Tarsia's, which are written without:\n\n{}",
        bytes_table(speed)
    );
    out
}

fn megabytes(t: &Table) -> String {
    format!("{:.1}", t.arrow_bytes as f64 / 1e6)
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

pub(crate) fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(missing, |r| format!("{r:.2}"))
}

pub(crate) fn missing() -> String {
    "-".to_owned()
}

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{
        Failure,
        made_up::{empty_speed, empty_table},
    };
    use super::*;

    fn measured(name: &str, columns: usize, measure: Measure, seconds: [f64; 2]) -> Table {
        let [tarsia, vortex] = seconds.map(|seconds| vec![seconds; 3]);
        let seconds = BTreeMap::from([(FormatName::Tarsia, tarsia), (FormatName::Vortex, vortex)]);
        Table {
            columns,
            fixed_width_columns: 1,
            nested_columns: usize::from(name.contains("lists")),
            wide: name.contains("wide"),
            file_bytes: BTreeMap::from([(FormatName::Tarsia, 10), (FormatName::Vortex, 40)]),
            seconds: BTreeMap::from([(measure, seconds)]),
            ..empty_table(name, 2_000_000_000)
        }
    }

    fn speed(tables: Vec<Table>) -> Speed {
        Speed {
            tables,
            failed: vec![Failure {
                table: "b".to_owned(),
                format: Some(FormatName::Parquet),
                why: "write: not in 120 s".to_owned(),
                late: true,
            }],
            ..empty_speed()
        }
    }

    fn row<'t>(text: &'t str, first: &str) -> Vec<&'t str> {
        let begin = format!("| {first}");
        let line = text.lines().find(|line| line.starts_with(&begin));
        let cells = line.unwrap_or_default().split('|').map(str::trim);
        cells.filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn medians_and_means_are_of_the_ratios() {
        let measure = Measure::TakeManyRowsFixedWidth;
        let speed = speed(vec![
            measured("a", 2, measure, [1.0, 2.0]),
            measured("b", 2, measure, [1.0, 4.0]),
            measured("generated_c", 2, measure, [1.0, 8.0]),
            measured("generated_wide_d", 2, measure, [1.0, 100.0]),
        ]);
        let all = summary(&speed, |_| true);
        let label = "take 256, fixed width";
        assert_eq!(row(&all, label), [label, "3", "4.00", "4.00", "-", "-"]);
        let found = summary(&speed, |t| !is_generated(t));
        assert_eq!(row(&found, label), [label, "2", "3.00", "2.83", "-", "-"]);
        let bytes = "bytes of the file";
        assert_eq!(row(&all, bytes)[2], "4.00");
        let of_each = numbers(&speed, false, &seconds(measure), time).unwrap();
        assert_eq!(row(&of_each, "b")[2..5], ["1.00 s", "4.00 s", "too late"]);
        let asked = criteria(&speed);
        assert_eq!(row(&asked, label).last(), Some(&"4.00"));
        assert!(markdown(&speed).contains("LATE: b, parquet: write: not in 120 s"));
        let json: serde_json::Value = serde_json::from_str(&json(&speed).unwrap()).unwrap();
        assert_eq!(json["tables"].as_array().unwrap().len(), 4);
    }

    #[test]
    fn random_access_is_a_group_of_its_own() {
        let measure = Measure::TakeManyRows;
        let take = |name: &str, seconds| {
            let name = format!("{}{name}", random_access::PREFIX);
            measured(&name, 1, measure, seconds)
        };
        let mut speed = speed(vec![
            measured("a", 2, measure, [1.0, 2.0]),
            take("scalar", [0.5, 4.0]),
            take("image_lists", [1.0, 0.5]),
        ]);
        let label = measure.label();
        let found: Vec<String> = GROUPS
            .iter()
            .map(|(_, of)| summary(&speed, *of))
            .map(|found| row(&found, label).get(1..3).unwrap_or_default().join(" "))
            .collect();
        assert_eq!(found, ["1 2.00", "1 2.00", "", "2 4.25"]);
        // A peer without a number may have been the best.
        let asked = "take 256: no type slower";
        let found = random_access(&speed).unwrap();
        assert!(row(&found, asked)[1].starts_with("not met: scalar not measured"));
        speed.formats.retain(|f| *f != FormatName::Parquet);
        // Of both Vortex's files are larger.
        speed.tables[1].file_bytes.insert(FormatName::Vortex, 5);
        let found = random_access(&speed).unwrap();
        let scalar = ["scalar", "10", "512", "64", "8.00", "8.00", "0.0", "0.0"];
        assert_eq!(row(&found, "scalar")[..8], scalar);
        assert_eq!(row(&found, "scalar").last(), Some(&"vortex 0.50"));
        assert_eq!(row(&found, "image_lists").last(), Some(&"0.0"));
        assert_eq!(row(&found, asked)[1], "not met: image_lists 0.50");
        let mean = row(&found, "take 256: at least 2 times")[1];
        assert_eq!(mean, "2.00, but not of all types");
        assert!(markdown(&speed).contains("### Random access"));
    }

    #[test]
    fn scenarios_name_what_is_behind() {
        let scan = |name: &str, seconds| measured(name, 2, Measure::ScanAll, seconds);
        let mut speed = speed(vec![
            scan("prompts_lm_eval", [1.0, 2.0]),
            scan("code_python", [1.0, 0.5]),
            scan("other", [1.0, 0.5]),
        ]);
        speed.formats.retain(|f| *f != FormatName::Parquet);
        let found = scan_scenarios(&speed).unwrap();
        assert_eq!(
            row(&found, "prompts")[..4],
            ["prompts", "prompts_lm_eval", "2.00", "2.00"]
        );
        let asked = row(&found, "scan, all threads: no slower")[1];
        assert!(asked.starts_with("not met: code_python 0.50; not measured: names, dates,"));
        assert!(!found.contains("other"));
        speed.tables.clear();
        assert_eq!(scan_scenarios(&speed), None);
    }

    #[test]
    fn widths_are_compared_with_each_other() {
        let wide = |columns, seconds| {
            let name = format!("generated_wide_{columns}");
            measured(&name, columns, Measure::OpenAndScanTen, [seconds, 1.0])
        };
        let last = "open + 10 columns, Tarsia";
        let even = criteria(&speed(vec![wide(1_000, 0.5), wide(10_000, 0.6)]));
        assert_eq!(row(&even, last).last(), Some(&"1.20"));
        let uneven = criteria(&speed(vec![wide(1_000, 0.5), wide(10_000, 1.0)]));
        assert_eq!(row(&uneven, last).last(), Some(&"2.00, not met"));
        let one = criteria(&speed(vec![wide(1_000, 0.5)]));
        assert_eq!(row(&one, last).last(), Some(&"not measured"));
    }

    #[test]
    fn scans_are_compared_with_storing() {
        let speed = speed(vec![measured("a", 2, Measure::ScanOne, [1.0, 2.0])]);
        let rates = scan_rates(&speed);
        assert_eq!(row(&rates, "a")[2..], ["2.00", "50 %", "-", "-"]);
    }
}
