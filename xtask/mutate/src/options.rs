//! The command line.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::kind::Kind;
use crate::process::Limits;

const AFTER_HELP: &str = "\
A run is one damaged file and the commands that it goes through. Exit code 1 says that there are finds. Each comes with
the command line that repeats it alone.

Examples:
  cargo xtask mutate
  cargo xtask mutate --runs 1000000 --release --seed 7 --keep finds
  cargo xtask mutate --seed 7 --run 4711 --keep finds";

/// Run the `tarsia` command on damaged files: Tarsia (plain, and with all checksums made right again), Parquet, Arrow
/// IPC, CSV, JSON lines.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask mutate", after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// How long runs are begun
    #[arg(long, value_name = "S", default_value_t = 90, conflicts_with_all = ["runs", "run"])]
    pub(crate) time: u64,
    /// So many runs, however long they take
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u64>,
    /// Seed from which the runs are drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Only this run, with the output of its commands
    #[arg(long, value_name = "N", conflicts_with = "runs")]
    pub(crate) run: Option<u64>,
    /// Only files of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) only: Option<Kind>,
    /// Keep the damaged file of each find in this folder, beside a text that says what was found
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Build the command with optimisation: faster in long runs, but without the checks for overflow
    #[arg(long)]
    pub(crate) release: bool,
    /// Run this command instead of building one
    #[arg(long, value_name = "PATH", conflicts_with = "release")]
    pub(crate) command: Option<PathBuf>,
    /// How many runs at once; as many as there are processors by default
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Seconds of processor time that a command may take, all its threads together
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) seconds: u64,
    /// MiB that a command may have in memory at its peak; allocations of more than twice as much are refused
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub(crate) mebibytes: u64,
}

impl Options {
    /// The numbers of the runs.
    pub(crate) fn numbers(&self) -> Range<u64> {
        match self.run {
            Some(run) => run..run.saturating_add(1),
            None => 0..self.runs.unwrap_or(u64::MAX),
        }
    }

    /// The moment after which no run is begun; `None` where the number of runs is given.
    pub(crate) fn end(&self, start: Instant) -> Option<Instant> {
        let is_timed = self.runs.or(self.run).is_none();
        is_timed.then(|| start + Duration::from_secs(self.time))
    }

    /// The limits of one command.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            time: Duration::from_secs(self.seconds),
            resident_bytes: self.mebibytes << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
        let options = Options::parse_from(["mutate"]);
        assert_eq!((options.time, options.seed), (90, 1));
        let start = Instant::now();
        assert_eq!(options.end(start), Some(start + Duration::from_secs(90)));
        assert_eq!(options.numbers(), 0..u64::MAX);
        let options = Options::parse_from(["mutate", "--runs", "7"]);
        assert_eq!((options.end(start), options.numbers()), (None, 0..7));
        let options = Options::parse_from(["mutate", "--run", "7"]);
        assert_eq!((options.end(start), options.numbers()), (None, 7..8));
    }
}
