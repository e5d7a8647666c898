//! The `tarsia` command with object stores: the one of `tarsia-cli`, where URLs are opened by `tarsia-store`.
#![forbid(unsafe_code)]

mod stores;

use std::process::ExitCode;

use tarsia_cli::budget::CountingAllocator;

use crate::stores::Stores;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    tarsia_cli::main(&Stores)
}
