//! Report of the numbers: medians, complaints, text, and the section of the docs.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::classes::Class;
use super::{Column, Sizes};
use crate::peers::tarsia::TarsiaSize;
use crate::peers::trees_line;
use crate::report::{median, table};

/// Trees shown per column; the JSON file has all.
const TREES_SHOWN_MAX: usize = 3;

/// A column may be this many bytes larger than plain Arrow plus one percent.
const PLAIN_SLACK_BYTES: u64 = 256;

/// Columns of a class, or of some, and the medians of their ratios.
struct ClassSummary<'a> {
    /// `None` for the classes of the criterion together.
    class: Option<Class>,
    /// Columns that every format measured, so that sums are over the same columns.
    columns: Vec<&'a Column>,
    /// With those that Tarsia failed on.
    n_columns: usize,
    /// Tarsia to Vortex, data only. `None` if Tarsia was not measured.
    to_vortex: Option<f64>,
    /// Tarsia to Vortex with its zone maps.
    to_vortex_with_zones: Option<f64>,
    /// Encoded blocks of Tarsia to buffers of Vortex: neither side's metadata.
    values_to_vortex: Option<f64>,
    to_parquet: Option<f64>,
}

impl ClassSummary<'_> {
    fn name(&self) -> String {
        self.class
            .map_or_else(|| "the first four".to_owned(), |c| c.to_string())
    }

    fn is_criterion(&self) -> bool {
        self.class.is_none_or(Class::is_criterion)
    }
}

/// Only flat tables count; flat columns of others are listed, not judged.
fn counted(sizes: &Sizes) -> impl Iterator<Item = &Column> {
    sizes.columns.iter().filter(|c| c.table_is_flat)
}

/// One for each class that has columns, in order, and one for the criterion's classes together.
fn summaries(sizes: &Sizes) -> Vec<ClassSummary<'_>> {
    Class::ALL
        .into_iter()
        .map(|class| summary(sizes, Some(class), |c| c == class))
        .chain([summary(sizes, None, Class::is_criterion)])
        .filter(|s| s.n_columns > 0)
        .collect()
}

fn summary(sizes: &Sizes, class: Option<Class>, is_in: impl Fn(Class) -> bool) -> ClassSummary<'_> {
    let mut columns: Vec<_> = counted(sizes).filter(|c| is_in(c.class)).collect();
    let n_columns = columns.len();
    if cfg!(feature = "tarsia") {
        columns.retain(|c| c.tarsia.is_some());
    }
    ClassSummary {
        class,
        n_columns,
        to_vortex: median(columns.iter().filter_map(|c| to_vortex(c))),
        to_vortex_with_zones: median(
            columns
                .iter()
                .filter_map(|c| to(c, c.vortex.data_bytes + c.vortex.zones_bytes)),
        ),
        values_to_vortex: median(columns.iter().filter_map(|c| values_to_vortex(c))),
        to_parquet: median(columns.iter().filter_map(|c| to(c, c.parquet.bytes))),
        columns,
    }
}

fn to(column: &Column, peer_bytes: u64) -> Option<f64> {
    Some(column.tarsia.as_ref()?.bytes() as f64 / peer_bytes as f64)
}

/// Tarsia with all its metadata against the data segments of Vortex without its zone maps.
fn to_vortex(column: &Column) -> Option<f64> {
    to(column, column.vortex.data_bytes)
}

/// `None` too where Vortex needs no buffer, as for a constant.
fn values_to_vortex(column: &Column) -> Option<f64> {
    let buffers_bytes = column.vortex.buffers_bytes;
    (buffers_bytes > 0)
        .then(|| Some(column.tarsia.as_ref()?.encoded_bytes as f64 / buffers_bytes as f64))
        .flatten()
}

/// Columns of the criterion's classes that are larger than in Vortex, the worst first.
fn above_vortex(sizes: &Sizes) -> Vec<(&Column, f64)> {
    let mut above: Vec<_> = counted(sizes)
        .filter(|c| c.class.is_criterion())
        .filter_map(|c| Some((c, to_vortex(c)?)))
        .filter(|(_, ratio)| *ratio > 1.0)
        .collect();
    above.sort_by(|a, b| b.1.total_cmp(&a.1));
    above
}

/// The largest a column may be, whatever its values.
fn plain_bound(column: &Column) -> u64 {
    column.plain_arrow_bytes + column.plain_arrow_bytes / 100 + PLAIN_SLACK_BYTES
}

/// Columns of any class that are larger than plain Arrow allows, those of mixed tables too.
fn above_plain(sizes: &Sizes) -> Vec<&Column> {
    sizes
        .columns
        .iter()
        .filter(|c| tarsia_bytes(c).is_some_and(|bytes| bytes > plain_bound(c)))
        .collect()
}

