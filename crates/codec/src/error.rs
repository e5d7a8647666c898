//! Errors of the contract.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// The result of every step of the contract.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a step failed: an [`ErrorKind`] behind one pointer.
///
/// Almost every function of a decoder returns a result. A result of one word instead of ten made the core kernel 5 %
/// smaller.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<ErrorKind>);

/// The kind of an error, with its place. Offsets count bytes from the start of the buffer that the step was given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The buffer ends inside the field. `needed_bytes` is the total length, not the missing part.
    Truncated {
        /// The field, as the spec names it.
        field: &'static str,
        /// The length in bytes that the buffer must have.
        needed_bytes: u64,
        /// The length in bytes that it has.
        have_bytes: u64,
    },
    /// A field has a value that no writer writes.
    Corrupt {
        /// The field, as the spec names it.
        field: &'static str,
        /// The offset of the field.
        at_byte: u64,
        /// Its value.
        found: u64,
        /// Describes the values that are allowed.
        allowed: &'static str,
    },
    /// The bytes may be well formed, but this build cannot read them.
    Unsupported {
        /// Names the unsupported part (an encoding id, a version, a feature).
        what: String,
    },
    /// The caller's argument is wrong: values that an encoding cannot hold, a selection out of range, an output of the
    /// wrong size.
    InvalidInput {
        /// Describes the mistake.
        what: &'static str,
    },
    /// A limit of [`crate::limits`] is exceeded.
    LimitExceeded {
        /// The limit's name.
        limit: &'static str,
        /// The value found.
        found: u64,
        /// The largest allowed.
        max: u64,
    },
}

impl From<ErrorKind> for Error {
    #[cold]
    #[inline(never)]
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl Error {
    /// Shorthand for [`ErrorKind::Corrupt`].
    #[cold]
    #[inline]
    pub fn corrupt(
        field: &'static str,
        at_byte: usize,
        found: impl TryInto<u64>,
        allowed: &'static str,
    ) -> Self {
        Self::corrupt_u64(
            field,
            at_byte as u64,
            found.try_into().unwrap_or(u64::MAX),
            allowed,
        )
    }

    // Not generic, so that there is one copy for all types of `found`.
    #[cold]
    #[inline(never)]
    fn corrupt_u64(field: &'static str, at_byte: u64, found: u64, allowed: &'static str) -> Self {
        Self::from(ErrorKind::Corrupt {
            field,
            at_byte,
            found,
            allowed,
        })
    }

    /// Shorthand for [`ErrorKind::InvalidInput`].
    #[cold]
    #[inline(never)]
    pub fn invalid(what: &'static str) -> Self {
        Self::from(ErrorKind::InvalidInput { what })
    }

    /// Shorthand for [`ErrorKind::Truncated`].
    #[cold]
    #[inline(never)]
    pub fn truncated(field: &'static str, needed_bytes: usize, have_bytes: usize) -> Self {
        Self::from(ErrorKind::Truncated {
            field,
            needed_bytes: needed_bytes as u64,
            have_bytes: have_bytes as u64,
        })
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    #[cold]
    #[inline(never)]
    pub fn unsupported(what: &str) -> Self {
        Self::from(ErrorKind::Unsupported {
            what: String::from(what),
        })
    }

    /// Shorthand for [`ErrorKind::LimitExceeded`].
    #[cold]
    #[inline(never)]
    pub fn limit(limit: &'static str, found: u64, max: u64) -> Self {
        Self::from(ErrorKind::LimitExceeded { limit, found, max })
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns the kind of the error, owned.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// True if the bytes are wrong, not the caller or the build.
    pub fn is_corruption(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Truncated { .. } | ErrorKind::Corrupt { .. }
        )
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.describe(&mut text);
        f.write_str(&text)
    }
}

impl ErrorKind {
    /// Appends the text that [`Display`](fmt::Display) shows. Does not use `core::fmt`, which would be a tenth of a
    /// kernel's code.
    pub fn describe(&self, out: &mut String) {
        match self {
            Self::Truncated {
                field,
                needed_bytes,
                have_bytes,
            } => {
                Self::push_text(out, field);
                Self::push_text(out, ": need ");
                Self::push_number(out, *needed_bytes);
                Self::push_text(out, " bytes, have ");
                Self::push_number(out, *have_bytes);
            }
            Self::Corrupt {
                field,
                at_byte,
                found,
                allowed,
            } => {
                Self::push_text(out, field);
                Self::push_text(out, " at byte ");
                Self::push_number(out, *at_byte);
                Self::push_text(out, ": ");
                Self::push_number(out, *found);
                Self::push_text(out, " is outside ");
                Self::push_text(out, allowed);
            }
            Self::Unsupported { what } => {
                Self::push_text(out, "not supported by this build: ");
                Self::push_text(out, what);
            }
            Self::InvalidInput { what } => {
                Self::push_text(out, "invalid input: ");
                Self::push_text(out, what);
            }
            Self::LimitExceeded { limit, found, max } => {
                Self::push_text(out, limit);
                Self::push_text(out, ": ");
                Self::push_number(out, *found);
                Self::push_text(out, " exceeds the limit of ");
                Self::push_number(out, *max);
            }
        }
    }

    /// [`String::push_str`], not inlined.
    #[inline(never)]
    pub fn push_text(out: &mut String, text: &str) {
        out.push_str(text);
    }

    /// Appends a decimal number.
    pub fn push_number(out: &mut String, number: u64) {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        if number >= 10 {
            Self::push_number(out, number / 10);
        }
        if let Some(digit) = DIGITS.get((number % 10) as usize) {
            Self::push_text(out, digit);
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn texts_say_field_place_and_values() {
        for (error, text) in [
            (Error::truncated("a.b", 10, 7), "a.b: need 10 bytes, have 7"),
            (
                Error::corrupt("a.b", 0, u64::MAX, "0 or 1"),
                "a.b at byte 0: 18446744073709551615 is outside 0 or 1",
            ),
            (
                Error::unsupported("encoding x"),
                "not supported by this build: encoding x",
            ),
            (Error::invalid("no"), "invalid input: no"),
            (
                Error::limit("MAX", 1234567890, 100),
                "MAX: 1234567890 exceeds the limit of 100",
            ),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
