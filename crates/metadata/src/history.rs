//! The states that a file had before: by their root digests a certificate of an earlier erasure finds its file again.

use crate::{Error, Result};

/// Bytes of the salt at the start.
const SALT_BYTES: usize = 32;

/// Bytes of a state: its epoch and its root digest.
const STATE_BYTES: usize = 40;

/// The content of a section with the id [`SECTION_HISTORY`](crate::SECTION_HISTORY).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Random bytes. The footer holds the section's digest, and the root digest covers the footer. Whoever changes the
    /// file draws other bytes, and with these gone nobody can compute the old root digest from guesses of values.
    pub salt: [u8; SALT_BYTES],
    /// Earlier states, the oldest first. All of them had a salt.
    pub states: Vec<PastState>,
}

/// A state that a file had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastState {
    /// The number of its commit.
    pub epoch: u64,
    /// Its root digest.
    pub root: [u8; 32],
}

impl History {
    /// The section's bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for epochs that do not rise.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = self.salt.to_vec();
        for state in &self.states {
            out.extend_from_slice(&state.epoch.to_le_bytes());
            out.extend_from_slice(&state.root);
        }
        Self::parse(&out)?;
        Ok(out)
    }

    /// Reads a section.
    ///
    /// # Errors
    /// [`Error::Truncated`] for less than a salt, [`Error::Corrupt`] for a part of a state and for epochs that are zero
    /// or do not rise.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Some((salt, rest)) = bytes.split_first_chunk() else {
            let needed_bytes = SALT_BYTES as u64;
            return Err(Error::truncated("history.salt", needed_bytes, bytes.len()));
        };
        let (entries, part) = rest.as_chunks::<STATE_BYTES>();
        let bad = |i: usize, found: u64, allowed| {
            let at = SALT_BYTES + i * STATE_BYTES;
            Err(Error::corrupt("history.state", at, found, allowed))
        };
        if !part.is_empty() {
            return bad(entries.len(), part.len() as u64, "whole states of 40 bytes");
        }
        let mut states: Vec<PastState> = Vec::with_capacity(entries.len());
        for (i, entry) in entries.iter().enumerate() {
            let Some((epoch, root)) = entry.split_first_chunk() else {
                return bad(i, 0, "whole states of 40 bytes");
            };
            let epoch = u64::from_le_bytes(*epoch);
            if epoch <= states.last().map_or(0, |last| last.epoch) {
                return bad(i, epoch, "epochs that rise from 1 on");
            }
            let mut state = PastState {
                epoch,
                root: [0; 32],
            };
            state.root.copy_from_slice(root);
            states.push(state);
        }
        Ok(Self {
            salt: *salt,
            states,
        })
    }

    /// Whether a state is among the earlier ones.
    #[must_use]
    pub fn contains(&self, state: &PastState) -> bool {
        let found = self
            .states
            .binary_search_by_key(&state.epoch, |it| it.epoch);
        found.ok().and_then(|at| self.states.get(at)) == Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(epoch: u64) -> PastState {
        PastState {
            epoch,
            root: [epoch as u8; 32],
        }
    }

    #[test]
    fn states_round_trip_and_are_found() {
        for n in [0, 1, 5] {
            let history = History {
                salt: [9; 32],
                states: (0..n).map(|i| state(2 * i + 1)).collect(),
            };
            let bytes = history.to_bytes().unwrap();
            assert_eq!(bytes.len() as u64, 32 + 40 * n);
            assert_eq!(History::parse(&bytes), Ok(history.clone()));
            for epoch in 0..12 {
                let is_there = epoch % 2 == 1 && epoch < 2 * n;
                assert_eq!(history.contains(&state(epoch)), is_there, "{epoch} of {n}");
                let other = PastState {
                    root: [0xff; 32],
                    ..state(epoch)
                };
                assert!(!history.contains(&other));
            }
        }
    }

    #[test]
    fn what_is_no_history_is_refused() {
        let of = |epochs: &[u64]| History {
            salt: [9; 32],
            states: epochs.iter().copied().map(state).collect(),
        };
        let bytes = of(&[1, 3]).to_bytes().unwrap();
        for len in 0..bytes.len() {
            let found = History::parse(&bytes[..len]);
            match len {
                ..32 => assert!(matches!(found, Err(Error::Truncated { .. })), "{len}"),
                32 | 72 => assert!(found.is_ok()),
                _ => assert!(matches!(found, Err(Error::Corrupt { .. })), "{len}"),
            }
        }
        for epochs in [&[0][..], &[1, 1], &[3, 1], &[u64::MAX, 1]] {
            let found = of(epochs).to_bytes();
            assert!(matches!(found, Err(Error::Corrupt { .. })), "{epochs:?}");
        }
    }
}
