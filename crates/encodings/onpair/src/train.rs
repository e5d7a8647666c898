//! Finds the tokens of a page.
//!
//! A few rounds over a sample: each parses it with the tokens so far and counts tokens and pairs of neighbours. The
//! most frequent of both are the tokens of the next round. So the longest token may get twice as long in each round,
//! and those that longer ones have made rare go away. Early rounds need little of the sample. At last the number of
//! tokens is chosen: more tokens make fewer codes, but wider ones, and a larger dictionary.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use tarsia_codec::{AlignedBuf, BytesSlice, OwnedValues, Result};

use crate::layout::TOKEN_BYTES_MAX;
use crate::pairs::Pairs;
use crate::split::Split;
use crate::token::Token;
use crate::trie::Trie;

/// How much time is spent on finding tokens.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Rounds before the number of tokens is chosen. The last uses every second piece of the sample, each one before
    /// half as many, down to one in `2^least_share_log2`.
    rounds: u32,
    least_share_log2: u32,
    /// Tokens that these rounds keep.
    candidates_max: usize,
    /// The sample is at least so many bytes, and one in so many of the page's.
    sample_bytes_min: usize,
    sample_one_in: usize,
    /// Whether one more round over all of the sample follows for the number of tokens that was chosen. It saves 2 per
    /// cent.
    refines: bool,
    /// Whether tokens are to be used, so that all bytes which occur have to be among them.
    is_trial: bool,
}

impl Effort {
    /// For a page that is written. Codes have up to 14 bits: with more tokens pages of 8 MiB get larger.
    const FULL: Self = Self {
        rounds: 7,
        least_share_log2: 5,
        candidates_max: 1 << 14,
        sample_bytes_min: 512 << 10,
        sample_one_in: 8,
        refines: true,
        is_trial: false,
    };

    /// For a page that is written where time counts more than size.
    const LIGHT: Self = Self {
        sample_bytes_min: 256 << 10,
        sample_one_in: 16,
        ..Self::FULL
    };

    /// To see whether the page is worth more, where that is not sure.
    const LARGER_TRIAL: Self = Self {
        rounds: 6,
        candidates_max: 1 << 13,
        sample_bytes_min: 4 * TRIAL_BYTES,
        ..Self::TRIAL
    };

    /// To see whether the page is worth more.
    const TRIAL: Self = Self {
        rounds: 5,
        least_share_log2: 3,
        candidates_max: 1 << 12,
        sample_bytes_min: TRIAL_BYTES,
        sample_one_in: usize::MAX,
        refines: false,
        is_trial: true,
    };
}

/// Rounds that the tokens of a trial save.
const ROUNDS_SAVED: u32 = 3;

/// The most bytes that [`trial`] looks at.
pub(crate) const TRIAL_BYTES: usize = 32 << 10;

/// Bytes of the pieces that the sample is made of.
const PIECE_BYTES: usize = 1 << 10;

/// One piece in so many is not trained with, but used to compare dictionaries of different sizes.
const COMPARED_ONE_IN: usize = 8;

/// In larger pages the refined tokens are better.
const SMALL_PAGE_BYTES_MAX: usize = 1 << 20;

/// A page has about one token for so many bytes, by which the number of tokens is guessed at first.
const BYTES_PER_TOKEN_LOG2: u32 = 6;

/// The widths of codes that are tried.
const CODE_BITS: Range<u32> = 1..15;

/// Half as many tokens must save one byte in so many: what is compared is not refined yet, from which more tokens gain
/// more.
const FEWER_SAVE_ONE_IN: u64 = 64;

/// Bytes that an entry of the dictionary takes besides its bytes.
const ENTRY_OVERHEAD_BYTES: u64 = 1;

/// The parts of the sample: ranges of the data, each inside one value.
#[derive(Default)]
struct Sample {
    train: Vec<Range<usize>>,
    compare: Vec<Range<usize>>,
}

impl Sample {
    fn of(strings: &BytesSlice<'_>, bytes_max: usize) -> Self {
        let offsets = strings.offsets();
        let base = offsets.first().map_or(0, |first| *first as usize);
        let n_bytes = strings.data_bytes() as usize;
        let mut sample = Self::default();
        if n_bytes <= bytes_max {
            let mut n = 0;
            sample.add(offsets, base..base + n_bytes, &mut n, PIECE_BYTES);
            return sample;
        }
        let n_pieces = bytes_max / PIECE_BYTES;
        for piece in 0..n_pieces {
            let start = base + (n_bytes - PIECE_BYTES) * piece / (n_pieces - 1).max(1);
            let mut n = piece;
            sample.add(offsets, start..start + PIECE_BYTES, &mut n, usize::MAX);
        }
        sample
    }

