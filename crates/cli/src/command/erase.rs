//! `tarsia erase` and `tarsia recover`.

use std::fs;
use std::path::Path;

use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use tarsia::compliance::certificate::SecretKey;
use tarsia::io::{FileSink, OnBusy, Sink};
use tarsia::{Eraser, ErasurePlan, ErasureReport, ErasureSummary, Recovery, RowSet};

use crate::args::{Erase, Recover};
use crate::failure::Failure;
use crate::predicate::matching_rows;

use super::open::{open_with, trusting};
use super::output::Out;
use super::rows::rows_to_erase;

#[derive(Serialize)]
struct EraseDocument {
    file: String,
    dry_run: bool,
    level: u8,
    rows: u64,
    rows_deleted: u64,
    rows_erased: u64,
    blocks: u64,
    blocks_moved: u64,
    bytes_read: u64,
    bytes_written: u64,
    bytes_zeroed: u64,
    journal_bytes: u64,
    file_bytes_before: u64,
    file_bytes_after: u64,
    dropped_sections: Vec<u32>,
}

/// The file that a certificate will be written to, and what it is signed with: both are looked at before anything is
/// erased.
struct Certifying {
    sink: FileSink,
    key: Option<SecretKey>,
}

impl Certifying {
    fn open(args: &Erase) -> Result<Option<Self>, Failure> {
        let Some(path) = &args.certificate else {
            return Ok(None);
        };
        let key = match &args.key {
            None => None,
            Some(name) => {
                let bytes = fs::read(name).map_err(|error| Failure::bad(name, error))?;
                let key = SecretKey::parse(&bytes).map_err(|error| Failure::bad(name, error))?;
                Some(key)
            }
        };
        let sink = FileSink::create(path).map_err(|error| Failure::bad(path, error))?;
        Ok(Some(Self { sink, key }))
    }

    fn write(mut self, args: &Erase, report: &ErasureReport) -> Result<(), Failure> {
        let path = args.certificate.as_deref().unwrap_or(Path::new("-"));
        let erased = args.rewrite.as_ref().unwrap_or(&args.file);
        let time = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let name = erased.display().to_string();
        let mut certificate = report.certificate(&name, &time, args.note.as_deref());
        let bad = |error: &dyn std::fmt::Display| {
            Failure::bad(path, format!("the rows are erased, but: {error}"))
        };
        if let Some(key) = &self.key {
            certificate.sign(key).map_err(|error| bad(&error))?;
        }
        let text = certificate.to_json().map_err(|error| bad(&error))?;
        let written = self.sink.append(text.as_bytes());
        written
            .and_then(|()| self.sink.commit())
            .map_err(|error| bad(&error))
    }
}

pub(super) fn erase(args: &Erase) -> Result<(), Failure> {
    let certifying = Certifying::open(args)?;
    let refused = |error: tarsia::Error| Failure::of_tarsia(&args.file, &error);
    let level = args.level.into();
    if args.dry_run || args.rewrite.is_some() {
        let file = open_with(&args.file, trusting(&args.trust))?;
        let plan = file
            .plan_erasure(&rows_of(args, &file)?, level)
            .map_err(refused)?;
        let Some(path) = &args.rewrite else {
            return say(args, *plan.summary(), &[]);
        };
        announce(args, &plan)?;
        let report = file.write_erased(plan, path);
        let report = report.map_err(|error| Failure::of_tarsia(path, &error))?;
        return done(args, certifying, &report);
    }
    let on_busy = match args.wait {
        true => OnBusy::Wait,
        false => OnBusy::Refuse,
    };
    let eraser = Eraser::open(&args.file, on_busy, trusting(&args.trust)).map_err(refused)?;
    let rows = rows_of(args, eraser.file())?;
    let plan = eraser.plan(&rows, level).map_err(refused)?;
    announce(args, &plan)?;
    let report = eraser.commit(plan).map_err(refused)?;
    done(args, certifying, &report)
}

