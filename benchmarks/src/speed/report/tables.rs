//! Tables of the report that hold for all tables that are measured.

use crate::report::{geometric_mean, median, table};
use crate::speed::{FormatName, Measure, Speed};

use super::cells::{megabytes, missing, times};
use super::groups::{IsOne, not_wide};
use super::ratios::{Number, TARSIA, file_bytes, peak_of_scan, peak_of_write, ratio, seconds};

/// Medians and geometric means of the ratios over these tables.
pub(super) fn summary(speed: &Speed, of: IsOne) -> String {
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

/// One number of each format, with the ratios, of the tables that have it.
pub(super) fn numbers(
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

pub(super) fn bytes_table(speed: &Speed) -> String {
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
pub(super) fn ratio_table(
    speed: &Speed,
    peer: FormatName,
    measures: &[Measure],
    bytes: bool,
) -> String {
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

/// How near Tarsia's scans come to what the memory allows.
pub(super) fn scan_rates(speed: &Speed) -> String {
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

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::*;
    use crate::speed::random_access;
    use crate::speed::report::cells::time;
    use crate::speed::report::groups::{GROUPS, is_generated};
    use crate::speed::report::made_up::{measured, row, speed};

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
    }

    #[test]
    fn random_access_is_a_group_of_its_own() {
        let measure = Measure::TakeManyRows;
        let take = |name: &str, seconds| {
            let name = format!("{}{name}", random_access::PREFIX);
            measured(&name, 1, measure, seconds)
        };
        let speed = speed(vec![
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
    }

    #[test]
    fn scans_are_compared_with_storing() {
        let speed = speed(vec![measured("a", 2, Measure::ScanOne, [1.0, 2.0])]);
        let rates = scan_rates(&speed);
        assert_eq!(row(&rates, "a")[2..], ["2.00", "50 %", "-", "-"]);
    }
}