    fn all(&self) -> impl Iterator<Item = Range<usize>> {
        self.train.iter().chain(&self.compare).cloned()
    }

    /// Adds the parts of values that are in `range`, as pieces from number `n` on. A new piece begins after each
    /// `piece_bytes`.
    fn add(&mut self, offsets: &[u32], range: Range<usize>, n: &mut usize, piece_bytes: usize) {
        let mut value = offsets.partition_point(|offset| *offset as usize <= range.start);
        let (mut at, mut piece_end) = (range.start, range.start.saturating_add(piece_bytes));
        while at < range.end {
            let value_end = offsets.get(value).map_or(range.end, |end| *end as usize);
            let end = value_end.min(range.end).min(piece_end);
            if at < end {
                let pieces = match *n % COMPARED_ONE_IN {
                    last if last == COMPARED_ONE_IN - 1 => &mut self.compare,
                    _ => &mut self.train,
                };
                pieces.push(at..end);
            }
            at = end;
            value += usize::from(at == value_end);
            if at >= piece_end {
                *n += 1;
                piece_end = at.saturating_add(piece_bytes);
            }
        }
    }
}

fn bytes_of(pieces: &[Range<usize>]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// A token of several bytes, and how often it was used.
type Candidate = (u64, Token);

/// The order of their worth, the best first: of equal uses the longer, then by bytes. It does not depend on the order
/// in which tokens were found.
fn by_worth((uses_a, a): &Candidate, (uses_b, b): &Candidate) -> Ordering {
    (uses_b, b.len, b).cmp(&(uses_a, a.len, a))
}

/// The most valuable tokens.
struct Chosen {
    tokens: Vec<Token>,
    code_bits: u32,
    /// Bytes of codes and dictionary.
    bytes: u64,
}

struct Trainer<'a> {
    data: &'a [u8],
    page_bytes: u64,
    /// The bytes that occur.
    alphabet: Vec<Token>,
}

