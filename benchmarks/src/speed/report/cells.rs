//! Numbers as cells of tables.

use crate::speed::Table;

pub(super) fn megabytes(t: &Table) -> String {
    format!("{:.1}", t.arrow_bytes as f64 / 1e6)
}

pub(super) fn mebibytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

pub(super) fn time(seconds: f64) -> String {
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
