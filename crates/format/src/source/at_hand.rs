//! Bytes of the file that are at hand. Whoever needs metadata takes it from here, and stops where it is missing. A
//! driver reads what all of the stopped need at once, which is a *wave*, and runs them again: each wave waits for the
//! source once, however many columns there are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use tarsia_io::{Access, ReadBytes, check_inside};

use super::Source;
use super::in_flight::Claim;
use crate::error::{Error, ErrorKind, Result};

/// Bytes at the end of a file in memory that are prefetched at once when it is opened, since the metadata is expected
/// there.
const TAIL_BYTES: u64 = 64 << 10;

/// A file in memory of at most this many bytes is prefetched as a whole. A disk reads it in the time of a few
/// requests, and to take a row of a few columns needs as many requests.
const SMALL_FILE_BYTES: u64 = 128 << 10;

/// The reason why a step did not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It needs bytes that are not at hand. They were noted.
    Needs,
    Failed(Error),
}

/// The result of a step: it is run again when it has stopped and what it needs has been read.
pub(crate) type Step<T> = std::result::Result<T, Stop>;

impl Stop {
    /// Changes the error, if it is one.
    pub(crate) fn map(self, change: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::Needs => Self::Needs,
            Self::Failed(error) => Self::Failed(change(error)),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<tarsia_metadata::Error> for Stop {
    fn from(error: tarsia_metadata::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs all steps, so that what each of them needs is noted before the first stop is returned.
pub(crate) fn all<T>(steps: impl IntoIterator<Item = Step<T>>) -> Step<Vec<T>> {
    let mut needs = false;
    let mut done = Vec::new();
    for step in steps {
        match step {
            Ok(value) => done.push(value),
            Err(Stop::Needs) => needs = true,
            Err(failed) => return Err(failed),
        }
    }
    match needs {
        true => Err(Stop::Needs),
        false => Ok(done),
    }
}

/// The bytes that steps may use, and notes of those that they lack.
pub(crate) struct AtHand<'s> {
    source: &'s Source,
    /// The waves so far: bytes by their first place. In one wave no two of them overlap.
    waves: Vec<BTreeMap<u64, ReadBytes<'s>>>,
    needs: RefCell<Vec<Range<u64>>>,
    /// Needs that are metadata, which are counted.
    of_metadata: RefCell<Vec<Range<u64>>>,
    /// Metadata of the last wave. Whoever is run again keeps what they were read for, so that others find it.
    claim: Option<Claim>,
    /// Whether it has waited for what others read. Once is enough: they may have failed.
    has_waited: bool,
}

impl<'s> AtHand<'s> {
    /// All bytes of a file that is in memory are at hand, of others none.
    pub(crate) fn of(source: &'s Source) -> Self {
        Self {
            source,
            waves: Vec::new(),
            needs: RefCell::default(),
            of_metadata: RefCell::default(),
            claim: None,
            has_waited: false,
        }
    }

    /// Whether nothing has to be waited for.
    pub(crate) fn is_all(&self) -> bool {
        self.source.is_mapped()
    }

    /// Whether all bytes are of one version of the file.
    pub(crate) fn is_one_version(&self) -> bool {
        self.source.is_one_version()
    }

    /// Where the end of the file begins that is asked for when it is opened, before it is known how long the metadata
    /// there is. As many bytes are read as the source would read in place of another request.
    pub(crate) fn tail_start(&self, file_bytes: u64) -> u64 {
        let (tail, small) = match self.is_all() {
            true => (TAIL_BYTES, SMALL_FILE_BYTES),
            false => {
                let gap_bytes = self.source.reader.read_options(Access::Take).gap_bytes;
                (gap_bytes, gap_bytes)
            }
        };
        match file_bytes <= small {
            true => 0,
            false => file_bytes - tail,
        }
    }

    /// The bytes of a range of the metadata.
    pub(crate) fn get(&self, range: Range<u64>) -> Step<ReadBytes<'s>> {
        if self.is_all() {
            return Ok(self.source.read_metadata(range)?);
        }
        let found = self.find(&range)?;
        if found.is_none() {
            self.of_metadata.borrow_mut().push(range.clone());
        }
        self.found(range, found)
    }

    /// The bytes of a range of blocks, which are not counted as metadata.
    pub(crate) fn get_block(&self, range: Range<u64>) -> Step<ReadBytes<'s>> {
        if self.is_all() {
            return Ok(self.source.read(range)?);
        }
        let found = self.find(&range)?;
        self.found(range, found)
    }

    fn found(&self, range: Range<u64>, found: Option<ReadBytes<'s>>) -> Step<ReadBytes<'s>> {
        found.ok_or_else(|| {
            self.needs.borrow_mut().push(range);
            Stop::Needs
        })
    }

    /// Notes ranges that are going to be needed, so that they come with the next wave; of a file in memory they are
    /// prefetched. It stops nobody.
    pub(crate) fn want(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        if self.is_all() {
            let ranges: Vec<_> = ranges.into_iter().collect();
            if !ranges.is_empty() {
                self.source.prefetch(&ranges);
            }
            return;
        }
        for range in ranges {
            if let Ok(None) = self.find(&range) {
                self.of_metadata.borrow_mut().push(range.clone());
                self.needs.borrow_mut().push(range);
            }
        }
    }

    /// The bytes of a range, if they were read.
    fn find(&self, range: &Range<u64>) -> Result<Option<ReadBytes<'s>>> {
        let n_bytes = range.end.saturating_sub(range.start);
        check_inside(range.start, n_bytes, self.source.len())?;
        for wave in &self.waves {
            let Some((start, bytes)) = wave.range(..=range.start).next_back() else {
                continue;
            };
            let at = range.start - start;
            if at + n_bytes <= bytes.len() as u64 {
                // Both are at most the length of a buffer.
                return Ok(Some(bytes.slice(at as usize..(at + n_bytes) as usize)?));
            }
        }
        Ok(None)
    }

    /// Takes the ranges that are needed: sorted, and joined where they overlap or touch.
    pub(crate) fn take_needs(&self) -> Vec<Range<u64>> {
        joined(std::mem::take(&mut *self.needs.borrow_mut()))
    }

    /// Puts the bytes of a wave at hand: those of [`AtHand::take_needs`], in its order.
    pub(crate) fn supply(&mut self, needs: &[Range<u64>], bytes: Vec<ReadBytes<'s>>) {
        let starts = needs.iter().map(|range| range.start);
        self.waves.push(starts.zip(bytes).collect());
    }

    /// Reads what is needed.
    ///
    /// # Errors
    /// Those of reading; [`ErrorKind::Corrupt`] if nothing is needed, since a step that is run again would stop again.
    pub(crate) fn fetch(&mut self) -> Result<()> {
        let needs = self.take_needs();
        if needs.is_empty() {
            let what = "a step that stopped although all that it asked for was read";
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        let of_metadata = joined(std::mem::take(&mut *self.of_metadata.borrow_mut()));
        // Before it waits for others, who may wait for it.
        self.claim = None;
        if self.has_waited || !self.source.is_far() {
            let bytes = self.source.read_wave(&needs, &of_metadata)?;
            self.supply(&needs, bytes);
            return Ok(());
        }
        let shares = self.source.in_flight.divide(needs, &of_metadata);
        if !shares.own.is_empty() {
            let bytes = self.source.read_wave(&shares.own, shares.claim.ranges())?;
            self.supply(&shares.own, bytes);
        }
        if shares.of_others.is_empty() {
            self.claim = Some(shares.claim);
            return Ok(());
        }
        // Two threads that keep their claims while they wait might wait for each other.
        drop(shares.claim);
        self.source.in_flight.wait(&shares.of_others);
        self.has_waited = true;
        Ok(())
    }
}

/// The ranges sorted, and joined where they overlap or touch.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Runs a step until it comes to its end.
pub(crate) fn run<'s, T>(source: &'s Source, step: impl Fn(&AtHand<'s>) -> Step<T>) -> Result<T> {
    let mut hand = AtHand::of(source);
    loop {
        match step(&hand) {
            Ok(done) => return Ok(done),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Needs) => hand.fetch()?,
        }
    }
}

/// Runs a step for each item until all have come to their end; in each wave the needs of all of them are read.
pub(crate) fn run_all<'s, I, T>(
    source: &'s Source,
    items: &[I],
    step: impl Fn(&AtHand<'s>, &I) -> Step<T>,
) -> Result<Vec<T>> {
    let mut hand = AtHand::of(source);
    let mut done: Vec<Option<T>> = items.iter().map(|_| None).collect();
    loop {
        let mut stopped = false;
        for (item, done) in items.iter().zip(&mut done) {
            if done.is_some() {
                continue;
            }
            match step(&hand, item) {
                Ok(value) => *done = Some(value),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Needs) => stopped = true,
            }
        }
        if !stopped {
            return Ok(done.into_iter().flatten().collect());
        }
        hand.fetch()?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tarsia_io::{CountingReader, ReadAt, SeekFile};

    use super::*;

    type Counted = CountingReader<SeekFile<std::io::Cursor<Vec<u8>>>>;

    fn source() -> (Source, Arc<Counted>) {
        let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let reader = SeekFile::new(std::io::Cursor::new(content)).unwrap();
        let reader = Arc::new(CountingReader::new(reader));
        let dynamic: Arc<dyn ReadAt> = reader.clone();
        (Source::new(dynamic, String::from("test")), reader)
    }

    #[test]
    fn all_items_share_their_waves() {
        let (source, reader) = source();
        let items = [0u64, 100_000, 200_000];
        // Each follows a pointer: its second range is known once the first was read.
        let read = run_all(&source, &items, |hand, at| {
            let first = hand.get(*at..*at + 4)?;
            let second = at + 1000 + u64::from(first[0]);
            let second = hand.get(second..second + 4)?;
            Ok((first[0], second[0]))
        });
        let expected: Vec<_> = items
            .iter()
            .map(|at| {
                let first = (*at % 256) as u8;
                (first, ((at + 1000 + u64::from(first)) % 256) as u8)
            })
            .collect();
        assert_eq!(read.unwrap(), expected);
        assert_eq!(reader.stats().requests, 6);
    }

    #[test]
    fn overlapping_needs_are_read_once_and_found_again() {
        let (source, reader) = source();
        let got = run(&source, |hand| {
            hand.want([50..60, 0..100, 90..120]);
            let parts = [hand.get(0..100), hand.get(50..60), hand.get(95..120)];
            let parts = all(parts)?;
            Ok(parts.iter().map(|part| part[0]).collect::<Vec<_>>())
        });
        assert_eq!(got.unwrap(), [0, 50, 95]);
        assert_eq!(reader.stats().requests, 1);
    }

    #[test]
    fn ranges_beyond_the_end_and_errors_end_a_run() {
        let (source, reader) = source();
        assert!(run(&source, |hand| hand.get(299_999..300_001)).is_err());
        let failed = run_all(&source, &[0, 1], |hand, item| match item {
            0 => hand.get(0..1).map(drop),
            _ => Err(Error::new(ErrorKind::Corrupt, "no").into()),
        });
        assert!(failed.is_err());
        let circle = run(&source, |_| -> Step<()> { Err(Stop::Needs) });
        assert!(circle.is_err());
        assert_eq!(reader.stats().requests, 0);
    }
}
