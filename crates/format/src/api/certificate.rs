//! Whether the certificate of an erasure is true of a file.

use std::sync::Arc;

use tarsia_compliance as compliance;
use tarsia_compliance::certificate::{Certificate, CertificateColumn, ChangedBlock, Hex};
use tarsia_metadata::{ErasureLevel, PastState};

use super::verify::{self, Depth};
use crate::erase::encodings_that_keep_values;
use crate::error::Result;
use crate::exec::{OpenFile, blocks_of};
use crate::plan::PageNumber;
use crate::table::{Column, FileMetadata, Head};

/// Result of comparing the certificate of an erasure with a file. Whose signature the certificate has is another
/// question ([`Certificate::verify_signature`]): who can write the file can write such a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateCheck {
    /// The file is as the erasure left it, down to the last byte, and all that the certificate says of it is true.
    AsLeft,
    /// The file descends from the state that the erasure left, and was erased further since. The rows of the
    /// certificate are deleted and erased in it as the certificate says; its digests were compared.
    ErasedSince,
    /// The certificate is not of this file, or says what is not true of it.
    Refuted {
        /// Says in a sentence what does not agree.
        why: String,
    },
}

/// Does what [`File::check_certificate`](crate::File::check_certificate) promises.
pub(super) fn check(file: &Arc<OpenFile>, certificate: &Certificate) -> Result<CertificateCheck> {
    let (metadata, head) = (file.file_metadata()?, file.head()?);
    let why = match finished(&metadata).and_then(|()| identity(file, head, certificate)) {
        Err(why) => why,
        Ok(is_current) => {
            let columns = file.all_columns()?;
            let depth = match is_current {
                true => Depth::Values,
                false => Depth::Digests,
            };
            match columns_differ(file, &columns, certificate, is_current)? {
                Some(why) => why,
                None => {
                    verify::all(file, depth)?;
                    return Ok(match is_current {
                        true => CertificateCheck::AsLeft,
                        false => CertificateCheck::ErasedSince,
                    });
                }
            }
        }
    };
    Ok(CertificateCheck::Refuted { why })
}

/// Refuses a file with bytes that its digests do not cover, whatever they are of.
fn finished(metadata: &FileMetadata) -> std::result::Result<(), String> {
    if metadata.erasure_is_pending {
        let what = "it cannot be checked: an erasure of this file was interrupted, and the bytes of its rows are still \
                    there; recover the file first";
        return Err(what.to_owned());
    }
    match metadata.bytes_behind {
        0 => Ok(()),
        n_bytes => Err(format!(
            "it cannot be checked: {n_bytes} bytes lie behind the end of the file, which no digest covers; recovering the \
             file removes them"
        )),
    }
}

/// Whether the file is the one that the erasure left (and not a later one), or why it is neither.
fn identity(
    file: &OpenFile,
    head: &Head,
    certificate: &Certificate,
) -> std::result::Result<bool, String> {
    let catalog = &file.catalog;
    let changes = catalog.changes();
    if head.header.file_id != certificate.file_id.0 {
        let own = Hex(head.header.file_id);
        let other = certificate.file_id;
        return Err(format!(
            "it is for another file: its id is {other}, that of this file is {own}"
        ));
    }
    let rows = &certificate.rows;
    for (what, rows) in [
        ("were erased by this erasure", &rows.erased_now),
        ("had been erased before", &rows.erased_before),
    ] {
        if !rows.are_in(&changes.erased) {
            return Err(format!(
                "rows that {what}, as it says, are not erased in this file"
            ));
        }
    }
    if !rows.asked.are_in(&changes.deleted) {
        let what = "rows that it says are deleted are there in this file";
        return Err(what.to_owned());
    }
    let history = changes.history.as_ref();
    let knows = |state: &PastState| history.is_some_and(|history| history.contains(state));
    if let Some(root) = certificate.old_root
        && root != certificate.new_root
    {
        let before = PastState {
            epoch: certificate.old_epoch,
            root: root.0,
        };
        if !knows(&before) {
            let what = "it cannot be checked: this file does not descend from the state before that it tells of";
            return Err(what.to_owned());
        }
    }
    if catalog.root_digest() == certificate.new_root.0 {
        if head.epoch != certificate.new_epoch {
            return Err(format!(
                "it says that the file is at epoch {} afterwards, and that is {}",
                certificate.new_epoch, head.epoch
            ));
        }
        for (what, set, count) in [
            ("deleted", &changes.deleted, &certificate.deleted_after),
            ("erased", &changes.erased, &certificate.erased_after),
        ] {
            if (set.len(), set.digest()) != (count.count, count.digest.0) {
                return Err(format!(
                    "other rows are {what} than the certificate says: {} and not {}, or others",
                    set.len(),
                    count.count
                ));
            }
        }
        return Ok(true);
    }
    let left = PastState {
        epoch: certificate.new_epoch,
        root: certificate.new_root.0,
    };
    match knows(&left) {
        true => Ok(false),
        false => Err(
            "it cannot be checked: this file does not descend from the state that the certificate tells of".to_owned(),
        ),
    }
}

