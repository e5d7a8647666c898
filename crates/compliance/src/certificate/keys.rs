//! Ed25519 keys from files.

use std::fmt;

use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::pkcs8::spki::DecodePublicKey;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

use super::hex_text::Hex;

/// Bytes of an Ed25519 key, secret or public.
pub(super) const KEY_BYTES: usize = 32;

/// Bytes of an Ed25519 signature.
pub(super) const SIGNATURE_BYTES: usize = 64;

/// Begins the text form of a key.
const PEM_START: &[u8] = b"-----BEGIN ";

/// The bytes are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no Ed25519 key: a key is 32 bytes, 64 hexadecimal digits, or PEM as `openssl genpkey -algorithm ed25519` writes it"
)]
pub struct KeyError;

/// The public half of an Ed25519 key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(Hex<KEY_BYTES>);

impl PublicKey {
    pub(super) fn of(key: &VerifyingKey) -> Self {
        Self(Hex(key.to_bytes()))
    }

    /// The key's bytes.
    #[must_use]
    pub fn bytes(&self) -> Hex<KEY_BYTES> {
        self.0
    }

    /// Reads a key: 32 bytes, 64 hexadecimal digits, or PEM as `openssl pkey -pubout` writes it.
    ///
    /// # Errors
    /// [`KeyError`] for anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        let key = match bytes.starts_with(PEM_START) {
            true => VerifyingKey::from_public_key_pem(pem_text(bytes)?).map_err(|_| KeyError)?,
            false => VerifyingKey::from_bytes(&key_bytes(bytes)?).map_err(|_| KeyError)?,
        };
        Ok(Self::of(&key))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An Ed25519 key that signs certificates. It is wiped from memory when it is dropped, and not shown by `Debug`.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// Reads a key: 32 bytes, 64 hexadecimal digits, or PEM as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// [`KeyError`] for anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.starts_with(PEM_START) {
            let key = SigningKey::from_pkcs8_pem(pem_text(bytes)?);
            return key.map(Self).map_err(|_| KeyError);
        }
        Ok(Self(SigningKey::from_bytes(&key_bytes(bytes)?)))
    }

    /// The key that checks the signatures of this one.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::of(&self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SecretKey").finish_non_exhaustive()
    }
}

fn pem_text(bytes: &[u8]) -> Result<&str, KeyError> {
    std::str::from_utf8(bytes).map_err(|_| KeyError)
}

/// A key that is not PEM. White space around digits is no part of them.
fn key_bytes(bytes: &[u8]) -> Result<[u8; KEY_BYTES], KeyError> {
    // Bytes that are digits alone are half of a key as text, not a key.
    let is_text = bytes.iter().all(u8::is_ascii_hexdigit);
    if let (false, Ok(key)) = (is_text, bytes.try_into()) {
        return Ok(key);
    }
    let mut key = [0; KEY_BYTES];
    hex::decode_to_slice(bytes.trim_ascii(), &mut key).map_err(|_| KeyError)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// The key of RFC 8032, section 7.1, test 1.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    /// The key of RFC 8410, section 10.3.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn keys_have_three_forms() {
        let raw = SECRET.parse::<Hex<32>>().unwrap().0;
        let spaced = format!(" {}\r\n", SECRET.to_uppercase());
        for form in [&raw[..], SECRET.as_bytes(), spaced.as_bytes()] {
            let key = SecretKey::parse(form).unwrap();
            assert_eq!(key.public_key().to_string(), PUBLIC);
        }
        let public = PublicKey::parse(PUBLIC.as_bytes()).unwrap();
        assert_eq!(public, SecretKey::parse(&raw).unwrap().public_key());
        let key = SecretKey::parse(PEM.as_bytes()).unwrap();
        let public = PublicKey::parse(PUBLIC_PEM.as_bytes()).unwrap();
        assert_eq!(key.public_key(), public);
        assert_eq!(format!("{key:?}"), "SecretKey(..)");
        let windows = PEM.replace('\n', "\r\n");
        assert!(SecretKey::parse(windows.as_bytes()).is_ok());
        let cut = &PEM[..PEM.len() / 2];
        for wrong in [
            "",
            &SECRET[1..],
            &SECRET[..32],
            &SECRET.replace('9', "x"),
            &format!("{SECRET}0"),
            cut,
            PUBLIC_PEM,
        ] {
            let found = SecretKey::parse(wrong.as_bytes());
            assert_eq!(found.err(), Some(KeyError), "{wrong}");
        }
        for wrong in ["", PEM] {
            assert!(PublicKey::parse(wrong.as_bytes()).is_err());
        }
    }

    /// The output of openssl; `None` if it is not installed.
    fn openssl(args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        let mut command = Command::new("openssl");
        let pipes = command.args(args).stdin(Stdio::piped());
        let mut child = pipes.stdout(Stdio::piped()).spawn().ok()?;
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        Some(output.stdout)
    }

    #[test]
    fn keys_that_openssl_makes_are_read() {
        let Some(pem) = openssl(&["genpkey", "-algorithm", "ed25519"], &[]) else {
            return;
        };
        let key = SecretKey::parse(&pem).unwrap();
        let public = openssl(&["pkey", "-pubout"], &pem).unwrap();
        assert_eq!(PublicKey::parse(&public), Ok(key.public_key()));
    }
}
