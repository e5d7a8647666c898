//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::append_sized;
use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node, OwnedValues, PageEncoder,
    Part, Prepare, Proposal, Proposals, Result, Sample, Statistics, ValueType, Values, limits,
};

use crate::Bins;
use crate::layout::{HEADER_BYTES, NUMBER_BITS_MAX, NUMBERS_TYPE, number_bits};
use crate::page::{Cut, fixed, trial};
use crate::write::Encoder;

/// Fewer values than this do not pay for a table.
const VALUES_MIN: usize = 4096;

/// A page may take less than a small sample suggests, by one part in so many.
const LESS_BY_ONE_IN: u64 = 8;

impl EncodingWriter for Bins {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let is_named = proposals.is_named();
        let least = match is_named {
            true => 1,
            false => VALUES_MIN,
        };
        let logical_type = values.facts().logical_type;
        // Codes of a dictionary are small where values are frequent, or near to each other where values are.
        let is_other = matches!(logical_type, LogicalType::Float | LogicalType::Code);
        let are_numbers = logical_type.is_integer() || is_other;
        let may_pay = match fixed.width() {
            // Without bins there are as few different ones: a child can tell them apart.
            1 => is_named,
            2 | 4 | 8 => are_numbers || is_named,
            _ => false,
        };
        let to_beat = proposals.bytes_to_beat();
        if fixed.len() < least || !may_pay {
            return Ok(());
        }
        let bytes = values.cached(|| Trial(trial(&fixed))).0 / 8;
        if bytes - bytes / LESS_BY_ONE_IN >= to_beat {
            return Ok(());
        }
        let cut = values.cached(|| Cut::of(&fixed));
        let pages = [cut.flat_page(), Some(cut.page(NUMBER_BITS_MAX))];
        for page in pages.into_iter().flatten() {
            let bytes = (page.offset_bits + page.other_bits).div_ceil(8);
            if bytes >= to_beat || page.table.len() < 2 && !is_named {
                continue;
            }
            let n_units = bytes.div_ceil(limits::UNIT_BYTES_TARGET as u64);
            let n_units = n_units.max(values.n_units());
            let unit_values = (fixed.len() as u64).div_ceil(n_units) as usize;
            let bytes = page.offset_bits.div_ceil(8) + n_units * HEADER_BYTES as u64;
            let numbers = Part::owned(Rc::new(page.numbers), LogicalType::Code);
            let table = Part::owned(Rc::new(page.table), LogicalType::Binary);
            proposals.push(Proposal {
                params: vec![page.number_bits],
                children: vec![numbers.in_units_of(unit_values)],
                shared: vec![table.distinct()],
                ..Proposal::leaf(self, bytes)
            });
        }
        Ok(())
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let values = values.as_fixed()?;
        let (encoder, numbers) = match page.shared(0)? {
            Some(table) => {
                let encoder = Encoder::of(&table, node)?;
                let numbers = fixed(&encoder.numbers(&values)?, 1);
                (encoder, numbers)
            }
            None => {
                let cut = match page.statistics() {
                    Some(known) => known.cached(|| Cut::of(&values)),
                    None => Rc::new(Cut::of(&values)),
                };
                let found = cut.page(number_bits(node)?);
                let table = page.make_shared(0, found.table)?;
                (Encoder::of(&table, node)?, found.numbers)
            }
        };
        Ok(Box::new(UnitEncoder {
            encoder,
            child: page.child(0, numbers.as_values()?)?,
            numbers,
        }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        // No offset has more bits than a value.
        (HEADER_BYTES as u64)
            .saturating_add(child(0, NUMBERS_TYPE, n_values, n_values))
            .saturating_add(decoded_bytes)
    }

    /// A value has the same bin and offset whatever is beside it.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn keeps_values(&self) -> bool {
        true
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some(
            "lower ends of bins, which are values of the page, and how its values were distributed",
        )
    }

    fn samples(&self) -> Vec<Sample> {
        // Not any values: those of later blocks may be in none of the bins.
        let sample = |width, number_bits| Sample {
            holds_any: false,
            ..Sample::any(ValueType::Fixed(width), &[number_bits])
        };
        let of_width = |width| [NUMBER_BITS_MAX, 4, 1].map(|bits| sample(width, bits));
        [8, 4, 2, 1].map(of_width).concat()
    }
}

/// Bits that a small sample suggests.
struct Trial(u64);

struct UnitEncoder {
    encoder: Encoder,
    /// The number of the bin of each value of the page.
    numbers: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let of_page = self.numbers.as_values()?;
        let numbers = of_page.slice(block.range()).as_fixed()?.bytes();
        if numbers.len() == values.len() && self.encoder.are_of(numbers, &values) {
            return self.encode_unit(block.of(of_page)?, numbers, &values, out);
        }
        // A parent that derives its child's values per block passes values at other positions.
        let numbers = self.encoder.numbers(&values)?;
        let of_block = fixed(&numbers, 1);
        self.encode_unit(
            BlockValues::all(of_block.as_values()?)?,
            &numbers,
            &values,
            out,
        )
    }
}

impl UnitEncoder {
    fn encode_unit(
        &self,
        block: BlockValues<'_>,
        numbers: &[u8],
        values: &FixedSlice<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let too_long = "the numbers of the bins of a unit take 4 GiB";
        append_sized(out, too_long, |out| self.child.encode(block, out))?;
        self.encoder.push_offsets(numbers, values, out);
        Ok(())
    }
}
