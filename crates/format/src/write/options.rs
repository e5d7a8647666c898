//! Options of writers.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tarsia_cascade::Outline;
use tarsia_codec::{Registry, Statistics, Tree};
use tarsia_kernels::Kernel;
use tarsia_metadata::ErasureLevel;
use tarsia_page_writer::{Choice, Choose, FULL_ZIP_BYTES_MIN};

use crate::error::{Error, ErrorKind, Result};
use crate::threads::Threads;
use crate::write::captured::CapturedLayout;
use crate::write::memory::WriterMemory;
use crate::write::preset::Preset;

/// Whether a writer puts kernels into the file. A kernel is a Wasm module that decodes the file's pages, so that
/// readers need not know the encodings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbedKernels {
    /// Embeds the smallest set, of this build's kernels and those of [`WriteOptions::with_kernel`], that decodes all
    /// pages of the file. Each page names the smallest kernel of the set that decodes it. A page that no kernel decodes
    /// is an error.
    #[default]
    Embed,
    /// None. The file is smaller by 47 to 58 KB, and only programs that know its encodings can read it.
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

/// A policy of your own in place of the search: it chooses the trees of encodings for each page.
#[derive(Clone)]
pub struct PageChooser(Arc<dyn Choose + Send + Sync>);

impl PageChooser {
    /// A policy that threads may ask at the same time.
    pub fn new(chooser: Arc<dyn Choose + Send + Sync>) -> Self {
        Self(chooser)
    }
}

impl Choose for PageChooser {
    fn choose(&self, values: &Statistics<'_>) -> tarsia_codec::Result<Choice> {
        self.0.choose(values)
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.0.full_zip_bytes_min()
    }
}

impl fmt::Debug for PageChooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageChooser")
    }
}

/// Options of one column, for [`WriteOptions::with_column`]. What is not set is as for all columns.
///
/// ```
/// use tarsia::{ColumnOptions, Preset};
///
/// let options = ColumnOptions::new().with_preset(Preset::Compact);
/// assert_eq!(options.preset(), Some(Preset::Compact));
/// assert_eq!(options.tree(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ColumnOptions {
    preset: Option<Preset>,
    tree: Option<Tree>,
    outline: Option<Outline>,
    chooser: Option<PageChooser>,
    rounding: Option<String>,
    erasure: Option<Erasure>,
    zones: Option<bool>,
    blooms: Option<bool>,
}

/// Says what erasures may do with values, and what these may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Erasure {
    pub(super) level: ErasureLevel,
    /// At [`ErasureLevel::Erase`]: nothing.
    pub(super) is_strict: bool,
}

impl Erasure {
    const STRICT: Self = Self {
        level: ErasureLevel::Erase,
        is_strict: true,
    };

    fn at(level: ErasureLevel) -> Self {
        Self {
            level,
            is_strict: false,
        }
    }
}

