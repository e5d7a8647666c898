//! The decoder: finds the runs that hold selected values, decodes one value for each, and repeats it.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    AlignedBuf, BytesOutput, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result,
    Scratch, Selection, SharedBuffer, Unit, ValueType, Version,
};

use crate::Runend;
use crate::expand;
use crate::layout::{self, EndBytes, ID, UnitParts, VALUES_BYTES_AT, VERSION};

/// Runs that are decoded at a time, so that a unit that lies about their number does not take memory for it. Units of
/// several rows have no more.
const CHUNK_RUNS: u32 = 1 << 16;

impl Encoding for Runend {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::spec(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [ends, values] = children_of(children)?;
        Ok(Box::new(UnitDecoder {
            end_bytes: layout::end_bytes(node)?,
            value_type: node.value_type,
            ends,
            values,
        }))
    }
}

struct UnitDecoder {
    end_bytes: EndBytes,
    value_type: ValueType,
    ends: Box<dyn Decoder>,
    values: Box<dyn Decoder>,
}

impl UnitDecoder {
    fn runs(&self) -> Runs<'_> {
        Runs {
            end_bytes: self.end_bytes,
            value_type: self.value_type,
            #[cfg(not(feature = "kernel"))]
            stored_type: self.value_type,
            ends: &*self.ends,
            values: &*self.values,
        }
    }
}

/// Decoders of runs, to values of any type that has one for each run.
struct Runs<'a> {
    end_bytes: EndBytes,
    /// The type of what is decoded.
    value_type: ValueType,
    /// The type of the values in the units. Kernels decode no other.
    #[cfg(not(feature = "kernel"))]
    stored_type: ValueType,
    ends: &'a dyn Decoder,
    values: &'a dyn Decoder,
}

/// Scratch memory for the runs at hand.
struct Bufs {
    /// The end of each run.
    ends: AlignedBuf,
    /// The runs that hold selected values.
    picked: AlignedBuf,
}

/// The runs before those at hand.
struct Before {
    runs: u32,
    values: u32,
}

/// Runs that hold selected values.
struct Held<'a> {
    first_run: u32,
    /// Counted from `first_run`.
    runs: Selection<'a>,
    /// For each the end of its values in the output, counted from where they are placed.
    ends: &'a [u32],
}

/// Where values are placed.
struct Place {
    values: Range<usize>,
    /// Bytes of the strings before them.
    written: usize,
}

/// An output whose type and size were checked.
enum Target<'a> {
    Fixed(&'a mut [u8], usize),
    Bits(&'a mut [u8], usize),
    Bytes(BytesOutput<'a>),
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        self.runs().decode(unit, selection, scratch, out)
    }

    /// Tests one value for each run.
    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        if !predicate.suits(self.value_type) {
            return Ok(false);
        }
        let values = tarsia_codec::toolbox::Holds {
            values: &*self.values,
            value_type: self.value_type,
            predicate: *predicate,
        };
        let bits = Runs {
            end_bytes: self.end_bytes,
            value_type: ValueType::Bits,
            stored_type: self.value_type,
            ends: &*self.ends,
            values: &values,
        };
        bits.decode(unit, selection, scratch, out)?;
        Ok(true)
    }
}

