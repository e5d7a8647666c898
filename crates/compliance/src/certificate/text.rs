//! A certificate for people.

use std::fmt::Write;

use super::{Certificate, CertificateColumn, RowRanges, printable};

/// Characters of a list of rows that are shown.
const ROWS_CHARS: usize = 100;

impl Certificate {
    /// The certificate for people, without the digests of single blocks. The signature is not checked.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("Tarsia erasure certificate, version {}\n", self.version);
        let mut fact = |name: &str, value: &str| {
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "{name:<17}{}", printable(value));
        };
        fact("file", &self.file);
        fact("file id", &self.file_id.to_string());
        fact("time", &self.time);
        if let Some(note) = &self.note {
            fact("note", note);
        }
        fact("level", self.level_in_words());
        fact("asked for", &shown(&self.rows.asked));
        fact("newly deleted", &shown(&self.rows.newly_deleted));
        fact("erased now", &shown(&self.rows.erased_now));
        fact("erased before", &shown(&self.rows.erased_before));
        for column in self.columns.iter().filter(|column| column.holds_values) {
            fact("holds values", &column.held_in_words());
        }
        for (name, all) in [
            ("deleted after", &self.deleted_after),
            ("erased after", &self.erased_after),
        ] {
            fact(name, &format!("{} rows of the file", all.count));
            fact("  digest", &all.digest.to_string());
        }
        match &self.old_root {
            Some(root) => fact("root before", &root.to_string()),
            None => fact("root before", "left out: it had no salt"),
        }
        fact("root after", &self.new_root.to_string());
        let epochs = format!("{} to {}", self.old_epoch, self.new_epoch);
        fact("epochs", &epochs);
        fact("format", &self.format_version);
        fact("made with", &self.library);
        for column in &self.columns {
            fact("column", &column.in_words());
        }
        for section in &self.dropped_sections {
            let what = format!("{}, {} bytes", section.id, section.bytes);
            fact("section dropped", &what);
        }
        match &self.signature {
            None => fact("signature", "none"),
            Some(it) => fact(
                "signature",
                &format!("ed25519, public key {}", it.public_key),
            ),
        }
        text
    }

    fn level_in_words(&self) -> &'static str {
        let is_held = self.columns.iter().any(|column| column.holds_values);
        match (self.level, is_held) {
            (1, true) => {
                "1: rows were deleted, which hides them; their values are still in the file"
            }
            (1, false) => "1: rows were deleted, which hides them",
            (_, true) => "2: rows were deleted, and erased from some of the columns",
            (_, false) => "2: rows were deleted, and erased from all columns",
        }
    }
}

impl CertificateColumn {
    /// Says in a sentence for people which of the rows that were asked for the column still holds. Its name is escaped.
    ///
    /// ```
    /// use tarsia_compliance::certificate::CertificateColumn;
    /// let column = CertificateColumn {
    ///     leaf: 3,
    ///     name: "name".into(),
    ///     level: 1,
    ///     holds_values: true,
    ///     blocks: vec![],
    /// };
    /// assert_eq!(column.held_in_words(), "column `name` (level 1) still holds the values of these rows");
    /// ```
    #[must_use]
    pub fn held_in_words(&self) -> String {
        let (name, level) = (printable(&self.name), self.level);
        match self.holds_values {
            true => format!("column `{name}` (level {level}) still holds the values of these rows"),
            false => format!("column `{name}` (level {level}) holds no value of these rows"),
        }
    }

    fn in_words(&self) -> String {
        let of_pages = |shared| self.blocks.iter().filter(move |it| it.shared == shared);
        format!(
            "{}: level {}, {} blocks of data and {} of shared pages changed, {} moved",
            self.name,
            self.level,
            of_pages(false).count(),
            of_pages(true).count(),
            self.blocks.iter().filter(|block| block.moved).count(),
        )
    }
}

/// How many rows, and the first of them.
fn shown(rows: &RowRanges) -> String {
    let text = rows.to_string();
    match (rows.count(), text.get(..ROWS_CHARS)) {
        (0, _) => "0 rows".to_owned(),
        (1, _) => format!("1 row: {text}"),
        (count, None) => format!("{count} rows: {text}"),
        (count, Some(start)) => format!("{count} rows: {start} …"),
    }
}
