//! Characters that a terminal must not get.

use std::ops::RangeInclusive;

/// Characters that show nothing and change how others are shown: those of the general category Cf (directions, joiners,
/// tags), and the separators of lines and paragraphs. Rising.
const FORMAT: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];

/// Whether a character is a control character or changes how others are shown. Names, notes and values may hold any
/// characters: with these, a terminal would show something else than the text.
///
/// ```
/// use tarsia_compliance::certificate::is_unprintable;
/// assert!(is_unprintable('\u{1b}') && is_unprintable('\u{202e}'));
/// assert!(!is_unprintable('é') && !is_unprintable(' '));
/// ```
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let at = FORMAT.partition_point(|range| *range.end() < c);
    c.is_control() || FORMAT.get(at).is_some_and(|range| range.contains(&c))
}

/// The text on one harmless line: [such](is_unprintable) characters are escaped, as `\u{202e}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unprintable(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_marks_are_escaped_and_nothing_else_is() {
        assert!(FORMAT.is_sorted_by(|a, b| a.end() < b.start()));
        for mark in [
            '\0',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{fffb}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e007f}',
        ] {
            assert!(is_unprintable(mark), "{mark:?}");
            let escaped = printable(&format!("a{mark}b"));
            assert_eq!(escaped, format!("a{}b", mark.escape_unicode()));
        }
        let plain = "Zoë – “naïve” 北京 שלום مرحبا नमस्ते \u{2027}\u{202f}\u{2065}🦀\u{e0080}";
        assert_eq!(printable(plain), plain);
        let n_marks = (char::MIN..=char::MAX).filter(|c| is_unprintable(*c));
        // 65 controls, 170 of Cf in Unicode 16, two separators.
        assert_eq!(n_marks.count(), 65 + 170 + 2);
    }
}
