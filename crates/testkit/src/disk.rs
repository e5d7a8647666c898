//! A disk that loses power, fills up and fails where a test wants it to.

use std::io;
use std::ops::Range;

use tarsia_io::{ChangeAt, ReadAt, check_inside};

use crate::faults::FAULT;
use crate::rng::Rng;

/// Bytes that are written as a whole or not at all.
pub const SECTOR_BYTES: u64 = 512;

/// An operation that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Bytes were written.
    Write {
        /// Offset of the first.
        place: u64,
        /// Their number.
        length: u64,
    },
    /// All was to reach the disk.
    Sync,
    /// The file got another length.
    SetLen {
        /// Its length.
        len: u64,
    },
}

/// A change that is not synced.
#[derive(Debug, Clone)]
enum Pending {
    Write { place: u64, bytes: Vec<u8> },
    SetLen(u64),
}

/// One file on a simulated disk: what processes read, what is synced, and the changes between them.
///
/// When the power is lost, any of the unsynced writes are done, in any order, each sector of [`SECTOR_BYTES`] or not;
/// changes of the length, by writes too, are done in order up to any one of them. What was never written inside the
/// length is zero.
///
/// Bytes that are cut off stay on the disk as they last reached it: a write before the cut, if nothing was synced
/// between them, may or may not have reached it. [`SimulatedDisk::left_behind`] has those that are not zero.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    now: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Pending>,
    left_behind: Vec<u8>,
    operations: Vec<Operation>,
    crash_at: Option<usize>,
    fail_at: Option<usize>,
    room: Option<u64>,
    rng: Rng,
}

impl SimulatedDisk {
    /// A disk with a file that is synced. Equal seeds make equal choices.
    pub fn new(content: Vec<u8>, seed: u64) -> Self {
        Self {
            now: content.clone(),
            durable: content,
            pending: Vec::new(),
            left_behind: Vec::new(),
            operations: Vec::new(),
            crash_at: None,
            fail_at: None,
            room: None,
            rng: Rng::new(seed),
        }
    }

    /// The operation after `n` more ones is interrupted, and all after it fail, until [`SimulatedDisk::lose_power`] or
    /// [`SimulatedDisk::restart`].
    pub fn crash_after(&mut self, n: usize) {
        self.crash_at = Some(self.operations.len() + n);
    }

    /// The operation after `n` more ones does nothing and fails. Those after it do not fail.
    pub fn fail_after(&mut self, n: usize) {
        self.fail_at = Some(self.operations.len() + n);
    }

    /// Writes that extend the file beyond `room` bytes write what fits and fail with [`io::ErrorKind::StorageFull`].
    pub fn set_room(&mut self, room: Option<u64>) {
        self.room = room;
    }

    /// The process is gone, the system is not: all that was written can be read, and is as unsynced as it was.
    pub fn restart(&mut self) {
        self.crash_at = None;
    }

    /// The power is lost and comes back.
    pub fn lose_power(&mut self) {
        let n_lengths = self.rng.between(0, self.pending.len());
        let chance = *self.rng.pick(&[0, 20, 50, 80, 100]);
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, self.rng.below(at + 1));
        }
        self.settle(n_lengths, &order, chance);
        self.crash_at = None;
    }

    /// Makes `n_lengths` changes durable as far as they change the length, and the writes, in `order`, as far as a
    /// chance of `chance` percent per sector has it.
    fn settle(&mut self, n_lengths: usize, order: &[usize], chance: u32) {
        let pending = std::mem::take(&mut self.pending);
        // The length, the lowest one on the way, and for each change where a later one cuts the file.
        let (mut len, mut low) = (self.durable.len() as u64, self.durable.len() as u64);
        let mut high = len;
        for change in pending.iter().take(n_lengths) {
            match change {
                Pending::Write { place, bytes } => len = len.max(place + bytes.len() as u64),
                Pending::SetLen(to) => len = *to,
            }
            low = low.min(len);
            high = high.max(len);
        }
        let mut cuts = vec![u64::MAX; pending.len()];
        let mut cut = u64::MAX;
        for (index, change) in pending.iter().enumerate().rev() {
            if let Some(at) = cuts.get_mut(index) {
                *at = cut;
            }
            if let Pending::SetLen(to) = change
                && index < n_lengths
            {
                cut = cut.min(*to);
            }
        }
        // What lies on the disk where the file is cut, and the file.
        let mut medium = self.durable.clone();
        medium.resize(high.max(len) as usize, 0);
        let mut file = std::mem::take(&mut self.durable);
        file.truncate(low as usize);
        file.resize(len as usize, 0);
        for index in order {
            let (Some(Pending::Write { place, bytes }), Some(cut)) =
                (pending.get(*index), cuts.get(*index))
            else {
                continue;
            };
            for part in sectors(*place, bytes.len() as u64) {
                let from = &bytes[(part.start - place) as usize..(part.end - place) as usize];
                if self.rng.percent(chance) {
                    put(&mut file, part.start, from, *cut);
                }
                if *cut < u64::MAX && self.rng.percent(chance.min(50)) {
                    put(&mut medium, part.start, from, u64::MAX);
                }
            }
        }
        let cut_off = medium.get(cut.min(u64::from(u32::MAX)) as usize..);
        let cut_off = cut_off.unwrap_or_default().iter();
        self.left_behind.extend(cut_off.filter(|byte| **byte != 0));
        self.now.clone_from(&file);
        self.durable = file;
    }

    /// Returns the bytes that a process reads.
    pub fn content(&self) -> &[u8] {
        &self.now
    }

    /// Bytes, other than zeros, that were cut off and are still on the disk.
    pub fn left_behind(&self) -> &[u8] {
        &self.left_behind
    }

    /// Returns the operations that were asked for so far.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Counts an operation. True if it is the one that is interrupted.
    fn begin(&mut self, operation: Operation) -> io::Result<bool> {
        let index = self.operations.len();
        self.operations.push(operation);
        if self.fail_at == Some(index) {
            self.fail_at = None;
            return Err(io::Error::other(FAULT));
        }
        match self.crash_at {
            Some(at) if index > at => Err(io::Error::other(FAULT)),
            at => Ok(at == Some(index)),
        }
    }
}

