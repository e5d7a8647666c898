//! Every limit of a table's metadata, in one place. A writer refuses what a reader would refuse.

/// Format version of tables that this crate writes, and the newest major that it reads.
pub const VERSION_MAJOR: u16 = 0;

/// See [`VERSION_MAJOR`].
pub const VERSION_MINOR: u16 = 1;

/// Longest name of a branch or a tag in bytes, after percent-encoding.
pub const NAME_BYTES_MAX: usize = 200;

/// Longest object of JSON in bytes: `TABLE`, ref entries, tags.
pub const JSON_BYTES_MAX: usize = 16 << 10;

/// Longest text that people write into a ref entry or a commit, in bytes: authors and names of tools.
pub const TEXT_BYTES_MAX: usize = 1 << 10;

/// Longest message of a commit in bytes.
pub const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// Longest commit in bytes.
pub const COMMIT_BYTES_MAX: usize = 256 << 10;

/// Most entries of a state that lie in the commit, and most entries of its changes that do.
pub const INLINE_ENTRIES_MAX: usize = 256;

/// Most bytes of entries that a commit holds; more go to manifests.
pub const INLINE_ENTRY_BYTES_MAX: usize = 96 << 10;

/// Most manifests of a state.
pub const MANIFESTS_MAX: usize = 512;

/// Most changes of a commit: a merge repeats at most so many.
pub const CHANGES_MAX: usize = 512;

/// Days for which states that a branch was at are kept, unless the policy says otherwise.
pub const KEEP_DAYS: u64 = 7;

/// Fewest and most days for which a policy keeps states.
pub const KEEP_DAYS_RANGE: std::ops::RangeInclusive<u64> = 1..=36_500;

/// Most partition specs of a table.
pub const SPECS_MAX: usize = 64;

/// Most fields of a partition spec.
pub const PARTITION_FIELDS_MAX: usize = 16;

/// Longest partition in key encoding, in bytes.
pub const PARTITION_BYTES_MAX: usize = 4 << 10;

/// Most applications whose highest number is kept.
pub const APPLICATIONS_MAX: usize = 1_000;

/// Longest name of an application in bytes.
pub const APPLICATION_BYTES_MAX: usize = 64;

/// Most entries of a manifest.
pub const MANIFEST_ENTRIES_MAX: usize = 65_536;

/// Most bytes that the entries of a manifest take in memory.
pub const MANIFEST_MEMORY_BYTES_MAX: u64 = 512 << 20;

/// Entries of a manifest between two of its sparse index.
pub const SPARSE_ENTRIES: usize = 1_024;

/// Runs of a tier that become one of the next.
pub const TIER_RUNS: usize = 16;

/// Highest tier of a manifest.
pub const TIER_MAX: u8 = 15;

/// Longest set of rows that lies in an entry, in bytes.
pub const ROW_SET_BYTES_MAX: usize = 1 << 10;

/// Most targets of an entry.
pub const TARGETS_MAX: usize = 65_536;

/// Most top-level fields of a schema.
pub const FIELDS_MAX: usize = 1 << 20;

/// Deepest nesting of a field's type, as files have it.
pub const DEPTH_MAX: usize = tarsia_metadata::limits::SCHEMA_DEPTH_MAX;

/// Most changes of a schema before it is written anew.
pub const ALTERS_MAX: usize = 64;

/// Most former names of a field.
pub const FORMER_NAMES_MAX: usize = 64;

/// Longest default of a field, in bytes.
pub const DEFAULT_BYTES_MAX: usize = 4 << 10;
