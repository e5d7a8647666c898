//! The decoder: all values of a unit from front to back, or a few by following copies back to the new values that they
//! are of.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::{children_of, decode_by_gather};
use tarsia_codec::{
    AlignedBuf, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, ValueType, Version,
};

use crate::Window;
use crate::layout::{self, Before, ID, Reference, UnitParts, VERSION};

impl Encoding for Window {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [new, steps, distances, values] = children_of(children)?;
        Ok(Box::new(UnitDecoder {
            reference: Reference::of(node)?,
            width: node.value_type.fixed_bytes().unwrap_or(1) as u32,
            numbers: [new, steps, distances],
            values,
        }))
    }
}

/// Bytes that are decoded in the time of a look at a step.
const BYTES_PER_LOOK: u64 = 256;

struct UnitDecoder {
    reference: Reference,
    /// Bytes of a value.
    width: u32,
    numbers: [Box<dyn Decoder>; 3],
    values: Box<dyn Decoder>,
}

/// The steps of a unit up to some value, checked: distances reach no further back than the unit's start, and no less
/// than a copy is long.
#[derive(Clone, Copy)]
struct Steps<'a> {
    /// For each step the new values up to its end.
    new_ends: &'a [u32],
    /// For each step the values up to its end.
    ends: &'a [u32],
    /// For each step how far back the copied values lie; 0 where none are copied.
    distances: &'a [u32],
}

/// Consecutive values: where they are in the unit, how many, where they go in the output. For new values that were
/// found, the first number counts new values alone.
type Piece = [u32; 3];

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.width as usize, n_selected)?;
        let parts = UnitParts::parse(&unit, self.width)?;
        let mut bufs = [(); 3].map(|()| scratch.take(0));
        let until = match selection {
            Selection::All => unit.len,
            Selection::Range { start, len } => start + len,
            Selection::Indices(indices) => indices.last().map_or(0, |last| last + 1),
        };
        let found = self.steps(&unit, &parts, until, scratch, &mut bufs);
        let done = found.and_then(|steps| match selection {
            Selection::All => self.all(&parts, steps, scratch, to),
            _ if n_selected == 0 => Ok(()),
            _ => match self.some(&parts, steps, selection, scratch, to)? {
                StepSearch::All => Ok(()),
                StepSearch::TooManySteps => {
                    let out = Output::Fixed(to);
                    let value_type = ValueType::Fixed(self.width);
                    decode_by_gather(self, value_type, unit, selection, scratch, out).map(|_| ())
                }
            },
        });
        bufs.into_iter().for_each(|buf| scratch.give(buf));
        done.map(|()| 0)
    }
}

/// Whether all selected values were found.
enum StepSearch {
    All,
    TooManySteps,
}

