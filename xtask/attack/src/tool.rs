//! The command run on files of a case.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command of so many seconds hangs.
const SECONDS_MAX: u64 = 120;

/// Outcome of a command.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// The first line that it printed, whichever way.
    pub(crate) fn first_line(&self) -> &str {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
    }

    /// How it ended and its first line, for texts of finds.
    pub(crate) fn said(&self) -> String {
        match self.code {
            Some(code) => format!("exit {code}: {}", self.first_line()),
            None => format!("ended by a signal: {}", self.first_line()),
        }
    }
}

/// The command, in a folder.
#[derive(Clone, Copy)]
pub(crate) struct Tool<'a> {
    pub(crate) command: &'a Path,
    pub(crate) folder: &'a Path,
}

impl Tool<'_> {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Where it does not start, or hangs.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Done, String> {
        self.run_with(args, &[])
    }

    /// Runs the command with more variables in its environment.
    ///
    /// # Errors
    /// Where it does not start, or hangs.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        environment: &[(&str, &OsStr)],
    ) -> Result<Done, String> {
        // What a command prints is kept apart from its files.
        let said = self.folder.parent().unwrap_or(self.folder);
        let stem = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let outputs = ["out", "err"].map(|end| said.join(format!("{stem}.{end}")));
        let text = |error: std::io::Error| format!("the command did not run: {error}");
        let create = |path: &PathBuf| fs::File::create(path).map_err(text);
        let mut child = Command::new(self.command)
            .current_dir(self.folder)
            .args(args)
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(create(&outputs[0])?)
            .stderr(create(&outputs[1])?)
            .spawn()
            .map_err(text)?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(text)? {
                break status;
            }
            if start.elapsed() > Duration::from_secs(SECONDS_MAX) {
                child.kill().and_then(|()| child.wait()).map_err(text)?;
                let args: Vec<String> = args
                    .iter()
                    .map(|arg| arg.as_ref().to_string_lossy().into_owned())
                    .collect();
                return Err(format!("tarsia {} hangs", args.join(" ")));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = outputs.map(|path| {
            let bytes = fs::read(&path).unwrap_or_default();
            let _ = fs::remove_file(path);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ok(Done {
            code: status.code(),
            stdout,
            stderr,
        })
    }

    /// Runs the command, which has to succeed.
    ///
    /// # Errors
    /// Where it does not.
    pub(crate) fn must<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Done, String> {
        let done = self.run(args)?;
        match done.code {
            Some(0) => Ok(done),
            _ => {
                let name = args
                    .first()
                    .map(|arg| arg.as_ref().to_string_lossy().into_owned());
                Err(format!(
                    "tarsia {}: {}",
                    name.unwrap_or_default(),
                    done.said()
                ))
            }
        }
    }
}
