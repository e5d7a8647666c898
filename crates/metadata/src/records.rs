//! All records of a schema, one behind the other.

use crate::error::{Error, Result};
use crate::record::NodeRecord;

/// The one record with this path, of the records that the entries for a hash lead to. `None` if they have only the hash
/// in common with the path.
///
/// # Errors
/// [`Error::AmbiguousPath`] where two nodes have the path.
pub fn unique_record<'a>(
    path: &[u8],
    records: impl IntoIterator<Item = NodeRecord<'a>>,
) -> Result<Option<NodeRecord<'a>>> {
    let mut found = None;
    for record in records {
        if record.path == path && found.replace(record).is_some() {
            return Err(Error::AmbiguousPath {
                path: record.display_path(),
            });
        }
    }
    Ok(found)
}

/// All records in pre-order, as they lie back to back. An error ends the iteration. Its offset counts from the start of
/// the bytes.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    ordinal: u32,
    n_nodes: u32,
    failed: bool,
}

impl<'a> Records<'a> {
    /// The `n_nodes` records that fill `bytes`.
    pub fn new(bytes: &'a [u8], n_nodes: u32) -> Self {
        Self {
            bytes,
            at: 0,
            ordinal: 0,
            n_nodes,
            failed: false,
        }
    }

    /// The records of all descendants of a node with this ordinal, which fill `bytes`. Their number is not known before
    /// the last one is read.
    pub(crate) fn below(bytes: &'a [u8], ordinal: u32) -> Self {
        Self {
            ordinal: ordinal.saturating_add(1),
            ..Self::new(bytes, u32::MAX)
        }
    }

    /// Bytes after the last record that was read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Where the next record starts in the bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    fn step(&mut self) -> Result<Option<NodeRecord<'a>>> {
        let rest = self.rest();
        if self.ordinal == self.n_nodes {
            if rest.is_empty() {
                return Ok(None);
            }
            return Err(Error::corrupt(
                "record",
                0,
                rest.len() as u64,
                "no bytes after the last",
            ));
        }
        let record = NodeRecord::parse(rest)?;
        if record.ordinal != self.ordinal {
            return Err(Error::corrupt(
                "record.ordinal",
                8,
                record.ordinal,
                "records in order",
            ));
        }
        self.ordinal += 1;
        self.at = self.at.saturating_add(NodeRecord::length(rest)? as usize);
        Ok(Some(record))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<NodeRecord<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let at = self.at as u64;
        let step = self.step().map_err(|error| error.at(at));
        self.failed = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}
