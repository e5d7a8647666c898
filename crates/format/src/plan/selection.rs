//! Sets of rows that reads are for: runs, or a bit for each row, whichever takes less memory.

use std::ops::Range;

use arrow_buffer::bit_iterator::{BitIndexU32Iterator, BitSliceIterator};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use tarsia_compliance::RowSet;

use crate::error::{Error, ErrorKind, Result};

/// Bytes of a run in memory.
const RUN_BYTES: u64 = size_of::<Range<u64>>() as u64;

/// Rows of a table, each once, in rising order.
///
/// It takes 16 bytes for each run of rows that follow each other, or a bit for each row between the first and the last
/// if that is less.
#[derive(Clone, Debug)]
pub struct RowSelection {
    form: Form,
    n_rows: u64,
}

#[derive(Clone, Debug)]
enum Form {
    /// Rising, none empty, with rows between each two.
    Runs(Vec<Range<u64>>),
    /// A bit for each row from `first` on.
    Bits { first: u64, bits: BooleanBuffer },
}

impl Default for RowSelection {
    fn default() -> Self {
        Self::none()
    }
}

impl From<Range<u64>> for RowSelection {
    fn from(rows: Range<u64>) -> Self {
        match rows.is_empty() {
            true => Self::none(),
            false => Self {
                n_rows: rows.end - rows.start,
                form: Form::Runs(vec![rows]),
            },
        }
    }
}

impl RowSelection {
    /// No row.
    pub const fn none() -> Self {
        Self {
            form: Form::Runs(Vec::new()),
            n_rows: 0,
        }
    }

    /// The rows of ranges.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a range that begins before the end of the one before it, or ends before it
    /// begins.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Result<Self> {
        let (mut runs, mut at) = (Runs::default(), 0);
        for range in ranges {
            if range.start < at || range.end < range.start {
                let what = format!(
                    "rows do not rise: rows {}..{} follow those before row {at}",
                    range.start, range.end
                );
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            at = range.end;
            runs.push(range);
        }
        Ok(runs.finish())
    }

    /// These rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a row that is not above the one before it.
    pub fn from_rows(rows: impl IntoIterator<Item = u64>) -> Result<Self> {
        let past = |row: u64| row.checked_add(1);
        let ranges = rows.into_iter().map(|row| match past(row) {
            Some(end) => Ok(row..end),
            None => Err(Error::new(ErrorKind::InvalidInput, format!("row {row}"))),
        });
        Self::from_ranges(ranges.collect::<Result<Vec<_>>>()?)
    }

    /// The rows whose bit is set; the first bit is that of row `first`. Bits of rows beyond 2^64 do not count.
    pub fn from_bits(first: u64, bits: BooleanBuffer) -> Self {
        let bits = match bits.len() as u64 > u64::MAX - first {
            true => bits.slice(0, (u64::MAX - first) as usize),
            false => bits,
        };
        let n_rows = bits.count_set_bits() as u64;
        if n_rows == bits.len() as u64 {
            return Self::from(first..first + n_rows);
        }
        // Few rows are most often few runs; many are few runs only if they are clustered.
        let runs_max = bits.len() as u64 / 8 / RUN_BYTES;
        let mut runs = Runs::default();
        for (start, end) in bits.set_slices() {
            if runs.ranges.len() as u64 > runs_max {
                let form = Form::Bits { first, bits };
                return Self { form, n_rows };
            }
            runs.push(first + start as u64..first + end as u64);
        }
        runs.finish()
    }

    /// The rows of sets, each of which begins behind the one before it.
    pub(crate) fn concat(parts: &[Self]) -> Self {
        let runs = || parts.iter().flat_map(Self::runs);
        let first = runs().next().map_or(0, |run| run.start);
        let end = parts.iter().rev().map(Self::end).find(|end| *end > 0);
        let rows = first..end.unwrap_or(0);
        let n_rows = parts.iter().map(Self::len).sum();
        // Counted before they are kept: there may be as many as half of the rows.
        let (mut n_runs, mut at) = (0, u64::MAX);
        for run in runs() {
            n_runs += u64::from(run.start != at);
            at = run.end;
        }
        if are_bits_smaller(n_runs, &rows) {
            let bits = bits_of(runs(), &rows);
            let first = rows.start;
            let form = Form::Bits { first, bits };
            return Self { form, n_rows };
        }
        let mut all = Runs::default();
        runs().for_each(|run| all.push(run));
        all.finish()
    }

    /// How many rows it has.
    pub fn len(&self) -> u64 {
        self.n_rows
    }

    /// True if it has no row.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// True for a row of it.
    pub fn contains(&self, row: u64) -> bool {
        self.first_from(row) == Some(row)
    }