impl Trainer<'_> {
    /// The tokens and the pairs of them that `pieces` use most, besides single bytes: at most `n_max` with these, in no
    /// order.
    fn round(&self, tokens: &[Token], pieces: &[Range<usize>], n_max: usize) -> Vec<Candidate> {
        let split = self.split(tokens, pieces);
        let mut uses = vec![0u64; tokens.len()];
        for number in &split.numbers {
            uses[usize::from(*number)] += 1;
        }
        let kept = tokens.iter().zip(&uses);
        let mut candidates: Vec<Candidate> = kept
            .filter(|(token, uses)| token.len > 1 && **uses > 1)
            .map(|(token, uses)| (*uses, *token))
            .collect();
        // The text begins with the longest token that it can begin with. So no two pairs make the same bytes, and none
        // makes those of a token.
        let pairs = pairs_of(&split, tokens).repeated();
        candidates.extend(pairs.into_iter().map(|pair| {
            let [first, second] = pair.numbers.map(|number| tokens[usize::from(number)]);
            (pair.count, first.then(second))
        }));
        let n = n_max.saturating_sub(self.alphabet.len());
        if candidates.len() > n {
            candidates.select_nth_unstable_by(n, by_worth);
            candidates.truncate(n);
        }
        candidates
    }

    /// Single bytes, then these.
    fn with_single_bytes(&self, candidates: impl Iterator<Item = Token>) -> Vec<Token> {
        self.alphabet.iter().copied().chain(candidates).collect()
    }

    /// The tokens of the pieces, by their places in `tokens`.
    fn split(&self, tokens: &[Token], pieces: &[Range<usize>]) -> Split {
        let numbers = (0..=u16::MAX).take(tokens.len());
        let trie = Trie::new(tokens.iter().copied().zip(numbers));
        split_pieces(&trie, self.data, pieces)
    }

    /// Single bytes and the first of the candidates for codes of `bits`, as far as each saves more than it takes in the
    /// dictionary, where the page is `scale` / 256 times what they were counted in.
    fn top(&self, candidates: &[Candidate], bits: u32, scale: u64) -> Vec<Token> {
        let pays = |(uses, token): &&Candidate| {
            let saved_bits = (uses / 256)
                .saturating_mul(scale)
                .saturating_add(uses % 256 * scale / 256);
            let saved_bits = saved_bits.saturating_mul(bits.into());
            saved_bits > 8 * (u64::from(token.len) + ENTRY_OVERHEAD_BYTES)
        };
        let paying = candidates.iter().filter(pays).map(|(_, token)| *token);
        let n = (1usize << bits).saturating_sub(self.alphabet.len());
        self.with_single_bytes(paying.take(n))
    }

    /// The candidates, the best first, in the number that makes `compared` smallest, which is looked for from codes of
    /// `guess` bits on. `None` where there are none but single bytes.
    fn best_of(
        &self,
        candidates: &[Candidate],
        trained_bytes: u64,
        compared: &[Range<usize>],
        guess: u32,
    ) -> Option<Chosen> {
        // The last round has seen half of what is trained with.
        let scale = self.scale(trained_bytes / 2);
        let alphabet_bits = code_bits(self.alphabet.len());
        let n_tokens = self.alphabet.len() + candidates.len();
        if candidates.is_empty() {
            return None;
        }
        // No more bits than there are tokens for, and no fewer than for the single bytes.
        let fewest = alphabet_bits.max(CODE_BITS.start);
        let most = code_bits(n_tokens).clamp(fewest, CODE_BITS.end - 1);
        let of = |bits: u32| {
            let tokens = self.top(candidates, bits, scale);
            let bytes = self.cost(&tokens, compared);
            Chosen {
                tokens,
                code_bits: bits,
                bytes,
            }
        };
        // Bytes fall with the number of tokens and then rise: from the guess on the way leads down. Not all numbers
        // are tried, since a dictionary of many tokens takes longer to make than to compare.
        let mut best = of(guess.clamp(fewest, most));
        let start = best.code_bits;
        let mut least = best.bytes;
        while best.code_bits < most {
            let more = of(best.code_bits + 1);
            if least + least / FEWER_SAVE_ONE_IN < more.bytes {
                break;
            }
            least = least.min(more.bytes);
            best = more;
        }
        while best.code_bits > fewest && best.code_bits <= start {
            let fewer = of(best.code_bits - 1);
            if fewer.bytes + fewer.bytes / FEWER_SAVE_ONE_IN >= best.bytes {
                break;
            }
            best = fewer;
        }
        Some(best)
    }

    /// 256 times the page's bytes for each of `n_bytes`.
    fn scale(&self, n_bytes: u64) -> u64 {
        self.page_bytes * 256 / n_bytes.max(1)
    }

    /// Bytes of the page's codes, if it is like `pieces`, and of the dictionary.
    fn cost(&self, tokens: &[Token], pieces: &[Range<usize>]) -> u64 {
        let n_codes = self.split(tokens, pieces).numbers.len() as u64;
        let bits = n_codes * u64::from(code_bits(tokens.len()));
        let page_bits =
            u128::from(bits) * u128::from(self.page_bytes) / u128::from(bytes_of(pieces).max(1));
        let dictionary = tokens
            .iter()
            .map(|token| u64::from(token.len) + ENTRY_OVERHEAD_BYTES);
        page_bits as u64 / 8 + dictionary.sum::<u64>()
    }
}

/// The pairs of neighbours in a text that can be one token.
fn pairs_of(split: &Split, tokens: &[Token]) -> Pairs {
    let mut pairs = Pairs::with_capacity(split.numbers.len(), tokens.len());
    let lens: Vec<u8> = tokens.iter().map(|token| token.len).collect();
    let len = |number: u16| usize::from(lens[usize::from(number)]);
    let mut start = 0;
    for end in &split.ends {
        let text = &split.numbers[start..*end as usize];
        for pair in text.array_windows::<2>() {
            if len(pair[0]) + len(pair[1]) <= TOKEN_BYTES_MAX {
                pairs.push(*pair);
            }
        }
        start = *end as usize;
    }
    pairs
}

fn split_pieces(trie: &Trie, data: &[u8], pieces: &[Range<usize>]) -> Split {
    Split::of(trie, data, pieces.len(), |i| pieces[i].clone())
}

