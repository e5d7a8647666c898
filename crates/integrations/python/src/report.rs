//! Reports as dictionaries: what a file says of itself, and what was found in it. Their keys are those of the command's
//! JSON.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarsia::compliance::certificate::{PublicKey, Signed};
use tarsia::{
    Audit, AuditedColumn, CertificateCheck, ColumnInspection, ErasureReport, FileMetadata,
    Inspection, Recovery, Residue, VerifyReport, WriteSummary,
};

/// A dictionary of names and values.
macro_rules! dict {
    ($py:expr, $($name:literal: $value:expr,)*) => {{
        let made = PyDict::new($py);
        $(made.set_item($name, $value)?;)*
        Ok(made)
    }};
}

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn inspection(py: Python<'_>, found: Inspection) -> Dict<'_> {
    let layout = found.layout.iter().map(|region| {
        dict! { py,
            "name": region.name,
            "place": region.place,
            "bytes": region.bytes,
        }
    });
    let kernels = found.kernels.iter().map(|kernel| {
        dict! { py,
            "digest": hex(&kernel.digest),
            "name": kernel.name.as_deref(),
            "bytes": kernel.bytes,
            "raw_bytes": kernel.raw_bytes,
            "descriptions": kernel.descriptions.0,
        }
    });
    let columns = found.columns.iter().map(|column| inspected(py, column));
    dict! { py,
        "file": file(py, &found.file)?,
        "layout": layout.collect::<PyResult<Vec<_>>>()?,
        "kernels": kernels.collect::<PyResult<Vec<_>>>()?,
        "columns": columns.collect::<PyResult<Vec<_>>>()?,
    }
}

fn file<'py>(py: Python<'py>, file: &FileMetadata) -> Dict<'py> {
    dict! { py,
        "rows": file.rows,
        "columns": file.columns,
        "bytes": file.file_bytes,
        "version": format!("{}.{}", file.version.0, file.version.1),
        "file_id": hex(&file.file_id),
        "root_digest": hex(&file.root_digest),
        "epoch": file.epoch,
        "created_by": &file.created_by,
        "deleted_rows": file.deleted_rows,
        "erased_rows": file.erased_rows,
        "erasure_is_pending": file.erasure_is_pending,
    }
}

fn inspected<'py>(py: Python<'py>, column: &ColumnInspection) -> Dict<'py> {
    let trees = column.trees.iter().map(|(tree, blocks)| {
        dict! { py,
            "tree": tree,
            "blocks": *blocks,
        }
    });
    dict! { py,
        "name": &column.name,
        "type": &column.data_type,
        "nullable": column.nullable,
        "erasure_level": column.level.number(),
        "rows": column.rows,
        "items": column.items,
        "nulls": column.nulls,
        "pages": column.pages,
        "blocks": column.blocks,
        "trees": trees.collect::<PyResult<Vec<_>>>()?,
        "rounding": column.rounding.as_deref(),
        "strict": column.strict,
        "place": column.place,
        "bytes": column.encoded_bytes.saturating_add(column.metadata_bytes),
        "encoded_bytes": column.encoded_bytes,
        "metadata_bytes": column.metadata_bytes,
        "zone_bytes": column.zone_bytes,
        "bloom_bytes": column.bloom_bytes,
        "decoded_bytes": column.decoded_bytes,
        "ratio": column.ratio(),
    }
}

pub(crate) fn verified<'py>(py: Python<'py>, found: &VerifyReport) -> Dict<'py> {
    dict! { py,
        "columns": found.columns,
        "pages": found.pages,
        "blocks": found.blocks,
        "bytes": found.bytes,
    }
}

pub(crate) fn audited<'py>(py: Python<'py>, found: &Audit) -> Dict<'py> {
    let columns = found.columns.iter().map(|column| of_column(py, column));
    dict! { py,
        "clean": found.is_clean(),
        "complete": found.is_complete(),
        "rows": found.rows,
        "deleted_rows": found.deleted_rows,
        "erased_rows": found.erased_rows,
        "blocks_moved": found.blocks_moved,
        "dead_bytes": found.dead_bytes,
        "bytes_behind": found.bytes_behind,
        "erasure_is_pending": found.erasure_is_pending,
        "unknown_sections": found.unknown_sections.clone(),
        "columns": columns.collect::<PyResult<Vec<_>>>()?,
    }
}

