//! `tarsia verify`.

use serde::Serialize;

use crate::args::Verify;
use crate::failure::Failure;

use super::open::{ERASURE_IS_PENDING, trusting};
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

pub(super) fn verify(args: &Verify) -> Result<(), Failure> {
    let name = || args.file.display().to_string();
    let opened = tarsia::File::open_with(&args.file, trusting(&args.trust));
    let checked = opened.and_then(|file| {
        let report = match (&args.column, args.page) {
            (None, _) if args.digests => file.verify_digests(),
            (None, _) => file.verify(),
            (Some(column), None) => file.verify_column(column),
            // No file has a page with a number that does not fit; the facade reports that.
            (Some(column), Some(page)) => {
                file.verify_page(column, usize::try_from(page).unwrap_or(usize::MAX))
            }
        };
        Ok((report?, file.metadata()))
    });
    let mut out = Out::new();
    match checked {
        Ok((report, metadata)) => {
            let tarsia::VerifyReport {
                columns,
                pages,
                blocks,
                bytes,
                ..
            } = report;
            if args.json {
                out.document(&VerifyDocument {
                    file: name(),
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
        Err(error) => {
            let failure = Failure::of_tarsia(&args.file, &error);
            // A mistake of the caller does not mean that the file is damaged.
            if args.json && matches!(failure, Failure::Bad(_)) {
                out.document(&VerifyDocument {
                    file: name(),
                    ok: false,
                    result: VerifyResult::Bad {
                        error: error.to_string(),
                        column: error.column(),
                        page: error.page(),
                        block: error.block(),
                    },
                })?;
                out.finish()?;
            }
            Err(failure)
        }
    }
}