impl UnitDecoder {
    /// Decodes the steps, and checks those of the values before `until`.
    fn steps<'b>(
        &self,
        unit: &Unit<'_>,
        parts: &UnitParts<'_>,
        until: u32,
        scratch: &mut Scratch,
        bufs: &'b mut [AlignedBuf; 3],
    ) -> Result<Steps<'b>> {
        for ((buf, child), of_child) in bufs.iter_mut().zip(&self.numbers).zip(parts.numbers) {
            buf.reset_len(of_child.len as usize * 4);
            child.decode(of_child, Selection::All, scratch, Output::Fixed(buf))?;
        }
        let [new, steps, distances] = bufs.each_mut().map(|buf| buf.as_values_mut::<u32>());
        let (new, steps, distances) = (new?, steps?, distances?);
        let sizes = Sizes {
            n_values: unit.len,
            n_new: parts.values.len,
            until,
        };
        let n = match self.reference {
            // A loop for each, since it takes a good part of the time of a single row.
            Reference::Copied => check(Reference::Copied, new, steps, distances, sizes),
            Reference::Step => check(Reference::Step, new, steps, distances, sizes),
            Reference::Distance => check(Reference::Distance, new, steps, distances, sizes),
        }?;
        Ok(Steps {
            new_ends: new.get(..n).unwrap_or_default(),
            ends: steps.get(..n).unwrap_or_default(),
            distances: distances.get(..n).unwrap_or_default(),
        })
    }

    fn all(
        &self,
        parts: &UnitParts<'_>,
        steps: Steps<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let width = self.width as usize;
        let mut new = scratch.take(parts.values.len as usize * width);
        let out = Output::Fixed(&mut new);
        let done = self
            .values
            .decode(parts.values, Selection::All, scratch, out);
        let copied = done.map(|_| expand(&new, width, steps, to));
        scratch.give(new);
        match copied? {
            Some(()) => Ok(()),
            None => Err(misfit()),
        }
    }

    /// Decodes the selected values alone, unless copies have to be followed for longer than decoding all takes.
    fn some(
        &self,
        parts: &UnitParts<'_>,
        steps: Steps<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<StepSearch> {
        let width = self.width as usize;
        let n_selected = to.len() / width;
        // Pieces are of different values of the output, so there are never more.
        let piece_bytes = n_selected * size_of::<Piece>();
        let (mut open, mut new) = (scratch.take(piece_bytes), scratch.take(piece_bytes));
        let mut values = scratch.take(0);
        let done = open.as_values_mut::<Piece>().and_then(|open| {
            let unit_bytes = u64::from(steps.len()) * u64::from(self.width);
            let mut trail = Trail {
                steps,
                open,
                found: new.as_values_mut::<Piece>()?,
                n_found: 0,
                looks_left: unit_bytes / BYTES_PER_LOOK + 64,
            };
            if trail.follow(selection).is_none() {
                return Ok(StepSearch::TooManySteps);
            }
            let found = trail.found.get(..trail.n_found).unwrap_or_default();
            // New values of one row, or of a few, lie close together.
            let first = found.iter().map(|[at, ..]| *at).min().unwrap_or(0);
            let end = found.iter().map(|[at, n, _]| at + n).max().unwrap_or(0);
            let range = Selection::from(&(first..end));
            values.reset_len((end - first) as usize * width);
            let out = Output::Fixed(&mut values);
            self.values.decode(parts.values, range, scratch, out)?;
            let placed = place(&values, first, found, width, to);
            let copied = placed.and_then(|()| match selection {
                Selection::Range { start, .. } => steps.copy_inside(start, width, to),
                Selection::All | Selection::Indices(_) => Some(()),
            });
            copied.map(|()| StepSearch::All).ok_or_else(misfit)
        });
        [open, new, values]
            .into_iter()
            .for_each(|buf| scratch.give(buf));
        done
    }
}

/// Writes new values, of which the first is number `first`, to where they belong.
fn place(new: &[u8], first: u32, found: &[Piece], width: usize, to: &mut [u8]) -> Option<()> {
    for [at, n, place] in found.iter().map(|piece| piece.map(|it| it as usize)) {
        let from = at.checked_sub(first as usize)? * width;
        let from = new.get(from..from + n * width)?;
        let to = to.get_mut(place * width..(place + n) * width)?;
        to.copy_from_slice(from);
    }
    Some(())
}

/// Sizes that the steps of a unit have to fit.
#[derive(Clone, Copy)]
struct Sizes {
    n_values: u32,
    n_new: u32,
    /// Steps behind this value are not looked at, unless all are.
    until: u32,
}