fn of_column<'py>(py: Python<'py>, column: &AuditedColumn) -> Dict<'py> {
    let residue = |residue: &Residue| {
        dict! { py,
            "holder": &residue.holder,
            "tells": &residue.tells,
        }
    };
    dict! { py,
        "name": &column.name,
        "erasure_level": column.level.number(),
        "clean": column.is_clean(),
        "rows_held": column.rows_held,
        "encodings_that_keep_values": &column.encodings_that_keep_values,
        "strict": column.strict,
        "residue": column.residue.iter().map(residue).collect::<PyResult<Vec<_>>>()?,
        "blocks_looked_at": column.blocks_looked_at,
        "entries_looked_at": column.entries_looked_at,
        "blocks_with_foreign_filler": column.blocks_with_foreign_filler,
        "dictionaries_not_wiped": column.dictionaries_not_wiped,
        "buffers_not_looked_at": column.buffers_not_looked_at,
    }
}

pub(crate) fn certified<'py>(
    py: Python<'py>,
    checked: &CertificateCheck,
    signed: &Signed,
    trusted: &[PublicKey],
) -> Dict<'py> {
    let why = match checked {
        CertificateCheck::AsLeft | CertificateCheck::ErasedSince => None,
        CertificateCheck::Refuted { why } => Some(why.as_str()),
        _ => Some("what the file says of it is not known here"),
    };
    let verdict = match (why, signed) {
        (Some(_), _) => "refuted",
        (None, Signed::By(key)) if trusted.contains(key) => "ok",
        (None, Signed::By(_)) => "signed by an unknown key",
        (None, Signed::No) => "unsigned",
    };
    let signed_by = match signed {
        Signed::By(key) => Some(key.to_string()),
        Signed::No => None,
    };
    let unchanged = why
        .is_none()
        .then_some(*checked == CertificateCheck::AsLeft);
    dict! { py,
        "ok": verdict == "ok",
        "verdict": verdict,
        "why": why,
        "unchanged": unchanged,
        "signed_by": signed_by,
    }
}

pub(crate) fn written<'py>(py: Python<'py>, summary: &WriteSummary) -> Dict<'py> {
    dict! { py,
        "rows": summary.rows,
        "columns": summary.columns,
        "pages": summary.pages,
        "logical_bytes": summary.logical_bytes,
        "file_bytes": summary.file_bytes,
        "kernels": &summary.kernels,
        "kernel_bytes": summary.kernel_bytes,
    }
}

pub(crate) fn erased<'py>(
    py: Python<'py>,
    report: &ErasureReport,
    recovery: Recovery,
    certificate: Option<&str>,
) -> Dict<'py> {
    let summary = &report.summary;
    let holding = report.columns.iter().filter(|column| column.holds_values());
    dict! { py,
        "recovered": state_of(recovery),
        "level": report.level.number(),
        "changed": report.is_changed(),
        "rows": summary.rows,
        "rows_deleted": summary.rows_deleted,
        "rows_erased": summary.rows_erased,
        "rows_erased_before": report.rows.erased_before.len(),
        "columns_holding_values": holding.map(|column| &*column.name).collect::<Vec<_>>(),
        "blocks": summary.blocks,
        "blocks_moved": summary.blocks_moved,
        "bytes_read": summary.bytes_read,
        "bytes_written": summary.bytes_written,
        "bytes_zeroed": summary.bytes_zeroed,
        "journal_bytes": summary.journal_bytes,
        "file_bytes_before": summary.file_bytes_before,
        "file_bytes_after": summary.file_bytes_after,
        "certificate": certificate,
    }
}

pub(crate) fn recovered<'py>(
    py: Python<'py>,
    recovery: Recovery,
    certificate: Option<&str>,
    is_dropped: bool,
) -> Dict<'py> {
    let (changes, bytes_dropped) = match recovery {
        Recovery::Dropped { bytes } => (0, bytes),
        Recovery::Finished { changes, .. } => (changes, 0),
        _ => (0, 0),
    };
    dict! { py,
        "state": state_of(recovery),
        "changes": changes,
        "bytes_dropped": bytes_dropped,
        "certificate": certificate,
        "certificate_dropped": is_dropped,
    }
}

/// The outcome of an interrupted erasure, if there was one.
fn state_of(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Dropped { .. } => "dropped",
        Recovery::Finished { .. } => "finished",
        _ => "clean",
    }
}
