//! The certificate of an erasure: which rows were asked for, what became of them, which columns still hold their
//! values, and which blocks of the file changed, as JSON that a third party can check against the file.
//!
//! A certificate holds digests, counts, names and numbers of rows, never values. Whoever erased the rows may sign it
//! with an Ed25519 key. The signature is over the compact JSON of all other fields, in the order of [`Certificate`]. So
//! it can be checked without this crate: `json.dumps(document, separators=(",", ":"), ensure_ascii=False)` of Python
//! gives these bytes once `signature` is removed, and `openssl pkeyutl -verify -rawin` checks them. (jq 1.6 rounds
//! numbers beyond 2^53.)
//!
//! # What this module does not do
//! It opens no file: whether the digests are those of a file, and whether the public key is that of somebody who may
//! erase rows, is for callers to compare.

mod hex_text;
mod keys;
mod printable;
mod ranges;
mod text;

use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

pub use hex_text::Hex;
use keys::{KEY_BYTES, SIGNATURE_BYTES};
pub use keys::{KeyError, PublicKey, SecretKey};
pub use printable::{is_unprintable, printable};
pub use ranges::RowRanges;

/// The version of certificates that this module writes and reads.
pub const CERTIFICATE_VERSION: u32 = 2;

/// Why a certificate or a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The bytes are no JSON of a certificate.
    #[error("no certificate: {what}")]
    Json {
        /// The words of the JSON parser, with line and column.
        what: String,
    },
    /// A certificate of a version that this module does not know.
    #[error("a certificate of version {found}; this program knows version {CERTIFICATE_VERSION}")]
    Version {
        /// The version it has.
        found: u32,
    },
    /// A field has a value that no certificate has.
    #[error("field `{field}`: {what}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Describes the mistake.
        what: String,
    },
    /// The certificate was changed after it was signed, or signed with another key.
    #[error("the signature is not that of this certificate and public key")]
    Signature,
}

impl CertificateError {
    fn json(error: &serde_json::Error) -> Self {
        Self::Json {
            what: error.to_string(),
        }
    }
}

/// The kind of a document. JSON has the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CertificateKind {
    /// The certificate of an erasure.
    #[default]
    #[serde(rename = "tarsia erasure certificate")]
    Erasure,
}

/// The certificate of one erasure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The kind of the document.
    pub kind: CertificateKind,
    /// [`CERTIFICATE_VERSION`].
    pub version: u32,
    /// The file's name, as the caller gave it.
    pub file: String,
    /// The id in the file's header.
    pub file_id: Hex<16>,
    /// When the rows were erased: RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    pub time: String,
    /// A note of the caller, such as the number of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The level that was asked for. 1: the rows were deleted, which hides them; 2: they were also erased from the
    /// columns at level 2.
    pub level: u8,
    /// The rows.
    pub rows: CertifiedRows,
    /// All rows of the file that are deleted afterwards, those of earlier erasures among them.
    pub deleted_after: RowCount,
    /// All rows of the file that the columns at level 2 do not hold afterwards.
    pub erased_after: RowCount,
    /// Digest of the file before. It is left out if the file had no salt, since it would tell about erased values then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_root: Option<Hex<32>>,
    /// Digest of the file after.
    pub new_root: Hex<32>,
    /// The epoch of the file's state before.
    pub old_epoch: u64,
    /// The epoch of the file's state after; the same if no byte of the file changed.
    pub new_epoch: u64,
    /// The version of the file format, such as `0.1`.
    pub format_version: String,
    /// The program that erased the rows, such as `tarsia 0.1.0`.
    pub library: String,
    /// All columns of the file, in its order.
    pub columns: Vec<CertificateColumn>,
    /// Sections that were dropped since they might tell of erased values.
    pub dropped_sections: Vec<DroppedSection>,
    /// The signature over all fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// The rows of an erasure, by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedRows {
    /// The rows that were asked for.
    pub asked: RowRanges,
    /// Rows asked for that readers saw before.
    pub newly_deleted: RowRanges,
    /// Rows asked for that the columns at level 2 lost by this erasure; none at level 1.
    pub erased_now: RowRanges,
    /// Rows asked for that the columns at level 2 had lost before.
    pub erased_before: RowRanges,
}