impl ColumnOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Size against speed.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.preset = Some(preset);
        self
    }

    /// The tree of encodings for the values of every page, in place of the search. Its shared buffers are numbered from
    /// 0 on ([`Registry::number_shared`]). Blocks whose values it cannot hold are stored as plain values.
    #[must_use]
    pub fn with_tree(mut self, tree: Tree) -> Self {
        self.tree = Some(tree);
        self
    }

    /// The encodings of the tree for the values of every page; a search finds their parameters, and what the outline
    /// leaves open. Pages for which they propose nothing are stored as if there were no outline; what a file has shows
    /// [`File::inspect`](crate::File::inspect). A tree ([`ColumnOptions::with_tree`]) counts before an outline. The
    /// writer refuses encodings that it does not write.
    ///
    /// ```
    /// use tarsia::ColumnOptions;
    ///
    /// let options = ColumnOptions::new().with_outline("dict(runend)".parse()?);
    /// # tarsia::codec::Result::<()>::Ok(())
    /// ```
    #[must_use]
    pub fn with_outline(mut self, outline: Outline) -> Self {
        self.outline = Some(outline);
        self
    }

    /// A policy of your own. If there is one, the tree, the outline and the preset do not count.
    #[must_use]
    pub fn with_chooser(mut self, chooser: PageChooser) -> Self {
        self.chooser = Some(chooser);
        self
    }

    /// Rounds floating-point numbers to those that a smaller format has, before they are encoded: `f32` (of `float64`),
    /// `f16`, `bf16`, `e4m3`, `e5m2`, or multiples of a scale, `int8` and `int4` of a page, `int8-row` and `int4-row`
    /// of each row of a fixed-size list. Readers get numbers of the column's type. The file's metadata says how far
    /// they are from what they were ([`ColumnInspection::rounding`](crate::ColumnInspection::rounding)). Source:
    /// Bullion (CIDR 2025), section 2.4.
    ///
    /// The option of a struct or a list is for all floating-point numbers in it. The writer refuses unknown names, and
    /// columns without floating-point numbers; a page with a number that cannot be rounded (an infinity to `int8`)
    /// makes [`Writer::write`](crate::Writer::write) fail.
    ///
    /// ```
    /// use tarsia::{ColumnOptions, WriteOptions};
    ///
    /// let options = WriteOptions::new().with_column("embedding", ColumnOptions::new().with_rounding("bf16"));
    /// ```
    #[must_use]
    pub fn with_rounding(mut self, rounding: impl Into<String>) -> Self {
        self.rounding = Some(rounding.into());
        self
    }

    /// Sets what erasures may do with the column's values. See [`WriteOptions::with_erasure`].
    #[must_use]
    pub fn with_erasure(mut self, level: ErasureLevel) -> Self {
        self.erasure = Some(Erasure::at(level));
        self
    }

    /// As [`ColumnOptions::with_erasure`] at [`ErasureLevel::Erase`], and *strict*: what an erasure leaves of the
    /// column does not depend on erased values at all, not even as `docs/spec/residue.md` says. The column is stored as
    /// its type says, whatever its values are: plain, with room for nulls. The writer refuses columns whose type does
    /// not allow that (texts, binary data, lists of any length), trees, outlines and choosers of their own, and
    /// roundings to multiples of the scale of a page.
    ///
    /// ```
    /// use tarsia::{ColumnOptions, ErasureLevel, WriteOptions};
    ///
    /// let options = WriteOptions::new()
    ///     .with_erasure(ErasureLevel::Erase)
    ///     .with_column("salary", ColumnOptions::new().with_strict_erasure());
    /// ```
    #[must_use]
    pub fn with_strict_erasure(mut self) -> Self {
        self.erasure = Some(Erasure::STRICT);
        self
    }

    /// See [`ColumnOptions::with_erasure`].
    pub fn erasure(&self) -> Option<ErasureLevel> {
        self.erasure.map(|erasure| erasure.level)
    }

    /// Whether [`ColumnOptions::with_strict_erasure`] was the last to say what erasures may do.
    pub fn strict_erasure(&self) -> bool {
        self.erasure.is_some_and(|erasure| erasure.is_strict)
    }

    pub(super) fn erasure_asked(&self) -> Option<Erasure> {
        self.erasure
    }

    /// Says whether the column has zones. See [`WriteOptions::with_zones`].
    #[must_use]
    pub fn with_zones(mut self, zones: bool) -> Self {
        self.zones = Some(zones);
        self
    }

    /// See [`ColumnOptions::with_zones`].
    pub fn zones(&self) -> Option<bool> {
        self.zones
    }

    /// Says whether the column has bloom filters, one for each run of at most 65,536 rows of a page: unless told, it
    /// has none. They say which runs hold none of the values that a filter compares the column with, by `=` or `IN`, so
    /// that a row with a rare value, such as a key, is found without reading most of the column. They take 10 bits for
    /// each row, which the writer holds in memory until the file is finished. Zones ([`WriteOptions::with_zones`]) tell
    /// as much of sorted columns, for less.
    ///
    /// The option of a struct is for all columns in it. The writer refuses columns of other types than integers, dates,
    /// times, durations, decimals, text and binary data, or dictionaries and runs of these, and columns below lists,
    /// maps and unions. Source: Parquet's specification of bloom filters, whose bits these are.
    ///
    /// ```
    /// use tarsia::{ColumnOptions, WriteOptions};
    ///
    /// let options = WriteOptions::new().with_column("user_id", ColumnOptions::new().with_blooms(true));
    /// ```
    #[must_use]
    pub fn with_blooms(mut self, blooms: bool) -> Self {
        self.blooms = Some(blooms);
        self
    }

    /// See [`ColumnOptions::with_blooms`].
    pub fn blooms(&self) -> Option<bool> {
        self.blooms
    }

    /// See [`ColumnOptions::with_rounding`].
    pub fn rounding(&self) -> Option<&str> {
        self.rounding.as_deref()
    }

    /// See [`ColumnOptions::with_preset`].
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// See [`ColumnOptions::with_tree`].
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// See [`ColumnOptions::with_outline`].
    pub fn outline(&self) -> Option<&Outline> {
        self.outline.as_ref()
    }

    /// See [`ColumnOptions::with_chooser`].
    pub fn chooser(&self) -> Option<&PageChooser> {
        self.chooser.as_ref()
    }
}

