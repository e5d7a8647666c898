//! The section on random access.

use std::fmt::Write as _;

use crate::report::{geometric_mean, table};
use crate::speed::{Measure, Speed, Table, random_access};

use super::cells::{missing, times};
use super::criteria::behind;
use super::groups::is_for_random_access;
use super::ratios::{file_bytes, ratio, ratio_to_best, seconds};

/// Introduction to the tables of random access.
pub(super) const RANDOM_ACCESS: &str = "Tables of one column each, of the data types of the Lance paper's \
     random-access table: random values, a tenth of the rows null (`benchmarks/src/speed/random_access.rs`). Takes of \
     256 random rows, in rows per second; of the same files with the same settings, warm (from an open file) and cold \
     (opening included). T/best is the ratio to the fastest peer. “Smaller files” are those of less than 0.9 of \
     Tarsia's bytes: being ahead of a peer there is won by storing plainly what that peer compresses. Structs of five \
     numbers, and the same packed by Tarsia and Lance, are beside what is asked.";

/// The section on random access: what was found of each data type, and what is asked. `None` if none was measured.
pub(super) fn random_access(speed: &Speed) -> Option<String> {
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

#[cfg(all(test, feature = "tarsia"))]
mod tests {
    use super::*;
    use crate::speed::FormatName;
    use crate::speed::report::made_up::{measured, row, speed};

    #[test]
    fn types_are_compared_with_their_best_peers() {
        let measure = Measure::TakeManyRows;
        let take = |name: &str, seconds| {
            let name = format!("{}{name}", random_access::PREFIX);
            measured(&name, 1, measure, seconds)
        };
        let mut speed = speed(vec![
            take("scalar", [0.5, 4.0]),
            take("image_lists", [1.0, 0.5]),
        ]);
        // A peer without a number may have been the best.
        let asked = "take 256: no type slower";
        let found = random_access(&speed).unwrap();
        assert!(row(&found, asked)[1].starts_with("not met: scalar not measured"));
        speed.formats.retain(|f| *f != FormatName::Parquet);
        // Of both Vortex's files are larger.
        speed.tables[0].file_bytes.insert(FormatName::Vortex, 5);
        let found = random_access(&speed).unwrap();
        let scalar = ["scalar", "10", "512", "64", "8.00", "8.00", "0.0", "0.0"];
        assert_eq!(row(&found, "scalar")[..8], scalar);
        assert_eq!(row(&found, "scalar").last(), Some(&"vortex 0.50"));
        assert_eq!(row(&found, "image_lists").last(), Some(&"0.0"));
        assert_eq!(row(&found, asked)[1], "not met: image_lists 0.50");
        let mean = row(&found, "take 256: at least 2 times")[1];
        assert_eq!(mean, "2.00, but not of all types");
    }
}
