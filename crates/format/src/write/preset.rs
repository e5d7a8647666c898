//! Size against speed.

use std::fmt;
use std::str::FromStr;

use tarsia_cascade::Objective;

use crate::error::{Error, ErrorKind, Result};

/// Size against speed: what the search for encodings optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// The fastest to write and to read.
    Fast,
    /// Smaller, if that costs little reading time.
    #[default]
    Balanced,
    /// The smallest: encodings are tried that take much time to write or to read, general-purpose codecs among them.
    /// Blocks of text may be as large as 256 KiB, all of which a read of one row decodes.
    Compact,
}

impl From<Preset> for Objective {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Fast => Self::Fast,
            Preset::Balanced => Self::Balanced,
            Preset::Compact => Self::Compact,
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "fast" => Ok(Self::Fast),
            "balanced" => Ok(Self::Balanced),
            "compact" => Ok(Self::Compact),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("no preset `{name}`; there are fast, balanced, compact"),
            )),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Compact => "compact",
        })
    }
}
