//! Changes of a file, as they are collected.

use std::collections::BTreeMap;
use std::ops::Range;

use tarsia_compliance::Change;

use crate::error::Result;
use crate::source::Source;

/// Zeros at the end of a block's place are written as such from so many bytes on: they take no room in a journal.
const ZEROS_MIN: usize = 64;

/// Ranges of the file that will have other bytes. None of them overlap.
#[derive(Default)]
pub(super) struct Patches {
    bytes: BTreeMap<u64, Vec<u8>>,
    zeros: BTreeMap<u64, u64>,
}

impl Patches {
    /// These bytes from `place` on. Many zeros at their end are kept as a number.
    pub(super) fn write(&mut self, place: u64, mut bytes: Vec<u8>) {
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at + 1);
        let used = used.next_multiple_of(8).min(bytes.len());
        if bytes.len() - used >= ZEROS_MIN {
            self.zero(place + used as u64..place + bytes.len() as u64);
            bytes.truncate(used);
            bytes.shrink_to_fit();
        }
        if !bytes.is_empty() {
            self.bytes.insert(place, bytes);
        }
    }

    /// These bytes from `place` on, zeros too.
    pub(super) fn write_all(&mut self, place: u64, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.bytes.insert(place, bytes);
        }
    }

    /// Zeros.
    pub(super) fn zero(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.zeros.insert(range.start, range.end - range.start);
        }
    }

    /// A range of the file as it will be, as far as written bytes are concerned. Zeros are not looked at: they are
    /// never a part of the metadata unless a section is dropped, which is [written](Patches::write_all) as bytes.
    pub(super) fn read(&self, source: &Source, range: Range<u64>) -> Result<Vec<u8>> {
        let mut out = source.read(range.clone())?.to_vec();
        let before = self.bytes.range(..range.start).next_back();
        let inside = self.bytes.range(range.start..range.end);
        for (place, bytes) in before.into_iter().chain(inside) {
            let start = (*place).max(range.start);
            let end = (*place + bytes.len() as u64).min(range.end);
            if start >= end {
                continue;
            }
            let to = out.get_mut((start - range.start) as usize..(end - range.start) as usize);
            let from = bytes.get((start - place) as usize..(end - place) as usize);
            if let (Some(to), Some(from)) = (to, from) {
                to.copy_from_slice(from);
            }
        }
        Ok(out)
    }

    /// The ranges that are written.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let bytes = self.bytes.iter();
        bytes.map(|(place, bytes)| *place..*place + bytes.len() as u64)
    }

    /// Bytes that are written, and bytes that become zero.
    pub(super) fn counts(&self) -> (u64, u64) {
        let written = self.bytes.values().map(|bytes| bytes.len() as u64).sum();
        (written, self.zeros.values().sum())
    }

    /// All changes, rising by place.
    pub(super) fn into_changes(self) -> Vec<Change> {
        let writes = self.bytes.into_iter();
        let writes = writes.map(|(place, bytes)| (place, Change::Write { place, bytes }));
        let zeros = self.zeros.into_iter();
        let zeros = zeros.map(|(place, length)| (place, Change::Zero { place, length }));
        let mut all: Vec<_> = writes.chain(zeros).collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, change)| change).collect()
    }
}