/// Options of a [`Writer`](crate::Writer).
///
/// ```
/// use tarsia::{ColumnOptions, Preset, WriteOptions};
///
/// let options = WriteOptions::new()
///     .with_preset(Preset::Fast)
///     .with_column("comment", ColumnOptions::new().with_preset(Preset::Compact))
///     .with_key_value("source", "sensor 7");
/// assert_eq!(options.preset(), Preset::Fast);
/// assert_eq!(options.page_bytes(), 8 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct WriteOptions {
    registry: Arc<Registry>,
    chooser: Option<PageChooser>,
    columns: HashMap<String, ColumnOptions>,
    column_order: Vec<String>,
    kernels: Vec<Arc<Kernel>>,
    key_values: HashMap<String, String>,
    layout: CapturedLayout,
    preset: Preset,
    page_bytes: u64,
    memory: Option<WriterMemory>,
    memory_budget_bytes: u64,
    threads: Threads,
    deterministic: bool,
    embed_kernels: EmbedKernels,
    full_zip_bytes_min: u32,
    erasure: Erasure,
    zones: bool,
    salt_key: Option<[u8; 32]>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            registry: crate::registry().clone(),
            chooser: None,
            columns: HashMap::new(),
            column_order: Vec::new(),
            kernels: Vec::new(),
            key_values: HashMap::new(),
            layout: CapturedLayout::default(),
            preset: Preset::default(),
            page_bytes: 8 << 20,
            memory: None,
            memory_budget_bytes: 256 << 20,
            threads: Threads::default(),
            deterministic: false,
            embed_kernels: EmbedKernels::default(),
            full_zip_bytes_min: FULL_ZIP_BYTES_MIN,
            erasure: Erasure::default(),
            zones: true,
            salt_key: None,
        }
    }
}

