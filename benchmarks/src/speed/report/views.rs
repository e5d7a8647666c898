//! The section on scans as views.

use crate::report::table;
use crate::speed::{FormatName, Measure, Speed, Table};

use super::cells::times;
use super::ratios::{ratio, ratio_to_best_of, seconds};

/// Introduction to the section on views.
pub(super) const VIEWS: &str = "Tables with byte strings, scanned with strings and byte strings as views (`Utf8View`, \
     `BinaryView`), by each format's own means; pylance gives the types that were written. Nothing has to be copied \
     then where a format holds the bytes as they are.";

/// Scans with strings as views. `None` if none was measured.
pub(super) fn views(speed: &Speed) -> Option<String> {
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
