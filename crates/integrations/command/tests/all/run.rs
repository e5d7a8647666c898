//! Running the command in a folder of its own.

use std::fmt::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tarsia_store_testing::Server;
use tempfile::TempDir;

/// Rows of [`Folder::with_table`].
pub(crate) const ROWS: u64 = 30_000;

/// Characters of an output that a failed test shows.
const SHOWN_CHARS: usize = 500;

/// The exit code and the output of a finished command.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &str| text.chars().take(SHOWN_CHARS).collect::<String>();
        let (stdout, stderr) = (shown(&self.stdout), shown(&self.stderr));
        write!(f, "{:?}: {stdout:?}, {stderr:?}", self.code)
    }
}

impl Done {
    /// The standard output of a command that must succeed, and may say more on the standard error.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert!(self.code == Some(0), "{self:?}");
        self.stdout
    }

    /// The standard output of a command that must succeed and say nothing else.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert!(self.code == Some(0) && self.stderr.is_empty(), "{self:?}");
        self.stdout
    }

    /// The one line of a command that must fail with this code.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        self.stderr
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A folder in which commands run, and the server that their `s3://` URLs lead to.
pub(crate) struct Folder {
    folder: TempDir,
    endpoint: Option<String>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            endpoint: None,
        }
    }

    /// A folder with `t.csv` and `t.tarsia`, a table that is larger than what opening reads.
    pub(crate) fn with_table() -> Self {
        let folder = Self::new();
        std::fs::write(folder.path("t.csv"), csv(ROWS)).unwrap();
        folder.run(&["import", "t.csv", "t.tarsia"]).ok();
        assert!(folder.bytes("t.tarsia").len() > 200_000);
        folder
    }

    /// Has `s3://` URLs lead to a server.
    pub(crate) fn of_endpoint(mut self, endpoint: String) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().unwrap().into()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tarsia"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        // Whoever runs the tests may have an account.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["AWS_", "AZURE_", "GOOGLE_"]
                .iter()
                .any(|it| text.starts_with(it))
            {
                command.env_remove(name);
            }
        }
        command
            .env("AWS_ACCESS_KEY_ID", "KEYID")
            .env("AWS_SECRET_ACCESS_KEY", "SECRETKEY")
            .env("AWS_REGION", "us-east-1");
        if let Some(endpoint) = &self.endpoint {
            command.env("AWS_ENDPOINT_URL", endpoint);
        }
        command
    }
}

/// A folder with a table, which a server has, too: as `/t.tarsia`, and as `t.tarsia` of the bucket `bucket`.
pub(crate) fn served() -> (Server, Folder) {
    let folder = Folder::with_table();
    let server = Server::new();
    for path in ["/t.tarsia", "/bucket/t.tarsia"] {
        server.put(path, folder.bytes("t.tarsia"), Some("\"one\""));
    }
    let folder = folder.of_endpoint(server.url(""));
    (server, folder)
}

/// A table of more than two parts of 8 MiB, of numbers alone.
pub(crate) fn csv_of_parts() -> String {
    let mut text = String::from("a,b,c,d\n");
    for row in 0..560_000 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|column| hash(4 * row + column));
        writeln!(text, "{a},{b},{c},{d}").unwrap();
    }
    text
}

/// A number that no encoding makes smaller.
fn hash(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 1
}

/// A table of numbers, texts and nulls.
pub(crate) fn csv(n_rows: u64) -> String {
    let mut text = String::from("id,hash,word\n");
    for row in 0..n_rows {
        let hash = hash(row);
        match row % 7 {
            0 => writeln!(text, "{row},{hash},"),
            n => writeln!(text, "{row},{hash},word {}", hash % (n * 100)),
        }
        .unwrap();
    }
    text
}
