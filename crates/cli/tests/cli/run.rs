//! Running the command in a folder of its own.

use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Stdio};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tarsia::io::FileSink;
use tarsia_convert::Format;
use tarsia_convert::source::{Options, Source};
use tarsia_convert::target::Plan;
pub(crate) use tarsia_testkit::batches::{assert_same_table, small_table, small_table_without};

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
#[derive(Default)]
pub(crate) struct Folder(tarsia_testkit::folder::Folder);

impl Deref for Folder {
    type Target = tarsia_testkit::folder::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Folder {
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
            .current_dir(self.root())
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
    let mut plan = Plan::new(Format::of(path).unwrap(), schema.clone()).unwrap();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    for batch in batches {
        plan.merge(batch, &columns).unwrap();
    }
    let mut target = plan.write_to(FileSink::create(path).unwrap()).unwrap();
    for batch in batches {
        target.write(batch).unwrap();
    }
    target.finish().unwrap().1
}

/// Reads a table in the format that the name says.
#[track_caller]
pub(crate) fn read_table(path: &Path) -> (SchemaRef, Vec<RecordBatch>) {
    let source = Source::open(path, &Options::default()).unwrap();
    let schema = source.schema();
    (schema, source.map(Result::unwrap).collect())
}