impl WriteOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Size against speed. Default [`Preset::Balanced`].
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Options of one column. `name` is that of a top-level field, or of a field inside it, as
    /// [`ScanBuilder::columns`](crate::ScanBuilder::columns) takes them: `user.address`, `user.ids`, `tags.key`. The
    /// items of lists and the entries of maps need not be named, but can be: `user.ids.item`. Where several names lead
    /// to a leaf, the options of the closest one count. A second call with the same name replaces the first. The writer
    /// refuses a name that no column has.
    #[must_use]
    pub fn with_column(mut self, name: impl Into<String>, options: ColumnOptions) -> Self {
        self.columns.insert(name.into(), options);
        self
    }

    /// Encodings and layouts of columns as another file has them; parameters are found for each page. Columns that the
    /// table does not have and encodings that are not written are passed over; columns that the file did not have are
    /// searched, and so are pages for which its encodings propose nothing. What the options of a column
    /// ([`WriteOptions::with_column`]), a policy for all, or the metadata of a field say counts before it.
    ///
    /// ```
    /// # use arrow_array::{Int32Array, RecordBatch};
    /// # use std::sync::Arc;
    /// use tarsia::{File, WriteOptions, Writer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ids = Arc::new(Int32Array::from_iter_values(0..1000)) as _;
    /// # let january = RecordBatch::try_from_iter([("id", ids)])?;
    /// let mut writer = Writer::new(Vec::new(), january.schema(), WriteOptions::new())?;
    /// writer.write(&january)?;
    /// let (bytes, _) = writer.finish_into()?;
    /// let layout = File::from_bytes(bytes, Default::default())?.capture_layout()?;
    /// // February is not searched.
    /// let options = WriteOptions::new().with_layout(layout);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_layout(mut self, layout: CapturedLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Adds a pair to the metadata of the file's schema, which [`File::schema`](crate::File::schema) gives back. It
    /// replaces a pair of the schema with the same key. Keys that start with `tarsia.` are reserved, and the writer
    /// refuses them. See also [`Writer::add_key_value`](crate::Writer::add_key_value).
    #[must_use]
    pub fn with_key_value(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.key_values.insert(key.into(), value.into());
        self
    }

    /// Columns whose pages lie one behind the other in the file, in this order and before those of other columns: so
    /// columns that are read together are read with few requests. A name is that of a top-level field, or leads into
    /// one, as in projections. Pages are written when they are full, so the order holds among pages that are full with
    /// the same row, and among the last pages of all columns, which are all pages of a table that fits the memory
    /// budget and has one page per column. Block tables have the same order. The schema keeps its own.
    ///
    /// The writer refuses names that lead nowhere, and two that lead to the same.
    #[must_use]
    pub fn with_column_order(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.column_order = names.into_iter().map(Into::into).collect();
        self
    }

    /// A page of a column is written when its rows take this many bytes: values, offsets and validity, as Arrow holds
    /// them. More than 1 GiB counts as 1 GiB. Default 8 MiB.
    #[must_use]
    pub fn with_page_bytes(mut self, page_bytes: u64) -> Self {
        self.page_bytes = page_bytes;
        self
    }

    /// A memory of what writers found out about files alike: this writer uses it, and adds to it when it finishes. It
    /// is for streams of small files with one schema. The search for encodings, and for the tokens of text, then takes
    /// a fraction of the time. A column is the same in two files if its name, its type and its preset are; its first
    /// page must have half to twice the bytes. Columns from which values can be erased ([`ErasureLevel::Erase`])
    /// remember nothing.
    ///
    /// The bytes of a file depend on the memory, too, and so on the files written before. Text is stored as tokens,
    /// which are pieces of at most 16 bytes: a file may hold some that occur in an earlier file alone.
    #[must_use]
    pub fn with_memory(mut self, memory: &WriterMemory) -> Self {
        self.memory = Some(memory.clone());
        self
    }

    /// Memory of a writer, in bytes: rows that are not written yet, columns, and the metadata of pages that are
    /// written. If they take more, the largest columns are written as shorter pages. Rows get half of it at least.
    /// Buffers of rows may be an eighth longer than the rows, and pages of 8 MiB of rows, or of an eighth of the
    /// budget, are encoded at a time. Default 256 MiB.
    #[must_use]
    pub fn with_memory_budget_bytes(mut self, memory_budget_bytes: u64) -> Self {
        self.memory_budget_bytes = memory_budget_bytes;
        self
    }

    /// Threads that encode. The bytes of the file do not depend on them. Default [`Threads::All`].
    #[must_use]
    pub fn with_threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// The file id is zero instead of random, so that the same rows and options give the same bytes. Default `false`.
    #[must_use]
    pub fn with_deterministic(mut self, deterministic: bool) -> Self {
        self.deterministic = deterministic;
        self
    }

    /// Whether the file carries kernels. Default [`EmbedKernels::Embed`].
    #[must_use]
    pub fn with_embed_kernels(mut self, embed_kernels: EmbedKernels) -> Self {
        self.embed_kernels = embed_kernels;
        self
    }

    /// Adds a kernel that may be embedded beside those of this build: one that decodes encodings which this build's do
    /// not. Default: none.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Arc<Kernel>) -> Self {
        self.kernels.push(kernel);
        self
    }

    /// The encodings that may be written. Default: those of this build ([`registry`](crate::registry())).
    #[must_use]
    pub fn with_registry(mut self, registry: Arc<Registry>) -> Self {
        self.registry = registry;
        self
    }

    /// A policy of your own for all columns, in place of the search among what the registry's encodings propose.
    /// Columns with a policy or a tree of their own keep it. Default: the search.
    #[must_use]
    pub fn with_chooser(mut self, chooser: PageChooser) -> Self {
        self.chooser = Some(chooser);
        self
    }

    /// From how many bytes on a value is stored row by row ("full-zip"), so that a single row is read alone. Default
    /// 128.
    ///
    /// It counts for vectors: fixed-size lists, and lists that all have one length in a page. For text and byte
    /// strings, 32 times as many bytes count, in the mean of a page; byte strings that are stored so need no copy when
    /// a mapped file is read. Values that are smaller when they are encoded together stay together. A field's metadata
    /// [`LAYOUT_KEY`] with the value `full-zip` or `mini-block` decides for the field instead.
    #[must_use]
    pub fn with_full_zip_bytes_min(mut self, full_zip_bytes_min: u32) -> Self {
        self.full_zip_bytes_min = full_zip_bytes_min;
        self
    }

    /// Sets what erasures may do with the values of all columns that do not say otherwise
    /// ([`ColumnOptions::with_erasure`]): nothing, hide rows, or remove their bytes. The file records it. Blocks of
    /// columns at [`ErasureLevel::Erase`] have a random salt and, where survivors may need more bytes than the rows
    /// had, room for that. Default [`ErasureLevel::Hide`].
    #[must_use]
    pub fn with_erasure(mut self, level: ErasureLevel) -> Self {
        self.erasure = Erasure::at(level);
        self
    }

    /// All columns that do not say otherwise are [strict](ColumnOptions::with_strict_erasure).
    #[must_use]
    pub fn with_strict_erasure(mut self) -> Self {
        self.erasure = Erasure::STRICT;
        self
    }

    /// Says whether flat columns and flat fields of structs that do not say otherwise ([`ColumnOptions::with_zones`])
    /// have zones: the smallest and the largest value, nulls and NaNs of every run of at most 16 blocks, by which
    /// filters pass over blocks. An erasure computes them anew from what is left. Default true.
    ///
    /// ```
    /// use tarsia::{ColumnOptions, WriteOptions};
    ///
    /// let options = WriteOptions::new().with_column("embedding", ColumnOptions::new().with_zones(false));
    /// assert!(options.zones());
    /// ```
    #[must_use]
    pub fn with_zones(mut self, zones: bool) -> Self {
        self.zones = zones;
        self
    }

    /// See [`WriteOptions::with_zones`].
    pub fn zones(&self) -> bool {
        self.zones
    }

    /// Makes the salts of columns at [`ErasureLevel::Erase`] from this key instead of a random one, for tests: with
    /// [`WriteOptions::with_deterministic`] such columns are refused otherwise. Whoever knows the key can test guesses
    /// of values that were erased against digests that were kept elsewhere.
    #[must_use]
    pub fn with_salt_key(mut self, key: [u8; 32]) -> Self {
        self.salt_key = Some(key);
        self
    }

    /// See [`WriteOptions::with_erasure`].
    pub fn erasure(&self) -> ErasureLevel {
        self.erasure.level
    }

    /// Whether [`WriteOptions::with_strict_erasure`] was the last to say what erasures may do.
    pub fn strict_erasure(&self) -> bool {
        self.erasure.is_strict
    }

    pub(super) fn erasure_asked(&self) -> Erasure {
        self.erasure
    }

    /// See [`WriteOptions::with_salt_key`].
    pub fn salt_key(&self) -> Option<&[u8; 32]> {
        self.salt_key.as_ref()
    }

    /// See [`WriteOptions::with_preset`].
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Returns the options that [`WriteOptions::with_column`] gave to this name.
    pub fn column(&self, name: &str) -> Option<&ColumnOptions> {
        self.columns.get(name)
    }

    /// The names with options of their own, in no particular order.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// See [`WriteOptions::with_column_order`].
    pub fn column_order(&self) -> &[String] {
        &self.column_order
    }

    /// Returns the pairs that [`WriteOptions::with_key_value`] added, in no particular order.
    pub fn key_values(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.key_values.iter();
        pairs.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// See [`WriteOptions::with_layout`].
    pub fn layout(&self) -> &CapturedLayout {
        &self.layout
    }

    /// See [`WriteOptions::with_page_bytes`].
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// See [`WriteOptions::with_memory`].
    pub fn memory(&self) -> Option<&WriterMemory> {
        self.memory.as_ref()
    }

    /// See [`WriteOptions::with_memory_budget_bytes`].
    pub fn memory_budget_bytes(&self) -> u64 {
        self.memory_budget_bytes
    }

    /// See [`WriteOptions::with_threads`].
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// See [`WriteOptions::with_deterministic`].
    pub fn deterministic(&self) -> bool {
        self.deterministic
    }

    /// See [`WriteOptions::with_embed_kernels`].
    pub fn embed_kernels(&self) -> EmbedKernels {
        self.embed_kernels
    }

    /// See [`WriteOptions::with_kernel`].
    pub fn kernels(&self) -> &[Arc<Kernel>] {
        &self.kernels
    }

    /// See [`WriteOptions::with_registry`].
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// See [`WriteOptions::with_chooser`].
    pub fn chooser(&self) -> Option<&PageChooser> {
        self.chooser.as_ref()
    }

    /// See [`WriteOptions::with_full_zip_bytes_min`].
    pub fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }
}