impl Runs<'_> {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let mut to = match self.value_type {
            ValueType::Fixed(width) => {
                let width = width as usize;
                Target::Fixed(out.into_fixed(width, n_selected)?, width)
            }
            ValueType::Bits => {
                let (bytes, offset) = out.into_bits(n_selected)?;
                Target::Bits(bytes, offset)
            }
            ValueType::Bytes => Target::Bytes(out.into_bytes(n_selected)?),
        };
        #[cfg(not(feature = "kernel"))]
        let stored_type = self.stored_type;
        #[cfg(feature = "kernel")]
        let stored_type = self.value_type;
        let parts = UnitParts::parse(&unit, self.end_bytes, stored_type)?;
        let mut bufs = Bufs {
            ends: scratch.take(0),
            picked: scratch.take(0),
        };
        let done = self.chunks(&unit, &parts, selection, scratch, &mut bufs, &mut to);
        scratch.give(bufs.picked);
        scratch.give(bufs.ends);
        let written = done?;
        let is_whole = matches!(selection, Selection::All);
        if is_whole && self.value_type == ValueType::Bytes && written != unit.decoded_bytes as usize
        {
            return Err(bad_sum(written as u64));
        }
        Ok(written)
    }

    /// Decodes the selected values, `CHUNK_RUNS` runs at a time. Returns the bytes of strings.
    fn chunks(
        &self,
        unit: &Unit<'_>,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        bufs: &mut Bufs,
        to: &mut Target<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let n_runs = parts.values.len;
        let (mut first_run, mut chunk_start) = (0, 0);
        let (mut n_done, mut written) = (0, 0);
        loop {
            let n = (n_runs - first_run).min(CHUNK_RUNS);
            bufs.ends.reset_len(n as usize * 4);
            let ends: &mut [u32] = bufs.ends.as_values_mut()?;
            let before = Before {
                runs: first_run,
                values: chunk_start,
            };
            self.decode_ends(unit, parts, before, scratch, ends)?;
            let chunk_end = ends.last().copied().unwrap_or(chunk_start);
            // The runs among those of the chunk that hold selected values, the first selected value behind the chunk,
            // and for each run the end of its values in the output from `n_done` on.
            let (runs, n_until) = match selection {
                Selection::All => {
                    ends.iter_mut().for_each(|end| *end -= chunk_start);
                    (Selection::Range { start: 0, len: n }, chunk_end as usize)
                }
                Selection::Range { start, len } => {
                    let (from, until) = (start.max(chunk_start), (start + len).min(chunk_end));
                    match from < until {
                        false => (Selection::Range { start: 0, len: 0 }, n_done),
                        true => {
                            let first = ends.partition_point(|end| *end <= from);
                            let last = ends.partition_point(|end| *end < until);
                            let held = ends.get_mut(first..=last).unwrap_or_default();
                            held.iter_mut()
                                .for_each(|end| *end = (*end).min(until) - from);
                            let (start, len) = (first as u32, (last + 1 - first) as u32);
                            (
                                Selection::Range { start, len },
                                (until - start_of(selection)) as usize,
                            )
                        }
                    }
                }
                Selection::Indices(indices) => {
                    let left = indices.get(n_done..).unwrap_or_default();
                    let held = left.partition_point(|index| *index < chunk_end);
                    let held = left.get(..held).unwrap_or_default();
                    bufs.picked.reset_len(held.len().min(n as usize) * 4);
                    let picked: &mut [u32] = bufs.picked.as_values_mut()?;
                    let n_picked = pick(held, ends, picked);
                    let picked = picked.get(..n_picked).unwrap_or_default();
                    (Selection::Indices(picked), n_done + held.len())
                }
            };
            // Where the output ends of the runs are.
            let (at, n_held) = match runs {
                Selection::All => (0, n as usize),
                Selection::Range { start, len } => (start as usize, len as usize),
                Selection::Indices(picked) => (0, picked.len()),
            };
            let out_ends = ends.get(at..at + n_held).unwrap_or_default();
            // Also without runs of the unit, so that the child checks its bytes.
            if n_held > 0 || n_runs == 0 {
                let held = Held {
                    first_run,
                    runs,
                    ends: out_ends,
                };
                let place = Place {
                    values: n_done..n_until,
                    written,
                };
                written = self.repeat(&parts.values, held, scratch, to, place)?;
            }
            n_done = n_until;
            first_run += n;
            chunk_start = chunk_end;
            if first_run >= n_runs || n_done >= n_selected && !matches!(selection, Selection::All) {
                return Ok(written);
            }
        }
    }

    /// Decodes the ends of the runs behind those of `before`, the last run's too, and checks that they rise.
    fn decode_ends(
        &self,
        unit: &Unit<'_>,
        parts: &UnitParts<'_>,
        before: Before,
        scratch: &mut Scratch,
        ends: &mut [u32],
    ) -> Result<()> {
        let (of_child, first_run, chunk_start) = (&parts.ends, before.runs, before.values);
        // The last end of the unit is not stored.
        let n_stored = (of_child.len - first_run.min(of_child.len)).min(ends.len() as u32);
        let selection = match n_stored == of_child.len {
            true => Selection::All,
            false => Selection::Range {
                start: first_run,
                len: n_stored,
            },
        };
        let width = usize::from(self.end_bytes.bytes());
        let mut stored = scratch.take(n_stored as usize * width);
        let done = self
            .ends
            .decode(*of_child, selection, scratch, Output::Fixed(&mut stored));
        match self.end_bytes {
            EndBytes::Two => {
                for (to, end) in ends.iter_mut().zip(stored.as_chunks::<2>().0) {
                    *to = u16::from_le_bytes(*end).into();
                }
            }
            EndBytes::Four => {
                for (to, end) in ends.iter_mut().zip(stored.as_chunks::<4>().0) {
                    *to = u32::from_le_bytes(*end);
                }
            }
        }
        scratch.give(stored);
        done?;
        if let Some(last) = ends.get_mut(n_stored as usize) {
            *last = unit.len;
        }
        // No early exit, so that the loop vectorises.
        let rise = ends
            .windows(2)
            .fold(true, |rise, pair| rise & (pair[0] < pair[1]));
        let is_first_above = ends.first().is_none_or(|end| *end > chunk_start);
        let is_last_inside = ends.last().is_none_or(|end| *end <= unit.len);
        match rise && is_first_above && is_last_inside {
            true => Ok(()),
            false => Err(bad_ends(ends, chunk_start, first_run, unit.len)),
        }
    }

    /// Decodes the values of runs and repeats them. Returns the bytes of strings written so far.
    fn repeat(
        &self,
        values: &Unit<'_>,
        held: Held<'_>,
        scratch: &mut Scratch,
        to: &mut Target<'_>,
        place: Place,
    ) -> Result<usize> {
        let Held {
            first_run,
            runs,
            ends,
        } = held;
        let n = ends.len();
        let mut moved = scratch.take(0);
        let selection = match runs {
            _ if values.len == 0 => Selection::All,
            Selection::Range { len, .. } if len == values.len => Selection::All,
            Selection::Range { start, len } => Selection::Range {
                start: first_run + start,
                len,
            },
            Selection::Indices(picked) if first_run > 0 => {
                moved.reset_len(picked.len() * 4);
                let all: &mut [u32] = moved.as_values_mut()?;
                for (to, run) in all.iter_mut().zip(picked) {
                    *to = first_run + run;
                }
                Selection::Indices(all)
            }
            other => other,
        };
        let values = *values;
        let done = match to {
            Target::Fixed(to, width) => {
                // At most as many runs as selected values.
                let mut buf = scratch.take(n * *width);
                let done = self
                    .values
                    .decode(values, selection, scratch, Output::Fixed(&mut buf));
                let to = to.get_mut(place.values.start * *width..place.values.end * *width);
                expand::fixed(&buf, *width, ends, to.unwrap_or_default());
                scratch.give(buf);
                done
            }
            Target::Bits(to, offset) => {
                let mut buf = scratch.take(n.div_ceil(8));
                let out = Output::Bits {
                    bytes: &mut buf,
                    offset: 0,
                };
                let done = self.values.decode(values, selection, scratch, out);
                if done.is_ok() {
                    expand::bits(&buf, ends, to, *offset + place.values.start);
                }
                scratch.give(buf);
                done
            }
            Target::Bytes(to) => self.strings(values, selection, ends, scratch, to, place),
        };
        scratch.give(moved);
        done
    }

    fn strings(
        &self,
        values: Unit<'_>,
        selection: Selection<'_>,
        ends: &[u32],
        scratch: &mut Scratch,
        to: &mut BytesOutput<'_>,
        place: Place,
    ) -> Result<usize> {
        let written = place.written;
        let is_whole = matches!(selection, Selection::All);
        let all_bytes = values.decoded_bytes as usize;
        // Each run has a selected value.
        let room = match is_whole {
            true => all_bytes,
            false => all_bytes.min(to.data.len()),
        };
        let mut buf = scratch.take(room);
        let done = scratch.with_values(ends.len(), |value_ends: &mut [u32], scratch| {
            let out = Output::Bytes {
                ends: &mut *value_ends,
                base: 0,
                data: &mut buf,
            };
            let used = self.values.decode(values, selection, scratch, out)?;
            if is_whole && used != all_bytes {
                let allowed = "what the values decode to";
                let field = "runend.values_bytes";
                return Err(Error::corrupt(field, VALUES_BYTES_AT, all_bytes, allowed));
            }
            let data_len = to.data.len();
            let data = to.data.get_mut(written..).unwrap_or_default();
            let string_ends = to.ends.get_mut(place.values).unwrap_or_default();
            let base = u32::try_from(written).ok();
            let base = base.and_then(|written| to.base.checked_add(written));
            let from = buf.get(..used).unwrap_or_default();
            let copied = base
                .and_then(|base| expand::strings(value_ends, from, ends, string_ends, base, data));
            copied.map(|n| written + n).ok_or_else(|| match is_whole {
                true if data_len >= all_bytes => bad_sum(data_len as u64 + 1),
                _ => Error::invalid("the output is too short for the selection"),
            })
        });
        scratch.give(buf);
        done
    }
}

