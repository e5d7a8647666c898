//! The section of `docs/benchmarks.md`.

use std::fmt::Write as _;

use super::measuring::{Case, Erased, Erasure, Measured};
use crate::report::table;

pub(super) fn markdown(erasure: &Erasure) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "What files cost that rows can be erased from (level 2 of erasure), and what erasing costs, beside Parquet \
         (zstd 3, dictionaries if scans are faster with them) that is read, filtered and written anew. On one thread, \
         in one process, in turns; files lie on a disk, and erasing and writing end when they are on it. Tarsia's \
         files are without a kernel. Medians of {} repetitions; what is slow is repeated less. Measured by `cargo run \
         --release -- erasure` in `benchmarks/`, which rewrites this section. {}\n",
        erasure.repetitions,
        match &erasure.no_lance {
            None => "Lance deletes the rows, compacts all fragments that lost some, and removes the versions before, \
                     without waiting for the disk; rows in more than 20,000 runs are too long a filter."
                .to_owned(),
            Some(why) => format!("Lance is not measured: {why}."),
        }
    );
    let _ = writeln!(out, "{}.\n", erasure.environment.line());
    if let [Some(before), Some(after)] = erasure.load {
        let _ = writeln!(
            out,
            "Load of the machine before and after: {before:.1} and {after:.1}.\n"
        );
    }
    out.push_str("Nothing is erased: files of level 2 beside those of level 1, the default.\n\n");
    out.push_str(&idle(&erasure.tables));
    for measured in &erasure.tables {
        let _ = writeln!(
            out,
            "\n{}: some of {} rows erased from {} bytes, as a run of rows or as random single rows. `s`: opening, \
             planning, committing, of which the plan takes `plan s`. Parts of the file, in percent: `changed` (bytes \
             written into their places, and zeroed), of which `differ` have another value than before, `+ journal` \
             (`changed` with the journal), `all writes` (bytes of all system calls that write, also the zeros over the \
             journal), `Parquet writes` (the new file, as a part of the old one of {} bytes){}. `scan`: seconds of a \
             scan after, divided by before.\n",
            measured.table,
            measured.rows,
            measured.erase.file_bytes,
            measured.parquet_bytes,
            match measured.lance_bytes {
                Some(bytes) => format!(", `Lance writes` (new files, as a part of {bytes} bytes)"),
                None => String::new(),
            }
        );
        out.push_str(&cases(measured));
    }
    out.push_str(
        "\nOne row erased. Bytes that are read by position to open the file and to plan (metadata too), of which \
         `blocks` are those of the blocks that hold the row; then the erasure of it.\n\n",
    );
    out.push_str(&one_row(&erasure.tables));
    out.push_str(
        "\nVerified, with opening, of a file that the system has in memory, on all threads: `digests` compares every byte \
         with its digest, `all` also decodes every value and checks what the file says of itself. GB/s of the file, and \
         of the table that it decodes to.\n\n",
    );
    out.push_str(&verified(&erasure.tables));
    for failure in &erasure.failed {
        let _ = writeln!(out, "\n{} failed: {}", failure.table, failure.why);
    }
    out
}

fn idle(tables: &[Measured]) -> String {
    let header = [
        "table",
        "rows",
        "columns",
        "level 1 bytes",
        "level 2 bytes",
        "size",
        "level 1 write s",
        "level 2 write s",
        "write",
        "level 1 scan ms",
        "level 2 scan ms",
        "scan",
    ];
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(tables.iter().map(|measured| {
        let (hide, erase) = (&measured.hide, &measured.erase);
        [
            measured.table.clone(),
            measured.rows.to_string(),
            measured.columns.to_string(),
            hide.file_bytes.to_string(),
            erase.file_bytes.to_string(),
            format!("{:.3}", erase.file_bytes as f64 / hide.file_bytes as f64),
            seconds(hide.write_seconds),
            seconds(erase.write_seconds),
            format!("{:.2}", erase.write_seconds / hide.write_seconds),
            format!("{:.2}", hide.scan_seconds * 1e3),
            format!("{:.2}", erase.scan_seconds * 1e3),
            format!("{:.2}", erase.scan_seconds / hide.scan_seconds),
        ]
    }));
    table(&cells)
}

