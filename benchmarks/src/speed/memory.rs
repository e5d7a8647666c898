//! How much memory a process has held at most, and how much it may hold.

use anyhow::{Context, Result};

/// A process may use the machine's memory divided by this number. It is refused more, so that it fails instead of its
/// neighbours.
const PART_OF_MEMORY: u64 = 2;

/// Refuses this process more than half of the machine's memory. Mapped files do not count.
pub(super) fn limit_this_process() {
    let Some(bytes_max) = limit_bytes() else {
        return;
    };
    let limit = libc::rlimit {
        rlim_cur: bytes_max,
        rlim_max: bytes_max,
    };
    // SAFETY: the pointer is to a struct on this stack, which is only read.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) };
    if result != 0 {
        eprintln!("the memory of a worker is not limited: setrlimit failed");
    }
}

/// Returns the bytes that `limit_this_process` allows.
pub(super) fn limit_bytes() -> Option<u64> {
    let kib = field("/proc/meminfo", "MemTotal:")?;
    Some(kib * 1024 / PART_OF_MEMORY)
}

/// Bytes by which the resident memory of this process grew at most while `work` ran, mapped pages of files included.
pub(super) fn peak(work: impl FnOnce() -> Result<()>) -> Result<u64> {
    // What was freed but not given back would serve `work` and not be seen.
    // SAFETY: the call has no preconditions.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
    // Sets the highest mark back to what is held now. Where that is not allowed, the mark of the past is the baseline.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let read = || field("/proc/self/status", "VmHWM:").context("no VmHWM in /proc/self/status");
    let before = read()?;
    work()?;
    Ok(read()?.saturating_sub(before) * 1024)
}

/// A field in KiB.
fn field(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_sees_memory_that_is_gone() {
        let bytes = 64 << 20;
        let peak = peak(|| {
            drop(std::hint::black_box(vec![1_u8; bytes]));
            Ok(())
        })
        .unwrap();
        assert!(peak > bytes as u64 / 2, "{peak}");
    }
}
