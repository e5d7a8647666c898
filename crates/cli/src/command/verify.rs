//! `tarsia verify`.

use serde::Serialize;

use crate::args::Verify;
use crate::failure::Failure;
use crate::place::Places;

use super::open::{ERASURE_IS_PENDING, open_with, trusting};
use super::output::Out;

#[derive(Serialize)]
struct VerifyDocument<'a> {
    file: String,
    ok: bool,
    #[serde(flatten)]
    result: VerifyResult<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum VerifyResult<'a> {
    Checked {
        columns: u64,
        pages: u64,
        blocks: u64,
        bytes: u64,
        /// Bytes behind the end of the file, which belong to nothing and are not checked.
        bytes_behind: u64,
        /// Whether an interrupted erasure has left the bytes of its rows in the file.
        erasure_is_pending: bool,
        /// Whether the values were looked at too.
        decoded: bool,
    },
    Bad {
        error: String,
        column: Option<&'a str>,
        page: Option<u64>,
        block: Option<u64>,
    },
}

pub(super) fn verify(args: &Verify, places: &dyn Places) -> Result<(), Failure> {
    let file = open_with(places, &args.file, trusting(&args.trust));
    let file = file.or_else(|failure| refused(args, failure, None))?;
    let report = match (&args.column, args.page) {
        (None, _) if args.digests => file.verify_digests(),
        (None, _) => file.verify(),
        (Some(column), None) => file.verify_column(column),
        // No file has a page with a number that does not fit; the facade reports that.
        (Some(column), Some(page)) => {
            file.verify_page(column, usize::try_from(page).unwrap_or(usize::MAX))
        }
    };
    match report.and_then(|report| Ok((report, file.metadata()?))) {
        Ok((report, metadata)) => say(args, &report, &metadata),
        Err(error) => {
            let failure = Failure::of_tarsia(args.file.name(), &error);
            refused(args, failure, Some(&error))
        }
    }
}

fn name(args: &Verify) -> String {
    args.file.name().display().to_string()
}

fn say(
    args: &Verify,
    report: &tarsia::VerifyReport,
    metadata: &tarsia::FileMetadata,
) -> Result<(), Failure> {
    let mut out = Out::new();
    let tarsia::VerifyReport {
        columns,
        pages,
        blocks,
        bytes,
        ..
    } = *report;
    if args.json {
        out.document(&VerifyDocument {
            file: name(args),
            ok: true,
            result: VerifyResult::Checked {
                columns,
                pages,
                blocks,
                bytes,
                bytes_behind: metadata.bytes_behind,
                erasure_is_pending: metadata.erasure_is_pending,
                decoded: !args.digests,
            },
        })?;
    } else {
        // With one page, the number of columns says nothing.
        let columns = if args.page.is_some() {
            String::new()
        } else {
            format!("{columns} columns, ")
        };
        let what = if args.digests { "digests ok" } else { "ok" };
        out.line(&format!(
            "{what}: {columns}{pages} pages, {blocks} blocks, {bytes} bytes"
        ))?;
        if metadata.erasure_is_pending {
            out.line(ERASURE_IS_PENDING)?;
        } else if metadata.bytes_behind > 0 {
            out.line(&format!(
                "not checked: {} bytes behind the end of the file, which belong to nothing; `tarsia recover` \
                 removes them",
                metadata.bytes_behind
            ))?;
        }
    }
    out.finish()
}

/// Ends with a failure, and a document if one is asked for. A mistake of the caller does not mean that the file is
/// damaged, so there is none of it.
fn refused<T>(
    args: &Verify,
    failure: Failure,
    error: Option<&tarsia::Error>,
) -> Result<T, Failure> {
    if let (true, Failure::Bad(text)) = (args.json, &failure) {
        let mut out = Out::new();
        out.document(&VerifyDocument {
            file: name(args),
            ok: false,
            result: VerifyResult::Bad {
                error: text.clone(),
                column: error.and_then(|error| error.column()),
                page: error.and_then(|error| error.page()),
                block: error.and_then(|error| error.block()),
            },
        })?;
        out.finish()?;
    }
    Err(failure)
}
