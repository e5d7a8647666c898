//! Lists of encodings, and decoders built from trees.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{
    Decoder, Encoding, EncodingWriter, Error, ErrorKind, Node, PageEncoder, Result, Rounding,
    SharedBuffer, SharedBuffers, Tree, TreeWriter, ValueType, Values, Version, limits,
};

/// How long a decoder takes, measured on one core with all data in the cache. A search for trees weighs these times
/// against the time to read and the cost to store bytes, so only their ratios matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeCost {
    /// Picoseconds per value.
    pub value_ps: u32,
    /// Picoseconds per decoded byte.
    pub byte_ps: u32,
}

/// When a search for trees asks an encoding for proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tried {
    /// For all values.
    #[default]
    Always,
    /// Where size counts more than time (the preset `Compact`), or where the user names it: its decoder takes long, or
    /// its proposals do.
    ForSize,
    /// Only where the user names it: other encodings are better on nearly all data, or its proposals cost too much
    /// time.
    WhenNamed,
}

impl Tried {
    /// Whether a search tries the encoding by itself: one `for_size`, or another.
    pub fn by_search(self, for_size: bool) -> bool {
        match self {
            Self::Always => true,
            Self::ForSize => for_size,
            Self::WhenNamed => false,
        }
    }

    /// The word for it in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::ForSize => "for size",
            Self::WhenNamed => "when named",
        }
    }
}

/// An encoder with what a search for trees needs to know about it.
#[derive(Clone, Copy)]
pub struct RegisteredWriter {
    /// The encoder.
    pub writer: &'static dyn EncodingWriter,
    /// How long its decoder takes.
    pub cost: DecodeCost,
    /// The newest version of its layout that it may write.
    pub version_max: Version,
    /// When it is asked for proposals.
    pub tried: Tried,
    /// Whether it holds any values, whatever it was prepared from: all of its samples do.
    pub holds_any: bool,
}

/// The encodings that a reader or a writer knows. There are so few that a linear search by id is faster than a map.
///
/// Readers and writers of files take a registry in their options. To add an encoding of your own, add it to a copy of
/// the built-in registry:
///
/// ```
/// # use tarsia_codec::{DecodeCost, EncodingWriter, Registry};
/// fn with_mine(built_in: &Registry, mine: &'static dyn EncodingWriter) -> Registry {
///     let mut registry = built_in.clone();
///     registry.add_writer(mine, DecodeCost { value_ps: 300, byte_ps: 0 });
///     registry
/// }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    encodings: Vec<&'static dyn Encoding>,
    writers: Vec<RegisteredWriter>,
}

impl Registry {
    /// A registry without encodings.
    pub const fn new() -> Self {
        Self {
            encodings: Vec::new(),
            writers: Vec::new(),
        }
    }

    /// Adds a decoder. It replaces a decoder with the same id.
    // Not inlined, so that kernels have one copy instead of one per encoding.
    #[inline(never)]
    pub fn add(&mut self, encoding: &'static dyn Encoding) -> &mut Self {
        let mut known = self.encodings.iter_mut();
        match known.find(|known| known.id() == encoding.id()) {
            Some(known) => *known = encoding,
            None => self.encodings.push(encoding),
        }
        self
    }

    /// Adds an encoder and its decoder. They replace those with the same id.
    pub fn add_writer(
        &mut self,
        writer: &'static dyn EncodingWriter,
        cost: DecodeCost,
    ) -> &mut Self {
        let added = RegisteredWriter {
            writer,
            cost,
            version_max: writer.version(),
            tried: Tried::default(),
            holds_any: writer.samples().iter().all(|sample| sample.holds_any),
        };
        let mut known = self.writers.iter_mut();
        match known.find(|known| known.writer.id() == writer.id()) {
            Some(known) => *known = added,
            None => self.writers.push(added),
        }
        self.add(writer)
    }

