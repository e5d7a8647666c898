//! Finds strings without decoding all: by their lengths, their first codes, and the symbols behind these.

use core::ops::Range;

use tarsia_codec::toolbox::{Begin, BitsOut, Codes, Needle, NumbersUnit};
use tarsia_codec::{Result, Scratch, Selection};

use crate::decode::UnitDecoder;
use crate::layout::UnitParts;

impl UnitDecoder {
    /// Sets the bits of the `values` that match.
    pub(crate) fn find(
        &self,
        parts: &UnitParts<'_>,
        values: Range<u32>,
        needle: &Needle<'_>,
        scratch: &mut Scratch,
        out: &mut BitsOut<'_>,
    ) -> Result<()> {
        let first_codes = self.symbols.that_begin(needle);
        let of_counts = NumbersUnit::new(&*self.counts, parts.counts);
        let of_lengths = NumbersUnit::new(&*self.lengths, parts.lengths);
        let mut begin = Begin::default();
        let mut codes_before = match values.start {
            0 => 0,
            n_before => of_counts.sum(0..n_before, scratch)?,
        };
        of_counts.for_parts(values.clone(), scratch, &mut |counts, scratch| {
            let end = codes_before + counts.sum();
            let n = counts.numbers.len();
            let reaches_end = counts.start + n as u32 == parts.counts.len;
            let n_codes = parts.codes.len() as u64;
            if end > n_codes || reaches_end && end != n_codes {
                return Err(parts.bad_counts(end));
            }
            let n_lengths = if needle.has_length() { n } else { 0 };
            let mut out = out.part((counts.start - values.start) as usize, n);
            scratch.with_values(n_lengths, |lengths: &mut [u32], scratch| {
                if n_lengths > 0 {
                    let selection = match n as u32 == of_lengths.len() {
                        true => Selection::All,
                        false => Selection::Range {
                            start: counts.start,
                            len: n as u32,
                        },
                    };
                    of_lengths.decode(selection, lengths, scratch)?;
                }
                let mut next = codes_before as usize;
                let mut counts = counts.numbers.iter();
                out.fill_with(|i| {
                    let start = next;
                    next += counts.next().map_or(0, |count| *count as usize);
                    let length = lengths.get(i);
                    if length.is_some_and(|length| !needle.may_have_length(*length)) {
                        return Ok(false);
                    }
                    let codes = parts.codes.get(start..next).unwrap_or_default();
                    if codes.first().is_some_and(|code| !first_codes.have(*code)) {
                        return Ok(false);
                    }
                    let ahead = Codes {
                        ahead: parts.codes.get(start..).unwrap_or_default(),
                        width: 1,
                        len: codes.len(),
                    };
                    needle.match_value(ahead, &mut begin, move |from| {
                        let codes = codes.get(from..).unwrap_or_default();
                        self.symbols.pieces(codes, parts.codes_at + start + from)
                    })
                })
            })?;
            codes_before = end;
            Ok(())
        })
    }
}
