//! How much memory and processor time an import may take.
//!
//! The readers of other formats believe what a file says: one with 26 kB can ask for gigabytes, or for minutes. They
//! have no limits of their own, so the process has: an allocator that counts ([`CountingAllocator`]), and a thread that
//! looks at the processor time since the last rows. Who is over a limit ends the command with an error that names the
//! file and the option that gives more. No child process is needed for that, and no system call.

mod allocator;
mod time;

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;

pub use allocator::CountingAllocator;
use time::Watch;

/// A limit of the command line: a number, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit<T> {
    /// At most this.
    AtMost(T),
    /// No limit.
    None,
}

impl FromStr for Limit<ByteSize> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Limit::None),
            _ => text.parse().map(Limit::AtMost),
        }
    }
}

impl FromStr for Limit<u64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Limit::None),
            _ => {
                let number = text.parse().map(Limit::AtMost);
                number.map_err(|_| "a whole number, or none".to_owned())
            }
        }
    }
}

/// Memory that every import may take, and more for each byte of the input and for each column, whose pages are held
/// until they are full.
const MEMORY_BYTES: u64 = 1 << 30;
const MEMORY_PER_INPUT_BYTE: u64 = 64;
const MEMORY_BYTES_PER_COLUMN: u64 = 1 << 20;

/// Processor time from one batch of rows to the next.
const SECONDS: u64 = 60;
/// Bytes of the input for each further second: a reader may have to go through all of it.
const INPUT_BYTES_PER_SECOND: u64 = 4 << 20;

/// The limits of one import, which hold as long as the value lives.
pub(crate) struct Budget {
    name: String,
    input_bytes: u64,
    memory: Option<Limit<ByteSize>>,
    watch: Option<Watch>,
}

impl Budget {
    /// Limits for reading the file at `path`, which are those of the command line if it has some.
    pub(crate) fn start(
        path: &Path,
        memory: Option<Limit<ByteSize>>,
        seconds: Option<Limit<u64>>,
    ) -> Budget {
        let name = path.display().to_string();
        // A file that is not there has no rows either.
        let input_bytes = std::fs::metadata(path).map_or(0, |found| found.len());
        let seconds = match seconds {
            None => Some(SECONDS + input_bytes / INPUT_BYTES_PER_SECOND),
            Some(Limit::AtMost(seconds)) => Some(seconds),
            Some(Limit::None) => None,
        };
        let budget = Budget {
            watch: seconds.map(|seconds| Watch::start(&name, Duration::from_secs(seconds))),
            name,
            input_bytes,
            memory,
        };
        budget.limit_memory(0);
        budget
    }

    /// The schema is known.
    pub(crate) fn has_columns(&self, n_columns: usize) {
        self.limit_memory(n_columns as u64);
    }

    fn limit_memory(&self, n_columns: u64) {
        let bytes = match self.memory {
            None => MEMORY_BYTES
                .saturating_add(self.input_bytes.saturating_mul(MEMORY_PER_INPUT_BYTE))
                .saturating_add(n_columns.saturating_mul(MEMORY_BYTES_PER_COLUMN)),
            Some(Limit::AtMost(size)) => size.as_u64(),
            Some(Limit::None) => return,
        };
        allocator::limit(&self.name, bytes);
    }

    /// More rows came.
    pub(crate) fn progress(&self) {
        if let Some(watch) = &self.watch {
            watch.progress();
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        allocator::no_limit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_none() {
        assert_eq!("none".parse(), Ok(Limit::<u64>::None));
        assert_eq!("90".parse(), Ok(Limit::AtMost(90_u64)));
        assert_eq!("2GiB".parse(), Ok(Limit::AtMost(ByteSize::gib(2))));
        assert!("-1".parse::<Limit<u64>>().is_err());
        assert!("much".parse::<Limit<ByteSize>>().is_err());
    }
}