    /// The roundings that the encoders offer, in the order of these.
    pub fn roundings(&self) -> impl Iterator<Item = &'static dyn Rounding> {
        let writers = self.writers.iter();
        writers.flat_map(|known| known.writer.roundings().iter().copied())
    }

    /// Removes the encoder with this id: the encoding is no longer written, but still read. Returns true if there was
    /// one.
    pub fn remove_writer(&mut self, id: &str) -> bool {
        let n = self.writers.len();
        self.writers.retain(|known| known.writer.id() != id);
        self.writers.len() < n
    }

    /// Removes the decoder and the encoder with this id. Returns true if there was a decoder.
    pub fn remove(&mut self, id: &str) -> bool {
        let n = self.encodings.len();
        self.remove_writer(id);
        self.encodings.retain(|known| known.id() != id);
        self.encodings.len() < n
    }

    /// Limits the encoder with this id to layouts up to `version_max`, so that older readers can read the result.
    /// Returns false if there is no such encoder or it does not know that version.
    pub fn limit_version(&mut self, id: &str, version_max: Version) -> bool {
        let mut known = self.writers.iter_mut();
        match known.find(|known| known.writer.id() == id) {
            Some(known) if known.writer.reads(version_max) => {
                known.version_max = version_max;
                true
            }
            _ => false,
        }
    }

    /// Says when searches ask the encoder with this id for proposals: always, unless this says otherwise. Returns false
    /// if there is no such encoder.
    pub fn set_tried(&mut self, id: &str, tried: Tried) -> bool {
        let mut known = self.writers.iter_mut();
        let known = known.find(|known| known.writer.id() == id);
        known.map(|known| known.tried = tried).is_some()
    }

    /// All decoders.
    pub fn encodings(&self) -> &[&'static dyn Encoding] {
        &self.encodings
    }

    /// All encoders in the order in which they were added, which is the order in which a search tries them.
    pub fn writers(&self) -> &[RegisteredWriter] {
        &self.writers
    }

    /// The encoding of a node, for reading.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown id, or a version that this build does not read.
    pub fn encoding(&self, node: &Tree) -> Result<&'static dyn Encoding> {
        let known = self
            .encodings
            .iter()
            .find(|known| known.id() == node.id)
            .copied();
        match known {
            Some(known) if known.reads(node.version) => Ok(known),
            known => Err(Self::unknown(node, known)),
        }
    }

    #[cold]
    #[inline(never)]
    fn unknown(node: &Tree, known: Option<&'static dyn Encoding>) -> Error {
        let mut what = String::new();
        ErrorKind::push_text(&mut what, "encoding ");
        ErrorKind::push_text(&mut what, &node.id);
        if let Some(known) = known {
            ErrorKind::push_text(&mut what, " version ");
            node.version.describe(&mut what);
            ErrorKind::push_text(&mut what, " (this build reads up to ");
            known.version().describe(&mut what);
            ErrorKind::push_text(&mut what, ")");
        }
        Error::from(ErrorKind::Unsupported { what })
    }

    /// The encoder for a node.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown id.
    pub fn writer(&self, node: &Tree) -> Result<&'static dyn EncodingWriter> {
        self.writers
            .iter()
            .find(|known| known.writer.id() == node.id)
            .map(|known| known.writer)
            .ok_or_else(|| {
                Error::from(ErrorKind::Unsupported {
                    what: format!("encoder {}", node.id),
                })
            })
    }

    /// True if every node of the tree can be decoded by this build.
    pub fn reads(&self, tree: &Tree) -> bool {
        let mut all = true;
        tree.visit(&mut |node| all &= self.encoding(node).is_ok());
        all
    }

    /// True if every node of the tree can be encoded by this build, too.
    pub fn writes(&self, tree: &Tree) -> bool {
        let mut all = self.reads(tree);
        tree.visit(&mut |node| all &= self.writer(node).is_ok());
        all
    }

    /// An upper bound on the bytes of a unit under `tree`; see [`EncodingWriter::encoded_bytes_max`].
    ///
    /// # Errors
    /// As [`TreeWriter::new`].
    pub fn encoded_bytes_max(
        &self,
        tree: &Tree,
        value_type: ValueType,
        n_values: u64,
        decoded_bytes: u64,
    ) -> Result<u64> {
        let tree = TreeWriter::new(self, tree, value_type)?;
        Ok(tree.encoded_bytes_max(n_values, decoded_bytes))
    }

    /// Numbers the shared buffers that the nodes of a tree need, parents first, starting at `next`, and sets `next` to
    /// the number after the last. Call it once per tree of a page, with the same `next`.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`] for more shared buffers than a page may have; also the errors of
    /// [`Encoding::check`].
    pub fn number_shared(
        &self,
        tree: &mut Tree,
        value_type: ValueType,
        next: &mut u8,
    ) -> Result<()> {
        let node = Node {
            value_type,
            version: tree.version,
            params: &tree.params,
        };
        let spec = self.encoding(tree)?.check(&node)?;
        let end = usize::from(*next) + spec.shared.len();
        if end > limits::SHARED_BUFFERS_MAX {
            let max = limits::SHARED_BUFFERS_MAX as u64;
            return Err(Error::limit("SHARED_BUFFERS_MAX", end as u64, max));
        }
        tree.shared = (*next..end as u8).collect();
        *next = end as u8;
        for (child, value_type) in tree.children.iter_mut().zip(spec.children) {
            self.number_shared(child, value_type, next)?;
        }
        Ok(())
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list()
            .entries(self.encodings.iter().map(|known| known.id()))
            .finish()
    }
}

