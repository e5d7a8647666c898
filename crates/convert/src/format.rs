//! The formats, and the names of their files.

use std::path::Path;

use crate::Error;

/// The formats that are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC: the file format, when reading also the stream format.
    Arrow,
    /// Comma-separated values (RFC 4180), with a header line unless the source's options say otherwise.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

impl Format {
    /// The format that a file name's extension says, in either case.
    ///
    /// ```
    /// use std::path::Path;
    /// use tarsia_convert::Format;
    /// assert_eq!(Format::of(Path::new("a/b.NDJSON")), Some(Format::JsonLines));
    /// assert_eq!(Format::of(Path::new("b.tarsia")), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Format::Parquet),
            "arrow" | "feather" => Some(Format::Arrow),
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            _ => None,
        }
    }

    /// The format of a file, as [`Format::of`] knows it.
    ///
    /// # Errors
    /// [`ErrorKind::Request`](crate::ErrorKind::Request) with the extensions that are known.
    pub fn of_file(path: &Path) -> Result<Format, Error> {
        Format::of(path).ok_or_else(|| {
            Error::request(
                "unknown file extension; known are .parquet, .arrow, .feather, .csv, .jsonl and .ndjson",
            )
            .in_file(path)
        })
    }
}
