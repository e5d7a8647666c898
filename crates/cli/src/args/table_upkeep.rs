//! Arguments of the upkeep of tables: `tarsia table gc`, `pin`, `unpin`, `protect` and `copy`.

use clap::{Args, ValueEnum};

use super::said::Said;
use crate::place::Place;

/// Arguments of `tarsia table gc`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table gc ads --dry-run

Kept are the states of branches, tags and pins, those that branches were at during the days of keeping, and the changes
of branches that were not merged. Other objects go if they are older than 24 hours by the store's clock, whatever their
names: what interrupted writers left, and old states. Nothing goes if something that is kept is missing or damaged; of
files the size is compared, and `tarsia table fsck --digests` reads their bytes.")]
pub struct TableGc {
    /// Folder or URL of the table
    pub table: Place,
    /// Days for which states that a branch was at are kept: not fewer than the table's policy says, which is 7 unless
    /// `tarsia table protect --keep-days` says otherwise
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u64>,
    /// Say what would go, and delete nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document, with all keys that go
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table pin`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table pin ads main --days 14 -m 'training run 5'
  tarsia table pin ads

gc keeps the state until the pin ends. A pin is not made longer: make another one, then remove the first.")]
pub struct TablePin {
    /// Folder or URL of the table
    pub table: Place,
    /// State to keep; unless given, the pins are listed
    pub state: Option<String>,
    /// Days for which it is kept, 1 to 400
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub days: u64,
    /// Check the state, and make no pin
    #[arg(long, requires = "state")]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table unpin`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table unpin ads 0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
pub struct TableUnpin {
    /// Folder or URL of the table
    pub table: Place,
    /// Id of the pin: 32 hexadecimal digits
    pub id: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A rule of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BranchRule {
    /// Nobody commits to it but by merging another branch into it
    MergeOnly,
    /// A merge may only set it to the commit of the other branch, which has all that it has
    ForwardOnly,
    /// Nobody deletes, resets or rebases it
    NoReset,
}

/// Arguments of `tarsia table protect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table protect ads main --rule merge-only --rule no-reset
  tarsia table protect ads main --none
  tarsia table protect ads --keep-days 30

Rules hold for what begins after they were set. Programs obey them; who may write to the store can break them.")]
pub struct TableProtect {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch whose rules are set; there need not be one of that name. Unless given, the policy is shown
    pub branch: Option<String>,
    /// Rule of the branch, instead of those that it had; may be given several times
    #[arg(long, value_name = "RULE", value_enum, requires = "branch")]
    pub rule: Vec<BranchRule>,
    /// Take all rules from the branch
    #[arg(long, requires = "branch", conflicts_with = "rule")]
    pub none: bool,
    /// Days for which gc keeps states that a branch was at, 1 to 36500; fewer than before hold a day later
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u64>,
    /// Show the policy as it is, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Author of the change; unless given, the user of the system
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
}

/// Arguments of `tarsia table copy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table copy ads /backup/ads

Copies what gc would keep, and all refs but pins; what is there is not copied again. Each object is checked on its way.
Refs come last, so a copy that was interrupted is an older state, and the next one goes on. A copy that somebody else
has written to is refused, with the names of its branches. So is a place inside of a table, whose gc would delete it.")]
pub struct TableCopy {
    /// Folder or URL of the table
    pub table: Place,
    /// Folder or URL of the copy: absent, empty, or an earlier copy
    pub to: Place,
    /// Say what would be copied, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
