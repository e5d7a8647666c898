//! For which values a predicate holds.

use crate::toolbox::{BitsOut, NumbersUnit, ends_from_lengths};
use crate::{
    BytesSlice, Decoder, Error, FixedSlice, NumberRange, Order, Output, Predicate, Result, Scratch,
    Selection, Unit, ValueType, Values,
};

/// Decodes units to bits: whether a predicate holds for each value. It asks the values' decoder to
/// [filter](Decoder::filter), and decodes them into scratch memory where that cannot.
#[derive(Clone, Copy)]
pub struct Holds<'a> {
    /// Decodes the values.
    pub values: &'a dyn Decoder,
    /// Their type.
    pub value_type: ValueType,
    /// The predicate.
    pub predicate: Predicate<'a>,
}

impl Decoder for Holds<'_> {
    /// # Errors
    /// As for the values; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that the predicate
    /// does not [suit](Predicate::suits).
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let mut out = BitsOut::new(out, n_selected)?;
        let to = out.as_output();
        if self
            .values
            .filter(unit, selection, &self.predicate, scratch, to)?
        {
            return Ok(0);
        }
        match self.value_type {
            ValueType::Bits => {
                let bytes = n_selected.div_ceil(8);
                scratch.with_values(bytes, |bits: &mut [u8], scratch| {
                    let to = Output::Bits {
                        bytes: &mut *bits,
                        offset: 0,
                    };
                    self.values.decode(unit, selection, scratch, to)?;
                    let bits = crate::BitSlice::new(bits, 0, n_selected)?;
                    test_values(&self.predicate, Values::Bits(bits), scratch, &mut out)
                })?;
            }
            ValueType::Fixed(width) => {
                let width = width as usize;
                let bytes = n_selected.saturating_mul(width);
                scratch.with_values(bytes, |values: &mut [u8], scratch| {
                    let to = Output::Fixed(&mut *values);
                    self.values.decode(unit, selection, scratch, to)?;
                    let values = Values::Fixed(FixedSlice::new(values, width, n_selected)?);
                    test_values(&self.predicate, values, scratch, &mut out)
                })?;
            }
            ValueType::Bytes => self.test_strings(unit, selection, scratch, &mut out)?,
        }
        Ok(0)
    }
}

impl Holds<'_> {
    /// Tests byte strings: where they lie, if they are stored as they are, else decoded.
    fn test_strings(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: &mut BitsOut<'_>,
    ) -> Result<()> {
        let n_selected = out.len();
        let stored = match selection {
            Selection::All => self.values.strings(unit)?,
            _ => None,
        };
        let n_offsets = n_selected.saturating_add(1);
        scratch.with_values(n_offsets, |offsets: &mut [u32], scratch| {
            if let Some(stored) = stored {
                let data = unit.bytes.get(stored.data).unwrap_or_default();
                let ends = ends_of(offsets);
                let lengths = NumbersUnit::new(stored.lengths, stored.unit);
                lengths.decode(Selection::All, ends, scratch)?;
                let (total, fits) = ends_from_lengths(ends, 0);
                if !fits || total != data.len() as u64 {
                    let allowed = "lengths of as many bytes as the strings have";
                    return Err(Error::corrupt("strings.lengths", 0, total, allowed));
                }
                let strings = Values::Bytes(BytesSlice::new(offsets, data)?);
                return test_values(&self.predicate, strings, scratch, out);
            }
            // Of each value that is selected there are so many bytes at most.
            let room = u64::from(unit.decoded_bytes).saturating_mul(selection.repeats());
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            scratch.with_values(room, |data: &mut [u8], scratch| {
                let to = Output::Bytes {
                    ends: ends_of(offsets),
                    base: 0,
                    data: &mut *data,
                };
                self.values.decode(unit, selection, scratch, to)?;
                let strings = Values::Bytes(BytesSlice::new(offsets, data)?);
                test_values(&self.predicate, strings, scratch, out)
            })
        })
    }
}

