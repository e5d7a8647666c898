//! `tarsia erase` and `tarsia recover`.

use std::path::Path;

use serde::Serialize;
use tarsia::compliance::certificate::printable;
use tarsia::io::OnBusy;
use tarsia::{Eraser, ErasurePlan, ErasureReport, Recovery, RowSet};

use crate::args::{Certificate, Condition, Erase, EraseLevel, Recover, RowItems};
use crate::destination::{Destination, is_standard_output, refuse_same};
use crate::failure::Failure;
use crate::matching::matching_rows;
use crate::place::{Place, Places};

use super::certifying::{Certifying, Existing};
use super::open::{open_with, trusting};
use super::output::Out;
use super::rows::rows_to_erase;

/// Columns that are named as such that still hold values; of more, the number is shown.
const COLUMNS_SHOWN: usize = 20;

#[derive(Serialize)]
struct EraseDocument<'a> {
    file: String,
    dry_run: bool,
    /// Outcome of an earlier erasure that was interrupted: `clean` if there was none, `finished` or `dropped`.
    recovered: &'static str,
    level: u8,
    /// Whether a byte of the file changed, or would change.
    changed: bool,
    rows: u64,
    rows_deleted: u64,
    rows_erased: u64,
    rows_erased_before: u64,
    /// Columns that still hold, or may hold, values of the rows that were asked for.
    columns_holding_values: Vec<&'a str>,
    blocks: u64,
    blocks_moved: u64,
    bytes_read: u64,
    bytes_written: u64,
    bytes_zeroed: u64,
    journal_bytes: u64,
    file_bytes_before: u64,
    file_bytes_after: u64,
    dropped_sections: Vec<u32>,
    certificate: Option<String>,
}

pub(super) fn erase(args: &Erase, places: &dyn Places) -> Result<(), Failure> {
    if let Some(out) = &args.rewrite {
        refuse_same(out, &args.file, "is the file that is read")?;
        for (input, what) in inputs(args) {
            refuse_same(out, &input, what)?;
        }
    }
    let is_in_place = !args.dry_run && args.rewrite.is_none();
    if is_in_place && args.file.url().is_some() {
        let name = args.file.name().display();
        return Err(Failure::Usage(format!(
            "{name}: the objects of a store cannot be changed in place; --rewrite OUT.tarsia writes a new file \
             without the rows, to a URL, too"
        )));
    }
    let mut certifying = open_certificate(args)?;
    let refused = |error: tarsia::Error| Failure::of_tarsia(args.file.name(), &error);
    let level = args.level.into();
    if !is_in_place {
        let file = open_with(places, &args.file, trusting(&args.trust))?;
        let plan = file.plan_erasure(&rows_of(args, &file)?, level);
        let plan = plan.map_err(refused)?;
        let Some(out) = &args.rewrite else {
            return say(args, plan.report(), Recovery::Clean, false);
        };
        announce(args, &plan)?;
        let certified = prepare(args, certifying.as_mut(), out.name(), &plan)?;
        let mut written = Destination::open(places, out, &args.file)?;
        let report = file.write_erased_into(plan, &mut written);
        let report = report.map_err(|error| Failure::of_tarsia(out.name(), &error))?;
        if let (Some(certifying), Some(_)) = (&mut certifying, &certified) {
            let published = certifying.publish();
            published
                .map_err(|error| Failure::Bad(format!("the file is written, but: {error}")))?;
        }
        return say(args, &report, Recovery::Clean, certified.is_some());
    }
    let on_busy = match args.wait {
        true => OnBusy::Wait,
        false => OnBusy::Refuse,
    };
    let eraser = Eraser::open(args.file.path()?, on_busy, trusting(&args.trust));
    let eraser = eraser.map_err(refused)?;
    let recovery = eraser.recovery();
    let rows = rows_of(args, eraser.file())?;
    let plan = eraser.plan(&rows, level).map_err(refused)?;
    announce(args, &plan)?;
    let certified = prepare(args, certifying.as_mut(), args.file.name(), &plan)?;
    let report = match (certifying, &certified) {
        (Some(mut certifying), Some(record)) => {
            eraser.commit_with(plan, record.clone(), &mut || certifying.publish())
        }
        _ => eraser.commit(plan),
    };
    say(
        args,
        &report.map_err(refused)?,
        recovery,
        certified.is_some(),
    )
}

/// Files that are read beside the table, with what they are.
fn inputs(args: &Erase) -> impl Iterator<Item = (Place, &'static str)> {
    let key = args.certifying.key.clone();
    let rows = match &args.rows.items {
        Some(RowItems::File(path)) => Some((Place::from(path.clone()), "is the list of rows")),
        _ => None,
    };
    let condition = match &args.rows.condition {
        Some(Condition::File(path)) => Some((Place::from(path.clone()), "is the condition")),
        _ => None,
    };
    let key = key.map(|key| (key, "is the key"));
    key.into_iter().chain(rows).chain(condition)
}

