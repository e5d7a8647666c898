//! The machine and the versions that the numbers were measured with.

use anyhow::Result;

#[path = "../../shared/machine.rs"]
mod shared;

pub(crate) use shared::repository;

/// A digest of this program (FNV-1a), which tells builds apart.
pub(crate) fn build() -> Result<String> {
    let program = std::fs::read(std::env::current_exe()?)?;
    let digest = program
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    Ok(format!("{digest:016x}"))
}

/// One line: processor, threads, commit and versions.
pub(crate) fn line() -> String {
    let peers = include_str!("../requirements.txt").replace("==", " ");
    let peers = peers.lines().collect::<Vec<_>>().join(", ");
    format!("{}; {peers}", shared::line())
}