/// The ends among offsets, of which the first becomes 0.
fn ends_of(offsets: &mut [u32]) -> &mut [u32] {
    match offsets.split_first_mut() {
        Some((first, ends)) => {
            *first = 0;
            ends
        }
        None => &mut [],
    }
}

/// Tests values: one for each bit.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that the predicate does not
/// [suit](Predicate::suits), and for another number of bits.
pub fn test_values(
    predicate: &Predicate<'_>,
    values: Values<'_>,
    scratch: &mut Scratch,
    out: &mut BitsOut<'_>,
) -> Result<()> {
    if values.len() != out.len() {
        return Err(Error::invalid("bits for another number of values"));
    }
    match (predicate, values) {
        (Predicate::Within(range), Values::Fixed(values)) => {
            scratch.with_values(out.len().div_ceil(8), |bits: &mut [u8], _| {
                range.test(values.width(), values.bytes(), bits)?;
                out.copy(bits)
            })
        }
        (Predicate::In(Values::Fixed(members)), Values::Fixed(values))
            if members.width() == values.width()
                && NumberRange::all(Order::Signed, values.width()).is_some() =>
        {
            test_members(*members, values, scratch, out)
        }
        (Predicate::In(Values::Bytes(members)), Values::Bytes(values)) => {
            test_strings(*members, values, out)
        }
        (Predicate::StartsWith(prefix), Values::Bytes(values)) => {
            out.fill_with(|i| Ok(values.get(i).starts_with(prefix)))
        }
        (_, values) => {
            let value_type = values.value_type();
            let holds = |value: &[u8]| {
                let holds = predicate.holds(value_type, value);
                holds.ok_or_else(|| Error::invalid("a predicate that does not suit its values"))
            };
            out.fill_with(|i| match values {
                Values::Bits(bits) => holds(&[bits.get(i).into()]),
                Values::Fixed(fixed) => holds(fixed.get(i)),
                Values::Bytes(strings) => holds(strings.get(i)),
            })
        }
    }
}

/// Tests whether byte strings equal one of the members. Most have none of their lengths, which a bit for each tells.
fn test_strings(
    members: BytesSlice<'_>,
    values: BytesSlice<'_>,
    out: &mut BitsOut<'_>,
) -> Result<()> {
    let bit = |len: usize| 1_u64 << (len % 64);
    let lengths = (0..members.len()).fold(0, |bits, i| bits | bit(members.get(i).len()));
    let data = values.data();
    let mut ends = values.offsets().windows(2);
    out.fill_with(|_| {
        let Some([start, end]) = ends.next() else {
            return Ok(false);
        };
        let (start, end) = (*start as usize, *end as usize);
        if lengths & bit(end - start) == 0 {
            return Ok(false);
        }
        let value = data.get(start..end).unwrap_or_default();
        let last = value.last();
        let mut among = (0..members.len()).map(|i| members.get(i));
        // Strings of one length that differ often begin alike.
        Ok(among.any(|member| member.last() == last && member == value))
    })
}

/// Tests whether values equal one of the members, whose bytes are numbers: by a pass over the values for each.
fn test_members(
    members: FixedSlice<'_>,
    values: FixedSlice<'_>,
    scratch: &mut Scratch,
    out: &mut BitsOut<'_>,
) -> Result<()> {
    let n_bytes = out.len().div_ceil(8);
    scratch.with_values(n_bytes, |all: &mut [u8], scratch| {
        all.fill(0);
        scratch.with_values(n_bytes, |bits: &mut [u8], _| {
            for i in 0..members.len() {
                // Equal bytes are equal numbers in any order.
                let Some(number) = NumberRange::number(Order::Signed, members.get(i)) else {
                    continue;
                };
                let one = NumberRange {
                    order: Order::Signed,
                    low: number,
                    high: number,
                };
                one.test(values.width(), values.bytes(), bits)?;
                for (to, found) in all.iter_mut().zip(&*bits) {
                    *to |= found;
                }
            }
            out.copy(all)
        })
    })
}
