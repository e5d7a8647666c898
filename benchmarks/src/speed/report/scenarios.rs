//! The section on the scenarios of the Lance paper's scan figure.

use std::fmt::Write as _;

use crate::report::table;
use crate::speed::{Measure, Speed};

use super::cells::times;
use super::criteria::behind;
use super::ratios::{file_bytes, ratio, ratio_to_best, seconds};

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
pub(super) fn scan_scenarios(speed: &Speed) -> Option<String> {
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

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::*;
    use crate::speed::FormatName;
    use crate::speed::report::made_up::{measured, row, speed};

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
}