    /// The row behind its last one, or 0.
    pub fn end(&self) -> u64 {
        match &self.form {
            Form::Runs(runs) => runs.last().map_or(0, |run| run.end),
            Form::Bits { first, bits } => {
                let last = (0..bits.len()).rev().find(|index| bits.value(*index));
                last.map_or(0, |last| first + last as u64 + 1)
            }
        }
    }

    /// Its runs of rows that follow each other, rising.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.runs_within(0..u64::MAX)
    }

    /// The parts of its runs that lie in a range.
    pub fn runs_within(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        match &self.form {
            Form::Runs(runs) => RunsWithin::Runs(within(runs, &rows).iter(), rows),
            Form::Bits { first, bits } => {
                let (start, len) = places(*first, bits, &rows);
                let bytes = BitSliceIterator::new(bits.values(), bits.offset() + start, len);
                RunsWithin::Bits(bytes, first + start as u64)
            }
        }
    }

    /// Appends its rows that lie in a range of at most 2^32 rows, each as its index in the range.
    pub(crate) fn push_indices_within(&self, rows: Range<u64>, indices: &mut Vec<u32>) {
        match &self.form {
            Form::Runs(runs) => {
                for run in within(runs, &rows) {
                    let run = clipped(run, &rows);
                    indices.extend((run.start - rows.start) as u32..(run.end - rows.start) as u32);
                }
            }
            Form::Bits { first, bits } => {
                let (start, len) = places(*first, bits, &rows);
                let before = (first + start as u64).saturating_sub(rows.start) as u32;
                let set = BitIndexU32Iterator::new(bits.values(), bits.offset() + start, len);
                indices.extend(set.map(|index| before + index));
            }
        }
    }

    /// The rows that lie in a range.
    pub fn within(&self, rows: Range<u64>) -> Self {
        match &self.form {
            Form::Runs(runs) => {
                let cut = within(runs, &rows).iter().map(|run| clipped(run, &rows));
                let mut runs = Runs::default();
                cut.for_each(|run| runs.push(run));
                runs.finish()
            }
            Form::Bits { first, bits } => {
                let (start, len) = places(*first, bits, &rows);
                Self::from_bits(first + start as u64, bits.slice(start, len))
            }
        }
    }

    /// The rows that both have.
    pub fn and(&self, other: &Self) -> Self {
        let mut runs = Runs::default();
        let (fewer, more) = match self.len() <= other.len() {
            true => (self, other),
            false => (other, self),
        };
        for run in fewer.runs() {
            more.runs_within(run).for_each(|run| runs.push(run));
        }
        runs.finish()
    }

    /// The rows that a set does not have.
    pub fn without(&self, set: &RowSet) -> Self {
        if set.is_empty() {
            return self.clone();
        }
        let mut runs = Runs::default();
        for run in self.runs() {
            let mut at = run.start;
            for gone in set.ranges(run.clone()) {
                runs.push(at..gone.start);
                at = gone.end;
            }
            runs.push(at..run.end);
        }
        runs.finish()
    }

    /// The rows whose bit is set, of which the first is that of its own first row. Bits beyond its rows do not count.
    pub fn select(&self, bits: &BooleanBuffer) -> Self {
        if let Some(run) = self.as_run()
            && run.end - run.start == bits.len() as u64
        {
            return Self::from_bits(run.start, bits.clone());
        }
        let (mut at, mut runs) = (0, Runs::default());
        for run in self.runs() {
            let len = ((run.end - run.start) as usize).min(bits.len().saturating_sub(at));
            for (start, end) in bits.slice(at, len).set_slices() {
                runs.push(run.start + start as u64..run.start + end as u64);
            }
            at += len;
        }
        runs.finish()
    }

    /// Its first `n` rows, and the rest.
    pub fn split(&self, n: u64) -> (Self, Self) {
        let Some(row) = self.row_at(n) else {
            return (self.clone(), Self::none());
        };
        (self.within(0..row), self.within(row..u64::MAX))
    }

    /// Its first `n` rows.
    pub fn limit(&self, n: u64) -> Self {
        self.split(n).0
    }

    /// All but its first `n` rows.
    pub fn offset(&self, n: u64) -> Self {
        self.split(n).1
    }

    /// All rows, if they follow each other; an empty range if there is none.
    pub(crate) fn as_run(&self) -> Option<Range<u64>> {
        match &self.form {
            Form::Runs(runs) => match runs.as_slice() {
                [] => Some(0..0),
                [run] => Some(run.clone()),
                _ => None,
            },
            Form::Bits { .. } => None,
        }
    }

    /// Its first row that is not before `row`.
    pub(crate) fn first_from(&self, row: u64) -> Option<u64> {
        self.runs_within(row..u64::MAX).next().map(|run| run.start)
    }

    /// Its row number `n`, counted from 0.
    fn row_at(&self, n: u64) -> Option<u64> {
        let mut before = 0;
        for run in self.runs() {
            let len = run.end - run.start;
            if n - before < len {
                return Some(run.start + (n - before));
            }
            before += len;
        }
        None
    }

    /// Its first `n` rows that are not before `row`, and the row behind the last of them.
    pub(crate) fn piece(&self, row: u64, n: u64) -> Option<(Self, u64)> {
        let (mut runs, mut left) = (Runs::default(), n);
        for run in self.runs_within(row..u64::MAX) {
            let len = (run.end - run.start).min(left);
            runs.push(run.start..run.start + len);
            left -= len;
            if left == 0 {
                break;
            }
        }
        let end = runs.ranges.last()?.end;
        Some((runs.finish(), end))
    }
}