/// The number of codes of these strings under a dictionary, as a sample suggests.
pub(crate) fn n_codes(dictionary: &Trie, strings: &BytesSlice<'_>) -> u64 {
    let pieces: Vec<_> = Sample::of(strings, TRIAL_BYTES).all().collect();
    let split = split_pieces(dictionary, strings.data(), &pieces);
    let n_codes = split.numbers.len() as u64;
    n_codes * u64::from(strings.data_bytes()) / bytes_of(&pieces).max(1)
}

/// Bits of a code for one of `n` tokens.
pub(crate) fn code_bits(n: usize) -> u32 {
    n.max(2).next_power_of_two().ilog2()
}

/// The tokens for these strings, sorted by their bytes. Among them is each byte that occurs. Those of a trial save the
/// first rounds. `for_speed` spends less time on them.
pub(crate) fn train(
    strings: &BytesSlice<'_>,
    of_trial: Option<Trial>,
    for_speed: bool,
) -> OwnedValues {
    let known = of_trial.map_or(vec![], |trial| trial.tokens);
    let effort = match for_speed {
        true => Effort::LIGHT,
        false => Effort::FULL,
    };
    sorted(search(strings, effort, &known).tokens)
}

/// The bytes that occur in these strings.
pub(crate) fn single_bytes(strings: &BytesSlice<'_>) -> OwnedValues {
    sorted(alphabet([strings.value_data()].into_iter()))
}

/// These tokens and the bytes that occur in these strings.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where `tokens` are no strings.
pub(crate) fn with_bytes_of(strings: &BytesSlice<'_>, tokens: &OwnedValues) -> Result<OwnedValues> {
    let tokens = tokens.as_values()?.as_bytes()?;
    let mut all = alphabet([strings.value_data()].into_iter());
    all.extend((0..tokens.len()).map(|i| Token::of(tokens.get(i))));
    all.sort_unstable();
    all.dedup();
    Ok(sorted(all))
}

fn sorted(mut tokens: Vec<Token>) -> OwnedValues {
    tokens.sort_unstable();
    let mut data = Vec::new();
    let mut offsets = vec![0];
    for token in tokens {
        data.extend_from_slice(&token.bytes()[..usize::from(token.len)]);
        offsets.push(data.len() as u32);
    }
    let data = AlignedBuf::copy_of(&data);
    OwnedValues::Bytes { offsets, data }
}

/// Sizes that a small sample suggests.
pub(crate) struct Trial {
    /// Bytes of codes and dictionary. With more of the page they get fewer.
    pub(crate) bytes: u64,
    /// Bytes where the tokens are single bytes.
    pub(crate) single_bytes: u64,
    tokens: Vec<Token>,
}

pub(crate) fn trial(strings: &BytesSlice<'_>) -> Trial {
    search(strings, Effort::TRIAL, &[])
}

/// The trial, or a larger one, if it says that training with little time has a chance to get below `to_beat` bytes.
pub(crate) fn trial_for_speed(
    strings: &BytesSlice<'_>,
    trial: Trial,
    to_beat: u64,
) -> Option<Trial> {
    if trial.bytes - trial.bytes / 4 >= to_beat {
        return None;
    }
    if trial.bytes - trial.bytes / 8 < to_beat {
        return Some(trial);
    }
    let larger = search(strings, Effort::LARGER_TRIAL, &trial.tokens);
    (larger.bytes - larger.bytes / 8 < to_beat).then_some(larger)
}

