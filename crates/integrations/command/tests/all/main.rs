//! The tests of this crate, linked as one program: the command, run as scripts run it, on files of servers.

mod failures;
mod moto;
mod reading;
mod run;
mod tables;
mod writing;