impl PartialEq for RowSelection {
    fn eq(&self, other: &Self) -> bool {
        self.n_rows == other.n_rows && self.runs().eq(other.runs())
    }
}

impl Eq for RowSelection {}

/// A set of rows that is being made of rising runs.
#[derive(Default)]
struct Runs {
    ranges: Vec<Range<u64>>,
    n_rows: u64,
}

impl Runs {
    /// Adds a run behind those before it, or none if it is empty.
    fn push(&mut self, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        self.n_rows += run.end - run.start;
        match self.ranges.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.ranges.push(run),
        }
    }

    fn finish(self) -> RowSelection {
        let Self { ranges, n_rows } = self;
        let first = ranges.first().map_or(0, |run| run.start);
        let end = ranges.last().map_or(0, |run| run.end);
        let rows = first..end;
        let form = match are_bits_smaller(ranges.len() as u64, &rows) {
            true => Form::Bits {
                first,
                bits: bits_of(ranges.into_iter(), &rows),
            },
            false => Form::Runs(ranges),
        };
        RowSelection { form, n_rows }
    }
}

/// Whether bits of rows take less memory than so many runs of them.
fn are_bits_smaller(n_runs: u64, rows: &Range<u64>) -> bool {
    n_runs * RUN_BYTES > (rows.end - rows.start).div_ceil(8) + RUN_BYTES
}

/// A bit for each of `rows`, set for those of rising runs.
fn bits_of(runs: impl Iterator<Item = Range<u64>>, rows: &Range<u64>) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new((rows.end - rows.start) as usize);
    let mut at = rows.start;
    for run in runs {
        bits.append_n((run.start - at) as usize, false);
        bits.append_n((run.end - run.start) as usize, true);
        at = run.end;
    }
    bits.finish()
}

/// The runs that have rows of a range.
fn within<'r>(runs: &'r [Range<u64>], rows: &Range<u64>) -> &'r [Range<u64>] {
    let first = runs.partition_point(|run| run.end <= rows.start);
    let end = runs.partition_point(|run| run.start < rows.end);
    runs.get(first..end).unwrap_or_default()
}

fn clipped(run: &Range<u64>, rows: &Range<u64>) -> Range<u64> {
    run.start.max(rows.start)..run.end.min(rows.end)
}

/// The first bit of a range of rows, and how many it has.
fn places(first: u64, bits: &BooleanBuffer, rows: &Range<u64>) -> (usize, usize) {
    let place = |row: u64| row.saturating_sub(first).min(bits.len() as u64) as usize;
    let (start, end) = (place(rows.start), place(rows.end));
    (start, end.saturating_sub(start))
}

