//! FlatBuffers that come from a store.

use flatbuffers::{Follow, Verifiable, VerifierOptions};

use crate::error::{Error, Result};
use crate::limits::DEPTH_MAX;

/// Verifies bytes as a FlatBuffer.
pub(crate) fn root_of<'a, T: 'a + Follow<'a> + Verifiable>(
    object: &'static str,
    bytes: &'a [u8],
) -> Result<T::Inner> {
    let options = VerifierOptions {
        // A commit, its changes, what they change, and the field.
        max_depth: DEPTH_MAX + 4,
        // Each table takes at least 4 bytes in the vector that refers to it.
        max_tables: bytes.len() / 4,
        // Limits how often bytes are read: tables that share one blob would copy it many times.
        max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1024),
        ignore_missing_null_terminator: false,
    };
    flatbuffers::root_with_opts::<T>(&options, bytes)
        .map_err(|error| Error::corrupt(object, format!("no well-formed FlatBuffer: {error}")))
}
