//! Parts that the reports of all commands have in common: medians, tables, and sections of a document.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(values[n / 2]),
        _ => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// The number whose logarithm is the mean of the logarithms: of ratios, the one that treats twice and half alike.
pub(crate) fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut n_values, mut sum) = (0.0, 0.0);
    for value in values.filter(|value| *value > 0.0) {
        n_values += 1.0;
        sum += value.ln();
    }
    (n_values > 0.0).then(|| (sum / n_values).exp())
}

/// A table that reads well in a terminal and in Markdown. The first row names the columns; all have as many cells.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let n_columns = rows.first().map_or(0, |row| row.as_ref().len());
    let widths: Vec<usize> = (0..n_columns)
        .map(|i| {
            rows.iter()
                .map(|row| row.as_ref()[i].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for (idx, row) in rows.iter().enumerate() {
        for (i, (value, width)) in row.as_ref().iter().zip(&widths).enumerate() {
            let _ = match i {
                0 => write!(out, "| {value:<width$} |"),
                _ => write!(out, " {value:>width$} |"),
            };
        }
        out.push('\n');
        if idx == 0 {
            for (i, width) in widths.iter().enumerate() {
                let _ = match i {
                    0 => write!(out, "|{}|", "-".repeat(width + 2)),
                    _ => write!(out, "{}:|", "-".repeat(width + 1)),
                };
            }
            out.push('\n');
        }
    }
    out
}

/// Keeps the results and the section of a whole run under `name`.
pub(crate) fn publish(
    name: &str,
    title: &str,
    report: &impl Serialize,
    section: &str,
) -> Result<()> {
    let repository = crate::machine::repository()?;
    let json = serde_json::to_string_pretty(report)?;
    let results = repository.join(format!("benchmarks/results/{name}.json"));
    std::fs::write(results, json + "\n")?;
    refresh_docs(&repository.join("docs/benchmarks.md"), name, title, section)
}

/// Replaces the section `name` between its marks. Makes the file if there is none. Adds the section at the end, under
/// the heading `title`, if the file does not have it.
pub(crate) fn refresh_docs(path: &Path, name: &str, title: &str, section: &str) -> Result<()> {
    let (begin, end) = marks(name);
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "# Benchmarks\n".to_owned(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    if !text.contains(&begin) {
        text = format!("{}\n\n## {title}\n\n{begin}\n{end}\n", text.trim_end());
    }
    let new = replace_section(&text, name, section)
        .with_context(|| format!("{} has no `{begin}` before a `{end}`", path.display()))?;
    std::fs::write(path, new).with_context(|| format!("writing {}", path.display()))
}

fn marks(name: &str) -> (String, String) {
    (
        format!("<!-- {name}:begin -->"),
        format!("<!-- {name}:end -->"),
    )
}

fn replace_section(text: &str, name: &str, section: &str) -> Option<String> {
    let (begin, end) = marks(name);
    let start = text.find(&begin)? + begin.len();
    let end = start + text[start..].find(&end)?;
    Some(format!(
        "{}\n\n{}\n\n{}",
        &text[..start],
        wrapped(section.trim_end()),
        &text[end..]
    ))
}

/// Most characters of a line of prose in the docs.
const LINE_CHARS_MAX: usize = 120;

/// Markdown with lines of prose of at most [`LINE_CHARS_MAX`] characters, as the rules of the repository ask. Tables,
/// headings and indented lines stay as they are; a list item goes on under its text.
fn wrapped(markdown: &str) -> String {
    let lines: Vec<String> = markdown.lines().map(wrapped_line).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str) -> String {
    if line.chars().count() <= LINE_CHARS_MAX || line.starts_with(['|', '#', ' ']) {
        return line.to_owned();
    }
    let indentation = match line.starts_with("- ") {
        true => "  ",
        false => "",
    };
    let mut out = String::new();
    let mut n_chars = 0;
    for word in line.split(' ') {
        let n_more = 1 + word.chars().count();
        if n_chars > 0 {
            // A line that begins with such a word would be a list item or a heading.
            let is_mark = word.starts_with(['-', '+', '*', '#', '>', '|']);
            if n_chars + n_more > LINE_CHARS_MAX && !is_mark {
                out.push('\n');
                out.push_str(indentation);
                n_chars = indentation.len();
            } else {
                out.push(' ');
                n_chars += 1;
            }
        }
        out.push_str(word);
        n_chars += n_more - 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_is_replaced_and_nothing_else() {
        let (begin, end) = marks("sizes");
        let text = format!("a\n{begin}\nold\n{end}\nb\n");
        let once = replace_section(&text, "sizes", "new\n").unwrap();
        assert_eq!(once, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(replace_section(&once, "sizes", "new\n").unwrap(), once);
        assert_eq!(replace_section("no marks", "sizes", "new"), None);
        assert_eq!(
            replace_section(&format!("{end}{begin}"), "sizes", "new"),
            None
        );
        assert_eq!(replace_section(&text, "speed", "new"), None);
    }

    #[test]
    fn long_lines_of_prose_are_wrapped() {
        let word = "é".repeat(40);
        let table = format!("| {} |", [&*word; 4].join(" "));
        let prose = [&*word; 4].join(" ");
        let wrapped_prose = format!("{word} {word}\n{word} {word}");
        assert_eq!(
            wrapped(&format!("a\n\n{prose}\n{table}")),
            format!("a\n\n{wrapped_prose}\n{table}")
        );
        let item = format!("- {word} {word}\n  {word} {word}");
        assert_eq!(wrapped(&format!("- {prose}")), item);
        // No line begins with what would make it a list item.
        let sum = format!("{word} {word} {}", "a".repeat(38));
        assert_eq!(wrapped(&format!("{sum} + 1")), format!("{sum} +\n1"));
        assert_eq!(wrapped(&item), item);
    }

    #[test]
    fn medians() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
    }

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean([].into_iter()), None);
        let mean = geometric_mean([0.5, 2.0, 8.0].into_iter()).unwrap();
        assert!((mean - 2.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn table_is_aligned() {
        let rows = [["a", "n"], ["bcd", "10"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "| a   |  n |\n|-----|---:|\n| bcd | 10 |\n");
    }
}
