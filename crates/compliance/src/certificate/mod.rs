//! The certificate of an erasure: which blocks of a file changed, from which digest to which, as JSON that a third
//! party can check against the file.
//!
//! A certificate holds digests, counts and names, never values of rows. Whoever erased the rows may sign it with an
//! Ed25519 key. The signature is over the compact JSON of all other fields, in the order of [`Certificate`]. So it can
//! be checked without this crate: `json.dumps(document, separators=(",", ":"), ensure_ascii=False)` of Python gives
//! these bytes once `signature` is removed, and `openssl pkeyutl -verify -rawin` checks them. (jq 1.6 rounds numbers
//! beyond 2^53.)
//!
//! # What this module does not do
//! It opens no file: whether the digests are those of a file, and whether the public key is that of somebody who may
//! erase rows, is for callers to compare.

mod hex_text;
mod keys;

use std::fmt::Write;

use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

pub use hex_text::Hex;
use keys::{KEY_BYTES, SIGNATURE_BYTES};
pub use keys::{KeyError, PublicKey, SecretKey};

/// The version of certificates that this module writes and reads.
pub const CERTIFICATE_VERSION: u32 = 1;

/// Why a certificate or a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The bytes are no JSON of a certificate.
    #[error("no certificate: {what}")]
    Json {
        /// What the JSON parser says, with line and column.
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
        /// What is wrong with it.
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

/// What a document is. JSON has the text.
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
    /// What the document is.
    pub kind: CertificateKind,
    /// [`CERTIFICATE_VERSION`].
    pub version: u32,
    /// The file's name, as the caller gave it.
    pub file: String,
    /// The id in the file's header.
    pub file_id: Hex<16>,
    /// When the rows were erased: RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    pub time: String,
    /// What the caller wants to say, such as the number of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The level that was asked for: 1 or 2.
    pub level: u8,
    /// How many rows were erased.
    pub rows: u64,
    /// Digest of the positions of these rows.
    pub rows_digest: Hex<32>,
    /// How many rows of the file are erased now, those of earlier erasures among them.
    pub deleted_rows_after: u64,
    /// Digest of the positions of all rows that are erased now.
    pub deletion_vector_digest_after: Hex<32>,
    /// Digest of the file before.
    pub old_root: Hex<32>,
    /// Digest of the file after.
    pub new_root: Hex<32>,
    /// The epoch of the file's state before.
    pub old_epoch: u64,
    /// The epoch of the file's state after.
    pub new_epoch: u64,
    /// The version of the file format, such as `0.1`.
    pub format_version: String,
    /// The program that erased the rows, such as `tarsia 0.1.0`.
    pub library: String,
    /// The columns with changed blocks, in the file's order.
    pub columns: Vec<CertificateColumn>,
    /// Sections that were dropped since they might tell of erased values.
    pub dropped_sections: Vec<DroppedSection>,
    /// The signature over all fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// A column of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateColumn {
    /// The column's name; of a leaf of a nested column its path.
    pub name: String,
    /// The column's level: 0, 1 or 2.
    pub level: u8,
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

/// What a certificate's signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// The certificate has none.
    No,
    /// It is that of the certificate, made with the secret half of this key. Whose key that is, the caller must know.
    By(PublicKey),
}

/// What certificates of all versions have. Other fields are passed over.
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

    /// The certificate for people, without the digests of single blocks. The signature is not checked.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("Tarsia erasure certificate, version {}\n", self.version);
        let mut fact = |name: &str, value: &str| {
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "{name:<17}{}", escaped(value));
        };
        fact("file", &self.file);
        fact("file id", &self.file_id.to_string());
        fact("time", &self.time);
        if let Some(note) = &self.note {
            fact("note", note);
        }
        fact("level", &self.level.to_string());
        fact("rows erased", &self.rows.to_string());
        fact("  digest", &self.rows_digest.to_string());
        fact("erased in all", &self.deleted_rows_after.to_string());
        fact("  digest", &self.deletion_vector_digest_after.to_string());
        fact("root before", &self.old_root.to_string());
        fact("root after", &self.new_root.to_string());
        fact(
            "epochs",
            &format!("{} to {}", self.old_epoch, self.new_epoch),
        );
        fact("format", &self.format_version);
        fact("erased with", &self.library);
        for column in &self.columns {
            let of_pages = |shared| column.blocks.iter().filter(move |it| it.shared == shared);
            let moved = column.blocks.iter().filter(|block| block.moved).count();
            fact(
                "column",
                &format!(
                    "{}: level {}, {} blocks of data and {} of shared pages changed, {moved} moved",
                    column.name,
                    column.level,
                    of_pages(false).count(),
                    of_pages(true).count(),
                ),
            );
        }
        for section in &self.dropped_sections {
            let what = format!("{}, {} bytes", section.id, section.bytes);
            fact("section dropped", &what);
        }
        match &self.signature {
            None => fact("signature", "none"),
            Some(it) => fact(
                "signature",
                &format!("ed25519, public key {}", it.public_key),
            ),
        }
        text
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
        Ok(())
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