/// Finds what the certificate says of columns and blocks that is not true.
fn columns_differ(
    file: &OpenFile,
    columns: &[Arc<Column>],
    certificate: &Certificate,
    is_current: bool,
) -> Result<Option<String>> {
    let same = |(column, stated): (&Arc<Column>, &CertificateColumn)| {
        column.leaf == stated.leaf
            && column.name() == stated.name
            && column.level.number() == stated.level
    };
    let all = &certificate.columns;
    if columns.len() != all.len() || !columns.iter().zip(all).all(same) {
        let what = "it names other columns, or other levels of columns, than the file has";
        return Ok(Some(what.to_owned()));
    }
    for (column, stated) in columns.iter().zip(all) {
        let name = column.name().escape_debug();
        let holds = holds_values(file, column, certificate)?;
        // What a column held then a later erasure may have taken.
        if holds && !stated.holds_values || is_current && holds != stated.holds_values {
            return Ok(Some(match holds {
                true => format!("column `{name}` holds values of these rows"),
                false => format!("column `{name}` holds no values of these rows"),
            }));
        }
        if is_current {
            for block in &stated.blocks {
                if !is_there(file, column, block)? {
                    let (page, block) = (block.page, block.block);
                    return Ok(Some(format!(
                        "column `{name}`, page {page}, block {block}: place or digest is another one"
                    )));
                }
            }
        }
    }
    Ok(None)
}

/// Whether a column may hold values of the rows that were asked for.
fn holds_values(file: &OpenFile, column: &Column, certificate: &Certificate) -> Result<bool> {
    let is_erased = || {
        certificate
            .rows
            .asked
            .are_in(&file.catalog.changes().erased)
    };
    Ok(match (column.value_type, column.level) {
        (None, _) => false,
        (_, ErasureLevel::Hide | ErasureLevel::Immutable) => true,
        (_, ErasureLevel::Erase) => {
            !is_erased() || !encodings_that_keep_values(file, column)?.is_empty()
        }
    })
}

/// Whether a block lies where the certificate says, with the digest that it says.
fn is_there(file: &OpenFile, column: &Column, stated: &ChangedBlock) -> Result<bool> {
    let (number, first, pages) = match stated.shared {
        false => (PageNumber::Data(stated.page as usize), 0, &column.pages),
        true => (
            PageNumber::Shared(stated.page as usize),
            compliance::SHARED_PAGE_FIRST,
            &column.shared_pages,
        ),
    };
    let Some(page) = pages.get(stated.page as usize) else {
        return Ok(false);
    };
    if stated.block >= page.descriptor.n_blocks {
        return Ok(false);
    }
    let place = page.place_of(blocks_of(file, column, number)?, stated.block)?;
    if (place.start, place.end - place.start) != (stated.place, stated.bytes) {
        return Ok(false);
    }
    let bytes = file.source.read(place)?;
    let digest = compliance::block_digest(column.leaf, first + stated.page, stated.block, &bytes);
    Ok(digest == stated.after.0)
}
