//! Text that people give to commits.

use clap::Args;
use tarsia_table::meta::limits::MESSAGE_BYTES_MAX;

/// Text that a commit has for people.
#[derive(Debug, Args)]
pub struct Said {
    /// Message of the commit, for people; at most 8,192 bytes
    #[arg(short = 'm', long, value_name = "TEXT", default_value = "", value_parser = parse_message)]
    pub message: String,
    /// Author of the commit; unless given, the user of the system
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
}

fn parse_message(text: &str) -> Result<String, String> {
    match text.len() > MESSAGE_BYTES_MAX {
        true => Err(format!(
            "{} bytes; a message has at most {MESSAGE_BYTES_MAX}",
            text.len()
        )),
        false => Ok(text.to_owned()),
    }
}
