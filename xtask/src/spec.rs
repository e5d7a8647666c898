//! Sentences of the pages of `docs/spec/encodings`, in a form that other texts are made of.

/// Where the pages are.
pub(crate) const FOLDER: &str = "docs/spec/encodings/";

/// Paragraphs that every page has, each starting with its name: `**Limits.**`.
pub(crate) const PARAGRAPHS: [&str; 4] = ["Wins on", "Limits", "Corrupt", "Erasure"];

/// The meaning of an erasure under an encoding: `**Erasure.** Fit: <sentence>. Residue: <sentence>.`
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Erasure {
    /// Whether survivors fit into their old place.
    pub(crate) fit: String,
    /// Says what in a unit may depend on erased values.
    pub(crate) residue: String,
}

impl Erasure {
    /// Whether nothing is said to depend on erased values but what children have.
    pub(crate) fn says_none(&self) -> bool {
        self.residue.starts_with("none") || self.residue.starts_with("only the child")
    }
}

/// The encoding that a path is the page of.
pub(crate) fn encoding_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_suffix(".md")?;
    (name != "README").then_some(name)
}

/// The text of a paragraph behind its name, on one line.
pub(crate) fn paragraph(page: &str, name: &str) -> Option<String> {
    let start = format!("**{name}.**");
    let mut paragraphs = page.split("\n\n");
    let found = paragraphs.find_map(|text| text.trim_start().strip_prefix(&start))?;
    Some(found.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The paragraph about erasure taken apart; `None` where it is not there, or in another form.
pub(crate) fn erasure(page: &str) -> Option<Erasure> {
    let text = paragraph(page, "Erasure")?;
    let (fit, residue) = text.strip_prefix("Fit: ")?.split_once(". Residue: ")?;
    let residue = residue.strip_suffix('.')?;
    let is_said = !fit.is_empty() && !residue.is_empty();
    is_said.then(|| Erasure {
        fit: fit.to_owned(),
        residue: residue.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_found_and_taken_apart() {
        let page = "# x\n\n**Limits.** At most\n2.\n\n**Erasure.** Fit: always; it\nshrinks. Residue: none.\n\nMore.\n";
        assert_eq!(paragraph(page, "Limits").as_deref(), Some("At most 2."));
        assert_eq!(paragraph(page, "Corrupt"), None);
        let expect = Erasure {
            fit: "always; it shrinks".to_owned(),
            residue: "none".to_owned(),
        };
        assert_eq!(erasure(page), Some(expect));
        for other in [
            "**Erasure.** Residue: none. Fit: always.",
            "**Erasure.** Fit: always. Residue: none",
            "**Erasure.** Survivors fit.",
            "Fit: always. Residue: none.",
        ] {
            assert_eq!(erasure(other), None, "{other}");
        }
        assert_eq!(encoding_of("docs/spec/encodings/x.md"), Some("x"));
        assert_eq!(encoding_of("docs/spec/encodings/README.md"), None);
        assert_eq!(encoding_of("docs/spec/page.md"), None);
    }
}
