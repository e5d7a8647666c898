//! Which values lie in a range of numbers.

use crate::{
    Decoder, NumberRange, Output, Predicate, Result, Scratch, Selection, Unit, toolbox::BitsOut,
};

/// Decodes units to bits: whether each value lies in a range. It asks the values' decoder to
/// [filter](Decoder::filter), and decodes them into scratch memory where that cannot.
#[derive(Clone, Copy)]
pub struct WithinRange<'a> {
    /// Decodes the values.
    pub values: &'a dyn Decoder,
    /// Bytes of a value.
    pub width: usize,
    /// The range.
    pub range: NumberRange,
}

impl Decoder for WithinRange<'_> {
    /// # Errors
    /// As for the values; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that are no numbers
    /// in the range's order.
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let mut out = BitsOut::new(out, n_selected)?;
        let predicate = Predicate::Within(self.range);
        let is_filtered =
            self.values
                .filter(unit, selection, &predicate, scratch, out.as_output())?;
        if !is_filtered {
            let bytes = n_selected.saturating_mul(self.width);
            scratch.with_values(bytes, |values: &mut [u8], scratch| {
                let to = Output::Fixed(&mut *values);
                self.values.decode(unit, selection, scratch, to)?;
                test_values(&self.range, values, self.width, scratch, &mut out)
            })?;
        }
        Ok(0)
    }
}

/// Tests values of `width` bytes, back to back: one for each bit.
///
/// # Errors
/// As [`NumberRange::test`].
pub fn test_values(
    range: &NumberRange,
    values: &[u8],
    width: usize,
    scratch: &mut Scratch,
    out: &mut BitsOut<'_>,
) -> Result<()> {
    scratch.with_values(out.len().div_ceil(8), |bits: &mut [u8], _| {
        range.test(width, values, bits)?;
        out.copy(bits)
    })
}
