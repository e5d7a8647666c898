//! Encrypted columns under a footer that is not. The `parquet` crate, without its decryption, passes over what the
//! footer says of them, and takes their pages for damaged ones.

use super::thrift::walk;

/// The path of the metadata of a column's encryption: row groups, their columns, this field.
const CRYPTO_METADATA: [i16; 3] = [4, 1, 8];

/// The ordinal of the first column that is encrypted.
pub(super) fn first_column(footer: &[u8]) -> Option<usize> {
    let mut found = None;
    // What cannot be read to its end is for the reader to refuse.
    let _ = walk(footer, &mut |field| {
        if field.path == CRYPTO_METADATA {
            found.get_or_insert(field.element);
        }
    });
    found
}