/// The rows that are named or that pass the condition.
fn rows_of(args: &Erase, file: &tarsia::File) -> Result<RowSet, Failure> {
    let ranges = match (&args.rows.items, &args.rows.condition) {
        (Some(items), _) => rows_to_erase(items, &args.file, file.num_rows())?,
        (None, Some(condition)) => matching_rows(&args.file, file, condition)?,
        (None, None) => Vec::new(),
    };
    let mut rows = RowSet::new();
    for range in ranges {
        rows.insert_range(range);
    }
    Ok(rows)
}

/// Says what is going to be changed, before it is.
fn announce(args: &Erase, plan: &ErasurePlan) -> Result<(), Failure> {
    if args.json {
        return Ok(());
    }
    let summary = plan.summary();
    let mut out = Out::to_standard_error();
    out.line(&format!(
        "erasing {} rows: {} blocks, {} bytes to write twice, {} bytes to zero",
        summary.rows, summary.blocks, summary.bytes_written, summary.bytes_zeroed
    ))?;
    out.finish()
}

fn done(
    args: &Erase,
    certifying: Option<Certifying>,
    report: &ErasureReport,
) -> Result<(), Failure> {
    if let Some(certifying) = certifying {
        certifying.write(args, report)?;
    }
    let dropped: Vec<u32> = report.dropped_sections.iter().map(|(id, _)| *id).collect();
    say(args, report.summary, &dropped)
}

fn say(args: &Erase, summary: ErasureSummary, dropped: &[u32]) -> Result<(), Failure> {
    let mut out = Out::new();
    if args.json {
        out.document(&EraseDocument {
            file: args.file.display().to_string(),
            dry_run: args.dry_run,
            level: args.level.number(),
            rows: summary.rows,
            rows_deleted: summary.rows_deleted,
            rows_erased: summary.rows_erased,
            blocks: summary.blocks,
            blocks_moved: summary.blocks_moved,
            bytes_read: summary.bytes_read,
            bytes_written: summary.bytes_written,
            bytes_zeroed: summary.bytes_zeroed,
            journal_bytes: summary.journal_bytes,
            file_bytes_before: summary.file_bytes_before,
            file_bytes_after: summary.file_bytes_after,
            dropped_sections: dropped.to_vec(),
        })?;
        return out.finish();
    }
    let mut facts = vec![
        ("rows", summary.rows.to_string()),
        ("newly deleted", summary.rows_deleted.to_string()),
        ("bytes removed of", format!("{} rows", summary.rows_erased)),
        ("blocks", summary.blocks.to_string()),
        ("blocks moved", summary.blocks_moved.to_string()),
        ("bytes written", summary.bytes_written.to_string()),
        ("bytes zeroed", summary.bytes_zeroed.to_string()),
        ("journal bytes", summary.journal_bytes.to_string()),
        ("file bytes before", summary.file_bytes_before.to_string()),
        ("file bytes after", summary.file_bytes_after.to_string()),
    ];
    if args.dry_run {
        facts.retain(|(name, _)| *name != "journal bytes");
    }
    out.facts(&facts)?;
    for id in dropped {
        out.line(&format!(
            "section {id}, which this program does not know, may have held values: removed"
        ))?;
    }
    if args.dry_run {
        out.line("nothing was changed (--dry-run)")?;
    }
    out.finish()
}

#[derive(Serialize)]
struct RecoverDocument {
    file: String,
    state: &'static str,
    changes: u64,
    bytes_dropped: u64,
}

pub(super) fn recover(args: &Recover) -> Result<(), Failure> {
    let found = tarsia::recover(&args.file, OnBusy::Refuse);
    let found = found.map_err(|error| Failure::of_tarsia(&args.file, &error))?;
    let (state, changes, bytes_dropped, text) = match found {
        Recovery::Dropped { bytes } => {
            let text = format!("an erasure that had changed nothing was dropped: {bytes} bytes");
            ("dropped", 0, bytes, text)
        }
        Recovery::Finished { changes, .. } => {
            let text = format!("an interrupted erasure was finished: {changes} changes");
            ("finished", changes, 0, text)
        }
        _ => ("clean", 0, 0, "nothing to recover".to_owned()),
    };
    let mut out = Out::new();
    match args.json {
        true => out.document(&RecoverDocument {
            file: args.file.display().to_string(),
            state,
            changes,
            bytes_dropped,
        })?,
        false => out.line(&text)?,
    }
    out.finish()
}
