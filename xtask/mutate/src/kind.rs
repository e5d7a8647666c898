//! Kinds of files that the command reads.

use clap::ValueEnum;
use tarsia_testkit::rng::Rng;

/// The format that is damaged, and how far the damage reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Kind {
    /// A Tarsia file, its bytes as the damage leaves them: checksums find it
    Plain,
    /// A Tarsia file whose checksums and digests are made right again: parsers and decoders see the damage
    Resealed,
    /// Parquet
    Parquet,
    /// Arrow IPC, the file format
    ArrowFile,
    /// Arrow IPC, the stream format
    ArrowStream,
    /// Comma-separated values
    Csv,
    /// JSON lines
    Json,
}

/// All kinds, each with how many of 100 runs it gets.
pub(crate) const KINDS: [(Kind, usize); 7] = [
    (Kind::Plain, 15),
    (Kind::Resealed, 30),
    (Kind::Parquet, 20),
    (Kind::ArrowFile, 10),
    (Kind::ArrowStream, 5),
    (Kind::Csv, 10),
    (Kind::Json, 10),
];

impl Kind {
    /// One of all kinds.
    pub(crate) fn pick(rng: &mut Rng) -> Kind {
        let mut at = rng.below(KINDS.iter().map(|(_, share)| share).sum());
        for (kind, share) in KINDS {
            if at < share {
                return kind;
            }
            at -= share;
        }
        Kind::Plain
    }

    /// As `--only` takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Resealed => "resealed",
            Kind::Parquet => "parquet",
            Kind::ArrowFile => "arrow-file",
            Kind::ArrowStream => "arrow-stream",
            Kind::Csv => "csv",
            Kind::Json => "json",
        }
    }

    /// Returns the extension that tells the command the format.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Kind::Plain | Kind::Resealed => "tarsia",
            Kind::Parquet => "parquet",
            Kind::ArrowFile | Kind::ArrowStream => "arrow",
            Kind::Csv => "csv",
            Kind::Json => "jsonl",
        }
    }

    /// True for a file that commands read as it is; others are imported.
    pub(crate) fn is_tarsia(self) -> bool {
        matches!(self, Kind::Plain | Kind::Resealed)
    }

    /// True for a file of lines.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Kind::Csv | Kind::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_gets_its_share_and_its_name() {
        let mut rng = Rng::new(1);
        let mut counts = [0; KINDS.len()];
        for _ in 0..10_000 {
            let kind = Kind::pick(&mut rng);
            counts[KINDS.iter().position(|(it, _)| *it == kind).unwrap()] += 1;
        }
        for ((kind, share), n) in KINDS.iter().zip(counts) {
            assert!(n > share * 80 && n < share * 120, "{kind:?}: {n}");
            assert_eq!(Kind::from_str(kind.name(), false), Ok(*kind));
        }
        assert_eq!(KINDS.len(), Kind::value_variants().len());
    }
}
