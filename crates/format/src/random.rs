//! Random bytes: ids of files, keys of salts.

use crate::error::{Error, ErrorKind, Result};

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("no random bytes: {error}")))?;
    Ok(bytes)
}
