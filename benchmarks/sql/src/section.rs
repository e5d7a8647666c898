//! The section of the document.

use crate::far;
use crate::measure::{Found, Report};
use crate::report;

impl Found {
    /// The better of the two ways to read Parquet.
    pub(crate) fn best_parquet(&self) -> f64 {
        self.parquet.min(self.parquet_pushdown)
    }
}

fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        small if small < 10.0 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

fn ratio(one: f64, other: Option<f64>) -> String {
    other.map_or_else(|| "-".to_owned(), |other| format!("{:.2}", one / other))
}

/// One query, for people who wait.
pub(crate) fn line(found: &Found) -> String {
    let cell = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), milliseconds);
    format!(
        "query {}: Tarsia {} ms, Parquet {}, with pushdown {}, Vortex {}, DuckDB {}",
        found.query,
        milliseconds(found.tarsia),
        milliseconds(found.parquet),
        milliseconds(found.parquet_pushdown),
        cell(found.vortex),
        cell(found.duckdb),
    )
}

/// The table of the store that answers late.
fn far_table(report: &Report) -> String {
    if report.far.is_empty() {
        return String::new();
    }
    let head = ["query", "read from", "ms", "requests", "MB"];
    let mut rows = vec![head.map(str::to_owned)];
    for one in &report.far {
        rows.push([
            one.query.to_string(),
            one.source.to_owned(),
            milliseconds(one.seconds),
            one.requests.to_string(),
            format!("{:.1}", one.bytes as f64 / 1e6),
        ]);
    }
    let (latency, bandwidth) = (far::LATENCY.as_millis(), far::BYTES_PER_SECOND / 1_000_000);
    format!(
        "\nThe same files on a server on loopback that speaks S3, answers after {latency} ms and sends {bandwidth} MB \
         a second. Each session keeps what it keeps between statements; requests and bytes are of the last run.\n\n{}",
        report::table(&rows)
    )
}

/// The whole section.
pub(crate) fn text(report: &Report) -> String {
    let mut rows = vec![
        [
            "query",
            "Tarsia ms",
            "Parquet ms",
            "with pushdown",
            "Vortex",
            "DuckDB",
            "of Parquet",
            "of Vortex",
            "of DuckDB",
        ]
        .map(str::to_owned),
    ];
    let cell = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), milliseconds);
    for one in &report.found {
        rows.push([
            one.query.to_string(),
            milliseconds(one.tarsia),
            milliseconds(one.parquet),
            milliseconds(one.parquet_pushdown),
            cell(one.vortex),
            cell(one.duckdb),
            ratio(one.tarsia, Some(one.best_parquet())),
            ratio(one.tarsia, one.vortex),
            ratio(one.tarsia, one.duckdb),
        ]);
    }
    // Sums are of the queries that the system answered.
    let sum = |of: &dyn Fn(&Found) -> Option<f64>| {
        let both = report
            .found
            .iter()
            .filter_map(|one| Some((one.tarsia, of(one)?)));
        let (mut ours, mut theirs) = (0.0, 0.0);
        both.for_each(|(one, other)| {
            ours += one;
            theirs += other;
        });
        (theirs > 0.0).then_some((ours, theirs))
    };
    let sums: [Option<(f64, f64)>; 5] = [
        sum(&|one| Some(one.parquet)),
        sum(&|one| Some(one.parquet_pushdown)),
        sum(&|one| one.vortex),
        sum(&|one| one.duckdb),
        sum(&|one| Some(one.best_parquet())),
    ];
    let total: f64 = report.found.iter().map(|one| one.tarsia).sum();
    let theirs = |at: usize| cell(sums[at].map(|(_, theirs)| theirs));
    let share =
        |at: usize| sums[at].map_or_else(|| "-".to_owned(), |(a, b)| format!("{:.2}", a / b));
    rows.push([
        "total".to_owned(),
        milliseconds(total),
        theirs(0),
        theirs(1),
        theirs(2),
        theirs(3),
        share(4),
        share(2),
        share(3),
    ]);
    let worst = report.found.iter().max_by(|one, other| {
        let of = |found: &Found| found.tarsia / found.best_parquet();
        of(one).total_cmp(&of(other))
    });
    let worst = worst.map_or_else(String::new, |one| {
        let of = ratio(one.tarsia, Some(one.best_parquet()));
        format!("The slowest beside Parquet is query {}: {of}.", one.query)
    });
    let mb = report.bytes.map(|bytes| bytes / 1_000_000);
    let duckdb = report.duckdb.as_ref();
    let duckdb = duckdb.map_or_else(String::new, |version| format!("; DuckDB {version}"));
    let (scale, threads, runs) = (report.scale, report.threads, report.runs);
    format!(
        "TPC-H at scale factor {scale}, one file per table: {} MB of Tarsia, {} of Parquet (zstd 3), {} of Vortex 0.90. \
         DataFusion 55.2 reads each with {threads} partitions; Parquet without and with its options \
         `pushdown_filters` and `reorder_filters`, of which the faster counts per query. DuckDB reads the Parquet \
         files with {threads} threads. Files are in the system's memory; the median of {runs} runs, by turns; every \
         answer was the same. `cargo run --release` in `benchmarks/sql` writes this section. {worst}\n\n{}{}\n{}{duckdb}\n",
        mb[0],
        mb[1],
        mb[2],
        report::table(&rows),
        far_table(report),
        report.machine,
    )
}
