//! `tarsia verify-certificate`.

use std::fs;

use serde::Serialize;
use tarsia::compliance::certificate::{Certificate, PublicKey, Signed};

use crate::args::VerifyCertificate;
use crate::failure::Failure;

use super::open::open;
use super::output::{Out, hex};

#[derive(Serialize)]
struct CertificateDocument {
    certificate: String,
    file: String,
    /// Whether the file is the one that the erasure left, to the byte.
    unchanged: bool,
    signed_by: Option<String>,
}

/// That the certificate is of this file. A file that was changed since must still be one of its successors: of the same
/// identity, with at least the rows deleted that were deleted then.
pub(super) fn verify_certificate(args: &VerifyCertificate) -> Result<(), Failure> {
    let bad = |what: String| Failure::bad(&args.certificate, what);
    let bytes = fs::read(&args.certificate).map_err(|error| bad(error.to_string()))?;
    let certificate = Certificate::parse(&bytes).map_err(|error| bad(error.to_string()))?;
    let signed = certificate.verify_signature();
    let signed = signed.map_err(|error| bad(error.to_string()))?;
    if let Some(name) = &args.signed_by {
        let key = fs::read(name).map_err(|error| Failure::bad(name, error))?;
        let wanted = PublicKey::parse(&key).map_err(|error| Failure::bad(name, error))?;
        match &signed {
            Signed::By(key) if *key == wanted => {}
            Signed::By(_) => return Err(bad("it is signed by another key".to_owned())),
            Signed::No => return Err(bad("it is not signed".to_owned())),
        }
    }
    let file = open(&args.file)?;
    let metadata = file.metadata();
    if metadata.file_id != certificate.file_id.0 {
        return Err(bad(format!(
            "it is for another file: its id is {}, that of {} is {}",
            certificate.file_id,
            args.file.display(),
            hex(&metadata.file_id)
        )));
    }
    let unchanged = metadata.root_digest == certificate.new_root.0;
    let deleted = file.deleted_rows();
    if unchanged {
        file.verify()
            .map_err(|error| Failure::of_tarsia(&args.file, &error))?;
        if deleted.digest() != certificate.deletion_vector_digest_after.0 {
            return Err(bad("other rows are deleted than it says".to_owned()));
        }
    } else if metadata.epoch <= certificate.new_epoch
        || deleted.len() < certificate.deleted_rows_after
    {
        return Err(bad(format!(
            "the file is not the one that the erasure left: root digest {}, and {} rows deleted",
            hex(&metadata.root_digest),
            deleted.len()
        )));
    }
    let signed_by = match &signed {
        Signed::By(key) => Some(key.to_string()),
        Signed::No => None,
    };
    let mut out = Out::new();
    if args.json {
        out.document(&CertificateDocument {
            certificate: args.certificate.display().to_string(),
            file: args.file.display().to_string(),
            unchanged,
            signed_by,
        })?;
        return out.finish();
    }
    for line in certificate.to_text().lines() {
        out.line(line)?;
    }
    out.line("")?;
    out.line(match unchanged {
        true => "ok: the file is as the erasure left it",
        false => "ok: the file was erased further since; its blocks were not compared",
    })?;
    match signed_by {
        Some(key) => out.line(&format!("signed by {key}"))?,
        None => out.line("not signed: whoever can write the file can write such a certificate")?,
    }
    out.finish()
}
