//! Values in the tables that the command prints.

use tarsia::compliance::certificate::is_unprintable;

use tarsia_convert::text::Cell;

/// A value as a table shows it: JSON, but text without quotes; control characters and marks escaped; at most `n_chars`
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

/// Text for a table: control characters and marks of direction escaped, cut after `n_chars` characters.
#[must_use]
pub fn printable(text: &str, n_chars: usize) -> String {
    let mut line = String::new();
    for (i, c) in text.chars().enumerate() {
        if i >= n_chars {
            line.push('…');
            break;
        }
        if is_unprintable(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, Int32Array, ListArray, StringArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{DataType, Field};

    use tarsia_convert::text::{Style, cell};

    use super::*;

    #[test]
    fn tables_show_one_harmless_line() {
        let array = StringArray::from(vec!["a\nb\u{1b}[31m\u{202e}", "0123456789abcdef"]);
        let cell = cell(Style::Start(60), &array).unwrap();
        assert_eq!(shown(&cell, 0, 60).unwrap(), "a\\nb\\u{1b}[31m\\u{202e}");
        assert_eq!(shown(&cell, 1, 10).unwrap(), "0123456789…");
    }

    #[test]
    fn of_long_values_only_the_start_is_copied() {
        let text = "é".repeat(1 << 20);
        let bytes = vec![0; 1 << 20];
        let numbers = Int32Array::from(vec![7; 1 << 20]);
        let offsets = OffsetBuffer::from_lengths([1 << 20]);
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let long: [(ArrayRef, &str); 3] = [
            (Arc::new(StringArray::from(vec![text])), "éé"),
            (Arc::new(BinaryArray::from(vec![bytes.as_slice()])), "AA"),
            (
                Arc::new(ListArray::new(item, offsets, Arc::new(numbers), None)),
                "[7",
            ),
        ];
        for (array, start) in long {
            let cell = cell(Style::Start(60), &array).unwrap();
            let mut json = Vec::new();
            cell(0, &mut json).unwrap();
            assert!(json.len() < 1000, "{} bytes", json.len());
            let line = shown(&cell, 0, 60).unwrap();
            assert_eq!(line.chars().count(), 61, "{line}");
            assert!(line.starts_with(start) && line.ends_with('…'), "{line}");
        }
    }

    #[test]
    fn short_values_are_whole() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["é".repeat(60), "é".repeat(61)]));
        let cell = cell(Style::Start(60), &texts).unwrap();
        assert_eq!(shown(&cell, 0, 60).unwrap(), "é".repeat(60));
        assert_eq!(shown(&cell, 1, 60).unwrap(), "é".repeat(60) + "…");
    }
}
