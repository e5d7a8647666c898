//! The decoder: digits to numbers in the front of the output itself, which are then moved apart for the exceptions.

use alloc::boxed::Box;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Pseudodecimal;
use crate::layout::{self, EXPONENT_MAX, ID, UnitParts, VERSION, power};

/// Numbers that are divided together.
const GROUP: usize = 4;

impl Encoding for Pseudodecimal {
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
        let [digits, exponents] = children_of(children)?;
        Ok(Box::new(PseudodecimalDecoder {
            value_bytes: node.value_type.fixed_bytes().unwrap_or_default(),
            digits,
            exponents,
        }))
    }
}

struct PseudodecimalDecoder {
    value_bytes: usize,
    digits: Box<dyn Decoder>,
    exponents: Box<dyn Decoder>,
}

impl Decoder for PseudodecimalDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let parts = UnitParts::parse(&unit, self.value_bytes)?;
        match selection {
            _ if parts.exceptions.positions.is_empty() => {
                self.decimals(&parts, selection, scratch, to)?
            }
            Selection::All => self.range(&parts, 0..unit.len, scratch, to)?,
            Selection::Range { start, len } => {
                self.range(&parts, start..start + len, scratch, to)?;
            }
            Selection::Indices(indices) => {
                scratch.with_values(indices.len(), |places, scratch| {
                    self.indices(&parts, indices, places, scratch, to)
                })?;
            }
        }
        Ok(0)
    }
}

impl PseudodecimalDecoder {
    /// Decodes the values `range`, some of which may be exceptions.
    fn range(
        &self,
        parts: &UnitParts<'_>,
        range: Range<u32>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let positions = &parts.exceptions.positions;
        let among = positions.n_before(range.start)..positions.n_before(range.end);
        let decimals = range.start - among.start as u32..range.end - among.end as u32;
        let selection = match decimals.len() == parts.digits.len as usize {
            true => Selection::All,
            false => Selection::from(&decimals),
        };
        let front = self.front(to, decimals.len())?;
        self.decimals(parts, selection, scratch, front)?;
        let place = |i| Some(((positions.get(i)? - range.start) as usize, i));
        self.spread(parts, among.rev().filter_map(place), decimals.len(), to)
    }

    /// Decodes the values at rising `indices`, some of which may be exceptions. `places` is memory for as many words.
    fn indices(
        &self,
        parts: &UnitParts<'_>,
        indices: &[u32],
        places: &mut [u32],
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let positions = &parts.exceptions.positions;
        // Of decimals, their places in the children, from the front on; of exceptions, their places in the output, from
        // the back on.
        let mut free = places.iter_mut();
        let mut n_decimals = 0;
        for (place, index) in (0..).zip(indices) {
            let (to, word) = match positions.find(*index) {
                Ok(_) => (free.next_back(), place),
                Err(n_before) => {
                    n_decimals += 1;
                    (free.next(), *index - n_before as u32)
                }
            };
            if let Some(to) = to {
                *to = word;
            }
        }
        let parts_of_places = places.split_at_checked(n_decimals);
        let (decimals, exceptions) = parts_of_places.unwrap_or_default();
        let front = self.front(to, n_decimals)?;
        self.decimals(parts, Selection::Indices(decimals), scratch, front)?;
        let exceptions = exceptions.iter().filter_map(|place| {
            let place = *place as usize;
            Some((place, positions.find(*indices.get(place)?).ok()?))
        });
        self.spread(parts, exceptions, n_decimals, to)
    }

    /// Decodes selected numbers that are no exceptions: the selection counts only such.
    fn decimals(
        &self,
        parts: &UnitParts<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        let digits = Output::Fixed(&mut *to);
        self.digits
            .decode(parts.digits, selection, scratch, digits)?;
        // Smaller than the output, which the caller has.
        let mut exponents = scratch.take(to.len() / self.value_bytes.max(1));
        let into = Output::Fixed(&mut exponents);
        let done = self
            .exponents
            .decode(parts.exponents, selection, scratch, into);
        let done = done.and_then(|_| {
            check_exponents(&exponents, parts.exponents_at)?;
            match self.value_bytes {
                4 => write_numbers(&exponents, to, narrow_number),
                _ => write_numbers(&exponents, to, wide_number),
            }
            Ok(())
        });
        scratch.give(exponents);
        done
    }

    /// The first values of the output.
    fn front<'a>(&self, to: &'a mut [u8], n_values: usize) -> Result<&'a mut [u8]> {
        to.get_mut(..n_values * self.value_bytes).ok_or_else(misfit)
    }

    /// Moves the `n_decimals` numbers in the front of the output apart and puts exceptions between them. `exceptions`
    /// has the place and the number of each, the last one first: so no number is moved onto one that is to be moved.
    fn spread(
        &self,
        parts: &UnitParts<'_>,
        exceptions: impl Iterator<Item = (usize, usize)>,
        n_decimals: usize,
        to: &mut [u8],
    ) -> Result<()> {
        let width = self.value_bytes;
        let (mut front, mut end) = (n_decimals * width, to.len());
        for (place, i) in exceptions {
            // The numbers between this exception and the next are the last ones of the front.
            let n_bytes = end.saturating_sub((place + 1) * width);
            let from = front.saturating_sub(n_bytes);
            let part = to.get_mut(from..end).unwrap_or_default();
            let exception = parts.exceptions.values.get(i * width..(i + 1) * width);
            let (Some(exception), Some(after)) = (exception, part.len().checked_sub(n_bytes))
            else {
                return Err(misfit());
            };
            part.copy_within(..n_bytes, after);
            let to = part.get_mut(after.saturating_sub(width)..after);
            let to = to.filter(|it| it.len() == exception.len());
            to.ok_or_else(misfit)?.copy_from_slice(exception);
            (front, end) = (from, place * width);
        }
        Ok(())
    }
}

fn wide_number(digits: [u8; 8], power: f64) -> [u8; 8] {
    (i64::from_le_bytes(digits) as f64 / power).to_le_bytes()
}

fn narrow_number(digits: [u8; 4], power: f64) -> [u8; 4] {
    ((f64::from(i32::from_le_bytes(digits)) / power) as f32).to_le_bytes()
}

/// Turns the digits in `to` into numbers.
fn write_numbers<const W: usize>(
    exponents: &[u8],
    to: &mut [u8],
    number: impl Fn([u8; W], f64) -> [u8; W],
) {
    let (groups, rest) = to.as_chunks_mut().0.as_chunks_mut::<GROUP>();
    let (group_exponents, rest_exponents) = exponents.as_chunks::<GROUP>();
    for (group, exponents) in groups.iter_mut().zip(group_exponents) {
        // All powers first: the compiler then divides two numbers at once, and divisions are what takes the time.
        let powers = exponents.map(power);
        for (value, power) in group.iter_mut().zip(powers) {
            *value = number(*value, power);
        }
    }
    for (value, exponent) in rest.iter_mut().zip(rest_exponents) {
        *value = number(*value, power(*exponent));
    }
}

/// Checks that powers of ten have these exponents. `at_byte` is where the child's unit starts.
fn check_exponents(exponents: &[u8], at_byte: usize) -> Result<()> {
    // No early exit, so that the loop vectorises.
    let found = exponents.iter().fold(0, |most, it| most.max(*it));
    match found <= EXPONENT_MAX {
        true => Ok(()),
        false => Err(Error::corrupt(
            "pseudodecimal.exponents",
            at_byte,
            found,
            "0 ..= 22",
        )),
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}
