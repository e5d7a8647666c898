//! How much is measured.

use crate::commits::PEER_COMMITS;
use crate::made::PARTITIONS;

/// Numbers of files, rows and columns.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// Files of the tables: as many as the smallest table of the Magnus paper has, and more.
    pub(crate) files: Vec<usize>,
    /// Rows, columns and characters of a value of the paper's small table.
    pub(crate) paper: [usize; 3],
    /// Scale factor of `lineitem`.
    pub(crate) lineitem: f64,
    pub(crate) wide_rows: usize,
    pub(crate) wide_files: usize,
    /// Columns of the narrow table and the wide one.
    pub(crate) wide_columns: [usize; 2],
    /// Commits of peers: with a file in each partition, and with one file.
    pub(crate) peer_commits: [usize; 2],
}

impl Scale {
    /// As much as the section reports.
    pub(crate) fn whole() -> Self {
        Self {
            files: vec![48_666, 200_000, 1_000_000],
            paper: [1_800, 200, 322],
            lineitem: 1.0,
            wide_rows: 1_000,
            wide_files: 50,
            wide_columns: [1_000, 20_000],
            peer_commits: PEER_COMMITS,
        }
    }

    /// Little, to see that everything runs.
    pub(crate) fn tiny() -> Self {
        Self {
            files: vec![PARTITIONS, 2 * PARTITIONS],
            paper: [100, 8, 10],
            lineitem: 0.001,
            wide_rows: 20,
            wide_files: 4,
            wide_columns: [20, 40],
            peer_commits: [1, 2],
        }
    }
}