/// Lists what stands between these numbers and the criterion.
pub(super) fn complaints(sizes: &Sizes) -> Vec<String> {
    let mut complaints = Vec::new();
    for summary in summaries(sizes) {
        if summary.is_criterion() && summary.to_vortex.is_some_and(|m| m > 1.0) {
            complaints.push(format!(
                "{}: the median is {} of Vortex",
                summary.name(),
                ratio(summary.to_vortex)
            ));
        }
    }
    for column in above_plain(sizes) {
        complaints.push(format!("{} is larger than plain Arrow", name(column)));
    }
    complaints
}

/// Everything, for a terminal.
pub(super) fn text(sizes: &Sizes) -> String {
    let mut out = String::new();
    let width = sizes
        .columns
        .iter()
        .map(|c| name(c).chars().count())
        .max()
        .unwrap_or(0);
    let line = |out: &mut String, cells: [&str; 9]| {
        let [
            column,
            class,
            rows,
            plain,
            vortex,
            zones,
            parquet,
            tarsia,
            ratio,
        ] = cells;
        let _ = writeln!(
            out,
            "{column:width$}  {class:22} {rows:>7} {plain:>10} {vortex:>10} {zones:>7} {parquet:>10} {tarsia:>10} {ratio:>6}"
        );
    };
    let _ = writeln!(out, "{}\n", sizes.environment.line());
    line(
        &mut out,
        [
            "column", "class", "rows", "Arrow", "Vortex", "+zones", "Parquet", "Tarsia", "T/V",
        ],
    );
    for c in &sizes.columns {
        line(
            &mut out,
            [
                &name(c),
                &c.class.to_string(),
                &c.rows.to_string(),
                &c.plain_arrow_bytes.to_string(),
                &c.vortex.data_bytes.to_string(),
                &c.vortex.zones_bytes.to_string(),
                &c.parquet.bytes.to_string(),
                &bytes_or_dash(tarsia_bytes(c)),
                &ratio(to_vortex(c)),
            ],
        );
    }
    for skipped in &sizes.skipped {
        let _ = writeln!(out, "skipped: {}", unmeasured(skipped));
    }
    for failed in &sizes.failed {
        let _ = writeln!(out, "FAILED: {}", unmeasured(failed));
    }
    out.push('\n');
    out.push_str(&class_table(sizes));

    let above = above_vortex(sizes);
    if !above.is_empty() {
        let _ = writeln!(out, "\nLarger than in Vortex ({}):", above.len());
    }
    for (c, r) in above {
        let _ = writeln!(
            out,
            "{}  {:.3}\n    Vortex: {}\n    Tarsia: {}",
            name(c),
            r,
            trees_line(&c.vortex.trees, TREES_SHOWN_MAX),
            tarsia_trees(c)
        );
    }
    if cfg!(feature = "tarsia") {
        let _ = writeln!(out, "\n{}", plain_line(sizes));
    }
    out
}

/// Everything, one column per line, so that two runs compare well.
pub(super) fn json(sizes: &Sizes) -> Result<String> {
    let classes = summaries(sizes)
        .iter()
        .map(|s| {
            serde_json::json!({
                "class": s.class,
                "columns": s.n_columns,
                "columns_measured": s.columns.len(),
                "criterion": s.is_criterion(),
                "tarsia_to_vortex_median": s.to_vortex,
                "tarsia_to_vortex_with_zones_median": s.to_vortex_with_zones,
                "tarsia_encoded_to_vortex_buffers_median": s.values_to_vortex,
                "tarsia_to_parquet_median": s.to_parquet,
            })
        })
        .collect::<Vec<_>>();
    let above_plain: Vec<_> = above_plain(sizes).into_iter().map(name).collect();
    let mut out = String::from("{\n");
    let _ = writeln!(
        out,
        "\"environment\": {},",
        serde_json::to_string(&sizes.environment)?
    );
    let _ = writeln!(out, "\"classes\": [\n{}\n],", lines(&classes)?);
    let _ = writeln!(
        out,
        "\"above_plain\": {},",
        serde_json::to_string(&above_plain)?
    );
    let _ = writeln!(
        out,
        "\"skipped\": {},",
        serde_json::to_string(&sizes.skipped)?
    );
    let _ = writeln!(
        out,
        "\"failed\": {},",
        serde_json::to_string(&sizes.failed)?
    );
    let _ = writeln!(out, "\"columns\": [\n{}\n]\n}}", lines(&sizes.columns)?);
    Ok(out)
}

fn lines<T: serde::Serialize>(values: &[T]) -> Result<String> {
    let lines = values
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(lines.join(",\n"))
}

