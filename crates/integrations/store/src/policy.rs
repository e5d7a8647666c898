//! Numbers that say how hard a store is asked, and how long one waits for it.

use std::time::Duration;

/// Limits of requests, of retries and of waiting. The defaults suit S3, Google Cloud Storage and Azure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Requests that run at the same time, of all files of the store in this process. The oldest always runs.
    pub requests_max: usize,
    /// Bytes that these requests transfer together.
    pub bytes_in_flight_max: u64,
    /// How often a request is made again after a failure that may pass.
    pub retries_max: u32,
    /// How often after a failure to connect.
    pub connect_retries_max: u32,
    /// Longest wait before the first retry. It doubles with each, and a random part of it is waited.
    pub backoff_first: Duration,
    /// Longest wait before any retry.
    pub backoff_max: Duration,
    /// Time until the answer begins. Then the request is given up and counts as failed.
    pub answer_timeout: Duration,
    /// Time between two pieces of an answer.
    pub stall_timeout: Duration,
    /// Time until the parts of an upload are one object.
    pub complete_timeout: Duration,
    /// Slowest transfer that is waited for, in bytes per second.
    pub bytes_per_second_min: u64,
    /// Time since the first try after which there is no further one.
    pub retry_time_max: Duration,
    /// Bytes of a part of an upload; see [`Policy::part_bytes_at`].
    pub part_bytes: usize,
    /// Parts that are uploaded at the same time.
    pub parts_in_flight_max: usize,
}

/// Lance's scheduler has 64 for a cloud store; more were slightly better on S3 and worse on Azure and Google.
const REQUESTS_MAX: usize = 64;
/// Half of what 64 requests of 8 MiB would take.
const BYTES_IN_FLIGHT_MAX: u64 = 256 << 20;
/// With waits that double from 0.1 s: about 12 s on average, longer than the 503s of S3 while it splits a prefix.
const RETRIES_MAX: u32 = 8;
/// A wrong host name or port fails for good, and is told apart from a server that restarts by waiting.
const CONNECT_RETRIES_MAX: u32 = 3;
/// As object_store's.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// As object_store's, but shorter, since a scan waits for it.
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// As object_store's for a whole request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// As the answer's.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// AWS: it "could take several minutes" for many parts.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(300);
/// A slow mobile connection; 8 MiB then take 256 s.
const BYTES_PER_SECOND_MIN: u64 = 32 << 10;
/// As object_store's: credentials are valid for so long.
const RETRY_TIME_MAX: Duration = Duration::from_secs(180);
/// At least 5 MiB are asked for by S3; DataFusion and Lance write parts of 5 to 10 MiB.
const PART_BYTES: usize = 8 << 20;
/// Together with the part that is filled and the first one, which is kept: 48 MiB per file that is written.
const PARTS_IN_FLIGHT_MAX: usize = 4;

/// After so many parts they are twice as large, since S3 and Google Cloud Storage take 10,000.
const PARTS_OF_ONE_SIZE: u32 = 2_500;
/// Parts of an object, at most.
pub(crate) const PARTS_MAX: u32 = 10_000;

impl Default for Policy {
    fn default() -> Self {
        Self {
            requests_max: REQUESTS_MAX,
            bytes_in_flight_max: BYTES_IN_FLIGHT_MAX,
            retries_max: RETRIES_MAX,
            connect_retries_max: CONNECT_RETRIES_MAX,
            backoff_first: BACKOFF_FIRST,
            backoff_max: BACKOFF_MAX,
            answer_timeout: ANSWER_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
            complete_timeout: COMPLETE_TIMEOUT,
            bytes_per_second_min: BYTES_PER_SECOND_MIN,
            retry_time_max: RETRY_TIME_MAX,
            part_bytes: PART_BYTES,
            parts_in_flight_max: PARTS_IN_FLIGHT_MAX,
        }
    }
}

impl Policy {
    /// Returns the bytes of part `index` of an upload: [`Policy::part_bytes`], doubled every 2,500 parts. So parts have
    /// one size, which Cloudflare's R2 asks for, up to 20 GB, and a file may have 290 GiB.
    pub fn part_bytes_at(&self, index: u32) -> usize {
        let doublings = (index / PARTS_OF_ONE_SIZE).min(PARTS_MAX / PARTS_OF_ONE_SIZE - 1);
        self.part_bytes.max(1).saturating_mul(1 << doublings)
    }

    /// Returns the longest time that a transfer of so many bytes may take.
    pub(crate) fn transfer_time(&self, n_bytes: u64) -> Duration {
        let seconds = n_bytes / self.bytes_per_second_min.max(1);
        self.stall_timeout
            .saturating_add(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_parts_are_a_large_file() {
        let policy = Policy::default();
        assert_eq!(policy.part_bytes_at(0), 8 << 20);
        assert_eq!(policy.part_bytes_at(2_499), 8 << 20);
        assert_eq!(policy.part_bytes_at(2_500), 16 << 20);
        assert_eq!(policy.part_bytes_at(9_999), 64 << 20);
        assert_eq!(policy.part_bytes_at(u32::MAX), 64 << 20);
        let all: u64 = (0..PARTS_MAX)
            .map(|index| policy.part_bytes_at(index) as u64)
            .sum();
        assert!(all > 290 << 30, "{all}");
    }
}
