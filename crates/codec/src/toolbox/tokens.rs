//! Strings as tokens of a dictionary: what encodings of this kind decide alike.

use core::ops::Range;

use crate::{BytesSlice, SharedKind, Statistics, Values};

/// Fewer bytes of strings do not pay for a dictionary of tokens.
const DATA_BYTES_MIN: u64 = 4 << 10;

/// The strings of a page, if tokens may make them smaller: not those of a few bytes, and no tokens, which are no text.
pub fn strings_worth_tokens<'v>(values: &Statistics<'v>) -> Option<BytesSlice<'v>> {
    let Values::Bytes(strings) = values.values() else {
        return None;
    };
    let are_tokens = values.facts().shared == Some(SharedKind::TokenDictionary);
    let are_few = u64::from(strings.data_bytes()) < DATA_BYTES_MIN;
    (!are_tokens && !are_few).then_some(strings)
}

/// Codes under tokens of an earlier file may be one in so many more than they were there: the file gets these tokens,
/// as it would get its own.
const OTHER_FILE_ONE_IN: u64 = 8;

/// Sizes of the first page of a column under its own tokens, by which later pages see whether these suit them.
#[derive(Debug, Clone, Copy)]
pub struct FirstPageSizes {
    /// Bytes of the strings.
    pub data_bytes: u64,
    /// Number or bytes of their codes.
    pub codes: u64,
}

impl FirstPageSizes {
    /// The codes that strings of `data_bytes` would need under tokens of their own that are as good as the first page's
    /// were for it. `None` for a page of more than twice as many bytes, which could have better ones.
    pub fn expected(self, data_bytes: u64) -> Option<u64> {
        if data_bytes > self.data_bytes.saturating_mul(2) {
            return None;
        }
        let codes = u128::from(self.codes) * u128::from(data_bytes);
        u64::try_from(codes / u128::from(self.data_bytes.max(1))).ok()
    }

    /// Bytes of codes under the first page's tokens, which take `token_bytes`, up to which a page of `values` had
    /// better have these than its own, where codes are `expected` to take so many bytes. Tokens that a page of the file
    /// has are stored already.
    pub fn code_bytes_max(values: &Statistics<'_>, expected: u64, token_bytes: u64) -> u64 {
        expected.saturating_add(match values.recalls_other_file() {
            true => expected / OTHER_FILE_ONE_IN,
            false => token_bytes,
        })
    }
}

/// The codes of the values in `values`, where `end` says where those of a value end. `None` beyond the last value.
pub fn codes_between(
    values: Range<usize>,
    end: impl Fn(usize) -> Option<usize>,
) -> Option<Range<usize>> {
    let before = |i: usize| i.checked_sub(1).map_or(Some(0), &end);
    Some(before(values.start)?..before(values.end)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;

    #[test]
    fn few_strings_and_tokens_get_no_tokens() {
        let worth = |n: usize, shared| {
            let (offsets, data) = ([0, n as u32], alloc::vec![b'a'; n]);
            let strings = BytesSlice::new(&offsets, &data).unwrap();
            let facts = Facts {
                shared,
                ..Facts::default()
            };
            let values = Statistics::new(Values::Bytes(strings), facts);
            strings_worth_tokens(&values).is_some()
        };
        assert!(worth(4096, None) && !worth(4095, None));
        assert!(worth(4096, Some(SharedKind::Dictionary)));
        assert!(!worth(4096, Some(SharedKind::TokenDictionary)));
    }

    #[test]
    fn codes_are_expected_by_the_first_page() {
        let first = FirstPageSizes {
            data_bytes: 100,
            codes: 30,
        };
        assert_eq!(first.expected(200), Some(60));
        assert_eq!(first.expected(201), None);
        let none = FirstPageSizes {
            data_bytes: 0,
            codes: 0,
        };
        assert_eq!((none.expected(0), none.expected(1)), (Some(0), None));
    }

    #[test]
    fn codes_lie_between_ends() {
        let ends = [3, 3, 7];
        let codes = |values| codes_between(values, |i| ends.get(i).copied());
        assert_eq!(codes(0..3), Some(0..7));
        assert_eq!(codes(1..2), Some(3..3));
        assert_eq!(codes(0..0), Some(0..0));
        assert_eq!(codes(2..4), None);
    }
}