fn start_of(selection: Selection<'_>) -> u32 {
    match selection {
        Selection::Range { start, .. } => start,
        Selection::All | Selection::Indices(_) => 0,
    }
}

/// Writes to `picked` the runs that hold `indices`, and over the first of `ends`, for each of them, how many indices
/// there are up to its last. Returns the number of these runs.
fn pick(indices: &[u32], ends: &mut [u32], picked: &mut [u32]) -> usize {
    let (mut n_picked, mut run, mut end) = (0, 0, 0);
    for (i, index) in indices.iter().enumerate() {
        if *index >= end {
            // The search starts behind the run of the index before, so it does not see overwritten ends.
            let later = ends.get(run..).unwrap_or_default();
            run += later.partition_point(|end| end <= index);
            end = ends.get(run).copied().unwrap_or(u32::MAX);
            if let Some(to) = picked.get_mut(n_picked) {
                *to = run as u32;
            }
            run += 1;
            n_picked += 1;
        }
        if let Some(to) = ends.get_mut(n_picked - 1) {
            *to = i as u32 + 1;
        }
    }
    n_picked
}

#[cold]
#[inline(never)]
fn bad_sum(found: u64) -> Error {
    let allowed = "strings that add up to the unit's decoded bytes";
    Error::corrupt("runend.values", 0, found, allowed)
}

/// The error for the first end that does not rise above the one before, or is not below the unit's length.
#[cold]
#[inline(never)]
fn bad_ends(ends: &[u32], chunk_start: u32, first_run: u32, unit_len: u32) -> Error {
    let mut before = chunk_start;
    for (run, end) in ends.iter().enumerate() {
        if *end <= before || *end >= unit_len {
            let allowed = "rising numbers above 0 and below the number of values";
            return Error::corrupt("runend.ends", first_run as usize + run, *end, allowed);
        }
        before = *end;
    }
    Error::corrupt(
        "runend.ends",
        first_run as usize,
        unit_len,
        "rising numbers",
    )
}
