//! The sound files that runs damage: small, made by the project's own code and by the command under test.

mod foreign;
mod tables;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use serde_json::Value;
use tarsia_metadata::Header;
use tarsia_testkit::seal::Seals;

use crate::kind::Kind;
use crate::mutation::Places;
use crate::process::{Done, Runner};

/// A sound file.
pub(crate) struct Original {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u64,
    pub(crate) places: Places,
    pub(crate) tarsia: Option<Tarsia>,
}

/// Facts about a Tarsia file besides.
pub(crate) struct Tarsia {
    pub(crate) seals: Seals,
    pub(crate) has_kernel: bool,
}

/// Sound files by kind.
pub(crate) struct Corpus {
    tarsia: Vec<Original>,
    others: BTreeMap<Kind, Vec<Original>>,
}

impl Corpus {
    /// Makes all files.
    ///
    /// # Errors
    /// Where the command refuses what it must not refuse.
    pub(crate) fn make(runner: &Runner) -> Result<Corpus, String> {
        let folder = tarsia_driving::scratch::folder().map_err(|error| error.to_string())?;
        let mut maker = Maker {
            runner,
            folder: folder.path(),
            corpus: Corpus {
                tarsia: Vec::new(),
                others: BTreeMap::new(),
            },
        };
        for table in tables::tables() {
            maker.add(&table)?;
        }
        for (name, text, rows) in foreign::CSV {
            maker
                .corpus
                .add(Kind::Csv, name.to_owned(), text.into(), rows);
        }
        for (name, text, rows) in foreign::JSON {
            maker
                .corpus
                .add(Kind::Json, name.to_owned(), text.into(), rows);
        }
        maker.add_golden()?;
        Ok(maker.corpus)
    }

    /// The files of a kind; plain and resealed are the same.
    pub(crate) fn of(&self, kind: Kind) -> &[Original] {
        match kind.is_tarsia() {
            true => &self.tarsia,
            false => self.others.get(&kind).map_or(&[], Vec::as_slice),
        }
    }

    /// Eight digits that are the same where all files are: only then do runs repeat.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for file in self.tarsia.iter().chain(self.others.values().flatten()) {
            hasher.update(blake3::hash(&file.bytes).as_bytes());
        }
        hasher.finalize().to_hex()[..8].to_owned()
    }

    /// How many files there are, and how many bytes they have.
    pub(crate) fn size(&self) -> (usize, usize) {
        let all = || self.tarsia.iter().chain(self.others.values().flatten());
        (all().count(), all().map(|file| file.bytes.len()).sum())
    }

    fn add(&mut self, kind: Kind, name: String, bytes: Vec<u8>, rows: u64) {
        let places = Places::of_len(bytes.len());
        let files = self.others.entry(kind).or_default();
        files.push(Original {
            name,
            bytes,
            rows,
            places,
            tarsia: None,
        });
    }
}

/// Makes files in a folder.
struct Maker<'a> {
    runner: &'a Runner,
    folder: &'a Path,
    corpus: Corpus,
}

