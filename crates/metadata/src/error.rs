//! Errors of the metadata.

use std::fmt;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes or arguments were refused. Offsets count from the start of the buffer that the function was given;
/// [`Error::at`] makes them offsets in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The buffer ends before the field does. `needed_bytes` is the total, not the missing rest.
    #[error("{field}: need {needed_bytes} bytes, have {have_bytes}")]
    Truncated {
        /// The field, as the spec names it.
        field: &'static str,
        /// Bytes the buffer would have to hold.
        needed_bytes: u64,
        /// Bytes it holds.
        have_bytes: u64,
    },
    /// A field has a value that no writer writes.
    #[error("{field} at byte {at_byte}: {found} is outside {allowed}")]
    Corrupt {
        /// The field, as the spec names it.
        field: &'static str,
        /// Where the field starts.
        at_byte: u64,
        /// Its value.
        found: u64,
        /// Describes the values that are allowed.
        allowed: &'static str,
    },
    /// A key or a value of a schema's or a field's metadata is no text.
    #[error("the {part} `{key}` in the metadata of {owner} is no UTF-8, at byte {at_byte}")]
    MetadataText {
        /// Whose metadata it is, in words.
        owner: String,
        /// Which part of the pair.
        part: &'static str,
        /// The key, as far as it is text.
        key: String,
        /// Where the key or value starts.
        at_byte: u64,
    },
    /// A checksum does not match the bytes it covers.
    #[error("{what} at byte {place}: CRC-32C is {computed:#010x}, stored is {stored:#010x}")]
    Crc {
        /// Names what the checksum covers.
        what: &'static str,
        /// Where that starts.
        place: u64,
        /// The stored checksum.
        stored: u32,
        /// The checksum of the covered bytes.
        computed: u32,
    },
    /// A FlatBuffer that its verifier refuses.
    #[error("{what} is not a well-formed FlatBuffer: {reason}")]
    FlatBuffer {
        /// Which FlatBuffer.
        what: &'static str,
        /// The verifier's message.
        reason: String,
    },
    /// A feature bit that this build does not know.
    #[error("the file needs feature {bit} {word}, which this build does not know")]
    UnsupportedFeature {
        /// The word the bit is in.
        word: FeatureWord,
        /// The bit's number, 0 for the least significant.
        bit: u32,
    },
    /// A version that this build does not know.
    #[error("{what} version {major}.{minor} is not supported by this build")]
    UnsupportedVersion {
        /// Names what has the version.
        what: &'static str,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// Well formed, but this build cannot use it.
    #[error("not supported by this build: {what}")]
    Unsupported {
        /// Names the unsupported part.
        what: String,
    },
    /// Two fields share a path, so that it names neither.
    #[error("several columns are named {path}, so the name leads to none of them")]
    AmbiguousPath {
        /// Components joined by dots.
        path: String,
    },
    /// No bucket leads to a record.
    #[error("no bucket leads to the record of {path:?} at byte {place}")]
    Unfindable {
        /// Components of the path joined by dots.
        path: String,
        /// Where the record is.
        place: u64,
    },
    /// The arguments are wrong.
    #[error("invalid input: {what}")]
    InvalidInput {
        /// Describes the mistake.
        what: String,
    },
    /// A named limit of [`crate::limits`] would be exceeded.
    #[error("{limit}: {found} exceeds the limit of {max}")]
    LimitExceeded {
        /// The limit's name.
        limit: &'static str,
        /// The value found.
        found: u64,
        /// The largest allowed.
        max: u64,
    },
}

/// Which feature word a bit is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureWord {
    /// Needed to read the file at all.
    Read,
    /// Needed to modify it.
    Modify,
}

impl fmt::Display for FeatureWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "to be read",
            Self::Modify => "to be modified",
        })
    }
}

impl Error {
    /// Turns offsets in the error into offsets in the file; the buffer starts at `buffer_place`.
    #[must_use]
    pub fn at(mut self, buffer_place: u64) -> Self {
        match &mut self {
            Self::Corrupt { at_byte: at, .. }
            | Self::MetadataText { at_byte: at, .. }
            | Self::Crc { place: at, .. } => {
                *at = at.saturating_add(buffer_place);
            }
            _ => {}
        }
        self
    }

    /// Whether the bytes are wrong, and not the arguments or a missing feature of this build.
    pub fn is_corruption(&self) -> bool {
        matches!(
            self,
            Self::Truncated { .. }
                | Self::Corrupt { .. }
                | Self::MetadataText { .. }
                | Self::Crc { .. }
                | Self::FlatBuffer { .. }
                | Self::Unfindable { .. }
        )
    }

    #[cold]
    pub(crate) fn corrupt(
        field: &'static str,
        at_byte: usize,
        found: impl TryInto<u64>,
        allowed: &'static str,
    ) -> Self {
        Self::Corrupt {
            field,
            at_byte: at_byte as u64,
            found: found.try_into().unwrap_or(u64::MAX),
            allowed,
        }
    }

    #[cold]
    pub(crate) fn truncated(field: &'static str, needed_bytes: u64, have_bytes: usize) -> Self {
        Self::Truncated {
            field,
            needed_bytes,
            have_bytes: have_bytes as u64,
        }
    }

    #[cold]
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput { what: what.into() }
    }

    #[cold]
    pub(crate) fn limit(limit: &'static str, found: u64, max: u64) -> Self {
        Self::LimitExceeded { limit, found, max }
    }
}

impl From<tarsia_codec::Error> for Error {
    fn from(error: tarsia_codec::Error) -> Self {
        use tarsia_codec::ErrorKind as Codec;
        match error.into_kind() {
            Codec::Truncated {
                field,
                needed_bytes,
                have_bytes,
            } => Self::Truncated {
                field,
                needed_bytes,
                have_bytes,
            },
            Codec::Corrupt {
                field,
                at_byte,
                found,
                allowed,
            } => Self::Corrupt {
                field,
                at_byte,
                found,
                allowed,
            },
            Codec::Unsupported { what } => Self::Unsupported { what },
            Codec::InvalidInput { what } => Self::invalid(what),
            Codec::LimitExceeded { limit, found, max } => Self::limit(limit, found, max),
            other => Self::Unsupported {
                what: other.to_string(),
            },
        }
    }
}