/// The tokens that make strings smallest. If some are known, the rounds begin with them.
fn search(strings: &BytesSlice<'_>, effort: Effort, known: &[Token]) -> Trial {
    let page_bytes = strings.data_bytes() as usize;
    let sample_bytes = effort.sample_bytes_min + page_bytes / effort.sample_one_in;
    let sample = Sample::of(strings, sample_bytes);
    let trainer = Trainer {
        data: strings.data(),
        page_bytes: page_bytes as u64,
        alphabet: match effort.is_trial {
            true => alphabet(sample.all().map(|piece| &strings.data()[piece])),
            false => alphabet([strings.value_data()].into_iter()),
        },
    };
    let first_round = match known {
        [] => 0,
        _ => ROUNDS_SAVED,
    };
    let longer = known.iter().filter(|token| token.len > 1);
    let mut tokens = trainer.with_single_bytes(longer.copied());
    let mut candidates = Vec::new();
    for round in first_round..effort.rounds {
        let step = 1 << effort.least_share_log2.min(effort.rounds - round);
        let pieces: Vec<_> = sample.train.iter().step_by(step).cloned().collect();
        candidates = trainer.round(&tokens, &pieces, effort.candidates_max);
        tokens = trainer.with_single_bytes(candidates.iter().map(|(_, token)| *token));
    }
    candidates.sort_unstable_by(by_worth);
    let compared = match sample.compare.is_empty() {
        true => &sample.train,
        false => &sample.compare,
    };
    let single_bytes = trainer.cost(&trainer.alphabet, compared);
    let mut best = Trial {
        tokens: trainer.alphabet.clone(),
        bytes: single_bytes,
        single_bytes,
    };
    let guess = match known {
        [] => page_bytes
            .max(1)
            .ilog2()
            .saturating_sub(BYTES_PER_TOKEN_LOG2),
        known => code_bits(known.len()),
    };
    let chosen = trainer.best_of(&candidates, bytes_of(&sample.train), compared, guess);
    let Some(chosen) = chosen else {
        return best;
    };
    (best.bytes, best.tokens) = (chosen.bytes, chosen.tokens);
    if !effort.refines {
        return best;
    }
    let all: Vec<_> = sample.all().collect();
    let grown = trainer.round(&best.tokens, &all, 1 << chosen.code_bits);
    let refined = trainer.top(&grown, chosen.code_bits, trainer.scale(bytes_of(&all)));
    // In a small page longer tokens may take so many uses from shorter ones that neither pays.
    if page_bytes > SMALL_PAGE_BYTES_MAX {
        best.tokens = refined;
        return best;
    }
    let bytes = trainer.cost(&refined, compared);
    if bytes < best.bytes {
        (best.bytes, best.tokens) = (bytes, refined);
    }
    best
}

/// The bytes that occur in `pieces`.
fn alphabet<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Token> {
    let mut occurs = [false; 256];
    for byte in pieces.flatten() {
        occurs[usize::from(*byte)] = true;
    }
    let bytes = (0..=u8::MAX).filter(|byte| occurs[usize::from(*byte)]);
    bytes.map(|byte| Token::of(&[byte])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(sample: &Sample) -> Vec<Range<usize>> {
        let mut all = [&sample.train[..], &sample.compare].concat();
        all.sort_unstable_by_key(|piece| piece.start);
        all
    }

    #[test]
    fn a_sample_is_pieces_of_values() {
        let offsets: Vec<u32> = (0..=3000).map(|i| 5 + i * 7 + i % 3 * 2).collect();
        let data = vec![b'a'; 30_000];
        let strings = BytesSlice::new(&offsets, &data).unwrap();
        let (first, n_bytes) = (5, strings.data_bytes() as usize);
        for bytes_max in [4 << 10, 9999, n_bytes, usize::MAX] {
            let sample = Sample::of(&strings, bytes_max);
            let all = all_of(&sample);
            assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let is_inside = |piece: &Range<usize>| {
                let value = offsets.partition_point(|offset| *offset as usize <= piece.start) - 1;
                !piece.is_empty() && piece.end <= offsets[value + 1] as usize
            };
            assert!(all.iter().all(is_inside));
            let sampled = bytes_of(&all) as usize;
            match bytes_max < n_bytes {
                true => assert_eq!(sampled, bytes_max - bytes_max % PIECE_BYTES),
                false => assert_eq!(sampled, n_bytes),
            }
            let ends = (all[0].start, all[all.len() - 1].end);
            assert_eq!(ends, (first, first + n_bytes));
            // The first seven pieces of 1 KiB are all trained with.
            assert_eq!(sample.compare.is_empty(), sampled < 8 * PIECE_BYTES - 16);
        }
    }

    #[test]
    fn tokens_are_sorted_and_hold_each_byte() {
        let text = "the oak, the elm, and the other trees of the wood \0\u{ff}".repeat(50);
        let offsets = [0, text.len() as u32];
        let strings = BytesSlice::new(&offsets, text.as_bytes()).unwrap();
        let tokens = train(&strings, None, false);
        let tokens = tokens.as_values().unwrap().as_bytes().unwrap();
        let all: Vec<&[u8]> = (0..tokens.len()).map(|i| tokens.get(i)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(text.bytes().all(|byte| all.contains(&&[byte][..])));
        assert!(all.iter().any(|token| token.len() > 8), "{all:?}");
        assert!(all.iter().all(|token| (1..=16).contains(&token.len())));
    }
}