impl Maker<'_> {
    fn run(&self, args: &[&str]) -> Result<Done, String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let done = self.runner.run(self.folder, &args);
        done.map_err(|error| format!("the command cannot be run: {error}"))
    }

    /// As [`Maker::run`], of a command that must succeed on a sound file.
    fn must(&self, args: &[&str]) -> Result<Done, String> {
        let done = self.run(args)?;
        match done.is_ok() {
            true => Ok(done),
            false => Err(format!(
                "`tarsia {}` fails on a sound file: {:?}, {}",
                args.join(" "),
                done.ending,
                done.said()
            )),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        fs::write(self.folder.join(name), bytes).map_err(|error| format!("{name}: {error}"))
    }

    /// The table as Tarsia, with each of its options, and in all other formats.
    fn add(&mut self, table: &tables::Table) -> Result<(), String> {
        // What the command does not store cannot be in the corpus.
        let batch = self.stored(&table.batch)?;
        self.write("table.arrow", &one_batch(&batch)?)?;
        for (i, options) in table.imports.iter().enumerate() {
            self.must(&[&["import", "table.arrow", "table.tarsia"], *options].concat())?;
            let bytes = self.read("table.tarsia")?;
            self.add_tarsia(format!("{}.{i}", table.name), bytes)?;
        }
        let rows = batch.num_rows() as u64;
        for (codec, compression) in foreign::ARROW_CODECS {
            let name = format!("{}.{codec}", table.name);
            let file = foreign::arrow_file(&batch, compression);
            self.corpus
                .add(Kind::ArrowFile, name.clone(), file, 2 * rows);
            let stream = foreign::arrow_stream(&batch, compression);
            self.corpus.add(Kind::ArrowStream, name, stream, 2 * rows);
        }
        for (kind, name) in [
            (Kind::Parquet, "out.parquet"),
            (Kind::Csv, "out.csv"),
            (Kind::Json, "out.jsonl"),
        ] {
            let Some(held) = self.held(&batch, name)? else {
                continue;
            };
            self.corpus.add(
                kind,
                format!("{}.exported", table.name),
                self.read(name)?,
                rows,
            );
            if kind == Kind::Parquet {
                for (how, properties) in foreign::parquet_kinds() {
                    let file = foreign::parquet(&held, properties);
                    self.corpus
                        .add(kind, format!("{}.{how}", table.name), file, rows);
                }
            }
        }
        Ok(())
    }

    /// The columns that the command stores.
    fn stored(&self, batch: &RecordBatch) -> Result<RecordBatch, String> {
        let mut kept = Vec::new();
        for i in 0..batch.num_columns() {
            let column = batch.project(&[i]).map_err(|error| error.to_string())?;
            // Arrow files do not hold dictionaries of dictionaries either.
            let Ok(file) = one_batch(&column) else {
                continue;
            };
            self.write("column.arrow", &file)?;
            if self
                .run(&[
                    "import",
                    "column.arrow",
                    "column.tarsia",
                    "--kernels",
                    "omit",
                ])?
                .is_ok()
            {
                kept.push(i);
            }
        }
        batch.project(&kept).map_err(|error| error.to_string())
    }

    /// Exports the columns that a format holds and returns them; `None` where it holds none.
    fn held(&self, batch: &RecordBatch, name: &str) -> Result<Option<RecordBatch>, String> {
        let export = |names: &str| self.run(&["export", "table.tarsia", name, "--columns", names]);
        let mut kept = Vec::new();
        let mut names = Vec::new();
        for (i, field) in batch.schema_ref().fields().iter().enumerate() {
            if export(field.name())?.is_ok() {
                kept.push(i);
                names.push(field.name().as_str());
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        self.must(&[
            "export",
            "table.tarsia",
            name,
            "--columns",
            &names.join(","),
        ])?;
        batch
            .project(&kept)
            .map(Some)
            .map_err(|error| error.to_string())
    }

    /// Files that an earlier version wrote; those with kernels are large, and their kernels are trusted by nobody.
    fn add_golden(&mut self) -> Result<(), String> {
        let folder = tarsia_driving::command::root().join("testdata/golden/v0");
        for name in [
            "nested",
            "nested_pages",
            "one_page",
            "several_pages",
            "strings",
            "strings_pages",
        ] {
            let path = folder.join(name).with_extension("tarsia");
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            self.add_tarsia(format!("golden.{name}"), bytes)?;
        }
        Ok(())
    }

    fn add_tarsia(&mut self, name: String, mut bytes: Vec<u8>) -> Result<(), String> {
        let seals = Seals::of(&bytes);
        // The one part that is random.
        let mut header = Header::parse(&bytes).map_err(|error| error.to_string())?;
        header.file_id = [0; 16];
        let header = header.to_bytes().map_err(|error| error.to_string())?;
        bytes[..header.len()].copy_from_slice(&header);
        seals.reseal(&mut bytes);
        self.write("sealed.tarsia", &bytes)?;
        self.must(&["verify", "sealed.tarsia"])?;
        let inspected = self.must(&["inspect", "sealed.tarsia", "--json"])?.stdout;
        let inspected: Value =
            serde_json::from_slice(&inspected).map_err(|error| error.to_string())?;
        let rows = inspected["file"]["rows"].as_u64();
        let rows = rows.ok_or("`tarsia inspect --json` does not say `rows`")?;
        let regions =
            regions(&inspected).ok_or("`tarsia inspect --json` does not say the `layout`")?;
        let has_kernel = regions
            .iter()
            .any(|(name, range)| name == "kernels" && !range.is_empty());
        // Most of what parses a file parses its pages.
        let pages = regions
            .iter()
            .filter(|(name, _)| name == "pages")
            .cloned()
            .cycle()
            .take(2);
        let places = Places::new(pages.chain(regions.clone()).map(|(_, range)| range));
        self.corpus.tarsia.push(Original {
            name,
            bytes,
            rows,
            places,
            tarsia: Some(Tarsia { seals, has_kernel }),
        });
        Ok(())
    }
}

/// The parts of a file with their names.
fn regions(inspected: &Value) -> Option<Vec<(String, Range<usize>)>> {
    let layout = inspected["layout"].as_array()?;
    let region = |region: &Value| {
        let number = |key: &str| usize::try_from(region[key].as_u64()?).ok();
        let (place, bytes) = (number("place")?, number("bytes")?);
        Some((region["name"].as_str()?.to_owned(), place..place + bytes))
    };
    layout.iter().map(region).collect()
}

/// An Arrow file for the command to import.
fn one_batch(batch: &RecordBatch) -> Result<Vec<u8>, String> {
    let write = || {
        let mut file = Vec::new();
        let mut writer = FileWriter::try_new(&mut file, batch.schema_ref())?;
        writer.write(batch)?;
        writer.finish()?;
        drop(writer);
        Ok(file)
    };
    write().map_err(|error: ArrowError| error.to_string())
}
