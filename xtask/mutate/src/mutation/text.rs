//! Changes of text: the tokens of CSV and JSON.

use tarsia_testkit::rng::Rng;

use super::place::piece;

/// Tokens that are put between, before or over the tokens that are there.
const TOKENS: [&[u8]; 46] = [
    b"\"",
    b"\"\"",
    b"'",
    b",",
    b",,",
    b";",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\t",
    b" ",
    b"\0",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\uD834\\uDD1E",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    "\u{1b}[31m".as_bytes(),
    "\u{202e}\u{1f600}".as_bytes(),
    b"[",
    b"]",
    b"{",
    b"}",
    b"{}",
    b"[]",
    b":",
    b"null",
    b"true",
    b"NaN",
    b"-Infinity",
    b"-",
    b"-0",
    b"0.1e-400",
    b"1e400",
    b"9007199254740993",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"123456789012345678901234567890",
    b"0x1F",
    b"2024-02-30",
    b"9999-12-31T23:59:59.999999999Z",
    b"{\"a\":{\"a\":1},\"a\":2}",
];

/// Most brackets in a row.
const DEPTH_MAX: usize = 20_000;

/// One change.
pub(super) fn change(rng: &mut Rng, file: &mut Vec<u8>) {
    let at = token_at(rng, file);
    match rng.below(10) {
        0..4 => {
            let token = *rng.pick(&TOKENS);
            file.splice(at..at, token.iter().copied());
        }
        4 | 5 => {
            let token = *rng.pick(&TOKENS);
            let end = token_end(file, at);
            file.splice(at..end, token.iter().copied());
        }
        6 => deepen(rng, file, at),
        7 => lengthen(rng, file, at),
        8 => repeat_line(rng, file),
        _ => {
            file.drain(at..token_end(file, at));
        }
    }
}

/// True for what stands between tokens.
fn is_border(byte: u8) -> bool {
    b",:\"[]{}\r\n".contains(&byte)
}

/// Where a token or a border begins, mostly.
fn token_at(rng: &mut Rng, file: &[u8]) -> usize {
    let from = rng.below(file.len() + 1);
    if rng.percent(20) {
        return from;
    }
    let border = file[from..].iter().position(|byte| is_border(*byte));
    let border = from + border.unwrap_or(0);
    border + rng.below(2).min(file.len() - border)
}

fn token_end(file: &[u8], at: usize) -> usize {
    let len = file[at..].iter().position(|byte| is_border(*byte));
    // A border is a token of its own.
    (at + len.unwrap_or(0).max(1)).min(file.len())
}

/// Many brackets, closed or not.
fn deepen(rng: &mut Rng, file: &mut Vec<u8>, at: usize) {
    let (open, close): (&[u8], &[u8]) = match rng.below(3) {
        0 => (b"[", b"]"),
        1 => (b"{\"a\":", b"}"),
        _ => (b"\"", b"\""),
    };
    let depth = match rng.flip() {
        true => rng.between(1, 200),
        false => rng.between(1, DEPTH_MAX),
    };
    let mut deep = open.repeat(depth);
    if rng.flip() {
        deep.extend_from_slice(b"1");
        deep.extend(close.repeat(depth));
    }
    file.splice(at..at, deep);
}

/// Many of one character: long numbers, texts and runs of borders.
fn lengthen(rng: &mut Rng, file: &mut Vec<u8>, at: usize) {
    let byte = *rng.pick(b"09x, \n\"");
    let len = match rng.flip() {
        true => rng.between(1, 40),
        false => rng.between(1, 70_000),
    };
    file.splice(at..at, std::iter::repeat_n(byte, len));
}

/// A line again, or a piece of one.
fn repeat_line(rng: &mut Rng, file: &mut Vec<u8>) {
    let piece = piece(rng, file.len());
    let line_end = |at: usize| {
        let rest = file[at..].iter().position(|byte| *byte == b'\n');
        rest.map_or(file.len(), |n| at + n + 1)
    };
    let range = match rng.flip() {
        true => line_end(piece.start)..line_end(piece.end),
        false => piece,
    };
    let line = file[range.clone()].to_vec();
    file.splice(range.end..range.end, line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_at_borders() {
        let file = b"ab,\"c\"\n";
        assert_eq!(token_end(file, 0), 2);
        assert_eq!(token_end(file, 2), 3);
        assert_eq!(token_end(file, 4), 5);
        assert_eq!(token_end(file, 7), 7);
    }

    #[test]
    fn brackets_get_deep_and_bytes_that_are_no_text_occur() {
        let (mut deepest, mut is_text) = (0, true);
        for seed in 0..3000 {
            let mut file = b"{\"a\":[1,2]}\n".to_vec();
            change(&mut Rng::new(seed), &mut file);
            deepest = deepest.max(file.iter().filter(|byte| **byte == b'[').count());
            is_text &= std::str::from_utf8(&file).is_ok();
        }
        assert!(deepest > 1000 && !is_text, "{deepest}");
    }
}
