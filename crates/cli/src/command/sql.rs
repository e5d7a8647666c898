//! `tarsia sql`: another program, so that this one is small.

use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::args::Sql;
use crate::failure::Failure;

const NAME: &str = "tarsia-sql";

/// Runs `tarsia-sql`, which lies beside this program or on the `PATH`, in the place of this process.
pub(super) fn sql(args: &Sql) -> Result<(), Failure> {
    let mut command = Command::new(program());
    command.args(&args.arguments);
    let error = run(&mut command);
    Err(match error.kind() {
        io::ErrorKind::NotFound => Failure::Usage(format!(
            "{NAME} is not installed: `cargo install --path crates/integrations/sql` builds it"
        )),
        _ => Failure::Bad(format!("{NAME}: {error}")),
    })
}

fn program() -> PathBuf {
    let name = format!("{NAME}{EXE_SUFFIX}");
    let here = std::env::current_exe().ok();
    let beside = here.and_then(|program| Some(program.parent()?.join(&name)));
    match beside.filter(|path| path.is_file()) {
        Some(path) => path,
        None => name.into(),
    }
}

/// Returns only if the program could not be started.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Returns only if the program could not be started.
#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
