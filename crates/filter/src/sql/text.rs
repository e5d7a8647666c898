//! Places in the text of a condition: from lines and columns to characters.

use sqlparser::tokenizer::{Location, Span};

use crate::literal::cut;

/// The text of a condition.
pub(super) struct Text<'a> {
    text: &'a str,
    /// The byte at which each character starts; empty if every character is one byte.
    bytes: Vec<usize>,
    n_characters: usize,
    /// Characters in front of each line.
    lines: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Text<'a> {
        let breaks = text.chars().enumerate().filter(|(_, c)| *c == '\n');
        Text {
            text,
            n_characters: text.chars().count(),
            bytes: match text.is_ascii() {
                true => Vec::new(),
                false => text.char_indices().map(|(byte, _)| byte).collect(),
            },
            lines: std::iter::once(0)
                .chain(breaks.map(|(i, _)| i + 1))
                .collect(),
        }
    }

    pub(super) fn as_str(&self) -> &'a str {
        self.text
    }

    /// The number of the character at a place, counted from 1; that behind the last one for a place beyond the text.
    pub(super) fn character(&self, place: Location) -> usize {
        let number = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        let line = number(place.line).checked_sub(1);
        let before = line.and_then(|line| self.lines.get(line));
        match before {
            Some(before) => before.saturating_add(number(place.column)).min(self.end()),
            None => self.end(),
        }
    }

    /// The number of the character behind the last one.
    pub(super) fn end(&self) -> usize {
        self.n_characters + 1
    }

    /// The byte at which a place is.
    fn byte(&self, place: Location) -> usize {
        let character = self.character(place) - 1;
        match self.text.len() == self.n_characters {
            true => character,
            false => self
                .bytes
                .get(character)
                .copied()
                .unwrap_or(self.text.len()),
        }
    }

    /// The text between two places.
    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.text
            .get(self.byte(span.start)..self.byte(span.end))
            .unwrap_or_default()
    }

    /// The text between two places, cut short.
    pub(super) fn shown(&self, span: Span) -> String {
        cut(self.slice(span))
    }

    /// The word, or else the character, at a place, cut short.
    pub(super) fn token_at(&self, place: Location) -> String {
        let rest = self.text.get(self.byte(place)..).unwrap_or_default();
        let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let one = rest.chars().next().map_or(0, char::len_utf8);
        cut(rest.get(..end.max(one)).unwrap_or_default())
    }
}

/// Splits the place off the end of a message of the parser.
pub(super) fn split_place(message: &str) -> (&str, Option<Location>) {
    let split = || {
        let (what, place) = message.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let place = Location::new(line.parse().ok()?, column.parse().ok()?);
        Some((what, Some(place)))
    };
    split().unwrap_or((message, None))
}