/// How many rows, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowCount {
    /// Their number.
    pub count: u64,
    /// The [digest](crate::RowSet::digest) of their positions.
    pub digest: Hex<32>,
}

/// A column of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateColumn {
    /// Its number among the columns of the file, from 0; the digests of its blocks have it.
    pub leaf: u32,
    /// The column's name; of a leaf of a nested column its path.
    pub name: String,
    /// The column's level: 0, 1 or 2.
    pub level: u8,
    /// Whether it still holds values of the rows that were asked for.
    pub holds_values: bool,
    /// The blocks whose bytes changed.
    pub blocks: Vec<ChangedBlock>,
}

/// A block whose bytes changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedBlock {
    /// The page's number, among data pages or among shared pages, counted from 0.
    pub page: u32,
    /// Whether the page is a shared page, such as a dictionary.
    pub shared: bool,
    /// The block's number in the page, counted from 0.
    pub block: u32,
    /// Where it lies in the file now.
    pub place: u64,
    /// The bytes that it has there, padding included.
    pub bytes: u64,
    /// Its digest before: the whole [`block_digest`](crate::block_digest).
    pub before: Hex<32>,
    /// Its digest after.
    pub after: Hex<32>,
    /// Whether it lies in another byte range of the file now. The old one is zero.
    pub moved: bool,
}

/// A section that a file has no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroppedSection {
    /// The section's id.
    pub id: u32,
    /// How many bytes it had.
    pub bytes: u64,
}

/// The signature of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// How it was made.
    pub algorithm: SignatureAlgorithm,
    /// The key that checks it.
    pub public_key: Hex<KEY_BYTES>,
    /// The signature's bytes.
    pub value: Hex<SIGNATURE_BYTES>,
}

/// How a signature is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignatureAlgorithm {
    /// Ed25519 (RFC 8032).
    #[serde(rename = "ed25519")]
    Ed25519,
}

/// The result of checking a certificate's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// The certificate has none.
    No,
    /// It is that of the certificate, made with the secret half of this key. Whose key that is, the caller must know.
    By(PublicKey),
}

/// Fields that certificates of all versions have. Other fields are passed over.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "kind")]
    _kind: CertificateKind,
    version: u32,
}

impl Certificate {
    /// Reads a certificate. No more memory is taken than a small multiple of the input. The signature is not checked.
    ///
    /// # Errors
    /// [`CertificateError::Json`] where the bytes are not the JSON of a certificate or have a field that certificates
    /// do not have, [`CertificateError::Version`] and [`CertificateError::Field`].
    pub fn parse(bytes: &[u8]) -> Result<Self, CertificateError> {
        let head: Head =
            serde_json::from_slice(bytes).map_err(|error| CertificateError::json(&error))?;
        check_version(head.version)?;
        let certificate: Self =
            serde_json::from_slice(bytes).map_err(|error| CertificateError::json(&error))?;
        certificate.check()?;
        Ok(certificate)
    }

    /// The certificate as JSON for a file: indented, with a line end.
    ///
    /// # Errors
    /// [`CertificateError::Version`] and [`CertificateError::Field`] where [`Certificate::parse`] would refuse it.
    pub fn to_json(&self) -> Result<String, CertificateError> {
        self.check()?;
        let mut text =
            serde_json::to_string_pretty(self).map_err(|error| CertificateError::json(&error))?;
        text.push('\n');
        Ok(text)
    }

    /// The bytes that a signature is over: compact JSON without the field `signature`.
    ///
    /// # Errors
    /// [`CertificateError::Json`] where a field has no JSON form, which no field of today does.
    pub fn signed_bytes(&self) -> Result<Vec<u8>, CertificateError> {
        let unsigned = Self {
            signature: None,
            ..self.clone()
        };
        serde_json::to_vec(&unsigned).map_err(|error| CertificateError::json(&error))
    }

    /// Signs the certificate. A signature that it has is replaced.
    ///
    /// # Errors
    /// [`CertificateError::Version`] and [`CertificateError::Field`] where [`Certificate::parse`] would refuse it.
    pub fn sign(&mut self, key: &SecretKey) -> Result<(), CertificateError> {
        self.check()?;
        let value = key.sign(&self.signed_bytes()?);
        self.signature = Some(Signature {
            algorithm: SignatureAlgorithm::Ed25519,
            public_key: key.public_key().bytes(),
            value: Hex(value),
        });
        Ok(())
    }

