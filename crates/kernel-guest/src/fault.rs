//! Why calls fail.

use alloc::boxed::Box;
use alloc::string::String;

use tarsia_codec::{Error, ErrorKind};

use crate::abi::{Malformed, code};

/// Why a call failed: a code of [`code`](mod@code) and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Below zero.
    pub code: i32,
    /// Says what is wrong and where.
    pub message: String,
}

/// A [`Failure`] behind one pointer: results inside this module are one word.
pub(crate) struct Fault(Box<Failure>);

impl Fault {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(code: i32, message: &str) -> Self {
        let mut text = String::new();
        ErrorKind::push_text(&mut text, message);
        let message = text;
        Self(Box::new(Failure { code, message }))
    }

    /// A message with a number in it.
    #[cold]
    #[inline(never)]
    pub(crate) fn numbered(code: i32, before: &str, number: u64, after: &str) -> Self {
        let mut message = String::new();
        ErrorKind::push_text(&mut message, before);
        ErrorKind::push_number(&mut message, number);
        ErrorKind::push_text(&mut message, after);
        Self(Box::new(Failure { code, message }))
    }

    /// Puts the message under another code.
    pub(crate) fn with_code(mut self, code: i32) -> Self {
        self.0.code = code;
        self
    }
}

impl From<Malformed> for Fault {
    #[cold]
    #[inline(never)]
    fn from(malformed: Malformed) -> Self {
        let mut message = String::new();
        ErrorKind::push_text(&mut message, "request: ");
        ErrorKind::push_text(&mut message, malformed.what);
        ErrorKind::push_text(&mut message, " at byte ");
        Self::numbered(code::MALFORMED, &message, malformed.at as u64, "")
    }
}

impl From<Error> for Fault {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Unsupported { .. } => code::UNSUPPORTED,
            ErrorKind::LimitExceeded { .. } => code::LIMIT,
            _ => code::MALFORMED,
        };
        let mut message = String::new();
        error.kind().describe(&mut message);
        Self(Box::new(Failure { code, message }))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        *fault.0
    }
}

pub(crate) type Result<T, E = Fault> = core::result::Result<T, E>;

/// A range that the host named is not inside the memory.
#[cold]
#[inline(never)]
pub(crate) fn outside(what: &str) -> Fault {
    let mut message = String::new();
    ErrorKind::push_text(&mut message, what);
    ErrorKind::push_text(&mut message, " lies outside the kernel's memory");
    Fault::new(code::MALFORMED, &message)
}

/// An error in a piece of a batch.
#[cold]
#[inline(never)]
pub(crate) fn in_piece(number: usize, error: Error) -> Fault {
    let Failure { code, message } = Fault::from(error).into();
    let mut after = String::new();
    ErrorKind::push_text(&mut after, ": ");
    ErrorKind::push_text(&mut after, &message);
    Fault::numbered(code, "piece ", number as u64, &after)
}

/// A row that does not rise, or that no input holds.
#[cold]
#[inline(never)]
pub(crate) fn unordered(row: u32) -> Fault {
    let after = " is out of order or beyond the inputs";
    Fault::numbered(code::MALFORMED, "row ", row.into(), after)
}