/// Checks steps, and turns numbers into ends and stored distances into distances. Returns the number of steps that it
/// looked at.
#[inline(always)]
fn check(
    reference: Reference,
    new: &mut [u32],
    steps: &mut [u32],
    distances: &mut [u32],
    sizes: Sizes,
) -> Result<usize> {
    let is_whole = sizes.until >= sizes.n_values;
    let (mut at, mut n_new, mut before, mut n) = (0, 0, Before::default(), 0);
    let all = new.iter_mut().zip(steps.iter_mut()).zip(distances);
    for ((new, end), distance) in all {
        let (of_step, is_new) = (*end, *new);
        if of_step == 0 || of_step > sizes.n_values - at {
            let allowed = "1 ..= the values that are left";
            return Err(Error::corrupt("window.steps", n, of_step, allowed));
        }
        if is_new > of_step || is_new > sizes.n_new - n_new {
            let allowed = "at most the step's values and the new values that are left";
            return Err(Error::corrupt("window.new", n, is_new, allowed));
        }
        let n_copied = of_step - is_new;
        let stored = layout::unzigzag(*distance);
        if n_copied == 0 {
            if stored != 0 {
                let allowed = "0 in a step that copies nothing";
                return Err(Error::corrupt("window.distances", n, *distance, allowed));
            }
        } else {
            let found = before.expected(reference, is_new, n_copied) + stored;
            if found < n_copied.into() || found > i64::from(at + is_new) {
                let allowed = "a distance of at least the copy's length that stays inside";
                return Err(Error::corrupt("window.distances", n, *distance, allowed));
            }
            before.distance = found as u32;
            *distance = found as u32;
        }
        before.values = of_step;
        at += of_step;
        n_new += is_new;
        (*end, *new) = (at, n_new);
        n += 1;
        if at >= sizes.until && !is_whole {
            return Ok(n);
        }
    }
    if at < sizes.n_values {
        let allowed = "numbers that add up to the number of values";
        return Err(Error::corrupt("window.steps", 0, at, allowed));
    }
    if n_new != sizes.n_new {
        let allowed = "numbers that add up to the number of new values";
        return Err(Error::corrupt("window.new", 0, n_new, allowed));
    }
    Ok(n)
}

/// Writes all values of a unit. `None` if the steps do not fit the buffers, which checked ones do.
fn expand(new: &[u8], width: usize, steps: Steps<'_>, to: &mut [u8]) -> Option<()> {
    let (mut at, mut new_at) = (0, 0);
    let numbers = steps.new_ends.iter().zip(steps.ends).zip(steps.distances);
    for ((new_end, end), distance) in numbers {
        let (new_end, end) = (*new_end as usize * width, *end as usize * width);
        let of_step = new.get(new_at..new_end)?;
        let copy_at = at + of_step.len();
        to.get_mut(at..copy_at)?.copy_from_slice(of_step);
        if copy_at < end {
            let (before, rest) = to.split_at_mut_checked(copy_at)?;
            let from = copy_at.checked_sub(*distance as usize * width)?;
            let copied = before.get(from..from + (end - copy_at))?;
            rest.get_mut(..copied.len())?.copy_from_slice(copied);
        }
        (at, new_at) = (end, new_end);
    }
    Some(())
}

impl<'a> Steps<'a> {
    /// The number of values.
    fn len(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The step that holds the value at `at`.
    fn of(&self, at: u32) -> Option<Step> {
        self.step(self.ends.partition_point(|end| *end <= at))
    }

    fn step(&self, i: usize) -> Option<Step> {
        let (end, new_end) = (*self.ends.get(i)?, *self.new_ends.get(i)?);
        let (start, new_start) = match i.checked_sub(1) {
            None => (0, 0),
            Some(before) => (*self.ends.get(before)?, *self.new_ends.get(before)?),
        };
        Some(Step {
            start,
            copy_at: start + (new_end - new_start),
            end,
            new_start,
            distance: *self.distances.get(i)?,
        })
    }

    /// The steps that hold values of `range`.
    fn inside(self, range: Range<u32>) -> impl Iterator<Item = Step> + 'a {
        let first = self.ends.partition_point(|end| *end <= range.start);
        let steps = (first..self.ends.len()).map_while(move |i| self.step(i));
        steps.take_while(move |step| step.start < range.end)
    }