/// The file that the certificate will be written to: it is looked at before anything is erased.
fn open_certificate(args: &Erase) -> Result<Option<Certifying>, Failure> {
    let Some(path) = &args.certifying.path else {
        return Ok(None);
    };
    let mut others = vec![(&args.file, "is the table")];
    if let Some(out) = &args.rewrite {
        others.push((out, "is the file that is written"));
    }
    let inputs: Vec<_> = inputs(args).collect();
    others.extend(inputs.iter().map(|(input, what)| (input, *what)));
    let Certificate { key, note, .. } = &args.certifying;
    Certifying::open(
        path,
        key.as_ref(),
        note.as_ref(),
        &others,
        Existing::Refused,
    )
    .map(Some)
}

/// The certificate of the erasure, on the disk under a temporary name; `None` if no certificate is asked for, or no
/// rows, of which there is nothing to certify.
fn prepare(
    args: &Erase,
    certifying: Option<&mut Certifying>,
    erased: &Path,
    plan: &ErasurePlan,
) -> Result<Option<Vec<u8>>, Failure> {
    match certifying {
        Some(certifying) if plan.summary().rows > 0 => {
            certifying.prepare(erased, plan.report()).map(Some)
        }
        Some(_) if !args.json => {
            let mut out = Out::to_standard_error();
            out.line("no rows are erased, so no certificate is written")?;
            out.finish().map(|()| None)
        }
        _ => Ok(None),
    }
}

