//! Runs that were never made, and their rows in a report, for tests.

use std::collections::BTreeMap;

use crate::speed::made_up::{empty_speed, empty_table};
use crate::speed::{Failure, FormatName, Measure, Speed, Table};

pub(super) fn measured(name: &str, columns: usize, measure: Measure, seconds: [f64; 2]) -> Table {
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

pub(super) fn speed(tables: Vec<Table>) -> Speed {
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

pub(super) fn row<'t>(text: &'t str, first: &str) -> Vec<&'t str> {
    let begin = format!("| {first}");
    let line = text.lines().find(|line| line.starts_with(&begin));
    let cells = line.unwrap_or_default().split('|').map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect()
}
