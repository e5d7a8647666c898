//! Numbers that a table has of each format, and their ratios.

use crate::speed::{FormatName, Measure, Speed, Table};

/// A number that a table has of each format.
pub(crate) type Number<'n> = &'n dyn Fn(&Table, FormatName) -> Option<f64>;

pub(crate) fn seconds(measure: Measure) -> impl Fn(&Table, FormatName) -> Option<f64> {
    move |t, format| t.seconds(measure, format)
}

pub(crate) fn file_bytes(t: &Table, format: FormatName) -> Option<f64> {
    t.file_bytes.get(&format).map(|bytes| *bytes as f64)
}

pub(super) fn peak_of_write(t: &Table, format: FormatName) -> Option<f64> {
    let bytes = t.peak_bytes_of_write.get(&format);
    bytes.map(|bytes| *bytes as f64)
}

pub(super) fn peak_of_scan(t: &Table, format: FormatName) -> Option<f64> {
    let bytes = t.peak_bytes_of_scan.get(&format);
    bytes.map(|bytes| *bytes as f64)
}

#[cfg(feature = "tarsia")]
pub(crate) const TARSIA: Option<FormatName> = Some(FormatName::Tarsia);

#[cfg(not(feature = "tarsia"))]
pub(crate) const TARSIA: Option<FormatName> = None;

/// The peer's number divided by Tarsia's.
pub(crate) fn ratio(t: &Table, number: Number<'_>, peer: FormatName) -> Option<f64> {
    ratio_of(number(t, peer), TARSIA.and_then(|tarsia| number(t, tarsia)))
}

/// The smallest of the ratios to all peers: the ratio to the fastest of them. `None` if a peer has no number, since it
/// may be the fastest.
pub(super) fn ratio_to_best(speed: &Speed, t: &Table, number: Number<'_>) -> Option<f64> {
    ratio_to_best_of(&speed.peers(), t, number)
}

/// Returns the ratio to the best of some peers.
pub(super) fn ratio_to_best_of(peers: &[FormatName], t: &Table, number: Number<'_>) -> Option<f64> {
    let ratios = peers.iter().map(|peer| ratio(t, number, *peer));
    let ratios: Option<Vec<f64>> = ratios.collect();
    ratios?.into_iter().min_by(f64::total_cmp)
}

/// The other's number divided by Tarsia's: above 1, Tarsia is faster or smaller.
pub(super) fn ratio_of(peer: Option<f64>, tarsia: Option<f64>) -> Option<f64> {
    let (peer, tarsia) = (peer?, tarsia?);
    (peer > 0.0 && tarsia > 0.0).then(|| peer / tarsia)
}
