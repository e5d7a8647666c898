//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::run_starts;
use tarsia_codec::{
    AlignedBuf, Asked, BlockChild, BlockValues, EncodingWriter, EraseFit, Error, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Runend;
use crate::layout::{self, EndBytes, header_bytes};

impl EncodingWriter for Runend {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let (n, all, unit_values) = (values.len(), values.values(), values.unit_values().max(1));
        let header_bytes = values.n_units() * header_bytes(all.value_type()) as u64;
        if values.facts().all_distinct
            || n < 2
            || header_bytes >= proposals.bytes_to_beat()
            || all.value_type() == ValueType::Fixed(0)
        {
            return Ok(());
        }
        // A sample tells most columns of short runs without a look at all values. Rising ends take about half a byte
        // each at least, whatever packs them.
        let (mut n_sampled, mut n_sampled_runs) = (0u64, 0u64);
        for run in values.sample() {
            let run = Statistics::new(all.slice(run), *values.facts());
            n_sampled += run.len() as u64;
            // The first run of a sampled range most likely goes on before it.
            n_sampled_runs += run.run_starts().len().saturating_sub(1) as u64;
        }
        let expected_runs = n_sampled_runs * n as u64 / n_sampled.max(1);
        // Shorter runs decode at less than a fifth of the speed of runs of 16.
        let is_short = |n_runs: u64| n_runs * 3 > n as u64;
        if is_short(expected_runs) || header_bytes + expected_runs / 4 >= proposals.bytes_to_beat()
        {
            return Ok(());
        }
        let n_runs = values.run_starts().len() as u64;
        if is_short(n_runs) || header_bytes + n_runs / 2 >= proposals.bytes_to_beat() {
            return Ok(());
        }
        // A row of a list may make a unit longer than any other.
        let end_bytes = EndBytes::for_units_of(n);
        let Runs { starts, ends } = Runs::in_units(values.run_starts(), n, unit_values);
        let per_unit = |n: usize| n.div_ceil(values.n_units().max(1) as usize).max(1);
        let (n_ends, n_values) = (per_unit(ends.len()), per_unit(starts.len()));
        let ends = Rc::new(numbers(&ends, end_bytes));
        let first = Rc::new(pick(all, &starts));
        let logical_type = values.facts().logical_type;
        proposals.push(Proposal {
            params: vec![end_bytes.bytes()],
            children: vec![
                Part::owned(ends, LogicalType::Unsigned).in_units_of(n_ends),
                Part::owned(first, logical_type).in_units_of(n_values),
            ],
            ..Proposal::leaf(self, header_bytes)
        });
        Ok(())
    }

    /// Runs of a sample are as long.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let end_bytes = layout::end_bytes(node)?;
        let unit_values = match end_bytes {
            EndBytes::Two => limits::BLOCK_VALUES_MAX as usize,
            EndBytes::Four => usize::MAX,
        };
        let known = page.statistics();
        let runs = || match known {
            Some(known) => Runs::in_units(known.run_starts(), values.len(), unit_values),
            None => Runs::in_units(&run_starts(values), values.len(), unit_values),
        };
        // Blocks cut runs, and ends count from the block's start.
        Ok(Box::new(UnitEncoder {
            end_bytes,
            ends: page.block_child(0, || numbers(&runs().ends, end_bytes))?,
            values: page.block_child(1, || pick(values, &runs().starts))?,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let Ok(end_bytes) = layout::end_bytes(node) else {
            return 0;
        };
        let end_bytes = u64::from(end_bytes.bytes());
        let n_ends = n_values.saturating_sub(1);
        let end_type = ValueType::Fixed(end_bytes as u32);
        let ends = child(0, end_type, n_ends, n_ends.saturating_mul(end_bytes));
        let values = child(1, node.value_type, n_values, decoded_bytes);
        let header_bytes = header_bytes(node.value_type) as u64;
        ends.saturating_add(values).saturating_add(header_bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // There are no more runs than before, but the ends are other numbers, which a child such as a dictionary does
        // not hold.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        let fixed = [4, 8, 1, 2, 16, 33].map(ValueType::Fixed);
        let types = fixed.into_iter().chain([ValueType::Bits, ValueType::Bytes]);
        let params = [EndBytes::Four.bytes()];
        types.map(|it| Sample::any(it, &params)).collect()
    }
}

/// The runs of units.
struct Runs {
    /// The first value of each run, counted from the first unit's start.
    starts: Vec<u32>,
    /// The end of each run but the last of a unit, counted from the unit's start.
    ends: Vec<u32>,
}

impl Runs {
    /// The runs of `n` values in units of `unit_values`, the last one perhaps shorter.
    fn in_units(run_starts: &[u32], n: usize, unit_values: usize) -> Self {
        let mut starts = Vec::with_capacity(run_starts.len());
        let mut ends = Vec::with_capacity(run_starts.len());
        let mut unit_start = 0;
        for start in run_starts.iter().copied() {
            while start as usize - unit_start > unit_values {
                unit_start += unit_values;
                starts.push(unit_start as u32);
            }
            if start as usize - unit_start == unit_values {
                unit_start += unit_values;
            } else if start as usize > unit_start {
                ends.push(start - unit_start as u32);
            }
            starts.push(start);
        }
        while n - unit_start > unit_values {
            unit_start += unit_values;
            starts.push(unit_start as u32);
        }
        Self { starts, ends }
    }
}

/// Numbers of 2 or 4 bytes.
fn numbers(ends: &[u32], end_bytes: EndBytes) -> OwnedValues {
    tarsia_codec::toolbox::narrow_numbers(ends, end_bytes.bytes().into())
}

/// The values at rising `places`.
fn pick(values: Values<'_>, places: &[u32]) -> OwnedValues {
    let len = places.len();
    match values {
        Values::Bits(bits) => {
            let mut bytes = AlignedBuf::zeroed(len.div_ceil(8));
            for (i, place) in places.iter().enumerate() {
                if let Some(byte) = bytes.get_mut(i / 8) {
                    *byte |= u8::from(bits.get(*place as usize)) << (i % 8);
                }
            }
            OwnedValues::Bits { bytes, len }
        }
        Values::Fixed(fixed) => {
            let width = fixed.width();
            let mut bytes = AlignedBuf::zeroed(len * width);
            if width > 0 {
                for (to, place) in bytes.chunks_exact_mut(width).zip(places) {
                    to.copy_from_slice(fixed.get(*place as usize));
                }
            }
            OwnedValues::Fixed { bytes, width, len }
        }
        Values::Bytes(strings) => {
            let (mut offsets, mut data) = (vec![0], Vec::new());
            for place in places {
                data.extend_from_slice(strings.get(*place as usize));
                offsets.push(data.len() as u32);
            }
            let data = AlignedBuf::copy_of(&data);
            OwnedValues::Bytes { offsets, data }
        }
    }
}

struct UnitEncoder {
    end_bytes: EndBytes,
    ends: BlockChild,
    values: BlockChild,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        if EndBytes::for_units_of(block.len()).bytes() > self.end_bytes.bytes() {
            return Err(Error::invalid("a unit too long for run ends of 2 bytes"));
        }
        let values = block.values();
        let Runs { starts, ends } = Runs::in_units(&run_starts(values), block.len(), usize::MAX);
        let of_runs = pick(values, &starts);
        let of_runs = of_runs.as_values()?;
        let unit_at = out.len();
        out.resize(unit_at + header_bytes(values.value_type()), 0);
        let ends_at = out.len();
        self.ends
            .encode(numbers(&ends, self.end_bytes).as_values()?, out)?;
        let ends_len = u32::try_from(out.len() - ends_at)
            .map_err(|_| Error::invalid("the run ends of a block take 4 GiB"))?;
        self.values.encode(of_runs, out)?;
        // A unit of byte strings decodes to at most 2 GiB, so its distinct runs do.
        let fields = [
            starts.len() as u32,
            ends_len,
            of_runs.decoded_bytes() as u32,
        ];
        let header = out.get_mut(unit_at..ends_at).unwrap_or_default();
        for (to, field) in header.chunks_exact_mut(4).zip(fields) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tarsia_codec::FixedSlice;

    use super::*;

    #[test]
    fn units_cut_runs() {
        let bytes = [7, 7, 7, 7, 7, 1, 1, 2, 2, 2];
        let values = Values::Fixed(FixedSlice::new(&bytes, 1, 10).unwrap());
        let of = |unit_values| {
            let runs = Runs::in_units(&run_starts(values), 10, unit_values);
            (runs.starts, runs.ends)
        };
        assert_eq!(of(100), (vec![0, 5, 7], vec![5, 7]));
        assert_eq!(of(5), (vec![0, 5, 7], vec![2]));
        assert_eq!(of(2), (vec![0, 2, 4, 5, 6, 7, 8], vec![1, 1]));
    }
}
