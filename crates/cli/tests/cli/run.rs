//! Running the command in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{Schema, SchemaRef};
use tarsia_cli::source::{Format, Source};
use tarsia_cli::target::{Dictionaries, Target};
use tempfile::TempDir;

/// The exit code and the output of a finished command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// The standard output of a command that must succeed and say nothing else.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (0, ""),
            "{}",
            self.stdout
        );
        self.stdout
    }

    /// The one line of a command that must fail with this code.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{:?}", self.stderr);
        assert!(
            self.stderr.ends_with('\n') && self.stderr.starts_with("error: "),
            "{:?}",
            self.stderr
        );
        self.stderr
    }

    /// A command that ends with this code, whatever it says.
    #[track_caller]
    pub(crate) fn code_is(self, code: i32) {
        assert_eq!(self.code, code, "{self:?}");
    }

    /// The standard output as a JSON document.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// An empty folder in which commands run.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs the command to its end. Nothing it prints may hold control sequences for a terminal.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output
            .status
            .code()
            .unwrap_or_else(|| panic!("{:?}", output.status));
        let done = Done {
            code,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for text in [&done.stdout, &done.stderr] {
            assert!(
                !text.chars().any(|c| c.is_control() && c != '\n'),
                "{text:?}"
            );
        }
        done
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tarsia"));
        command
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        // Asking for colour must not help: output to a pipe never holds any.
        command
            .env("CLICOLOR", "1")
            .env("TERM", "xterm-256color")
            .env_remove("CLICOLOR_FORCE");
        command
    }

    /// Imports a table and gives the file the name `t.tarsia`.
    #[track_caller]
    pub(crate) fn import(&self, schema: &SchemaRef, batches: &[RecordBatch]) {
        write_table(&self.path("source.arrow"), schema, batches);
        self.run(&["import", "source.arrow", "t.tarsia"]).ok();
        std::fs::remove_file(self.path("source.arrow")).unwrap();
    }
}

/// Writes a table in the format that the name says.
#[track_caller]
pub(crate) fn write_table(path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) -> u64 {
    let mut dictionaries = Dictionaries::default();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    for batch in batches {
        dictionaries.merge(batch, &columns).unwrap();
    }
    let mut target = Target::create(
        path,
        Path::new(""),
        Format::of(path).unwrap(),
        schema.clone(),
        dictionaries,
    )
    .unwrap();
    for batch in batches {
        target.write(batch).unwrap();
    }
    target.finish().unwrap()
}

/// Reads a table in the format that the name says.
#[track_caller]
pub(crate) fn read_table(path: &Path) -> (SchemaRef, Vec<RecordBatch>) {
    let mut source = Source::open(path).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = source.next_batch().unwrap() {
        batches.push(batch);
    }
    (source.schema(), batches)
}

/// Compares two tables whose batches may be cut differently: schema with all metadata, and every bit of every value.
#[track_caller]
pub(crate) fn assert_same_table(
    got: &(SchemaRef, Vec<RecordBatch>),
    expected: &(SchemaRef, Vec<RecordBatch>),
) {
    assert_eq!(got.0, expected.0);
    let rows = |table: &[RecordBatch]| table.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(&got.1), rows(&expected.1));
    for (i, field) in expected.0.fields().iter().enumerate() {
        // Pieces that lie in one batch on both sides, so that nothing has to be joined and dictionaries may differ.
        let (mut left, mut right) = (got.1.iter(), expected.1.iter());
        let (mut a, mut b): (Option<ArrayRef>, Option<ArrayRef>) = (None, None);
        loop {
            a = a
                .filter(|a| !a.is_empty())
                .or_else(|| next_array(&mut left, i));
            b = b
                .filter(|b| !b.is_empty())
                .or_else(|| next_array(&mut right, i));
            let (Some(x), Some(y)) = (&a, &b) else { break };
            let n = x.len().min(y.len());
            let (left, right) = (x.slice(0, n), y.slice(0, n));
            let compared = match field.data_type().is_nested() {
                true => tarsia_testkit::nested::logical_difference(&left, &right),
                false => tarsia_testkit::arrays::bit_difference(&left, &right),
            };
            if let Err(difference) = compared {
                panic!(
                    "column `{}` of type {}: {difference}",
                    field.name(),
                    field.data_type()
                );
            }
            let (rest_x, rest_y) = (x.slice(n, x.len() - n), y.slice(n, y.len() - n));
            (a, b) = (Some(rest_x), Some(rest_y));
        }
    }
}

/// The column of the next batch that has rows.
fn next_array<'a>(
    batches: &mut impl Iterator<Item = &'a RecordBatch>,
    column: usize,
) -> Option<ArrayRef> {
    batches
        .find(|batch| batch.num_rows() > 0)
        .map(|batch| batch.column(column).clone())
}

/// A small table with nulls, specials and metadata: `id`, `x`, `name`, `flag`, `price`, `day`, `at`, `raw`.
pub(crate) fn small_table() -> (SchemaRef, Vec<RecordBatch>) {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "id",
            Arc::new(Int64Array::from(vec![1, 2, i64::MAX, i64::MIN, 5])),
        ),
        (
            "x",
            Arc::new(Float64Array::from(vec![
                Some(0.1),
                None,
                Some(f64::NAN),
                Some(f64::INFINITY),
                Some(-0.0),
            ])),
        ),
        (
            "name",
            Arc::new(StringArray::from(vec![
                Some("a,b"),
                Some(""),
                None,
                Some("\u{1b}[31mred\n\"q\""),
                Some("é"),
            ])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(true),
                Some(false),
            ])),
        ),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(1), Some(-250), None, Some(99_999), Some(0)])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(19_782),
                None,
                Some(-1),
                Some(1),
            ])),
        ),
        (
            "at",
            Arc::new(
                TimestampMicrosecondArray::from(vec![
                    Some(0),
                    Some(1_500_000),
                    None,
                    Some(-1),
                    Some(1),
                ])
                .with_timezone("UTC"),
            ),
        ),
        (
            "raw",
            Arc::new(BinaryArray::from(vec![
                Some(&[0_u8, 255][..]),
                None,
                Some(b""),
                Some(b"abc"),
                Some(b"z"),
            ])),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let batch = batch.unwrap();
    let mut fields: Vec<_> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields[0].set_metadata([("unit".to_owned(), "none".to_owned())].into());
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        [("made by".to_owned(), "a test".to_owned())].into(),
    ));
    let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec()).unwrap();
    (schema, vec![batch])
}

/// As [`small_table`], without the columns named.
pub(crate) fn small_table_without(names: &[&str]) -> (SchemaRef, Vec<RecordBatch>) {
    let (schema, batches) = small_table();
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|&i| !names.contains(&schema.field(i).name().as_str()))
        .collect();
    let batches: Vec<RecordBatch> = batches
        .iter()
        .map(|batch| batch.project(&kept).unwrap())
        .collect();
    (batches[0].schema(), batches)
}