    /// The copies among the values from `start` on, `to`, whose sources are among them, from front to back.
    fn copy_inside(self, start: u32, width: usize, to: &mut [u8]) -> Option<()> {
        let end = start + (to.len() / width) as u32;
        for step in self.inside(start..end) {
            let from = step.copy_at.max(start.checked_add(step.distance)?);
            let until = step.end.min(end);
            if step.distance == 0 || from >= until {
                continue;
            }
            let at = (from - start) as usize * width;
            let n = (until - from) as usize * width;
            let (before, rest) = to.split_at_mut_checked(at)?;
            let source = at.checked_sub(step.distance as usize * width)?;
            let copied = before.get(source..source + n)?;
            rest.get_mut(..n)?.copy_from_slice(copied);
        }
        Some(())
    }
}

/// One step.
#[derive(Clone, Copy)]
struct Step {
    /// Where its new values start in the unit.
    start: u32,
    /// Where its copied values start, which is where the new ones end.
    copy_at: u32,
    end: u32,
    /// The number of new values before it.
    new_start: u32,
    distance: u32,
}

/// Follows copies back to new values.
struct Trail<'s, 'b> {
    steps: Steps<'s>,
    /// Pieces that are still to be followed.
    open: &'b mut [Piece],
    /// New values.
    found: &'b mut [Piece],
    n_found: usize,
    /// Looks at a step until decoding all values would be faster.
    looks_left: u64,
}

impl Trail<'_, '_> {
    /// Finds the new values that the selected values are, or are copies of; in a range, copies of values of the range
    /// are left out. `None` if that takes, or will most likely take, too many looks.
    fn follow(&mut self, selection: Selection<'_>) -> Option<()> {
        match selection {
            Selection::All => self.piece([0, self.steps.len(), 0]),
            Selection::Range { start, len } => {
                let end = start + len;
                for step in self.steps.inside(start..end) {
                    let new = step.start.max(start)..step.copy_at.min(end);
                    if !new.is_empty() {
                        let number = step.new_start + (new.start - step.start);
                        self.put([number, new.end - new.start, new.start - start])?;
                    }
                    // What is copied from before the range.
                    let from = step.copy_at.max(start);
                    let until = step.end.min(end).min(start.saturating_add(step.distance));
                    if from < until {
                        self.piece([from, until - from, from - start])?;
                    }
                }
                Some(())
            }
            Selection::Indices(indices) => {
                let looks_max = self.looks_left;
                let mut next = 0;
                while let Some(first) = indices.get(next) {
                    let rest = indices.get(next..)?.iter().zip(*first..);
                    let n = rest.take_while(|(index, at)| **index == *at).count();
                    self.piece([*first, n as u32, next as u32])?;
                    next += n;
                    // Values far from each other each have copies of their own to follow.
                    let n_looks = looks_max - self.looks_left;
                    if n_looks * indices.len() as u64 > looks_max * next as u64 {
                        return None;
                    }
                }
                Some(())
            }
        }
    }

    fn piece(&mut self, piece: Piece) -> Option<()> {
        *self.open.get_mut(0)? = piece;
        let mut n_open = 1;
        while n_open > 0 {
            self.looks_left = self.looks_left.checked_sub(1)?;
            n_open -= 1;
            let [at, n, place] = *self.open.get(n_open)?;
            let step = self.steps.of(at)?;
            let is_new = at < step.copy_at;
            let here = n.min(if is_new { step.copy_at } else { step.end } - at);
            if here < n {
                *self.open.get_mut(n_open)? = [at + here, n - here, place + here];
                n_open += 1;
            }
            if is_new {
                self.put([step.new_start + (at - step.start), here, place])?;
            } else {
                *self.open.get_mut(n_open)? = [at - step.distance, here, place];
                n_open += 1;
            }
        }
        Some(())
    }

    fn put(&mut self, piece: Piece) -> Option<()> {
        *self.found.get_mut(self.n_found)? = piece;
        self.n_found += 1;
        Some(())
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("steps that were checked do not fit their unit")
}
