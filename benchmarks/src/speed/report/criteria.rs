//! Criteria, beside what was found.

use crate::report::{median, table};
use crate::speed::{FormatName, Measure, Speed, Table};

use super::groups::{IsOne, is_flat, ordinary};
use super::ratios::{Number, TARSIA, ratio, ratio_of, ratio_to_best, seconds};

/// Lists what the project asks of itself, and what was found.
pub(super) fn criteria(speed: &Speed) -> String {
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

/// Lists what is asked of each of some tables: a ratio to the best peer of at least one. Those that do not have it are
/// named.
pub(super) fn behind<'t>(
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

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::*;
    use crate::speed::report::made_up::{measured, row, speed};

    #[test]
    fn medians_are_compared_with_what_is_asked() {
        let measure = Measure::TakeManyRowsFixedWidth;
        let speed = speed(vec![
            measured("a", 2, measure, [1.0, 2.0]),
            measured("b", 2, measure, [1.0, 4.0]),
            measured("generated_c", 2, measure, [1.0, 8.0]),
            measured("generated_wide_d", 2, measure, [1.0, 100.0]),
        ]);
        let label = "take 256, fixed width";
        let asked = criteria(&speed);
        assert_eq!(row(&asked, label).last(), Some(&"4.00"));
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
}
