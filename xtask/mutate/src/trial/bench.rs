//! The commands of one run, and what is found on the way.

use std::fs;
use std::io;
use std::path::Path;

use crate::process::{Done, Ending, Runner};

use super::fault;

/// A mistake, and the command that shows it.
#[derive(Debug)]
pub(crate) struct Find {
    /// The arguments, with the names of files as they are in the folder of the run.
    pub(crate) command: Vec<String>,
    pub(crate) what: String,
    /// Its error.
    pub(crate) said: String,
}

/// Outcome for the damaged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The damage left the bytes as they were; nothing was run.
    Unchanged,
    /// The first command, `verify` or `import`, refused it.
    Refused,
    /// The first command took it.
    Accepted,
}

/// Where the commands of one run are run, and what was found.
pub(super) struct Bench<'a> {
    runner: &'a Runner,
    pub(super) folder: &'a Path,
    pub(super) input: String,
    pub(super) n_commands: u64,
    pub(super) finds: Vec<Find>,
    show: &'a mut dyn FnMut(&[String], &Done),
}

/// A command that ended, and the file that it wrote.
pub(super) struct Ran {
    pub(super) args: Vec<String>,
    pub(super) done: Done,
    /// `None` where it was to write none, or failed.
    pub(super) written: Option<Vec<u8>>,
    /// Whether it broke a promise, so that there is a find already.
    pub(super) is_faulty: bool,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        runner: &'a Runner,
        folder: &'a Path,
        input: String,
        show: &'a mut dyn FnMut(&[String], &Done),
    ) -> Bench<'a> {
        Bench {
            runner,
            folder,
            input,
            n_commands: 0,
            finds: Vec::new(),
            show,
        }
    }

    /// Makes the folder hold the damaged file and nothing else.
    pub(super) fn put(&self, file: &[u8]) -> io::Result<()> {
        for entry in fs::read_dir(self.folder)? {
            fs::remove_file(entry?.path())?;
        }
        fs::write(self.folder.join(&self.input), file)
    }

    /// Runs a command that writes `output`, or nothing, and notes what it must not do.
    pub(super) fn run(&mut self, args: &[&str], output: Option<&str>) -> io::Result<Ran> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let done = self.runner.run(self.folder, &args)?;
        self.n_commands += 1;
        (self.show)(&args, &done);
        let output = output.filter(|_| done.is_ok());
        let written = output.map(|name| fs::read(self.folder.join(name)));
        let fault = fault::fault(&done, self.runner.limits());
        let missing =
            matches!(written, Some(Err(_))).then(|| "done, but there is no file".to_owned());
        let left = fault::left_behind(self.folder, &self.input, output)?;
        // What ended by a signal cannot tidy up, and is a find already.
        let left = left.filter(|_| matches!(done.ending, Ending::Code(_)));
        let faults: Vec<String> = [fault, missing, left].into_iter().flatten().collect();
        let is_faulty = !faults.is_empty();
        for what in faults {
            self.find(&args, what, &done.said());
        }
        let written = written.and_then(Result::ok);
        Ok(Ran {
            args,
            done,
            written,
            is_faulty,
        })
    }

    pub(super) fn find(&mut self, command: &[String], what: String, said: &str) {
        self.finds.push(Find {
            command: command.to_vec(),
            what,
            said: said.to_owned(),
        });
    }
}
