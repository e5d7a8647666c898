//! Errors of the objects of a table.

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes or arguments were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that no writer writes.
    #[error("{object}: {what}")]
    Corrupt {
        /// The kind of object, as the spec names it.
        object: &'static str,
        /// Names the field and what is wrong with it.
        what: String,
    },
    /// Well formed, but this build cannot use it.
    #[error("{object}: {what} is not supported by this build")]
    Unsupported {
        /// The kind of object.
        object: &'static str,
        /// Names the version, feature or type.
        what: String,
    },
    /// The arguments are wrong.
    #[error("{what}")]
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
    /// A Tarsia file that is a manifest or a schema could not be read or written.
    #[error("{object}: {reason}")]
    File {
        /// The kind of object.
        object: &'static str,
        /// The message of the file format.
        reason: String,
    },
}

impl Error {
    #[cold]
    pub(crate) fn corrupt(object: &'static str, what: impl Into<String>) -> Self {
        Self::Corrupt {
            object,
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn unsupported(object: &'static str, what: impl Into<String>) -> Self {
        Self::Unsupported {
            object,
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput { what: what.into() }
    }

    /// Refuses a value above a limit.
    pub(crate) fn check_limit(limit: &'static str, found: usize, max: usize) -> Result<()> {
        match found > max {
            true => Err(Self::LimitExceeded {
                limit,
                found: found as u64,
                max: max as u64,
            }),
            false => Ok(()),
        }
    }
}
