//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::kind::Kind;

const AFTER_HELP: &str = "\
A case is a function of its seed, which says its kind, too. Exit code 1 says that there are finds; each comes with the
seed that repeats it. The last line is `N passed, M failed`.

Examples:
  cargo xtask attack
  cargo xtask attack --seconds 3600 --seed 7 --release
  cargo xtask attack --only search,twins
  cargo xtask attack --replay 803128400";

/// Erase rows of random tables, and look for what is left of them: in files, in certificates, after crashes, and while
/// others read.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask attack", after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Seed from which the seeds of cases are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How long cases are begun; the kinds get equal parts of it
    #[arg(long, value_name = "S", default_value_t = 90)]
    pub(crate) seconds: u64,
    /// Only cases of these kinds
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub(crate) only: Vec<Kind>,
    /// Run the case of this seed alone and say all of it
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seconds", "only"])]
    pub(crate) replay: Option<u64>,
    /// How many cases at once; as many as there are processors by default
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Build the command with optimisation
    #[arg(long)]
    pub(crate) release: bool,
    /// Attack this command instead of building one
    #[arg(long, value_name = "PATH", conflicts_with = "release")]
    pub(crate) command: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
        let options = Options::parse_from(["attack", "--only", "search,twins"]);
        assert_eq!((options.seconds, options.seed), (90, 1));
        assert_eq!(options.only, [Kind::Search, Kind::Twins]);
    }
}
