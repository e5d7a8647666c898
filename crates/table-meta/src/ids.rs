//! Ids: digests of objects, and random numbers of 16 bytes.

use std::fmt;

use crate::error::{Error, Result};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// Reads lower-case hex digits, all of them.
            ///
            /// # Errors
            /// [`Error::InvalidInput`].
            pub fn parse(text: &str) -> Result<Self> {
                let mut bytes = [0; $bytes];
                let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
                match is_lower && hex::decode_to_slice(text, &mut bytes).is_ok() {
                    true => Ok(Self(bytes)),
                    false => Err(Error::invalid(format!(
                        concat!("{} is no ", $what, ": those have {} lower-case hex digits"),
                        text.escape_debug(),
                        2 * $bytes
                    ))),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// The BLAKE3 of an object's bytes, which is the object's name.
    ObjectId,
    32,
    "digest of an object"
);
id!(
    /// The id of a file: the one in its header, or made of it. Names the file of a table.
    FileId,
    16,
    "id of a file"
);
id!(
    /// The id of a transaction. It names a change, also where a merge repeats it.
    TxnId,
    16,
    "id of a transaction"
);
id!(
    /// The id of a table.
    TableId,
    16,
    "id of a table"
);

impl FileId {
    pub(crate) fn of_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl ObjectId {
    pub(crate) fn of_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The id of an object of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// The id of a top-level field: names change, ids do not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FieldId(pub u64);

impl FieldId {
    /// The id of the field that a transaction adds as its `ordinal`th one. So two branches never give one id to two
    /// fields.
    pub fn new(txn: &TxnId, ordinal: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"tarsia.field");
        hasher.update(&txn.0);
        hasher.update(&ordinal.to_le_bytes());
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        Self(u64::from_le_bytes(first))
    }
}

impl fmt::Display for FieldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for FieldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hex_digits_of_their_length() {
        let id = FileId([0xab; 16]);
        assert_eq!(id.to_string(), "ab".repeat(16));
        assert_eq!(FileId::parse(&id.to_string()), Ok(id));
        for other in [
            "",
            "ab",
            &"AB".repeat(16),
            &"xy".repeat(16),
            &"ab".repeat(17),
        ] {
            assert!(FileId::parse(other).is_err(), "{other}");
        }
    }

    #[test]
    fn fields_of_a_transaction_have_ids_of_their_own() {
        let (one, other) = (TxnId([1; 16]), TxnId([2; 16]));
        assert_eq!(FieldId::new(&one, 0), FieldId::new(&one, 0));
        assert_ne!(FieldId::new(&one, 0), FieldId::new(&one, 1));
        assert_ne!(FieldId::new(&one, 0), FieldId::new(&other, 0));
    }
}