fn cases(measured: &Measured) -> String {
    let header = [
        "rows",
        "%",
        "how",
        "s",
        "plan s",
        "Parquet s",
        "faster",
        "Lance s",
        "faster",
        "changed",
        "differ",
        "+ journal",
        "all writes",
        "Parquet writes",
        "Lance writes",
        "blocks",
        "moved",
        "growth",
        "scan",
    ];
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(measured.cases.iter().map(|case| {
        let Case {
            tarsia,
            parquet,
            lance,
            ..
        } = case;
        let lance_part = lance.zip(measured.lance_bytes);
        let lance_part = lance_part.map(|(it, all)| it.bytes_written as f64 / all as f64);
        let parquet_part = parquet.file_bytes as f64 / measured.parquet_bytes as f64;
        [
            case.rows.to_string(),
            format!("{:.1}", 100.0 * case.rows as f64 / measured.rows as f64),
            case.spread.label().to_owned(),
            seconds(tarsia.seconds),
            seconds(tarsia.plan_seconds),
            seconds(parquet.seconds),
            format!("{:.2}×", parquet.seconds / tarsia.seconds),
            or_none(lance.map(|it| seconds(it.seconds))),
            or_none(lance.map(|it| format!("{:.2}×", it.seconds / tarsia.seconds))),
            percent(tarsia.bytes_changed(), tarsia),
            percent(tarsia.bytes_that_differ, tarsia),
            percent(tarsia.bytes_with_journal(), tarsia),
            all_writes(tarsia),
            format!("{:.1}", 100.0 * parquet_part),
            or_none(lance_part.map(|part| format!("{:.1}", 100.0 * part))),
            tarsia.blocks.to_string(),
            tarsia.blocks_moved.to_string(),
            growth(tarsia),
            format!(
                "{:.2}",
                tarsia.scan_seconds_after / tarsia.scan_seconds_before
            ),
        ]
    }));
    table(&cells)
}

fn one_row(tables: &[Measured]) -> String {
    let header = [
        "table",
        "file bytes",
        "open bytes",
        "requests",
        "plan bytes",
        "requests",
        "blocks bytes",
        "blocks",
        "moved",
        "changed bytes",
        "journal bytes",
        "all writes bytes",
        "growth bytes",
        "s",
        "plan s",
    ];
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(tables.iter().map(|measured| {
        let row = &measured.one_row;
        let erased = &row.erased;
        let bytes_of_calls = erased.bytes_of_calls;
        let growth = erased.file_bytes_after as i128 - erased.file_bytes_before as i128;
        [
            measured.table.clone(),
            erased.file_bytes_before.to_string(),
            row.opening.bytes.to_string(),
            row.opening.requests.to_string(),
            row.planning.bytes.to_string(),
            row.planning.requests.to_string(),
            row.block_bytes.to_string(),
            erased.blocks.to_string(),
            erased.blocks_moved.to_string(),
            erased.bytes_changed().to_string(),
            erased.journal_bytes.to_string(),
            bytes_of_calls.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string()),
            growth.to_string(),
            seconds(erased.seconds),
            seconds(erased.plan_seconds),
        ]
    }));
    table(&cells)
}

fn verified(tables: &[Measured]) -> String {
    let header = [
        "table",
        "file bytes",
        "decoded bytes",
        "threads",
        "digests s",
        "file GB/s",
        "all s",
        "file GB/s",
        "decoded GB/s",
    ];
    let rate = |bytes: u64, seconds: f64| format!("{:.2}", bytes as f64 / seconds / 1e9);
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(tables.iter().map(|measured| {
        let (file, verified) = (measured.erase.file_bytes, &measured.verified);
        [
            measured.table.clone(),
            file.to_string(),
            verified.decoded_bytes.to_string(),
            verified.threads.to_string(),
            seconds(verified.digests_seconds),
            rate(file, verified.digests_seconds),
            seconds(verified.seconds),
            rate(file, verified.seconds),
            rate(verified.decoded_bytes, verified.seconds),
        ]
    }));
    table(&cells)
}

fn or_none(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// Three digits that count.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => format!("{s:.4}"),
        s if s < 10.0 => format!("{s:.3}"),
        s => format!("{s:.1}"),
    }
}

/// Part of the file before.
fn percent(bytes: u64, erased: &Erased) -> String {
    format!(
        "{:.2}",
        100.0 * bytes as f64 / erased.file_bytes_before as f64
    )
}

fn all_writes(erased: &Erased) -> String {
    let bytes = erased.bytes_of_calls;
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| percent(bytes, erased))
}

fn growth(erased: &Erased) -> String {
    let (before, after) = (
        erased.file_bytes_before as f64,
        erased.file_bytes_after as f64,
    );
    format!("{:+.2} %", 100.0 * (after / before - 1.0))
}
