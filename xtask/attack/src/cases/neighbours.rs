//! Rows that are left come back bit by bit, natively and by kernels; those that are gone are not shown.

use tarsia::io::OnBusy;
use tarsia::{EmbedKernels, Eraser, ErasureLevel, ErrorKind, File, Kernels, RowSet, WriteOptions};
use tarsia_testkit::nested::batch_logical_difference;
use tarsia_testkit::rng::Rng;

use super::context::Context;
use crate::outcome::Outcome;
use crate::scene::{self, Scene, reading};

/// Rows that are taken one by one.
const TAKEN: usize = 40;

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let scene = Scene::of(seed)?;
    outcome.note(&*scene.text);
    let mut rng = Rng::new(seed ^ 0x6e65_6967);
    let has_kernels = rng.percent(25);
    let options: WriteOptions = match has_kernels {
        true => scene
            .options
            .clone()
            .with_embed_kernels(EmbedKernels::Embed),
        false => scene.options.clone(),
    };
    let Some(written) = super::context::written(&scene.table, &options, outcome)? else {
        return Ok(());
    };
    let path = context.folder.join("neighbours.tarsia");
    std::fs::write(&path, &written).map_err(|error| error.to_string())?;
    let table = scene::scan(&scene::open(written)?)?;
    let rows = table.num_rows() as u64;
    let mut gone = RowSet::new();
    let mut erased = RowSet::new();
    for round in &scene.rounds {
        // Some rounds hide rows; later ones may erase them.
        let level = match rng.percent(20) {
            true => ErasureLevel::Hide,
            false => ErasureLevel::Erase,
        };
        in_place(&path, round, level)?;
        gone = gone.union(round);
        if level == ErasureLevel::Erase {
            erased = erased.union(round);
        }
        let left = scene::rows_of(&table, scene::survivors(rows, &gone))?;
        let kernels = match has_kernels {
            true => &[Kernels::Trusted, Kernels::Forced][..],
            false => &[Kernels::Trusted],
        };
        for kernels in kernels {
            let file = scene::open_path(&path, reading().with_kernels(*kernels))?;
            let got = scene::scan(&file)?;
            let how = format!("{kernels:?}").to_lowercase();
            let same = batch_logical_difference(&got, &left);
            let same = same.map_err(|what| format!("a scan with kernels {how}: {what}"));
            outcome.check("scans compared", same);
            outcome.count("rows compared", left.num_rows() as u64);
            taken(&file, &table, &gone, &mut rng, outcome)?;
            if *kernels == Kernels::Trusted {
                let verified = file.verify().map(drop);
                let verified = verified.map_err(|error| format!("verify: {error}"));
                outcome.check("files verified", verified);
                audited(&file, &gone, &erased, outcome)?;
            } else {
                let counts = file.decoder_counts();
                if counts.native > 0 {
                    outcome.find(format!("{} pages were decoded natively", counts.native));
                }
                outcome.count("scans by kernels alone", 1);
            }
        }
    }
    Ok(())
}

/// Erases rows of a file in place.
pub(crate) fn in_place(
    path: &std::path::Path,
    rows: &RowSet,
    level: ErasureLevel,
) -> Result<(), String> {
    let eraser = Eraser::open(path, OnBusy::Wait, reading());
    let eraser = eraser.map_err(|error| format!("opening to erase: {error}"))?;
    let plan = eraser
        .file()
        .plan_erasure_with_salt_key(rows, level, scene::SALT_KEY)
        .map_err(|error| format!("planning: {error}"))?;
    let done = eraser.commit(plan).map(drop);
    done.map_err(|error| format!("erasing: {error}"))
}

/// Takes survivors in any order, and a row that is gone.
fn taken(
    file: &File,
    table: &arrow_array::RecordBatch,
    gone: &RowSet,
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let n_rows = table.num_rows();
    let any: Vec<u64> = (0..TAKEN).map(|_| rng.below(n_rows) as u64).collect();
    let (deleted, rows): (Vec<u64>, Vec<u64>) =
        any.into_iter().partition(|row| gone.contains(*row));
    if !rows.is_empty() {
        let expected = scene::rows_of(table, rows.iter().copied())?;
        let got = file.take(&rows).read();
        let got = got.map_err(|error| format!("take of rows {rows:?}: {error}"))?;
        let same = batch_logical_difference(&got, &expected);
        let same = same.map_err(|what| format!("take of rows {rows:?}: {what}"));
        outcome.check("takes compared", same);
    }
    if let Some(row) = deleted.first() {
        let refused = match file.take(&[*row]).read() {
            Err(error) if error.kind() == ErrorKind::RowDeleted => Ok(()),
            Err(error) => Err(format!("take of deleted row {row}: {error}")),
            Ok(_) => Err(format!("deleted row {row} is shown")),
        };
        outcome.check("takes of deleted rows", refused);
    }
    Ok(())
}

/// Returns what `audit` says of rows.
fn audited(
    file: &File,
    gone: &RowSet,
    erased: &RowSet,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let audit = file.audit().map_err(|error| format!("audit: {error}"))?;
    let said = (audit.deleted_rows, audit.erased_rows, audit.bytes_behind);
    // A column without values has none to erase.
    let right = (gone.len(), erased.len(), 0);
    let same = match said == right {
        true => Ok(()),
        false => Err(format!(
            "audit says {said:?} deleted, erased, behind; right is {right:?}"
        )),
    };
    outcome.check("audits compared", same);
    let is_held = gone.len() > erased.len();
    if is_held && audit.is_clean() && audit.columns.iter().any(|column| column.rows_held > 0) {
        outcome.find("audit says clean although columns hold deleted rows");
    }
    Ok(())
}
