//! `tarsia verify-certificate`.

use std::fs;

use serde::Serialize;
use tarsia::CertificateCheck;
use tarsia::compliance::certificate::{Certificate, PublicKey, Signed};

use crate::args::VerifyCertificate;
use crate::failure::Failure;
use crate::place::Places;

use super::open::open;
use super::output::Out;

#[derive(Serialize)]
struct CertificateDocument<'a> {
    certificate: String,
    file: String,
    /// Whether all is right, and a key that the caller names has signed it.
    ok: bool,
    /// `ok`, `unsigned`, `signed by an unknown key` or `refuted`.
    verdict: &'static str,
    /// Why it is refuted.
    why: Option<&'a str>,
    /// Whether the file is the one that the erasure left, to the byte; `None` if the certificate is refuted.
    unchanged: Option<bool>,
    signed_by: Option<String>,
    columns_holding_values: Vec<&'a str>,
}

/// Whose word a certificate is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Named,
    Unknown,
    Unsigned,
}

/// Says whether the certificate is true of the file, and whether a key that the caller names has signed it.
pub(super) fn verify_certificate(
    args: &VerifyCertificate,
    places: &dyn Places,
) -> Result<(), Failure> {
    let path = args.certificate.path()?;
    let bad = |what: String| Failure::bad(path, what);
    let bytes = fs::read(path).map_err(|error| bad(error.to_string()))?;
    let certificate = Certificate::parse(&bytes).map_err(|error| bad(error.to_string()))?;
    let signed = certificate.verify_signature();
    let signed = signed.map_err(|error| bad(error.to_string()))?;
    let trust = trust(args, &signed)?;
    let file = open(places, &args.file)?;
    let checked = file.check_certificate(&certificate);
    let checked = checked.map_err(|error| Failure::of_tarsia(args.file.name(), &error))?;
    let left = match &checked {
        CertificateCheck::AsLeft => "the file is as the erasure left it",
        CertificateCheck::ErasedSince => {
            "the file descends from what the erasure left, and was erased further since"
        }
        CertificateCheck::Refuted { why } => {
            say(
                args,
                &certificate,
                &checked,
                trust,
                &format!("refuted: {why}"),
            )?;
            return Err(bad(why.clone()));
        }
        _ => return Err(bad("what the file says of it is not known here".to_owned())),
    };
    let key = match &signed {
        Signed::By(key) => key.to_string(),
        Signed::No => String::new(),
    };
    let (line, failure) = match trust {
        Trust::Named => (format!("ok: {left}; signed by {key}"), None),
        Trust::Unknown => (
            format!("signed by an unknown key: {key}; {left}, but whoever has that key says so"),
            Some("signed by an unknown key: name the keys that you trust with --signed-by"),
        ),
        Trust::Unsigned => (
            format!(
                "unsigned: {left}, but whoever can write the file can write such a certificate"
            ),
            Some("unsigned: nobody vouches for it"),
        ),
    };
    say(args, &certificate, &checked, trust, &line)?;
    match failure {
        None => Ok(()),
        Some(what) => {
            let name = args.certificate.name().display();
            Err(Failure::Untrusted(format!("{name}: {what}")))
        }
    }
}

fn trust(args: &VerifyCertificate, signed: &Signed) -> Result<Trust, Failure> {
    let keys = args.signed_by.iter().map(|key| {
        let name = key.path()?;
        let bytes = fs::read(name).map_err(|error| Failure::bad(name, error))?;
        PublicKey::parse(&bytes).map_err(|error| Failure::bad(name, error))
    });
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    Ok(match signed {
        Signed::By(key) if keys.contains(key) => Trust::Named,
        Signed::By(_) => Trust::Unknown,
        Signed::No => Trust::Unsigned,
    })
}

/// The verdict first, then the certificate.
fn say(
    args: &VerifyCertificate,
    certificate: &Certificate,
    checked: &CertificateCheck,
    trust: Trust,
    line: &str,
) -> Result<(), Failure> {
    let mut out = Out::new();
    if !args.json {
        out.line(line)?;
        out.line("")?;
        for line in certificate.to_text().lines() {
            out.line(line)?;
        }
        return out.finish();
    }
    let why = match checked {
        CertificateCheck::Refuted { why } => Some(why.as_str()),
        _ => None,
    };
    let verdict = match (why, trust) {
        (Some(_), _) => "refuted",
        (None, Trust::Named) => "ok",
        (None, Trust::Unknown) => "signed by an unknown key",
        (None, Trust::Unsigned) => "unsigned",
    };
    let holding = certificate.columns.iter().filter(|it| it.holds_values);
    out.document(&CertificateDocument {
        certificate: args.certificate.name().display().to_string(),
        file: args.file.name().display().to_string(),
        ok: verdict == "ok",
        verdict,
        why,
        unchanged: match checked {
            CertificateCheck::Refuted { .. } => None,
            other => Some(*other == CertificateCheck::AsLeft),
        },
        signed_by: certificate.signature.map(|it| it.public_key.to_string()),
        columns_holding_values: holding.map(|column| column.name.as_str()).collect(),
    })?;
    out.finish()
}
