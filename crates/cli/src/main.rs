//! The `tarsia` command of the default build, which knows local files; all but the process is in the library.

use std::process::ExitCode;

use tarsia_cli::budget::CountingAllocator;
use tarsia_cli::place::LocalFiles;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    tarsia_cli::main(&LocalFiles)
}
