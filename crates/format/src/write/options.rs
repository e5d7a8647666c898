//! Options of writers.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tarsia_cascade::Objective;
use tarsia_codec::{Registry, Tree};
use tarsia_kernels::Kernel;
use tarsia_structure::{Choose, FULL_ZIP_BYTES_MIN};

use crate::options::Threads;
use crate::{Error, ErrorKind, Result};

/// What a writer cares about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Cheapest to write and to read.
    Fast,
    /// Small where it costs little reading time.
    #[default]
    Balanced,
    /// Smallest.
    Compact,
}

impl Preset {
    pub(crate) fn objective(self) -> Objective {
        match self {
            Self::Fast => Objective::Fast,
            Self::Balanced => Objective::Balanced,
            Self::Compact => Objective::Compact,
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "fast" => Ok(Self::Fast),
            "balanced" => Ok(Self::Balanced),
            "compact" => Ok(Self::Compact),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("no preset `{name}`; there are fast, balanced, compact"),
            )),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Compact => "compact",
        })
    }
}

/// Whether a writer puts a kernel into the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmbedKernels {
    /// Of this build's kernels and those of [`WriteOptions::kernels_to_embed`] those that together decode all pages of
    /// the file and are the smallest to do so; each page names the smallest of them that decodes it. A page that none
    /// decodes is an error.
    #[default]
    Embed,
    /// None: smaller by some 37 KB, and readable only by programs that know the encodings.
    Omit,
}

impl FromStr for EmbedKernels {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "embed" => Ok(Self::Embed),
            "omit" => Ok(Self::Omit),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("kernels are embed or omit, not `{name}`"),
            )),
        }
    }
}

/// Chooses trees of encodings for the pages of a file: a policy of one's own in place of the search.
#[derive(Clone)]
pub struct PageChooser(pub Arc<dyn Choose + Send + Sync>);

impl fmt::Debug for PageChooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageChooser")
    }
}

/// What differs from the file's options for one column.
#[derive(Clone, Debug, Default)]
pub struct ColumnOptions {
    /// Size against speed.
    pub preset: Option<Preset>,
    /// The tree of encodings for the values of every page, whatever a search would find. Its shared buffers are
    /// numbered from 0 on ([`Registry::number_shared`]). Blocks whose values it does not hold fall back on plain
    /// values.
    pub tree: Option<Tree>,
    /// A policy of one's own. Comes before `tree`.
    pub chooser: Option<PageChooser>,
}

/// Options of a [`crate::Writer`].
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The encodings that may be written. Default: those of this build ([`crate::registry`]).
    pub registry: Arc<Registry>,
    /// A policy of one's own for all columns, in place of the search over the proposals of the registry's encodings.
    /// Default `None`.
    pub chooser: Option<PageChooser>,
    /// What differs for single columns, by name: of a top-level field, or of one leaf of it (`user.ids.item`), which
    /// comes first. Default: nothing. A name that no column has is an error.
    pub columns: HashMap<String, ColumnOptions>,
    /// Kernels that may be embedded beside those of this build: of encodings from outside. Default: none.
    pub kernels_to_embed: Vec<Arc<Kernel>>,
    /// Size against speed.
    pub preset: Preset,
    /// A column is flushed as a page when it holds this many bytes (values, offsets and validity as Arrow has them). At most
    /// 1 GiB counts. Default 8 MiB.
    pub page_bytes: u64,
    /// All columns together hold at most about this many bytes; then the largest are flushed. Default 256 MiB.
    pub memory_budget_bytes: u64,
    /// Threads that encode. The bytes do not depend on it.
    pub threads: Threads,
    /// File id zero, so that the same input and options give the same bytes. Default `false`.
    pub deterministic: bool,
    /// Whether the file carries a kernel. Default `Embed`.
    pub kernels: EmbedKernels,
    /// Vectors of so many bytes, that is fixed-size lists (and lists that all have one length in a page), and byte strings and text of 32 times
    /// as many in a page's mean, are stored row by row ("full-zip"), so that a row is read alone, and byte strings are lent out of a mapped file,
    /// unless encoding them together makes them smaller. A field's own choice comes first: metadata [`LAYOUT_KEY`] with the value `full-zip`
    /// or `mini-block`. Default 128.
    pub full_zip_bytes_min: u32,
}

/// The key in a top-level field's metadata that says how it is stored: `full-zip` or `mini-block` for its pages, where both layouts could
/// hold them, or `packed` for a struct.
///
/// The rows of a packed struct are one column, so that all of a row is read at once, by one request and for one decoded value, however
/// many fields it has; a single field costs as much as all. Its fields are flat (no dictionaries or run-end arrays), structs of such, or
/// fixed-size lists of values of fixed width. Without strings among them a row has a fixed width.
pub const LAYOUT_KEY: &str = tarsia_metadata::LAYOUT_KEY;

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            registry: crate::registry().clone(),
            chooser: None,
            columns: HashMap::new(),
            kernels_to_embed: Vec::new(),
            preset: Preset::default(),
            page_bytes: 8 << 20,
            memory_budget_bytes: 256 << 20,
            threads: Threads::default(),
            deterministic: false,
            kernels: EmbedKernels::default(),
            full_zip_bytes_min: FULL_ZIP_BYTES_MIN,
        }
    }
}
