//! Tests values group by group: by base and width alone where all or none lie in the range.

use tarsia_codec::toolbox::BitsOut;
use tarsia_codec::{Error, NumberRange, Order, Result, Scratch};

use crate::layout::{GROUP_VALUES, Group, GroupStart, Unit};

impl Unit<'_> {
    /// Sets the bits of the values from `start` on that lie in the range. The caller has checked that they exist.
    pub(crate) fn find_within<const B: usize>(
        &self,
        start: usize,
        range: &NumberRange,
        scratch: &mut Scratch,
        out: &mut BitsOut<'_>,
    ) -> Result<()> {
        scratch.with_values(GROUP_VALUES * B, |values: &mut [u8], scratch| {
            scratch.with_values(GROUP_VALUES / 8, |bits: &mut [u8], _| {
                let mut at = self.group_start(start / GROUP_VALUES, GroupStart::default());
                let mut done = 0;
                while done < out.len() {
                    let first = start + done;
                    let group = self.group(first / GROUP_VALUES);
                    let in_group = first % GROUP_VALUES;
                    let n = group.n_values.saturating_sub(in_group);
                    let mut out = out.part(done, n);
                    if out.is_empty() {
                        return Err(Error::invalid("a range reaches beyond its unit"));
                    }
                    let packed = self.group_packed(at, &group);
                    match self.proof(&group, first, range) {
                        Some(all) => out.fill(all),
                        None => {
                            let values = values.get_mut(..out.len() * B).unwrap_or_default();
                            let (n, width, base) = (group.n_values, group.width, group.base);
                            tarsia_bits::unpack_range_of(
                                B, packed, n, width, base, in_group, values,
                            )
                            .map_err(|_| Error::invalid("packed values do not fit the unit"))?;
                            self.patch_range::<B>(first, values)?;
                            let bits = bits.get_mut(..out.len().div_ceil(8)).unwrap_or_default();
                            range.test(B, values, bits)?;
                            out.copy(bits)?;
                        }
                    }
                    done += out.len();
                    at += packed.len();
                }
                Ok(())
            })
        })
    }

    /// Whether all values of a group from value `first` of the unit on lie in the range, or none does: as far as base
    /// and width tell.
    fn proof(&self, group: &Group, first: usize, range: &NumberRange) -> Option<bool> {
        let patch = self.first_patch(first);
        let end = (first / GROUP_VALUES + 1) * GROUP_VALUES;
        let is_patched = patch < self.positions.len() && self.position(patch) < end;
        let within = range.and(&NumberRange::all(range.order, self.value_bytes)?);
        if is_patched || range.order == Order::Float || within.is_empty() {
            return None;
        }
        // Numbers with and without a sign lie on the same circle, on which differences are added.
        let bits = 8 * self.value_bytes as u32;
        let ones = u64::MAX >> (64 - bits);
        let (low, base) = (within.low as u64 & ones, group.base & ones);
        let range_span = within.high.abs_diff(within.low);
        let group_span = (1 << group.width) - 1_u128;
        let base_above_low = u128::from(base.wrapping_sub(low) & ones);
        let low_above_base = u128::from(low.wrapping_sub(base) & ones);
        if base_above_low + group_span <= range_span {
            return Some(true);
        }
        (base_above_low > range_span && low_above_base > group_span).then_some(false)
    }
}