fn finish(is_interrupted: bool) -> io::Result<()> {
    match is_interrupted {
        true => Err(io::Error::other(FAULT)),
        false => Ok(()),
    }
}

/// The parts of a write, one per sector.
fn sectors(place: u64, length: u64) -> impl Iterator<Item = Range<u64>> {
    let end = place + length;
    let first = place / SECTOR_BYTES;
    (first..end.div_ceil(SECTOR_BYTES)).map(move |sector| {
        let start = (sector * SECTOR_BYTES).max(place);
        start..((sector + 1) * SECTOR_BYTES).min(end)
    })
}

/// Puts those of `bytes` that lie before `cut` and inside `file` to `place`.
fn put(file: &mut [u8], place: u64, bytes: &[u8], cut: u64) {
    let end = cut.min(file.len() as u64);
    let length = end.saturating_sub(place).min(bytes.len() as u64) as usize;
    if length > 0 {
        file[place as usize..place as usize + length].copy_from_slice(&bytes[..length]);
    }
}

impl ReadAt for SimulatedDisk {
    fn len(&self) -> u64 {
        self.now.len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.len())?;
        buf.copy_from_slice(&self.now[place as usize..place as usize + buf.len()]);
        Ok(())
    }
}

impl ChangeAt for SimulatedDisk {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        let is_interrupted = self.begin(Operation::Write { place, length })?;
        let end = place + length;
        let room = self.room.unwrap_or(u64::MAX).max(self.len());
        let fits = room.saturating_sub(place).min(length) as usize;
        let bytes = &bytes[..fits];
        if !bytes.is_empty() {
            let grown = self.now.len().max(place as usize + fits);
            self.now.resize(grown, 0);
            put(&mut self.now, place, bytes, u64::MAX);
            let bytes = bytes.to_vec();
            self.pending.push(Pending::Write { place, bytes });
        }
        if end > room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        finish(is_interrupted)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.begin(Operation::Sync)? {
            return finish(true);
        }
        let order: Vec<usize> = (0..self.pending.len()).collect();
        self.settle(order.len(), &order, 100);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let is_interrupted = self.begin(Operation::SetLen { len })?;
        self.now.resize(len as usize, 0);
        self.pending.push(Pending::SetLen(len));
        finish(is_interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synced_stays_and_any_of_the_rest_may_be_lost() {
        let (mut outcomes, mut lengths) = (vec![], vec![]);
        for seed in 0..400 {
            let mut disk = SimulatedDisk::new(vec![1; 1024], seed);
            disk.write_at(0, b"synced").unwrap();
            disk.sync().unwrap();
            disk.write_at(510, &[2; 4]).unwrap();
            disk.write_at(1024, &[3; 10]).unwrap();
            disk.write_at(10, &[4]).unwrap();
            assert_eq!(disk.len(), 1034);
            disk.lose_power();
            assert_eq!(&disk.content()[..6], b"synced");
            outcomes.push((disk.content()[510], disk.content()[513], disk.content()[10]));
            lengths.push(disk.content()[1024..].to_vec());
        }
        for first in [1, 2] {
            for second in [1, 2] {
                for third in [1, 4] {
                    assert!(outcomes.contains(&(first, second, third)));
                }
            }
        }
        for tail in [vec![], vec![0; 10], vec![3; 10]] {
            assert!(lengths.contains(&tail));
        }
    }

    #[test]
    fn interrupted_and_failed_operations_fail_and_a_restart_keeps_all() {
        let mut disk = SimulatedDisk::new(vec![1; 8], 0);
        disk.crash_after(1);
        disk.write_at(0, &[2]).unwrap();
        disk.sync().unwrap_err();
        disk.write_at(1, &[2]).unwrap_err();
        disk.restart();
        assert_eq!(disk.content(), [2, 1, 1, 1, 1, 1, 1, 1]);
        disk.fail_after(0);
        disk.set_len(0).unwrap_err();
        disk.sync().unwrap();
        disk.lose_power();
        assert_eq!(disk.content(), [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(disk.operations().len(), 5);
    }

    #[test]
    fn a_full_disk_takes_what_fits() {
        let mut disk = SimulatedDisk::new(vec![1; 8], 0);
        disk.set_room(Some(10));
        let error = disk.write_at(7, &[2; 5]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.content(), [1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
        disk.write_at(0, &[3; 10]).unwrap();
    }

    #[test]
    fn bytes_that_are_cut_off_are_left_behind_unless_zeros_reached_the_disk() {
        let is_left = |is_synced: bool| {
            (0..100).any(|seed| {
                let mut disk = SimulatedDisk::new(vec![1; 1024], seed);
                disk.write_at(512, &[0; 512]).unwrap();
                if is_synced {
                    disk.sync().unwrap();
                }
                disk.set_len(512).unwrap();
                disk.sync().unwrap();
                !disk.left_behind().is_empty()
            })
        };
        assert!(is_left(false));
        assert!(!is_left(true));
    }
}