/// The parts of runs in a range of rows.
enum RunsWithin<'a> {
    Runs(std::slice::Iter<'a, Range<u64>>, Range<u64>),
    /// Slices of bits, of which the first is that of a row.
    Bits(BitSliceIterator<'a>, u64),
}

impl Iterator for RunsWithin<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        match self {
            Self::Runs(runs, rows) => runs.next().map(|run| clipped(run, rows)),
            Self::Bits(slices, first) => {
                let (start, end) = slices.next()?;
                Some(*first + start as u64..*first + end as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows_of(selection: &RowSelection) -> Vec<u64> {
        selection.runs().flatten().collect()
    }

    fn of_bools(first: u64, bits: &[bool]) -> RowSelection {
        RowSelection::from_bits(first, BooleanBuffer::from(bits))
    }

    /// Runs of rows that are selected and others that are not, so that both forms are met.
    fn bools() -> impl Strategy<Value = Vec<bool>> {
        let runs = prop::collection::vec((1_usize..200, any::<bool>()), 0..12);
        let scattered = prop::collection::vec(any::<bool>(), 0..300);
        (runs, scattered).prop_map(|(runs, scattered)| {
            let of_run = |(len, is_set): (usize, bool)| std::iter::repeat_n(is_set, len);
            let runs = runs.into_iter().flat_map(of_run);
            runs.chain(scattered).collect()
        })
    }

    proptest! {
        #[test]
        fn operations_are_those_of_sets_of_rows(
            a in bools(),
            b in bools(),
            first in 0_u64..100,
            range in (0_u64..600, 0_u64..600),
            n in 0_u64..600,
        ) {
            let (left, right) = (of_bools(first, &a), of_bools(7, &b));
            let rows: Vec<u64> = (0..a.len()).filter(|i| a[*i]).map(|i| first + i as u64).collect();
            prop_assert_eq!(rows_of(&left), rows.clone());
            prop_assert_eq!(left.len(), rows.len() as u64);
            prop_assert_eq!(left.end(), rows.last().map_or(0, |row| row + 1));
            prop_assert_eq!(&RowSelection::from_rows(rows.clone()).unwrap(), &left);
            prop_assert_eq!(&RowSelection::from_ranges(left.runs()).unwrap(), &left);
            let others = rows_of(&right);
            let both: Vec<u64> = rows.iter().copied().filter(|row| others.contains(row)).collect();
            prop_assert_eq!(rows_of(&left.and(&right)), both);
            let mut set = RowSet::new();
            right.runs().for_each(|run| set.insert_range(run));
            let rest: Vec<u64> = rows.iter().copied().filter(|row| !others.contains(row)).collect();
            prop_assert_eq!(rows_of(&left.without(&set)), rest);
            let range = range.0.min(range.1)..range.0.max(range.1);
            let inside: Vec<u64> = rows.iter().copied().filter(|row| range.contains(row)).collect();
            prop_assert_eq!(rows_of(&left.within(range.clone())), inside.clone());
            prop_assert_eq!(&left.runs_within(range.clone()).flatten().collect::<Vec<_>>(), &inside);
            let (mut places, behind) = (vec![7], |place: &u32| range.start + u64::from(*place));
            left.push_indices_within(range.clone(), &mut places);
            prop_assert_eq!(places[1..].iter().map(behind).collect::<Vec<_>>(), inside);
            let next = rows.iter().copied().find(|row| *row >= range.start);
            prop_assert_eq!(left.first_from(range.start), next);
            let (head, tail) = left.split(n);
            let at = rows.len().min(n as usize);
            prop_assert_eq!((rows_of(&head), rows_of(&tail)), (rows[..at].to_vec(), rows[at..].to_vec()));
            let piece = left.piece(range.start, n.max(1));
            let expected: Vec<u64> = rows.iter().copied().filter(|row| *row >= range.start).collect();
            let expected = &expected[..expected.len().min(n.max(1) as usize)];
            prop_assert_eq!(piece.as_ref().map(|(piece, _)| rows_of(piece)).unwrap_or_default(), expected);
            prop_assert_eq!(piece.map(|(_, end)| end), expected.last().map(|row| row + 1));
            for row in 0..600 {
                prop_assert_eq!(left.contains(row), rows.contains(&row));
            }
        }

        #[test]
        fn sets_behind_each_other_are_joined(parts in prop::collection::vec(bools(), 0..4)) {
            let (mut at, mut sets, mut all) = (5, Vec::new(), Vec::new());
            for part in parts {
                let set = of_bools(at, &part);
                at += part.len() as u64;
                all.extend(rows_of(&set));
                sets.push(set);
            }
            prop_assert_eq!(rows_of(&RowSelection::concat(&sets)), all);
        }

        #[test]
        fn bits_select_among_rows(rows in bools(), bits in bools()) {
            let selection = of_bools(3, &rows);
            let mut bits = bits;
            bits.resize(selection.len() as usize, true);
            let expected: Vec<u64> = rows_of(&selection)
                .into_iter()
                .zip(&bits)
                .filter_map(|(row, is_set)| is_set.then_some(row))
                .collect();
            prop_assert_eq!(rows_of(&selection.select(&BooleanBuffer::from(bits))), expected);
        }
    }

    #[test]
    fn rows_that_do_not_rise_are_refused() {
        for ranges in [
            vec![3..5, 4..6],
            vec![5..6, 0..1],
            vec![Range { start: 4, end: 3 }],
        ] {
            let error = RowSelection::from_ranges(ranges).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        assert!(RowSelection::from_rows([1, 1]).is_err());
        assert!(RowSelection::from_rows([u64::MAX]).is_err());
        let empty = RowSelection::from_ranges([4..4, 9..9]).unwrap();
        assert!(empty.is_empty() && empty == RowSelection::none());
    }

    #[test]
    fn scattered_rows_take_a_bit_each() {
        let odd = RowSelection::from_rows((0..10_000).map(|i| 2 * i + 1)).unwrap();
        assert!(matches!(odd.form, Form::Bits { .. }));
        let far = RowSelection::from_rows((0..100).map(|i| i << 40)).unwrap();
        assert!(matches!(far.form, Form::Runs(_)));
        assert_eq!(far.end(), (99 << 40) + 1);
    }
}