/// The key in the metadata of a top-level field that says how the field is stored.
///
/// | value | what it does |
/// |---|---|
/// | `full-zip` | stores pages row by row, if their values allow it |
/// | `mini-block` | never does so |
/// | `packed` | stores a struct as one column of whole rows |
///
/// A row of a packed struct is read with one request, however many fields it has; a single field costs as much as all.
/// The fields are flat (no dictionaries, no run-end arrays), structs of such, or fixed-size lists of values of fixed
/// width. Without strings among them a row has a fixed width.
pub const LAYOUT_KEY: &str = tarsia_metadata::LAYOUT_KEY;

/// The metadata of a file's schema has a pair for each leaf column whose values were rounded: this and the column's
/// name; the rounding and the largest errors.
pub const ROUNDED_KEY_PREFIX: &str = "rounded.";

/// In front of the name of a [strict](ColumnOptions::with_strict_erasure) column, the key in the metadata of the schema
/// whose value is [`STRICT_VALUE`].
pub(crate) const STRICT_KEY_PREFIX: &str = "strict.";

/// See [`STRICT_KEY_PREFIX`]. A pair with another value is the user's.
pub(crate) const STRICT_VALUE: &str = "erasure leaves nothing";

/// The values that [`LAYOUT_KEY`] may have.
pub const LAYOUTS: [&str; 3] = [
    tarsia_metadata::LAYOUT_FULL_ZIP,
    tarsia_metadata::LAYOUT_MINI_BLOCK,
    tarsia_metadata::LAYOUT_PACKED,
];
