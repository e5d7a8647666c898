//! The encoder.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_bits::{packed_bytes, read_value};
use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::FastPfor;
use crate::layout::{self, GROUP_VALUES, HIGH_WIDTHS, Scheme, stored_bits};
use crate::plan::{Plan, groups};
use crate::rows;

impl EncodingWriter for FastPfor {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let is_number = matches!(fixed.width(), 1 | 2 | 4 | 8);
        if !is_number || fixed.is_empty() || proposals.must_fit() {
            return Ok(());
        }
        let (mut fast_pfor, mut bp128) = (0, 0);
        let starts = (0..fixed.len()).step_by(values.unit_values().max(1));
        for start in starts {
            let unit = fixed.slice(start..start.saturating_add(values.unit_values()));
            let plan = Plan::new(&unit, Scheme::FastPfor)?;
            fast_pfor += plan.bytes;
            bp128 += plan.bytes_of_bp128;
            if fast_pfor.min(bp128) >= proposals.bytes_to_beat() {
                return Ok(());
            }
        }
        // Of equals the faster one.
        let (scheme, bytes) = match bp128 <= fast_pfor {
            true => (Scheme::Bp128, bp128),
            false => (Scheme::FastPfor, fast_pfor),
        };
        proposals.push(Proposal {
            params: vec![scheme.number()],
            ..Proposal::leaf(self, bytes)
        });
        Ok(())
    }

    fn prepare(
        &self,
        node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let (value_bytes, scheme) = (layout::value_bytes(node)?, Scheme::of(node)?);
        Ok(Box::new(UnitEncoder {
            value_bytes,
            scheme,
        }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let n_groups = n_values.div_ceil(GROUP_VALUES as u64);
        let header_bytes = match Scheme::of(node) {
            Ok(Scheme::Bp128) => n_groups,
            _ => 2 * n_groups,
        };
        decoded_bytes.saturating_add(header_bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Later values move to other groups, which may be narrower.
        EraseFit::MayGrow
    }

    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        Some("which scheme took fewer bytes for the page")
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |width, scheme: Scheme| Sample::any(ValueType::Fixed(width), &[scheme.number()]);
        let of_width = |width| Scheme::ALL.map(|scheme| of(width, scheme));
        [4, 8, 1, 2].map(of_width).concat()
    }
}

struct UnitEncoder {
    value_bytes: usize,
    scheme: Scheme,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        if values.width() != self.value_bytes {
            return Err(Error::invalid("values are not as wide as the node says"));
        }
        let plan = Plan::new(&values, self.scheme)?;
        out.extend(plan.fits.iter().map(|fit| fit.width));
        if self.scheme == Scheme::FastPfor {
            push_exceptions(&values, &plan, out)?;
        }
        for (group, fit) in groups(&values).zip(&plan.fits) {
            push_group(&group, fit.width.into(), out)?;
        }
        Ok(())
    }
}

/// Appends all that lies between the widths and the groups.
fn push_exceptions(values: &FixedSlice<'_>, plan: &Plan, out: &mut Vec<u8>) -> Result<()> {
    out.extend(plan.fits.iter().map(|fit| fit.n_exceptions));
    let high_widths = plan.fits.iter().map(|fit| fit.high_width);
    out.extend(high_widths.filter(|width| *width > 0));
    let mut highs = vec![Vec::new(); HIGH_WIDTHS];
    for (group, fit) in groups(values).zip(&plan.fits) {
        if fit.n_exceptions == 0 {
            continue;
        }
        let highs = highs.get_mut(usize::from(fit.high_width));
        let highs = highs.ok_or_else(|| Error::invalid("a high wider than a value"))?;
        for (i, value) in group.bytes().chunks_exact(group.width()).enumerate() {
            let high = read_value(value).unwrap_or(0) >> fit.width;
            if high > 0 {
                out.push(i as u8);
                highs.push(high);
            }
        }
    }
    for (width, highs) in highs.iter().enumerate() {
        push_highs(highs, stored_bits(width as u8) as u32, out)?;
    }
    Ok(())
}

/// Appends numbers of `width` bits one behind the other, and zeros up to a whole byte.
fn push_highs(highs: &[u64], width: u32, out: &mut Vec<u8>) -> Result<()> {
    // So few lie in their order, and eight of any width are whole bytes.
    for eight in highs.chunks(8) {
        let bytes: Vec<[u8; 8]> = eight.iter().map(|high| high.to_le_bytes()).collect();
        push_packed::<u64>(bytes.as_flattened(), width, out)?;
    }
    Ok(())
}

fn push_group(group: &FixedSlice<'_>, width: u32, out: &mut Vec<u8>) -> Result<()> {
    match (group.len(), group.width()) {
        (GROUP_VALUES, value_bytes) => rows::pack(group.bytes(), width, value_bytes, out),
        (_, 1) => push_packed::<u8>(group.bytes(), width, out)?,
        (_, 2) => push_packed::<u16>(group.bytes(), width, out)?,
        (_, 4) => push_packed::<u32>(group.bytes(), width, out)?,
        (_, _) => push_packed::<u64>(group.bytes(), width, out)?,
    }
    Ok(())
}

/// Appends numbers as `tarsia-bits` packs them.
fn push_packed<T: tarsia_bits::Word>(numbers: &[u8], width: u32, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let n_bytes = packed_bytes((numbers.len() / T::BYTES) as u64, width);
    out.resize(start + n_bytes as usize, 0);
    let to = out.get_mut(start..).unwrap_or_default();
    let packed = tarsia_bits::pack::<T>(numbers, T::from_u64(0), width, to);
    packed.map_err(|_| Error::invalid("values are not whole"))
}
