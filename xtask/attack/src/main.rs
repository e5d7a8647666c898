//! The adversary: erases rows of random tables, and looks for what is left of them. See README.md.
//!
//! | module | job |
//! |---|---|
//! | `scene` | random tables, their twins, how they are written and erased |
//! | `walk` | a file taken apart: every block with all that it decodes to |
//! | `leaves` | the values of a table's leaf columns |
//! | `needles` | values searched in raw bytes, at every bit |
//! | `users`, `tool` | tables for the command, and the command itself |
//! | `interpose` | the command dies or fails at one of its writes |
//! | `cases` | the kinds of attacks |
//! | `driver`, `report` | cases within a time, finds by cause, counts |

mod cases;
mod driver;
mod interpose;
mod kind;
mod leaves;
mod needles;
mod options;
mod outcome;
mod report;
mod scene;
mod tool;
mod users;
mod walk;

use std::process::ExitCode;

use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    match driver::run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
