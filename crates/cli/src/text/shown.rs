//! Values in the tables that the command prints.

use super::style::Cell;

/// A value as a table shows it: JSON, but text without quotes; control characters escaped; at most `n_chars`
/// characters.
///
/// # Errors
/// As the cell's.
pub fn shown(cell: &Cell<'_>, row: usize, n_chars: usize) -> Result<String, String> {
    let mut json = Vec::new();
    cell(row, &mut json)?;
    let text = serde_json::from_slice::<String>(&json)
        .unwrap_or_else(|_| String::from_utf8_lossy(&json).into_owned());
    Ok(printable(&text, n_chars))
}

/// Text for a table: control characters escaped, cut after `n_chars` characters.
#[must_use]
pub fn printable(text: &str, n_chars: usize) -> String {
    let mut line = String::new();
    for (i, c) in text.chars().enumerate() {
        if i >= n_chars {
            line.push('…');
            break;
        }
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::super::cell::cell;
    use super::super::style::Style;
    use super::*;

    #[test]
    fn tables_show_one_harmless_line() {
        let array = StringArray::from(vec!["a\nb\u{1b}[31m", "0123456789abcdef"]);
        let cell = cell(Style::Json, &array).unwrap();
        assert_eq!(shown(&cell, 0, 60).unwrap(), "a\\nb\\u{1b}[31m");
        assert_eq!(shown(&cell, 1, 10).unwrap(), "0123456789…");
    }
}
