//! Finds strings without decoding them: compares their tokens.

use core::ops::Range;

use tarsia_codec::toolbox::{Begin, BitsOut, Codes, Needle, Piece};
use tarsia_codec::{Output, Result, Scratch, Selection};

use crate::decode::{Tokens, UnitDecoder, bad_code};
use crate::layout::{CODE_BYTES, UnitParts};

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
        let of_counts = self.counts_of(parts);
        let from = match values.start {
            0 => 0,
            n_before => of_counts.sum(0..n_before, scratch)?,
        };
        let selection = match values.len() == parts.counts.len as usize {
            true => Selection::All,
            false => Selection::from(&values),
        };
        scratch.with_values(values.len(), |counts: &mut [u32], scratch| {
            of_counts.decode(selection, counts, scratch)?;
            let end = from + counts.iter().map(|count| u64::from(*count)).sum::<u64>();
            let n_codes = u64::from(parts.codes.len);
            let reaches_end = values.end == parts.counts.len;
            if end > n_codes || reaches_end && end != n_codes {
                return Err(UnitParts::bad_counts(end));
            }
            let selection = match end - from == n_codes {
                true => Selection::All,
                false => Selection::Range {
                    start: from as u32,
                    len: (end - from) as u32,
                },
            };
            let n_codes = (end - from) as usize;
            scratch.with_values(n_codes, |codes: &mut [u16], scratch| {
                let to = Output::Fixed(bytemuck::cast_slice_mut(&mut *codes));
                self.codes.decode(parts.codes, selection, scratch, to)?;
                let mut begin = Begin::default();
                let mut rest = &*codes;
                let mut counts = counts.iter();
                out.fill_with(|_| {
                    let count = counts.next().map_or(0, |count| *count as usize);
                    let (of_value, behind) = rest.split_at_checked(count).unwrap_or_default();
                    let ahead = Codes {
                        ahead: bytemuck::cast_slice(rest),
                        width: CODE_BYTES,
                        len: count,
                    };
                    rest = behind;
                    needle.match_value(ahead, &mut begin, move |from| {
                        self.tokens.pieces(of_value.get(from..).unwrap_or_default())
                    })
                })
            })
        })
    }
}

impl Tokens {
    /// The tokens of these codes.
    #[inline(always)]
    fn pieces(&self, codes: &[u16]) -> impl Iterator<Item = Result<Piece>> {
        codes.iter().map(move |code| {
            let code = usize::from(u16::from_le(*code));
            match (self.entries.get(code), self.lengths.get(code)) {
                (Some(padded), Some(len)) => Ok(Piece::of_16(padded, usize::from(*len))),
                _ => Err(bad_code(code as u64)),
            }
        })
    }
}
