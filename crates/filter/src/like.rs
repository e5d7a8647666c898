//! Patterns of `LIKE`: `%` stands for any characters, `_` for one, and a character after `\` for itself.

use memchr::memmem::Finder;

/// A pattern, made ready.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Begins the text. If there is no `%`, it is the whole text.
    first: Piece,
    /// The pattern behind the first `%`; `None` if there is none.
    rest: Option<Rest>,
}

/// The part of a pattern behind its first `%`.
#[derive(Debug)]
struct Rest {
    /// Pieces between two `%`, none of them empty.
    inner: Vec<Piece>,
    /// Ends the text.
    last: Piece,
}

/// A part of a pattern without `%`.
#[derive(Debug)]
enum Piece {
    Text(Box<Finder<'static>>),
    /// With at least one `_`.
    Characters(Vec<One>),
}

/// A character of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum One {
    Any,
    Exactly(char),
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Pattern {
        let mut pieces = vec![Vec::new()];
        let mut add = |one: Option<One>| match (one, pieces.last_mut()) {
            (Some(one), Some(piece)) => piece.push(one),
            _ => pieces.push(Vec::new()),
        };
        let mut characters = pattern.chars();
        while let Some(c) = characters.next() {
            add(match c {
                '%' => None,
                '_' => Some(One::Any),
                // At the end, it stands for itself.
                '\\' => Some(One::Exactly(characters.next().unwrap_or('\\'))),
                other => Some(One::Exactly(other)),
            });
        }
        let mut pieces = pieces.into_iter();
        let first = Piece::new(pieces.next().unwrap_or_default());
        let rest = pieces.next_back().map(|last| Rest {
            inner: pieces.filter(|it| !it.is_empty()).map(Piece::new).collect(),
            last: Piece::new(last),
        });
        Pattern { first, rest }
    }

    /// The text that all texts like the pattern begin with; `None` if there is none.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match &self.first {
            Piece::Text(finder) => {
                let prefix = std::str::from_utf8(finder.needle()).ok();
                prefix.filter(|prefix| !prefix.is_empty())
            }
            Piece::Characters(_) => None,
        }
    }

    /// Whether all texts that begin with [`Pattern::prefix`] are like the pattern.
    pub(crate) fn is_prefix(&self) -> bool {
        let ends = |rest: &Rest| match &rest.last {
            Piece::Text(finder) => finder.needle().is_empty(),
            Piece::Characters(_) => false,
        };
        let has_rest = self.rest.as_ref();
        has_rest.is_some_and(|rest| rest.inner.is_empty() && ends(rest))
    }

    /// Whether a text is like the pattern if it is [`Pattern::prefix`], and no other is.
    pub(crate) fn is_text(&self) -> bool {
        self.rest.is_none() && matches!(self.first, Piece::Text(_))
    }

    /// True if the text is like the pattern.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Some(mut left) = self.first.strip_prefix(text) else {
            return false;
        };
        let Some(rest) = &self.rest else {
            return left.is_empty();
        };
        // Each piece has a fixed number of characters, so the first place at which it is leaves most to the others.
        for piece in &rest.inner {
            match piece.after_first(left) {
                Some(after) => left = after,
                None => return false,
            }
        }
        rest.last.is_suffix_of(left)
    }
}

impl Piece {
    fn new(ones: Vec<One>) -> Piece {
        let text: Option<String> = ones
            .iter()
            .map(|one| match one {
                One::Any => None,
                One::Exactly(c) => Some(*c),
            })
            .collect();
        match text {
            Some(text) => Piece::Text(Box::new(Finder::new(text.as_bytes()).into_owned())),
            None => Piece::Characters(ones),
        }
    }

    /// Returns the text behind the piece, if it begins with the piece.
    fn strip_prefix<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Piece::Text(finder) => {
                let needle = finder.needle();
                let starts = text.as_bytes().starts_with(needle);
                starts.then(|| text.get(needle.len()..)).flatten()
            }
            Piece::Characters(ones) => {
                let mut characters = text.chars();
                let is_prefix = ones.iter().all(|one| match (one, characters.next()) {
                    (One::Any, Some(_)) => true,
                    (One::Exactly(wanted), Some(c)) => *wanted == c,
                    (_, None) => false,
                });
                is_prefix.then_some(characters.as_str())
            }
        }
    }

    /// Returns the text behind the first place at which the piece is.
    fn after_first<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Piece::Text(finder) => {
                let start = finder.find(text.as_bytes())?;
                text.get(start + finder.needle().len()..)
            }
            Piece::Characters(_) => {
                let mut starts = text.char_indices();
                starts.find_map(|(start, _)| self.strip_prefix(text.get(start..)?))
            }
        }
    }

    fn is_suffix_of(&self, text: &str) -> bool {
        match self {
            Piece::Text(finder) => text.as_bytes().ends_with(finder.needle()),
            Piece::Characters(ones) => {
                let mut characters = text.chars().rev();
                ones.iter().rev().all(|one| match (one, characters.next()) {
                    (One::Any, Some(_)) => true,
                    (One::Exactly(wanted), Some(c)) => *wanted == c,
                    (_, None) => false,
                })
            }
        }
    }
}
