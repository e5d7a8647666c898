//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;

use tarsia_codec::toolbox::narrow_numbers;
use tarsia_codec::{
    BlockChild, BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, LogicalType, Node,
    PageEncoder, Part, Prepare, Proposal, Proposals, Result, RowStarts, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Window;
use crate::layout::{self, HEADER_BYTES, NUMBERS, Reference};
use crate::steps::{Finder, Rows, Steps};

/// Payload that blocks aim at: in a larger one fewer rows have no row before them.
const BLOCK_BYTES: usize = 4 * limits::UNIT_BYTES_TARGET;

/// Payload that blocks aim at where size counts more than time.
const LARGE_BLOCK_BYTES: usize = 256 << 10;

/// Bytes that a step takes, for a guess at where blocks are cut.
const STEP_BYTES: usize = 3;

/// Values of each part of a long page that shows whether rows repeat, and the number of parts.
const SAMPLE_VALUES: usize = 2048;
const SAMPLE_PARTS: usize = 4;

/// Pages of at most so many values are looked at as a whole.
const WHOLE_VALUES_MAX: usize = 1024;

/// The bytes of values that copies must save in a page.
const SAVED_BYTES_MIN: usize = 192;

/// Units of more values are refused, so that differences of distances have 32 bits.
const UNIT_VALUES_MAX: usize = 1 << 29;

impl EncodingWriter for Window {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let facts = values.facts();
        let (Values::Fixed(fixed), Some(rows)) = (values.values(), facts.rows) else {
            return Ok(());
        };
        if fixed.width() == 0 || values.is_empty() || fixed.len() > UNIT_VALUES_MAX {
            return Ok(());
        }
        let page = PageSteps::of(values, rows);
        let rows = page.rows();
        if fixed.len() > WHOLE_VALUES_MAX && !repeat(&fixed, rows) {
            return Ok(());
        }
        let (steps, unit_starts) = page.in_units(&fixed);
        let (n_units, n_new) = (unit_starts.len().max(1), steps.n_new());
        let saved_bytes = (fixed.len() - n_new) * fixed.width();
        if !is_worth_it(n_new, fixed.len()) || saved_bytes < SAVED_BYTES_MIN {
            return Ok(());
        }
        // New values take their share of what all values take under the best encoding so far, at best, and a step a
        // byte. That is worth knowing before four children are searched for.
        let to_beat = proposals.bytes_to_beat();
        let of_new = u128::from(to_beat) * n_new as u128 / fixed.len() as u128;
        let of_steps = n_units * HEADER_BYTES + steps.len();
        if !proposals.is_named() && of_new + of_steps as u128 >= to_beat.into() {
            return Ok(());
        }
        let reference = best_reference(steps, unit_starts);
        let differences = steps.differences(reference, unit_starts);
        let per_unit = |n: usize| n.div_ceil(n_units).max(1);
        let n_steps = per_unit(steps.len());
        let numbers = |numbers: &[u32]| {
            let numbers = Rc::new(narrow_numbers(numbers, 4));
            let part = Part::owned(numbers, LogicalType::Unsigned);
            // The first row of a block copies from no row before it.
            part.in_units_of(n_steps).depending_on_cuts()
        };
        let new_values = Rc::new(steps.new_values(&fixed, 0));
        proposals.push(Proposal {
            params: vec![reference.number()],
            children: vec![
                numbers(&steps.new),
                numbers(&steps.values),
                numbers(&differences),
                Part::owned(new_values, facts.logical_type)
                    .in_units_of(per_unit(n_new))
                    .standing_for((fixed.len() / n_new.max(1)) as u64),
            ],
            is_uniform: false,
            block_bytes: match proposals.is_for_size() {
                true => LARGE_BLOCK_BYTES,
                false => BLOCK_BYTES,
            },
            ..Proposal::leaf(self, (n_units * HEADER_BYTES) as u64)
        });
        Ok(())
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let reference = Reference::of(node)?;
        let fixed = values.as_fixed()?;
        let of_page = match (page.statistics(), page.facts().rows) {
            (Some(known), Some(rows)) => PageSteps::of(known, rows),
            _ => Rc::default(),
        };
        let steps = || of_page.in_units(&fixed);
        // Blocks cut steps, and a block's first row copies from no row before it.
        let children = [
            page.block_child(0, || narrow_numbers(&steps().0.new, 4))?,
            page.block_child(1, || narrow_numbers(&steps().0.values, 4))?,
            page.block_child(2, || {
                let (steps, unit_starts) = steps();
                narrow_numbers(&steps.differences(reference, unit_starts), 4)
            })?,
            page.block_child(3, || steps().0.new_values(&fixed, 0))?,
        ];
        Ok(Box::new(UnitEncoder {
            reference,
            n_values: fixed.len(),
            row_starts: of_page.row_starts.clone(),
            children,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let of_steps = |i: usize| child(i, NUMBERS, n_values, n_values.saturating_mul(4));
        let values = child(3, node.value_type, n_values, decoded_bytes);
        (0..3).fold(values.saturating_add(HEADER_BYTES as u64), |sum, i| {
            sum.saturating_add(of_steps(i))
        })
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // A row whose copied values were those of an erased row has them as new ones.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [8, 4, 1, 2, 3, 16];
        let samples = widths.into_iter().zip(Reference::ALL.into_iter().cycle());
        let sample = |(width, reference): (u32, Reference)| Sample {
            holds_any: false,
            ..Sample::any(ValueType::Fixed(width), &[reference.number()])
        };
        samples.map(sample).collect()
    }
}

/// Findings of a proposal about a page, for preparing it. Without rows, all values are one.
#[derive(Default)]
struct PageSteps {
    row_starts: Vec<u32>,
    in_units: OnceCell<(Steps, Vec<usize>)>,
}

impl PageSteps {
    fn of(values: &Statistics<'_>, rows: &dyn RowStarts) -> Rc<Self> {
        values.cached(|| Self {
            row_starts: rows.row_starts(),
            in_units: OnceCell::new(),
        })
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(&self.row_starts)
    }

    /// The steps of all values, and the first step of each unit.
    fn in_units(&self, values: &FixedSlice<'_>) -> &(Steps, Vec<usize>) {
        self.in_units.get_or_init(|| in_units(values, self.rows()))
    }
}

/// True if a quarter of the values of some parts of a page are copies. The parts are a quarter of the page at most: a
/// page whose rows do not repeat, as most do not, costs no more than that.
fn repeat(values: &FixedSlice<'_>, rows: Rows<'_>) -> bool {
    let n = values.len();
    let n_parts = (n / SAMPLE_VALUES / SAMPLE_PARTS).clamp(1, SAMPLE_PARTS);
    let part_values = (n / SAMPLE_PARTS / n_parts).min(SAMPLE_VALUES);
    let mut finder = Finder::new(part_values);
    let (mut n_looked_at, mut n_new) = (0, 0);
    for part in 0..n_parts {
        let start = n / n_parts * part;
        // Whole rows, so that long ones are compared too.
        let mut ends = rows.ends(start..n).enumerate();
        let end = ends.find(|(i, end)| *i >= 7 && end - start >= part_values);
        let end = end.map_or(n, |(_, end)| end);
        let mut steps = Steps::default();
        finder.find(&values.slice(start..end), start, rows, &mut steps);
        n_looked_at += end - start;
        n_new += steps.n_new();
    }
    is_worth_it(n_new, n_looked_at)
}

fn is_worth_it(n_new: usize, n: usize) -> bool {
    n_new * 4 <= n * 3
}

/// The steps of a page in units as blocks will most likely be cut, and the first step of each unit.
fn in_units(values: &FixedSlice<'_>, rows: Rows<'_>) -> (Steps, Vec<usize>) {
    let (n, width) = (values.len(), values.width());
    let mut finder = Finder::new(n.min(limits::BLOCK_VALUES_MAX as usize));
    let (mut steps, mut unit_starts) = (Steps::default(), Vec::new());
    let mut start = 0;
    // The values of a unit, at first guess.
    let mut guess = limits::BLOCK_VALUES_MAX as usize;
    while start < n {
        let until = |n_values: usize| {
            let mut end = None;
            for row_end in rows.ends(start..n) {
                if end.is_some() && row_end - start > n_values {
                    break;
                }
                end = Some(row_end);
            }
            end.unwrap_or(n)
        };
        let mut end = until(guess);
        loop {
            let mut of_unit = Steps::default();
            finder.find(&values.slice(start..end), start, rows, &mut of_unit);
            let bytes = of_unit.n_new() * width + of_unit.len() * STEP_BYTES;
            // New values get smaller, too.
            if bytes <= BLOCK_BYTES * 2 || end == until(0) {
                unit_starts.push(steps.len());
                steps.append(of_unit);
                guess = ((end - start) * 2).min(limits::BLOCK_VALUES_MAX as usize);
                break;
            }
            end = until((end - start) / 2);
        }
        start = end;
    }
    (steps, unit_starts)
}

/// The reference whose differences have the fewest bits.
fn best_reference(steps: &Steps, unit_starts: &[usize]) -> Reference {
    let bits = |reference: &Reference| -> u64 {
        let differences = steps.differences(*reference, unit_starts).into_iter();
        differences
            .map(|it| u64::from(32 - it.leading_zeros()))
            .sum()
    };
    let all = Reference::ALL.into_iter();
    all.min_by_key(bits).unwrap_or(Reference::Step)
}

struct UnitEncoder {
    reference: Reference,
    /// Number of values of the page.
    n_values: usize,
    row_starts: Vec<u32>,
    children: [BlockChild; 4],
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        if values.len() > UNIT_VALUES_MAX {
            return Err(Error::invalid(
                "a unit of more values than a window slides over",
            ));
        }
        // Rows are those of the page. A parent that derives values per block passes others: then they are a hint that
        // does not help.
        let first = block.range().start;
        let rows = match block.range().end <= self.n_values {
            true => Rows::new(&self.row_starts),
            false => Rows::new(&[]),
        };
        let mut steps = Steps::default();
        if !values.is_empty() {
            Finder::new(values.len()).find(&values, first, rows, &mut steps);
        }
        let numbers = [
            narrow_numbers(&steps.new, 4),
            narrow_numbers(&steps.values, 4),
            narrow_numbers(&steps.differences(self.reference, &[]), 4),
            steps.new_values(&values, first),
        ];
        let unit_at = out.len();
        out.resize(unit_at + HEADER_BYTES, 0);
        let mut fields = [steps.len() as u32, steps.n_new() as u32, 0, 0, 0];
        for (i, (child, values)) in self.children.iter().zip(&numbers).enumerate() {
            let start = out.len();
            child.encode(values.as_values()?, out)?;
            if let Some(field) = fields.get_mut(2 + i) {
                *field = u32::try_from(out.len() - start)
                    .map_err(|_| Error::invalid("the steps of a block take 4 GiB"))?;
            }
        }
        layout::write_header(out, unit_at, &fields);
        Ok(())
    }
}