/// The rows that are named or that pass the condition.
fn rows_of(args: &Erase, file: &tarsia::File) -> Result<RowSet, Failure> {
    let ranges = match (&args.rows.items, &args.rows.condition) {
        (Some(items), _) => rows_to_erase(items, args.file.name(), file.num_rows())?,
        (None, Some(condition)) => {
            let condition = condition.read()?;
            matching_rows(
                args.file.name(),
                file,
                condition.as_ref(),
                args.level.into(),
            )?
        }
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
    if args.json || plan.is_empty() {
        return Ok(());
    }
    let summary = plan.summary();
    let doing = match args.level {
        EraseLevel::One => "deleting (hiding)",
        EraseLevel::Two => "erasing",
    };
    let mut out = Out::to_standard_error();
    out.line(&format!(
        "{doing} {} rows: {} blocks, {} bytes to write twice, {} bytes to zero",
        summary.rows, summary.blocks, summary.bytes_written, summary.bytes_zeroed
    ))?;
    out.finish()
}

fn say(
    args: &Erase,
    report: &ErasureReport,
    recovery: Recovery,
    is_certified: bool,
) -> Result<(), Failure> {
    let mut out = match &args.rewrite {
        Some(out) if is_standard_output(out.name()) => Out::to_standard_error(),
        _ => Out::new(),
    };
    let (recovered, recovered_text) = in_words(recovery);
    let summary = &report.summary;
    let dropped = report.dropped_sections.iter().map(|(id, _)| *id);
    if args.json {
        let holding = report.columns.iter().filter(|column| column.holds_values());
        let certificate = args.certifying.path.as_ref().filter(|_| is_certified);
        out.document(&EraseDocument {
            file: args.file.name().display().to_string(),
            dry_run: args.dry_run,
            recovered,
            level: args.level.number(),
            changed: report.is_changed(),
            rows: summary.rows,
            rows_deleted: summary.rows_deleted,
            rows_erased: summary.rows_erased,
            rows_erased_before: report.rows.erased_before.len(),
            columns_holding_values: holding.map(|column| column.name.as_str()).collect(),
            blocks: summary.blocks,
            blocks_moved: summary.blocks_moved,
            bytes_read: summary.bytes_read,
            bytes_written: summary.bytes_written,
            bytes_zeroed: summary.bytes_zeroed,
            journal_bytes: summary.journal_bytes,
            file_bytes_before: summary.file_bytes_before,
            file_bytes_after: summary.file_bytes_after,
            dropped_sections: dropped.collect(),
            certificate: certificate.map(|path| path.name().display().to_string()),
        })?;
        return out.finish();
    }
    if recovery != Recovery::Clean {
        out.line(&recovered_text)?;
    }
    let erased_before = report.rows.erased_before.len();
    let mut facts = vec![
        ("rows asked for", summary.rows.to_string()),
        ("newly deleted", summary.rows_deleted.to_string()),
        ("erased now", summary.rows_erased.to_string()),
        ("erased before", erased_before.to_string()),
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
    for line in columns_in_words(report) {
        out.line(&line)?;
    }
    for id in dropped {
        out.line(&format!(
            "section {id}, which this program does not know, may have held values: removed"
        ))?;
    }
    if !report.is_changed() {
        out.line(match summary.rows {
            0 => "nothing was changed: no rows were asked for",
            _ => "nothing was changed: all of these rows were erased, or deleted, before",
        })?;
    }
    if args.dry_run {
        out.line("nothing was changed (--dry-run)")?;
    }
    out.finish()
}

/// The name and the sentence of what was found of an interrupted erasure.
fn in_words(recovery: Recovery) -> (&'static str, String) {
    match recovery {
        Recovery::Dropped { bytes } => {
            let text = format!("an erasure that had changed nothing was dropped: {bytes} bytes");
            ("dropped", text)
        }
        Recovery::Finished { changes, .. } => {
            let text = format!("an interrupted erasure was finished: {changes} changes");
            ("finished", text)
        }
        _ => ("clean", "nothing to recover".to_owned()),
    }
}

/// The columns that still hold values of the rows that were asked for, a sentence for each.
fn columns_in_words(report: &ErasureReport) -> Vec<String> {
    let holding = report.columns.iter().filter(|column| column.holds_values());
    let n_more = holding.clone().count().saturating_sub(COLUMNS_SHOWN);
    let lines = holding.take(COLUMNS_SHOWN).map(|column| {
        let (name, level) = (printable(&column.name), column.level);
        match column.rows_held {
            0 => format!(
                "column `{name}` (level {level}) may still hold values of these rows, in parameters of {}",
                column.encodings_that_keep_values.join(", ")
            ),
            _ => format!("column `{name}` (level {level}) still holds the values of these rows"),
        }
    });
    let more = (n_more > 0).then(|| format!("and {n_more} more columns"));
    lines.chain(more).collect()
}

#[derive(Serialize)]
struct RecoverDocument {
    file: String,
    state: &'static str,
    changes: u64,
    bytes_dropped: u64,
    certificate: Option<String>,
    /// Whether the interrupted erasure had a certificate, which was not asked for.
    certificate_dropped: bool,
}

/// Outcome for the certificate of an interrupted erasure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certified {
    NoErasure,
    NoneAskedFor,
    Dropped,
    Written,
}

pub(super) fn recover(args: &Recover) -> Result<(), Failure> {
    let others = [(&args.file, "is the table")];
    if args.file.url().is_some() {
        let name = args.file.name().display();
        return Err(Failure::Usage(format!(
            "{name}: the objects of a store cannot be changed in place; download the file, recover it and upload it"
        )));
    }
    let open = |path| {
        let Certificate { key, note, .. } = &args.certifying;
        let existing = Existing::MayBeTheSame;
        Certifying::open(path, key.as_ref(), note.as_ref(), &others, existing)
    };
    let mut certifying = args.certifying.path.as_ref().map(open).transpose()?;
    let mut certified = Certified::NoErasure;
    let mut publish = |record: &[u8]| {
        certified = match (&mut certifying, record) {
            (_, []) => Certified::NoneAskedFor,
            (None, _) => Certified::Dropped,
            (Some(certifying), record) => {
                certifying.publish_record(record)?;
                Certified::Written
            }
        };
        Ok(())
    };
    let found = tarsia::recover_with(args.file.path()?, OnBusy::Refuse, &mut publish);
    let found = found.map_err(|error| Failure::of_tarsia(args.file.name(), &error))?;
    let (state, text) = in_words(found);
    let (changes, bytes_dropped) = match found {
        Recovery::Dropped { bytes } => (0, bytes),
        Recovery::Finished { changes, .. } => (changes, 0),
        _ => (0, 0),
    };
    let mut out = Out::new();
    if args.json {
        let written = args
            .certifying
            .path
            .as_ref()
            .filter(|_| certified == Certified::Written);
        out.document(&RecoverDocument {
            file: args.file.name().display().to_string(),
            state,
            changes,
            bytes_dropped,
            certificate: written.map(|path| path.name().display().to_string()),
            certificate_dropped: certified == Certified::Dropped,
        })?;
        return out.finish();
    }
    out.line(&text)?;
    match (certified, &args.certifying.path) {
        (Certified::Written, _) => out.line("its certificate was written")?,
        (Certified::Dropped, _) => out.line(
            "it was to have a certificate, which was not written: `recover --certificate OUT` would have written it",
        )?,
        (Certified::NoneAskedFor, Some(_)) => {
            out.line("no certificate was written: that erasure was started without one")?;
        }
        (Certified::NoErasure, Some(_)) => {
            out.line("no certificate was written: there was no erasure to finish")?;
        }
        (Certified::NoneAskedFor | Certified::NoErasure, None) => {}
    }
    out.finish()
}