/// The section between the marks.
fn markdown(sizes: &Sizes) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Bytes per column of every flat table. Measured by `cargo run --release -- sizes` in `benchmarks/`, \
         which rewrites this section; every column is in `benchmarks/results/sizes.json`.\n\n{}.\n",
        sizes.environment.line()
    );
    let _ = writeln!(
        out,
        "Vortex: data segments under the default write strategy, without zone maps. Parquet: column \
         chunks with zstd 3, dictionary on or off and version 1 or 2, whatever is smallest. Tarsia: \
         encoded blocks and all metadata of the column, `Balanced`. A ratio below 1 means that Tarsia \
         is smaller; medians are over columns. “With zones” adds Vortex's zone maps; “values only” compares \
         Tarsia's encoded blocks with Vortex's buffers, without what describes them.\n"
    );
    out.push_str(&class_table(sizes));
    let _ = writeln!(out, "\n{}", plain_line(sizes));

    let above = above_vortex(sizes);
    if !above.is_empty() {
        let _ = writeln!(
            out,
            "\nColumns of the first four classes that are larger than in Vortex ({}), with the \
             encodings that Vortex uses there:\n\n\
             | column | class | Vortex | Tarsia | ratio | Vortex's encodings | Tarsia's |\n\
             |---|---|---:|---:|---:|---|---|",
            above.len()
        );
    }
    for (c, r) in above {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.3} | {} | {} |",
            name(c),
            c.class,
            c.vortex.data_bytes,
            bytes_or_dash(tarsia_bytes(c)),
            r,
            cell(&trees_line(&c.vortex.trees, TREES_SHOWN_MAX)),
            cell(&tarsia_trees(c))
        );
    }
    if !sizes.skipped.is_empty() {
        let skipped: Vec<_> = sizes.skipped.iter().map(unmeasured).collect();
        let _ = writeln!(out, "\nSkipped: {}.", skipped.join("; "));
    }
    if !sizes.failed.is_empty() {
        let failed: Vec<_> = sizes.failed.iter().map(unmeasured).collect();
        let _ = writeln!(out, "\nFailed: {}.", failed.join("; "));
    }
    out
}

/// Sums and medians, as a table that reads well in a terminal and in Markdown.
fn class_table(sizes: &Sizes) -> String {
    let mut rows = vec![
        [
            "class",
            "columns",
            "Arrow",
            "Vortex",
            "Vortex + zones",
            "Parquet",
            "Tarsia",
            "T/V median",
            "with zones",
            "values only",
            "T/P median",
            "T/V > 1",
        ]
        .map(str::to_owned),
    ];
    for s in summaries(sizes) {
        let sum = |f: fn(&Column) -> u64| s.columns.iter().map(|c| f(c)).sum::<u64>().to_string();
        let tarsia: Option<u64> = s.columns.iter().map(|c| tarsia_bytes(c)).sum();
        let n_above = s
            .columns
            .iter()
            .filter(|c| to_vortex(c).is_some_and(|r| r > 1.0))
            .count();
        rows.push([
            s.name(),
            if s.columns.len() == s.n_columns {
                s.n_columns.to_string()
            } else {
                format!("{} of {}", s.columns.len(), s.n_columns)
            },
            sum(|c| c.plain_arrow_bytes),
            sum(|c| c.vortex.data_bytes),
            sum(|c| c.vortex.data_bytes + c.vortex.zones_bytes),
            sum(|c| c.parquet.bytes),
            bytes_or_dash(tarsia),
            ratio(s.to_vortex),
            ratio(s.to_vortex_with_zones),
            ratio(s.values_to_vortex),
            ratio(s.to_parquet),
            bytes_or_dash(tarsia.map(|_| n_above as u64)),
        ]);
    }
    table(&rows)
}

fn plain_line(sizes: &Sizes) -> String {
    let above = above_plain(sizes);
    let rule = format!("plain Arrow + 1 % + {PLAIN_SLACK_BYTES} bytes");
    if above.is_empty() {
        let n_missing = match sizes.columns.iter().filter(|c| c.tarsia.is_none()).count() {
            0 => String::new(),
            n => format!(" ({n} columns were not measured)"),
        };
        return format!("No column is larger than {rule}{n_missing}.");
    }
    let names: Vec<_> = above
        .iter()
        .map(|c| {
            format!(
                "{} ({} of {})",
                name(c),
                bytes_or_dash(tarsia_bytes(c)),
                plain_bound(c)
            )
        })
        .collect();
    format!("Larger than {rule}: {}.", names.join(", "))
}

fn name(column: &Column) -> String {
    format!("{}.{}", column.table, column.column)
}

fn unmeasured(u: &super::Unmeasured) -> String {
    match &u.column {
        Some(column) => format!("{}.{column}: {}", u.table, u.why),
        None => format!("{}: {}", u.table, u.why),
    }
}

fn tarsia_bytes(column: &Column) -> Option<u64> {
    column.tarsia.as_ref().map(TarsiaSize::bytes)
}

fn tarsia_trees(column: &Column) -> String {
    column
        .tarsia
        .as_ref()
        .map_or_else(String::new, |t| trees_line(&t.trees, TREES_SHOWN_MAX))
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"))
}

fn bytes_or_dash(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |b| b.to_string())
}

/// Text inside of a Markdown table.
fn cell(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Rewrites the section of the docs.
pub(super) fn refresh_docs(path: &Path, sizes: &Sizes) -> Result<()> {
    crate::report::refresh_docs(path, "sizes", "Sizes", &markdown(sizes))
}
