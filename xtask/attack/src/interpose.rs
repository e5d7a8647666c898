//! The library that makes the command die or fail at one of its writes: `interpose.c`, built with `cc`, for Linux.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::tool::{Done, Tool};

/// The library and the folder that holds it.
pub(crate) struct Interpose {
    _folder: TempDir,
    library: PathBuf,
}

/// How a call of the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The process dies before it.
    Kill,
    /// The process dies behind it.
    After,
    /// Half of the bytes are written, then the process dies.
    Half,
    /// The call fails: an error of the disk.
    Eio,
    /// The call fails: no room is left.
    Enospc,
    /// The process gets SIGINT before it.
    Int,
    /// The process gets SIGTERM before it.
    Term,
}

impl How {
    /// All ways.
    pub(crate) const ALL: [Self; 7] = [
        Self::Kill,
        Self::After,
        Self::Half,
        Self::Eio,
        Self::Enospc,
        Self::Int,
        Self::Term,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::After => "after",
            Self::Half => "half",
            Self::Eio => "eio",
            Self::Enospc => "enospc",
            Self::Int => "int",
            Self::Term => "term",
        }
    }
}

impl Interpose {
    /// Builds the library.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn build() -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("it is for Linux".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let source = folder.path().join("interpose.c");
        let library = folder.path().join("interpose.so");
        fs::write(&source, include_str!("interpose.c")).map_err(|error| error.to_string())?;
        let built = std::process::Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ldl")
            .output()
            .map_err(|error| format!("cc: {error}"))?;
        match built.status.success() {
            true => Ok(Self {
                _folder: folder,
                library,
            }),
            false => Err(format!(
                "cc: {}",
                String::from_utf8_lossy(&built.stderr).trim()
            )),
        }
    }

    pub(crate) fn library(&self) -> &Path {
        &self.library
    }
}

/// Runs the command so that its call `at`, counted from 1, ends in some way.
pub(crate) fn interrupted(
    tool: &Tool<'_>,
    library: &Path,
    args: &[&str],
    (at, how): (u64, How),
) -> Result<Done, String> {
    let at = OsString::from(at.to_string());
    let environment: [(&str, &OsStr); 3] = [
        ("LD_PRELOAD", library.as_os_str()),
        ("TARSIA_ATTACK_AT", &at),
        ("TARSIA_ATTACK_HOW", OsStr::new(how.name())),
    ];
    tool.run_with(args, &environment)
}

/// How many calls the command makes when nothing ends it.
pub(crate) fn calls(tool: &Tool<'_>, library: &Path, args: &[&str]) -> Result<u64, String> {
    let count = tool.folder.with_extension("calls");
    let environment: [(&str, &OsStr); 2] = [
        ("LD_PRELOAD", library.as_os_str()),
        ("TARSIA_ATTACK_COUNT", count.as_os_str()),
    ];
    let done = tool.run_with(args, &environment)?;
    let bytes = fs::read(&count).unwrap_or_default();
    let _ = fs::remove_file(&count);
    match done.code {
        Some(0) => Ok(bytes.len() as u64),
        _ => Err(format!("tarsia {}: {}", args.join(" "), done.said())),
    }
}
