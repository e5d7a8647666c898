//! Rust source as text: what is code, what is a comment, what is a word.

use std::collections::BTreeSet;

/// Whether `word` stands in `line` and is not part of a longer one.
pub(crate) fn find_word(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|after| after.chars().next());
        let starts = !before.is_some_and(is_word) || !word.starts_with(is_word);
        let ends = !after.is_some_and(is_word) || !word.ends_with(is_word);
        starts && ends
    })
}

/// A stretch of Rust source.
enum Part<'a> {
    /// One character of code.
    Code(char),
    Comment(&'a str),
    /// A string or character literal.
    Literal(&'a str),
}

/// The source, part by part.
fn parts(source: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = source;
    let mut before = None;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let comment = comment_len(rest);
        let literal = comment
            .is_none()
            .then(|| raw_string_len(rest, before).or_else(|| quoted_len(rest)));
        let len = comment.or(literal.flatten()).unwrap_or(first.len_utf8());
        let (part, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        before = Some(' ');
        if comment.is_some() {
            return Some(Part::Comment(part));
        }
        if literal.flatten().is_some() {
            return Some(Part::Literal(part));
        }
        before = Some(first);
        Some(Part::Code(first))
    })
}

/// The source with comments, strings and characters blanked, line by line as before.
pub(crate) fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for part in parts(source) {
        match part {
            Part::Code(c) => out.push(c),
            Part::Comment(blank) | Part::Literal(blank) => {
                out.push(' ');
                out.extend(blank.chars().filter(|c| *c == '\n'));
            }
        }
    }
    out
}

/// Indices of the lines that are or hold a comment.
pub(super) fn comment_lines(source: &str) -> BTreeSet<usize> {
    comments(source).into_iter().map(|(line, _)| line).collect()
}

/// Lines of comments, with the index of each in the source.
pub(super) fn comments(source: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut line = 0;
    for part in parts(source) {
        match part {
            Part::Code(c) => line += usize::from(c == '\n'),
            Part::Literal(text) => line += text.matches('\n').count(),
            Part::Comment(text) => {
                lines.extend(text.split('\n').enumerate().map(|(i, it)| (line + i, it)));
                line += text.matches('\n').count();
            }
        }
    }
    lines
}

/// Length of the comment that `rest` starts with; block comments nest.
fn comment_len(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let mut depth = 0usize;
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") if depth > 0 => {
                depth -= 1;
                at += 2;
            }
            Some(_) if depth > 0 => at += 1,
            None if depth > 0 => return Some(rest.len()),
            _ => return None,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Length of the raw string that `rest` starts with.
fn raw_string_len(rest: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let prefix = ["br", "cr", "r"]
        .iter()
        .find(|prefix| rest.starts_with(**prefix))?;
    let after = rest.get(prefix.len()..)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let body_len = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix.len() + hashes + 1 + body_len)
}

/// Length of the string or character literal that `rest` starts with; `'a` alone is a lifetime.
fn quoted_len(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            // A character literal is one character or one escape.
            _ if quote == '\'' && !rest.starts_with("'\\") => {
                let end = at + c.len_utf8();
                return rest.get(end..)?.starts_with('\'').then_some(end + 1);
            }
            _ => {}
        }
    }
    (quote == '"').then_some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_strings() {
        let source = "a // b\n\"// c\n\" // d\n/* e\n */ f\n'\"' // g\nh \"//\"\n";
        let lines: Vec<usize> = comment_lines(source).into_iter().collect();
        assert_eq!(lines, [0, 2, 3, 4, 5]);
    }

    #[test]
    fn code_is_told_from_text() {
        for (source, code) in [
            ("a // b\nc", "a  \nc"),
            ("a /* b /* c */ d */ e", "a   e"),
            ("a /* b", "a  "),
            ("a / b * c", "a / b * c"),
            ("f(\"x\\\"y\", 1)", "f( , 1)"),
            ("f('\"', 'a', '\\'', b)", "f( ,  ,  , b)"),
            ("fn a<'a>(x: &'a str) {}", "fn a<'a>(x: &'a str) {}"),
            ("r#\"a\"b\"# c", "  c"),
            ("var\"x\"", "var "),
            ("\"two\nlines\" x", " \n x"),
            ("'é' é", "  é"),
            ("\"open", " "),
        ] {
            assert_eq!(code_only(source), code, "{source:?}");
        }
    }
}
