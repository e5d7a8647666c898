//! Errors of the contract.

use alloc::string::String;
use core::fmt;

/// The result of every step of the contract.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a step refused. Offsets count bytes from the start of the buffer the step was given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The buffer ends before the field does. `needed_bytes` is the total, not the missing rest.
    Truncated {
        /// The field, as the spec names it.
        field: &'static str,
        /// Bytes the buffer would have to hold.
        needed_bytes: u64,
        /// Bytes it holds.
        have_bytes: u64,
    },
    /// A field holds what no writer writes.
    Corrupt {
        /// The field, as the spec names it.
        field: &'static str,
        /// Where the field starts.
        at_byte: u64,
        /// Its value.
        found: u64,
        /// What is allowed, in words.
        allowed: &'static str,
    },
    /// Well formed, but this build cannot read it.
    Unsupported {
        /// What it is (an encoding id, a version, a feature).
        what: String,
    },
    /// The caller asked for something that does not fit the unit (a writer's values, a selection out of range).
    InvalidInput {
        /// What is wrong, in words.
        what: &'static str,
    },
    /// A named limit of [`crate::limits`] would be exceeded.
    LimitExceeded {
        /// The limit's name.
        limit: &'static str,
        /// The value found.
        found: u64,
        /// The largest allowed.
        max: u64,
    },
}

impl Error {
    /// Shorthand for [`Error::Corrupt`].
    #[cold]
    pub fn corrupt(
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

    /// Shorthand for [`Error::InvalidInput`].
    #[cold]
    pub fn invalid(what: &'static str) -> Self {
        Self::InvalidInput { what }
    }

    /// Shorthand for [`Error::Truncated`].
    #[cold]
    pub fn truncated(field: &'static str, needed_bytes: usize, have_bytes: usize) -> Self {
        Self::Truncated {
            field,
            needed_bytes: needed_bytes as u64,
            have_bytes: have_bytes as u64,
        }
    }

    /// Whether the bytes are to blame (and not the caller or the build).
    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Truncated { .. } | Self::Corrupt { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated {
                field,
                needed_bytes,
                have_bytes,
            } => write!(f, "{field}: need {needed_bytes} bytes, have {have_bytes}"),
            Self::Corrupt {
                field,
                at_byte,
                found,
                allowed,
            } => write!(f, "{field} at byte {at_byte}: {found} is outside {allowed}"),
            Self::Unsupported { what } => write!(f, "not supported by this build: {what}"),
            Self::InvalidInput { what } => write!(f, "invalid input: {what}"),
            Self::LimitExceeded { limit, found, max } => {
                write!(f, "{limit}: {found} exceeds the limit of {max}")
            }
        }
    }
}

impl core::error::Error for Error {}
