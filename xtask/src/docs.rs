//! The parts of the docs that are made of the table of encodings, the crates' descriptions and the pages of the
//! specification.

use std::fs;
use std::path::Path;

use tarsia_codec::{EncodingWriter, Node, ValueType};
use tarsia_encodings::{KERNELS, Row};

use crate::outcome::Outcome;
use crate::spec;

const OVERVIEW: &str = "docs/spec/encodings/README.md";
const MEASURED: &str = "benchmarks/results/encodings.json";
const RANGES: &str = "benchmarks/results/ranges.json";
const ERASURE: &str = "docs/spec/erasure.md";

/// First line of the part of [`ERASURE`] that is made.
const START: &str = "<!-- generated: encodings -->\n";
const END: &str = "<!-- end -->\n";

/// Bytes of the numbers and of the strings that speeds are shown for.
const SHOWN_BYTES: u32 = 8;
const SHOWN_STRING_BYTES: f64 = 16.0;

const REPAIR: &str = "run `cargo xtask docs` and commit what it writes";

/// Writes what is made.
pub(crate) fn write(root: &Path) -> Outcome {
    for (path, content) in make(&reader(root))? {
        let path = root.join(path);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Compares what is committed with what would be made.
pub(crate) fn check(root: &Path) -> Outcome {
    let read = reader(root);
    for (path, content) in make(&read)? {
        if read(path).as_ref() != Ok(&content) {
            return Err(format!(
                "{path} is not what would be made of the table of encodings\nrepair: {REPAIR}"
            ));
        }
    }
    Ok(())
}

fn reader(root: &Path) -> impl Fn(&str) -> Result<String, String> {
    let root = root.to_owned();
    move |path| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// All files that are made, or that have parts that are.
fn make(
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<[(&'static str, String); 2], String> {
    let results = |path: &str| -> Result<serde_json::Value, String> {
        serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}"))
    };
    let measured = Measured {
        scans: results(MEASURED)?,
        ranges: results(RANGES)?,
    };
    let mut encodings = tarsia_encodings::rows()
        .map(|row| Described::new(row, read, &measured))
        .collect::<Result<Vec<_>, _>>()?;
    encodings.sort_by(|a, b| a.id.cmp(b.id));
    let erasure = replaced(&read(ERASURE)?, &erasure_table(&encodings))?;
    Ok([(OVERVIEW, overview(&encodings)), (ERASURE, erasure)])
}

/// Results of benchmarks.
struct Measured {
    scans: serde_json::Value,
    ranges: serde_json::Value,
}

/// An encoding as the docs show it.
struct Described {
    id: &'static str,
    name: &'static str,
    version: String,
    kernels: String,
    /// When a search tries it.
    tried: &'static str,
    value_types: String,
    about: String,
    /// The data for which it is made.
    wins_on: String,
    /// Decoded values of its own decoder, in 10^9 bytes per second.
    speed: String,
    /// Speed of a scan of the column where it gains most, natively and by a kernel.
    scanned: String,
    /// Time to find the values of a range, against decoding all.
    range: String,
    erasure: spec::Erasure,
}

/// Whether no node of an encoding tells of erased values.
fn tells_nothing(writer: &dyn EncodingWriter) -> bool {
    let mut samples = writer.samples().into_iter();
    samples.all(|sample| {
        let node = Node {
            value_type: sample.value_type,
            version: writer.version(),
            params: &sample.params,
        };
        writer.residue(&node).is_none()
    })
}

impl Described {
    fn new(
        row: &Row,
        read: &dyn Fn(&str) -> Result<String, String>,
        measured: &Measured,
    ) -> Result<Self, String> {
        let id = row.encoding.id();
        let name = id.strip_prefix("tarsia.");
        let name =
            name.ok_or_else(|| format!("{id}: the ids of the table start with `tarsia.`"))?;
        let manifest = format!("crates/encodings/{name}/Cargo.toml");
        let about = description(&read(&manifest)?);
        let about = about.ok_or_else(|| {
            format!(
                "{manifest}: the crate has no description\nrepair: say in one line what it is for"
            )
        })?;
        let page = format!("{}{name}.md", spec::FOLDER);
        let text = read(&page)?;
        let wins_on = spec::paragraph(&text, "Wins on");
        let wins_on = wins_on.ok_or_else(|| {
            format!(
                "{page} does not say what the encoding is for\nrepair: add `**Wins on.** <data>.`"
            )
        })?;
        let erasure = spec::erasure(&text);
        let erasure = erasure.ok_or_else(|| {
            format!("{page} does not say what an erasure leaves\nrepair: add `**Erasure.** Fit: <sentence>. Residue: <sentence>.`")
        })?;
        if erasure.says_none() != tells_nothing(row.writer) {
            return Err(format!(
                "{page} and the encoder's `residue` differ in whether parameters and shared buffers tell of erased values\n\
                 repair: let `Residue: ` start with `none`, or with `only the child`, if and only if `residue` is never `Some`"
            ));
        }
        let kernels = KERNELS.iter().filter(|kernel| {
            let mut rows = kernel.rows();
            rows.any(|other| other.encoding.id() == id)
        });
        let kernels: Vec<_> = kernels.map(|kernel| kernel.name).collect();
        Ok(Self {
            id,
            name,
            version: row.encoding.version().to_string(),
            kernels: kernels.join(", "),
            tried: row.tried.name(),
            value_types: value_types(row.writer),
            about,
            wins_on,
            speed: speed(row),
            scanned: scanned(name, &measured.scans),
            range: range(name, &measured.ranges),
            erasure,
        })
    }
}

/// Decoded gigabytes per second as the row's cost says it, for the values of [`SHOWN_BYTES`].
fn speed(row: &Row) -> String {
    let samples = row.writer.samples();
    let widths = samples.iter().map(|sample| match sample.value_type {
        ValueType::Bits => 0.125,
        ValueType::Fixed(width) => f64::from(width.min(SHOWN_BYTES)),
        ValueType::Bytes => SHOWN_STRING_BYTES,
    });
    let bytes = widths.fold(0.0, f64::max);
    let ps = f64::from(row.cost.value_ps) + f64::from(row.cost.byte_ps) * bytes;
    format!("{:.0}", (bytes * 1000.0 / ps).max(1.0))
}

/// Gigabytes per second of a scan, natively and by a kernel, as the benchmark of encodings found them.
fn scanned(name: &str, measured: &serde_json::Value) -> String {
    let rows = measured["rows"].as_array();
    let of_name = |row: &&serde_json::Value| row["encoding"] == name;
    let rate = |row: &serde_json::Value, seconds: &str| {
        let (bytes, seconds) = (row["arrow_bytes"].as_f64()?, row[seconds].as_f64()?);
        Some(bytes / seconds / 1e9)
    };
    let row = rows.and_then(|rows| rows.iter().find(of_name));
    let rates = row.and_then(|row| {
        let native = rate(row, "native_seconds")?;
        Some((native, rate(row, "kernel_seconds")?))
    });
    match rates {
        Some((native, kernel)) => format!("{native:.1}, {kernel:.1}"),
        None => "-".to_owned(),
    }
}

/// Time to count the values of a range over that of a scan, as the benchmark of ranges found it.
fn range(name: &str, measured: &serde_json::Value) -> String {
    let mut rows = measured["rows"].as_array().into_iter().flatten();
    let row = rows.find(|row| row["encoding"] == name);
    let ratio = row.and_then(|row| Some(row["range_ns"].as_f64()? / row["scan_ns"].as_f64()?));
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// The description in a crate's manifest.
fn description(manifest: &str) -> Option<String> {
    let mut lines = manifest.lines();
    let value = lines.find_map(|line| line.strip_prefix("description = "))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The types of values that an encoding's samples are of.
fn value_types(writer: &dyn EncodingWriter) -> String {
    let types: Vec<_> = writer
        .samples()
        .iter()
        .map(|sample| sample.value_type)
        .collect();
    describe_types(&types)
}

fn describe_types(types: &[ValueType]) -> String {
    let mut widths: Vec<u32> = types
        .iter()
        .filter_map(|value_type| match value_type {
            ValueType::Fixed(width) => Some(*width),
            ValueType::Bits | ValueType::Bytes => None,
        })
        .collect();
    widths.sort_unstable();
    widths.dedup();
    let mut words = vec![];
    if types.contains(&ValueType::Bits) {
        words.push("bits".to_owned());
    }
    match widths.as_slice() {
        [] => {}
        // Samples cannot be of every width; those that are of others than numbers stand for all.
        widths if widths.iter().any(|width| ![1, 2, 4, 8].contains(width)) => {
            words.push("fixed width".to_owned());
        }
        widths => {
            let widths: Vec<_> = widths.iter().map(u32::to_string).collect();
            words.push(format!("numbers of {} bytes", widths.join(", ")));
        }
    }
    if types.contains(&ValueType::Bytes) {
        words.push("byte strings".to_owned());
    }
    words.join("; ")
}

fn overview(encodings: &[Described]) -> String {
    let rows = encodings.iter().map(|it| {
        let page = format!("[`{}`]({}.md)", it.id, it.name);
        row(&[
            &page,
            &it.version,
            &it.about,
            &it.wins_on,
            &it.value_types,
            &it.speed,
            &it.scanned,
            &it.range,
            it.tried,
            &it.kernels,
            &it.erasure.fit,
            &it.erasure.residue,
        ])
    });
    format!(
        "# Encodings\n\n\
         Made by `cargo xtask docs` of the table in `crates/all-encodings`, the crates' descriptions and the pages; do not\n\
         edit. *GB/s* are decoded bytes by its own decoder on one core, without its children: of values of 8 bytes, of\n\
         strings of 16, or of bits, by the costs in the table (`benches/codec.rs` of each crate). *Scanned* are those of\n\
         whole scans of the column where the encoding gains most, natively and by a kernel\n\
         ([benchmarks.md](../../benchmarks.md#encodings)). *Range* is the time to find the numbers of a range, which filters\n\
         do without decoding all of them, over that of a scan ([benchmarks.md](../../benchmarks.md#ranges-in-encoded-values)).\n\
         *Tried* says whether a search for trees tries the encoding\n\
         always, only where size counts more than time (the preset `compact`), or only where a user names it\n\
         (`--encode`). *Kernels* are the modules that decode the encoding; what *fit* and *residue* mean is in\n\
         [erasure.md](../erasure.md).\n\n\
         | encoding | version | what it is | wins on | values | GB/s | scanned: native, kernel | range | tried | kernels | survivors of an erasure fit | residue |\n\
         |---|---|---|---|---|---:|---:|---:|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn erasure_table(encodings: &[Described]) -> String {
    let rows = encodings.iter().map(|it| {
        let page = format!("[`{}`](encodings/{}.md)", it.id, it.name);
        row(&[&page, &it.erasure.residue, &it.erasure.fit])
    });
    format!(
        "| encoding | residue | survivors fit |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The text with `made` between the two lines that mark its place.
fn replaced(text: &str, made: &str) -> Result<String, String> {
    let lacks = || {
        format!(
            "{ERASURE} has no place for the table of encodings\nrepair: put back the lines {START:?} and {END:?}"
        )
    };
    let (before, rest) = text.split_once(START).ok_or_else(lacks)?;
    let (_, after) = rest.split_once(END).ok_or_else(lacks)?;
    Ok(format!("{before}{START}{made}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_are_what_would_be_made() {
        assert_eq!(check(&crate::root()), Ok(()));
    }

    #[test]
    fn every_encoding_has_a_line_in_both_tables() {
        let [(_, overview), (_, erasure)] = make(&reader(&crate::root())).unwrap();
        for row in tarsia_encodings::rows() {
            let id = format!("| [`{}`](", row.encoding.id());
            assert_eq!(overview.matches(&id).count(), 1, "{id}");
            assert_eq!(erasure.matches(&id).count(), 1, "{id}");
        }
    }

    #[test]
    fn a_page_that_says_nothing_of_erasures_is_named() {
        let read = |path: &str| match path {
            "docs/spec/encodings/plain.md" => Ok("**Erasure.** Survivors fit.".to_owned()),
            path => reader(&crate::root())(path),
        };
        let error = make(&read).unwrap_err();
        assert!(error.starts_with("docs/spec/encodings/plain.md"), "{error}");
    }

    #[test]
    fn only_the_marked_part_is_replaced() {
        let text = format!("a\n{START}old\n{END}b\n");
        let expect = format!("a\n{START}new\n{END}b\n");
        assert_eq!(replaced(&text, "new\n"), Ok(expect));
        assert!(replaced("a\n", "new\n").is_err());
        assert_eq!(row(&["a|b", "c"]), "| a\\|b | c |\n");
    }

    #[test]
    fn types_are_named() {
        let fixed = |widths: &[u32]| {
            widths
                .iter()
                .copied()
                .map(ValueType::Fixed)
                .collect::<Vec<_>>()
        };
        assert_eq!(describe_types(&fixed(&[8, 4, 4])), "numbers of 4, 8 bytes");
        assert_eq!(describe_types(&fixed(&[4, 16])), "fixed width");
        let all = [ValueType::Bytes, ValueType::Fixed(0), ValueType::Bits];
        assert_eq!(describe_types(&all), "bits; fixed width; byte strings");
    }
}
