//! Bytes as hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Digest;

/// So many bytes, as lower-case hexadecimal digits in text and JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = String;

    /// Lower-case digits only, so that equal bytes have one text.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = [0; N];
        let is_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        if is_upper || hex::decode_to_slice(text, &mut bytes).is_err() {
            let digits = N.saturating_mul(2);
            return Err(format!("not {digits} lower-case hexadecimal digits"));
        }
        Ok(Self(bytes))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl From<Digest> for Hex<32> {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_text() {
        let bytes: Hex<2> = "0aff".parse().unwrap();
        assert_eq!((bytes, bytes.to_string()), (Hex([10, 255]), "0aff".into()));
        assert_eq!(format!("{bytes:?}"), "0aff");
        for wrong in ["", "0af", "0aff0", "0aFF", "0xff", "zzzz", "é12"] {
            assert!(wrong.parse::<Hex<2>>().is_err(), "{wrong}");
        }
    }
}
