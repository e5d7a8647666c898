//! Versions of the layouts of encodings.

use alloc::string::String;
use core::fmt;

use crate::ErrorKind;

/// Version of an encoding's layout. A reader accepts the same major version with any minor version up to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Changes when readers of earlier versions would misread the layout.
    pub major: u16,
    /// Increases with each addition that older readers do not know.
    pub minor: u16,
}

impl Version {
    /// A version from its parts.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// True if a decoder of this version reads what an encoder of `written` wrote.
    pub fn reads(self, written: Self) -> bool {
        self.major == written.major && written.minor <= self.minor
    }
}

impl Version {
    /// Appends what [`Display`](fmt::Display) shows.
    pub(crate) fn describe(self, out: &mut String) {
        ErrorKind::push_number(out, self.major.into());
        ErrorKind::push_text(out, ".");
        ErrorKind::push_number(out, self.minor.into());
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