impl TreeWriter {
    /// Looks up and checks all nodes of `tree` over values of `value_type`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown encoder or a version that it does not write, [`ErrorKind::Corrupt`]
    /// for a wrong number of children or shared buffers, [`ErrorKind::LimitExceeded`] for a tree that is too deep; also
    /// the errors of [`Encoding::check`].
    pub fn new(registry: &Registry, tree: &Tree, value_type: ValueType) -> Result<Self> {
        Self::at(registry, tree, value_type, 1)
    }

    fn at(registry: &Registry, tree: &Tree, value_type: ValueType, depth: u32) -> Result<Self> {
        let writer = registry.writer(tree)?;
        let node = Node {
            value_type: value_type.validate()?,
            version: tree.version,
            params: &tree.params,
        };
        if !writer.reads(tree.version) {
            return Err(Error::from(ErrorKind::Unsupported {
                what: format!("writing version {} of {}", tree.version, tree.id),
            }));
        }
        let spec = tree.check(writer, &node, depth)?;
        let types = spec.children.iter().zip(&tree.children);
        let children = types
            .map(|(value_type, child)| Self::at(registry, child, *value_type, depth + 1))
            .collect::<Result<_>>()?;
        Ok(Self {
            writer,
            value_type,
            version: tree.version,
            params: tree.params.clone(),
            spec,
            shared: tree.shared.clone(),
            children,
        })
    }
}

/// Prepares an encoder for a page of `values` under `tree`.
///
/// # Errors
/// As [`TreeWriter::new`] and [`TreeWriter::prepare`].
pub fn build_encoder(
    registry: &Registry,
    tree: &Tree,
    values: Values<'_>,
    shared: &mut SharedBuffers,
) -> Result<Box<dyn PageEncoder>> {
    TreeWriter::new(registry, tree, values.value_type())?.prepare(values, shared, None)
}

/// **init** for a whole tree: children first, each with the type that its parent names. `shared` are all shared buffers
/// of the page, in the order of their numbers.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for encodings that this build does not know, [`ErrorKind::Corrupt`] for a tree whose
/// nodes do not have the children and shared buffers they need; also the errors of [`Encoding::check`] and
/// [`Encoding::init`].
pub fn build_decoder(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    shared: &[SharedBuffer],
) -> Result<Box<dyn Decoder>> {
    build_decoder_at(registry, tree, value_type, shared, 1)
}

fn build_decoder_at(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    shared: &[SharedBuffer],
    depth: u32,
) -> Result<Box<dyn Decoder>> {
    let encoding = registry.encoding(tree)?;
    let node = Node {
        value_type: value_type.validate()?,
        version: tree.version,
        params: &tree.params,
    };
    let spec = tree.check(encoding, &node, depth)?;
    let mut own = Vec::with_capacity(spec.shared.len());
    for (number, spec) in tree.shared.iter().zip(&spec.shared) {
        let buffer = shared.get(usize::from(*number));
        let buffer = buffer.filter(|buffer| buffer.is(*spec));
        own.push(buffer.cloned().ok_or_else(|| {
            let allowed = "a shared buffer of the page, of the kind and type that the node needs";
            Error::corrupt("tree.shared", 0, *number, allowed)
        })?);
    }
    let mut children = Vec::with_capacity(spec.children.len());
    for (child_type, child) in spec.children.iter().zip(&tree.children) {
        children.push(build_decoder_at(
            registry,
            child,
            *child_type,
            shared,
            depth + 1,
        )?);
    }
    encoding.init(&node, children, &own)
}
