//! Text that people give to commits.

use clap::Args;

/// Text that a commit has for people.
#[derive(Debug, Args)]
pub struct Said {
    /// Message of the commit, for people
    #[arg(short = 'm', long, value_name = "TEXT", default_value = "")]
    pub message: String,
    /// Author of the commit; unless given, the user of the system
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
}
