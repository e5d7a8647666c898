//! Remarks that a reader has to know of a run: its machine, its settings, what failed, what a ratio means.

use crate::report::median;
use crate::speed::{Failure, FormatName, Measure, Speed, Table};

use super::cells::{missing, time};

pub(super) const MEANING: &str = "A ratio T/… is the other's time (or bytes) divided by Tarsia's: above 1, Tarsia is \
     faster (or smaller). Medians and geometric means are over the tables named, never over those of very many \
     columns.";

/// Lines about the run, for a reader of either report.
pub(crate) fn remarks(speed: &Speed) -> Vec<String> {
    let mut lines = vec![speed.limits.line()];
    if let [Some(before), Some(after)] = speed.load {
        lines.push(format!(
            "The load of the machine was {before:.1} before the run and {after:.1} after it, this command's own \
             included."
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

pub(super) fn failures(speed: &Speed) -> Vec<String> {
    let line = |f: &Failure| {
        let format = f.format.map_or("the table", FormatName::name);
        let kind = if f.late { "LATE" } else { "FAILED" };
        format!("{kind}: {}, {format}: {}", f.table, f.why)
    };
    speed.failed.iter().map(line).collect()
}

/// Says what Lance's worker spends on itself, beside what it is timed for.
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
        "Lance is called from Python. A take of the only row of a table of one column takes {}; touching a row of all \
         columns {} (medians over tables); touching is {part} of the time of a scan on all threads. All of this is in \
         its times.",
        time(call),
        time(row)
    ))
}