/// Names and notes may hold any characters; a terminal gets harmless ones.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Of RFC 8032, section 7.1, test 1.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    fn certificate() -> Certificate {
        let block = ChangedBlock {
            page: 3,
            shared: false,
            block: 17,
            before: Hex([7; 32]),
            after: Hex([8; 32]),
            moved: true,
        };
        Certificate {
            kind: CertificateKind::Erasure,
            version: CERTIFICATE_VERSION,
            file: "users \"ü\".tarsia".into(),
            file_id: Hex([1; 16]),
            time: "2026-01-31T12:00:00.25Z".into(),
            note: Some("request 4711\u{1b}[31m".into()),
            level: 2,
            rows: 3,
            rows_digest: Hex([2; 32]),
            deleted_rows_after: u64::MAX,
            deletion_vector_digest_after: Hex([3; 32]),
            old_root: Hex([4; 32]),
            new_root: Hex([5; 32]),
            old_epoch: 1,
            new_epoch: 3,
            format_version: "0.1".into(),
            library: "tarsia 0.1.0".into(),
            columns: vec![
                CertificateColumn {
                    name: "email".into(),
                    level: 2,
                    blocks: vec![
                        block,
                        ChangedBlock {
                            shared: true,
                            moved: false,
                            ..block
                        },
                    ],
                },
                CertificateColumn {
                    name: "address.city".into(),
                    level: 1,
                    blocks: vec![],
                },
            ],
            dropped_sections: vec![DroppedSection { id: 9, bytes: 128 }],
            signature: None,
        }
    }

    fn secret() -> SecretKey {
        SecretKey::parse(SECRET.as_bytes()).unwrap()
    }

    fn signed() -> Certificate {
        let mut certificate = certificate();
        certificate.sign(&secret()).unwrap();
        certificate
    }

    #[test]
    fn a_signed_certificate_survives_a_round_trip() {
        assert_eq!(certificate().verify_signature(), Ok(Signed::No));
        for certificate in [certificate(), signed()] {
            let text = certificate.to_json().unwrap();
            let again = Certificate::parse(text.as_bytes()).unwrap();
            assert_eq!(again, certificate);
            assert_eq!(again.to_json().unwrap(), text);
        }
        let public = secret().public_key();
        assert_eq!(public.to_string(), PUBLIC);
        assert_eq!(signed().verify_signature(), Ok(Signed::By(public)));
        // A second signature is over the same bytes, and replaces the first one.
        let mut twice = signed();
        let other = SecretKey::parse(&[9; 32]).unwrap();
        twice.sign(&other).unwrap();
        assert_eq!(twice.verify_signature(), Ok(Signed::By(other.public_key())));
        twice.sign(&secret()).unwrap();
        assert_eq!(twice, signed());
    }

    #[test]
    fn the_signature_is_over_compact_json_in_the_order_of_fields() {
        let mut short = certificate();
        short.columns.clear();
        short.note = None;
        let text = String::from_utf8(short.signed_bytes().unwrap()).unwrap();
        let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(|n: u8| Hex([n; 32]));
        let id = Hex([1; 16]);
        assert_eq!(one.to_string(), id.to_string().repeat(2));
        assert_eq!(
            text,
            format!(
                "{{\"kind\":\"tarsia erasure certificate\",\"version\":1,\"file\":\"users \\\"ü\\\".tarsia\",\
                 \"file_id\":\"{id}\",\"time\":\"2026-01-31T12:00:00.25Z\",\"level\":2,\"rows\":3,\
                 \"rows_digest\":\"{two}\",\"deleted_rows_after\":18446744073709551615,\
                 \"deletion_vector_digest_after\":\"{three}\",\"old_root\":\"{four}\",\"new_root\":\"{five}\",\
                 \"old_epoch\":1,\"new_epoch\":3,\"format_version\":\"0.1\",\"library\":\"tarsia 0.1.0\",\
                 \"columns\":[],\"dropped_sections\":[{{\"id\":9,\"bytes\":128}}]}}"
            )
        );
        short.sign(&secret()).unwrap();
        assert_eq!(short.signed_bytes().unwrap(), text.into_bytes());
    }

    /// Every document that differs from this one in one leaf, one item of a list or one optional field.
    fn changed(value: &Value) -> Vec<Value> {
        match value {
            Value::Object(fields) => fields
                .iter()
                .flat_map(|(name, value)| {
                    let name = name.clone();
                    let with = move |value| {
                        let mut fields = fields.clone();
                        fields.insert(name.clone(), value);
                        Value::Object(fields)
                    };
                    changed(value).into_iter().map(with)
                })
                .chain(fields.keys().map(|name| {
                    let mut fields = fields.clone();
                    fields.remove(name);
                    Value::Object(fields)
                }))
                .collect(),
            Value::Array(items) => {
                let mut all: Vec<Vec<Value>> = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    let with = |value| {
                        let mut items = items.clone();
                        items[i] = value;
                        items
                    };
                    all.extend(changed(item).into_iter().map(with));
                    let mut without = items.clone();
                    without.remove(i);
                    all.push(without);
                    let mut repeated = items.clone();
                    repeated.insert(i, item.clone());
                    all.push(repeated);
                }
                all.into_iter().map(Value::Array).collect()
            }
            Value::Bool(value) => vec![(!value).into()],
            Value::Number(n) => vec![(n.as_u64().unwrap() ^ 1).into()],
            Value::String(text) => (0..text.chars().count())
                .map(|at| {
                    let other = |(i, c): (usize, char)| match c {
                        _ if i != at => c,
                        '0' => '1',
                        _ => '0',
                    };
                    text.chars()
                        .enumerate()
                        .map(other)
                        .collect::<String>()
                        .into()
                })
                .collect(),
            Value::Null => vec![],
        }
    }

    #[test]
    fn every_change_breaks_the_signature() {
        let document = serde_json::to_value(signed()).unwrap();
        let (mut read, mut refused) = (0, 0);
        for other in changed(&document) {
            assert_ne!(other, document);
            let Ok(certificate) = Certificate::parse(other.to_string().as_bytes()) else {
                refused += 1;
                continue;
            };
            read += 1;
            if certificate.signature.is_some() {
                let found = certificate.verify_signature();
                assert_eq!(found, Err(CertificateError::Signature), "{other}");
            }
        }
        assert!(read > 800 && refused > 50, "{read} {refused}");
    }

    #[test]
    fn a_certificate_of_another_key_is_refused() {
        let mut mixed = signed();
        let other = SecretKey::parse(&[9; 32]).unwrap();
        if let Some(signature) = &mut mixed.signature {
            signature.public_key = other.public_key().bytes();
        }
        assert_eq!(mixed.verify_signature(), Err(CertificateError::Signature));
        // A key of small order, for which all-zero signatures suit many messages.
        if let Some(signature) = &mut mixed.signature {
            signature.public_key = Hex([0; 32]);
            signature.public_key.0[0] = 1;
            signature.value = Hex([0; 64]);
            signature.value.0[0] = 1;
        }
        assert_eq!(mixed.verify_signature(), Err(CertificateError::Signature));
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let text = signed().to_json().unwrap();
        let refused = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            Certificate::parse(changed.as_bytes()).unwrap_err()
        };
        for (from, to, what) in [
            (
                "\"level\": 2",
                "\"level\": 2, \"size\": 1",
                "unknown field `size`",
            ),
            (
                "\"level\": 2",
                "\"level\": 2, \"level\": 2",
                "duplicate field `level`",
            ),
            (
                "\"level\": 2",
                "\"level\": 3",
                "field `level`: neither 1 nor 2",
            ),
            (
                "\"level\": 2",
                "\"level\": 0",
                "field `level`: neither 1 nor 2",
            ),
            ("\"level\": 2", "\"level\": 256", "invalid value"),
            ("\"level\": 1", "\"level\": 7", "field `columns`"),
            ("\"rows\": 3", "\"rows\": -3", "invalid value"),
            ("\"rows\": 3", "\"rows\": 3.5", "invalid type"),
            (
                "\"version\": 1",
                "\"version\": 2, \"new\": []",
                "a certificate of version 2",
            ),
            ("tarsia erasure", "other erasure", "unknown variant"),
            ("ed25519", "rsa", "unknown variant"),
            ("0101", "010", "not 32 lower-case hexadecimal digits"),
            ("0707", "07AA", "not 64 lower-case hexadecimal digits"),
            (".25Z", "+02:00", "field `time`"),
            (".25Z", ".Z", "field `time`"),
            ("2026-01", "2026/01", "field `time`"),
        ] {
            let found = refused(from, to).to_string();
            assert!(found.contains(what), "{from} {to}: {found}");
        }
        let longer = Certificate::parse(format!("{text}x").as_bytes());
        let longer = longer.unwrap_err().to_string();
        assert!(longer.contains("trailing characters"), "{longer}");
        for bytes in [&b""[..], b"null", b"[]", b"\xff", &b"[".repeat(1 << 20)] {
            let found = Certificate::parse(bytes).unwrap_err();
            assert!(matches!(found, CertificateError::Json { .. }), "{found}");
        }
        for end in 0..text.trim_end().len() {
            assert!(Certificate::parse(&text.as_bytes()[..end]).is_err());
        }
        let mut wrong = certificate();
        wrong.time = "yesterday".into();
        assert!(wrong.to_json().is_err() && wrong.sign(&secret()).is_err());
    }

    #[test]
    fn people_see_no_control_characters() {
        let text = signed().to_text();
        assert!(text.contains("request 4711\\u{1b}[31m"), "{text}");
        assert!(!text.contains('\u{1b}'));
        for line in [
            "column           email: level 2, 1 blocks of data and 1 of shared pages changed, 1 moved",
            "erased in all    18446744073709551615",
            "section dropped  9, 128 bytes",
        ] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
        assert!(text.contains(PUBLIC));
        assert!(certificate().to_text().ends_with("signature        none\n"));
    }
}