    /// Whether the certificate is signed, and by which key.
    ///
    /// # Errors
    /// [`CertificateError::Signature`] where its signature is not that of its other fields. Keys for which one
    /// signature suits several certificates are refused, too.
    pub fn verify_signature(&self) -> Result<Signed, CertificateError> {
        let Some(signature) = &self.signature else {
            return Ok(Signed::No);
        };
        let key = VerifyingKey::from_bytes(&signature.public_key.0)
            .map_err(|_| CertificateError::Signature)?;
        let value = ed25519_dalek::Signature::from_bytes(&signature.value.0);
        key.verify_strict(&self.signed_bytes()?, &value)
            .map_err(|_| CertificateError::Signature)?;
        Ok(Signed::By(PublicKey::of(&key)))
    }

    /// The rules that types do not state.
    fn check(&self) -> Result<(), CertificateError> {
        const LEVEL_MAX: u8 = 2;
        check_version(self.version)?;
        let refuse = |field, what: &str| {
            Err(CertificateError::Field {
                field,
                what: what.to_owned(),
            })
        };
        if !is_utc_time(&self.time) {
            return refuse(
                "time",
                "no RFC 3339 text in UTC such as 2026-01-31T12:00:00Z",
            );
        }
        if !(1..=LEVEL_MAX).contains(&self.level) {
            return refuse("level", "neither 1 nor 2");
        }
        if self.columns.iter().any(|column| column.level > LEVEL_MAX) {
            return refuse("columns", "a level that is not 0, 1 or 2");
        }
        self.rows.check(self.level)?;
        if self.new_epoch < self.old_epoch {
            return refuse("new_epoch", "before old_epoch");
        }
        let is_changed = self.new_epoch != self.old_epoch;
        let same = self.old_root == Some(self.new_root);
        if is_changed == same {
            return refuse("new_root", "another root and another epoch, or neither");
        }
        let rows = &self.rows;
        let is_empty = rows.newly_deleted.is_empty() && rows.erased_now.is_empty();
        if is_changed == is_empty {
            return refuse(
                "rows",
                "rows that were erased in a file that did not change, or none in one that did",
            );
        }
        Ok(())
    }
}

impl CertifiedRows {
    /// Checks that the four sets agree with each other.
    fn check(&self, level: u8) -> Result<(), CertificateError> {
        let refuse = |what: &str| {
            Err(CertificateError::Field {
                field: "rows",
                what: what.to_owned(),
            })
        };
        let parts = [&self.newly_deleted, &self.erased_now, &self.erased_before];
        if self.asked.is_empty() {
            return refuse("none were asked for");
        }
        if parts.iter().any(|part| !part.is_subset(&self.asked)) {
            return refuse("some that were not asked for");
        }
        if !self.erased_now.is_disjoint(&self.erased_before) {
            return refuse("some that were erased now and before");
        }
        let erased = self.erased_now.count() + self.erased_before.count();
        match level {
            1 if !self.erased_now.is_empty() => refuse("some that were erased at level 1"),
            2 if erased != self.asked.count() => refuse("some that were not erased at level 2"),
            _ => Ok(()),
        }
    }
}

fn check_version(found: u32) -> Result<(), CertificateError> {
    match found {
        CERTIFICATE_VERSION => Ok(()),
        found => Err(CertificateError::Version { found }),
    }
}

/// Whether the text has the form `YYYY-MM-DDThh:mm:ss`, perhaps a fraction, and `Z`. The calendar is not asked.
fn is_utc_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let Some((start, rest)) = bytes.split_at_checked(FORM.len()) else {
        return false;
    };
    let is_like = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    let fraction = match rest {
        b"Z" => return start.iter().zip(FORM).all(is_like),
        [b'.', fraction @ .., b'Z'] => fraction,
        _ => return false,
    };
    !fraction.is_empty()
        && fraction.iter().all(u8::is_ascii_digit)
        && start.iter().zip(FORM).all(is_like)
}

#[cfg(test)]
mod tests;
