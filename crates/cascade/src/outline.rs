//! Trees by the names of their encodings: what a person says of a tree, without parameters.

use std::fmt;
use std::str::FromStr;

use tarsia_codec::{Error, Result, Tree};

/// Beginning of the ids of the encodings of this workspace.
const PREFIX: &str = "tarsia.";

/// Levels of an outline, the root counted.
const DEPTH_MAX: usize = 8;

/// The encodings of a tree, without parameters: a search finds those for the values of each page.
///
/// As text an encoding's name with its children in brackets, in the order of the encoding's specification:
/// `dict(runend(bitpack, bitpack))`. `*` is any encoding, and so is every child that is left out. Names without a dot
/// are those of this workspace: `dict` is `tarsia.dict`. Trees of shared buffers are not part of an outline.
///
/// ```
/// use tarsia_cascade::Outline;
///
/// let outline: Outline = "dict(runend( *,bitpack))".parse()?;
/// assert_eq!(outline.to_string(), "dict(runend(*, bitpack))");
/// # tarsia_codec::Result::<()>::Ok(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outline {
    /// `None` for any.
    id: Option<String>,
    parts: Vec<Outline>,
}

impl Outline {
    /// The encodings of a tree.
    pub fn of(tree: &Tree) -> Self {
        Self {
            id: Some(tree.id.to_string()),
            parts: tree.children.iter().map(Self::of).collect(),
        }
    }

    /// The ids of all encodings that it names.
    pub fn ids(&self) -> Vec<&str> {
        let own = self.id.as_deref().into_iter();
        own.chain(self.parts.iter().flat_map(Self::ids)).collect()
    }

    /// True if an encoding may stand here.
    pub(crate) fn allows(&self, id: &str) -> bool {
        self.id.as_deref().is_none_or(|own| own == id)
    }

    /// True if only one encoding may stand here.
    pub(crate) fn is_named(&self) -> bool {
        self.id.is_some()
    }

    /// The children that it says something of.
    pub(crate) fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the outline of a child.
    pub(crate) fn part(&self, index: usize) -> Option<&Self> {
        self.parts.get(index)
    }

    /// Parses one outline. Returns what follows it.
    fn parse(text: &str, depth: usize) -> Result<(Self, &str)> {
        if depth > DEPTH_MAX {
            let found = depth as u64;
            return Err(Error::limit(
                "levels of a tree's outline",
                found,
                DEPTH_MAX as u64,
            ));
        }
        let text = text.trim_start();
        let end = text.find(['(', ')', ',']).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(end);
        let id = match name.trim_end() {
            "" => {
                return Err(Error::invalid(
                    "an encoding's name is missing in an outline",
                ));
            }
            "*" => None,
            name if name.contains(char::is_whitespace) => {
                return Err(Error::invalid(
                    "an encoding's name with a space in an outline",
                ));
            }
            name if name.contains('.') => Some(name.to_owned()),
            name => Some(format!("{PREFIX}{name}")),
        };
        let mut parts = Vec::new();
        if let Some(inside) = rest.strip_prefix('(') {
            rest = inside;
            loop {
                let (part, after) = Self::parse(rest, depth + 1)?;
                parts.push(part);
                match after.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => {
                        let none = || Error::invalid("a closing bracket is missing in an outline");
                        rest = after.strip_prefix(')').ok_or_else(none)?.trim_start();
                        break;
                    }
                }
            }
        }
        Ok((Self { id, parts }, rest))
    }
}

impl FromStr for Outline {
    type Err = Error;

    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for text of another form,
    /// [`ErrorKind::LimitExceeded`](tarsia_codec::ErrorKind::LimitExceeded) for more than 8 levels.
    fn from_str(text: &str) -> Result<Self> {
        match Self::parse(text, 1)? {
            (outline, "") => Ok(outline),
            _ => Err(Error::invalid("more text than one outline of a tree")),
        }
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_deref().unwrap_or("*");
        f.write_str(id.strip_prefix(PREFIX).unwrap_or(id))?;
        for (i, part) in self.parts.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "(" } else { ", " })?;
        }
        match self.parts.is_empty() {
            true => Ok(()),
            false => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_come_back() {
        for text in [
            "plain",
            "*",
            "dict(bitpack)",
            "dict(runend(*, delta(bitpack)), onpair)",
            "org.example.x(plain, plain)",
        ] {
            let outline: Outline = text.parse().unwrap();
            assert_eq!(outline.to_string(), text);
        }
        let spaced: Outline = " dict ( bitpack , * ) ".parse().unwrap();
        assert_eq!(spaced.to_string(), "dict(bitpack, *)");
        assert_eq!(spaced.ids(), ["tarsia.dict", "tarsia.bitpack"]);
        assert!(spaced.allows("tarsia.dict") && !spaced.allows("tarsia.plain"));
        assert!(spaced.part(1).is_some_and(|any| any.allows("tarsia.plain")));
        assert_eq!((spaced.part(2), spaced.n_parts()), (None, 2));
    }

    #[test]
    fn other_text_is_refused() {
        for wrong in [
            "", " ", "dict(", "dict()", "dict(,)", "dict(a", "dict(a))", "dict)", "a b", "a,b",
            "dict(a)b", "(a)",
        ] {
            assert!(wrong.parse::<Outline>().is_err(), "{wrong}");
        }
        let deep = |n: usize| format!("{}a{}", "a(".repeat(n), ")".repeat(n));
        assert!(deep(7).parse::<Outline>().is_ok());
        assert!(deep(8).parse::<Outline>().is_err());
        assert!(deep(100_000).parse::<Outline>().is_err());
    }
}
